//! The key of local data. A file system does not report whether a content changed, and a modification time says nothing after
//! a checkout, so every file is read.

use std::fs::File;
use std::io::Read;
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

/// Ends the reading when its result is not awaited any more.
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
        let is_over = Arc::new(AtomicBool::new(false));
        let _stop = StopWhenDropped(Arc::clone(&is_over));
        let job = job.name.clone();
        let reading = tokio::task::spawn_blocking(move || key_of(&job, &channels, &is_over));
        match reading.await {
            Ok(key) => key,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(given_up()),
            },
        }
    }
}

fn key_of(
    job: &str,
    channels: &[ContentChannel],
    is_over: &AtomicBool,
) -> Result<Key, BackendError> {
    let mut digests = Vec::new();
    for channel in channels {
        digests.push((channel.name.as_str(), digest(job, channel, is_over)?));
    }
    Ok(data_key(digests))
}

fn digest(
    job: &str,
    channel: &ContentChannel,
    is_over: &AtomicBool,
) -> Result<[u8; 32], BackendError> {
    let mut chunk = vec![0; CHUNK];
    let mut whole = Sha256::new();
    let is_file = channel.path.is_file();
    for object in channel.objects.iter() {
        let path = match is_file {
            true => channel.path.clone(),
            false => channel.path.join(&object.key),
        };
        let (bytes, content) = read(&path, &mut chunk, is_over).map_err(|source| {
            if is_over.load(Ordering::Relaxed) {
                return given_up();
            }
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
        whole.update(content);
    }
    Ok(whole.finalize().into())
}

/// How long a file is, and the SHA-256 of its content, as far as it was there when it was read.
fn read(
    path: &Path,
    chunk: &mut [u8],
    is_over: &AtomicBool,
) -> Result<(u64, [u8; 32]), std::io::Error> {
    // A pipe in its place would never be opened.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file any more"));
    }
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    loop {
        if is_over.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        match file.read(chunk) {
            Ok(0) => return Ok((bytes, hash.finalize().into())),
            Ok(count) => {
                hash.update(&chunk[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Never shown: the request was dropped.
fn given_up() -> BackendError {
    BackendError::new("the data were not read completely", "start the gate again")
}

#[cfg(test)]
mod tests;
