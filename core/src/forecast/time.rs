//! The billed time of a run with a share of the data, by laws of the whole or of each phase.

use super::posterior::{Posterior, Prior};
use super::runs::Runs;
use super::{Law, Predictive, Quantity, Unknown, prior, seconds};
use crate::measurement::Measurement;
use crate::units::Seconds;

/// The billed phases may miss the billed time by this share of it, as rounding to seconds makes them do in small canaries.
const PHASES_MISS_AT_MOST: f64 = 0.1;

/// What the runs say of the billed time and of the phases that grow with the data.
pub(super) struct LawsOfTime {
    whole: Result<Posterior, Unknown>,
    download: Option<Posterior>,
    training: Option<Posterior>,
    upload: Option<Posterior>,
    /// Which phases add up to the billed time; `None` where one law of the whole is the better guess.
    sum: Option<PhasesOfSum>,
}

/// A phase that took no time in any run, an upload of nothing, adds nothing.
struct PhasesOfSum {
    has_download: bool,
    has_upload: bool,
}

/// The same at one share of the data.
pub(super) struct AtAShare {
    pub(super) download: Option<Predictive>,
    pub(super) training: Option<Predictive>,
    pub(super) upload: Option<Predictive>,
    /// The sum of the phases where they make up what was billed, else the whole.
    pub(super) time: Quantity,
}

impl LawsOfTime {
    pub(super) fn of(runs: &Runs) -> Self {
        let phase = |phase: fn(&Measurement) -> Option<Seconds>, prior: &Prior| {
            let weighed = runs.weigh("the phase", prior, |run| seconds(phase(run)));
            weighed.ok()
        };
        let zero_in_all = |phase: fn(&Measurement) -> Option<Seconds>| {
            runs.all_have(|run| phase(run).is_some_and(|time| time.0 == 0.0))
        };
        Self {
            whole: whole(runs),
            // The image is pulled in it.
            download: phase(|run| run.phases.download, &prior::TIME),
            training: phase(|run| run.phases.training, &prior::TIME_ONCE_STARTED),
            upload: phase(|run| run.phases.upload, &prior::TIME_ONCE_STARTED),
            sum: runs.all_have(has_billed_phases).then(|| PhasesOfSum {
                has_download: !zero_in_all(|run| run.phases.download),
                has_upload: !zero_in_all(|run| run.phases.upload),
            }),
        }
    }

    /// Of a new run with this share of the data and all of the work.
    pub(super) fn at(&self, share: f64) -> AtAShare {
        let of = |phase: &Option<Posterior>| Some(phase.as_ref()?.predict_at(share, 1.0));
        let (download, training, upload) =
            (of(&self.download), of(&self.training), of(&self.upload));
        let whole = (self.whole.as_ref())
            .map(|posterior| posterior.predict_at(share, 1.0))
            .map_err(Clone::clone);
        let sum = self.sum_of(&download, &training, &upload);
        AtAShare {
            time: sum.map_or(whole, Ok),
            download,
            training,
            upload,
        }
    }

    /// The law of the whole.
    pub(super) fn law(&self) -> Option<Law> {
        self.whole.as_ref().ok().map(Posterior::law)
    }

    /// The billed time as the sum of download, training and upload, each by its own law: a download of every byte and a
    /// training with a fixed part bend the whole in a way that one law does not follow.
    ///
    /// Their errors are taken to be independent. `None` unless every run that entered measured all three, and they make up what
    /// was billed.
    fn sum_of(
        &self,
        download: &Option<Predictive>,
        training: &Option<Predictive>,
        upload: &Option<Predictive>,
    ) -> Option<Predictive> {
        let phases = self.sum.as_ref()?;
        let mut terms = vec![training.clone()?];
        if phases.has_download {
            terms.push(download.clone()?);
        }
        if phases.has_upload {
            terms.push(upload.clone()?);
        }
        Predictive::sum(&terms)
    }
}

/// The billed time, given that runs which were ended at their limit would have taken longer.
fn whole(runs: &Runs) -> Result<Posterior, Unknown> {
    let posterior = runs.weigh("time", &prior::TIME, |run| seconds(run.time()))?;
    Ok(posterior.given_at_least(&runs.lower_bounds()))
}

/// Whether the run measured every phase that is billed, and they make up its billed time.
fn has_billed_phases(run: &Measurement) -> bool {
    let phases = [run.phases.download, run.phases.training, run.phases.upload];
    let Some(sum) = phases
        .into_iter()
        .map(|phase| seconds(phase).filter(|time| time.is_finite() && *time >= 0.0))
        .sum::<Option<f64>>()
    else {
        return false;
    };
    run.time()
        .is_none_or(|billed| (sum - billed.0).abs() <= PHASES_MISS_AT_MOST * billed.0)
}
