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
use crate::plan::{self, NotMeasured, Plan};
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
    let looking = look_for(input, &plan.base, chosen.own, runner);
    let found = match unless_cancelled(looking, &runner.cancellation).await? {
        Err(error) if error.is_transient() => {
            let why = format!(
                "the canaries could not be looked for: {}",
                error.in_a_line()
            );
            return Ok(not_yet(&why));
        }
        found => found?,
    };
    if found.is_nothing() {
        return Err(found.nothing());
    }
    if let Some(still_running) = found.still_running() {
        let (reason, error) = still_running;
        return Ok(Gathered::NotYet { reason, error });
    }
    let mut collected = JobMeasurements::default();
    let notes = &mut plan.notes;
    let unread = measure(input, &found, 0, &mut collected, notes, runner).await;
    if !unread.is_empty() && collected.failure.is_none() {
        let why = format!(
            "{} of {} on {} could not be read: {}",
            unread.len(),
            canaries(found.canaries.len()),
            found.instance,
            list(&unread)
        );
        return Ok(not_yet(&why));
    }
    let missing = found.missing();
    let on_base = collected
        .measurements
        .iter()
        .filter(|run| run.is_on(&plan.base));
    let on_base: Vec<Measurement> = on_base.cloned().collect();
    let is_enough = plan::has_enough(&on_base);
    let has_cause = unfinished::cause(&collected.measurements, None).is_some()
        || collected.measurements.iter().any(Measurement::has_failed);
    if let Some(missing) = missing {
        if !is_enough && !has_cause && collected.broke_off.is_none() {
            collected.broke_off = Some(Reason::new(missing).advising(START_THEM));
        } else {
            plan.notes.push(format!(
                "{missing}; canary-gate run --detach starts what is missing"
            ));
        }
    }
    let alternatives = plan.alternatives.iter_mut().zip(chosen.alternatives);
    for (number, (alternative, runs)) in alternatives.enumerate() {
        let runs = match runs {
            Ok(runs) => runs,
            Err(why) => {
                alternative.runs = Err(why);
                continue;
            }
        };
        let looking = look_for(input, alternative.runs_on(), runs, runner);
        let found = match unless_cancelled(looking, &runner.cancellation).await? {
            Ok(found) => found,
            Err(error) => {
                runner.say_of(input.of.job, &error.in_a_line());
                alternative.runs = Err(NotMeasured::CouldNotRun);
                continue;
            }
        };
        let on_base = (collected.measurements.iter()).filter(|run| run.is_on(&alternative.base));
        let on_base: Vec<Measurement> = on_base.cloned().collect();
        if found.is_nothing() {
            alternative.runs = Err(NotMeasured::NotStarted);
        } else if alternative.follows && !plan::has_enough(&on_base) {
            alternative.runs = Err(NotMeasured::NoneOnFewer);
        } else if found.still_running().is_some() {
            alternative.runs = Err(NotMeasured::StillRuns);
        } else {
            plan.notes.extend(found.missing());
            let mut of_alternative = JobMeasurements::default();
            let (into, notes) = (&mut of_alternative, &mut plan.notes);
            let unread = measure(input, &found, number + 1, into, notes, runner).await;
            collected
                .measurements
                .append(&mut of_alternative.measurements);
            if of_alternative.broke_off.is_some() || !unread.is_empty() {
                alternative.runs = Err(NotMeasured::CouldNotRun);
            }
            if let Some(error) = of_alternative.failure {
                runner.say_of(input.of.job, &error.in_a_line());
            }
        }
    }
    Ok(Gathered::Measured(collected))
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
            runner.mention_of(input.of.job, text);
        }
    };
    let mut canaries = Vec::with_capacity(runs.len());
    for run in runs {
        let records = input.of.records;
        let known = match records {
            Some(records) => records.found(&run).await?,
            None => None,
        };
        let there = match known {
            Some(_) => CanaryState::Over {
                training_job: String::new(),
            },
            None => input.of.ready.look(&run, &report).await?,
        };
        let there = match (there, records) {
            (CanaryState::Over { training_job }, Some(records))
                if known.is_none() && !records.may_measure(&run, &training_job).await? =>
            {
                let training_job = format!("{training_job}, measured by an earlier run");
                CanaryState::Missing { training_job }
            }
            (there, _) => there,
        };
        canaries.push((run, there));
    }
    Ok(FoundCanaries {
        instance: instance.clone(),
        canaries,
    })
}

/// Measures those that are over, each by itself: what became of one keeps no other from being read, for all are paid. Returns
/// which could not be.
async fn measure(
    input: &LabInput<'_>,
    found: &FoundCanaries,
    place: usize,
    into: &mut JobMeasurements,
    notes: &mut Vec<String>,
    runner: &Runner<'_>,
) -> Vec<String> {
    let of = RunningConfiguration {
        of: input.of,
        place,
        account: input.account,
        is_wanted: &Cell::new(true),
    };
    let is_over = |(_, there): &&(CanaryRun, _)| matches!(there, CanaryState::Over { .. });
    let over = found.canaries.iter().filter(is_over);
    let over: Vec<CanaryRun> = over.map(|(run, _)| run.clone()).collect();
    let earlier = Earlier {
        to_come: found.canaries.len() - over.len(),
        ..Earlier::default()
    };
    let fates = batch::run(runner, of, &over, earlier, &|_, _| {}).await;
    let mut unread = Vec::new();
    for (run, fate) in over.iter().zip(fates) {
        let failure = match fate {
            CanaryFate::Measured(measurement, unwritten) => {
                into.measurements.push(*measurement);
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
        into.broke_off.get_or_insert(error.reason());
        if error.is_transient() {
            notes.push(error.reason().to_string());
        } else {
            into.failure.get_or_insert(error);
        }
    }
    unread
}

/// The canaries of one configuration, and what there is of each.
struct FoundCanaries {
    instance: InstanceConfiguration,
    canaries: Vec<(CanaryRun, CanaryState)>,
}

impl FoundCanaries {
    fn is_nothing(&self) -> bool {
        // A row by the canaries of another configuration has none of its own.
        !self.canaries.is_empty() && self.missing_ones().len() == self.canaries.len()
    }

    /// Why nothing can be collected, and what was looked for.
    fn nothing(&self) -> AppError {
        AppError::failed(format!(
            "no canary is there to collect on {}; looked for {}",
            self.instance,
            list(&self.missing_ones())
        ))
        .help(START_THEM)
        .during("collecting the canaries")
    }

    /// How many still run, and which; `None` where all have ended.
    fn still_running(&self) -> Option<(Reason, AppError)> {
        let running = self.named(|there| match there {
            CanaryState::Running { training_job, .. } => Some(training_job),
            _ => None,
        });
        if running.is_empty() {
            return None;
        }
        let reason = Reason::new(format!(
            "{} of {} on {} still run",
            running.len(),
            canaries(self.canaries.len()),
            self.instance,
        ))
        .advising("collect again when they have ended");
        // Not the code of an unknown outcome, which may be allowed to pass: nobody has looked yet.
        let error = AppError::failed(format!(
            "no verdict yet, for these canaries still run: {}",
            list(&running)
        ))
        .help("start `canary-gate run --collect` again later; each ends at its time limit")
        .during("collecting the canaries");
        Some((reason, error))
    }

    /// Which are not there; `None` where all are.
    fn missing(&self) -> Option<String> {
        let missing = self.missing_ones();
        (!missing.is_empty()).then(|| {
            format!(
                "{} of {} on {} {} not there: {}",
                missing.len(),
                canaries(self.canaries.len()),
                self.instance,
                if missing.len() == 1 { "is" } else { "are" },
                list(&missing)
            )
        })
    }

    fn missing_ones(&self) -> Vec<String> {
        self.named(|there| match there {
            CanaryState::Missing { training_job } => Some(training_job),
            _ => None,
        })
    }

    /// Those that are so, each with its training job.
    fn named(&self, training_job: impl Fn(&CanaryState) -> Option<&String>) -> Vec<String> {
        let name = |(run, there): &(CanaryRun, CanaryState)| {
            Some(format!("{} ({})", run.label(), training_job(there)?))
        };
        self.canaries.iter().filter_map(name).collect()
    }
}
