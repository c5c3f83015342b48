//! The table of the seed library (aws-samples' canary training), as it is written: one row for each SageMaker training job.

use super::columns::{COLUMNS, MISSING};
use crate::measurement::{Measurement, Outcome, Utilization};
use crate::units::{Percent, Seconds};

/// So many of the columns are the library's.
const OF_THE_LIBRARY: usize = 11;

/// The measurements as the seed library writes them: its column names and order, -1 for a missing number.
///
/// The table has no columns for bytes, phases, means and prices. The share is that of the data really read; a work level has
/// columns of its own. As in SageMaker, a run that ran out of memory or found no machine is `Failed`, and one that was stopped
/// at its time limit is `Stopped`.
pub fn write_seed_csv(measurements: &[Measurement]) -> String {
    let has_work =
        (measurements.iter()).any(|run| run.work.is_some() && !run.differs_in_work_alone);
    let count = OF_THE_LIBRARY + if has_work { 2 } else { 0 };
    let rows = measurements.iter().map(|run| {
        let usage = &run.usage;
        let memory = usage.memory.as_ref().and_then(|memory| memory.percent);
        // Where canaries differ in their work alone the share is the work's, which must not count twice.
        let is_level = |_: &f64| !run.differs_in_work_alone;
        let level = |work: Option<f64>| number_or_missing(work.filter(is_level));
        let cells = [
            status(&run.outcome).to_owned(),
            number_or_missing(run.training_seconds.map(|Seconds(seconds)| seconds)),
            run.instance.to_string(),
            String::new(),
            run.job.clone(),
            run.data_share().to_string(),
            percent_or_missing(usage.cpu_percent.as_ref()),
            percent_or_missing(usage.io_wait_percent.as_ref()),
            number_or_missing(memory.map(|Percent(percent)| percent)),
            percent_or_missing(usage.gpu_percent.as_ref()),
            percent_or_missing(usage.gpu_memory_percent.as_ref()),
            level(run.work),
            level(run.work_total),
        ];
        cells[..count].to_vec()
    });
    let header = COLUMNS[..count].iter().copied().map(str::to_owned);
    written([header.collect()].into_iter().chain(rows))
}

/// The text of a CSV file with these rows, which are equally long.
pub fn written(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        let written = writer.write_record(row);
        written.expect("rows are equally long, and memory takes every byte");
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("only text was written")
}

fn status(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "Completed",
        Outcome::Failed { .. }
        | Outcome::OutOfMemory { .. }
        | Outcome::NoCapacity
        | Outcome::PlatformError => "Failed",
        Outcome::TimedOut | Outcome::Stopped => "Stopped",
    }
}

fn number_or_missing(number: Option<f64>) -> String {
    number.unwrap_or(MISSING).to_string()
}

/// The 99th percentile, as the library writes it; the mean if there were too few samples for one.
fn percent_or_missing(utilization: Option<&Utilization>) -> String {
    number_or_missing(utilization.map(|levels| levels.p99.unwrap_or(levels.mean).0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Fraction};

    #[test]
    fn the_table_is_written_with_the_names_and_the_minus_one_of_the_library() {
        let mut run = Measurement {
            bytes: Some(Bytes(3)),
            bytes_total: Some(Bytes(200)),
            training_seconds: Some(Seconds(107.0)),
            ..Measurement::without_figures(
                "churn, \"new\"".to_owned(),
                "ml.m5.2xlarge".parse().unwrap(),
                Fraction(0.01),
                Outcome::out_of_memory(None),
            )
        };
        run.usage.cpu_percent = Some(Utilization {
            mean: Percent(7.5),
            p99: None,
            source: String::new(),
        });
        assert_eq!(
            write_seed_csv(&[run]),
            "\
TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization
Failed,107,ml.m5.2xlarge,,\"churn, \"\"new\"\"\",0.015,7.5,-1,-1,-1,-1
"
        );
    }
}
