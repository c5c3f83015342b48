//! `budget.metrics` on SageMaker: the values are read from the log.

use serde_json::Value;

use super::{FIXED, JSON, gate, project};
use crate::aws::Logs;
use crate::project::budget_line;

fn line(report: &Value) -> &Value {
    budget_line(report, "metrics.tokens_per_second")
}

#[test]
fn on_sagemaker_the_values_are_those_of_the_log() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml").replace(
        "      output:",
        "      metrics: {tokens_per_second: '(\\S+) tok/s'}\n      output:",
    );
    let (before, _) = spec.split_once("    budget:").unwrap_or((&spec, ""));
    let with = |limit: &str| {
        format!("{before}    budget: {{metrics: {{tokens_per_second: {{{limit}}}}}}}\n")
    };
    aws.logs(Logs::of(|_, _| {
        let slow = (0..20).map(|_| "12 tok/s".to_owned());
        slow.chain((0..21).map(|step| format!("{} tok/s", 10_000 + step % 3)))
            .collect()
    }));
    project.write("canary-gate.yml", &with("min: 9000"));
    let report = gate(&project, &aws, JSON).ended_with(0).json();
    assert_eq!(line(&report)["verdict"], "within");
    let of_run = &report["jobs"][0]["measurements"][0]["metrics"]["tokens_per_second"];
    assert_eq!(
        (&of_run["lowest"], &of_run["values"]),
        (&10_001.0.into(), &20.into())
    );
    project.write("canary-gate.yml", &with("max: 9000"));
    gate(&project, &aws, &["run", "--all", "--quiet"])
        .ended_with(10)
        .reported("over budget: tokens_per_second is 10001");
}
