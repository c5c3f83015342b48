//! What happens to a training job and when, on a clock of its own: no test waits for it.

use serde_json::{Map, Value, json};

/// The spans of a job's secondary statuses, and how it ends.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    spans: Vec<Span>,
    end: End,
    /// After so many calls of DescribeTrainingJob somebody deletes the job.
    pub(super) deleted_after_polls: Option<u64>,
}

#[derive(Debug, Clone)]
struct Span {
    status: String,
    /// Infinite while it is unknown.
    seconds: f64,
}

#[derive(Debug, Clone)]
struct End {
    status: &'static str,
    secondary: String,
    failure_reason: Option<String>,
}

impl Timeline {
    /// A job without trouble: 90 s Starting, 25 s Downloading, 60 s Training, 5 s Uploading.
    pub(crate) fn completed() -> Self {
        Self {
            spans: [
                ("Starting", 90.0),
                ("Downloading", 25.0),
                ("Training", 60.0),
                ("Uploading", 5.0),
            ]
            .map(|(status, seconds)| Span {
                status: status.to_owned(),
                seconds,
            })
            .to_vec(),
            end: End {
                status: "Completed",
                secondary: "Completed".to_owned(),
                failure_reason: None,
            },
            deleted_after_polls: None,
        }
    }

    /// The same spans, and a failure with this reason at the end.
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        let mut timeline = Self::completed();
        timeline.end = End {
            status: "Failed",
            secondary: "Failed".to_owned(),
            failure_reason: Some(reason.into()),
        };
        timeline
    }

    /// The training script raised.
    pub(crate) fn script_failed(exit_code: i32, message: &str) -> Self {
        Self::failed(script_failure(
            exit_code,
            message,
            "/usr/bin/python3 train.py",
        ))
    }

    pub(crate) fn out_of_memory() -> Self {
        Self::failed(
            "ClientError: Please use an instance type with more memory, or reduce the size of job data processed on an \
             instance.",
        )
    }

    /// No instance could be had: the job never trains and bills nothing.
    pub(crate) fn no_capacity() -> Self {
        let reason = "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different \
                      ML instance type.";
        Self::failed(reason).only("Starting", 900.0)
    }

    pub(crate) fn internal_error() -> Self {
        let reason = "InternalServerError: We encountered an internal error.  Please try again.";
        Self::failed(reason).only("Starting", 120.0)
    }

    /// The data could not be had: role, key, region, route or prefix.
    pub(crate) fn data_download_failed(detail: &str) -> Self {
        let mut timeline = Self::failed(format!("ClientError: Data download failed:{detail}"));
        timeline
            .spans
            .retain(|span| matches!(span.status.as_str(), "Starting" | "Downloading"));
        timeline
    }

    /// It ends before any machine comes.
    pub(crate) fn never_started(self) -> Self {
        self.only("Starting", 90.0)
    }

    fn only(mut self, status: &str, seconds: f64) -> Self {
        self.spans.retain(|span| span.status == status);
        self.span(status, seconds)
    }

    /// How long the first span of a status is; a status that is not there yet is put before Training, else at the end.
    pub(crate) fn span(mut self, status: &str, seconds: f64) -> Self {
        if let Some(span) = self.spans.iter_mut().find(|span| span.status == status) {
            span.seconds = seconds;
            return self;
        }
        let span = Span {
            status: status.to_owned(),
            seconds,
        };
        let training = self.spans.iter().position(|span| span.status == "Training");
        self.spans
            .insert(training.unwrap_or(self.spans.len()), span);
        self
    }

    /// The first machines come at least so soon.
    pub(super) fn starting_within(mut self, seconds: f64) -> Self {
        let first = self.spans.iter_mut().find(|span| span.status == "Starting");
        if let Some(span) = first {
            span.seconds = span.seconds.min(seconds);
        }
        self
    }

    pub(crate) fn downloading(self, seconds: f64) -> Self {
        self.span("Downloading", seconds)
    }

    pub(crate) fn training(self, seconds: f64) -> Self {
        self.span("Training", seconds)
    }

    pub(crate) fn uploading(self, seconds: f64) -> Self {
        self.span("Uploading", seconds)
    }

    /// Somebody deletes the job after it was described so often.
    pub(crate) fn deleted_after_polls(mut self, polls: u64) -> Self {
        self.deleted_after_polls = Some(polls);
        self
    }

    /// Ends with the server-side limit if it trains for longer.
    pub(super) fn within(mut self, max_runtime: f64) -> Self {
        let mut left = max_runtime;
        for index in 0..self.spans.len() {
            let span = &mut self.spans[index];
            if span.status != "Training" {
                continue;
            }
            // A run whose end is not known is watched by whoever runs it.
            if span.seconds.is_finite() && span.seconds > left {
                span.seconds = left;
                self.spans.truncate(index + 1);
                self.end_early("MaxRuntimeExceeded");
                break;
            }
            left -= span.seconds;
        }
        self
    }

    /// The job is asked to stop at a moment of its life.
    pub(crate) fn stopped_at(mut self, elapsed: f64) -> Self {
        let mut start = 0.0;
        let mut kept = Vec::new();
        for span in self.spans {
            if start > elapsed {
                break;
            }
            let seconds = span.seconds.min(elapsed - start);
            start += span.seconds;
            kept.push(Span { seconds, ..span });
        }
        self.spans = kept;
        self.end_early("Stopped");
        self
    }

    fn end_early(&mut self, secondary: &str) {
        let has_instances = self.spans.iter().any(|span| is_on_instances(&span.status));
        let more: &[_] = if has_instances {
            &[("Stopping", 30.0), ("Uploading", 5.0)]
        } else {
            &[("Stopping", 1.0)]
        };
        self.spans.extend(more.iter().map(|(status, seconds)| Span {
            status: (*status).to_owned(),
            seconds: *seconds,
        }));
        self.end = End {
            status: "Stopped",
            secondary: secondary.to_owned(),
            failure_reason: None,
        };
    }

    /// The training that ran for real has ended like this.
    pub(super) fn settled(self, seconds: f64, failure_reason: Option<String>) -> Self {
        let mut timeline = self.training(seconds);
        if let Some(reason) = failure_reason {
            timeline.end = Self::failed(reason).end;
        }
        timeline
    }

    /// The moment after `elapsed` when the status changes next; infinite where that is not known.
    pub(super) fn next_change(&self, elapsed: f64) -> f64 {
        let mut end = 0.0;
        for span in &self.spans {
            end += span.seconds;
            if end > elapsed {
                return end;
            }
        }
        elapsed
    }

    fn total_seconds(&self) -> f64 {
        self.spans.iter().map(|span| span.seconds).sum()
    }

    pub(super) fn has_ended(&self, elapsed: f64) -> bool {
        elapsed >= self.total_seconds()
    }

    /// Start and end of the training as far as it got, in seconds of the job's life.
    pub(super) fn training_span(&self, elapsed: f64) -> Option<(f64, f64)> {
        let mut found: Option<(f64, f64)> = None;
        let mut start = 0.0;
        for span in &self.spans {
            let end = start + span.seconds;
            if span.status == "Training" && start <= elapsed {
                found = Some((found.map_or(start, |(first, _)| first), end.min(elapsed)));
            }
            start = end;
        }
        found
    }

    /// TrainingJobStatus and SecondaryStatus at a moment of the job's life.
    pub(super) fn status(&self, elapsed: f64) -> (&str, &str) {
        if self.has_ended(elapsed) {
            return (self.end.status, &self.end.secondary);
        }
        let mut end = 0.0;
        for span in &self.spans {
            end += span.seconds;
            if end > elapsed {
                let stopping = self.end.status == "Stopped"
                    && matches!(span.status.as_str(), "Stopping" | "Uploading");
                let status = if stopping { "Stopping" } else { "InProgress" };
                return (status, &span.status);
            }
        }
        (self.end.status, &self.end.secondary)
    }

    /// The part of a DescribeTrainingJob answer that changes with time, for a job created at `created` (epoch seconds).
    pub(super) fn describe(&self, created: f64, elapsed: f64) -> Map<String, Value> {
        let (status, secondary) = self.status(elapsed);
        let mut transitions = Vec::new();
        let mut start = 0.0;
        let mut on_instances: Option<f64> = None;
        let mut seconds_on_instances = 0.0;
        for span in &self.spans {
            if start > elapsed {
                break;
            }
            let end = start + span.seconds;
            let mut transition = json!({
                "Status": span.status,
                "StartTime": created + start,
                "StatusMessage": message(&span.status),
            });
            if end <= elapsed {
                transition["EndTime"] = json!(created + end);
            }
            transitions.push(transition);
            if is_on_instances(&span.status) {
                on_instances = on_instances.or(Some(start));
                seconds_on_instances += span.seconds;
            }
            start = end;
        }
        let mut answer = json!({
            "TrainingJobStatus": status,
            "SecondaryStatus": secondary,
            "CreationTime": created,
        });
        if let Some(start) = on_instances {
            answer["TrainingStartTime"] = json!(created + start);
        }
        if self.has_ended(elapsed) {
            let end = self.total_seconds();
            transitions.push(json!({
                "Status": self.end.secondary,
                "StartTime": created + end,
                "EndTime": created + end,
                "StatusMessage": message(&self.end.secondary),
            }));
            if let Some(start) = on_instances {
                answer["TrainingEndTime"] = json!(created + end);
                answer["TrainingTimeInSeconds"] = whole_seconds(end - start);
                answer["BillableTimeInSeconds"] = whole_seconds(seconds_on_instances);
            }
            if let Some(reason) = &self.end.failure_reason {
                answer["FailureReason"] = json!(reason.chars().take(1024).collect::<String>());
            }
        }
        let changed = transitions.last().map_or(created, |last| {
            let start = last["StartTime"].as_f64();
            start.expect("every transition was given its start")
        });
        answer["LastModifiedTime"] = json!(changed);
        answer["SecondaryStatusTransitions"] = json!(transitions);
        let Value::Object(answer) = answer else {
            unreachable!("made as an object above")
        };
        answer
    }
}

/// The words of the training toolkit about a script that ended with a code.
pub(super) fn script_failure(exit_code: i32, message: &str, command: &str) -> String {
    format!(
        "AlgorithmError: ExecuteUserScriptError:\nExitCode {exit_code}\nErrorMessage \"{message}\"\nCommand \
         \"{command}\", exit code: {exit_code}"
    )
}

/// A whole number of seconds, at least one, as AWS gives them.
fn whole_seconds(seconds: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a timeline of a test is far shorter than an i64 holds"
    )]
    let whole = seconds.round() as i64;
    json!(whole.max(1))
}

fn is_on_instances(status: &str) -> bool {
    matches!(status, "Downloading" | "Training" | "Uploading")
}

fn message(status: &str) -> &str {
    match status {
        "Starting" => "Preparing the instances for training",
        "Downloading" => "Downloading input data",
        "Training" => "Training image download completed. Training in progress.",
        "Uploading" => "Uploading generated training model",
        "Stopping" => "Stopping the training job",
        "Completed" => "Training job completed",
        "Failed" => "Training job failed",
        "Stopped" => "Training job stopped",
        "MaxRuntimeExceeded" => "Training job runtime exceeded MaxRuntimeInSeconds provided",
        other => other,
    }
}
