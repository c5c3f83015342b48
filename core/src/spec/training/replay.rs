//! What the replay backend makes of a spec: nothing is run, so a job that is written for another backend stands as it is.

use super::{BackendEntry, sagemaker};
use crate::spec::Traits;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located};
use crate::spec::raw::Formed;
use crate::spec::read::{ProjectPath, SpecReader};

pub(super) const ENTRY: BackendEntry = BackendEntry {
    traits: Traits {
        replays: true,
        ..Traits::NONE
    },
    place: RunPlace::Recorded,
    // The default of the backend that the job is written for.
    max_runtime: |raw| (raw.sagemaker.image.as_ref()).and(Some(sagemaker::MAX_RUNTIME)),
    ..BackendEntry::ANY
};

impl SpecReader<'_> {
    pub(in crate::spec) fn check_recording(
        &mut self,
        recording: Option<&Located<Formed<ProjectPath>>>,
        root: &At,
    ) {
        match (recording, self.place) {
            (None, RunPlace::Recorded) => self.findings.missing(
                root,
                "recording",
                "the replay backend needs `recording`",
                Some("write `recording: runs.csv`"),
            ),
            (Some(recording), RunPlace::This) => self.findings.wrong_with_help(
                &recording.at,
                format!(
                    "{} runs canaries and reads no recording",
                    self.backend_words()
                ),
                "remove the key, or choose `backend: replay`",
            ),
            (Some(recording), RunPlace::Cloud) => self.no_effect(&recording.at),
            _ => {}
        }
    }
}
