//! The ways to run a check's canaries, and the one that is chosen: with warm pools where they make it shorter for little money.

use std::fmt;

use super::lanes::{
    ConfigurationRuns, Lanes, MachineQuotas, QuotasOf, Schedule, one_after_another, schedule,
};
use super::start_up::StartUp;
use crate::instance::InstanceType;
use crate::spec::WarmPoolPolicy;
use crate::units::{Seconds, Usd};

/// How long `auto` keeps a machine: as long as late metrics are waited for, by which the next canary is chosen.
pub const KEEP_ALIVE: Seconds = Seconds(300.0);

/// What pools may cost idle by `auto`, as a part of the spend limit.
const SHARE_OF_LIMIT: f64 = 0.1;

/// By `auto` a check ends sooner by at least this part of what one warm start saves: for a second between two requests no machine is
/// kept.
const WORTH: f64 = 0.5;

/// The same canaries in four ways. Where their times are not known, each is at its longest.
#[derive(Debug, Clone, PartialEq)]
pub struct Ways {
    pub one_after_another: Schedule,
    /// As many at once as `canary.parallel` and quotas allow, each cold.
    pub side_by_side: Schedule,
    /// Each configuration in one warm pool, whether its quota allows it or not.
    pub one_lane: Schedule,
    pub chosen: Schedule,
    /// For each configuration why it has no pool; `None` where it has one.
    pub no_pool: Vec<Option<NoPool>>,
}

impl Ways {
    /// The same lanes with other times of canaries and start-ups.
    #[must_use]
    pub fn with_times(&self, all: &[ConfigurationRuns], start_up: StartUp) -> Self {
        let again = |way: &Schedule| schedule(all, &way.lanes, start_up, &no_quotas);
        Self {
            one_after_another: one_after_another(all, start_up),
            side_by_side: again(&self.side_by_side),
            one_lane: again(&self.one_lane),
            chosen: again(&self.chosen),
            no_pool: self.no_pool.clone(),
        }
    }
}

/// Where nobody asked for the quotas.
pub fn no_quotas(_: &InstanceType) -> MachineQuotas {
    MachineQuotas::default()
}

/// Why the canaries of a configuration start cold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoPool {
    Off,
    NotKept,
    NoQuota,
    /// What it would cost idle, and how much it may.
    TooDear(Usd, Usd),
    NoPrice,
    NotShorter,
    /// What it could cost, kept as long as it may be after each canary.
    BeyondTheLimit(Usd),
}

impl fmt::Display for NoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("`canary.warm_pool` is off"),
            Self::NotKept => f.write_str("SageMaker keeps no instance groups and no spot capacity"),
            Self::NoQuota => f.write_str("its quota for training warm pool usage has no room"),
            Self::TooDear(idle, most) => {
                write!(f, "idle it would cost {idle}; `auto` may take {most}")
            }
            Self::NoPrice => f.write_str("no price is known, so what it costs idle is not"),
            Self::NotShorter => f.write_str("it would hardly be sooner done"),
            Self::BeyondTheLimit(longest) => write!(
                f,
                "kept for its longest after each canary it could cost {longest}, which the spend limit does not cover beside them"
            ),
        }
    }
}

/// The four ways, and the choice by `canary.warm_pool`.
pub fn ways(
    all: &[ConfigurationRuns],
    policy: WarmPoolPolicy,
    spend_limit: Usd,
    start_up: StartUp,
    quotas_of: QuotasOf<'_>,
) -> Ways {
    let keep_alive = match policy {
        WarmPoolPolicy::KeepAlive(time) => time,
        WarmPoolPolicy::Auto | WarmPoolPolicy::Off => KEEP_ALIVE,
    };
    let of_training = |one: &ConfigurationRuns| one.most_lanes(&|kind| quotas_of(kind).training);
    let cold: Vec<Lanes> = all
        .iter()
        .map(|one| Lanes::cold(of_training(one)))
        .collect();
    let single = |one: &ConfigurationRuns| Lanes {
        count: 1,
        keep_alive: one.can_be_kept.then_some(keep_alive),
    };
    let single: Vec<Lanes> = all.iter().map(single).collect();
    let choice = PoolChoice {
        policy,
        keep_alive,
        start_up,
        quotas_of,
    };
    let mut allowance = Usd(spend_limit.0 * SHARE_OF_LIMIT);
    let mut chosen = cold.clone();
    let mut no_pool = Vec::with_capacity(all.len());
    for (one, lanes) in all.iter().zip(&mut chosen) {
        no_pool.push(match choice.pool(one, *lanes, allowance) {
            Ok((pool, idle)) => {
                *lanes = pool;
                allowance = allowance - idle;
                None
            }
            Err(why) => Some(why),
        });
    }
    let side_by_side = schedule(all, &cold, start_up, quotas_of);
    Ways {
        one_after_another: one_after_another(all, start_up),
        one_lane: schedule(all, &single, start_up, quotas_of),
        chosen: match no_pool.iter().all(Option::is_some) {
            true => side_by_side.clone(),
            false => schedule(all, &chosen, start_up, quotas_of),
        },
        side_by_side,
        no_pool,
    }
}

struct PoolChoice<'a> {
    policy: WarmPoolPolicy,
    keep_alive: Seconds,
    start_up: StartUp,
    quotas_of: QuotasOf<'a>,
}

impl PoolChoice<'_> {
    /// The lanes of a configuration by itself that end first, and what they cost idle; or why it has none.
    fn pool(
        &self,
        one: &ConfigurationRuns,
        cold: Lanes,
        allowance: Usd,
    ) -> Result<(Lanes, Usd), NoPool> {
        if self.policy == WarmPoolPolicy::Off {
            return Err(NoPool::Off);
        }
        if !one.can_be_kept {
            return Err(NoPool::NotKept);
        }
        // Machines of a pool count in both quotas.
        let of_quota = |kind: &_| (self.quotas_of)(kind).warm_pool;
        let most = one.most_lanes(&of_quota).min(cold.count);
        if most == 0 {
            return Err(NoPool::NoQuota);
        }
        let alone = std::slice::from_ref(one);
        let mut found: Vec<(Lanes, Schedule)> = (1..=most)
            .map(|count| {
                let lanes = Lanes {
                    count,
                    keep_alive: Some(self.keep_alive),
                };
                let times = schedule(alone, &[lanes], self.start_up, self.quotas_of);
                (lanes, times)
            })
            .collect();
        // Stable: of those that end at once the fewest lanes.
        found.sort_by(|(_, a), (_, b)| a.wall_clock.0.total_cmp(&b.wall_clock.0));
        let idle = |times: &Schedule| times.idle_usd.unwrap_or_default();
        if matches!(self.policy, WarmPoolPolicy::KeepAlive(_)) {
            let (lanes, times) = found.first().ok_or(NoPool::NoQuota)?;
            return Ok((*lanes, idle(times)));
        }
        if one.usd_per_second.is_none() {
            return Err(NoPool::NoPrice);
        }
        let cold = schedule(alone, &[cold], self.start_up, self.quotas_of);
        let least = (self.start_up.cold - self.start_up.warm) * WORTH;
        found.retain(|(_, times)| cold.wall_clock - times.wall_clock >= least);
        let cheapest = found.iter().map(|(_, times)| idle(times).0);
        let cheapest = cheapest.min_by(f64::total_cmp).ok_or(NoPool::NotShorter)?;
        let affordable = found.iter().find(|(_, times)| idle(times) < allowance);
        affordable
            .map(|(lanes, times)| (*lanes, idle(times)))
            .ok_or(NoPool::TooDear(Usd(cheapest), allowance))
    }
}

#[cfg(test)]
mod tests;
