//! The warm pools of a run: taken by the next canary, and free again after it.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_sagemaker::operation::create_training_job::builders::CreateTrainingJobInputBuilder;

use super::description::{JobDescription, JobState};
use super::find::Found;
use super::name::JobName;
use super::pool::{self, MatchKey, PoolState, PoolStatus};
use super::ready_job::ReadyJob;
use crate::aws::call::CallError;
use crate::backend::{CanaryProgress, EndedPool, Watcher};
use crate::canary::CanaryRun;
use crate::instance::InstanceConfiguration;
use crate::plan::{StartUpMode, WarmPool};
use crate::spec::WarmPoolPolicy;
use crate::units::Seconds;

/// Between two looks at a pool: it is there within seconds of its job's end.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// A pool whose last job this run has started.
#[derive(Debug, Clone)]
pub(super) struct OpenPool {
    /// The job of the spec.
    pub(super) job: String,
    pub(super) instance: InstanceConfiguration,
    pub(super) key: MatchKey,
    pub(super) keep_alive: Seconds,
    /// Its last job is over, and no other was started on it.
    pub(super) is_free: bool,
    /// SageMaker has said that the job's machines are kept, or were: the quota has room for some.
    pub(super) was_kept: bool,
    /// The last job of the pool that is meant for this job.
    pub(super) meant: Option<String>,
}

impl OpenPool {
    pub(super) fn ended(self, name: String, idle: Result<Seconds, String>) -> EndedPool {
        EndedPool {
            training_job: name,
            instance: self.instance,
            keep_alive: self.keep_alive,
            idle,
        }
    }
}

impl ReadyJob<'_> {
    /// The pool that canaries of a configuration run in; `None` where each starts cold.
    pub(super) fn pool_for(&self, instance: &InstanceConfiguration) -> Option<&WarmPool> {
        let mut pools = self.warm_pools.iter();
        let pool = pools.find(|pool| pool.instance.is_same_machines(instance))?;
        (!self.poolless.borrow().contains(&instance.to_string())).then_some(pool)
    }

    /// Notes which configurations go without the pools that they would have but for the account's quotas, or with fewer.
    pub(super) fn note_pools_without_quota(&self, wished: &[WarmPool]) {
        for wish in wished {
            let instance = &wish.instance;
            if !self.prepared.has_quota(instance) {
                continue;
            }
            let mut pools = self.warm_pools.iter();
            let pool = pools.find(|pool| pool.instance.is_same_machines(instance));
            let is_asked_for = self.job.canary.warm_pool != WarmPoolPolicy::Auto;
            match (pool, instance.single_type()) {
                (None, _) => self.note_no_pool(instance),
                // A quota of training that is as small has a note of its own.
                (Some(pool), Some(kind)) if is_asked_for && pool.lanes < wish.lanes => {
                    let without = self.prepared.at_once(instance, self.job.canary.parallel);
                    if pool.lanes < without {
                        self.note(format!(
                            "canaries on {instance} run {} at a time, not {without}: the quota `{kind} for training warm pool usage` is {}; ask for more in Service Quotas (service Amazon SageMaker), or write `warm_pool: auto`, which keeps machines where that is sooner done",
                            pool.lanes,
                            self.prepared.machine_quotas(kind).warm_pool.unwrap_or(0),
                        ));
                    }
                }
                (Some(_), _) => {}
            }
        }
    }

    /// Where the spec leaves pools to the gate, not each is said that the account has no room for.
    fn note_no_pool(&self, instance: &InstanceConfiguration) {
        self.poolless.borrow_mut().insert(instance.to_string());
        if self.job.canary.warm_pool == WarmPoolPolicy::Auto {
            return;
        }
        let kind = instance
            .single_type()
            .map_or("its type", |kind| kind.name());
        self.note(format!(
            "canaries on {instance} start cold: the quota `{kind} for training warm pool usage`, which is 0 where nobody asked for more, has no room for a warm pool; ask for {} in Service Quotas (service Amazon SageMaker), or write `warm_pool: off`",
            instance.total_count(),
        ));
    }

    /// A job with a warm pool was denied: a policy may forbid the key `sagemaker:KeepAlivePeriod`, and name no more than the call.
    pub(super) fn give_up_pool(
        &self,
        name: &JobName,
        instance: &InstanceConfiguration,
        error: &CallError,
    ) {
        self.backend.pools.borrow_mut().remove(&name.to_string());
        self.note(format!(
            "canaries on {instance} start cold: AWS denied one with a warm pool; if a policy limits sagemaker:KeepAlivePeriod, write `warm_pool: off` ({})",
            error.message
        ));
        self.poolless.borrow_mut().insert(instance.to_string());
    }

    /// Takes the machines of the canary before, where they are kept, and remembers that this one may leave them again: before
    /// it is asked for, since an answer that is lost may still have started it.
    pub(super) async fn enter_pool(
        &self,
        name: &JobName,
        request: &CreateTrainingJobInputBuilder,
        instance: &InstanceConfiguration,
        watcher: &Watcher<'_>,
    ) {
        let key = MatchKey::of(request);
        let meant = match self.pool_for(instance) {
            Some(_) => self.take_pool(&key, instance, watcher).await,
            None => None,
        };
        let machines = instance.to_string();
        match watcher.is_last {
            true => self.closing.borrow_mut().insert(machines),
            false => self.closing.borrow_mut().remove(&machines),
        };
        self.expect_pool(&name.to_string(), key, instance, meant);
    }

    /// The last jobs of the pools that a job may run on, since AWS chooses among those that match: the one that is meant first.
    pub(super) fn pools_before(&self, name: &str) -> Vec<String> {
        let pools = self.backend.pools.borrow();
        let Some(own) = pools.get(name) else {
            return Vec::new();
        };
        let is_alike = |(other, pool): &(&String, &OpenPool)| {
            let is_same = pool.job == own.job && pool.key == own.key;
            is_same && *other != name && Some(*other) != own.meant.as_ref()
        };
        let alike = pools.iter().filter(is_alike);
        (own.meant.iter().chain(alike.map(|(other, _)| other)))
            .cloned()
            .collect()
    }

    /// Ends the machines that no canary is left for.
    pub(super) async fn end_surplus_pools(
        &self,
        instance: &InstanceConfiguration,
        watcher: &Watcher<'_>,
    ) -> Vec<EndedPool> {
        if !self.closing.borrow().contains(&instance.to_string()) {
            return Vec::new();
        }
        let is_surplus = |_: &str, pool: &OpenPool| {
            pool.job == self.job.name && pool.instance.is_same_machines(instance)
        };
        (self
            .backend
            .end_free_pools(is_surplus, watcher.cancellation))
        .await
    }

    /// A job was not started, or not by this process: the machines that it was to have are free again.
    pub(super) fn give_pool_back(&self, name: &JobName) {
        let name = name.to_string();
        let mut pools = self.backend.pools.borrow_mut();
        let Some(pool) = pools.get(&name).cloned() else {
            return;
        };
        // It may be there all the same, and this run's.
        if self.backend.state.borrow().own.contains(&name) {
            return;
        }
        pools.remove(&name);
        if let Some(before) = pool.meant.and_then(|before| pools.get_mut(&before)) {
            before.is_free = true;
        }
    }

    /// The last job of the pool that is meant for a request, once its machines are there. Waits no longer than a cold start takes.
    async fn take_pool(
        &self,
        key: &MatchKey,
        instance: &InstanceConfiguration,
        watcher: &Watcher<'_>,
    ) -> Option<String> {
        self.recall_pools(instance, key).await;
        let name = {
            let mut pools = self.backend.pools.borrow_mut();
            let (name, free) = (pools.iter_mut())
                .find(|(_, pool)| pool.is_free && pool.job == self.job.name && pool.key == *key)?;
            free.is_free = false;
            name.clone()
        };
        watcher.report(CanaryProgress::Phase(
            "waiting for the machines of the canary before",
        ));
        // As long as a cold start takes nine times in ten: waiting for longer gains nothing.
        let cold = StartUpMode::of(self.job).cold();
        let looks = (cold.0 / BETWEEN_LOOKS.as_secs_f64()).ceil();
        let mut look = 0.0;
        while look < looks && !watcher.holds_back() {
            let described = tokio::select! {
                described = self.backend.describe(&name) => described,
                () = watcher.cancellation.cancelled() => break,
            };
            let state = described.ok().flatten().and_then(|job| job.pool);
            match state.map(|pool| pool.state) {
                Some(PoolState::InUse | PoolState::Other) | None => {}
                Some(_) => break,
            }
            look += 1.0;
            tokio::select! {
                () = self.backend.pace.wait(BETWEEN_LOOKS) => {}
                () = watcher.cancellation.cancelled() => break,
            }
        }
        Some(name)
    }

    fn expect_pool(
        &self,
        name: &str,
        key: MatchKey,
        instance: &InstanceConfiguration,
        meant: Option<String>,
    ) {
        let Some(warm_pool) = self.pool_for(instance) else {
            return;
        };
        let pool = OpenPool {
            job: self.job.name.clone(),
            instance: instance.clone(),
            key,
            keep_alive: warm_pool.keep_alive,
            is_free: false,
            was_kept: false,
            meant,
        };
        self.entered.borrow_mut().insert(name.to_owned());
        self.backend
            .pools
            .borrow_mut()
            .insert(name.to_owned(), pool);
    }

    /// A job is over: the next canary may have its machines, if they are kept. To be called before its room is given up.
    pub(super) fn free_pool(&self, run: &CanaryRun, found: &Found, description: &JobDescription) {
        let name = found.name.to_string();
        let is_known = self.backend.pools.borrow().contains_key(&name);
        if !is_known && found.is_own && found.may_stop {
            self.adopt_pool(run, found, description);
        }
        let mut pools = self.backend.pools.borrow_mut();
        let Some(pool) = pools.get_mut(&name) else {
            return;
        };
        pool.is_free = description.pool.as_ref().is_some_and(PoolStatus::is_open);
        pool.was_kept = description.pool.is_some();
        if let Some(lost) = description.pool.as_ref().filter(|pool| !pool.is_open())
            && let Some(why) = pool::start_of("", Some(lost), pool.keep_alive, &BTreeSet::new()).why
        {
            let mut lost_pools = self.lost_pools.borrow_mut();
            lost_pools.insert(run.instance.to_string(), why);
        }
        let key = pool.key.clone();
        let mut others = pools.iter().filter(|(other, _)| **other != name);
        let is_alike = |other: &OpenPool| other.job == self.job.name && other.key == key;
        // Only jobs that have ended count: a running one has asked for a pool, and may not get it.
        let has_others = others.any(|(_, other)| is_alike(other) && other.was_kept);
        drop(pools);
        // A pool that was asked for and is not there: nothing says why but the quota, which has room for others.
        let is_asked_for = description.keep_alive.is_some();
        let has_none = description.pool.is_none() && description.state == JobState::Completed;
        if has_none && is_asked_for && !has_others {
            self.note_no_pool(&run.instance);
        }
    }

    /// A pool that an earlier start of this run left open.
    fn adopt_pool(&self, run: &CanaryRun, found: &Found, description: &JobDescription) {
        let is_open = description.pool.as_ref().is_some_and(PoolStatus::is_open);
        let request = (self.inputs(run, &found.name).ok())
            .and_then(|inputs| self.request(run, &found.name, &inputs).ok());
        if let Some(request) = request.filter(|_| is_open) {
            let key = MatchKey::of(&request);
            self.expect_pool(&found.name.to_string(), key, &run.instance, None);
        }
    }

    /// Takes up the pools that an earlier start of this run left for canaries of a configuration. Whether they match, AWS decides.
    async fn recall_pools(&self, instance: &InstanceConfiguration, key: &MatchKey) {
        let is_first = self.recalled.borrow_mut().insert(instance.to_string());
        if !self.backend.tags.is_resumed || !is_first {
            return;
        }
        for earlier in self.backend.earlier_pools(&self.job.name).await {
            let is_open = earlier.pool.is_some_and(|pool| pool.is_open());
            let Some((name, on)) = earlier.name.zip(earlier.instance) else {
                continue;
            };
            if !is_open || !on.is_same_machines(instance) {
                continue;
            }
            let pool = OpenPool {
                job: self.job.name.clone(),
                instance: on,
                key: key.clone(),
                keep_alive: earlier.keep_alive.unwrap_or_default(),
                is_free: true,
                was_kept: true,
                meant: None,
            };
            let mut pools = self.backend.pools.borrow_mut();
            pools.entry(name).or_insert(pool);
        }
    }
}
