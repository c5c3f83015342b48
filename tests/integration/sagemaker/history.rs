//! A history that machines share, under a prefix in S3.

use super::{FIXED, JSON, created, edit, forget, gate, project, spec};
use crate::aws::{FakeAws, Fault, Operation, Timeline};
use crate::project::Project;

const BUCKET: &str = "records";
const FORTNIGHT: f64 = 15.0 * 86_400.0;

/// A committed project whose records go to S3.
fn shared() -> (Project, FakeAws) {
    let (project, aws) = project(FIXED);
    let spec = spec(FIXED).replace("region:", "history: s3://records/gate/\nregion:");
    project.write("canary-gate.yml", &spec);
    project.write(".gitignore", ".canary-gate/\n");
    aws.make_bucket(BUCKET);
    (project.committed(), aws)
}

#[test]
fn another_machine_takes_over_what_one_has_measured() {
    let (project, aws) = shared();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    // Its records are young, whatever became of the training jobs.
    aws.age_jobs(FORTNIGHT);
    forget(&project);
    let report = gate(&project, &aws, JSON).ended_with(0).json();
    assert_eq!(created(&aws).len(), 3);
    let spend = &report["jobs"][0]["spend"];
    assert!(spend["saved_usd"].as_f64().unwrap() > 0.0, "{spend}");
    let mut keys = aws.keys(BUCKET, "gate/");
    // What showed that records can be written is no record.
    keys.retain(|key| key != "gate/local/.writable");
    assert_eq!(keys.len(), 5, "three canaries and two forecasts: {keys:?}");
    assert!(
        keys.iter().all(|key| key.starts_with("gate/local/churn/")),
        "{keys:?}"
    );
    gate(&project, &aws, &["history", "list"])
        .ended_with(0)
        .reported("forecast");
}

#[test]
fn training_that_became_slower_is_a_drift_on_any_machine() {
    let (project, aws) = shared();
    gate(&project, &aws, &["drift"]).ended_with(0);
    forget(&project);
    gate(&project, &aws, &["drift"]).ended_with(0);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
    aws.train(|job| Timeline::completed().training(20.0 + 0.12 * job.bytes() as f64));
    forget(&project);
    // Three canaries in one check alone are not certain enough.
    gate(&project, &aws, &["drift"])
        .ended_with(0)
        .reported("churn has no drift yet: ");
    forget(&project);
    gate(&project, &aws, &["drift"])
        .ended_with(12)
        .reported("churn drifted");
    assert_eq!(created(&aws).len(), 12, "each check measures again");
    gate(&project, &aws, &["drift", "--from-history"]).ended_with(12);
    assert_eq!(created(&aws).len(), 12);
}

#[test]
fn a_history_that_may_not_be_read_costs_nothing() {
    let (project, aws) = shared();
    aws.fail(Operation::ListObjectsV2)
        .about(BUCKET)
        .with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("history");
    assert_eq!(created(&aws).len(), 0);
}

#[test]
fn what_cannot_be_kept_is_an_error_and_is_in_the_report() {
    let (project, aws) = shared();
    // The right to write is lost on the way.
    aws.fail(Operation::PutObject)
        .about("-canary-")
        .with(Fault::AccessDenied);
    let run = gate(&project, &aws, JSON).ended_with(1);
    let report = run.json();
    assert_eq!(report["jobs"][0]["verdict"], "within");
    assert_eq!(
        report["jobs"][0]["measurements"].as_array().unwrap().len(),
        3
    );
    assert!(
        report["failures"].to_string().contains("s3:PutObject"),
        "{}",
        report["failures"]
    );
    assert_eq!(created(&aws).len(), 3);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_record_that_was_cut_short_is_named_and_its_canary_found_another_way() {
    let (project, aws) = shared();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let keys = aws.keys(BUCKET, "gate/");
    let canary = keys.iter().find(|key| key.contains("-canary-")).unwrap();
    aws.put_object(BUCKET, canary, "{\"schema_version\": 1, ");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(0)
        .complained("skipped an unreadable record");
    // The training job itself still stands for it.
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn data_that_grew_are_the_cause() {
    let (project, aws) = shared();
    gate(&project, &aws, &["drift"]).ended_with(0);
    for index in 100..160 {
        let key = format!("churn/train/part-{index:03}.csv");
        aws.put_object("data", &key, format!("{index}\n").repeat(100));
    }
    let report = gate(&project, &aws, &["drift", "--format", "json"])
        .ended_with(12)
        .json();
    let causes = report["jobs"][0]["drift"]["causes"].as_array().unwrap();
    let usd = |name: &str| {
        let found = causes.iter().find(|cause| cause["cause"] == name);
        found.map_or(0.0, |cause| cause["usd"].as_f64().unwrap())
    };
    let others = usd("price").abs() + usd("work").abs() + usd("code_or_platform").abs();
    assert!(usd("data") > 4.0 * others, "{causes:?}");
}

#[test]
fn a_history_that_may_not_be_written_is_said_before_a_canary_is_paid() {
    let (project, aws) = shared();
    aws.fail(Operation::PutObject)
        .about(BUCKET)
        .with(Fault::AccessDenied);
    let run = gate(&project, &aws, &["run", "--all"]);
    println!("{}", run.seen());
    run.ended_with(1)
        .complained("history")
        .complained("s3:PutObject");
    assert_eq!(created(&aws).len(), 0);
}

#[test]
fn adopted_canaries_are_recorded() {
    let (project, aws) = shared();
    let spec = project.read("canary-gate.yml");
    let paths = "  churn:\n    paths: [\"code/**\"]\n";
    project.write("canary-gate.yml", &spec.replace("  churn:\n", paths));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let records = || {
        let keys = aws.keys(BUCKET, "gate/");
        keys.into_iter()
            .filter(|key| key.contains("-canary-"))
            .count()
    };
    assert_eq!(records(), 3);
    // A history that lost them, as that of another pull request never had them.
    edit(&project, &[("/gate/", "/gate/other/")]);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    assert_eq!(records(), 6);
    let calls = aws.calls(Operation::DescribeTrainingJob);
    let run = gate(&project, &aws, &["run", "--all"]).ended_with(0);
    println!("{}", run.seen());
    assert_eq!(
        aws.calls(Operation::DescribeTrainingJob),
        calls,
        "found in the history"
    );
}
