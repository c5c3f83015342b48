//! **Scale-out**: the time of one job on another count of instances of the same type.
//!
//! If the counts of the runs differ the laws are weighed by them ([`ScaleOutLaws`], [`forecast_from`]). If all runs were on
//! one count a law is assumed ([`assume`]): the part that grows with the data is proportional to the heaviest host's share of it,
//! and the interval reflects the error of this assumption on published jobs. The heaviest host's share is computed ([`DataLayout`]).
//!
//! A host's memory does not decrease with the count if every host has all of the data; if the data are in shards, it is that of
//! one host with the heaviest shard. [`elsewhere()`] combines both for a configuration that was not measured.

mod count_law;
mod elsewhere;
mod layout;
#[cfg(test)]
mod tests;
mod weighed;

use std::slice;

pub use elsewhere::{Elsewhere, Measured, elsewhere, peak_bytes};
pub use layout::DataLayout;
pub use weighed::{COUNT_PRIOR, CountPrior, FEWEST_COUNTS, ScaleOutLaws};

use super::posterior::Observation;
use super::runs::Runs;
use super::{Predictive, Unknown, seconds};
use crate::grammar;
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;

/// The time differs from assumed scale-out by at least (larger count / smaller count) to this power in 10 of 100 cases: a factor
/// of 1.6 for twice the count, of 2.5 for four times.
///
/// 1.645 times the root mean square, 0.40, of ln(time / assumption) / ln(ratio of the counts) between 2, 4 and 6 instances
/// on the smaller sizes of the 20 series of two tables (Will, Bader and Thamsen, IEEE Big Data 2020: SGD and Sort).
const LEAST_DOUBT: f64 = 0.66;

/// The load of the hosts of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Instances; at least 1.
    pub hosts: u32,
    /// Of the full data, over all hosts; above 0. A share of 2 is twice the data.
    pub share: f64,
    /// Of the full data, on the host with the most work: `share / hosts` if the work is divided evenly.
    pub heaviest: f64,
}

impl Load {
    /// Divided evenly, as by a script that splits the work by rank.
    pub fn even(hosts: u32, share: f64) -> Self {
        Self {
            hosts,
            share,
            heaviest: share / f64::from(hosts),
        }
    }

    /// The load of a completed run. The heaviest host is the one with the most bytes if the data were in shards; if every host had
    /// all of them, or bytes are unknown, the work is assumed to be divided evenly.
    fn of(run: &Measurement) -> Self {
        let even = Self::even(run.instance.total_count(), run.data_share());
        let most = run.hosts.iter().map(|host| host.bytes).max();
        match (most, run.bytes, run.bytes_total) {
            (Some(most), Some(bytes), Some(total)) if most < bytes && total.0 > 0 => Self {
                heaviest: (most.as_f64() / total.as_f64()).max(even.heaviest),
                ..even
            },
            _ => even,
        }
    }
}

/// One completed run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleOutRun {
    pub load: Load,
    pub seconds: f64,
}

/// The time of one new run on another count, and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleOut {
    /// Billed per instance, in seconds.
    pub seconds: Predictive,
    /// A sentence on the counts that it was measured on. `None` where it is assumed from runs on one count: the report says that once for
    /// all configurations.
    pub note: Option<String>,
}

impl ScaleOut {
    pub fn is_measured(&self) -> bool {
        self.note.is_some()
    }
}

fn laws_of_type(
    measurements: &[Measurement],
    instance: &InstanceConfiguration,
) -> Result<ScaleOutLaws, Unknown> {
    let Some(kind) = instance.single_type() else {
        return Err(Unknown(format!(
            "scale-out is forecast for one instance type; {instance} has groups of several"
        )));
    };
    let runs: Vec<ScaleOutRun> = measurements
        .iter()
        .filter(|run| run.instance.single_type() == Some(kind))
        .filter_map(|run| {
            // Chosen one by one, to see whether each run may enter.
            let chosen = Runs::choose(slice::from_ref(run));
            let time = chosen.measured(|run| seconds(run.time())).ok()?;
            let is_whole = |point: &&Observation| point.work == 1.0 && point.value > 0.0;
            let point = time.first().filter(is_whole)?;
            Some(ScaleOutRun {
                load: Load::of(run),
                seconds: point.value,
            })
        })
        .collect();
    weighed::of_enough(&runs)
}

/// The time on a count of instances that was not measured, or not often enough, from completed runs of one job on other counts of the
/// same type. `wanted` is the load of the hosts. Where one count has a forecast of its own, given with its load, the laws of data say how
/// the time grows to the full run, and those of scale-out only what the other count makes of it.
pub fn forecast_from(
    measurements: &[Measurement],
    instance: &InstanceConfiguration,
    one: Option<(&Predictive, Load)>,
    wanted: Load,
) -> Result<ScaleOut, Unknown> {
    let laws = laws_of_type(measurements, instance)?;
    let seconds = match one {
        None => laws.seconds(wanted),
        Some((seconds, load)) => seconds.times(&laws.change(load, wanted)),
    };
    let (hosts, counts) = (wanted.hosts, laws.counts());
    let reach = match hosts > *counts.last().expect("laws have two counts") {
        true => ", and beyond the largest count it is a wide guess",
        false => "",
    };
    let note = format!(
        "scale-out is measured: the time on {} follows from runs on {}{reach}",
        grammar::count(layout::count_of(hosts), "instance"),
        grammar::list(&counts.iter().map(u32::to_string).collect::<Vec<_>>()),
    );
    Ok(ScaleOut {
        seconds,
        note: Some(note),
    })
}

/// t1 / (n tn) of a full run under a load.
pub fn efficiency_by(
    measurements: &[Measurement],
    instance: &InstanceConfiguration,
    load: Load,
) -> Result<Predictive, Unknown> {
    let laws = laws_of_type(measurements, instance)?;
    let change = laws.change(load, Load::even(1, load.share));
    Ok(change.scaled(1.0 / f64::from(load.hosts)))
}

/// The time under another load if only one count was measured. `one` is the forecast of seconds under the load `from`, and
/// `fixed_share`, 0-1, the part of it that does not grow with the data.
///
/// Assumes that the fixed part stays and the rest is proportional to the heaviest host's share. One end of the interval is an
/// unchanged time, with 5 % beyond it; the other end is as far away. If most of the time is fixed that would be too narrow, so the
/// interval is at least as wide as the tables above imply for the change of the count, or of the heaviest share if that is larger.
/// From 6 to 8, 10 and 12 instances, which were not used for this, it held 90 of 100 runs of Sort and all of SGD.
pub fn assume(one: &Predictive, fixed_share: f64, from: Load, to: Load) -> ScaleOut {
    let less = to.heaviest / from.heaviest;
    let counts = f64::from(to.hosts) / f64::from(from.hosts);
    let change = fixed_share + (1.0 - fixed_share) * less;
    let distance = either_way(counts).max(either_way(less));
    let doubt = either_way(change).max(distance.powf(LEAST_DOUBT));
    ScaleOut {
        seconds: one.scaled(change).widened(doubt - 1.0),
        note: None,
    }
}

/// A factor or its inverse, whichever is more than 1.
fn either_way(factor: f64) -> f64 {
    factor.max(factor.recip())
}
