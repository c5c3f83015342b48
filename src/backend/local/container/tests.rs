use super::*;
use crate::canary::{self, ChannelData, Objects, WorkLevel};
use crate::units::Bytes;

fn spec(training: &str) -> Job {
    let text = format!(
        "version: 1\nbackend: local\njobs:\n  digits:\n    instance: 2x local\n    training:\n      command: [python3, train.py]\n{training}\n"
    );
    let mut spec =
        crate::spec::read("canary-gate.yml", text.as_bytes(), &[]).expect("a valid spec");
    spec.jobs.remove(0)
}

fn with_container<T>(
    training: &str,
    work: Option<&WorkLevel>,
    look: impl FnOnce(&Container<'_>) -> T,
) -> T {
    let job = spec(training);
    let hyperparameters = canary::hyperparameters(&job.training, None, work);
    let no_objects = Objects::default;
    let data: Vec<ChannelData> = (job.training.channels.iter())
        .map(|channel| ChannelData::new(&channel.name, true, no_objects()))
        .collect();
    let cluster = Cluster::of(&job.instance).with_data(&job, &data);
    look(&Container {
        job: &job,
        hyperparameters: &hyperparameters.into_iter().collect(),
        environment: &job.training.environment,
        run_name: "Digits-1",
        region: "eu-west-1",
        cluster: &cluster,
        host: &cluster.hosts[1],
        port: 7777,
        root: "/sandbox/ml".into(),
        code: "/sandbox/code".into(),
        capacity: &Capacity {
            vcpus: 4,
            memory: Bytes(8 * Bytes::GIB),
            gpus: 0,
            gpu_memory: None,
        },
    })
}

const TRAINING: &str =
    "      hyperparameters: {learning-rate: 0.10, k: 3, optimizer: adam, sagemaker_program: x}
      channels:
        train-a: {uri: data, distribution: ShardedByS3Key, content_type: text/csv}";

/// The toolkit's, and SageMaker's own.
const VARIABLES: &str = "AWS_EXECUTION_ENV AWS_REGION DMLC_INTERFACE HOSTNAME SAGEMAKER_BASE_DIR SM_CHANNELS SM_CHANNEL_TRAIN-A SM_CHANNEL_TRAIN_A SM_CURRENT_HOST \
         SM_CURRENT_HOST_RANK SM_CURRENT_INSTANCE_GROUP SM_CURRENT_INSTANCE_GROUP_HOSTS SM_CURRENT_INSTANCE_TYPE \
         SM_DISTRIBUTION_INSTANCE_GROUPS SM_ENTRY_SCRIPT SM_FRAMEWORK_MODULE SM_FRAMEWORK_PARAMS SM_HOSTS SM_HOST_COUNT \
         SM_HPS SM_HP_K SM_HP_LEARNING-RATE SM_HP_LEARNING_RATE SM_HP_OPTIMIZER SM_INPUT_CONFIG_DIR \
         SM_INPUT_DATA_CONFIG SM_INPUT_DIR SM_INSTANCE_GROUPS SM_INSTANCE_GROUPS_DICT SM_IS_HETERO SM_LOG_LEVEL \
         SM_MASTER_ADDR SM_MASTER_PORT SM_MODEL_DIR SM_MODULE_DIR SM_MODULE_NAME SM_NETWORK_INTERFACE_NAME SM_NUM_CPUS \
         SM_NUM_GPUS SM_NUM_NEURONS SM_OUTPUT_DATA_DIR SM_OUTPUT_DIR SM_OUTPUT_INTERMEDIATE_DIR SM_RESOURCE_CONFIG \
         SM_SOURCE_DIR SM_TRAINING_ENV SM_USER_ARGS SM_USER_ENTRY_POINT TRAINING_JOB_ARN TRAINING_JOB_NAME";

#[test]
fn variables_are_the_toolkits_in_both_spellings() {
    let variables = with_container(TRAINING, None, |container| container.variables());
    let names: Vec<&str> = variables.keys().map(String::as_str).collect();
    assert_eq!(names.join(" "), VARIABLES);
    for (name, value) in [
        ("SM_HP_LEARNING-RATE", "0.10"),
        ("SM_HP_LEARNING_RATE", "0.10"),
        ("SM_CHANNEL_TRAIN-A", "/sandbox/ml/input/data/train-a"),
        ("SM_CHANNEL_TRAIN_A", "/sandbox/ml/input/data/train-a"),
        (
            "SM_HPS",
            r#"{"k":3,"learning-rate":0.1,"optimizer":"adam"}"#,
        ),
        ("SM_CURRENT_HOST_RANK", "1"),
        ("SM_LOG_LEVEL", "20"),
        ("SM_HOSTS", r#"["algo-1","algo-2"]"#),
        ("SM_USER_ENTRY_POINT", "train.py"),
        ("SM_DISTRIBUTION_INSTANCE_GROUPS", "[]"),
        // Sorted, without SageMaker's own.
        (
            "SM_USER_ARGS",
            r#"["-k","3","--learning-rate","0.10","--optimizer","adam"]"#,
        ),
    ] {
        assert_eq!(variables[name], value, "{name}");
    }
    // The toolkit's own hyperparameter says which groups a launcher runs on.
    let training = TRAINING.replace(
        "sagemaker_program: x",
        r#"sagemaker_distribution_instance_groups: '["dnn"]'"#,
    );
    let variables = with_container(&training, None, |container| container.variables());
    assert_eq!(variables["SM_DISTRIBUTION_INSTANCE_GROUPS"], r#"["dnn"]"#);
}

#[test]
fn a_work_level_takes_the_place_of_its_hyperparameter_everywhere() {
    let training = TRAINING.replace("k: 3", "k: 3, num_round: 50.0");
    let level = |level| WorkLevel {
        hyperparameter: "num_round".to_owned(),
        level,
        full: 50.0,
    };
    with_container(&training, Some(&level(5.0)), |container| {
        let variables = container.variables();
        assert_eq!(container.hyperparameters["num_round"], "5");
        assert_eq!(variables["SM_HP_NUM_ROUND"], "5");
        assert!(variables["SM_HPS"].contains(r#""num_round":5,"#));
        assert!(variables["SM_TRAINING_ENV"].contains(r#""num_round":5,"#));
        assert!(variables["SM_USER_ARGS"].contains(r#""--num_round","5""#));
    });
    with_container(&training, Some(&level(50.0)), |container| {
        assert_eq!(container.hyperparameters["num_round"], "50.0");
    });
}
