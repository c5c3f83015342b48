//! What may go wrong before a cent is spent and on the way: each trouble with its outcome and exit code.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{FIXED, JSON, created, edit, forget, gate, project};
use crate::aws::{FakeAws, Fault, Operation, Polls, Timeline};
use crate::project::Project;

/// One of `troubles.yml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trouble {
    what: String,
    #[serde(default)]
    spec: BTreeMap<String, String>,
    #[serde(default)]
    buckets: BTreeMap<String, String>,
    #[serde(default)]
    objects: Vec<String>,
    no_price: Option<String>,
    quota: Option<f64>,
    unchanged_quota: Option<f64>,
    #[serde(default)]
    faults: Vec<Strike>,
    train: Option<Training>,
    /// Of the first job only.
    #[serde(default)]
    first_alone: bool,
    ends: i32,
    #[serde(default)]
    says: Vec<String>,
    jobs: Option<usize>,
}

#[derive(Deserialize)]
struct Strike {
    call: String,
    calls: Option<(u64, u64)>,
    is: Fault,
}

#[derive(Deserialize)]
enum Training {
    NoCapacity,
    InternalError,
    OutOfMemory,
    ScriptFailed(String),
    DataDownloadFailed(String),
    DeletedAfterPolls(u64),
    StoppedAt(f64),
    Takes {
        #[serde(default)]
        downloading: f64,
        training: f64,
    },
}

impl Training {
    fn timeline(&self) -> Timeline {
        match self {
            Self::NoCapacity => Timeline::no_capacity(),
            Self::InternalError => Timeline::internal_error(),
            Self::OutOfMemory => Timeline::out_of_memory(),
            Self::ScriptFailed(message) => Timeline::script_failed(1, message),
            Self::DataDownloadFailed(detail) => Timeline::data_download_failed(detail),
            Self::DeletedAfterPolls(polls) => Timeline::completed().deleted_after_polls(*polls),
            Self::StoppedAt(elapsed) => Timeline::completed().training(600.0).stopped_at(*elapsed),
            Self::Takes {
                downloading,
                training,
            } => (Timeline::completed().downloading(*downloading)).training(*training),
        }
    }
}

impl Trouble {
    fn happens_to(&mut self, aws: &FakeAws) {
        const QUOTA: &str = "ml.m5.xlarge for training job usage";
        for (bucket, region) in &self.buckets {
            aws.make_bucket_in(bucket, region);
        }
        for key in &self.objects {
            aws.put_object("data", key, "x");
        }
        if let Some(kind) = &self.no_price {
            aws.no_price(kind);
        }
        if let Some(quota) = self.quota {
            aws.quota(QUOTA, quota);
        }
        if let Some(quota) = self.unchanged_quota {
            aws.unchanged_quota(QUOTA, quota);
        }
        for Strike { call, calls, is } in self.faults.drain(..) {
            let fault = aws.fail(Operation::named(&call).unwrap());
            match calls {
                Some((first, last)) => fault.on_calls(first..=last).with(is),
                None => fault.with(is),
            }
        }
        if let Some(training) = self.train.take() {
            let first_alone = self.first_alone;
            aws.train(move |job| match first_alone && job.number() > 1 {
                true => Timeline::completed(),
                false => training.timeline(),
            });
        }
    }
}

fn edited(edits: &[(&str, &str)]) -> (Project, FakeAws) {
    let (project, aws) = project(FIXED);
    edit(&project, edits);
    (project, aws)
}

#[test]
fn each_trouble_has_its_outcome() {
    let troubles = include_str!("../../data/sagemaker/troubles.yml");
    let troubles: Vec<Trouble> = serde_saphyr::from_str(troubles).unwrap();
    for mut trouble in troubles {
        let edits = trouble.spec.iter().map(|(from, to)| (&**from, &**to));
        let (project, aws) = edited(&edits.collect::<Vec<_>>());
        trouble.happens_to(&aws);
        let run = gate(&project, &aws, JSON);
        let what = format!("{}: {}", trouble.what, run.seen());
        assert_eq!(run.code, trouble.ends, "{what}");
        // Whatever the layout of the report.
        let report: Option<Value> = serde_json::from_str(&run.stdout).ok();
        let said = report.map_or_else(String::new, |report| report.to_string()) + &run.stderr;
        for text in &trouble.says {
            assert!(said.contains(text), "{text} in {what}");
        }
        let jobs = created(&aws).len();
        assert_eq!(jobs, trouble.jobs.unwrap_or(jobs), "{what}");
        assert_eq!(aws.in_progress(), [""; 0], "{what}");
        match trouble.ends {
            1 => assert_eq!(aws.keys("canaries", "out/cg-stage/"), [""; 0], "{what}"),
            2 => assert_eq!(aws.all_calls(), 0, "{what}"),
            _ => {}
        }
    }
}

#[test]
fn an_entry_point_that_git_does_not_know_is_found_by_validate() {
    let (project, aws) = edited(&[("entry_point: train.py", "entry_point: main.py")]);
    gate(&project, &aws, &["validate"]).complained("`main.py` is not among the source files");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("jobs.churn.training.entry_point");
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn without_a_region_nothing_is_called() {
    let (project, aws) = edited(&[("region: us-east-1\n", "")]);
    project
        .run_with(&["run", "--all"], |command| {
            aws.reach(command);
            command.env_remove("AWS_REGION");
        })
        .ended_with(1)
        .complained("region: us-east-1");
    assert_eq!(aws.all_calls(), 0);
}

/// Every call that a gate makes, denied, and how the gate ends: 1 where it cannot do without, else with a note.
#[test]
fn each_call_may_be_denied() {
    for (operation, permission, code) in [
        (Operation::ListTags, "sagemaker:ListTags", 1),
        (Operation::ListTrainingJobs, "sagemaker:ListTrainingJobs", 1),
        (Operation::HeadObject, "", 0),
        (Operation::GetMetricData, "cloudwatch:GetMetricData", 14),
        (Operation::DeleteObject, "s3:DeleteObject", 0),
        (Operation::DescribeLogStreams, "logs:DescribeLogStreams", 0),
        (Operation::GetLogEvents, "", 0),
    ] {
        // What CloudWatch knows is needed only where there is no probe.
        let (project, aws) = project(&FIXED.replace('}', ", probe: false}"));
        // The step time is read from the log.
        edit(
            &project,
            &[(
                "      output:",
                "      metrics: {step: 'step ([0-9.]+)'}\n      step_metric: step\n      output:",
            )],
        );
        // So that there is a job to adopt, whose tags are read.
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        forget(&project);
        aws.fail(operation).with(Fault::AccessDenied);
        let fresh = if operation == Operation::ListTags {
            "--quiet"
        } else {
            "--fresh"
        };
        let run = gate(&project, &aws, &["run", "--all", fresh]).ended_with(code);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(permission), "{operation:?}: {}", run.seen());
        assert_eq!(aws.in_progress(), Vec::<String>::new(), "{operation:?}");
    }
}

#[test]
fn an_endpoint_that_is_set_and_empty_is_named() {
    let (project, aws) = project(FIXED);
    project
        .run_with(&["run", "--all"], |command| {
            aws.reach(command);
            command.env("AWS_ENDPOINT_URL_PRICING", "");
        })
        .ended_with(2)
        .complained("AWS_ENDPOINT_URL_PRICING is set but empty");
}

#[test]
fn a_refused_profiler_is_done_without() {
    let (project, aws) = project(&FIXED.replace('}', ", probe: false}"));
    aws.fail(Operation::CreateTrainingJob)
        .about("ProfilerConfig")
        .with(Fault::error(
            "ValidationException",
            "ProfilerConfig is not supported for the instance type ml.m5.xlarge",
        ));
    let run = gate(&project, &aws, JSON).ended_with(0);
    let notes = run.json()["jobs"][0]["notes"].to_string();
    assert!(notes.contains("refused Debugger's profiler"), "{notes}");
    // The first canary is asked for twice, all others once.
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 4);
}

#[test]
fn where_no_price_list_is_in_dollars_it_is_not_asked() {
    for region in ["cn-north-1", "us-gov-west-1"] {
        let (project, aws) = edited(&[
            ("region: us-east-1", &format!("region: {region}")),
            ("s3://data/", "s3://far/"),
            ("s3://canaries/", "s3://far-out/"),
        ]);
        for bucket in ["far", "far-out"] {
            aws.make_bucket_in(bucket, region);
        }
        for index in 0..100 {
            aws.put_object("far", &format!("churn/train/{index}.csv"), "1\n");
        }
        gate(&project, &aws, &["run", "--all"])
            .ended_with(14)
            .complained("no price is known for ml.m5.xlarge")
            .reported("Write one: `prices:");
        assert_eq!(aws.calls(Operation::GetProducts), 0);
    }
}

#[test]
fn an_image_that_sagemaker_will_not_pull_and_a_misspelled_region_are_warned_of() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml");
    let ecr = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1";
    for (from, to, warning) in [
        (ecr, "docker.io/library/python:3.12", "is not in Amazon ECR"),
        (
            ecr,
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "is in `eu-west-1`, and the job runs in us-east-1",
        ),
        (
            "region: us-east-1",
            "region: us-esat-1",
            "did you mean `us-east-1`?",
        ),
        (
            "region: us-east-1",
            "region: us-east",
            "did you mean `us-east-1`?",
        ),
    ] {
        project.write("canary-gate.yml", &spec.replace(from, to));
        gate(&project, &aws, &["validate"]).complained(warning);
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
    let run = gate(&project, &aws, JSON).ended_with(13);
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
    let run = gate(&project, &aws, JSON).ended_with(0);
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
    let run = gate(&project, &aws, JSON);
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
fn what_was_measured_is_reported_also_where_a_later_canary_may_not_be_started() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob)
        .since_call(3)
        .with(Fault::AccessDenied);
    let run = gate(&project, &aws, JSON).ended_with(1);
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
fn an_alternative_without_quota_does_not_keep_the_next_from_its_canaries() {
    let (project, aws) = project(FIXED);
    edit(
        &project,
        &[(
            "    canary:",
            "    alternatives: [ml.c5.xlarge, ml.m5.2xlarge]\n    canary:",
        )],
    );
    aws.quota("ml.c5.xlarge for training job usage", 0.0);
    let run = gate(&project, &aws, JSON).ended_with(0);
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
