//! `run --collect`: what a job's detached canaries gave. Nothing is started, and nothing is waited for.

use std::cell::Cell;

use crate::assess::unfinished;
use crate::backend::{CanaryProgress, CanaryState};
use crate::canary::CanaryRun;
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::console::signals::unless_cancelled;
use crate::gate::batch::{self, CanaryFate};
use crate::gate::detached::{self, canaries};
use crate::gate::lab::{JobMeasurements, LabInput};
use crate::gate::runner::{Runner, RunningConfiguration};
use crate::grammar::list;
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::plan::{self, NotMeasured, Plan, PlannedConfiguration};
use crate::verdict::Reason;

const START_THEM: &str = "start them with canary-gate run --detach at this commit, with this spec, and collect when they have ended; after seven days a canary is not collected any more";

/// What could be collected.
pub(crate) enum Gathered {
    Measured(JobMeasurements),
    /// Canaries on `instance` still run, or could not be read. The job's reason, and the error that lets no such run pass.
    NotYet {
        reason: Reason,
        error: AppError,
    },
}

/// Measures the canaries of a job that are there, on `instance` and on the alternatives.
///
/// # Errors
///
/// Where none is there on `instance`.
pub(crate) async fn collect(
    input: &LabInput<'_>,
    plan: &mut Plan,
    runner: &Runner<'_>,
) -> Result<Gathered, AppError> {
    let offer_of = |instance: &InstanceConfiguration| runner.project.offer(instance);
    let chosen = plan::detached_runs(input.of.job, input.dataset, plan, &offer_of);
    (plan.notes).extend(detached::counts_left_out(input.of.job, &chosen));
    let found = match look_for(input, &plan.own().base, chosen.own, runner).await {
        Err(error) if error.is_transient() => {
            let why = error.in_a_line();
            return Ok(not_yet(&format!(
                "the canaries could not be looked for: {why}"
            )));
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
        .help("start `canary-gate run --collect` again later; each ends at its time limit")
        .during("collecting the canaries");
        return Ok(Gathered::NotYet {
            reason: reason.advising("collect again when they have ended"),
            error,
        });
    }
    let (mut collected, unread) = measure(input, &found, 0, &mut plan.notes, runner).await;
    if !unread.is_empty() && collected.failure.is_none() {
        let some = found.some(&unread, "could not be read");
        return Ok(not_yet(&format!("{some}: {}", list(&unread))));
    }
    let has_cause = unfinished::cause(&collected.measurements, None).is_some()
        || collected.measurements.iter().any(Measurement::has_failed);
    match found.missing() {
        None => {}
        Some(missing)
            if !has_enough(&collected, &plan.own().base)
                && !has_cause
                && collected.broke_off.is_none() =>
        {
            collected.broke_off = Some(Reason::new(missing).advising(START_THEM));
        }
        Some(missing) => plan.notes.push(format!(
            "{missing}; canary-gate run --detach starts what is missing"
        )),
    }
    let alternatives = plan.all[1..].iter_mut().zip(chosen.alternatives);
    for (number, (alternative, runs)) in alternatives.enumerate() {
        let notes = &mut plan.notes;
        let runs = match runs {
            Ok(runs) => look_for(input, alternative.runs_on(), runs, runner).await,
            Err(why) => {
                alternative.runs = Err(why);
                continue;
            }
        };
        let gathered = match runs {
            Err(error) if runner.cancellation.is_cancelled() => return Err(error),
            Err(error) => {
                runner.say_of(input.of.job, &error.in_a_line());
                Err(NotMeasured::CouldNotRun)
            }
            Ok(found) => match why_not(&found, alternative, &collected) {
                Some(why) => Err(why),
                None => {
                    notes.extend(found.missing());
                    let (of, unread) = measure(input, &found, number + 1, notes, runner).await;
                    collected.measurements.extend(of.measurements);
                    if let Some(error) = of.failure {
                        runner.say_of(input.of.job, &error.in_a_line());
                    }
                    match of.broke_off.is_none() && unread.is_empty() {
                        true => Ok(()),
                        false => Err(NotMeasured::CouldNotRun),
                    }
                }
            },
        };
        if let Err(why) = gathered {
            alternative.runs = Err(why);
        }
    }
    Ok(Gathered::Measured(collected))
}

/// The reason for which canaries of an alternative are not read.
fn why_not(
    found: &FoundCanaries,
    alternative: &PlannedConfiguration,
    collected: &JobMeasurements,
) -> Option<NotMeasured> {
    if found.is_nothing() {
        return Some(NotMeasured::NotStarted);
    }
    if alternative.follows && !has_enough(collected, &alternative.base) {
        return Some(NotMeasured::NoneOnFewer);
    }
    (!found.running.is_empty()).then_some(NotMeasured::StillRuns)
}

/// Whether those on these machines are enough for a forecast.
fn has_enough(collected: &JobMeasurements, base: &InstanceConfiguration) -> bool {
    let on_base = collected.measurements.iter();
    let on_base: Vec<Measurement> = on_base.filter(|run| run.is_on(base)).cloned().collect();
    plan::has_enough(&on_base)
}

/// Not the code of an unknown outcome, which may be allowed to pass: what was started has a verdict, which is not known yet.
fn not_yet(why: &str) -> Gathered {
    Gathered::NotYet {
        reason: Reason::new(why).advising("collect again"),
        error: AppError::failed(format!("no verdict yet: {why}"))
            .help("start `canary-gate run --collect` again")
            .during("collecting the canaries"),
    }
}

/// What there is of the canaries of one configuration, in the history or in the backend.
async fn look_for(
    input: &LabInput<'_>,
    instance: &InstanceConfiguration,
    runs: Vec<CanaryRun>,
    runner: &Runner<'_>,
) -> Result<FoundCanaries, AppError> {
    let report = |progress: CanaryProgress<'_>| {
        if let CanaryProgress::Fact(text) = progress {
            let line = runner.line_of(input.of.job, text);
            runner.progress.mention(&line);
        }
    };
    let mut found = FoundCanaries {
        instance: instance.clone(),
        canaries: runs.len(),
        over: Vec::new(),
        running: Vec::new(),
        missing: Vec::new(),
    };
    for run in runs {
        let looking = async {
            if let Some(records) = input.of.records {
                if records.found(&run).await?.is_some() {
                    return Ok(None);
                }
                let state = input.of.ready.look(&run, &report).await?;
                if let CanaryState::Over { training_job } = &state
                    && !records.may_measure(&run, training_job).await?
                {
                    let training_job = format!("{training_job}, measured by an earlier run");
                    return Ok(Some(CanaryState::Missing { training_job }));
                }
                return Ok(Some(state));
            }
            let state = input.of.ready.look(&run, &report).await;
            Ok::<_, AppError>(Some(state?))
        };
        let state = unless_cancelled(looking, &runner.cancellation).await??;
        let named = |name: String| format!("{} ({name})", run.label());
        match state {
            Some(CanaryState::Missing { training_job }) => found.missing.push(named(training_job)),
            Some(CanaryState::Running { training_job, .. }) => {
                found.running.push(named(training_job));
            }
            None | Some(CanaryState::Over { .. }) => found.over.push(run),
            Some(_) => {}
        }
    }
    Ok(found)
}

/// Measures those that are over, each by itself: what became of one keeps no other from being read, for all are paid. Returns also
/// which could not be.
async fn measure(
    input: &LabInput<'_>,
    found: &FoundCanaries,
    place: usize,
    notes: &mut Vec<String>,
    runner: &Runner<'_>,
) -> (JobMeasurements, Vec<String>) {
    let of = RunningConfiguration {
        of: input.of,
        place,
        account: input.account,
        is_wanted: &Cell::new(true),
    };
    let earlier = Earlier {
        to_come: found.canaries - found.over.len(),
        ..Earlier::default()
    };
    let fates = batch::run(runner, of, &found.over, earlier, &|_, _| {}).await;
    let (mut measured, mut unread) = (JobMeasurements::default(), Vec::new());
    for (run, fate) in found.over.iter().zip(fates) {
        let failure = match fate {
            CanaryFate::Measured(measurement, unwritten) => {
                measured.measurements.push(*measurement);
                unwritten
            }
            CanaryFate::Lost(error) => {
                unread.push(format!("{} ({})", run.label(), error.in_a_line()));
                Some(error)
            }
            _ => {
                unread.push(run.label());
                None
            }
        };
        let Some(error) = failure else {
            continue;
        };
        measured.broke_off.get_or_insert(error.reason());
        match error.is_transient() {
            true => notes.push(error.reason().to_string()),
            false => drop(measured.failure.get_or_insert(error)),
        }
    }
    (measured, unread)
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
        let all = canaries(self.canaries);
        format!("{} of {all} on {} {what}", named.len(), self.instance)
    }
}
