//! A job that was opened: its data may be listed, and it may be made ready.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::LocalBoxFuture;

use super::quota::Quotas;
use super::ready_job::Notes;
use super::staging::JobObjects;
use super::{SagemakerBackend, listing, request};
use crate::aws::s3_uri::S3Uri;
use crate::backend::{AccountAnswer, BackendFuture, ListedData, Planned, Ready, Session};
use crate::canary::{ChannelData, Dataset, Objects};
use crate::instance::{InstanceType, Price};
use crate::outside_error::OutsideError;
use crate::spec::{ChannelSample, FileSystem, Job};

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

    async fn list_channels(&mut self) -> Result<ListedData, OutsideError> {
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
                    let copy = JobObjects::of_channel(aws.s3.clone(), job, channel);
                    let (base, tags) = (&listed.base, &listed.tags);
                    rows = Some(copy.row_blocks(base, &listed.objects, tags).await?);
                    self.note(format!(
                        "channel {}: canaries get a copy of their rows below the job's output, which is removed with them",
                        channel.name
                    ));
                }
                self.bases.insert(channel.name.clone(), listed.base);
                listed.objects
            };
            listed_channels.push(ChannelData {
                rows,
                ..ChannelData::new(&channel.name, channel.sample.is_drawn(), objects)
            });
        }
        Ok(ListedData {
            dataset: Dataset::of_listing(job, listed_channels)?,
            knows_bytes: true,
            notes: self.notes.all().sentences,
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
            let said = |quotas: Quotas| {
                let known = quotas.iter().filter_map(|(kind, quotas)| {
                    Some(format!("{} of {}", quotas.training?, kind.name()))
                });
                let said = Vec::from_iter(known).join(", ");
                Some(said).filter(|said| !said.is_empty())
            };
            let mut answers = vec![AccountAnswer {
                name: "quota",
                answer: self.quotas(false).await.map(said),
            }];
            answers.extend(self.ask_rights().await);
            answers
        })
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
