//! `run --detach`: a job's canaries are started, and nobody waits for them.

use crate::assess::whole_report;
use crate::backend::{CanaryPayer, CanaryState};
use crate::canary::CanaryRun;
use crate::console::{AppError, AppResult};
use crate::gate::batch::CanaryFate;
use crate::gate::lab::{self, LabInput};
use crate::gate::outcome::GateOutcome;
use crate::grammar::count;
use crate::instance::InstanceConfiguration;
use crate::plan::{self, Plan, PlannedRuns};
use crate::report::JobReport;
use crate::spec::WarmPoolPolicy;
use crate::units::{Seconds, Usd, sum};
use crate::verdict::{Reason, Verdict};
use crate::workspace::Project;

/// Refuses a part of a run on a backend whose canaries end with the gate. Else lets no canary keep machines for another one, since
/// nobody would end the pool.
pub(crate) fn prepare(project: &mut Project) -> AppResult<()> {
    if !project.traits().is_remote {
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

/// Lets a plan have the canaries that are started before anything is known of any; of those that are left out it has notes.
pub(crate) fn fix(input: &LabInput<'_>, plan: &mut Plan) {
    let offer_of = |instance: &InstanceConfiguration| input.runner.offer(input.job, instance);
    let chosen = plan::detached_runs(input.job, input.dataset, plan, &offer_of);
    let left_out = chosen.left_out.iter();
    (plan.notes).extend(left_out.map(|run| lab::beyond_the_share(input.job, run)));
    let all = std::iter::once(Ok(chosen.own)).chain(chosen.alternatives);
    for (one, runs) in plan.all.iter_mut().zip(all) {
        one.counts.clear();
        one.runs = runs.map(PlannedRuns::Fixed);
    }
}

/// Starts the canaries of a plan. Where one on `instance` cannot be started, but for want of room or money, all of the job are stopped
/// again.
pub(crate) async fn launch(input: &LabInput<'_>, plan: &mut Plan) -> AppResult<GateOutcome> {
    let affected = input.affected;
    let is_adaptive = plan.is_adaptive();
    fix(input, plan);
    if is_adaptive {
        limit(input, plan);
    }
    let mut launched = lab::measure(input, plan).await?;
    let fates = launched.standing.iter();
    let started = fates.filter_map(|(_, fate)| Some(fate.started()?.0.to_owned()));
    let started: Vec<String> = started.collect();
    if launched.failure.is_some() || input.runner.cancellation.is_cancelled() {
        input.ready.stop(&started).await;
    }
    if let Some(error) = launched.failure.take() {
        return Err(error.during("starting the canaries"));
    }
    let mut notes = input.ready.notes().sentences;
    notes.extend(launched.standing.iter().map(|(run, fate)| line(run, fate)));
    notes.append(&mut plan.notes);
    for alternative in &plan.all[1..] {
        if let Err(why) = &alternative.runs {
            let instance = &alternative.instance;
            notes.push(format!("no canary on {instance} was started: {why}"));
        }
    }
    let (verdict, reason) = said(&launched.standing, &plan.own().base);
    let report = whole_report::unknown_report(affected.job, &affected.by, &reason, notes);
    Ok(GateOutcome {
        detached: started.into_iter().collect(),
        ..GateOutcome::of(JobReport { verdict, ..report }, None)
    })
}

/// Limits the canaries of the adaptive design to the longest that each may take, so that all together are within the account.
fn limit(input: &LabInput<'_>, plan: &mut Plan) {
    let own = plan.own();
    let slice = (input.account).slice(input.account.left().map(|_| own.slice));
    let Some(left) = slice.left() else { return };
    let PlannedRuns::Fixed(runs) = plan.runs() else {
        return;
    };
    let offers = runs.iter();
    let offers = offers.map(|run| input.runner.offer(input.job, &run.instance));
    let Some(each) = plan::seconds_for_each(left, offers) else {
        return;
    };
    // SageMaker takes whole seconds.
    let limit = Seconds(each.0.min(input.job.canary.max_runtime.0).floor());
    for one in &mut plan.all {
        if let Ok(PlannedRuns::Fixed(runs)) = &mut one.runs {
            runs.iter_mut()
                .for_each(|run| run.max_runtime = Some(limit));
        }
    }
}

/// What is said of a job whose canaries were started on `instance`: nothing is judged yet, or cannot be.
fn said(
    canaries: &[(CanaryRun, CanaryFate)],
    instance: &InstanceConfiguration,
) -> (Verdict, Reason) {
    let here = canaries.iter().filter(|(run, _)| run.instance == *instance);
    let is_there = |fate: &CanaryFate| !matches!(fate, CanaryFate::Refused(_));
    let there = here.clone().filter(|(_, fate)| is_there(fate));
    let there: Vec<CanaryRun> = there.map(|(run, _)| run.clone()).collect();
    if !plan::is_enough(&there) {
        let (there, planned) = (there.len(), here.count());
        let reason = Reason::new(format!(
            "only {there} of {planned} canaries on {instance} could be started, too few for a forecast"
        ));
        let next = "canary-gate run --detach starts those that are missing";
        return (Verdict::Unknown, reason.advising(next));
    }
    let started = Vec::from_iter(canaries.iter().filter_map(|(_, fate)| fate.started()));
    let for_at_most = for_at_most(sum(started.iter().map(|(_, worst)| *worst)));
    let started = match started.len() {
        0 => "every canary is there already".to_owned(),
        number => format!("{} started{for_at_most}", count(number, "canary")),
    };
    let next = "canary-gate run --collect at this commit, with this spec, gives the verdict when they have ended";
    (Verdict::NotJudged, Reason::new(started).advising(next))
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
}

fn for_at_most(worst: Option<Usd>) -> String {
    worst.map_or(String::new(), |usd| format!(", for at most {usd}"))
}

/// What became of a canary, in one line.
fn line(run: &CanaryRun, fate: &CanaryFate) -> String {
    let said = match fate {
        CanaryFate::Refused(why) => format!("not started: {why}"),
        CanaryFate::Left(state, worst) => match state {
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
