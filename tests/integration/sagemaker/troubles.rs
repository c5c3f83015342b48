//! What may happen on the way: each trouble with its outcome and exit code.

use std::process::Stdio;
use std::time::Duration;

use super::{FIXED, created, gate, project};
use crate::aws::{Fault, Operation, Polls, Timeline};

#[test]
fn throttling_is_waited_out() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .on_calls(2..=4)
        .with(Fault::Throttled);
    aws.fail(Operation::DescribeTrainingJob)
        .on_calls(3..=6)
        .with(Fault::Throttled);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn a_call_that_is_throttled_every_time_is_unknown() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .with(Fault::Throttled);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("throttled");
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn an_exhausted_quota_is_reported_with_its_numbers() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .with(Fault::resource_limit("ml.m5.xlarge", 4, 4, 1));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("`ml.m5.xlarge for training job usage` is 4")
        .complained("4 in use");
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_quota_that_runs_out_while_canaries_run_makes_the_rest_wait() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(3)
        .with(Fault::resource_limit("ml.m5.xlarge", 1, 1, 1));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn no_capacity_is_unknown_and_never_over_budget() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::no_capacity());
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(14);
    let report = run.json();
    assert_eq!(report["verdict"], "unknown", "{}", run.seen());
    assert_eq!(
        report["jobs"][0]["measurements"][0]["outcome"]["kind"],
        "no_capacity"
    );
    // Asked for once more; the other canaries would find none either.
    assert_eq!(created(&aws).len(), 2);
}

#[test]
fn an_error_of_sagemakers_own_and_a_machine_that_did_not_come_are_tried_again() {
    let once = |trouble: fn() -> Timeline| {
        let (project, aws) = project(FIXED);
        aws.train(move |job| match job.number() {
            1 => trouble(),
            _ => Timeline::completed(),
        });
        (project, aws)
    };
    let (short, aws) = once(Timeline::no_capacity);
    gate(&short, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 4);
    let (project, aws) = once(Timeline::internal_error);
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]);
    let names = created(&aws);
    assert_eq!(names.len(), 4, "{}", run.seen());
    assert!(
        names[0].ends_with("-0") && names[1].ends_with("-1"),
        "{names:?}"
    );
}

#[test]
fn an_error_of_sagemakers_own_that_stays_is_unknown() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::internal_error());
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(14);
    let report = run.json();
    let measured = &report["jobs"][0]["measurements"];
    assert_eq!(measured[0]["outcome"]["kind"], "platform_error");
    assert!(
        measured[0]["notes"]
            .to_string()
            .contains("SageMaker says: InternalServerError")
    );
    assert_eq!(created(&aws).len(), 2);
}

#[test]
fn the_scripts_own_failure_fails_the_gate() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::script_failed(1, "KeyError: 'age'"));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(13)
        .reported("KeyError: 'age'");
    assert_eq!(created(&aws).len(), 1);
}

#[test]
fn a_likely_first_error_of_the_script_has_its_way_out() {
    for (message, code, way_out) in [
        (
            "ModuleNotFoundError: No module named 'lightgbm'",
            13,
            "no module `lightgbm`",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'data/train/a.csv'",
            13,
            "`SM_CHANNEL_TRAIN`",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            10,
            "the memory of the GPU ran out, not that of the machine",
        ),
    ] {
        let (project, aws) = project(FIXED);
        aws.train(move |_| Timeline::script_failed(1, message));
        let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(code);
        let report = run.json();
        let advice = &report["jobs"][0]["advice"];
        assert!(advice.to_string().contains(way_out), "{advice}");
    }
}

#[test]
fn secrets_in_what_a_training_job_says_are_shown_nowhere() {
    let (project, aws) = project(FIXED);
    aws.train(|_| {
        Timeline::script_failed(
            1,
            "no access for AKIAIOSFODNN7EXAMPLE with password=opensesame",
        )
    });
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(13);
    assert!(
        run.stdout.contains("no access for *** with password=***"),
        "{}",
        run.seen()
    );
    assert!(
        !run.seen().contains("AKIAIOS") && !run.seen().contains("opensesame"),
        "{}",
        run.seen()
    );
}

#[test]
fn running_out_of_memory_is_a_result() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::out_of_memory());
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(10);
    let report = run.json();
    assert_eq!(
        report["jobs"][0]["measurements"][0]["outcome"]["kind"],
        "out_of_memory"
    );
}

#[test]
fn data_that_the_role_cannot_read_is_for_a_person_to_correct() {
    let (project, aws) = project(FIXED);
    aws.train(|_| {
        Timeline::data_download_failed("AccessDenied on s3://data/churn/train/part-001.csv")
    });
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("training.role");
    assert_eq!(created(&aws).len(), 1);
}

#[test]
fn a_canary_past_its_limit_is_a_lower_bound() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::completed().training(4000.0));
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]);
    assert_eq!(
        run.json()["jobs"][0]["measurements"][0]["outcome"]["kind"],
        "timed_out",
        "{}",
        run.seen()
    );
}

#[test]
fn an_endpoint_that_is_gone_for_a_while_is_waited_for() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::DescribeTrainingJob)
        .on_calls(4..=40)
        .with(Fault::Dropped);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn an_expired_session_is_unknown_and_names_the_jobs() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::DescribeTrainingJob)
        .since_call(3)
        .with(Fault::ExpiredToken);
    let run = gate(&project, &aws, &["run", "--all"]).ended_with(14);
    let name = &created(&aws)[0];
    assert!(
        run.stderr.contains("expired") && run.stderr.contains(name.as_str()),
        "{}",
        run.seen()
    );
}

#[test]
fn who_signs_in_again_goes_on() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::DescribeTrainingJob)
        .on_calls(3..=4)
        .with(Fault::ExpiredToken);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn after_an_expired_session_the_next_start_takes_the_jobs_over() {
    let (project, aws) = project(FIXED);
    // From the third look on, whatever is called.
    aws.fail(Operation::DescribeTrainingJob)
        .on_call(3)
        .then_everything_for(u64::MAX)
        .with(Fault::ExpiredToken);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("may still be running: cg-churn-");
    assert_eq!(aws.in_progress().len(), 1);
    aws.recover();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn an_answer_that_is_lost_starts_no_second_job() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(1)
        .with(Fault::AnswerLost);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_clock_that_is_wrong_is_said() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::GetCallerIdentity)
        .with(Fault::ClockSkew);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("clock");
}

#[test]
fn a_job_that_somebody_deletes_is_unknown() {
    let (project, aws) = project(FIXED);
    aws.train(|_| Timeline::completed().deleted_after_polls(2));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("was deleted while it ran");
}

#[test]
fn memory_that_was_measured_in_two_ways_is_not_taken_for_growth() {
    let (project, aws) = project(&FIXED.replace("replicates: 1", "replicates: 2, probe: false"));
    // CloudWatch is silent about the third canary, and Debugger is not.
    aws.metrics(crate::aws::Metrics::of(|point| match point.metric {
        _ if point.job.number() == 3 => None,
        "MemoryUtilization" => Some(25.0),
        _ => Some(100.0),
    }));
    aws.profiles(|job| {
        let line = r#"{"Type":"memory","Name":"MemoryUsedPercent","Dimension":"","Value":80.0,"NodeId":"algo-1","Timestamp":1600000000.0}"#;
        (job.number() == 3).then(|| format!("{line}\n"))
    });
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let report = run.json();
    let measured = report["jobs"][0]["measurements"].as_array().unwrap();
    let percents: Vec<f64> = measured
        .iter()
        .filter_map(|run| run["usage"]["memory"]["percent"].as_f64())
        .collect();
    assert!(
        percents.contains(&25.0) && percents.contains(&80.0),
        "{}",
        run.seen()
    );
    let notes = report["jobs"][0]["notes"].to_string();
    assert!(notes.contains("that of 1 other is left out"), "{notes}");
}

#[test]
fn late_metrics_are_waited_for_and_missing_ones_are_missing() {
    let (project, aws) = project(FIXED);
    // Of runs that are long enough to be seen; the probe's log is lost too.
    aws.train(|_| Timeline::completed().training(300.0));
    aws.metrics(crate::aws::Metrics::constant(&[]));
    aws.logs(crate::aws::Logs::of(|_, _| Vec::new()));
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]);
    let report = run.json();
    let job = &report["jobs"][0];
    assert!(job["forecasts"][0]["estimates"]["time_seconds"]["point"].is_number());
    assert!(
        job["forecasts"][0]["estimates"]
            .get("memory_percent")
            .is_none()
    );
    // A written line of memory is unknown.
    assert_eq!(run.code, 14, "{}", run.seen());
}

#[test]
fn a_job_that_is_not_seen_at_once_is_looked_for_again() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::DescribeTrainingJob)
        .on_calls(2..=3)
        .with(Fault::error(
            "ValidationException",
            "Requested resource not found.",
        ));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn a_name_that_is_taken_and_never_found_is_given_up() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob).with(Fault::error(
        "ResourceInUse",
        "Training job names must be unique",
    ));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("are taken, but no such job is found");
}

#[test]
fn a_quota_that_is_freed_late_is_waited_for() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 1.0);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(2)
        .with(Fault::resource_limit("ml.m5.xlarge", 1, 1, 1));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn what_was_measured_is_reported_also_where_a_later_canary_may_not_be_started() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .since_call(3)
        .with(Fault::AccessDenied);
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(1);
    let report = run.json();
    let job = &report["jobs"][0];
    assert_eq!(
        job["measurements"].as_array().unwrap().len(),
        2,
        "{}",
        run.seen()
    );
    assert!(job["spend"]["canary_usd"].as_f64().unwrap() > 0.0);
    assert_eq!(report["exit_code"], 1);
}

#[test]
fn canaries_that_cost_more_than_they_were_to_end_the_design_at_the_limit() {
    // The download is billed and does not count towards the time limit.
    let (project, aws) = project(
        "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 1, parallel: 1, max_runtime: 30m, spend_limit: 0.37 USD}",
    );
    aws.train(|_| Timeline::completed().downloading(5000.0).training(600.0));
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]);
    assert_eq!(created(&aws).len(), 1, "{}", run.seen());
    let notes = run.json()["jobs"][0]["notes"].to_string();
    assert!(notes.contains("canary.spend_limit"), "{notes}");
}

#[test]
fn an_alternative_without_quota_does_not_keep_the_next_from_its_canaries() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml").replace(
        "    canary:",
        "    alternatives: [ml.c5.xlarge, ml.m5.2xlarge]\n    canary:",
    );
    project.write("canary-gate.yml", &spec);
    aws.quota("ml.c5.xlarge for training job usage", 0.0);
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let report = run.json();
    let forecasts = &report["jobs"][0]["forecasts"];
    assert_eq!(
        forecasts[1]["not_measured"],
        "its quota allows no canary",
        "{}",
        run.seen()
    );
    assert!(forecasts[2].get("not_measured").is_none());
    assert_eq!(created(&aws).len(), 6);
}

#[test]
fn a_canary_of_all_the_data_is_held_against_the_spend_limit_too() {
    let (project, aws) = project(
        "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 100%], replicates: 1, parallel: 1, max_runtime: 30m, spend_limit: 0.37 USD}",
    );
    // The first alone costs nearly all of it.
    aws.train(|job| {
        let download = if job.number() == 1 { 5000.0 } else { 1.0 };
        Timeline::completed().downloading(download).training(1.0)
    });
    let run = gate(&project, &aws, &["run", "--all"]);
    assert_eq!(created(&aws).len(), 1, "{}", run.seen());
}

#[test]
fn a_job_that_never_ends_is_given_up_long_after_its_time_limit() {
    let (project, aws) = project(FIXED);
    // It trains after the second look, and then the clock of AWS stands still.
    aws.polls(Polls::Seconds(120.0));
    aws.train(|_| Timeline::completed().training(1000.0));
    let mut command = project.gate(&["run", "--all"]);
    aws.reach(&mut command);
    let child = command
        .env("CANARY_GATE_PACE", "0.01")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !aws
        .jobs()
        .iter()
        .any(|job| job.secondary_status() == "Training")
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    aws.polls(Polls::Nothing);
    aws.age_jobs(11.0 * 86_400.0);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(14), "{stderr}");
    assert!(stderr.contains("long after its time limit"), "{stderr}");
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

/// The first line of a report says what kept the gate from an answer, and what to do.
#[test]
fn the_headline_names_the_cause() {
    type Script = fn() -> Timeline;
    let stopped_by_a_person = || Timeline::completed().training(600.0).stopped_at(200.0);
    let cases: [(Script, &str); 4] = [
        (
            Timeline::no_capacity,
            "no capacity for ml.m5.xlarge; start the check again later, or choose another instance",
        ),
        (
            Timeline::internal_error,
            "an error of the platform's own, not of the training code, ended the 1% canary; start the check again",
        ),
        (
            stopped_by_a_person,
            "the 1% canary was stopped by a person or another tool; start the check again",
        ),
        (
            || Timeline::completed().training(4000.0),
            "its time limit; raise canary.max_runtime, or write smaller canary.fractions",
        ),
    ];
    for (script, headline) in cases {
        let (project, aws) = project(FIXED);
        aws.train(move |_| script());
        let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(14);
        let report = run.json();
        let job = &report["jobs"][0];
        assert!(
            job["reason"].as_str().unwrap().contains(headline),
            "{}",
            job["reason"]
        );
        assert!(!job["notes"].to_string().contains("no canary run completed"));
        println!("{}", gate(&project, &aws, &["run", "--all"]).seen());
    }
}

#[test]
fn a_run_that_passes_does_not_speak_of_another_exit_code() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .with(Fault::Throttled);
    let run = gate(
        &project,
        &aws,
        &["run", "--all", "--on-inconclusive", "pass"],
    )
    .ended_with(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains("exit 14"), "{said}");
    assert_eq!(said.matches("exit ").count(), 1, "{said}");
    let said = said.to_lowercase();
    assert_eq!(said.matches("start the check again").count(), 1, "{said}");
    assert!(!said.contains("no canary run completed"), "{said}");
}
