//! The key of local data. A file system does not report whether a content changed, and a modification time says nothing after
//! a checkout, so every file is read.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use sha2::{Digest, Sha256};

use super::LocalBackend;
use super::file_digest::{self, FileDigest};
use super::workspace::COPIED_UP_TO;
use crate::backend::BackendError;
use crate::backend::files;
use crate::canary::{Dataset, Key, Objects, data_key};
use crate::spec::Job;

/// A channel with the place of its files.
struct ContentChannel {
    name: String,
    /// A folder, or the one file.
    path: PathBuf,
    objects: Objects,
}

impl LocalBackend {
    /// The key of a job's data: channel by channel, key, size and SHA-256 of the content of every file, at any time of
    /// change. All of the data are read, in a thread of its own that ends soon after this future is dropped. What is written
    /// to meanwhile counts as it was read.
    ///
    /// # Errors
    ///
    /// Where a file that was listed cannot be read.
    pub(super) async fn data_key(&self, job: &Job, dataset: &Dataset) -> Result<Key, BackendError> {
        let channels = dataset.channels.iter().zip(&job.training.channels);
        let channels: Vec<ContentChannel> = channels
            .map(|(data, channel)| {
                Ok(ContentChannel {
                    name: data.name.clone(),
                    path: files::channel_path(&self.paths, job, channel)?,
                    objects: data.objects.clone(),
                })
            })
            .collect::<Result<_, BackendError>>()?;
        let job = job.name.clone();
        let reading = file_digest::apart(move |is_over| {
            let (mut digests, mut large_files) = (Vec::new(), Vec::new());
            for channel in &channels {
                let digest = digest(&job, channel, is_over, &mut large_files)?;
                digests.push((channel.name.as_str(), digest));
            }
            Ok((data_key(digests), large_files))
        });
        let (key, large_files) = reading.await?;
        self.large_files.borrow_mut().extend(large_files);
        Ok(key)
    }
}

fn digest(
    job: &str,
    channel: &ContentChannel,
    is_over: &AtomicBool,
    large_files: &mut Vec<(PathBuf, FileDigest)>,
) -> Result<[u8; 32], BackendError> {
    let mut whole = Sha256::new();
    let is_file = channel.path.is_file();
    for object in channel.objects.iter() {
        let path = match is_file {
            true => channel.path.clone(),
            false => channel.path.join(&object.key),
        };
        let digest = file_digest::of(&path, is_over).map_err(|source| {
            BackendError::io(
                format!(
                    "jobs.{job}.training.channels.{}: {} cannot be read",
                    channel.name,
                    path.display()
                ),
                "keep the data unchanged while the gate reads them",
                source,
            )
        })?;
        whole.update((object.key.len() as u64).to_be_bytes());
        whole.update(&object.key);
        whole.update(digest.bytes.to_be_bytes());
        whole.update(digest.sha256);
        if digest.bytes > COPIED_UP_TO {
            // Under its real name, as it is linked.
            large_files.extend(path.canonicalize().ok().map(|real| (real, digest)));
        }
    }
    Ok(whole.finalize().into())
}

#[cfg(test)]
mod tests;
