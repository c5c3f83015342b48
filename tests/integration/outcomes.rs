//! Every documented exit code, reached by the real program.

use crate::project::{Project, budget_line};

fn sleeping(budget: &str) -> Project {
    Project::with_script("sleep 0.1\n").spec(budget)
}

#[test]
fn within() {
    sleeping("    budget: {time: 1h}\n")
        .run(&["run", "--all", "--quiet"])
        .ended_with(0)
        .reported("within");
}

#[test]
fn exceeded() {
    sleeping("    budget: {time: 0.01s}\n")
        .run(&["run", "--all", "--quiet"])
        .ended_with(10)
        .reported("exit 10: a budget is exceeded");
}

#[test]
fn a_warn_line_is_shown_and_does_not_count() {
    let run = sleeping("    budget: {time: {max: 0.01s, level: warn}}\n")
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let time = budget_line(&run, "time");
    assert_eq!(
        (&time["verdict"], &time["level"]),
        (&"exceeded".into(), &"warn".into())
    );
}

#[test]
fn at_risk_fails_only_under_strict() {
    // A limit between the forecast and the upper end of its interval may be passed, and need not.
    let project = sleeping("    budget: {time: 1h}\n");
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .json();
    let time = &report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"];
    let limit = (time["point"].as_f64().unwrap() + time["upper"].as_f64().unwrap()) / 2.0;
    let project = project.spec(&format!("    budget: {{time: {limit:.6}s}}\n"));
    let file = "canaries.jsonl";
    project
        .run(&["history", "export", "--output", file])
        .ended_with(0);
    project
        .run(&["forecast", file])
        .ended_with(0)
        .reported("at risk");
    project.run(&["forecast", file, "--strict"]).ended_with(11);
}

#[test]
fn not_judged_without_a_budget() {
    sleeping("")
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .reported("\"verdict\": \"not_judged\"");
}

#[test]
fn unknown_fails_unless_it_may_pass() {
    let project = sleeping("    budget: {time: 1h}\n");
    let priced = project
        .read("canary-gate.yml")
        .replace(
            "max_runtime: 1m}",
            "max_runtime: 1m, spend_limit: 0.01 USD}",
        )
        .replace("jobs:\n", "prices: {local: 5 USD/h}\njobs:\n");
    project.write("canary-gate.yml", &priced);
    project.run(&["run", "--all", "--quiet"]).ended_with(14);
    project
        .run(&["run", "--all", "--quiet", "--on-inconclusive", "pass"])
        .ended_with(0);
    project
        .run_with(&["run", "--all", "--quiet"], |command| {
            command.env("CANARY_GATE_ON_INCONCLUSIVE", "pass");
        })
        .ended_with(0);
}
