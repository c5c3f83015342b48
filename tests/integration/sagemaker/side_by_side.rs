//! Several jobs in one run give what they give one after another.

use super::{FIXED, JSON, gate, project};
use crate::aws::FakeAws;
use crate::project::Project;

const ADAPTIVE: &str = "{max_share: 10000%, max_runtime: 30m}";
const ALTERNATIVES: &str = "    alternatives: [ml.m5.2xlarge, ml.c5.xlarge]\n";

/// A project with so many jobs like `churn`: `churn0`, `churn1` and so on, each with its own hyperparameter and with `more`.
fn jobs(count: usize, canary: &str, more: &str) -> (Project, FakeAws) {
    let (project, aws) = project(canary);
    let one = project.read("canary-gate.yml");
    let (head, job) = one.split_once("  churn:\n").unwrap();
    let jobs: String = (0..count)
        .map(|number| {
            let job = job.replace("epochs: 5", &format!("epochs: {number}"));
            format!("  churn{number}:\n{job}{more}")
        })
        .collect();
    project.write("canary-gate.yml", &format!("{head}{jobs}"));
    (project, aws)
}

/// What differs from run to run by its nature: when something was written, and by which run.
fn without_times(text: &str) -> String {
    let pattern =
        regex::Regex::new(r#""(run|generated_at|recorded_at|age_days)": ?("[^"]*"|[0-9.e-]+)"#);
    let pattern = pattern.unwrap();
    pattern.replace_all(text, "[$1]").into_owned()
}

/// Report, file of measurements and records of a run.
fn all_of(project: &Project, aws: &FakeAws, more: &[&str]) -> (String, String, Vec<String>) {
    let arguments = [JSON, &["--measurements", "runs.jsonl"], more].concat();
    let run = gate(project, aws, &arguments);
    let jobs = std::fs::read_dir(project.path(".canary-gate/local")).unwrap();
    let files = jobs.flat_map(|job| std::fs::read_dir(job.unwrap().path()).unwrap());
    let mut records: Vec<String> = files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .map(|record| without_times(&record))
        .collect();
    records.sort();
    (
        without_times(&run.json().to_string()),
        without_times(&project.read("runs.jsonl")),
        records,
    )
}

#[test]
fn jobs_side_by_side_give_what_they_give_one_after_another() {
    for canary in [FIXED, ADAPTIVE] {
        let canary = canary.replace('}', ", spend_limit: 5 USD}");
        let now = jiff::Timestamp::now().as_second();
        let (project, aws) = jobs(3, &canary, ALTERNATIVES);
        aws.still_clock(now);
        let at_once = all_of(&project, &aws, &[]);
        // Two jobs may spend more than that together, so each waits for the one before it.
        let (project, aws) = jobs(3, &canary, ALTERNATIVES);
        aws.still_clock(now);
        let in_turn = all_of(&project, &aws, &["--max-spend", "6"]);
        assert_eq!(at_once.0, in_turn.0);
        assert_eq!(at_once.1, in_turn.1);
        assert_eq!(at_once.2, in_turn.2);
        assert!(at_once.1.lines().count() >= 27, "{}", at_once.1);
    }
}
