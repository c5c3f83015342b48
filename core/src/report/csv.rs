//! The forecasts as the `Projected_*` table of the library this program grew out of
//! (github.com/aws-samples/amazon-sagemaker-predict-training-resource-usage), so that its readers go on working: its
//! columns, in its order and units, then ours. One row for each job and instance configuration.
//!
//! Two differences. A missing number is an empty cell, where that library writes -1: a reader that averages a column
//! would take -1 for a measurement. And `price` is that of the whole configuration, not of one machine of several, so
//! that `Projected_TotalCost` stays time x price.

use super::escape::{NAME_LIMIT, for_spreadsheet};
use super::{InstanceForecast, Report};
use crate::forecast::Estimate;
pub use crate::measurement::table::written;
use crate::metric::Metric;

/// The metrics as the library names them, in its order. Its price stands before the last of them.
const METRICS: [(&str, Metric); 6] = [
    ("Projected_CPUUtilization", Metric::CpuUtilization),
    ("Projected_MemoryUsedPercent", Metric::Memory),
    ("Projected_TrainingTimeInSeconds", Metric::Time),
    ("Projected_GPUUtilization", Metric::GpuUtilization),
    ("Projected_GPUMemoryUtilization", Metric::GpuMemory),
    ("Projected_TotalCost", Metric::Cost),
];

/// The first eight columns are the library's. Times are in seconds, `price` in US dollars per second.
fn header() -> Vec<String> {
    let names = METRICS.map(|(name, _)| name);
    let of = |name| [format!("{name}_lower"), format!("{name}_upper")];
    let ends = names.into_iter().flat_map(of);
    let [first @ .., cost] = names;
    let ours = ["price", cost, "job_name", "verdict", "interval_level"];
    let last = ["Efficiency", "Efficiency_lower", "Efficiency_upper"];
    let points = ["InstanceType"].into_iter().chain(first).chain(ours);
    let points = points.map(str::to_owned).chain(ends);
    points.chain(last.map(str::to_owned)).collect()
}

/// The table, with its header line.
pub fn render(report: &Report) -> String {
    let rows = report.jobs.iter().flat_map(|job| {
        let of_job = job.forecasts.iter();
        of_job.map(|forecast| row(&job.name, forecast))
    });
    written([header()].into_iter().chain(rows))
}

/// The word that JSON has for a value without fields, such as a verdict.
pub fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("it is a word");
    value.as_str().unwrap_or_default().to_owned()
}

fn row(job: &str, forecast: &InstanceForecast) -> Vec<String> {
    let estimates = METRICS.map(|(_, metric)| forecast.estimates[metric]);
    let [cpu, memory, time, .., cost] = estimates;
    let point = |estimate: Option<Estimate>| number(estimate.map(|e| e.point));
    let ends = |estimate: Option<Estimate>| {
        [estimate.map(|e| e.lower), estimate.map(|e| e.upper)].map(number)
    };
    let level = time.or(memory).or(cpu).map(|estimate| estimate.level);
    let mut row = vec![for_spreadsheet(&forecast.instance.to_string(), NAME_LIMIT)];
    row.extend(estimates[..5].iter().copied().map(point));
    row.extend([
        number(forecast.usd_per_hour().map(|all| all.0 / 3600.0)),
        point(cost),
        for_spreadsheet(job, NAME_LIMIT),
        word(&forecast.verdict),
        number(level),
    ]);
    row.extend(estimates.into_iter().flat_map(ends));
    row.push(point(forecast.efficiency));
    row.extend(ends(forecast.efficiency));
    row
}

/// A finite number; else an empty cell.
pub fn number(value: Option<f64>) -> String {
    let value = value.filter(|value| value.is_finite());
    value.map_or(String::new(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn the_table_of_one_job() {
        insta::assert_snapshot!(render(&samples::of("over-budget")));
    }

    #[test]
    fn every_job_and_instance_has_a_row_and_nothing_reads_as_a_formula() {
        let report = samples::of("hostile");
        let table = render(&report);
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        assert_eq!(reader.headers().unwrap(), header().as_slice());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let forecasts: usize = report.jobs.iter().map(|job| job.forecasts.len()).sum();
        assert_eq!(rows.len(), forecasts);
        for row in &rows {
            assert!(!row[8].starts_with(['=', '+', '-', '@']), "{row:?}");
        }
    }

    #[test]
    fn total_cost_is_time_times_price() {
        let table = render(&samples::of("over-budget"));
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        for row in rows.iter().filter(|row| !row[3].is_empty()) {
            let [time, price, cost] = [3, 6, 7].map(|index| row[index].parse::<f64>().unwrap());
            assert!((time * price / cost - 1.0).abs() < 1e-9, "{row:?}");
        }
    }

    /// A share, 1 where each of n machines takes an n-th of the time.
    #[test]
    fn several_machines_have_their_efficiency_behind_all_other_columns() {
        let mut report = samples::of("over-budget");
        report.jobs[0].forecasts[0].efficiency = Some(Estimate {
            point: 0.7,
            lower: 0.55,
            upper: 0.9,
            level: 0.9,
        });
        let table = render(&report);
        let mut rows = table.lines();
        let header = rows.next().unwrap();
        assert!(header.ends_with(",Efficiency,Efficiency_lower,Efficiency_upper"));
        assert!(rows.next().unwrap().ends_with(",0.7,0.55,0.9"));
        assert!(rows.next().unwrap().ends_with(",,,"));
    }
}
