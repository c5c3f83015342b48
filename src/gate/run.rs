//! The gate itself: one straight function over the affected jobs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::assess::whole_report;
use crate::backend::{BackendEnd, RunPart};
use crate::change::AffectedJob;
use crate::console::signals::Interruption;
use crate::console::{AppError, Loudness, printable, say};
use crate::gate::account::{self, BillingState};
use crate::gate::gate_run::GateRun;
use crate::gate::job_gate::{self, GatedJob};
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::outcome::{GateFailure, GateOutcome};
use crate::gate::pull_request_limit::PullRequestLimit;
use crate::gate::request::RunRequest;
use crate::gate::run_history::RunHistory;
use crate::gate::runner::Runner;
use crate::gate::turns::{JobCompany, Turn, Turns};
use crate::report::Leftovers;
use crate::spec::Job;
use crate::workspace::project::Project;

/// Checks every affected job. Everything it started has ended when it returns, unless a second signal came.
pub(crate) async fn run(
    project: &Project,
    affected: &[AffectedJob<'_>],
    request: &RunRequest<'_>,
    interruption: Interruption,
    loudness: Loudness,
) -> Result<GateOutcome, GateFailure> {
    let gate_run = GateRun::begin(project, request.part)?;
    let history = RunHistory::open(project, &request.origin, Some(&gate_run.id)).await?;
    let pull_request = pull_request_limit(project, affected, request, &history).await?;
    let runner = Runner::open(
        project,
        gate_run,
        (request.part, request.reuse),
        request.pass_env,
        interruption.cancellation.clone(),
        loudness,
    );
    let mut runner = runner.await?;
    runner.jobs = affected.len();
    runner.outputs.get_mut().file = MeasurementsFile::open(request.measurements, &project.root)?;
    project.warn(loudness);

    warn_of_no_price(project, affected, request);

    // What was detached is paid already: no limit keeps it from being read.
    let max_spend = (request.max_spend).filter(|_| request.part != RunPart::Collect);
    let company = match project.traits().is_remote {
        true => JobCompany::WithOthers,
        false => JobCompany::Alone,
    };
    let mut turns = Turns::new(max_spend, pull_request.account(), company);
    // A second signal drops this work; the next start finds what is left.
    let left = Cell::new(Leftovers::Unknown);
    let work = async {
        let gated = gate_all(
            affected,
            request,
            &history,
            &pull_request,
            &runner,
            &mut turns,
        );
        let mut gated = gated.await;
        let cancellation = &runner.cancellation;
        let finished = runner.finish(&gated.detached).await;
        let bills = match &finished {
            Ok(end) => bills_of(request, &history, end, &runner, &mut gated).await,
            Err(_) => BillingState::Open,
        };
        match &finished {
            // Machines that are still kept are left to the next start, or to a sweep.
            Ok(end) if !end.may_keep_machines => {
                left.set(Leftovers::Nothing);
                if bills == BillingState::Shown {
                    runner.gate_run.end();
                }
            }
            Ok(_) => {}
            // After a signal the report is not shown.
            Err(error) if cancellation.is_cancelled() => say(&printable(&error.what)),
            Err(_) => {}
        }
        Ok((gated, finished))
    };
    let gated = interruption.unless_impatient(work, &runner.progress).await;
    let written = runner.outputs.into_inner().file.finish();
    let spent = turns.billed();
    let left = left.get();
    let broken = |error| GateFailure { error, spent, left };
    written.map_err(broken)?;
    let (mut gated, finished) = gated.map_err(broken)?;
    gated.left = left;
    gated.notes.extend(pull_request.note());
    if let Some(error) = history.take_failure() {
        let error = error.during("keeping what was found in the history");
        gated.failures.push((None, error));
    }
    if let Err(error) = finished {
        gated.failures.push((
            None,
            AppError::from(error).during("stopping what was started"),
        ));
    }
    Ok(gated)
}

/// Whether the report has every bill of the run; one that is not shown has none.
async fn bills_of(
    request: &RunRequest<'_>,
    history: &RunHistory,
    end: &BackendEnd,
    runner: &Runner<'_>,
    gated: &mut GateOutcome,
) -> BillingState {
    let is_resumed = runner.gate_run.is_resumed;
    let has_run = end.has_run || is_resumed;
    if !has_run || request.part != RunPart::Whole {
        return BillingState::Shown;
    }
    if runner.cancellation.is_cancelled() || end.has_stopped_jobs {
        return BillingState::Open;
    }
    let lacks_some = end.has_unmeasured || runner.outputs.borrow().held.lacks_some;
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

/// The limit of the pull request with what its earlier checks cost.
async fn pull_request_limit(
    project: &Project,
    affected: &[AffectedJob<'_>],
    request: &RunRequest<'_>,
    history: &RunHistory,
) -> Result<PullRequestLimit, AppError> {
    let limit = request.max_spend_per_pull_request;
    // What was detached is in the history when it is collected, which is later than the next start.
    if limit.is_some() && request.part != RunPart::Whole {
        return Err(AppError::usage(
            "--max-spend-per-pull-request does not go with detached canaries: what they cost is known only when they are collected",
        )
        .help("leave it out, and limit each run with --max-spend; or let `run` wait for its canaries"));
    }
    // Where nothing is to run nothing is asked.
    let limit = limit.filter(|_| !affected.is_empty());
    PullRequestLimit::open(limit, project, &request.origin, history).await
}

/// A limit in dollars holds nothing back where there is no price.
fn warn_of_no_price(project: &Project, affected: &[AffectedJob<'_>], request: &RunRequest<'_>) {
    let is_unpriced = |job: &&Job| {
        let offer = project.offer(&job.instance);
        offer.unpriced().is_some()
    };
    let option = match (request.max_spend, request.max_spend_per_pull_request) {
        (Some(_), _) => "--max-spend",
        (None, Some(_)) => "--max-spend-per-pull-request",
        (None, None) => return,
    };
    if project.traits().needs_price {
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

/// Checks the jobs, each at its turn; what comes of them stands in the spec's order. A job that cannot be checked does not
/// prevent the others.
async fn gate_all<'a>(
    all: &'a [AffectedJob<'a>],
    request: &RunRequest<'_>,
    history: &'a RunHistory,
    pull_request: &PullRequestLimit,
    runner: &'a Runner<'a>,
    turns: &mut Turns,
) -> GateOutcome {
    let check = |place: usize, turn: Turn| async move {
        let (affected, account) = (&all[place], &turn.account);
        let gated = job_gate::gate(
            place,
            affected,
            request,
            history,
            account,
            pull_request,
            runner,
        );
        (place, gated.await, turn)
    };
    let mut under_way = FuturesUnordered::new();
    let mut ended = BTreeMap::new();
    let mut waiting = None;
    loop {
        // After a signal no further job is begun.
        while let Some(affected) = all.get(turns.begun())
            && !runner.cancellation.is_cancelled()
        {
            let (place, job) = (turns.begun(), affected.job);
            // What was detached is paid already: no limit keeps it from being read.
            let limit = match request.part {
                RunPart::Collect => None,
                RunPart::Whole | RunPart::Detach => Some(job.canary.spend_limit),
            };
            let Some(turn) = turns.begin(limit) else {
                let is_new = waiting.replace(place) != Some(place);
                if is_new && runner.project.traits().is_remote {
                    runner.say_of(
                        job,
                        "waiting for another job: --max-spend has too little left for its spend_limit",
                    );
                }
                break;
            };
            under_way.push(check(place, turn));
        }
        let Some((place, gated, turn)) = under_way.next().await else {
            break;
        };
        turns.end(turn);
        let gated = gated.map_err(|error| error.without(&runner.secrets));
        if let Err(error) = &gated {
            runner.outputs.borrow_mut().held.lacks_some = true;
            if error.is_transient() {
                let said = format!("× {}", error.in_a_line());
                runner.say_of(all[place].job, &said);
            }
        }
        ended.insert(place, gated);
    }
    let mut outcome = GateOutcome {
        jobs: Vec::new(),
        failures: Vec::new(),
        detached: BTreeSet::new(),
        left: Leftovers::Unknown,
        notes: Vec::new(),
    };
    for (place, gated) in ended {
        let affected = &all[place];
        let named = |error: AppError| (Some(affected.job.name.clone()), error);
        match gated {
            Ok(GatedJob {
                report,
                failure,
                detached,
            }) => {
                outcome.jobs.push(report);
                let failure = failure.map(|error| named(error.without(&runner.secrets)));
                outcome.failures.extend(failure);
                outcome.detached.extend(detached);
            }
            // A transient failure is the job's outcome.
            Err(error) if error.is_transient() => {
                outcome.jobs.push(whole_report::unknown_report(
                    affected.job,
                    &affected.by,
                    &error.reason(),
                    Vec::new(),
                ));
            }
            Err(error) => outcome.failures.push(named(error)),
        }
    }
    outcome
}
