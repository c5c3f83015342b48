//! What lanes are chosen from, kept until the quotas are known: by a plan without them, by a run with them.

use super::lane_choice::{NoPool, Ways, no_quotas, ways};
use super::lanes::{ConfigurationRuns, Lanes, QuotasOf, schedule};
use super::start_up::StartUp;
use super::warm_pool::WarmPool;
use crate::spec::WarmPoolPolicy;
use crate::units::{Seconds, Usd, count_as_float};

/// Of the limit, for what the adaptive design sets aside for kept machines on all configurations: a larger canary shows more than an
/// earlier one.
const SHARE_FOR_POOLS: f64 = 0.1;

/// What the ways are made of, to choose among them when the quotas are known.
#[derive(Debug, Clone, PartialEq)]
pub struct LanePlan {
    /// Each canary at its longest.
    pub all: Vec<ConfigurationRuns>,
    pub policy: WarmPoolPolicy,
    /// What the canaries may cost.
    pub spend_limit: Usd,
    /// What is left of that beside the worst cases of the fixed design.
    pub left: Usd,
    pub start_up: StartUp,
    /// Rounds may turn out to be of one canary each.
    pub is_adaptive: bool,
}

impl LanePlan {
    pub fn ways(&self, quotas_of: QuotasOf<'_>) -> Ways {
        self.choose(quotas_of).0
    }

    /// What the machines of each configuration may cost that `auto` keeps; of a written time the runs have it with them.
    pub(super) fn longest_idle(&self) -> Vec<Usd> {
        self.choose(&no_quotas).1
    }

    fn choose(&self, quotas_of: QuotasOf<'_>) -> (Ways, Vec<Usd>) {
        let (all, limit) = (&self.all, self.spend_limit);
        let mut ways = ways(all, self.policy, limit, self.start_up, quotas_of);
        let longest = match self.policy {
            WarmPoolPolicy::Auto => within_limit(&mut ways, self, quotas_of),
            WarmPoolPolicy::KeepAlive(_) | WarmPoolPolicy::Off => vec![Usd(0.0); all.len()],
        };
        (ways, longest)
    }

    /// Whether the quotas of pools have a part in the choice.
    pub fn may_keep(&self) -> bool {
        self.policy != WarmPoolPolicy::Off && self.all.iter().any(|one| one.can_be_kept)
    }

    /// Of the way that is chosen: at most one for each configuration, whose lanes are within both quotas; empty where every
    /// canary starts cold.
    pub fn pools(&self, quotas_of: QuotasOf<'_>) -> Vec<WarmPool> {
        let chosen = self.ways(quotas_of).chosen.lanes;
        let pool = |(one, lanes): (&ConfigurationRuns, &Lanes)| {
            Some(WarmPool {
                instance: one.instance.clone(),
                keep_alive: lanes.keep_alive?,
                lanes: lanes.count,
            })
        };
        self.all.iter().zip(&chosen).filter_map(pool).collect()
    }

    /// On the lanes chosen or cold, whichever is longer, since a quota may have no room for a pool; of the adaptive design with
    /// rounds of one canary.
    pub fn longest(&self) -> Seconds {
        let ways = self.ways(&no_quotas);
        let one_each: Vec<Lanes> = self.all.iter().map(|_| Lanes::cold(1)).collect();
        let rounds_of_one = match self.is_adaptive {
            true => schedule(&self.all, &one_each, self.start_up, &no_quotas).wall_clock,
            false => Seconds(0.0),
        };
        [&ways.chosen, &ways.side_by_side]
            .map(|way| way.wall_clock)
            .into_iter()
            .fold(
                rounds_of_one,
                |one, other| if one > other { one } else { other },
            )
    }
}

/// Goes without those pools of `auto` that the limit does not cover at their longest, beside the runs themselves. Returns what
/// the others may cost, for each configuration. The fixed design needs all of it, the adaptive one what is set aside at a time.
fn within_limit(ways: &mut Ways, plan: &LanePlan, quotas_of: QuotasOf<'_>) -> Vec<Usd> {
    let mut left = plan.left;
    let mut lanes = ways.chosen.lanes.clone();
    let mut longest = vec![Usd(0.0); plan.all.len()];
    let mut is_changed = false;
    let mut set_aside = 0.0;
    for (place, one) in plan.all.iter().enumerate() {
        let (Some(keep_alive), Some(price)) = (lanes[place].keep_alive, one.usd_per_second) else {
            continue;
        };
        let once = Usd(price.0 * keep_alive.0);
        let runs = one.rounds.iter().map(Vec::len).sum();
        let of_all = Usd(once.0 * count_as_float(runs));
        let at_a_time = once.0 * f64::from(lanes[place].count + 1);
        let fits = match plan.is_adaptive {
            true => set_aside + at_a_time <= SHARE_FOR_POOLS * plan.spend_limit.0,
            false => of_all <= left,
        };
        if fits {
            left = left - of_all;
            set_aside += at_a_time;
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
