//! **Warm pools**: the configurations whose machines are kept from one canary to the next, and the rule of `warm_pool: auto`.
//!
//! A pool buys time, not money: a warm start is shorter, and a machine bills while it waits. So `auto` keeps machines from the
//! second check on, where the account has room for them and idle they cost little at their longest.

use super::{PlannedConfiguration, PlannedRuns, StartUpMode, fewest, least};
use crate::instance::{InstanceConfiguration, InstanceType, Offer, OfferOf};
use crate::measurement::Measurement;
use crate::spec::{Job, WarmPoolPolicy};
use crate::units::{Seconds, Usd, count_as_float};

/// How long `auto` keeps a machine: as long as late metrics are waited for, by which the next canary is chosen.
const KEEP_ALIVE: Seconds = Seconds(300.0);
/// With `auto`, machines that idle for the longest time cost less than this part of the spend limit.
const SHARE: f64 = 0.1;

/// Machines that are kept from one canary of a configuration to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmPool {
    /// Never of groups.
    pub instance: InstanceConfiguration,
    /// From 1 second to an hour.
    pub keep_alive: Seconds,
    /// How many canaries run at once, each on machines of its own; at least 1.
    pub lanes: u32,
    /// What `auto` may spend on it beside the worst cases of the canaries; nothing where the spec names the time.
    longest_idle: Usd,
}

/// How many machines of a type the account may use; `None` where it was not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MachineQuotas {
    pub training: Option<u32>,
    /// 0 where nobody has asked for more.
    pub warm_pool: Option<u32>,
}

/// The quotas of a type, as the caller knows them.
pub type QuotasOf<'a> = &'a dyn Fn(&InstanceType) -> MachineQuotas;

/// Where nobody asked for the quotas.
pub fn no_quotas(_: &InstanceType) -> MachineQuotas {
    MachineQuotas::default()
}

/// Why the canaries of a configuration start cold.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoPool {
    #[error("`canary.warm_pool` is off")]
    Off,
    #[error("SageMaker keeps no instance groups and no spot capacity")]
    NotKept,
    #[error("its quota for training warm pool usage has no room")]
    NoQuota,
    #[error("`auto` keeps machines from the second check on, and no earlier one is on record")]
    NotKnown,
    #[error("no price is known, so what it costs idle is not")]
    NoPrice,
    /// What it could cost, kept as long as it may be after each canary, and how much it may.
    #[error(
        "kept for its longest after each canary it could cost {0}; `auto` may take {1} of the spend limit"
    )]
    TooDear(Usd, Usd),
}

/// What pools are chosen from, kept until the quotas are known: by a plan without them, by a run with them.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolPlan {
    /// The canaries of `instance` first, then those of each alternative that is measured.
    pub(super) all: Vec<ConfigurationCanaries>,
    pub(super) policy: WarmPoolPolicy,
    pub(super) spend_limit: Usd,
    /// What is left of that beside the worst cases of the canaries.
    pub(super) left: Usd,
    /// The longest time of one canary, with its start.
    pub(super) longest_canary: Seconds,
    /// Whether a canary of an earlier check has completed.
    pub(super) has_earlier: bool,
}

/// The canaries of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigurationCanaries {
    instance: InstanceConfiguration,
    canaries: usize,
    /// The most of them that run one after another.
    longest_chain: usize,
    at_once: u32,
    /// The price of all its machines for a second; absent without a price.
    usd_per_second: Option<Usd>,
    /// SageMaker keeps no instance groups, and no spot capacity.
    can_be_kept: bool,
}

impl PoolPlan {
    /// `earlier` are the canaries of an earlier check, which say how many the adaptive design makes.
    pub(super) fn new(
        job: &Job,
        all: &[PlannedConfiguration],
        earlier: &[Measurement],
        (spend_limit, left): (Usd, Usd),
        offer_of: OfferOf<'_>,
    ) -> Self {
        let parallel = job.canary.parallel.max(1);
        let canaries = |one: &PlannedConfiguration| {
            let instance = one.runs_on();
            let (canaries, longest_chain) = match one.runs.as_ref().ok()? {
                PlannedRuns::Fixed(runs) => {
                    let first = fewest(runs).min(runs.len());
                    let width = parallel as usize;
                    let chain = first.div_ceil(width) + (runs.len() - first).div_ceil(width);
                    (runs.len(), chain)
                }
                PlannedRuns::Ladder(sizes) => {
                    let made = earlier.iter().filter(|run| run.is_on(instance)).count();
                    let canaries = if made > 0 { made } else { sizes.len() };
                    (canaries, sizes.len())
                }
            };
            Some(ConfigurationCanaries {
                canaries,
                longest_chain,
                at_once: parallel.min(u32::try_from(canaries.max(1)).unwrap_or(parallel)),
                usd_per_second: offer_of(instance).cost(Seconds(1.0)),
                can_be_kept: matches!(instance, InstanceConfiguration::Homogeneous { .. })
                    && !job.training.sagemaker.spot,
                instance: instance.clone(),
            })
        };
        Self {
            all: all.iter().filter_map(canaries).collect(),
            policy: job.canary.warm_pool,
            spend_limit,
            left,
            longest_canary: StartUpMode::of(job).cold() + job.canary.max_runtime,
            has_earlier: earlier.iter().any(Measurement::is_completed),
        }
    }

    /// Whether the quotas of pools have a part in the choice.
    pub fn may_keep(&self) -> bool {
        self.policy != WarmPoolPolicy::Off && self.all.iter().any(|one| one.can_be_kept)
    }

    /// At most one for each configuration, within both quotas; empty where every canary starts cold.
    pub fn pools(&self, quotas_of: QuotasOf<'_>) -> Vec<WarmPool> {
        let chosen = self.choose(quotas_of).into_iter();
        chosen.filter_map(|(_, pool)| pool.ok()).collect()
    }

    /// For each configuration its pool, or why it has none.
    pub fn choose(
        &self,
        quotas_of: QuotasOf<'_>,
    ) -> Vec<(&InstanceConfiguration, Result<WarmPool, NoPool>)> {
        let mut left = self.left;
        let choose = |one| {
            let pool = self.pool(one, quotas_of, left);
            left = left - pool.as_ref().map_or(Usd(0.0), |pool| pool.longest_idle);
            (&one.instance, pool)
        };
        self.all.iter().map(choose).collect()
    }

    /// The pool of a configuration.
    fn pool(
        &self,
        one: &ConfigurationCanaries,
        quotas_of: QuotasOf<'_>,
        left: Usd,
    ) -> Result<WarmPool, NoPool> {
        if self.policy == WarmPoolPolicy::Off {
            return Err(NoPool::Off);
        }
        if !one.can_be_kept {
            return Err(NoPool::NotKept);
        }
        let at_once = one.at_once.min(one.room(|kind| quotas_of(kind).training));
        let room = one.room(|kind| quotas_of(kind).warm_pool);
        let pool = |keep_alive, lanes, longest_idle| WarmPool {
            instance: one.instance.clone(),
            keep_alive,
            lanes,
            longest_idle,
        };
        if at_once.min(room) == 0 {
            return Err(NoPool::NoQuota);
        }
        let price = one.usd_per_second.ok_or(NoPool::NoPrice)?;
        if let WarmPoolPolicy::KeepAlive(keep_alive) = self.policy {
            return Ok(pool(keep_alive, at_once.min(room), Usd(0.0)));
        }
        if room < at_once {
            return Err(NoPool::NoQuota);
        }
        if !self.has_earlier {
            return Err(NoPool::NotKnown);
        }
        let longest = Usd(price.0 * KEEP_ALIVE.0 * count_as_float(one.canaries));
        let share = Usd(SHARE * self.spend_limit.0);
        let most = least(left, share);
        if longest > most {
            return Err(NoPool::TooDear(longest, most));
        }
        Ok(pool(KEEP_ALIVE, at_once, longest))
    }

    /// What the machines of each configuration may cost that `auto` keeps; of a written time the runs have it with them.
    pub(super) fn longest_idle(&self) -> impl Iterator<Item = Usd> {
        let pools = self.choose(&no_quotas).into_iter();
        pools.map(|(_, pool)| pool.map_or(Usd(0.0), |pool| pool.longest_idle))
    }

    /// With each canary cold and at its time limit; alternatives begin after the first canary of `instance`.
    pub(super) fn longest(&self) -> Seconds {
        let chains = self.all.iter().enumerate().map(|(place, one)| {
            let before = usize::from(place > 0);
            count_as_float(before + one.longest_chain)
        });
        self.longest_canary * chains.fold(0.0, f64::max)
    }
}

impl ConfigurationCanaries {
    /// How many of its canaries the quota has room for at a time, as far as it is known.
    fn room(&self, quota_of: impl Fn(&InstanceType) -> Option<u32>) -> u32 {
        let by_type = self.instance.machines_by_type().into_iter();
        by_type
            .filter_map(|(kind, count)| Some(quota_of(kind)? / count.max(1)))
            .min()
            .unwrap_or(u32::MAX)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_a_rule() {
        // Four canaries of 0.23 USD an hour, kept for 300 s each, take 0.0767 USD at their longest.
        let plan = |usd_per_hour: f64, has_earlier, spend_limit| PoolPlan {
            all: vec![ConfigurationCanaries {
                instance: "ml.m5.xlarge".parse().unwrap(),
                canaries: 4,
                longest_chain: 3,
                at_once: 3,
                usd_per_second: Some(Usd(usd_per_hour / 3600.0)),
                can_be_kept: true,
            }],
            policy: WarmPoolPolicy::Auto,
            spend_limit: Usd(spend_limit),
            left: Usd(spend_limit),
            longest_canary: Seconds(2000.0),
            has_earlier,
        };
        let auto = || plan(0.23, true, 5.0);
        let with = |policy| PoolPlan { policy, ..auto() };
        let written = || with(WarmPoolPolicy::KeepAlive(Seconds(60.0)));
        let groups = || {
            let mut plan = auto();
            plan.all[0].can_be_kept = false;
            plan
        };
        let kept = |seconds, lanes| format!("kept for {} in {lanes}", Seconds(seconds));
        for (plan, quota, expected) in [
            (auto(), None, kept(300.0, 3)),
            (auto(), Some(3), kept(300.0, 3)),
            (auto(), Some(2), "no room".to_owned()),
            (auto(), Some(0), "no room".to_owned()),
            (plan(0.23, false, 5.0), None, "on record".to_owned()),
            (plan(0.23, true, 0.77), None, kept(300.0, 3)),
            (plan(0.23, true, 0.76), None, "it could cost".to_owned()),
            (plan(60.0, true, 5.0), None, "it could cost".to_owned()),
            (written(), Some(2), kept(60.0, 2)),
            (written(), Some(0), "no room".to_owned()),
            (with(WarmPoolPolicy::Off), Some(3), "is off".to_owned()),
            (groups(), Some(3), "no instance groups".to_owned()),
        ] {
            let quotas = |_: &InstanceType| MachineQuotas {
                training: Some(20),
                warm_pool: quota,
            };
            let said = match plan.choose(&quotas).remove(0).1 {
                Ok(pool) => format!("kept for {} in {}", pool.keep_alive, pool.lanes),
                Err(why) => why.to_string(),
            };
            assert!(said.contains(&expected), "{said}: {expected}");
            let may_keep = plan.policy != WarmPoolPolicy::Off && plan.all[0].can_be_kept;
            assert_eq!(plan.may_keep(), may_keep, "{said}");
        }
    }
}
