//! What the replay backend makes of a spec: nothing is run, so a job that is written for another backend stands as it is.

use super::{BackendEntry, sagemaker};
use crate::spec::Traits;
use crate::spec::backend_kind::RunPlace;
use crate::spec::reader::{At, Reader, rules};

pub(super) const ENTRY: BackendEntry = BackendEntry {
    traits: Traits {
        replays: true,
        ..Traits::NONE
    },
    place: RunPlace::Recorded,
    // The default of the backend that the job is written for.
    max_runtime: |keys| (keys.sagemaker.image.as_ref()).and(Some(sagemaker::MAX_RUNTIME)),
    ..BackendEntry::ANY
};

impl Reader<'_> {
    pub(in crate::spec) fn check_recording(&mut self) {
        let at = At::ROOT.key("recording");
        let (has, place) = (self.is_written(&at), self.place());
        rules! { self, At::ROOT;
            refuse "" if !has && place == RunPlace::Recorded =>
                "the replay backend needs `recording`", "write `recording: runs.csv`";
            refuse "recording" if has && place == RunPlace::This =>
                format!("{} runs canaries and reads no recording", self.backend_words()),
                "remove the key, or choose `backend: replay`";
            no_effect "recording" if has && place == RunPlace::Cloud =>;
        }
    }
}
