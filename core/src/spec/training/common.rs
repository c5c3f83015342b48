//! What every backend understands of the full run.

use super::launcher::ScriptLauncher;
use super::local::{LocalKeys, LocalTraining};
use super::sagemaker::{SagemakerKeys, SagemakerTraining};
use crate::spec::backend_kind::RunPlace;
use crate::spec::field::{FieldRule, fields};
use crate::spec::problems::Located;
use crate::spec::raw::{
    AnyText, Formed, KeyedLauncher, Map, MapEntry, Plain, Quantity, RawChannel, Text, has_items,
    mapping,
};
use crate::spec::read::{Instances, ProjectPath, SpecReader, limits};
use crate::spec::{Channel, PatternError, PrintedMetric, SampledBy};
use crate::units::Seconds;

/// The way out of a pattern without a group, or with several.
const HOW_TO_CAPTURE: &str =
    "put the number in parentheses, such as `loss: ([0-9.]+)`; `(?:…)` captures nothing";

mapping! {
    /// The full run, in SageMaker's terms. A local job has `command` in place of `image` and `role`.
    pub(in crate::spec) struct RawTraining {
        /// The folder with the training code. Built-in algorithms need none; a local job without one runs in a copy of the spec's
        /// folder.
        optional source_dir: Formed<ProjectPath>,
        /// The hyperparameters, by name. The script receives each as text, as written.
        optional hyperparameters: Map<AnyText>,
        /// The environment variables of the script, by name. Write no secrets: who reads this file reads them.
        optional environment: Map<AnyText>,
        /// What starts the script's processes on each machine: torchrun or mpirun. Without it the script is one process.
        optional distribution: KeyedLauncher,
        /// The input channels, by name. Only a job with `share` or `work` needs none.
        optional channels: Map<RawChannel>,
        /// The time after which the full run is stopped. Default: 1d; locally: never.
        optional max_runtime: Quantity<Seconds>,
        /// Metrics in the log, by name: a regular expression with one capture group each, for `step_metric` and `budget.metrics`.
        optional metrics: Map<Text>,
        /// The metric whose value is the time of one training step, in seconds. With it, the time and the cost of a step are
        /// forecast.
        optional step_metric: Text,
        with local: LocalKeys,
        with sagemaker: SagemakerKeys,
    }
}

fields! {
    /// The full run: what every backend understands, and the part of each.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct Training {
        pub source_dir: Option<String> = FieldRule::HEAD.setting(),
        /// Values as text, as SageMaker hands them over; in the order of the file.
        pub hyperparameters: Vec<(String, String)> = FieldRule::UNCOMPARED.setting(),
        pub environment: Vec<(String, String)> = FieldRule::HEAD.setting().names_alone(),
        /// Absent: the script is one process on each machine.
        pub distribution: Option<ScriptLauncher> = FieldRule::named("It starts the processes of canaries and of the full run.").setting(),
        /// Names are unique. Empty only where the script draws its share, or canaries differ in their work alone.
        pub channels: Vec<Channel> = FieldRule::EACH,
        /// Absent: none locally, one day on SageMaker.
        pub max_runtime: Option<Seconds> = FieldRule::HEAD.uncounted(),
        /// Regular expressions over the log, one capture group each; those that nothing reads are in no engine's dialect.
        pub metrics: Vec<(String, String)> = FieldRule::named("What it captures is judged by a line of the budget."),
        /// The one of `metrics` that gives the seconds of a training step.
        pub step_metric: Option<PrintedMetric> = FieldRule::HEAD,
        pub local: LocalTraining = FieldRule::EACH.at(""),
        pub sagemaker: SagemakerTraining = FieldRule::EACH.at(""),
    }
}

impl SpecReader<'_> {
    pub(in crate::spec) fn training(
        &mut self,
        training: Located<RawTraining>,
        instances: Option<&Instances>,
        sampling: SampledBy,
        judged: &[String],
    ) -> Option<Training> {
        let at = training.at;
        let raw = training.value;
        let entry = super::entry_of(self.backend);
        (entry.check)(self, &raw, &at);
        let max_runtime = match &raw.max_runtime {
            Some(runtime) => Some(self.runtime(runtime)),
            None => (entry.max_runtime)(&raw),
        };
        let metrics = raw.metrics.as_ref();
        let entries = metrics.map_or(&[][..], |metrics| &metrics.value.entries);
        self.check_metrics(metrics);
        let step_metric = self.step_metric(raw.step_metric, entries);
        self.warn_of_unread_metrics(entries, step_metric.as_ref(), judged);
        let starts_script = raw.sagemaker.entry_point.is_some() && self.is_on(RunPlace::Cloud);
        self.check_local_keys(&raw.local);
        self.check_sagemaker_keys(&raw.sagemaker);
        if let Some(framework) = &raw.sagemaker.framework {
            self.check_framework(&framework.value, &framework.at, instances);
        }
        let keys = &raw.sagemaker;
        let in_vpc = has_items(keys.subnets.as_ref()) || has_items(keys.security_groups.as_ref());
        let channels = match raw.channels {
            Some(channels) => Some(self.channels(channels, instances, in_vpc, sampling)),
            None if sampling != SampledBy::Gate => Some(Vec::new()),
            None => {
                self.findings.wrong_with_help(
                    &at,
                    "the key `channels` is missing",
                    "name the data, or write `share` if the script draws its own share of it, or `work` if canaries can do less of it",
                );
                None
            }
        };
        if let (Some(output), Some(channels)) = (&keys.output, &channels) {
            self.refuse_output_among_data(output, channels);
        }
        let distribution = raw
            .distribution
            .and_then(|distribution| self.launcher(distribution, instances));
        let reserved = match (&distribution, starts_script) {
            (Some(launcher), true) => {
                limits::SCRIPT_MODE_HYPERPARAMETERS + launcher.all_hyperparameters(true).len()
            }
            (None, true) => limits::SCRIPT_MODE_HYPERPARAMETERS,
            (_, false) => 0,
        };
        if let Some(hyperparameters) = &raw.hyperparameters {
            self.check_hyperparameters(hyperparameters, reserved);
        }
        if let Some(environment) = &raw.environment {
            self.check_environment(environment);
        }
        Some(Training {
            source_dir: raw.source_dir.map(Plain::plain),
            hyperparameters: raw.hyperparameters.map_or(Vec::new(), Plain::plain),
            environment: raw.environment.map_or(Vec::new(), Plain::plain),
            distribution,
            channels: channels?,
            max_runtime,
            metrics: raw.metrics.map_or(Vec::new(), Plain::plain),
            step_metric,
            local: raw.local.into(),
            sagemaker: raw.sagemaker.into(),
        })
    }

    /// `reserved`: what starts a script beside the spec's.
    fn check_hyperparameters(&mut self, all: &Located<Map<AnyText>>, reserved: usize) {
        let count = all.value.names.len();
        let most = limits::HYPERPARAMETERS - reserved;
        if (most + 1..=limits::HYPERPARAMETERS).contains(&count) {
            let message = format!(
                "{count} hyperparameters; SageMaker takes {}, {reserved} of which start the script of `entry_point`, so at most {most}",
                limits::HYPERPARAMETERS,
            );
            self.findings.wrong(&all.at, message);
        } else {
            self.at_most_many(&all.at, "hyperparameters", count, limits::HYPERPARAMETERS);
        }
        let is_sent = self.is_on(RunPlace::Cloud);
        for entry in &all.value.entries {
            let (name, value, at) = (&entry.name, &entry.value.value.0, &entry.value.at);
            self.at_most(&name.at, "a name", &name.value, limits::HYPERPARAMETER_NAME);
            self.at_most(at, "a value", value, limits::HYPERPARAMETER_VALUE);
            if is_sent && (name.value.contains(['\n', '\r']) || value.contains(['\n', '\r'])) {
                self.findings.wrong_with_help(
                    at,
                    "holds a line end, which SageMaker refuses in hyperparameters",
                    "write it in one line, or put it into a file of `source_dir`",
                );
            }
            let length = value.chars().count();
            let promised = limits::HYPERPARAMETER_VALUE_PROMISED;
            if is_sent && (promised + 1..=limits::HYPERPARAMETER_VALUE).contains(&length) {
                let message = format!(
                    "a value of {length} characters; SageMaker promises to take {promised}"
                );
                self.findings.warn(at, message);
            }
        }
    }

    fn check_environment(&mut self, all: &Located<Map<AnyText>>) {
        let count = all.value.names.len();
        self.at_most_many(&all.at, "variables", count, limits::ENVIRONMENT);
        for entry in &all.value.entries {
            let (name, value) = (&entry.name, &entry.value);
            if !limits::is_variable_name(&name.value) {
                self.findings.wrong(
                    &name.at,
                    "a variable's name is letters, digits and underscores, no digit first",
                );
            }
            self.at_most(&name.at, "a name", &name.value, limits::ENVIRONMENT_TEXT);
            self.at_most(
                &value.at,
                "a value",
                &value.value.0,
                limits::ENVIRONMENT_TEXT,
            );
        }
    }

    fn check_metrics(&mut self, metrics: Option<&Located<Map<Text>>>) {
        let Some(metrics) = metrics else { return };
        let count = metrics.value.names.len();
        self.at_most_many(&metrics.at, "metrics", count, limits::METRICS);
        for entry in &metrics.value.entries {
            let (name, pattern, at) = (&entry.name, &entry.value.value.0, &entry.value.at);
            self.at_most(&name.at, "a name", &name.value, limits::METRIC_NAME);
            self.at_most(at, "a pattern", pattern, limits::METRIC_PATTERN);
            match limits::capture_groups(pattern) {
                Some(1) => {}
                Some(groups) => self.findings.wrong_with_help(
                    at,
                    format!("the pattern has {groups} capture groups, where 1 is needed"),
                    HOW_TO_CAPTURE,
                ),
                None => (self.findings).wrong(at, "the pattern's brackets do not match"),
            }
        }
    }

    fn step_metric(
        &mut self,
        raw: Option<Located<Text>>,
        metrics: &[MapEntry<Text>],
    ) -> Option<PrintedMetric> {
        let raw = raw?;
        let name = raw.value.0;
        let Some(metric) = metrics.iter().find(|known| known.name.value == name) else {
            let known = metrics.iter().map(|known| known.name.value.as_str());
            let otherwise = Some("name one of `metrics`");
            (self.findings).unknown(&raw.at, &name, "names no metric", known, otherwise);
            return None;
        };
        let pattern = &metric.value;
        match PrintedMetric::new(&name, &pattern.value.0) {
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
        metrics: &[MapEntry<Text>],
        step_metric: Option<&PrintedMetric>,
        judged: &[String],
    ) {
        for metric in metrics {
            let (name, pattern) = (&metric.name.value, &metric.value);
            let is_read =
                step_metric.is_some_and(|metric| metric.name() == name) || judged.contains(name);
            if !is_read {
                self.findings.warn(
                    &pattern.at,
                    "is not read: of all metrics only those that `step_metric` or `budget.metrics` names are",
                );
            }
        }
    }
}
