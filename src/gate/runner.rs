//! Runs canaries: a bounded number at a time, results in plan order, each measurement kept as its run ends, nothing launched
//! after a failure.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;

use crate::assess::first_error::{self, Explained, FailedCanary};
use crate::backend::{CanaryResult, Cancellation, Ready, RunPart, Watcher};
use crate::canary::CanaryRun;
use crate::console::progress::{Canaries, CanaryGroup, Earlier, Progress};
use crate::console::signals::unless_cancelled;
use crate::console::{AppError, indented, printable};
use crate::gate::account::Accounted;
use crate::gate::failure_logs::FailureLogs;
use crate::gate::job_keys::JobKeys;
use crate::gate::machine_room::MachineRoom;
use crate::gate::measurements_file::{MeasurementsFile, Place};
use crate::gate::request::Reuse;
use crate::gate::run_history::{AdoptedCanaries, RunHistory};
use crate::instance::Offer;
use crate::measurement::{Measurement, Reused};
use crate::plan::{self, Account, KeptMachines};
use crate::secret::SecretMask;
use crate::spec::Job;
use crate::units::{Seconds, Usd};

/// What running needs, whichever job's canaries are run.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    /// The id of this run of the gate, which every measurement names.
    pub(crate) run_id: &'a str,
    /// Whether an earlier process had this id: what its machines cost that it kept is counted when pools are ended.
    pub(crate) is_resumed: bool,
    /// What measurements hold of the bills.
    pub(crate) held: &'a Accounted,
    pub(crate) file: &'a RefCell<MeasurementsFile>,
    pub(crate) progress: &'a Progress,
    pub(crate) cancellation: &'a Cancellation,
    /// What no canary's words may show.
    pub(crate) secrets: &'a SecretMask,
    /// How many there are: of several, each line names its own.
    pub(crate) jobs: usize,
    pub(crate) logs: &'a FailureLogs,
    /// On this machine, where canaries run on it.
    pub(crate) room: Option<&'a MachineRoom>,
}

impl Runner<'_> {
    /// Says something about a job.
    pub(crate) fn say_of(&self, job: &Job, text: &str) {
        self.progress.say(&self.line_of(job, text));
    }

    /// The same, unless quiet is asked for.
    pub(crate) fn mention_of(&self, job: &Job, text: &str) {
        self.progress.mention(&self.line_of(job, text));
    }

    fn line_of(&self, job: &Job, text: &str) -> String {
        let of = match self.jobs {
            0 | 1 => String::new(),
            _ => format!("{}: ", printable(&job.name)),
        };
        format!("  {of}{text}")
    }
}

/// A job whose canaries are run.
#[derive(Clone, Copy)]
pub(crate) struct RunningJob<'a> {
    pub(crate) job: &'a Job,
    /// Among the jobs of the run.
    pub(crate) place: usize,
    pub(crate) ready: &'a dyn Ready,
    /// `None` if no run of the job is kept, and none is reused.
    pub(crate) records: Option<&'a Records<'a>>,
}

/// A configuration of it, whose canaries are run.
#[derive(Clone, Copy)]
pub(crate) struct RunningConfiguration<'a> {
    pub(crate) of: RunningJob<'a>,
    /// `instance` first, then the alternatives.
    pub(crate) place: usize,
    pub(crate) offer: &'a Offer,
    pub(crate) account: &'a Account,
    pub(crate) kept: &'a KeptMachines,
    /// False where nothing more may be launched.
    pub(crate) is_wanted: &'a Cell<bool>,
}

impl RunningConfiguration<'_> {
    /// Where a canary stands in the spec's order; `number` is that among those of its configuration.
    fn place_of(&self, number: usize) -> Place {
        Place {
            job: self.of.place,
            configuration: self.place,
            number,
        }
    }

    fn group(&self) -> CanaryGroup {
        CanaryGroup {
            job: self.of.place,
            configuration: self.place,
        }
    }
}

/// The records of one job's canaries: read before a canary is run, written after.
pub(crate) struct Records<'a> {
    pub(crate) job: &'a Job,
    pub(crate) history: &'a RunHistory,
    pub(crate) keys: JobKeys,
    /// Whether this run may reuse canaries of earlier runs.
    pub(crate) reuse: Reuse,
    pub(crate) part: RunPart,
    /// Training jobs that another run has in its account, with the days since they ended.
    pub(crate) paid: RefCell<BTreeMap<String, f64>>,
}

impl Records<'_> {
    /// The canary of an earlier run that replaces this one.
    pub(crate) async fn found(&self, run: &CanaryRun) -> Result<Option<Measurement>, AppError> {
        let key = self.keys.canary(run);
        match (self.reuse, key) {
            (Reuse::Young, Some(key)) => {
                // Who collects a canary pays for it, unless another run has.
                let adopted = match self.part {
                    RunPart::Collect => AdoptedCanaries::Leave,
                    RunPart::Whole | RunPart::Detach => AdoptedCanaries::Take,
                };
                self.history.canary(self.job, run, &key, adopted).await
            }
            _ => Ok(None),
        }
    }

    /// Whether a training job that is over gives this run a measurement of its canary. One that another run has measured does so
    /// as a reused canary would, and costs nothing again.
    pub(crate) async fn may_measure(
        &self,
        run: &CanaryRun,
        training_job: &str,
    ) -> Result<bool, AppError> {
        let Some(key) = self.keys.canary(run) else {
            return Ok(true);
        };
        let measured = self
            .history
            .measured_by_another_run(self.job, &key, training_job);
        let Some(ended) = measured.await? else {
            return Ok(true);
        };
        let age = jiff::Timestamp::now().duration_since(ended).as_secs_f64();
        let days = Seconds(age.max(0.0)).in_days();
        (self.paid.borrow_mut()).insert(training_job.to_owned(), days);
        Ok(self.reuse == Reuse::Young && age.abs() <= self.job.canary.reuse.0)
    }

    /// That a measurement is of a training job which another run has in its account.
    fn paid(&self, measurement: &Measurement) -> Option<Reused> {
        let paid = self.paid.borrow();
        let age_days = *paid.get(measurement.training_job.as_ref()?)?;
        Some(Reused {
            age_days,
            saved_usd: None,
        })
    }

    /// Keeps a measurement of a canary that may have cost `worst`. One of unknown code has no key, and is never reused.
    async fn keep(&self, run: &CanaryRun, measurement: &Measurement, worst: Option<Usd>) {
        let key = self.keys.canary(run);
        self.history
            .keep_canary(&self.keys, key.as_ref(), measurement, worst)
            .await;
    }
}

/// What a batch of canaries gave.
pub(crate) struct Ran {
    /// In plan order.
    pub(crate) measurements: Vec<Measurement>,
    /// Why it broke off.
    pub(crate) failure: Option<AppError>,
    /// How many were not launched, since earlier ones cost more than expected.
    pub(crate) too_expensive: usize,
}

/// Hears of each canary of a batch, by its index, that its machines are free: what it gave, as far as that is known.
pub(crate) type Freed<'a> = &'a dyn Fn(usize, Measurement);

/// Runs the canaries of one configuration, so many at a time as the backend runs of it. The next one starts when a machine is
/// free, while what the one before used is still collected.
///
/// After a run that did not complete nothing more is launched: the same code would fail again, on more data. Nor is one whose
/// worst case the account refuses.
pub(crate) async fn run(
    runner: &Runner<'_>,
    of: RunningConfiguration<'_>,
    runs: &[CanaryRun],
    earlier: Earlier,
    freed: Freed<'_>,
) -> Ran {
    let RunningJob { job, ready, .. } = of.of;
    let at_once = runs.first().map_or(1, |run| ready.at_once(&run.instance));
    let at_once = at_once.max(1) as usize;
    let batch = Batch {
        run_id: runner.run_id,
        is_resumed: runner.is_resumed,
        held: runner.held,
        of,
        cancellation: runner.cancellation,
        secrets: runner.secrets,
        room: runner.room,
        progress: runner.progress.canaries(job, of.group(), runs, earlier),
        slots: Semaphore::new(at_once),
        at_once,
        canaries: runs.len(),
        to_come: match earlier.is_open {
            true => 1,
            false => earlier.to_come,
        },
        freed,
        is_launching: Cell::new(true),
        too_expensive: Cell::new(0),
    };
    let batch = &batch;
    let launch = |(index, run)| async move { Some((index, batch.launch(index, run).await?)) };
    let mut results: FuturesUnordered<_> = runs.iter().enumerate().map(launch).collect();
    let mut measured = Vec::new();
    let mut failure = None;
    while let Some(result) = results.next().await {
        match result {
            None => {}
            Some((_, Err(error))) => {
                failure.get_or_insert(error);
            }
            Some((index, Ok(launched))) => {
                let Launched {
                    mut measurement,
                    log_tail,
                    log,
                } = launched;
                let number = earlier.runs + index + 1;
                let kept = runner.logs.keep(&measurement, number, &log);
                // Elsewhere than at a terminal the file may be gone with its machine.
                let log_tail = match (&kept, runner.progress.is_live()) {
                    (Some(_), true) => Vec::new(),
                    _ => log_tail,
                };
                for line in &log_tail {
                    runner.say_of(job, &format!("| {}", indented(line)));
                }
                if let Some(path) = kept {
                    let path = printable(&path.to_string_lossy());
                    runner.say_of(job, &format!("its log: {path}"));
                    measurement.log = Some(path);
                }
                let place = of.place_of(earlier.runs + index);
                if let Err(error) = runner.file.borrow_mut().append(place, &measurement) {
                    batch.is_launching.set(false);
                    failure.get_or_insert(error);
                }
                // A paid canary is reported even if it could not be kept.
                measured.push((index, measurement));
            }
        }
    }
    measured.sort_by_key(|(index, _)| *index);
    Ran {
        measurements: measured
            .into_iter()
            .map(|(_, measurement)| measurement)
            .collect(),
        failure,
        too_expensive: batch.too_expensive.get(),
    }
}

/// The canaries of one configuration under way.
struct Batch<'a> {
    run_id: &'a str,
    is_resumed: bool,
    held: &'a Accounted,
    of: RunningConfiguration<'a>,
    cancellation: &'a Cancellation,
    secrets: &'a SecretMask,
    room: Option<&'a MachineRoom>,
    progress: Canaries<'a>,
    /// So many canaries at a time, in their order.
    slots: Semaphore,
    at_once: usize,
    canaries: usize,
    /// In later batches, as far as they are known: of an open design one.
    to_come: usize,
    freed: Freed<'a>,
    /// False after a failure: nothing more is launched.
    is_launching: Cell<bool>,
    /// Runs that were not launched, since the account refused them.
    too_expensive: Cell<usize>,
}

impl Batch<'_> {
    /// Reuses or runs one canary; `None` if it was not launched.
    async fn launch(&self, index: usize, run: &CanaryRun) -> Option<Result<Launched, AppError>> {
        let slot = Cell::new(Some(self.slots.acquire().await.ok()?));
        if !self.may_launch() || self.cancellation.is_cancelled() {
            return None;
        }
        if let Some(records) = self.of.of.records {
            match records.found(run).await {
                Ok(None) => {}
                Ok(Some(mut measurement)) => {
                    if self.is_resumed {
                        measurement.idle_seconds = None;
                    }
                    let measurement = of_run(self.run_id, priced(measurement, self.of.offer));
                    match measurement.reused {
                        Some(reused) => self.of.account.reuse(reused.saved_usd),
                        None => self.of.account.carry(measurement.cost),
                    }
                    (self.freed)(index, measurement.clone());
                    self.show_end(index, run, &measurement);
                    return Some(Ok(Launched {
                        measurement,
                        log_tail: Vec::new(),
                        log: Vec::new(),
                    }));
                }
                Err(error) => {
                    self.is_launching.set(false);
                    return Some(Err(error));
                }
            }
        }
        // Until it has ended as a whole: what is read of it disturbs the others too.
        let _on_this_machine = match self.room {
            Some(room) => {
                let (of, parallel) = (self.of.of, self.of.of.job.canary.parallel);
                let entered = unless_cancelled(room.enter(of.place, parallel), self.cancellation);
                Some(entered.await.ok()?)
            }
            None => None,
        };
        if !self.may_launch() {
            return None;
        }
        let worst = plan::worst_case(std::slice::from_ref(run), self.of.offer);
        let has_successor = self.has_successor(index);
        let kept = self.of.of.ready.warm_pool(&run.instance);
        let kept = kept.filter(|_| has_successor);
        let longest = kept.and_then(|pool| self.of.offer.cost(pool.keep_alive));
        let worst = worst.map(|worst| worst + longest.unwrap_or_default());
        let reserved = self.of.account.reserve(worst.unwrap_or_default());
        let Some(reserved) = reserved else {
            self.too_expensive.set(self.too_expensive.get() + 1);
            return None;
        };
        let reserved = Cell::new(Some(reserved));
        let settle = |billed| {
            if let Some(reserved) = reserved.take() {
                reserved.settle(billed);
                return true;
            }
            false
        };
        // Its machines may be kept for the next canary; until then that stays set aside.
        let settle_and_keep = |measurement: &Measurement| {
            if settle(measurement.cost)
                && let Some((name, longest)) = measurement.training_job.as_deref().zip(longest)
            {
                self.of.kept.keep(self.of.account, name, longest);
            }
        };
        let is_shown = Cell::new(false);
        let freed = |measurement: Measurement| {
            let is_completed = measurement.is_completed();
            let measurement = self.as_kept(run, measurement);
            settle_and_keep(&measurement);
            // What went wrong is shown when it is known.
            match is_completed {
                true => self.show_end(index, run, &measurement),
                false => self.is_launching.set(false),
            }
            is_shown.set(is_completed);
            (self.freed)(index, measurement);
            drop(slot.take());
        };
        self.progress.start(index, run);
        let paid_for_nothing = RefCell::new(None);
        let watcher = Watcher {
            report: &|progress| self.progress.report(index, run, progress),
            may_start: &|| self.may_launch(),
            has_successor,
            is_last: self.to_come == 0 && index + 1 == self.canaries,
            freed: &freed,
            paid_for_nothing: &|paid| drop(paid_for_nothing.replace(Some(paid))),
            cancellation: self.cancellation,
        };
        let result = self.of.of.ready.run(run, &watcher).await;
        // Nothing of it is reused, and the limit of a pull request counts it.
        if let Some(paid) = paid_for_nothing.take()
            && let Some(records) = self.of.of.records
        {
            let paid = self.as_kept(run, paid);
            (records
                .history
                .keep_canary(&records.keys, None, &paid, worst))
            .await;
        }
        let Some(result) = result.transpose() else {
            settle(None);
            return None;
        };
        let is_completed = |result: &CanaryResult| result.measurement.is_completed();
        if !result.as_ref().is_ok_and(is_completed) {
            self.is_launching.set(false);
        }
        // After an error the cost is unknown, so it stays reserved.
        let CanaryResult {
            measurement,
            log_tail,
            log,
            ended_pools,
        } = match result {
            Ok(result) => result,
            Err(error) => return Some(Err(AppError::from(error).without(self.secrets))),
        };
        let measurement = measurement.with_words(|words| self.secrets.mask(words));
        let log_tail = self.secrets.mask_lines(&log_tail);
        let log = self.secrets.mask_lines(&log);
        let Explained { outcome, way_out } = first_error::explain(&FailedCanary {
            job: self.of.of.job,
            run,
            outcome: &measurement.outcome,
            is_unread: measurement.is_unread(),
            log_tail: &log_tail,
        });
        let measurement = Measurement {
            outcome,
            way_out,
            ..measurement
        };
        let measurement = self.as_kept(run, measurement);
        settle_and_keep(&measurement);
        self.held.pools.borrow_mut().extend(ended_pools.clone());
        let ended_pools = ended_pools.iter().map(String::as_str);
        (self.of.kept).end(self.of.account, ended_pools, measurement.idle_usd);
        // Here, and not where results are gathered: a slow write must not keep another canary from being stopped.
        if let Some(records) = self.of.of.records {
            records.keep(run, &measurement, worst).await;
        }
        if !is_shown.get() {
            self.show_end(index, run, &measurement);
        }
        Some(Ok(Launched {
            measurement,
            log_tail,
            log,
        }))
    }

    /// Whether another canary may follow on the machines of this one: one of the batch that waits for a machine, else one to come,
    /// for which the last canaries keep theirs, since they are the largest and end last.
    fn has_successor(&self, index: usize) -> bool {
        let waits = self.at_once.max(index + 1) < self.canaries;
        waits || index + self.to_come.min(self.at_once) >= self.canaries
    }

    fn may_launch(&self) -> bool {
        self.is_launching.get() && self.of.is_wanted.get()
    }

    fn show_end(&self, index: usize, run: &CanaryRun, measurement: &Measurement) {
        let spent = self.of.account.whole().billed();
        self.progress.finish(index, run, measurement, spent);
    }

    /// The measurement of a canary as one of this run, with what it cost.
    fn as_kept(&self, run: &CanaryRun, measurement: Measurement) -> Measurement {
        let measurement = measurement.within_limit(run.max_runtime);
        let records = self.of.of.records;
        let paid = || records.and_then(|records| records.paid(&measurement));
        let measurement = Measurement {
            reused: measurement.reused.or_else(paid),
            ..measurement
        };
        of_run(self.run_id, priced(measurement, self.of.offer))
    }
}

/// A canary that has ended, in this run or an earlier one.
struct Launched {
    measurement: Measurement,
    /// The last lines that a failed run printed; hostile text.
    log_tail: Vec<String>,
    /// All that is kept of it.
    log: Vec<String>,
}

/// The measurement as one of a run of the gate.
fn of_run(run_id: &str, measurement: Measurement) -> Measurement {
    Measurement {
        run: Some(run_id.to_owned()),
        ..measurement
    }
}

/// The measurement with what it cost.
pub(crate) fn priced(measurement: Measurement, offer: &Offer) -> Measurement {
    // A recorded table may have the training time without the billed time.
    let billed = measurement
        .billable_seconds
        .or(measurement.training_seconds);
    let cost = billed.and_then(|time| offer.cost(time));
    // What another run of the gate paid for costs nothing again.
    let reused = measurement.reused.map(|reused| Reused {
        saved_usd: cost,
        ..reused
    });
    let idle = measurement.idle_seconds.filter(|_| reused.is_none());
    Measurement {
        price: offer.price().cloned(),
        idle_seconds: idle,
        idle_usd: idle.and_then(|idle| offer.cost(idle)),
        cost: cost.filter(|_| reused.is_none()),
        reused,
        ..measurement
    }
}
