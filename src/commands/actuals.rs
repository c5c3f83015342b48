//! `actuals --run`: the full job once, here, and the last forecast beside what it really took.

use std::cell::RefCell;
use std::fmt::Write;

use crate::backend::Backend;
use crate::cli::ActualsArguments;
use crate::console::progress::{Earlier, Progress};
use crate::console::{AppError, Loudness, print, printable, signals};
use crate::exit;
use crate::forecast::Estimate;
use crate::gate::backend;
use crate::gate::gate_run::GateRun;
use crate::gate::last_report;
use crate::gate::runner::{self, Runner};
use crate::gate::store::{OwnFile, Store};
use crate::measurement::Measurement;
use crate::plan::{self, Ledger};
use crate::report::{InstanceForecast, Report, words};
use crate::spec::{BackendKind, Job};
use crate::units::{Bytes, Percent, Seconds, Usd};
use crate::workspace::changed_files;
use crate::workspace::project::Project;
use crate::workspace::stored_report;

pub(crate) async fn actuals(
    arguments: &ActualsArguments,
    loudness: Loudness,
) -> Result<u8, AppError> {
    let project = Project::load(&arguments.spec)?;
    changed_files::check_names(&arguments.jobs, &project)?;
    let refusal = match project.spec.backend {
        BackendKind::Local => None,
        BackendKind::Replay => {
            Some("`actuals --run` runs the full job, and the replay backend runs nothing")
        }
        BackendKind::Sagemaker => {
            Some("`actuals --run` runs the full job, which is done on this machine only")
        }
    };
    if let Some(refusal) = refusal {
        return Err(AppError::usage(refusal).help("choose `backend: local` for it"));
    }
    let forecasts = last_report(&project)?;
    let jobs: Vec<&Job> = project
        .spec
        .jobs
        .iter()
        .filter(|job| arguments.jobs.is_empty() || arguments.jobs.contains(&job.name))
        .collect();
    project.refuse_not_yet(&jobs)?;
    let forecast_jobs = jobs
        .iter()
        .map(|job| Ok((*job, forecast_of(&forecasts, job)?)))
        .collect::<Result<Vec<_>, AppError>>()?;

    let gate_run = GateRun::begin(&project)?;
    let interruption = signals::watch()?;
    let cancellation = interruption.cancellation.clone();
    let mut store = Store::open(&project, OwnFile::Actuals, None)?;
    let backend = backend::local(&project, &arguments.pass_env)?;
    let progress = Progress::new(loudness);
    let mut text = format!("forecast of {:.0}\n\n", forecasts.generated_at);
    let work = async {
        let mut code = 0;
        for (job, forecast) in forecast_jobs {
            let mut runner = Runner {
                run_id: &gate_run.id,
                backend: &backend,
                store: &mut store,
                progress: &progress,
                cancellation: &cancellation,
                records: None,
            };
            let dataset = backend.list(job).await?;
            let full = plan::full_run(job, &dataset);
            let price = project.price(&job.instance);
            let ledger = RefCell::new(Ledger::without_limit());
            let (price, earlier) = (price.as_ref(), Earlier::default());
            let ran = runner::run(&mut runner, job, &[full], price, &ledger, earlier).await;
            if let Some(error) = ran.failure {
                return Err(error);
            }
            if cancellation.is_cancelled() {
                break;
            }
            for actual in &ran.measurements {
                compare(&mut text, job, forecast, actual);
                if !actual.is_completed() {
                    code = exit::FAILED;
                }
            }
        }
        Ok(code)
    };
    let code = interruption.unless_impatient(work, &progress).await?;
    store.finish()?;
    print(&text)?;
    Ok(code)
}

/// The report of the last `run` of this spec.
fn last_report(project: &Project) -> Result<Report, AppError> {
    let file = last_report::path(project);
    let advice = "forecast first: `canary-gate run --all`, with the same `--spec`";
    if !file.exists() {
        return Err(
            AppError::usage("there is no forecast to hold a full run against").help(advice),
        );
    }
    let report = stored_report::read(&file)?;
    if report.spec_hash.as_deref() != Some(project.spec.hash.as_str()) {
        return Err(
            AppError::usage("the last forecast was made from another version of the spec")
                .help(advice),
        );
    }
    Ok(report)
}

fn forecast_of<'a>(report: &'a Report, job: &Job) -> Result<&'a InstanceForecast, AppError> {
    report
        .jobs
        .iter()
        .find(|part| part.name == job.name)
        .and_then(|part| part.forecasts.first())
        .ok_or_else(|| {
            AppError::usage(format!(
                "the last run made no forecast for job `{}`",
                job.name
            ))
            .help(format!(
                "forecast first: `canary-gate run --all --job {}`",
                job.name
            ))
        })
}

/// Forecast and actual of one job, side by side.
fn compare(text: &mut String, job: &Job, forecast: &InstanceForecast, actual: &Measurement) {
    let _ = writeln!(
        text,
        "{} · full run on {}: {}",
        job.name, job.instance, actual.outcome
    );
    if let Some(line) = actual.outcome.last_line() {
        let _ = writeln!(text, "  last line  {}", printable(line));
    }
    if !actual.is_completed() {
        text.push('\n');
        return;
    }
    let usage = &actual.usage;
    let memory = usage.memory.as_ref();
    let rows: [Row<'_>; 6] = [
        (
            "time",
            &forecast.estimates.time_seconds,
            actual.training_seconds.map(|time| time.0),
            &|value| Seconds(value).to_string(),
        ),
        (
            "cost",
            &forecast.estimates.cost_usd,
            actual.cost.map(|cost| cost.0),
            &|value| Usd(value).to_string(),
        ),
        (
            "memory",
            &forecast.estimates.memory_bytes,
            memory.and_then(|memory| memory.bytes).map(Bytes::as_f64),
            &|value| Bytes::from_f64(value).to_string(),
        ),
        (
            "CPU",
            &forecast.estimates.cpu_percent,
            usage.cpu_percent.as_ref().map(|cpu| cpu.mean.0),
            &|value| Percent(value).to_string(),
        ),
        (
            "step",
            &forecast.estimates.step_seconds,
            actual.step_seconds.map(|time| time.0),
            &|value| words::Quantity::StepTime.figure(value),
        ),
        (
            "cost per step",
            &forecast.estimates.cost_per_step_usd,
            cost_per_step(actual),
            &|value| Usd(value).to_string(),
        ),
    ];
    let mut table = comfy_table::Table::new();
    table
        .force_no_tty()
        .load_style(comfy_table::presets::NOTHING)
        .set_header(["", "Forecast", "Interval", "Actual", "Actual / forecast"]);
    for (name, estimate, actual, show) in rows {
        let (Some(estimate), Some(actual)) = (estimate, actual) else {
            continue;
        };
        table.add_row([
            name.to_owned(),
            show(estimate.point),
            format!("{}–{}", show(estimate.lower), show(estimate.upper)),
            show(actual),
            format!(
                "{:.2}, {}",
                actual / estimate.point,
                place_of(estimate, actual)
            ),
        ]);
    }
    for line in table.lines() {
        let _ = writeln!(text, " {}", line.trim_end());
    }
    text.push('\n');
}

/// What a step cost at the price of the run.
fn cost_per_step(actual: &Measurement) -> Option<f64> {
    let price = actual.price.as_ref()?;
    let machines = actual.instance.total_count();
    let Usd(cost) = price.usd_per_hour.cost(actual.step_seconds?, machines);
    Some(cost)
}

/// A quantity's name, its estimate, what it really was, and how it is shown.
type Row<'a> = (
    &'a str,
    &'a Option<Estimate>,
    Option<f64>,
    &'a dyn Fn(f64) -> String,
);

fn place_of(estimate: &Estimate, actual: f64) -> &'static str {
    if actual < estimate.lower {
        "below the interval"
    } else if actual > estimate.upper {
        "above the interval"
    } else {
        "inside the interval"
    }
}
