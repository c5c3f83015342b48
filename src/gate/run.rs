//! The gate itself: one straight function over the affected jobs.

use std::cell::Cell;

use futures_util::future::ready;
use futures_util::{StreamExt, stream};

use crate::assess::whole_report;
use crate::backend::{BackendEnd, RunPart};
use crate::change::AffectedJob;
use crate::console::signals::Interruption;
use crate::console::{AppError, Loudness, StepResult, printable, say};
use crate::gate::account::{self, BillingState};
use crate::gate::job_gate::{Gate, JobGate};
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::{GateFailure, GateOutcome, PullRequestLimit, RunHistory, RunRequest, Runner};
use crate::measurement::Measurement;
use crate::plan::{Account, Limit};
use crate::report::Leftovers;
use crate::spec::Job;
use crate::units::Usd;
use crate::workspace::Project;

/// Checks every affected job. Everything it started has ended when it returns, unless a second signal came.
pub(crate) async fn run(
    project: &Project,
    affected: &[AffectedJob<'_>],
    request: &RunRequest<'_>,
    interruption: Interruption,
    loudness: Loudness,
) -> Result<GateOutcome, GateFailure> {
    let asked = (request.part, request.reuse);
    let cancellation = interruption.cancellation.clone();
    let mut runner = Runner::open(project, asked, request.pass_env, cancellation, loudness).await?;
    runner.jobs = affected.len();
    let history = RunHistory::open(project, &request.origin, Some(&runner.gate_run.id)).await?;
    let limit = request.max_spend_per_pull_request;
    // What was detached is in the history when it is collected, which is later than the next start.
    if limit.is_some() && request.part != RunPart::Whole {
        let refused = AppError::usage(
            "--max-spend-per-pull-request does not go with detached canaries: what they cost is known only when they are collected",
        );
        return Err(refused
            .help("leave it out, and limit each run with --max-spend; or let `run` wait for its canaries")
            .into());
    }
    // Where nothing is to run nothing is asked.
    let limit = limit.filter(|_| !affected.is_empty());
    let pull_request = PullRequestLimit::open(limit, project, &request.origin, &history).await?;
    // What was detached is paid already.
    runner.is_limited_in_dollars = request.part != RunPart::Collect
        && (request.max_spend.is_some() || pull_request.account().is_some());
    let open = |path| MeasurementsFile::open(path, &project.root);
    let file = request.measurements.map(open).transpose()?;
    project.warn(loudness);

    warn_of_no_price(project, affected, request);

    let gate = Gate {
        request,
        history: &history,
        runner: &runner,
        pull_request: &pull_request,
    };
    // The account of each job that has begun.
    let mut accounts = Vec::new();
    // A second signal drops this work; the next start finds what is left.
    let left = Cell::new(Leftovers::Unknown);
    let work = async {
        let mut gated = gate.all(affected, &mut accounts).await;
        let measured = gated.jobs.iter().flat_map(|job| &job.measurements);
        let measured: Vec<Measurement> = measured.cloned().collect();
        let written = file.map_or(Ok(()), |file| file.write(&measured));
        (gated.failures).extend(written.err().map(|error| (None, error)));
        let finished = runner.finish(&gated.detached).await;
        match &finished {
            Ok(end) => {
                let bills = gate.bills(end, &mut gated).await;
                // Machines that are still kept are left to the next start, or to a sweep.
                if !end.may_keep_machines {
                    left.set(Leftovers::Nothing);
                    if bills == BillingState::Shown {
                        runner.gate_run.end();
                    }
                }
            }
            // After a signal the report is not shown.
            Err(error) if runner.cancellation.is_cancelled() => say(&printable(&error.what)),
            Err(_) => {}
        }
        Ok((gated, finished))
    };
    let gated = interruption.unless_impatient(work, &runner.progress).await;
    let billed = accounts.iter().filter_map(Account::billed);
    let spent = billed.reduce(|sum, billed| sum + billed);
    let left = left.get();
    let broken = |error| GateFailure { error, spent, left };
    let (mut gated, finished) = gated.map_err(broken)?;
    gated.left = left;
    gated.committed = accounts.iter().map(Account::committed).sum();
    gated.notes.extend(pull_request.note());
    let kept = history.take_failure().map_or(Ok(()), Err);
    let kept = kept.during("keeping what was found in the history");
    let finished = finished.during("stopping what was started");
    let failures = kept.err().into_iter().chain(finished.err());
    gated.failures.extend(failures.map(|error| (None, error)));
    Ok(gated)
}

/// A limit in dollars holds nothing back where there is no price.
fn warn_of_no_price(project: &Project, affected: &[AffectedJob<'_>], request: &RunRequest<'_>) {
    let is_unpriced = |job: &&Job| project.offer(&job.instance).unpriced().is_some();
    let option = match (request.max_spend, request.max_spend_per_pull_request) {
        (Some(_), _) => "--max-spend",
        (None, Some(_)) => "--max-spend-per-pull-request",
        (None, None) => return,
    };
    if project.traits().is_remote {
        return;
    }
    let jobs = affected.iter().map(|affected| affected.job);
    for job in jobs.filter(is_unpriced) {
        say(&format!(
            "warning: {option} does not hold for job `{}`: {} has no price; write one under `prices`",
            job.name, job.instance
        ));
    }
}

impl Gate<'_> {
    /// Checks the jobs; what comes of them stands in the spec's order. A job that cannot be checked does not prevent the others.
    ///
    /// Where each has machines of its own all begin at once, if the run's limits cover the most that all may spend. Else they come one
    /// after another: on one machine their canaries would disturb each other, and none is to take the money of one before it.
    async fn all(&self, all: &[AffectedJob<'_>], accounts: &mut Vec<Account>) -> GateOutcome {
        let (request, runner) = (self.request, self.runner);
        let above = self.pull_request.account();
        // What was detached is paid already: no limit keeps it from being read.
        let is_limited = request.part != RunPart::Collect;
        let max_spend = request.max_spend.filter(|_| is_limited);
        let limit_of = |one: &AffectedJob<'_>| is_limited.then_some(one.job.canary.spend_limit);
        let check = async |affected: &AffectedJob<'_>, account: Account| {
            let gate = JobGate {
                gate: self,
                affected,
                account: &account,
            };
            let mut gated = gate.run().await.unwrap_or_else(|error| {
                runner.outputs.borrow_mut().lacks_some = true;
                let (job, error) = (affected.job, error.without(&runner.secrets));
                if !error.is_transient() {
                    return GateOutcome {
                        failures: vec![(Some(job.name.clone()), error)],
                        ..GateOutcome::default()
                    };
                }
                // A transient failure is the job's outcome.
                runner.say_of(job, &format!("× {}", error.in_a_line()));
                let (by, reason) = (&affected.by, error.reason());
                let report = whole_report::unknown_report(job, by, &reason, Vec::new());
                GateOutcome::of(report, None)
            });
            let failures = std::mem::take(&mut gated.failures).into_iter();
            let without = |(job, error): (_, AppError)| (job, error.without(&runner.secrets));
            gated.failures = failures.map(without).collect();
            gated
        };
        let most: Usd = all.iter().filter_map(limit_of).sum();
        let left = above.and_then(Account::left);
        let covered = |left: &Option<Usd>| Account::new(*left, Limit::Run).covers(most);
        let is_remote = runner.project.traits().is_remote;
        let are_beside = is_remote && [max_spend, left].iter().all(covered);
        if is_remote && !are_beside && all.len() > 1 {
            runner.progress.mention("  one job after another: the limit for all is less than the sum of their spend_limits");
        }
        let at_once = if are_beside { all.len().max(1) } else { 1 };
        // After a signal no further job is begun.
        let goes_on = |_: &_| ready(are_beside || !runner.cancellation.is_cancelled());
        let checked = stream::iter(all).take_while(goes_on).map(|one| {
            let left = max_spend.map(|most| most - accounts.iter().map(Account::committed).sum());
            let (limit, of) = match (limit_of(one), left) {
                (Some(limit), Some(left)) if left < limit => (Some(left), Limit::Run),
                (limit, _) => (limit, Limit::of(one.job)),
            };
            accounts.push(Account::below(above, limit, of));
            check(one, accounts[accounts.len() - 1].clone())
        });
        let ended: Vec<GateOutcome> = checked.buffered(at_once).collect().await;
        let mut outcome = GateOutcome::default();
        for one in ended {
            outcome.jobs.extend(one.jobs);
            outcome.failures.extend(one.failures);
            outcome.detached.extend(one.detached);
        }
        outcome
    }

    /// Whether the report has every bill of the run; one that is not shown has none.
    async fn bills(&self, end: &BackendEnd, gated: &mut GateOutcome) -> BillingState {
        let (runner, history) = (self.runner, self.history);
        let is_resumed = runner.gate_run.is_resumed;
        let has_run = end.has_run || is_resumed;
        if !has_run || self.request.part != RunPart::Whole {
            return BillingState::Shown;
        }
        if runner.cancellation.is_cancelled() || end.has_stopped_jobs {
            return BillingState::Open;
        }
        let lacks_some = end.has_unmeasured || runner.outputs.borrow().lacks_some;
        if !is_resumed && !lacks_some {
            return BillingState::Shown;
        }
        let completed = account::complete(gated, runner, history).await;
        completed.unwrap_or_else(|error| {
            say(&format!(
                "warning: what earlier starts of this run were billed is not known: {}; the next start looks again",
                error.in_a_line()
            ));
            BillingState::Open
        })
    }
}
