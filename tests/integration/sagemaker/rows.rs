//! `sample: rows` of objects in S3: read by ranges, copied below the stage, removed with the canary.

use super::{FIXED, JSON, gate, with_data};
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
        .reported("a canary gets a copy of its blocks of data.csv under the same name")
        .reported("which is removed with them");
    // The rows are those that were placed, also of a job whose start was not answered.
    aws.fail(Operation::CreateTrainingJob)
        .on_calls(2..=2)
        .with(Fault::AnswerLost);
    let report = gate(&project, &aws, JSON).ended_with(0).json();
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
    aws.fail(Operation::DeleteObject).with(Fault::AccessDenied);
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
fn a_policy_for_rows_lets_the_gate_read_them() {
    let (project, aws) = project(10, FIXED);
    gate(&project, &aws, &["iam-policy"])
        .ended_with(0)
        .reported("\"ReadRows\"");
}

/// More than is read through.
#[test]
fn slow_large_draws_have_the_share_that_was_asked_for() {
    let large = "{design: fixed, max_share: 10000%, fractions: [1%, 5%, 20%], replicates: 1, max_runtime: 30m}";
    let (project, aws) = project(1_500_000, large);
    let report = gate(&project, &aws, JSON).ended_with(0).json();
    let measured = report["jobs"][0]["measurements"].as_array().unwrap();
    for (run, share) in measured.iter().zip([0.01, 0.05, 0.2]) {
        let bytes = |key: &str| run[key].as_f64().unwrap();
        let drawn = bytes("bytes") / bytes("bytes_total");
        assert!((drawn / share - 1.0).abs() < 0.1, "{drawn} of {share}");
    }
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}

#[test]
fn a_copy_that_cannot_be_put_starts_no_job() {
    let (project, aws) = project(5000, FIXED);
    aws.fail(Operation::PutObject)
        .about("cg-stage")
        .with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("s3:PutObject");
    assert!(aws.jobs().is_empty());
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}
