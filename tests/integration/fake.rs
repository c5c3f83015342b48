//! What the fakes have in common: a server on 127.0.0.1 that ends with its owner, and a record of what was said to it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use axum::Router;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A server on a thread of its own. It ends when it is dropped.
pub(crate) struct Server {
    address: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(router: Router) -> Self {
        let (end, ended) = oneshot::channel();
        let (listening, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                listening.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    result = axum::serve(listener, router) => result.unwrap(),
                    _ = ended => {}
                }
            });
        });
        let address = address.recv().expect("the fake listens");
        Self {
            address: format!("http://{address}"),
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Stops serving.
    pub(crate) fn end(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

static RECORDS: AtomicU64 = AtomicU64::new(0);

/// A file of JSON lines of one fake; what is said again is not written again.
#[derive(Debug)]
pub(crate) struct Record(Option<Mutex<Written>>);

#[derive(Debug)]
struct Written {
    file: File,
    lines: HashSet<u64>,
}

impl Record {
    /// `folder` is one of the build's own temporary folder.
    pub(crate) fn start(folder: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
        fs::create_dir_all(&folder).unwrap();
        let number = RECORDS.fetch_add(1, Ordering::SeqCst);
        let name = format!("{}-{number}.jsonl", std::process::id());
        Self(Some(Mutex::new(Written {
            file: File::create(folder.join(name)).unwrap(),
            lines: HashSet::new(),
        })))
    }

    /// Writes nothing down.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    pub(crate) fn write(&self, said: &Value) {
        let Some(written) = &self.0 else { return };
        let line = format!("{said}\n");
        let mut written = written.lock().unwrap();
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        if written.lines.insert(hasher.finish()) {
            // A line in one write, so that none is torn when the process is ended.
            written.file.write_all(line.as_bytes()).unwrap();
        }
    }
}
