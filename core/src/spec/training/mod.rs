//! **Training**: the full run, and what each backend makes of it.
//!
//! `common` holds what every backend understands. Each backend with keys of its own has a file with them, their checks and its
//! [`RunPlace`]; this file is the register of them, the one place in the spec that asks which backend is meant.

mod common;
mod framework;
mod launcher;
mod local;
mod program;
mod sagemaker;

pub use common::Training;
pub(super) use framework::regions;
pub use framework::{Framework, NoImage};
pub use launcher::ScriptLauncher;
pub use local::LocalTraining;
pub use program::ContainerWords;
pub use sagemaker::SagemakerTraining;

pub(super) use local::is_script;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Words as _;
use super::kind::words;
use super::reader::{At, Reader, rules};
use crate::units::Seconds;

words! {
    /// Where canaries run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[derive(derive_more::Display)]
    #[display("{}", self.word())]
    pub enum BackendKind {
        "sagemaker" Sagemaker,
        #[default]
        "local" Local,
        "replay" Replay,
    }
}

/// Where a backend runs canaries: what differs in a spec from backend to backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::spec) enum RunPlace {
    /// This machine, as of `local`: all canaries share it and read its files.
    This,
    /// SageMaker's instance types, with its limits; data lie in S3 or in a file system of AWS.
    Cloud,
    /// Nowhere: recorded runs stand for them, of any program's jobs.
    Recorded,
    /// The backend could not be read: nothing that depends on it is checked.
    Unknown,
}

/// What the program asks of a backend before one is made.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// A service runs the canaries. `validate`, which calls none, therefore opens no job. Canaries go on when the gate is gone, so a
    /// run keeps an id by which they are found and swept. No canary is launched on machines without a price. A job without
    /// `source_dir` runs the code that its image holds.
    pub is_remote: bool,
    /// Canaries are processes of this machine: they see its environment, and run the code as it lies here.
    pub runs_here: bool,
    /// Recorded runs are handed out. Nothing is run, so nothing is kept for later runs either.
    pub replays: bool,
}

impl BackendKind {
    /// The register: what the spec knows of each backend.
    fn entry(self) -> &'static BackendEntry {
        match self {
            Self::Sagemaker => &sagemaker::ENTRY,
            Self::Local => &local::ENTRY,
            Self::Replay => &REPLAY,
        }
    }

    /// What the program asks of a backend before one is made.
    pub fn traits(self) -> Traits {
        let place = self.place();
        Traits {
            is_remote: place == RunPlace::Cloud,
            runs_here: place == RunPlace::This,
            replays: place == RunPlace::Recorded,
        }
    }

    /// Where it runs canaries.
    pub(super) fn place(self) -> RunPlace {
        self.entry().place
    }
}

/// All that the spec knows of a backend.
struct BackendEntry {
    place: RunPlace,
    /// Checks the keys of `training` that the backend must have, cannot have or ignores.
    check: fn(&mut Reader<'_>, &Training, &At),
    /// The default of `training.max_runtime`.
    max_runtime: fn(&Training) -> Option<Seconds>,
}

/// Nothing is run, so a job that is written for another backend stands as it is.
const REPLAY: BackendEntry = BackendEntry {
    place: RunPlace::Recorded,
    check: |_, _, _| {},
    // The default of the backend that the job is written for.
    max_runtime: |keys| (keys.sagemaker.image.as_ref()).and(Some(sagemaker::MAX_RUNTIME)),
};

impl Reader<'_> {
    pub(in crate::spec) fn check_recording(&mut self) {
        let at = At::ROOT.key("recording");
        let (has, place) = (self.is_written(&at), self.place());
        rules! { self, At::ROOT;
            refuse "" if !has && place == RunPlace::Recorded =>
                "the replay backend needs `recording`", "write `recording: runs.jsonl`";
            refuse "recording" if has && place == RunPlace::This =>
                format!("{} runs canaries and reads no recording", self.backend_words()),
                "remove the key, or choose `backend: replay`";
        }
        if place == RunPlace::Cloud {
            self.no_effect(&at);
        }
    }
}
