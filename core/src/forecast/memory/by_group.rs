//! Memory of instance groups: a law for each group on its own machines, of which the worst counts.
//!
//! Over all hosts together the group that is fullest in small canaries would hide one that grows: the law is of one group.

use super::super::Predictive;
use super::super::runs::Runs;
use super::prior_of;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::MemoryOf;

/// Which end of a group's distribution says how bad it is.
const UPPER: f64 = 0.95;

/// The memory of the group that comes nearest to its own limit, in percent, with the growth of whichever may grow most.
///
/// `None` where there are no groups, where all share one machine, and where the memory of a group is not known in every run, in
/// percent of its machines.
pub(super) fn worst(runs: &Runs, offer: &Offer, of: MemoryOf) -> Option<Predictive> {
    let groups = offer.configuration.groups().iter();
    let has_some = |gpus: Option<u32>| of == MemoryOf::Machine || gpus.is_none_or(|gpus| gpus > 0);
    let concerned = groups.zip(&offer.members).filter(|(group, member)| {
        let capacity = member.capacity.as_ref();
        !group.instance_type.is_local() && has_some(capacity.map(|capacity| capacity.gpus))
    });
    let mut worst: Option<Predictive> = None;
    for (group, _) in concerned {
        let percent = |run: &Measurement| percent(run, &group.name, of);
        if !runs.all_have(|run| percent(run).is_some()) {
            return None;
        }
        let (predictive, _) = runs.extrapolate(of.words(), prior_of(of), percent).ok()?;
        let upper = |one: &Predictive| one.quantile(UPPER);
        let (more, less) = match worst {
            Some(other) if upper(&other) >= upper(&predictive) => (other, Some(predictive)),
            other => (predictive, other),
        };
        let steepest = less.filter(|less| upper(less.if_steeper()) > upper(more.if_steeper()));
        worst = Some(match steepest {
            Some(less) => more.or_if_steeper(less.if_steeper().clone()),
            None => more,
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
