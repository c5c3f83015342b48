//! What the local backend makes of a spec: its keys of `training`, and their checks.

use std::path::{Path, PathBuf};

use super::{BackendEntry, RunPlace, SagemakerTraining, Training};
use crate::spec::field::FieldRule;
use crate::spec::holds_secrets;
use crate::spec::keys::{List, mapping, names};
use crate::spec::kind::{AnyText, Refined, Text, first_problem};
use crate::spec::reader::{At, Reader, quoted, rules};

const NO_IMAGE: &str = "a local job has no image and no role";
const WRITE_COMMAND: &str = "write `command: [python3, train.py]` in their place";

/// Each is mounted for each canary.
const MOST_CACHES: usize = 20;

pub(super) const ENTRY: BackendEntry = BackendEntry {
    place: RunPlace::This,
    check,
    max_runtime: |_| None,
};

mapping! {
    /// What only the local backend understands.
    pub struct LocalTraining named "Local" {
        /// Local jobs: the command that trains, for instance `[python3, train.py]`.
        plain command: List<AnyText> as Vec<String> => FieldRule::UNCOMPARED.setting().command();
        /// Local jobs: folders of the home folder that canaries may read, for instance `["~/.cache/huggingface/hub"]`. Who starts
        /// the gate opens them by `--cache`.
        plain caches: List<CacheFolder> as Vec<String> => FieldRule::HEAD.setting();
    }
}

/// A folder of the home folder, without `~/`.
pub(in crate::spec) enum CacheFolder {}

impl Refined for CacheFolder {
    type Of = Text;
    type Value = String;

    fn refine(text: String, at: &At, reader: &mut Reader<'_>) -> Option<String> {
        let below = text.strip_prefix("~/").unwrap_or_default();
        let below = below.trim_end_matches('/');
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        let problem = first_problem! {
            !below.split('/').all(is_plain) || below.chars().any(char::is_control) =>
                "is not a folder of the home folder",
                "write `~/` and the folder of the cache, such as `~/.cache/huggingface/hub`";
            below == ".cache" =>
                "holds the caches of every program, tokens among them",
                "name a cache in it, such as `~/.cache/huggingface/hub`";
            holds_secrets(Path::new(below)) =>
                "holds secrets, which no canary gets",
                "name the folder that holds the models or the data alone";
        };
        reader.form(at, &text, problem);
        Some(below.to_owned())
    }
}

impl LocalTraining {
    /// The whole paths in the command, also in a word that is a shell's text, or behind `=`; in a text that goes to a folder, what
    /// it names from there.
    pub fn named_paths(&self) -> impl Iterator<Item = PathBuf> {
        let ends = |at: char| at.is_whitespace() || "'\"`;&|()<>=".contains(at);
        let all = self.command.iter().flat_map(move |word| {
            let (mut folder, mut follows_cd) = (PathBuf::new(), false);
            let is_word = |part: &&str| !part.is_empty() && !part.starts_with('-');
            let parts = word.split(ends).filter(is_word).map(move |part| {
                let path = folder.join(part);
                if follows_cd {
                    folder.clone_from(&path);
                }
                follows_cd = part == "cd";
                path
            });
            std::iter::once(PathBuf::from(word)).chain(parts)
        });
        all.filter(|path| path.is_absolute())
    }

    /// Which of the command's words is a script.
    pub fn script(&self) -> Option<usize> {
        self.command.iter().position(|word| is_script(word))
    }
}

/// Whether a word of a command names a script, and is no text of a shell, which may end with one.
pub(in crate::spec) fn is_script(word: &str) -> bool {
    let extension = Path::new(word).extension();
    let is_known = extension.is_some_and(|extension| extension == "py" || extension == "sh");
    is_known && !word.contains(char::is_whitespace)
}

/// What a local job must have, cannot have, or ignores.
fn check(reader: &mut Reader<'_>, keys: &Training, at: &At) {
    for key in names::<SagemakerTraining>().filter(|key| !matches!(*key, "image" | "role")) {
        reader.no_effect(&at.key(key));
    }
    let has_command = reader.is_written(&at.key("command"));
    rules! { reader, at;
        refuse "image" if reader.is_written(&at.key("image")) => NO_IMAGE, WRITE_COMMAND;
        refuse "role" if reader.is_written(&at.key("role")) => NO_IMAGE, WRITE_COMMAND;
        refuse "" if !has_command =>
            "a local job needs `command`", "write `command: [python3, train.py]`";
        refuse "distribution" if keys.distribution.is_some() =>
            "a local command starts its own launcher",
            "remove `distribution` and write `command: [torchrun, --nproc_per_node, \"2\", train.py]`";
    }
}

impl Reader<'_> {
    /// What holds of the keys whatever the backend is.
    pub(super) fn check_local_keys(&mut self, at: &At, keys: &LocalTraining) {
        let (command, caches) = (at.key("command"), at.key("caches"));
        if self.has(&command) {
            self.check_command(&command, &keys.command);
        }
        let count = keys.caches.len();
        rules! { self, caches;
            wrong "" if count > MOST_CACHES =>
                format!("{count} caches; a job has at most {MOST_CACHES}");
        }
        for (index, cache) in keys.caches.iter().enumerate() {
            let is_around = |it: &&String| Path::new(cache).starts_with(it);
            rules! { self, caches.item(index);
                refuse "" if keys.caches.iter().filter(is_around).count() > 1 =>
                    format!("{} is, or lies in, another of the caches", quoted(&format!("~/{cache}"))),
                    "name each cache once, and none in another";
            }
        }
    }

    pub(in crate::spec) fn check_command(&mut self, at: &At, command: &[String]) {
        let program = command.first().map_or("", String::as_str);
        let has_space = command.len() == 1 && program.trim().contains(char::is_whitespace);
        rules! { self, at;
            refuse "" if program.trim().is_empty() =>
                "the command names no program", "write `[python3, train.py]`";
            warn "" if has_space =>
                format!("{} is one word with a space in it, so it names one program; write each word by itself: `[python3, train.py]`", quoted(program));
        }
    }
}
