//! Which canary runs enter the fits, and what a reader must know about those that do not.

use std::collections::BTreeMap;

use super::Unknown;
use super::line::Point;
use crate::measurement::{Measurement, Outcome, Usage, Utilization};
use crate::units::{Bytes, Seconds};

/// Runs named one by one in a note; the others are counted.
const NAMED_RUNS: usize = 6;

/// The runs that enter, and those that do not by reason.
pub(super) struct Runs<'a> {
    entered: Vec<&'a Measurement>,
    /// Sorted by reason.
    left_out: Vec<(&'static str, Vec<&'a Measurement>)>,
}

impl<'a> Runs<'a> {
    /// Only completed runs of the full run's work enter, with a share of the data in (0, 1].
    pub(super) fn choose(measurements: &'a [Measurement]) -> Self {
        let mut entered = Vec::new();
        let mut left_out: BTreeMap<&'static str, Vec<&Measurement>> = BTreeMap::new();
        for run in measurements {
            match reason_to_leave_out(run) {
                None => entered.push(run),
                Some(reason) => left_out.entry(reason).or_default().push(run),
            }
        }
        Self {
            entered,
            left_out: left_out.into_iter().collect(),
        }
    }

    /// One quantity over the runs that measured it; a value that is not finite or is negative counts as not measured.
    /// Unknown where no run entered at all.
    pub(super) fn measured(
        &self,
        value: impl Fn(&Measurement) -> Option<f64>,
    ) -> Result<Vec<Point>, Unknown> {
        if self.entered.is_empty() {
            return Err(self.nothing_completed());
        }
        Ok(self
            .entered
            .iter()
            .filter_map(|run| {
                let value = value(run).filter(|value| value.is_finite() && *value >= 0.0)?;
                Some(Point {
                    share: run.data_share(),
                    fraction: run.fraction.0,
                    value,
                })
            })
            .collect())
    }

    fn nothing_completed(&self) -> Unknown {
        let first = self.timed_out().min_by(|(run, _), (other, _)| {
            run.fraction
                .0
                .total_cmp(&other.fraction.0)
                .then(run.replicate.cmp(&other.replicate))
        });
        Unknown(match first {
            Some((run, time)) => format!(
                "the {} canary was ended after {}, its limit (canary.max_runtime)",
                run.fraction,
                Seconds(time)
            ),
            None => "no canary run completed".to_owned(),
        })
    }

    /// The runs that were ended at their time limit, each with how long it had run.
    fn timed_out(&self) -> impl Iterator<Item = (&'a Measurement, f64)> {
        self.left_out
            .iter()
            .flat_map(|(_, runs)| runs)
            .filter(|run| run.outcome == Outcome::TimedOut)
            .filter_map(|run| {
                let time = run.training_seconds.or(run.billable_seconds)?.0;
                (time.is_finite() && time > 0.0).then_some((*run, time))
            })
    }

    /// A full run takes at least as long as the longest canary that was ended at its limit.
    pub(super) fn time_at_least(&self) -> Option<f64> {
        self.timed_out()
            .filter(|(run, _)| run.data_share() <= 1.0)
            .map(|(_, time)| time)
            .max_by(f64::total_cmp)
    }

    /// Whether every run that entered has the value.
    pub(super) fn all_have(&self, has: impl Fn(&Measurement) -> bool) -> bool {
        self.entered.iter().all(|run| has(run))
    }

    /// The levels whose only figure is a 99th percentile.
    pub(super) fn percentiles(&self) -> Vec<&'static str> {
        let usage = |level: fn(&Usage) -> &Option<Utilization>| {
            self.entered
                .iter()
                .filter_map(move |run| level(&run.usage).as_ref())
                .any(Utilization::is_percentile)
        };
        [
            ("CPU utilization", usage(|usage| &usage.cpu_percent)),
            ("GPU utilization", usage(|usage| &usage.gpu_percent)),
            ("I/O wait", usage(|usage| &usage.io_wait_percent)),
        ]
        .into_iter()
        .filter(|(_, is_percentile)| *is_percentile)
        .map(|(name, _)| name)
        .collect()
    }

    pub(super) fn out_of_memory(&self) -> bool {
        self.left_out
            .iter()
            .flat_map(|(_, runs)| runs)
            .any(|run| matches!(run.outcome, Outcome::OutOfMemory { .. }))
    }

    /// How many runs have only the fraction asked for as their share of the data.
    pub(super) fn without_bytes(&self) -> usize {
        self.entered.iter().filter(|run| !has_bytes(run)).count()
    }

    /// For each reason a sentence with the runs it concerns, in our own words: a script's last line is hostile text.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out
            .iter()
            .map(|(reason, runs)| format!("left out of the fit: {} {reason}", named(runs)))
    }

    pub(super) fn largest_share(&self) -> Option<f64> {
        self.entered
            .iter()
            .map(|run| run.data_share())
            .max_by(f64::total_cmp)
    }

    /// The highest bound of a memory spike between two samples, where it is above the peak that was seen.
    pub(super) fn unseen_memory(&self) -> Option<Bytes> {
        self.entered
            .iter()
            .filter_map(|run| run.usage.memory.as_ref())
            .filter(|memory| memory.upper_bound > memory.bytes)
            .filter_map(|memory| memory.upper_bound)
            .max()
    }
}

fn has_bytes(run: &Measurement) -> bool {
    run.bytes.is_some() && run.bytes_total.is_some_and(|total| total.0 > 0)
}

fn reason_to_leave_out(run: &Measurement) -> Option<&'static str> {
    match run.outcome {
        Outcome::Completed => {}
        Outcome::Failed { .. } => return Some("failed"),
        Outcome::OutOfMemory { .. } => return Some("ran out of memory"),
        Outcome::TimedOut => return Some("timed out, a lower bound of the time only"),
        Outcome::Stopped => return Some("stopped before the end"),
        Outcome::NoCapacity => return Some("found no capacity"),
    }
    let share = run.data_share();
    if !(share > 0.0 && share <= 1.0) {
        return Some("held a share of the data that is not between 0 and 100%");
    }
    if run.work.is_some() && run.work_total.is_some() && run.work != run.work_total {
        return Some("did less work per datum than the full run");
    }
    None
}

/// `3.0% #2 and 5.0% #1`; only the first few by name.
fn named(runs: &[&Measurement]) -> String {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| {
        a.fraction
            .0
            .total_cmp(&b.fraction.0)
            .then(a.replicate.cmp(&b.replicate))
    });
    let mut names: Vec<String> = runs
        .iter()
        .take(NAMED_RUNS)
        .map(|run| format!("{} #{}", run.fraction, run.replicate.saturating_add(1)))
        .collect();
    if runs.len() > NAMED_RUNS {
        names.push(format!("{} more", runs.len() - NAMED_RUNS));
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
