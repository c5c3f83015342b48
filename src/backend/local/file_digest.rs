//! What a file holds, in a few bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use crate::backend::BackendError;

/// Read at a time; between two of them a signal is noticed.
const CHUNK: usize = 1 << 18;

/// How long a file is, and the SHA-256 of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileDigest {
    pub(super) bytes: u64,
    pub(super) sha256: [u8; 32],
}

/// Sets a flag when it is dropped.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads in a thread of its own. Its flag `is_over` is set when this future is dropped.
pub(super) async fn apart<T: Send + 'static>(
    read: impl FnOnce(&AtomicBool) -> Result<T, BackendError> + Send + 'static,
) -> Result<T, BackendError> {
    let stop = StopWhenDropped(Arc::default());
    let is_over = Arc::clone(&stop.0);
    match tokio::task::spawn_blocking(move || read(&is_over)).await {
        Ok(result) => result,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Reads a file to its end, as far as it is there; an error as soon as `is_over` is set.
pub(super) fn of(path: &Path, is_over: &AtomicBool) -> Result<FileDigest, std::io::Error> {
    // A pipe in its place would never be opened.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file any more"));
    }
    let mut chunk = vec![0; CHUNK];
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    loop {
        if is_over.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut chunk) {
            Ok(0) => {
                let sha256 = hash.finalize().into();
                return Ok(FileDigest { bytes, sha256 });
            }
            Ok(count) => {
                hash.update(&chunk[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
