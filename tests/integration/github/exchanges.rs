//! Every request and every answer, written down to be judged by GitHub's own description (`tests/github/judge.mjs`).

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

static FAKES: AtomicU64 = AtomicU64::new(0);

/// A file of JSON lines of one fake; what is said again is not written again.
#[derive(Debug)]
pub(super) struct Exchanges(Option<Mutex<Written>>);

#[derive(Debug)]
struct Written {
    file: File,
    lines: HashSet<u64>,
}

impl Exchanges {
    pub(super) fn start() -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("github-exchanges");
        fs::create_dir_all(&folder).unwrap();
        let number = FAKES.fetch_add(1, Ordering::SeqCst);
        let name = format!("{}-{number}.jsonl", std::process::id());
        Self(Some(Mutex::new(Written {
            file: File::create(folder.join(name)).unwrap(),
            lines: HashSet::new(),
        })))
    }

    /// Writes nothing down.
    pub(super) fn unjudged() -> Self {
        Self(None)
    }

    pub(super) fn write(&self, exchange: &Value) {
        let Some(written) = &self.0 else { return };
        let line = format!("{exchange}\n");
        let mut written = written.lock().unwrap();
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        if written.lines.insert(hasher.finish()) {
            // A line in one write, so that none is torn when the process is ended.
            written.file.write_all(line.as_bytes()).unwrap();
        }
    }
}
