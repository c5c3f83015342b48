//! Canaries on several counts of machines.

use std::process::Child;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::clean_up::{signal, started, wait_for};
use super::{JSON, edit, gate, project};
use crate::aws::{FakeAws, Fault, Operation, Polls, Timeline};
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
    gate(project, aws, JSON).json()["jobs"][0].clone()
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
    assert_eq!(job["forecasts"][0]["not_measured"], "no canary ran on it");
}

#[test]
fn what_is_judged_is_measured_before_an_alternative_is() {
    for design in [
        "adaptive, fractions: [1%, 2%, 5%, 12%]",
        "fixed, fractions: [1%, 2%, 5%, 12%], replicates: 1",
    ] {
        let canary =
            format!("{{design: {design}, max_runtime: 2h, spend_limit: 50 USD, warm_pool: off}}");
        let more = "    alternatives: [2x ml.m5.xlarge]\n";
        let (project, aws) = on("6x ml.m5.xlarge", &canary, more);
        let job = run(&project, &aws);
        let counts = counts(&aws);
        assert_eq!(
            counts.iter().filter(|count| **count == 6).count(),
            1,
            "{counts:?} {}",
            job["notes"]
        );
        assert_eq!(job["forecasts"][0].get("not_measured"), None);
    }
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
    // As the recommendation says.
    assert_eq!(job["recommendation"]["cheapest"], "ml.m5.xlarge");
    assert_eq!(
        job["recommendation"]["cheapest_ties"],
        serde_json::json!(["2x ml.m5.xlarge"])
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
fn with_little_money_and_share_too_what_is_detached_is_what_is_collected() {
    let canary = "{max_share: 30%, max_runtime: 2h, spend_limit: 1 USD, warm_pool: off}";
    let more = "    alternatives: [1-8x ml.m5.xlarge, ml.c5.xlarge]\n";
    let (project, aws) = on("4x ml.m5.xlarge", canary, more);
    gate(&project, &aws, &["run", "--all", "--detach"]).ended_with(0);
    let detached = counts(&aws);
    assert_eq!(detached, [1, 1, 1, 4], "{detached:?}");
    #[expect(clippy::cast_precision_loss, reason = "some machines")]
    let worst = |job: &crate::aws::Job| {
        let limit = job.input()["StoppingCondition"]["MaxRuntimeInSeconds"].as_f64();
        (limit.unwrap() + 120.0) * machines(job) as f64 / 3600.0 * 0.23
    };
    let worst: f64 = aws.jobs().iter().map(worst).sum();
    // Three fifths are for `instance`.
    assert!((0.57..=0.6).contains(&worst), "{worst}");
    aws.finish_jobs();
    let collect = ["run", "--all", "--collect", "--format", "json"];
    let job = gate(&project, &aws, &collect).json()["jobs"][0].clone();
    assert_eq!(job["measurements"].as_array().unwrap().len(), 4);
    assert_eq!(counts(&aws).len(), 4);
    let notes = job["notes"].to_string();
    assert!(!notes.contains("not there"), "{notes}");
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
    let report = gate(&project, &aws, JSON).ended_with(13);
    assert_eq!(counts(&aws), [1, 1]);
    let job = report.json()["jobs"][0].clone();
    let reason = job["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the training code ended with exit code 1 in the 1% canary on ml.m5.xlarge (`canary.counts: [6]` runs all on 6x ml.m5.xlarge)"),
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
    // The fewest canaries are run in any case, and how long the full run is they only forecast.
    for (counts, share, most) in [
        ("[1, 2, 3, 4, 6, 8]", 0.9, 1.05),
        ("[1, 2, 3, 4, 6, 8]", 3.0, 3.0),
        ("[1, 8]", 0.25, 0.35),
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
                taken <= most * full_run,
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
    // On the machines that are judged one runs in any case, before all others.
    let counts = counts(&aws);
    assert!(counts.contains(&8) && !counts.contains(&2), "{counts:?}");
    let notes = job["notes"].to_string();
    assert!(notes.contains("The canary on 2x ml.m5.xlarge was not run: with it all canaries would take more than canary.max_share (64%) of the full run"), "{notes}");
}

fn limit_of(job: &crate::aws::Job) -> f64 {
    let limit = &job.input()["StoppingCondition"]["MaxRuntimeInSeconds"];
    limit.as_f64().unwrap()
}

#[test]
fn where_the_money_does_not_pay_for_max_runtime_on_all_machines_the_time_limit_is_shorter() {
    // Two hours on six machines are 2.81 USD, and on eight 3.74 USD.
    let canary = ADAPTIVE.replace("50 USD", "1.5 USD");
    for (instance, more) in [
        ("6x ml.m5.xlarge", ""),
        ("ml.m5.xlarge", "    alternatives: [8x ml.m5.xlarge]\n"),
    ] {
        let (project, aws) = on(instance, &canary, more);
        let job = run(&project, &aws);
        let jobs = aws.jobs();
        let on_several: Vec<&crate::aws::Job> =
            jobs.iter().filter(|job| machines(job) > 1).collect();
        let [on_several] = on_several.as_slice() else {
            panic!("{:?} {}", counts(&aws), job["notes"]);
        };
        let limit = limit_of(on_several);
        assert!((600.0..7200.0).contains(&limit), "{limit}");
        let spent = job["spend"]["canary_usd"].as_f64().unwrap();
        assert!(spent < 1.5, "{spent}");
        assert_holds_the_truth(
            job["forecasts"].as_array().unwrap().last().unwrap(),
            if more.is_empty() { 6.0 } else { 8.0 },
        );
    }
}

#[test]
fn a_count_that_the_money_is_not_sure_to_pay_for_is_left_out_and_that_is_said() {
    let canary = ADAPTIVE.replace("50 USD", "0.12 USD");
    let (project, aws) = on("6x ml.m5.xlarge", &canary, "");
    let job = run(&project, &aws);
    assert!(!counts(&aws).contains(&6), "{:?}", counts(&aws));
    assert!(counts(&aws).len() >= 3);
    let notes = job["notes"].to_string();
    assert!(
        notes.contains(
            "The canary on 6x ml.m5.xlarge was not run: it could have passed canary.spend_limit."
        ),
        "{notes}"
    );
}

/// A run with eight machines of another type as alternative, of which three canaries on one have ended while one on `instance` is at work.
fn with_three_on_the_alternative(spend_limit: &str) -> (Project, FakeAws, Child) {
    let canary = format!(
        "{{max_share: 10000%, fractions: [1%, 2%, 5%, 10%, 20%], max_runtime: 30m, spend_limit: {spend_limit}, parallel: 1, warm_pool: off}}"
    );
    let more = "    alternatives: [8x ml.c5.xlarge]\n";
    let (project, aws) = on("ml.m5.xlarge", &canary, more);
    aws.quota("ml.c5.xlarge for training job usage", 40.0);
    aws.polls(Polls::Nothing);
    let child = started(&project, &aws, "0.001");
    wait_for(|| counts(&aws).len() == 1);
    aws.finish_jobs();
    for canary in 1..=3 {
        wait_for(|| on_type(&aws, "ml.c5.xlarge").len() == canary);
        aws.finish_jobs_on("ml.c5.xlarge");
    }
    (project, aws, child)
}

fn on_type(aws: &FakeAws, kind: &str) -> Vec<crate::aws::Job> {
    let mut jobs = aws.jobs();
    jobs.retain(|job| job.instance_type() == kind);
    jobs
}

#[test]
fn a_count_of_an_alternative_has_money_of_its_own() {
    // Eight machines for half an hour are 0.87 USD.
    for spend_limit in ["50 USD", "1.4 USD"] {
        let (_project, aws, mut child) = with_three_on_the_alternative(spend_limit);
        wait_for(|| counts(&aws).contains(&8));
        let own = on_type(&aws, "ml.m5.xlarge");
        assert!(own.iter().any(|job| job.status() == "InProgress"));
        signal(&child, Signal::SIGTERM);
        child.wait().unwrap();
    }
}

#[test]
fn a_row_without_a_completed_canary_on_fewer_machines_has_none_of_its_own() {
    let canary = ADAPTIVE.replace("2h", "10m");
    let more = "    alternatives: [8x ml.m5.xlarge]\n";
    let (project, aws) = on("ml.m5.xlarge", &canary, more);
    aws.train(|_| Timeline::completed().training(7200.0));
    let job = run(&project, &aws);
    assert!(!counts(&aws).contains(&8), "{:?}", counts(&aws));
    assert_eq!(
        job["forecasts"][1]["not_measured"],
        "no canary on fewer of its machines completed"
    );
    assert_eq!(job["verdict"], "unknown");
}

#[test]
fn a_base_whose_canaries_all_ran_on_all_machines_is_not_compared_and_that_is_said() {
    let canary = ADAPTIVE.replace('}', ", counts: [6]}");
    let more = "    paths: [code/train.py]\n";
    let (project, aws) = on("6x ml.m5.xlarge", &canary, more);
    project.write(".gitignore", ".canary-gate/\n");
    let project = project.committed();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert!(counts(&aws).iter().all(|count| *count == 6));
    edit(
        &project,
        &[
            (", counts: [6]}", "}"),
            ("memory: 90%}", "memory: 90%, time_increase: 20%}"),
        ],
    );
    project.commit("counts");
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.write("code/train.py", "print('trained slowly')\n");
    project.commit("change");
    let compared = ["run", "--base", "main", "--format", "json"];
    let job = gate(&project, &aws, &compared).ended_with(0).json()["jobs"][0].clone();
    assert!(counts(&aws).contains(&1));
    let notes = job["notes"].to_string();
    assert!(notes.contains("nothing is compared with the base, and no increase is judged: its canaries ran on 6x ml.m5.xlarge, those of this check on ml.m5.xlarge"), "{job:#}");
}
