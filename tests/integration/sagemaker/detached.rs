//! A check in two short parts: `run --detach` starts canaries and ends, `run --collect` measures them and gives the verdict.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::clean_up::{signal, started, wait_for};
use super::{FIXED, JSON, created, edit, forget, gate, project, spawned};
use crate::aws::{FakeAws, Fault, Operation, Polls, Timeline};
use crate::project::{Finished, Project};

const DETACH: &[&str] = &["run", "--all", "--detach", "--format", "json"];
const COLLECT: &[&str] = &["run", "--all", "--collect", "--format", "json"];

/// Another machine, as the next job of a workflow is, on which some time has passed.
fn later(project: &Project, aws: &FakeAws) {
    forget(project);
    aws.finish_jobs();
}

/// A report without what differs between two runs that measured the same.
fn compared(finished: &Finished) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for key in ["generated_at", "run", "ended_at", "as_of"] {
                    fields.remove(key);
                }
                fields.values_mut().for_each(clean);
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            _ => {}
        }
    }
    let mut report = finished.json();
    clean(&mut report);
    report
}

/// Of a report, its one job, and how many canaries of it were measured.
fn job(finished: &Finished) -> (Value, usize) {
    let job = finished.json()["jobs"][0].clone();
    let measured = job["measurements"].as_array().map_or(0, Vec::len);
    (job, measured)
}

const LENIENT: &[&str] = &["--on-inconclusive", "pass"];

#[test]
fn what_is_detached_runs_on_and_is_collected_as_if_it_had_been_waited_for() {
    // Detached canaries keep no machines.
    let cold = FIXED.replace('}', ", warm_pool: off}");
    let whole = {
        let (project, aws) = project(&cold);
        compared(&gate(&project, &aws, JSON).ended_with(0))
    };
    let (project, aws) = project(&cold);
    aws.polls(Polls::Nothing);
    let detached = gate(&project, &aws, DETACH).ended_with(0);
    assert_eq!(aws.in_progress().len(), 3, "{}", detached.seen());
    // One look for each name, which was free.
    assert_eq!(aws.calls(Operation::DescribeTrainingJob), 3);
    let job = &detached.json()["jobs"][0];
    assert_eq!(job["verdict"], "not_judged", "{job}");
    for name in created(&aws) {
        assert!(job["notes"].to_string().contains(&name), "{job}");
    }
    later(&project, &aws);
    let collected = gate(&project, &aws, COLLECT).ended_with(0);
    assert_eq!(compared(&collected), whole);
    assert_eq!(created(&aws).len(), 3);
    let again = gate(&project, &aws, DETACH).ended_with(0).json();
    assert!(again.to_string().contains("every canary is there already"));
    // What was placed for them is gone, as after a run.
    let left = aws.keys("canaries", "out/");
    assert!(
        left.iter().all(|key| key.contains("cg-source/")),
        "{left:?}"
    );
}

#[test]
fn what_a_person_reads() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    let detached = gate(&project, &aws, &["run", "--all", "--detach"]).ended_with(0);
    insta::assert_snapshot!("detached", detached.stdout);
    let running = gate(&project, &aws, &["run", "--all", "--collect"]).ended_with(14);
    insta::assert_snapshot!("still_running", running.stdout);
    running.complained("no verdict yet");
    let (project, aws) = super::project(FIXED);
    let nothing = gate(&project, &aws, &["run", "--all", "--collect"]).ended_with(1);
    insta::assert_snapshot!("nothing_there", nothing.words());
}

#[test]
fn nothing_is_known_while_a_canary_still_runs_and_no_policy_lets_that_pass() {
    let (project, aws) = project(FIXED);
    aws.train(|job| match job.number() {
        3 => Timeline::completed().training(1e6),
        _ => Timeline::completed().training(60.0),
    });
    aws.polls(Polls::Nothing);
    gate(&project, &aws, DETACH).ended_with(0);
    aws.polls(Polls::Seconds(600.0));
    let running = gate(&project, &aws, COLLECT);
    let running = match running.json()["jobs"][0]["reason"].to_string() {
        // The first look has made them older.
        reason if reason.contains("3 of 3") => gate(&project, &aws, COLLECT),
        _ => running,
    };
    let running = running.ended_with(14);
    let report = running.json();
    let reason = report["jobs"][0]["reason"].to_string();
    assert!(reason.contains("1 of 3 canaries"), "{reason}");
    assert_eq!(report["jobs"][0]["verdict"], "unknown");
    let lenient = [COLLECT, LENIENT].concat();
    gate(&project, &aws, &lenient).ended_with(1);
    assert_eq!(aws.in_progress().len(), 1);
    assert_eq!(created(&aws).len(), 3);
    // Nothing was kept of the two others, so all three are billed to the check that gives the verdict.
    aws.finish_jobs();
    let last = gate(&project, &aws, COLLECT);
    let billed = last.json()["jobs"][0]["measurements"].clone();
    let billed = billed.as_array().unwrap();
    assert!(
        billed.iter().all(|run| run.get("reused").is_none()),
        "{billed:?}"
    );
}

#[test]
fn nothing_to_collect_is_an_error_that_names_what_was_looked_for() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, COLLECT)
        .ended_with(1)
        .complained("no canary is there to collect on ml.m5.xlarge; looked for 1% #1 (cg-churn-")
        .complained("canary-gate run --detach");
    // Another commit, or another spec, is nothing too.
    let project = project.committed();
    gate(&project, &aws, DETACH).ended_with(0);
    aws.finish_jobs();
    project.write("code/train.py", "print('changed')\n");
    gate(&project, &aws, &[COLLECT, LENIENT].concat()).ended_with(1);
    assert_eq!(created(&aws).len(), 3);
    // So are canaries that nobody wants any more.
    project.git(&["checkout", "code/train.py"]);
    aws.age_jobs(8.0 * 86_400.0);
    forget(&project);
    gate(&project, &aws, COLLECT).ended_with(1);
}

#[test]
fn what_is_measured_afresh_is_detached_and_collected_afresh() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let with_fresh = |arguments: &[&'static str]| [arguments, &["--fresh"]].concat();
    gate(&project, &aws, &with_fresh(DETACH)).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
    aws.finish_jobs();
    let collected = gate(&project, &aws, &with_fresh(COLLECT)).ended_with(0);
    for run in collected.json()["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
    {
        assert!(created(&aws)[3..].contains(&run["training_job"].as_str().unwrap().to_owned()));
        assert!(run.get("reused").is_none(), "{run}");
    }
}

/// Their limits were shortened until the limit paid for all, and did not end them.
#[test]
fn whoever_waits_takes_what_was_detached_with_shorter_limits() {
    let (project, aws) = project("{max_runtime: 30m, max_share: 10000%, parallel: 1}");
    let limited = [DETACH, &["--max-spend", "0.1"]].concat();
    gate(&project, &aws, &limited).ended_with(0);
    let detached = created(&aws);
    assert!(aws.jobs().iter().all(|job| limit_of(job) < 1000.0));
    let run = gate(&project, &aws, JSON);
    let report = run.json();
    let first = &report["jobs"][0]["measurements"][0];
    assert_eq!(first["training_job"], detached[0], "{}", run.seen());
    assert!(first["reused"].is_object(), "{first}");
    assert!(created(&aws).iter().all(|name| name.ends_with("-0")));
}

/// As where nobody had taken it.
#[test]
fn what_was_detached_with_a_shorter_limit_that_ends_it_is_run_again() {
    let (project, aws) = project("{max_runtime: 30m, max_share: 10000%, parallel: 1}");
    aws.train(|_| Timeline::completed().training(1200.0));
    let limited = [DETACH, &["--max-spend", "0.1"]].concat();
    gate(&project, &aws, &limited).ended_with(0);
    let detached = created(&aws);
    let run = gate(&project, &aws, JSON);
    let report = run.json();
    let first = &report["jobs"][0]["measurements"][0];
    assert_eq!(first["outcome"]["kind"], "completed", "{}", run.seen());
    assert_eq!(
        first["training_job"].as_str().unwrap(),
        detached[0].replace("-0", "-1"),
    );
}

/// One that was collected is in the account of that run.
#[test]
fn what_was_collected_is_neither_fresh_nor_billed_again() {
    let afresh = [COLLECT, &["--fresh"]].concat();
    for (canary, collect) in [
        (FIXED.to_owned(), afresh.as_slice()),
        (FIXED.replace('}', ", reuse: 0d}"), COLLECT),
    ] {
        let (project, aws) = project(&canary);
        gate(&project, &aws, DETACH).ended_with(0);
        aws.finish_jobs();
        gate(&project, &aws, COLLECT).ended_with(0);
        gate(&project, &aws, collect)
            .ended_with(1)
            .complained("no canary is there to collect")
            .complained("measured by an earlier run");
        // What is detached afresh is collected, and no older one beside it.
        aws.age_jobs(3600.0);
        aws.quota("ml.m5.xlarge for training job usage", 2.0);
        aws.polls(Polls::Nothing);
        let fresh = match collect == COLLECT {
            true => DETACH.to_vec(),
            false => [DETACH, &["--fresh"]].concat(),
        };
        gate(&project, &aws, &fresh).ended_with(14);
        aws.finish_jobs();
        aws.polls(Polls::NextStatus);
        let (job, measured) = job(&gate(&project, &aws, collect).ended_with(14));
        assert_eq!(measured, 2, "{job}");
        assert!(
            job["reason"].to_string().contains("1 of 3 canaries"),
            "{job}"
        );
    }
}

/// A run that found the canaries under their names has not paid for them.
#[test]
fn what_another_run_adopted_is_billed_when_it_is_collected() {
    let afresh = [COLLECT, &["--fresh"]].concat();
    for collect in [COLLECT, afresh.as_slice()] {
        let (project, aws) = project(FIXED);
        gate(&project, &aws, DETACH).ended_with(0);
        aws.finish_jobs();
        let spent = |arguments: &[&str]| {
            let run = gate(&project, &aws, arguments).ended_with(0);
            run.json()["jobs"][0]["spend"]["canary_usd"]
                .as_f64()
                .unwrap_or(0.0)
        };
        assert_eq!(spent(JSON), 0.0);
        let collected = spent(collect);
        assert!((collected - aws.bill()).abs() < 1e-4, "{collected}");
    }
}

/// The history hands out what completed only.
#[test]
fn a_failure_that_was_collected_is_billed_once() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::script_failed(1, "boom"));
    gate(&project, &aws, DETACH).ended_with(0);
    aws.finish_jobs();
    let spent = || {
        let (job, measured) = job(&gate(&project, &aws, COLLECT).ended_with(13));
        // All of them are paid.
        assert_eq!(measured, 3, "{job}");
        job["spend"]["canary_usd"].as_f64().unwrap_or(0.0)
    };
    assert!(spent() > 0.0);
    assert_eq!(spent(), 0.0);
}

#[test]
fn what_was_placed_for_a_canary_that_nobody_collects_is_swept_after_a_week() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, DETACH).ended_with(0);
    aws.finish_jobs();
    let placed = || {
        let keys = aws.keys("canaries", "out/cg-churn");
        keys.len()
    };
    assert!(placed() > 0);
    aws.age_jobs(86_400.0);
    gate(&project, &aws, &["sweep"]).ended_with(0);
    assert!(placed() > 0);
    aws.age_jobs(7.0 * 86_400.0);
    gate(&project, &aws, &["sweep"]).ended_with(0);
    assert_eq!(placed(), 0);
}

#[test]
fn of_half_of_the_canaries_what_is_there_is_used() {
    let more = FIXED.replace("[1%, 2%, 5%]", "[1%, 2%, 5%, 10%]");
    for (deleted, code) in [(1, 0), (2, 14)] {
        let (project, aws) = project(&more);
        gate(&project, &aws, DETACH).ended_with(0);
        later(&project, &aws);
        let names = created(&aws);
        for name in &names[..deleted] {
            aws.delete_job(name);
        }
        let (job, measured) = job(&gate(&project, &aws, COLLECT).ended_with(code));
        let said = match code {
            0 => job["notes"].to_string(),
            _ => job["reason"].to_string(),
        };
        assert!(said.contains(&format!("{deleted} of 4 canaries")), "{job}");
        assert!(said.contains(&names[0]), "{job}");
        assert_eq!(measured, 4 - deleted);
        assert_eq!(created(&aws).len(), 4);
    }
}

#[test]
fn a_canary_without_room_is_not_started_and_a_second_detach_starts_it() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 2.0);
    aws.polls(Polls::Nothing);
    let detached = gate(&project, &aws, DETACH).ended_with(14);
    let job = detached.json()["jobs"][0].clone();
    assert!(
        job["reason"].to_string().contains("only 2 of 3 canaries"),
        "{job}"
    );
    assert_eq!(aws.in_progress().len(), 2);
    later(&project, &aws);
    aws.polls(Polls::Nothing);
    let detached = gate(&project, &aws, DETACH).ended_with(0);
    assert_eq!(created(&aws).len(), 3, "{}", detached.seen());
    // One was refused, and not asked for again.
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 4);
    later(&project, &aws);
    gate(&project, &aws, COLLECT).ended_with(0);
}

#[test]
fn room_that_others_use_is_not_waited_for() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 4.0);
    aws.polls(Polls::Nothing);
    gate(&project, &aws, DETACH).ended_with(0);
    project.write("code/train.py", "print('changed')\n");
    let detached = gate(&project, &aws, DETACH).ended_with(14);
    let job = &detached.json()["jobs"][0];
    let notes = job["notes"].to_string();
    assert!(
        notes.contains("not started: no quota for a canary"),
        "{job}"
    );
    let names = created(&aws);
    assert_eq!(names.len(), 4);
    // Nothing is left of what was placed for those that were not started.
    let placed = aws.keys("canaries", "out/cg-churn-");
    let is_of_one = |key: &String| names.iter().any(|name| key.contains(name.as_str()));
    assert!(placed.iter().all(is_of_one), "{placed:?}");
}

#[test]
fn quiet_is_quiet() {
    let (project, aws) = project(FIXED);
    for arguments in [DETACH, COLLECT] {
        let quiet = [arguments, &["--quiet"]].concat();
        let run = gate(&project, &aws, &quiet).ended_with(0);
        assert_eq!(run.stderr, "", "{}", run.seen());
        aws.finish_jobs();
    }
}

#[test]
fn several_jobs_are_detached_within_one_limit() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml");
    let job = spec.split_once("jobs:\n").unwrap().1;
    project.write(
        "canary-gate.yml",
        &format!("{spec}{}", job.replace("  churn:", "  other:")),
    );
    // Three canaries may cost 0.37 USD.
    let limited = [DETACH, &["--max-spend", "0.5"]].concat();
    let detached = gate(&project, &aws, &limited).ended_with(14);
    assert_eq!(created(&aws).len(), 3, "{}", detached.seen());
    aws.finish_jobs();
    let collected = gate(&project, &aws, COLLECT).ended_with(1);
    let report = collected.json();
    assert_eq!(report["jobs"][0]["verdict"], "within", "{report}");
    assert_eq!(report["failures"][0]["job"], "other");
    assert_eq!(report["verdict"], "unknown");
}

#[test]
fn a_canary_that_another_run_waits_for_may_be_stopped_and_is_said_to() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    let mut waiting = started(&project, &aws, "0.001");
    wait_for(|| created(&aws).len() == 1);
    let notes = |run: &Finished| run.json()["jobs"][0]["notes"].to_string();
    let said = notes(&gate(&project, &aws, DETACH).ended_with(0));
    assert_eq!(said.matches("may stop it").count(), 1, "{said}");
    assert!(said.contains(&created(&aws)[0]), "{said}");
    signal(&waiting, Signal::SIGTERM);
    waiting.wait().unwrap();
    assert_eq!(aws.in_progress().len(), 2);
    gate(&project, &aws, DETACH).ended_with(0);
    assert_eq!(aws.in_progress().len(), 3);
}

#[test]
fn what_cannot_be_looked_at_or_read_is_a_verdict_that_no_policy_lets_pass() {
    let lenient = [COLLECT, LENIENT].concat();
    // The first three calls look for the canaries, the others read them.
    for call in [1, 4] {
        let (project, aws) = project(FIXED);
        gate(&project, &aws, DETACH).ended_with(0);
        later(&project, &aws);
        let before = aws.calls(Operation::DescribeTrainingJob);
        aws.fail(Operation::DescribeTrainingJob)
            .since_call(before + call)
            // Not throttled: after that the SDK itself slows down, whatever the pace.
            .with(Fault::Page(503));
        let refused = gate(&project, &aws, &lenient).ended_with(1);
        assert_eq!(refused.json()["jobs"][0]["verdict"], "unknown");
        refused.complained("no verdict yet");
    }
}

#[test]
fn the_limits_hold_for_what_is_detached() {
    let (project, aws) = project("{max_runtime: 30m, spend_limit: 0.1 USD}");
    gate(&project, &aws, DETACH).ended_with(0);
    let limits: f64 = aws.jobs().iter().map(limit_of).sum();
    // 0.23 USD an hour, and two minutes for each to stop.
    assert!((limits + 360.0) / 3600.0 * 0.23 <= 0.1 + 1e-9, "{limits}");
    let (project, aws) = super::project(FIXED);
    let limited = [DETACH, &["--max-spend", "0.01"]].concat();
    gate(&project, &aws, &limited).ended_with(14);
    assert_eq!(created(&aws), Vec::<String>::new());
}

fn limit_of(job: &crate::aws::Job) -> f64 {
    job.input()["StoppingCondition"]["MaxRuntimeInSeconds"]
        .as_f64()
        .unwrap()
}

#[test]
fn what_ended_without_a_result_is_collected_as_that() {
    let (project, aws) = project(FIXED);
    aws.train(|job| match job.number() {
        1 => Timeline::no_capacity(),
        _ => Timeline::completed(),
    });
    gate(&project, &aws, DETACH).ended_with(0);
    later(&project, &aws);
    let collected = gate(&project, &aws, COLLECT).ended_with(14);
    assert!(collected.json().to_string().contains("no capacity"));
    // Detached again, that one alone is started again, and the newest stands for it.
    gate(&project, &aws, DETACH).ended_with(0);
    assert_eq!(created(&aws).len(), 4);
    later(&project, &aws);
    gate(&project, &aws, COLLECT).ended_with(0);
}

#[test]
fn a_signal_while_canaries_are_detached_stops_them() {
    for (sent, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let (project, aws) = project(FIXED);
        aws.polls(Polls::Nothing);
        // The first is there, and the others wait for SageMaker.
        aws.fail(Operation::CreateTrainingJob)
            .since_call(2)
            .with(Fault::Throttled);
        let mut child = spawned(&project, &aws, DETACH, "0.02", |_| {});
        wait_for(|| aws.calls(Operation::CreateTrainingJob) > 2);
        signal(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(aws.in_progress(), Vec::<String>::new());
        let left = aws.keys("canaries", "out/");
        assert!(
            left.iter().all(|key| key.contains("cg-source/")),
            "{left:?}"
        );
    }
}

#[test]
fn where_one_cannot_be_started_the_others_are_stopped() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(3)
        .with(Fault::AccessDenied);
    gate(&project, &aws, DETACH)
        .ended_with(1)
        .complained("sagemaker:CreateTrainingJob");
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

/// Killed at any call, the next start goes on: nothing is started twice.
#[test]
fn a_kill_while_canaries_are_detached_costs_nothing_twice() {
    for calls in 0..11 {
        let (project, aws) = project(FIXED);
        aws.polls(Polls::Nothing);
        let mut child = spawned(&project, &aws, DETACH, "0.02", |_| {});
        let asked = || {
            aws.calls(Operation::CreateTrainingJob)
                + aws.calls(Operation::DescribeTrainingJob)
                + aws.calls(Operation::PutObject)
        };
        wait_for(|| asked() > calls || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        gate(&project, &aws, DETACH).ended_with(0);
        assert_eq!(created(&aws).len(), 3, "killed after {calls}");
        assert_eq!(aws.in_progress().len(), 3);
        assert!(!project.path(".canary-gate/run-0").exists());
        later(&project, &aws);
        let collected = gate(&project, &aws, COLLECT).ended_with(0);
        let spent = collected.json()["jobs"][0]["spend"]["canary_usd"].clone();
        let seconds: f64 = collected.json()["jobs"][0]["measurements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["billable_seconds"].as_f64().unwrap())
            .sum();
        let spent = spent.as_f64().unwrap();
        assert!((spent - seconds / 3600.0 * 0.23).abs() < 1e-6, "{spent}");
    }
}

#[test]
fn a_sweep_of_the_run_leaves_what_was_detached_and_a_later_one_takes_it() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    gate(&project, &aws, DETACH).ended_with(0);
    let run = aws.jobs()[0].tag("canary-gate:run").unwrap().to_owned();
    gate(&project, &aws, &["sweep", "--run", &run])
        .ended_with(0)
        .reported("detached");
    gate(&project, &aws, &["sweep"]).ended_with(0);
    assert_eq!(aws.in_progress().len(), 3);
    for name in created(&aws) {
        aws.alter_job(&name, |_, tags| {
            for (key, value) in tags.iter_mut() {
                if key == "canary-gate:expires" {
                    "2020-01-01T00:00:00Z".clone_into(value);
                }
            }
        });
    }
    gate(&project, &aws, &["sweep"]).ended_with(0);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    // Who wants to can stop them earlier.
    let (project, aws) = super::project(FIXED);
    aws.polls(Polls::Nothing);
    gate(&project, &aws, DETACH).ended_with(0);
    let run = aws.jobs()[0].tag("canary-gate:run").unwrap().to_owned();
    gate(&project, &aws, &["sweep", "--run", &run, "--detached"]).ended_with(0);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_forged_canary_is_not_collected() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, DETACH).ended_with(0);
    later(&project, &aws);
    for name in created(&aws) {
        aws.alter_job(&name, |input, _| {
            input["AlgorithmSpecification"]["TrainingImage"] = "sleeps-a-second".into();
        });
    }
    gate(&project, &aws, COLLECT)
        .ended_with(1)
        .complained("differs from what this run would start in its image; not taken");
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn what_ends_with_the_gate_is_neither_detached_nor_collected() {
    let project = Project::with_script("");
    for part in ["--detach", "--collect"] {
        project
            .run(&["run", "--all", part])
            .ended_with(2)
            .complained("the local backend cannot detach");
    }
    project
        .run(&["run", "--all", "--detach", "--collect"])
        .ended_with(2)
        .complained("cannot be used with");
}

/// The canaries of a spec, the machines beside `instance`, what is given to `--detach`; how many are started, and what is said when they
/// are collected.
#[test]
fn each_configuration_has_its_canaries() {
    const ADAPTIVE: &str = "{max_runtime: 30m}";
    const NARROW: &str = "{max_runtime: 30m, max_share: 2%, fractions: [1%, 2%, 5%, 10%]}";
    const LIMIT: &[&str] = &["--max-spend", "0.9"];
    for (canary, alternatives, more, started, said) in [
        // The fewest of a forecast.
        (ADAPTIVE, "", &[][..], 3, "time_seconds"),
        // An alternative has a share of its own.
        (NARROW, "ml.c5.xlarge", &[], 6, "time_seconds"),
        // As far as money is left.
        (
            FIXED,
            "ml.c5.xlarge, ml.m5.2xlarge",
            LIMIT,
            6,
            "its canaries were not started",
        ),
    ] {
        let (project, aws) = project(canary);
        let instance = "    instance: ml.m5.xlarge\n";
        let with = format!("{instance}    alternatives: [{alternatives}]\n");
        edit(&project, &[(instance, &with)]);
        let detached = gate(&project, &aws, &[DETACH, more].concat()).ended_with(0);
        assert_eq!(created(&aws).len(), started, "{}", detached.seen());
        later(&project, &aws);
        let (job, measured) = job(&gate(&project, &aws, COLLECT));
        assert_eq!(measured, started, "{job}");
        assert!(job["forecasts"].to_string().contains(said), "{job}");
        assert_eq!(created(&aws).len(), started);
    }
}
