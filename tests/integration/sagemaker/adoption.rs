//! The same canary is never paid twice.

use serde_json::{Value, json};

use super::{FIXED, JSON, created, edit, forget, gate, project};
use crate::aws::{FakeAws, Operation, Timeline};
use crate::project::Project;

type Tags = Vec<(String, String)>;

#[test]
fn a_second_gate_takes_the_canaries_of_the_first() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let (first, puts) = (created(&aws), aws.calls(Operation::PutObject));
    let run = gate(&project, &aws, JSON).ended_with(0);
    assert_eq!(created(&aws), first);
    // The source is uploaded once.
    assert_eq!(aws.calls(Operation::PutObject), puts);
    let report = run.json();
    let job = &report["jobs"][0];
    assert!(
        job["measurements"][0]["reused"]["saved_usd"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert!(
        job["spend"]
            .get("canary_usd")
            .is_none_or(|spent| spent == 0.0)
    );
}

#[test]
fn what_is_too_old_or_not_wanted_is_run_anew() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    gate(&project, &aws, &["run", "--all", "--fresh"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
    aws.age_jobs(15.0 * 86_400.0);
    // A machine that never saw them knows only what AWS returns.
    forget(&project);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let names = created(&aws);
    assert_eq!(names.len(), 9);
    assert!(names[8].ends_with("-2"), "{names:?}");
    // The newest of several stands for the canary.
    forget(&project);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 9);
}

#[test]
fn what_counts_for_a_canary_makes_another_one() {
    type Change = fn(&Project, &FakeAws);
    let (project, aws) = project(FIXED);
    let changes: [(usize, Change); 4] = [
        (3, |project, _| edit(project, &[("time: 2h", "time: 3h")])),
        (6, |project, _| edit(project, &[("epochs: 5", "epochs: 6")])),
        (9, |project, _| {
            project.write("code/train.py", "print('changed')\n");
        }),
        (12, |_, aws| {
            aws.put_object("data", "churn/train/part-050.csv", "changed\n");
        }),
    ];
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    for (known, change) in changes {
        change(&project, &aws);
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        assert_eq!(created(&aws).len(), known);
    }
    // A failure of the script is taken over too.
    aws.train(|_| Timeline::script_failed(1, "boom"));
    project.write("code/train.py", "raise SystemExit(1)\n");
    for _ in 0..2 {
        gate(&project, &aws, &["run", "--all"]).ended_with(13);
        assert_eq!(created(&aws).len(), 13);
    }
}

#[test]
fn data_that_are_listed_in_many_pages_side_by_side_are_the_same_data() {
    let (project, aws) = project(FIXED);
    aws.put_object("data", "churn/train/2026/12 ü+%/part", "more\n");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let asked = aws.calls(Operation::ListObjectsV2);
    for page in [1, 7, 50] {
        aws.page_size(page);
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        assert_eq!(created(&aws).len(), 3, "pages of {page}");
    }
    assert!(aws.calls(Operation::ListObjectsV2) > asked + 100);
}

#[test]
fn what_gave_no_result_gets_another_attempt() {
    let (project, aws) = project(FIXED);
    aws.train(|job| {
        // Two are asked for in one run.
        if job.number() <= 2 {
            Timeline::no_capacity()
        } else {
            Timeline::completed()
        }
    });
    gate(&project, &aws, &["run", "--all"]).ended_with(14);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let names = created(&aws);
    assert_eq!(names.len(), 5, "{names:?}");
    let stem = names[0].strip_suffix("-0").unwrap();
    assert_eq!(names[1..3], [format!("{stem}-1"), format!("{stem}-2")]);
}

#[test]
fn a_source_that_no_pattern_speaks_of_counts_and_one_left_out_does_not() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml");
    let paths = "  churn:\n    paths: [\"prepare/**\", \"!**/*.md\"]\n";
    project.write("canary-gate.yml", &spec.replace("  churn:\n", paths));
    project.write("prepare/clean.py", "");
    project.write("code/notes.md", "old");
    let project = project.committed();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    project.write("code/notes.md", "new");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    project.write("code/train.py", "print('changed')\n");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
}

/// A job under a canary's name that was asked to be something else says nothing of the canary.
#[test]
fn a_job_of_the_name_that_is_another_job_does_not_stand_for_the_canary() {
    type Alter = fn(&mut Value, &mut Tags);
    let cases: [(&str, Alter); 9] = [
        ("its image", |input, _| {
            input["AlgorithmSpecification"]["TrainingImage"] = json!("evil");
        }),
        ("its command", |input, _| {
            input["AlgorithmSpecification"]["ContainerEntrypoint"] = json!(["/bin/true"]);
        }),
        ("its machines", |input, _| {
            input["ResourceConfig"]["InstanceType"] = json!("ml.p4d.24xlarge");
        }),
        ("its machines", |input, _| {
            input["EnableManagedSpotTraining"] = json!(true);
        }),
        ("its data", |input, _| {
            let source = &mut input["InputDataConfig"][0]["DataSource"]["S3DataSource"];
            source["S3Uri"] = json!("s3://data/tiny.manifest");
        }),
        ("its hyperparameters", |input, _| {
            input["HyperParameters"]["epochs"] = json!("1");
        }),
        ("its environment", |input, _| {
            input["Environment"] = json!({"FAST": "1"});
        }),
        ("its role", |input, _| {
            input["RoleArn"] = json!("arn:aws:iam::123456789012:role/Other");
        }),
        ("its tags", |_, tags| {
            tags.retain(|(key, _)| key != "canary-gate:job");
        }),
    ];
    for (what, alter) in cases {
        let (project, aws) = project(FIXED);
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        let first = created(&aws);
        for name in &first {
            aws.alter_job(name, alter);
        }
        forget(&project);
        let run = gate(&project, &aws, JSON).ended_with(0);
        let names = created(&aws);
        assert_eq!(names.len(), 6, "{what}: {}", run.seen());
        assert!(names[3..].iter().all(|name| name.ends_with("-1")));
        let notes = run.json()["jobs"][0]["notes"].to_string();
        assert!(
            notes.contains(&format!(
                "differs from what this run would start in {what},"
            )),
            "{notes}"
        );
        // Its own attempts are known again, and there is nothing to warn of.
        forget(&project);
        let run = gate(&project, &aws, JSON).ended_with(0);
        assert_eq!(created(&aws).len(), 6, "{what}: {}", run.seen());
        assert!(
            !run.json()["jobs"][0]["notes"]
                .to_string()
                .contains("differs")
        );
    }
}

#[test]
fn a_canary_of_another_repository_is_not_this_ones() {
    let (project, aws) = project(FIXED);
    let gate_of = |repository: &str| {
        project
            .run_with(&["run", "--all"], |command| {
                aws.reach(command);
                command.env("CANARY_GATE_PACE", "0");
                command.env("GITHUB_REPOSITORY", repository);
            })
            .ended_with(0);
        forget(&project);
    };
    gate_of("acme/models");
    gate_of("acme/models");
    assert_eq!(created(&aws).len(), 3);
    gate_of("other/models");
    assert_eq!(created(&aws).len(), 6);
}
