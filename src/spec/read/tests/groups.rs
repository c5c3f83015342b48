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
            "jobs.churn.training.channels: no channel names the instance group `dnn`, so its machines get no data"
        ]
    );
    assert_eq!(remarks(&spec(&only("[data, dnn]"))), [""; 0]);
    assert_eq!(
        problems(&only("[dataa]"))[0],
        "jobs.churn.training.channels.train.groups[0]: `dataa` names no instance group (did you mean `data`?)"
    );
}
