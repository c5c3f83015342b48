//! One canary of one job, the smallest: whether the training code runs at all. Nothing of it is kept, and nothing is left running.

use std::collections::BTreeSet;

use crate::backend::{Reuse, RunPart};
use crate::console::signals::{self, unless_cancelled};
use crate::console::{AppError, AppResult, Loudness, printable, say};
use crate::gate::{Runner, backend, batch};
use crate::measurement::Measurement;
use crate::plan::{self, Account, Alternatives, KnownBefore, Limit, PlannedRuns};
use crate::spec::Job;
use crate::units::Usd;
use crate::workspace::Project;

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
) -> AppResult<Measurement> {
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
        finished.map_err(|error| AppError::from(error).during("stopping what was started"))?;
        Ok(measured)
    };
    interruption.unless_impatient(work, &runner.progress).await
}

async fn measure(job: &Job, max_spend: Option<Usd>, runner: &Runner<'_>) -> AppResult<Measurement> {
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
    let run = match plan.runs() {
        PlannedRuns::Fixed(runs) => runs[0].clone(),
        PlannedRuns::Ladder(sizes) => {
            let (base, limit) = (&plan.own().base, job.canary.max_runtime);
            plan::canary(job, &listed.dataset, base, &sizes[0], &[], limit)
        }
    };
    let preparing = backend::prepare(session, project, job, &listed.dataset, &mut plan);
    let ready = unless_cancelled(preparing, &runner.cancellation).await??;
    let offer = runner.offer(job, &run.instance);
    let worst = plan::worst_case(std::slice::from_ref(&run), &offer);
    let limit = run.max_runtime.unwrap_or(job.canary.max_runtime);
    let price = worst.map_or_else(String::new, |worst| {
        let takes = match offer.counts_time() {
            true => "takes",
            false => "costs",
        };
        format!(" and {takes} at most {}", offer.counted(worst))
    });
    runner.progress.say(&format!(
        "one canary of {}: {} ({}) on {}; it is stopped after {limit}{price}",
        printable(&job.name),
        printable(&run.label()),
        run.bytes,
        run.instance,
    ));
    let run_account = Account::new(max_spend, Limit::Run);
    let spend_limit = Some(job.canary.spend_limit);
    let account = Account::below(Some(&run_account), spend_limit, Limit::Job);
    let ran = batch::run_one(runner, (job, &*ready), run, &account).await;
    if let Some(measurement) = ran.measurements.into_iter().next() {
        return Ok(measurement);
    }
    match ran.failure {
        Some(error) => Err(error.during("running the canary")),
        None if ran.too_expensive > 0 => Err(AppError::failed(format!(
            "the smallest canary of job `{}` may take {}, which is above its limit",
            job.name,
            worst.map_or_else(|| "more".to_owned(), |worst| offer.counted(worst)),
        ))
        .help(match offer.counts_time() {
            true => "raise `canary.max_seconds`, or lower `canary.max_runtime`",
            false => "raise `canary.spend_limit` or `--max-spend`, or lower `canary.max_runtime`",
        })),
        None => Err(AppError::failed("no canary was started")),
    }
}
