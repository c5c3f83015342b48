//! `run --detach`: a job's canaries are started, and nobody waits for them.

use crate::assess::whole_report;
use crate::backend::{CanaryProgress, Detaching, Started, Watcher};
use crate::canary::CanaryRun;
use crate::change::AffectedJob;
use crate::console::AppError;
use crate::gate::lab::{self, LabInput};
use crate::gate::runner::Runner;
use crate::instance::{InstanceConfiguration, Offer};
use crate::plan::{self, Account, DetachedRuns, NotMeasured, Plan, PlannedAlternative};
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
    canaries: Vec<(CanaryRun, Fate)>,
    instance: InstanceConfiguration,
    /// Why alternatives have no canaries.
    notes: Vec<String>,
}

/// What became of a canary.
enum Fate {
    Started {
        training_job: String,
        worst: Option<Usd>,
    },
    /// An earlier run has started it.
    IsThere {
        training_job: String,
        /// That run waits for it, and may stop it.
        is_awaited: bool,
    },
    /// The history has what it measured.
    Known,
    NotStarted {
        why: String,
    },
}

/// Starts the canaries of a plan. Where one cannot be started, but for want of room or money, all of the job are stopped again.
pub(crate) async fn launch(
    input: &LabInput<'_>,
    plan: &Plan,
    runner: &Runner<'_>,
) -> Result<DetachedJob, AppError> {
    let launcher = Launcher::of(input, runner)?;
    let launched = launcher.launch(plan).await;
    if launched.is_err() || runner.cancellation.is_cancelled() {
        let said = |progress: CanaryProgress<'_>| launcher.say(progress);
        let watcher = launcher.watcher(&said);
        launcher.detaching.stop_started(&watcher).await;
    }
    launched.map_err(|error| error.during("starting the canaries"))
}

struct Launcher<'a> {
    input: &'a LabInput<'a>,
    runner: &'a Runner<'a>,
    detaching: &'a dyn Detaching,
}

impl<'a> Launcher<'a> {
    fn of(input: &'a LabInput<'a>, runner: &'a Runner<'a>) -> Result<Self, AppError> {
        let detaching = input.of.ready.detaching();
        let detaching = detaching.ok_or_else(|| {
            AppError::usage("this backend cannot detach: its canaries stop with the gate")
        })?;
        Ok(Self {
            input,
            runner,
            detaching,
        })
    }

    async fn launch(&self, plan: &Plan) -> Result<DetachedJob, AppError> {
        let job = self.input.of.job;
        let mut launched = DetachedJob {
            canaries: Vec::new(),
            instance: plan.base.clone(),
            notes: plan.notes.clone(),
        };
        let offer_of = |instance: &InstanceConfiguration| self.offer(instance);
        let chosen = plan::detached_runs(job, self.input.dataset, plan, &offer_of);
        launched.notes.extend(counts_left_out(job, &chosen));
        let account = self.input.money.account;
        let slice = |place: usize| account.slice(account.left().map(|_| plan.slices[place]));
        let own = slice(0);
        let limit = plan
            .is_adaptive()
            .then(|| self.limit(&chosen.own, &own))
            .flatten();
        let limited = |run: CanaryRun| CanaryRun {
            max_runtime: limit.or(run.max_runtime),
            ..run
        };
        let runs: Vec<CanaryRun> = chosen.own.into_iter().map(limited).collect();
        if limit.is_some_and(|limit| limit.0 <= 0.0) {
            let refused = runs.into_iter().map(|run| (run, too_expensive(&own)));
            launched.canaries = refused.collect();
            return Ok(launched);
        }
        self.start_all(&mut launched, &runs, &own).await?;
        for (place, runs) in chosen.alternatives.into_iter().enumerate() {
            let runs =
                runs.map(|runs| -> Vec<CanaryRun> { runs.into_iter().map(limited).collect() });
            let slice = slice(place + 1);
            let started = match runs {
                Ok(runs) if !self.covers(&runs, &slice) => {
                    Err(NotMeasured::NothingLeft(slice.limit()))
                }
                Ok(runs) => {
                    let started = self.start_all(&mut launched, &runs, &slice).await;
                    started.map_err(|error| {
                        self.runner.say_of(job, &error.in_a_line());
                        NotMeasured::CouldNotRun
                    })
                }
                Err(why) => Err(why),
            };
            if let Err(why) = started {
                launched.leave_out(&plan.alternatives[place], &why);
            }
        }
        Ok(launched)
    }

    fn offer(&self, instance: &InstanceConfiguration) -> Offer {
        let LabInput { project, of, .. } = self.input;
        project.offer(instance, &|kind| of.ready.capacity(kind))
    }

    /// The longest that each canary of the adaptive design may take, so that all together are within the account; `None` where each
    /// has its own.
    fn limit(&self, runs: &[CanaryRun], account: &Account) -> Option<Seconds> {
        let offers = runs.iter().map(|run| self.offer(&run.instance));
        let each = plan::seconds_for_each(account.left()?, offers)?;
        // SageMaker takes whole seconds.
        Some(Seconds(
            each.0.min(self.input.of.job.canary.max_runtime.0).floor(),
        ))
    }

    /// Whether the account covers all of these.
    fn covers(&self, runs: &[CanaryRun], account: &Account) -> bool {
        let worst = |run: &CanaryRun| {
            plan::worst_case(std::slice::from_ref(run), &self.offer(&run.instance))
        };
        account.covers(runs.iter().filter_map(worst).sum())
    }

    async fn start_all(
        &self,
        launched: &mut DetachedJob,
        runs: &[CanaryRun],
        account: &Account,
    ) -> Result<(), AppError> {
        for run in runs {
            if self.runner.cancellation.is_cancelled() {
                return Ok(());
            }
            let fate = self.start(run, account).await?;
            launched.canaries.push((run.clone(), fate));
        }
        Ok(())
    }

    async fn start(&self, run: &CanaryRun, account: &Account) -> Result<Fate, AppError> {
        if let Some(records) = self.input.of.records
            && records.found(run).await?.is_some()
        {
            return Ok(Fate::Known);
        }
        let worst = plan::worst_case(std::slice::from_ref(run), &self.offer(&run.instance));
        let Some(reserved) = account.reserve(worst.unwrap_or_default()) else {
            return Ok(too_expensive(account));
        };
        let said = |progress: CanaryProgress<'_>| self.say(progress);
        let watcher = self.watcher(&said);
        let started = self.detaching.start(run, &watcher).await;
        Ok(match started? {
            // What it costs shows when it is collected: until then its worst case stays set aside.
            Started::Ours { training_job } => {
                drop(reserved);
                Fate::Started {
                    training_job,
                    worst,
                }
            }
            Started::Theirs {
                training_job,
                is_awaited,
            } => {
                reserved.settle(None);
                Fate::IsThere {
                    training_job,
                    is_awaited,
                }
            }
            Started::NoRoom(error) => {
                reserved.settle(None);
                let why = AppError::from(error).in_a_line();
                Fate::NotStarted { why }
            }
            Started::HeldBack => {
                reserved.settle(None);
                let why = "interrupted".to_owned();
                Fate::NotStarted { why }
            }
        })
    }

    fn say(&self, progress: CanaryProgress<'_>) {
        if let CanaryProgress::Fact(text) = progress {
            self.runner.mention_of(self.input.of.job, text);
        }
    }

    fn watcher<'w>(&self, report: &'w dyn Fn(CanaryProgress<'_>)) -> Watcher<'w>
    where
        'a: 'w,
    {
        Watcher {
            report,
            may_start: &|| true,
            has_successor: false,
            is_last: true,
            freed: &|_| {},
            paid_for_nothing: &|_| {},
            cancellation: self.runner.cancellation,
        }
    }
}

fn too_expensive(account: &Account) -> Fate {
    let limit = account.limit().name();
    let why = format!("what is left of {limit} does not cover it");
    Fate::NotStarted { why }
}

/// Which canaries on further counts are left out, as sentences.
pub(crate) fn counts_left_out(job: &Job, chosen: &DetachedRuns) -> Vec<String> {
    let left_out = chosen.left_out.iter();
    left_out
        .map(|run| lab::beyond_the_share(job, run))
        .collect()
}

impl DetachedJob {
    fn leave_out(&mut self, alternative: &PlannedAlternative, why: &NotMeasured) {
        self.notes.push(format!(
            "no canary on {} was started: {why}",
            alternative.instance
        ));
    }

    /// The job's part of the report: nothing is judged yet, or cannot be.
    pub(crate) fn report(self, affected: &AffectedJob<'_>, notes: Vec<String>) -> JobReport {
        let is_there = |(_, fate): &&(CanaryRun, Fate)| !matches!(fate, Fate::NotStarted { .. });
        let here = |(run, _): &&(CanaryRun, Fate)| run.instance == self.instance;
        let there: Vec<CanaryRun> = (self.canaries.iter())
            .filter(here)
            .filter(is_there)
            .map(|(run, _)| run.clone())
            .collect();
        let fates = || self.canaries.iter().map(|(_, fate)| fate);
        let is_started = |fate: &&Fate| matches!(fate, Fate::Started { .. });
        let started = fates().filter(is_started).count();
        let worst = |fate: &Fate| match fate {
            Fate::Started { worst, .. } => *worst,
            _ => None,
        };
        let worst: Option<Usd> = fates().filter_map(worst).reduce(|sum, usd| sum + usd);
        let for_at_most = for_at_most(worst);
        let (verdict, reason) = match plan::is_enough(&there) {
            true => {
                let started = match started {
                    0 => "every canary is there already".to_owned(),
                    _ => format!("{} started{for_at_most}", canaries(started)),
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
fn line(run: &CanaryRun, fate: &Fate) -> String {
    let fate = match fate {
        Fate::Started {
            training_job,
            worst,
        } => format!("training job {training_job}{}", for_at_most(*worst)),
        Fate::IsThere {
            training_job,
            is_awaited: true,
        } => format!(
            "training job {training_job}, of a run that waits for it and may stop it; if it does, canary-gate run --detach starts another one"
        ),
        Fate::IsThere { training_job, .. } => {
            format!("training job {training_job}, already there")
        }
        Fate::Known => "measured by an earlier run".to_owned(),
        Fate::NotStarted { why } => format!("not started: {why}"),
    };
    format!("canary {} on {}: {fate}", run.label(), run.instance)
}
