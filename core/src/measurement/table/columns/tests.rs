use super::super::write_seed_csv;
use super::*;
use crate::measurement::Usage;

#[test]
fn rows_know_their_line_whatever_the_line_ends_and_blank_lines() {
    for text in [
        "\u{feff}a,b\n\n1,2\n \n,\n3,4",
        "a,b\r\n\r\n1,2\r\n \r\n,\r\n3,4\r\n",
        "a,b\r\r1,2\r \r,\r3,4\r",
    ] {
        let (header, rows) = split(text).ok().unwrap();
        assert!(header.has("a") && header.has("b"), "{text:?}");
        let lines: Vec<u64> = rows.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 6], "{text:?}");
    }
}

#[test]
fn numbers_read_as_data_frames_write_them() {
    for (text, expected) in [
        ("12", Some(12)),
        ("12.0", Some(12)),
        ("18446744073709551615", Some(u64::MAX)),
        ("12.5", None),
        ("-1", None),
        ("1e3", None),
        ("18446744073709551616", None),
    ] {
        assert_eq!(count(text), expected, "{text}");
    }
    // Only loads are divided by a number of cores, also where they are missing.
    assert_eq!(percent(cell_of_share("-0.125")), Ok(None));
    assert_eq!(work("-1.0"), Ok(None));
    assert!(work("-0.5").is_err());
    assert_eq!(seconds("1.5e2"), Some(Seconds(150.0)));
    for text in ["-1", "NaN", "inf", "1e999", "8h"] {
        assert_eq!(seconds(text), None, "{text}");
    }
    for (text, expected) in [("0.03", 0.03), ("3 %", 0.03), ("1", 1.0)] {
        assert_eq!(fraction(text), Some(Fraction(expected)));
    }
    for text in ["0", "3", "-0.1", "101%", "NaN", "%"] {
        assert_eq!(fraction(text), None, "{text}");
    }
}

/// Figures of three runs that the seed library's example notebooks show, in the form in which it writes them. From
/// aws-samples/amazon-sagemaker-predict-training-resource-usage (Apache-2.0, Copyright Amazon.com, Inc. or its
/// affiliates); bucket and ends of names are made up.
const PUBLISHED: &str = "\
TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization
Completed,107,ml.m5.2xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2022-03-22-18-50-24-03891,0.01,12.5,95.920,5.1600,-1.0,-1
Completed,108,ml.m5.2xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2022-03-22-18-50-25-01037,0.01,12.5,95.830,5.1719,-1.0,-1
Completed,318,ml.m5.24xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2021-12-22-17-35-28-01832,0.007575757575757576,0.871563,0.0,1.34,-1.0,-1
";

/// Three rows of a table measured for this project: XGBoost, 100 files of equal size.
const TIMED: &str = "\
workload,fraction_requested,replicate,files,files_total,bytes,bytes_total,wall_seconds,cpu_seconds,peak_rss_bytes
xgb_reg,0.01,0,1,100,7689966,769051312,1.83,1.65,206888960
xgb_reg,0.01,1,1,100,7688938,769051312,1.549,1.5,207355904
xgb_reg,1.0,0,100,100,769051312,769051312,55.5,55.1,2068889600
";

fn refusal(text: &str) -> String {
    read_csv(text).unwrap_err().to_string()
}

/// What the last of three rows says, and the notes of the table.
#[test]
fn the_published_runs_and_timed_ones_are_read() {
    let read = [PUBLISHED, TIMED].map(|text| {
        let mut table = read_csv(text).unwrap();
        assert_eq!(table.measurements.len(), 3);
        let json = serde_json::to_string(&table.measurements.remove(1)).unwrap();
        format!("{json}\n{}", table.notes.join("\n"))
    });
    insta::assert_snapshot!(read.join("\n"));
}

#[test]
fn what_the_table_can_hold_comes_back_and_a_work_level_behind_the_columns_of_the_library() {
    let mut runs = read_csv(PUBLISHED).unwrap().measurements;
    runs[1].outcome = Outcome::Stopped;
    runs[1].training_seconds = None;
    runs[2].instance = "6x ml.m5.4xlarge".parse().unwrap();
    runs[2].usage = Usage::default();
    let again = |text: &str| read_csv(text).unwrap().measurements;
    assert_eq!(again(&write_seed_csv(&runs)), runs);
    (runs[1].work, runs[1].work_total, runs[1].replicate) = (Some(5.0), Some(50.0), 0);
    let text = write_seed_csv(&runs);
    assert!(text.contains("GPUMemoryUtilization,WorkLevel,FullWorkLevel\n"));
    assert!(text.lines().nth(2).unwrap().ends_with(",5,50"), "{text}");
    assert_eq!(again(&text), runs);
    let none = refusal(&text.replace(",5,50", ",0,50"));
    assert!(none.contains("column WorkLevel: found `0`, expected a number above 0"));
}

#[test]
fn a_missing_metric_is_absent_also_where_it_was_divided_by_the_cores_and_an_open_job_is_left_out() {
    let table = read_csv(
        "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,PercentageDataTrainedOn,CPUUtilization,GPUUtilization,MemoryUsedPercent,OWaitPercentage
Completed,-1,ml.m5.2xlarge,1%,-0.125,-1.0,-1,2.5
Failed,nan,ml.p3.16xlarge,1%,-0.015625,-0.125,,NaN
InProgress,60,ml.m5.2xlarge,0.01
Completed,9,ml.m5.2xlarge,1%
",
    )
    .unwrap();
    let usages = [
        r#"{"io_wait_percent":{"mean":2.5,"p99":2.5,"source":"canary-training table, 99th percentile"}}"#,
        "{}",
        "{}",
    ];
    for ((run, usage), (outcome, time)) in (table.measurements.iter().zip(usages)).zip([
        ("completed", None),
        ("failed", None),
        ("completed", Some(9.0)),
    ]) {
        assert_eq!(
            (run.outcome.words(), run.time().map(|time| time.0)),
            (outcome, time)
        );
        assert_eq!(serde_json::to_string(&run.usage).unwrap(), usage);
    }
    assert_eq!(
        table.notes.last().unwrap(),
        "line 4: this job is `InProgress`; it has no outcome yet and is left out"
    );
}

#[test]
fn a_table_with_the_least_columns_counts_replicates_and_goes_by_the_fraction() {
    let table =
        read_csv("wall_seconds,workload,fraction_requested\n1,a,1%\n2,a,1%\n3,b,1%\n").unwrap();
    let replicates: Vec<u32> = table.measurements.iter().map(|run| run.replicate).collect();
    assert_eq!(replicates, [0, 1, 0]);
    // The forecast says which runs it has no bytes of.
    assert_eq!(table.notes, Vec::<String>::new());
}

/// Of jobs, of timings, and of bytes that contradict the fraction where no files explain them.
#[test]
fn every_bad_cell_is_named_at_once() {
    let refusals = [
        "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,PercentageDataTrainedOn,CPUUtilization
Completed,8h,ml.m5.2xlarge,3,780
Finished\u{202e}\u{1b}[2J,-2,m5.large,,-0.3
Completed,1,ml.m5.2xlarge,1%,5,6
",
        "workload,fraction_requested,wall_seconds,bytes,bytes_total,files
,0,1.0,1,2,3
a,2%,inf,20,10,1.5
a,2%
a,2%,1e10,1,10,1
a,2%,1,20,10,1
",
        "workload,fraction_requested,wall_seconds,files,files_total,bytes,bytes_total
a,1%,1,,,500000,1000000
a,1%,1,1,13,80000,1000000
a,1%,1,,,20000,1000000
a,50%,1,,,100,1000000
",
    ]
    .map(refusal);
    insta::assert_snapshot!(refusals.join("\n"));
}
