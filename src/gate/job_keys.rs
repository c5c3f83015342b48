//! The keys of a job, whatever its backend: what its canaries and its baseline are looked up by.

use std::ffi::OsString;

use crate::canary::{
    CanaryRun, Dataset, Key, canary_key, data_key, listing_digest, machine_key, on_machine,
};
use crate::console::AppError;
use crate::gate::backend::AnyBackend;
use crate::spec::Job;
use crate::workspace::project::Project;

/// What tells a job's canaries from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobKeys {
    /// `None` where git knows nothing of the code, and the backend no more.
    pub(crate) code: Option<Key>,
    pub(crate) data: Option<Key>,
    /// What `local` is, where canaries run on this machine.
    pub(crate) machine: Option<String>,
    /// Of it, and of what canaries see of the caller's environment.
    here: Option<Key>,
}

impl JobKeys {
    /// The keys of a job that the backend has made ready. Local data are read for it, every byte, until this future is
    /// dropped.
    ///
    /// On SageMaker they are those that its training jobs are named by: without git the packed source stands for the code.
    /// The data of a recording are what it lists, so two recordings of the same sizes are of the same data, whatever times
    /// they hold.
    pub(crate) async fn of(
        project: &Project,
        backend: &AnyBackend,
        job: &Job,
        dataset: &Dataset,
        pass_env: &[String],
    ) -> Result<Self, AppError> {
        Ok(match backend {
            AnyBackend::Sagemaker(sagemaker) => {
                let (code, data) = sagemaker.keys(job).unzip();
                Self {
                    code,
                    data,
                    machine: None,
                    here: None,
                }
            }
            AnyBackend::Local(local) => Self {
                code: project.code_key(job)?,
                data: Some(local.data_key(job, dataset).await?),
                here: Some(here(&local.machine(), pass_env)),
                machine: Some(local.machine()),
            },
            AnyBackend::Replay(_) => Self {
                code: project.code_key(job)?,
                data: Some(listed_key(job, dataset)),
                machine: None,
                here: None,
            },
        })
    }

    /// Of the code alone, for who runs nothing.
    pub(crate) fn of_code(code: Option<Key>) -> Self {
        Self {
            code,
            data: None,
            machine: None,
            here: None,
        }
    }

    /// The same where the code is not known any more.
    pub(crate) fn without_code(&self) -> Self {
        Self {
            code: None,
            ..self.clone()
        }
    }

    /// The key of a canary of the job.
    pub(crate) fn canary(&self, run: &CanaryRun) -> Option<Key> {
        let key = canary_key(&self.code?, &self.data?, run);
        Some(match &self.here {
            Some(here) => on_machine(&key, here),
            None => key,
        })
    }
}

/// Of this machine and of the variables that canaries are handed.
fn here(machine: &str, pass_env: &[String]) -> Key {
    let mut names: Vec<&String> = pass_env.iter().collect();
    names.sort();
    names.dedup();
    let values: Vec<(&str, OsString)> = names
        .into_iter()
        .filter_map(|name| Some((name.as_str(), std::env::var_os(name)?)))
        .collect();
    let bytes = values.iter();
    machine_key(
        machine,
        bytes.map(|(name, value)| (*name, value.as_encoded_bytes())),
    )
}

/// Of what is listed and no more.
fn listed_key(job: &Job, dataset: &Dataset) -> Key {
    let channels = dataset.channels.iter().zip(&job.training.channels);
    data_key(channels.map(|(data, channel)| {
        let digest = listing_digest(&channel.uri, &data.objects);
        (data.name.as_str(), digest)
    }))
}

#[cfg(test)]
mod tests;
