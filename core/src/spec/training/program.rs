//! What a SageMaker job starts, and from where: its image or algorithm, the words in place of the image's own entry point, and
//! the registry of the image.

use super::RawTraining;
use crate::spec::field::{FieldRule, keys};
use crate::spec::problems::{Located, quoted};
use crate::spec::raw::{AnyText, List, Plain, Text};
use crate::spec::read::{SpecReader, limits};

/// What another image, framework, algorithm or command means.
pub(super) const STARTED: &str = "Canaries and the full run start it.";

/// What the API takes.
const WORDS: usize = 100;
const WORD: usize = 256;
/// As `registry_credentials`: the registry in the VPC asks for none.
pub const NO_CREDENTIALS: &str = "none";

keys! {
    /// What a container starts in place of the image's own entry point.
    pub struct ContainerWords of RawContainer {
        /// The program and its first words, for instance `[python3, /opt/program/train.py]`.
        plain entrypoint: List<AnyText> as Vec<String> => FieldRule::named(STARTED).setting().command();
        /// The words behind it. Without `entrypoint` the image's own entry point gets them, in place of `train`.
        plain arguments: List<AnyText> as Vec<String> => FieldRule::named(STARTED).setting().command();
    }
}

impl Plain for RawContainer {
    type Value = ContainerWords;

    fn plain(self) -> ContainerWords {
        self.into()
    }
}

impl ContainerWords {
    pub fn is_empty(&self) -> bool {
        self.entrypoint.is_empty() && self.arguments.is_empty()
    }

    /// The whole command; `None` where its program is the image's own, which is not known here.
    pub fn command(&self) -> Option<Vec<String>> {
        let words = || self.entrypoint.iter().chain(&self.arguments).cloned();
        (!self.entrypoint.is_empty()).then(|| words().collect())
    }
}

/// The keys that contradict each other.
pub(super) fn check(reader: &mut SpecReader<'_>, raw: &RawTraining) {
    let keys = &raw.sagemaker;
    if let (Some(_), Some(algorithm)) = (&keys.image, &keys.algorithm) {
        reader.findings.wrong_with_help(
            &algorithm.at,
            "an algorithm brings its own image",
            "remove `image`, or `algorithm`",
        );
    }
    if let Some(framework) = &keys.framework
        && (keys.image.is_some() || keys.algorithm.is_some())
    {
        reader.findings.wrong_with_help(
            &framework.at,
            "a job has one image",
            "remove `framework`, or what stands beside it: `image`, `algorithm`",
        );
    }
    if let (Some(container), Some(entry_point)) = (&keys.container, &keys.entry_point)
        && container.value.entrypoint.is_some()
    {
        reader.findings.warn(
            &entry_point.at,
            "`container.entrypoint` replaces the training toolkit, which would start this script; let the entrypoint start the toolkit, or remove `entry_point`",
        );
    }
    check_registry(reader, raw);
    let Some(channel) = &keys.source_channel else {
        return;
    };
    if let Some(entry_point) = &keys.entry_point {
        reader.findings.wrong_with_help(
            &channel.at,
            "the script of `entry_point` comes as an archive, which the training toolkit unpacks",
            format!(
                "remove `source_channel`, or remove `entry_point` and write what starts the script: `container: {{entrypoint: [python3, /opt/ml/input/data/{}/{}]}}`",
                channel.value.text, entry_point.value.text
            ),
        );
    }
    let channels = raw.channels.as_ref().map(|channels| &channels.value.names);
    if channels.is_some_and(|names| names.contains(&channel.value.text)) {
        reader.findings.wrong_with_help(
            &channel.at,
            format!(
                "{} is a channel of data already",
                quoted(&channel.value.text)
            ),
            "remove it from `channels`: canaries get the files of `source_dir` on it",
        );
    }
    let count = channels.map_or(0, Vec::len);
    if count == *limits::CHANNELS.end() {
        reader.findings.wrong_with_help(
            &channel.at,
            format!("{count} channels beside it; SageMaker takes {count} in all"),
            "put two channels under one prefix",
        );
    }
}

/// A registry of one's own is reached through a VPC, and ECR needs none of this.
fn check_registry(reader: &mut SpecReader<'_>, raw: &RawTraining) {
    let keys = &raw.sagemaker;
    let Some(registry) = &keys.registry_credentials else {
        return;
    };
    let in_ecr = |image: &Located<Text>| limits::region_of_image(&image.value.0).is_some();
    match &keys.image {
        None => reader.findings.wrong_with_help(
            &registry.at,
            "only an `image` comes from a registry of one's own",
            "write `image`, or remove the key",
        ),
        Some(image) if in_ecr(image) => reader.findings.wrong_with_help(
            &registry.at,
            "the image is in Amazon ECR, which the role reads",
            "remove the key",
        ),
        Some(_) => {}
    }
    if keys.subnets.is_none() && keys.security_groups.is_none() {
        reader.findings.wrong_with_help(
            &registry.at,
            "SageMaker reaches a registry of one's own through a VPC",
            "write `subnets` and `security_groups` under `training`",
        );
    }
}

impl SpecReader<'_> {
    pub(super) fn check_container(&mut self, raw: &Located<RawContainer>) {
        let RawContainer {
            entrypoint,
            arguments,
        } = &raw.value;
        if entrypoint.is_none() && arguments.is_none() {
            self.findings.wrong_with_help(
                &raw.at,
                "says neither `entrypoint` nor `arguments`",
                "write what the container starts: `container: {entrypoint: [python3, /opt/program/train.py]}`",
            );
        }
        for list in [entrypoint, arguments].into_iter().flatten() {
            self.check_words(list);
        }
        if let Some(entrypoint) = entrypoint {
            self.check_command(entrypoint);
        }
    }

    fn check_words(&mut self, words: &Located<List<AnyText>>) {
        if self.is_empty(words) {
            self.findings.wrong_with_help(
                &words.at,
                "the list is empty",
                "remove the key: the image's own words count then",
            );
        }
        self.at_most_many(&words.at, "words", words.value.0.len(), WORDS);
        for word in &words.value.0 {
            self.at_most(&word.at, "a word", &word.value.0, WORD);
            if word.value.0.contains(['\n', '\r']) {
                self.findings.wrong_with_help(
                    &word.at,
                    "a word holds no line end",
                    "put the script into the image or into `source_dir`",
                );
            }
        }
    }
}
