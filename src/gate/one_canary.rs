//! One canary of one job, the smallest: whether the training code runs at all. Nothing of it is kept, and nothing is left running.

use std::cell::{Cell, RefCell};

use crate::backend::sagemaker::ReusePolicy;
use crate::backend::{Backend, RunPart};
use crate::canary::{CanaryRun, Dataset};
use crate::console::files;
use crate::console::progress::{Earlier, Progress};
use crate::console::signals::{Interruption, unless_cancelled};
use crate::console::{AppError, Loudness, printable, say};
use crate::gate::account::Accounted;
use crate::gate::backend;
use crate::gate::ended_pools;
use crate::gate::failure_logs::FailureLogs;
use crate::gate::gate_run::GateRun;
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::pass_env;
use crate::gate::runner::{self, Runner, RunningConfiguration, RunningJob};
use crate::instance::{InstanceConfiguration, tables};
use crate::measurement::Measurement;
use crate::plan::{self, Account, Alternatives, KeptMachines, Limit, Plan, PlannedRuns};
use crate::spec::Job;
use crate::units::Usd;
use crate::workspace::project::Project;

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
    interruption: Interruption,
    loudness: Loudness,
) -> Result<Measurement, AppError> {
    let gate_run = GateRun::begin(project, RunPart::Whole)?;
    let run_id = gate_run.id.clone();
    let tags = gate_run.tags(ReusePolicy::Own, RunPart::Whole);
    let backend = backend::backend_of(project, pass_env, tags).await?;
    files::make_state_folder(&project.state_folder())?;
    let file = RefCell::new(MeasurementsFile::open(None, &project.root)?);
    let cancellation = interruption.cancellation.clone();
    let progress = Progress::new(loudness);
    let secrets = pass_env::secrets(pass_env);
    let logs = FailureLogs::of(project);
    let runner = Runner {
        run_id: &run_id,
        is_resumed: gate_run.is_resumed,
        held: &Accounted::default(),
        file: &file,
        progress: &progress,
        cancellation: &cancellation,
        secrets: &secrets,
        logs: &logs,
        jobs: 1,
        room: None,
    };
    let work = async {
        let measured = measure(project, job, max_spend, &*backend, &runner).await;
        // Whatever came of it, nothing of it goes on.
        let finished = backend.finish(&cancellation).await;
        // What a killed gate was billed the next check shows.
        let is_new = !gate_run.is_resumed;
        if is_new && finished.as_ref().is_ok_and(|end| !end.may_keep_machines) {
            gate_run.end();
        }
        match (&measured, &finished) {
            (_, Ok(end)) => {
                if let Some(stopped) = &end.stopped {
                    say(stopped);
                }
            }
            // The other error ends the command; what may go on is named all the same.
            (Err(_), Err(error)) => say(&printable(&error.what)),
            (Ok(_), Err(_)) => {}
        }
        let measured = measured.map_err(|error| error.without(&secrets))?;
        finished.map_err(|error| AppError::from(error).during("stopping what was started"))?;
        Ok(measured)
    };
    interruption.unless_impatient(work, &progress).await
}

async fn measure(
    project: &Project,
    job: &Job,
    max_spend: Option<Usd>,
    backend: &dyn Backend,
    runner: &Runner<'_>,
) -> Result<Measurement, AppError> {
    let look = async {
        let mut session = backend::open(backend, project, job).await?;
        let listed = session.list().await?;
        Ok::<_, AppError>((session, listed))
    };
    let (session, listed) = unless_cancelled(look, runner.cancellation).await??;
    let offer_of = |instance: &_| project.offer(instance, &tables::capacity);
    let mut plan = plan::plan(job, &listed.dataset, &offer_of, Alternatives::Skip)?;
    // No machine is kept for a next one.
    plan.pools = None;
    let run = smallest(job, &plan, &listed.dataset);
    let preparing = backend::prepare(session, project, job, &listed.dataset, &mut plan);
    let ready = unless_cancelled(preparing, runner.cancellation).await??;
    let offer = project.offer(&run.instance, &|kind| ready.capacity(kind));
    let worst = plan::worst_case(std::slice::from_ref(&run), &offer);
    let limit = run.max_runtime.unwrap_or(job.canary.max_runtime);
    let price = worst.map_or_else(String::new, |worst| format!(" and costs at most {worst}"));
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
    let kept = KeptMachines::default();
    let is_wanted = Cell::new(true);
    let of = RunningConfiguration {
        of: RunningJob {
            job,
            place: 0,
            ready: &*ready,
            records: None,
        },
        place: 0,
        offer: &offer,
        account: &account,
        kept: &kept,
        is_wanted: &is_wanted,
    };
    let ran = runner::run(runner, of, &[run], Earlier::default(), &|_, _| {}).await;
    let ended = ready.end_pools(runner.cancellation).await;
    let offer_of =
        |instance: &InstanceConfiguration| project.offer(instance, &|kind| ready.capacity(kind));
    ended_pools::bill(&ended, &account, &kept, &offer_of);
    let mut measurements = ran.measurements;
    // It says itself which pool may still be billed.
    ended_pools::settle(&ended, &mut measurements, &kept, &offer_of, runner);
    if let Some(measurement) = measurements.into_iter().next() {
        return Ok(measurement);
    }
    match ran.failure {
        Some(error) => Err(error.during("running the canary")),
        None if ran.too_expensive > 0 => Err(AppError::failed(format!(
            "the smallest canary of job `{}` may cost {}, which is above its limit",
            job.name,
            worst.map_or_else(|| "more".to_owned(), |worst| worst.to_string()),
        ))
        .help("raise `canary.spend_limit` or `--max-spend`, or lower `canary.max_runtime`")),
        None => Err(AppError::failed("no canary was started")),
    }
}

/// The first canary that a run of the gate would start.
fn smallest(job: &Job, plan: &Plan, dataset: &Dataset) -> CanaryRun {
    match &plan.runs {
        PlannedRuns::Fixed(runs) => runs[0].clone(),
        PlannedRuns::Ladder(sizes) => plan::canary(
            job,
            dataset,
            &plan.base,
            &sizes[0],
            &[],
            job.canary.max_runtime,
        ),
    }
}
