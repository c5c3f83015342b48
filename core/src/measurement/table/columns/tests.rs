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
        assert_eq!(
            ["a", "b"].map(|name| header.count(name)),
            [1, 1],
            "{text:?}"
        );
        let lines: Vec<u64> = rows.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 6], "{text:?}");
    }
}

#[test]
fn numbers_read_as_data_frames_write_them() {
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

fn refusal(text: &str) -> String {
    read_csv(text).unwrap_err().to_string()
}

/// What the second of three rows says, and the notes of the table.
#[test]
fn the_published_runs_are_read() {
    let mut table = read_csv(PUBLISHED).unwrap();
    assert_eq!(table.measurements.len(), 3);
    let json = serde_json::to_string(&table.measurements.remove(1)).unwrap();
    insta::assert_snapshot!(format!("{json}\n{}", table.notes.join("\n")));
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
fn a_table_with_the_least_columns_counts_replicates() {
    let table = "PercentageDataTrainedOn,InstanceType,TrainingTimeInSeconds,TrainingJobStatus
1%,local,1,Completed
1%,local,,Completed
2%,local,3,Completed
";
    let runs = read_csv(table).unwrap().measurements;
    let read = runs
        .iter()
        .map(|run| (run.replicate, run.time().map(|time| time.0)));
    let read: Vec<_> = read.collect();
    assert_eq!(read, [(0, Some(1.0)), (1, None), (0, Some(3.0))]);
}

#[test]
fn every_bad_cell_is_named_at_once() {
    let table = "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,PercentageDataTrainedOn,CPUUtilization
Completed,8h,ml.m5.2xlarge,3,780
Finished\u{202e}\u{1b}[2J,-2,m5.large,,-0.3
Completed,1,ml.m5.2xlarge,1%,5,6
Completed,1e10
";
    insta::assert_snapshot!(refusal(table));
}
