//! A forecast beside what the full run really took, as `actuals` prints it.

use std::fmt;

use jiff::Timestamp;

use super::escape::for_terminal;
use super::{InstanceForecast, words};
use crate::forecast::Estimate;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::spec::Job;
use crate::units::{Bytes, Percent, Seconds, Usd};

/// A longer last line of a failed run is cut, in characters.
const LONGEST_LINE: usize = 2000;

/// One full run of a job and the forecast that was made of it.
#[derive(Debug, Clone, Copy)]
pub struct ForecastAndActual<'a> {
    pub job: &'a Job,
    /// The job's instance, with its price.
    pub offer: &'a Offer,
    pub made_at: Timestamp,
    pub forecast: &'a InstanceForecast,
    pub actual: &'a Measurement,
}

impl fmt::Display for ForecastAndActual<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, instance) = (&self.job.name, &self.job.instance);
        let (outcome, made_at) = (&self.actual.outcome, self.made_at);
        writeln!(
            f,
            "{name} · full run on {instance}: {outcome} · forecast of {made_at:.0}"
        )?;
        if let Some(line) = self.actual.outcome.last_line() {
            writeln!(f, "  last line  {}", for_terminal(line, LONGEST_LINE))?;
        }
        if let Some(way_out) = &self.actual.way_out {
            writeln!(f, "  what to do {}", for_terminal(way_out, LONGEST_LINE))?;
        }
        if !self.actual.is_completed() {
            return Ok(());
        }
        for line in self.table().lines() {
            writeln!(f, " {}", line.trim_end())?;
        }
        Ok(())
    }
}

impl ForecastAndActual<'_> {
    fn table(&self) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table
            .force_no_tty()
            .load_style(comfy_table::presets::NOTHING)
            .set_header(["", "Forecast", "Interval", "Actual", "Actual / forecast"]);
        for row in self.rows() {
            let (Some(estimate), Some(actual)) = (row.estimate, row.actual) else {
                continue;
            };
            let shown = row.shown;
            let Estimate {
                point,
                lower,
                upper,
                ..
            } = *estimate;
            table.add_row([
                row.name.to_owned(),
                shown(point),
                format!("{}–{}", shown(lower), shown(upper)),
                shown(actual),
                format!("{:.2}, {}", actual / point, side(estimate, actual)),
            ]);
        }
        table
    }

    fn rows(&self) -> [Row<'_>; 6] {
        let (estimates, actual) = (&self.forecast.estimates, self.actual);
        let memory = actual.usage.memory.as_ref();
        let cpu = actual.usage.cpu_percent.as_ref();
        let step = actual.step_seconds;
        let row = |name, metric, actual, shown| Row {
            name,
            estimate: estimates[metric].as_ref(),
            actual,
            shown,
        };
        [
            row(
                "time",
                Metric::Time,
                actual.training_seconds.map(|time| time.0),
                |value| Seconds(value).to_string(),
            ),
            row(
                "cost",
                Metric::Cost,
                actual.cost.map(|cost| cost.0),
                |value| Usd(value).to_string(),
            ),
            row(
                "memory",
                Metric::MemoryBytes,
                memory.and_then(|memory| memory.bytes).map(Bytes::as_f64),
                |value| Bytes::from_f64(value).to_string(),
            ),
            row(
                "CPU",
                Metric::CpuUtilization,
                cpu.map(|cpu| cpu.mean.0),
                |value| Percent(value).to_string(),
            ),
            row("step", Metric::StepTime, step.map(|time| time.0), |value| {
                words::Quantity::StepTime.figure(value)
            }),
            row(
                "cost per step",
                Metric::CostPerStep,
                step.and_then(|time| self.offer.cost(time))
                    .map(|cost| cost.0),
                |value| Usd(value).to_string(),
            ),
        ]
    }
}

/// A quantity, its estimate, what it really was, and how it is shown.
struct Row<'a> {
    name: &'static str,
    estimate: Option<&'a Estimate>,
    actual: Option<f64>,
    shown: fn(f64) -> String,
}

fn side(estimate: &Estimate, actual: f64) -> &'static str {
    if actual < estimate.lower {
        "below the interval"
    } else if actual > estimate.upper {
        "above the interval"
    } else {
        "inside the interval"
    }
}
