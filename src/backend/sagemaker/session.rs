//! A job that was opened: its data may be listed, and it may be made ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use futures_util::future::LocalBoxFuture;

use super::code::{self, ProbeWay};
use super::ready_job::ReadyJob;
use super::row_objects::RowCopy;
use super::{SagemakerBackend, listing, quota, request, staging};
use crate::aws::s3_uri::S3Uri;
use crate::backend::{
    AccountAnswer, BackendError, BackendFuture, JobNotes, ListedData, Planned, Ready, RunPart,
    Session,
};
use crate::canary::{ChannelListing, Dataset, Objects, code_key, data_key, listing_digest};
use crate::code::{CodeFile, PathKind};
use crate::instance::{InstanceType, Price, tables};
use crate::plan::{NotMeasured, Plan, PoolPlan};
use crate::rows::{READ_THROUGH, RowBlocks};
use crate::spec::{Channel, ChannelSample, FileSystem, InputMode, Job};
use crate::units::{Bytes, Seconds, Usd};

/// What a reader of a job's report should know, each once.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<JobNotes>);

impl Notes {
    /// Why canaries run without the probe; the first reason counts. It may stand in the report's first line, which has no quotes
    /// for code.
    pub(super) fn set_lacks_probe(&self, why: &str) {
        if self.lacks_probe().is_none() {
            self.0.borrow_mut().lacks_probe = Some(why.to_owned());
            self.add(format!("canaries run without the probe: {why}"));
        }
    }

    pub(super) fn lacks_probe(&self) -> Option<String> {
        self.0.borrow().lacks_probe.clone()
    }

    pub(super) fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let sentences = &mut self.0.borrow_mut().sentences;
        if !sentences.contains(&text) {
            sentences.push(text);
        }
    }

    pub(super) fn all(&self) -> JobNotes {
        self.0.borrow().clone()
    }
}

/// A job whose access was checked.
#[derive(Debug)]
pub(super) struct JobSession<'a> {
    pub(super) backend: &'a SagemakerBackend,
    pub(super) job: &'a Job,
    /// The folder that the keys of a listed channel are relative to, by channel.
    bases: BTreeMap<String, S3Uri>,
    pub(super) notes: Notes,
}

impl<'a> JobSession<'a> {
    pub(super) fn new(backend: &'a SagemakerBackend, job: &'a Job) -> Self {
        Self {
            backend,
            job,
            bases: BTreeMap::new(),
            notes: Notes::default(),
        }
    }

    /// Notes something for the job's report, once.
    pub(super) fn note(&self, text: impl Into<String>) {
        self.notes.add(text);
    }

    async fn list_channels(&mut self) -> Result<ListedData, BackendError> {
        // Said before money is spent.
        self.probe_program();
        let aws = self.backend.aws();
        let job = self.job;
        request::image(job, &job.instance, &aws.region)?;
        let mut listed_channels = Vec::with_capacity(job.training.channels.len());
        for channel in &job.training.channels {
            let field = format!("jobs.{}.training.channels.{}", job.name, channel.name);
            let mut rows = None;
            let objects = if FileSystem::of_uri(&channel.uri).is_some() {
                Objects::default()
            } else {
                let listed = listing::list(&aws.s3, &field, channel).await?;
                if channel.sample == ChannelSample::Rows {
                    let copy = RowCopy {
                        s3: &aws.s3,
                        field: &field,
                        base: &listed.base,
                    };
                    let blocks = copy.blocks(&listed.objects, &listed.tags).await?;
                    self.note(said_of_copies(&channel.name, &blocks));
                    rows = Some(blocks);
                }
                self.bases.insert(channel.name.clone(), listed.base);
                listed.objects
            };
            listed_channels.push(ChannelListing {
                rows,
                ..objects.into()
            });
        }
        Ok(ListedData {
            dataset: Dataset::of_listing(job, listed_channels)?,
            knows_bytes: true,
            notes: self.notes.all().sentences,
        })
    }

    /// Makes the job ready. Where no key of its code is known the packed source stands for it, with the job as the commit
    /// itself has it.
    async fn make_ready(self, planned: Planned<'_>) -> Result<ReadyJob<'a>, BackendError> {
        let (job, dataset) = (self.job, planned.dataset);
        self.check_copies(dataset)?;
        self.note_unused_volume_key();
        let quotas = self
            .quotas(planned.pools.is_some_and(PoolPlan::may_keep))
            .await?;
        let placed = self.place_code().await?;
        let digests = dataset.channels.iter().zip(&job.training.channels);
        let data = data_key(
            digests
                .map(|(data, channel)| (data.name.as_str(), data_digest(channel, &data.objects))),
        );
        let code = planned.code.unwrap_or_else(|| {
            let archive = placed.script.as_ref().map(|script| &script.archive);
            let packed = archive.or(placed.source.as_ref().map(|source| &source.uri));
            let packed = packed.map(|place| CodeFile {
                path: PathBuf::new(),
                real: PathBuf::new(),
                kind: PathKind::File,
                blob: place.clone(),
            });
            code_key(planned.as_written, packed.as_slice())
        });
        let mut ready = ReadyJob {
            backend: self.backend,
            job,
            code,
            data,
            lacks_probe: code::wants_probe(job) && matches!(placed.probe, ProbeWay::None),
            placed,
            bases: self.bases,
            notes: self.notes,
            pool_quotas: self.backend.known_quotas(quotas.keys(), quota::pool_quota),
            quotas,
            warm_pools: Vec::new(),
            placed_rows: RefCell::default(),
            poolless: RefCell::default(),
            closing: RefCell::default(),
        };
        for alternative in planned.alternatives {
            if alternative.runs.is_ok() && !ready.has_quota(&alternative.instance) {
                alternative.runs = Err(NotMeasured::NoQuota);
            }
        }
        if let Some(plan) = planned.pools {
            ready.plan_pools(plan).await;
        }
        Ok(ready)
    }

    fn note_unused_volume_key(&self) {
        let job = self.job;
        if job.training.sagemaker.volume_kms_key.is_none()
            || request::volume_kms_key(job, &job.instance).is_some()
        {
            return;
        }
        let mut kinds = job.instance.machines_by_type().into_keys();
        if let Some(kind) = kinds.find(|kind| tables::has_local_disks(kind)) {
            self.note(format!(
                "`volume_kms_key` is left out: {kind} has disks of its own, which SageMaker encrypts itself, and SageMaker refuses a key for them; the full run has to leave it out too"
            ));
        }
    }

    /// Fails where a sample for FastFile has an object that S3, which copies it, does not copy.
    fn check_copies(&self, dataset: &Dataset) -> Result<(), BackendError> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let mut copied = channels.filter(|(_, channel)| {
            channel.sample == ChannelSample::Objects && channel.mode == InputMode::FastFile
        });
        copied.try_for_each(|(data, channel)| {
            let field = format!("jobs.{}.training.channels.{}", self.job.name, channel.name);
            staging::check_sizes(&field, &data.objects)
        })
    }
}

impl<'a> Session<'a> for JobSession<'a> {
    fn prices<'s>(
        &'s mut self,
        kinds: &'s BTreeSet<&'s InstanceType>,
    ) -> LocalBoxFuture<'s, BTreeMap<InstanceType, Price>> {
        Box::pin(self.read_prices(kinds))
    }

    fn list(&mut self) -> BackendFuture<'_, ListedData> {
        Box::pin(self.list_channels())
    }

    fn account(&mut self) -> LocalBoxFuture<'_, Vec<AccountAnswer>> {
        Box::pin(async move {
            let said = |quotas: BTreeMap<InstanceType, u32>| {
                let said = quotas
                    .iter()
                    .map(|(kind, limit)| format!("{limit} of {}", kind.name()));
                (!quotas.is_empty()).then(|| Vec::from_iter(said).join(", "))
            };
            let mut answers = vec![AccountAnswer {
                name: "quota",
                answer: self.quotas(false).await.map(said),
            }];
            answers.extend(self.ask_rights().await);
            answers
        })
    }

    /// There is no lack of runs; credentials may end before the last of them, where somebody waits for it.
    fn check_supply(&self, plan: &mut Plan) -> Result<Vec<BackendError>, BackendError> {
        if self.backend.tags.part != RunPart::Whole {
            return Ok(Vec::new());
        }
        let Some(end) = self.backend.aws().credentials_end() else {
            return Ok(Vec::new());
        };
        let left = end.duration_since(SystemTime::now()).unwrap_or_default();
        let left = Seconds(left.as_secs_f64());
        let job = &self.job.name;
        let needed = plan.wall_clock;
        if left >= needed {
            tracing::info!(
                "The AWS credentials last {left}; the canaries of {job} take at most {needed}, and the wait for machines."
            );
            return Ok(Vec::new());
        }
        // Only what is wrong is printed of it, so it says what to do too.
        let help =
            "sign in for longer, or let the action assume the role itself by `role-to-assume`";
        Ok(vec![BackendError::transient(
            format!(
                "the AWS credentials end in {left}, which may be before the canaries of {job} do: they may take up to {needed} and the wait for machines; {help}"
            ),
            help,
        )])
    }

    fn prepare<'p>(self: Box<Self>, planned: Planned<'p>) -> BackendFuture<'p, Box<dyn Ready + 'a>>
    where
        'a: 'p,
    {
        Box::pin(
            async move { Ok(Box::new(self.make_ready(planned).await?) as Box<dyn Ready + 'a>) },
        )
    }
}

/// Of a channel's listing; where the store gives no ETags, of keys and sizes. A file system is not listed, so its address
/// stands for what is in it.
fn data_digest(channel: &Channel, objects: &Objects) -> [u8; 32] {
    objects
        .digest()
        .unwrap_or_else(|| listing_digest(&channel.uri, objects))
}

/// What a hundredth of the data takes to copy: bytes read and written, and requests, which S3 bills.
fn said_of_copies(channel: &str, blocks: &RowBlocks) -> String {
    /// For 1,000 requests of S3 Standard in us-east-1, 2026: <https://aws.amazon.com/s3/pricing/>.
    const GETS: f64 = 0.0004;
    const PUTS: f64 = 0.005;
    const PIECE: u64 = Bytes::MIB;
    let (mut read, mut gets) = (0, 1);
    for (place, file) in blocks.files().iter().enumerate() {
        let drawn = file.row_bytes().0.div_ceil(100);
        // All of a small file, at worst.
        let (of_file, at_once) = match file.is_read_through() {
            true => (file.bytes.0.min(READ_THROUGH), PIECE),
            false => (drawn, blocks.block_size(place).0.clamp(1, 2 * PIECE)),
        };
        read += of_file;
        gets += of_file.div_ceil(at_once);
    }
    let written = blocks.bytes().0.div_ceil(100);
    let puts = blocks.files().len();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let dollars = (gets as f64 * GETS + puts as f64 * PUTS) / 1000.0;
    format!(
        "channel {channel}: canaries get a copy of their rows below the job's output, which is removed with them; 1 % of the data reads about {} in {gets} requests and writes {}, for about {} of S3's requests",
        Bytes(read),
        Bytes(written),
        Usd(dollars)
    )
}
