//! `run --collect`: what a job's detached canaries gave. Nothing is started, and nothing is waited for.

use std::cell::Cell;

use futures_util::stream::{self, StreamExt};

use crate::assess::unfinished;
use crate::backend::{CanaryProgress, Detaching, Standing, Watcher};
use crate::canary::CanaryRun;
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::console::signals::unless_cancelled;
use crate::gate::detached::{self, canaries};
use crate::gate::lab::{JobMeasurements, LabInput};
use crate::gate::runner::{self, Ran, Runner, RunningConfiguration};
use crate::grammar::list;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::Measurement;
use crate::plan::{self, NotMeasured, Plan};
use crate::verdict::Reason;

/// Canaries that are read at a time: of each its log and its metrics are asked for.
const AT_ONCE: usize = 4;

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
    let detaching = input.of.ready.detaching();
    let detaching = detaching.ok_or_else(|| {
        AppError::usage("this backend cannot detach: its canaries stop with the gate")
    })?;
    let collector = Collector {
        input,
        runner,
        detaching,
    };
    let offer_of = |instance: &InstanceConfiguration| collector.offer(instance);
    let chosen = plan::detached_runs(input.of.job, input.dataset, plan, &offer_of);
    (plan.notes).extend(detached::counts_left_out(input.of.job, &chosen));
    let looking = collector.look_for(&plan.base, chosen.own);
    let found = match unless_cancelled(looking, runner.cancellation).await? {
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
    let unread = collector
        .measure(&found, 0, &mut collected, &mut plan.notes)
        .await;
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
        let looking = collector.look_for(alternative.runs_on(), runs);
        let found = match unless_cancelled(looking, runner.cancellation).await? {
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
            let unread = collector
                .measure(&found, number + 1, &mut of_alternative, &mut plan.notes)
                .await;
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

struct Collector<'a> {
    input: &'a LabInput<'a>,
    runner: &'a Runner<'a>,
    detaching: &'a dyn Detaching,
}

impl Collector<'_> {
    /// What there is of the canaries of one configuration.
    async fn look_for(
        &self,
        instance: &InstanceConfiguration,
        runs: Vec<CanaryRun>,
    ) -> Result<FoundCanaries, AppError> {
        let LabInput { of, .. } = self.input;
        let (job, records) = (of.job, of.records);
        let watcher = Watcher {
            report: &|progress| {
                if let CanaryProgress::Fact(text) = progress {
                    self.runner.mention_of(job, text);
                }
            },
            may_start: &|| false,
            has_successor: false,
            is_last: true,
            freed: &|_| {},
            paid_for_nothing: &|_| {},
            cancellation: self.runner.cancellation,
        };
        let mut canaries = Vec::with_capacity(runs.len());
        for run in runs {
            let is_known = match records {
                Some(records) => records.found(&run).await?.is_some(),
                None => false,
            };
            let there = match is_known {
                true => ThereCanary::Over,
                false => self.there(&run, &watcher).await?,
            };
            canaries.push((run, there));
        }
        Ok(FoundCanaries {
            instance: instance.clone(),
            canaries,
        })
    }

    /// What AWS has of a canary that the history does not have.
    async fn there(&self, run: &CanaryRun, watcher: &Watcher<'_>) -> Result<ThereCanary, AppError> {
        let records = self.input.of.records;
        Ok(match self.detaching.look(run, watcher).await? {
            Standing::Running { training_job } => ThereCanary::Running(training_job),
            Standing::Missing { training_job } => ThereCanary::Missing(training_job),
            Standing::Over { training_job } => match records {
                Some(records) if !records.may_measure(run, &training_job).await? => {
                    ThereCanary::Missing(format!("{training_job}, measured by an earlier run"))
                }
                _ => ThereCanary::Over,
            },
        })
    }

    /// Measures those that are over, each by itself: what became of one keeps no other from being read, for all are paid. Returns
    /// which could not be.
    async fn measure(
        &self,
        found: &FoundCanaries,
        place: usize,
        into: &mut JobMeasurements,
        notes: &mut Vec<String>,
    ) -> Vec<String> {
        let offers: Vec<Offer> = (found.canaries.iter())
            .map(|(run, _)| self.offer(&run.instance))
            .collect();
        let is_wanted = Cell::new(true);
        let of = |number: usize| RunningConfiguration {
            of: self.input.of,
            place,
            offer: &offers[number],
            account: self.input.money.account,
            kept: self.input.money.kept,
            is_wanted: &is_wanted,
        };
        let over = found.canaries.iter().enumerate();
        let over = over.filter(|(_, (_, there))| *there == ThereCanary::Over);
        let labels: Vec<String> = over.clone().map(|(_, (run, _))| run.label()).collect();
        let reading = over.map(|(number, (run, _))| {
            let earlier = Earlier {
                runs: number,
                to_come: found.canaries.len() - number - 1,
                is_open: false,
            };
            let run = std::slice::from_ref(run);
            runner::run(self.runner, of(number), run, earlier, &|_, _| {})
        });
        let read: Vec<Ran> = stream::iter(reading).buffered(AT_ONCE).collect().await;
        let mut unread = Vec::new();
        for (ran, label) in read.into_iter().zip(labels) {
            let is_read = !ran.measurements.is_empty();
            into.measurements.extend(ran.measurements);
            let Some(error) = ran.failure else {
                unread.extend((!is_read).then_some(label));
                continue;
            };
            if !is_read {
                unread.push(format!("{label} ({})", error.in_a_line()));
            }
            into.broke_off.get_or_insert(error.reason());
            if error.is_transient() {
                notes.push(error.reason().to_string());
            } else {
                into.failure.get_or_insert(error);
            }
        }
        unread
    }

    fn offer(&self, instance: &InstanceConfiguration) -> Offer {
        let LabInput { project, of, .. } = self.input;
        project.offer(instance, &|kind| of.ready.capacity(kind))
    }
}

/// What there is of a canary.
#[derive(PartialEq)]
enum ThereCanary {
    /// Measured by an earlier run, or over and to be measured.
    Over,
    /// With its training job.
    Running(String),
    /// With the name that was looked for.
    Missing(String),
}

/// The canaries of one configuration, and what there is of each.
struct FoundCanaries {
    instance: InstanceConfiguration,
    canaries: Vec<(CanaryRun, ThereCanary)>,
}

impl FoundCanaries {
    fn is_nothing(&self) -> bool {
        let is_missing = |(_, there): &(_, _)| matches!(there, ThereCanary::Missing(_));
        // A row by the canaries of another configuration has none of its own.
        !self.canaries.is_empty() && self.canaries.iter().all(is_missing)
    }

    /// Why nothing can be collected, and what was looked for.
    fn nothing(&self) -> AppError {
        AppError::failed(format!(
            "no canary is there to collect on {}; looked for {}",
            self.instance,
            list(&self.names_of_missing())
        ))
        .help(START_THEM)
        .during("collecting the canaries")
    }

    /// How many still run, and which; `None` where all have ended.
    fn still_running(&self) -> Option<(Reason, AppError)> {
        let running = |(run, there): &(CanaryRun, ThereCanary)| match there {
            ThereCanary::Running(training_job) => Some(format!("{} ({training_job})", run.label())),
            _ => None,
        };
        let running: Vec<String> = self.canaries.iter().filter_map(running).collect();
        let reason = || {
            Reason::new(format!(
                "{} of {} on {} still run",
                running.len(),
                canaries(self.canaries.len()),
                self.instance,
            ))
            .advising("collect again when they have ended")
        };
        // Not the code of an unknown outcome, which may be allowed to pass: nobody has looked yet.
        let error = || {
            AppError::failed(format!(
                "no verdict yet, for these canaries still run: {}",
                list(&running)
            ))
            .help("start `canary-gate run --collect` again later; each ends at its time limit")
            .during("collecting the canaries")
        };
        (!running.is_empty()).then(|| (reason(), error()))
    }

    /// Which are not there; `None` where all are.
    fn missing(&self) -> Option<String> {
        let missing = self.names_of_missing();
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

    fn names_of_missing(&self) -> Vec<String> {
        let name = |(run, there): &(CanaryRun, ThereCanary)| match there {
            ThereCanary::Missing(training_job) => Some(format!("{} ({training_job})", run.label())),
            _ => None,
        };
        self.canaries.iter().filter_map(name).collect()
    }
}
