//! The full run: what SageMaker or the local backend is asked to do.

use super::{Instances, SpecReader, limits};
use crate::spec::problems::{At, Located, near_miss, quoted};
use crate::spec::raw;
use crate::spec::{Channel, PatternError, StepMetric, Training};
use crate::units::{Bytes, Seconds};

/// The way out of a pattern without a group, or with several.
const HOW_TO_CAPTURE: &str =
    "put the number in parentheses, such as `loss: ([0-9.]+)`; `(?:…)` captures nothing";
const DEFAULT_VOLUME_GB: u32 = 30;
/// SageMaker's own default.
const DEFAULT_MAX_RUNTIME: Seconds = Seconds(86_400.0);

impl SpecReader<'_> {
    pub(super) fn training(
        &mut self,
        training: Located<raw::RawTraining>,
        instances: Option<&Instances>,
    ) -> Option<Training> {
        let at = training.at;
        let raw = training.value;
        self.check_backend_keys(&raw, &at);
        let (subnets, security_groups) = self.network(raw.subnets, raw.security_groups);
        // That one of the two is missing is complained about there.
        let in_vpc = !subnets.is_empty() || !security_groups.is_empty();
        let metrics = self.metrics(raw.metrics);
        let step_metric = self.step_metric(raw.step_metric, &metrics);
        self.warn_of_unread_metrics(&metrics, step_metric.as_ref());
        let metrics = metrics.into_iter();
        let metrics = metrics
            .map(|(name, pattern)| (name, pattern.value))
            .collect();
        let volume_gb = match raw.volume_gb {
            Some(volume) if volume.value.0 > limits::VOLUME_GB => {
                let message = format!(
                    "{} GB; a volume has at most {} GB",
                    volume.value.0,
                    limits::VOLUME_GB
                );
                self.findings.wrong(&volume.at, message);
                DEFAULT_VOLUME_GB
            }
            Some(volume) => volume.value.0,
            None => DEFAULT_VOLUME_GB,
        };
        let max_runtime = match &raw.max_runtime {
            Some(runtime) => Some(self.runtime(runtime)),
            // A replayed job keeps the default of the backend that its block is written for.
            None => (self.is_sagemaker() || self.is_replay() && raw.image.is_some())
                .then_some(DEFAULT_MAX_RUNTIME),
        };
        let spot = raw.spot.as_ref().is_some_and(|spot| spot.value);
        if let Some(written) = &raw.spot
            && spot
            && self.is_sagemaker()
            && raw.checkpoints.is_none()
        {
            self.findings.warn(
                &written.at,
                "without `checkpoints` an interrupted run starts again from nothing",
            );
        }
        let in_script_mode = raw.entry_point.is_some() && self.is_sagemaker();
        let channels = raw
            .channels
            .map(|channels| self.channels(channels, instances, in_vpc));
        if let (Some(output), Some(channels)) = (&raw.output, &channels) {
            self.refuse_output_among_data(output, channels);
        }
        Some(Training {
            command: raw.command.and_then(|command| self.command(command)),
            image: raw.image.map(|image| self.image(&image)),
            role: raw.role.map(|role| self.role(role)),
            source_dir: raw.source_dir.map(|folder| self.path(&folder)),
            entry_point: raw.entry_point.map(|script| self.script(&script)),
            hyperparameters: self.hyperparameters(raw.hyperparameters, in_script_mode),
            environment: self.environment(raw.environment),
            channels: channels?,
            output: raw.output.map(|output| self.s3_uri(&output)),
            volume: Bytes(u64::from(volume_gb) * Bytes::GIB),
            volume_kms_key: raw.volume_kms_key.map(|key| self.kms_key(key)),
            output_kms_key: raw.output_kms_key.map(|key| self.kms_key(key)),
            max_runtime,
            spot,
            checkpoints: raw.checkpoints.map(|checkpoints| self.s3_uri(&checkpoints)),
            subnets,
            security_groups,
            network_isolation: raw.network_isolation.is_some_and(|switch| switch.value),
            tags: self.tags(raw.tags),
            metrics,
            step_metric,
        })
    }

    /// What canaries write would become data of the next ones, and change what they are compared with.
    fn refuse_output_among_data(&mut self, output: &Located<raw::Text>, channels: &[Channel]) {
        let written = output.value.0.trim_end_matches('/');
        let around = channels.iter().find(|channel| {
            channel.uri.starts_with("s3://")
                && format!("{written}/").starts_with(channel.uri.as_str())
        });
        if let Some(channel) = around {
            self.findings.wrong_with_help(
                &output.at,
                format!("lies within the data of channel {}", quoted(&channel.name)),
                "write to another prefix: what canaries write would be read as data",
            );
        }
    }

    /// What the backend must have, cannot have, or does not heed. Of a replayed job nothing is run, so a block that is
    /// written for another backend stands as it is.
    fn check_backend_keys(&mut self, raw: &raw::RawTraining, at: &At) {
        fn place<T>(field: &Option<Located<T>>) -> Option<&At> {
            field.as_ref().map(|located| &located.at)
        }
        if self.is_local() {
            for at in [place(&raw.image), place(&raw.role)].into_iter().flatten() {
                self.findings.wrong_with_help(
                    at,
                    "a local job has no image and no role",
                    "write `command: [python3, train.py]` in their place",
                );
            }
            if raw.command.is_none() {
                self.findings.missing(
                    at,
                    "command",
                    "a local job needs `command`",
                    Some("write `command: [python3, train.py]`"),
                );
            }
            let unheeded = [
                place(&raw.entry_point),
                place(&raw.output),
                place(&raw.volume_gb),
                place(&raw.volume_kms_key),
                place(&raw.output_kms_key),
                place(&raw.spot),
                place(&raw.checkpoints),
                place(&raw.subnets),
                place(&raw.security_groups),
                place(&raw.network_isolation),
                place(&raw.tags),
            ];
            for at in unheeded.into_iter().flatten() {
                self.no_effect(at);
            }
        }
        if self.is_sagemaker() {
            if let Some(command) = &raw.command {
                self.findings.wrong_with_help(
                    &command.at,
                    "a SageMaker job starts its image, not a command",
                    "write `source_dir` and `entry_point`, or choose `backend: local`",
                );
            }
            let needed = [
                (raw.image.is_none(), "image"),
                (raw.role.is_none(), "role"),
                (raw.output.is_none(), "output"),
            ];
            for (_, key) in needed.into_iter().filter(|(missing, _)| *missing) {
                let message = format!("a SageMaker job needs `{key}`");
                self.findings.missing(at, key, &message, None);
            }
            if let (Some(folder), None) = (&raw.source_dir, &raw.entry_point) {
                self.findings.warn(
                    &folder.at,
                    "without `entry_point` the image must know which script to start",
                );
            }
        }
    }

    pub(super) fn command(
        &mut self,
        command: Located<raw::List<raw::AnyText>>,
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

    fn image(&mut self, image: &Located<raw::Text>) -> String {
        let text = &image.value.0;
        self.at_most(&image.at, "an image name", text, limits::IMAGE);
        if text.contains(char::is_whitespace) {
            self.findings
                .wrong(&image.at, "an image name holds no spaces");
        }
        text.clone()
    }

    fn role(&mut self, role: Located<raw::Text>) -> String {
        let text = role.value.0;
        if !limits::is_role(&text) {
            self.findings.wrong_with_help(
                &role.at,
                format!("{} is not the ARN of a role", quoted(&text)),
                "write `arn:aws:iam::123456789012:role/Name`",
            );
        }
        text
    }

    fn kms_key(&mut self, key: Located<raw::Text>) -> String {
        let text = key.value.0;
        if !limits::is_kms_key(&text) {
            self.findings.wrong_with_help(
                &key.at,
                format!("{} is not a key", quoted(&text)),
                "write the key's id, ARN or alias",
            );
        }
        text
    }

    fn hyperparameters(
        &mut self,
        raw: Option<Located<raw::Map<raw::AnyText>>>,
        in_script_mode: bool,
    ) -> Vec<(String, String)> {
        let Some(raw) = raw else { return Vec::new() };
        let count = raw.value.names.len();
        let most = limits::HYPERPARAMETERS - limits::SCRIPT_MODE_HYPERPARAMETERS;
        if in_script_mode && (most + 1..=limits::HYPERPARAMETERS).contains(&count) {
            let message = format!(
                "{count} hyperparameters; SageMaker takes {}, {} of which start the script of `entry_point`, so at most {most}",
                limits::HYPERPARAMETERS,
                limits::SCRIPT_MODE_HYPERPARAMETERS,
            );
            self.findings.wrong(&raw.at, message);
        } else {
            self.at_most_many(&raw.at, "hyperparameters", count, limits::HYPERPARAMETERS);
        }
        let entries = raw.value.entries.into_iter();
        entries
            .map(|entry| {
                let (name, value) = (entry.name.value, entry.value.value.0);
                self.at_most(&entry.name.at, "a name", &name, limits::HYPERPARAMETER_NAME);
                self.at_most(
                    &entry.value.at,
                    "a value",
                    &value,
                    limits::HYPERPARAMETER_VALUE,
                );
                let length = value.chars().count();
                if (limits::HYPERPARAMETER_VALUE_PROMISED + 1..=limits::HYPERPARAMETER_VALUE)
                    .contains(&length)
                    && self.is_sagemaker()
                {
                    self.findings.warn(
                        &entry.value.at,
                        format!(
                            "a value of {length} characters; SageMaker promises to take {}",
                            limits::HYPERPARAMETER_VALUE_PROMISED
                        ),
                    );
                }
                (name, value)
            })
            .collect()
    }

    fn environment(
        &mut self,
        raw: Option<Located<raw::Map<raw::AnyText>>>,
    ) -> Vec<(String, String)> {
        let Some(raw) = raw else { return Vec::new() };
        let count = raw.value.names.len();
        self.at_most_many(&raw.at, "variables", count, limits::ENVIRONMENT);
        let entries = raw.value.entries.into_iter();
        entries
            .map(|entry| {
                let (name, value) = (entry.name.value, entry.value.value.0);
                if !limits::is_variable_name(&name) {
                    self.findings.wrong(
                        &entry.name.at,
                        "a variable's name is letters, digits and underscores, no digit first",
                    );
                }
                self.at_most(&entry.name.at, "a name", &name, limits::ENVIRONMENT_TEXT);
                self.at_most(&entry.value.at, "a value", &value, limits::ENVIRONMENT_TEXT);
                (name, value)
            })
            .collect()
    }

    fn tags(&mut self, raw: Option<Located<raw::Map<raw::AnyText>>>) -> Vec<(String, String)> {
        let Some(raw) = raw else { return Vec::new() };
        let count = raw.value.names.len();
        if count > limits::TAGS {
            self.findings.wrong(
                &raw.at,
                format!(
                    "{count} tags; SageMaker takes 50, four of which canary-gate sets itself, so at most {}",
                    limits::TAGS
                ),
            );
        }
        let entries = raw.value.entries.into_iter();
        entries
            .map(|entry| {
                let (name, value) = (entry.name.value, entry.value.value.0);
                self.at_most(&entry.name.at, "a key", &name, limits::TAG_NAME);
                self.at_most(&entry.value.at, "a value", &value, limits::TAG_VALUE);
                for (text, at) in [(&name, &entry.name.at), (&value, &entry.value.at)] {
                    if !limits::is_tag_text(text) {
                        self.findings.wrong(
                            at,
                            "a tag holds letters, digits, spaces and `_.:/=+-@` only",
                        );
                    }
                }
                let lower = name.to_lowercase();
                if lower.starts_with("aws:") || lower.starts_with("canary-gate:") {
                    let owner = if lower.starts_with("aws:") {
                        "AWS"
                    } else {
                        "canary-gate"
                    };
                    self.findings.wrong(
                        &entry.name.at,
                        format!("tags of this form are set by {owner} alone"),
                    );
                }
                (name, value)
            })
            .collect()
    }

    fn metrics(
        &mut self,
        raw: Option<Located<raw::Map<raw::Text>>>,
    ) -> Vec<(String, Located<String>)> {
        let Some(raw) = raw else { return Vec::new() };
        let count = raw.value.names.len();
        self.at_most_many(&raw.at, "metrics", count, limits::METRICS);
        let entries = raw.value.entries.into_iter();
        entries
            .map(|entry| {
                let (name, pattern) = (entry.name.value, entry.value.value.0);
                let at = &entry.value.at;
                self.at_most(&entry.name.at, "a name", &name, limits::METRIC_NAME);
                self.at_most(at, "a pattern", &pattern, limits::METRIC_PATTERN);
                match limits::capture_groups(&pattern) {
                    Some(1) => {}
                    Some(groups) => self.findings.wrong_with_help(
                        at,
                        format!("the pattern has {groups} capture groups, where 1 is needed"),
                        HOW_TO_CAPTURE,
                    ),
                    None => self
                        .findings
                        .wrong(at, "the pattern's brackets do not match"),
                }
                let at = entry.value.at;
                (name, Located { value: pattern, at })
            })
            .collect()
    }

    fn step_metric(
        &mut self,
        raw: Option<Located<raw::Text>>,
        metrics: &[(String, Located<String>)],
    ) -> Option<StepMetric> {
        let raw = raw?;
        let name = raw.value.0;
        let Some((_, pattern)) = metrics.iter().find(|(known, _)| *known == name) else {
            let known = metrics.iter().map(|(name, _)| name.as_str());
            let help = match near_miss(&name, known) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => "name one of `metrics`".to_owned(),
            };
            let message = format!("{} names no metric", quoted(&name));
            self.findings.wrong_with_help(&raw.at, message, help);
            return None;
        };
        match StepMetric::new(&name, &pattern.value) {
            Ok(metric) => Some(metric),
            // Brackets and groups were counted already, for every metric.
            Err(_) if self.findings.is_known(&pattern.at.path) => None,
            Err(error) => {
                let help = match &error {
                    PatternError::Groups(_) => HOW_TO_CAPTURE,
                    PatternError::Syntax(_) => {
                        "the step metric is read with Rust's regular expressions, which have no look-around and no back-references"
                    }
                    PatternError::TooLarge => "repeat less often: `+` in place of `{1,1000}`",
                };
                self.findings
                    .wrong_with_help(&pattern.at, error.to_string(), help);
                None
            }
        }
    }

    /// A metric that is written may well be meant to do something.
    fn warn_of_unread_metrics(
        &mut self,
        metrics: &[(String, Located<String>)],
        step_metric: Option<&StepMetric>,
    ) {
        for (name, pattern) in metrics {
            if step_metric.is_none_or(|metric| metric.name() != name) {
                self.findings.warn(
                    &pattern.at,
                    "is not read: of all metrics only the one that `step_metric` names is",
                );
            }
        }
    }

    fn network(
        &mut self,
        subnets: Option<Located<raw::List<raw::Text>>>,
        security_groups: Option<Located<raw::List<raw::Text>>>,
    ) -> (Vec<String>, Vec<String>) {
        let place = subnets
            .as_ref()
            .or(security_groups.as_ref())
            .map(|list| list.at.clone());
        let subnets = self.ids(subnets, "subnets", "subnet-", limits::SUBNETS);
        let groups = self.ids(
            security_groups,
            "security groups",
            "sg-",
            limits::SECURITY_GROUPS,
        );
        if let Some(at) = place
            && subnets.is_empty() != groups.is_empty()
        {
            self.findings.wrong(
                &at,
                "`subnets` and `security_groups` belong together: give both or neither",
            );
        }
        (subnets, groups)
    }

    fn ids(
        &mut self,
        list: Option<Located<raw::List<raw::Text>>>,
        what: &str,
        prefix: &str,
        limit: usize,
    ) -> Vec<String> {
        let Some(list) = list else { return Vec::new() };
        self.at_most_many(&list.at, what, list.value.0.len(), limit);
        let ids = list.value.0.into_iter();
        ids.map(|id| {
            let text = id.value.0;
            if !limits::is_id(&text, prefix) {
                self.findings.wrong_with_help(
                    &id.at,
                    format!("{} is not one of {what}", quoted(&text)),
                    format!("write an id such as `{prefix}0a1b2c3d`"),
                );
            }
            text
        })
        .collect()
    }
}
