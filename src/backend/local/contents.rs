//! The key of local data. A file system does not report whether a content changed, and a modification time says nothing after
//! a checkout, so every file is read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{LocalBackend, object_path};
use crate::backend::files;
use crate::canary::{Dataset, Key, data_key};
use crate::outside_error::OutsideError;
use crate::spec::Job;

/// Read at a time.
const CHUNK: usize = 1 << 18;

impl LocalBackend {
    /// The key of a job's data: channel by channel, key, size and SHA-256 of the content of every file, at any time of
    /// change. All of the data are read; once this future is dropped,
    /// no further file is. What is written to meanwhile counts as it was read.
    ///
    /// # Errors
    ///
    /// Where a file that was listed cannot be read.
    pub(super) async fn data_key(&self, job: &Job, dataset: &Dataset) -> Result<Key, OutsideError> {
        let mut digests = Vec::new();
        for (data, channel) in dataset.channels.iter().zip(&job.training.channels) {
            let place = files::channel_path(&self.paths, job, channel)?;
            let (field, mut whole) = (files::field(job, channel), Sha256::new());
            for object in data.objects.iter() {
                let (field, place, key) = (field.clone(), place.clone(), object.key.clone());
                // In another thread: where a file system hangs, signals are noticed all the same.
                let reading = tokio::task::spawn_blocking(move || read(&field, &place, &key)).await;
                let (bytes, sha256) = reading
                    .unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))?;
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

/// How long an object of a channel is, and what it holds.
fn read(field: &str, place: &Path, key: &str) -> Result<(u64, [u8; 32]), OutsideError> {
    let path = object_path(place, key);
    digest_of(&path).map_err(|source| {
        let what = format!("{field}: {} cannot be read", path.display());
        let help = "keep the data unchanged while the gate reads them";
        OutsideError::io(what, help, source)
    })
}

/// Reads a file to its end, as far as it is there: how long it is, and what it holds.
fn digest_of(path: &Path) -> io::Result<(u64, [u8; 32])> {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_it_was_listed_counts_as_it_is_read_or_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let read = || read("train", folder.path(), "a.csv");
        std::fs::write(&path, "longer than it was").unwrap();
        assert_eq!(read().unwrap().0, 18);
        std::fs::remove_file(&path).unwrap();
        let wrong = format!("train: {} cannot be read", path.display());
        assert_eq!(read().unwrap_err().what, wrong);
        std::fs::create_dir(&path).unwrap();
        let error = read().unwrap_err();
        let help = "keep the data unchanged while the gate reads them";
        assert_eq!((&*error.what, &*error.help), (&*wrong, help));
    }
}
