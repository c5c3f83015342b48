//! Groups of machines of several types: recorded runs are priced, planned and judged as those of one type are.

use canary_gate::units::Bytes;
use serde_json::{Value, json};

use crate::recorded::{self, FORECAST, job, point, project};

/// 0.20 USD/h and twice 1.40 USD/h by `PRICES`.
const GROUPS: &str = "data: 1x ml.c5.xlarge + dnn: 2x ml.g5.xlarge";
const USD_PER_HOUR: f64 = 3.0;
const PRICES: &str = "prices: {ml.c5.xlarge: 0.20 USD/h, ml.g5.xlarge: 1.40 USD/h}";

/// Two runs each of 1, 2, 5 and 10 % on `instance`: 50 s, and 5000 s for all of the data. `memory` is that of the hosts of the
/// groups `data` and `dnn`, given the share of the data.
fn recording(instance: &str, memory: impl Fn(f64) -> [Value; 2]) -> String {
    let of_size = |percent: u32| {
        let share = f64::from(percent) / 100.0;
        let [data, dnn] = memory(share);
        [0.999, 1.001].map(|noise| {
            let host = |host: &str, group: &str, memory: &Value| json!({"host": host, "group": group, "bytes": 1_000_000, "usage": {"memory": memory}});
            let mut run = recorded::canary(instance, percent, (50.0 + 5000.0 * share) * noise);
            run["objects"] = percent.into();
            run["objects_total"] = 100.into();
            run["usage"] = json!({"memory": dnn});
            run["hosts"] = json!([host("algo-1", "data", &data), host("algo-2", "dnn", &dnn)]);
            run
        })
    };
    recorded::lines([1, 2, 5, 10].into_iter().flat_map(of_size))
}

/// Peaks in bytes, as the probe gives them.
fn in_bytes(share: f64) -> [Value; 2] {
    [1.0, 3.0].map(|gib| {
        let bytes = gib * (1.0 + share) * 1_073_741_824.0;
        json!({"bytes": Bytes::from_f64(bytes), "source": "test"})
    })
}

fn spec(top: &str, instance: &str, more: &str) -> String {
    format!(
        "\
version: 1
backend: replay
recording: runs.jsonl
{top}
jobs:
  taxi:
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: {instance}
{more}"
    )
}

const INSTANCE: &str =
    "{groups: {data: 1x ml.c5.xlarge, dnn: 2x ml.g5.xlarge}, entry_point: start.py}";

#[test]
fn a_second_of_groups_costs_the_sum_over_their_machines() {
    let runs = recording(GROUPS, in_bytes);
    let budget = "    budget: {cost: 4 USD}\n";
    let job = job(
        project(&runs, &spec(PRICES, INSTANCE, budget)).run(&FORECAST),
        10,
    );
    let row = &job["forecasts"][0];
    let per_hour = point(row, "cost_usd") / point(row, "time_seconds") * 3600.0;
    assert!((per_hour - USD_PER_HOUR).abs() < 1e-9, "{per_hour}");
    assert_eq!(row["budget"][0]["line"], "cost");
    assert_eq!(row["budget"][0]["verdict"], "exceeded");
    // Each group says its own price, and there is no single one.
    assert!(row.get("price").is_none());
    let groups = row["groups"].as_array().unwrap();
    let prices: Vec<_> = groups
        .iter()
        .map(|group| {
            (
                group["name"].as_str(),
                group["price"]["usd_per_hour"].as_f64(),
            )
        })
        .collect();
    assert_eq!(
        prices,
        [(Some("data"), Some(0.2)), (Some("dnn"), Some(1.4))]
    );
}

#[test]
fn a_price_that_one_group_lacks_is_named() {
    let instance = "{groups: {data: 1x ml.c5.xlarge, dnn: 1x ml.p5e.48xlarge}}";
    let runs = recording("data: 1x ml.c5.xlarge + dnn: 1x ml.p5e.48xlarge", in_bytes);
    let spec = spec(PRICES, instance, "    budget: {cost: 4 USD}\n");
    let job = job(project(&runs, &spec).run(&FORECAST), 14);
    assert_eq!(
        job["reason"],
        "cost is unknown: no price for ml.p5e.48xlarge; write its price under prices in the spec"
    );
    let row = &job["forecasts"][0];
    assert!(row["estimates"].get("cost_usd").is_none());
    assert!(row["estimates"]["time_seconds"].is_object());
}

#[test]
fn the_worst_case_of_groups_is_the_sum_too() {
    // Each run may last 8 minutes and 2 to stop: 0.50 USD.
    let canary = |limit: &str| {
        format!(
            "    canary: {{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 2, max_runtime: 8m, spend_limit: {limit}}}\n"
        )
    };
    let runs = recording(GROUPS, in_bytes);
    let project = project(&runs, &spec(PRICES, INSTANCE, &canary("4 USD")));
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("3.00 USD of 4.00 USD");
    let replayed = job(project.run(&["run", "--all", "--format", "json"]), 0);
    let spent = replayed["spend"]["canary_usd"].as_f64().unwrap();
    let seconds = replayed["spend"]["canary_seconds"].as_f64().unwrap();
    assert!((spent - seconds * USD_PER_HOUR / 3600.0).abs() < 1e-9);

    project.write(
        "canary-gate.yml",
        &spec(PRICES, INSTANCE, &canary("2.50 USD")),
    );
    project.run(&["plan", "--all"]).ended_with(0).reported(
        "unknown: the canaries may cost up to 3.00 USD, above the spend limit of 2.50 USD",
    );
}

#[test]
fn groups_beside_another_instance_are_replayed_as_alternatives() {
    let mut runs = recording("ml.g5.xlarge", in_bytes);
    runs.push_str(&recording(GROUPS, in_bytes));
    let more = format!(
        "    alternatives: [{INSTANCE}]\n    canary: {{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 2, spend_limit: 50 USD}}\n    budget: {{time: 10h}}\n"
    );
    let spec = spec(PRICES, "ml.g5.xlarge", &more);
    let job = job(
        project(&runs, &spec).run(&["run", "--all", "--format", "json"]),
        0,
    );
    let row = &job["forecasts"][1];
    assert_eq!(row["instance"], GROUPS);
    assert!(row.get("not_measured").is_none(), "{row:#}");
    assert_eq!(row["verdict"], "within");
    // Both take as long, and one machine is cheaper.
    assert_eq!(job["recommendation"]["cheapest"], "ml.g5.xlarge");
}

/// The 8 GiB of the small machine fill up first, though the others use more.
#[test]
fn the_member_nearest_to_its_limit_decides_the_memory() {
    let in_percent = |share: f64| {
        [
            json!({"bytes": 1_073_741_824_u64, "percent": 40.0 + 70.0 * share, "source": "test"}),
            json!({"bytes": 4_294_967_296_u64, "percent": 30.0, "source": "test"}),
        ]
    };
    let budget = "    budget: {memory: 90%}\n";
    let written = spec(PRICES, INSTANCE, budget);
    let judged = job(
        project(&recording(GROUPS, in_percent), &written).run(&FORECAST),
        10,
    );
    let percent = point(&judged["forecasts"][0], "memory_percent");
    assert!((percent - 110.0).abs() < 5.0, "{percent}");

    let unknown = job(
        project(&recording(GROUPS, in_bytes), &written).run(&FORECAST),
        14,
    );
    assert_eq!(
        unknown["reason"],
        "memory is unknown: the machines of the groups differ in memory, and it was not measured in percent of each"
    );
}

/// In every canary the machines that read are the fuller ones, and at full size the others run out.
#[test]
fn a_group_that_grows_is_not_hidden_by_one_that_is_full_already() {
    let in_percent = |share: f64| {
        [40.0, 5.0 + 130.0 * share].map(
            |percent| json!({"bytes": 1_073_741_824_u64, "percent": percent, "source": "test"}),
        )
    };
    let budget = "    budget: {memory: 90%}\n";
    let written = spec(PRICES, INSTANCE, budget);
    let runs = recording(GROUPS, in_percent);
    let judged = job(project(&runs, &written).run(&FORECAST), 10);
    let percent = point(&judged["forecasts"][0], "memory_percent");
    assert!((percent - 135.0).abs() < 10.0, "{percent}");
}
