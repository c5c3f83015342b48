//! Nothing billable is left behind, however the gate ends.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{FIXED, JSON, created, edit, gate, project, spawned};
use crate::aws::{FakeAws, Fault, Operation, Polls};
use crate::project::Project;

pub(crate) fn started(project: &Project, aws: &FakeAws, pace: &str) -> Child {
    spawned(project, aws, &["run", "--all"], pace, |_| {})
}

/// As a job of a workflow run of GitHub's.
fn of_workflow(project: &Project, aws: &FakeAws) -> Child {
    spawned(project, aws, &["run", "--all"], "0.001", |command| {
        command.env("GITHUB_RUN_ID", "77");
    })
}

/// What a gate says to the end, after a signal.
fn terminated(child: Child) -> String {
    signal(&child, Signal::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    String::from_utf8(output.stderr).unwrap()
}

fn heard(command: &mut Command) {
    command.stderr(Stdio::piped());
}

/// Leaves a job in progress that stands still until the fake's polls are set.
fn kill_in_mid_canary(project: &Project, aws: &FakeAws) {
    aws.polls(Polls::Nothing);
    let mut child = started(project, aws, "0.001");
    wait_for(|| !aws.in_progress().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// Waits until the fake was asked for as much; a gate that never asks makes the test fail.
pub(crate) fn wait_for(mut what: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if what() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came");
}

#[test]
fn a_signal_stops_every_job() {
    for (signal_sent, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let (project, aws) = project(FIXED);
        aws.polls(Polls::Nothing);
        let mut child = started(&project, &aws, "0.001");
        wait_for(|| !aws.in_progress().is_empty());
        signal(&child, signal_sent);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(aws.in_progress(), Vec::<String>::new());
        assert!(aws.calls(Operation::StopTrainingJob) >= 1);
        // What was billed is in no report yet: the next start goes on with the run.
        aws.polls(Polls::NextStatus);
        assert_all_is_billed(&project, &aws, 0.0);
    }
}

#[test]
fn a_killed_gate_is_gone_on_with() {
    let (project, aws) = project(FIXED);
    kill_in_mid_canary(&project, &aws);
    assert_eq!(aws.in_progress().len(), 1);

    aws.polls(Polls::NextStatus);
    let run = gate(&project, &aws, JSON).ended_with(0);
    let report = run.json();
    assert_eq!(
        report["jobs"][0]["measurements"].as_array().unwrap().len(),
        3
    );
    assert_eq!(created(&aws).len(), 3);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    // It is the same run, so nothing was reused and all of it was spent.
    assert!(report["jobs"][0]["measurements"][0].get("reused").is_none());
}

/// A check that ends well has all in its report that AWS bills and no report has shown.
fn assert_all_is_billed(project: &Project, aws: &FakeAws, shown: f64) {
    let report = gate(project, aws, JSON).ended_with(0).json();
    let spend = &report["jobs"][0]["spend"];
    let billed = shown + spend["canary_usd"].as_f64().unwrap_or(0.0);
    assert!(
        (billed - aws.bill()).abs() < 1e-4,
        "{billed} {} {spend}",
        aws.bill()
    );
    let saved = spend["saved_usd"].as_f64().unwrap_or(0.0);
    assert!(saved <= shown + 1e-9, "{saved} {shown}");
    assert!(!project.path(".canary-gate/run-0").exists());
}

/// A canary on record, one in progress, and starts that fail: nobody has shown what they cost until a report does.
#[test]
fn what_a_killed_gate_was_billed_is_shown_by_the_first_report_after_it() {
    let fails = [
        (Operation::ListTrainingJobs, Fault::AccessDenied),
        (Operation::ListObjectsV2, Fault::AccessDenied),
        (Operation::CreateTrainingJob, Fault::AccessDenied),
        (Operation::DescribeTrainingJob, Fault::AccessDenied),
    ];
    for (operation, fault) in fails {
        for code in ["print('trained')\n", "print('another')\n"] {
            let (project, aws) = project(FIXED);
            aws.polls(Polls::Nothing);
            let mut child = started(&project, &aws, "0.001");
            wait_for(|| !aws.in_progress().is_empty());
            aws.finish_jobs();
            wait_for(|| aws.jobs().len() == 2 && !aws.in_progress().is_empty());
            child.kill().unwrap();
            child.wait().unwrap();
            aws.polls(Polls::NextStatus);
            aws.finish_jobs();
            // Other code wants other canaries, and the bill stays.
            project.write("code/train.py", code);
            aws.fail(operation).with(fault.clone());
            let arguments = ["run", "--all", "--format", "json"];
            let failed = gate(&project, &aws, &arguments).ended_with(1).json();
            let shown = failed["jobs"][0]["spend"]["canary_usd"].as_f64();
            aws.recover();
            assert_all_is_billed(&project, &aws, shown.unwrap_or(0.0));
            // The next is a run of its own, which reuses them.
            let next = gate(&project, &aws, JSON).ended_with(0);
            let spend = next.json()["jobs"][0]["spend"].clone();
            assert!(spend["saved_usd"].as_f64().unwrap() > 0.0, "{spend}");
            assert!(spend.get("canary_usd").is_none(), "{spend}");
        }
    }
}

/// AWS shows a job a moment after it was created.
#[test]
fn a_job_that_is_not_shown_yet_is_asked_again_and_then_named() {
    let not_there = || Fault::error("ValidationException", "Could not find it.");
    for shows in [Some(3), None] {
        let (project, aws) = project(FIXED);
        aws.polls(Polls::Nothing);
        let child = spawned(&project, &aws, &["run", "--all"], "0.001", heard);
        wait_for(|| aws.calls(Operation::CreateTrainingJob) == 1);
        let calls = 1..=shows.unwrap_or(u64::MAX);
        for operation in [Operation::StopTrainingJob, Operation::DescribeTrainingJob] {
            aws.fail(operation)
                .on_calls(calls.clone())
                .with(not_there());
        }
        let stderr = terminated(child);
        let name = &created(&aws)[0];
        let is_named =
            stderr.contains(&format!("could not stop {name} (AWS does not show it yet)"));
        assert_eq!(is_named, shows.is_none(), "{stderr}");
        assert_eq!(aws.in_progress().is_empty(), shows.is_some(), "{stderr}");
        assert!(project.path(".canary-gate/run-0").exists());
    }
}

#[test]
fn what_a_killed_gate_left_and_no_run_wants_is_stopped() {
    let (project, aws) = project(FIXED);
    kill_in_mid_canary(&project, &aws);
    aws.polls(Polls::NextStatus);
    edit(&project, &[("epochs: 5", "epochs: 6")]);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(0)
        .complained("stopped 1 training job");
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_sweep_shows_first_and_stops_jobs_before_it_looks_into_s3() {
    let (project, aws) = project(FIXED);
    kill_in_mid_canary(&project, &aws);
    let left = aws.in_progress();
    let run = aws.jobs()[0].tag("canary-gate:run").unwrap().to_owned();

    gate(&project, &aws, &["sweep"])
        .ended_with(0)
        .reported("nothing is left behind")
        .reported(&format!("{}  of run {run}", left[0]));
    gate(&project, &aws, &["sweep", "--run", "unknown"])
        .ended_with(0)
        .reported("no job of run unknown is in progress");
    gate(&project, &aws, &["sweep", "--run", &run, "--dry-run"])
        .ended_with(0)
        .reported(&left[0]);
    assert_eq!(aws.in_progress(), left);
    // What lies in S3 costs less.
    aws.fail(Operation::ListObjectsV2).with(Fault::AccessDenied);
    gate(&project, &aws, &["sweep", "--run", &run])
        .ended_with(1)
        .reported(&format!("stopped {}", left[0]))
        .complained("s3:ListBucket");
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn jobs_of_other_runs_and_of_other_jobs_of_a_workflow_run_are_never_stopped() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    // Another gate, in GitHub Actions, is at work on the same canaries.
    let other = of_workflow(&project, &aws);
    wait_for(|| !aws.in_progress().is_empty());
    let child = started(&project, &aws, "0.001");
    let seen = aws.calls(Operation::ListTags);
    wait_for(|| aws.calls(Operation::ListTags) > seen);
    terminated(child);
    assert_eq!(aws.in_progress().len(), 1);
    // Another job of the same workflow run has nothing to do, and ends.
    project.write("nothing", "");
    project
        .run_with(&["run", "--changed-files", "nothing"], |command| {
            aws.reach(command);
            command.env("GITHUB_RUN_ID", "77");
        })
        .ended_with(0);
    assert_eq!(aws.in_progress().len(), 1);
    terminated(other);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

/// A gate killed at twenty moments, from before its first call to after its last, and the report of the next start; `check` hears
/// which kill, and whether the first one came to its report.
pub(crate) fn twenty_kills(
    new: impl Fn() -> (Project, FakeAws),
    check: impl Fn(&str, &FakeAws, &Value, bool),
) {
    let calls = {
        let (project, aws) = new();
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        aws.all_calls()
    };
    let mut random = 2_026_u64;
    for kill in 0..20 {
        // The multiplier of Knuth's MMIX generator.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let moment = (random >> 33) % (calls + 1);
        let (project, aws) = new();
        let mut child = started(&project, &aws, "0");
        wait_for(|| aws.all_calls() >= moment || child.try_wait().unwrap().is_some());
        let _ = child.kill();
        child.wait().unwrap();
        let is_shown = !aws.jobs().is_empty() && !project.path(".canary-gate/run-0").exists();
        let report = gate(&project, &aws, JSON).ended_with(0).json();
        let kill = format!("kill {kill} at call {moment}");
        assert_eq!(aws.in_progress(), Vec::<String>::new(), "{kill}");
        let measured = report["jobs"][0]["measurements"].as_array().unwrap();
        assert_eq!(measured.len(), created(&aws).len(), "{kill}");
        check(&kill, &aws, &report, is_shown);
    }
}

#[test]
fn slow_twenty_kills_at_any_moment_cost_no_canary_twice() {
    twenty_kills(
        || project(FIXED),
        |kill, aws, report, _| {
            assert_eq!(created(aws).len(), 3, "{kill}");
            assert_eq!(report["verdict"], "within", "{kill}");
        },
    );
}

#[test]
fn a_job_that_may_not_be_stopped_is_said_however_quiet_the_gate_is() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    aws.fail(Operation::StopTrainingJob)
        .with(Fault::AccessDenied);
    let quiet = ["run", "--all", "--quiet"];
    let child = spawned(&project, &aws, &quiet, "0.001", heard);
    wait_for(|| !aws.in_progress().is_empty());
    let stderr = terminated(child);
    assert!(stderr.contains(&aws.in_progress()[0]), "{stderr}");
    // The next run goes on with it, under the same id.
    assert!(project.path(".canary-gate/run-0").exists());
}

#[test]
fn a_run_that_a_pull_request_names_is_refused() {
    let (project, aws) = project(FIXED);
    project.write(".canary-gate/run-0", "somebody-else\nus-east-1\n");
    let project = project.committed();
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("tracked by git");
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn what_a_gate_staged_and_never_used_is_swept_after_a_day() {
    let (project, aws) = project(FIXED);
    aws.put_object(
        "canaries",
        "out/cg-stage/cg-churn-0123456789abcdef-0/train/part",
        "x",
    );
    aws.put_object("canaries", "out/models/keep", "x");
    gate(&project, &aws, &["sweep"])
        .ended_with(0)
        .reported("nothing is left behind");
    assert_eq!(aws.keys("canaries", "out/").len(), 2);
}

#[test]
fn a_job_whose_start_was_not_answered_is_stopped_too() {
    for is_of_workflow in [false, true] {
        let (project, aws) = project(FIXED);
        aws.polls(Polls::Nothing);
        aws.fail(Operation::CreateTrainingJob)
            .on_call(1)
            .with(Fault::AnswerLost);
        let child = match is_of_workflow {
            true => of_workflow(&project, &aws),
            false => started(&project, &aws, "0.001"),
        };
        let looks = || aws.calls(Operation::DescribeTrainingJob);
        wait_for(|| !aws.in_progress().is_empty() && looks() > 4);
        terminated(child);
        let left = aws.in_progress();
        assert_eq!(left, Vec::<String>::new(), "{is_of_workflow}");
    }
}
