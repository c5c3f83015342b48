//! Starting a canary's training job, unless it is there already.

use std::time::{Duration, Instant};

use aws_sdk_sagemaker::operation::create_training_job::builders::CreateTrainingJobInputBuilder;

use super::pace::{self, unless_since};
use super::placing::output;
use super::request::{self, Launch};
use super::{CanaryUnderWay, Found, JobName, ReadyJob, quota};
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::{CanaryState, RunPart, Watcher};
use crate::canary::CanaryRun;
use crate::instance::InstanceType;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::units::Seconds;

/// How long a request to create a job is repeated that was throttled or not answered: an account creates one job a second, and
/// many gates may want one.
const PATIENCE_TO_CREATE: Duration = Duration::from_mins(10);
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait for room in the quota; at least half of it, so that gates do not ask together.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// How often a name may turn out to be taken before it is given up.
const MOST_ROUNDS: u32 = 6;
/// How often room in the quota is waited for where no other canary of this run uses it: about two minutes.
const WAITS_FOR_ROOM: u32 = 6;
/// How long the answer to such a request is waited for after a signal.
const PATIENCE: Duration = Duration::from_secs(4);

const CREATE: Call<'_> = Call("sagemaker:CreateTrainingJob");

/// The answer to the request for a training job.
enum Created {
    Yes,
    /// The name is taken: somebody was faster, or an answer was lost.
    Taken,
    /// Nothing is to be started any more, or nobody waits for room.
    Not(CanaryState),
}

impl CanaryUnderWay<'_> {
    /// Finds the job that stands for a canary, or creates it under the first attempt that is free; else says why nothing was started: a
    /// signal came first, another canary failed, nothing is to be started at all, or nobody waits for room.
    pub(super) async fn launch(&self) -> OutsideResult<Result<Found, CanaryState>> {
        let (ready, run, watcher) = (self.ready, self.run, self.watcher);
        let first = ready.first_name(run);
        // The attempt that this process placed last, with its rows.
        let mut placed_last = None;
        for round in 0..MOST_ROUNDS {
            let finding = async {
                if round > 0 {
                    self.backend.pace.wait(FIRST_WAIT * round).await;
                }
                ready.find(run, &first, watcher.report).await
            };
            let found = watcher.cancellation.run_until_cancelled(finding).await;
            let name = match found.transpose()? {
                Some(Ok(mut found)) => {
                    // Its own, whose answer was lost.
                    if let Some((_, rows)) = placed_last.filter(|(name, _)| *name == found.name) {
                        found.rows = rows;
                        self.close_pool();
                    }
                    watcher.fact(&format!("training job {}, already there", found.name));
                    return Ok(Ok(found));
                }
                Some(Err(name))
                    if self.backend.tags.part != RunPart::Collect && !watcher.holds_back() =>
                {
                    name
                }
                _ => {
                    ready.stop_unwatched(&first).await;
                    return Ok(Err(CanaryState::HeldBack));
                }
            };
            let placing = ready.place(run, &name);
            let created = match watcher.cancellation.run_until_cancelled(placing).await {
                Some(Ok(rows)) => {
                    placed_last = Some((name.clone(), rows));
                    self.create(&name).await
                }
                Some(Err(error)) => Err(error),
                None => Ok(Created::Not(CanaryState::HeldBack)),
            };
            ready.give_pool_back(&name);
            let state = match created {
                Ok(Created::Yes) => {
                    self.close_pool();
                    watcher.fact(&format!("training job {name}"));
                    return Ok(Ok(Found {
                        rows: placed_last.and_then(|(_, rows)| rows),
                        ..Found::created(name)
                    }));
                }
                // Whose it is shows a look.
                Ok(Created::Taken) => continue,
                Ok(Created::Not(state)) => Ok(Err(state)),
                Err(error) => Err(error),
            };
            ready.stop_unwatched(&name).await;
            ready.unplace(&name).await;
            return state;
        }
        Err(OutsideError::transient(format!(
            "the training job names {}… are taken, but no such job is found",
            first.stem()
        ))
        .help("start the check again later"))
    }

    /// Creates the job, at the pace that SageMaker takes and with patience where it is throttled or the quota is used up by
    /// canaries of this run.
    async fn create(&self, name: &JobName) -> OutsideResult<Created> {
        let (ready, run, watcher) = (self.ready, self.run, self.watcher);
        self.enter_pool(name).await;
        let mut failed = 0;
        let mut spent = Duration::ZERO;
        let mut waited_for_room = 0;
        let mut may_be_there = false;
        loop {
            self.backend.pace.before_create().await;
            if watcher.holds_back() {
                return Ok(Created::Not(CanaryState::HeldBack));
            }
            // What starts on kept machines, and keeps them for none, ends with them.
            let pool = (ready.pool_for(&run.instance)).filter(|_| watcher.has_successor);
            let keep_alive = pool.map(|pool| pool.keep_alive);
            let request = ready.request(run, name, keep_alive)?;
            let has_profiler = request.get_profiler_config().is_some();
            let begin = Instant::now();
            // Before the call: an answer that is lost may still have started the job.
            self.backend.state.borrow_mut().has_run = true;
            (self.backend.state.borrow_mut().own).insert(name.to_string());
            let client = self.backend.aws().sagemaker_once;
            let asking = request.send_with(&client);
            // It is not dropped half-way, since it may have been heard. Without an answer in time as if the job were there: the
            // watch sees the signal, and stops what is under this name.
            let answer = unless_since(watcher.cancellation, PATIENCE, asking).await;
            let Some(error) = answer.and_then(|answer| CREATE.heard(answer).err()) else {
                return Ok(Created::Yes);
            };
            // Without an answer the job may have been started. A later refusal for its pace, or for want of room, does not say that it was not.
            may_be_there |= error.kind == FailureKind::Unreachable;
            let is_final = !matches!(error.kind, FailureKind::Throttled | FailureKind::Limit);
            if !may_be_there || (is_final && error.kind != FailureKind::Unreachable) {
                self.backend.forget(&name.to_string());
            }
            // The message decides, since SageMaker has several codes for this.
            if let Some(kind) = quota::missing_in_region(&error.message) {
                self.backend.forget(&name.to_string());
                let region = &self.backend.aws().region;
                return Err(OutsideError::of(format!(
                    "SageMaker does not train on {kind} in {region}"
                ))
                .help("choose another instance, or another `region`"));
            }
            if error.has_code("ResourceInUse") {
                // This very process took the name, if an answer of its own was lost.
                if may_be_there {
                    let mut state = self.backend.state.borrow_mut();
                    state.own.insert(name.to_string());
                }
                return Ok(Created::Taken);
            }
            let says = |word| error.message.to_ascii_lowercase().contains(word);
            let names_profiler = says("profiler") || says("profiling") || says("debugger");
            let wait = match error.kind {
                // By no code of its own: AWS closed Debugger to new customers. What is measured does not need it.
                _ if has_profiler && names_profiler => {
                    ready.notes.add(format!(
                        "SageMaker refused Debugger's profiler, so canaries run without it; remove `profiler: true` under `training` ({})",
                        error.message
                    ));
                    self.backend.state.borrow_mut().refuses_profiler = true;
                    continue;
                }
                FailureKind::Limit if self.backend.tags.part == RunPart::Detach => {
                    return Ok(Created::Not(CanaryState::NoRoom(no_quota(&error, run))));
                }
                FailureKind::Limit => {
                    self.make_room(&error, &mut waited_for_room).await?;
                    LONGEST_WAIT.mul_f64(0.5 + 0.5 * rand::random::<f64>())
                }
                FailureKind::Unreachable | FailureKind::Throttled => {
                    failed += 1;
                    let wait = pace::backoff(failed);
                    spent += self.backend.pace.unhurried(begin.elapsed()) + wait;
                    if spent >= PATIENCE_TO_CREATE {
                        return self.give_up(&error, name).await;
                    }
                    say_waiting(&error, failed, PATIENCE_TO_CREATE - spent, watcher);
                    wait
                }
                FailureKind::Denied if keep_alive.is_some() => {
                    ready.give_up_pool(&run.instance, &error);
                    continue;
                }
                _ => return Err(error.to_error("start a canary")),
            };
            let waiting = self.backend.pace.wait(wait);
            watcher.cancellation.run_until_cancelled(waiting).await;
        }
    }

    /// Ends machines that this run keeps for other canaries where the quota was refused, which take room as well.
    ///
    /// # Errors
    ///
    /// Where no room is worth waiting for any more: none will come, or it was waited for often enough since others of this run were at work.
    async fn make_room(&self, error: &CallError, waited: &mut u32) -> OutsideResult<()> {
        let run = self.run;
        let refused = quota::Refused::parse(&error.message);
        let mut kinds: Vec<&InstanceType> = run.instance.machines_by_type().into_keys().collect();
        // Where there are several types, the refusal names the one that is meant.
        let is_named = |kind: &&InstanceType| {
            let mut refused = refused.iter();
            refused.any(|refused| refused.quota == quota::training_quota(kind.name()))
        };
        if kinds.iter().any(is_named) {
            kinds.retain(is_named);
        }
        for kind in &kinds {
            self.yield_pools(kind).await;
        }
        // What a canary that has just ended used may be counted a little longer.
        let would_fit = (refused.as_ref()).is_some_and(|refused| refused.limit >= refused.delta);
        match self.backend.is_at_work_on(&kinds) {
            true => *waited = 0,
            false if would_fit && *waited < WAITS_FOR_ROOM => *waited += 1,
            false => return Err(no_quota(error, run)),
        }
        let used = refused.map_or("used up".to_owned(), |refused| {
            format!("{} of {} in use", refused.used, refused.limit)
        });
        self.watcher.phase(&format!(
            "waiting for room in the quota of {}: {used}",
            run.instance
        ));
        Ok(())
    }

    /// After the last try: whether the job was started is not known until it is looked for.
    async fn give_up(&self, error: &CallError, name: &JobName) -> OutsideResult<Created> {
        let known = self.backend.describe(&name.to_string()).await;
        if let Ok(Some(_)) = known {
            return Ok(Created::Taken);
        }
        let mut error = error.to_error(&format!("start a canary on {}", self.run.instance));
        let limit = Seconds(PATIENCE_TO_CREATE.as_secs_f64());
        error.what = format!("{}, for {limit}", error.what);
        match known {
            Ok(_) => self.backend.forget(&name.to_string()),
            Err(_) => {
                let unknown = format!("; whether the training job {name} was started is not known");
                error.what += &unknown;
            }
        }
        Err(error)
    }
}

impl ReadyJob<'_> {
    /// The request for one attempt at a canary, whose machines are kept for so long after it.
    pub(super) fn request(
        &self,
        run: &CanaryRun,
        name: &JobName,
        keep_alive: Option<Seconds>,
    ) -> OutsideResult<CreateTrainingJobInputBuilder> {
        let (environment, command) = self.placed.probe_parts(&run.instance);
        let request = request::create(&Launch {
            name,
            region: &self.backend.aws().region,
            job: self.job,
            run,
            inputs: &self.inputs(run, name)?,
            script: self.placed.script_on(&run.instance).as_ref(),
            command,
            environment: &environment,
            keep_alive,
            tags: &self.backend.tags_of(run),
            output: &output(self.job)?.to_string(),
        })?;
        Ok(match self.backend.state.borrow().refuses_profiler {
            true => request.set_profiler_config(None),
            false => request,
        })
    }

    /// Stops what an attempt of this canary may have started whose answer was lost, and which no process waits for.
    async fn stop_unwatched(&self, name: &JobName) {
        let names: Vec<JobName> = {
            let state = self.backend.state.borrow();
            let own = state.own.iter();
            own.filter(|own| !state.watched.contains_key(*own))
                .filter_map(|own| JobName::parse(own))
                .filter(|own| own.is_same_canary(name))
                .collect()
        };
        for name in names {
            self.backend.stop_if_ours(&Found::created(name)).await;
        }
    }
}

/// Says once that a canary waits to be created, and then how long it still does.
fn say_waiting(error: &CallError, failed: u32, left: Duration, watcher: &Watcher<'_>) {
    let why = match error.kind {
        FailureKind::Throttled => "SageMaker takes no more jobs at the moment (throttled)",
        _ => "SageMaker gives no usable answer",
    };
    let left = Seconds(left.as_secs_f64());
    if failed == 1 {
        let limit = Seconds(PATIENCE_TO_CREATE.as_secs_f64());
        watcher.fact(&format!("{why}; tried again for up to {limit}"));
    } else {
        watcher.phase(&format!("{why}; {left} left"));
    }
}

/// The account may not run even one.
fn no_quota(error: &CallError, run: &CanaryRun) -> OutsideError {
    match quota::Refused::parse(&error.message) {
        Some(refused) => {
            let (limit, used, delta) = (refused.limit, refused.used, refused.delta);
            let room = format!("{limit}, {used} in use, {delta} more asked for");
            quota::too_small(&refused.quota, &room, &run.instance)
        }
        None => error.to_error(&format!("start a canary on {}", run.instance)),
    }
}
