//! Gates on the fake AWS: what is done to it, and what is seen of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Case, document};
use crate::aws::{
    FakeAws, Fault, Job, Logs, Metrics, OfferFile, Operation, Polls, PoolFate, Timeline,
};
use crate::project::Project;
use crate::sagemaker::{FIXED, put_data};

/// What is done to the project and to the fake.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Act {
    /// Texts of the spec, each of which is there, and what stands in their place.
    Edit(BTreeMap<String, String>),
    /// One more job like `churn`, of this name and with these edits.
    AnotherJob(String, BTreeMap<String, String>),
    Quota(String, f64),
    UnchangedQuota(String, f64),
    NoPrice(String),
    OfferFile(OfferFile),
    Polls(Polls),
    Fail(Strike),
    Recover,
    /// What becomes of each job that is created from now on; the first that is meant counts, and what none means completes.
    Train(Vec<Training>),
    Pools(Vec<(String, PoolFate)>),
    NewestPool,
    /// Lets every job come to its end, on a type of machines or on all.
    Finish(Option<String>),
    LookAt(String),
    /// All jobs are created in this very second.
    StillClock,
    AgeDays(f64),
    Delete(Vec<String>),
    /// Values at pointers into the request of every job; null takes one away.
    Alter(BTreeMap<String, Value>),
    /// The same of tags.
    Tag(BTreeMap<String, Option<String>>),
    /// Data objects of these numbers, as those of the start.
    Data(usize, usize),
    /// Bucket, key and content.
    Object(String, String, String),
    /// Texts of the object whose key holds a text, and what stands in their place.
    EditObject(String, String, BTreeMap<String, String>),
    /// Half of that object is lost.
    CutObject(String, String),
    Bucket(String, String),
    PageSize(usize),
    /// What each host prints in place of what a probe says, each line so often.
    Logs(Vec<(usize, String)>),
    /// The probe's percent of memory.
    Probe(f64),
    /// What CloudWatch has of each metric, or of `METRIC STATISTIC`; the first jobs that are meant count, and of others it has nothing.
    Metrics(Vec<(String, BTreeMap<String, f64>)>),
    /// Percent of memory that Debugger writes, of the jobs that are meant.
    Profile(String, f64),
    RunScripts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Strike {
    call: String,
    about: Option<String>,
    /// The first and the last call that it strikes, from 1.
    #[serde(default)]
    calls: Vec<u64>,
    /// And everything after that.
    #[serde(default)]
    all: bool,
    is: Fault,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(super) struct Training {
    /// A sentence about the job, as in `aws.jobs`.
    of: Option<String>,
    #[serde(default)]
    is: Ending,
    downloading: Option<f64>,
    training: Option<f64>,
    uploading: Option<f64>,
    /// More seconds of training for each byte and each epoch.
    #[serde(default)]
    per_byte: f64,
    #[serde(default)]
    per_epoch: f64,
    /// Which share of the time for bytes is not divided among the machines.
    serial: Option<f64>,
}

#[derive(Deserialize, Clone, Default)]
enum Ending {
    #[default]
    Completed,
    NoCapacity,
    NeverStarted(String),
    InternalError,
    OutOfMemory,
    ScriptFailed(String),
    Failed(String),
    DataDownloadFailed(String),
    DeletedAfterPolls(u64),
    StoppedAt(f64),
}

impl Training {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
    fn timeline(&self, job: &Job) -> Timeline {
        let mut timeline = match &self.is {
            Ending::Completed | Ending::StoppedAt(_) => Timeline::completed(),
            Ending::NoCapacity => Timeline::no_capacity(),
            Ending::NeverStarted(reason) => Timeline::failed(reason).never_started(),
            Ending::InternalError => Timeline::internal_error(),
            Ending::OutOfMemory => Timeline::out_of_memory(),
            Ending::ScriptFailed(message) => Timeline::script_failed(1, message),
            Ending::Failed(reason) => Timeline::failed(reason),
            Ending::DataDownloadFailed(detail) => Timeline::data_download_failed(detail),
            Ending::DeletedAfterPolls(polls) => Timeline::completed().deleted_after_polls(*polls),
        };
        if let Some(seconds) = self.downloading {
            timeline = timeline.downloading(seconds);
        }
        if let Some(seconds) = self.uploading {
            timeline = timeline.uploading(seconds);
        }
        if let Some(seconds) = self.training {
            let serial = self.serial.unwrap_or(1.0);
            let share = serial + (1.0 - serial) / machines(job).max(1) as f64;
            let epochs = job
                .hyperparameter("epochs")
                .and_then(|text| text.parse().ok());
            let epochs: f64 = epochs.unwrap_or(0.0);
            let more = self.per_byte * job.bytes() as f64 * share + self.per_epoch * epochs;
            timeline = timeline.training(seconds + more);
        }
        match self.is {
            Ending::StoppedAt(elapsed) => timeline.stopped_at(elapsed),
            _ => timeline,
        }
    }
}

fn machines(job: &Job) -> u64 {
    let resources = &job.input()["ResourceConfig"];
    resources["InstanceCount"].as_u64().unwrap_or(0)
}

/// A job as sentences know it.
fn seen_of(job: &Job) -> Value {
    let channels = job.input()["InputDataConfig"]
        .as_array()
        .into_iter()
        .flatten();
    let names = channels.filter_map(|channel| channel["ChannelName"].as_str());
    let keys = names.map(|name| (name.to_owned(), json!(job.channel_keys(name))));
    let hosts = (1..=3).map(|number| format!("algo-{number}"));
    let group = |host: String| Some(job.group_of(&host)?.name);
    json!({
        "name": job.name(),
        "number": job.number(),
        "status": job.status(),
        "secondary_status": job.secondary_status(),
        "type": job.instance_type(),
        "machines": machines(job),
        "is_warm": job.is_warm(),
        "bytes": job.bytes(),
        "groups": hosts.filter_map(group).collect::<Vec<_>>(),
        "keys": keys.collect::<serde_json::Map<_, _>>(),
        "input": job.input(),
        "tags": job.tags(),
    })
}

/// Everything that is seen of the fake.
pub(super) fn seen(aws: &FakeAws) -> Value {
    let jobs = aws.jobs();
    let is_at_work = |job: &&Job| job.status() == "InProgress";
    json!({
        "jobs": jobs.iter().map(seen_of).collect::<Vec<_>>(),
        "in_progress": aws.in_progress(),
        "at_work": jobs.iter().filter(is_at_work).map(Job::instance_type).collect::<Vec<_>>(),
        "kept_pools": aws.kept_pools(),
        "idle_seconds": aws.idle_seconds(),
        "bill": aws.bill(),
        "calls": aws.calls_of_each(),
        "all_calls": aws.all_calls(),
        "canaries": aws.keys("canaries", ""),
        "records": aws.keys("records", ""),
    })
}

fn is_meant(sentence: &str, job: &Job) -> bool {
    document::is_so(sentence, &seen_of(job))
}

fn edited(mut text: String, edits: BTreeMap<String, String>) -> String {
    for (from, to) in edits {
        assert!(text.contains(&from), "{from} in {text}");
        text = text.replace(&from, &to);
    }
    text
}

/// The object whose key holds a text.
fn object(aws: &FakeAws, bucket: &str, part: &str) -> (String, String) {
    let mut keys = aws.keys(bucket, "").into_iter();
    let key = keys.find(|key| key.contains(part)).unwrap();
    let content = aws.object(bucket, &key).unwrap().to_vec();
    (key, String::from_utf8(content).unwrap())
}

impl Case {
    pub(super) fn act(&mut self, act: &str) {
        let act: Act = serde_saphyr::from_str(act).unwrap_or_else(|error| panic!("{act}: {error}"));
        let aws = self.aws.as_ref().expect("a case below `aws`");
        let spec = || self.project.read("canary-gate.yml");
        match act {
            Act::Edit(edits) => self
                .project
                .write("canary-gate.yml", &edited(spec(), edits)),
            Act::AnotherJob(name, edits) => {
                let (all, job) = (spec(), spec());
                let job = job.split_once("  churn:\n").unwrap().1;
                // The first job alone.
                let end = regex::Regex::new(r"(?m)^  \S").unwrap();
                let end = end.find(job).map_or(job.len(), |found| found.start());
                let job = edited(job[..end].to_owned(), edits);
                self.project
                    .write("canary-gate.yml", &format!("{all}  {name}:\n{job}"));
            }
            Act::Quota(name, value) => aws.quota(&name, value),
            Act::UnchangedQuota(name, value) => aws.unchanged_quota(&name, value),
            Act::NoPrice(kind) => aws.no_price(&kind),
            Act::OfferFile(file) => aws.offer_file(file),
            Act::Polls(polls) => aws.polls(polls),
            Act::Fail(strike) => {
                let mut fault = aws.fail(Operation::named(&strike.call).unwrap());
                if let Some(text) = &strike.about {
                    fault = fault.about(text);
                }
                if let Some(first) = strike.calls.first() {
                    fault = fault.on_calls(*first..=*strike.calls.get(1).unwrap_or(&u64::MAX));
                }
                if strike.all {
                    fault = fault.then_everything_for(u64::MAX);
                }
                fault.with(strike.is);
            }
            Act::Recover => aws.recover(),
            Act::Train(all) => aws.train(move |job| {
                let is_meant = |one: &&Training| one.of.as_ref().is_none_or(|of| is_meant(of, job));
                let found = all.iter().find(is_meant);
                found.map_or_else(Timeline::completed, |one| one.timeline(job))
            }),
            Act::Pools(fates) => aws.pools(move |job| {
                let found = fates.iter().find(|(of, _)| is_meant(of, job));
                found.map_or(PoolFate::Kept, |(_, fate)| *fate)
            }),
            Act::NewestPool => aws.give_newest_pool(),
            Act::Finish(None) => aws.finish_jobs(),
            Act::Finish(Some(kind)) => aws.finish_jobs_on(&kind),
            Act::LookAt(name) => aws.look_at(&name),
            Act::StillClock => aws.still_clock(jiff::Timestamp::now().as_second()),
            Act::AgeDays(days) => aws.age_jobs(days * 86_400.0),
            Act::Delete(names) => names.iter().for_each(|name| aws.delete_job(name)),
            Act::Alter(changes) => aws.alter_jobs(|input, _| {
                for (pointer, value) in &changes {
                    let (parent, key) = pointer.rsplit_once('/').unwrap();
                    let parent = input.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                    match value.is_null() {
                        true => parent.remove(key),
                        false => parent.insert(key.to_owned(), value.clone()),
                    };
                }
            }),
            Act::Tag(changes) => aws.alter_jobs(|_, tags| {
                for (key, value) in &changes {
                    tags.retain(|(own, _)| own != key);
                    tags.extend(value.clone().map(|value| (key.clone(), value)));
                }
            }),
            Act::Data(first, end) => put_data(aws, first..end),
            Act::Object(bucket, key, content) => aws.put_object(&bucket, &key, content),
            Act::EditObject(bucket, part, edits) => {
                let (key, text) = object(aws, &bucket, &part);
                aws.put_object(&bucket, &key, edited(text, edits));
            }
            Act::CutObject(bucket, part) => {
                let (key, mut text) = object(aws, &bucket, &part);
                text.truncate(text.len() / 2);
                aws.put_object(&bucket, &key, text);
            }
            Act::Bucket(name, region) => aws.make_bucket_in(&name, &region),
            Act::PageSize(elements) => aws.page_size(elements),
            Act::Logs(lines) => aws.logs(Logs::of(move |_, _| {
                let lines = lines.iter().map(|(times, line)| vec![line.clone(); *times]);
                lines.flatten().collect()
            })),
            Act::Probe(percent) => aws.logs(Logs::of_probe(move |_| percent)),
            Act::Metrics(all) => aws.metrics(Metrics::of(move |point| {
                let (_, values) = all.iter().find(|(of, _)| is_meant(of, point.job))?;
                let exact = values.get(&format!("{} {}", point.metric, point.statistic));
                exact.or(values.get(point.metric)).copied()
            })),
            Act::Profile(of, percent) => {
                aws.profiles(move |job| is_meant(&of, job).then(|| profile(percent)));
            }
            Act::RunScripts => aws.run_scripts(1.0),
        }
    }
}

/// What Debugger writes of a machine that used this much of its memory.
fn profile(percent: f64) -> String {
    let line = |second: u32| json!({"Type": "memory", "Name": "MemoryUsedPercent", "Dimension": "Memory", "Value": percent, "Timestamp": second});
    (0..5).map(|second| format!("{}\n", line(second))).collect()
}

/// Job `churn` on SageMaker, and an AWS with its data.
fn on_sagemaker() -> (Project, Option<FakeAws>) {
    let (project, aws) = crate::sagemaker::project(FIXED);
    (project, Some(aws))
}

super::files!(on_sagemaker; "aws/" adoption, clean_up, counts, detached, gate, gpu_memory, groups, history, manifests, pool_quotas, pool_sharing, pools, prices, progress_canaries, pull_request_limit, side_by_side, troubles, without_price);
