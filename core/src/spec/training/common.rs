//! What every backend understands of the full run.

use std::path::Path;

use super::launcher::ScriptLauncher;
use super::local::LocalTraining;
use super::sagemaker::SagemakerTraining;
use crate::spec::channel::Channels;
use crate::spec::field::FieldRule;
use crate::spec::keys::{List, Map, mapping};
use crate::spec::kind::{AnyText, Text};
use crate::spec::paths::ProjectPath;
use crate::spec::reader::{At, Reader, quoted, rules};
use crate::spec::share::SampledBy;
use crate::spec::{BackendKind, Channel, PatternError, PrintedMetric, RunPlace, limits};
use crate::units::Seconds;

/// The way out of a pattern without a group, or with several.
const HOW_TO_CAPTURE: &str =
    "put the number in parentheses, such as `loss: ([0-9.]+)`; `(?:…)` captures nothing";

/// The way out of a name without a pattern.
const HOW_TO_NAME: &str = "write it under `training.metrics` with its regular expression, such as `tokens_per_second: 'tok/s: ([0-9.]+)'`";

mapping! {
    /// The full run, in SageMaker's terms. A local job has `command` in place of `image` and `role`.
    pub struct Training named "Training" {
        /// The folder with the training code. Built-in algorithms need none; a local job without one runs in a copy of the spec's
        /// folder.
        optional source_dir: ProjectPath as String => FieldRule::HEAD.setting();
        /// More files and folders of code, laid beside those of `source_dir` as SageMaker's SDK does.
        plain dependencies: List<ProjectPath> as Vec<String> => FieldRule::HEAD.setting();
        /// The hyperparameters, by name. The script receives each as text, as written.
        plain hyperparameters: Map<AnyText> as Vec<(String, String)> => FieldRule::UNCOMPARED.setting();
        /// The environment variables of the script, by name. Write no secrets: who reads this file reads them.
        plain environment: Map<AnyText> as Vec<(String, String)> => FieldRule::HEAD.setting().names_alone();
        /// On SageMaker: what starts the script's processes on each machine, torchrun or mpirun. Without it the script is one process.
        optional distribution: ScriptLauncher =>
            FieldRule::named("It starts the processes of canaries and of the full run.").setting();
        /// The input channels, by name. Only a job with `share` or `work` needs none.
        plain channels: Channels as Vec<Channel> => FieldRule::EACH;
        /// The full run is stopped after this time. Default: 1d; locally: never.
        optional max_runtime: Seconds =>
            FieldRule::named("It limits the time where no line of the budget does.").uncounted();
        /// Metrics in the log, by name: a regular expression with one capture group each, for `step_metric` and `budget.metrics`.
        plain metrics: Map<Text> as Vec<(String, String)> =>
            FieldRule::named("A line of the budget may be judged by what it captures.");
        /// The metric that holds the seconds of a training step; a step is forecast from it.
        optional step_metric: Text as String => FieldRule::BASE;
        /// How far the job is: a regular expression that captures what is done and, second, the total. Known libraries need none.
        optional progress: Text as String => FieldRule::HEAD;
        with local: LocalTraining => FieldRule::EACH.at("");
        with sagemaker: SagemakerTraining => FieldRule::EACH.at("");
    }
}

impl Training {
    /// The metric of this name; `None` where its pattern is not there, or in no dialect that is read here.
    pub fn printed_metric(&self, name: &str) -> Option<PrintedMetric> {
        let (_, pattern) = self.metrics.iter().find(|(known, _)| known == name)?;
        PrintedMetric::new(name, pattern).ok()
    }

    /// Whether something is drawn of a channel.
    pub fn is_sampled(&self) -> bool {
        let mut channels = self.channels.iter();
        channels.any(|channel| channel.sample.is_drawn())
    }

    /// How many processes of the job start on a machine: those of the launcher, by its GPUs, and on each of several the parameter
    /// server of AWS's TensorFlow image (`sagemaker_tensorflow_container/training.py`).
    pub fn processes(&self, gpus: u32, machines: u32) -> u32 {
        let launched = (self.distribution.as_ref()).map_or(1, |it| it.processes(gpus));
        let mut all = self.hyperparameters.iter();
        let is_asked =
            all.any(|(name, on)| name == "sagemaker_parameter_server_enabled" && on == "true");
        launched + u32::from(is_asked && machines > 1)
    }

    /// The script that is started, where the spec names one.
    pub fn script(&self) -> Option<&String> {
        let of_command = self.local.script().map(|at| &self.local.command[at]);
        self.sagemaker.entry_point.as_ref().or(of_command)
    }

    /// The metric that gives the seconds of a training step.
    pub fn step_metric(&self) -> Option<PrintedMetric> {
        self.printed_metric(self.step_metric.as_deref()?)
    }

    /// What reads how far the job is, where the spec says how.
    pub fn progress(&self) -> Option<PrintedMetric> {
        PrintedMetric::progress(self.progress.as_deref()?).ok()
    }
}

impl Reader<'_> {
    /// Checks the full run against what it trains on, and gives what is not written its default; `None` where the channels that it
    /// needs are not known.
    pub(in crate::spec) fn training(
        &mut self,
        job: &At,
        mut training: Training,
        sampling: SampledBy,
    ) -> Option<Training> {
        let at = &job.key("training");
        let entry = self.backend.map(BackendKind::entry);
        if let Some(entry) = entry {
            (entry.check)(self, &training, at);
        }
        match training.max_runtime {
            Some(runtime) => self.check_runtime(&at.key("max_runtime"), runtime),
            None => training.max_runtime = entry.and_then(|entry| (entry.max_runtime)(&training)),
        }
        self.check_metrics(job, &training);
        if let Some(pattern) = &training.progress {
            let at = at.key("progress");
            self.too_long(&at, "a pattern", pattern, limits::METRIC_PATTERN);
            if let Err(error) = PrintedMetric::progress(pattern) {
                self.refuse_pattern(&at, &error);
            }
        }
        self.check_dependencies(&at.key("dependencies"), &training);
        self.check_local_keys(at, &training.local);
        self.check_sagemaker_keys(at, &training.sagemaker);
        if let Some(launcher) = &training.distribution {
            self.check_launcher(&at.key("distribution"), launcher);
        }
        let starts_script = training.sagemaker.entry_point.is_some() && self.is_on(RunPlace::Cloud);
        let launcher = training.distribution.as_ref();
        let launched = (self.instances.iter()).map(|on| launcher.map(|it| it.hyperparameters(on)));
        let launched = launched.flatten().map(|all| all.len()).max().unwrap_or(0);
        let reserved = match starts_script {
            true => limits::SCRIPT_MODE_HYPERPARAMETERS + launched,
            false => 0,
        };
        let all = &training.hyperparameters;
        self.check_hyperparameters(&at.key("hyperparameters"), all, reserved);
        self.check_environment(&at.key("environment"), &training.environment);
        let channels_at = at.key("channels");
        if self.is_written(&channels_at) {
            let is_mapping = !self.keys_below(&channels_at).is_empty();
            if training.channels.is_empty() && self.is_wrong(&channels_at) && !is_mapping {
                return None;
            }
            let in_vpc = training.sagemaker.is_in_vpc();
            self.channels(&channels_at, &mut training.channels, in_vpc, sampling);
        } else if sampling == SampledBy::Gate {
            const HELP: &str = "name the data, or write `share` if the script draws its own share of it, or `work` if canaries can do less of it";
            return self.refused(at, "the key `channels` is missing", HELP);
        }
        if let Some(output) = &training.sagemaker.output {
            self.refuse_output_among_data(&at.key("output"), output, &training.channels);
        }
        Some(training)
    }

    /// Each lies beside the source under its own name.
    fn check_dependencies(&mut self, at: &At, training: &Training) {
        let here = self.is_on(RunPlace::This).then_some("");
        let source = training.source_dir.as_deref().or(here).map(Path::new);
        let mut taken = vec![None];
        for (index, written) in training.dependencies.iter().enumerate() {
            let (path, name) = (Path::new(written), Path::new(written).file_name());
            let is_in_source = source.is_some() && path.parent() == source;
            rules! { self, at.item(index);
                refuse "" if is_in_source || taken.contains(&name) =>
                    format!("{} would lie beside the source under a name that is taken", quoted(written)),
                    "rename it, or remove it where the source holds it already";
            }
            taken.push(name);
        }
    }

    /// `reserved`: what starts a script beside the spec's.
    fn check_hyperparameters(&mut self, at: &At, all: &[(String, String)], reserved: usize) {
        let what = match reserved {
            0 => "hyperparameters".to_owned(),
            _ => {
                format!("hyperparameters beside {reserved} that start the script of `entry_point`")
            }
        };
        self.too_many(at, &what, all.len(), limits::HYPERPARAMETERS - reserved);
        let is_sent = self.is_on(RunPlace::Cloud);
        for (name, value) in all {
            let (name_at, at) = (at.name(name), at.key(name));
            self.too_long(&name_at, "a name", name, limits::HYPERPARAMETER_NAME);
            self.too_long(&at, "a value", value, limits::HYPERPARAMETER_VALUE);
            rules! { self, at;
                refuse "" if is_sent && [name, value].iter().any(|text| text.contains(limits::LINE_ENDS)) =>
                    "holds a line end, which SageMaker refuses in hyperparameters",
                    "write it in one line, or put it into a file of `source_dir`";
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

    fn check_metrics(&mut self, job: &At, training: &Training) {
        const UNREAD: &str = "is not read: of all metrics only those that `step_metric` or `budget.metrics` names are";
        let (at, metrics) = (job.below_by("training.metrics"), &training.metrics);
        // One that could not be read is there too.
        let has_problems = self.is_wrong(&at);
        self.too_many(&at, "metrics", metrics.len(), limits::METRICS);
        let step_metric = training.step_metric.as_ref();
        for (name, pattern) in metrics {
            self.too_long(&at.name(name), "a name", name, limits::METRIC_NAME);
            let at = at.key(name);
            self.too_long(&at, "a pattern", pattern, limits::METRIC_PATTERN);
            let is_judged = self.is_written(&job.below_by("budget.metrics").key(name));
            let is_read = is_judged || step_metric == Some(name);
            if !is_read {
                // A metric that is written may well be meant to do something.
                self.warn(&at, UNREAD);
            }
            let error = PrintedMetric::new(name, pattern).err();
            // What only SageMaker reads may be of its dialect, which has look-around.
            let error = error.filter(|error| match error {
                PatternError::Groups(..) => true,
                PatternError::Syntax(why) => is_read || !why.contains("not supported"),
                _ => is_read,
            });
            error
                .into_iter()
                .for_each(|error| self.refuse_pattern(&at, &error));
        }
        let judged_at = job.below_by("budget.metrics");
        let judged = self.keys_below(&judged_at).into_iter();
        let judged = judged.map(|name| (judged_at.name(&name), name));
        let step = step_metric.map(|name| (job.below_by("training.step_metric"), name.clone()));
        for (at, name) in judged.chain(step) {
            let is_known = metrics.iter().any(|(known, _)| *known == name);
            if !is_known && !has_problems {
                let known = metrics.iter().map(|(known, _)| known.as_str());
                self.unknown(&at, &name, "names no metric", known, Some(HOW_TO_NAME));
            }
        }
    }

    fn refuse_pattern(&mut self, at: &At, error: &PatternError) {
        let help = match error {
            PatternError::Groups(_, 1) => HOW_TO_CAPTURE,
            PatternError::Groups(..) => {
                "capture what is done and, if it is printed, the total, such as `step ([0-9]+) of ([0-9]+)`; `(?:…)` captures nothing"
            }
            PatternError::Empty => "write words that stand beside the number",
            PatternError::Syntax(_) => {
                "it is read with Rust's regular expressions, which have no look-around and no back-references"
            }
            PatternError::TooLarge => "repeat less often: `+` in place of `{1,1000}`",
        };
        self.refuse(at, error.to_string(), help);
    }
}
