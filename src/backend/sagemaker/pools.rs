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
use super::pool::{self, MatchKey, PoolState, PooledStart};
use super::ready_job::ReadyJob;
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::{CanaryProgress, Cancellation, EndedPool, Watcher};
use crate::canary::CanaryRun;
use crate::instance::InstanceConfiguration;
use crate::measurement::Start;
use crate::plan::WarmPool;
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
    /// The last job of the pool that this job was to run on.
    after: Option<String>,
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
        let has_quota = self.prepared.has_quota_of_pools(instance);
        (has_quota && !self.poolless.borrow().contains(&instance.to_string())).then_some(pool)
    }

    /// Notes which configurations go without the pool that they were to have, since the account has no quota of them.
    pub(super) fn note_pools_without_quota(&self) {
        for pool in &self.warm_pools {
            if !self.prepared.has_quota_of_pools(&pool.instance) {
                self.note_no_pool(&pool.instance);
            }
        }
    }

    fn note_no_pool(&self, instance: &InstanceConfiguration) {
        let kind = instance
            .single_type()
            .map_or("its type", |kind| kind.name());
        self.note(format!(
            "canaries on {instance} start cold: the quota `{kind} for training warm pool usage`, which is 0 where nobody asked for more, has no room for a warm pool; ask for {} in Service Quotas (service Amazon SageMaker), or write `warm_pool: off`",
            instance.total_count(),
        ));
        self.poolless.borrow_mut().insert(instance.to_string());
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
        if let Some(before) = pool.after.and_then(|before| pools.get_mut(&before)) {
            before.is_free = true;
        }
    }

    /// The last job of a free pool that a request may run on, once its machines are there; waits no longer than a cold start
    /// takes.
    async fn take_pool(
        &self,
        request: &CreateTrainingJobInputBuilder,
        instance: &InstanceConfiguration,
        watcher: &Watcher<'_>,
    ) -> Option<String> {
        self.pool_for(instance)?;
        let key = match_key(request)?;
        let name = {
            let mut pools = self.backend.pools.borrow_mut();
            let (name, pool) = pools
                .iter_mut()
                .find(|(_, pool)| pool.is_free && pool.job == self.job.name && pool.key == key)?;
            pool.is_free = false;
            name.clone()
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
        Some(name)
    }

    fn expect_pool(
        &self,
        name: &str,
        request: &CreateTrainingJobInputBuilder,
        instance: &InstanceConfiguration,
        after: Option<String>,
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
        self.backend
            .pools
            .borrow_mut()
            .insert(name.to_owned(), pool);
    }

    /// What a job that is over says of its start, and of the machines that it leaves.
    pub(super) async fn look_at_pool(
        &self,
        run: &CanaryRun,
        found: &Found,
        description: &JobDescription,
    ) -> StartOnPool {
        let name = found.name.to_string();
        let mut known = self.backend.pools.borrow().get(&name).cloned();
        if known.is_none() && found.is_own && found.may_stop {
            known = self.adopt_pool(run, found, description);
        }
        let Some(pool) = known else {
            // Of an earlier start of this run: what it left is billed with it.
            let idle = (description.pool.as_ref())
                .filter(|pool| found.is_own && !pool.is_open() && pool.retained.0 > 0.0)
                .map(|pool| pool.retained);
            return StartOnPool { start: None, idle };
        };
        match &description.pool {
            // A pool that was asked for and is not there: nothing says why but the quota.
            None => {
                self.note_no_pool(&run.instance);
                self.backend.pools.borrow_mut().remove(&name);
            }
            Some(status) if !status.is_open() => {
                self.backend.pools.borrow_mut().remove(&name);
            }
            Some(_) => {
                if let Some(pool) = self.backend.pools.borrow_mut().get_mut(&name) {
                    pool.is_free = true;
                }
            }
        }
        let own = (description.pool.as_ref())
            .filter(|status| !status.is_open() && status.retained.0 > 0.0)
            .map(|status| status.retained);
        let before = match &pool.after {
            Some(before) => self.look_before(&name, before).await,
            None => StartOnPool::default(),
        };
        StartOnPool {
            idle: before
                .idle
                .into_iter()
                .chain(own)
                .reduce(|one, other| one + other),
            ..before
        }
    }

    /// A pool that an earlier start of this run left open.
    fn adopt_pool(
        &self,
        run: &CanaryRun,
        found: &Found,
        description: &JobDescription,
    ) -> Option<OpenPool> {
        description.pool.as_ref().filter(|pool| pool.is_open())?;
        let inputs = self.inputs(run, &found.name).ok()?;
        let request = self.request(run, &found.name, &inputs).ok()?;
        let name = found.name.to_string();
        self.expect_pool(&name, &request, &run.instance, None);
        self.backend.pools.borrow().get(&name).cloned()
    }

    /// What the job before says of its machines.
    async fn look_before(&self, name: &str, before: &str) -> StartOnPool {
        let mut described = self.backend.describe(before).await;
        for _ in 1..MOST_TRIES {
            if described.is_ok() {
                break;
            }
            self.backend.pace.wait(BETWEEN_LOOKS).await;
            described = self.backend.describe(before).await;
        }
        // What cannot be looked at now is looked at when pools are ended.
        let Ok(described) = described else {
            return StartOnPool::default();
        };
        let status = described.and_then(|job| job.pool);
        let mut pools = self.backend.pools.borrow_mut();
        let keep_alive = pools
            .get(before)
            .map_or(Seconds(0.0), |pool| pool.keep_alive);
        let start = Some(pool::start_of(name, status.as_ref(), keep_alive));
        let Some(status) = status else {
            pools.remove(before);
            return StartOnPool { start, idle: None };
        };
        if status.is_open() {
            if let Some(pool) = pools.get_mut(before) {
                pool.is_free = true;
            }
            return StartOnPool { start, idle: None };
        }
        pools.remove(before);
        StartOnPool {
            start,
            idle: Some(status.retained),
        }
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
