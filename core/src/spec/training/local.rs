//! What the local backend makes of a spec: its keys of `training`, and their checks.

use std::path::Path;

use super::{BackendEntry, RawTraining, launcher};
use crate::spec::backend_kind::RunPlace;
use crate::spec::field::{FieldRule, keys};
use crate::spec::problems::{At, Findings, Located, quoted};
use crate::spec::raw::{AnyText, FromNode, List, MappingKeys, Plain, Text, inline_schema};
use crate::spec::read::SpecReader;
use crate::spec::yaml::Node;
use crate::spec::{Traits, holds_secrets};

/// Each is mounted for each canary.
const MOST_CACHES: usize = 20;

pub(super) const ENTRY: BackendEntry = BackendEntry {
    traits: Traits {
        runs_here: true,
        ..Traits::NONE
    },
    place: RunPlace::This,
    check,
    ..BackendEntry::ANY
};

keys! {
    /// What only the local backend understands.
    pub struct LocalTraining of LocalKeys {
        /// Local jobs: the command that trains, for instance `[python3, train.py]`.
        plain command: List<AnyText> as Vec<String> => FieldRule::HEAD.setting().command();
        /// Local jobs: folders of the home folder that canaries may read, for instance `["~/.cache/huggingface/hub"]`. Who starts
        /// the gate opens them by `--cache`.
        plain caches: List<CacheFolder> as Vec<String> => FieldRule::HEAD.setting();
    }
}

/// A folder of the home folder, without `~/`.
#[derive(Debug)]
pub(in crate::spec) struct CacheFolder(String);

impl FromNode for CacheFolder {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::from_node(node, at, findings)?;
        let below = text.strip_prefix("~/").unwrap_or_default();
        let below = below.trim_end_matches('/');
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        let problem = if !below.split('/').all(is_plain) || below.chars().any(char::is_control) {
            Some((
                "is not a folder of the home folder",
                "write `~/` and the folder of the cache, such as `~/.cache/huggingface/hub`",
            ))
        } else if below == ".cache" {
            Some((
                "holds the caches of every program, tokens among them",
                "name a cache in it, such as `~/.cache/huggingface/hub`",
            ))
        } else {
            holds_secrets(Path::new(below)).then_some((
                "holds secrets, which no canary gets",
                "name the folder that holds the models or the data alone",
            ))
        };
        if let Some((problem, help)) = problem {
            findings.wrong_with_help(at, format!("{} {problem}", quoted(&text)), help);
        }
        Some(Self(below.to_owned()))
    }
}

inline_schema!(CacheFolder, "Text", { "type": "string", "minLength": 1 });

impl Plain for CacheFolder {
    type Value = String;

    fn plain(self) -> String {
        self.0
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
    let image = raw.sagemaker.image.as_ref().map(|image| &image.at);
    let role = raw.sagemaker.role.as_ref().map(|role| &role.at);
    let refused: Vec<&At> = [image, role].into_iter().flatten().collect();
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

impl SpecReader<'_> {
    /// What holds of the keys whatever the backend is.
    pub(super) fn check_local_keys(&mut self, keys: &LocalKeys) {
        if let Some(command) = &keys.command {
            self.check_command(command);
        }
        if let Some(caches) = &keys.caches {
            let count = caches.value.0.len();
            if count > MOST_CACHES {
                let message = format!("{count} caches; a job has at most {MOST_CACHES}");
                self.findings.wrong(&caches.at, message);
            }
        }
    }

    pub(in crate::spec) fn check_command(&mut self, command: &Located<List<AnyText>>) {
        let first = command.value.0.first().map(|word| word.value.0.trim());
        if first.is_none_or(str::is_empty) {
            self.findings.wrong_with_help(
                &command.at,
                "the command names no program",
                "write `[python3, train.py]`",
            );
        } else if let [only] = command.value.0.as_slice()
            && only.value.0.trim().contains(char::is_whitespace)
        {
            self.findings.warn(
                &command.at,
                format!(
                    "{} is one word with a space in it, so it names one program; write each word by itself: `[python3, train.py]`",
                    quoted(&only.value.0)
                ),
            );
        }
    }
}
