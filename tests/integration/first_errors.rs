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

/// Each row: the script, the command that starts it, the code that the run ends with, and what is said.
#[test]
fn each_is_explained() {
    let python = "[python3, train.py]";
    let sample = "import os\nopen(os.path.join(os.environ['SM_CHANNEL_TRAIN'], 'labels.csv'))\n";
    for (script, command, code, said) in [
        (
            sample,
            python,
            13,
            &["not in this canary", "sample: false"][..],
        ),
        (
            "import no_such_module\n",
            python,
            13,
            &["no_such_module", "advice", "training.command"],
        ),
        // One that git ignores.
        (
            "pass\n",
            "[.venv/bin/python, train.py]",
            1,
            &[".venv/bin/python", "absolute path"],
        ),
    ] {
        let project = with_python(script, command).file("data/train/labels.csv", "0,1\n");
        let run = project.run(&["run", "--all"]).ended_with(code);
        for said in said {
            assert!(run.seen().contains(said), "{said}: {}", run.seen());
        }
    }
}

#[test]
fn a_file_of_the_users_own_that_is_missing_is_not_explained() {
    let project = with_python("open('/etc/no-such-file')\n", "[python3, train.py]");
    let run = project.run(&["run", "--all"]).ended_with(13);
    assert!(!run.stdout.contains("advice"), "{}", run.seen());
    assert!(project.recorded("canary")[0].get("way_out").is_none());
}
