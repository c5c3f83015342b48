//! A whole gate, and what it asks AWS for.

use super::{FIXED, JSON, created, edit, gate, project};
use crate::aws::Operation;

#[test]
fn a_gate_on_sagemaker_forecasts_judges_and_leaves_nothing() {
    let (project, aws) = project(FIXED);
    let run = gate(&project, &aws, JSON).ended_with(0);
    let report = run.json();
    let job = &report["jobs"][0];
    assert_eq!(report["verdict"], "within", "{}", run.seen());
    assert_eq!(job["measurements"].as_array().unwrap().len(), 3);
    let run = &job["measurements"][0];
    assert_eq!(run["backend"], "sagemaker");
    assert!(
        run["training_job"]
            .as_str()
            .unwrap()
            .starts_with("cg-churn-")
    );
    assert!(
        run["usage"]["memory"]["source"]
            .as_str()
            .unwrap()
            .contains("probe")
    );
    assert!(run["phases"]["download"].is_number());
    assert!(run["cost"].is_number());
    let forecast = &job["forecasts"][0];
    assert_eq!(forecast["price"]["evidence"], "price-list");
    for phase in ["startup", "download", "training", "upload"] {
        let point = &forecast["phases"][phase]["point"];
        assert!(point.is_number(), "{phase}: {forecast:#}");
    }

    assert_eq!(created(&aws).len(), 3);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    // The packed source stays, for it is found by its hash; what the canaries wrote does not.
    let left = aws.keys("canaries", "");
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("out/cg-source/") && left[0].ends_with("/sourcedir.tar.gz"));
}

/// A hub or a database: nothing is listed, and no channel but the code's own is sent.
#[test]
fn a_script_that_draws_its_own_share_is_handed_it_as_a_hyperparameter() {
    let (project, aws) = project(FIXED);
    edit(
        &project,
        &[
            (
                "      channels:\n        train: {uri: s3://data/churn/train/}\n",
                "",
            ),
            (
                "    budget:",
                "    share: {hyperparameter: data_fraction}\n    budget:",
            ),
        ],
    );
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let mut handed: Vec<String> = (aws.jobs().iter())
        .map(|job| job.hyperparameter("data_fraction").unwrap().to_owned())
        .collect();
    handed.sort();
    assert_eq!(handed, ["0.01", "0.02", "0.05"]);
    // SageMaker takes a job without channels, and refuses an empty list of them.
    for job in aws.jobs() {
        assert!(
            job.input().get("InputDataConfig").is_none(),
            "{}",
            job.input()
        );
    }
    // The same canaries are not paid twice.
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
}

/// Every canary has all of the data, by the channel's own prefix, and less of the work.
#[test]
fn canaries_that_differ_in_their_work_alone_have_all_of_the_data() {
    for is_without_data in [false, true] {
        let (project, aws) = project(FIXED);
        let spec = project.read("canary-gate.yml");
        let channels = "      channels:\n        train: {uri: s3://data/churn/train/}\n";
        assert!(spec.contains(channels));
        let whole = match is_without_data {
            true => String::new(),
            false => channels.replace("train/}", "train/, sample: false}"),
        };
        let spec = spec
            .replace(channels, &whole)
            .replace("epochs: 5", "epochs: 90")
            .replace(
                "    budget:",
                "    work: {hyperparameter: epochs, full: 90, canary: [1, 2, 5]}\n    budget:",
            );
        project.write("canary-gate.yml", &spec);
        aws.train(|job| {
            let epochs: f64 = job.hyperparameter("epochs").unwrap().parse().unwrap();
            crate::aws::Timeline::completed().training(30.0 + 40.0 * epochs)
        });
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        let mut epochs: Vec<String> = (aws.jobs().iter())
            .map(|job| job.hyperparameter("epochs").unwrap().to_owned())
            .collect();
        epochs.sort();
        assert_eq!(epochs, ["1", "2", "5"]);
        for job in aws.jobs() {
            let request = job.input();
            let channels = request["InputDataConfig"].as_array();
            if is_without_data {
                assert!(channels.is_none(), "{request}");
                continue;
            }
            let source = &channels.unwrap()[0]["DataSource"]["S3DataSource"];
            assert_eq!(source["S3DataType"], "S3Prefix");
            assert_eq!(source["S3Uri"], "s3://data/churn/train/");
        }
    }
}

#[test]
fn a_canary_is_asked_for_as_the_full_run_is_but_for_its_sample() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let jobs = aws.jobs();
    // Canaries run beside each other, so their order is open.
    let job = jobs.iter().find(|job| job.channel_keys("train").len() == 2);
    let job = job.expect("one canary of two objects");
    let input = job.input();
    assert_eq!(job.instance_type(), "ml.m5.xlarge");
    assert_eq!(input["StoppingCondition"]["MaxRuntimeInSeconds"], 1800);
    assert_eq!(input["RoleArn"], "arn:aws:iam::123456789012:role/Train");
    assert_eq!(job.hyperparameter("epochs"), Some("5"));
    assert!(
        input
            .get("EnableManagedSpotTraining")
            .is_none_or(|spot| spot == false)
    );
    assert!(job.tag("canary-gate:run").is_some());
    assert!(job.tag("canary-gate:expires").is_some());
    assert_eq!(input["OutputDataConfig"]["CompressionType"], "NONE");
}

#[test]
fn the_adaptive_design_climbs_until_the_budget_is_decided() {
    let (project, aws) = project("{max_runtime: 30m}");
    let run = gate(&project, &aws, JSON).ended_with(0);
    assert_eq!(run.json()["verdict"], "within", "{}", run.seen());
    assert!(created(&aws).len() >= 3);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_budget_that_cannot_hold_is_exceeded() {
    let (project, aws) = project(FIXED);
    edit(&project, &[("time: 2h", "time: 10m")]);
    let run = gate(&project, &aws, &["run", "--all"]).ended_with(10);
    assert!(run.stdout.contains("exceeded"), "{}", run.seen());
}

#[test]
fn a_plan_spends_nothing() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["plan", "--all"])
        .ended_with(0)
        .reported("ml.m5.xlarge");
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 0);
    assert_eq!(aws.keys("canaries", ""), Vec::<String>::new());
}

#[test]
fn validating_asks_aws_nothing() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["validate"]).ended_with(0);
    assert_eq!(aws.all_calls(), 0);
}

#[test]
fn files_that_a_script_reads_at_once_are_staged_as_copies_and_removed() {
    let (project, aws) = project(FIXED);
    edit(
        &project,
        &[(
            "s3://data/churn/train/",
            "s3://data/churn/train/, mode: FastFile",
        )],
    );
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let jobs = aws.jobs();
    let source = &jobs[0].input()["InputDataConfig"][0]["DataSource"]["S3DataSource"];
    assert_eq!(source["S3DataType"], "S3Prefix");
    assert!(
        source["S3Uri"].as_str().unwrap().contains("/cg-stage/"),
        "{source}"
    );
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}

#[test]
fn what_a_person_sees() {
    let (project, aws) = project(
        "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 2, max_runtime: 30m, parallel: 1}",
    );
    let run = gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let without_today = |seen: String| {
        let today = format!("{:.10}", jiff::Timestamp::now().to_string());
        seen.replace(&today, "[TODAY]")
    };
    insta::assert_snapshot!("run", without_today(run.seen()));
    let plan = gate(&project, &aws, &["plan", "--all"]).ended_with(0);
    insta::assert_snapshot!("plan", without_today(plan.seen()));
}

/// Each status is looked at once here, so this counts what a canary takes beside the looks that last as long as it does.
#[test]
fn a_canary_takes_few_requests() {
    let requests = |replicates: u32| {
        let design = format!(
            "{{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: {replicates}, max_runtime: 30m, parallel: 1}}"
        );
        let (project, aws) = project(&design);
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        aws.all_calls()
    };
    let (three, nine) = (requests(1), requests(3));
    let each = (nine - three) / 6;
    println!("{three} requests for 3 canaries, {nine} for 9: {each} each");
    assert!(each <= 16, "{each}");
}
