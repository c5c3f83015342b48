//! Memory of instance groups: a law for each group on its own machines, of which the worst counts.
//!
//! Over all hosts together the group that is fullest in small canaries would hide one that grows: the law is of one group.

use super::super::runs::Runs;
use super::super::{Doubt, Predictive};
use super::prior_of;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::MemoryOf;

/// Which end of a group's distribution says how bad it is.
const UPPER: f64 = 0.95;

/// The memory of the group that comes nearest to its own limit, in percent.
pub(super) struct WorstGroup {
    pub(super) percent: Predictive,
    /// Of any group: what is doubtful in one may be worse than the other.
    pub(super) doubt: Option<Doubt>,
}

/// `None` where there are no groups, where all share one machine, and where the memory of a group is not known in every run, in
/// percent of its machines.
pub(super) fn worst(runs: &Runs, offer: &Offer, of: MemoryOf) -> Option<WorstGroup> {
    let groups = offer.configuration.groups().iter();
    let has_some = |gpus: Option<u32>| of == MemoryOf::Machine || gpus.is_none_or(|gpus| gpus > 0);
    let concerned = groups.zip(&offer.members).filter(|(group, member)| {
        let capacity = member.capacity.as_ref();
        !group.instance_type.is_local() && has_some(capacity.map(|capacity| capacity.gpus))
    });
    let mut worst: Option<WorstGroup> = None;
    for (group, _) in concerned {
        let percent = |run: &Measurement| percent(run, &group.name, of);
        if !runs.all_have(|run| percent(run).is_some()) {
            return None;
        }
        let (predictive, _) = runs.extrapolate(of.words(), prior_of(of), percent).ok()?;
        let doubt = runs.growth_doubt(&Ok(predictive.clone()), prior_of(of), 0.0, percent);
        let (worst_yet, doubt_yet) = match worst {
            Some(other) => (Some(other.percent), other.doubt),
            None => (None, None),
        };
        let worse = |other: &Predictive| other.quantile(UPPER) >= predictive.quantile(UPPER);
        worst = Some(WorstGroup {
            percent: worst_yet.filter(worse).unwrap_or(predictive),
            doubt: doubt_yet.or(doubt),
        });
    }
    worst
}

/// Of the fullest host of a group.
fn percent(run: &Measurement, group: &str, of: MemoryOf) -> Option<f64> {
    let own = |name: &Option<String>| name.as_deref() == Some(group);
    let hosts = run.hosts.iter().filter(|host| own(&host.group));
    let percents = hosts.filter_map(|host| Some(host.usage.peak(of)?.percent?.0));
    percents.reduce(f64::max)
}
