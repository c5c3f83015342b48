//! A **batch** of canaries under way: a bounded number at a time, results in plan order, each measurement kept as its run ends,
//! nothing launched after a failure.

use std::cell::Cell;

use futures_util::future::join_all;
use tokio::sync::Semaphore;

use crate::assess::first_error::{self, EndedCanary};
use crate::backend::{CanaryPayer, CanaryState, CanaryStep, Ready, RunPart, Watcher};
use crate::canary::CanaryRun;
use crate::console::progress::{Canaries, Earlier};
use crate::console::{AppError, indented, printable};
use crate::gate::run_history::Records;
use crate::gate::{Runner, ended_pools, failure_logs};
use crate::instance::Offer;
use crate::measurement::{Measurement, Outcome, Reused};
use crate::outside_error::OutsideError;
use crate::plan::{self, Account, KeptMachines, Reservation};
use crate::spec::Job;
use crate::units::{Seconds, Usd};

/// The number of canaries that are collected at a time; each asks for its log and its metrics.
const COLLECTED_AT_ONCE: u32 = 4;

/// What the canaries of one configuration are run with.
#[derive(Clone, Copy)]
pub(crate) struct CanaryMeans<'a> {
    pub(crate) job: &'a Job,
    pub(crate) ready: &'a dyn Ready,
    /// `None` if no run of the job is kept, and none is reused.
    pub(crate) records: Option<&'a Records<'a>>,
    pub(crate) kept: &'a KeptMachines,
    pub(crate) account: &'a Account,
    /// False where nothing more may be launched.
    pub(crate) is_wanted: &'a Cell<bool>,
}

/// The fate of a canary in a batch.
pub(crate) enum CanaryFate {
    /// It was measured, in this run or an earlier one.
    Measured(Box<Measurement>),
    /// The history has its measurement, which nobody asks for now.
    Known,
    /// It is not waited for, and may cost so much.
    Left(CanaryState, Option<Usd>),
    /// Money or room refused it, for this reason.
    Refused(String),
    /// Its turn did not come.
    NotLaunched,
    /// It could not be run or read.
    Lost(AppError),
}

/// The results of a batch of canaries.
#[derive(Default)]
pub(crate) struct Ran {
    /// The measurements in plan order.
    pub(crate) measurements: Vec<Measurement>,
    /// The first error, before others one that a person must fix; `None` where the batch did not break off.
    pub(crate) failure: Option<AppError>,
    /// Those that nobody waits for, and those without money or room, by their place. Of canaries that are waited for only such as earlier
    /// ones, which cost more than expected, left no money for.
    pub(crate) standing: Vec<(usize, CanaryFate)>,
}

impl From<Vec<CanaryFate>> for Ran {
    fn from(fates: Vec<CanaryFate>) -> Self {
        let mut ran = Self::default();
        for (place, fate) in fates.into_iter().enumerate() {
            match fate {
                CanaryFate::Measured(measurement) => ran.measurements.push(*measurement),
                CanaryFate::Lost(error) => {
                    let known = ran.failure.take();
                    let known = known.filter(|it| error.is_transient() || !it.is_transient());
                    ran.failure = known.or(Some(error));
                }
                CanaryFate::NotLaunched => {}
                fate => ran.standing.push((place, fate)),
            }
        }
        ran
    }
}

/// Is called when the machines of a canary are free, with its index in the batch and its measurement as far as it is known.
pub(crate) type Freed<'a> = &'a dyn Fn(usize, Measurement);

/// Runs the canaries of one configuration as far as this part of the run goes, so many at a time as the backend runs of it; returns
/// what came of them. The next one starts when a machine is free, while what the one before used is still collected.
///
/// After a run that did not complete nothing more is launched: the same code would fail again, on more data. Nor is one whose
/// worst case the account refuses. What is collected is paid, and each canary is read by itself.
pub(crate) async fn run(
    runner: &Runner<'_>,
    by: CanaryMeans<'_>,
    runs: &[CanaryRun],
    earlier: Earlier,
    freed: Freed<'_>,
) -> Ran {
    let at_once = match (runner.part, runs.first()) {
        (RunPart::Whole, Some(run)) => by.ready.room(&run.instance).at_once,
        (RunPart::Collect, _) => COLLECTED_AT_ONCE,
        // The first canaries get the room.
        (RunPart::Detach, _) | (_, None) => 1,
    } as usize;
    let batch = Batch {
        runner,
        by,
        progress: runner.progress.canaries(by.job, runs, earlier),
        slots: Semaphore::new(at_once),
        at_once,
        canaries: runs.len(),
        earlier,
        freed,
        is_launching: Cell::new(true),
    };
    let launches = runs.iter().enumerate();
    let fates = join_all(launches.map(|(index, run)| batch.launch(index, run)));
    fates.await.into()
}

/// Runs one canary of a job, or its full run. Its measurement is neither reused nor kept, and its machines are not kept.
pub(crate) async fn run_one(
    runner: &Runner<'_>,
    (job, ready): (&Job, &dyn Ready),
    run: CanaryRun,
    account: &Account,
) -> Ran {
    let kept = &KeptMachines::default();
    let by = CanaryMeans {
        job,
        ready,
        records: None,
        kept,
        account,
        is_wanted: &Cell::new(true),
    };
    let alone = Earlier {
        runs: 0,
        to_come: Some(0),
    };
    let mut ran = self::run(runner, by, &[run], alone, &|_, _| {}).await;
    let measured = &mut ran.measurements;
    // It says itself which pool may still be billed.
    ended_pools::end_all(ready, Vec::new(), measured, (account, kept), runner).await;
    ran
}

/// The canaries of one configuration under way.
struct Batch<'a> {
    runner: &'a Runner<'a>,
    by: CanaryMeans<'a>,
    progress: Canaries<'a>,
    /// A slot for each canary that may run at a time. Canaries take them in their order.
    slots: Semaphore,
    at_once: usize,
    canaries: usize,
    earlier: Earlier,
    freed: Freed<'a>,
    /// False after a failure: nothing more is launched.
    is_launching: Cell<bool>,
}

/// The money that is set aside for a canary under way.
struct OpenBill {
    /// The most that it may cost; `None` without a price.
    worst: Option<Usd>,
    /// The part of that for machines that are kept after it; `None` where none are kept.
    longest: Option<Usd>,
    /// The reservation, until it is settled.
    reserved: Option<Reservation>,
}

impl OpenBill {
    /// The fate of a canary that is not waited for. What it costs shows when it is collected: until then it stays set aside.
    fn left(self, state: CanaryState) -> CanaryFate {
        let payer = CanaryPayer::ThisRun;
        let is_paid = matches!(&state, CanaryState::Running { payer: by, .. } if *by == payer);
        if let Some(reserved) = self.reserved.filter(|_| !is_paid) {
            reserved.settle(None);
        }
        match state {
            CanaryState::HeldBack => CanaryFate::NotLaunched,
            CanaryState::NoRoom(error) => CanaryFate::Refused(AppError::from(error).in_a_line()),
            state => CanaryFate::Left(state, self.worst),
        }
    }
}

impl Batch<'_> {
    /// Reuses or runs one canary.
    async fn launch(&self, index: usize, run: &CanaryRun) -> CanaryFate {
        let Ok(slot) = self.slots.acquire().await else {
            return CanaryFate::NotLaunched;
        };
        let (runner, by, account) = (self.runner, self.by, self.by.account);
        if !self.may_launch() || runner.cancellation.is_cancelled() {
            return CanaryFate::NotLaunched;
        }
        // The money left no time for it.
        if run.max_runtime.is_some_and(|limit| limit.0 <= 0.0) {
            return self.refuse();
        }
        if let Some(records) = by.records {
            match records.found(run).await {
                Ok(None) => {}
                Ok(Some(_)) if runner.part == RunPart::Detach => return CanaryFate::Known,
                Ok(Some(measurement)) => return self.reuse(index, run, measurement),
                Err(error) => return self.lose(error),
            }
        }
        if !self.may_launch() {
            return CanaryFate::NotLaunched;
        }
        let offer = runner.offer(by.job, &run.instance);
        let has_successor = self.has_successor(index);
        let kept = by.ready.room(&run.instance).keep_alive;
        let kept = kept.filter(|_| has_successor);
        let longest = kept.and_then(|time| offer.cost(time));
        let worst = plan::worst_case(std::slice::from_ref(run), &offer);
        let worst = worst.map(|worst| worst + longest.unwrap_or_default());
        let Some(reserved) = account.reserve(worst.unwrap_or_default()) else {
            return self.refuse();
        };
        // What only counts is no cost.
        let worst = worst.filter(|_| !offer.counts_time());
        let mut bill = OpenBill {
            worst,
            longest,
            reserved: Some(reserved),
        };
        self.progress.start(index, run);
        let watcher = Watcher {
            report: &|progress| self.progress.report(index, run, progress),
            may_start: &|| self.may_launch(),
            has_successor,
            is_last: self.to_come() == 0 && index + 1 == self.canaries,
            cancellation: &runner.cancellation,
        };
        let mut is_shown = false;
        let end = match by.ready.run(run, &watcher).await {
            CanaryStep::Ended(end) => end,
            CanaryStep::Free(known, rest) => {
                let known = self.as_kept(run, &offer, *known);
                self.settle(&mut bill, &known);
                // The end of a failed canary is shown later, when its log says what went wrong.
                is_shown = known.is_completed();
                match is_shown {
                    true => self.show_end(index, run, &known),
                    false => self.give_up(),
                }
                (self.freed)(index, known);
                drop(slot);
                rest.await
            }
        };
        // Its record is never reused, but the limit of a pull request counts it.
        if let Some((paid, records)) = end.paid_for_nothing.zip(by.records) {
            let paid = self.as_kept(run, &offer, *paid);
            records.keep(None, &paid, worst).await;
        }
        let result = match end.state {
            Ok(CanaryState::Measured(result)) => *result,
            Ok(_) if runner.part == RunPart::Collect => {
                let what = format!("canary {} is not there to be read any more", run.label());
                let error = OutsideError::transient(what).help(
                    "collect again: what is gone is named as missing then, with how to start it",
                );
                return self.lose(error.into());
            }
            Ok(state) => return bill.left(state),
            // Its cost is unknown, so it stays reserved.
            Err(error) => return self.lose(AppError::from(error).without(&runner.secrets)),
        };
        if !result.measurement.is_completed() {
            self.give_up();
        }
        let log_tail = runner.secrets.mask_lines(&result.log_tail);
        let log = runner.secrets.mask_lines(&result.log);
        let measurement = (result.measurement).with_words(|words| runner.secrets.mask(words));
        let measurement = first_error::explain(&EndedCanary {
            job: by.job,
            run,
            measurement: &measurement,
            log_tail: &log_tail,
        });
        let mut measurement = self.as_kept(run, &offer, measurement);
        self.settle(&mut bill, &measurement);
        let names = result.ended_pools.iter().map(String::as_str);
        (by.kept).end(account, names, measurement.idle_usd);
        // Before it is written down with the others: a slow write must not keep another canary from being stopped.
        if let Some(records) = by.records {
            records.keep(Some(run), &measurement, worst).await;
        }
        if !is_shown {
            self.show_end(index, run, &measurement);
        }
        self.keep_log(index, &mut measurement, [&log_tail, &log]);
        CanaryFate::Measured(Box::new(measurement))
    }

    /// Settles the bill, once: what a canary was billed takes the place of what was set aside. Money for machines that may be kept for the
    /// next canary stays set aside until the cost of keeping them is known.
    fn settle(&self, bill: &mut OpenBill, measurement: &Measurement) {
        let Some(reserved) = bill.reserved.take() else {
            return;
        };
        reserved.settle(measurement.cost);
        self.count(measurement);
        if let Some((name, longest)) = measurement.training_job.as_deref().zip(bill.longest) {
            self.by.kept.keep(self.by.account, name, longest);
        }
    }

    /// Counts the machine time of a canary that has no cost.
    fn count(&self, measurement: &Measurement) {
        let (runner, by) = (self.runner, self.by);
        let offer = runner.offer(by.job, &measurement.instance);
        if offer.counts_time() {
            let time = billed_time(measurement);
            by.account.count(time.and_then(|time| offer.charge(time)));
        }
    }

    /// Takes what an earlier run measured.
    fn reuse(&self, index: usize, run: &CanaryRun, mut measurement: Measurement) -> CanaryFate {
        if self.runner.gate_run.is_resumed {
            measurement.idle_seconds = None;
        }
        measurement.run = Some(self.runner.gate_run.id.clone());
        let offer = self.runner.project.offer(&run.instance);
        let measurement = priced(measurement, &offer);
        match measurement.reused {
            Some(reused) => self.by.account.reuse(reused.saved_usd),
            None => self.by.account.carry(measurement.cost),
        }
        self.count(&measurement);
        (self.freed)(index, measurement.clone());
        self.show_end(index, run, &measurement);
        CanaryFate::Measured(Box::new(measurement))
    }

    /// Keeps what a failed canary printed, and shows its last lines.
    fn keep_log(&self, index: usize, of: &mut Measurement, [tail, log]: [&[String]; 2]) {
        if of.ended_early || of.outcome == Outcome::Completed {
            return;
        }
        let (runner, job) = (self.runner, self.by.job);
        let number = self.earlier.runs + index + 1;
        let logs = &mut runner.outputs.borrow_mut().logs;
        let kept = failure_logs::keep(runner.project, logs, of, number, log);
        // Elsewhere than at a terminal the file may be gone with its machine.
        if kept.is_none() || !runner.progress.is_live() {
            for line in tail {
                runner.say_of(job, &format!("| {}", indented(line)));
            }
        }
        if let Some(path) = kept {
            let path = printable(&path.to_string_lossy());
            runner.say_of(job, &format!("its log: {path}"));
            of.log = Some(path);
        }
    }

    /// Its worst case is above what the account has left.
    fn refuse(&self) -> CanaryFate {
        let limit = self.by.account.limit();
        CanaryFate::Refused(format!("what is left of {limit} does not cover it"))
    }

    fn lose(&self, error: AppError) -> CanaryFate {
        self.give_up();
        CanaryFate::Lost(error)
    }

    /// Launches nothing more; what is only collected is paid.
    fn give_up(&self) {
        self.is_launching.set(self.runner.part == RunPart::Collect);
    }

    /// Whether another canary may follow on the machines of this one: one of the batch that waits for a machine, else one to come,
    /// for which the last canaries keep theirs, since they are the largest and end last.
    fn has_successor(&self, index: usize) -> bool {
        let waits = self.at_once.max(index + 1) < self.canaries;
        waits || index + self.to_come().min(self.at_once) >= self.canaries
    }

    /// Canaries in later batches, as far as they are known: of an open design one.
    fn to_come(&self) -> usize {
        self.earlier.to_come.unwrap_or(1)
    }

    fn may_launch(&self) -> bool {
        self.is_launching.get() && self.by.is_wanted.get()
    }

    fn show_end(&self, index: usize, run: &CanaryRun, measurement: &Measurement) {
        let spent = self.by.account.whole().billed();
        self.progress.finish(index, run, measurement, spent);
    }

    /// The measurement of a canary as one of this run, with what it cost.
    fn as_kept(&self, run: &CanaryRun, offer: &Offer, measurement: Measurement) -> Measurement {
        let measurement = measurement.within_limit(run.max_runtime);
        let records = self.by.records;
        let paid = || records.and_then(|records| records.paid(&measurement));
        let measurement = Measurement {
            run: Some(self.runner.gate_run.id.clone()),
            ended_early: run.ends_early && measurement.outcome == Outcome::TimedOut,
            reused: measurement.reused.or_else(paid),
            ..measurement
        };
        priced(measurement, offer)
    }
}

/// A recorded table may have the training time without the billed time.
fn billed_time(measurement: &Measurement) -> Option<Seconds> {
    (measurement.billable_seconds).or(measurement.training_seconds)
}

/// The measurement with what it cost.
pub(crate) fn priced(measurement: Measurement, offer: &Offer) -> Measurement {
    let cost = billed_time(&measurement).and_then(|time| offer.cost(time));
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
