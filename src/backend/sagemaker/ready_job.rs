//! A job whose canaries can run as training jobs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::SagemakerBackend;
use super::notes::Notes;
use super::prepared::PreparedJob;
use crate::aws::s3_uri::S3Uri;
use crate::backend::BackendError;
use crate::plan::WarmPool;
use crate::rows::Copied;
use crate::spec::{Channel, Job};

/// A job whose source is in S3 and whose quota is known.
#[derive(Debug)]
pub(super) struct ReadyJob<'a> {
    pub(super) backend: &'a SagemakerBackend,
    pub(super) job: &'a Job,
    pub(super) prepared: PreparedJob,
    /// The folder that the keys of a channel are relative to, by channel.
    bases: BTreeMap<String, S3Uri>,
    pub(super) notes: Notes,
    /// Bytes of the rows that this process placed for a training job, and how many blocks were passed over.
    pub(super) placed_rows: RefCell<BTreeMap<String, Copied>>,
    pub(super) warm_pools: Vec<WarmPool>,
    /// Configurations of which AWS kept no machines though it was asked to.
    pub(super) poolless: RefCell<BTreeSet<String>>,
    /// Training jobs that were asked for with a warm pool.
    pub(super) entered: RefCell<BTreeSet<String>>,
    /// Configurations whose last canary has begun: machines that are free are for nobody.
    pub(super) closing: RefCell<BTreeSet<String>>,
    /// Why a pool was no more when its job ended, by configuration, until the next start says it.
    pub(super) lost_pools: RefCell<BTreeMap<String, &'static str>>,
    /// Configurations for which pools of an earlier start were looked for.
    pub(super) recalled: RefCell<BTreeSet<String>>,
    /// Training jobs that are waited for at this moment.
    pub(super) watched: RefCell<BTreeSet<String>>,
}

impl<'a> ReadyJob<'a> {
    pub(super) fn new(
        backend: &'a SagemakerBackend,
        job: &'a Job,
        bases: BTreeMap<String, S3Uri>,
        notes: Notes,
        prepared: PreparedJob,
        warm_pools: Vec<WarmPool>,
    ) -> Self {
        Self {
            backend,
            job,
            prepared,
            bases,
            notes,
            placed_rows: RefCell::default(),
            warm_pools,
            poolless: RefCell::default(),
            entered: RefCell::default(),
            closing: RefCell::default(),
            lost_pools: RefCell::default(),
            recalled: RefCell::default(),
            watched: RefCell::default(),
        }
    }

    /// Notes something for the job's report, once.
    pub(super) fn note(&self, text: impl Into<String>) {
        self.notes.add(text);
    }

    pub(super) fn base(&self, channel: &Channel) -> Result<S3Uri, BackendError> {
        match self.bases.get(&channel.name) {
            Some(base) => Ok(base.clone()),
            None => Ok(S3Uri::read(
                &channel.uri,
                &format!(
                    "jobs.{}.training.channels.{}.uri",
                    self.job.name, channel.name
                ),
            )?),
        }
    }
}
