//! Canaries on several counts of machines, and ranges of counts.

use serde_json::{Value, json};

use crate::project::Project;
use crate::recorded::{self, ends};

/// Canaries as JSON lines, each `(machines, percent, seconds)`.
fn canaries(runs: &[(u32, u32, f64)]) -> String {
    recorded::lines(runs.iter().map(|(machines, percent, seconds)| {
        let instance = match machines {
            1 => "ml.m5.4xlarge".to_owned(),
            count => format!("{count}x ml.m5.4xlarge"),
        };
        recorded::canary(&instance, *percent, *seconds)
    }))
}

fn spec(instance: &str, more: &str) -> String {
    let train = "train: {uri: s3://bucket/train/, distribution: ShardedByS3Key}";
    let channels = format!("      channels:\n        {train}\n");
    recorded::spec("", instance, &channels, more)
}

fn forecast(runs: &[(u32, u32, f64)], spec: &str) -> Value {
    recorded::forecast(&canaries(runs), spec).json()["jobs"][0].clone()
}

/// The seed's fourth experiment: 132 files on 6 machines, 3609 s predicted as a sixth of one machine's, 5176 s and 7.95 USD
/// in truth. Four of 132 files are too few for six machines, so all canaries are on one.
const SEED: [(u32, u32, f64); 4] = [
    (1, 1, 216.5 + 0.4),
    (1, 2, 433.1 - 0.6),
    (1, 3, 649.6 + 0.8),
    (1, 3, 649.6 - 0.9),
];

#[test]
fn the_seed_s_six_machines_are_within_what_is_assumed_and_nearer_once_it_is_measured() {
    let spec = spec("6x ml.m5.4xlarge", "    budget: {time: 3h}\n");
    let assumed = forecast(&SEED, &spec);
    let row = &assumed["forecasts"][0];
    let [lower, point, upper] = ends(row, "time_seconds");
    assert!((3200.0..3900.0).contains(&point), "{point}");
    assert!(lower < 5176.0 && 5176.0 < upper, "{lower} {upper}");
    let width = upper / lower;
    let [lower, _, upper] = ends(row, "cost_usd");
    assert!(lower < 7.95 && 7.95 < upper, "{lower} {upper}");
    assert_eq!(row["verdict"], "at_risk", "{row}");
    assert!(row.get("efficiency").is_none());

    // One canary on six, which takes as much more than a sixth as the full run does: 5176 s for 3609 s.
    let mut runs = SEED.to_vec();
    runs.push((6, 10, 360.9 * 5176.0 / 3609.0));
    let measured = forecast(&runs, &spec);
    let row = &measured["forecasts"][0];
    let [lower, point, upper] = ends(row, "time_seconds");
    assert!((4500.0..5900.0).contains(&point), "{point}");
    assert!(
        lower < 5176.0 && 5176.0 < upper && upper / lower < width,
        "{lower} {upper}"
    );
    let efficiency = row["efficiency"]["point"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&efficiency), "{efficiency}");
    let notes = measured["notes"].to_string();
    assert!(
        notes.contains("the time on 6 instances follows from runs on 1 and 6"),
        "{notes}"
    );
}

#[test]
fn a_range_has_a_row_for_each_power_of_two_and_names_what_pays() {
    let spec = spec(
        "ml.m5.4xlarge",
        "    alternatives: [1-8x ml.m5.4xlarge]\n    budget: {time: 10h}\n",
    );
    // Half of the growing part is not divided.
    let time = |machines: u32, percent: u32| {
        let whole = f64::from(percent) * 100.0;
        60.0 + whole * (0.5 + 0.5 / f64::from(machines))
    };
    let sizes = [1, 2, 5, 10, 20].map(|percent| (1, percent, time(1, percent)));
    let others = [2, 4, 8].map(|machines| (machines, 10, time(machines, 10)));
    let job = forecast(&[sizes.as_slice(), &others].concat(), &spec);
    let rows = job["forecasts"].as_array().unwrap();
    let instances: Vec<&str> = rows
        .iter()
        .map(|row| row["instance"].as_str().unwrap())
        .collect();
    assert_eq!(
        instances,
        [
            "ml.m5.4xlarge",
            "2x ml.m5.4xlarge",
            "4x ml.m5.4xlarge",
            "8x ml.m5.4xlarge"
        ]
    );
    for (row, machines) in rows.iter().zip([1, 2, 4, 8]) {
        let [lower, point, upper] = ends(row, "time_seconds");
        let truth = time(machines, 100);
        assert!(
            (truth * 0.75..truth * 1.25).contains(&point),
            "{machines}: {point}"
        );
        assert!(lower < truth && truth < upper);
        assert_eq!(row["verdict"], "within");
    }
    assert!(rows[0].get("efficiency").is_none());
    let efficiency = rows[3]["efficiency"]["point"].as_f64().unwrap();
    assert!((0.15..0.35).contains(&efficiency), "{efficiency}");
    assert_eq!(
        job["advice"][0],
        "of the counts of ml.m5.4xlarge 1 is the cheapest; beyond 4 a further machine shortens the run by less than 10%."
    );
}

/// Host processes that take a second for each ten files between them.
#[test]
fn real_canaries_run_on_one_and_two_hosts() {
    let spec = Project::SPEC
        .replace("instance: local", "instance: 2x local")
        .replace(
            "canary: {design: fixed, max_share: 10000%, fractions: [1%, 2%, 3%], replicates: 2, max_runtime: 1m}",
            "canary: {counts: [1, 2], max_share: 10000%, fractions: [1%, 2%, 4%, 8%], max_runtime: 1m}",
        );
    let project = Project::empty()
        .file(
            "train.sh",
            "sleep 0.$(( $(ls \"$SM_CHANNEL_TRAIN\" | wc -l) / $(echo \"$SM_HOSTS\" | tr ',' '\\n' | wc -l) ))\n",
        )
        .data("data", 100)
        .file("canary-gate.yml", &format!("{spec}    budget: {{time: 1h}}\n"));
    let planned = project.run(&["plan", "--all"]).ended_with(0);
    planned.reported("canaries chosen one by one on local, one on 2x local");
    let job = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json()["jobs"][0]
        .clone();
    let runs = job["measurements"].as_array().unwrap();
    let on = |instance: &str| {
        runs.iter()
            .filter(|run| run["instance"] == instance)
            .count()
    };
    assert_eq!((on("2x local"), on("local") >= 3), (1, true), "{job:#}");
    let row = &job["forecasts"][0];
    assert_eq!(
        (&row["instance"], &row["verdict"]),
        (&json!("2x local"), &json!("within"))
    );
    assert!(row["efficiency"].is_object());
}

/// Three seconds of download for each percent of the data, a fifth of all.
#[test]
fn what_every_host_downloads_is_not_divided_and_paid_by_each() {
    let runs = recorded::lines([1, 2, 5, 10, 20].map(|percent| {
        let mut run = recorded::canary("ml.m5.4xlarge", percent, f64::from(15 * percent));
        run["phases"] = json!({"download": 3 * percent, "training": 12 * percent});
        run
    }));
    let time = |distribution: &str| {
        let spec = spec("4x ml.m5.4xlarge", "    budget: {time: 3h}\n");
        let spec = spec.replace("ShardedByS3Key", distribution);
        let report = recorded::forecast(&runs, &spec).json();
        let row = &report["jobs"][0]["forecasts"][0];
        let [_, time, _] = ends(row, "time_seconds");
        let [_, usd, _] = ends(row, "cost_usd");
        // All four machines are paid for all of it.
        assert!((usd / time * 3600.0 - 4.0 * 0.922).abs() < 1e-6);
        time
    };
    // A quarter of 1500 s; and 300 s of download with a quarter of the other 1200 s.
    let (sharded, replicated) = (time("ShardedByS3Key"), time("FullyReplicated"));
    assert!((350.0..420.0).contains(&sharded), "{sharded}");
    assert!((570.0..640.0).contains(&replicated), "{replicated}");
}

/// Of 64 GiB.
fn usage(mib: u32) -> Value {
    let bytes = u64::from(mib) * 1_048_576;
    let percent = f64::from(mib) / 655.36;
    json!({"memory": {"bytes": bytes, "percent": percent, "source": "probe"}})
}

/// A job on six machines: five canaries on one, that take 60 s and 100 s for each percent, 4 GiB and 0.3 GiB; and a tenth of the data
/// on six, changed by `change`.
fn tenth_on_six(budget: &str, change: impl Fn(&mut Value)) -> Value {
    let sizes = [1, 2, 5, 10, 20].map(|percent| (1, percent, 60.0 + 100.0 * f64::from(percent)));
    let runs = canaries(&[sizes.as_slice(), &[(6, 10, 230.0)]].concat());
    let mut runs: Vec<Value> = (runs.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (run, percent) in runs.iter_mut().zip([1, 2, 5, 10, 20, 10]) {
        run["usage"] = usage(4096 + 307 * percent);
    }
    change(&mut runs[5]);
    let lines: Vec<String> = runs.iter().map(Value::to_string).collect();
    let spec = spec("6x ml.m5.4xlarge", &format!("    budget: {budget}\n"));
    let spec = spec.replace("ShardedByS3Key", "FullyReplicated");
    recorded::forecast(&lines.join("\n"), &spec).json()["jobs"][0].clone()
}

/// A script that hangs on several machines is stopped at its time limit, which one machine never shows.
#[test]
fn a_canary_on_six_machines_that_did_not_complete_is_never_a_pass_by_those_on_one() {
    let ended = |kind: &str, seconds: Option<f64>| {
        let job = tenth_on_six("{time: 3h}\n    canary: {max_runtime: 10m}", |run| {
            run["outcome"] = json!({"kind": kind});
            run["training_seconds"] = json!(seconds);
        });
        assert!(
            job["forecasts"][0]["estimates"]
                .get("time_seconds")
                .is_none()
        );
        (
            job["verdict"].as_str().unwrap().to_owned(),
            job["reason"].as_str().unwrap().to_owned(),
        )
    };
    let (verdict, reason) = ended("timed_out", Some(600.0));
    assert_eq!(
        (verdict.as_str(), reason.as_str()),
        (
            "unknown",
            "the 10% canary on 6x ml.m5.4xlarge was stopped after 10m, its time limit; raise canary.max_runtime, or write smaller canary.fractions"
        )
    );
    let (verdict, reason) = ended("stopped", Some(10.0));
    assert_eq!(verdict, "unknown");
    assert!(
        reason.starts_with("the 10% canary on 6x ml.m5.4xlarge was stopped by a person"),
        "{reason}"
    );
    let (verdict, reason) = ended("no_capacity", None);
    assert_eq!(verdict, "unknown");
    assert!(
        reason.starts_with("no capacity for 6x ml.m5.4xlarge"),
        "{reason}"
    );
    assert_eq!(ended("platform_error", Some(10.0)).0, "unknown");
    assert_eq!(ended("failed", Some(10.0)).0, "failed");
    // As long as that alone is over the budget.
    assert_eq!(ended("timed_out", Some(11_000.0)).0, "exceeded");
}

/// Buckets of gradients, say, which a process has only beside others.
#[test]
fn memory_that_six_machines_need_above_the_law_of_one_is_never_a_pass() {
    let with = |mib| tenth_on_six("{time: 10h, memory: 90%}", |run| run["usage"] = usage(mib));
    // 7 GiB by the law.
    let as_on_one = with(7400);
    assert_eq!(as_on_one["verdict"], "within", "{as_on_one:#}");
    assert!(!as_on_one["notes"].to_string().contains("used"));
    let more = with(24 * 1024);
    // More likely over than not.
    assert_eq!(more["verdict"], "exceeded", "{more:#}");
    let [lower, _, upper] = ends(&more["forecasts"][0], "memory_percent");
    // 17 GiB more whatever the data, or 24 GiB for each 7 GiB.
    assert!(
        lower < 51.0 / 0.64 && 116.6 / 0.64 < upper,
        "{lower} {upper}"
    );
    let notes = more["notes"].to_string();
    assert!(
        notes.contains("memory: a canary on 6x ml.m5.4xlarge used 3.4 times what those on ml.m5.4xlarge give for as much data"),
        "{notes}"
    );
    // Still below the limit, and in doubt.
    assert_eq!(with(11 * 1024)["verdict"], "at_risk");
}
