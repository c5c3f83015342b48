//! A forecast beside what the full run really took, as `actuals` prints it.

use std::fmt;

use jiff::Timestamp;

use super::document::{Cell, Table, Title};
use super::escape::for_terminal;
use super::{InstanceForecast, Prose, terminal};
use crate::forecast::Estimate;
use crate::instance::Offer;
use crate::measurement::{Measurement, PeakMemory, Utilization};
use crate::metric::Metric;
use crate::spec::Job;
use crate::units::Bytes;

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
        match self.actual.is_completed() {
            true => f.write_str(&terminal::table(&self.table())),
            false => Ok(()),
        }
    }
}

impl ForecastAndActual<'_> {
    /// A row for each quantity that was forecast and measured.
    fn table(&self) -> Table {
        let rows = Metric::ALL.into_iter().filter_map(|metric| {
            let (estimate, actual) = (self.forecast.estimates[metric]?, self.measured(metric)?);
            let side = side(&estimate, actual);
            let compared = match actual / estimate.point {
                ratio if ratio.is_finite() => format!("{ratio:.2}, {side}"),
                _ => side.to_owned(),
            };
            let figure = |value| Cell::figure(metric.unit().figure(value), None);
            Some(vec![
                Cell::from(Prose::own(metric.words())),
                figure(estimate.point),
                Cell::figure(metric.unit().interval(&estimate).unwrap_or_default(), None),
                figure(actual),
                Cell::from(Prose::literal(compared)),
            ])
        });
        let titles = ["", "Forecast", "Interval", "Actual", "Actual / forecast"];
        Table::of(titles.map(Title::Words), rows)
    }

    /// In the unit of the metric's estimate. A peak is shown once, in bytes.
    fn measured(&self, metric: Metric) -> Option<f64> {
        let actual = self.actual;
        let usage = &actual.usage;
        let bytes = |peak: &Option<PeakMemory>| Some(Bytes::as_f64(peak.as_ref()?.bytes?));
        let mean = |load: &Option<Utilization>| Some(load.as_ref()?.mean.0);
        match metric {
            Metric::Time => Some(actual.training_seconds?.0),
            Metric::Cost => Some(actual.cost?.0),
            Metric::MemoryBytes => bytes(&usage.memory),
            Metric::GpuMemoryBytes => bytes(&usage.gpu_memory),
            Metric::CpuUtilization => mean(&usage.cpu_percent),
            Metric::GpuUtilization => mean(&usage.gpu_percent),
            Metric::StepTime => Some(actual.step_seconds?.0),
            Metric::CostPerStep => Some(self.offer.cost(actual.step_seconds?)?.0),
            // Times as much as nearly nothing says nothing.
            Metric::Memory | Metric::GpuMemory | Metric::IoWait => None,
        }
    }
}

fn side(estimate: &Estimate, actual: f64) -> &'static str {
    match actual {
        _ if actual < estimate.lower => "below the interval",
        _ if actual > estimate.upper => "above the interval",
        _ => "inside the interval",
    }
}
