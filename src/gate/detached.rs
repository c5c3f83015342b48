//! `run --detach`: a job's canaries are started, and nobody waits for them.

use std::cell::Cell;

use crate::assess::whole_report;
use crate::backend::{CanaryPayer, CanaryState};
use crate::canary::CanaryRun;
use crate::change::AffectedJob;
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::gate::batch::{self, CanaryFate};
use crate::gate::lab;
use crate::gate::runner::{Runner, RunningConfiguration, RunningJob};
use crate::instance::InstanceConfiguration;
use crate::plan::{self, Account, DetachedRuns, NotMeasured, Plan};
use crate::report::JobReport;
use crate::spec::{Job, WarmPoolPolicy};
use crate::units::{Seconds, Usd};
use crate::verdict::{Reason, Verdict};
use crate::workspace::project::Project;

/// Refuses a part of a run on a backend whose canaries end with the gate. Else lets no canary keep machines for another one, since
/// nobody would end the pool.
pub(crate) fn prepare(project: &mut Project) -> Result<(), AppError> {
    if !project.traits().outlives_the_gate {
        return Err(AppError::usage(format!(
            "the {} backend cannot detach: its canaries stop with the gate",
            project.spec.backend
        ))
        .help("run `canary-gate run`, or name a spec with `backend: sagemaker`: `--spec FILE`"));
    }
    for job in &mut project.spec.jobs {
        if job.canary.warm_pool != WarmPoolPolicy::Off {
            tracing::info!(
                "Job {}: detached canaries start cold, for nobody would end a warm pool.",
                job.name
            );
        }
        job.canary.warm_pool = WarmPoolPolicy::Off;
    }
    Ok(())
}

/// What a job that detaches has started.
pub(crate) struct DetachedJob {
    /// On `instance` and on the alternatives, in the order of the plan.
    canaries: Vec<(CanaryRun, CanaryFate)>,
    instance: InstanceConfiguration,
    /// Why alternatives have no canaries.
    notes: Vec<String>,
}

/// Starts the canaries of a plan. Where one cannot be started, but for want of room or money, all of the job are stopped again.
pub(crate) async fn launch(
    input: &RunningJob<'_>,
    plan: &Plan,
    runner: &Runner<'_>,
) -> Result<DetachedJob, AppError> {
    let mut launched = DetachedJob {
        canaries: Vec::new(),
        instance: plan.own().base.clone(),
        notes: plan.notes.clone(),
    };
    let started = launched.start_all(input, plan, runner).await;
    let (ready, cancellation) = (input.ready, &runner.cancellation);
    if started.is_err() || cancellation.is_cancelled() {
        ready.stop(&launched.started(), cancellation).await;
    }
    started.map_err(|error| error.during("starting the canaries"))?;
    Ok(launched)
}

/// Which canaries on further counts are left out, as sentences.
pub(crate) fn counts_left_out(job: &Job, chosen: &DetachedRuns) -> Vec<String> {
    let left_out = chosen.left_out.iter();
    left_out
        .map(|run| lab::beyond_the_share(job, run))
        .collect()
}

impl DetachedJob {
    async fn start_all(
        &mut self,
        input: &RunningJob<'_>,
        plan: &Plan,
        runner: &Runner<'_>,
    ) -> Result<(), AppError> {
        let (job, account) = (input.job, input.account);
        let offer_of = |instance: &InstanceConfiguration| runner.project.offer(instance);
        let chosen = plan::detached_runs(job, input.dataset, plan, &offer_of);
        self.notes.extend(counts_left_out(job, &chosen));
        let limit_of_all = account.left();
        let slices = plan.all.iter();
        let slices = slices.map(|one| account.slice(limit_of_all.map(|_| one.slice)));
        let slices: Vec<Account> = slices.collect();
        // The longest that each canary of the adaptive design may take, so that all together are within the account.
        let offers = chosen.own.iter().map(|run| offer_of(&run.instance));
        let left = slices[0].left().filter(|_| plan.is_adaptive());
        let limit = left.and_then(|left| plan::seconds_for_each(left, offers));
        // SageMaker takes whole seconds.
        let limit = limit.map(|each| Seconds(each.0.min(job.canary.max_runtime.0).floor()));
        let limited = |run: CanaryRun| CanaryRun {
            max_runtime: limit.or(run.max_runtime),
            ..run
        };
        let worst =
            |run: &CanaryRun| plan::worst_case(std::slice::from_ref(run), &offer_of(&run.instance));
        let all = std::iter::once(Ok(chosen.own)).chain(chosen.alternatives);
        for (place, (runs, slice)) in all.zip(&slices).enumerate() {
            let started = match runs {
                Ok(runs) => {
                    let runs: Vec<CanaryRun> = runs.into_iter().map(limited).collect();
                    if place == 0 && limit.is_some_and(|limit| limit.0 <= 0.0) {
                        let refused = |run| (run, CanaryFate::TooExpensive(slice.limit()));
                        self.canaries = runs.into_iter().map(refused).collect();
                        return Ok(());
                    }
                    match place > 0 && !slice.covers(runs.iter().filter_map(worst).sum()) {
                        true => Err(NotMeasured::NothingLeft(slice.limit())),
                        false => match self.start(slice, runs, input, runner).await {
                            Err(error) if place == 0 => return Err(error),
                            Err(error) => {
                                runner.say_of(job, &error.in_a_line());
                                Err(NotMeasured::CouldNotRun)
                            }
                            Ok(()) => Ok(()),
                        },
                    }
                }
                Err(why) => Err(why),
            };
            if let Err(why) = started {
                self.notes.push(format!(
                    "no canary on {} was started: {why}",
                    plan.all[place].instance
                ));
            }
        }
        Ok(())
    }

    /// Starts those of one configuration.
    async fn start(
        &mut self,
        account: &Account,
        runs: Vec<CanaryRun>,
        input: &RunningJob<'_>,
        runner: &Runner<'_>,
    ) -> Result<(), AppError> {
        let of = RunningConfiguration {
            of: *input,
            account,
            is_wanted: &Cell::new(true),
        };
        let mut failed = Ok(());
        let fates = batch::run(runner, of, &runs, Earlier::default(), &|_, _| {}).await;
        for (run, fate) in runs.into_iter().zip(fates) {
            match fate {
                CanaryFate::Lost(error) => failed = Err(error),
                CanaryFate::NotLaunched => {}
                fate => self.canaries.push((run, fate)),
            }
        }
        failed
    }

    /// The training jobs that this run has started, and pays for.
    pub(crate) fn started(&self) -> Vec<String> {
        let fates = self.canaries.iter();
        let started = fates.filter_map(|(_, fate)| fate.started());
        started.map(|(name, _)| name.to_owned()).collect()
    }

    /// The job's part of the report: nothing is judged yet, or cannot be.
    pub(crate) fn report(self, affected: &AffectedJob<'_>, notes: Vec<String>) -> JobReport {
        let is_there = |(_, fate): &&(CanaryRun, CanaryFate)| fate.why_not_started().is_none();
        let here = |(run, _): &&(CanaryRun, CanaryFate)| run.instance == self.instance;
        let there: Vec<CanaryRun> = (self.canaries.iter())
            .filter(here)
            .filter(is_there)
            .map(|(run, _)| run.clone())
            .collect();
        let started = self.canaries.iter();
        let started: Vec<_> = started.filter_map(|(_, fate)| fate.started()).collect();
        let worst = started.iter().filter_map(|(_, worst)| *worst);
        let for_at_most = for_at_most(worst.reduce(|sum, usd| sum + usd));
        let (verdict, reason) = match plan::is_enough(&there) {
            true => {
                let started = match started.len() {
                    0 => "every canary is there already".to_owned(),
                    number => format!("{} started{for_at_most}", canaries(number)),
                };
                let next = "canary-gate run --collect at this commit, with this spec, gives the verdict when they have ended";
                (Verdict::NotJudged, Reason::new(started).advising(next))
            }
            false => {
                let planned = self.canaries.iter().filter(here).count();
                let reason = Reason::new(format!(
                    "only {} of {planned} canaries on {} could be started, too few for a forecast",
                    there.len(),
                    self.instance
                ))
                .advising("canary-gate run --detach starts those that are missing");
                (Verdict::Unknown, reason)
            }
        };
        let mut all = notes;
        all.extend(self.canaries.iter().map(|(run, fate)| line(run, fate)));
        all.extend(self.notes);
        let report = whole_report::unknown_report(affected.job, &affected.by, &reason, all);
        JobReport { verdict, ..report }
    }
}

impl CanaryFate {
    /// The training job that this run has started, and pays for, with what it may cost.
    fn started(&self) -> Option<(&str, Option<Usd>)> {
        match self {
            Self::Left(
                CanaryState::Running {
                    training_job,
                    payer: CanaryPayer::ThisRun,
                },
                worst,
            ) => Some((training_job, *worst)),
            _ => None,
        }
    }

    /// `None` where it is there.
    fn why_not_started(&self) -> Option<String> {
        match self {
            Self::TooExpensive(limit) => Some(format!(
                "what is left of {} does not cover it",
                limit.name()
            )),
            Self::NoRoom(why) => Some(why.clone()),
            _ => None,
        }
    }
}

/// `1 canary`, `3 canaries`.
pub(super) fn canaries(number: usize) -> String {
    match number {
        1 => "1 canary".to_owned(),
        _ => format!("{number} canaries"),
    }
}

fn for_at_most(worst: Option<Usd>) -> String {
    worst.map_or(String::new(), |usd| format!(", for at most {usd}"))
}

/// What became of a canary, in one line.
fn line(run: &CanaryRun, fate: &CanaryFate) -> String {
    let said = match (fate, fate.why_not_started()) {
        (_, Some(why)) => format!("not started: {why}"),
        (CanaryFate::Left(state, worst), None) => match state {
            CanaryState::Running {
                training_job,
                payer: CanaryPayer::ThisRun,
            } => format!("training job {training_job}{}", for_at_most(*worst)),
            CanaryState::Running {
                training_job,
                payer: CanaryPayer::AnotherRun,
            } => format!(
                "training job {training_job}, of a run that waits for it and may stop it; if it does, canary-gate run --detach starts another one"
            ),
            CanaryState::Running { training_job, .. } | CanaryState::Over { training_job } => {
                format!("training job {training_job}, already there")
            }
            _ => String::new(),
        },
        _ => "measured by an earlier run".to_owned(),
    };
    format!("canary {} on {}: {said}", run.label(), run.instance)
}
