//! One job's way through the gate: its data, its plan, its canaries, its part of the report, and what is kept of it.

use std::cell::RefCell;

use crate::assess::base_result::BaseResult;
use crate::assess::drift_check::{self, StoredCheck, ThisCheck};
use crate::assess::input::JobInput;
use crate::assess::judge;
use crate::assess::whole_report;
use crate::backend::Backend;
use crate::canary::Dataset;
use crate::change::AffectedJob;
use crate::console::AppError;
use crate::console::signals::unless_cancelled;
use crate::forecast::scale_out::DataLayout;
use crate::gate::backend::AnyBackend;
use crate::gate::design_loop::{self, JobMeasurements};
use crate::gate::job_keys::JobKeys;
use crate::gate::request::{GateRequest, Purpose};
use crate::gate::run_history::check_of;
use crate::gate::run_history::{RecordedForecast, RunHistory};
use crate::gate::runner::{Records, Runner};
use crate::plan::{self, Ledger, Plan, PlanError};
use crate::report::{InstanceForecast, JobReport};
use crate::spec::{BackendKind, BudgetLine, Job, LineKind};
use crate::verdict::Verdict;
use crate::workspace::project::Project;

/// One job from its data to its part of the report, and what ended it before its time if a person must mend that.
pub(crate) async fn gate<'a>(
    project: &'a Project,
    affected: &AffectedJob<'a>,
    request: &GateRequest<'a>,
    history: &'a RunHistory,
    ledger: &RefCell<Ledger>,
    runner: &mut Runner<'a, AnyBackend>,
) -> Result<(JobReport, Option<AppError>), AppError> {
    let job = affected.job;
    let looking = look(project, affected, request, history, runner.backend);
    let (dataset, checks) = unless_cancelled(looking, runner.cancellation).await??;
    let price_of = |instance: &_| project.price(instance);
    let mut plan = match plan::plan(job, &dataset, &price_of, request.alternatives) {
        Ok(plan) => plan,
        Err(PlanError::Unknown(reason)) => {
            let notes = project.ignored_not_yet(job);
            let report = whole_report::unknown_report(job, &affected.by, &reason, notes);
            return Ok((report, None));
        }
        Err(error) => return Err(error.into()),
    };
    let preparing = prepare(
        project,
        affected,
        request,
        history,
        runner.backend,
        &dataset,
        &mut plan,
    );
    let (keys, base) = unless_cancelled(preparing, runner.cancellation).await??;
    // A recording hands its runs out again and again; nothing is measured.
    runner.records = (project.spec.backend != BackendKind::Replay).then(|| Records {
        project,
        job,
        history,
        keys: keys.clone(),
        reuse: request.reuse,
    });
    let mut measured = design_loop::measure(
        project,
        &mut plan,
        job,
        &dataset,
        request.purpose,
        ledger,
        runner,
    )
    .await;
    let failure = measured.failure.take();
    let failure = failure.map(|error| error.during("running the canaries"));
    if measured.measurements.is_empty()
        && let Some(error) = failure
    {
        return Err(error);
    }
    let mut notes = runner.backend.notes(job);
    notes.extend(plan.notes.iter().cloned());
    notes.extend(project.ignored_not_yet(job));
    notes.extend(no_base_yet(job, request, &keys, base.as_ref()));
    let mut report = judge::job_report(&JobInput {
        name: &job.name,
        instance: &job.instance,
        budget: &job.budget,
        affected_by: &affected.by,
        alternatives: plan.outcomes(),
        measurements: &measured.measurements,
        worst_case: plan.total_worst_case(),
        capacity_of: &|kind| runner.backend.capacity(kind),
        price_of: &price_of,
        layout: DataLayout::of(job, runner.backend.knows_bytes(job).then_some(&dataset)),
        base: base.as_ref(),
        is_allowed: &project.spec.allowed(),
        notes,
    });
    settle_unknown(&mut report, measured, failure.as_ref());
    // What a signal cut short is no forecast.
    let kept = match runner.cancellation.is_cancelled() {
        true => Ok(()),
        false => keep(affected, request, history, &keys, &checks, &mut report).await,
    };
    let kept = kept.map_err(|error| error.during("reading the checks before"));
    Ok((report, failure.or(kept.err())))
}

/// What may be read, what there is of the job already, and its data; for a check for drift also the checks before it, oldest
/// first. Spends nothing.
async fn look(
    project: &Project,
    affected: &AffectedJob<'_>,
    request: &GateRequest<'_>,
    history: &RunHistory,
    backend: &AnyBackend,
) -> Result<(Dataset, Vec<RecordedForecast>), AppError> {
    let job = affected.job;
    let ready = backend.preflight(project, job).await;
    ready.map_err(|error| AppError::from(error).during("checking access, quota and prices"))?;
    let known = history.look_up(&job.name).await;
    known.map_err(|error| error.during("reading the history"))?;
    let writable = history.check_writable(&job.name);
    writable.map_err(|error| error.during("opening the history"))?;
    let checks = match request.purpose {
        Purpose::Drift => history.checks(&job.name).await,
        Purpose::Budget => Ok(Vec::new()),
    };
    let checks = checks.map_err(|error| error.during("reading the checks before"))?;
    let listed = backend.list(job).await;
    let listed = listed.map_err(|error| AppError::from(error).during("listing the data"))?;
    Ok((listed, checks))
}

/// Makes the job ready to run, and finds out what it is known by and what it is compared with.
async fn prepare(
    project: &Project,
    affected: &AffectedJob<'_>,
    request: &GateRequest<'_>,
    history: &RunHistory,
    backend: &AnyBackend,
    dataset: &Dataset,
    plan: &mut Plan,
) -> Result<(JobKeys, Option<BaseResult>), AppError> {
    let job = affected.job;
    let prepared = backend.prepare(project, job, dataset, plan).await;
    prepared.map_err(|error| error.during("preparing the canaries"))?;
    let keys = JobKeys::of(project, backend, job, dataset, request.pass_env).await;
    let keys = keys.map_err(|error| error.during("reading code and data"))?;
    let base = history.base(job, &keys, request.base.as_ref()).await;
    let base = base.map_err(|error| error.during("looking for what to compare with"))?;
    Ok((keys, base))
}

/// That there is nothing to compare with, and why.
fn no_base_yet(
    job: &Job,
    request: &GateRequest<'_>,
    keys: &JobKeys,
    base: Option<&BaseResult>,
) -> Option<String> {
    if base.is_some() || request.purpose == Purpose::Drift {
        return None;
    }
    // What has not changed has nothing to be compared with.
    let theirs = request
        .base
        .as_ref()
        .and_then(|commit| commit.code.get(&job.name));
    if theirs.is_some() && theirs == keys.code.as_ref() {
        return None;
    }
    if let Some(commit) = &request.base
        && let Some(why) = commit.unknown.get(&job.name)
    {
        return Some(format!(
            "There is no base to compare with: the code of commit {:.7} of {branch} cannot be known ({why}), and the history has no push or schedule run of {branch} that this one may read.",
            commit.sha,
            branch = commit.branch(),
        ));
    }
    if let Some(commit) = &request.base {
        return Some(format!(
            "There is no base yet to compare with: the history has no run of commit {:.7} of {branch} that this one may read, and none of a push or a schedule on {branch}.",
            commit.sha,
            branch = commit.branch(),
        ));
    }
    let is_increase =
        |line: &BudgetLine| matches!(line.kind, LineKind::CostIncrease | LineKind::TimeIncrease);
    let has_increase = job.budget.lines.iter().any(is_increase);
    has_increase.then(|| {
        "There is no base to compare with, so increases are not judged: they are on a pull request, and with `--base REF`.".to_owned()
    })
}

/// Where canaries were broken off, what they were to tell cannot be told, also without a written budget.
fn settle_unknown(report: &mut JobReport, measured: JobMeasurements, failure: Option<&AppError>) {
    let is_now = |report: &mut JobReport, verdict| {
        report.verdict = verdict;
        if let Some(instance) = report.forecasts.first_mut() {
            instance.verdict = verdict;
        }
    };
    if let Some(reason) = measured.broke_off
        && matches!(report.verdict, Verdict::NotJudged | Verdict::Unknown)
    {
        is_now(report, Verdict::Unknown);
        report.notes.retain(|note| *note != reason);
        report.reason = reason;
    }
    // That a person must mend something is the command's own error; the job is not judged by it.
    if failure.is_some() && report.verdict == Verdict::Unknown {
        is_now(report, Verdict::NotJudged);
    }
}

/// Keeps what was found, for those who compare with it; a check for drift is held against the checks before it first. What
/// was found is kept also where it cannot be told whether it is a new baseline.
async fn keep(
    affected: &AffectedJob<'_>,
    request: &GateRequest<'_>,
    history: &RunHistory,
    keys: &JobKeys,
    checks: &[RecordedForecast],
    report: &mut JobReport,
) -> Result<(), AppError> {
    // A check that broke off, or whose training failed, says nothing that others could be held against.
    let has_time = |row: &InstanceForecast| row.estimates.time_seconds.is_some();
    let is_whole = !matches!(report.verdict, Verdict::Failed | Verdict::Unknown)
        && report.forecasts.first().is_some_and(has_time);
    let is_baseline = match request.purpose {
        Purpose::Drift => {
            let earlier: Vec<StoredCheck> = checks.iter().map(check_of).collect();
            let this = ThisCheck {
                at: jiff::Timestamp::now(),
                commit: history.commit(),
                code_key: keys.code.map(|key| key.to_string()),
                machine: keys.machine.clone(),
            };
            let is_first =
                drift_check::hold_against_earlier(affected.job, &earlier, &this, report, is_whole);
            Ok(is_first)
        }
        Purpose::Budget if is_whole && request.origin.may_set_the_baseline() => {
            history.is_another_training(report, keys).await
        }
        Purpose::Budget => Ok(false),
    };
    let known = *is_baseline.as_ref().unwrap_or(&false);
    history.keep_forecast(report, keys, known).await;
    is_baseline.map(|_| ())
}
