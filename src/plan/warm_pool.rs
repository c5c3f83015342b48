//! The warm pools that a plan's canaries run in.

use super::lane_choice::{LanePlan, NoPool, Ways};
use super::lanes::{QuotasOf, schedule};
use crate::instance::{InstanceConfiguration, Offer};
use crate::spec::{Job, WarmPoolPolicy};
use crate::units::{Seconds, Usd, count_as_float};

/// Machines that are kept from one canary of a configuration to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmPool {
    /// Never of groups.
    pub instance: InstanceConfiguration,
    /// From 1 second to an hour.
    pub keep_alive: Seconds,
    /// How many canaries run at once, each on machines of its own; at least 1.
    pub lanes: u32,
}

/// What machines may cost that are kept after each of so many runs, where the spec asks for that.
pub(super) fn longest_idle(
    job: &Job,
    instance: &InstanceConfiguration,
    runs: usize,
    offer: &Offer,
) -> Usd {
    let is_kept = matches!(instance, InstanceConfiguration::Homogeneous { .. });
    match job.canary.warm_pool {
        WarmPoolPolicy::KeepAlive(keep_alive) if is_kept => offer
            .cost(keep_alive * count_as_float(runs))
            .unwrap_or_default(),
        _ => Usd(0.0),
    }
}

/// Of the limit, for what the adaptive design sets aside for kept machines: a larger canary tells more than an earlier one.
const SHARE_FOR_POOLS: f64 = 0.1;

/// Goes without those pools of `auto` that the limit does not cover at their longest, beside the runs themselves. Returns what
/// the others may cost, for each configuration. The fixed design needs all of it, the adaptive one what is set aside at a time.
pub(super) fn within_limit(ways: &mut Ways, plan: &LanePlan, quotas_of: QuotasOf<'_>) -> Vec<Usd> {
    let mut left = plan.left;
    let mut lanes = ways.chosen.lanes.clone();
    let mut longest = vec![Usd(0.0); plan.all.len()];
    let mut is_changed = false;
    for (place, one) in plan.all.iter().enumerate() {
        let (Some(keep_alive), Some(price)) = (lanes[place].keep_alive, one.usd_per_second) else {
            continue;
        };
        let once = Usd(price.0 * keep_alive.0);
        let runs = one.rounds.iter().map(Vec::len).sum();
        let of_all = Usd(once.0 * count_as_float(runs));
        let at_a_time = once.0 * f64::from(lanes[place].count + 1);
        let fits = match plan.is_adaptive {
            true => at_a_time <= SHARE_FOR_POOLS * plan.spend_limit.0,
            false => of_all <= left,
        };
        if fits {
            left = left - of_all;
            longest[place] = of_all;
            continue;
        }
        is_changed = true;
        lanes[place] = ways.side_by_side.lanes[place];
        ways.no_pool[place] = Some(NoPool::BeyondTheLimit(of_all));
    }
    if is_changed {
        ways.chosen = schedule(&plan.all, &lanes, plan.start_up, quotas_of);
    }
    longest
}
