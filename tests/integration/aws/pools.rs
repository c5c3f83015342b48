//! Managed warm pools: machines that a job leaves for the next one that asks for the same.
//!
//! A pool's time passes as its last job is described: a look at a job that is over makes its pool `Available`, and each
//! further look adds to the time for which the machines are kept.

use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::Refusal;
use super::job::Job;
use super::{FakeAws, State, size};

/// What one look at a job adds to the time for which its machines are kept.
const BETWEEN_LOOKS: f64 = 5.0;
/// How long machines may be reused without a break.
const LONGEST_LIFE: f64 = 28.0 * 86_400.0;
/// A start on machines that were kept.
pub(super) const WARM_START: f64 = 8.0;

/// The machines of one job after it.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) status: PoolState,
    /// Seconds for which they were kept.
    pub(super) retained: f64,
    /// When the first job of these machines was created, in epoch seconds.
    pub(super) born: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PoolState {
    InUse,
    Available,
    Reused(String),
    Terminated,
}

/// What becomes of a pool once it is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum PoolFate {
    Kept,
    /// AWS patches the machines, and ends the pool.
    Patched,
    /// Its machines have been reused for as long as they may be.
    TooOld,
    /// Another job of the account takes them.
    Taken,
}

impl Pool {
    fn is_open(&self) -> bool {
        matches!(self.status, PoolState::InUse | PoolState::Available)
    }

    pub(super) fn describe(&self) -> Value {
        let mut said = json!({"Status": match &self.status {
            PoolState::InUse => "InUse",
            PoolState::Available => "Available",
            PoolState::Reused(_) => "Reused",
            PoolState::Terminated => "Terminated",
        }});
        if self.status != PoolState::InUse {
            #[expect(clippy::cast_possible_truncation, reason = "at most an hour")]
            let retained = self.retained as i64;
            said["ResourceRetainedBillableTimeInSeconds"] = json!(retained);
        }
        if let PoolState::Reused(by) = &self.status {
            said["ReusedByJob"] = json!(by);
        }
        said
    }
}

/// What two jobs must have in common for the second to run on the machines of the first.
fn key(input: &Value) -> Value {
    let resources = &input["ResourceConfig"];
    let chaining = &input["SessionChainingConfig"];
    let tags = (chaining["EnableSessionTagChaining"] == true).then(|| {
        let tags = input["Tags"].as_array().into_iter().flatten();
        tags.map(|tag| tag["Key"].clone()).collect::<Vec<_>>()
    });
    let sorted = |list: &Value| {
        let mut list: Vec<String> = list
            .as_array()
            .into_iter()
            .flatten()
            .map(ToString::to_string)
            .collect();
        list.sort();
        list
    };
    json!([
        input["RoleArn"],
        resources["InstanceType"],
        resources["InstanceCount"],
        resources["VolumeSizeInGB"],
        resources["VolumeKmsKeyId"],
        sorted(&input["VpcConfig"]["SecurityGroupIds"]),
        sorted(&input["VpcConfig"]["Subnets"]),
        input["EnableInterContainerTrafficEncryption"] == true,
        input["EnableNetworkIsolation"] == true,
        tags,
    ])
}

/// The place of the job whose machines a new one would run on.
pub(super) fn predecessor(state: &State, input: &Value, now: f64) -> Option<usize> {
    let matches = |job: &Job| {
        !job.is_deleted
            && key(&job.input) == key(input)
            && job.pool.as_ref().is_some_and(|pool| {
                pool.status == PoolState::Available && now - pool.born <= LONGEST_LIFE
            })
    };
    match state.gives_newest_pool {
        true => state.jobs.iter().rposition(matches),
        false => state.jobs.iter().position(matches),
    }
}

/// Machines of a type that are kept, less those that a new job would run on.
pub(super) fn kept(state: &State, instance_type: &str, but: Option<usize>) -> u64 {
    let jobs = state.jobs.iter().enumerate();
    jobs.filter(|(place, job)| Some(*place) != but && job.instance_type() == instance_type)
        .filter(|(_, job)| {
            let is_kept = |pool: &Pool| pool.status == PoolState::Available;
            job.pool.as_ref().is_some_and(is_kept)
        })
        .map(|(_, job)| size(job.hosts().len()))
        .sum()
}

/// The pool of a new job; none where it asks for none, or the account's quota has no room, which no answer says.
pub(super) fn pool_of(
    state: &mut State,
    input: &Value,
    predecessor: Option<usize>,
    now: f64,
) -> Option<Pool> {
    let resources = &input["ResourceConfig"];
    let name = input["TrainingJobName"].as_str().unwrap_or_default();
    let born = predecessor.and_then(|place| {
        let pool = state.jobs[place].pool.as_mut()?;
        pool.status = PoolState::Reused(name.to_owned());
        Some(pool.born)
    });
    let is_asked = resources["KeepAlivePeriodInSeconds"].as_u64() > Some(0);
    let instance_type = resources["InstanceType"].as_str().unwrap_or_default();
    let quota = state
        .quotas
        .get(&format!("{instance_type} for training warm pool usage"))
        .copied()
        .unwrap_or(0.0);
    let used: usize = state
        .jobs
        .iter()
        .filter(|job| job.instance_type() == instance_type)
        .filter(|job| job.pool.as_ref().is_some_and(Pool::is_open))
        .map(|job| job.hosts().len())
        .sum();
    let more = resources["InstanceCount"].as_u64().unwrap_or(1);
    #[expect(clippy::cast_precision_loss, reason = "a few machines")]
    let has_room = (size(used) + more) as f64 <= quota;
    (is_asked && has_room).then(|| Pool {
        status: PoolState::InUse,
        retained: 0.0,
        born: born.unwrap_or(now),
    })
}

/// Says what became of a job's machines, and lets their time pass.
pub(super) fn look(job: &mut Job, fate: PoolFate, answer: &mut Value) {
    let (has_ended, status) = (job.has_ended(), job.status().to_owned());
    let reason = answer["FailureReason"].as_str().unwrap_or_default();
    let is_healthy = !reason.starts_with("InternalServerError") && !reason.starts_with("Capacity");
    let has_run = answer.get("TrainingStartTime").is_some();
    let keep_alive = job.input["ResourceConfig"]["KeepAlivePeriodInSeconds"]
        .as_f64()
        .unwrap_or(0.0);
    let created = job.created;
    let Some(pool) = &mut job.pool else { return };
    answer["WarmPoolStatus"] = pool.describe();
    if !has_ended {
        return;
    }
    match pool.status {
        PoolState::InUse if has_run && is_healthy && status != "Deleting" => {
            pool.status = PoolState::Available;
            if fate == PoolFate::TooOld {
                pool.born = created - LONGEST_LIFE - 1.0;
            }
        }
        PoolState::InUse => pool.status = PoolState::Terminated,
        PoolState::Available => {
            pool.retained = (pool.retained + BETWEEN_LOOKS).min(keep_alive);
            if pool.retained >= keep_alive || matches!(fate, PoolFate::Patched | PoolFate::TooOld) {
                pool.status = PoolState::Terminated;
            } else if fate == PoolFate::Taken {
                pool.status = PoolState::Reused("somebody-else".to_owned());
            }
        }
        PoolState::Reused(_) | PoolState::Terminated => {}
    }
}

/// `UpdateTrainingJob` of how long machines are kept.
pub(super) fn update(job: &mut Job, seconds: &Value) -> Result<(), Refusal> {
    let name = job.name.clone();
    let Some(pool) = &mut job.pool else {
        return Err(Refusal::validation(format!(
            "Training job {name} has no warm pool, so its KeepAlivePeriodInSeconds cannot be updated"
        )));
    };
    if pool.status != PoolState::Available {
        let status = pool.describe()["Status"].clone();
        return Err(Refusal::validation(format!(
            "The warm pool of training job {name} is in status {status}. Its KeepAlivePeriodInSeconds can be updated only in status Available"
        )));
    }
    if seconds
        .as_f64()
        .is_some_and(|seconds| seconds <= pool.retained)
    {
        pool.status = PoolState::Terminated;
    }
    job.input["ResourceConfig"]["KeepAlivePeriodInSeconds"] = seconds.clone();
    Ok(())
}

impl FakeAws {
    /// What becomes of the pool of each job.
    pub(crate) fn pools(&self, fate: impl Fn(&Job) -> PoolFate + Send + Sync + 'static) {
        self.core.state().pool_fate = std::sync::Arc::new(fate);
    }

    /// Of pools that match, a job gets the one of the newest job, not of the oldest.
    pub(crate) fn give_newest_pool(&self) {
        self.core.state().gives_newest_pool = true;
    }

    /// Somebody looks at a job once.
    pub(crate) fn look_at(&self, name: &str) {
        let input = json!({"TrainingJobName": name});
        super::sagemaker::answer(&self.core, super::Operation::DescribeTrainingJob, &input)
            .unwrap_or_else(|refusal| panic!("{refusal:?}"));
    }

    /// The last jobs of the pools that are kept and billed.
    pub(crate) fn kept_pools(&self) -> Vec<String> {
        let jobs = self.jobs().into_iter();
        jobs.filter(|job| {
            let is_kept = |pool: &Pool| match pool.status {
                PoolState::Available => true,
                // Whoever looks sees it available.
                PoolState::InUse => job.has_ended(),
                PoolState::Reused(_) | PoolState::Terminated => false,
            };
            job.pool.as_ref().is_some_and(is_kept)
        })
        .map(|job| job.name)
        .collect()
    }

    /// Seconds for which machines were kept, of every job.
    pub(crate) fn idle_seconds(&self) -> f64 {
        let jobs = self.jobs().into_iter();
        jobs.filter_map(|job| job.pool)
            .map(|pool| pool.retained)
            .sum()
    }

    /// What AWS bills for all jobs and for the machines kept after them, in US dollars.
    pub(crate) fn bill(&self) -> f64 {
        let jobs = self.jobs();
        let prices = self.core.state().prices.clone();
        jobs.iter()
            .map(|job| {
                let billed = job.describe()["BillableTimeInSeconds"]
                    .as_f64()
                    .unwrap_or(0.0);
                let kept = job.pool.as_ref().map_or(0.0, |pool| pool.retained);
                let groups = job.groups().into_iter().map(|group| {
                    let price = prices.get(&group.instance_type).copied().unwrap_or(0.0);
                    #[expect(clippy::cast_precision_loss, reason = "a few machines")]
                    let machines = group.count as f64;
                    machines * price
                });
                (billed + kept) * groups.sum::<f64>() / 3600.0
            })
            .sum()
    }
}

impl Job {
    /// Whether it ran on the machines of a job before it.
    pub(crate) fn is_warm(&self) -> bool {
        self.is_warm
    }
}
