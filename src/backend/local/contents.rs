//! The key of local data. A file system does not report whether a content changed, and a modification time says nothing after
//! a checkout, so every file is read.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use super::LocalBackend;
use crate::backend::BackendError;
use crate::backend::files;
use crate::canary::{Dataset, Key, Objects, data_key};
use crate::spec::Job;

/// Read at a time; between two of them a signal is noticed.
const CHUNK: usize = 1 << 18;

/// A channel with the place of its files.
struct ContentChannel {
    name: String,
    /// A folder, or the one file.
    path: PathBuf,
    objects: Objects,
}

/// Sets a flag when it is dropped.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
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
        let stop = StopWhenDropped(Arc::default());
        let is_over = Arc::clone(&stop.0);
        let reading = tokio::task::spawn_blocking(move || {
            let digests = channels.iter().map(|channel| {
                let digest = digest(&job, channel, &is_over)?;
                Ok((channel.name.as_str(), digest))
            });
            Ok(data_key(digests.collect::<Result<Vec<_>, BackendError>>()?))
        });
        match reading.await {
            Ok(key) => key,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }
}

fn digest(
    job: &str,
    channel: &ContentChannel,
    is_over: &AtomicBool,
) -> Result<[u8; 32], BackendError> {
    let mut whole = Sha256::new();
    let is_file = channel.path.is_file();
    for object in channel.objects.iter() {
        let path = match is_file {
            true => channel.path.clone(),
            false => channel.path.join(&object.key),
        };
        let (bytes, sha256) = digest_of(&path, is_over).map_err(|source| {
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
        whole.update(bytes.to_be_bytes());
        whole.update(sha256);
    }
    Ok(whole.finalize().into())
}

/// Reads a file to its end, as far as it is there: how long it is, and what it holds. An error as soon as `is_over` is set.
fn digest_of(path: &Path, is_over: &AtomicBool) -> io::Result<(u64, [u8; 32])> {
    // A pipe in its place would never be opened.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file any more"));
    }
    let mut chunk = vec![0; CHUNK];
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    while !is_over.load(Ordering::Relaxed) {
        match file.read(&mut chunk) {
            Ok(0) => return Ok((bytes, hash.finalize().into())),
            Ok(count) => {
                hash.update(&chunk[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

#[cfg(test)]
mod tests;
