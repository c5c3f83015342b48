//! What a SageMaker job starts, and from where: its image or algorithm, the words in place of the image's own entry point, and
//! the registry of the image.

use super::RawTraining;
use crate::spec::field::{FieldRule, FieldValue, fields};
use crate::spec::problems::{Located, quoted};
use crate::spec::raw::{AnyText, Count, List, Text, mapping};
use crate::spec::read::{SpecReader, limits};

/// What another image, framework, algorithm or command means.
pub(super) const STARTED: &str = "Canaries and the full run start it.";

/// What the API takes.
const WORDS: usize = 100;
const WORD: usize = 256;
const RETRIES: u32 = 30;
const ALGORITHM: usize = 170;
const ARN: usize = 2048;
/// A registry in the VPC that asks for no credentials.
const NO_CREDENTIALS: &str = "none";

mapping! {
    /// What a container starts in place of the image's own entry point.
    pub(in crate::spec) struct RawContainer {
        /// The program and its first words, for instance `[python3, /opt/program/train.py]`.
        optional entrypoint: List<AnyText>,
        /// The words behind it. Without `entrypoint` the image's own entry point gets them, in place of `train`.
        optional arguments: List<AnyText>,
    }
}

fields! {
    /// What a container starts in place of the image's own entry point. One of the two may be empty.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct ContainerWords {
        pub entrypoint: Vec<String> = FieldRule::named(STARTED).setting().command(),
        pub arguments: Vec<String> = FieldRule::named(STARTED).setting().command(),
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

/// How an image is had from a registry in the VPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryCredentials {
    /// The registry asks for none.
    NotNeeded,
    /// The ARN of the Lambda function that gives them.
    Function(String),
}

impl FieldValue for RegistryCredentials {
    fn said(&self) -> String {
        self.to_string()
    }
}

impl std::fmt::Display for RegistryCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotNeeded => NO_CREDENTIALS,
            Self::Function(arn) => arn,
        })
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
                channel.value.0, entry_point.value.0
            ),
        );
    }
    let channels = raw.channels.as_ref().map(|channels| &channels.value.names);
    if channels.is_some_and(|names| names.contains(&channel.value.0)) {
        reader.findings.wrong_with_help(
            &channel.at,
            format!("{} is a channel of data already", quoted(&channel.value.0)),
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
    pub(super) fn container(&mut self, raw: Option<Located<RawContainer>>) -> ContainerWords {
        let Some(raw) = raw else {
            return ContainerWords::default();
        };
        let RawContainer {
            entrypoint,
            arguments,
        } = raw.value;
        if entrypoint.is_none() && arguments.is_none() {
            self.findings.wrong_with_help(
                &raw.at,
                "says neither `entrypoint` nor `arguments`",
                "write what the container starts: `container: {entrypoint: [python3, /opt/program/train.py]}`",
            );
        }
        for list in [&entrypoint, &arguments].into_iter().flatten() {
            self.check_words(list);
        }
        let arguments = arguments.map_or_else(Vec::new, |words| words.value.0);
        ContainerWords {
            entrypoint: entrypoint
                .and_then(|words| self.command(words))
                .unwrap_or_default(),
            arguments: arguments.into_iter().map(|word| word.value.0).collect(),
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

    /// A name, or an ARN.
    pub(super) fn algorithm(&mut self, algorithm: &Located<Text>) -> String {
        let text = &algorithm.value.0;
        let name = match text.rsplit_once('/') {
            Some((arn, name)) if arn.starts_with("arn:aws") && arn.contains(":sagemaker:") => name,
            _ => text,
        };
        if !limits::is_job_name(name) || text.len() > ALGORITHM {
            self.findings.wrong_with_help(
                &algorithm.at,
                format!("{} is not an algorithm", quoted(text)),
                "write its name, or `arn:aws:sagemaker:us-east-1:123456789012:algorithm/name`",
            );
        }
        text.clone()
    }

    pub(super) fn registry_credentials(&mut self, raw: &Located<Text>) -> RegistryCredentials {
        let text = &raw.value.0;
        if text == NO_CREDENTIALS {
            return RegistryCredentials::NotNeeded;
        }
        let parts: Vec<&str> = text.splitn(7, ':').collect();
        let is_function = matches!(parts.as_slice(), ["arn", _, "lambda", _, account, "function", name]
            if limits::is_account(account) && !name.is_empty());
        if !is_function || text.len() > ARN {
            self.findings.wrong_with_help(
                &raw.at,
                format!("{} is not the ARN of a Lambda function", quoted(text)),
                "write `arn:aws:lambda:us-east-1:123456789012:function:name`, or `none` where the registry asks for no credentials",
            );
        }
        RegistryCredentials::Function(text.clone())
    }

    pub(super) fn retries(&mut self, retries: &Located<Count>) -> u32 {
        let count = retries.value.0;
        if count > RETRIES {
            self.findings.wrong(
                &retries.at,
                format!("{count} retries; SageMaker takes at most {RETRIES}"),
            );
        }
        count
    }

    pub(super) fn training_plan(&mut self, plan: &Located<Text>) -> String {
        let text = &plan.value.0;
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let is_plan = matches!(parts.as_slice(), ["arn", partition, "sagemaker", _, account, resource]
            if partition.starts_with("aws")
                && limits::is_account(account)
                && resource.strip_prefix("training-plan/").is_some_and(|name| !name.is_empty()));
        if !is_plan || text.len() > ARN {
            self.findings.wrong_with_help(
                &plan.at,
                format!("{} is not the ARN of a training plan", quoted(text)),
                "write `arn:aws:sagemaker:us-east-1:123456789012:training-plan/name`",
            );
        }
        text.clone()
    }

    pub(super) fn source_channel(&mut self, channel: &Located<Text>) -> String {
        if !limits::is_channel_name(&channel.value.0) {
            self.findings.wrong(
                &channel.at,
                "a channel's name is 1 to 64 letters, digits, dots, hyphens and underscores",
            );
        }
        channel.value.0.clone()
    }
}
