//! The gate itself: one straight function over the affected jobs.

use std::cell::{Cell, RefCell};

use futures_util::future::join_all;

use crate::assess::whole_report;
use crate::backend::sagemaker::ReusePolicy;
use crate::backend::{Backend, BackendEnd, RunPart};
use crate::console::files;
use crate::console::progress::Progress;
use crate::console::signals::Interruption;
use crate::console::{AppError, Loudness, printable, say};
use crate::gate::account::{self, Accounted, BillingState};
use crate::gate::failure_logs::FailureLogs;
use crate::gate::gate_run::GateRun;
use crate::gate::machine_room::MachineRoom;
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::outcome::{GateFailure, GateOutcome, Left};
use crate::gate::pull_request_limit::PullRequestLimit;
use crate::gate::request::{GateRequest, JobMoney, Reuse};
use crate::gate::run_history::RunHistory;
use crate::gate::runner::Runner;
use crate::gate::turns::{JobCompany, Turns};
use crate::gate::{backend, job_gate, pass_env};
use crate::instance::tables;
use crate::plan::KeptMachines;
use crate::spec::Job;
use crate::units::Usd;
use crate::workspace::project::Project;

/// Checks every affected job. Everything it started has ended when it returns, unless a second signal came.
pub(crate) async fn run(
    project: &Project,
    request: &GateRequest<'_>,
    interruption: Interruption,
    loudness: Loudness,
) -> Result<GateOutcome, GateFailure> {
    let gate_run = GateRun::begin(project, request.part)?;
    let run_id = gate_run.id.clone();
    let history = RunHistory::open(project, &request.origin, Some(&run_id)).await?;
    let pull_request = pull_request_limit(project, request, &history).await?;
    let reuse = match request.reuse {
        Reuse::Young => ReusePolicy::Young,
        Reuse::Never => ReusePolicy::Own,
    };
    let tags = gate_run.tags(reuse, request.part);
    let backend = backend::backend_of(project, request.pass_env, tags).await?;
    let secrets = pass_env::secrets(request.pass_env);
    let file = RefCell::new(MeasurementsFile::open(request.measurements, &project.root)?);
    files::make_state_folder(&project.state_folder())?;
    project.warn(loudness);

    warn_of_no_price(project, request);

    let cancellation = interruption.cancellation.clone();
    let progress = Progress::new(loudness);
    let room = MachineRoom::default();
    let logs = FailureLogs::of(project);
    let held = Accounted::default();
    let runner = Runner {
        run_id: &run_id,
        is_resumed: gate_run.is_resumed,
        held: &held,
        file: &file,
        progress: &progress,
        cancellation: &cancellation,
        secrets: &secrets,
        jobs: request.affected.len(),
        logs: &logs,
        room: project.traits().runs_here.then_some(&room),
    };
    let turns = Turns::new(max_spend(request), pull_request.account());
    // A second signal drops this work; the next start finds what is left.
    let left = Cell::new(Left::Perhaps);
    let work = async {
        let gated = gate_all(
            project,
            request,
            &history,
            &*backend,
            &pull_request,
            &runner,
            &turns,
        );
        let mut gated = gated.await;
        let finished = backend.finish(&cancellation).await;
        let bills = match &finished {
            Ok(end) => {
                let known = (&history, &*backend);
                bills_of(project, request, known, end, &runner, &mut gated).await
            }
            Err(_) => BillingState::Open,
        };
        match &finished {
            Ok(end) => {
                if let Some(stopped) = &end.stopped {
                    say(stopped);
                }
                // Else the next start, or a sweep, ends what is kept.
                if !end.may_keep_machines {
                    left.set(Left::Nothing);
                    if bills == BillingState::Shown {
                        gate_run.end();
                    }
                }
            }
            // After a signal the report is not shown.
            Err(error) if cancellation.is_cancelled() => say(&printable(&error.what)),
            Err(_) => {}
        }
        gated.map(|gated| (gated, finished))
    };
    let gated = interruption.unless_impatient(work, &progress).await;
    let written = file.into_inner().finish();
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
    project: &Project,
    request: &GateRequest<'_>,
    (history, backend): (&RunHistory, &dyn Backend),
    end: &BackendEnd,
    runner: &Runner<'_>,
    gated: &mut Result<GateOutcome, AppError>,
) -> BillingState {
    let has_run = end.has_run || runner.is_resumed;
    if !has_run || request.part != RunPart::Whole {
        return BillingState::Shown;
    }
    let Ok(gated) = gated else {
        return BillingState::Open;
    };
    // What was just stopped is billed for a little longer.
    if runner.cancellation.is_cancelled() || end.stopped.is_some() {
        return BillingState::Open;
    }
    let lacks_some = end.has_unmeasured || runner.held.lacks_some.get();
    if !runner.is_resumed && !lacks_some {
        return BillingState::Shown;
    }
    let completed = account::complete(gated, runner.held, project, backend, history).await;
    completed.unwrap_or_else(|error| {
        say(&format!(
            "warning: what earlier starts of this run were billed is not known: {}; the next start looks again",
            error.in_a_line()
        ));
        BillingState::Open
    })
}

/// The limit of the run. What was detached is paid already: no limit keeps it from being read.
fn max_spend(request: &GateRequest) -> Option<Usd> {
    request
        .max_spend
        .filter(|_| request.part != RunPart::Collect)
}

/// The limit of the pull request with what its earlier checks cost.
async fn pull_request_limit(
    project: &Project,
    request: &GateRequest<'_>,
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
    let limit = limit.filter(|_| !request.affected.is_empty());
    PullRequestLimit::open(limit, project, &request.origin, history).await
}

/// A limit in dollars holds nothing back where there is no price.
fn warn_of_no_price(project: &Project, request: &GateRequest<'_>) {
    let is_unpriced = |job: &&Job| {
        let offer = project.offer(&job.instance, &tables::capacity);
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
    let jobs = request.affected.iter().map(|affected| affected.job);
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
    project: &'a Project,
    request: &GateRequest<'a>,
    history: &'a RunHistory,
    backend: &'a dyn Backend,
    pull_request: &PullRequestLimit,
    runner: &Runner<'a>,
    turns: &Turns,
) -> Result<GateOutcome, AppError> {
    let checks = request
        .affected
        .iter()
        .enumerate()
        .map(|(place, affected)| async move {
            let waits = || {
                runner.say_of(
                    affected.job,
                    "waiting for another job: --max-spend has too little left for its spend_limit",
                );
            };
            let company = JobCompany::of(project.traits(), affected.job);
            // What was detached is paid already: no limit keeps it from being read.
            let limit = match request.part {
                RunPart::Collect => None,
                RunPart::Whole | RunPart::Detach => Some(affected.job.canary.spend_limit),
            };
            let turn = turns.begin(place, limit, company, waits).await;
            // After a signal no further job is begun.
            if runner.cancellation.is_cancelled() {
                turns.end(turn);
                return None;
            }
            let money = JobMoney {
                account: &turn.account,
                kept: &KeptMachines::default(),
                pull_request,
            };
            let gated = job_gate::gate(project, place, request, history, backend, money, runner);
            let gated = gated.await.map_err(|error| error.without(runner.secrets));
            runner
                .held
                .lacks_some
                .set(runner.held.lacks_some.get() || gated.is_err());
            turns.end(turn);
            if let Err(error) = &gated
                && error.is_transient()
            {
                runner.say_of(affected.job, &format!("× {}", error.in_a_line()));
            }
            Some((affected, gated))
        });
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for (affected, gated) in join_all(checks).await.into_iter().flatten() {
        match gated {
            Ok((report, failure)) => {
                jobs.push(report);
                let named = |error: AppError| (Some(affected.job.name.clone()), error);
                failures.extend(failure.map(|error| named(error.without(runner.secrets))));
            }
            // A transient failure is the job's outcome.
            Err(error) if error.is_transient() => {
                let reason = error.reason();
                jobs.push(whole_report::unknown_report(
                    affected.job,
                    &affected.by,
                    &reason,
                    Vec::new(),
                ));
            }
            Err(error) => failures.push((Some(affected.job.name.clone()), error)),
        }
    }
    Ok(GateOutcome {
        jobs,
        failures,
        left: Left::Perhaps,
        notes: Vec::new(),
    })
}
