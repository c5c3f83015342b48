//! What starts the script's processes: `training.distribution`.

use super::*;
use crate::spec::ScriptLauncher;

const SCRIPT: &str = include_str!("testdata/launcher.yml");

const GROUPS: &str = "{groups: {data: 1x ml.c5.xlarge, dnn: 2x ml.g5.xlarge}}";

fn with(distribution: &str) -> String {
    SCRIPT.replace("{torchrun: {}}", distribution)
}

fn launcher(text: &str) -> ScriptLauncher {
    let spec = spec(text);
    spec.jobs[0].training.distribution.clone().unwrap()
}

#[test]
fn one_group_has_the_launcher() {
    let on = |groups: &str| {
        with(&format!("{{torchrun: {{}}{groups}}}")).replace("2x ml.m5.xlarge", GROUPS)
    };
    // A homogeneous row beside it has none.
    let beside = on(", groups: [dnn]") + "    alternatives: [2x ml.g5.xlarge]\n";
    let launcher = launcher(&beside);
    let job = spec(&beside).jobs.remove(0);
    assert_eq!(
        launcher.hyperparameters(&job.instance),
        [
            ("sagemaker_torch_distributed_enabled", "true".to_owned()),
            (
                "sagemaker_distribution_instance_groups",
                "[\"dnn\"]".to_owned()
            )
        ]
    );
    assert_eq!(launcher.hyperparameters(&job.alternatives[0]).len(), 1);
}

#[test]
fn hyperparameters_of_a_launcher_count_as_hyperparameters() {
    let many: Vec<String> = (0..94).map(|number| format!("h{number}: 1")).collect();
    let of = |distribution: &str, count: usize| {
        let all = many[..count].join(", ");
        let all = format!("      hyperparameters: {{{all}}}\n      output:");
        with(distribution).replace("      output:", &all)
    };
    let full = "{mpi: {processes_per_host: 2, options: -v}}";
    spec(&of(full, 92));
    assert_eq!(
        problems(&of(full, 93)),
        [
            "jobs.churn.training.hyperparameters: 93 hyperparameters beside 8 that start the script of `entry_point`; SageMaker takes at most 92"
        ]
    );
}
