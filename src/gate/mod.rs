//! The gate: for each affected job plan -> canaries -> forecast -> verdict, and everything it started ended.

pub(crate) mod backend;
pub(crate) mod design_loop;
pub(crate) mod gate_run;
pub(crate) mod job_gate;
pub(crate) mod job_keys;
pub(crate) mod open_history;
pub(crate) mod run_history;
pub(crate) mod runner;
pub(crate) mod store;

use std::cell::Cell;
use std::path::Path;

use crate::assess::judge;
use crate::backend::Cancellation;
use crate::backend::sagemaker::ReusePolicy;
use crate::change::AffectedJob;
use crate::cli::Format;
use crate::commands::actuals::LAST_REPORT;
use crate::console::files::{self, Outputs};
use crate::console::progress::Progress;
use crate::console::signals::Interruption;
use crate::console::{AppError, Loudness, printable, say};
use crate::exit::Strictness;
use crate::gate::backend::AnyBackend;
use crate::gate::gate_run::GateRun;
use crate::gate::run_history::RunHistory;
use crate::gate::runner::{Reuse, Runner};
use crate::gate::store::{OwnFile, Store};
use crate::plan::{Alternatives, PlanError};
use crate::report::{self, JobReport, Report};
use crate::units::Usd;
use crate::workspace::base_commit::BaseCommit;
use crate::workspace::checkout::Checkout;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;

/// What is asked of the gate.
pub(crate) struct GateRequest<'a> {
    pub(crate) affected: &'a [AffectedJob<'a>],
    pub(crate) alternatives: Alternatives,
    /// Whether earlier runs' canaries and training jobs may stand for those of this one.
    pub(crate) reuse: Reuse,
    /// Whose run this is to the history.
    pub(crate) origin: RunOrigin,
    /// The commit to compare with; `None` where there is none.
    pub(crate) base: Option<BaseCommit>,
    /// A file that measurements are kept in beside the gate's own.
    pub(crate) measurements: Option<&'a Path>,
    /// What a local canary may see of the caller's environment.
    pub(crate) pass_env: &'a [String],
}

/// What it found.
pub(crate) struct GateOutcome {
    jobs: Vec<JobReport>,
    /// What a person must mend, with the job that it kept from being checked; `None`: the gate itself.
    failures: Vec<(Option<String>, AppError)>,
    pub(crate) left: Left,
}

/// What may still run, and cost, when the gate has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// Not everything could be stopped, or there was no time to see to it.
    Perhaps,
}

/// Why it ended without an answer.
pub(crate) struct GateFailure {
    pub(crate) error: AppError,
    /// What its canaries cost until then; `None` where none has ended, or without a price.
    pub(crate) spent: Option<Usd>,
    pub(crate) left: Left,
}

impl From<AppError> for GateFailure {
    /// Before the first canary.
    fn from(error: AppError) -> Self {
        Self {
            error,
            spent: None,
            left: Left::Nothing,
        }
    }
}

impl From<GateFailure> for AppError {
    fn from(broken: GateFailure) -> Self {
        broken.error
    }
}

/// Checks every affected job. Whatever it started has ended when this returns, unless a second signal came.
pub(crate) async fn run(
    project: &Project,
    request: &GateRequest<'_>,
    interruption: Interruption,
    loudness: Loudness,
) -> Result<GateOutcome, GateFailure> {
    let gate_run = GateRun::begin(project)?;
    let history = RunHistory::open(project, &request.origin).await?;
    let tags = gate_run.tags(match request.reuse {
        Reuse::Young => ReusePolicy::Young,
        Reuse::Never => ReusePolicy::Own,
    });
    let backend = AnyBackend::of(project, request.pass_env, tags).await?;
    let mut store = Store::open(project, OwnFile::Canaries, request.measurements)?;
    files::check_target(&own_report(project), &project.root)?;
    project.warn(loudness);

    let cancellation = interruption.cancellation.clone();
    let progress = Progress::new(loudness);
    let mut runner = Runner {
        backend: &backend,
        store: &mut store,
        progress: &progress,
        cancellation: &cancellation,
        records: None,
    };
    // After a second signal none of this comes to its end, and the next start finds what is left.
    let left = Cell::new(Left::Perhaps);
    let work = async {
        let gated = gate_all(project, request, &history, &mut runner).await;
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
    let broken = |error| GateFailure { error, spent, left };
    written.map_err(broken)?;
    let (mut gated, finished) = gated.map_err(broken)?;
    gated.left = left;
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

/// Where the last report is kept.
pub(crate) fn own_report(project: &Project) -> std::path::PathBuf {
    project.state_folder().join(LAST_REPORT)
}

impl GateOutcome {
    /// The report over all jobs, and the command's own error: the last of the failures, after the others were printed.
    pub(crate) fn report(
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
        let troubles = self.failures.iter().map(|(_, error)| error.code());
        report.exit_code = report::exit_code(&report.jobs, troubles, strictness);
        (report, one_error(self.failures))
    }
}

/// Publishes what a command found and keeps it; gives back the exit code, or the command's own error with it. Whoever reads
/// standard output has the report even if a file of it cannot be written.
pub(crate) fn tell(
    (report, failed): (Report, Option<AppError>),
    project: &Project,
    format: Format,
    outputs: &Outputs,
) -> Result<u8, AppError> {
    let published = crate::commands::report::publish(&report, format, outputs);
    let written = published.and(keep(&report, project));
    let Some(error) = failed else {
        return written.map(|()| report.exit_code);
    };
    // Two troubles are both said; the job's is the command's own.
    if let Err(unwritten) = written {
        say(unwritten.render(false).trim_end());
    }
    Err(error.ending_with(report.exit_code))
}

/// Keeps a report that has something to say beside the spec, for `actuals` and for who looks later.
pub(crate) fn keep(report: &Report, project: &Project) -> Result<(), AppError> {
    if report.jobs.is_empty() {
        return Ok(());
    }
    let json = crate::report::to_json(report);
    files::write_new(&own_report(project), json.as_bytes(), &project.root)
}

/// Each affected job's part of the report. A job that cannot be checked does not keep the others from it.
async fn gate_all<'a>(
    project: &'a Project,
    request: &GateRequest<'a>,
    history: &'a RunHistory,
    runner: &mut Runner<'a, AnyBackend>,
) -> Result<GateOutcome, AppError> {
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for affected in request.affected {
        match job_gate::gate(project, affected, request, history, runner).await {
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
    Ok(GateOutcome {
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

/// Does what may be dropped half-way, unless a signal comes; that ends the run in words of its own.
pub(crate) async fn unless_cancelled<T>(
    work: impl Future<Output = T>,
    cancellation: &Cancellation,
) -> Result<T, AppError> {
    tokio::select! {
        done = work => Ok(done),
        () = cancellation.cancelled() => Err(AppError::failed("interrupted before the first canary")),
    }
}

/// Data that cannot be sampled is for a person to mend.
pub(crate) fn unplannable(error: &PlanError) -> AppError {
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
pub(crate) fn assemble(
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
