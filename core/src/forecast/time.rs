//! The billed time of a run with a share of the data, by laws of the whole or of each phase.

use super::{Law, Posterior, Predictive, Prior, Quantity, Runs, Unknown, prior, seconds};
use crate::measurement::Measurement;
use crate::units::Seconds;

/// The billed phases may miss the billed time by this share of it, as rounding to seconds makes them do in small canaries.
const PHASES_MISS_AT_MOST: f64 = 0.1;

type Phase = (fn(&Measurement) -> Option<Seconds>, &'static Prior);

/// Training, download, in which the image is pulled, and upload.
const PHASES: [Phase; 3] = [
    (|run| run.phases.training, &prior::TIME_ONCE_STARTED),
    (|run| run.phases.download, &prior::DOWNLOAD),
    (|run| run.phases.upload, &prior::TIME_ONCE_STARTED),
];

/// What the runs say of the billed time and of the phases that grow with the data.
pub(super) struct LawsOfTime {
    whole: Result<Posterior, Unknown>,
    phases: [Option<Posterior>; PHASES.len()],
    /// Which phases add up to the billed time; `None` where one law of the whole is the better guess. One that took no time in any
    /// run, an upload of nothing, adds nothing.
    added: Option<[bool; PHASES.len()]>,
}

impl LawsOfTime {
    pub(super) fn of(runs: &Runs) -> Self {
        let is_there =
            |(phase, _): Phase| !runs.all_have(|run| phase(run).is_some_and(|time| time.0 == 0.0));
        // Runs that were ended at their limit would have taken longer.
        let whole = runs.weigh("time", &prior::TIME, |run| seconds(run.time()));
        Self {
            whole: whole.map(|laws| laws.given_at_least(&runs.lower_bounds())),
            phases: PHASES.map(|(phase, prior)| {
                let weighed = runs.weigh("the phase", prior, |run| seconds(phase(run)));
                weighed.ok()
            }),
            added: runs.all_have(has_billed_phases).then(|| {
                let [_, download, upload] = PHASES.map(is_there);
                [true, download, upload]
            }),
        }
    }

    /// The billed time of a new run with this share of the data and all of the work, and its training, download and upload.
    ///
    /// The time is the sum of the phases where they make up what was billed, each by its own law: a download of every byte and a
    /// training with a fixed part bend the whole in a way that one law does not follow. Their errors are taken to be independent.
    pub(super) fn at(&self, share: f64) -> (Quantity, [Option<Predictive>; PHASES.len()]) {
        let at = |law: &Posterior| law.predict_at(share, 1.0);
        let phases = self.phases.each_ref().map(|law| law.as_ref().map(at));
        let sum = self.added.and_then(|added| {
            let terms = phases.iter().zip(added).filter(|(_, is_added)| *is_added);
            let terms: Option<Vec<Predictive>> = terms.map(|(phase, _)| phase.clone()).collect();
            terms?.into_iter().reduce(|sum, term| sum.plus(&term))
        });
        let time = sum.map_or_else(|| self.whole.as_ref().map(at).map_err(Clone::clone), Ok);
        (time, phases)
    }

    /// What a cold start adds at least, with a chance of 90 %.
    pub(super) fn cold_offset(&self) -> Option<Seconds> {
        self.whole.as_ref().ok()?.cold_offset(0.9).map(Seconds)
    }

    /// The law of the whole.
    pub(super) fn law(&self) -> Option<Law> {
        self.whole.as_ref().ok().map(Posterior::law)
    }
}

/// Whether the run measured every phase that is billed, and they make up its billed time.
fn has_billed_phases(run: &Measurement) -> bool {
    let phases = PHASES.map(|(phase, _)| {
        let time = seconds(phase(run));
        time.filter(|time| time.is_finite() && *time >= 0.0)
    });
    let misses_little = |sum: f64| {
        let is_near = |billed: Seconds| (sum - billed.0).abs() <= PHASES_MISS_AT_MOST * billed.0;
        run.time().is_none_or(is_near)
    };
    let sum = phases.into_iter().sum::<Option<f64>>();
    sum.is_some_and(misses_little)
}
