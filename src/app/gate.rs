//! The gate: for each affected job plan -> canaries -> forecast -> verdict, and everything it started ended.

use std::cell::Cell;
use std::path::Path;

use crate::backend::sagemaker::ReusePolicy;
use crate::backend::{Backend, Cancellation};
use crate::change::AffectedJob;
use crate::exit::{self, Strictness};
use crate::forecast::scale_out::DataLayout;
use crate::plan::{self, Alternatives, PlanError};
use crate::report::{JobReport, Report};
use crate::units::Usd;
use crate::verdict::Verdict;

use super::actuals::LAST_REPORT;
use super::backend::AnyBackend;
use super::canaries::Runner;
use super::checkout::Checkout;
use super::files;
use super::gate_run::GateRun;
use super::judge::{self, JobInput};
use super::progress::Progress;
use super::project::Project;
use super::signals::Interruption;
use super::store::{OwnFile, Store};
use super::{AppError, Loudness, measure, printable, say};

/// What is asked of the gate.
pub(super) struct Asked<'a> {
    pub(super) affected: &'a [AffectedJob<'a>],
    pub(super) alternatives: Alternatives,
    pub(super) reuse: ReusePolicy,
    /// A file that measurements are kept in beside the gate's own.
    pub(super) measurements: Option<&'a Path>,
    /// What a local canary may see of the caller's environment.
    pub(super) pass_env: &'a [String],
}

/// What it found.
pub(super) struct Gated {
    jobs: Vec<JobReport>,
    /// What a person must mend, with the job that it kept from being checked; `None`: the gate itself.
    failures: Vec<(Option<String>, AppError)>,
    pub(super) left: Left,
}

/// What may still run, and cost, when the gate has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// Not everything could be stopped, or there was no time to see to it.
    Perhaps,
}

/// Why it ended without an answer.
pub(super) struct Broken {
    pub(super) error: AppError,
    /// What its canaries cost until then; `None` where none has ended, or without a price.
    pub(super) spent: Option<Usd>,
    pub(super) left: Left,
}

impl From<AppError> for Broken {
    /// Before the first canary.
    fn from(error: AppError) -> Self {
        Self {
            error,
            spent: None,
            left: Left::Nothing,
        }
    }
}

impl From<Broken> for AppError {
    fn from(broken: Broken) -> Self {
        broken.error
    }
}

/// Checks every affected job. Whatever it started has ended when this returns, unless a second signal came.
pub(super) async fn run(
    project: &Project,
    asked: &Asked<'_>,
    interruption: Interruption,
    loudness: Loudness,
) -> Result<Gated, Broken> {
    let gate_run = GateRun::begin(project)?;
    let tags = gate_run.tags(asked.reuse);
    let backend = AnyBackend::of(project, asked.pass_env, tags).await?;
    let mut store = Store::open(project, OwnFile::Canaries, asked.measurements)?;
    files::check_target(&own_report(project), &project.root)?;
    project.warn(loudness);

    let cancellation = interruption.cancellation.clone();
    let progress = Progress::new(loudness);
    let mut runner = Runner {
        backend: &backend,
        store: &mut store,
        progress: &progress,
        cancellation: &cancellation,
    };
    // After a second signal none of this comes to its end, and the next start finds what is left.
    let left = Cell::new(Left::Perhaps);
    let work = async {
        let gated = gate_all(project, asked, &mut runner).await;
        let finished = backend.finish(&cancellation).await;
        match &finished {
            Ok(()) => {
                left.set(Left::Nothing);
                gate_run.end();
            }
            // After a signal nobody reads the report.
            Err(error) if cancellation.is_cancelled() => say(&printable(&error.what)),
            Err(_) => {}
        }
        gated.map(|gated| (gated, finished))
    };
    let gated = interruption.unless_impatient(work, &progress).await;
    let written = store.finish();
    let spent = store.spent();
    let left = left.get();
    let broken = |error| Broken { error, spent, left };
    written.map_err(broken)?;
    let (mut gated, finished) = gated.map_err(broken)?;
    gated.left = left;
    if let Err(error) = finished {
        gated.failures.push((
            None,
            AppError::from(error).during("stopping what was started"),
        ));
    }
    Ok(gated)
}

/// Where the last report is kept.
pub(super) fn own_report(project: &Project) -> std::path::PathBuf {
    project.state_folder().join(LAST_REPORT)
}

impl Gated {
    /// The report over all jobs, and the command's own error: the last of the failures, after the others were printed.
    pub(super) fn report(
        self,
        project: &Project,
        notes: Vec<String>,
        strictness: Strictness,
    ) -> (Report, Option<AppError>) {
        let mut report = assemble(project, self.jobs, notes, strictness);
        report.failures = self
            .failures
            .iter()
            .map(|(job, error)| error.failure(job.as_deref()))
            .collect();
        let verdicts = report.jobs.iter().map(|job| job.verdict);
        let troubles = self.failures.iter().map(|(_, error)| error.code());
        report.exit_code = exit::code_of_run(verdicts, troubles, strictness);
        (report, one_error(self.failures))
    }
}

/// Keeps a report that has something to say beside the spec, for `actuals` and for who looks later.
pub(super) fn keep(report: &Report, project: &Project) -> Result<(), AppError> {
    if report.jobs.is_empty() {
        return Ok(());
    }
    let json = crate::report::to_json(report);
    files::write_new(&own_report(project), json.as_bytes(), &project.root)
}

/// Each affected job's part of the report. A job that cannot be checked does not keep the others from it.
async fn gate_all(
    project: &Project,
    asked: &Asked<'_>,
    runner: &mut Runner<'_, AnyBackend>,
) -> Result<Gated, AppError> {
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for affected in asked.affected {
        match gate(project, affected, asked.alternatives, runner).await {
            Ok((report, failure)) => {
                jobs.push(report);
                failures.extend(failure.map(|error| (Some(affected.job.name.clone()), error)));
            }
            // Nobody can mend it today, so it is the job's outcome.
            Err(error) if error.is_passing() => {
                say(error.render(false).trim_end());
                let notes = project.ignored_not_yet(affected.job);
                let reason = error.in_a_line();
                jobs.push(judge::unknown_report(
                    affected.job,
                    &affected.by,
                    &reason,
                    notes,
                ));
            }
            Err(error) => failures.push((Some(affected.job.name.clone()), error)),
        }
        if runner.cancellation.is_cancelled() {
            break;
        }
    }
    Ok(Gated {
        jobs,
        failures,
        left: Left::Perhaps,
    })
}

/// The last of the failures as the command's own, after the others were printed.
fn one_error(failures: Vec<(Option<String>, AppError)>) -> Option<AppError> {
    let mut errors = failures
        .into_iter()
        .map(|(name, error)| match name {
            None => error,
            Some(name) => error.of_job(&name),
        })
        .collect::<Vec<_>>();
    let last = errors.pop();
    for error in errors {
        say(error.render(false).trim_end());
    }
    last
}

/// One job from its data to its part of the report, and what ended it before its time if a person must mend that.
async fn gate(
    project: &Project,
    affected: &AffectedJob<'_>,
    alternatives: Alternatives,
    runner: &mut Runner<'_, AnyBackend>,
) -> Result<(JobReport, Option<AppError>), AppError> {
    let job = affected.job;
    let looking = async {
        let ready = runner.backend.preflight(project, job).await;
        ready.map_err(|error| AppError::from(error).during("checking access, quota and prices"))?;
        let listed = runner.backend.list(job).await;
        listed.map_err(|error| AppError::from(error).during("listing the data"))
    };
    let dataset = unless_cancelled(looking, runner.cancellation).await??;
    let price_of = |instance: &_| project.price(instance);
    let mut plan = match plan::plan(job, &dataset, &price_of, alternatives) {
        Ok(plan) => plan,
        Err(PlanError::Unknown(reason)) => {
            let notes = project.ignored_not_yet(job);
            let report = judge::unknown_report(job, &affected.by, &reason, notes);
            return Ok((report, None));
        }
        Err(error) => return Err(unplannable(&error)),
    };
    let preparing = runner.backend.prepare(project, job, &dataset, &mut plan);
    unless_cancelled(preparing, runner.cancellation)
        .await?
        .map_err(|error| error.during("preparing the canaries"))?;
    let mut measured = measure::measure(project, &mut plan, job, &dataset, runner).await;
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
        is_allowed: &project.spec.allowed(),
        notes,
    });
    // Also without a written budget: what the canaries were to tell cannot be told.
    if let Some(reason) = measured.broke_off
        && matches!(report.verdict, Verdict::NotJudged | Verdict::Unknown)
    {
        report.verdict = Verdict::Unknown;
        if let Some(instance) = report.forecasts.first_mut() {
            instance.verdict = Verdict::Unknown;
        }
        report.notes.retain(|note| *note != reason);
        report.reason = reason;
    }
    // That a person must mend something is the command's own error; the job is not judged by it.
    if failure.is_some() && report.verdict == Verdict::Unknown {
        report.verdict = Verdict::NotJudged;
        if let Some(instance) = report.forecasts.first_mut() {
            instance.verdict = Verdict::NotJudged;
        }
    }
    Ok((report, failure))
}

/// Does what may be dropped half-way, unless a signal comes; that ends the run in words of its own.
async fn unless_cancelled<T>(
    work: impl Future<Output = T>,
    cancellation: &Cancellation,
) -> Result<T, AppError> {
    tokio::select! {
        done = work => Ok(done),
        () = cancellation.cancelled() => Err(AppError::failed("interrupted before the first canary")),
    }
}

/// Data that cannot be sampled is for a person to mend.
pub(super) fn unplannable(error: &PlanError) -> AppError {
    AppError::failed(error.to_string()).help(match error {
        PlanError::OneObject { .. } => {
            "split the data into partition files, 100 or more; a canary draws whole files"
        }
        PlanError::NothingSampled { .. } => {
            "take `sample: false` off the channel that holds the training data"
        }
        PlanError::Unknown(_) => "see the plan with `canary-gate plan`",
    })
}

/// The report over all jobs.
pub(super) fn assemble(
    project: &Project,
    mut jobs: Vec<JobReport>,
    notes: Vec<String>,
    strictness: Strictness,
) -> Report {
    for job in &mut jobs {
        let of_policy = project.policy.notes_of(&job.name);
        job.notes.extend(of_policy.iter().cloned());
    }
    let of_policy = project.policy.notes.iter().cloned();
    let notes = of_policy.chain(notes).collect();
    let mut report = judge::report(jobs, notes, strictness, jiff::Timestamp::now());
    report.policy = Some(project.policy.source());
    report.commit = project.checkout.as_ref().and_then(Checkout::commit);
    report.spec_hash = Some(project.spec.hash.clone());
    report
}
