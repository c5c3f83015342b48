//! The backend that a spec chooses, made ready.

use crate::backend::local::{LocalBackend, Place};
use crate::backend::replay::ReplayBackend;
use crate::backend::{Backend, BackendError, CanaryResult, Cancellation};
use crate::canary::{CanaryRun, Dataset};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType};
use crate::plan::{NotMeasured, Plan};
use crate::spec::{BackendKind, Job};
use crate::units::{Bytes, Fraction};

use super::project::Project;
use super::{AppError, canaries, recorded, say, warn};

/// A recording comes with a pull request and is held in memory; this is a table of some hundred thousand runs.
const LARGEST_RECORDING: Bytes = Bytes(16 << 20);

/// One of the backends that a spec can choose.
pub(super) enum AnyBackend {
    Local(Box<LocalBackend>),
    Replay(ReplayBackend),
}

impl AnyBackend {
    /// The backend of the spec. `pass_env` names what a canary may see of the caller's environment.
    pub(super) fn of(project: &Project, pass_env: &[String]) -> Result<Self, AppError> {
        match project.spec.backend {
            BackendKind::Local => Ok(Self::Local(Box::new(local(project, pass_env)?))),
            BackendKind::Replay => {
                if !pass_env.is_empty() {
                    warn(
                        "--pass-env",
                        "has no effect: a replayed canary runs nothing",
                    );
                }
                replay(project).map(Self::Replay)
            }
            BackendKind::Sagemaker => Err(project.backend_not_yet()),
        }
    }

    /// Fails unless what the job runs is there, as far as the backend needs it. Reads only.
    pub(super) fn check_source(&self, job: &Job) -> Result<(), BackendError> {
        match self {
            Self::Local(local) => local.check_source(job),
            Self::Replay(_) => Ok(()),
        }
    }

    /// Holds a plan against what the backend can give before anything is run: fails where it has too few runs for
    /// `instance`, and gives up alternatives that it has too few for.
    pub(super) fn check_supply(&self, job: &Job, plan: &mut Plan) -> Result<(), BackendError> {
        let Self::Replay(replay) = self else {
            return Ok(());
        };
        let is_adaptive = plan.is_adaptive;
        let check = |runs: &[CanaryRun]| {
            if is_adaptive {
                replay.check_ladder(job, runs)
            } else {
                replay.check(job, runs)
            }
        };
        check(&plan.runs)?;
        for alternative in &mut plan.alternatives {
            if let Ok(runs) = &alternative.runs
                && let Err(error) = check(runs)
            {
                say(AppError::from(error).in_a_line().as_str());
                alternative.runs = Err(NotMeasured::CouldNotRun);
            }
        }
        Ok(())
    }

    /// Whether the sizes of the listed data are real.
    pub(super) fn knows_bytes(&self, job: &Job) -> bool {
        match self {
            Self::Local(_) => true,
            Self::Replay(replay) => replay.knows_bytes(job),
        }
    }

    /// What a reader of the job's report should know of where its measurements come from.
    pub(super) fn notes(&self, job: &Job) -> Vec<String> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Replay(replay) => replay.notes(job),
        }
    }
}

impl Backend for AnyBackend {
    async fn list(&self, job: &Job) -> Result<Dataset, BackendError> {
        match self {
            Self::Local(local) => local.list(job).await,
            Self::Replay(replay) => replay.list(job).await,
        }
    }

    fn capacity(&self, kind: &InstanceType) -> Option<Capacity> {
        match self {
            Self::Local(local) => local.capacity(kind),
            Self::Replay(replay) => replay.capacity(kind),
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
        }
    }

    async fn run(
        &self,
        job: &Job,
        run: &CanaryRun,
        cancellation: &Cancellation,
    ) -> Result<CanaryResult, BackendError> {
        match self {
            Self::Local(local) => local.run(job, run, cancellation).await,
            Self::Replay(replay) => replay.run(job, run, cancellation).await,
        }
    }
}

/// The backend that runs canaries here, with an environment built from nothing.
pub(super) fn local(project: &Project, pass_env: &[String]) -> Result<LocalBackend, AppError> {
    let program = std::env::current_exe().map_err(|source| {
        AppError::failed("could not find this program's own file").caused_by(source)
    })?;
    Ok(LocalBackend::new(
        Place {
            checkout: project.root.clone(),
            spec_folder: project.folder.clone(),
            known_files: project.known_files()?.map(<[String]>::to_vec),
            state: project.state_folder(),
        },
        program,
        canaries::environment(pass_env)?,
    ))
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
