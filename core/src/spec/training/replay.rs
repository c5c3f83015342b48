//! What the replay backend makes of a spec: nothing is run, so a job that is written for another backend stands as it is.

use super::{BackendEntry, sagemaker};
use crate::spec::Traits;
use crate::spec::backend_kind::RunPlace;
use crate::spec::reader::{At, Reader};

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
        match (self.has(&at), self.place()) {
            (false, RunPlace::Recorded) => self.missing(
                &At::ROOT,
                "recording",
                "the replay backend needs `recording`",
                Some("write `recording: runs.csv`"),
            ),
            (true, RunPlace::This) => {
                let backend = self.backend_words();
                self.refuse(
                    &at,
                    format!("{backend} runs canaries and reads no recording"),
                    "remove the key, or choose `backend: replay`",
                );
            }
            (true, RunPlace::Cloud) => self.no_effect(&at),
            _ => {}
        }
    }
}
