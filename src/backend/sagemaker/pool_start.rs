//! How a canary started, and what the machines that were kept for it are billed.

use aws_sdk_sagemaker::types::{SortBy, SortOrder, WarmPoolResourceStatus};

use super::SagemakerBackend;
use super::description::JobDescription;
use super::find::Found;
use super::pool::{self, PoolState, PoolStatus, PooledStart};
use super::pools::{BETWEEN_LOOKS, OpenPool};
use super::ready_job::ReadyJob;
use crate::backend::EndedPool;
use crate::measurement::Start;
use crate::units::Seconds;

/// Tries of a look that was throttled or not answered.
const MOST_TRIES: u32 = 5;
/// Pages of jobs whose pool was taken, the newest first, that are looked through for one.
const MOST_PAGES: usize = 3;
const A_PAGE: i32 = 100;

/// How a canary started, and the pools that are no more.
#[derive(Debug, Default)]
pub(super) struct StartOnPool {
    /// `None` where no pool was asked for, or nobody knows.
    pub(super) start: Option<PooledStart>,
    /// Each with the time for which its machines were kept.
    pub(super) ended: Vec<EndedPool>,
}

impl ReadyJob<'_> {
    /// What a job that is over says of its start, and of the machines that it leaves.
    pub(super) async fn look_at_pool(
        &self,
        found: &Found,
        description: &JobDescription,
    ) -> StartOnPool {
        let name = found.name.to_string();
        let known = self.backend.pools.borrow().get(&name).cloned();
        let closed = description.pool.as_ref().filter(|pool| !pool.is_open());
        let retained = closed.map_or(Seconds(0.0), |pool| pool.retained);
        let mut pooled = match &known {
            Some(pool) => self.look_before(&name, pool).await,
            None if found.is_own && description.pool.is_some() => StartOnPool {
                start: self.start_by_others(&name).await,
                ended: Vec::new(),
            },
            None => StartOnPool::default(),
        };
        // No wait comes after it, so that nothing is lost by a signal.
        let own = match (&known, closed) {
            (Some(_), None) if description.pool.is_some() => None,
            (Some(_), _) => self.backend.close_pool(&name, retained),
            // Of an earlier start of this run: what it left is billed with it.
            (None, Some(_)) if found.is_own => self.backend.close_earlier(description, retained),
            (None, _) => None,
        };
        pooled.ended.extend(own);
        pooled
    }

    /// What the jobs before say of their machines. AWS chooses among alike pools, so that it may be another's than the one meant.
    async fn look_before(&self, name: &str, pool: &OpenPool) -> StartOnPool {
        let mut meant: Option<(String, PooledStart, Option<PoolStatus>)> = None;
        for before in self.pools_before(name) {
            // What cannot be looked at now is looked at when pools are ended.
            let Some(status) = self.status_of(&before).await else {
                continue;
            };
            let of_this_run = self.entered.borrow().clone();
            let start = pool::start_of(name, status.as_ref(), pool.keep_alive, &of_this_run);
            if start.start == Start::Warm {
                let idle = status.map_or(Seconds(0.0), |status| status.retained);
                let ended = self.backend.close_pool(&before, idle);
                // The one that was meant is still there for others.
                if let Some((meant, _, Some(status))) = &meant {
                    self.free_if_open(meant, status);
                }
                return StartOnPool {
                    start: Some(start),
                    ended: ended.into_iter().collect(),
                };
            }
            if pool.meant.as_ref() == Some(&before) {
                meant = Some((before, start, status));
            }
        }
        let others = self.start_by_others(name).await;
        let Some((before, start, status)) = meant else {
            let lost = self
                .lost_pools
                .borrow_mut()
                .remove(&pool.instance.to_string());
            return StartOnPool {
                start: others.map(|start| PooledStart {
                    why: start.why.or(lost.filter(|_| start.start == Start::Cold)),
                    ..start
                }),
                ended: Vec::new(),
            };
        };
        let mut ended = None;
        match status {
            // It was there and does not match, as one of an earlier start may not: no canary waits for it again.
            Some(status) if status.state == PoolState::Available => {}
            Some(status) if status.is_open() => self.free_if_open(&before, &status),
            // Another canary of this run bills what it took.
            Some(PoolStatus {
                state: PoolState::Reused { by },
                ..
            }) if self.entered.borrow().contains(&by) => {}
            status => {
                let idle = status.map_or(Seconds(0.0), |status| status.retained);
                ended = self.backend.close_pool(&before, idle);
            }
        }
        let is_warm = |start: &PooledStart| start.start == Start::Warm;
        StartOnPool {
            start: Some(others.filter(is_warm).unwrap_or(start)),
            ended: ended.into_iter().collect(),
        }
    }

    fn free_if_open(&self, name: &str, status: &PoolStatus) {
        if let Some(pool) = self.backend.pools.borrow_mut().get_mut(name) {
            pool.is_free = status.is_open();
        }
    }

    /// AWS gives a job any pool of the account that matches, so that of another run too: its last job says so. `None` where that
    /// cannot be known.
    async fn start_by_others(&self, name: &str) -> Option<PooledStart> {
        let is_taken = self.backend.takes_a_pool(name).await?;
        let is_expected = self.backend.tags.is_resumed;
        Some(PooledStart {
            start: if is_taken { Start::Warm } else { Start::Cold },
            why: (is_taken && !is_expected)
                .then_some("AWS gave it a warm pool of another run, which matches, and bills that"),
        })
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
    /// Whether the machines of any job before were given to this one; `None` where not all such jobs could be seen.
    async fn takes_a_pool(&self, name: &str) -> Option<bool> {
        let mut pages = self
            .aws()
            .sagemaker
            .list_training_jobs()
            .warm_pool_status_equals(WarmPoolResourceStatus::Reused)
            .sort_by(SortBy::CreationTime)
            .sort_order(SortOrder::Descending)
            .max_results(A_PAGE)
            .into_paginator()
            .send();
        for _ in 0..MOST_PAGES {
            let Some(page) = pages.next().await else {
                return Some(false);
            };
            let page = page.ok()?;
            let mut pools = (page.training_job_summaries().iter())
                .filter_map(|job| job.warm_pool_status())
                .map(PoolStatus::of);
            if pools.any(|pool| matches!(pool.state, PoolState::Reused { by } if by == name)) {
                return Some(true);
            }
        }
        None
    }
}

impl StartOnPool {
    /// Whether the machines were fresh, as far as the pools say it.
    pub(super) fn start(&self) -> Option<Start> {
        self.start.as_ref().map(|pooled| pooled.start)
    }

    /// For how long each machine was kept, and billed; `None` where none was.
    pub(super) fn idle(&self) -> Option<Seconds> {
        let idle = self.ended.iter().filter_map(|pool| pool.idle.as_ref().ok());
        let idle = idle.fold(Seconds(0.0), |sum, idle| sum + *idle);
        (idle.0 > 0.0).then_some(idle)
    }

    /// Why a canary did not start as it was to, as a note of its measurement.
    pub(super) fn note(&self) -> Option<String> {
        let pooled = self.start.as_ref()?;
        let word = match pooled.start {
            Start::Warm => "warm",
            Start::Cold => "cold",
        };
        Some(format!("started {word}: {}", pooled.why?))
    }
}
