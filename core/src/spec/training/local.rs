//! What the local backend makes of a spec: its keys of `training`, and their checks.

use std::path::Path;

use super::{BackendEntry, RawTraining, launcher};
use crate::spec::field::{FieldRule, fields};
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw::{AnyText, List, MappingKeys, Text, mapping};
use crate::spec::read::SpecReader;
use crate::spec::rules::{DataRule, MachineRule, ProbeRule, RecordingRule, Rules};
use crate::spec::{Traits, holds_secrets};

/// Each is mounted for each canary.
const MOST_CACHES: usize = 20;

pub(super) const ENTRY: BackendEntry = BackendEntry {
    traits: Traits {
        runs_here: true,
        ..Traits::NONE
    },
    rules: Rules {
        data: DataRule::Files,
        machines: MachineRule::This,
        recording: RecordingRule::Refused,
        probe: ProbeRule::Always,
        ..Rules::ANY
    },
    check,
    ..BackendEntry::ANY
};

mapping! {
    /// What only the local backend understands.
    pub(in crate::spec) struct LocalKeys {
        /// Local jobs: the command that trains, for instance `[python3, train.py]`.
        optional command: List<AnyText>,
        /// Local jobs: folders of the home folder that canaries may read, for instance `["~/.cache/huggingface/hub"]`. Who starts
        /// the gate opens them by `--cache`.
        optional caches: List<Text>,
    }
}

fields! {
    /// What the local backend runs.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct LocalTraining {
        /// Program and arguments; empty in a job of another backend.
        pub command: Vec<String> = FieldRule::HEAD.setting().command(),
        /// Paths below the home folder that canaries may read, without `~/`.
        pub caches: Vec<String> = FieldRule::HEAD.setting(),
    }
}

impl LocalTraining {
    /// Which of the command's words is a script.
    pub fn script(&self) -> Option<usize> {
        self.command.iter().position(|word| is_script(word))
    }
}

/// Whether a word of a command names a script.
pub(in crate::spec) fn is_script(word: &str) -> bool {
    let extension = Path::new(word).extension();
    extension.is_some_and(|extension| extension == "py" || extension == "sh")
}

/// What a local job must have, cannot have, or ignores.
fn check(reader: &mut SpecReader<'_>, raw: &RawTraining, at: &At) {
    let (image, role) = (&raw.sagemaker.image, &raw.sagemaker.role);
    let refused: Vec<&At> = [place(image), place(role)].into_iter().flatten().collect();
    for at in &refused {
        reader.findings.wrong_with_help(
            at,
            "a local job has no image and no role",
            "write `command: [python3, train.py]` in their place",
        );
    }
    if raw.local.command.is_none() {
        reader.findings.missing(
            at,
            "command",
            "a local job needs `command`",
            Some("write `command: [python3, train.py]`"),
        );
    }
    launcher::check_locally(reader, raw);
    for at in raw.sagemaker.places() {
        if !refused.contains(&at) {
            reader.no_effect(at);
        }
    }
}

fn place(field: &Option<Located<Text>>) -> Option<&At> {
    field.as_ref().map(|located| &located.at)
}

impl SpecReader<'_> {
    pub(super) fn local_training(&mut self, raw: LocalKeys) -> LocalTraining {
        let command = raw.command.and_then(|command| self.command(command));
        let caches = raw.caches.map(|caches| self.caches(caches));
        LocalTraining {
            command: command.unwrap_or_default(),
            caches: caches.unwrap_or_default(),
        }
    }

    fn caches(&mut self, caches: Located<List<Text>>) -> Vec<String> {
        let count = caches.value.0.len();
        if count > MOST_CACHES {
            let message = format!("{count} caches; a job has at most {MOST_CACHES}");
            self.findings.wrong(&caches.at, message);
        }
        let caches = caches.value.0.into_iter();
        caches
            .map(|cache| {
                let text = cache.value.0;
                let below = text.strip_prefix("~/").unwrap_or_default();
                let below = below.trim_end_matches('/');
                let is_plain = |part: &str| !matches!(part, "" | "." | "..");
                if !below.split('/').all(is_plain) || below.chars().any(char::is_control) {
                    self.findings.wrong_with_help(
                        &cache.at,
                        format!("{} is not a folder of the home folder", quoted(&text)),
                        "write `~/` and the folder of the cache, such as `~/.cache/huggingface/hub`",
                    );
                } else if below == ".cache" {
                    self.findings.wrong_with_help(
                        &cache.at,
                        format!("{} holds the caches of every program, tokens among them", quoted(&text)),
                        "name a cache in it, such as `~/.cache/huggingface/hub`",
                    );
                } else if holds_secrets(Path::new(below)) {
                    self.findings.wrong_with_help(
                        &cache.at,
                        format!("{} holds secrets, which no canary gets", quoted(&text)),
                        "name the folder that holds the models or the data alone",
                    );
                }
                below.to_owned()
            })
            .collect()
    }

    pub(in crate::spec) fn command(
        &mut self,
        command: Located<List<AnyText>>,
    ) -> Option<Vec<String>> {
        let words: Vec<String> = command
            .value
            .0
            .into_iter()
            .map(|word| word.value.0)
            .collect();
        if words
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            self.findings.wrong_with_help(
                &command.at,
                "the command names no program",
                "write `[python3, train.py]`",
            );
            return None;
        }
        if let [only] = words.as_slice()
            && only.trim().contains(char::is_whitespace)
        {
            self.findings.warn(
                &command.at,
                format!(
                    "{} is one word with a space in it, so it names one program; write each word by itself: `[python3, train.py]`",
                    quoted(only)
                ),
            );
        }
        Some(words)
    }
}
