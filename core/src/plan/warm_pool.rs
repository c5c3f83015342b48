//! **Warm pools**: the configurations whose machines are kept from one canary to the next, and the rule of `warm_pool: auto`.
//!
//! A pool buys time, not money: a warm start is shorter, and a machine bills while it waits. So `auto` keeps machines from the
//! second check on, where by the canaries of the one before they shorten the check and idle little, the account has room for them,
//! and at their longest they cost little.

use super::{PlannedConfiguration, PlannedRuns, least};
use crate::instance::{InstanceConfiguration, InstanceType, Offer, OfferOf};
use crate::measurement::{Measurement, Start};
use crate::spec::{Job, WarmPoolPolicy};
use crate::units::{Fraction, Seconds, Usd, count_as_float};

/// How long `auto` keeps a machine: as long as late metrics are waited for, by which the next canary is chosen.
const KEEP_ALIVE: Seconds = Seconds(300.0);
/// With `auto`, machines that idle for the longest time cost less than this part of the spend limit.
const SHARE: f64 = 0.1;
/// With `auto`, warm starts shorten the canaries of a configuration by this part at least.
const SHORTER: f64 = 0.2;
/// With `auto`, the machines of a configuration idle for at most this part of what its canaries are billed.
const IDLE: f64 = 0.1;
/// A warm start where none was measured: P90 of AWS's own measurement with nothing to download ([`super::StartUpMode::cold`] names it).
const WARM_START: Seconds = Seconds(20.0);
/// For how long machines idle before a warm start where none was measured: the end of the canary before is seen within 15 s, and its
/// machines are looked at 5 s later.
const IDLE_BEFORE: Seconds = Seconds(20.0);

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
    /// By the check before: `idle` is in parts of what the canaries are billed.
    #[error(
        "warm starts would shorten its canaries by {shorter}, and its machines idle for {idle} of what these are billed; `auto` wants a fifth, and at most a tenth"
    )]
    DoesNotPay { shorter: Fraction, idle: Fraction },
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
}

/// The canaries of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigurationCanaries {
    instance: InstanceConfiguration,
    canaries: usize,
    at_once: u32,
    /// The price of all its machines for a second; absent without a price.
    usd_per_second: Option<Usd>,
    /// SageMaker keeps no instance groups, and no spot capacity.
    can_be_kept: bool,
    /// Absent where none of an earlier check has completed on it.
    earlier: Option<EarlierCanaries>,
}

/// What the canaries of an earlier check took on a configuration, each on average.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EarlierCanaries {
    billed: Seconds,
    cold_start: Seconds,
    warm_start: Seconds,
    /// Before a warm start.
    idle: Seconds,
}

impl EarlierCanaries {
    fn on(instance: &InstanceConfiguration, earlier: &[Measurement]) -> Option<Self> {
        let is_own = |run: &&Measurement| run.is_on(instance) && run.is_completed();
        let mean = |of: &dyn Fn(&Measurement) -> Option<Seconds>| {
            let all = Vec::from_iter(earlier.iter().filter(is_own).filter_map(of));
            let sum: Seconds = all.iter().copied().sum();
            (!all.is_empty()).then(|| Seconds(sum.0 / count_as_float(all.len())))
        };
        let start = |is_warm: bool| {
            let is_it = |run: &Measurement| (run.start == Some(Start::Warm)) == is_warm;
            mean(&|run| run.phases.startup.filter(|_| is_it(run)))
        };
        Some(Self {
            billed: mean(&Measurement::time)?,
            cold_start: start(false)?,
            warm_start: start(true).unwrap_or(WARM_START),
            idle: mean(&|run| run.idle_seconds).unwrap_or(IDLE_BEFORE),
        })
    }

    /// Why machines kept for so many canaries, so many at once, would not pay.
    fn refusal(&self, canaries: usize, at_once: u32) -> Option<NoPool> {
        let rounds = count_as_float(canaries.div_ceil(at_once as usize));
        let warm_starts = count_as_float(canaries.saturating_sub(at_once as usize));
        let saved = (self.cold_start.0 - self.warm_start.0).max(0.0) * (rounds - 1.0);
        let shorter = saved / ((self.cold_start + self.billed).0 * rounds);
        let idle = self.idle.0 * warm_starts / (self.billed.0 * count_as_float(canaries));
        let pays = shorter >= SHORTER && idle <= IDLE;
        (!pays).then_some(NoPool::DoesNotPay {
            shorter: Fraction(shorter),
            idle: Fraction(idle),
        })
    }
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
            let canaries = match one.runs.as_ref().ok()? {
                PlannedRuns::Fixed(runs) => runs.len(),
                PlannedRuns::Ladder(sizes) => {
                    let made = earlier.iter().filter(|run| run.is_on(instance)).count();
                    if made > 0 { made } else { sizes.len() }
                }
            };
            Some(ConfigurationCanaries {
                canaries,
                at_once: parallel.min(u32::try_from(canaries.max(1)).unwrap_or(parallel)),
                usd_per_second: offer_of(instance).cost(Seconds(1.0)),
                can_be_kept: matches!(instance, InstanceConfiguration::Homogeneous { .. })
                    && !job.training.sagemaker.spot,
                earlier: EarlierCanaries::on(instance, earlier),
                instance: instance.clone(),
            })
        };
        Self {
            all: all.iter().filter_map(canaries).collect(),
            policy: job.canary.warm_pool,
            spend_limit,
            left,
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
        let earlier = one.earlier.ok_or(NoPool::NotKnown)?;
        let refusal = earlier.refusal(one.canaries, at_once);
        refusal.map_or(Ok(()), Err)?;
        let longest = Usd(price.0 * KEEP_ALIVE.0 * count_as_float(one.canaries));
        let most = least(left, Usd(SHARE * self.spend_limit.0));
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
        let pays = EarlierCanaries {
            billed: Seconds(300.0),
            cold_start: Seconds(240.0),
            warm_start: Seconds(20.0),
            idle: Seconds(20.0),
        };
        let plan = |usd_per_hour: f64, earlier, spend_limit| PoolPlan {
            all: vec![ConfigurationCanaries {
                instance: "ml.m5.xlarge".parse().unwrap(),
                canaries: 4,
                at_once: 2,
                usd_per_second: Some(Usd(usd_per_hour / 3600.0)),
                can_be_kept: true,
                earlier,
            }],
            policy: WarmPoolPolicy::Auto,
            spend_limit: Usd(spend_limit),
            left: Usd(spend_limit),
        };
        let auto = || plan(0.23, Some(pays), 5.0);
        let after = |change: fn(&mut EarlierCanaries)| {
            let mut earlier = pays;
            change(&mut earlier);
            plan(0.23, Some(earlier), 5.0)
        };
        let with = |policy| PoolPlan { policy, ..auto() };
        let written = || with(WarmPoolPolicy::KeepAlive(Seconds(60.0)));
        let groups = || {
            let mut plan = auto();
            plan.all[0].can_be_kept = false;
            plan
        };
        for (plan, quota, expected) in [
            (auto(), None, "kept for 5m in 2"),
            (auto(), Some(2), "kept for 5m in 2"),
            (auto(), Some(1), "no room"),
            (auto(), Some(0), "no room"),
            (plan(0.23, None, 5.0), None, "on record"),
            (plan(0.23, Some(pays), 0.77), None, "kept for 5m in 2"),
            (plan(0.23, Some(pays), 0.76), None, "it could cost"),
            (plan(60.0, Some(pays), 5.0), None, "it could cost"),
            // Of two rounds of 540 s a warm start takes 220 s, 20.4%. Two idle for 20 s, and 120 s are a tenth of what all are billed.
            (after(|it| it.billed.0 = 340.0), None, "by 19%,"),
            (after(|it| it.warm_start.0 = 250.0), None, "by 0%,"),
            (after(|it| it.idle.0 = 59.0), None, "kept for 5m in 2"),
            (after(|it| it.idle.0 = 72.0), None, "idle for 12% of"),
            (written(), Some(1), "kept for 1m in 1"),
            (written(), Some(0), "no room"),
            (with(WarmPoolPolicy::Off), Some(3), "is off"),
            (groups(), Some(3), "no instance groups"),
        ] {
            let quotas = |_: &InstanceType| MachineQuotas {
                training: Some(20),
                warm_pool: quota,
            };
            let said = match plan.choose(&quotas).remove(0).1 {
                Ok(pool) => format!("kept for {} in {}", pool.keep_alive, pool.lanes),
                Err(why) => why.to_string(),
            };
            assert!(said.contains(expected), "{said}: {expected}");
            let may_keep = plan.policy != WarmPoolPolicy::Off && plan.all[0].can_be_kept;
            assert_eq!(plan.may_keep(), may_keep, "{said}");
        }
    }
}
