//! What the replay backend makes of a spec: nothing is run, so a job that is written for another backend stands as it is.

use super::{BackendEntry, sagemaker};
use crate::spec::Traits;
use crate::spec::problems::{At, Located};
use crate::spec::raw::Text;
use crate::spec::read::SpecReader;
use crate::spec::rules::{LimitRule, MachineRule, RecordingRule, Rules};

pub(super) const ENTRY: BackendEntry = BackendEntry {
    traits: Traits {
        replays: true,
        ..Traits::NONE
    },
    rules: Rules {
        recording: RecordingRule::Needed,
        // A recording may be of any program's jobs.
        names_have_underscores: true,
        machines: MachineRule::Any,
        limits: LimitRule::None,
        ..Rules::ANY
    },
    // The default of the backend that the job is written for.
    max_runtime: |raw| (raw.sagemaker.image.as_ref()).and(Some(sagemaker::MAX_RUNTIME)),
    ..BackendEntry::ANY
};

impl SpecReader<'_> {
    pub(in crate::spec) fn recording(
        &mut self,
        recording: Option<Located<Text>>,
        root: &At,
    ) -> Option<String> {
        let Some(recording) = recording else {
            if self.rules().recording == RecordingRule::Needed {
                self.findings.missing(
                    root,
                    "recording",
                    "the replay backend needs `recording`",
                    Some("write `recording: runs.csv`"),
                );
            }
            return None;
        };
        match self.rules().recording {
            RecordingRule::Needed => {}
            RecordingRule::Refused => self.findings.wrong_with_help(
                &recording.at,
                format!(
                    "{} runs canaries and reads no recording",
                    self.backend_words()
                ),
                "remove the key, or choose `backend: replay`",
            ),
            RecordingRule::Ignored => self.no_effect(&recording.at),
        }
        Some(self.path(&recording))
    }
}
