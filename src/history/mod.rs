//! The **history**: what every run of the gate found, as immutable records with unique names, in a folder or under an S3
//! prefix. Nothing is locked, rewritten or removed.
//!
//! A name holds what selection needs ([`entry`]), so a listing is cheap and only wanted records are read. A damaged record is
//! skipped and reported; it never hides the rest. A run reads only what its [`Scope`] allows.

mod choose;
pub mod entry;
pub mod export;
mod folder;
mod reading;
pub mod record;
mod s3;
#[cfg(test)]
mod samples;
mod scope;
mod scope_spend;
pub mod tally;

pub use choose::{BaseWanted, forecasts};
pub use entry::Entry;
pub use record::{Command, Content, Event, ForecastRecord, Record, RecordKind, Writer};
pub use scope::Scope;
pub use scope_spend::{PaidCanaries, ScopeSpend, UnbilledCanary};

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::pin;

use futures_util::stream::{self, StreamExt};
use jiff::Timestamp;

use crate::outside_error::{OutsideError, OutsideResult};
use entry::record_file;
use folder::RecordFolder;
use s3::Bucket;
use scope::folder_of;

/// How many random names are tried; a second one is practically never needed.
const TRIES: usize = 5;
/// The largest record that is read, in bytes.
const LARGEST_RECORD: usize = 8 << 20;
/// How many records are read at the same time.
const READS: usize = 16;
/// What a run of a scope puts under an S3 prefix to learn whether records could be; no record has a name like it.
const TRY_OUT: &str = ".writable";
const TRY_OUT_TEXT: &[u8] = b"canary-gate may write here\n";
const LINK: &str = "it is a link, and links are not followed";

/// A history, open for one run of the gate.
#[derive(Debug)]
pub struct History {
    store: Store,
    scope: Scope,
}

/// Where records lie: it lists, reads, and puts what is not there yet.
#[derive(Debug)]
enum Store {
    Folder(RecordFolder),
    Bucket(Bucket),
}

/// A path of the history, and why it is not followed if it is a link.
type FoundPath = (String, Option<&'static str>);

/// The records of a history, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// Files among the records whose names are not records' names.
    pub damaged: Vec<Damaged>,
}

/// Records that were read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// In the order requested.
    pub records: Vec<(Entry, Record)>,
    /// Records that could not be read; they stay in the history.
    pub damaged: Vec<Damaged>,
}

/// A record that is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Damaged {
    /// Its path or URI. Hostile text.
    pub place: String,
    /// Why, in a few words, such as `it is cut short` or `it was written by a newer canary-gate`. May hold hostile text.
    pub why: String,
}

impl Damaged {
    /// Whether it is sound but written by a newer program.
    pub fn is_of_newer_version(&self) -> bool {
        self.why.starts_with(reading::OF_NEWER)
    }
}

/// The outcome of writing a record under a name.
#[derive(Debug, PartialEq, Eq)]
enum Placement {
    Whole,
    /// Another record has the name.
    NameTaken,
}

impl History {
    /// A history in a folder, which need not exist yet. `scope` decides what this run writes and reads.
    pub fn in_folder(root: PathBuf, scope: Scope) -> Self {
        Self {
            store: Store::Folder(RecordFolder { root }),
            scope,
        }
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The names of all records that this run may read, of one job or of all.
    ///
    /// # Errors
    ///
    /// When the folder or the bucket cannot be listed. A missing folder counts as empty.
    pub async fn list(&self, job: Option<&str>) -> OutsideResult<Listing> {
        self.list_at(job, Timestamp::now()).await
    }

    /// Like [`History::list`] at a given time: skips records dated more than a day after it.
    pub async fn list_at(&self, job: Option<&str>, now: Timestamp) -> OutsideResult<Listing> {
        let listing = self.list_below(&self.scope.folders(job), job, now).await?;
        Ok(listing.unwrap_or_default())
    }

    async fn list_below(
        &self,
        folders: &[String],
        job: Option<&str>,
        now: Timestamp,
    ) -> OutsideResult<Option<Listing>> {
        let found = match &self.store {
            Store::Folder(folder) => folder.list(folders)?,
            Store::Bucket(bucket) => Some(bucket.list(folders).await?),
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let mut listing = Listing::default();
        let mut damaged = Vec::new();
        for (path, link) in found {
            let file = record_file(&path).filter(|(scope, of, _)| {
                self.scope.reads(*scope) && job.is_none_or(|wanted| wanted == *of)
            });
            match (link, file.map(|(.., entry)| entry)) {
                (Some(why), _) => damaged.push((path, why)),
                (None, Some(Some(entry))) if entry.is_ahead_of(now) => {
                    damaged.push((path, "it is dated in the future"));
                }
                (None, Some(Some(entry))) => listing.entries.push(entry),
                (None, Some(None)) => damaged.push((path, "its name is not a record's name")),
                (None, None) => {}
            }
        }
        listing.entries.sort_unstable();
        damaged.sort_unstable();
        listing.damaged = (damaged.into_iter())
            .map(|(path, why)| Damaged {
                place: self.place(&path),
                why: why.to_owned(),
            })
            .collect();
        Ok(Some(listing))
    }

    /// Checks, before money is spent, that a record of a job can be written. Under an S3 prefix only a write shows it: of a small
    /// object of its own, once for each scope.
    ///
    /// # Errors
    ///
    /// When the folder cannot be created or written to, and when S3 refuses an object of its own there.
    pub async fn check_writable(&self, job: &str) -> OutsideResult<()> {
        match &self.store {
            Store::Folder(folder) => {
                let (scope, job) = (self.scope, folder_of(job));
                folder.try_out(&format!("{scope}/{job}/{}.json", random_id()))
            }
            Store::Bucket(bucket) => {
                // It may be there, or another gate puts it at this moment.
                let path = format!("{}/{TRY_OUT}", self.scope);
                let put = bucket.put_once(&path, "text/plain", TRY_OUT_TEXT).await;
                put.map(|_| ())
            }
        }
    }

    /// Reads records, in the order given.
    ///
    /// # Errors
    ///
    /// When the folder or the bucket cannot be read as a whole; a single unreadable record is listed as damaged.
    pub async fn load(&self, entries: &[Entry]) -> OutsideResult<Loaded> {
        self.choose(entries, usize::MAX, |_| true).await
    }

    /// Shows `look` records in the order given, until it has seen enough; returns those before that cannot be read. The first is read
    /// alone, for it is often enough; of the others some are read ahead.
    ///
    /// # Errors
    ///
    /// When the folder or the bucket cannot be read as a whole.
    pub async fn read<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
        mut look: impl FnMut(&'e Entry, Record) -> ControlFlow<()>,
    ) -> OutsideResult<Vec<Damaged>> {
        let mut reads = entries.into_iter().map(|entry| self.read_one(entry));
        let first = stream::iter(reads.next()).buffered(1);
        let mut reads = pin!(first.chain(stream::iter(reads).buffered(READS)));
        let mut damaged = Vec::new();
        while let Some(read) = reads.next().await {
            let (entry, record) = read?;
            match record.map(|record| look(entry, record)) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(why) => damaged.push(Damaged {
                    place: self.place(&entry.path()),
                    why,
                }),
            }
        }
        Ok(damaged)
    }

    async fn read_one<'e>(
        &self,
        entry: &'e Entry,
    ) -> OutsideResult<(&'e Entry, Result<Record, String>)> {
        if !self.scope.reads(entry.scope) {
            let (theirs, ours) = (entry.scope, self.scope);
            let why = format!("it is in `{theirs}`, which a run of `{ours}` does not read");
            return Ok((entry, Err(why)));
        }
        let content = match &self.store {
            Store::Folder(folder) => folder.read(&entry.path()),
            Store::Bucket(bucket) => bucket.read(&entry.path()).await?,
        };
        let record = content.and_then(|content| reading::read(&content, entry));
        Ok((entry, record))
    }

    /// Writes a record under a unique name, whole or not at all.
    ///
    /// # Errors
    ///
    /// When the record was not written, or may not have been.
    pub async fn append(&self, record: &Record) -> OutsideResult<Entry> {
        let (content, job) = (reading::write(record), &record.job);
        for _ in 0..TRIES {
            let entry = Entry::of(record, self.scope, random_id());
            // Every written record must be readable.
            reading::read(&content, &entry).map_err(|why| {
                OutsideError::of(format!("a record of the job `{job}` cannot be kept: {why}"))
                    .help("this is a bug in canary-gate; please report it")
            })?;
            let kept = match &self.store {
                Store::Folder(folder) => folder.put(&entry.path(), &content)?,
                Store::Bucket(bucket) => bucket.put(&entry.path(), &content).await?,
            };
            if kept == Placement::Whole {
                return Ok(entry);
            }
        }
        Err(OutsideError::of(format!(
            "could not keep a record of the job `{job}`: {TRIES} random names are all taken"
        ))
        .help("this is not chance: check whether another program writes to the history"))
    }

    /// The full path or URI of a path in the history.
    fn place(&self, path: &str) -> String {
        match &self.store {
            Store::Folder(folder) => folder.place(path),
            Store::Bucket(bucket) => bucket.place(path),
        }
    }
}

/// 64 random bits as hex digits.
fn random_id() -> String {
    format!("{:016x}", rand::random::<u64>())
}
