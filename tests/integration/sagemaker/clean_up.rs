//! Gates that are killed at any moment: nothing billable is left behind, and nothing is paid twice.

use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::groups::on_groups;
use super::{FIXED, JSON, created, edit, forget, gate, project, spawned};
use crate::aws::{FakeAws, Operation, Polls};
use crate::begun::{signal, wait_for};
use crate::project::Project;
use crate::scenarios::document;

pub(crate) fn started(project: &Project, aws: &FakeAws, pace: &str) -> Child {
    spawned(project, aws, &["run", "--all"], pace, |_| {})
}

/// A gate killed at twenty moments, from before its first call to after its last, and the report of the next start; `check` hears
/// which kill, and whether the first one came to its report.
fn twenty_kills(
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

const QUOTA: &str = "ml.m5.xlarge for training warm pool usage";

/// A project whose canaries run in a warm pool, and an account with room for one.
fn pooled() -> (Project, FakeAws) {
    let (project, aws) = project(&FIXED.replace('}', ", warm_pool: {keep_alive: 5m}}"));
    aws.quota(QUOTA, 2.0);
    (project, aws)
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

#[test]
fn slow_twenty_kills_at_any_moment_with_groups_and_several_machines_leave_and_cost_nothing_twice() {
    let new = || {
        let (project, aws) = on_groups(&FIXED.replace('}', ", spend_limit: 50 USD}"));
        let beside = ("alternatives: []", "alternatives: [2x ml.m5.xlarge]");
        edit(&project, &[beside]);
        (project, aws)
    };
    twenty_kills(new, |kill, aws, report, _| {
        // Three on the groups, three on one machine and one on two, each once.
        assert_eq!(created(aws).len(), 7, "{kill}");
        // What the killed gate has recorded stands there as saved.
        let figure = |key: &str| report["jobs"][0]["spend"][key].as_f64().unwrap_or(0.0);
        let billed = figure("canary_usd") + figure("saved_usd");
        assert!((billed - aws.bill()).abs() < 1e-9, "{kill}: {billed}");
    });
}

/// Killed at any call, the next start goes on: nothing is started twice.
#[test]
fn a_kill_while_canaries_are_detached_costs_nothing_twice() {
    const DETACH: [&str; 5] = ["run", "--all", "--detach", "--format", "json"];
    const COLLECT: [&str; 5] = ["run", "--all", "--collect", "--format", "json"];
    for calls in 0..11 {
        let (project, aws) = project(FIXED);
        aws.polls(Polls::Nothing);
        let mut child = spawned(&project, &aws, &DETACH, "0.02", |_| {});
        let asked = || {
            aws.calls(Operation::CreateTrainingJob)
                + aws.calls(Operation::DescribeTrainingJob)
                + aws.calls(Operation::PutObject)
        };
        wait_for(|| asked() > calls || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        gate(&project, &aws, &DETACH).ended_with(0);
        assert_eq!(created(&aws).len(), 3, "killed after {calls}");
        assert_eq!(aws.in_progress().len(), 3);
        assert!(!project.path(".canary-gate/run-0").exists());
        forget(&project);
        aws.finish_jobs();
        let collected = gate(&project, &aws, &COLLECT).ended_with(0);
        let spent = &collected.json()["jobs"][0]["spend"]["canary_usd"];
        let spent = spent.as_f64().unwrap();
        assert!((spent - aws.bill()).abs() < 1e-6, "{spent}");
    }
}

/// Two gates, in two folders, whose canaries match: AWS gives one the pool of the other.
#[test]
fn of_two_gates_neither_ends_nor_bills_the_pool_of_the_other_and_a_start_on_it_is_warm() {
    let (first, aws) = pooled();
    aws.quota(QUOTA, 4.0);
    aws.polls(Polls::Nothing);
    let child = spawned(&first, &aws, JSON, "0.01", |command| {
        command.stdout(Stdio::piped());
    });
    wait_for(|| aws.jobs().len() == 1);
    signal(&child, Signal::SIGSTOP);
    aws.finish_jobs();
    let theirs = created(&aws).remove(0);
    aws.look_at(&theirs);
    aws.polls(Polls::NextStatus);
    let (second, _) = pooled();
    second.write("code/train.py", "print('other')\n");
    let of_second = gate(&second, &aws, JSON).ended_with(0).json();
    let starts = |report: &Value| document::at(report, "jobs.0.measurements.*.start");
    assert_eq!(starts(&of_second), json!(["warm", "warm", "warm"]));
    let notes = of_second.to_string();
    assert!(notes.contains("a warm pool of another run, which matches, and bills that; an image other than its last one was pulled again"), "{notes}");
    signal(&child, Signal::SIGCONT);
    let output = child.wait_with_output().unwrap();
    let of_first: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(starts(&of_first), json!(["cold", "cold", "warm"]));
    let notes = of_first.to_string();
    assert!(
        notes.contains("did not get the machines kept for it"),
        "{notes}"
    );
    let idle = |report: &Value| report["jobs"][0]["spend"]["idle_seconds"].as_f64().unwrap();
    let both = idle(&of_first) + idle(&of_second);
    assert!((both - aws.idle_seconds()).abs() < 1e-6);
    // The last canary of each kept none, and nobody had another's to end.
    assert_eq!(aws.calls(Operation::UpdateTrainingJob), 0);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}
