//! The **forecast**: from measurements of small runs to a predictive distribution of one new full run.
//!
//! Pure and deterministic. The door is [`forecast`]: measurements of one job on one instance configuration go in, a
//! [`Forecast`] comes out whose every quantity is a [`Predictive`] distribution or says why there is none.
//! An interval here is a prediction interval: it holds one new full run, not the mean of many.
//!
//! Time and memory grow with the bytes of the data by a law that is weighed and not assumed (`law`, `posterior`), time phase
//! by phase where the phases were measured, utilization is a level (`level`), and everything else follows from these. That
//! the laws hold beyond the largest canary is an assumption: [`Forecast::notes`] says so, and the interval carries it
//! (`prior`).

mod by_share;
mod doubt;
mod estimate;
mod law;
mod level;
mod memory;
mod next_canary;
mod no_growth;
mod notes;
mod other_work;
mod points;
mod posterior;
mod predictive;
mod printed;
mod prior;
mod progress;
#[cfg(test)]
#[path = "../../benches/coverage/random.rs"]
pub(crate) mod random;
pub mod ratio;
mod runs;
pub mod scale_out;
#[cfg(test)]
pub(crate) mod tests;
mod time;
#[doc(hidden)]
pub mod trial;

pub use by_share::{EstimateAtShare, time_by_share};
pub use doubt::Doubt;
pub use estimate::Estimate;
pub use law::{Law, Laws, Shape};
pub use next_canary::{CanaryTime, supposed};
pub use other_work::BusyMachine;
pub use points::{FEWEST_RUNS, FEWEST_SIZES};
pub use predictive::Predictive;
pub use printed::LevelForecast;
pub use progress::worth_beginning;

use std::collections::BTreeMap;
use std::ops::Index;

use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{Measurement, Usage, Utilization};
use crate::metric::{MemoryOf, Metric, MetricName, PerMetric};
use crate::spec::{Bound, StatedGrowth};
use crate::units::{Fraction, Seconds, count_as_float};
use law::GrowthKind;
use posterior::{Posterior, Prior};
use progress::ByProgress;
use runs::Runs;
use time::LawsOfTime;

/// What an estimated price adds: in 90 of 100 cases it lies within this share of the true one.
pub const PRICE_ESTIMATE_SHARE: f64 = 0.15;

/// A largest canary with less of the data is far from the full run.
const ROUGH: f64 = 0.05;
/// The same where much of the time does not grow.
const ROUGH_IF_FIXED: f64 = 0.2;
/// Time is mostly fixed if more than this part of it is there without data, in the largest canary.
const MOSTLY_FIXED: f64 = 0.5;
/// So much as without data the largest canary may take and count as one that does not grow.
const FLAT: f64 = 1.1;
/// The probability of the upper end of a distribution.
const UPPER: f64 = 0.95;
/// Where steeper laws matter theirs lies so many times as far.
const FAR_BEYOND: f64 = 2.0;

/// The shares of the objects and of the bytes that a sample holds differ by more than this factor only if it is unlike the rest.
const UNLIKE: f64 = 2.0;

/// What a forecast is made from.
#[derive(Debug, Clone, Copy)]
pub struct Basis<'a> {
    /// The machines of the full run. Without their capacity percentages of memory are unknown, without a price of each the
    /// cost is.
    pub offer: &'a Offer,
    /// All runs of this job on this configuration, in any order; those not completed and those of older data are left out and
    /// noted.
    pub measurements: &'a [Measurement],
}

/// A quantity's distribution, or why there is none.
pub type Quantity = Result<Predictive, Unknown>;

/// Why a quantity has no distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(pub String);

/// What the full run will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// In the unit of the metric; `Err` where nothing was measured, and of what needs a price without one.
    pub quantities: PerMetric<Quantity>,
    /// Of what the script prints, where a run has it.
    pub levels: BTreeMap<MetricName, LevelForecast>,
    pub phases: PhaseForecast,
    pub law: Laws,
    /// Of the machine.
    pub memory: KnownPeak,
    /// Of the fullest GPU.
    pub gpu_memory: KnownPeak,
    /// In seconds: how long a canary ran that was ended at its time limit. The full run takes longer; absent where none was.
    pub time_at_least: Option<f64>,
    /// What a cold start adds at least to the billed time, with a chance of 90 %, where cold and warm canaries were measured.
    pub cold_offset: Option<Seconds>,
    /// The least that passed before the script in a canary, where the image installs packages first.
    pub installs: Option<Seconds>,
    /// What that much time costs over all machines, in US dollars.
    pub cost_at_least: Option<f64>,
    /// Where other work took much of the time of the canaries.
    pub busy: Option<BusyMachine>,
    /// The time by the laws of the smaller canaries; absent unless the forecast itself is by the progress of a canary of all data.
    pub by_laws: Option<Predictive>,
    /// What makes doubtful whatever follows from the canaries, as they did less than the full run or had a sample unlike it.
    pub unlike: Option<Doubt>,
    /// What makes the time doubtful: a full run that was begun for its progress and does not confirm it, canaries that stopped early, or
    /// whose time shows no growth.
    pub time_doubt: Option<Doubt>,
    /// The share of its steps that the full run had done whose progress the time follows from.
    pub reached: Option<Fraction>,
    /// The largest share of the full run, of its data and the work on them, that a run did which the time follows from.
    pub largest_share: Option<f64>,
    /// Whether a run did all of the full run's work per datum.
    pub did_all_work: bool,
    /// What makes it doubtful that the canaries were like the full run, as sentences.
    pub warnings: Vec<String>,
    /// Assumptions and what was left out, as sentences.
    pub notes: Vec<String>,
}

/// What is known of a peak of memory beside its distribution.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KnownPeak {
    /// Whether a source saw it in a canary that entered.
    pub is_measured: bool,
    /// Why it may be more than the interval says; also where it has no distribution, if that is its source's fault.
    pub doubt: Option<Doubt>,
    /// In percent: the most that a canary may have used between two looks at it, where that is more than was seen.
    pub unseen: Option<f64>,
    /// In percent: the most that a canary used; absent where there is a distribution, or nothing that says what is needed.
    pub at_least: Option<f64>,
    /// A canary ran out of it on this configuration: the full run will too. There is no distribution then.
    pub ran_out: bool,
}

impl Forecast {
    /// A forecast that knows nothing, for one reason: in all else it is that of no runs.
    pub fn unknown(reason: &Unknown) -> Self {
        let offer = Offer::unknown(&InstanceConfiguration::default());
        let basis = Basis {
            offer: &offer,
            measurements: &[],
        };
        Self {
            quantities: PerMetric::from_fn(|_| Err(reason.clone())),
            ..forecast(&basis)
        }
    }

    /// Why the upper end of a metric's interval is not to be relied on: its line is not within, whatever its chance.
    pub fn doubt(&self, metric: Metric) -> Option<&Doubt> {
        match metric {
            Metric::Time | Metric::Cost => self.time_doubt.as_ref(),
            _ => self.peak(metric.memory_of()?).doubt.as_ref(),
        }
    }

    /// What is known of a peak of memory beside its distribution.
    pub fn peak(&self, of: MemoryOf) -> &KnownPeak {
        of.pick(&self.memory, &self.gpu_memory)
    }

    pub(crate) fn peak_mut(&mut self, of: MemoryOf) -> &mut KnownPeak {
        of.pick(&mut self.memory, &mut self.gpu_memory)
    }

    /// Whether the canaries are so far from the full run that a law can hardly be seen: the largest held little of the data, or not
    /// much and most of what it took is there without any.
    pub fn is_rough(&self) -> bool {
        self.largest_share.is_some_and(|share| {
            let is_mostly_fixed = |law: &Law| law.intercept > MOSTLY_FIXED * law.at(share);
            let far_below = match self.law.time.as_ref().is_some_and(is_mostly_fixed) {
                true => ROUGH_IF_FIXED,
                false => ROUGH,
            };
            share < far_below
        })
    }

    /// Whether the full run may take far longer than its forecast: a design then reaches farther.
    pub fn is_in_doubt(&self) -> bool {
        self.is_rough() || self.may_grow_faster()
    }

    /// Whether growth that no canary could show may take the time far beyond its interval.
    pub fn may_grow_faster(&self) -> bool {
        self[Metric::Time]
            .as_ref()
            .is_ok_and(|time| time.if_steeper().quantile(UPPER) > FAR_BEYOND * time.quantile(UPPER))
    }

    /// Whether the canaries' time grows no faster with the data than that, and some did all of the work; not where nothing was measured.
    /// A time that does not grow by more than noise keeps to either.
    pub fn grows_at_most(&self, most: StatedGrowth) -> bool {
        let (Some(law), Some(reached), true) =
            (&self.law.time, self.largest_share, self.did_all_work)
        else {
            return false;
        };
        match (&self.time_doubt, most) {
            (Some(Doubt::NoGrowthSeen(_)), _) => true,
            (_, StatedGrowth::None) => law.at(reached) <= FLAT * law.intercept,
            (_, StatedGrowth::Linear) => law.shape.growth_up_to(1.0) != GrowthKind::MoreThanLinear,
        }
    }

    /// The level of what the script prints, as a limit of that side is held against it.
    pub fn level(&self, name: MetricName, bound: Bound) -> Quantity {
        match (self.levels.get(&name), &self[Metric::Time]) {
            (Some(level), _) => bound.pick(&level.highest, &level.lowest).clone(),
            // Nothing completed, and that is said once.
            (None, Err(unknown)) if self.largest_share.is_none() => Err(unknown.clone()),
            (None, _) => Err(Unknown(format!("no {name} was measured"))),
        }
    }

    /// The same with another distribution of one metric.
    pub fn with(mut self, metric: Metric, quantity: Quantity) -> Self {
        self.quantities[metric] = quantity;
        self
    }
}

impl Index<Metric> for Forecast {
    type Output = Quantity;

    fn index(&self, metric: Metric) -> &Quantity {
        &self.quantities[metric]
    }
}

/// Each phase of the full run by itself; `None` where nothing was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PhaseForecast {
    pub startup: Option<Predictive>,
    pub download: Option<Predictive>,
    pub training: Option<Predictive>,
    pub upload: Option<Predictive>,
}

/// The forecast of one full run. Deterministic, and the same for any order of the measurements; only of runs of different data
/// without the times of their ends, the last decides which data are the newest.
pub fn forecast(basis: &Basis) -> Forecast {
    of_runs(basis, Runs::choose(basis.measurements))
}

/// The same from as few runs as there are: what a design goes by before it has enough. Not for a report.
pub fn provisional(basis: &Basis) -> Forecast {
    of_runs(basis, Runs::choose(basis.measurements).provisional())
}

fn of_runs(basis: &Basis, runs: Runs) -> Forecast {
    let by_progress = ByProgress::of(&runs);
    let runs = &match by_progress {
        // Two canaries are few for a forecast, and enough to confirm one.
        Some(_) => runs.provisional(),
        None => runs,
    };
    let laws_of_time = LawsOfTime::of(runs);
    let (by_laws, [training, download, upload]) = laws_of_time.at(1.0);
    let (time, by_laws) = match (&by_progress, by_laws) {
        (Some(progress), Ok(laws)) => (Ok(progress.time(&laws)), Some(laws)),
        (_, by_laws) => (by_laws, None),
    };
    let time_at_least = runs.time_at_least();
    let time = match (time, time_at_least) {
        (Ok(time), Some(bound)) if time.median() < bound => Err(Unknown(
            "a canary ran longer than the forecast of the whole run".to_owned(),
        )),
        (time, _) => time,
    };
    let is_unconfirmed = match &by_progress {
        Some(progress) => !progress.confirms,
        None => runs.timed_out().any(|(run, _)| run.ended_early),
    };
    let of_progress = by_progress.as_ref().filter(|_| time.is_ok());
    let full = of_progress.map(|progress| progress.run);
    let [memory, gpu_memory] =
        MemoryOf::ALL.map(|of| memory::forecast(runs, full, basis.offer, of));
    let step_time = Metric::StepTime.words();
    let step_time = runs.level(level::positive_median, step_time, |run| {
        seconds(run.step_seconds)
    });
    let law = Laws {
        time: laws_of_time.law(),
        memory: memory.law,
        gpu_memory: gpu_memory.law,
    };

    let followed = Laws {
        time: (law.time.clone()).filter(|_| by_progress.is_none()),
        ..law.clone()
    };
    let utilization = |metric: Metric, mean: fn(&Usage) -> &Option<Utilization>| {
        runs.level(level::utilization, metric.words(), |run| {
            Some(mean(&run.usage).as_ref()?.mean.0)
        })
    };
    let doubts = [memory.known.doubt, gpu_memory.known.doubt];
    let quantity = |metric| match metric {
        Metric::Time => time.clone(),
        Metric::Cost => cost(basis, &time),
        Metric::Memory => memory.percent.clone(),
        Metric::MemoryBytes => memory.bytes.clone(),
        Metric::CpuUtilization => utilization(metric, |usage| &usage.cpu_percent),
        Metric::GpuUtilization => utilization(metric, |usage| &usage.gpu_percent),
        Metric::GpuMemory => gpu_memory.percent.clone(),
        Metric::GpuMemoryBytes => gpu_memory.bytes.clone(),
        Metric::IoWait => utilization(metric, |usage| &usage.io_wait_percent),
        Metric::StepTime => step_time.clone(),
        Metric::CostPerStep => cost(basis, &step_time),
    };

    Forecast {
        quantities: PerMetric::from_fn(quantity),
        levels: printed::levels(runs),
        phases: PhaseForecast {
            startup: startup(runs),
            download,
            training,
            upload,
        },
        warnings: notes::warnings(runs),
        notes: (of_progress.iter().map(|progress| progress.note(&by_laws)))
            .chain(notes::write(runs, &followed, doubts))
            .chain(progress::note_of_stop(runs))
            .chain(runs.left_out(full))
            .collect(),
        law,
        memory: memory.known,
        gpu_memory: gpu_memory.known,
        cost_at_least: cost_at_least(basis, time_at_least),
        time_at_least,
        cold_offset: laws_of_time.cold_offset(),
        installs: runs.installs(),
        busy: other_work::busy(runs.entered()),
        by_laws,
        unlike: (last_error(runs).map(|_| Doubt::EndedWithError))
            .or(runs.largest().and_then(unlike_the_rest))
            .or((runs.first_said(|run| &run.left_running)).map(|_| Doubt::LeftRunning))
            .or((runs.first_said(|run| &run.left_out_opened)).map(|_| Doubt::LeftOutOpened))
            .or(unopened(runs).map(|_| Doubt::NotOpened)),
        time_doubt: (is_unconfirmed.then_some(Doubt::NotConfirmed))
            .or_else(|| progress::stopped_early(runs))
            .or_else(|| no_growth::seen(runs)),
        reached: by_progress.as_ref().map(|progress| progress.reached),
        largest_share: (by_progress.filter(ByProgress::shows_all).map(|_| 1.0))
            .or_else(|| runs.largest().map(Measurement::reach)),
        did_all_work: runs.entered().iter().any(|run| run.work_share() >= 1.0),
    }
}

/// What the largest canary printed last, if that is an error.
fn last_error<'a>(runs: &Runs<'a>) -> Option<&'a str> {
    runs.largest()?.last_error.as_deref()
}

/// A channel of which no canary opened a file, and none was the full run, which then does not either.
fn unopened<'a>(runs: &Runs<'a>) -> Option<&'a str> {
    let largest = runs.largest().filter(|run| run.reach() < 1.0)?;
    let is_of_all = |name: &&String| runs.all_have(|run| run.unopened.contains(name));
    largest.unopened.iter().find(is_of_all).map(String::as_str)
}

/// Whether the largest canary held far more of the bytes, or far less, than of the objects and than was asked for: then its objects are
/// not like the rest.
fn unlike_the_rest(largest: &Measurement) -> Option<Doubt> {
    let count = |objects| Some(count_as_float(usize::try_from(objects).ok()?));
    let files = count(largest.objects?)? / count(largest.objects_total?)?;
    let bytes = largest.data_share();
    let mut shares = [files, largest.fraction.0].into_iter();
    let are_unlike = shares.all(|share| (bytes / share).max(share / bytes) > UNLIKE);
    are_unlike.then_some(Doubt::UnlikeTheRest {
        files: Fraction(files),
        bytes: Fraction(bytes),
    })
}

/// Start-up does not grow with the data. That of the full run is a cold one.
fn startup(runs: &Runs) -> Option<Predictive> {
    let startup = runs.level(level::positive, "start-up time", |run| {
        let is_of_full_run = !runs::is_warm(run) || runs.all_have(runs::is_warm);
        seconds(run.phases.startup).filter(|_| is_of_full_run)
    });
    startup.ok()
}

/// What `time` costs over all machines at the basis's prices.
fn cost(basis: &Basis, time: &Quantity) -> Quantity {
    let time = time.as_ref().map_err(Clone::clone)?;
    let second = basis.offer.cost_of_a_second();
    let second = second.map_err(|why| Unknown(why.to_string()))?;
    let cost = time.scaled(second.usd);
    Ok(match second.is_estimate {
        true => cost.widened(PRICE_ESTIMATE_SHARE),
        false => cost,
    })
}

/// The least that so much time costs; an estimated price may be too high by its doubt.
fn cost_at_least(basis: &Basis, time_at_least: Option<f64>) -> Option<f64> {
    let second = basis.offer.cost_of_a_second().ok()?;
    let doubt = match second.is_estimate {
        true => 1.0 + PRICE_ESTIMATE_SHARE,
        false => 1.0,
    };
    Some(time_at_least? * second.usd / doubt)
}

fn seconds(time: Option<Seconds>) -> Option<f64> {
    time.map(|time| time.0)
}
