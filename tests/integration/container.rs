//! SageMaker's container contract, as a script sees it.

use serde_json::Value;

use crate::project::Project;

/// A script that copies what it sees into the project, from the first canary only.
fn look(project: &Project, more: &str) -> String {
    format!(
        "out={}/seen-$SM_CURRENT_HOST\nif mkdir \"$out\" 2>/dev/null; then\n{more}\nfi\n",
        project.root().display()
    )
}

fn spec_with(training: &str, instance: &str) -> String {
    Project::SPEC
        .replace("        train: {uri: data}\n", training)
        .replace("instance: local", &format!("instance: {instance}"))
}

const TWO_CHANNELS: &str = "        train: {uri: data, distribution: ShardedByS3Key}
        validation: {uri: validation, sample: false, content_type: text/csv}
";

#[test]
fn config_files_channels_variables_and_arguments() {
    let project = Project::empty()
        .data("data", 100)
        .data("validation", 3)
        .file("train.sh", "");
    project.write(
        "canary-gate.yml",
        &spec_with(TWO_CHANNELS, "local").replace(
            "      channels:\n",
            "      hyperparameters: {learning-rate: 0.10, k: 3}\n      environment: {GREETING: hello}\n      channels:\n",
        ),
    );
    project.write(
        "train.sh",
        &look(
            &project,
            "cp -r \"$SM_INPUT_CONFIG_DIR\" \"$out/config\"\nls \"$SM_CHANNEL_TRAIN\" > \"$out/train\"\nls \"$SM_CHANNEL_VALIDATION\" > \"$out/validation\"\nenv > \"$out/env\"\necho \"$@\" > \"$out/arguments\"\npwd > \"$out/pwd\"\nls -d \"$SM_MODEL_DIR\" \"$SM_OUTPUT_DATA_DIR\" \"$HOME\" \"$TMPDIR\"",
        ),
    );
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let json = |file: &str| {
        serde_json::from_str::<Value>(&project.read(&format!("seen-algo-1/config/{file}"))).unwrap()
    };
    assert_eq!(json("hyperparameters.json")["learning-rate"], "0.10");
    assert_eq!(
        json("inputdataconfig.json")["validation"]["ContentType"],
        "text/csv"
    );
    assert_eq!(json("resourceconfig.json")["hosts"][0], "algo-1");
    assert_eq!(project.read("seen-algo-1/train").lines().count(), 1);
    assert_eq!(project.read("seen-algo-1/validation").lines().count(), 3);
    assert_eq!(
        project.read("seen-algo-1/arguments").trim(),
        "-k 3 --learning-rate 0.10"
    );
    let environment = project.read("seen-algo-1/env");
    for line in [
        "GREETING=hello",
        "SM_HP_K=3",
        "SM_CURRENT_HOST=algo-1",
        "SM_HP_LEARNING_RATE=0.10",
        "HOSTNAME=algo-1",
        "AWS_REGION=us-east-1",
    ] {
        assert!(
            environment.lines().any(|known| known == line),
            "{line} in\n{environment}"
        );
    }
    let arn = "\nTRAINING_JOB_ARN=arn:aws:sagemaker:us-east-1:000000000000:training-job/";
    assert!(environment.contains(arn), "{environment}");
    assert!(!environment.contains("GIT_CONFIG_GLOBAL"), "{environment}");
    // It ran in a copy of its source, not in the project.
    assert!(
        project
            .read("seen-algo-1/pwd")
            .contains(".canary-gate/work/")
    );
}

#[test]
fn several_hosts_have_their_own_config_and_shards() {
    let project = Project::empty()
        .data("data", 100)
        .data("validation", 3)
        .file("train.sh", "");
    project.write(
        "canary-gate.yml",
        &spec_with(TWO_CHANNELS, "2x local").replace("[1%, 2%, 3%]", "[10%, 20%]"),
    );
    project.write(
        "train.sh",
        &look(
            &project,
            "cp \"$SM_INPUT_CONFIG_DIR/resourceconfig.json\" \"$out/\"\nls \"$SM_CHANNEL_TRAIN\" > \"$out/train\"\nls \"$SM_CHANNEL_VALIDATION\" > \"$out/validation\"",
        ),
    );
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let mut drawn = Vec::new();
    for host in ["algo-1", "algo-2"] {
        let config: Value =
            serde_json::from_str(&project.read(&format!("seen-{host}/resourceconfig.json")))
                .unwrap();
        assert_eq!(config["current_host"], host);
        assert_eq!(config["hosts"].as_array().unwrap().len(), 2);
        let shard = project.read(&format!("seen-{host}/train"));
        assert_eq!(shard.lines().count(), 5);
        drawn.extend(shard.lines().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            project
                .read(&format!("seen-{host}/validation"))
                .lines()
                .count(),
            3
        );
    }
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 10, "no object goes to two hosts");
    assert_eq!(
        report["jobs"][0]["measurements"][0]["hosts"][1]["host"],
        "algo-2"
    );
}

#[test]
fn one_failing_host_fails_the_run_and_ends_the_others() {
    let project = Project::with_script(
        "if [ $SM_CURRENT_HOST = algo-2 ]; then echo 'rank 1 gave up' >&2; exit 4; fi\nsleep 4180\n",
    );
    project.write(
        "canary-gate.yml",
        &spec_with("        train: {uri: data}\n", "2x local"),
    );
    let run = project.run(&["run", "--all"]).ended_with(13);
    assert!(run.stdout.contains("rank 1 gave up"), "{}", run.seen());
}

#[test]
fn large_objects_are_linked_not_copied() {
    use std::os::unix::fs::MetadataExt;
    let project = Project::empty().file("train.sh", "").spec("");
    for index in 0..20 {
        project.write(&format!("data/part-{index:02}.bin"), &"x".repeat(2 << 20));
    }
    project.write(
        "train.sh",
        &look(
            &project,
            "stat -L -c %i \"$SM_CHANNEL_TRAIN\"/* > \"$out/inodes\"",
        ),
    );
    project.run(&["run", "--all", "--quiet"]);
    let originals: Vec<String> = (0..20)
        .map(|index| {
            project
                .path(&format!("data/part-{index:02}.bin"))
                .metadata()
                .unwrap()
                .ino()
                .to_string()
        })
        .collect();
    for inode in project.read("seen-algo-1/inodes").lines() {
        assert!(
            originals.iter().any(|original| original == inode),
            "{inode} is a copy"
        );
    }
}

#[test]
fn a_script_with_opt_ml_written_in_works_where_namespaces_are_allowed() {
    let project = Project::with_script(
        "set -e\nls /opt/ml/input/data/train/* > /dev/null\necho done > /opt/ml/model/model.txt\n",
    );
    let run = project.run(&["run", "--all"]);
    if run.code == 13 {
        assert!(
            run.stdout.contains("/opt/ml, which could not be mounted"),
            "{}",
            run.seen()
        );
        eprintln!("skipped: user and mount namespaces are not allowed here");
        return;
    }
    run.ended_with(0);
}

#[test]
fn a_source_folder_is_copied_without_what_git_does_not_know() {
    let project = Project::empty()
        .data("data", 100)
        .file("code/train.sh", "")
        .file("code/.env", "SECRET=1")
        .file("code/scratch.tmp", "ignored")
        .file(".gitignore", "*.tmp\nseen-*\n")
        .file(
            "canary-gate.yml",
            &Project::SPEC.replace(
                "      channels:\n",
                "      source_dir: code\n      channels:\n",
            ),
        );
    let look = look(&project, "ls -A > \"$out/files\"");
    project.write("code/train.sh", &look);
    let project = project.committed();
    project.run(&["run", "--all", "--quiet"]);
    assert_eq!(project.read("seen-algo-1/files"), "train.sh\n");
}
