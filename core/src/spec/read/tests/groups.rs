//! Groups of host processes on the local backend.

use super::*;

const GROUPS: &str = "{groups: {data: 1x local, dnn: 2x local}}";

fn local_on(instance: &str) -> String {
    LOCAL.replace("instance: local", &format!("instance: {instance}"))
}

#[test]
fn groups_of_processes_are_served() {
    let spec = spec(&local_on(GROUPS));
    assert_eq!((spec.not_yet.len(), spec.warnings.len()), (0, 0));
    assert_eq!(
        spec.jobs[0].instance.to_string(),
        "data: 1x local + dnn: 2x local"
    );
}

#[test]
fn groups_that_no_machine_could_hold_are_refused_at_their_place() {
    for (groups, expected) in [
        (
            "{data: 1x local, dnn: 1x ml.p3.2xlarge}",
            "jobs.churn.instance.groups.dnn: the local backend has no `ml.p3.2xlarge` (write `local` or `2x local`, or choose `backend: sagemaker`)",
        ),
        ("{}", "jobs.churn.instance.groups: there is no group"),
        (
            "{a: local, b: local, c: local, d: local, e: local, f: local}",
            "jobs.churn.instance.groups: 6 instance groups; SageMaker takes at most 5",
        ),
        (
            "{data: 40x local, dnn: 40x local}",
            "jobs.churn.instance.groups: 80 processes in all groups; at most 64 are started",
        ),
        (
            "{data: 65x local, dnn: local}",
            "jobs.churn.instance.groups.data: 65 processes; at most 64 are started",
        ),
    ] {
        let text = local_on(&format!("{{groups: {groups}}}"));
        assert_eq!(problems(&text), [expected], "{groups}");
    }
    let twice = problems(&local_on("{groups: {data: local, data: local}}"));
    assert!(twice.len() == 1 && twice[0].contains("`data`"), "{twice:?}");
}

#[test]
fn the_script_of_groups_needs_one_in_the_command() {
    let groups = local_on("{groups: {data: local, dnn: local}, entry_point: start.py}");
    spec(&groups);
    assert_eq!(
        problems(&groups.replace("[python3, train.py]", "[bin/train]")),
        [
            "jobs.churn.instance.entry_point: `command` names no script that `start.py` could take the place of (write a command with a script that ends with `.py` or `.sh`, such as `[python3, train.py]`; or remove `entry_point`)"
        ]
    );
}

#[test]
fn a_group_without_data_is_said() {
    let only = |groups: &str| {
        local_on(GROUPS).replace("{uri: data}", &format!("{{uri: data, groups: {groups}}}"))
    };
    assert_eq!(
        remarks(&spec(&only("[data]"))),
        [
            "jobs.churn.training.channels: no channel names the instance group `dnn`, so its machines get no data; where they need some, add it to the `groups` of a channel"
        ]
    );
    assert_eq!(remarks(&spec(&only("[data, dnn]"))), [""; 0]);
    assert_eq!(
        problems(&only("[dataa]"))[0],
        "jobs.churn.training.channels.train.groups[0]: `dataa` names no instance group (did you mean `data`?)"
    );
}

const CLOUD: &str = "\
version: 1
backend: sagemaker
region: us-east-1
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      channels:
        train: {uri: s3://data/train/}
      output: s3://canaries/out/
    instance: {groups: {data: 1x ml.c5.4xlarge, dnn: 1x ml.p3.2xlarge}}
";

#[test]
fn groups_are_served_on_sagemaker_as_well() {
    let spec = spec(CLOUD);
    assert_eq!((spec.not_yet.len(), spec.warnings.len()), (0, 0));
}

#[test]
fn what_groups_exclude_is_refused_at_its_place() {
    for (old, new, expected) in [
        (
            "output: s3://canaries/out/",
            "output: s3://canaries/out/\n      spot: true\n      checkpoints: s3://canaries/checkpoints/",
            "jobs.churn.training.spot: instance groups with spot capacity are documented nowhere and refused here (remove `spot`, or choose one type of machine as `instance`)",
        ),
        (
            "    instance:",
            "    canary: {warm_pool: 10m}\n    instance:",
            "jobs.churn.canary.warm_pool: instance groups have no warm pools (write `warm_pool: off`, or remove the key)",
        ),
        (
            "    instance:",
            "    canary: {training_plan: true}\n    instance:",
            "jobs.churn.canary.training_plan: a training plan is capacity of one type of machine, and `instance` has groups (remove the key: canaries on groups are on demand)",
        ),
        (
            "data: 1x ml.c5.4xlarge,",
            "a: ml.c5.4xlarge, b: ml.c5.4xlarge, c: ml.c5.4xlarge, d: ml.c5.4xlarge, e: ml.c5.4xlarge,",
            "jobs.churn.instance.groups: 6 instance groups; SageMaker takes at most 5",
        ),
    ] {
        let text = CLOUD.replace(old, new);
        let text = match new.contains("training_plan") {
            true => text.replace(
                "output:",
                "training_plan: arn:aws:sagemaker:us-east-1:123456789012:training-plan/p\n      output:",
            ),
            false => text,
        };
        assert_eq!(problems(&text), [expected], "{new}");
    }
    let twice = problems(&CLOUD.replace("dnn: 1x", "data: 1x"));
    assert!(twice.len() == 1 && twice[0].contains("`data`"), "{twice:?}");
}

#[test]
fn a_full_run_on_an_alternative_with_groups_has_no_spot_capacity() {
    let text = CLOUD
        .replace(
            "instance: {groups",
            "instance: ml.p3.2xlarge\n    alternatives: [{groups",
        )
        .replace("2xlarge}}\n", "2xlarge}}]\n")
        .replace(
            "output:",
            "spot: true\n      checkpoints: s3://canaries/checkpoints/\n      output:",
        );
    assert_eq!(
        remarks(&spec(&text)),
        [
            "jobs.churn.training.spot: instance groups with spot capacity are documented nowhere: a full run on the alternatives with groups is taken to be on demand"
        ]
    );
}

#[test]
fn a_file_system_reaches_the_machines_of_all_groups() {
    let text = CLOUD.replace(
        "train: {uri: s3://data/train/}",
        "train: {uri: s3://data/train/, groups: [data]}\n        words: {uri: efs://fs-0123456789abcdef0/words, sample: false, groups: [dnn]}",
    );
    let vpc = text.replace(
        "output:",
        "subnets: [subnet-0a1b]\n      security_groups: [sg-0a1b]\n      output:",
    );
    assert_eq!(
        problems(&vpc),
        [
            "jobs.churn.training.channels.words.groups: a file system is mounted on the machines of all groups (remove `groups` from all channels, or put the data into S3)"
        ]
    );
}

#[test]
fn groups_in_a_vpc_have_to_reach_each_other() {
    let vpc = CLOUD.replace(
        "output:",
        "subnets: [subnet-0a1b]\n      security_groups: [sg-0a1b]\n      output:",
    );
    assert_eq!(
        remarks(&spec(&vpc)),
        [
            "jobs.churn.training.subnets: machines of instance groups talk to each other: a security group has to let its own members in, or the job hangs until its time limit"
        ]
    );
}

#[test]
fn the_script_of_groups_takes_the_place_of_one() {
    let own = CLOUD.replace("xlarge}}", "xlarge}, entry_point: start.py}");
    spec(&own);
    let plain = own.replace("      source_dir: code\n      entry_point: train.py\n", "");
    assert_eq!(
        problems(&plain),
        [
            "jobs.churn.instance.entry_point: the training has no `entry_point` that `start.py` could take the place of (write `source_dir` and `entry_point` under `training`; or remove this one, and let the script look for its group)"
        ]
    );
}
