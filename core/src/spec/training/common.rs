//! What every backend understands of the full run.

use super::launcher::{LauncherKeys, ScriptLauncher};
use super::local::LocalTraining;
use super::sagemaker::SagemakerTraining;
use crate::spec::backend_kind::RunPlace;
use crate::spec::field::{FieldRule, fields};
use crate::spec::instances::Instances;
use crate::spec::keys::{Map, mapping};
use crate::spec::kind::{AnyText, Text};
use crate::spec::limits;
use crate::spec::paths::ProjectPath;
use crate::spec::reader::{At, Reader, rules};
use crate::spec::share::SampledBy;
use crate::spec::{Channel, PatternError, PrintedMetric};
use crate::units::Seconds;

/// The way out of a pattern without a group, or with several.
const HOW_TO_CAPTURE: &str =
    "put the number in parentheses, such as `loss: ([0-9.]+)`; `(?:…)` captures nothing";

mapping! {
    /// The full run, in SageMaker's terms. A local job has `command` in place of `image` and `role`.
    struct TrainingKeys named "Training" {
        /// The folder with the training code. Built-in algorithms need none; a local job without one runs in a copy of the spec's
        /// folder.
        optional source_dir: ProjectPath,
        /// The hyperparameters, by name. The script receives each as text, as written.
        optional hyperparameters: Map<AnyText>,
        /// The environment variables of the script, by name. Write no secrets: who reads this file reads them.
        optional environment: Map<AnyText>,
        /// What starts the script's processes on each machine: torchrun or mpirun. Without it the script is one process.
        optional distribution: LauncherKeys,
        /// The input channels, by name. Only a job with `share` or `work` needs none.
        optional channels: Map<Channel>,
        /// The time after which the full run is stopped. Default: 1d; locally: never.
        optional max_runtime: Seconds,
        /// Metrics in the log, by name: a regular expression with one capture group each, for `step_metric` and `budget.metrics`.
        optional metrics: Map<Text>,
        /// The metric whose value is the time of one training step, in seconds. With it, the time and the cost of a step are
        /// forecast.
        optional step_metric: Text,
        with local: LocalTraining,
        with sagemaker: SagemakerTraining,
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

impl Reader<'_> {
    pub(in crate::spec) fn training(
        &mut self,
        job: &At,
        keys: TrainingKeys,
        instances: Option<&Instances>,
        sampling: SampledBy,
    ) -> Option<Training> {
        let at = &job.key("training");
        let entry = super::entry_of(self.backend);
        (entry.check)(self, &keys, at);
        let max_runtime = match keys.max_runtime {
            Some(runtime) => {
                self.check_runtime(&at.key("max_runtime"), runtime);
                Some(runtime)
            }
            None => (entry.max_runtime)(&keys),
        };
        let metrics = keys.metrics.unwrap_or_default();
        let metrics_at = at.key("metrics");
        self.check_metrics(&metrics_at, &metrics);
        let step_metric = keys.step_metric.as_deref();
        let step_metric = step_metric.and_then(|name| self.step_metric(at, name, &metrics));
        for (name, _) in &metrics {
            // A metric that is written may well be meant to do something.
            let is_judged = self.is_written(&job.key("budget").key("metrics").key(name));
            let is_step = step_metric
                .as_ref()
                .is_some_and(|metric| metric.name() == name);
            if !is_judged && !is_step {
                const UNREAD: &str = "is not read: of all metrics only those that `step_metric` or `budget.metrics` names are";
                self.warn(&metrics_at.key(name), UNREAD);
            }
        }
        self.check_local_keys(at, &keys.local);
        self.check_sagemaker_keys(at, &keys.sagemaker, instances);
        let channels_at = at.key("channels");
        let channels = match keys.channels {
            Some(channels) => {
                let in_vpc = keys.sagemaker.is_in_vpc();
                Some(self.channels(&channels_at, channels, instances, in_vpc, sampling))
            }
            None if sampling != SampledBy::Gate => Some(Vec::new()),
            None if self.is_written(&channels_at) => None,
            None => {
                const HELP: &str = "name the data, or write `share` if the script draws its own share of it, or `work` if canaries can do less of it";
                self.refuse(at, "the key `channels` is missing", HELP);
                None
            }
        };
        if let (Some(output), Some(channels)) = (&keys.sagemaker.output, &channels) {
            self.refuse_output_among_data(&at.key("output"), output, channels);
        }
        let distribution_at = at.key("distribution");
        let distribution = (keys.distribution)
            .and_then(|launcher| self.launcher(&distribution_at, launcher, instances));
        let starts_script = keys.sagemaker.entry_point.is_some() && self.is_on(RunPlace::Cloud);
        let reserved = match (&distribution, starts_script) {
            (Some(launcher), true) => {
                limits::SCRIPT_MODE_HYPERPARAMETERS + launcher.all_hyperparameters(true).len()
            }
            (None, true) => limits::SCRIPT_MODE_HYPERPARAMETERS,
            (_, false) => 0,
        };
        let hyperparameters = keys.hyperparameters.unwrap_or_default();
        self.check_hyperparameters(&at.key("hyperparameters"), &hyperparameters, reserved);
        let environment = keys.environment.unwrap_or_default();
        self.check_environment(&at.key("environment"), &environment);
        Some(Training {
            source_dir: keys.source_dir,
            hyperparameters,
            environment,
            distribution,
            channels: channels?,
            max_runtime,
            metrics,
            step_metric,
            local: keys.local,
            sagemaker: keys.sagemaker,
        })
    }

    /// `reserved`: what starts a script beside the spec's.
    fn check_hyperparameters(&mut self, at: &At, all: &[(String, String)], reserved: usize) {
        let count = all.len();
        let most = limits::HYPERPARAMETERS - reserved;
        if (most + 1..=limits::HYPERPARAMETERS).contains(&count) {
            let message = format!(
                "{count} hyperparameters; SageMaker takes {}, {reserved} of which start the script of `entry_point`, so at most {most}",
                limits::HYPERPARAMETERS,
            );
            self.wrong(at, message);
        } else {
            self.too_many(at, "hyperparameters", count, limits::HYPERPARAMETERS);
        }
        let is_sent = self.is_on(RunPlace::Cloud);
        for (name, value) in all {
            let (name_at, at) = (at.name(name), at.key(name));
            self.too_long(&name_at, "a name", name, limits::HYPERPARAMETER_NAME);
            self.too_long(&at, "a value", value, limits::HYPERPARAMETER_VALUE);
            let length = value.chars().count();
            let promised = limits::HYPERPARAMETER_VALUE_PROMISED;
            let is_long = (promised + 1..=limits::HYPERPARAMETER_VALUE).contains(&length);
            rules! { self, at;
                refuse "" if is_sent && [name, value].iter().any(|text| text.contains(['\n', '\r'])) =>
                    "holds a line end, which SageMaker refuses in hyperparameters",
                    "write it in one line, or put it into a file of `source_dir`";
                warn "" if is_sent && is_long =>
                    format!("a value of {length} characters; SageMaker promises to take {promised}");
            }
        }
    }

    fn check_environment(&mut self, at: &At, all: &[(String, String)]) {
        self.too_many(at, "variables", all.len(), limits::ENVIRONMENT);
        for (name, value) in all {
            let name_at = at.name(name);
            if !limits::is_variable_name(name) {
                let message =
                    "a variable's name is letters, digits and underscores, no digit first";
                self.wrong(&name_at, message);
            }
            self.too_long(&name_at, "a name", name, limits::ENVIRONMENT_TEXT);
            self.too_long(&at.key(name), "a value", value, limits::ENVIRONMENT_TEXT);
        }
    }

    fn check_metrics(&mut self, at: &At, metrics: &[(String, String)]) {
        self.too_many(at, "metrics", metrics.len(), limits::METRICS);
        for (name, pattern) in metrics {
            self.too_long(&at.name(name), "a name", name, limits::METRIC_NAME);
            let at = at.key(name);
            self.too_long(&at, "a pattern", pattern, limits::METRIC_PATTERN);
            match limits::capture_groups(pattern) {
                Some(1) => {}
                Some(groups) => {
                    let error = PatternError::Groups(groups);
                    self.refuse(&at, error.to_string(), HOW_TO_CAPTURE);
                }
                None => self.wrong(&at, "the pattern's brackets do not match"),
            }
        }
    }

    fn step_metric(
        &mut self,
        at: &At,
        name: &str,
        metrics: &[(String, String)],
    ) -> Option<PrintedMetric> {
        let Some((_, pattern)) = metrics.iter().find(|(known, _)| known == name) else {
            let known = metrics.iter().map(|(known, _)| known.as_str());
            let otherwise = Some("name one of `metrics`");
            let at = at.key("step_metric");
            self.unknown(&at, name, "names no metric", known, otherwise);
            return None;
        };
        let pattern_at = at.key("metrics").key(name);
        match PrintedMetric::new(name, pattern) {
            Ok(metric) => Some(metric),
            // Brackets and groups were counted already, for every metric.
            Err(_) if self.is_wrong(&pattern_at) => None,
            Err(error) => {
                let help = match &error {
                    PatternError::Groups(_) => HOW_TO_CAPTURE,
                    PatternError::Syntax(_) => {
                        "the step metric is read with Rust's regular expressions, which have no look-around and no back-references"
                    }
                    PatternError::TooLarge => "repeat less often: `+` in place of `{1,1000}`",
                };
                self.refuse(&pattern_at, error.to_string(), help);
                None
            }
        }
    }
}
