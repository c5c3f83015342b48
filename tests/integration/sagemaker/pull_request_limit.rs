//! `--max-spend-per-pull-request`: what the checks of one pull request may cost over all its pushes.

use std::process::Command;

use super::{FIXED, JSON, created, forget, gate, project, spec};
use crate::aws::{FakeAws, Fault, Operation, Timeline};
use crate::project::{Finished, Project};

const BUCKET: &str = "records";
/// Three canaries may cost 0.368 USD at most and take two cents: there is room for a check, and for none after it.
const FOR_ONE_CHECK: &str = "0.37 USD";

/// A project whose records go to S3.
fn shared(canary: &str) -> (Project, FakeAws) {
    let (project, aws) = project(canary);
    let spec = spec(canary).replace("region:", "history: s3://records/gate/\nregion:");
    project.write("canary-gate.yml", &spec);
    project.write(".gitignore", ".canary-gate/\n");
    aws.make_bucket(BUCKET);
    (project.committed(), aws)
}

/// As a step of GitHub Actions on an event of a reference.
fn on(
    event: &str,
    reference: &str,
    project: &Project,
    aws: &FakeAws,
    arguments: &[&str],
) -> Finished {
    project.run_with(arguments, |command| {
        aws.reach(command);
        command
            .env("CANARY_GATE_PACE", "0")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", event)
            .env("GITHUB_REF", reference);
    })
}

/// Of pull request 12, with this limit.
fn of_pull_request(project: &Project, aws: &FakeAws, what: &[&str], limit: &str) -> Finished {
    let limited = ["--base", "main", "--max-spend-per-pull-request", limit];
    let arguments = [what, &limited[..]].concat();
    let reference = "refs/pull/12/merge";
    on("pull_request", reference, project, aws, &arguments)
}

/// A check of pull request 12, all jobs, with this limit.
fn check(project: &Project, aws: &FakeAws, limit: &str) -> Finished {
    of_pull_request(project, aws, &["run", "--all"], limit)
}

/// What a plan of pull request 12 says with a limit of 1 USD.
fn planned(project: &Project, aws: &FakeAws) -> Finished {
    of_pull_request(project, aws, &["plan", "--all"], "1 USD")
}

/// Another commit, on another machine.
fn push(project: &Project, code: &str) {
    project.write("code/train.py", code);
    project.commit("a push");
    forget(project);
}

#[test]
fn a_push_has_what_those_before_it_left() {
    let (project, aws) = shared(FIXED);
    check(&project, &aws, FOR_ONE_CHECK)
        .ended_with(0)
        .reported("Checks of this pull request so far: 0.01");
    assert_eq!(created(&aws).len(), 3);
    push(&project, "print('other')\n");
    check(&project, &aws, FOR_ONE_CHECK)
        .ended_with(14)
        .reported(" USD of 0.37 USD is spent for this pull request")
        .reported("Raise --max-spend-per-pull-request, or lower canary.max_runtime.");
    assert_eq!(created(&aws).len(), 3, "nothing is started");
    check(&project, &aws, "1 USD").ended_with(0);
    assert_eq!(created(&aws).len(), 6);
}

/// At a terminal, where a job has few lines.
#[test]
fn in_few_lines_too_it_is_said_what_to_do() {
    let (project, aws) = shared(FIXED);
    let limited = ["--base", "main", "--max-spend-per-pull-request", "0.01 USD"];
    let arguments = [&["run", "--all"], &limited[..]].concat();
    let few = |command: &mut Command| {
        aws.reach(command);
        command
            .env("CANARY_GATE_PACE", "0")
            .env("CANARY_GATE_DETAILS", "false")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "pull_request")
            .env("GITHUB_REF", "refs/pull/12/merge");
    };
    project
        .run_with(&arguments, few)
        .ended_with(14)
        .reported("Raise --max-spend-per-pull-request, or lower canary.max_runtime.");
}

#[test]
fn what_is_measured_already_is_judged_though_the_limit_is_used_up() {
    for canary in [FIXED, "{max_share: 10000%, max_runtime: 30m}"] {
        let (project, aws) = shared(canary);
        check(&project, &aws, "1 USD").ended_with(0);
        let paid = created(&aws).len();
        forget(&project);
        check(&project, &aws, "0.001 USD")
            .ended_with(0)
            .reported("of 0.001 USD");
        assert_eq!(created(&aws).len(), paid, "{canary}");
        push(&project, "print('other')\n");
        check(&project, &aws, "0.001 USD")
            .ended_with(14)
            .reported(" USD of 0.001 USD is spent for this pull request");
        assert_eq!(created(&aws).len(), paid, "{canary}");
    }
}

#[test]
fn one_job_is_judged_and_one_that_would_have_to_be_paid_is_unknown() {
    let (project, aws) = shared(FIXED);
    // The spec's own file is no code of a job.
    let spec = project.read("canary-gate.yml");
    let spec = spec.replace("    instance:", "    paths: [\"code/**\"]\n    instance:");
    project.write("canary-gate.yml", &spec);
    project.commit("paths");
    check(&project, &aws, FOR_ONE_CHECK).ended_with(0);
    let (_, job) = spec.split_once("  churn:\n").unwrap();
    let other = job.replace("epochs: 5", "epochs: 6");
    project.write("canary-gate.yml", &format!("{spec}  other:\n{other}"));
    project.commit("another job");
    let paid = created(&aws).len();
    let report = of_pull_request(&project, &aws, JSON, FOR_ONE_CHECK);
    let report = report.ended_with(14).json();
    assert_eq!(created(&aws).len(), paid);
    let verdicts: Vec<&str> = (report["jobs"].as_array().unwrap().iter())
        .map(|job| job["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["within", "unknown"]);
}

#[test]
fn canaries_that_end_in_an_error_after_they_ran_count() {
    let (project, aws) = shared(FIXED);
    aws.train(|_| Timeline::failed("ClientError: Artifact upload failed").training(1800.0));
    check(&project, &aws, "0.45 USD").ended_with(1);
    assert_eq!(created(&aws).len(), 1);
    push(&project, "print('other')\n");
    check(&project, &aws, "0.45 USD")
        .ended_with(14)
        .reported(" USD of 0.45 USD is spent for this pull request");
    assert_eq!(created(&aws).len(), 1);
    // What has no result is reused by nobody.
    push(&project, "print('trained')\n");
    check(&project, &aws, "1 USD").ended_with(1);
    assert_eq!(created(&aws).len(), 2);
}

/// What becomes of the only training job, how the check ends, and what counts of it.
#[test]
fn what_has_no_result_counts_with_its_bill_or_with_the_most_that_it_may_cost() {
    let lost = Timeline::completed().deleted_after_polls(1);
    let broken_off = "InternalServerError: please try again";
    for (timeline, code, spent) in [
        (lost, 14, "0.12"),
        // The next attempt cannot be started.
        (Timeline::failed(broken_off).training(1500.0), 1, "0.098"),
        // It never had a machine.
        (
            Timeline::failed("ClientError: no such image").never_started(),
            1,
            "0 USD of 1 USD",
        ),
    ] {
        let (project, aws) = shared(FIXED);
        aws.train(move |_| timeline.clone());
        aws.fail(Operation::CreateTrainingJob)
            .since_call(2)
            .with(Fault::AccessDenied);
        check(&project, &aws, FOR_ONE_CHECK).ended_with(code);
        assert_eq!(created(&aws).len(), 1);
        // As it was when it was started.
        let spec = project.read("canary-gate.yml");
        let shorter = spec.replace("max_runtime: 30m", "max_runtime: 2m");
        project.write("canary-gate.yml", &shorter);
        project.commit("a shorter limit");
        planned(&project, &aws)
            .ended_with(0)
            .reported(&format!("Checks of this pull request so far: {spent}"));
    }
}

#[test]
fn training_jobs_that_a_check_takes_over_count_where_no_record_that_it_reads_has_paid_them() {
    let (project, aws) = shared(FIXED);
    // Its records are out of sight, as where a run was killed before it wrote any.
    let reference = "refs/pull/13/merge";
    on("pull_request", reference, &project, &aws, &["run", "--all"]).ended_with(0);
    forget(&project);
    check(&project, &aws, "1 USD").ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    push(&project, "print('other')\n");
    check(&project, &aws, FOR_ONE_CHECK)
        .ended_with(14)
        .reported(" USD of 0.37 USD is spent for this pull request");
}

#[test]
fn what_kept_machines_may_cost_must_fit_as_well_before_the_first_canary() {
    let pooled = FIXED.replace("parallel: 1", "parallel: 1, warm_pool: {keep_alive: 30m}");
    let (project, aws) = shared(&pooled);
    aws.quota("ml.m5.xlarge for training warm pool usage", 2.0);
    // Three canaries cost 0.368 USD at most, and as much again after them.
    check(&project, &aws, "0.5 USD").ended_with(14);
    assert_eq!(created(&aws).len(), 0);
    check(&project, &aws, "0.8 USD").ended_with(0);
}

#[test]
fn what_others_paid_does_not_count() {
    let (project, aws) = shared(FIXED);
    for reference in ["refs/pull/13/merge", "refs/pull/120/merge"] {
        let arguments = ["run", "--all", "--fresh"];
        on("pull_request", reference, &project, &aws, &arguments).ended_with(0);
    }
    push(&project, "print('other')\n");
    check(&project, &aws, FOR_ONE_CHECK).ended_with(0);
}

#[test]
fn where_the_sum_is_not_known_nothing_is_started() {
    let (project, aws) = shared(FIXED);
    check(&project, &aws, "1 USD").ended_with(0);
    let keys = aws.keys(BUCKET, "gate/pr/12/");
    let key = keys.iter().find(|key| key.contains("-canary-")).unwrap();
    let sound = aws.object(BUCKET, key).unwrap();
    let text = String::from_utf8(sound.to_vec()).unwrap();
    let cost = text.split_once("\"cost\":").unwrap().1;
    let cost = &cost[..cost.find([',', '}']).unwrap()];
    let with = |cost_now: &str| text.replace(&format!("\"cost\":{cost}"), cost_now);
    push(&project, "print('other')\n");
    for (broken, why) in [
        (with("\"cost\":-100.0"), "an impossible amount"),
        (with("\"cost\":1e999"), "not a record"),
        (text[..text.len() / 2].to_owned(), "cut short"),
        (
            text.replacen("\"schema_version\":1", "\"schema_version\":9", 9),
            "written by a newer canary-gate",
        ),
    ] {
        aws.put_object(BUCKET, key, broken);
        check(&project, &aws, "100 USD")
            .ended_with(14)
            .reported("it is not known what the checks of this pull request have cost")
            .reported(why);
    }
    // Absurd, and counted.
    aws.put_object(BUCKET, key, with("\"cost\":1e12"));
    check(&project, &aws, "100 USD").ended_with(14);
    assert_eq!(created(&aws).len(), 3);
    aws.put_object(BUCKET, key, sound);
    check(&project, &aws, "100 USD").ended_with(0);
}

#[test]
fn a_history_that_cannot_be_read_or_is_not_there_costs_nothing() {
    let (project, aws) = shared(FIXED);
    aws.fail(Operation::ListObjectsV2)
        .about(BUCKET)
        .with(Fault::AccessDenied);
    check(&project, &aws, "100 USD")
        .ended_with(1)
        .complained("s3:ListBucket");
    assert_eq!(created(&aws).len(), 0);

    let (project, aws) = shared(FIXED);
    let spec = project.read("canary-gate.yml");
    let here = spec.replace("s3://records/gate/", "records");
    project.write("canary-gate.yml", &here);
    project.write(".gitignore", ".canary-gate/\nrecords/\n");
    project.commit("records in a folder");
    check(&project, &aws, "100 USD")
        .ended_with(14)
        .reported("is not there")
        .reported("create it empty");
    assert_eq!(created(&aws).len(), 0);
    std::fs::create_dir_all(project.path("records")).unwrap();
    check(&project, &aws, "100 USD").ended_with(0);

    let (project, aws) = shared(FIXED);
    let none = project
        .read("canary-gate.yml")
        .replace("history: s3://records/gate/\n", "");
    project.write("canary-gate.yml", &none);
    project.commit("no history");
    project.git(&["checkout", "--quiet", "-b", "change"]);
    // One that the pull request names would be another at every push.
    for named in [none.clone(), spec] {
        project.write("canary-gate.yml", &named);
        check(&project, &aws, "100 USD")
            .ended_with(2)
            .complained("the `history` that the base's spec names, and there is none");
    }
    let reference = "refs/pull/12/merge";
    let arguments = ["run", "--all", "--max-spend-per-pull-request", "100"];
    on("pull_request", reference, &project, &aws, &arguments)
        .ended_with(2)
        .complained("name the base by --base");
    assert_eq!(created(&aws).len(), 0);
}

#[test]
fn only_the_run_of_a_pull_request_has_the_limit() {
    let (project, aws) = shared(FIXED);
    let arguments = ["run", "--all", "--max-spend-per-pull-request", "100"];
    gate(&project, &aws, &arguments)
        .ended_with(2)
        .complained("this run is none as far as it can tell");
    // What is checked out may be anything.
    for event in ["workflow_dispatch", "issue_comment"] {
        on(event, "refs/heads/main", &project, &aws, &arguments).ended_with(2);
    }
    for part in ["--detach", "--collect"] {
        let arguments = [&arguments[..], &[part]].concat();
        let reference = "refs/pull/12/merge";
        on("pull_request", reference, &project, &aws, &arguments)
            .ended_with(2)
            .complained("does not go with detached canaries");
    }
    assert_eq!(created(&aws).len(), 0);
    let reference = "refs/heads/gh-readonly-queue/main/pr-12";
    for event in ["merge_group", "schedule"] {
        on(event, reference, &project, &aws, &arguments)
            .ended_with(0)
            .reported("limits nothing here: this run is no pull request's");
    }
}

#[test]
fn a_limit_that_is_no_amount_above_0_is_refused() {
    let (project, aws) = shared(FIXED);
    for wrong in ["0", "-3 USD", "20 EUR", "lots", "NaN", "1e999 USD"] {
        check(&project, &aws, wrong).ended_with(2);
    }
    assert_eq!(created(&aws).len(), 0);
}
