//! The canary runs that enter the fits, and the reasons why others do not.

use std::collections::BTreeMap;

use super::other_work::{self, Disturbed};
use super::points::{self, Fewest};
use super::posterior::{Observation, Posterior, Prior};
use super::{Quantity, Unknown, seconds};
use crate::measurement::newest_data::NewestData;
use crate::measurement::{Abscissa, Measurement, Outcome, Start, named};
use crate::metric::MemoryOf;
use crate::units::Seconds;

/// The runs that enter the fits, and the others by reason.
pub struct Runs<'a> {
    entered: Vec<&'a Measurement>,
    /// The first run of the series, with cold caches: by its end, else the smallest size's first replicate.
    first: Option<&'a Measurement>,
    /// Those beside which other work of the machine took far more than beside the quietest.
    pub(super) disturbed: Disturbed<'a>,
    /// How many runs a law needs.
    pub(super) fewest: Fewest,
    /// On the runs of other data, which have no part in anything here.
    other_data: Option<String>,
    /// Sorted by reason.
    left_out: Vec<(&'static str, Vec<&'a Measurement>)>,
}

impl<'a> Runs<'a> {
    /// Only completed runs of the newest data enter, with a share of the data, and of the work, in (0, 1].
    pub fn choose(measurements: &'a [Measurement]) -> Self {
        let newest = NewestData::of(&measurements.iter().collect::<Vec<_>>());
        let abscissa = newest.kept.last().map(|run| run.abscissa());
        let mut entered = Vec::new();
        let mut left_out: BTreeMap<&'static str, Vec<&Measurement>> = BTreeMap::new();
        for run in newest.kept.iter().copied() {
            let is_other = Some(run.abscissa()) != abscissa;
            let of_other =
                "varied the data where the newest run varied the work, or the other way round";
            match reason_to_leave_out(run).or(is_other.then_some(of_other)) {
                None => entered.push(run),
                Some(reason) => left_out.entry(reason).or_default().push(run),
            }
        }
        Self {
            first: first_of_series(&newest.kept),
            fewest: Fewest::ForAForecast,
            disturbed: other_work::disturbed(&entered),
            entered,
            other_data: newest.note(),
            left_out: left_out.into_iter().collect(),
        }
    }

    /// The same runs, for a provisional law from as few as one.
    pub(super) fn provisional(mut self) -> Self {
        self.fewest = Fewest::One;
        self
    }

    /// One quantity over the runs that measured it; a value that is negative or not finite counts as not measured. Unknown if no
    /// run entered.
    pub(super) fn measured(
        &self,
        value: impl Fn(&Measurement) -> Option<f64>,
    ) -> Result<Vec<Observation>, Unknown> {
        if self.entered.is_empty() {
            return Err(self.nothing_completed());
        }
        let measured = self.entered.iter().filter_map(|run| {
            let value = value(run).filter(|value| value.is_finite() && *value >= 0.0)?;
            let is_first = self.first.is_some_and(|first| std::ptr::eq(first, *run));
            let mut disturbed = self.disturbed.runs.iter();
            Some(Observation {
                fraction: run.fraction.0,
                is_doubtful: is_first || disturbed.any(|one| std::ptr::eq(*one, *run)),
                is_warm: is_warm(run),
                ..Observation::new(run.data_share(), run.work_share(), value)
            })
        });
        Ok(measured.collect())
    }

    fn nothing_completed(&self) -> Unknown {
        let first = self.timed_out().min_by(|(run, _), (other, _)| {
            let by_size = run.fraction.0.total_cmp(&other.fraction.0);
            by_size.then(run.replicate.cmp(&other.replicate))
        });
        Unknown(match first {
            Some((run, time)) => format!(
                "the {} canary was stopped after {}, its time limit",
                run.fraction,
                Seconds(time)
            ),
            None if self.others().any(|run| run.is_unread()) => {
                "no canary opened a file of its sample".to_owned()
            }
            None => "no canary run completed".to_owned(),
        })
    }

    /// The runs of the newest data that did not enter.
    fn others(&self) -> impl Iterator<Item = &'a Measurement> {
        let others = self.left_out.iter().flat_map(|(_, runs)| runs);
        others.copied()
    }

    /// The runs that were stopped at their time limit, each with its time.
    pub(super) fn timed_out(&self) -> impl Iterator<Item = (&'a Measurement, f64)> {
        self.others()
            .filter(|run| run.outcome == Outcome::TimedOut)
            .filter_map(|run| {
                let time = run.time()?.0;
                (time.is_finite() && time > 0.0).then_some((run, time))
            })
    }

    /// Lower bounds from the runs that were stopped at their time limit: their full values are more.
    pub fn lower_bounds(&self) -> Vec<Observation> {
        self.timed_out()
            .map(|(run, seconds)| Observation::new(run.data_share(), run.work_share(), seconds))
            .filter(|bound| is_part(bound.share) && is_part(bound.work))
            .collect()
    }

    /// The time of the longest canary that was stopped at its limit, a lower bound for the full run.
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

    /// What a run that entered says of something that others need not say.
    pub(super) fn first_said(
        &self,
        said: fn(&'a Measurement) -> &'a Option<String>,
    ) -> Option<&'a str> {
        self.entered.iter().find_map(|run| said(run).as_deref())
    }

    /// Whether a run had too little of this memory.
    pub(super) fn out_of_memory(&self, memory: MemoryOf) -> bool {
        self.others()
            .any(|run| matches!(run.outcome, Outcome::OutOfMemory { of, .. } if of == memory))
    }

    /// The bytes of the whole data; `None` unless every run that entered has the same.
    pub(super) fn full_bytes(&self) -> Option<f64> {
        self.of_all(|run| {
            let bytes = run.bytes_total?.as_f64();
            has_bytes(run).then_some(bytes)
        })
    }

    /// The full run's level of work; `None` unless every run that entered has the same.
    pub(super) fn full_work(&self) -> Option<f64> {
        self.of_all(|run| run.work.and(run.work_total))
    }

    /// What the shares of these runs are of. Runs that differ in data and others that differ in work alone are not mixed.
    pub(super) fn abscissa(&self) -> Abscissa {
        (self.entered.first()).map_or(Abscissa::Data, |run| run.abscissa())
    }

    /// A positive value that all runs that entered have in common.
    fn of_all(&self, value: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        let first = value(self.entered.first()?)?;
        let is_sound = first.is_finite() && first > 0.0;
        (is_sound && self.all_have(|run| value(run) == Some(first))).then_some(first)
    }

    /// The runs that entered, in the order given.
    pub(super) fn entered(&self) -> &[&'a Measurement] {
        &self.entered
    }

    /// A sentence for each reason with its runs, but that of all data which the time `follows`. It does not quote a script's last line,
    /// which is hostile text.
    pub(super) fn left_out(&self, follows: Option<&Measurement>) -> impl Iterator<Item = String> {
        let others = self.left_out.iter().filter_map(move |(reason, runs)| {
            let mut runs = runs.clone();
            runs.retain(|run| !follows.is_some_and(|one| std::ptr::eq(one, *run)));
            let is_any = !runs.is_empty();
            is_any.then(|| format!("left out of the fit: {} {reason}", named(&runs)))
        });
        others.chain(self.other_data.clone())
    }

    /// The run that did most of the full run.
    pub(super) fn largest(&self) -> Option<&'a Measurement> {
        let runs = self.entered.iter().copied();
        runs.max_by(|a, b| a.reach().total_cmp(&b.reach()))
    }
}

/// Whether it is known to have been started on a machine that had run a canary before; else it counts as cold, as the full run.
pub(super) fn is_warm(run: &Measurement) -> bool {
    run.start == Some(Start::Warm)
}

pub(super) fn has_bytes(run: &Measurement) -> bool {
    run.bytes.is_some() && run.bytes_total.is_some_and(|total| total.0 > 0)
}

fn reason_to_leave_out(run: &Measurement) -> Option<&'static str> {
    Some(match run.outcome {
        Outcome::Completed if run.is_unread() => "opened no file of the sample",
        Outcome::Completed if !is_part(run.data_share()) => {
            "held a share of the data that is not between 0 and 100%"
        }
        Outcome::Completed if !is_part(run.work_share()) => {
            "did an amount of work that is not between 0 and that of the full run"
        }
        Outcome::Completed => return None,
        Outcome::Failed { .. } => "failed",
        Outcome::OutOfMemory { of, .. } => of.pick("ran out of memory", "ran out of GPU memory"),
        Outcome::TimedOut if run.ended_early => "is the full run, begun and ended early",
        Outcome::TimedOut => "timed out, and gave only a lower bound of the time",
        Outcome::Stopped => "stopped before the end",
        Outcome::NoCapacity => "found no capacity",
        Outcome::PlatformError => "ended with an error of the platform",
    })
}

fn is_part(part: f64) -> bool {
    part > 0.0 && part <= 1.0
}

/// The run that ended first if every run has its end, else the first replicate of the smallest size, with which designs start.
fn first_of_series<'a>(measurements: &[&'a Measurement]) -> Option<&'a Measurement> {
    let times_are_known = measurements.iter().all(|run| run.ended_at.is_some());
    let ended = |run: &Measurement| run.ended_at.filter(|_| times_are_known);
    let time = |run: &Measurement| run.time().map_or(0.0, |time| time.0);
    measurements.iter().copied().min_by(|a, b| {
        (ended(a).cmp(&ended(b)))
            .then(a.fraction.0.total_cmp(&b.fraction.0))
            .then(a.replicate.cmp(&b.replicate))
            // If these are equal, the slower run had cold caches; the rest only makes the order total.
            .then(time(b).total_cmp(&time(a)))
            .then(a.data_share().total_cmp(&b.data_share()))
            .then(a.work_share().total_cmp(&b.work_share()))
    })
}

impl Runs<'_> {
    /// The laws of a quantity that grows with the data.
    pub fn weigh(
        &self,
        subject: &str,
        prior: &Prior,
        value: impl Fn(&Measurement) -> Option<f64>,
    ) -> Result<Posterior, Unknown> {
        let points = self.measured(value)?;
        points::check(&points, subject, self.fewest)?;
        Ok(Posterior::fit(&points::observations(&points, prior), prior))
    }

    /// The least that passed before the script in a run, where packages are installed first.
    pub(super) fn installs(&self) -> Option<Seconds> {
        let points = self.measured(|run| seconds(run.installs_seconds)).ok()?;
        let times = points.iter().map(|point| point.value);
        times.reduce(f64::min).map(Seconds)
    }

    /// A quantity that does not grow with the data, by a law of `level`.
    pub(super) fn level(
        &self,
        law: fn(&[Observation], &str) -> Quantity,
        subject: &str,
        value: impl Fn(&Measurement) -> Option<f64>,
    ) -> Quantity {
        law(&self.measured(value)?, subject)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ended, run};
    use super::*;

    fn ended_at(mut run: Measurement, minute: i64) -> Measurement {
        run.ended_at = Some(jiff::Timestamp::from_second(60 * minute).unwrap());
        run
    }

    fn replicate(mut run: Measurement, replicate: u32) -> Measurement {
        run.replicate = replicate;
        run
    }

    /// The values of the points that count as the first of their series.
    fn first(measurements: &[Measurement]) -> Vec<f64> {
        Runs::choose(measurements)
            .measured(|run| run.training_seconds.map(|time| time.0))
            .unwrap()
            .iter()
            .filter(|point| point.is_doubtful)
            .map(|point| point.value)
            .collect()
    }

    #[test]
    fn the_first_of_a_series_found_the_caches_cold() {
        for (runs, expected) in [
            // The run that ended first; one that does not enter leaves the others warm.
            (
                vec![ended_at(run(1.0, 10.0), 9), ended_at(run(5.0, 50.0), 3)],
                &[50.0][..],
            ),
            (
                vec![
                    ended_at(ended(run(1.0, 10.0), Outcome::Stopped), 1),
                    ended_at(run(2.0, 20.0), 2),
                ],
                &[],
            ),
            // Where a run does not say when it ended, the smallest size's first replicate.
            (
                vec![
                    ended_at(run(2.0, 20.0), 1),
                    replicate(run(1.0, 11.0), 1),
                    replicate(run(1.0, 10.0), 0),
                ],
                &[10.0],
            ),
            // Of two equal runs the slower one.
            (
                vec![run(2.0, 20.0), run(1.0, 14.0), run(1.0, 10.0)],
                &[14.0],
            ),
        ] {
            assert_eq!(first(&runs), expected);
            let turned: Vec<Measurement> = runs.into_iter().rev().collect();
            assert_eq!(first(&turned), expected);
        }
    }

    #[test]
    fn a_part_of_the_work_that_is_none_is_left_out_and_a_part_is_kept() {
        let with_work = |work: f64| {
            let mut run = run(1.0, 10.0);
            (run.work, run.work_total) = (Some(work), Some(50.0));
            run
        };
        let measurements: Vec<Measurement> = [5.0, 50.0, 0.0, -5.0, 51.0, f64::NAN]
            .map(with_work)
            .to_vec();
        let runs = Runs::choose(&measurements);
        let shares: Vec<f64> = runs
            .measured(|_| Some(1.0))
            .unwrap()
            .iter()
            .map(|point| point.work)
            .collect();
        assert_eq!(shares, [0.1, 1.0]);
        assert_eq!(
            runs.left_out(None).collect::<Vec<_>>(),
            [
                "left out of the fit: 1% #1, 1% #1, 1% #1 and 1% #1 did an amount of work that is not between 0 and that of the full run"
            ]
        );
    }
}
