use super::*;
use crate::spec::{self, SpecSource};

const SPEC: &str = "\
version: 1
backend: sagemaker
region: eu-west-1
jobs:
  churn:
    training:
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1
      role: arn:aws:iam::123456789012:role/SageMakerTraining
      channels:
        train: {uri: s3://my-bucket/churn/train/}
        validation: {uri: 's3://my-bucket/churn/val', sample: false}
      output: s3://my-output/canary
      MORE
    instance: ml.m5.2xlarge
";

fn spec(more: &str) -> Spec {
    read(&SPEC.replace("MORE", more))
}

fn read(text: &str) -> Spec {
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    spec::read(source, &[]).unwrap()
}

fn of(spec: &Spec, grantee: Grantee) -> Value {
    let policy = policy(spec, None, grantee).unwrap();
    check_grammar(&policy);
    policy
}

fn statement(policy: &Value, sid: &str) -> Value {
    let statements = policy["Statement"].as_array().unwrap();
    let found = statements.iter().find(|statement| statement["Sid"] == sid);
    found.cloned().unwrap_or(Value::Null)
}

/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>, as far as it is used here.
fn check_grammar(policy: &Value) {
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(
        keys(policy),
        BTreeSet::from(["Statement".to_owned(), "Version".to_owned()])
    );
    assert_eq!(policy["Version"], "2012-10-17");
    let mut sids = BTreeSet::new();
    for statement in policy["Statement"].as_array().unwrap() {
        for key in keys(statement) {
            let known = ["Sid", "Effect", "Action", "Resource", "Condition"];
            assert!(known.contains(&key.as_str()), "{key}");
        }
        let sid = statement["Sid"].as_str().unwrap();
        assert!(
            sid.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{sid}"
        );
        assert!(sids.insert(sid), "{sid} stands twice");
        assert_eq!(statement["Effect"], "Allow");
        for action in statement["Action"].as_array().unwrap() {
            let (service, name) = action.as_str().unwrap().split_once(':').unwrap();
            assert!(
                service
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            );
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{action}"
            );
        }
        assert!(!statement["Action"].as_array().unwrap().is_empty());
        let resources = statement["Resource"].as_array().unwrap();
        assert!(!resources.is_empty(), "{sid}");
        for resource in resources {
            let resource = resource.as_str().unwrap();
            let parts = resource.splitn(6, ':').count();
            assert!(
                resource == "*" || resource.starts_with("arn:aws") && parts == 6,
                "{resource}"
            );
        }
        if let Some(condition) = statement.get("Condition") {
            for (operator, tests) in condition.as_object().unwrap() {
                assert!(
                    [
                        "StringEquals",
                        "StringLike",
                        "ForAnyValue:StringEquals",
                        "NumericEqualsIfExists"
                    ]
                    .contains(&operator.as_str())
                );
                assert!(!tests.as_object().unwrap().is_empty());
            }
        }
    }
}

#[test]
fn whoever_runs_the_gate_may_do_what_it_does_and_no_more() {
    let policy = of(&spec(""), Grantee::Ci);
    assert_eq!(
        statement(&policy, "Canaries")["Resource"],
        json!(["arn:aws:sagemaker:eu-west-1:123456789012:training-job/cg-*"])
    );
    assert_eq!(
        statement(&policy, "RoleOfCanaries"),
        json!({
            "Sid": "RoleOfCanaries",
            "Effect": "Allow",
            "Action": ["iam:PassRole"],
            "Resource": ["arn:aws:iam::123456789012:role/SageMakerTraining"],
            "Condition": {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
        })
    );
    // A pool is ended, and never kept longer.
    assert_eq!(
        statement(&policy, "EndWarmPools"),
        json!({
            "Sid": "EndWarmPools",
            "Effect": "Allow",
            "Action": ["sagemaker:UpdateTrainingJob"],
            "Resource": ["arn:aws:sagemaker:eu-west-1:123456789012:training-job/cg-*"],
            "Condition": {"NumericEqualsIfExists": {"sagemaker:KeepAlivePeriod": "0"}}
        })
    );
    let list = statement(&policy, "List1");
    assert_eq!(list["Resource"], json!(["arn:aws:s3:::my-bucket"]));
    assert_eq!(
        list["Condition"],
        json!({"StringLike": {"s3:prefix": ["churn/train/*", "churn/val*"]}})
    );
    assert_eq!(
        statement(&policy, "List2")["Condition"],
        json!({"StringLike": {"s3:prefix": ["canary/*"]}})
    );
    assert_eq!(
        statement(&policy, "CanaryFolder")["Resource"],
        json!(["arn:aws:s3:::my-output/canary/*"])
    );
    for absent in ["CopyDataForFastFile", "OutputKeys", "VolumeKeys"] {
        assert_eq!(statement(&policy, absent), Value::Null, "{absent}");
    }
    assert_eq!(
        statement(&policy, "Logs")["Resource"][1],
        "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/sagemaker/TrainingJobs:*"
    );
}

#[test]
fn data_is_read_only_where_it_is_copied() {
    let text = SPEC
        .replace("churn/train/}", "churn/train/, mode: FastFile}")
        .replace("MORE", "");
    let policy = of(&read(&text), Grantee::Ci);
    assert_eq!(
        statement(&policy, "CopyDataForFastFile")["Resource"],
        json!(["arn:aws:s3:::my-bucket/churn/train/*"])
    );
    assert_eq!(
        statement(&policy, "CopyDataForFastFile")["Action"],
        json!(["s3:GetObject"])
    );
}

#[test]
fn keys_are_named_by_id_by_arn_and_by_alias() {
    let policy = of(
        &spec("output_kms_key: 1234abcd-12ab\n      volume_kms_key: alias/disks"),
        Grantee::Ci,
    );
    assert_eq!(
        statement(&policy, "OutputKeys")["Resource"],
        json!(["arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab"])
    );
    let by_alias = statement(&policy, "VolumeKeysByAlias");
    assert_eq!(
        by_alias["Resource"],
        json!(["arn:aws:kms:eu-west-1:123456789012:key/*"])
    );
    assert_eq!(
        by_alias["Condition"]["ForAnyValue:StringEquals"]["kms:ResourceAliases"],
        json!(["alias/disks"])
    );
    let arn = "arn:aws:kms:eu-west-1:123456789012:key/1";
    let policy = of(&spec(&format!("output_kms_key: {arn}")), Grantee::Ci);
    assert_eq!(statement(&policy, "OutputKeys")["Resource"], json!([arn]));
}

#[test]
fn other_partitions_and_unnamed_regions_are_named_as_they_are() {
    let text = SPEC
        .replace("arn:aws:", "arn:aws-us-gov:")
        .replace("region: eu-west-1\n", "")
        .replace("MORE", "");
    let spec = read(&text);
    let jobs = |region| {
        let policy = policy(&spec, region, Grantee::Ci).unwrap();
        check_grammar(&policy);
        assert_eq!(
            statement(&policy, "CanaryFolder")["Resource"],
            json!(["arn:aws-us-gov:s3:::my-output/canary/*"])
        );
        statement(&policy, "Canaries")["Resource"][0].clone()
    };
    assert_eq!(
        jobs(Some("us-gov-west-1")),
        "arn:aws-us-gov:sagemaker:us-gov-west-1:123456789012:training-job/cg-*"
    );
    assert_eq!(
        jobs(None),
        "arn:aws-us-gov:sagemaker:*:123456789012:training-job/cg-*"
    );
}

#[test]
fn a_whole_bucket_has_no_condition_and_wildcards_in_keys_are_none_to_iam() {
    let text = SPEC
        .replace("s3://my-output/canary", "s3://my-output")
        .replace("s3://my-bucket/churn/val", "s3://my-bucket/a*b?$")
        .replace("MORE", "");
    let policy = of(&read(&text), Grantee::Ci);
    assert_eq!(statement(&policy, "List2")["Condition"], Value::Null);
    assert_eq!(
        statement(&policy, "CanaryFolder")["Resource"],
        json!(["arn:aws:s3:::my-output/*"])
    );
    assert_eq!(
        statement(&policy, "List1")["Condition"]["StringLike"]["s3:prefix"][0],
        "a${*}b${?}${$}*"
    );
}

#[test]
fn the_jobs_own_role_reads_its_data_and_writes_its_output() {
    let more = "subnets: [subnet-0a1b]\n      security_groups: [sg-0a1b]";
    let policy = of(&spec(more), Grantee::Job);
    assert_eq!(
        statement(&policy, "ReadData")["Resource"],
        json!([
            "arn:aws:s3:::my-bucket/churn/train/*",
            "arn:aws:s3:::my-bucket/churn/val*"
        ])
    );
    assert_ne!(statement(&policy, "Vpc"), Value::Null);
    let text = policy.to_string();
    assert!(!text.contains("PassRole") && !text.contains("DeleteObject"));
}

#[test]
fn the_history_is_read_and_added_to_and_nothing_more() {
    let text = SPEC
        .replace("region:", "history: s3://my-output/records\nregion:")
        .replace("MORE", "");
    let policy = of(&read(&text), Grantee::Ci);
    assert_eq!(
        statement(&policy, "History"),
        json!({
            "Sid": "History",
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:PutObject"],
            "Resource": ["arn:aws:s3:::my-output/records/*"],
        })
    );
    assert_eq!(
        statement(&policy, "List2")["Condition"],
        json!({"StringLike": {"s3:prefix": ["canary/*", "records/*"]}})
    );
    // What a canary runs is the code under test.
    let job = of(&read(&text), Grantee::Job).to_string();
    assert!(!job.contains("records"), "{job}");
    let without = of(&spec(""), Grantee::Ci);
    assert_eq!(statement(&without, "History"), Value::Null);
}

#[test]
fn a_history_in_s3_needs_a_policy_wherever_canaries_run() {
    let text = "version: 1\nbackend: local\nhistory: s3://team/gate/\njobs:\n  a:\n    training: {command: [sh], channels: {t: {uri: d}}}\n    instance: local\n";
    let spec = read(text);
    let policy = of(&spec, Grantee::Ci);
    assert_eq!(policy["Statement"].as_array().unwrap().len(), 2);
    assert_eq!(
        statement(&policy, "List1"),
        json!({
            "Sid": "List1",
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": ["arn:aws:s3:::team"],
            "Condition": {"StringLike": {"s3:prefix": ["gate/*"]}},
        })
    );
    assert_eq!(
        statement(&policy, "History")["Resource"],
        json!(["arn:aws:s3:::team/gate/*"])
    );
    assert!(super::policy(&spec, None, Grantee::Job).is_err());
}

#[test]
fn a_local_spec_needs_no_policy() {
    let text = "version: 1\nbackend: local\njobs:\n  a:\n    training: {command: [sh], channels: {t: {uri: d}}}\n    instance: local\n";
    assert_eq!(
        policy(&read(text), None, Grantee::Ci),
        Err(PolicyError::NotOnAws(BackendKind::Local))
    );
}

#[test]
fn copies_of_encrypted_data_need_their_keys_through_s3_alone() {
    let fast = SPEC
        .replace("train/}", "train/, mode: FastFile}")
        .replace("MORE", "");
    let policy = of(&read(&fast), Grantee::Ci);
    let decrypt = statement(&policy, "DecryptDataForFastFile");
    assert_eq!(decrypt["Action"], json!(["kms:Decrypt"]));
    assert_eq!(
        decrypt["Condition"]["StringEquals"]["kms:ViaService"],
        "s3.eu-west-1.amazonaws.com"
    );
    assert_eq!(
        decrypt["Condition"]["StringLike"]["kms:EncryptionContext:aws:s3:arn"],
        json!([
            "arn:aws:s3:::my-bucket",
            "arn:aws:s3:::my-bucket/churn/train/*"
        ])
    );
    // Manifests copy nothing.
    let policy = of(&spec(""), Grantee::Ci);
    assert!(statement(&policy, "DecryptDataForFastFile").is_null());
}
