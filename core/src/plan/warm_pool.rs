//! **Warm pools**: the configurations whose machines are kept from one canary to the next, and the rule of `warm_pool: auto`.
//!
//! A pool buys time, not money: a warm start is shorter, and a machine bills while it waits. So `auto` keeps one where an earlier
//! check says that it pays.

use std::fmt;

use super::start_up::StartUp;
use super::{PlannedAlternative, PlannedRuns, base_instance, fewest, level};
use crate::instance::{InstanceConfiguration, InstanceType, Offer, OfferOf};
use crate::measurement::Measurement;
use crate::spec::{Job, WarmPoolPolicy};
use crate::units::{Seconds, Usd, count_as_float};

/// How long `auto` keeps a machine: as long as late metrics are waited for, by which the next canary is chosen.
const KEEP_ALIVE: Seconds = Seconds(300.0);
/// For which a machine waits for the next canary, and after the last for its end: half of the 10 to 15 s between two looks.
const IDLE: Seconds = Seconds(6.0);
/// By `auto` pools make a check shorter by at least this part.
const WORTH: f64 = 0.2;
/// By `auto` idle machines cost less than this part of the canaries, and at their longest of the spend limit.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoPool {
    Off,
    NotKept,
    NoQuota,
    /// Without an earlier check.
    NotKnown,
    NoPrice,
    /// By how much of the check it would be.
    NotShorter(f64),
    /// What it would cost idle, and how much it may.
    TooDear(Usd, Usd),
    /// What it could cost, kept as long as it may be after each canary.
    BeyondTheLimit(Usd),
}

impl fmt::Display for NoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("`canary.warm_pool` is off"),
            Self::NotKept => f.write_str("SageMaker keeps no instance groups and no spot capacity"),
            Self::NoQuota => f.write_str("its quota for training warm pool usage has no room"),
            Self::NotKnown => f.write_str(
                "`auto` keeps machines only where an earlier check shows that this pays, and none is on record",
            ),
            Self::NoPrice => f.write_str("no price is known, so what it costs idle is not"),
            Self::NotShorter(part) => write!(
                f,
                "the check would be shorter by {:.0}%; `auto` wants {:.0}%",
                100.0 * part.max(0.0),
                100.0 * WORTH
            ),
            Self::TooDear(idle, most) => {
                write!(f, "idle it would cost {idle}; `auto` may take {most}")
            }
            Self::BeyondTheLimit(longest) => write!(
                f,
                "kept for its longest after each canary it could cost {longest}, which is too much of the spend limit"
            ),
        }
    }
}

/// What pools are chosen from, kept until the quotas are known: by a plan without them, by a run with them.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolPlan {
    /// Of `instance` first, then of each alternative that is measured.
    pub(super) all: Vec<ConfigurationCanaries>,
    pub(super) policy: WarmPoolPolicy,
    pub(super) spend_limit: Usd,
    /// What is left of that beside the worst cases of the canaries.
    pub(super) left: Usd,
    pub(super) max_runtime: Seconds,
    pub(super) start_up: StartUp,
}

/// The canaries of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigurationCanaries {
    instance: InstanceConfiguration,
    canaries: usize,
    /// The most of them that run one after another, and those that do as expected.
    longest_chain: usize,
    chain: usize,
    at_once: u32,
    /// How many machines are kept at a time.
    kept: u32,
    /// The mean of an earlier check, without start-up; absent without one.
    time: Option<Seconds>,
    /// Of all its machines; absent without a price.
    usd_per_second: Option<Usd>,
    /// SageMaker keeps no instance groups, and no spot capacity.
    can_be_kept: bool,
}

impl ConfigurationCanaries {
    /// `earlier` are the canaries of an earlier check; where there are none of a configuration, it takes as long as `instance`.
    pub(super) fn all(
        job: &Job,
        runs: &PlannedRuns,
        alternatives: &[PlannedAlternative],
        earlier: &[Measurement],
        offer_of: OfferOf<'_>,
    ) -> Vec<Self> {
        let measured = alternatives
            .iter()
            .filter_map(|one| Some((one.runs_on(), one.runs.as_ref().ok()?)));
        let base = &base_instance(job);
        let times_on = |instance: &InstanceConfiguration| -> Vec<f64> {
            let runs = earlier.iter().filter(|run| run.is_on(instance));
            runs.filter_map(after_start_up).collect()
        };
        let all = [(base, runs)].into_iter().chain(measured);
        all.map(|(instance, runs)| {
            let own = times_on(instance);
            let times = if own.is_empty() { times_on(base) } else { own };
            let most = job.canary.parallel.max(1);
            let width = most as usize;
            let (canaries, longest_chain, chain, kept) = match runs {
                PlannedRuns::Fixed(runs) => {
                    let first = fewest(runs).min(runs.len());
                    let chain = first.div_ceil(width) + (runs.len() - first).div_ceil(width);
                    (runs.len(), chain, chain, width)
                }
                PlannedRuns::Ladder(sizes) => {
                    let canaries = if times.is_empty() {
                        sizes.len()
                    } else {
                        times.len()
                    };
                    // Levels of work take turns run by run.
                    let has_levels = level(job, 0) != level(job, 1);
                    let first = if instance == base && !has_levels {
                        2.min(width)
                    } else {
                        1
                    };
                    (canaries, sizes.len(), 1 + canaries.saturating_sub(first), 1)
                }
            };
            let count = count_as_float(times.len());
            Self {
                canaries,
                longest_chain,
                chain,
                at_once: most.min(u32::try_from(canaries.max(1)).unwrap_or(most)),
                kept: u32::try_from(kept.min(canaries)).unwrap_or(most),
                time: (count > 0.0).then(|| Seconds(times.iter().sum::<f64>() / count)),
                usd_per_second: offer_of(instance).cost(Seconds(1.0)),
                can_be_kept: matches!(instance, InstanceConfiguration::Homogeneous { .. })
                    && !job.training.sagemaker.spot,
                instance: instance.clone(),
            }
        })
        .collect()
    }

    /// How many of its canaries the quota has room for at a time; `None` where it is not known.
    fn room(&self, quota_of: impl Fn(&InstanceType) -> Option<u32>) -> Option<u32> {
        let by_type = self.instance.machines_by_type().into_iter();
        by_type
            .filter_map(|(kind, count)| Some(quota_of(kind)? / count.max(1)))
            .min()
    }
}

impl PoolPlan {
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
        let choose = |one: &'_ ConfigurationCanaries| {
            let pool = self.pool(one, quotas_of, left);
            if let Ok((_, longest)) = pool {
                left = left - longest;
            }
            pool.map(|(pool, _)| pool)
        };
        let pools: Vec<_> = self.all.iter().map(choose).collect();
        let instances = self.all.iter().map(|one| &one.instance);
        instances.zip(pools).collect()
    }

    /// The pool of a configuration, and what `auto` may spend on it beside the worst cases of the canaries.
    fn pool(
        &self,
        one: &ConfigurationCanaries,
        quotas_of: QuotasOf<'_>,
        left: Usd,
    ) -> Result<(WarmPool, Usd), NoPool> {
        if self.policy == WarmPoolPolicy::Off {
            return Err(NoPool::Off);
        }
        if !one.can_be_kept {
            return Err(NoPool::NotKept);
        }
        let trains = one.room(|kind| quotas_of(kind).training);
        let keeps = one.room(|kind| quotas_of(kind).warm_pool);
        let at_once = one.at_once.min(trains.unwrap_or(u32::MAX));
        let pool = |keep_alive, lanes| WarmPool {
            instance: one.instance.clone(),
            keep_alive,
            lanes,
        };
        if let WarmPoolPolicy::KeepAlive(keep_alive) = self.policy {
            let lanes = at_once.min(keeps.unwrap_or(u32::MAX));
            let pool = (lanes > 0).then(|| pool(keep_alive, lanes));
            return Ok((pool.ok_or(NoPool::NoQuota)?, Usd(0.0)));
        }
        let kept = one.kept.min(at_once);
        if kept == 0 || keeps.is_some_and(|room| room < kept) {
            return Err(NoPool::NoQuota);
        }
        let time = one.time.ok_or(NoPool::NotKnown)?;
        let price = one.usd_per_second.ok_or(NoPool::NoPrice)?;
        let StartUp { cold, warm } = self.start_up;
        // A machine waits once after each canary, the last one until it is ended.
        let chain = count_as_float(one.chain);
        let saved = (cold.0 - warm.0 - IDLE.0) * (chain - 1.0);
        let part = saved / ((cold.0 + time.0) * chain);
        if part.is_nan() || part < WORTH {
            return Err(NoPool::NotShorter(part));
        }
        let canaries = count_as_float(one.canaries);
        let idle = Usd(price.0 * IDLE.0 * canaries);
        let most = Usd(SHARE * price.0 * time.0 * canaries);
        if idle > most {
            return Err(NoPool::TooDear(idle, most));
        }
        let longest = Usd(price.0 * KEEP_ALIVE.0 * canaries);
        if longest > left || longest.0 > SHARE * self.spend_limit.0 {
            return Err(NoPool::BeyondTheLimit(longest));
        }
        Ok((pool(KEEP_ALIVE, at_once), longest))
    }

    /// What the machines of each configuration may cost that `auto` keeps; of a written time the runs have it with them.
    pub(super) fn longest_idle(&self) -> Vec<Usd> {
        let mut left = self.left;
        let longest = |one: &ConfigurationCanaries| {
            let longest = self.pool(one, &no_quotas, left);
            let longest = longest.map_or(Usd(0.0), |(_, longest)| longest);
            left = left - longest;
            longest
        };
        self.all.iter().map(longest).collect()
    }

    /// With each canary cold and at its time limit; alternatives begin after the first canary of `instance`.
    pub(super) fn longest(&self) -> Seconds {
        let each = self.start_up.cold + self.max_runtime;
        let chains = self.all.iter().enumerate().map(|(place, one)| {
            let before = usize::from(place > 0);
            count_as_float(before + one.longest_chain)
        });
        each * chains.fold(0.0, f64::max)
    }
}

/// What a canary took once its data were there; absent where it did not complete.
fn after_start_up(run: &Measurement) -> Option<f64> {
    let time = run.time().filter(|_| run.is_completed())?;
    let download = run.phases.download.unwrap_or_default();
    Some((time.0 - download.0).max(0.0))
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
    use crate::plan::StartUpMode;

    /// Canaries of `time` seconds at a price an hour, `chain` of them one after another.
    fn plan(canaries: usize, chain: usize, time: Option<f64>, usd_per_hour: f64) -> PoolPlan {
        PoolPlan {
            all: vec![ConfigurationCanaries {
                instance: "ml.m5.xlarge".parse().unwrap(),
                canaries,
                longest_chain: chain,
                chain,
                at_once: 3,
                kept: 1,
                time: time.map(Seconds),
                usd_per_second: Some(Usd(usd_per_hour / 3600.0)),
                can_be_kept: true,
            }],
            policy: WarmPoolPolicy::Auto,
            spend_limit: Usd(5.0),
            left: Usd(5.0),
            max_runtime: Seconds(1800.0),
            start_up: StartUpMode::File.table(),
        }
    }

    #[test]
    fn auto_keeps_machines_only_where_they_pay() {
        // 4 canaries in a chain of 3 save 2 x 100 of 3 x (176 + t) s, and wait 6 s each.
        let cases = [
            (plan(4, 3, None, 0.23), "none is on record"),
            (plan(4, 3, Some(100.0), 0.23), "kept"),
            (plan(4, 3, Some(200.0), 0.23), "shorter by 18%"),
            (plan(4, 3, Some(50.0), 0.23), "idle it would cost"),
            (plan(4, 3, Some(100.0), 60.0), "too much of the spend limit"),
            (plan(1, 1, Some(100.0), 0.23), "shorter by 0%"),
        ];
        for (plan, expected) in cases {
            let chosen = plan.choose(&no_quotas).remove(0).1;
            let said = chosen.map_or_else(|why| why.to_string(), |_| "kept".to_owned());
            assert!(said.contains(expected), "{said}: {expected}");
        }
    }

    #[test]
    fn quotas_and_the_spec_decide_before_any_figure() {
        let quota = |warm_pool| {
            move |_: &InstanceType| MachineQuotas {
                training: Some(20),
                warm_pool: Some(warm_pool),
            }
        };
        let mut plan = plan(4, 3, Some(100.0), 0.23);
        assert_eq!(plan.pools(&quota(0)), []);
        // Of the two that begin at once one is kept.
        assert_eq!(plan.pools(&quota(1))[0].lanes, 3);
        plan.policy = WarmPoolPolicy::KeepAlive(Seconds(60.0));
        assert_eq!(plan.pools(&quota(2))[0].lanes, 2);
        plan.policy = WarmPoolPolicy::Off;
        assert_eq!(plan.pools(&quota(2)), []);
        assert!(!plan.may_keep());
    }
}
