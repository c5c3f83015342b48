//! [`PrintedFigures`]: what a run's output says of its steps and of the metrics that budget lines name.

use std::collections::BTreeMap;

use super::levels::{self, PrintedLevel};
use super::steps::{self, Printed, Sought};
use crate::metric::MetricName;
use crate::units::Seconds;

/// What the output of one run says.
#[derive(Debug, Default)]
pub struct PrintedFigures {
    pub step_seconds: Option<Seconds>,
    pub metrics: BTreeMap<MetricName, PrintedLevel>,
    /// Of a completed run, why a figure is missing or in doubt.
    pub notes: Vec<String>,
}

impl PrintedFigures {
    /// From the streams of its hosts. A run that broke off may have printed nothing yet, so nothing is said to be missing.
    pub fn of_run(sought: &Sought<'_>, printed: &[&[Printed; 2]], is_completed: bool) -> Self {
        let (metrics, of_levels) = levels::of_run(sought.levels, &steps::levels_of(printed));
        let step = sought.step.map(|metric| steps::of_run(metric, printed));
        let (step_seconds, of_step) = match step {
            Some(Ok(seconds)) => (Some(seconds), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let notes = of_step.into_iter().chain(of_levels);
        Self {
            step_seconds,
            metrics,
            notes: notes.filter(|_| is_completed).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PrintedMetric;

    #[test]
    fn a_run_that_broke_off_is_not_said_to_lack_what_it_prints() {
        let step = PrintedMetric::new("step_time", "step ([0-9.]+) s").unwrap();
        let levels = [PrintedMetric::new("tokens_per_second", "tok/s ([0-9.]+)").unwrap()];
        let sought = Sought {
            step: Some(&step),
            levels: &levels,
        };
        let nothing = <[Printed; 2]>::default();
        let notes = |is_completed| {
            let figures = PrintedFigures::of_run(&sought, &[&nothing], is_completed);
            figures.notes.len()
        };
        assert_eq!((notes(true), notes(false)), (2, 0));
    }
}
