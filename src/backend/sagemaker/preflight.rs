//! What is checked and made ready before a cent is spent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aws_sdk_s3::types::EncodingType;

use super::SagemakerBackend;
use super::prepared::Prepared;
use super::price;
use super::quota;
use super::staging;
use crate::aws::call::{Call, CallError, FailureKind};
use crate::aws::s3_error::{Request, User};
use crate::aws::s3_uri::{S3Uri, shown};
use crate::backend::BackendError;
use crate::canary::{CodeFile, Dataset, Key, Objects, code_key, data_key, listing_digest};
use crate::instance::{InstanceConfiguration, InstanceType, Price};
use crate::spec::{Channel, InputMode, Job};

const IDENTITY: Call<'_> = Call("sts:GetCallerIdentity");
const PRODUCTS: Call<'_> = Call("pricing:GetProducts");
const QUOTAS: Call<'_> = Call("servicequotas:ListServiceQuotas");
const SERVICE: &str = "sagemaker";

impl SagemakerBackend {
    /// Who we are, and whether every bucket of the job is there and in the job's region. Reads only.
    pub async fn check_access(&self, job: &Job) -> Result<(), BackendError> {
        let aws = self.aws();
        aws.sts
            .get_caller_identity()
            .send()
            .await
            .map_err(|error| {
                CallError::of(IDENTITY, &error).to_error("find out who is signed in")
            })?;
        self.has_access.set(true);
        let training = &job.training;
        let uris = training
            .channels
            .iter()
            .map(|channel| (format!("channels.{}.uri", channel.name), &channel.uri))
            .chain(
                training
                    .sagemaker
                    .output
                    .iter()
                    .map(|output| ("output".to_owned(), output)),
            );
        let mut seen = BTreeSet::new();
        for (field, uri) in uris {
            let field = format!("jobs.{}.training.{field}", job.name);
            // A file system is in no bucket.
            let Ok(mut place) = S3Uri::read(uri, &field) else {
                continue;
            };
            if Some(uri) == training.sagemaker.output.as_ref() {
                place = place.as_folder();
            }
            if seen.insert(place.bucket.clone()) {
                self.check_place(&field, &place).await?;
            }
        }
        Ok(())
    }

    /// Asks for one key, which the policy of the least rights allows where a look at the bucket itself is not.
    async fn check_place(&self, field: &str, place: &S3Uri) -> Result<(), BackendError> {
        let aws = self.aws();
        let permissions = format!(
            "s3:ListBucket on arn:aws:s3:::{} with the prefix `{}`",
            shown(&place.bucket),
            shown(&place.key)
        );
        let listed = aws
            .s3
            .list_objects_v2()
            .bucket(&place.bucket)
            .prefix(&place.key)
            .encoding_type(EncodingType::Url)
            .max_keys(1)
            .send()
            .await;
        let request = Request {
            field,
            place,
            doing: "list",
            permissions: &permissions,
            region: Some(&aws.region),
            user: User::TrainingJobs,
        };
        listed.map_err(|error| request.refused(&error))?;
        Ok(())
    }

    /// Today's prices of these types, as far as the price list may be read and tells them.
    pub async fn prices(
        &self,
        job: &Job,
        kinds: impl IntoIterator<Item = &InstanceType>,
    ) -> BTreeMap<InstanceType, Price> {
        let aws = self.aws();
        let today = format!("{:.10}", jiff::Timestamp::now().to_string());
        let mut prices = BTreeMap::new();
        for kind in kinds {
            let mut pages = aws
                .pricing
                .get_products()
                .service_code(price::SERVICE)
                .set_filters(Some(price::filters(kind, &aws.region)))
                .into_paginator()
                .send();
            let mut list = Vec::new();
            while let Some(page) = pages.next().await {
                match page {
                    Ok(page) => list.extend(page.price_list.unwrap_or_default()),
                    Err(error) => {
                        let error = CallError::of(PRODUCTS, &error);
                        self.note(
                            &job.name,
                            format!("today's prices could not be read, so those built into the program count ({error})"),
                        );
                        return prices;
                    }
                }
            }
            if let Some(price) = price::parse(&list, kind, &aws.region, &today) {
                prices.insert(kind.clone(), price);
            }
        }
        prices
    }

    /// Makes a job ready: its keys, its source in S3, and how many canaries its quota takes.
    ///
    /// `code` is the key of its code. Where none is known the packed source stands for it, with the job as the commit itself
    /// has it, `as_written`.
    pub async fn prepare(
        &self,
        job: &Job,
        as_written: &Job,
        dataset: &Dataset,
        code: Option<Key>,
        program: &Path,
    ) -> Result<(), BackendError> {
        let quotas = self.quotas(job).await?;
        let (script, probe) = self.place_code(job, program).await?;
        let digests = dataset.channels.iter().zip(&job.training.channels);
        let data = data_key(
            digests
                .map(|(data, channel)| (data.name.as_str(), data_digest(channel, &data.objects))),
        );
        let code = code.unwrap_or_else(|| {
            let packed = script.as_ref().map(|script| CodeFile {
                path: String::new(),
                blob: script.archive.clone(),
            });
            code_key(as_written, packed.as_slice())
        });
        let too_large_to_copy = self.too_large_to_copy(job, dataset);
        let prepared = Prepared {
            code,
            too_large_to_copy,
            data,
            script,
            probe,
            quotas,
        };
        self.prepared
            .borrow_mut()
            .insert(job.name.clone(), prepared);
        Ok(())
    }

    /// The keys of the code and of the data of a job that was made ready; `None` before.
    pub fn keys(&self, job: &Job) -> Option<(Key, Key)> {
        let prepared = self.prepared.borrow();
        let prepared = prepared.get(&job.name)?;
        Some((prepared.code, prepared.data))
    }

    /// A sample for FastFile is copied by S3, which takes objects of some size only. Where one is larger, no canary of the job
    /// reads the channel so: their times are compared with each other.
    fn too_large_to_copy(&self, job: &Job, dataset: &Dataset) -> BTreeSet<String> {
        let channels = dataset.channels.iter().zip(&job.training.channels);
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
            self.note(
                &job.name,
                format!(
                    "channel {channel} has objects larger than {}, which S3 does not copy, so canaries read it in File mode and start more slowly than the full run",
                    staging::LARGEST_COPY
                ),
            );
        }
        too_large
    }

    /// The account's quotas for the job's instance types; an error where not one canary fits on `instance`.
    async fn quotas(&self, job: &Job) -> Result<BTreeMap<InstanceType, u32>, BackendError> {
        let aws = self.aws();
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
                    self.note(&job.name, format!("the quotas could not be read ({error})"));
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
                return Err(BackendError::passing(
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
                self.note(
                    &job.name,
                    format!(
                        "the quota \"{name}\" is {limit}, so canaries run {at_once} at a time, not {}",
                        job.canary.parallel
                    ),
                );
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
