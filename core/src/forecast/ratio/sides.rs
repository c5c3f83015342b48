//! The sides of a comparison on **one axis**: shares of the larger full run's data, and of the larger full run's work.

use super::super::posterior::{Observation, Posterior, Prior, in_order};
use super::super::predictive::Spread;
use super::super::runs::Runs;
use super::super::{Unknown, points};
use crate::measurement::{Abscissa, Measurement};

/// Full runs that differ by more than this factor are not compared.
const FARTHEST: f64 = 1e9;

/// What is compared.
#[derive(Clone, Copy)]
pub(super) struct ComparedValue {
    /// `time`, `memory`.
    pub(super) subject: &'static str,
    pub(super) prior: &'static Prior,
    /// The common effect of day and machine on all canaries of one side.
    pub(super) session_effect: Spread,
    pub(super) value: fn(&Measurement) -> Option<f64>,
}

/// A point on the common axis: shares of the larger full run's data and of its work per datum, each in (0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AxisPoint {
    pub(super) share: f64,
    pub(super) work: f64,
}

/// The runs of one side on the common axis.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// At least one, in a fixed order.
    pub(super) observations: Vec<Observation>,
    /// Its full run.
    pub(super) full: AxisPoint,
    /// The most data and the most work of any of its runs.
    pub(super) reach: AxisPoint,
}

impl Side {
    /// Enough runs for a law of their own, or why not.
    pub(super) fn of(runs: &Runs, axis: &Axis, quantity: ComparedValue) -> Result<Self, Unknown> {
        let measured = runs.measured(quantity.value)?;
        points::check(&measured, quantity.subject, runs.fewest)?;
        let full = axis.full(runs)?;
        let observations: Vec<Observation> = points::observations(&measured, quantity.prior)
            .into_iter()
            .map(|run| Observation {
                share: run.share * full.share,
                work: run.work * full.work,
                ..run
            })
            .collect();
        let most =
            |part: fn(&Observation) -> f64| observations.iter().map(part).fold(0.0, f64::max);
        Ok(Self {
            full,
            reach: AxisPoint {
                share: most(|run| run.share),
                work: most(|run| run.work),
            },
            observations: in_order(&observations),
        })
    }

    /// The side with less weight for runs far from its own law, and the squares of the residuals from the closest law.
    pub(super) fn reweighed(mut self, prior: &Prior) -> (Self, f64) {
        let (posterior, observations) = Posterior::fit_and_reweigh(&self.observations, prior);
        self.observations = observations;
        (self, posterior.least_squares())
    }
}

/// The larger full run of all sides.
pub(super) struct Axis {
    /// What shares are of on every side; `None` if they differ.
    pub(super) abscissa: Option<Abscissa>,
    /// `None` if a side's bytes are unknown: the data of all sides is then assumed to be equally large.
    bytes: Option<f64>,
    /// `None` if a side's levels of work are unknown: every full run is then assumed to do the same work.
    work: Option<f64>,
}

impl Axis {
    pub(super) fn of(sides: &[&Runs]) -> Self {
        let largest = |full: fn(&Runs) -> Option<f64>| {
            let all: Option<Vec<f64>> = sides.iter().map(|side| full(side)).collect();
            all?.into_iter().max_by(f64::total_cmp)
        };
        let abscissae = || sides.iter().map(|side| side.abscissa());
        Self {
            abscissa: (abscissae().min()).filter(|one| abscissae().all(|other| other == *one)),
            bytes: largest(|side| side.full_bytes()),
            work: largest(|side| side.full_work()),
        }
    }

    fn full(&self, runs: &Runs) -> Result<AxisPoint, Unknown> {
        let part = |full: Option<f64>, largest: Option<f64>| match (full, largest) {
            (Some(full), Some(largest)) => full / largest,
            _ => 1.0,
        };
        let work = part(runs.full_work(), self.work);
        let (share, work) = match self.abscissa {
            Some(Abscissa::Data) => (part(runs.full_bytes(), self.bytes), work),
            Some(Abscissa::Work) => (work, 1.0),
            None => (1.0, 1.0),
        };
        let full = AxisPoint { share, work };
        if full.share * FARTHEST < 1.0 || full.work * FARTHEST < 1.0 {
            return Err(Unknown(
                "the two full runs are too far apart in their data or their work to be compared"
                    .to_owned(),
            ));
        }
        Ok(full)
    }

    /// Assumptions, as sentences.
    pub(super) fn notes(&self, sides: &[&Runs]) -> Vec<String> {
        let is_work_unknown = self.work.is_none() && self.abscissa.is_some();
        let notes = [
            (
                self.abscissa.is_none(),
                "on one side canaries differ in their data, on the other in their work alone; the full run is assumed to be as large as on the base",
            ),
            (
                self.bytes.is_none() && self.abscissa == Some(Abscissa::Data),
                "the bytes of the data are unknown on one side; the data is assumed to be as large as on the base",
            ),
            (
                is_work_unknown
                    && (sides.iter().flat_map(|side| side.entered()))
                        .any(|run| run.work_total.is_some()),
                "the levels of work are unknown on one side; the full run is assumed to do the same work as on the base",
            ),
            (
                (sides.iter().flat_map(|side| side.timed_out())).any(|(run, _)| !run.ended_early),
                "runs that were stopped at their time limit are left out of the comparison with the base",
            ),
        ];
        let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
        notes.map(|(_, note)| note.to_owned()).collect()
    }
}
