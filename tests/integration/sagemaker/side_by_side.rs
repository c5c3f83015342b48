//! Several jobs in one run: at once, and as if one after another.

use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::clean_up::{signal, started, wait_for};
use super::{FIXED, JSON, created, gate, project, spawned};
use crate::aws::{FakeAws, Fault, Logs, Metrics, Operation, Polls, Timeline};
use crate::project::{Finished, Project};

const ADAPTIVE: &str = "{max_share: 10000%, max_runtime: 30m}";

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

const ALTERNATIVES: &str = "    alternatives: [ml.m5.2xlarge, ml.c5.xlarge]\n";

/// The types of the machines that are at work, in order.
fn at_work(aws: &FakeAws) -> Vec<String> {
    let jobs = aws.jobs().into_iter();
    let mut types: Vec<String> = jobs
        .filter(|job| job.status() == "InProgress")
        .map(|job| job.instance_type().to_owned())
        .collect();
    types.sort();
    types.dedup();
    types
}

#[test]
fn alternatives_begin_when_instance_has_proved_role_and_image() {
    let all = ["ml.c5.xlarge", "ml.m5.2xlarge", "ml.m5.xlarge"];
    for canary in [FIXED, ADAPTIVE] {
        let (project, aws) = jobs(1, canary, ALTERNATIVES);
        aws.polls(Polls::Nothing);
        let mut child = started(&project, &aws, "0.001");
        wait_for(|| !created(&aws).is_empty());
        assert_eq!(at_work(&aws), ["ml.m5.xlarge"]);
        aws.finish_jobs();
        wait_for(|| at_work(&aws) == all);
        signal(&child, Signal::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        assert_eq!(aws.in_progress(), Vec::<String>::new());
    }
}

/// How many machines each job had, in the order in which they were created.
fn machines(aws: &FakeAws) -> Vec<u64> {
    let count = |job: &crate::aws::Job| job.input()["ResourceConfig"]["InstanceCount"].as_u64();
    aws.jobs().iter().filter_map(count).collect()
}

#[test]
fn an_alternative_of_the_same_type_takes_no_room_and_no_pool_that_instance_needs_again() {
    const TWO: &str = "    alternatives: [2x ml.m5.xlarge]\n";
    let of_quota = |quota: f64| {
        let canary = FIXED.replace('}', ", warm_pool: {keep_alive: 5m}}");
        let (project, aws) = jobs(1, &canary, TWO);
        aws.quota("ml.m5.xlarge for training job usage", quota);
        aws.quota("ml.m5.xlarge for training warm pool usage", quota);
        let run = gate(&project, &aws, JSON).ended_with(0);
        let runs = run.json()["jobs"][0]["measurements"].clone();
        let starts = runs.as_array().unwrap().iter();
        let starts: Vec<String> = starts.map(|run| run["start"].to_string()).collect();
        assert_eq!(starts[..3], ["\"cold\"", "\"warm\"", "\"warm\""]);
        machines(&aws)
    };
    assert_eq!(of_quota(2.0), [1, 1, 1, 2]);
    assert_eq!(of_quota(3.0).len(), 4);
}

#[test]
fn a_round_that_the_ledger_refuses_ends_the_canaries() {
    // An hour of kept machines alone may cost 0.23 USD.
    let more = ", spend_limit: 0.20 USD, warm_pool: {keep_alive: 1h}}";
    let (project, aws) = jobs(1, &ADAPTIVE.replace('}', more), "");
    aws.quota("ml.m5.xlarge for training warm pool usage", 1.0);
    gate(&project, &aws, &["run", "--all"]).ended_with(14);
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn where_the_code_fails_on_instance_canaries_under_way_elsewhere_are_paid_and_no_more_are_launched()
{
    let (project, aws) = jobs(1, FIXED, ALTERNATIVES);
    // The first canary of each configuration is its smallest.
    aws.train(|job| match job.instance_type() {
        "ml.m5.xlarge" if job.bytes() > 500 => {
            Timeline::script_failed(1, "ValueError: no such column")
        }
        _ => Timeline::completed(),
    });
    aws.polls(Polls::Nothing);
    let arguments = [JSON, &["--measurements", "runs.jsonl"]].concat();
    let child = spawned(&project, &aws, &arguments, "0.001", |command| {
        command.stdout(Stdio::piped());
    });
    wait_for(|| created(&aws).len() == 1);
    aws.finish_jobs();
    wait_for(|| at_work(&aws).len() == 3);
    // On the alternatives they go on a little longer.
    aws.finish_jobs_on("ml.m5.xlarge");
    wait_for(|| !at_work(&aws).contains(&"ml.m5.xlarge".to_owned()));
    aws.polls(Polls::NextStatus);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(13));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let job = &report["jobs"][0];
    assert_eq!(job["verdict"], "failed");
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    let on = |kind: &str| {
        aws.jobs()
            .iter()
            .filter(|job| job.instance_type() == kind)
            .count()
    };
    assert_eq!((on("ml.m5.2xlarge"), on("ml.c5.xlarge")), (1, 1));
    for row in &job["forecasts"].as_array().unwrap()[1..] {
        let text = row.to_string();
        assert!(
            text.contains("the training code failed on the job's instance"),
            "{text}"
        );
    }
    let measured = project.read("runs.jsonl");
    assert_eq!(measured.lines().count(), aws.jobs().len(), "{measured}");
}

#[test]
fn four_jobs_begin_at_once_and_a_signal_leaves_nothing_of_them_running() {
    let (project, aws) = jobs(4, FIXED, "");
    aws.polls(Polls::Nothing);
    let mut child = started(&project, &aws, "0.001");
    // Not one of them has ended.
    wait_for(|| aws.in_progress().len() == 4);
    signal(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    assert_eq!(aws.calls(Operation::StopTrainingJob), 4);
    // What they were billed is the next run's to report.
    assert!(project.path(".canary-gate/run-0").exists());
}

/// The verdicts of a report's jobs, in order.
fn verdicts(run: &Finished) -> Vec<(String, String)> {
    let jobs = run.json()["jobs"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    jobs.iter()
        .map(|job| (text(&job["name"]), text(&job["verdict"])))
        .collect()
}

#[test]
fn a_job_whose_code_fails_keeps_no_other_from_its_check() {
    let (project, aws) = jobs(3, &FIXED.replace("5%", "50%"), "");
    aws.train(|job| match job.hyperparameter("epochs") {
        Some("1") | Some("\"1\"") => Timeline::script_failed(1, "ValueError: no such column"),
        _ => Timeline::completed(),
    });
    let run = gate(&project, &aws, JSON).ended_with(13);
    let verdicts = verdicts(&run);
    let of = |number: usize| (verdicts[number].0.as_str(), verdicts[number].1.as_str());
    assert_eq!(of(0), ("churn0", "within"));
    assert_eq!(of(1), ("churn1", "failed"));
    assert_eq!(of(2), ("churn2", "within"));
    assert_eq!(created(&aws).len(), 7);
    // Of several jobs each line says whose it is.
    run.complained("  churn1: | ");
}

#[test]
fn a_job_that_cannot_be_checked_keeps_no_other_from_its_check() {
    let (project, aws) = jobs(3, FIXED, "");
    let spec = project.read("canary-gate.yml");
    let (before, after) = spec.split_once("  churn1:\n").unwrap();
    let after = after.replacen("s3://data/churn/train/", "s3://data/nothing/", 1);
    project.write("canary-gate.yml", &format!("{before}  churn1:\n{after}"));
    let run = gate(&project, &aws, JSON);
    let names: Vec<String> = verdicts(&run).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["churn0", "churn2"]);
    run.complained("jobs.churn1");
    assert_eq!(created(&aws).len(), 6);
}

#[test]
fn jobs_wait_together_for_a_quota_of_one() {
    let (project, aws) = jobs(2, FIXED, "");
    aws.quota("ml.m5.xlarge for training job usage", 1.0);
    let run = gate(&project, &aws, JSON).ended_with(0);
    let of = |name: &str| (name.to_owned(), "within".to_owned());
    assert_eq!(verdicts(&run), [of("churn0"), of("churn1")]);
    assert_eq!(created(&aws).len(), 6);
}

#[test]
fn canaries_that_only_wait_to_be_created_make_no_room_for_each_other() {
    let (project, aws) = jobs(2, FIXED, "");
    // Somebody else uses it up.
    aws.fail(Operation::CreateTrainingJob)
        .with(Fault::resource_limit("ml.m5.xlarge", 2, 2, 1));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("2 in use");
    assert_eq!(created(&aws), Vec::<String>::new());
}

/// How often metrics were asked for when the second canary was started, where none ever come.
fn looks_before_the_second(canary: &str, budget: &str) -> u64 {
    let (project, aws) = project(canary);
    let spec = project.read("canary-gate.yml");
    let (before, _) = spec.split_once("    budget:").unwrap();
    project.write(
        "canary-gate.yml",
        &format!("{before}    budget: {budget}\n"),
    );
    aws.logs(Logs::of(|_, _| Vec::new()));
    aws.metrics(Metrics::missing());
    let mut child = started(&project, &aws, "0.01");
    wait_for(|| created(&aws).len() >= 2);
    let looks = aws.calls(Operation::GetMetricData);
    signal(&child, Signal::SIGTERM);
    child.wait().unwrap();
    looks
}

#[test]
fn a_machine_is_free_when_its_job_ends() {
    // So often they are asked for of one canary.
    const ALL: u64 = 13;
    assert!(looks_before_the_second(FIXED, "{time: 2h, memory: 90%}") < ALL);
    let adaptive = ADAPTIVE.replace('}', ", parallel: 1}");
    assert!(looks_before_the_second(&adaptive, "{time: 2h}") < ALL);
    // What the first one used may ask for a longer second one.
    assert_eq!(
        looks_before_the_second(&adaptive, "{time: 2h, memory: 90%}"),
        ALL
    );
}

/// What was paid before the code showed that it fails, by how many canaries run at once.
#[test]
fn a_script_that_fails_is_paid_for_by_the_canaries_that_ran_at_once_and_named_once() {
    let nine = "design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 3, max_runtime: 30m, spend_limit: 5 USD";
    let adaptive = "max_share: 10000%, max_runtime: 30m, spend_limit: 5 USD";
    for (canary, at_once, paid) in [
        (nine, 3, 3),
        (nine, 1, 1),
        (adaptive, 3, 2),
        (adaptive, 1, 1),
    ] {
        let (project, aws) = project(&format!("{{{canary}, parallel: {at_once}}}"));
        aws.train(|_| Timeline::script_failed(1, "ValueError: no such column"));
        let run = gate(
            &project,
            &aws,
            &["run", "--all", "--format", "json", "-o", "comment.md"],
        )
        .ended_with(13);
        assert_eq!(created(&aws).len(), paid, "{}", run.seen());
        let job = &run.json()["jobs"][0];
        assert_eq!(job["measurements"].as_array().unwrap().len(), paid);
        let billed = job["spend"]["canary_usd"].as_f64().unwrap();
        assert!(
            (billed - aws.bill()).abs() < 1e-6,
            "{billed} {}",
            aws.bill()
        );
        let comment = project.read("comment.md");
        assert_eq!(comment.matches("no such column").count(), 1, "{comment}");
        if paid > 1 {
            let named = format!(
                "{paid} canaries on ml.m5.xlarge ended with exit code 1, the first with 1% of the data"
            );
            assert!(comment.contains(&named), "{comment}");
        }
    }
}
