//! `actuals --run`: the full job once, here, and the last forecast beside what it really took.

use std::fmt::Write;

use jiff::Timestamp;

use crate::backend::{BackendKeys, BoxReady, Planned, Reuse, RunPart};
use crate::canary::Dataset;
use crate::cli::ActualsArguments;
use crate::console::{AppError, AppResult, Loudness, print, signals};
use crate::exit;
use crate::gate::{RunHistory, Runner, backend, batch};
use crate::history::{Command, Content};
use crate::instance::Offer;
use crate::plan::{self, Account};
use crate::report::InstanceForecast;
use crate::report::actual::ForecastAndActual;
use crate::spec::Job;
use crate::workspace::{Project, RunOrigin, changed_files};

pub(crate) async fn actuals(arguments: &ActualsArguments, loudness: Loudness) -> AppResult<u8> {
    let mut project = Project::load(&arguments.spec).await?;
    project.open_folders(&arguments.data)?;
    let jobs = changed_files::named_jobs(&arguments.jobs, &project)?;
    if !project.traits().runs_here {
        let refusal = "`actuals --run` runs the full job, which is done on this machine only";
        return Err(AppError::usage(refusal).help("choose `backend: local` for it"));
    }
    let mut interruption = signals::watch()?;
    let cancellation = interruption.cancellation.clone();
    let (whole, pass_env) = ((RunPart::Whole, Reuse::Never), &arguments.pass_env);
    let runner = Runner::open(&project, whole, pass_env, cancellation, loudness).await?;
    let origin = RunOrigin::of_environment(&project, Command::Actuals);
    let history = RunHistory::open(&project, &origin, Some(&runner.gate_run.id)).await?;
    let forecasts = async {
        let mut forecast_jobs = Vec::new();
        for job in jobs {
            forecast_jobs.push(forecast_job(&runner, job, &history).await?);
        }
        Ok::<_, AppError>(forecast_jobs)
    };
    let forecast_jobs = interruption.unless_interrupted(forecasts).await??;
    let mut text = String::new();
    let work = async {
        let mut code = 0;
        for one in &forecast_jobs {
            let full = plan::full_run(one.job, &one.dataset);
            let account = Account::without_limit();
            let ran = batch::run_one(&runner, (one.job, &*one.ready), full, &account).await;
            for actual in &ran.measurements {
                let measurement = Box::new(actual.clone());
                let content = Content::FullRun { measurement };
                history.keep(&one.job.name, &one.keys, content).await;
            }
            if let Some(error) = ran.failure {
                return Err(error);
            }
            if runner.cancellation.is_cancelled() {
                break;
            }
            for actual in &ran.measurements {
                let beside = ForecastAndActual {
                    job: one.job,
                    offer: &one.offer,
                    made_at: one.made_at,
                    forecast: &one.forecast,
                    actual,
                };
                let _ = writeln!(text, "{beside}");
                if !actual.is_completed() {
                    code = exit::FAILED;
                }
            }
        }
        Ok(code)
    };
    let code = interruption
        .unless_impatient(work, &runner.progress)
        .await?;
    print(&text)?;
    match history.take_failure() {
        Some(error) => Err(error.during("keeping the full run in the history")),
        None => Ok(code),
    }
}

/// A job, ready for its full run, and the forecast that it is held against.
struct ForecastJob<'a> {
    job: &'a Job,
    dataset: Dataset,
    ready: BoxReady<'a>,
    /// The job's instance, with its price.
    offer: Offer,
    keys: BackendKeys,
    made_at: Timestamp,
    forecast: InstanceForecast,
}

/// What the history has of a job. Runs nothing.
async fn forecast_job<'a>(
    runner: &'a Runner<'_>,
    job: &'a Job,
    history: &RunHistory,
) -> AppResult<ForecastJob<'a>> {
    history.kept.check_writable(&job.name).await?;
    let project = runner.project;
    let mut session = backend::open(&*runner.backend, project, job).await?;
    let dataset = session.list().await?.dataset;
    // No canary runs, so none is planned.
    let planned = Planned {
        dataset: &dataset,
        alternatives: &mut [],
        code: project.code_key(job)?,
        as_written: project.as_written(job),
        pools: None,
    };
    let ready = session.prepare(planned).await?;
    project.learn_host(ready.room(&job.instance).host);
    let keys = backend::keys(&*ready, project, job, &dataset).await?;
    let newest = history.newest_forecast(job, &keys).await?;
    let found = newest.and_then(|(record, forecast)| {
        let row = forecast.forecasts.into_iter().next()?;
        Some((record.recorded_at, row))
    });
    let Some((made_at, forecast)) = found else {
        return Err(AppError::usage(format!(
            "there is no forecast of job `{}` to hold a full run against: the history has none of this code and data on {}",
            job.name, job.instance
        ))
        .help(format!(
            "forecast first: `canary-gate run --all --job {}`, with the same `--spec`",
            job.name
        )));
    };
    Ok(ForecastJob {
        job,
        dataset,
        ready,
        offer: project.offer(&job.instance),
        keys,
        made_at,
        forecast,
    })
}
