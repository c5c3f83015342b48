//! One training job of the fake: what was asked for, what it reads, and where it is on its timeline.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::inputs::Channel;
use super::pools::Pool;
use super::script_run::{Ended, ScriptRun};
use super::timeline::Timeline;
use super::{ACCOUNT, REGION};

/// A training job, as a script or a test sees it.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(super) name: String,
    pub(super) number: usize,
    pub(super) input: Value,
    pub(super) channels: Vec<Channel>,
    /// Epoch seconds.
    pub(super) created: f64,
    pub(super) timeline: Timeline,
    /// Seconds of the job's life that have passed on its own clock.
    pub(super) elapsed: f64,
    /// By the real clock.
    pub(super) began: Instant,
    pub(super) polls: u64,
    pub(super) tags: Vec<(String, String)>,
    pub(super) is_deleted: bool,
    /// The script that really runs for it, until its end is written into the timeline.
    pub(super) run: Option<Arc<ScriptRun>>,
    /// What that script has printed when it ended.
    pub(super) printed: Option<Vec<String>>,
    /// What becomes of its machines; none where they are not kept.
    pub(super) pool: Option<Pool>,
    /// It runs on the machines of a job before it.
    pub(super) is_warm: bool,
}

/// What DescribeTrainingJob repeats of the request, where it was there.
const REPEATED: &[&str] = &[
    "AlgorithmSpecification",
    "CheckpointConfig",
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "Environment",
    "ExperimentConfig",
    "HyperParameters",
    "InfraCheckConfig",
    "InputDataConfig",
    "OutputDataConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
    "RemoteDebugConfig",
    "ResourceConfig",
    "RetryStrategy",
    "RoleArn",
    "StoppingCondition",
    "TensorBoardOutputConfig",
    "VpcConfig",
];

impl Job {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The how-manieth job of the fake this is, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The CreateTrainingJob request, keys as on the wire.
    pub(crate) fn input(&self) -> &Value {
        &self.input
    }

    /// What all its channels hold together.
    pub(crate) fn bytes(&self) -> u64 {
        self.channels.iter().map(Channel::bytes).sum()
    }

    /// The keys of the objects that a channel holds.
    pub(crate) fn channel_keys(&self, name: &str) -> Vec<String> {
        let channel = self.channels.iter().find(|channel| channel.name == name);
        let files = channel.map_or(&[][..], |channel| &channel.files);
        files.iter().map(|file| file.key.clone()).collect()
    }

    /// The type of its machines; empty where it has groups.
    pub(crate) fn instance_type(&self) -> &str {
        let name = self.input["ResourceConfig"]["InstanceType"].as_str();
        name.unwrap_or_default()
    }

    pub(crate) fn hyperparameter(&self, name: &str) -> Option<&str> {
        self.input["HyperParameters"][name].as_str()
    }

    pub(crate) fn tags(&self) -> std::collections::BTreeMap<&str, &str> {
        let tags = self.tags.iter();
        tags.map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }

    /// TrainingJobStatus.
    pub(crate) fn status(&self) -> &str {
        self.timeline.status(self.elapsed).0
    }

    pub(crate) fn secondary_status(&self) -> &str {
        self.timeline.status(self.elapsed).1
    }

    pub(super) fn max_runtime(&self) -> f64 {
        let seconds = self.input["StoppingCondition"]["MaxRuntimeInSeconds"].as_f64();
        seconds.expect("a job without the limit is not created")
    }

    /// The names of its hosts.
    pub(super) fn hosts(&self) -> Vec<String> {
        let count: usize = self.groups().iter().map(|group| group.count).sum();
        (1..=count).map(|index| format!("algo-{index}")).collect()
    }

    pub(super) fn arn(&self) -> String {
        format!(
            "arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-job/{}",
            self.name
        )
    }

    /// Start and end of the training so far, in epoch seconds.
    pub(super) fn training_span(&self) -> Option<(f64, f64)> {
        let (start, end) = self.timeline.training_span(self.elapsed)?;
        Some((self.created + start, self.created + end))
    }

    pub(super) fn has_ended(&self) -> bool {
        self.timeline.has_ended(self.elapsed)
    }

    /// Writes the end of a script that really ran into the timeline.
    pub(super) fn settle(&mut self) {
        let Some(run) = &self.run else { return };
        let Some(end) = run.end() else { return };
        let timeline = self.timeline.clone();
        self.timeline = match end {
            Ended::Exited {
                seconds,
                failure_reason,
            } => timeline.settled(seconds, failure_reason),
            Ended::RanTooLong => {
                let limit = self.max_runtime();
                timeline.training(2.0 * limit).within(limit)
            }
        };
        self.printed = Some(run.lines());
        self.run = None;
    }

    pub(super) fn describe(&self) -> Value {
        let mut answer = self.timeline.describe(self.created, self.elapsed);
        answer.insert("TrainingJobName".to_owned(), json!(self.name));
        answer.insert("TrainingJobArn".to_owned(), json!(self.arn()));
        let output = self.input["OutputDataConfig"]["S3OutputPath"].as_str();
        let output = output.unwrap_or_default().trim_end_matches('/');
        let artifacts = format!("{output}/{}/output/model.tar.gz", self.name);
        answer.insert(
            "ModelArtifacts".to_owned(),
            json!({"S3ModelArtifacts": artifacts}),
        );
        for key in REPEATED {
            if let Some(value) = self.input.get(*key) {
                answer.insert((*key).to_owned(), value.clone());
            }
        }
        for key in [
            "EnableNetworkIsolation",
            "EnableInterContainerTrafficEncryption",
            "EnableManagedSpotTraining",
        ] {
            let value = self.input.get(key).cloned();
            answer.insert(key.to_owned(), value.unwrap_or(json!(false)));
        }
        Value::Object(answer)
    }

    /// What ListTrainingJobs says of it.
    pub(super) fn summary(&self) -> Value {
        let description = self.describe();
        let mut summary = json!({});
        for key in [
            "TrainingJobName",
            "TrainingJobArn",
            "CreationTime",
            "TrainingEndTime",
            "LastModifiedTime",
            "TrainingJobStatus",
            "SecondaryStatus",
        ] {
            if let Some(value) = description.get(key) {
                summary[key] = value.clone();
            }
        }
        if let Some(pool) = &self.pool {
            summary["WarmPoolStatus"] = pool.describe();
        }
        summary
    }
}
