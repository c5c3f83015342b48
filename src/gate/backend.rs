//! The backend that a spec chooses, made ready.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::aws::Aws;
use crate::backend::local::LocalBackend;
use crate::backend::place::Place;
use crate::backend::replay::ReplayBackend;
use crate::backend::sagemaker::{RunTags, SagemakerBackend};
use crate::backend::{Backend, BackendError, CanaryResult, Cancellation, Watcher};
use crate::canary::{CanaryRun, Dataset};
use crate::console::{AppError, say, warn};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType};
use crate::plan::{NotMeasured, Plan, PlannedRuns};
use crate::spec::{BackendKind, Job};
use crate::units::{Bytes, Fraction};
use crate::workspace::project::Project;
use crate::workspace::recorded;

/// A recording comes with a pull request and is held in memory; this is a table of some hundred thousand runs.
const LARGEST_RECORDING: Bytes = Bytes(16 << 20);

/// One of the backends that a spec can choose.
pub(crate) enum AnyBackend {
    Local(Box<LocalBackend>),
    Replay(ReplayBackend),
    Sagemaker(Box<SagemakerBackend>),
}

impl AnyBackend {
    /// The backend of the spec. `pass_env` names what a canary may see of the caller's environment; `tags` are those of this
    /// run of the gate.
    pub(crate) async fn of(
        project: &Project,
        pass_env: &[String],
        tags: RunTags,
    ) -> Result<Self, AppError> {
        let no_effect = |why: &str| {
            if !pass_env.is_empty() {
                warn("--pass-env", why);
            }
        };
        match project.spec.backend {
            BackendKind::Local => Ok(Self::Local(Box::new(local(project, pass_env)?))),
            BackendKind::Replay => {
                no_effect("has no effect: a replayed canary runs nothing");
                replay(project).map(Self::Replay)
            }
            BackendKind::Sagemaker => {
                no_effect("has no effect: a training job gets the spec's `environment`");
                let backend = sagemaker(project, tags).await?;
                Ok(Self::Sagemaker(Box::new(backend)))
            }
        }
    }

    /// Fails unless what the job runs is there, as far as the backend needs it. Reads only.
    pub(crate) fn check_source(&self, job: &Job) -> Result<(), BackendError> {
        match self {
            Self::Local(local) => local.check_source(job),
            Self::Replay(_) => Ok(()),
            Self::Sagemaker(sagemaker) => sagemaker.check_source(job),
        }
    }

    /// What can be learnt before the data are listed: whether they may be, and what machines cost today. Reads only.
    pub(crate) async fn preflight(&self, project: &Project, job: &Job) -> Result<(), BackendError> {
        let Self::Sagemaker(sagemaker) = self else {
            return Ok(());
        };
        sagemaker.check_source(job)?;
        sagemaker.check_access(job).await?;
        let configurations = std::iter::once(&job.instance).chain(&job.alternatives);
        let kinds: BTreeSet<&InstanceType> = configurations
            .flat_map(InstanceConfiguration::members)
            .map(|(kind, _)| kind)
            .filter(|kind| !project.spec.prices.contains_key(kind))
            .collect();
        project.learn_prices(sagemaker.prices(job, kinds).await);
        Ok(())
    }

    /// Makes a planned job ready to run; fails where it cannot, before anything is spent.
    pub(crate) async fn prepare(
        &self,
        project: &Project,
        job: &Job,
        dataset: &Dataset,
        plan: &mut Plan,
    ) -> Result<(), AppError> {
        self.check_supply(job, plan)?;
        let Self::Sagemaker(sagemaker) = self else {
            return Ok(());
        };
        if project.price(&job.instance).is_none() {
            return Err(BackendError::passing(
                format!(
                    "no price is known for {}, so no canary is launched",
                    job.instance
                ),
                format!(
                    "write one: `prices: {{{}: 1.20 USD/h}}`",
                    job.instance
                        .single_type()
                        .map_or("ml.m5.xlarge", InstanceType::name)
                ),
            )
            .into());
        }
        for alternative in &mut plan.alternatives {
            if alternative.runs.is_ok() && project.price(&alternative.instance).is_none() {
                alternative.runs = Err(NotMeasured::NoPrice);
            }
        }
        let code = project.code_key(job)?;
        sagemaker
            .prepare(
                job,
                project.as_written(job),
                dataset,
                code,
                &probe_program()?,
            )
            .await?;
        for alternative in &mut plan.alternatives {
            if alternative.runs.is_ok() && !sagemaker.has_quota(job, &alternative.instance) {
                alternative.runs = Err(NotMeasured::NoQuota);
            }
        }
        Ok(())
    }

    /// At the end of a run of the gate: leaves nothing of it running.
    pub(crate) async fn finish(&self, cancellation: &Cancellation) -> Result<(), BackendError> {
        match self {
            Self::Local(_) | Self::Replay(_) => Ok(()),
            Self::Sagemaker(sagemaker) => {
                let stopped = sagemaker.finish(cancellation).await?;
                if stopped > 0 {
                    say(&format!(
                        "stopped {stopped} training job{} of this run that nobody waits for",
                        if stopped == 1 { "" } else { "s" }
                    ));
                }
                Ok(())
            }
        }
    }

    /// Holds a plan against what the backend can give before anything is run: fails where it has too few runs for
    /// `instance`, and gives up alternatives that it has too few for.
    pub(crate) fn check_supply(&self, job: &Job, plan: &mut Plan) -> Result<(), BackendError> {
        let Self::Replay(replay) = self else {
            return Ok(());
        };
        let check = |instance: &InstanceConfiguration, runs: &PlannedRuns| match runs {
            PlannedRuns::Fixed(runs) => replay.check(job, runs),
            PlannedRuns::Ladder(sizes) => replay.check_ladder(job, instance, sizes),
        };
        check(&job.instance, &plan.runs)?;
        for alternative in &mut plan.alternatives {
            if let Ok(runs) = &alternative.runs
                && let Err(error) = check(&alternative.instance, runs)
            {
                say(AppError::from(error).in_a_line().as_str());
                alternative.runs = Err(NotMeasured::CouldNotRun);
            }
        }
        Ok(())
    }

    /// Whether the sizes of the listed data are real.
    pub(crate) fn knows_bytes(&self, job: &Job) -> bool {
        match self {
            Self::Local(_) | Self::Sagemaker(_) => true,
            Self::Replay(replay) => replay.knows_bytes(job),
        }
    }

    /// What a reader of the job's report should know of where its measurements come from.
    pub(crate) fn notes(&self, job: &Job) -> Vec<String> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Replay(replay) => replay.notes(job),
            Self::Sagemaker(sagemaker) => sagemaker.notes(job),
        }
    }
}

impl Backend for AnyBackend {
    async fn list(&self, job: &Job) -> Result<Dataset, BackendError> {
        match self {
            Self::Local(local) => local.list(job).await,
            Self::Replay(replay) => replay.list(job).await,
            Self::Sagemaker(sagemaker) => sagemaker.list(job).await,
        }
    }

    fn capacity(&self, kind: &InstanceType) -> Option<Capacity> {
        match self {
            Self::Local(local) => local.capacity(kind),
            Self::Replay(replay) => replay.capacity(kind),
            Self::Sagemaker(sagemaker) => sagemaker.capacity(kind),
        }
    }

    fn supply(
        &self,
        job: &Job,
        instance: &InstanceConfiguration,
        fraction: Fraction,
        work: Option<f64>,
    ) -> Option<u32> {
        match self {
            Self::Local(local) => local.supply(job, instance, fraction, work),
            Self::Replay(replay) => replay.supply(job, instance, fraction, work),
            Self::Sagemaker(sagemaker) => sagemaker.supply(job, instance, fraction, work),
        }
    }

    fn at_once(&self, job: &Job, instance: &InstanceConfiguration) -> u32 {
        match self {
            Self::Local(local) => local.at_once(job, instance),
            Self::Replay(replay) => replay.at_once(job, instance),
            Self::Sagemaker(sagemaker) => sagemaker.at_once(job, instance),
        }
    }

    fn tries_one_first(&self) -> bool {
        match self {
            Self::Local(local) => local.tries_one_first(),
            Self::Replay(replay) => replay.tries_one_first(),
            Self::Sagemaker(sagemaker) => sagemaker.tries_one_first(),
        }
    }

    async fn run(
        &self,
        job: &Job,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> Result<Option<CanaryResult>, BackendError> {
        match self {
            Self::Local(local) => local.run(job, run, watcher).await,
            Self::Replay(replay) => replay.run(job, run, watcher).await,
            Self::Sagemaker(sagemaker) => sagemaker.run(job, run, watcher).await,
        }
    }
}

/// The backend that runs canaries here, with an environment built from nothing.
pub(crate) fn local(project: &Project, pass_env: &[String]) -> Result<LocalBackend, AppError> {
    Ok(LocalBackend::new(
        place(project)?,
        own_program()?,
        crate::gate::pass_env::environment(pass_env)?,
    ))
}

/// The backend of training jobs, with AWS credentials from the usual places.
pub(crate) async fn sagemaker(
    project: &Project,
    tags: RunTags,
) -> Result<SagemakerBackend, AppError> {
    let aws = aws(project).await?;
    Ok(SagemakerBackend::new(place(project)?, tags, aws, pace()?))
}

/// AWS in the project's region; nothing is sent.
pub(crate) async fn aws(project: &Project) -> Result<Aws, AppError> {
    let region = project.region().ok_or_else(|| {
        AppError::failed("no AWS region is named")
            .help("write `region: us-east-1` into the spec, or set AWS_REGION")
    })?;
    Aws::load(&region, pace()?)
        .await
        .map_err(|error| AppError::usage(error.to_string()).help("unset it, or name an endpoint"))
}

/// What every wait for AWS is multiplied by: 1, but for tests that play AWS with a clock of their own.
pub(crate) fn pace() -> Result<f64, AppError> {
    let Some(written) = std::env::var_os("CANARY_GATE_PACE") else {
        return Ok(1.0);
    };
    written
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|pace: &f64| (0.0..=1.0).contains(pace))
        .ok_or_else(|| AppError::usage("CANARY_GATE_PACE is not a number from 0 to 1"))
}

pub(crate) fn place(project: &Project) -> Result<Place, AppError> {
    Ok(Place {
        checkout: project.root.clone(),
        spec_folder: project.folder.clone(),
        known_files: project.known_files()?.map(<[String]>::to_vec),
        state: project.state_folder(),
    })
}

/// The program that runs as the probe in a container: this one, or a static build of it for who runs another.
fn probe_program() -> Result<PathBuf, AppError> {
    match std::env::var_os("CANARY_GATE_PROBE") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => own_program(),
    }
}

fn own_program() -> Result<PathBuf, AppError> {
    std::env::current_exe().map_err(|source| {
        AppError::failed("could not find this program's own file").caused_by(source)
    })
}

/// The backend that hands out the runs of the spec's recording.
fn replay(project: &Project) -> Result<ReplayBackend, AppError> {
    let Some(written) = &project.spec.recording else {
        unreachable!("a spec with `backend: replay` has a recording");
    };
    let file = project.recording_file(written)?;
    let refused = AppError::failed(format!("recording: `{written}` cannot be read"));
    let table = recorded::read(&file, LARGEST_RECORDING, refused)?;
    Ok(ReplayBackend::new(written, table))
}
