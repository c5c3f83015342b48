//! What a person sees of a whole gate, and what it asks AWS for.

use std::process::Stdio;
use std::time::Duration;

use super::{FIXED, gate, project, spec, with_data};
use crate::aws::{Operation, Polls};
use crate::project::Project;

#[test]
fn what_a_person_sees() {
    let replicates = FIXED.replace("replicates: 1", "replicates: 2");
    let (project, aws) = project(&replicates);
    let run = gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let without_today = |seen: String| {
        let today = format!("{:.10}", jiff::Timestamp::now().to_string());
        seen.replace(&today, "[TODAY]")
    };
    insta::assert_snapshot!("run", without_today(run.seen()));
    let plan = gate(&project, &aws, &["plan", "--all"]).ended_with(0);
    insta::assert_snapshot!("plan", without_today(plan.seen()));
}

#[test]
fn what_a_person_reads_of_a_check_in_two_parts() {
    let (project, aws) = project(FIXED);
    let collect = ["run", "--all", "--collect"];
    let nothing = gate(&project, &aws, &collect).ended_with(1);
    insta::assert_snapshot!("nothing_there", nothing.words());
    aws.polls(Polls::Nothing);
    let detached = gate(&project, &aws, &["run", "--all", "--detach"]).ended_with(0);
    insta::assert_snapshot!("detached", detached.stdout);
    let running = gate(&project, &aws, &collect).ended_with(14);
    insta::assert_snapshot!("still_running", running.stdout);
    running.complained("no verdict yet");
}

#[test]
fn a_look_asks_who_is_signed_in_and_starts_nothing() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 4.0);
    let found = gate(&project, &aws, &["check"]).ended_with(0);
    insta::assert_snapshot!("check", found.seen());
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 0);
}

/// Each status is looked at once here, so this counts what a canary takes beside the looks that last as long as it does.
#[test]
fn a_canary_takes_few_requests() {
    let requests = |replicates: u32| {
        let design = FIXED.replace("replicates: 1", &format!("replicates: {replicates}"));
        let (project, aws) = project(&design);
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        aws.all_calls()
    };
    let (three, nine) = (requests(1), requests(3));
    let each = (nine - three) / 6;
    println!("{three} requests for 3 canaries, {nine} for 9: {each} each");
    // One of them reads the log for the job's progress.
    assert!(each <= 17, "{each}");
}

/// Gates of different changes at once, where the account creates one job a second.
#[test]
fn twenty_gates_at_once_all_get_their_turn() {
    let aws = with_data();
    aws.quota("ml.m5.xlarge for training job usage", 1000.0);
    aws.one_create_in(Duration::from_millis(50));
    let gates: Vec<_> = (0..20)
        .map(|number| {
            let spec = spec(FIXED).replace("epochs: 5", &format!("epochs: {number}"));
            let project = Project::empty()
                .file("canary-gate.yml", &spec)
                .file("code/train.py", "print('trained')\n");
            let child = super::spawned(&project, &aws, &["run", "--all"], "0.05", |command| {
                command.stderr(Stdio::piped());
            });
            (project, child)
        })
        .collect();
    for (_, gate) in gates {
        let output = gate.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

#[test]
fn many_jobs_ask_for_prices_quotas_and_identity_once() {
    let (project, aws) = project(FIXED);
    let one = project.read("canary-gate.yml");
    let (head, job) = one.split_once("  churn:\n").unwrap();
    let types = ["m5.xlarge", "m5.2xlarge", "c5.xlarge", "g5.xlarge"];
    let jobs = (0..8).map(|number| {
        let job = job.replace("m5.xlarge", types[number % 4]);
        format!("  churn{number}:\n{job}")
    });
    let jobs: String = jobs.collect();
    project.write("canary-gate.yml", &format!("{head}{jobs}"));
    aws.page_size(10);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(aws.calls(Operation::GetCallerIdentity), 1);
    assert_eq!(aws.calls(Operation::GetProducts), 4);
    // Never a page twice.
    assert!(aws.calls(Operation::ListServiceQuotas) <= 4);
}
