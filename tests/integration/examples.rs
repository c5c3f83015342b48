//! The examples with several hosts: run as they lie here, on less work.

use std::path::Path;

use serde_json::Value;

use crate::project::Project;
use crate::quickstart::copy;

/// A checkout with nothing but an example.
fn checkout(example: &str) -> Project {
    let project = Project::empty();
    let folder = format!("examples/sagemaker/{example}");
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder),
        &project.path(&folder),
    );
    project.committed()
}

/// Rewrites the example's spec, each text that is to be replaced standing in it.
fn rewrite(project: &Project, spec: &str, texts: &[(&str, &str)]) {
    let mut text = project.read(spec);
    for (from, to) in texts {
        assert!(text.contains(from), "no {from:?} in\n{text}");
        text = text.replace(from, to);
    }
    project.write(spec, &text);
}

/// `None` where hosts have no names here.
fn report(project: &Project, spec: &str) -> Option<Value> {
    let arguments = ["run", "--spec", spec, "--all", "--format", "json"];
    let run = project.run(&arguments);
    if run.stdout.contains("have no addresses on this machine") {
        eprintln!("skipped: user and mount namespaces are not allowed here");
        return None;
    }
    Some(run.ended_with(0).json())
}

fn numbers(text: &str) -> Vec<f64> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn two_hosts_learn_what_one_does_in_both_distributions() {
    const SPEC: &str = "examples/sagemaker/several-hosts/local.yml";
    let project = checkout("several-hosts");
    let keep = format!(
        "python3 train.py \"$@\" || exit\n[ $SM_CURRENT_HOST != algo-1 ] || cp \"$SM_MODEL_DIR/model.json\" {}/$TRAINING_JOB_NAME\n",
        project.root().display()
    );
    project.write("examples/sagemaker/several-hosts/keep.sh", &keep);
    rewrite(
        &project,
        SPEC,
        &[
            ("[python3, train.py]", "[sh, keep.sh]"),
            ("epochs: 300", "epochs: 5"),
            (
                "fractions: [4%, 8%, 16%, 32%]",
                "design: fixed, replicates: 1, fractions: [2%, 4%, 8%]",
            ),
            ("max_share: 300%", "max_share: 10000%"),
        ],
    );
    let Some(report) = report(&project, SPEC) else {
        return;
    };
    // The same seed draws the same files in each job and on each machine.
    let alone = numbers(&project.read("replicated-1-8of100-0"));
    assert_eq!(alone.len(), 650);
    for other in [
        "replicated-2-8of100-0",
        "sharded-1-8of100-0",
        "sharded-2-8of100-0",
    ] {
        let together = numbers(&project.read(other));
        let far = alone
            .iter()
            .zip(&together)
            .map(|(one, other)| (one - other).abs());
        assert!(far.fold(0.0, f64::max) < 1e-9, "{other}");
    }
    for job in report["jobs"].as_array().unwrap() {
        for row in job["forecasts"].as_array().unwrap() {
            assert!(row.get("not_measured").is_none(), "{row:#}");
            assert!(row["estimates"]["step_seconds"].is_object(), "{row:#}");
        }
        let hosts = &job["measurements"][0]["hosts"];
        let bytes = [&hosts[0], &hosts[1]].map(|host| host["bytes"].as_u64().unwrap());
        let whole = job["measurements"][0]["bytes"].as_u64().unwrap();
        match job["name"].as_str().unwrap() {
            "replicated" => assert_eq!(bytes, [whole, whole]),
            _ => assert_eq!(bytes[0] + bytes[1], whole),
        }
    }
}

#[test]
fn a_data_service_feeds_a_trainer_that_learns_what_its_twin_does() {
    const SPEC: &str = "examples/sagemaker/groups/local.yml";
    let project = checkout("groups");
    rewrite(
        &project,
        SPEC,
        &[
            ("canary: [48, 96, 192]", "canary: [12, 24, 48]"),
            ("canary: {", "canary: {design: fixed, replicates: 1, "),
            ("max_share: 300%", "max_share: 10000%"),
            ("metrics: {step:", "metrics: {loss: 'loss ([0-9.]+)', step:"),
            ("budget: {", "budget: {metrics: {loss: {max: 100}}, "),
        ],
    );
    let Some(report) = report(&project, SPEC) else {
        return;
    };
    let job = &report["jobs"][0];
    for row in job["forecasts"].as_array().unwrap() {
        assert!(row.get("not_measured").is_none(), "{row:#}");
        assert!(row["estimates"]["step_seconds"].is_object(), "{row:#}");
    }
    let runs = job["measurements"].as_array().unwrap();
    let of = |instance: &str| -> Vec<&Value> {
        let such = runs.iter().filter(|run| run["instance"] == instance);
        such.map(|run| &run["metrics"]["loss"]["lowest"]).collect()
    };
    let twin = of("local");
    assert_eq!(twin.len(), 3);
    assert!(twin[0].as_f64().unwrap() > 0.0);
    assert_eq!(of("data: 1x local + dnn: 1x local"), twin);
    let groups: Vec<_> = (runs[0]["hosts"].as_array().unwrap().iter())
        .map(|host| {
            (
                host["host"].as_str().unwrap(),
                host["group"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(groups, [("algo-1", "dnn"), ("algo-2", "data")]);
}
