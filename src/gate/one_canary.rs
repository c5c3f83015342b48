//! One canary of one job, the smallest: whether the training code runs at all. Where that alone may be too small, the next is tried
//! once. Nothing of them is kept, and nothing is left running.

use std::collections::BTreeSet;
use std::slice::from_ref;

use crate::backend::{Reuse, RunPart};
use crate::console::signals::{self, unless_cancelled};
use crate::console::{AppError, AppResult, Loudness, StepResult, printable, say};
use crate::gate::{Runner, backend, batch};
use crate::measurement::Measurement;
use crate::plan::{self, Account, Alternatives, KnownBefore, Limit, PlannedRuns};
use crate::spec::Job;
use crate::units::Usd;
use crate::workspace::Project;

/// What became of the last canary, and of the smallest where that is another.
type Tried = (Measurement, Option<Measurement>);

/// Runs it within the job's `canary.spend_limit` and `max_spend`; says before what it can cost.
///
/// # Errors
///
/// Where it could not be run. That the training code failed is a measurement.
pub(crate) async fn run(
    project: &Project,
    job: &Job,
    pass_env: &[String],
    max_spend: Option<Usd>,
    loudness: Loudness,
) -> AppResult<Tried> {
    let interruption = signals::watch()?;
    let cancellation = interruption.cancellation.clone();
    let whole = (RunPart::Whole, Reuse::Never);
    let mut runner = Runner::open(project, whole, pass_env, cancellation, loudness).await?;
    runner.is_limited_in_dollars = max_spend.is_some();
    let work = async {
        let measured = measure(job, max_spend, &runner).await;
        // Whatever came of it, nothing of it goes on.
        let finished = runner.finish(&BTreeSet::new()).await;
        // What a killed gate was billed the next check shows.
        let is_new = !runner.gate_run.is_resumed;
        if is_new && finished.as_ref().is_ok_and(|end| !end.may_keep_machines) {
            runner.gate_run.end();
        }
        // The other error ends the command; what may go on is named all the same.
        if let (Err(_), Err(error)) = (&measured, &finished) {
            say(&printable(&error.what));
        }
        let measured = measured.map_err(|error| error.without(&runner.secrets))?;
        finished.during("stopping what was started")?;
        Ok(measured)
    };
    interruption.unless_impatient(work, &runner.progress).await
}

async fn measure(job: &Job, max_spend: Option<Usd>, runner: &Runner<'_>) -> AppResult<Tried> {
    let project = runner.project;
    let backend = &*runner.backend;
    let look = async {
        let mut session = backend::open(backend, project, job).await?;
        let listed = session.list().await?;
        Ok::<_, AppError>((session, listed))
    };
    let (session, listed) = unless_cancelled(look, &runner.cancellation).await??;
    let offer_of = |instance: &_| runner.offer(job, instance);
    let (alone, known) = (Alternatives::Skip, KnownBefore::default());
    let mut plan = plan::plan(job, &listed.dataset, &offer_of, alone, known)?;
    // No machine is kept for a next one.
    plan.pools = None;
    // The first canary that a run of the gate would start, and the next where it would go on without that.
    let runs = match plan.runs() {
        PlannedRuns::Fixed(runs) => runs[..1].to_vec(),
        PlannedRuns::Ladder(sizes) => {
            let (base, limit) = (&plan.own().base, job.canary.max_runtime);
            let canary = |size| plan::canary(job, &listed.dataset, base, size, &[], limit);
            sizes.iter().take(2).map(canary).collect()
        }
    };
    let preparing = backend::prepare(session, project, job, &listed.dataset, &mut plan);
    let ready = unless_cancelled(preparing, &runner.cancellation).await??;
    let offer = runner.offer(job, &job.instance);
    let run_account = Account::new(max_spend, Limit::Run);
    let account = Account::below(Some(&run_account), Some(job.canary.spend_limit), Limit::Job);
    let counts_time = offer.counts_time();
    let takes = if counts_time { "takes" } else { "costs" };
    let help = match counts_time {
        true => "raise `canary.max_seconds`, or lower `canary.max_runtime`",
        false => "raise `canary.spend_limit` or `--max-spend`, or lower `canary.max_runtime`",
    };
    let mut smaller = None;
    for run in runs {
        let worst = plan::worst_case(from_ref(&run), &offer).map(|worst| offer.counted(worst));
        let limit = run.max_runtime.unwrap_or(job.canary.max_runtime);
        let price = (worst.as_ref()).map(|most| format!(" and {takes} at most {most}"));
        runner.progress.say(&format!(
            "one canary of {}: {} ({}) on {}; it is stopped after {limit}{}",
            printable(&job.name),
            printable(&run.label()),
            run.bytes,
            run.instance,
            price.unwrap_or_default(),
        ));
        let ran = batch::run_one(runner, (job, &*ready), run, &account).await;
        match (ran.measurements.into_iter().next(), ran.failure) {
            (Some(small), _) if plan.own().passes_over(from_ref(&small)) => smaller = Some(small),
            (Some(measurement), _) => return Ok((measurement, smaller)),
            (None, Some(error)) => return Err(error.during("running the canary")),
            (None, None) if smaller.is_none() && !ran.standing.is_empty() => {
                let (name, most) = (&job.name, worst.as_deref().unwrap_or("more"));
                let what = format!(
                    "the smallest canary of job `{name}` may take {most}, which is above its limit"
                );
                return Err(AppError::failed(what).help(help));
            }
            (None, None) => break,
        }
    }
    let only = smaller.map(|smallest| (smallest, None));
    only.ok_or_else(|| AppError::failed("no canary was started"))
}
