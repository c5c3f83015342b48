//! `check`: what of a spec is missing on this machine, and what to do about it: its whole texts. `scenarios` has the rest.

use crate::project::Project;

const SUMS: &str = "cat \"$SM_CHANNEL_TRAIN\"/* > /dev/null\n";

#[test]
fn a_machine_that_has_everything_is_said_so() {
    let project = Project::with_script(SUMS).committed();
    let found = project.run(&["check"]).ended_with(0);
    insta::with_settings!({filters => vec![(r"sh is /\S+", "sh is [PATH]")]}, {
        insta::assert_snapshot!(found.seen());
    });
    assert!(
        !project.path(".canary-gate").exists(),
        "a look writes nothing"
    );
}

#[test]
fn everything_that_is_missing_is_said_with_what_to_do() {
    let spec = "\
version: 1
backend: local
jobs:
  sums:
    training:
      source_dir: code
      command: [no-such-program, train.py]
      channels:
        train: {uri: data/train}
        labels: {uri: data/labels, sample: false}
    instance: local
  other:
    training:
      command: [sh, train.sh]
      channels: {train: {uri: data/train}}
    instance: local
";
    let project = Project::empty()
        .file("canary-gate.yml", spec)
        .file(".gitignore", "train.sh\n")
        .file("train.sh", SUMS)
        .file("code/other.py", "")
        .committed();
    let found = project.run(&["check"]).ended_with(1);
    insta::with_settings!({filters => vec![(r"sh is /\S+", "sh is [PATH]")]}, {
        insta::assert_snapshot!(found.seen());
    });
    // A spec is valid also where its data are not.
    project
        .run(&["validate"])
        .ended_with(0)
        .reported("the spec has no errors: 2 jobs (sums, other), backend local; 6 things are missing on this machine");
    project
        .run(&["check", "--job", "nothing"])
        .ended_with(2)
        .complained("its jobs are sums, other");
    project
        .run(&["check", "--try"])
        .ended_with(1)
        .complained("no canary is tried while something is missing");
}
