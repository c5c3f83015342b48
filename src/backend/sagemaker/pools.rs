//! The warm pools of a run: taken by the next canary, looked after, and ended.

use std::time::Duration;

use aws_sdk_sagemaker::operation::create_training_job::builders::CreateTrainingJobInputBuilder;
use aws_sdk_sagemaker::types;
use futures_util::future::join_all;

use super::SagemakerBackend;
use super::description::JobDescription;
use super::find::Found;
use super::name::JobName;
use super::pace;
use super::pool::{self, MatchKey, PoolState, PoolStatus, PooledStart};
use super::ready_job::ReadyJob;
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::{CanaryProgress, Cancellation, EndedPool, Watcher};
use crate::canary::CanaryRun;
use crate::instance::InstanceConfiguration;
use crate::measurement::Start;
use crate::plan::WarmPool;
use crate::spec::WarmPoolPolicy;
use crate::units::Seconds;

/// Between two looks at a pool: it is there within seconds of its job's end.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// Looks at a pool that is being ended: two minutes.
const LOOKS_FOR_THE_END: u32 = 24;
/// Tries of a look or of an end that was throttled or not answered.
const MOST_TRIES: u32 = 5;
/// From a signal to the end of the gate.
const TIME_TO_END: Duration = Duration::from_secs(4);

const UPDATE: Call<'_> = Call("sagemaker:UpdateTrainingJob");

/// A pool whose last job this run has started.
#[derive(Debug, Clone)]
pub(super) struct OpenPool {
    /// The job of the spec.
    job: String,
    instance: InstanceConfiguration,
    key: MatchKey,
    keep_alive: Seconds,
    /// Its last job is over, and no other was started on it.
    is_free: bool,
    /// The last jobs of the pools that this job may run on: of the one meant for it, then of those like it.
    after: Vec<String>,
}

/// How a canary started, and what machines that were kept for it are billed.
#[derive(Debug, Clone, Default)]
pub(super) struct StartOnPool {
    /// `None` where no pool was asked for, or the canary was the first of one.
    pub(super) start: Option<PooledStart>,
    /// For each machine; `None` where none was kept.
    pub(super) idle: Option<Seconds>,
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

    /// Whoever leaves pools to the gate is not told of each that the account has no room for.
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
    pub(super) fn give_up_pool(&self, instance: &InstanceConfiguration, error: &CallError) {
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
        let after = self.take_pool(request, instance, watcher).await;
        self.expect_pool(&name.to_string(), request, instance, after);
    }

    /// A job was not started, or not by this process: the machines that it was to have are free again.
    pub(super) fn give_pool_back(&self, name: &JobName) {
        let name = name.to_string();
        let mut pools = self.backend.pools.borrow_mut();
        let Some(pool) = pools.get(&name).cloned() else {
            return;
        };
        // It may be there all the same, and this run's.
        if self.backend.own.borrow().contains(&name) {
            return;
        }
        pools.remove(&name);
        if let Some(before) = pool.after.first().and_then(|before| pools.get_mut(before)) {
            before.is_free = true;
        }
    }

    /// The last jobs of pools that a request may run on, once the machines of the first are there, which is free; none where
    /// none is. Waits no longer than a cold start takes.
    async fn take_pool(
        &self,
        request: &CreateTrainingJobInputBuilder,
        instance: &InstanceConfiguration,
        watcher: &Watcher<'_>,
    ) -> Vec<String> {
        let key = self.pool_for(instance).and_then(|_| match_key(request));
        let Some(key) = key else {
            return Vec::new();
        };
        let (name, alike) = {
            let mut pools = self.backend.pools.borrow_mut();
            let is_alike = |pool: &OpenPool| pool.job == self.job.name && pool.key == key;
            let free = (pools.iter_mut()).find(|(_, pool)| pool.is_free && is_alike(pool));
            let Some((name, pool)) = free else {
                return Vec::new();
            };
            pool.is_free = false;
            let name = name.clone();
            let others = pools.iter().filter(|(other, _)| **other != name);
            let alike = others.filter(|(_, pool)| is_alike(pool));
            let alike: Vec<String> = alike.map(|(other, _)| other.clone()).collect();
            (name, alike)
        };
        watcher.report(CanaryProgress::Phase(
            "waiting for the machines of the canary before",
        ));
        let looks = (pool::cold_start(self.job).0 / BETWEEN_LOOKS.as_secs_f64()).ceil();
        let mut look = 0.0;
        while look < looks {
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
        std::iter::once(name).chain(alike).collect()
    }

    fn expect_pool(
        &self,
        name: &str,
        request: &CreateTrainingJobInputBuilder,
        instance: &InstanceConfiguration,
        after: Vec<String>,
    ) {
        let Some((warm_pool, key)) = self.pool_for(instance).zip(match_key(request)) else {
            return;
        };
        let pool = OpenPool {
            job: self.job.name.clone(),
            instance: instance.clone(),
            key,
            keep_alive: warm_pool.keep_alive,
            is_free: false,
            after,
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
        if description.pool.is_none() {
            drop(pools);
            // A pool that was asked for and is not there: nothing says why but the quota.
            self.note_no_pool(&run.instance);
        }
    }

    /// What a job that is over says of its start, and of the machines that it leaves.
    pub(super) async fn look_at_pool(
        &self,
        found: &Found,
        description: &JobDescription,
    ) -> StartOnPool {
        let name = found.name.to_string();
        let known = self.backend.pools.borrow().get(&name).cloned();
        // Of an earlier start of this run, what it left is billed with it.
        let is_own = known.is_some() || found.is_own;
        let own = (description.pool.as_ref())
            .filter(|status| is_own && !status.is_open() && status.retained.0 > 0.0)
            .map(|status| status.retained);
        let left_none = description.pool.as_ref().is_none_or(|pool| !pool.is_open());
        if left_none {
            self.backend.pools.borrow_mut().remove(&name);
        }
        let before = match &known {
            Some(pool) if !pool.after.is_empty() => self.look_before(&name, pool).await,
            _ => StartOnPool::default(),
        };
        let idle = before.idle.into_iter().chain(own);
        StartOnPool {
            idle: idle.reduce(|one, other| one + other),
            ..before
        }
    }

    /// A pool that an earlier start of this run left open.
    fn adopt_pool(&self, run: &CanaryRun, found: &Found, description: &JobDescription) {
        let is_open = description.pool.as_ref().is_some_and(PoolStatus::is_open);
        let request = (self.inputs(run, &found.name).ok())
            .and_then(|inputs| self.request(run, &found.name, &inputs).ok());
        if let Some(request) = request.filter(|_| is_open) {
            self.expect_pool(&found.name.to_string(), &request, &run.instance, Vec::new());
        }
    }

    /// What the jobs before say of their machines. AWS chooses among alike pools, so that it may be another's than the one meant.
    async fn look_before(&self, name: &str, pool: &OpenPool) -> StartOnPool {
        let mut meant = None;
        for (place, before) in pool.after.iter().enumerate() {
            // What cannot be looked at now is looked at when pools are ended.
            let Some(status) = self.status_of(before).await else {
                continue;
            };
            let start = pool::start_of(name, status.as_ref(), pool.keep_alive);
            if start.start == Start::Warm {
                self.backend.pools.borrow_mut().remove(before);
                self.free_again(&pool.after[..place]);
                return StartOnPool {
                    start: Some(start),
                    idle: status.map(|status| status.retained),
                };
            }
            if place == 0 {
                meant = Some((start, status));
            }
        }
        let Some((start, status)) = meant else {
            return StartOnPool::default();
        };
        let mut pools = self.backend.pools.borrow_mut();
        let before = &pool.after[0];
        let mut idle = None;
        match status {
            Some(status) if status.is_open() => {
                if let Some(pool) = pools.get_mut(before) {
                    pool.is_free = true;
                }
            }
            // Another canary of this run bills what it took.
            Some(PoolStatus {
                state: PoolState::Reused { by },
                ..
            }) if self.entered.borrow().contains(&by) => {}
            status => {
                pools.remove(before);
                idle = status.map(|status| status.retained);
            }
        }
        StartOnPool {
            start: Some(start),
            idle,
        }
    }

    /// The pool that was meant for a canary, which took another.
    fn free_again(&self, passed_over: &[String]) {
        let mut pools = self.backend.pools.borrow_mut();
        if let Some(meant) = passed_over.first().and_then(|meant| pools.get_mut(meant)) {
            meant.is_free = true;
        }
    }

    /// `None` where AWS does not answer; `Some(None)` where the job leaves no pool.
    async fn status_of(&self, name: &str) -> Option<Option<PoolStatus>> {
        for _ in 1..MOST_TRIES {
            if let Ok(described) = self.backend.describe(name).await {
                return Some(described.and_then(|job| job.pool));
            }
            self.backend.pace.wait(BETWEEN_LOOKS).await;
        }
        let described = self.backend.describe(name).await.ok()?;
        Some(described.and_then(|job| job.pool))
    }
}

impl SagemakerBackend {
    /// Ends the pools of one job of the spec.
    pub(super) async fn end_pools_of(
        &self,
        job: &str,
        cancellation: &Cancellation,
    ) -> Vec<EndedPool> {
        let open: Vec<(String, OpenPool)> = (self.pools.borrow_mut())
            .extract_if(.., |_, pool| pool.job == job)
            .collect();
        let end = |(name, pool): (String, OpenPool)| async move {
            let limit = async {
                cancellation.cancelled().await;
                tokio::time::sleep(TIME_TO_END).await;
            };
            let ended = tokio::select! {
                ended = self.end_pool(&name) => ended,
                () = limit => Err("AWS did not answer in time".to_owned()),
            };
            EndedPool {
                training_job: name,
                instance: pool.instance,
                keep_alive: pool.keep_alive,
                idle: ended,
            }
        };
        join_all(open.into_iter().map(end)).await
    }

    /// Ends the pool that a job left, and sees that it is gone. Returns for how long its machines were kept.
    ///
    /// # Errors
    ///
    /// Why it may still be kept.
    pub(super) async fn end_pool(&self, name: &str) -> Result<Seconds, String> {
        let mut failed = 0;
        for look in 0..LOOKS_FOR_THE_END {
            if look > 0 {
                self.pace.wait(BETWEEN_LOOKS).await;
            }
            let status = match self.describe(name).await {
                Ok(Some(description)) => description.pool,
                Ok(None) => None,
                Err(error) => {
                    self.may_go_on(&error, &mut failed).await?;
                    continue;
                }
            };
            let Some(status) = status else {
                return Ok(Seconds(0.0));
            };
            match status.state {
                PoolState::Reused { .. } | PoolState::Terminated => return Ok(status.retained),
                PoolState::InUse | PoolState::Other => {}
                PoolState::Available => {
                    let resources = types::ResourceConfigForUpdate::builder()
                        .keep_alive_period_in_seconds(0)
                        .build();
                    let updated = self
                        .aws()
                        .sagemaker
                        .update_training_job()
                        .training_job_name(name)
                        .resource_config(resources)
                        .send()
                        .await;
                    if let Err(error) = updated {
                        let error = CallError::of(UPDATE, &error);
                        // The pool may have ended, or have been taken, since it was looked at.
                        if !error.has_code("ValidationException") {
                            self.may_go_on(&error, &mut failed).await?;
                        }
                    }
                }
            }
        }
        Err("its machines are not free yet".to_owned())
    }

    /// Whether to try again, and waits before it.
    async fn may_go_on(&self, error: &CallError, failed: &mut u32) -> Result<(), String> {
        let may_pass = matches!(
            error.kind,
            FailureKind::Throttled | FailureKind::Unreachable
        );
        *failed += 1;
        if !may_pass || *failed >= MOST_TRIES {
            return Err(error.to_string());
        }
        self.pace.wait(pace::backoff(*failed)).await;
        Ok(())
    }
}

impl StartOnPool {
    /// Whether the machines were fresh, as far as the pool says it.
    pub(super) fn start(&self) -> Option<Start> {
        self.start.as_ref().map(|pooled| pooled.start)
    }

    /// Why a canary that was to start warm started cold, as a note of its measurement.
    pub(super) fn note(&self) -> Option<String> {
        let why = self.start.as_ref()?.why?;
        Some(format!("started cold: {why}"))
    }
}

fn match_key(request: &CreateTrainingJobInputBuilder) -> Option<MatchKey> {
    request.clone().build().ok().as_ref().map(MatchKey::of)
}
