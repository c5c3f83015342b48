//! Warm pools of several canaries, jobs and runs at once: who gets which, and who pays.

use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::clean_up::{signal, wait_for};
use super::{JSON, created, edit, gate, project, spawned};
use crate::aws::{FakeAws, Job, Operation, Polls};
use crate::project::Project;

const TRAINING_QUOTA: &str = "ml.m5.xlarge for training job usage";
const POOL_QUOTA: &str = "ml.m5.xlarge for training warm pool usage";

fn lanes(count: u32, fractions: &str) -> (Project, FakeAws) {
    let (project, aws) = project(&format!(
        "{{design: fixed, max_share: 10000%, fractions: [{fractions}], replicates: 1, parallel: {count}, max_runtime: 30m, warm_pool: {{keep_alive: 5m}}}}"
    ));
    aws.quota(POOL_QUOTA, f64::from(count));
    (project, aws)
}

fn report(project: &Project, aws: &FakeAws) -> Value {
    let run = gate(project, aws, JSON).ended_with(0);
    run.json()
}

fn runs(report: &Value) -> Vec<Value> {
    let jobs = report["jobs"].as_array().unwrap().iter();
    jobs.flat_map(|job| job["measurements"].as_array().unwrap().clone())
        .collect()
}

/// Each canary is said to have started as it did.
fn assert_starts_said(report: &Value, aws: &FakeAws) {
    for run in runs(report) {
        let name = run["training_job"].as_str().unwrap();
        let job = aws.jobs().into_iter().find(|job| job.name() == name);
        let start = match job.unwrap().is_warm() {
            true => "warm",
            false => "cold",
        };
        assert_eq!(run["start"], start, "{run:#}");
    }
}

/// And all that was kept is billed once and ended.
fn assert_said_and_billed(report: &Value, aws: &FakeAws) {
    assert_starts_said(report, aws);
    let spends = report["jobs"].as_array().unwrap().iter();
    let billed: f64 = spends
        .map(|job| job["spend"]["canary_usd"].as_f64().unwrap())
        .sum();
    assert!(
        (billed - aws.bill()).abs() < 1e-4,
        "{billed} {}",
        aws.bill()
    );
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}

#[test]
fn of_alike_pools_the_one_that_aws_gives_is_said_and_billed_once() {
    for newest in [false, true] {
        let (project, aws) = lanes(2, "1%, 2%, 5%, 10%, 20%");
        if newest {
            aws.give_newest_pool();
        }
        let report = report(&project, &aws);
        let warm = aws.jobs().iter().filter(|job| job.is_warm()).count();
        assert!(warm >= 2, "{warm}");
        assert_said_and_billed(&report, &aws);
    }
}

#[test]
fn after_a_first_canary_alone_three_begin_and_one_of_them_has_its_machines() {
    let (project, aws) = lanes(3, "1%, 2%, 5%, 10%, 20%, 50%");
    let report = report(&project, &aws);
    assert_said_and_billed(&report, &aws);
    let text = report.to_string();
    assert!(!text.contains("were gone"), "{report:#}");
}

/// The largest of the second batch begins first and ends last, when no canary is left that could have its machines; those that
/// end before it leave theirs to the last two.
#[test]
fn each_lane_ends_with_its_last_canary() {
    let (project, aws) = lanes(3, "1%, 2%, 5%, 10%");
    edit(
        &project,
        &[("replicates: 1", "replicates: 2, spend_limit: 50 USD")],
    );
    aws.polls(Polls::Clock { scale: 500.0 });
    let report = report(&project, &aws);
    assert_eq!(created(&aws).len(), 8);
    let warm = aws.jobs().iter().filter(|job| job.is_warm()).count();
    assert_eq!(warm, 5);
    assert_said_and_billed(&report, &aws);
}

/// The machines that one job keeps are in the quota that the other waits for.
#[test]
fn a_pool_gives_way_to_a_job_that_cannot_use_it() {
    let (project, aws) = lanes(1, "1%, 2%, 5%");
    aws.quota(TRAINING_QUOTA, 1.0);
    let spec = project.read("canary-gate.yml");
    let (_, job) = spec.split_once("  churn:\n").unwrap();
    let other = job
        .replace("role/Train", "role/Other")
        .replace("epochs: 5", "epochs: 6");
    project.write("canary-gate.yml", &format!("{spec}  other:\n{other}"));
    let report = report(&project, &aws);
    assert_eq!(created(&aws).len(), 6);
    assert_said_and_billed(&report, &aws);
}

/// A leftover pool of this run that lacks a field of the match key is not taken: the start is cold, and said to be.
#[test]
fn each_field_of_the_match_key_makes_a_cold_start() {
    let training = |line: &str| ("      output:", format!("      {line}\n      output:"));
    let network =
        "subnets: [subnet-0aaaaaaaaaaaaaaaa]\n      security_groups: [sg-0aaaaaaaaaaaaaaaa]";
    let changes = [
        training("volume_gb: 90"),
        training("volume_kms_key: 1234abcd-12ab-34cd-56ef-1234567890ab"),
        training(network),
        training("encrypt_traffic: true"),
        training("network_isolation: true"),
        ("role/Train", "role/Other".to_owned()),
        (
            "instance: ml.m5.xlarge",
            "instance: ml.m5.2xlarge".to_owned(),
        ),
        (
            "instance: ml.m5.xlarge",
            "instance: 2x ml.m5.xlarge".to_owned(),
        ),
    ];
    for (field, other) in changes {
        let (project, aws) = lanes(1, "1%, 2%, 5%");
        aws.quota(POOL_QUOTA, 4.0);
        aws.quota("ml.m5.2xlarge for training warm pool usage", 4.0);
        aws.polls(Polls::Nothing);
        let mut child = begun(&project, &aws);
        wait_for(|| aws.jobs().len() == 1);
        child.kill().unwrap();
        child.wait().unwrap();
        aws.finish_jobs();
        let left = created(&aws).remove(0);
        aws.look_at(&left);
        aws.polls(Polls::NextStatus);
        assert_eq!(aws.kept_pools(), [left]);
        let spec = project.read("canary-gate.yml");
        assert!(spec.contains(field));
        // Other canaries of two machines would run on one.
        let spec = spec.replace("canary: {", "canary: {COUNTS");
        let counts = if other.contains(": 2x") {
            "counts: [2], "
        } else {
            ""
        };
        let spec = spec.replace("COUNTS", counts);
        project.write("canary-gate.yml", &spec.replace(field, &other));
        let report = report(&project, &aws);
        let warm: Vec<bool> = aws.jobs().iter().map(Job::is_warm).collect();
        assert_eq!((warm[1], warm.last()), (false, Some(&true)), "{other}");
        assert_starts_said(&report, &aws);
        assert_eq!(aws.kept_pools(), Vec::<String>::new(), "{other}");
    }
}

fn begun(project: &Project, aws: &FakeAws) -> std::process::Child {
    spawned(project, aws, JSON, "0.001", |command| {
        command.stdout(Stdio::piped());
    })
}

/// Two gates, in two folders, whose canaries match: AWS gives one the pool of the other.
#[test]
fn of_two_gates_neither_ends_nor_bills_the_pool_of_the_other_and_a_start_on_it_is_warm() {
    let (first, aws) = lanes(1, "1%, 2%, 5%");
    aws.quota(POOL_QUOTA, 4.0);
    aws.polls(Polls::Nothing);
    let child = begun(&first, &aws);
    wait_for(|| aws.jobs().len() == 1);
    signal(&child, Signal::SIGSTOP);
    aws.finish_jobs();
    let theirs = created(&aws).remove(0);
    aws.look_at(&theirs);
    aws.polls(Polls::NextStatus);
    let (second, _) = lanes(1, "1%, 2%, 5%");
    second.write("code/train.py", "print('other')\n");
    let of_second = report(&second, &aws);
    let starts: Vec<Value> = runs(&of_second)
        .iter()
        .map(|run| run["start"].clone())
        .collect();
    assert_eq!(starts, ["warm"; 3]);
    let notes = of_second.to_string();
    assert!(notes.contains("a warm pool of another run"), "{notes}");
    signal(&child, Signal::SIGCONT);
    let output = child.wait_with_output().unwrap();
    let of_first: Value = serde_json::from_slice(&output.stdout).unwrap();
    let starts: Vec<Value> = runs(&of_first)
        .iter()
        .map(|run| run["start"].clone())
        .collect();
    assert_eq!(starts, ["cold", "cold", "warm"]);
    let notes = of_first.to_string();
    assert!(
        notes.contains("did not get the machines kept for it"),
        "{notes}"
    );
    let idle = |report: &Value| report["jobs"][0]["spend"]["idle_seconds"].as_f64().unwrap();
    let both = idle(&of_first) + idle(&of_second);
    assert!((both - aws.idle_seconds()).abs() < 1e-6);
    // One pool each was ended.
    assert_eq!(aws.calls(Operation::UpdateTrainingJob), 2);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}
