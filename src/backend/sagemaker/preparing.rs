//! What a planned job needs before its canaries run: its keys, its source in S3, and how many canaries its quota takes.

use std::collections::{BTreeMap, BTreeSet};

use super::code;
use super::prepared::{PreparedJob, ProbeWay};
use super::quota;
use super::session::JobSession;
use super::staging;
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::{BackendError, Planned};
use crate::canary::{CodeFile, Dataset, Objects, code_key, data_key, listing_digest};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::spec::{Channel, InputMode, Job};

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
        let quotas = self.quotas().await?;
        let (script, probe) = self.place_code().await?;
        let digests = dataset.channels.iter().zip(&job.training.channels);
        let data = data_key(
            digests
                .map(|(data, channel)| (data.name.as_str(), data_digest(channel, &data.objects))),
        );
        let code = planned.code.unwrap_or_else(|| {
            let packed = script.as_ref().map(|script| CodeFile {
                path: String::new(),
                blob: script.archive.clone(),
            });
            code_key(planned.as_written, packed.as_slice())
        });
        Ok(PreparedJob {
            code,
            too_large_to_copy: self.too_large_to_copy(dataset),
            data,
            lacks_probe: code::wants_probe(job) && matches!(probe, ProbeWay::None),
            script,
            probe,
            quotas,
        })
    }

    /// A sample for FastFile is copied by S3, which takes objects of some size only. Where one is larger, no canary of the job
    /// reads the channel so: their times are compared with each other.
    fn too_large_to_copy(&self, dataset: &Dataset) -> BTreeSet<String> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let too_large: BTreeSet<String> = channels
            .filter(|(_, channel)| channel.sample && channel.mode == InputMode::FastFile)
            .filter(|(data, _)| {
                data.objects
                    .sizes()
                    .any(|bytes| bytes > staging::LARGEST_COPY)
            })
            .map(|(_, channel)| channel.name.clone())
            .collect();
        for channel in &too_large {
            self.note(format!(
                    "channel {channel} has objects larger than {}, which S3 does not copy, so canaries read it in File mode and start more slowly than the full run",
                    staging::LARGEST_COPY
                ),
            );
        }
        too_large
    }

    /// The account's quotas for the job's instance types; an error where not one canary fits on `instance`.
    async fn quotas(&self) -> Result<BTreeMap<InstanceType, u32>, BackendError> {
        let job = self.job;
        let aws = self.backend.aws();
        let configurations: Vec<&InstanceConfiguration> = std::iter::once(&job.instance)
            .chain(&job.alternatives)
            .collect();
        let wanted: BTreeSet<&InstanceType> = configurations
            .iter()
            .filter_map(|configuration| configuration.single_type())
            .collect();
        let mut found = BTreeMap::new();
        let mut pages = aws
            .quotas
            .list_service_quotas()
            .service_code(SERVICE)
            .into_paginator()
            .send();
        while found.len() < wanted.len()
            && let Some(page) = pages.next().await
        {
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    let error = CallError::of(QUOTAS, &error);
                    if matches!(
                        error.kind,
                        FailureKind::NoCredentials | FailureKind::Expired | FailureKind::Clock
                    ) {
                        return Err(error.to_error("read the quotas").into());
                    }
                    self.note(format!(
                        "the quotas could not be read, so canaries start without regard to them ({error})"
                    ));
                    return Ok(found);
                }
            };
            for kind in &wanted {
                if let Some(limit) = quota::limit(page.quotas(), kind.name()) {
                    found.insert((*kind).clone(), limit);
                }
            }
        }
        let count = job.instance.total_count();
        if let Some(kind) = job.instance.single_type()
            && let Some(limit) = found.get(kind)
        {
            let at_once = quota::at_once(*limit, count, job.canary.parallel);
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
