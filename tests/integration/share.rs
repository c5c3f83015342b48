//! `share`: scripts that draw their own share of the data, from a generator, a database or a hub.

use serde_json::Value;

use crate::project::Project;

/// Makes as many rows as it is told, and prints what it was told.
const GENERATOR: &str = r#"import os, sys, time
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
share = float(given.get("--data_fraction", os.environ.get("DATA_FRACTION", "1.0")))
examples = int(given.get("--max_train_samples", 40000 * share))
end = time.process_time() + examples * 0.00002
while time.process_time() < end:
    pass
print("handed", given.get("--data_fraction"), os.environ.get("DATA_FRACTION"), given.get("--max_train_samples"))
"#;

fn project(share: &str) -> Project {
    Project::empty().file("train.py", GENERATOR).file(
        "canary-gate.yml",
        &format!(
            "\
version: 1
backend: local
jobs:
  made:
    training: {{command: [python3, train.py]}}
    instance: local
    share: {share}
    canary: {{design: fixed, fractions: [1%, 5%, 10%], replicates: 1, max_share: 10000%}}
    budget: {{time: 10m}}
"
        ),
    )
}

/// What the canaries were handed, from small to large.
fn handed(project: &Project) -> Vec<String> {
    let finished = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0);
    let report = finished.json();
    let runs: Vec<Value> = report["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
        .clone();
    for run in &runs {
        assert_eq!(run["outcome"]["kind"], "completed", "{run}");
        assert_eq!(run["drawn_by_script"], true);
        assert!(
            run.get("bytes").is_none() && run.get("objects").is_none(),
            "{run}"
        );
    }
    let fractions = runs.iter().map(|run| run["fraction"].to_string());
    fractions.collect()
}

#[test]
fn a_script_without_data_is_handed_its_share() {
    for share in [
        "{hyperparameter: data_fraction}",
        "{hyperparameter: data_fraction, full: omit}",
        "{environment: DATA_FRACTION}",
        "{hyperparameter: max_train_samples, full: 40000}",
    ] {
        assert_eq!(handed(&project(share)), ["0.01", "0.05", "0.1"], "{share}");
    }
}

#[test]
fn a_full_run_is_handed_the_full_value_or_nothing() {
    for (share, said) in [
        ("{hyperparameter: data_fraction}", "handed 1.0 None None"),
        (
            "{hyperparameter: data_fraction, full: omit}",
            "handed None None None",
        ),
        ("{environment: DATA_FRACTION}", "handed None 1.0 None"),
        (
            "{hyperparameter: max_train_samples, full: 40000}",
            "handed None None 40000",
        ),
    ] {
        let project = project(share);
        let script = GENERATOR
            .replace("print(", "print(file=open(os.environ['SAID'], 'w'), *(")
            .replace(
                "given.get(\"--max_train_samples\"))\n",
                "given.get(\"--max_train_samples\")))\n",
            );
        let spec = project.read("canary-gate.yml").replace(
            "command: [python3, train.py]",
            &format!(
                "command: [python3, train.py], environment: {{SAID: {}}}",
                project.path("said").display()
            ),
        );
        project.write("train.py", &script);
        project.write("canary-gate.yml", &spec);
        project.run(&["run", "--all", "--quiet"]).ended_with(0);
        project.run(&["actuals", "--run", "--quiet"]).ended_with(0);
        assert_eq!(project.read("said").trim(), said, "{share}");
    }
}

#[test]
fn a_plan_says_what_each_canary_and_the_full_run_are_handed() {
    let counted = project("{hyperparameter: max_train_samples, full: 40000}");
    counted
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("1%  max_train_samples 400, once")
        .reported("full run        max_train_samples 40000");
    project("{environment: DATA_FRACTION, full: omit}")
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("5%  DATA_FRACTION 0.05, once")
        .reported("full run        DATA_FRACTION not set");
}

/// Of 130 examples one per cent is one, which is less than it was asked for.
#[test]
fn few_examples_are_a_share_as_it_really_is() {
    let project = project("{hyperparameter: max_train_samples, full: 130}");
    assert_eq!(handed(&project)[0], (1.0_f64 / 130.0).to_string());
}

#[test]
fn wrong_shares_are_said_at_their_line() {
    let of = |share: &str, training: &str| {
        let project = project(share);
        project.write(
            "canary-gate.yml",
            &project.read("canary-gate.yml").replace(
                "command: [python3, train.py]",
                &format!("command: [python3, train.py]{training}"),
            ),
        );
        project.run(&["validate"]).ended_with(2).words()
    };
    for (share, training, said) in [
        ("{}", "", "it is not said how the script gets its share"),
        (
            "{hyperparameter: a, environment: B}",
            "",
            "the share is handed over twice",
        ),
        (
            "{hyperparameter: a, full: 3}",
            "",
            "`3` is not what a full run is handed",
        ),
        (
            "{hyperparameter: a, full: some}",
            "",
            "`some` is not what a full run is handed",
        ),
        (
            "{hyperparameter: a, full: -5}",
            "",
            "is not what a full run is handed",
        ),
        (
            "{environment: 'A=B'}",
            "",
            "`A=B` cannot be a variable's name",
        ),
        (
            "{environment: LD_PRELOAD}",
            "",
            "`LD_PRELOAD` has a meaning to other programs",
        ),
        (
            "{environment: PATH}",
            "",
            "`PATH` has a meaning to other programs",
        ),
        (
            "{environment: SM_CHANNELS}",
            "",
            "`SM_CHANNELS` has a meaning to other programs",
        ),
        (
            "{environment: 'DATA FRACTION'}",
            "",
            "`DATA FRACTION` cannot be a variable's name",
        ),
        (
            "{hyperparameter: sagemaker_program}",
            "",
            "`sagemaker_program` is one of SageMaker's own settings",
        ),
        (
            "{hyperparameter: 'data fraction'}",
            "",
            "`data fraction` cannot be a hyperparameter's name",
        ),
        (
            "{hyperparameter: --data_fraction}",
            "",
            "`--data_fraction` cannot be a hyperparameter's name",
        ),
        (
            "{hyperparameter: a}",
            ", hyperparameters: {a: 0.5}",
            "in the full run `a` is 1.0, but `training` says `0.5`",
        ),
        (
            "{hyperparameter: a}",
            ", channels: {train: {uri: data, sample: true}}",
            "the script draws its share, and the channel `train` is sampled too",
        ),
    ] {
        let words = of(share, training);
        assert!(words.contains(said), "{share}: {words}");
    }
    for share in [
        "{hyperparameter: epochs, full: 50}",
        "{hyperparameter: epochs, full: 50, follows: train}",
    ] {
        let words = of(
            &format!("{share}\n    work: {{hyperparameter: epochs, full: 50, canary: [5, 10]}}"),
            ", hyperparameters: {epochs: 50}, channels: {train: {uri: data}}",
        );
        let said = "`work` and `share` set the same hyperparameter";
        assert!(words.contains(said), "{share}: {words}");
    }
    let without = project("{hyperparameter: a}");
    let spec = without
        .read("canary-gate.yml")
        .replace("    share: {hyperparameter: a}\n", "");
    without.write("canary-gate.yml", &spec);
    without
        .run(&["validate"])
        .ended_with(2)
        .complained("the key `channels` is missing")
        .complained("write `share` if the script draws its own share");
}

/// Algorithms that want to know how many examples there are get the number of those that were drawn.
#[test]
fn a_count_goes_with_what_is_drawn_of_a_channel() {
    let project = Project::empty()
        .data("data", 50)
        .file("train.py", &GENERATOR.replace("print(", "open(os.environ['SM_CHANNEL_TRAIN'] + '/' + os.listdir(os.environ['SM_CHANNEL_TRAIN'])[0]); print(len(os.listdir(os.environ['SM_CHANNEL_TRAIN'])), given.get('--samples'), file=open(os.environ['SAID'], 'a')); print("))
        .file("canary-gate.yml", "");
    let spec = format!(
        "\
version: 1
backend: local
jobs:
  made:
    training:
      command: [python3, train.py]
      environment: {{SAID: {}}}
      channels: {{train: {{uri: data}}, whole: {{uri: data, sample: false}}}}
    instance: local
    share: {{hyperparameter: samples, full: 5000, follows: train}}
    canary: {{design: fixed, fractions: [10%, 20%, 30%], replicates: 1, max_share: 10000%}}
    budget: {{time: 10m}}
",
        project.path("said").display()
    );
    project.write("canary-gate.yml", &spec);
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let runs = report["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
        .clone();
    assert!(runs.iter().all(|run| run.get("drawn_by_script").is_none()));
    project.run(&["actuals", "--run", "--quiet"]).ended_with(0);
    let said = project.read("said");
    let said: Vec<(usize, f64)> = said
        .lines()
        .map(|line| {
            let (files, samples) = line.split_once(' ').unwrap();
            (files.parse().unwrap(), samples.parse().unwrap())
        })
        .collect();
    let files: Vec<usize> = said.iter().map(|(files, _)| *files).collect();
    assert_eq!(files, [5, 10, 15, 50]);
    assert_eq!(said[3].1, 5000.0);
    for ((_, samples), run) in said.iter().zip(&runs) {
        let share = run["bytes"].as_f64().unwrap() / run["bytes_total"].as_f64().unwrap();
        assert_eq!(*samples, (5000.0 * share).round());
    }
    for (follows, complaint) in [
        ("full: 5000, follows: tran", "`tran` names no channel"),
        ("full: 5000, follows: whole", "nothing is drawn of `whole`"),
        (
            "follows: train",
            "what follows a channel is a number of examples",
        ),
    ] {
        project.write(
            "canary-gate.yml",
            &spec.replace("full: 5000, follows: train", follows),
        );
        let words = project.run(&["validate"]).ended_with(2).words();
        assert!(words.contains(complaint), "{words}");
    }
}

#[test]
fn a_number_of_examples_is_written_in_digits_only() {
    for (full, said) in [
        ("120_000", "write digits only, such as `120000`"),
        ("1e5", "write digits only, such as `100000`"),
        ("12k", "write digits only, such as `120000`"),
        ("5", "is not what a full run is handed"),
    ] {
        let project = project(&format!(
            "{{hyperparameter: max_train_samples, full: {full}}}"
        ));
        let words = project.run(&["validate"]).ended_with(2).words();
        assert!(words.contains(said), "{full}: {words}");
    }
}
