//! What starts the script's processes: `training.distribution`.

use super::*;
use crate::spec::{LauncherKind, ScriptLauncher};

const SCRIPT: &str = "\
version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/churn:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      distribution: {torchrun: {}}
      output: s3://my-bucket/out/
      channels: {train: {uri: s3://my-bucket/train/}}
    instance: 2x ml.m5.xlarge
";

const GROUPS: &str = "{groups: {data: 1x ml.c5.xlarge, dnn: 2x ml.g5.xlarge}}";

fn with(distribution: &str) -> String {
    SCRIPT.replace("{torchrun: {}}", distribution)
}

fn launcher(text: &str) -> ScriptLauncher {
    let spec = spec(text);
    spec.jobs[0].training.distribution.clone().unwrap()
}

#[test]
fn a_launcher_is_one_of_two() {
    let plain = |kind| ScriptLauncher { kind, group: None };
    assert_eq!(launcher(SCRIPT), plain(LauncherKind::Torchrun));
    assert_eq!(
        launcher(&with("{mpi: {processes_per_host: 128, options: -x A=1}}")),
        plain(LauncherKind::Mpi {
            processes_per_host: Some(128),
            options: Some("-x A=1".to_owned())
        })
    );
    for (written, expected) in [
        (
            "{}",
            ": names no launcher (write `{torchrun: {}}` or `{mpi: {processes_per_host: 8}}`)",
        ),
        (
            "{groups: [dnn]}",
            ": names no launcher (write `{torchrun: {}}` or `{mpi: {processes_per_host: 8}}`)",
        ),
        (
            "{torchrun: {}, mpi: {}}",
            ".mpi: a job has one launcher (remove `torchrun` or `mpi`)",
        ),
        (
            "{torchrun: {processes_per_host: 2}}",
            ".torchrun: takes no keys: it starts a process for each GPU of a machine, or one (write `torchrun: {}`)",
        ),
        (
            "{mpi: {processes_per_host: 0}}",
            ".mpi.processes_per_host: the number `0`, where a whole number from 1 is needed",
        ),
        (
            "{mpi: {processes_per_host: 129}}",
            ".mpi.processes_per_host: 129 processes on a host; at most 128 are started",
        ),
        ("{mpi: {processes: 8}}", ".mpi: unknown key `processes`"),
        (
            "{torchrun: true}",
            ".torchrun: `true`, where `{}` is needed",
        ),
        (
            "{torchrun: }",
            ".torchrun: no value, where `{}` is needed (write `torchrun: {}`)",
        ),
        (
            "torchrun",
            ": `torchrun`, where a launcher with its keys is needed (write `{torchrun: {}}`)",
        ),
        (
            "mpirun",
            ": `mpirun`, where a launcher with its keys is needed (write `{mpi: {}}`)",
        ),
        (
            "smddp",
            ": `smddp`, where a launcher with its keys is needed (write `{torchrun: {}}` or `{mpi: {}}`)",
        ),
    ] {
        let found = problems(&with(written));
        let expected = format!("jobs.churn.training.distribution{expected}");
        assert!(
            found.len() == 1 && found[0].starts_with(&expected),
            "{written}: {found:?}"
        );
    }
}

#[test]
fn only_the_toolkit_starts_a_launcher() {
    let by_itself = "a command can start its own launcher: `container: {entrypoint: [torchrun, /opt/program/train.py]}`";
    let framework = |name: &str| {
        let image = "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/churn:1";
        SCRIPT.replace(image, &format!("framework: {{{name}}}"))
    };
    for (text, expected) in [
        (
            SCRIPT.replace("      source_dir: code\n      entry_point: train.py\n", ""),
            format!("distribution: needs an `entry_point`: AWS's training toolkit starts the launcher, for that script only (write `source_dir` and `entry_point`; {by_itself})"),
        ),
        (
            SCRIPT.replace("      output:", "      container: {entrypoint: [train]}\n      output:"),
            format!("distribution: `container.entrypoint` replaces the training toolkit, which would start the launcher (remove one of them; {by_itself})"),
        ),
        (
            SCRIPT.replace("train.py", "train.sh"),
            "distribution.torchrun: torchrun starts Python files, and `entry_point` is `train.sh` (name a file that ends with `.py`, or start torchrun in the script and remove `distribution`)".to_owned(),
        ),
        (
            framework("xgboost: 1.7-1"),
            "distribution.torchrun: AWS's image of xgboost has no torchrun (remove `distribution`, or choose another image)".to_owned(),
        ),
        (
            framework("tensorflow: 2.19"),
            "distribution.torchrun: AWS's image of tensorflow has no torchrun (remove `distribution`, or choose another image)".to_owned(),
        ),
        (
            SCRIPT.replace("      output:", "      hyperparameters: {sagemaker_mpi_enabled: true}\n      output:"),
            "hyperparameters.sagemaker_mpi_enabled: is set for the training toolkit by `distribution` (remove it here)".to_owned(),
        ),
    ] {
        assert_eq!(problems(&text), [format!("jobs.churn.training.{expected}")]);
    }
    spec(&framework("pytorch: 2.8"));
    let algorithm = SCRIPT.replace(
        "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/churn:1",
        "algorithm: mine",
    );
    assert_eq!(
        problems(&algorithm)[0],
        "jobs.churn.training.distribution: an algorithm starts itself, without a launcher (remove `distribution`)"
    );
}

#[test]
fn one_group_has_the_launcher() {
    let on = |groups: &str| {
        with(&format!("{{torchrun: {{}}{groups}}}")).replace("2x ml.m5.xlarge", GROUPS)
    };
    assert_eq!(
        launcher(&on(", groups: [dnn]")).group.as_deref(),
        Some("dnn")
    );
    for (text, expected) in [
        (
            on(""),
            ": does not say which instance group the launcher is for (write `groups: [dnn]`)",
        ),
        (
            on(", groups: [dnnn]"),
            ".groups[0]: `dnnn` names no instance group (did you mean `dnn`?)",
        ),
        (
            on(", groups: [data, dnn]"),
            ".groups: 2 groups, where one has the launcher (name one group)",
        ),
        (
            on(", groups: []"),
            ".groups: 0 groups, where one has the launcher (name one group)",
        ),
        (
            with("{torchrun: {}, groups: [dnn]}"),
            ".groups: neither `instance` nor `alternatives` has instance groups (remove `groups`)",
        ),
    ] {
        assert_eq!(
            problems(&text),
            [format!("jobs.churn.training.distribution{expected}")]
        );
    }
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
fn this_machine_s_launchers_start_what_they_can() {
    let of = |distribution: &str, instance: &str| {
        let command = format!("command: [python3, train.py]\n      distribution: {distribution}");
        LOCAL
            .replace("command: [python3, train.py]", &command)
            .replace("instance: local", &format!("instance: {instance}"))
    };
    assert_eq!(remarks(&spec(&of("{torchrun: {}}", "2x local"))), [""; 0]);
    spec(&of(
        "{mpi: {}, groups: [dnn]}",
        "{groups: {data: 2x local, dnn: local}}",
    ));
    assert_eq!(
        problems(&of("{mpi: {}}", "2x local")),
        [
            "jobs.churn.training.distribution.mpi: mpirun reaches other machines through SSH, which the host processes of `2x local` do not have (write `instance: local` and `processes_per_host`, or `torchrun: {}`)"
        ]
    );
    assert_eq!(
        problems(&of("{torchrun: {}}", "local").replace("[python3, train.py]", "[bin/train]")),
        [
            "jobs.churn.training.distribution.torchrun: torchrun starts Python files, and `command` names none (write `command: [python3, train.py]`, or start torchrun in the command and remove `distribution`)"
        ]
    );
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
            "jobs.churn.training.hyperparameters: 93 hyperparameters; SageMaker takes 100, 8 of which start the script of `entry_point`, so at most 92"
        ]
    );
}
