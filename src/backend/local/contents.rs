//! The key of local data. A file system does not report whether a content changed, and a modification time says nothing after
//! a checkout, so every file is read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{LocalBackend, object_path};
use crate::backend::BackendError;
use crate::backend::files;
use crate::canary::{Dataset, Key, data_key};
use crate::spec::Job;

/// Read at a time; between two of them a signal is noticed.
const CHUNK: usize = 1 << 18;

impl LocalBackend {
    /// The key of a job's data: channel by channel, key, size and SHA-256 of the content of every file, at any time of
    /// change. All of the data are read, until this future is dropped. What is written to meanwhile counts as it was read.
    ///
    /// # Errors
    ///
    /// Where a file that was listed cannot be read.
    pub(super) async fn data_key(&self, job: &Job, dataset: &Dataset) -> Result<Key, BackendError> {
        let mut digests = Vec::new();
        for (data, channel) in dataset.channels.iter().zip(&job.training.channels) {
            let place = files::channel_path(&self.paths, job, channel)?;
            let mut whole = Sha256::new();
            for object in data.objects.iter() {
                let path = object_path(&place, &object.key);
                let (bytes, sha256) = digest_of(&path).await.map_err(|source| {
                    let (field, path) = (files::field(job, channel), path.display());
                    BackendError::io(
                        format!("{field}: {path} cannot be read"),
                        "keep the data unchanged while the gate reads them",
                        source,
                    )
                })?;
                whole.update((object.key.len() as u64).to_be_bytes());
                whole.update(&object.key);
                whole.update(bytes.to_be_bytes());
                whole.update(sha256);
            }
            digests.push((data.name.as_str(), whole.finalize().into()));
        }
        Ok(data_key(digests))
    }
}

/// Reads a file to its end, as far as it is there: how long it is, and what it holds.
async fn digest_of(path: &Path) -> io::Result<(u64, [u8; 32])> {
    // A pipe in its place would never be opened.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file any more"));
    }
    let mut chunk = vec![0; CHUNK];
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok((bytes, hash.finalize().into())),
            Ok(count) => {
                hash.update(&chunk[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_is_no_file_any_more_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for gone in [folder.path().to_owned(), folder.path().join("a.csv")] {
            let read = digest_of(&gone).now_or_never().unwrap();
            assert!(read.is_err(), "{}", gone.display());
        }
    }
}
