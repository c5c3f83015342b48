//! The canaries that a design may still run on one configuration, whatever they will give.

use super::PlannedRuns;
use super::design::levels_beside_data;
use crate::canary::CanaryRun;
use crate::forecast::FEWEST_RUNS;
use crate::measurement::{Measurement, Outcome};
use crate::spec::Job;

/// The adaptive design repeats a size only while one of the fewest runs is missing: if the repeat of the larger of two sizes is
/// stopped at its limit, then the smaller.
const MOST_REPEATS: usize = 2;

/// Canaries that may still come on one configuration, those under way among them.
#[derive(Debug, Clone, PartialEq)]
pub struct MayFollow {
    /// Of each, its share of the data and of the full run's work.
    pub shares: Vec<(f64, f64)>,
    /// Repeats that may come besides.
    repeats: usize,
}

impl MayFollow {
    /// None do.
    pub fn nothing() -> Self {
        Self {
            shares: Vec::new(),
            repeats: 0,
        }
    }

    /// After those `measured` on the configuration. Of the adaptive design each size once at each level of work, below the
    /// smallest that was stopped at its limit, and the repeats where the fewest runs of a forecast are not there yet.
    pub fn of(job: &Job, runs: &PlannedRuns, measured: &[Measurement]) -> Self {
        let ends_all =
            |run: &Measurement| !matches!(run.outcome, Outcome::Completed | Outcome::TimedOut);
        match runs {
            PlannedRuns::Fixed(_) if !measured.iter().all(Measurement::is_completed) => {
                Self::nothing()
            }
            PlannedRuns::Fixed(runs) => {
                let is_open = |run: &&CanaryRun| {
                    let work = run.work.as_ref().map(|work| work.level);
                    !measured.iter().any(|one| {
                        (one.fraction, one.replicate, one.work)
                            == (run.fraction, run.replicate, work)
                    })
                };
                let open = runs.iter().filter(is_open);
                Self {
                    shares: open
                        .map(|run| (run.data_share(), run.work_share()))
                        .collect(),
                    repeats: 0,
                }
            }
            PlannedRuns::Ladder(_) if measured.iter().any(ends_all) => Self::nothing(),
            PlannedRuns::Ladder(sizes) => {
                let completed = || measured.iter().filter(|run| run.is_completed());
                let bound = measured
                    .iter()
                    .filter(|run| run.outcome == Outcome::TimedOut)
                    .map(|run| run.fraction.0)
                    .fold(f64::INFINITY, f64::min);
                let levels: Vec<f64> = (levels_beside_data(job).iter())
                    .map(|level| level.as_ref().map_or(1.0, |level| level.level / level.full))
                    .collect();
                let open = || sizes.iter().filter(|size| size.fraction.0 < bound);
                let at_levels =
                    open().flat_map(|size| levels.iter().map(move |work| (size, *work)));
                let is_new = |(size, work): &(&super::LadderSize, f64)| {
                    !completed()
                        .any(|run| run.fraction == size.fraction && run.work_share() == *work)
                };
                Self {
                    shares: at_levels
                        .filter(is_new)
                        .map(|(size, work)| (size.share, work))
                        .collect(),
                    repeats: match completed().count() < FEWEST_RUNS {
                        true => MOST_REPEATS.min(open().count()),
                        false => 0,
                    },
                }
            }
        }
    }

    /// How many these are at most.
    pub fn most(&self) -> usize {
        self.shares.len() + self.repeats
    }
}

#[cfg(test)]
mod tests;
