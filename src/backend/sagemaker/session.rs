//! A job that was opened: its data may be listed, and it may be made ready.

use std::collections::{BTreeMap, BTreeSet};

use super::notes::Notes;
use super::ready_job::ReadyJob;
use super::{SagemakerBackend, listing};
use crate::aws::s3_uri::S3Uri;
use crate::backend::{BackendError, BackendFuture, ListedData, Planned, Ready, Session};
use crate::canary::{ChannelData, Dataset, Objects};
use crate::instance::{InstanceType, Price};
use crate::plan::NotMeasured;
use crate::spec::{FileSystem, Job};
use futures_util::future::LocalBoxFuture;

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
        let mut channels = Vec::with_capacity(job.training.channels.len());
        for channel in &job.training.channels {
            let field = format!("jobs.{}.training.channels.{}", job.name, channel.name);
            let objects = if FileSystem::of_uri(&channel.uri).is_some() {
                Objects::default()
            } else {
                let listed = listing::list(&aws.s3, &field, channel).await?;
                self.bases.insert(channel.name.clone(), listed.base);
                listed.objects
            };
            channels.push(ChannelData {
                name: channel.name.clone(),
                sampled: channel.sample.is_drawn(),
                rows: None,
                objects,
            });
        }
        Ok(ListedData {
            dataset: Dataset { channels },
            knows_bytes: true,
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

    fn notes(&self) -> Vec<String> {
        self.notes.all()
    }

    fn prepare<'p>(self: Box<Self>, planned: Planned<'p>) -> BackendFuture<'p, Box<dyn Ready + 'a>>
    where
        'a: 'p,
    {
        Box::pin(async move {
            let prepared = self.make_ready(&planned).await?;
            for alternative in planned.alternatives {
                if alternative.runs.is_ok() && !prepared.has_quota(&alternative.instance) {
                    alternative.runs = Err(NotMeasured::NoQuota);
                }
            }
            let Self {
                backend,
                job,
                bases,
                notes,
            } = *self;
            let ready = ReadyJob::new(backend, job, bases, notes, prepared);
            Ok(Box::new(ready) as Box<dyn Ready + 'a>)
        })
    }
}
