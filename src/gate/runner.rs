//! What running needs, whichever job's canaries are run.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::backend::{Backend, BackendEnd, Cancellation, Reuse, RunPart};
use crate::console::progress::Progress;
use crate::console::{AppResult, Loudness, files, printable, say};
use crate::gate::gate_run::GateRun;
use crate::gate::{backend, pass_env};
use crate::grammar::only_where;
use crate::instance::{InstanceConfiguration, Offer};
use crate::outside_error::OutsideResult;
use crate::secret::SecretMask;
use crate::spec::Job;
use crate::workspace::Project;

/// What running needs, whichever job's canaries are run.
pub(crate) struct Runner<'a> {
    pub(crate) project: &'a Project,
    /// Every measurement names it.
    pub(crate) gate_run: GateRun,
    pub(crate) part: RunPart,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) outputs: RefCell<RunOutputs>,
    pub(crate) progress: Progress,
    pub(crate) cancellation: Cancellation,
    /// What no canary's words may show.
    pub(crate) secrets: SecretMask,
    /// How many there are: of several, each line names its own.
    pub(crate) jobs: usize,
    /// Whether what it may cost has a limit beside those of the jobs.
    pub(crate) is_limited_in_dollars: bool,
}

/// What a run leaves beside its report and the history.
#[derive(Default)]
pub(crate) struct RunOutputs {
    /// Whether a job ended without its measurements, or a pool has none to be billed with.
    pub(crate) lacks_some: bool,
    /// The names of the logs of canaries that failed.
    pub(crate) logs: BTreeSet<String>,
}

impl<'a> Runner<'a> {
    /// Begins a run of the gate, for one job.
    pub(crate) async fn open(
        project: &'a Project,
        (part, reuse): (RunPart, Reuse),
        pass_env: &[String],
        cancellation: Cancellation,
        loudness: Loudness,
    ) -> AppResult<Self> {
        let gate_run = GateRun::begin(project, part)?;
        let mut tags = gate_run.tags(project, reuse, part);
        tags.cancellation = cancellation.clone();
        let backend = backend::backend_of(project, pass_env, tags).await?;
        files::make_state_folder(&project.state_folder())?;
        Ok(Self {
            gate_run,
            part,
            backend,
            outputs: RefCell::default(),
            progress: Progress::new(loudness),
            cancellation,
            secrets: pass_env::secrets(pass_env),
            jobs: 1,
            is_limited_in_dollars: false,
            project,
        })
    }

    /// Ends what was started, but for these training jobs; says what it had to stop.
    pub(crate) async fn finish(&self, kept: &BTreeSet<String>) -> OutsideResult<BackendEnd> {
        let finished = self.backend.finish(kept).await;
        if let Ok(end) = &finished
            && let Some(stopped) = &end.stopped
        {
            say(stopped);
        }
        finished
    }

    /// What machines cost canaries of a job, and count against its limits.
    pub(crate) fn offer(&self, job: &Job, instance: &InstanceConfiguration) -> Offer {
        self.project
            .canary_offer(job, instance, self.is_limited_in_dollars)
    }

    /// Says something about a job.
    pub(crate) fn say_of(&self, job: &Job, text: &str) {
        self.progress.say(&self.line_of(job, text));
    }

    pub(crate) fn line_of(&self, job: &Job, text: &str) -> String {
        let of = only_where(self.jobs > 1, || format!("{}: ", printable(&job.name)));
        format!("  {of}{text}")
    }
}
