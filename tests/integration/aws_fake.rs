//! What the fake AWS refuses, so that a gate which asked for it would fail. What it serves every run on it tests.

use serde_json::{Value, json};

use crate::aws::FakeAws;

/// A request for a job on `data` and `dnn`.
fn on_groups() -> Value {
    let channel = |name: &str| {
        json!({"ChannelName": name, "DataSource": {"S3DataSource": {
            "S3DataType": "S3Prefix", "S3Uri": "s3://data/train/", "InstanceGroupNames": ["data", "dnn"],
        }}})
    };
    let group = |name: &str, kind: &str, count: u32| json!({"InstanceGroupName": name, "InstanceType": kind, "InstanceCount": count});
    json!({
        "TrainingJobName": "one",
        "RoleArn": "arn:aws:iam::123456789012:role/Training",
        "AlgorithmSpecification": {"TrainingImage": "train:1", "TrainingInputMode": "File"},
        "InputDataConfig": [channel("train"), channel("val")],
        "OutputDataConfig": {"S3OutputPath": "s3://data/out"},
        "ResourceConfig": {
            "InstanceGroups": [group("data", "ml.c5.xlarge", 2), group("dnn", "ml.g5.xlarge", 1)],
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    })
}

/// Where the request is changed, to what, and what is said against it.
const REFUSED: &str = r#"
/AlgorithmSpecification | {"AlgorithmName": "xgboost"} | either an algorithm name or a training image
/ResourceConfig | {"InstanceType": "ml.c5.xlarge"} | InstanceType or InstanceCount cannot be specified with InstanceGroups
/ResourceConfig | {"KeepAlivePeriodInSeconds": 60} | KeepAlivePeriodInSeconds cannot be specified with InstanceGroups
/ResourceConfig | {"InstanceGroups": null} | InstanceType and InstanceCount are required
/ResourceConfig | {"VolumeKmsKeyId": "alias/disk"} | VolumeKmsKeyId cannot be specified
/ResourceConfig/InstanceGroups/1 | {"InstanceGroupName": "data"} | InstanceGroupName must be unique
/InputDataConfig/1/DataSource/S3DataSource | {"InstanceGroupNames": []} | Some channels have assigned instance groups: [train] while others not: [val]
/InputDataConfig/1/DataSource/S3DataSource | {"InstanceGroupNames": ["dataa"]} | Instance group dataa of InputDataConfig
 | {"EnableManagedSpotTraining": true} | MaxWaitTimeInSeconds has to be given"#;

#[test]
fn what_aws_refuses_is_refused_in_its_words() {
    let aws = FakeAws::start();
    aws.put_object("data", "train/part-0.csv", "1");
    let mut request = on_groups();
    for row in REFUSED.lines().skip(1) {
        let [place, change, said] = row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let change: Value = serde_json::from_str(change).unwrap();
        let mut changed = request.clone();
        let object = changed.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.extend(change.as_object().unwrap().clone());
        let refused = aws.create(&changed).unwrap_err();
        assert!(refused.contains(said), "{change}: {refused}");
    }
    assert_eq!(aws.create(&request), Ok(()));
    let again = aws.create(&request).unwrap_err();
    assert!(again.starts_with("ResourceInUse"), "{again}");
    aws.quota("ml.g5.xlarge for training job usage", 1.0);
    request["TrainingJobName"] = json!("two");
    let full = aws.create(&request).unwrap_err();
    let said = "'ml.g5.xlarge for training job usage' is 1 Instances, with current utilization of 1 Instances";
    assert!(full.contains(said), "{full}");
}
