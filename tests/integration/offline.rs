//! `forecast FILE`: recorded measurements, no run.

use crate::project::Project;

const RECORDED: &str = "\
workload,fraction_requested,replicate,files,files_total,bytes,bytes_total,wall_seconds,cpu_seconds,peak_rss_bytes
sums,0.01,0,1,100,1000,100000,1.10,1.0,100000000
sums,0.01,1,1,100,1000,100000,1.12,1.0,100100000
sums,0.02,0,2,100,2000,100000,2.11,2.0,110000000
sums,0.02,1,2,100,2000,100000,2.09,2.0,110200000
sums,0.03,0,3,100,3000,100000,3.12,3.0,120100000
sums,0.03,1,3,100,3000,100000,3.08,3.0,120000000
";

#[test]
fn a_recorded_table_is_forecast_without_a_spec() {
    let project = Project::empty().file("runs.csv", RECORDED);
    let report = project
        .run(&["forecast", "runs.csv", "--format", "json"])
        .ended_with(0)
        .json();
    let time = &report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"];
    let point = time["point"].as_f64().unwrap();
    assert!(
        (point - 100.1).abs() < 3.0,
        "a second for each per cent: {point}"
    );
    assert!(time["lower"].as_f64().unwrap() < point && point < time["upper"].as_f64().unwrap());
    assert_eq!(report["verdict"], "not_judged");
}

#[test]
fn with_a_spec_its_budget_is_judged() {
    let project = Project::with_script("").file("runs.csv", RECORDED);
    project
        .run(&["forecast", "runs.csv"])
        .ended_with(0)
        .reported("within");
    let project = project.spec("    budget: {time: 30s}\n");
    project.run(&["forecast", "runs.csv"]).ended_with(10);
}

#[test]
fn unusable_files_say_what_is_wrong_and_where() {
    let line = r#"{"schema_version":1,"job":"sums","instance":"local","fraction":0.01,"replicate":0,"outcome":{"kind":"completed"},"training_seconds":0.7,"usage":{"cpu_percent":{"mean":780,"source":"x"}}}"#;
    let contradiction =
        "workload,fraction_requested,wall_seconds,bytes,bytes_total\nsums,1%,1,500,1000\n";
    for (file, content, said) in [
        ("missing.jsonl", None, "missing.jsonl cannot be read"),
        ("empty.jsonl", Some(""), "empty"),
        (
            "bad.csv",
            Some(&*RECORDED.replace("1.12", "fast")),
            "line 3, column wall_seconds",
        ),
        ("other.csv", Some("a,b\n1,2\n"), "columns"),
        ("newer.jsonl", Some("{\"schema_version\": 7}\n"), "7"),
        (
            "shares.jsonl",
            Some(line),
            "line 1: usage.cpu_percent.mean: found 780, expected a percentage",
        ),
        (
            "contradiction.csv",
            Some(contradiction),
            "line 2, column bytes: 500 of 1000 is 50% of the data, but fraction_requested is 1%",
        ),
    ] {
        let project = Project::empty();
        if let Some(content) = content {
            project.write(file, content);
        }
        project
            .run(&["forecast", file])
            .ended_with(2)
            .complained(said);
    }
}

#[test]
fn too_few_runs_are_unknown_with_the_reason() {
    let two: String = RECORDED
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    let project = Project::with_script("").file("runs.csv", &two);
    project
        .run(&["forecast", "runs.csv"])
        .ended_with(14)
        .reported("2 completed runs at 1 size");
}

#[test]
fn numbers_of_different_data_are_not_mixed() {
    // The same rows of half the data, measured before; a failure among them says nothing of today's data.
    let older: String = RECORDED
        .lines()
        .skip(1)
        .map(|row| format!("{}\n", row.replace(",100000,", ",50000,")))
        .collect();
    let (header, rows) = RECORDED.split_once('\n').unwrap();
    let project = Project::empty()
        .file("newest.csv", RECORDED)
        .file("mixed.csv", &format!("{header}\n{older}{rows}"));
    let of = |file: &str| {
        project
            .run(&["forecast", file, "--format", "json"])
            .ended_with(0)
            .json()
    };
    let (newest, mixed) = (of("newest.csv"), of("mixed.csv"));
    let forecasts = |report: &serde_json::Value| report["jobs"][0]["forecasts"].clone();
    assert_eq!(forecasts(&mixed), forecasts(&newest));
    assert_eq!(
        mixed["jobs"][0]["measurements"].as_array().unwrap().len(),
        12
    );
    project.run(&["forecast", "mixed.csv"]).reported(
        "left out, being of other data than the newest: 6 with bytes_total 50000 (newest: 100000)",
    );
}

/// One run a row, and every name is that of a training job.
const SEED: &str = "\
TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn
Completed,110,ml.m5.xlarge,s3://bucket/0.manifest,a1-x,0.01
Completed,112,ml.m5.xlarge,s3://bucket/1.manifest,b2-y,0.01
Completed,210,ml.m5.xlarge,s3://bucket/2.manifest,c3-z,0.02
Completed,212,ml.m5.xlarge,s3://bucket/3.manifest,d4-u,0.02
Completed,310,ml.m5.xlarge,s3://bucket/4.manifest,e5-v,0.03
Completed,312,ml.m5.xlarge,s3://bucket/5.manifest,f6-w,0.03
";

#[test]
fn a_table_whose_names_group_nothing_is_one_job_with_the_name_that_is_given() {
    let project = Project::empty().file("seed.csv", SEED);
    let forecast = |more: &str| {
        let words = ["forecast", "seed.csv", "--format", "json"].into_iter();
        project.run(&words.chain(more.split_whitespace()).collect::<Vec<_>>())
    };
    let unnamed = forecast("").ended_with(0).json();
    assert_eq!(unnamed["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(unnamed["jobs"][0]["name"], "canary-training");
    let notes = unnamed["jobs"][0]["notes"].to_string();
    assert!(notes.contains("so all 6 are taken for one job; `--as-job NAME`"));

    let named = forecast("--as-job churn --job churn").ended_with(0).json();
    assert_eq!(named["jobs"][0]["name"], "churn");
    assert!(!named["jobs"][0]["notes"].to_string().contains("--as-job"));
    assert_eq!(
        named["jobs"][0]["forecasts"],
        unnamed["jobs"][0]["forecasts"]
    );

    let said =
        "`--as-job churn` takes all rows for job `churn`, and `--job fraud` asks for another";
    forecast("--as-job churn --job fraud")
        .ended_with(2)
        .complained(said);
}
