//! What a report says of machines that no canary ran on.

use canary_gate::units::Bytes;
use serde_json::{Value, json};

use crate::project::Project;
use crate::recorded::{self, FORECAST, forecast, job, point, project};

const GIB: f64 = 1_073_741_824.0;

/// Ten canaries of 1 to 20 % on `instance` as JSON lines, a few per mille apart: 50 s and 5000 s over the count for the
/// data, 2 GiB and `gibibytes` more for them.
fn canaries(instance: &str, gibibytes: f64) -> String {
    let count = instance
        .split_once("x ")
        .map_or(1.0, |(count, _)| count.parse().unwrap());
    let of_size = |percent: u32| {
        let share = f64::from(percent) / 100.0;
        [0.997, 1.003].map(|noise| {
            let seconds = (50.0 + 5000.0 * share / count) * noise;
            let mut run = recorded::canary(instance, percent, seconds);
            let bytes = Bytes::from_f64((2.0 + gibibytes * share) * GIB * noise);
            run["usage"] = json!({"memory": {"bytes": bytes, "source": "cgroup memory.stat"}});
            run
        })
    };
    recorded::lines([1, 2, 5, 10, 20].into_iter().flat_map(of_size))
}

fn spec(instance: &str, alternatives: &str, more: &str) -> String {
    let channels = "      channels:\n        train: {uri: s3://bucket/train/}\n";
    let job = format!("    alternatives: [{alternatives}]\n    budget: {{time: 10h}}\n");
    recorded::spec(more, instance, channels, &job)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

#[test]
fn memory_carries_over_in_bytes_to_every_machine_that_is_known() {
    let alternatives =
        "ml.m5.xlarge, ml.r5.4xlarge, {groups: {a: 1x ml.m5.xlarge, b: 1x ml.c5.xlarge}}";
    let job = job(
        forecast(
            &canaries("ml.m5.4xlarge", 28.0),
            &spec("ml.m5.4xlarge", alternatives, ""),
        ),
        // An alternative that will run out of memory does not change the exit code.
        0,
    );
    let rows = &job["forecasts"];
    let bytes = point(&rows[0], "memory_bytes");
    for (row, gibibytes, verdict, line) in [
        (&rows[1], 16.0, "exceeded", "exceeded"),
        (&rows[2], 128.0, "not_judged", "within"),
    ] {
        assert_eq!(row["not_measured"], "no run of it in the file");
        assert_eq!(
            row["estimated_from"],
            "memory is that of the canaries on ml.m5.4xlarge, assumed to be the same here; time and cost are not known"
        );
        assert_eq!(point(row, "memory_bytes"), bytes);
        let percent = bytes / gibibytes / GIB * 100.0;
        assert!((point(row, "memory_percent") - percent).abs() < 1e-6);
        assert_eq!(row["verdict"], verdict, "{row:#}");
        // Only what is known is judged.
        assert_eq!(row["budget"].as_array().unwrap().len(), 1);
        assert_eq!(row["budget"][0]["line"], "memory");
        assert_eq!(row["budget"][0]["verdict"], line);
        assert!(row["estimates"].get("time_seconds").is_none());
    }
    assert_eq!(rows[3]["estimates"], json!({}));
    assert!(rows[3].get("estimated_from").is_none());
    assert!(texts(&job["advice"]).is_empty());
}

#[test]
fn where_memory_does_not_fit_the_smallest_listed_instance_is_named() {
    let advice = |instance: &str, more: &str| {
        let report = forecast(&canaries(instance, 118.0), &spec(instance, "", more));
        let job = job(report, 10);
        let reason = job["reason"].as_str().unwrap().to_owned();
        assert!(reason.starts_with("memory is forecast at"), "{reason}");
        assert!(reason.contains("of ml.m5.4xlarge: this fails"), "{reason}");
        texts(&job["advice"]).join("; ")
    };
    let named = advice("ml.m5.4xlarge", "");
    assert!(named.starts_with("memory would fit on ml."), "{named}");
    assert!(named.ends_with("% chance to run out"), "{named}");
    // Only what the team may use, and as many of them.
    let only = |patterns: &str| format!("allowed_instances: [{patterns}]\n");
    let named = advice("ml.m5.4xlarge", &only("ml.m5.*"));
    assert!(
        named.starts_with("memory would fit on ml.m5.12xlarge (192 GiB)"),
        "{named}"
    );
    let named = advice("2x ml.m5.4xlarge", &only("ml.m5.*"));
    assert!(
        named.starts_with("memory would fit on 2x ml.m5.12xlarge (192 GiB)"),
        "{named}"
    );
    assert_eq!(
        advice("ml.m5.4xlarge", &only("ml.m5.4xlarge, ml.c5.*")),
        "memory would fit on no listed instance that may be used, of which the largest has 144 GiB"
    );
}

#[test]
fn a_canary_out_of_memory_is_a_lower_bound_elsewhere() {
    let runs = canaries("ml.m5.4xlarge", 28.0);
    let (completed, last) = runs.trim_end().rsplit_once('\n').unwrap();
    let runs = format!(
        "{completed}\n{}\n",
        last.replace("completed", "out_of_memory")
    );
    let job = job(
        forecast(
            &runs,
            &spec("ml.m5.4xlarge", "ml.m5.2xlarge, ml.r5.4xlarge", ""),
        ),
        10,
    );
    assert_eq!(
        texts(&job["advice"]),
        [
            "a canary ran out of memory on ml.m5.4xlarge, so the full run needs more than 64.0 GiB; how much more is not \
             known, and canaries on an instance with more memory would show it"
        ]
    );
    let rows = &job["forecasts"];
    assert_eq!(rows[1]["verdict"], "exceeded");
    assert_eq!(
        rows[1]["estimated_from"],
        "memory runs out, as it did in a canary on ml.m5.4xlarge, which has no less; time and cost are not known"
    );
    assert_eq!(rows[2]["verdict"], "not_judged");
    // Whatever others measured it is too small: elsewhere the full run seems to need 30 GiB.
    let elsewhere = runs + &canaries("ml.r5.4xlarge", 28.0);
    let allowed = "allowed_instances: [ml.m5.*, ml.r5.4xlarge]\n";
    let judged = forecast(&elsewhere, &spec("ml.m5.4xlarge", "ml.r5.4xlarge", allowed));
    let advice = judged.ended_with(10).json()["jobs"][0]["advice"].clone();
    assert_eq!(
        texts(&advice),
        ["memory would fit on ml.r5.4xlarge (128 GiB): <1% chance to run out"]
    );
    let note = "ml.r5.4xlarge: a canary ran out of memory on ml.m5.4xlarge, so the full run needs more than 64.0 GiB; \
                whether 128 GiB is enough is not known";
    assert!(texts(&job["notes"]).contains(&note), "{:#}", job["notes"]);
}

#[test]
fn a_price_that_nobody_lists_is_that_of_the_newest_run_that_has_one() {
    let priced = |usd: f64| {
        let price = json!({"usd_per_hour": usd, "source": "spec", "evidence": "spec"});
        let canaries = canaries("local", 2.0);
        let lines = canaries.lines().map(|line| {
            let mut run: Value = serde_json::from_str(line).unwrap();
            run["price"] = price.clone();
            format!("{run}\n")
        });
        lines.collect::<String>()
    };
    let old = priced(72.0);
    let (older, _) = old.split_at(old.find('\n').unwrap() + 1);
    let newer = priced(36.0);
    let (_, newer) = newer.split_at(newer.find('\n').unwrap() + 1);
    let project = Project::empty().file("runs.jsonl", &format!("{older}{newer}"));
    let job = job(project.run(&FORECAST), 0);
    let row = &job["forecasts"][0];
    let usd_per_hour = point(row, "cost_usd") / point(row, "time_seconds") * 3600.0;
    assert!((usd_per_hour - 36.0).abs() < 1e-6, "{usd_per_hour}");
}

#[test]
fn a_machine_that_no_table_has_is_as_large_as_its_runs_say() {
    let runs = canaries("ml.x99.large", 28.0);
    let lines = runs.lines().enumerate().map(|(index, line)| {
        let mut run: Value = serde_json::from_str(line).unwrap();
        let bytes = run["usage"]["memory"]["bytes"].as_f64().unwrap();
        // The first run was too small to be seen.
        let percent = if index == 0 {
            0.0
        } else {
            bytes / (48.0 * GIB) * 100.0
        };
        run["usage"]["memory"]["percent"] = percent.into();
        format!("{run}\n")
    });
    let project = Project::empty().file("runs.jsonl", &lines.collect::<String>());
    let report = project.run(&FORECAST);
    let row = &job(report, 0)["forecasts"][0];
    let percent = point(row, "memory_bytes") / (48.0 * GIB) * 100.0;
    assert!((point(row, "memory_percent") - percent).abs() < 1e-3);
}

#[test]
fn why_the_time_is_unknown_is_said_even_if_no_line_asks_for_it() {
    let runs = canaries("ml.m5.4xlarge", 28.0);
    let two: String = runs.split_inclusive('\n').take(2).collect();
    // Without a spec there is no line about time.
    let alone = Project::empty().file("runs.jsonl", &two);
    for project in [project(&two, &spec("ml.m5.4xlarge", "", "")), alone] {
        let report = project.run(&FORECAST).json();
        let notes = texts(&report["jobs"][0]["notes"]);
        let of_time: Vec<&str> = (notes.into_iter())
            .filter(|note| note.starts_with("time:"))
            .collect();
        assert_eq!(
            of_time,
            ["time: 2 completed runs at 1 size; a forecast needs at least 3, at 2 or more sizes."]
        );
    }
}

#[test]
fn runs_on_two_counts_measure_scale_out_and_runs_on_one_assume_it() {
    let one = canaries("ml.m5.4xlarge", 28.0);
    let two = one.clone() + &canaries("2x ml.m5.4xlarge", 28.0);
    let spec = spec("ml.m5.4xlarge", "4x ml.m5.4xlarge, 4x ml.c5.4xlarge", "");
    let row_and_note = |runs: &str| {
        let job = job(forecast(runs, &spec), 0);
        let notes = texts(&job["notes"]);
        let note = notes
            .iter()
            .find(|note| note.contains("scale-out"))
            .unwrap();
        (job["forecasts"][1].clone(), (*note).to_owned())
    };
    let (measured, note) = row_and_note(&two);
    assert_eq!(
        note,
        "4x ml.m5.4xlarge: scale-out is measured: the time on 4 instances follows from runs on 1 and 2, and \
         beyond the largest count it is a wide guess"
    );
    let (assumed, note) = row_and_note(&one);
    assert!(note.starts_with("scale-out to 4x ml.m5.4xlarge is assumed, not measured"));

    let width = |row: &Value| {
        let time = &row["estimates"]["time_seconds"];
        time["upper"].as_f64().unwrap() / time["lower"].as_f64().unwrap()
    };
    for row in [&measured, &assumed] {
        // 50 s, and a quarter of 5000.
        let time = point(row, "time_seconds");
        assert!((1200.0..1400.0).contains(&time), "{time}");
        let usd_per_hour = point(row, "cost_usd") / time * 3600.0;
        assert!(
            (usd_per_hour - 4.0 * 0.922).abs() < 1e-6,
            "all four are paid"
        );
        assert_eq!(row["not_measured"], "no run of it in the file");
    }
    assert!(width(&assumed) > 2.0 * width(&measured));
    let source = assumed["estimated_from"].as_str().unwrap();
    assert!(source.ends_with("time and cost follow from scale-out, assumed"));
}

#[test]
fn the_rows_read_as_forecast_and_not_as_measured() {
    let project = project(
        &canaries("ml.m5.4xlarge", 88.0),
        &spec(
            "ml.m5.4xlarge",
            "ml.m5.2xlarge, ml.r5.4xlarge, 6x ml.m5.4xlarge",
            "",
        ),
    );
    let seen = |format: &str| {
        project
            .run(&["forecast", "runs.jsonl", "--format", format])
            .ended_with(10)
            .stdout
    };
    insta::with_settings!({filters => vec![
        (r"canary-gate \d+\.\d+\.\d+", "canary-gate [VERSION]"),
        (r"spec `?[0-9a-f]{8,16}`?", "spec [HASH]"),
    ]}, {
        insta::assert_snapshot!("terminal", seen("terminal"));
        insta::assert_snapshot!("markdown", seen("markdown"));
    });
}

/// A local job whose two processes share the machine, so their memory adds up.
#[test]
fn a_skipped_count_of_local_processes_is_forecast_from_one() {
    let spec = Project::SPEC
        .replace("{uri: data}", "{uri: data, distribution: ShardedByS3Key}")
        .replace("1%, 2%, 3%", "10%, 20%, 30%");
    let more = "    alternatives: [8x local]\n    budget: {time: 1h}\n";
    let project = Project::empty()
        .file("train.sh", "true\n")
        .data("data", 12)
        .file("canary-gate.yml", &format!("{spec}{more}"));
    let finished = project.run(&["run", "--all", "--only-instance", "--format", "json"]);
    let job = job(finished, 0);
    let row = &job["forecasts"][1];
    assert_eq!(row["not_measured"], "skipped by --only-instance");
    assert!(row["estimates"]["time_seconds"].is_object(), "{row:#}");
    let caution = "8x local: channel train has 12 objects for 8 instances: some get 2 and some 1";
    let notes = texts(&job["notes"]);
    assert!(
        notes.iter().any(|note| note.starts_with(caution)),
        "{notes:#?}"
    );
}

/// Five canaries of 1 to 20 % that hold this many GiB of a GPU and, with all of the data, `growth` more.
fn on_a_gpu(instance: &str, held: f64, growth: f64) -> Vec<Value> {
    let of_size = |percent: u32| {
        let share = f64::from(percent) / 100.0;
        let bytes = Bytes::from_f64((held + growth * share) * GIB);
        let mut run = recorded::canary(instance, percent, 50.0 + 4000.0 * share);
        run["usage"] = json!({
            "memory": {"bytes": 1_u64 << 30, "source": "cgroup v2 memory.stat"},
            "gpu_memory": {"bytes": bytes, "source": "nvidia-smi"},
        });
        run
    };
    [1, 2, 5, 10, 20].map(of_size).to_vec()
}

/// 30 GiB: more than an A10G of 22.4 GiB or a T4 has, less than an L40S. Four small GPUs are no large one; of a machine without a GPU
/// nothing is said.
#[test]
fn each_candidate_is_judged_by_its_own_gpu() {
    let runs = recorded::lines(on_a_gpu("ml.g5.xlarge", 2.0, 28.0));
    let alternatives = "ml.g4dn.xlarge, ml.g6e.xlarge, ml.g5.12xlarge, ml.m5.xlarge";
    let job = job(forecast(&runs, &spec("ml.g5.xlarge", alternatives, "")), 10);
    let rows = job["forecasts"].as_array().unwrap();
    let verdicts: Vec<&Value> = rows.iter().map(|row| &row["verdict"]).collect();
    let expected = [
        "exceeded",
        "exceeded",
        "not_judged",
        "exceeded",
        "not_judged",
    ];
    assert_eq!(verdicts, expected);
    assert!(point(&rows[0], "gpu_memory_percent") > 100.0);
    assert!(point(&rows[2], "gpu_memory_percent") < 100.0);
    assert_eq!(rows[4]["estimates"]["gpu_memory_percent"], Value::Null);
    let source = "GPU memory is that of the canaries on ml.g5.xlarge, assumed to be the same on each GPU here";
    assert!(rows[1]["estimated_from"].as_str().unwrap().contains(source));
    let advice = texts(&job["advice"]).concat();
    assert!(advice.contains("GPU memory would fit on ml."), "{advice}");
    assert!(advice.contains(" chance to run out"), "{advice}");
}

#[test]
fn a_candidate_whose_gpu_is_too_small_is_not_recommended() {
    let mut runs = on_a_gpu("ml.g5.xlarge", 2.0, 15.0);
    for run in &mut runs {
        run["training_seconds"] = (3.0 * run["training_seconds"].as_f64().unwrap()).into();
    }
    runs.extend(on_a_gpu("ml.g4dn.xlarge", 2.0, 15.0));
    let spec = spec("ml.g5.xlarge", "ml.g4dn.xlarge", "");
    let job = job(forecast(&recorded::lines(runs), &spec), 0);
    assert_eq!(job["forecasts"][1]["verdict"], "exceeded");
    let found = &job["recommendation"];
    assert_eq!([&found["cheapest"], &found["fastest"]], ["ml.g5.xlarge"; 2]);
}

#[test]
fn a_gpu_that_ran_out_is_a_lower_bound_elsewhere() {
    let mut runs = on_a_gpu("ml.g5.xlarge", 2.0, 18.0);
    runs[4]["outcome"] = json!({"kind": "out_of_memory", "of": "gpu"});
    let spec = spec("ml.g5.xlarge", "ml.g4dn.xlarge, ml.g6e.xlarge", "");
    let job = job(forecast(&recorded::lines(runs), &spec), 10);
    let verdicts = [1, 2].map(|row: usize| &job["forecasts"][row]["verdict"]);
    assert_eq!(verdicts, ["exceeded", "not_judged"]);
    let said = "a canary ran out of GPU memory on ml.g5.xlarge, so the full run needs more than 22.4 GiB on each GPU";
    assert!(texts(&job["advice"])[0].starts_with(said));
}

#[test]
fn gpu_memory_that_nobody_measured_is_said_once_and_only_where_there_is_a_gpu() {
    for (instance, times) in [("ml.g5.xlarge", 1), ("ml.m5.xlarge", 0)] {
        let runs = recorded::lines(on_a_gpu(instance, 2.0, 1.0));
        let runs = runs.replace("\"gpu_memory\"", "\"not_read\"");
        let job = job(forecast(&runs, &spec(instance, "", "")), 0);
        let notes = texts(&job["notes"]).concat();
        let said = notes.matches("GPU memory: no GPU memory was measured");
        assert_eq!(said.count(), times, "{notes}");
        assert_eq!(notes.contains("GPU"), times > 0, "{notes}");
        let forecasts = job["forecasts"].to_string();
        assert!(times > 0 || !forecasts.contains("gpu"), "{forecasts}");
    }
}
