//! `step_metric`: the time and the cost of a step, from what the script prints.

use serde_json::Value;

use crate::project::Project;

/// A project whose script is `script`, with a price, a step metric and a budget.
fn project(script: &str, budget: &str) -> Project {
    let spec = Project::SPEC
        .replace(
            "backend: local\n",
            "backend: local\nprices: {local: 3600 USD/h}\n",
        )
        .replace(
            "      channels",
            "      metrics: {step: 'avg step time: (\\S+)', loss: 'loss: ([0-9.]+)'}\n      step_metric: step\n      channels",
        )
        // At a dollar a second.
        .replace("max_runtime: 1m", "max_runtime: 1m, spend_limit: 2000 USD");
    Project::empty()
        .file("train.sh", script)
        .data("data", 100)
        .file("canary-gate.yml", &format!("{spec}    budget: {budget}\n"))
}

/// The step times of the runs that `run` measured.
fn step_times(project: &Project) -> Vec<Value> {
    let runs = project.recorded("canary");
    runs.iter().map(|run| run["step_seconds"].clone()).collect()
}

/// A cold first step, then steps of a quarter of a second, as one would print them.
const STEADY: &str = "\
echo 'avg step time: 9.5 s, loss: 3'
for step in 1 2 3; do echo \"avg step time: 0.25 s, loss: 1\"; done
echo 'avg step time: 0.5'
";

#[test]
fn the_cost_of_a_step_is_forecast_and_judged() {
    let project = project(STEADY, "{cost_per_step: 0.5 USD}");
    project
        .run(&["validate"])
        .ended_with(0)
        .complained("jobs.sums.training.metrics.loss: is not read");
    let run = project
        .run(&[
            "run",
            "--all",
            "--output",
            "report.json",
            "--output",
            "report.md",
        ])
        .ended_with(0);
    assert_eq!(step_times(&project), vec![Value::from(0.25); 6]);
    let report: Value = serde_json::from_str(&project.read("report.json")).unwrap();
    let forecast = &report["jobs"][0]["forecasts"][0];
    for quantity in ["step_seconds", "cost_per_step_usd"] {
        let point = forecast["estimates"][quantity]["point"].as_f64().unwrap();
        assert!((point - 0.25).abs() < 1e-9, "{quantity} {point}");
    }
    assert!(run.stdout.contains("Cost/step"), "{}", run.seen());
    assert!(run.stdout.contains("250ms"), "{}", run.seen());
    assert!(run.stdout.contains("cost per step 50%"), "{}", run.seen());
    let markdown = project.read("report.md");
    assert!(markdown.contains("| Step | Cost/step |"), "{markdown}");

    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("cost_per_step: 0.5 USD", "cost_per_step: 0.2 USD"),
    );
    project
        .run(&["run", "--all", "--quiet"])
        .ended_with(10)
        .reported("over budget: cost per step is 0.25 USD");
    // The same offline, and beside a full run.
    project
        .run(&["history", "export", "--output", "canaries.jsonl"])
        .ended_with(0);
    project.run(&["forecast", "canaries.jsonl"]).ended_with(10);
    project
        .run(&["actuals", "--run", "--quiet"])
        .ended_with(0)
        .reported("cost per step");
}

#[test]
fn without_a_match_the_cost_of_a_step_is_unknown_and_says_why() {
    project("echo loss: 3\n", "{cost_per_step: 0.5 USD}")
        .run(&["run", "--all"])
        .ended_with(14)
        .reported("no step time was measured")
        .reported("no line of the output matched the step metric `step`");
    project(
        "for value in nan -1 inf 0 soon; do echo \"avg step time: $value\"; done\n",
        "{cost_per_step: 0.5 USD}",
    )
    .run(&["run", "--all"])
    .ended_with(14)
    .reported("none of the 5 lines that matched the step metric `step` had a number above 0");
}

#[test]
fn garbage_endless_lines_and_a_missing_line_end_do_not_hide_the_steps() {
    let project = project(
        "\
head -c 200000 /dev/urandom
echo
echo 'avg step time: 9'
head -c 10000000 /dev/zero | tr '\\0' 'x'
printf ' avg step time: 77\\n'
printf 'loading\\ravg step time: -3\\ravg step time: 0.125\\r' >&2
printf 'avg step time: 2\\navg step time: NaN\\navg step time: 2.' 
",
        "{time: 1h}",
    );
    project.run(&["run", "--all", "--quiet"]);
    assert_eq!(step_times(&project), vec![Value::from(2.0); 6]);
}

#[test]
fn steps_logged_to_standard_error_count() {
    let project = project(
        &STEADY.replace('\n', " >&2\n").replace("done >&2", "done"),
        "{time: 1h}",
    );
    project.run(&["run", "--all", "--quiet"]);
    assert_eq!(step_times(&project), vec![Value::from(0.25); 6]);
}

#[test]
fn patterns_that_cannot_be_used_are_said_with_their_place() {
    for (pattern, complaint) in [
        ("step ([0-9", "the pattern's brackets do not match"),
        (
            "step [0-9]+",
            "the pattern has 0 capture groups, where 1 is needed",
        ),
        (
            "(step) ([0-9]+)",
            "the pattern has 2 capture groups, where 1 is needed",
        ),
        ("(?<=step )([0-9]+)", "look-behind, is not supported"),
        (
            "([0-9]{3,1})",
            "the pattern is not a regular expression: invalid repetition count range",
        ),
        ("((?:a{999}){999})", "the pattern is too large"),
    ] {
        let project = project(STEADY, "{cost_per_step: 1 USD}");
        let spec = project.read("canary-gate.yml");
        project.write(
            "canary-gate.yml",
            &spec.replace("avg step time: (\\S+)", pattern),
        );
        let refused = project.run(&["run", "--all"]).ended_with(2);
        assert!(
            refused.words().contains(complaint),
            "{pattern}\n{}",
            refused.seen()
        );
        assert!(
            refused.stderr.contains("jobs.sums.training.metrics.step"),
            "{}",
            refused.seen()
        );
        // One slip is one problem: the line of the budget has its step metric.
        assert!(
            !refused.stderr.contains("a cost per step needs"),
            "{}",
            refused.seen()
        );
    }
    let project = project(STEADY, "{cost_per_step: 1 USD}");
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("      step_metric: step\n", ""),
    );
    project
        .run(&["plan", "--all"])
        .ended_with(2)
        .complained("a cost per step needs");
}
