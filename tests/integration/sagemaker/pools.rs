//! Managed warm pools: canaries one after another on the same machines, and none of these left.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::clean_up::{signal, started, twenty_kills, wait_for};
use super::{JSON, created, edit, gate, project};
use crate::aws::{FakeAws, Fault, Operation, Polls, PoolFate};
use crate::project::Project;

const POOLED: &str = "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 1, parallel: 1, max_runtime: 30m, warm_pool: {keep_alive: 5m}}";
const GONE: &str = "started cold: it did not get the machines kept for it";
const QUOTA: &str = "ml.m5.xlarge for training warm pool usage";

/// A project whose canaries run in a warm pool, and an account with room for one.
fn pooled() -> (Project, FakeAws) {
    let (project, aws) = project(POOLED);
    aws.quota(QUOTA, 2.0);
    (project, aws)
}

/// The same of the adaptive design, which does not know its last canary beforehand, and so ends a pool.
fn climbing() -> (Project, FakeAws) {
    let (project, aws) =
        project("{max_share: 10000%, max_runtime: 30m, parallel: 1, warm_pool: {keep_alive: 5m}}");
    aws.quota(QUOTA, 2.0);
    (project, aws)
}

fn report(project: &Project, aws: &FakeAws) -> Value {
    let run = gate(project, aws, JSON).ended_with(0);
    run.json()
}

/// Which jobs of the fake ran on machines that were kept.
fn warm(aws: &FakeAws) -> Vec<bool> {
    aws.jobs().iter().map(crate::aws::Job::is_warm).collect()
}

fn asks_for_a_pool(job: &crate::aws::Job) -> bool {
    job.input()["ResourceConfig"]
        .get("KeepAlivePeriodInSeconds")
        .is_some()
}

/// How the report says that each canary started.
fn starts(report: &Value) -> Vec<&str> {
    let measured = report["jobs"][0]["measurements"].as_array().unwrap();
    (measured.iter())
        .map(|run| run["start"].as_str().unwrap_or("not known"))
        .collect()
}

/// What the report and the fake bill, and what of it was for machines that were kept.
fn assert_billed_alike(report: &Value, aws: &FakeAws) {
    let spend = &report["jobs"][0]["spend"];
    let billed = spend["canary_usd"].as_f64().unwrap();
    assert!(
        (billed - aws.bill()).abs() < 1e-4,
        "{billed} {}",
        aws.bill()
    );
    let idle = spend["idle_seconds"].as_f64().unwrap_or(0.0);
    assert!(
        (idle - aws.idle_seconds()).abs() < 1e-6,
        "{idle} {}",
        aws.idle_seconds()
    );
}

/// Whether some note of a measurement, or of the job, holds a text.
fn says(report: &Value, text: &str) -> bool {
    let job = &report["jobs"][0];
    let of_runs = job["measurements"].as_array().unwrap().iter();
    let notes = of_runs.map(|run| &run["notes"]).chain([&job["notes"]]);
    notes
        .filter_map(Value::as_array)
        .flatten()
        .any(|note| note.as_str().unwrap().contains(text))
}

#[test]
fn the_first_canary_of_a_pool_is_cold_the_rest_are_warm_and_the_pool_is_ended() {
    let (project, aws) = pooled();
    let report = report(&project, &aws);
    assert_eq!(warm(&aws), [false, true, true]);
    assert_eq!(starts(&report), ["cold", "warm", "warm"]);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
    assert!(aws.idle_seconds() > 0.0);
    assert_billed_alike(&report, &aws);
}

/// What the account lacks, which call is refused, what the report says of it, and how many canaries are asked for with a pool.
#[test]
fn where_there_can_be_no_pool_canaries_start_cold_and_the_report_says_why() {
    let quotas = Some((Operation::ListServiceQuotas, ""));
    let create = Some((Operation::CreateTrainingJob, "KeepAlivePeriodInSeconds"));
    let update = Some((Operation::UpdateTrainingJob, ""));
    for (has_quota, refused, said, asking) in [
        (false, None, QUOTA, 0),
        // No answer says that the quota is 0: the first job has no pool.
        (false, quotas, QUOTA, 1),
        // A policy may forbid it; AWS names the call only.
        (true, create, "sagemaker:KeepAlivePeriod", 0),
        // What cannot be ended is not begun.
        (true, update, "sagemaker:UpdateTrainingJob", 0),
    ] {
        let (project, aws) = project(POOLED);
        if has_quota {
            aws.quota(QUOTA, 2.0);
        }
        if let Some((operation, about)) = refused {
            aws.fail(operation).about(about).with(Fault::AccessDenied);
        }
        let report = report(&project, &aws);
        assert_eq!(starts(&report), ["cold"; 3], "{said}");
        assert!(says(&report, said), "{report:#}");
        // Where it is there nothing is said of it.
        assert_eq!(says(&report, QUOTA), !has_quota, "{report:#}");
        let jobs = aws.jobs();
        let asked = jobs.iter().filter(|job| asks_for_a_pool(job)).count();
        assert_eq!(asked, asking, "{said}");
        assert!(report["jobs"][0]["spend"].get("idle_usd").is_none());
    }
}

/// What the canaries of a job may cost has the keep-alive after each of them.
#[test]
fn machines_that_may_be_kept_count_against_the_spend_limit() {
    let (project, aws) = pooled();
    // Three times 32 minutes of one machine at 0.23 USD an hour are 0.368 USD; with 5 minutes more each 0.4255 USD.
    let spec = project.read("canary-gate.yml");
    let within = |limit: &str| {
        spec.replace(
            "replicates: 1",
            &format!("replicates: 1, spend_limit: {limit}"),
        )
    };
    project.write("canary-gate.yml", &within("0.42 USD"));
    gate(&project, &aws, &["run", "--all"]).ended_with(14);
    assert_eq!(created(&aws), Vec::<String>::new());
    project.write("canary-gate.yml", &within("0.43 USD"));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn the_adaptive_design_climbs_no_further_than_the_limit_with_kept_machines() {
    // 32 minutes of one machine are 0.1227 USD, and with 5 minutes more 0.1418 USD.
    for (limit, most) in [("0.13 USD", 30.0 * 60.0), ("0.2 USD", 30.0 * 60.0)] {
        let (project, aws) = project(&format!(
            "{{max_share: 10000%, fractions: [1%, 2%, 5%], max_runtime: 30m, warm_pool: {{keep_alive: 5m}}, spend_limit: {limit}}}"
        ));
        aws.quota(QUOTA, 2.0);
        gate(&project, &aws, JSON);
        assert!(!aws.jobs().is_empty(), "{limit}");
        // Each could take its limit, in whole seconds, two minutes to stop and the time in a pool.
        let price = 0.23 / 3600.0;
        let limit: f64 = limit.trim_end_matches(" USD").parse().unwrap();
        let first = aws.jobs()[0].input()["StoppingCondition"]["MaxRuntimeInSeconds"].clone();
        let first = first.as_f64().unwrap();
        assert!(
            first <= most && (first - 1.0 + 120.0 + 300.0) * price <= limit,
            "{first}"
        );
        assert_eq!(aws.kept_pools(), Vec::<String>::new(), "{limit}");
    }
}

#[test]
fn a_pool_that_is_lost_between_two_canaries_makes_the_next_start_cold_and_is_said() {
    for fate in [PoolFate::Patched, PoolFate::TooOld, PoolFate::Taken] {
        let (project, aws) = pooled();
        aws.pools(move |job| match job.number() {
            1 => fate,
            _ => PoolFate::Kept,
        });
        let report = report(&project, &aws);
        assert_eq!(starts(&report), ["cold", "cold", "warm"], "{fate:?}");
        assert_eq!(warm(&aws), [false, false, true], "{fate:?}");
        assert!(says(&report, GONE), "{fate:?} {report:#}");
        assert_eq!(aws.kept_pools(), Vec::<String>::new());
        assert_billed_alike(&report, &aws);
    }
}

/// Two canaries begin, then one at a time: the machines of one of the two are kept for it.
#[test]
fn no_machine_waits_that_no_canary_is_left_for() {
    let (project, aws) =
        project("{max_share: 10000%, max_runtime: 30m, parallel: 2, warm_pool: {keep_alive: 5m}}");
    aws.quota(QUOTA, 2.0);
    let report = report(&project, &aws);
    let asking: Vec<bool> = aws.jobs().iter().map(asks_for_a_pool).collect();
    assert_eq!(asking[..3], [false, true, true], "{asking:?}");
    assert_eq!(warm(&aws)[..3], [false, false, true]);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
    assert_billed_alike(&report, &aws);
}

#[test]
fn the_adaptive_design_climbs_in_one_pool() {
    let (project, aws) =
        project("{max_share: 10000%, max_runtime: 30m, warm_pool: {keep_alive: 5m}}");
    aws.quota(QUOTA, 1.0);
    let report = report(&project, &aws);
    assert!(warm(&aws).len() >= 3 && warm(&aws)[1..].iter().all(|warm| *warm));
    assert!(starts(&report)[1..].iter().all(|start| *start == "warm"));
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
    assert_billed_alike(&report, &aws);
}

/// The last pool's time is known when all is over.
#[test]
fn the_file_of_measurements_and_the_record_have_all_of_the_idle_time() {
    let (project, aws) = pooled();
    let arguments = [
        "run",
        "--all",
        "--format",
        "json",
        "--measurements",
        "runs.jsonl",
    ];
    let report = gate(&project, &aws, &arguments).ended_with(0).json();
    assert_billed_alike(&report, &aws);
    let idle = |runs: &[Value]| -> f64 {
        let idle = runs.iter().filter_map(|run| run["idle_seconds"].as_f64());
        idle.sum()
    };
    let lines = project.read("runs.jsonl");
    let lines: Vec<Value> = (lines.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!((idle(&lines) - aws.idle_seconds()).abs() < 1e-6);
    let records = std::fs::read_dir(project.path(".canary-gate/local/churn")).unwrap();
    let mut records =
        records.map(|record| std::fs::read_to_string(record.unwrap().path()).unwrap());
    let record = records.find(|record| record.contains("\"is_baseline\""));
    let record: Value = serde_json::from_str(&record.unwrap()).unwrap();
    let recorded = record["content"]["measurements"].as_array().unwrap();
    assert!((idle(recorded) - aws.idle_seconds()).abs() < 1e-6);
}

/// What fails once is tried again. Of the refusals the model names two; what else AWS may say is not known, so a look decides, never
/// the words.
#[test]
fn an_end_that_fails_is_tried_or_looked_at_again() {
    let refused = |code: &'static str| Fault::error(code, "no reason that is known");
    for (calls, fault) in [
        (2..=2, Fault::Throttled),
        (2..=2, Fault::Dropped),
        (2..=2, Fault::AnswerLost),
        (2..=4, refused("ValidationException")),
        (2..=4, refused("ResourceNotFound")),
        (2..=4, refused("ResourceLimitExceeded")),
    ] {
        let (project, aws) = climbing();
        aws.fail(Operation::UpdateTrainingJob)
            .on_calls(calls)
            .with(fault);
        let report = report(&project, &aws);
        assert_eq!(aws.kept_pools(), Vec::<String>::new());
        assert_billed_alike(&report, &aws);
    }
}

#[test]
fn a_pool_that_may_not_be_ended_is_named_with_what_it_may_bill() {
    let (project, aws) = climbing();
    aws.fail(Operation::UpdateTrainingJob)
        .on_call(2)
        .with(Fault::AccessDenied);
    let run = gate(&project, &aws, JSON).ended_with(0);
    let last = created(&aws).pop().unwrap();
    assert_eq!(aws.kept_pools().as_slice(), std::slice::from_ref(&last));
    // 5 minutes of one machine at 0.23 USD an hour.
    let said = format!("the warm pool of {last} could not be ended");
    assert!(
        says(&run.json(), &said) && says(&run.json(), "may bill ml.m5.xlarge for 5m more (0.0191")
    );
    run.complained(&said)
        .complained("sagemaker:UpdateTrainingJob")
        .complained("canary-gate sweep --run ");
    // The next start goes on under the same id, and ends it.
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}

#[test]
fn a_signal_ends_the_pool_between_two_canaries_and_in_the_midst_of_one() {
    for (made, signal_sent, code) in [(1, Signal::SIGINT, 130), (2, Signal::SIGTERM, 143)] {
        let (project, aws) = pooled();
        aws.polls(Polls::Nothing);
        // Before the last canary is created the gate waits, and its pool is idle.
        aws.fail(Operation::CreateTrainingJob)
            .since_call(made + 1)
            .with(Fault::Throttled);
        let mut child = started(&project, &aws, "0.001");
        for number in 1..=made {
            wait_for(|| aws.jobs().len() as u64 == number);
            aws.finish_jobs();
        }
        wait_for(|| aws.calls(Operation::CreateTrainingJob) > made);
        assert_eq!(aws.kept_pools().len(), 1);
        signal(&child, signal_sent);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(aws.kept_pools(), Vec::<String>::new(), "{made}");
    }
}

#[test]
fn a_pool_whose_job_is_still_stopping_is_ended_by_the_next_start() {
    let (project, aws) = pooled();
    aws.polls(Polls::Nothing);
    let mut child = started(&project, &aws, "0.001");
    wait_for(|| !aws.in_progress().is_empty());
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // Its job was asked to stop, and has its machines still: the run is not forgotten.
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    assert!(project.path(".canary-gate/run-0").exists());
    aws.polls(Polls::NextStatus);
    let run = aws.jobs()[0].tag("canary-gate:run").unwrap().to_owned();
    gate(&project, &aws, &["sweep", "--run", &run, "--dry-run"])
        .ended_with(0)
        .reported("warm pool of ");
    report(&project, &aws);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}

#[test]
fn what_a_killed_gate_keeps_is_swept_and_the_pool_of_another_run_is_left_alone() {
    let (project, aws) = pooled();
    aws.polls(Polls::Nothing);
    let mut child = started(&project, &aws, "0.001");
    wait_for(|| aws.jobs().len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    aws.finish_jobs();
    let run = aws.jobs()[0].tag("canary-gate:run").unwrap().to_owned();
    let left = created(&aws);
    aws.look_at(&left[0]);
    aws.polls(Polls::NextStatus);
    // Another run under another id, which asks for other machines: the pool is there, and not its own.
    std::fs::remove_dir_all(project.path(".canary-gate")).unwrap();
    project.write("code/train.py", "print('other')\n");
    edit(
        &project,
        &[("      output:", "      volume_gb: 90\n      output:")],
    );
    report(&project, &aws);
    assert_eq!(aws.kept_pools(), left);
    gate(&project, &aws, &["sweep"]).ended_with(0);
    assert_eq!(aws.kept_pools(), left);
    gate(&project, &aws, &["sweep", "--run", &run, "--dry-run"])
        .ended_with(0)
        .reported(&format!("warm pool of {}", left[0]));
    gate(&project, &aws, &["sweep", "--run", &run])
        .ended_with(0)
        .reported(&format!("ended the warm pool of {}", left[0]));
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}

#[test]
fn slow_twenty_kills_at_any_moment_leave_no_pool_and_no_other_bill() {
    twenty_kills(pooled, |kill, aws, report, is_shown| {
        assert_eq!(created(aws).len(), 3, "{kill}");
        assert_eq!(aws.kept_pools(), Vec::<String>::new(), "{kill}");
        if is_shown {
            return;
        }
        let spend = &report["jobs"][0]["spend"];
        let figure = |key: &str| spend[key].as_f64().unwrap_or(0.0);
        let billed = figure("canary_usd") + figure("saved_usd");
        assert!((billed - aws.bill()).abs() < 1e-4, "{kill}: {spend}");
        let idle = figure("idle_seconds");
        assert!((idle - aws.idle_seconds()).abs() < 1e-6, "{kill}: {spend}");
    });
}
