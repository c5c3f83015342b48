//! `actuals --run`: the full job once, here, and the last forecast beside what it really took.

use std::cell::{Cell, RefCell};
use std::fmt::Write;

use jiff::Timestamp;

use crate::backend::RunPart;
use crate::backend::sagemaker::RunTags;
use crate::backend::{Backend, Cancellation, Ready};
use crate::canary::Dataset;
use crate::cli::ActualsArguments;
use crate::console::progress::{Earlier, Progress};
use crate::console::{AppError, Loudness, files, print, signals};
use crate::exit;
use crate::gate::account::Accounted;
use crate::gate::backend;
use crate::gate::failure_logs::FailureLogs;
use crate::gate::gate_run::GateRun;
use crate::gate::job_keys::JobKeys;
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::pass_env;
use crate::gate::run_history::RunHistory;
use crate::gate::runner::{self, Ran, Runner, RunningConfiguration, RunningJob};
use crate::history::record::Command;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::plan::{self, Account, KeptMachines};
use crate::report::InstanceForecast;
use crate::report::actual::ForecastAndActual;
use crate::secret::SecretMask;
use crate::spec::Job;
use crate::workspace::changed_files;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;

pub(crate) async fn actuals(
    arguments: &ActualsArguments,
    loudness: Loudness,
) -> Result<u8, AppError> {
    let mut project = Project::load(&arguments.spec)?;
    project.open_folders(&arguments.data)?;
    let jobs = changed_files::named_jobs(&arguments.jobs, &project)?;
    let traits = project.traits();
    if !traits.runs_here {
        let refusal = match traits.replays {
            true => "`actuals --run` runs the full job, and the replay backend runs nothing",
            false => "`actuals --run` runs the full job, which is done on this machine only",
        };
        return Err(AppError::usage(refusal).help("choose `backend: local` for it"));
    }
    let gate_run = GateRun::begin(&project, RunPart::Whole)?;
    let origin = RunOrigin::of_environment(&project, Command::Actuals);
    let history = RunHistory::open(&project, &origin, Some(&gate_run.id)).await?;
    let pass_env = arguments.pass_env.as_slice();
    let backend = backend::backend_of(&project, pass_env, RunTags::of_nobody()).await?;
    let mut forecast_jobs = Vec::new();
    for job in jobs {
        forecast_jobs.push(forecast_job(&project, job, &*backend, &history, pass_env).await?);
    }

    let interruption = signals::watch()?;
    let cancellation = &interruption.cancellation.clone();
    files::make_state_folder(&project.state_folder())?;
    let progress = Progress::new(loudness);
    let logs = FailureLogs::of(&project);
    let mut text = String::new();
    let work = async {
        let mut code = 0;
        for one in &forecast_jobs {
            let ran = one.run(&gate_run.id, &progress, &logs, cancellation).await;
            for actual in &ran.measurements {
                history.keep_full_run(&one.keys, actual).await;
            }
            if let Some(error) = ran.failure {
                return Err(error);
            }
            if cancellation.is_cancelled() {
                break;
            }
            for actual in &ran.measurements {
                let _ = writeln!(text, "{}", one.beside(actual));
                if !actual.is_completed() {
                    code = exit::FAILED;
                }
            }
        }
        Ok(code)
    };
    let code = interruption.unless_impatient(work, &progress).await?;
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
    ready: Box<dyn Ready + 'a>,
    /// The job's instance, with its price.
    offer: Offer,
    keys: JobKeys,
    /// What the words of the full run may not show.
    secrets: SecretMask,
    made_at: Timestamp,
    forecast: InstanceForecast,
}

impl ForecastJob<'_> {
    async fn run(
        &self,
        run_id: &str,
        progress: &Progress,
        logs: &FailureLogs,
        cancellation: &Cancellation,
    ) -> Ran {
        let runner = Runner {
            run_id,
            is_resumed: false,
            held: &Accounted::default(),
            file: &RefCell::new(MeasurementsFile::Nowhere),
            progress,
            cancellation,
            secrets: &self.secrets,
            jobs: 1,
            logs,
            room: None,
        };
        let full = [plan::full_run(self.job, &self.dataset)];
        let (account, is_wanted) = (Account::without_limit(), Cell::new(true));
        let of = RunningConfiguration {
            of: RunningJob {
                job: self.job,
                place: 0,
                ready: &*self.ready,
                records: None,
            },
            place: 0,
            offer: &self.offer,
            account: &account,
            kept: &KeptMachines::default(),
            is_wanted: &is_wanted,
        };
        let earlier = Earlier::default();
        runner::run(&runner, of, &full, earlier, &|_, _| {}).await
    }

    fn beside<'a>(&'a self, actual: &'a Measurement) -> ForecastAndActual<'a> {
        ForecastAndActual {
            job: self.job,
            offer: &self.offer,
            made_at: self.made_at,
            forecast: &self.forecast,
            actual,
        }
    }
}

/// What the history has of a job. Runs nothing.
async fn forecast_job<'a>(
    project: &'a Project,
    job: &'a Job,
    backend: &'a dyn Backend,
    history: &RunHistory,
    pass_env: &[String],
) -> Result<ForecastJob<'a>, AppError> {
    history.look_up(&job.name).await?;
    history.check_writable(&job.name).await?;
    let mut session = backend::open(backend, project, job).await?;
    let dataset = session.list().await?.dataset;
    let planned = backend::planned(project, job, &dataset, &mut [], None)?;
    let ready = session.prepare(planned).await?;
    let keys = JobKeys::of(ready.keys(&dataset).await?, pass_env);
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
    let offer = project.offer(&job.instance, &|kind| ready.capacity(kind));
    Ok(ForecastJob {
        job,
        dataset,
        ready,
        offer,
        keys,
        secrets: pass_env::secrets(pass_env),
        made_at,
        forecast,
    })
}
