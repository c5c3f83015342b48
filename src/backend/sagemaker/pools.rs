//! The warm pools of a run: taken by the next canary, free again after it, and ended when no canary is left for them.

mod ending;

use std::collections::BTreeMap;
use std::time::Duration;

use super::description::is_settled;
use super::ready::KeptPool;
use super::{CanaryUnderWay, Found, JobDescription, JobName, JobState, ReadyJob};
use crate::aws::call::CallError;
use crate::canary::CanaryRun;
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::measurement::Start;
use crate::plan::{self, PoolPlan, StartUpMode, WarmPool};
use crate::spec::WarmPoolPolicy;
use crate::units::Seconds;

/// Between two looks at a pool: it is there within seconds of its job's end.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
const OF_OTHERS: &str = "started warm: AWS gave it a warm pool of another run, which matches, and bills that; an image other than its last one was pulled again, within the billed time";
const LOST: &str = "started cold: it did not get the machines kept for it, as where they were not ready in time, AWS patches them, their time is over, or another training job takes them";

/// Pools of this process, by their last job.
pub(super) type Pools = BTreeMap<String, OpenPool>;

/// A pool whose last job this process has started.
#[derive(Debug, Clone)]
pub(super) struct OpenPool {
    /// The job of the spec.
    job: String,
    /// Canaries of one job on one configuration are alike in all that AWS compares, so each may have the machines of another.
    instance: InstanceConfiguration,
    keep_alive: Seconds,
    stage: PoolStage,
    /// The last job of the pool that is meant for this job.
    meant: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum PoolStage {
    /// The job is not over.
    Running,
    /// Kept for the next canary.
    Free,
    /// A canary is to start on it.
    Taken,
    /// The canary that it was meant for started elsewhere: nobody waits for it, and it may be there still.
    Passed,
    /// It is gone, and was kept for so long.
    Ended(Seconds),
}

/// The start of a canary, and the pools that are gone and are billed with it.
#[derive(Debug, Default)]
pub(super) struct StartOnPool {
    /// Whether the machines were fresh, as far as the pools say it.
    pub(super) start: Option<Start>,
    /// A sentence where the canary did not start as it was meant to, else `None`.
    pub(super) note: Option<&'static str>,
    /// Each pool that ended, by the name of its last training job, with how long its machines were kept and billed.
    ended: BTreeMap<String, Seconds>,
}

impl StartOnPool {
    /// The time for which each machine was kept, and billed; `None` where none was kept.
    pub(super) fn idle(&self) -> Option<Seconds> {
        let idle: Seconds = self.ended.values().copied().sum();
        (idle.0 > 0.0).then_some(idle)
    }

    /// The jobs that keep machines no more; one that leaves none is among them.
    pub(super) fn over_with(&self, name: &JobName, description: &JobDescription) -> Vec<String> {
        let own = description.pool.is_none().then(|| name.to_string());
        let own = own.filter(|name| !self.ended.contains_key(name));
        self.ended.keys().cloned().chain(own).collect()
    }
}

impl ReadyJob<'_> {
    /// The pool that canaries of a configuration run in; `None` where each starts cold.
    pub(super) fn pool_for(&self, instance: &InstanceConfiguration) -> Option<WarmPool> {
        let pools = self.warm_pools.borrow();
        let own = pools.iter().find(|own| own.pool.instance == *instance);
        own.map(|own| own.pool.clone())
    }

    /// Chooses the pools, once the quotas are known. What cannot be ended is not begun.
    pub(super) async fn plan_pools(&self, plan: &PoolPlan) {
        let pools = plan.pools(&|kind| self.backend.machine_quotas(kind));
        if !pools.is_empty()
            && let Some(error) = self.backend.may_not_end_pools().await
        {
            return self.notes.add(format!(
                "canaries start cold: a warm pool could not be ended ({}); allow sagemaker:UpdateTrainingJob as `canary-gate iam-policy` prints it, or write `warm_pool: off`",
                error.message
            ));
        }
        // Which configurations go without the pools that they would have but for the account's quotas, or with fewer.
        for wish in plan.pools(&plan::no_quotas) {
            let instance = &wish.instance;
            let without = self.at_once(instance);
            match pools.iter().find(|pool| pool.instance == *instance) {
                _ if !self.has_quota(instance) => {}
                None => self.go_without_pool(instance),
                // A quota of training that is as small has a note of its own.
                Some(pool) if pool.lanes < wish.lanes.min(without) => {
                    if let Some(kind) = self.kind_asked_for(instance) {
                        self.notes.add(format!(
                            "canaries on {instance} run {} at a time, not {without}: the quota `{kind} for training warm pool usage` is {}; ask for more in Service Quotas (service Amazon SageMaker), or write `warm_pool: auto`, which keeps machines where that is sooner done",
                            pool.lanes,
                            self.backend.machine_quotas(kind).warm_pool.unwrap_or(0),
                        ));
                    }
                }
                Some(_) => {}
            }
        }
        let kept = pools.into_iter().map(|pool| KeptPool {
            pool,
            is_closing: false,
        });
        self.warm_pools.borrow_mut().extend(kept);
    }

    /// The type of the machines that the spec asks to keep; `None` where it leaves pools to the gate, of which not each is said.
    fn kind_asked_for<'i>(&self, instance: &'i InstanceConfiguration) -> Option<&'i InstanceType> {
        let is_asked_for = self.job.canary.warm_pool != WarmPoolPolicy::Auto;
        instance.single_type().filter(|_| is_asked_for)
    }

    /// Lets canaries of a configuration start cold, for the quota has no room for a pool.
    fn go_without_pool(&self, instance: &InstanceConfiguration) {
        self.forget_pool(instance);
        if let Some(kind) = self.kind_asked_for(instance) {
            self.notes.add(format!(
                "canaries on {instance} start cold: the quota `{kind} for training warm pool usage`, which is 0 where nobody asked for more, has no room for a warm pool; ask for {} in Service Quotas (service Amazon SageMaker), or write `warm_pool: off`",
                instance.total_count(),
            ));
        }
    }

    fn forget_pool(&self, instance: &InstanceConfiguration) {
        let pools = &mut self.warm_pools.borrow_mut();
        pools.retain(|own| own.pool.instance != *instance);
    }

    /// A job with a warm pool was denied: a policy may forbid the key `sagemaker:KeepAlivePeriod`, and name no more than the call.
    pub(super) fn give_up_pool(&self, instance: &InstanceConfiguration, error: &CallError) {
        self.notes.add(format!(
            "canaries on {instance} start cold: AWS denied one with a warm pool; if a policy limits sagemaker:KeepAlivePeriod, write `warm_pool: off` ({})",
            error.message
        ));
        self.forget_pool(instance);
    }

    /// Whether canaries on a configuration may have the machines of a pool.
    fn is_for(&self, pool: &OpenPool, instance: &InstanceConfiguration) -> bool {
        pool.job == self.job.name && pool.instance == *instance
    }

    /// A job was not started, or not by this process: the machines that it was to have are free again.
    pub(super) fn give_pool_back(&self, name: &JobName) {
        let name = name.to_string();
        let state = &mut *self.backend.state.borrow_mut();
        // A job of this run may have been created all the same.
        if !state.own.contains(&name)
            && let Some(pool) = state.pools.remove(&name)
        {
            no_longer_taken(&mut state.pools, pool.meant.as_ref(), PoolStage::Free);
        }
    }

    /// A job is over: the next canary may have its machines, if they are kept.
    pub(super) fn free_pool(&self, run: &CanaryRun, found: &Found, description: &JobDescription) {
        let name = found.name.to_string();
        let pools = &mut self.backend.state.borrow_mut().pools;
        let Some(pool) = pools.get_mut(&name) else {
            return;
        };
        // It counts as free even if AWS has lost it by now: the next canary finds that out.
        pool.stage = match description.pool {
            Some(_) => PoolStage::Free,
            None => PoolStage::Ended(Seconds(0.0)),
        };
        // Only jobs that have ended count: a running one has asked for a pool, and may not get it.
        let has_others = pools.values().any(|other| {
            let was_kept = !matches!(other.stage, PoolStage::Running | PoolStage::Ended(_));
            was_kept && self.is_for(other, &run.instance)
        });
        // A pool that was asked for and is not there: nothing says why but the quota, which has room for others.
        let resources = description.answer.resource_config();
        let is_asked_for = resources.is_some_and(|it| it.keep_alive_period_in_seconds.is_some());
        let has_none = description.pool.is_none() && description.state == JobState::Completed;
        if has_none && is_asked_for && !has_others {
            self.go_without_pool(&run.instance);
        }
    }

    /// Looks up how a job that is over started, and what became of the machines that it leaves.
    pub(super) async fn look_at_pool(&self, found: &Found, ended: &JobDescription) -> StartOnPool {
        let name = found.name.to_string();
        let known = self.backend.state.borrow().pools.get(&name).cloned();
        let mut pooled = StartOnPool::default();
        if known.is_none() && !(found.is_own && ended.pool.is_some()) {
            return pooled;
        }
        let before = self.backend.pool_taken_by(&name).await;
        let pools = &mut self.backend.state.borrow_mut().pools;
        let meant = known.as_ref().and_then(|pool| pool.meant.as_ref());
        // AWS chooses among alike pools: the one that was meant is there for others. A lost one is no other canary's.
        // One of this run may be forgotten by now, where all are being ended.
        match before {
            Some(Some((before, idle))) => {
                pooled.start = Some(Start::Warm);
                if pools.remove(&before).is_some() {
                    pooled.ended.insert(before, idle);
                } else if !self.backend.tags.is_resumed && meant != Some(&before) {
                    pooled.note = Some(OF_OTHERS);
                }
                no_longer_taken(pools, meant, PoolStage::Free);
            }
            Some(None) => {
                pooled.start = Some(Start::Cold);
                pooled.note = meant.map(|_| LOST);
                no_longer_taken(pools, meant, PoolStage::Passed);
            }
            None => {}
        }
        if let Some(PoolStage::Ended(idle)) = pools.get(&name).map(|pool| pool.stage) {
            pools.remove(&name);
            pooled.ended.insert(name, idle);
        }
        pooled
    }
}

impl CanaryUnderWay<'_> {
    /// Takes the machines of the canary before, where they are kept, and remembers that this one may leave them again: before
    /// it is asked for, since an answer that is lost may still have started it.
    pub(super) async fn enter_pool(&self, name: &JobName) {
        let Some(warm_pool) = self.ready.pool_for(&self.run.instance) else {
            return;
        };
        let meant = self.take_pool().await;
        let pool = OpenPool {
            job: self.ready.job.name.clone(),
            instance: warm_pool.instance,
            keep_alive: warm_pool.keep_alive,
            stage: PoolStage::Running,
            meant,
        };
        let pools = &mut self.backend.state.borrow_mut().pools;
        pools.insert(name.to_string(), pool);
    }

    /// A canary has begun: machines that are free after the last one are for nobody.
    pub(super) fn close_pool(&self) {
        for own in self.ready.warm_pools.borrow_mut().iter_mut() {
            if own.pool.instance == self.run.instance {
                own.is_closing = self.watcher.is_last;
            }
        }
    }

    /// The last job of the pool that is meant for a canary, once its machines are there. Waits no longer than a cold start takes.
    async fn take_pool(&self) -> Option<String> {
        let (ready, watcher) = (self.ready, self.watcher);
        let name = {
            let pools = &mut self.backend.state.borrow_mut().pools;
            let is_free = |pool: &OpenPool| pool.stage == PoolStage::Free;
            let (name, free) = (pools.iter_mut())
                .find(|(_, pool)| is_free(pool) && ready.is_for(pool, &self.run.instance))?;
            free.stage = PoolStage::Taken;
            name.clone()
        };
        watcher.phase("waiting for the machines of the canary before");
        // As long as a cold start takes nine times in ten: waiting for longer gains nothing.
        let cold = StartUpMode::of(ready.job).cold();
        let mut left = cold.0;
        while left > 0.0 && !watcher.holds_back() {
            let look = async {
                let described = self.backend.describe(&name).await;
                let pool = described.ok().flatten().and_then(|job| job.pool);
                let is_there = pool.as_ref().is_some_and(is_settled);
                if !is_there {
                    self.backend.pace.wait(BETWEEN_LOOKS).await;
                }
                is_there
            };
            if watcher.cancellation.run_until_cancelled(look).await != Some(false) {
                break;
            }
            left -= BETWEEN_LOOKS.as_secs_f64();
        }
        Some(name)
    }

    /// Ends free pools on a type of machine that this canary waits for, which cannot run on them.
    pub(super) async fn yield_pools(&self, kind: &InstanceType) {
        let ready = self.ready;
        let is_meant = |pool: &OpenPool| {
            let has_kind = pool.instance.machines_by_type().contains_key(kind);
            has_kind && !ready.is_for(pool, &self.run.instance)
        };
        self.backend.end_free_pools(is_meant).await;
    }

    /// Ends the machines that no canary is left for.
    pub(super) async fn end_surplus_pools(&self) {
        let (ready, instance) = (self.ready, &self.run.instance);
        let is_closing = |own: &KeptPool| own.is_closing && own.pool.instance == *instance;
        if ready.warm_pools.borrow().iter().any(is_closing) {
            let is_surplus = |pool: &OpenPool| ready.is_for(pool, instance);
            self.backend.end_free_pools(is_surplus).await;
        }
    }
}

/// No canary is to start any more on the pool of a job, if it is still there.
fn no_longer_taken(pools: &mut Pools, name: Option<&String>, stage: PoolStage) {
    if let Some(pool) = name.and_then(|name| pools.get_mut(name))
        && pool.stage == PoolStage::Taken
    {
        pool.stage = stage;
    }
}
