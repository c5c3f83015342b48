//! Canaries on several counts of machines.

use serde_json::Value;

use super::{gate, project};
use crate::aws::{FakeAws, Fault, Operation, Timeline};
use crate::project::Project;

const ADAPTIVE: &str = "{max_share: 10000%, max_runtime: 2h, spend_limit: 50 USD, warm_pool: off}";

fn machines(job: &crate::aws::Job) -> u64 {
    job.input()["ResourceConfig"]["InstanceCount"]
        .as_u64()
        .unwrap()
}

/// A quarter of what grows is not divided among the machines.
fn seconds(bytes: f64, machines: f64) -> f64 {
    10.0 + 0.06 * bytes * (0.25 + 0.75 / machines)
}

/// Job `churn` on `instance`, with `more` lines.
fn on(instance: &str, canary: &str, more: &str) -> (Project, FakeAws) {
    let (project, aws) = project(canary);
    let spec = project.read("canary-gate.yml");
    let spec = spec.replace("instance: ml.m5.xlarge", &format!("instance: {instance}"));
    project.write("canary-gate.yml", &format!("{spec}{more}"));
    aws.quota("ml.m5.xlarge for training job usage", 40.0);
    aws.train(|job| {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
        let (bytes, machines) = (job.bytes() as f64, machines(job) as f64);
        Timeline::completed().training(seconds(bytes, machines))
    });
    (project, aws)
}

fn run(project: &Project, aws: &FakeAws) -> Value {
    gate(project, aws, &["run", "--all", "--format", "json"]).json()["jobs"][0].clone()
}

/// The machines of each canary, in their order.
fn counts(aws: &FakeAws) -> Vec<u64> {
    aws.jobs().iter().map(machines).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
fn assert_holds_the_truth(row: &Value, machines: f64) {
    let total: u64 = (0..100_u64)
        .map(|index| (index.to_string().len() as u64 + 1) * (100 + index % 7))
        .sum();
    let truth = seconds(total as f64, machines);
    let time = &row["estimates"]["time_seconds"];
    let [lower, point, upper] = ["lower", "point", "upper"].map(|end| time[end].as_f64().unwrap());
    assert!(lower < truth && truth < upper, "{truth} {time}");
    assert!(
        (truth * 0.7..truth * 1.4).contains(&point),
        "{truth} {time}"
    );
}

#[test]
fn of_six_machines_small_canaries_run_on_one_and_one_canary_on_all() {
    let fixed = "{design: fixed, fractions: [1%, 2%, 12%], replicates: 1, max_share: 10000%, max_runtime: 2h, spend_limit: 50 USD, warm_pool: off}";
    for canary in [ADAPTIVE, fixed] {
        let (project, aws) = on("6x ml.m5.xlarge", canary, "");
        let job = run(&project, &aws);
        let counts = counts(&aws);
        assert_eq!(
            counts.iter().filter(|count| **count == 6).count(),
            1,
            "{counts:?}"
        );
        assert!(counts.iter().filter(|count| **count == 1).count() >= 3);
        let on_six = aws
            .jobs()
            .into_iter()
            .find(|job| machines(job) == 6)
            .unwrap();
        assert!(on_six.channel_keys("train").len() >= 12);
        let row = &job["forecasts"][0];
        assert_eq!(row["instance"], "6x ml.m5.xlarge");
        assert_eq!(row["verdict"], "within", "{job:#}");
        assert_holds_the_truth(row, 6.0);
        // 1 / (0.25 x 6 + 0.75)
        let efficiency = row["efficiency"]["point"].as_f64().unwrap();
        assert!((0.35..0.6).contains(&efficiency), "{efficiency}");
        // Each canary is paid at the price of its own machines.
        for run in job["measurements"].as_array().unwrap() {
            let machines = if run["instance"] == "ml.m5.xlarge" {
                1.0
            } else {
                6.0
            };
            let [usd, time] = ["cost", "billable_seconds"].map(|key| run[key].as_f64().unwrap());
            let price = run["price"]["usd_per_hour"].as_f64().unwrap();
            assert!(
                (usd - time / 3600.0 * price * machines).abs() < 1e-9,
                "{run}"
            );
        }
    }
}

#[test]
fn where_twenty_machines_would_have_too_few_objects_all_canaries_run_on_one_and_that_is_said() {
    let canary = ADAPTIVE.replace("max_share: 10000%", "max_share: 25%");
    let (project, aws) = on("20x ml.m5.xlarge", &canary, "");
    let job = run(&project, &aws);
    assert!(counts(&aws).iter().all(|count| *count == 1));
    let notes = job["notes"].to_string();
    assert!(notes.contains("No canary runs on 20 machines"), "{notes}");
    assert!(
        notes.matches("assumed").count() == 1
            && notes.contains("scale-out to 20x ml.m5.xlarge is assumed, not measured"),
        "{notes}"
    );
    assert!(job["forecasts"][0]["estimates"]["time_seconds"].is_object());
    assert_eq!(job["forecasts"][0]["scale_out"], "assumed");
}

#[test]
fn a_range_takes_one_canary_for_each_count_and_too_many_machines_a_row_by_law() {
    let more = "    alternatives: [1-32x ml.m5.xlarge]\n";
    let (project, aws) = on("2x ml.m5.xlarge", ADAPTIVE, more);
    let job = run(&project, &aws);
    let mut other: Vec<u64> = counts(&aws)
        .into_iter()
        .filter(|count| *count > 1)
        .collect();
    other.dedup();
    let rows = job["forecasts"].as_array().unwrap();
    let instances: Vec<&str> = rows
        .iter()
        .map(|row| row["instance"].as_str().unwrap())
        .collect();
    let names =
        ["2x ", "", "4x ", "8x ", "16x ", "32x "].map(|count| format!("{count}ml.m5.xlarge"));
    assert_eq!(instances, names);
    assert_eq!(other, [2, 4, 8, 16], "{job:#}");
    for (row, machines) in rows.iter().zip([2.0, 1.0, 4.0, 8.0, 16.0, 32.0]) {
        assert_holds_the_truth(row, machines);
    }
    assert_eq!(
        rows[5]["not_measured"],
        "no canary has two objects for each of 32 machines"
    );
    let advice = job["advice"].to_string();
    assert!(
        advice.contains(
            "of the counts of ml.m5.xlarge 1 or 2 are the cheapest, within noise; beyond"
        ),
        "{advice}"
    );
    // As the recommendation says, which keeps the instance that there is.
    assert_eq!(job["recommendation"]["cheapest"], "2x ml.m5.xlarge");
    assert_eq!(
        job["recommendation"]["cheapest_ties"],
        serde_json::json!(["ml.m5.xlarge"])
    );
}

#[test]
fn a_detached_check_starts_and_collects_the_same_canaries() {
    let (project, aws) = on("6x ml.m5.xlarge", ADAPTIVE, "");
    gate(&project, &aws, &["run", "--all", "--detach"]).ended_with(0);
    assert_eq!(counts(&aws), [1, 1, 1, 6]);
    aws.finish_jobs();
    let report = gate(
        &project,
        &aws,
        &["run", "--all", "--collect", "--format", "json"],
    );
    let job = report.ended_with(0).json()["jobs"][0].clone();
    assert_eq!(counts(&aws).len(), 4);
    assert_holds_the_truth(&job["forecasts"][0], 6.0);
}

#[test]
fn a_row_whose_canaries_are_those_of_instance_is_collected_with_them() {
    let more = "    alternatives: [ml.m5.xlarge]\n";
    let (project, aws) = on("6x ml.m5.xlarge", ADAPTIVE, more);
    gate(&project, &aws, &["run", "--all", "--detach"]).ended_with(0);
    assert_eq!(counts(&aws), [1, 1, 1, 6]);
    aws.finish_jobs();
    let report = gate(
        &project,
        &aws,
        &["run", "--all", "--collect", "--format", "json"],
    );
    let job = report.ended_with(0).json()["jobs"][0].clone();
    let row = &job["forecasts"][1];
    assert_eq!(row["instance"], "ml.m5.xlarge");
    assert!(row["not_measured"].is_null(), "{row}");
    assert_holds_the_truth(row, 1.0);
}

#[test]
fn after_a_canary_that_could_not_be_started_none_on_a_further_count_is() {
    let canary = "{design: fixed, counts: [1, 2, 4], fractions: [2%, 5%, 10%], replicates: 1, max_share: 10000%, max_runtime: 2h, spend_limit: 50 USD, warm_pool: off}";
    let (project, aws) = on("4x ml.m5.xlarge", canary, "");
    aws.fail(Operation::CreateTrainingJob)
        .on_call(4)
        .with(Fault::error("AccessDeniedException", "not for you"));
    gate(&project, &aws, &["run", "--all"]).ended_with(1);
    assert_eq!(counts(&aws), [1, 1, 1]);
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 4);
}

#[test]
fn a_script_that_fails_on_one_machine_fails_the_check_and_the_way_out_is_named() {
    let (project, aws) = on("6x ml.m5.xlarge", ADAPTIVE, "");
    aws.train(|job| match machines(job) {
        6 => Timeline::completed(),
        _ => Timeline::script_failed(1, "needs six hosts"),
    });
    let report = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(13);
    assert_eq!(counts(&aws), [1, 1]);
    let job = report.json()["jobs"][0].clone();
    let reason = job["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the training code failed in the 1% canary on ml.m5.xlarge (`canary.counts: [6]` runs all on 6x ml.m5.xlarge)"),
        "{reason}"
    );
}

/// Seconds of machines that the canaries took, and those of a full run on one.
#[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
fn taken_of_full_run(aws: &FakeAws) -> (f64, f64) {
    let of = |job: &crate::aws::Job| {
        let machines = machines(job) as f64;
        machines * seconds(job.bytes() as f64, machines)
    };
    let total: u64 = (0..100_u64)
        .map(|index| (index.to_string().len() as u64 + 1) * (100 + index % 7))
        .sum();
    (aws.jobs().iter().map(of).sum(), seconds(total as f64, 1.0))
}

#[test]
fn canaries_on_all_counts_together_are_within_the_share() {
    for (counts, share) in [
        ("[1, 2, 3, 4, 6, 8]", 0.9),
        ("[1, 2, 3, 4, 6, 8]", 3.0),
        ("[1, 8]", 0.25),
    ] {
        for design in [
            "adaptive",
            "fixed, fractions: [2%, 5%, 8%, 16%, 40%], replicates: 1",
        ] {
            let canary = format!(
                "{{design: {design}, counts: {counts}, max_share: {}%, max_runtime: 2h, spend_limit: 50 USD, warm_pool: off}}",
                share * 100.0
            );
            let (project, aws) = on("8x ml.m5.xlarge", &canary, "");
            let job = run(&project, &aws);
            let (taken, full_run) = taken_of_full_run(&aws);
            assert!(
                taken <= full_run * share,
                "{canary}: {taken} of {full_run}, {:?} {}",
                self::counts(&aws),
                job["notes"]
            );
        }
    }
}

#[test]
fn a_count_that_would_pass_the_share_is_left_out_and_that_is_said() {
    let canary = "{design: fixed, counts: [1, 2, 8], fractions: [2%, 5%, 10%, 16%], replicates: 1, max_share: 64%, max_runtime: 2h, spend_limit: 50 USD, warm_pool: off}";
    let (project, aws) = on("8x ml.m5.xlarge", canary, "");
    #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
    aws.train(|job| Timeline::completed().training(100.0 + 0.06 * job.bytes() as f64));
    let job = run(&project, &aws);
    assert!(!counts(&aws).contains(&8), "{:?}", counts(&aws));
    let notes = job["notes"].to_string();
    assert!(notes.contains("The canary on 8x ml.m5.xlarge was not run: with it all canaries would take more than canary.max_share (64%) of the full run"), "{notes}");
}
