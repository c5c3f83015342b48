//! What a SageMaker job starts: its image or algorithm, and the words in place of the image's own entry point.

use super::Training;
use crate::spec::field::FieldRule;
use crate::spec::keys::{List, mapping};
use crate::spec::kind::AnyText;
use crate::spec::limits;
use crate::spec::reader::{At, Reader, quoted, rules};

/// What another image, framework, algorithm or command means.
pub(super) const STARTED: &str = "Canaries and the full run start it.";

/// What the API takes.
const WORDS: usize = 100;
const WORD: usize = 256;

mapping! {
    /// What a container starts in place of the image's own entry point.
    pub struct ContainerWords named "Container" {
        /// The program and its first words, for instance `[python3, /opt/program/train.py]`.
        plain entrypoint: List<AnyText> as Vec<String> => FieldRule::named(STARTED).setting().command();
        /// The words behind it. Without `entrypoint` the image's own entry point gets them, in place of `train`.
        plain arguments: List<AnyText> as Vec<String> => FieldRule::named(STARTED).setting().command();
    }
}

impl ContainerWords {
    /// The whole command; `None` where its program is the image's own, which is not known here.
    pub fn command(&self) -> Option<Vec<String>> {
        let words = || self.entrypoint.iter().chain(&self.arguments).cloned();
        (!self.entrypoint.is_empty()).then(|| words().collect())
    }
}

/// The keys that contradict each other.
pub(super) fn check(reader: &mut Reader<'_>, training: &Training, at: &At) {
    let keys = &training.sagemaker;
    let (has_image, has_algorithm) = (keys.image.is_some(), keys.algorithm.is_some());
    let has_entrypoint = !keys.container.entrypoint.is_empty();
    let script = keys.entry_point.as_deref().unwrap_or_default();
    let channel = keys.source_channel.as_deref().unwrap_or_default();
    let has_channel = keys.source_channel.is_some();
    let is_data = reader.is_written(&at.key("channels").key(channel));
    let count = training.channels.len();
    rules! { reader, at;
        refuse "algorithm" if has_image && has_algorithm =>
            "an algorithm brings its own image", "remove `image`, or `algorithm`";
        refuse "framework" if keys.framework.is_some() && (has_image || has_algorithm) =>
            "a job has one image", "remove `framework`, or what stands beside it: `image`, `algorithm`";
        warn "entry_point" if keys.entry_point.is_some() && has_entrypoint =>
            "`container.entrypoint` replaces the training toolkit, which would start this script; let the entrypoint start the toolkit, or remove `entry_point`";
        refuse "source_channel" if has_channel && keys.entry_point.is_some() =>
            "the script of `entry_point` comes as an archive, which the training toolkit unpacks",
            format!("remove `source_channel`, or remove `entry_point` and write what starts the script: `container: {{entrypoint: [python3, /opt/ml/input/data/{channel}/{script}]}}`");
        refuse "source_channel" if has_channel && is_data =>
            format!("{} is a channel of data already", quoted(channel)),
            "remove it from `channels`: canaries get the files of `source_dir` on it";
        refuse "source_channel" if has_channel && count == *limits::CHANNELS.end() =>
            format!("{count} channels beside it; SageMaker takes {count} in all"),
            "put two channels under one prefix";
    }
}

impl Reader<'_> {
    pub(super) fn check_container(&mut self, at: &At, container: &ContainerWords) {
        let (entrypoint, arguments) = (at.key("entrypoint"), at.key("arguments"));
        rules! { self, at;
            refuse "" if !self.is_written(&entrypoint) && !self.is_written(&arguments) =>
                "says neither `entrypoint` nor `arguments`",
                "write what the container starts: `container: {entrypoint: [python3, /opt/program/train.py]}`";
        }
        self.check_words(&entrypoint, &container.entrypoint);
        self.check_words(&arguments, &container.arguments);
        if self.is_written(&entrypoint) {
            self.check_command(&entrypoint, &container.entrypoint);
        }
    }

    fn check_words(&mut self, at: &At, words: &[String]) {
        let help = Some("remove the key: the image's own words count then");
        self.refuse_empty(at, words, "the list is empty", help);
        self.too_many(at, "words", words.len(), WORDS);
        for (index, word) in words.iter().enumerate() {
            let at = at.item(index);
            self.too_long(&at, "a word", word, WORD);
            rules! { self, at;
                refuse "" if word.contains(limits::LINE_ENDS) =>
                    "a word holds no line end", "put the script into the image or into `source_dir`";
            }
        }
    }
}
