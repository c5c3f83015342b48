//! `sample: rows` of objects in S3: read by ranges, copied below the stage, removed with the canary.

use super::{FIXED, gate, with_data};
use crate::aws::{FakeAws, Fault, Operation, Timeline};
use crate::project::Project;

const HEADER: &str = "id,text\n";

/// A project whose channel is one CSV object of so many rows.
fn project(rows: usize, canary: &str) -> (Project, FakeAws) {
    let spec = super::spec(canary).replace(
        "{uri: s3://data/churn/train/}",
        "{uri: s3://data/rows/data.csv, sample: rows}",
    );
    let project = Project::empty()
        .file("canary-gate.yml", &spec)
        .file("code/train.py", "print('trained')\n");
    let aws = with_data();
    let mut content = HEADER.to_owned();
    for id in 0..rows {
        content.push_str(&format!(
            "{id:09},\"one, two\nthree {}\"\n",
            "x".repeat(id % 50)
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let total = content.len() as f64;
    aws.put_object("data", "rows/data.csv", content);
    // Ten minutes for all of it.
    aws.train(move |job| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let share = job.bytes() as f64 / total;
        Timeline::completed().training(10.0 + 600.0 * share)
    });
    (project, aws)
}

#[test]
fn canaries_read_copies_of_rows_that_are_removed() {
    let (project, aws) = project(5000, FIXED);
    gate(&project, &aws, &["plan", "--all"])
        .ended_with(0)
        .reported("blocks")
        .reported("a canary reads its blocks of data.csv (CSV, blocks of")
        .reported("which is removed with them; 1 % of the data reads about");
    let report = gate(&project, &aws, &["run", "--all", "--format", "json"])
        .ended_with(0)
        .json();
    let measured = report["jobs"][0]["measurements"].as_array().unwrap();
    let jobs = aws.jobs();
    assert_eq!(measured.len(), 3);
    for job in &jobs {
        let source = &job.input()["InputDataConfig"][0]["DataSource"]["S3DataSource"];
        assert_eq!(source["S3DataType"], "S3Prefix");
        let uri = source["S3Uri"].as_str().unwrap();
        assert!(
            uri.contains("/cg-stage/") && uri.ends_with("/train/"),
            "{uri}"
        );
        assert!(job.channel_keys("train")[0].ends_with("/train/data.csv"));
        // What counts as size is what was drawn.
        let of_job = measured
            .iter()
            .find(|one| one["training_job"] == job.name())
            .unwrap();
        let drawn = job.bytes() - HEADER.len() as u64;
        assert_eq!(of_job["bytes"].as_u64().unwrap(), drawn);
    }
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}

#[test]
fn the_copies_hold_whole_rows() {
    let (project, aws) = project(5000, FIXED);
    aws.fail(Operation::DeleteObjects).with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"]);
    let staged = aws.keys("canaries", "out/cg-stage/");
    assert_eq!(staged.len(), 3);
    for key in staged {
        let content = aws.object("canaries", &key).unwrap();
        let mut reader = csv::Reader::from_reader(content.as_ref());
        let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
        assert!(rows.len() > 20, "{}", rows.len());
        assert!(
            rows.iter()
                .all(|row| row[1].starts_with("one, two\nthree "))
        );
    }
}

#[test]
fn an_object_that_changed_since_it_was_listed_is_not_mixed_with_what_it_was() {
    let (project, aws) = project(5000, FIXED);
    aws.fail(Operation::GetObject)
        .about("data.csv")
        .on_call(2)
        .with(Fault::error("PreconditionFailed", "no"));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("it has changed since it was listed")
        .complained("run the gate again");
    assert!(aws.jobs().is_empty());
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}

#[test]
fn a_policy_for_rows_lets_the_gate_read_them_and_abort_uploads() {
    let (project, aws) = project(10, FIXED);
    gate(&project, &aws, &["iam-policy"])
        .ended_with(0)
        .reported("\"ReadRows\"")
        .reported("s3:AbortMultipartUpload");
}

/// More than is read through, and than is put at once.
#[test]
fn slow_large_draws_are_put_in_parts() {
    let large = "{design: fixed, max_share: 10000%, fractions: [1%, 5%, 20%], replicates: 1, max_runtime: 30m}";
    let (project, aws) = project(1_500_000, large);
    let report = gate(&project, &aws, &["run", "--all", "--format", "json"])
        .ended_with(0)
        .json();
    let measured = report["jobs"][0]["measurements"].as_array().unwrap();
    for (run, share) in measured.iter().zip([0.01, 0.05, 0.2]) {
        let bytes = |key: &str| run[key].as_f64().unwrap();
        let drawn = bytes("bytes") / bytes("bytes_total");
        assert!((drawn / share - 1.0).abs() < 0.1, "{drawn} of {share}");
    }
    assert_eq!(aws.calls(Operation::CreateMultipartUpload), 1);
    assert_eq!(aws.open_uploads(), 0);
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}

#[test]
fn slow_an_upload_that_fails_is_aborted() {
    let large = "{design: fixed, max_share: 10000%, fractions: [18%, 19%, 20%], replicates: 1, max_runtime: 30m}";
    let (project, aws) = project(1_500_000, large);
    aws.fail(Operation::CompleteMultipartUpload)
        .with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("s3:PutObject");
    assert_eq!(aws.open_uploads(), 0);
    assert!(aws.jobs().is_empty());
}

#[test]
fn an_upload_that_a_killed_gate_left_is_swept() {
    let (project, aws) = project(10, FIXED);
    aws.leave_upload(
        "canaries",
        "out/cg-stage/cg-churn-0123456789abcdef-0/train/data.csv",
    );
    gate(&project, &aws, &["sweep", "--dry-run"])
        .ended_with(0)
        .reported("out/cg-stage/cg-churn-0123456789abcdef-0/");
    assert_eq!(aws.open_uploads(), 1);
    gate(&project, &aws, &["sweep"])
        .ended_with(0)
        .reported("removed");
    assert_eq!(aws.open_uploads(), 0);
}

/// The gate of a pull request that draws rows was killed, and its spec was never merged.
#[test]
fn an_upload_is_swept_by_a_spec_without_rows() {
    let (project, aws) = project(10, FIXED);
    let spec = project.read("canary-gate.yml");
    project.write("canary-gate.yml", &spec.replace(", sample: rows", ""));
    aws.leave_upload(
        "canaries",
        "out/cg-stage/cg-churn-0123456789abcdef-0/train/data.csv",
    );
    gate(&project, &aws, &["sweep"])
        .ended_with(0)
        .reported("removed");
    assert_eq!(aws.open_uploads(), 0);
    // A policy that was made before rows were drawn.
    aws.fail(Operation::ListMultipartUploads)
        .with(Fault::AccessDenied);
    gate(&project, &aws, &["sweep"]).ended_with(0);
    project.write("canary-gate.yml", &spec);
    gate(&project, &aws, &["sweep"])
        .ended_with(1)
        .complained("s3:ListBucketMultipartUploads");
}

#[test]
fn uploads_that_could_not_be_looked_for_are_no_success() {
    let (project, aws) = project(10, FIXED);
    aws.leave_upload(
        "canaries",
        "out/cg-stage/cg-churn-0123456789abcdef-0/train/data.csv",
    );
    // Found by the first look; the second one is at the place itself.
    aws.fail(Operation::ListMultipartUploads)
        .on_calls(2..=100)
        .with(Fault::Throttled);
    gate(&project, &aws, &["sweep"])
        .ended_with(1)
        .complained("could not list unfinished uploads");
    assert_eq!(aws.open_uploads(), 1);
}

#[test]
fn an_upload_that_somebody_else_aborted_is_gone() {
    let (project, aws) = project(10, FIXED);
    aws.leave_upload(
        "canaries",
        "out/cg-stage/cg-churn-0123456789abcdef-0/train/data.csv",
    );
    aws.fail(Operation::AbortMultipartUpload)
        .with(Fault::error("NoSuchUpload", "no"));
    gate(&project, &aws, &["sweep"]).ended_with(0);
}

/// Its upload failed, and nobody knows whether a training job of its name is there by now.
#[test]
fn slow_an_upload_is_aborted_whatever_became_of_its_training_job() {
    let large = "{design: fixed, max_share: 10000%, fractions: [18%, 19%, 20%], replicates: 1, max_runtime: 30m}";
    let (project, aws) = project(1_500_000, large);
    aws.fail(Operation::CompleteMultipartUpload)
        .with(Fault::AccessDenied);
    aws.fail(Operation::DescribeTrainingJob)
        .on_calls(2..=100)
        .with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("may be left in S3");
    assert_eq!(aws.open_uploads(), 0);
}

/// `cargo nextest run --run-ignored only figures_of_rows_in_s3 --no-capture`
#[test]
#[ignore = "a figure, not a test"]
fn figures_of_rows_in_s3() {
    let large = "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 30%], replicates: 1, max_runtime: 30m}";
    let (project, aws) = project(7_000_000, large);
    let mut command = project.gate(&["run", "--all", "--quiet"]);
    aws.reach(&mut command);
    command
        .env("CANARY_GATE_PACE", "0")
        .stdout(std::process::Stdio::null());
    let mut gate = command.spawn().unwrap();
    let status = format!("/proc/{}/status", gate.id());
    let mut peak = String::new();
    while gate.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM"));
        peak = line.map_or(peak, str::to_owned);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    println!("largest resident set of the gate: {peak}");
}
