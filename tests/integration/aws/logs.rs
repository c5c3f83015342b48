//! CloudWatch Logs: the streams of training jobs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fault::Refusal;
use super::job::Job;
use super::operation::Operation;
use super::{State, page, probe};

const GROUP: &str = "/aws/sagemaker/TrainingJobs";

type Lines = dyn Fn(&Job, &str) -> Vec<String> + Send + Sync;

/// What the hosts of training jobs print.
#[derive(Clone)]
pub(crate) struct Logs {
    lines: Arc<Lines>,
    begins_empty: bool,
}

impl Logs {
    /// The lines of a host (`algo-1`) of a job. What a script really prints comes before them. The function may not ask the fake
    /// anything.
    pub(crate) fn of(lines: impl Fn(&Job, &str) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self {
            lines: Arc::new(lines),
            begins_empty: false,
        }
    }

    /// The line of the probe where a job has one, with the memory of its host in percent; none where a script really runs, beside
    /// which there is a real probe or none.
    pub(crate) fn of_probe(percent: impl Fn(&Job) -> f64 + Send + Sync + 'static) -> Self {
        Self::of(move |job, host| {
            let is_played = job.run.is_none() && job.printed.is_none();
            let line = is_played.then(|| probe::line(job, host, percent(job)));
            Vec::from_iter(line.flatten())
        })
    }

    /// The first page of a stream's events is empty, as GetLogEvents may return it.
    pub(crate) fn with_an_empty_page(mut self) -> Self {
        self.begins_empty = true;
        self
    }

    /// Everything that a host prints, in order.
    pub(super) fn lines(&self, job: &Job, host: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if host == "algo-1" {
            lines = job.printed.clone().unwrap_or_default();
            if let Some(run) = &job.run {
                lines = run.lines();
            }
        }
        lines.extend((self.lines)(job, host));
        lines
    }
}

struct Stream {
    name: String,
    /// Epoch milliseconds.
    created: i64,
    events: Vec<Event>,
}

struct Event {
    time: i64,
    message: String,
}

pub(super) fn answer(
    state: &mut State,
    operation: Operation,
    input: &Value,
) -> Result<Value, Refusal> {
    if input["logGroupName"] != GROUP || state.jobs.is_empty() {
        return Err(Refusal::new(
            "ResourceNotFoundException",
            "The specified log group does not exist.",
        ));
    }
    let streams = streams(state);
    match operation {
        Operation::DescribeLogStreams => describe(state, &streams, input),
        _ => events(state, &streams, input),
    }
}

/// Every stream there is, in the order of names.
fn streams(state: &mut State) -> Vec<Stream> {
    for job in &mut state.jobs {
        job.settle();
    }
    let mut streams: Vec<_> = state
        .jobs
        .iter()
        // The next job of its name may begin within the same second, which no two jobs of AWS do.
        .filter(|job| !job.is_deleted)
        .flat_map(|job| {
            job.hosts()
                .into_iter()
                .filter_map(|host| stream(state, job, &host))
        })
        .collect();
    streams.sort_by(|one, other| one.name.cmp(&other.name));
    streams
}

fn stream(state: &State, job: &Job, host: &str) -> Option<Stream> {
    let (start, end) = job.training_span()?;
    let lines = state.logs.lines(job, host);
    let created = milliseconds(start);
    let last = milliseconds(end);
    // An event has at least one character.
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.zip(0_i64..).collect();
    // What really ran printed all the while.
    let between = match job.printed {
        Some(_) => (last - created) / i64::try_from(lines.len().max(1)).unwrap(),
        None => 1,
    };
    let events = lines.into_iter().map(|(message, index)| Event {
        time: (created + index * between).min(last),
        message,
    });
    let events = events.collect();
    Some(Stream {
        name: format!("{}/{host}-{}", job.name, created / 1000),
        created,
        events,
    })
}

fn milliseconds(seconds: f64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a date of this century in milliseconds is far below an i64's limit"
    )]
    let milliseconds = (seconds * 1000.0) as i64;
    milliseconds
}

fn describe(state: &State, streams: &[Stream], input: &Value) -> Result<Value, Refusal> {
    let prefix = input["logStreamNamePrefix"].as_str().unwrap_or_default();
    let found: Vec<_> = streams
        .iter()
        .filter(|stream| stream.name.starts_with(prefix))
        .map(|stream| json!({"logStreamName": stream.name, "creationTime": stream.created}))
        .collect();
    let limit = input["limit"].as_u64().unwrap_or(50);
    let (range, next) = page(
        input["nextToken"].as_str(),
        limit,
        state.page_size,
        found.len(),
    )?;
    let mut answer = json!({"logStreams": found[range]});
    if let Some(next) = next {
        answer["nextToken"] = json!(next);
    }
    Ok(answer)
}

/// The events of one stream. As on AWS tokens never end: the last page returns the token that it was asked with.
fn events(state: &State, streams: &[Stream], input: &Value) -> Result<Value, Refusal> {
    let stream = streams.iter().find(|s| input["logStreamName"] == s.name);
    let stream = stream.ok_or(Refusal::new(
        "ResourceNotFoundException",
        "The specified log stream does not exist.",
    ))?;
    let found: Vec<_> = stream
        .events
        .iter()
        .map(|event| {
            json!({"timestamp": event.time, "message": event.message, "ingestionTime": event.time})
        })
        .collect();
    let limit = input["limit"].as_u64().unwrap_or(10_000);
    let limit = limit.min(state.page_size);
    let count = super::size(found.len());
    let token = input["nextToken"].as_str();
    let position = |token: &str| {
        let digits = token.trim_start_matches(['f', 'b', '/']);
        digits
            .parse::<u64>()
            .map_err(|_| super::wrong_token("InvalidParameterException"))
    };
    let (start, end) = match token {
        // Before what was seen, or after it.
        Some(token) if token.starts_with('b') => {
            let end = position(token)?;
            (end.saturating_sub(limit), end)
        }
        Some(token) => {
            let start = position(token)?;
            (start, start + limit)
        }
        None if input["startFromHead"] == true => (0, limit),
        None => (count.saturating_sub(limit), count),
    };
    let (start, end) = match (token, state.logs.begins_empty) {
        (None, true) if input["startFromHead"] == true => (0, 0),
        (None, true) => (count, count),
        _ => (start.min(count), end.min(count)),
    };
    let index = |position: u64| usize::try_from(position).expect("not above a length");
    let shown = &found[index(start)..index(end)];
    Ok(json!({
        "events": shown,
        "nextForwardToken": format!("f/{end}"),
        "nextBackwardToken": format!("b/{start}"),
    }))
}
