//! The warm pools that a plan's canaries run in.

use super::Ledger;
use super::lane_choice::{NoPool, Ways, no_quotas};
use super::lanes::{ConfigurationRuns, Lanes, schedule};
use super::start_up::StartUp;
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
pub(super) fn within_limit(
    ways: &mut Ways,
    all: &[ConfigurationRuns],
    start_up: StartUp,
    is_adaptive: bool,
    ledger: &mut Ledger,
) -> Vec<Usd> {
    let limit = ledger.limit().unwrap_or_default();
    let mut lanes = ways.chosen.lanes.clone();
    let mut longest = vec![Usd(0.0); all.len()];
    let mut is_changed = false;
    for (place, one) in all.iter().enumerate() {
        let (Some(keep_alive), Some(price)) = (lanes[place].keep_alive, one.usd_per_second) else {
            continue;
        };
        let once = Usd(price.0 * keep_alive.0);
        let runs = one.rounds.iter().map(Vec::len).sum();
        let of_all = Usd(once.0 * count_as_float(runs));
        let fits = match is_adaptive {
            true => once.0 * f64::from(lanes[place].count + 1) <= SHARE_FOR_POOLS * limit.0,
            false => ledger.reserve(of_all).is_some(),
        };
        if fits {
            longest[place] = of_all;
            continue;
        }
        is_changed = true;
        lanes[place] = ways.side_by_side.lanes[place];
        ways.no_pool[place] = Some(NoPool::BeyondTheLimit(of_all));
    }
    if is_changed {
        ways.chosen = schedule(all, &lanes, start_up, &|_| no_quotas());
    }
    longest
}

/// The pools of the chosen lanes.
pub(super) fn pools(all: &[ConfigurationRuns], chosen: &[Lanes]) -> Vec<WarmPool> {
    let pool = |(one, lanes): (&ConfigurationRuns, &Lanes)| {
        Some(WarmPool {
            instance: one.instance.clone(),
            keep_alive: lanes.keep_alive?,
            lanes: lanes.count,
        })
    };
    all.iter().zip(chosen).filter_map(pool).collect()
}
