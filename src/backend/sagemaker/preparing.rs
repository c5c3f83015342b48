//! What a planned job needs before its canaries run: its keys, its source in S3, and how many canaries its quota takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::code::{self, PlacedCode};
use super::known::QuotaListing;
use super::prepared::{PreparedJob, ProbeWay};
use super::quota;
use super::request;
use super::session::JobSession;
use super::staging;
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::{BackendError, Planned};
use crate::canary::{Dataset, Objects, code_key, data_key, listing_digest};
use crate::code::{CodeFile, PathKind};
use crate::instance::{InstanceConfiguration, InstanceType, tables};
use crate::plan::PoolPlan;
use crate::spec::{Channel, ChannelSample, InputMode, Job};

const QUOTAS: Call<'_> = Call("servicequotas:ListServiceQuotas");
const SERVICE: &str = "sagemaker";

impl JobSession<'_> {
    /// Makes the job ready. Where no key of its code is known the packed source stands for it, with the job as the commit
    /// itself has it.
    pub(super) async fn make_ready(
        &self,
        planned: &Planned<'_>,
    ) -> Result<PreparedJob, BackendError> {
        let (job, dataset) = (self.job, planned.dataset);
        self.check_copies(dataset)?;
        self.note_unused_volume_key();
        let quotas = self
            .quotas(planned.pools.is_some_and(PoolPlan::may_keep))
            .await?;
        let PlacedCode {
            script,
            source,
            probe,
        } = self.place_code().await?;
        let digests = dataset.channels.iter().zip(&job.training.channels);
        let data = data_key(
            digests
                .map(|(data, channel)| (data.name.as_str(), data_digest(channel, &data.objects))),
        );
        let code = planned.code.unwrap_or_else(|| {
            let archive = script.as_ref().map(|script| &script.archive);
            let packed = archive.or(source.as_ref().map(|source| &source.uri));
            let packed = packed.map(|place| CodeFile {
                path: PathBuf::new(),
                real: PathBuf::new(),
                kind: PathKind::File,
                blob: place.clone(),
            });
            code_key(planned.as_written, packed.as_slice())
        });
        Ok(PreparedJob {
            code,
            data,
            lacks_probe: code::wants_probe(job) && matches!(probe, ProbeWay::None),
            script,
            source,
            probe,
            pool_quotas: self.pool_limits(&quotas),
            quotas,
        })
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

    /// The limits of these types as far as the quotas may be read. What was listed for another job is not listed again.
    async fn limits_of(
        &self,
        wanted: &BTreeSet<&InstanceType>,
        wants_pools: bool,
    ) -> Result<BTreeMap<InstanceType, u32>, BackendError> {
        let aws = self.backend.aws();
        let _asking = self.backend.asking.lock().await;
        let is_known = || {
            let known = &self.backend.known.borrow().quotas;
            let pools = (wanted.iter())
                .filter(|_| wants_pools)
                .map(|kind| quota::pool_quota(kind.name()));
            let names = (wanted.iter())
                .map(|kind| quota::training_quota(kind.name()))
                .chain(pools);
            known.refused.is_some()
                || known.listing == QuotaListing::End
                || names
                    .into_iter()
                    .all(|name| known.limits.contains_key(&name))
        };
        while !is_known() {
            let listing = self.backend.known.borrow().quotas.listing.clone();
            let is_of_defaults = matches!(listing, QuotaListing::Defaults(_));
            let token = match listing {
                QuotaListing::Start | QuotaListing::End => None,
                QuotaListing::At(token) => Some(token),
                QuotaListing::Defaults(token) => token,
            };
            let page = match is_of_defaults {
                true => {
                    let listed = aws.quotas.list_aws_default_service_quotas();
                    let listed = listed.service_code(SERVICE).set_next_token(token);
                    let page = listed.send().await;
                    page.map(|page| (page.quotas, page.next_token))
                        .map_err(|error| CallError::of(QUOTAS, &error))
                }
                false => {
                    let listed = aws.quotas.list_service_quotas();
                    let listed = listed.service_code(SERVICE).set_next_token(token);
                    let page = listed.send().await;
                    page.map(|page| (page.quotas, page.next_token))
                        .map_err(|error| CallError::of(QUOTAS, &error))
                }
            };
            let known = &mut self.backend.known.borrow_mut().quotas;
            match page {
                Ok((quotas, next)) => {
                    for (name, limit) in quota::limits(&quotas.unwrap_or_default()) {
                        known.limits.entry(name).or_insert(limit);
                    }
                    known.listing = match next {
                        Some(next) if is_of_defaults => QuotaListing::Defaults(Some(next)),
                        Some(next) => QuotaListing::At(next),
                        None if is_of_defaults => QuotaListing::End,
                        None => QuotaListing::Defaults(None),
                    };
                }
                Err(error)
                    if matches!(
                        error.kind,
                        FailureKind::NoCredentials | FailureKind::Expired | FailureKind::Clock
                    ) =>
                {
                    return Err(error.to_error("read the quotas").into());
                }
                // A role of before may lack the right; the quotas that are known stay.
                Err(_) if is_of_defaults => known.listing = QuotaListing::End,
                Err(error) => known.refused = Some(error.to_string()),
            }
        }
        let known = &self.backend.known.borrow().quotas;
        if let Some(error) = &known.refused {
            self.note(format!(
                "the quotas could not be read, so canaries start without regard to them ({error})"
            ));
        }
        let limit = |kind: &&InstanceType| {
            let limit = known.limits.get(&quota::training_quota(kind.name()))?;
            Some(((*kind).clone(), *limit))
        };
        Ok(wanted.iter().filter_map(limit).collect())
    }

    /// The quotas of warm pools of these types, as far as they were listed.
    fn pool_limits(&self, types: &BTreeMap<InstanceType, u32>) -> BTreeMap<InstanceType, u32> {
        let known = &self.backend.known.borrow().quotas;
        let limit = |kind: &InstanceType| {
            let limit = known.limits.get(&quota::pool_quota(kind.name()))?;
            Some((kind.clone(), *limit))
        };
        types.keys().filter_map(limit).collect()
    }

    /// The account's quotas for the job's instance types; an error where not one canary fits on `instance`.
    pub(super) async fn quotas(
        &self,
        wants_pools: bool,
    ) -> Result<BTreeMap<InstanceType, u32>, BackendError> {
        let job = self.job;
        let configurations: Vec<&InstanceConfiguration> = std::iter::once(&job.instance)
            .chain(&job.alternatives)
            .collect();
        let wanted: BTreeSet<&InstanceType> = configurations
            .iter()
            .flat_map(|configuration| configuration.machines_by_type().into_keys())
            .collect();
        let found = self.limits_of(&wanted, wants_pools).await?;
        let needed = job.instance.machines_by_type().into_iter();
        let limits = needed.filter_map(|(kind, count)| Some((kind, count, *found.get(kind)?)));
        let at_once = |(_, count, limit): &(&InstanceType, u32, u32)| {
            quota::at_once(*limit, *count, job.canary.parallel)
        };
        // Of several types the one with least room decides.
        if let Some((kind, count, limit)) = limits.min_by_key(at_once) {
            let at_once = at_once(&(kind, count, limit));
            let name = quota::training_quota(kind.name());
            if at_once == 0 {
                return Err(BackendError::transient(
                    format!(
                        "no quota for a canary on {}: `{name}` is {limit}, and a canary needs {count}",
                        job.instance
                    ),
                    format!(
                        "ask for more of `{name}` in Service Quotas (service Amazon SageMaker), or choose another instance"
                    ),
                ));
            }
            if at_once < job.canary.parallel && !is_adaptive(job) {
                self.note(format!(
                    "the quota \"{name}\" is {limit}, so canaries run {at_once} at a time, not {}",
                    job.canary.parallel
                ));
            }
        }
        Ok(found)
    }
}

/// Of a channel's listing; where the store gives no ETags, of keys and sizes. A file system is not listed, so its address
/// stands for what is in it.
fn data_digest(channel: &Channel, objects: &Objects) -> [u8; 32] {
    objects
        .digest()
        .unwrap_or_else(|| listing_digest(&channel.uri, objects))
}

fn is_adaptive(job: &Job) -> bool {
    matches!(job.canary.design, crate::spec::Design::Adaptive { .. })
}
