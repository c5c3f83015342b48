//! A job that was opened: who we are, what it costs and what its data are is asked before anything is spent, then it is made ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use async_trait::async_trait;

use super::placing::is_copied;
use super::ready::wants_probe;
use super::{
    JobObjects, Notes, ProbeWay, ReadyJob, SagemakerBackend, listing, logs, price, request,
};
use crate::aws::call::{Call, CallError, CallResult, FailureKind};
use crate::aws::s3::Request;
use crate::aws::s3_uri::S3Uri;
use crate::backend::{AccountAnswer, BoxReady, ListedData, Planned, Session};
use crate::canary::{ChannelData, Dataset, Objects, code_key, data_key, listing_digest};
use crate::code::{CodeFile, PathKind};
use crate::instance::price_file::PRICE_FILE;
use crate::instance::{InstanceType, Price, tables};
use crate::outside_error::OutsideResult;
use crate::plan::{NotMeasured, PoolPlan};
use crate::spec::{ChannelSample, FileSystem, Job, WarmPoolPolicy};

const IDENTITY: Call<'_> = Call("sts:GetCallerIdentity");
const PRODUCTS: Call<'_> = Call("pricing:GetProducts");

/// A name that no training job has: it begins like a canary's, so that policies for canaries allow calls about it, and it lacks the
/// key that each canary's name holds.
const NO_JOB: &str = "cg-no-such-job";

/// A job whose access was checked.
#[derive(Debug)]
pub(super) struct JobSession<'a> {
    pub(super) backend: &'a SagemakerBackend,
    pub(super) job: &'a Job,
    /// The folder that the keys of a listed channel are relative to, by channel.
    pub(super) bases: BTreeMap<String, S3Uri>,
    pub(super) notes: Notes,
}

impl<'a> JobSession<'a> {
    /// Who we are, and whether every bucket of the job is there and in the job's region. Reads only.
    pub(super) async fn check_access(&self) -> OutsideResult<()> {
        let job = self.job;
        let aws = self.backend.aws();
        let ask = async || {
            let identity = IDENTITY.heard(aws.sts.get_caller_identity().send().await);
            (identity.map(drop)).map_err(|error| error.to_error("find out who is signed in"))
        };
        self.backend.access.get_or_try_init(ask).await?;
        let channels = job.training.channels.iter();
        let channels = channels.map(|one| (format!("channels.{}.uri", one.name), one.uri.as_str()));
        let output = job.training.sagemaker.output.as_deref();
        let output = output.map(|output| ("output".to_owned(), output));
        let mut seen = BTreeSet::new();
        for (field, uri) in channels.chain(output) {
            let is_output = field == "output";
            let field = format!("jobs.{}.training.{field}", job.name);
            // A file system is in no bucket.
            let Ok(mut place) = S3Uri::read(uri, &field) else {
                continue;
            };
            if is_output {
                place = place.as_folder();
            }
            if seen.insert(place.bucket.clone()) {
                // One key, which the policy of the least rights allows where a look at the bucket itself is not.
                let request = Request::list(&aws.s3, &field, &place);
                let listed = request.listing().max_keys(1).send().await;
                listed.map_err(|error| request.refused(&error))?;
            }
        }
        Ok(())
    }

    async fn read_price(&self, kind: &InstanceType) -> CallResult<Option<Price>> {
        let aws = self.backend.aws();
        let today = format!("{:.10}", jiff::Timestamp::now().to_string());
        let listing = (aws.pricing.get_products().service_code(price::SERVICE))
            .set_filters(Some(price::filters(kind, &aws.region)))
            .into_paginator();
        let list = PRODUCTS.heard(listing.items().send().try_collect().await)?;
        Ok(price::parse(&list, kind, &aws.region, &today))
    }

    fn note_unused_volume_key(&self) {
        let job = self.job;
        let mut kinds = job.instance.machines_by_type().into_keys();
        if job.training.sagemaker.volume_kms_key.is_some()
            && let Some(kind) = kinds.find(|kind| tables::local_disks(kind).is_some())
        {
            self.notes.add(format!(
                "`volume_kms_key` is left out: {kind} has disks of its own, which SageMaker encrypts itself, and SageMaker refuses a key for them; the full run has to leave it out too"
            ));
        }
    }

    /// Fails where a sample for FastFile has an object that S3, which copies it, does not copy.
    fn check_copies(&self, dataset: &Dataset) -> OutsideResult<()> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let mut copied = channels.filter(|(_, channel)| is_copied(channel));
        copied.try_for_each(|(data, channel)| {
            let copies = JobObjects::of_channel(self.backend.aws().s3, self.job, channel);
            copies.check_sizes(&data.objects)
        })
    }
}

#[async_trait(?Send)]
impl<'a> Session<'a> for JobSession<'a> {
    /// Today's prices of these types, as far as the price list may be read and has them. Each is asked for once in a run.
    async fn prices(&mut self, kinds: &BTreeSet<&InstanceType>) -> BTreeMap<InstanceType, Price> {
        if kinds.is_empty() {
            return BTreeMap::new();
        }
        let _asking = self.backend.asking.lock().await;
        for kind in kinds {
            let is_settled = {
                let known = self.backend.state.borrow();
                known.no_prices.is_some() || known.prices.contains_key(kind)
            };
            if !is_settled {
                let price = self.read_price(kind).await;
                let known = &mut self.backend.state.borrow_mut();
                match price {
                    Ok(price) => drop(known.prices.insert((*kind).clone(), price)),
                    Err(error) => known.no_prices = Some(error.to_string()),
                }
            }
        }
        let known = self.backend.state.borrow();
        if let Some(error) = &known.no_prices {
            self.notes.add(format!(
                "today's prices could not be read, so those of {PRICE_FILE} or the built-in prices are used ({error})"
            ));
        }
        let price =
            |kind: &&InstanceType| Some(((*kind).clone(), known.prices.get(*kind)?.clone()?));
        kinds.iter().filter_map(price).collect()
    }

    async fn list(&mut self) -> OutsideResult<ListedData> {
        // Said before money is spent.
        self.probe_program();
        let aws = self.backend.aws();
        let job = self.job;
        request::image(job, &job.instance, &aws.region)?;
        let mut listed_channels = Vec::with_capacity(job.training.channels.len());
        for channel in &job.training.channels {
            let objects = Objects::default();
            let mut data = ChannelData::new(&channel.name, channel.sample.is_drawn(), objects);
            if FileSystem::of_uri(&channel.uri).is_none() {
                let copy = JobObjects::of_channel(aws.s3.clone(), job, channel);
                let listed = listing::list(&aws.s3, &copy.field, channel).await?;
                if channel.sample == ChannelSample::Rows {
                    let (base, tags) = (&listed.base, &listed.tags);
                    data.rows = Some(copy.row_blocks(base, &listed.objects, tags).await?);
                    self.notes.add(format!(
                        "channel {}: canaries get a copy of their rows below the job's output, which is removed with them",
                        channel.name
                    ));
                }
                self.bases.insert(channel.name.clone(), listed.base);
                data.objects = listed.objects;
            }
            listed_channels.push(data);
        }
        Ok(ListedData {
            dataset: Dataset::of_listing(job, listed_channels)?,
            knows_bytes: true,
            notes: self.notes.all().sentences,
        })
    }

    /// The quotas, and the rights that a run needs once money is spent: each is asked for by a call that costs nothing, about a training
    /// job that is not there, so that the only news is a denial.
    async fn account(&mut self) -> Vec<AccountAnswer> {
        let said = |kinds: BTreeSet<&InstanceType>| {
            let known = kinds.into_iter().filter_map(|kind| {
                let limit = self.backend.machine_quotas(kind).training?;
                Some(format!("{limit} of {}", kind.name()))
            });
            let said = Vec::from_iter(known).join(", ");
            Some(said).filter(|said| !said.is_empty())
        };
        let quotas = AccountAnswer {
            name: "quota",
            answer: self.check_quotas(false).await.map(said),
        };
        let logs = self.backend.may_not_read_logs().await;
        let logs = right("logs", "read what canaries print", logs);
        let mut answers = vec![quotas, logs];
        answers.extend(self.backend.rights_to_jobs().await);
        if self.job.canary.warm_pool != WarmPoolPolicy::Off {
            let pools = self.backend.may_not_end_pools().await;
            answers.push(right("warm pools", "end them", pools));
        }
        answers
    }

    /// Makes the job ready. Where no key of its code is known the packed source stands for it, with the job as the commit
    /// itself has it.
    async fn prepare(self: Box<Self>, planned: Planned<'_>) -> OutsideResult<BoxReady<'a>> {
        let (job, dataset) = (self.job, planned.dataset);
        // Without these a run would end half-way, with what it was billed.
        if planned.pools.is_some() {
            self.backend.check_rights().await?;
        }
        self.check_copies(dataset)?;
        self.note_unused_volume_key();
        self.check_quotas(planned.pools.is_some_and(PoolPlan::may_keep))
            .await?;
        let placed = self.place_code().await?;
        let digests = dataset.channels.iter().zip(&job.training.channels);
        let data = data_key(digests.map(|(data, channel)| {
            // Where the store gives no ETags, of keys and sizes. A file system is not listed, so its address stands for what is in it.
            let of_keys = || listing_digest(&channel.uri, &data.objects);
            let digest = data.objects.digest().unwrap_or_else(of_keys);
            (data.name.as_str(), digest)
        }));
        let code = planned.code.unwrap_or_else(|| {
            let packed = placed.source.as_ref().map(|place| CodeFile {
                path: PathBuf::new(),
                real: PathBuf::new(),
                kind: PathKind::File,
                blob: place.clone(),
            });
            code_key(planned.as_written, packed.as_slice())
        });
        let ready = ReadyJob {
            backend: self.backend,
            job,
            code,
            data,
            lacks_probe: wants_probe(job) && matches!(placed.probe, ProbeWay::None),
            placed,
            bases: self.bases,
            notes: self.notes,
            warm_pools: RefCell::default(),
        };
        for alternative in planned.alternatives {
            if alternative.runs.is_ok() && !ready.has_quota(&alternative.instance) {
                alternative.runs = Err(NotMeasured::NoQuota);
            }
        }
        if let Some(plan) = planned.pools {
            ready.plan_pools(plan).await;
        }
        Ok(Box::new(ready))
    }
}

impl SagemakerBackend {
    /// Why warm pools may not be ended; `None` where they may, as far as AWS says.
    pub(super) async fn may_not_end_pools(&self) -> Option<CallError> {
        denied(self.end_kept_machines(NO_JOB).await)
    }

    /// Fails where a right to training jobs is denied. It is asked once.
    async fn check_rights(&self) -> OutsideResult<()> {
        let ask = async || {
            let mut rights = self.rights_to_jobs().await.into_iter();
            rights.try_for_each(|right| right.answer.map(drop))
        };
        self.rights.get_or_try_init(ask).await.copied()
    }

    /// What a run does with its training jobs.
    async fn rights_to_jobs(&self) -> [AccountAnswer; 3] {
        let listing = self.aws().sagemaker.list_training_jobs();
        let listing = listing.name_contains(NO_JOB);
        let look = denied(self.describe(NO_JOB).await);
        let list = denied(self.jobs_listed(listing).await);
        let stop = denied(self.ask_to_stop(NO_JOB).await);
        [("look at", look), ("list", list), ("stop", stop)]
            .map(|(what, denied)| right("rights", &format!("{what} training jobs"), denied))
    }

    /// Why logs may not be read.
    async fn may_not_read_logs(&self) -> Option<CallError> {
        if let Some(error) = denied(self.log_streams(NO_JOB, "algo-1").await) {
            return Some(error);
        }
        let events = (self.aws().logs.get_log_events())
            .log_group_name(logs::GROUP)
            .log_stream_name(format!("{NO_JOB}/algo-1-0"));
        denied(logs::EVENTS.heard(events.send().await))
    }
}

fn right(name: &'static str, for_what: &str, denied: Option<CallError>) -> AccountAnswer {
    AccountAnswer {
        name,
        answer: match denied {
            None => Ok(Some(format!("may {for_what}"))),
            Some(error) => Err(error.to_error(for_what)),
        },
    }
}

fn denied<T>(asked: CallResult<T>) -> Option<CallError> {
    asked
        .err()
        .filter(|error| error.kind == FailureKind::Denied)
}
