//! The likeliest first errors of a canary, each with its way out in every report.

use crate::project::Project;

/// A project whose canaries run a Python script by `command`.
fn with_python(script: &str, command: &str) -> Project {
    let spec = Project::SPEC
        .replace("[sh, train.sh]", command)
        .replace("uri: data", "uri: data/train");
    Project::empty()
        .file("train.py", script)
        .data("data/train", 100)
        .file("canary-gate.yml", &spec)
}

#[test]
fn data_read_by_a_fixed_path_are_explained_in_every_report() {
    let project = with_python("open('data/train/part-000.csv')\n", "[python3, train.py]");
    let run = project.run(&[
        "run",
        "--all",
        "--output",
        "report.md",
        "--output",
        "report.json",
    ]);
    let run = run.ended_with(13).reported("SM_CHANNEL_TRAIN");
    assert_eq!(run.stdout.matches("SM_CHANNEL_TRAIN").count(), 1);
    let markdown = project.read("report.md");
    assert_eq!(
        markdown.matches("`SM_CHANNEL_TRAIN`").count(),
        1,
        "{markdown}"
    );
    let json: serde_json::Value = serde_json::from_str(&project.read("report.json")).unwrap();
    let advice = json["jobs"][0]["advice"][0].as_str().unwrap();
    assert_eq!(
        advice,
        "the script reads `data/train/part-000.csv` by a fixed path, and a canary has its data elsewhere: read them from the folder that the variable `SM_CHANNEL_TRAIN` names"
    );
    assert_eq!(json["jobs"][0]["measurements"][0]["way_out"], advice);
}

#[test]
fn a_file_that_is_not_in_the_sample_is_explained() {
    let script = "import os\nopen(os.path.join(os.environ['SM_CHANNEL_TRAIN'], 'labels.csv'))\n";
    let project = with_python(script, "[python3, train.py]").file("data/train/labels.csv", "0,1\n");
    project
        .run(&["run", "--all"])
        .ended_with(13)
        .reported("not in this canary")
        .reported("sample: false");
}

#[test]
fn a_missing_module_is_explained() {
    let project = with_python("import no_such_module\n", "[python3, train.py]");
    project
        .run(&["run", "--all"])
        .ended_with(13)
        .reported("no_such_module")
        .reported("advice")
        .reported("training.command");
}

#[test]
fn a_virtual_environment_that_git_ignores_is_explained() {
    let project = with_python("pass\n", "[.venv/bin/python, train.py]");
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained(".venv/bin/python")
        .complained("absolute path");
}

#[test]
fn a_file_of_the_users_own_that_is_missing_is_not_explained() {
    let project = with_python("open('/etc/no-such-file')\n", "[python3, train.py]");
    let run = project.run(&["run", "--all"]).ended_with(13);
    assert!(!run.stdout.contains("advice"), "{}", run.seen());
    assert!(project.recorded("canary")[0].get("way_out").is_none());
}
