//! A small AWS on 127.0.0.1, for the real binary and for SDK clients: SageMaker, CloudWatch, Logs, the price list, Service
//! Quotas, STS and S3, with scripted jobs, scripted errors and a clock of its own.
//!
//! ```ignore
//! let aws = FakeAws::start();
//! aws.put_object("data", "train/part-000.csv", "1,2\n");
//! aws.train(|job| Timeline::completed().training(10.0 + job.bytes() as f64 / 1e6));
//! aws.fail(Operation::CreateTrainingJob).on_call(3).with(Fault::Throttled);
//! let finished = project.run_with(&["run", "--all"], |command| aws.reach(command));
//! assert_eq!(aws.in_progress(), Vec::<String>::new());
//! ```
//!
//! It outlives the programs that call it. What was said is judged later by AWS's own model, see [`exchanges`].

mod cbor;
mod cloudwatch;
mod container;
mod exchanges;
mod fault;
mod groups;
mod inputs;
mod job;
mod logs;
mod operation;
mod pools;
mod prices;
mod probe;
mod quotas;
mod s3;
mod s3_front;
mod sagemaker;
mod script_run;
mod server;
mod sessions;
mod state;
mod timeline;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use axum::body::Bytes;
use tempfile::TempDir;

pub(crate) use cloudwatch::Metrics;
pub(crate) use fault::Fault;
pub(crate) use job::Job;
pub(crate) use logs::Logs;
pub(crate) use operation::Operation;
pub(crate) use pools::PoolFate;
pub(crate) use prices::OfferFile;
pub(crate) use state::Polls;
pub(crate) use timeline::Timeline;

use exchanges::Exchanges;
use fault::FaultBuilder;
use s3::Store;
use state::{Clock, Core, State, page, size, wrong_token};

use crate::fake::Server;

const REGION: &str = "us-east-1";
const ACCOUNT: &str = "123456789012";
/// The training job that is never there, by which a gate asks for its rights.
const NO_JOB: &str = "cg-no-such-job";
const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// The fake and its scripts. It ends when it is dropped, with every script that still runs.
pub(crate) struct FakeAws {
    core: Arc<Core>,
    server: Server,
}

impl FakeAws {
    pub(crate) fn start() -> Self {
        let store = Arc::new(Store::default());
        let core = Arc::new(Core {
            state: Mutex::new(State {
                jobs: Vec::new(),
                script: Arc::new(|_| Timeline::completed()),
                run_scripts: None,
                polls: Polls::NextStatus,
                clock: Clock::Wall,
                metrics: Metrics::constant(&[
                    ("CPUUtilization", 100.0),
                    ("MemoryUtilization", 25.0),
                    ("DiskUtilization", 1.0),
                ]),
                logs: Logs::of_probe(|_| 25.0),
                prices: prices::usual(),
                offer_file: prices::OfferFile::Sound,
                quotas: quotas::usual(),
                default_quotas: BTreeMap::new(),
                page_size: u64::MAX,
                calls: BTreeMap::new(),
                questions: 0,
                faults: Vec::new(),
                between_creates: None,
                lasting: None,
                profiles: Arc::new(|_| None),
                pool_fate: Arc::new(|_| PoolFate::Kept),
                gives_newest_pool: false,
                sessions: sessions::Sessions::lasting(Duration::from_hours(1)),
            }),
            s3_service: store.service(),
            s3: store,
            exchanges: Exchanges::start(),
            folder: TempDir::with_prefix("canary-gate-fake-aws-").unwrap(),
            started: Mutex::new(Vec::new()),
        });
        Self {
            server: Server::start(server::router(core.clone())),
            core,
        }
    }

    // How it is reached.

    pub(crate) fn url(&self) -> &str {
        self.server.address()
    }

    /// What a program needs to find the fake, and to find nothing else.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", self.url().to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
        ]
    }

    /// The same, for a command that is about to start, and a program that it may send as the probe.
    pub(crate) fn reach(&self, command: &mut Command) {
        command.envs(self.environment());
        command.env("CANARY_GATE_PROBE", probe::static_header());
    }

    /// The same without a program that may be sent, as where the gate was built for macOS.
    pub(crate) fn reach_without_probe(&self, command: &mut Command) {
        self.reach(command);
        let no_program = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        command.env("CANARY_GATE_PROBE", no_program);
    }

    /// A client of S3 that tries so often before it gives up.
    pub(crate) fn s3_client(&self, attempts: u32) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "test"))
            .endpoint_url(self.url())
            .force_path_style(true)
            .retry_config(
                RetryConfig::standard()
                    .with_max_attempts(attempts)
                    .with_initial_backoff(Duration::from_millis(1)),
            );
        aws_sdk_s3::Client::from_conf(config.build())
    }

    // S3.

    /// Puts an object; its bucket is made where there is none. A key that ends with `/` is a folder's marker.
    pub(crate) fn put_object(&self, bucket: &str, key: &str, content: impl Into<Bytes>) {
        self.core.s3.put(bucket, key, content.into());
    }

    pub(crate) fn make_bucket(&self, name: &str) {
        self.make_bucket_in(name, REGION);
    }

    /// A bucket that answers only requests which are signed for its region.
    pub(crate) fn make_bucket_in(&self, name: &str, region: &str) {
        self.core.s3.make_bucket(name, region);
    }

    pub(crate) fn object(&self, bucket: &str, key: &str) -> Option<Bytes> {
        self.core.s3.get(bucket, key)
    }

    /// The keys below a prefix, in order.
    pub(crate) fn keys(&self, bucket: &str, prefix: &str) -> Vec<String> {
        let listed = self.core.s3.list(bucket, prefix);
        listed.into_iter().map(|(key, _)| key).collect()
    }

    // Scripts.

    /// What becomes of each job that is created from now on.
    pub(crate) fn train(&self, script: impl Fn(&Job) -> Timeline + Send + Sync + 'static) {
        self.core.state().script = Arc::new(script);
    }

    /// Runs the scripts of jobs that would complete, for real: their training takes what it takes, and their output is the
    /// job's log. One real second counts as `scale` seconds of the job.
    pub(crate) fn run_scripts(&self, scale: f64) {
        self.core.state().run_scripts = Some(scale);
    }

    pub(crate) fn polls(&self, polls: Polls) {
        self.core.state().polls = polls;
    }

    /// A training job that somebody else started with this request, keys as on the wire, and that has ended.
    pub(crate) fn add_job(&self, input: &serde_json::Value) {
        self.create(input).unwrap();
        self.finish_jobs();
    }

    /// Creates a training job by a request, keys as on the wire; the error is what is said against it.
    pub(crate) fn create(&self, input: &serde_json::Value) -> Result<(), String> {
        let created = sagemaker::create(&self.core, input);
        created
            .map(|_| ())
            .map_err(|refusal| format!("{}: {}", refusal.code, refusal.message))
    }

    /// Lets every job come to the end of its timeline, where that is known.
    pub(crate) fn finish_jobs(&self) {
        self.finish_jobs_of(|_| true);
    }

    /// The same of the jobs on machines of one type.
    pub(crate) fn finish_jobs_on(&self, kind: &str) {
        self.finish_jobs_of(|job| job.instance_type() == kind);
    }

    fn finish_jobs_of(&self, is_meant: impl Fn(&Job) -> bool) {
        for job in &mut self.core.state().jobs {
            while is_meant(job)
                && job.timeline.next_change(job.elapsed).is_finite()
                && !job.has_ended()
            {
                job.elapsed = job.timeline.next_change(job.elapsed);
            }
        }
    }

    /// Makes all jobs so many seconds older than they are.
    pub(crate) fn age_jobs(&self, seconds: f64) {
        for job in &mut self.core.state().jobs {
            job.created -= seconds;
        }
    }

    /// Creates all jobs at this moment (epoch seconds), for answers that are the same whichever comes first.
    pub(crate) fn still_clock(&self, at: i64) {
        #[expect(clippy::cast_precision_loss, reason = "seconds of this century")]
        let at = at as f64;
        self.core.state().clock = Clock::Still(at);
    }

    pub(crate) fn metrics(&self, metrics: Metrics) {
        self.core.state().metrics = metrics;
    }

    pub(crate) fn logs(&self, logs: Logs) {
        self.core.state().logs = logs;
    }

    /// The JSON lines that the Debugger's profiler writes for a job that asks for it; they are there from its creation on.
    pub(crate) fn profiles(
        &self,
        profiles: impl Fn(&Job) -> Option<String> + Send + Sync + 'static,
    ) {
        self.core.state().profiles = Arc::new(profiles);
    }

    pub(crate) fn no_price(&self, instance_type: &str) {
        self.core.state().prices.remove(instance_type);
    }

    pub(crate) fn offer_file(&self, file: OfferFile) {
        self.core.state().offer_file = file;
    }

    /// A quota by its full name, such as `ml.m5.large for training job usage`. Those are also kept: a job above one is
    /// refused.
    pub(crate) fn quota(&self, name: &str, value: f64) {
        self.core.state().quotas.insert(name.to_owned(), value);
    }

    /// A quota that nobody has changed: not in the list of the account's own, but in that of the defaults.
    pub(crate) fn unchanged_quota(&self, name: &str, value: f64) {
        let mut state = self.core.state();
        state.quotas.remove(name);
        state.default_quotas.insert(name.to_owned(), value);
    }

    /// At most so many elements on any page of any list.
    pub(crate) fn page_size(&self, elements: usize) {
        self.core.state().page_size = size(elements);
        self.core.s3.set_page_size(elements);
    }

    /// The start of a sentence: `aws.fail(operation).on_call(3).with(fault)`; without a middle it is every call.
    pub(crate) fn fail(&self, operation: Operation) -> FaultBuilder<'_> {
        FaultBuilder::new(self, operation)
    }

    /// Creates one job in so much time, as an account does that throttles all others.
    pub(crate) fn one_create_in(&self, time: Duration) {
        self.core.state().between_creates = Some((time, Instant::now()));
    }

    /// Roles that are assumed from now on have credentials for so long.
    pub(crate) fn sessions_last(&self, lifetime: Duration) {
        self.core.state().sessions.lifetime = lifetime;
    }

    /// Calls that were signed by credentials which had ended, and were refused for it.
    pub(crate) fn late_calls(&self) -> u64 {
        self.core.state().sessions.late_calls
    }

    /// No call fails any more.
    pub(crate) fn recover(&self) {
        let mut state = self.core.state();
        state.faults.clear();
        state.lasting = None;
    }

    /// Deletes a job as somebody else could.
    pub(crate) fn delete_job(&self, name: &str) {
        for job in &mut self.core.state().jobs {
            job.is_deleted |= job.name == name;
        }
    }

    /// Lets every job have been created by another request, and with other tags.
    pub(crate) fn alter_jobs(
        &self,
        alter: impl Fn(&mut serde_json::Value, &mut Vec<(String, String)>),
    ) {
        for job in &mut self.core.state().jobs {
            alter(&mut job.input, &mut job.tags);
        }
    }

    // What happened.

    /// Every job ever created, deleted ones too, in order.
    pub(crate) fn jobs(&self) -> Vec<Job> {
        let mut state = self.core.state();
        for job in &mut state.jobs {
            job.settle();
        }
        state.jobs.clone()
    }

    /// The names of the jobs that still bill and were not asked to stop.
    pub(crate) fn in_progress(&self) -> Vec<String> {
        let jobs = self.jobs().into_iter();
        jobs.filter(|job| job.status() == "InProgress" && !job.is_deleted)
            .map(|job| job.name)
            .collect()
    }

    /// How often an operation was called, failed calls and retries included.
    pub(crate) fn calls(&self, operation: Operation) -> u64 {
        let state = self.core.state();
        state.calls.get(&operation).copied().unwrap_or(0)
    }

    /// The same of each operation that was called, by its name.
    pub(crate) fn calls_of_each(&self) -> BTreeMap<&'static str, u64> {
        let calls = self.core.state().calls.clone();
        let named = calls
            .into_iter()
            .map(|(operation, calls)| (operation.name(), calls));
        named.collect()
    }

    /// How often anything was called.
    pub(crate) fn all_calls(&self) -> u64 {
        let state = self.core.state();
        state.calls.values().sum::<u64>() + state.questions
    }
}

impl Drop for FakeAws {
    fn drop(&mut self) {
        self.server.end();
        for run in self.core.started.lock().unwrap().iter() {
            run.kill();
        }
    }
}
