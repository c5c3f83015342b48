//! What a planned job needs before its canaries run: its keys, its source in S3, and how many canaries its quota takes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::placing::is_copied;
use super::quota::{Quotas, Scarcest};
use super::ready::{ProbeWay, ReadyJob};
use super::session::JobSession;
use super::staging::JobObjects;
use super::{code, quota};
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::Planned;
use crate::canary::{Dataset, Objects, code_key, data_key, listing_digest};
use crate::code::{CodeFile, PathKind};
use crate::instance::{InstanceType, tables};
use crate::outside_error::OutsideError;
use crate::plan::{MachineQuotas, NotMeasured, PoolPlan};
use crate::spec::Channel;

const QUOTAS: Call<'_> = Call("servicequotas:ListServiceQuotas");
const SERVICE: &str = "sagemaker";

impl<'a> JobSession<'a> {
    /// Makes the job ready. Where no key of its code is known the packed source stands for it, with the job as the commit
    /// itself has it.
    pub(super) async fn make_ready(
        self,
        planned: Planned<'_>,
    ) -> Result<ReadyJob<'a>, OutsideError> {
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
        let ready = ReadyJob {
            backend: self.backend,
            job,
            code,
            data,
            lacks_probe: code::wants_probe(job) && matches!(placed.probe, ProbeWay::None),
            placed,
            bases: self.bases,
            notes: self.notes,
            quotas,
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
        Ok(ready)
    }

    fn note_unused_volume_key(&self) {
        let job = self.job;
        let mut kinds = job.instance.machines_by_type().into_keys();
        if job.training.sagemaker.volume_kms_key.is_some()
            && let Some(kind) = kinds.find(|kind| tables::has_local_disks(kind))
        {
            self.note(format!(
                "`volume_kms_key` is left out: {kind} has disks of its own, which SageMaker encrypts itself, and SageMaker refuses a key for them; the full run has to leave it out too"
            ));
        }
    }

    /// Fails where a sample for FastFile has an object that S3, which copies it, does not copy.
    fn check_copies(&self, dataset: &Dataset) -> Result<(), OutsideError> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let mut copied = channels.filter(|(_, channel)| is_copied(channel));
        copied.try_for_each(|(data, channel)| {
            let copies = JobObjects::of_channel(self.backend.aws().s3, self.job, channel);
            copies.check_sizes(&data.objects)
        })
    }
}

impl JobSession<'_> {
    /// Lists quotas, as far as they may be read, until these are among them. Quotas that are known are not asked for again.
    async fn list_quotas(&self, names: &[String]) -> Result<(), OutsideError> {
        let backend = self.backend;
        let _asking = backend.asking.lock().await;
        let is_known = || {
            let known = backend.state.borrow();
            known.all_quotas.is_some() || names.iter().all(|name| known.quotas.contains_key(name))
        };
        let client = backend.aws().quotas;
        let own = client.list_service_quotas().service_code(SERVICE);
        let mut own = own.into_paginator().items().send();
        let others = client.list_aws_default_service_quotas();
        let others = others.service_code(SERVICE).into_paginator();
        let mut others = others.items().send();
        let mut is_own = true;
        while !is_known() {
            let listed = match is_own {
                true => QUOTAS.heard(own.next().await.transpose()),
                false => QUOTAS.heard(others.next().await.transpose()),
            };
            let state = &mut backend.state.borrow_mut();
            match listed {
                Ok(Some(quota)) => {
                    if let Some((name, limit)) = quota::limit(&quota) {
                        state.quotas.entry(name).or_insert(limit);
                    }
                }
                Err(error) => {
                    let why = refused(&error)?;
                    // A role of before may lack the right to the others; the quotas that are known stay.
                    state.all_quotas = Some(if is_own { Err(why) } else { Ok(()) });
                }
                // The account's own list lacks the quotas that nobody has changed.
                Ok(None) if is_own => is_own = false,
                Ok(None) => state.all_quotas = Some(Ok(())),
            }
        }
        if let Some(Err(error)) = &backend.state.borrow().all_quotas {
            self.note(format!(
                "the quotas could not be read, so canaries start without regard to them ({error})"
            ));
        }
        Ok(())
    }

    /// The account's quotas for the job's instance types; an error where not one canary fits on `instance`.
    pub(super) async fn quotas(&self, wants_pools: bool) -> Result<Quotas, OutsideError> {
        let job = self.job;
        let wanted: BTreeSet<&InstanceType> = std::iter::once(&job.instance)
            .chain(&job.alternatives)
            .flat_map(|configuration| configuration.machines_by_type().into_keys())
            .collect();
        let names = wanted.iter().flat_map(|kind| {
            let of_pools = wants_pools.then(|| quota::pool_quota(kind.name()));
            [Some(quota::training_quota(kind.name())), of_pools]
        });
        self.list_quotas(&Vec::from_iter(names.flatten())).await?;
        let known = &self.backend.state.borrow().quotas;
        let found = wanted.into_iter().map(|kind| {
            let quotas = MachineQuotas {
                training: known.get(&quota::training_quota(kind.name())).copied(),
                warm_pool: known.get(&quota::pool_quota(kind.name())).copied(),
            };
            (kind.clone(), quotas)
        });
        let found = Quotas::from_iter(found);
        let parallel = job.canary.parallel;
        let Some(scarcest) = Scarcest::of(&found, &job.instance, parallel) else {
            return Ok(found);
        };
        let Scarcest {
            at_once,
            limit,
            needed,
            ..
        } = scarcest;
        let name = quota::training_quota(scarcest.kind.name());
        if at_once == 0 {
            return Err(OutsideError::transient(
                format!(
                    "no quota for a canary on {}: `{name}` is {limit}, and a canary needs {needed}",
                    job.instance
                ),
                format!(
                    "ask for more of `{name}` in Service Quotas (service Amazon SageMaker), or choose another instance"
                ),
            ));
        }
        if at_once < parallel && job.canary.design.replicates.is_some() {
            self.note(format!(
                "the quota \"{name}\" is {limit}, so canaries run {at_once} at a time, not {parallel}"
            ));
        }
        Ok(found)
    }
}

/// The reason for which quotas cannot be read; an error where the credentials are good for nothing.
fn refused(error: &CallError) -> Result<String, OutsideError> {
    match error.kind {
        FailureKind::NoCredentials | FailureKind::Expired | FailureKind::Clock => {
            Err(error.to_error("read the quotas"))
        }
        _ => Ok(error.to_string()),
    }
}

/// Of a channel's listing; where the store gives no ETags, of keys and sizes. A file system is not listed, so its address
/// stands for what is in it.
fn data_digest(channel: &Channel, objects: &Objects) -> [u8; 32] {
    objects
        .digest()
        .unwrap_or_else(|| listing_digest(&channel.uri, objects))
}
