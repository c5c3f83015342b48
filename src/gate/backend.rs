//! The backends, and how the gate opens and prepares a job with the one that a spec chooses.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::aws::Aws;
use crate::aws::role::{self, AssumedRole};
use crate::backend::local::{self, LocalBackend};
use crate::backend::project_paths::ProjectPaths;
use crate::backend::replay::ReplayBackend;
use crate::backend::sagemaker::{self, RunTags, SagemakerBackend};
use crate::backend::{Backend, BackendKeys, BoxReady, BoxSession, Planned, Ready, Session};
use crate::canary::Dataset;
use crate::console::{AppError, AppResult, StepResult, files, say, warn};
use crate::gate::pass_env;
use crate::github::{ForgeError, ForgeErrorKind, IdTokenService};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::plan::{NotMeasured, Plan};
use crate::spec::{BackendKind, Job};
use crate::units::Bytes;
use crate::workspace::environment::pace;
use crate::workspace::{Project, recorded};

/// A recording comes with a pull request and is held in memory; this is a table of some hundred thousand runs.
const LARGEST_RECORDING: Bytes = Bytes(16 << 20);

/// The backend of the spec. `pass_env` names what a canary may see of the caller's environment; `tags` are those of this
/// run of the gate.
pub(crate) async fn backend_of(
    project: &Project,
    pass_env: &[String],
    tags: RunTags,
) -> AppResult<Box<dyn Backend>> {
    if !project.traits().runs_here && !pass_env.is_empty() {
        let why = "has no effect: only canaries on this machine get the caller's variables";
        warn("--pass-env", why);
    }
    Ok(match project.spec.backend {
        BackendKind::Local => Box::new(LocalBackend::new(
            project_paths(project)?,
            own_program()?,
            pass_env::environment(pass_env)?,
            pass_env::secrets(pass_env),
        )),
        BackendKind::Replay => Box::new(replay_backend(project)?),
        BackendKind::Sagemaker => Box::new(sagemaker_backend(project, tags).await?),
    })
}

/// `Err` in it unless what a job runs is there, as far as the backend needs it. Asks no service, and needs none to be set up.
pub(crate) fn check_source(project: &Project, job: &Job) -> AppResult<OutsideResult<()>> {
    let paths = project_paths(project)?;
    Ok(match project.spec.backend {
        BackendKind::Local => local::check_source(&paths, job),
        BackendKind::Replay => Ok(()),
        BackendKind::Sagemaker => sagemaker::check_source(&paths, job),
    })
}

/// Opens a job, and keeps what its machines cost today. Reads only.
pub(crate) async fn open<'a>(
    backend: &'a dyn Backend,
    project: &Project,
    job: &'a Job,
) -> OutsideResult<BoxSession<'a>> {
    // Where git cannot list files, what asks for them next says so.
    if project.traits().runs_here
        && let Some(path) = project.sparse_data(job).ok().flatten()
    {
        return Err(OutsideError::of(format!(
            "jobs.{}.training.channels: {} is data of the full run that this sparse checkout leaves out",
            job.name,
            path.display()
        ))
        .help("check it out: `git sparse-checkout add` with its folder, or `git sparse-checkout disable`"));
    }
    let mut session = backend.open(job).await?;
    let kinds: BTreeSet<&InstanceType> = (job.configurations())
        .flat_map(InstanceConfiguration::members)
        .map(|(kind, _)| kind)
        .filter(|kind| !project.spec.prices.on_demand.contains_key(kind))
        .collect();
    project.learn_prices(session.prices(&kinds).await);
    Ok(session)
}

/// Holds a plan against what the backend can give; says why it gives up alternatives.
pub(crate) fn check_supply(session: &dyn Session<'_>, plan: &mut Plan) -> OutsideResult<()> {
    for error in session.check_supply(plan)? {
        say(AppError::from(error).in_a_line().as_str());
    }
    Ok(())
}

/// Makes a planned job ready to run; fails where it cannot, before anything is spent.
pub(crate) async fn prepare<'a>(
    session: BoxSession<'a>,
    project: &'a Project,
    job: &'a Job,
    dataset: &Dataset,
    plan: &mut Plan,
) -> AppResult<BoxReady<'a>> {
    check_supply(&*session, plan)?;
    check_prices(project, job, plan)?;
    let planned = Planned {
        dataset,
        alternatives: &mut plan.all[1..],
        code: project.code_key(job)?,
        as_written: project.as_written(job),
        pools: plan.pools.as_ref(),
    };
    let ready = session.prepare(planned).await?;
    project.learn_host(ready.room(&job.instance).host);
    Ok(ready)
}

/// The keys of a ready job, with that of its code by git where the backend knows none.
pub(crate) async fn keys(
    ready: &dyn Ready,
    project: &Project,
    job: &Job,
    dataset: &Dataset,
) -> AppResult<BackendKeys> {
    let mut keys = ready.keys(dataset).await?;
    if keys.code.is_none() {
        keys.code = project.code_key(job)?;
    }
    Ok(keys)
}

/// Fails without a price for `instance` or machine time in its place; gives up alternatives without either. On this machine canaries
/// need no price, but machine time that nothing would hold is refused here too.
pub(crate) fn check_prices(project: &Project, job: &Job, plan: &mut Plan) -> OutsideResult<()> {
    if !project.traits().is_remote && job.canary.max_seconds.is_none() {
        return Ok(());
    }
    let offer = project.offer(&job.instance);
    if let Some(unpriced) = offer.unpriced()
        && !plan.own().offer.counts_time()
    {
        let mut members = offer.members.iter();
        let kind = members.find(|member| member.price.is_none());
        let written = project.as_written(job).canary.max_seconds;
        return Err(OutsideError::transient(format!("no price is known for {unpriced}, so no canary is launched")).help(format!(
                "write one: `prices: {{{}: 1.20 USD/h}}`, or read those that AWS publishes: `canary-gate prices update`; or {}",
                kind.map_or("ml.m5.xlarge", |kind| kind.instance_type.name()),
                match (job.canary.max_seconds, written) {
                    (Some(_), _) =>
                        "leave out --max-spend and --max-spend-per-pull-request, which no machine time can keep",
                    (None, Some(_)) =>
                        "merge `canary.max_seconds` first, for that of the base branch counts",
                    (None, None) =>
                        "limit the machine time of canaries: `canary: {max_seconds: 30m}`",
                }
            )));
    }
    for alternative in &mut plan.all[1..] {
        let offer = &alternative.offer;
        if alternative.runs.is_ok() && offer.unpriced().is_some() && !offer.counts_time() {
            alternative.runs = Err(NotMeasured::NoPrice);
        }
    }
    Ok(())
}

/// The backend of training jobs, with AWS credentials from the usual places.
pub(crate) async fn sagemaker_backend(
    project: &Project,
    tags: RunTags,
) -> AppResult<SagemakerBackend> {
    let aws = aws(project).await?;
    let program = probe_program()?;
    let paths = project_paths(project)?;
    Ok(SagemakerBackend::new(paths, tags, program, aws, pace()?))
}

/// AWS in the project's region; nothing is sent.
pub(crate) async fn aws(project: &Project) -> AppResult<Aws> {
    let region = project.region().ok_or_else(|| {
        AppError::failed("no AWS region is named")
            .help("write `region: us-east-1` into the spec, or set AWS_REGION")
    })?;
    Aws::load(&region, pace()?, role(project)?)
        .await
        .map_err(|error| AppError::usage(error.what).help(error.help))
}

/// The role that the program assumes itself, where who started it names one.
fn role(project: &Project) -> AppResult<Option<AssumedRole>> {
    let Some(arn) = project.role_to_assume.clone() else {
        return Ok(None);
    };
    let variable = |name: &str| std::env::var(name).ok();
    let service = IdTokenService::of(&variable, pace()?);
    let service = service.map_err(|error| without_token(&arn, &error))?;
    let run = variable("GITHUB_RUN_ID").filter(|run| run.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(Some(AssumedRole {
        arn: arn.clone(),
        session: format!("canary-gate-{}", run.as_deref().unwrap_or("run")),
        token: Arc::new(move || {
            let (service, arn) = (service.clone(), arn.clone());
            Box::pin(async move {
                let token = service.token(role::AUDIENCE).await;
                let token = token.map_err(|error| without_token(&arn, &error))?;
                Ok(token.expose().to_owned())
            })
        }),
    }))
}

/// Why a role could not be assumed that GitHub gave no token for.
fn without_token(arn: &str, error: &ForgeError) -> OutsideError {
    let what = format!("no credentials of {arn}: {error}");
    match error.kind == ForgeErrorKind::Passing {
        true => OutsideError::transient(what).help(error.help()),
        false => OutsideError::of(what).help(error.help()),
    }
}

fn project_paths(project: &Project) -> AppResult<ProjectPaths> {
    Ok(ProjectPaths {
        checkout: project.root.clone(),
        spec_folder: project.folder.clone(),
        code: project.code()?.of_jobs.clone(),
        state: project.state_folder(),
        history: history_folder(project),
        data_roots: project.data_roots.clone(),
        caches: project.caches.clone(),
        home: std::env::var_os("HOME").map(PathBuf::from),
    })
}

/// Where the history lies, all links resolved in the part that exists; `None` in S3.
fn history_folder(project: &Project) -> Option<PathBuf> {
    let written = project.spec.history.as_deref()?;
    if written.starts_with("s3:") {
        return None;
    }
    let plain: PathBuf = project.place_of(written).components().collect();
    files::resolve_as_far_as_there(&plain).ok()
}

/// The program that runs as the probe in a container: this one, or a static build of it for who runs another.
fn probe_program() -> AppResult<PathBuf> {
    match std::env::var_os("CANARY_GATE_PROBE") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => own_program(),
    }
}

fn own_program() -> AppResult<PathBuf> {
    std::env::current_exe().or_fail(|| AppError::failed("could not find this program's own file"))
}

/// The backend that hands out the runs of the spec's recording.
fn replay_backend(project: &Project) -> AppResult<ReplayBackend> {
    let Some(written) = &project.spec.recording else {
        unreachable!("a spec with `backend: replay` has a recording");
    };
    let file = project.recording_file(written)?;
    let refused = || AppError::failed(format!("recording: `{written}` cannot be read"));
    let table = recorded::read(&file, LARGEST_RECORDING, refused)?;
    Ok(ReplayBackend::new(written, table))
}
