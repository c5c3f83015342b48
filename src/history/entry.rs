//! [`Entry`]: a record's name. It holds what selection needs, so that a listing is enough and only wanted records are read.
//!
//! `main/churn/20261121T091407.123Z-forecast-3f9c2e1d8a7054b6-a1b2c3d4e5f60718.json`: scope, job, time, kind, key, and what
//! makes the name unique.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};

use super::record::{Record, RecordKind};
use super::scope::{Scope, folder_of, job_of};

/// The format of the time in a record's name: `20261121T091407.123Z`.
const TIME_FORM: &str = "%Y%m%dT%H%M%S%.3fZ";
/// The key in a name when it is unknown.
const NO_KEY: &str = "0000000000000000";
/// Hex digits of the key and of the id in a name.
const DIGITS: usize = 16;
/// A name further in the future than this came from a wrong clock.
const LARGEST_LEAD: SignedDuration = SignedDuration::from_hours(24);
const EXTENSION: &str = ".json";

/// A record's name and folder, parsed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// When it was recorded, to the millisecond: names sort by time.
    pub recorded_at: Timestamp,
    pub scope: Scope,
    pub job: String,
    pub kind: RecordKind,
    /// The first 16 hex digits of a canary's canary key, else of the code key; zeros if unknown.
    pub key: String,
    /// The id of the record in a list. Distinguishes records of the same instant; 16 hex digits.
    pub id: String,
}

impl Entry {
    /// A name for a record, by its `recorded_at`.
    pub(super) fn of(record: &Record, scope: Scope, id: String) -> Self {
        let key = record.key().and_then(|key| key.get(..DIGITS));
        // Names have milliseconds, and a year of four digits.
        let recorded_at = Timestamp::from_millisecond(record.recorded_at.as_millisecond().max(0));
        Self {
            recorded_at: recorded_at.unwrap_or(Timestamp::UNIX_EPOCH),
            scope,
            job: record.job.clone(),
            kind: record.kind(),
            key: key.unwrap_or(NO_KEY).to_owned(),
            id,
        }
    }

    /// Whether the record's date is too far after `now` to be right.
    pub(super) fn is_ahead_of(&self, now: Timestamp) -> bool {
        self.recorded_at.duration_since(now) > LARGEST_LEAD
    }

    /// The path in the history.
    pub fn path(&self) -> String {
        let folder = folder_of(&self.job);
        format!("{}/{folder}/{}{EXTENSION}", self.scope, self.stem())
    }

    /// The file name without its extension: the record's id for users.
    pub fn stem(&self) -> String {
        let (time, Self { kind, key, id, .. }) = (self.recorded_at.strftime(TIME_FORM), self);
        format!("{time}-{kind}-{key}-{id}")
    }

    fn in_folder(scope: Scope, job: String, file_name: &str) -> Option<Self> {
        let mut parts = file_name.strip_suffix(EXTENSION)?.split('-');
        let recorded_at = time(parts.next()?)?;
        let kind = parts.next()?.parse().ok()?;
        let mut digits = || parts.next().filter(|text| is_hex(text, DIGITS));
        let (key, id) = (digits()?.to_owned(), digits()?.to_owned());
        parts.next().is_none().then_some(Self {
            recorded_at,
            scope,
            job,
            kind,
            key,
            id,
        })
    }
}

/// The scope and the job of a file among a job's records, with their extension, and the record's name, `None` if it is none. `None` for
/// a path that is not part of a history.
pub(super) fn record_file(path: &str) -> Option<(Scope, String, Option<Entry>)> {
    let (scope, rest) = Scope::split(path)?;
    let (folder, name) = rest.split_once('/')?;
    let job = job_of(folder)?;
    if name.starts_with('.') || !name.ends_with(EXTENSION) || name.contains('/') {
        return None;
    }
    let entry = Entry::in_folder(scope, job.clone(), name);
    Some((scope, job, entry))
}

/// Whether a text is exactly `digits` lowercase hex digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_digit)
}

/// Reads `20261121T091407.123Z`.
fn time(text: &str) -> Option<Timestamp> {
    let time = civil::DateTime::strptime(TIME_FORM, text).ok()?;
    let time = TimeZone::UTC.to_timestamp(time).ok()?;
    // Parsing is lenient; a name of ours is not.
    (time.strftime(TIME_FORM).to_string() == text).then_some(time)
}

#[cfg(test)]
mod tests;
