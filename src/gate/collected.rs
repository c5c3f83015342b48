//! `run --collect`: what a job's detached canaries gave. Nothing is started, and nothing is waited for.

use crate::assess::{unfinished, whole_report};
use crate::backend::{CanaryProgress, CanaryState};
use crate::canary::CanaryRun;
use crate::change::AffectedJob;
use crate::console::signals::unless_cancelled;
use crate::console::{AppError, AppResult};
use crate::gate::lab::{self, JobMeasurements, LabInput};
use crate::gate::{GateOutcome, detached};
use crate::grammar::{count, list};
use crate::instance::InstanceConfiguration;
use crate::measurement::{self, Measurement, Outcome};
use crate::plan::{self, NotMeasured, Plan, PlannedConfiguration, PlannedRuns};
use crate::verdict::Reason;

const START_THEM: &str = "start them with canary-gate run --detach at this commit, with this spec, and collect when they have ended; after seven days a canary is not collected any more";

/// Measures the canaries of a job that are there, on `instance` and on the alternatives. Where some on `instance` still run, or could
/// not be read, `Err` is the job's outcome, with an error that lets no such run pass.
///
/// # Errors
///
/// Where none is there on `instance`.
pub(crate) async fn collect(
    input: &LabInput<'_>,
    plan: &mut Plan,
) -> AppResult<Result<JobMeasurements, GateOutcome>> {
    let (affected, runner) = (input.affected, input.runner);
    detached::fix(input, plan);
    let found = match look_for(input, plan.own()).await {
        Err(error) if error.is_transient() => {
            let why = error.in_a_line();
            let why = format!("the canaries could not be looked for: {why}");
            return Ok(Err(not_read(affected, &why)));
        }
        found => found?,
    };
    if found.is_nothing() {
        return Err(AppError::failed(format!(
            "no canary is there to collect on {}; looked for {}",
            found.instance,
            list(&found.missing)
        ))
        .help(START_THEM)
        .during("collecting the canaries"));
    }
    if !found.running.is_empty() {
        let reason = Reason::new(found.some(&found.running, "still run"));
        // Not the code of an unknown outcome, which may be allowed to pass: nobody has looked yet.
        let error = AppError::failed(format!(
            "no verdict yet, for these canaries still run: {}",
            list(&found.running)
        ))
        .help("start `canary-gate run --collect` again later; each ends at its time limit");
        let reason = reason.advising("collect again when they have ended");
        return Ok(Err(not_yet(affected, &reason, error)));
    }
    let missing = found.missing();
    plan.all[0].runs = Ok(PlannedRuns::Fixed(found.over.clone()));
    for alternative in plan.all[1..].iter_mut().filter(|one| one.runs.is_ok()) {
        alternative.runs = match look_for(input, alternative).await {
            Err(error) if runner.cancellation.is_cancelled() => return Err(error),
            Err(error) => {
                runner.say_of(input.job, &error.in_a_line());
                Err(NotMeasured::CouldNotRun)
            }
            Ok(found) if found.is_nothing() => Err(NotMeasured::NotStarted),
            Ok(found) if !found.running.is_empty() => Err(NotMeasured::StillRuns),
            Ok(found) => {
                plan.notes.extend(found.missing());
                Ok(PlannedRuns::Fixed(found.over))
            }
        };
    }
    let mut collected = lab::measure(input, plan).await?;
    if let (None, Some(why)) = (&collected.failure, &collected.broke_off) {
        let is_unread = |run: &&CanaryRun| {
            let asked = Measurement::of_run(run, runner.project.spec.backend, Outcome::Stopped);
            !(collected.measurements.iter()).any(|one| one.is_same_run(&asked))
        };
        let unread = found.over.iter().filter(is_unread);
        let unread: Vec<String> = unread.map(CanaryRun::label).collect();
        let some = found.some(&unread, "could not be read");
        let (unread, why) = (list(&unread), &why.why);
        let why = format!("{some}: {unread} ({why})");
        return Ok(Err(not_read(affected, &why)));
    }
    let measured = &collected.measurements;
    let has_cause =
        unfinished::cause(measured, None).is_some() || measured.iter().any(Measurement::has_failed);
    let has_enough = plan::has_enough(&measurement::on(measured, &plan.own().base));
    match missing {
        Some(missing) if !has_enough && !has_cause && collected.broke_off.is_none() => {
            collected.broke_off = Some(Reason::new(missing).advising(START_THEM));
        }
        Some(missing) => plan.notes.push(format!(
            "{missing}; canary-gate run --detach starts what is missing"
        )),
        None => {}
    }
    Ok(Ok(collected))
}

fn not_read(affected: &AffectedJob<'_>, why: &str) -> GateOutcome {
    // Not the code of an unknown outcome, which may be allowed to pass: what was started has a verdict, which is not known yet.
    let error = AppError::failed(format!("no verdict yet: {why}"))
        .help("start `canary-gate run --collect` again");
    not_yet(affected, &Reason::new(why).advising("collect again"), error)
}

fn not_yet(affected: &AffectedJob<'_>, reason: &Reason, error: AppError) -> GateOutcome {
    let report = whole_report::unknown_report(affected.job, &affected.by, reason, Vec::new());
    GateOutcome::of(report, Some(error.during("collecting the canaries")))
}

/// What there is of the canaries of one configuration, in the history or in the backend.
async fn look_for(input: &LabInput<'_>, one: &PlannedConfiguration) -> AppResult<FoundCanaries> {
    let runs = match &one.runs {
        Ok(PlannedRuns::Fixed(runs)) => runs.as_slice(),
        Ok(PlannedRuns::Ladder(_)) | Err(_) => &[],
    };
    let runner = input.runner;
    let report = |progress: CanaryProgress<'_>| {
        if let CanaryProgress::Fact(text) = progress {
            let line = runner.line_of(input.job, text);
            runner.progress.mention(&line);
        }
    };
    let mut found = FoundCanaries {
        instance: one.runs_on().clone(),
        canaries: runs.len(),
        over: Vec::new(),
        running: Vec::new(),
        missing: Vec::new(),
    };
    for run in runs {
        let looking = async {
            if let Some(records) = input.records
                && records.found(run).await?.is_some()
            {
                return Ok(None);
            }
            let state = input.ready.look(run, &report).await?;
            if let (Some(records), CanaryState::Over { training_job }) = (input.records, &state)
                && !records.may_measure(run, training_job).await?
            {
                let training_job = format!("{training_job}, measured by an earlier run");
                return Ok(Some(CanaryState::Missing { training_job }));
            }
            Ok::<_, AppError>(Some(state))
        };
        let state = unless_cancelled(looking, &runner.cancellation).await??;
        let named = |name: String| format!("{} ({name})", run.label());
        match state {
            Some(CanaryState::Missing { training_job }) => found.missing.push(named(training_job)),
            Some(CanaryState::Running { training_job, .. }) => {
                found.running.push(named(training_job));
            }
            None | Some(CanaryState::Over { .. }) => found.over.push(run.clone()),
            Some(_) => {}
        }
    }
    Ok(found)
}

/// The canaries of one configuration, and what there is of them.
struct FoundCanaries {
    instance: InstanceConfiguration,
    canaries: usize,
    over: Vec<CanaryRun>,
    /// Each with its training job.
    running: Vec<String>,
    missing: Vec<String>,
}

impl FoundCanaries {
    /// A row by the canaries of another configuration has none of its own.
    fn is_nothing(&self) -> bool {
        self.canaries > 0 && self.missing.len() == self.canaries
    }

    /// Which are not there; `None` where all are.
    fn missing(&self) -> Option<String> {
        let are = if self.missing.len() == 1 { "is" } else { "are" };
        let some = self.some(&self.missing, &format!("{are} not there"));
        (!self.missing.is_empty()).then(|| format!("{some}: {}", list(&self.missing)))
    }

    /// `2 of 3 canaries on ml.m5.xlarge still run`
    fn some(&self, named: &[String], what: &str) -> String {
        let all = count(self.canaries, "canary");
        format!("{} of {all} on {} {what}", named.len(), self.instance)
    }
}
