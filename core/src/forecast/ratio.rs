//! The **ratio** of the time or memory of two full runs, from two sets of canaries of one job on one configuration.
//!
//! The model, for one run of `x` of the larger full run's data with `q` of the larger full run's work per datum:
//!
//! ```text
//! ln y = ln S + delta [on the new side] + ln(u + (1 - u) f(x) (1 - k + k q)) + e
//! ```
//!
//! with the laws, the priors and the noise of the forecast (`posterior`). Given the law this is two locations with one noise
//! variance, and delta is Student-t. The possibility that the law changed as well is weighed too (`models`). The comparison is
//! between levels, the average of a full run, not between two single full runs.
//!
//! Assumptions:
//!
//! - The base's level and its ratio of change are independent ([`Growth`]): an uncertainty in the base's level, which both sides
//!   share, says little about the ratio.
//! - The canaries of one side ran together and share an effect of their day and machine that their number does not reduce; it is
//!   added for each side, `SESSION_EFFECT_ON_TIME`. If both sides are the same runs, the change is exactly none.
//! - Beyond the largest canary growth drifts away from every law as in the forecast; if both sides have the same form of law they
//!   drift alike, and only the part of one side beyond the other is uncertain.
//! - If bytes or levels of work are unknown on one side, the full runs are assumed to have the same; a note says so.

mod growth;
mod levels;
mod models;
mod sides;
#[cfg(test)]
mod tests;

pub use growth::Growth;
pub use levels::{FullRunLevel, levels};

use super::predictive::Spread;
use super::{Estimate, Predictive, Runs, Unknown, memory, prior, seconds};
use crate::measurement::{self, Measurement};
use crate::metric::MemoryOf;
use crate::units::Fraction;
use models::WeighedRatio;
use sides::{Axis, ComparedValue, Side};

/// The common effect of day and machine on ln y of all canaries of one side: the median over nine workloads of the variation of
/// full runs on one shared machine, 0.03, and a little more, since two machines of one type differ too. The basis is 27 runs on
/// one machine, hence the few degrees of freedom.
const SESSION_EFFECT_ON_TIME: Spread = Spread::new(0.035, 6.0);

/// Peak memory depends little on the day: half its run-to-run noise, and more than that on the allocator and its threads.
const SESSION_EFFECT_ON_MEMORY: Spread = Spread::new(0.01, 6.0);

const TIME: ComparedValue = ComparedValue {
    subject: "time",
    prior: &prior::TIME,
    session_effect: SESSION_EFFECT_ON_TIME,
    value: |run| seconds(run.time()).filter(|time| *time >= f64::MIN_POSITIVE),
};

/// The change of one full run's time or memory, as a ratio of levels: new over base.
#[derive(Debug, Clone)]
pub struct RatioEstimate {
    /// `None` if both sides are the same runs.
    ratio: Option<WeighedRatio>,
    /// Cautions, as sentences.
    pub notes: Vec<String>,
}

/// The factors of the ratio: their product is its median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// More of the data, by the base's law.
    pub data: f64,
    /// More work per datum, by the base's law.
    pub work: f64,
    /// The rest: the factor for the same work on the same data.
    pub rate: f64,
}

impl Factors {
    /// Nothing changed.
    pub const NONE: Self = Self {
        data: 1.0,
        work: 1.0,
        rate: 1.0,
    };

    /// The median of the ratio of the two full runs.
    pub fn total(&self) -> f64 {
        self.data * self.work * self.rate
    }
}

/// The change of the full run's billed time. Only completed runs count, as in a forecast; each side needs as many of them as a
/// forecast does.
pub fn compare(base: &[Measurement], new: &[Measurement]) -> Result<RatioEstimate, Unknown> {
    compare_by(base, new, TIME)
}

/// The change of peak memory, in percent of the host's memory; `base_percent` is what the base's full run needs. Peaks are
/// compared by one source; those that it did not see are left out.
pub fn compare_memory(
    base: &[Measurement],
    new: &[Measurement],
    base_percent: &Predictive,
) -> Result<Growth, Unknown> {
    let mut all: Vec<Measurement> = base.iter().chain(new).cloned().collect();
    // Both sides need it, so it is trusted only where every run has it; else most runs decide.
    let every = all.len();
    measurement::choose_memory_source(&mut all, MemoryOf::Machine, every);
    let (base, new) = all.split_at(base.len());
    let ran_out = |side: &[Measurement]| Runs::choose(side).out_of_memory(MemoryOf::Machine);
    if ran_out(base) || ran_out(new) {
        return Err(Unknown("a canary ran out of memory".to_owned()));
    }
    let by = |value: fn(&Measurement) -> Option<f64>| {
        let memory = ComparedValue {
            subject: "memory",
            prior: &prior::MEMORY,
            session_effect: SESSION_EFFECT_ON_MEMORY,
            value,
        };
        compare_by(base, new, memory)
    };
    let by_percent = || by(|run| memory::peak_percent(MemoryOf::Machine)(run));
    by(|run| memory::peak_bytes(MemoryOf::Machine)(run))
        .or_else(|no_bytes| by_percent().map_err(|_| no_bytes))
        .map(|comparison| comparison.growth(base_percent))
}

fn compare_by(
    base: &[Measurement],
    new: &[Measurement],
    quantity: ComparedValue,
) -> Result<RatioEstimate, Unknown> {
    let (base, new) = (Runs::choose(base), Runs::choose(new));
    let axis = Axis::of(&[&base, &new]);
    let side = |runs: &Runs, name: &str| {
        Side::of(runs, &axis, quantity)
            .map_err(|Unknown(reason)| Unknown(format!("{name}: {reason}")))
    };
    let (of_base, of_new) = (side(&base, "on the base")?, side(&new, "now")?);
    if are_the_same(&base, &new) {
        return Ok(RatioEstimate {
            ratio: None,
            notes: Vec::new(),
        });
    }
    let (of_base, base_squares) = of_base.reweighed(quantity.prior);
    let (of_new, new_squares) = of_new.reweighed(quantity.prior);
    let sides = ([&of_base, &of_new], [base_squares, new_squares]);
    Ok(RatioEstimate {
        ratio: Some(models::weigh(&axis, sides, quantity)),
        notes: axis.notes(&[&base, &new]),
    })
}

/// Whether both sides are the same runs, all of them reused: they belong to the same run of the gate, ended at the same time,
/// and have the same figures.
fn are_the_same(base: &Runs, new: &Runs) -> bool {
    let identity = |run: &&Measurement| {
        let id = (run.run.clone()?, run.ended_at?, run.replicate, run.attempt);
        let figures = [
            Some(run.data_share()),
            Some(run.work_share()),
            run.bytes_total.map(|bytes| bytes.as_f64()),
            run.work_total,
            seconds(run.time()),
            memory::peak_bytes(MemoryOf::Machine)(run),
            memory::peak_percent(MemoryOf::Machine)(run),
        ];
        Some((id, figures.map(|figure| figure.map(f64::to_bits))))
    };
    let identities = |runs: &Runs| {
        let all: Option<Vec<_>> = runs.entered().iter().map(identity).collect();
        let mut all = all?;
        all.sort();
        Some(all)
    };
    identities(base).is_some_and(|base| identities(new) == Some(base))
}

impl RatioEstimate {
    /// The joint distribution of the full run now and on the base; `base` is the distribution there and gives the unit.
    pub fn growth(&self, base: &Predictive) -> Growth {
        let ratio = self.ratio.as_ref();
        let ratios = ratio.map_or(vec![(1.0, 1.0)], |ratio| ratio.total.parts());
        Growth::new(&base.parts(), &ratios)
    }

    /// The new full run over the base's, as the average of each; `None` if both sides are the same runs.
    pub fn of_full_runs(&self) -> Option<&Predictive> {
        self.ratio.as_ref().map(|ratio| &ratio.total)
    }

    /// The change at equal data and work, in percent: code or platform alone.
    pub fn rate_percent(&self, certainty: Fraction) -> Estimate {
        let percent = |p: f64| match &self.ratio {
            Some(ratio) => 100.0 * (ratio.rate.quantile(p) - 1.0),
            None => 0.0,
        };
        Estimate::of_quantiles(percent, certainty)
    }

    /// The factors of the ratio of the two full runs.
    pub fn factors(&self) -> Factors {
        let ratio = self.ratio.as_ref();
        ratio.map_or(Factors::NONE, |ratio| ratio.factors)
    }
}
