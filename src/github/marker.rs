//! The hidden first line of what we write on GitHub: what it is about, and which run wrote it.
//!
//! We find a comment or an issue again by its marker, and only among our own: anybody who may write may write our marker too. The
//! marker also keeps a slow older run from overwriting the result of a newer one.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::line::cut;

#[cfg(test)]
mod tests;

/// How far clocks may differ: a run of ours writes no marker that is further ahead.
pub(super) const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_hours(1);

/// The most bytes of a text, its marker included: GitHub takes 65,536 characters, and GitLab a million.
pub const LONGEST_TEXT: usize = 65_000;

const CLOSING: &str = " -->";
const RUNNING: &str = " state=running";
/// The end of a text that was cut.
pub(super) const CUT: &str = "\n\n*What follows did not fit here; it is on the page of the run.*";

/// What a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerKind {
    /// A pull request: a comment.
    Report,
    /// A drift: an issue.
    Drift,
}

impl MarkerKind {
    const ALL: [Self; 2] = [Self::Report, Self::Drift];

    fn opening(self) -> &'static str {
        match self {
            Self::Report => "<!-- canary-gate v1 spec=",
            Self::Drift => "<!-- canary-gate drift v1 spec=",
        }
    }
}

/// What a text says of its run. Of one run, the final text is the newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkerState {
    /// The run is at work.
    Running,
    /// The run has ended.
    Final,
}

/// Which of two texts is newer: by the time of the event, then by the run's number, then by its attempt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, derive_more::Display,
)]
#[display("{time}/{run}/{attempt}")]
pub struct Order {
    /// When the event happened that started the run.
    pub time: Timestamp,
    pub run: u64,
    pub attempt: u32,
}

impl Order {
    /// Reads what [`Display`](fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '/');
        Some(Self {
            time: parts.next()?.parse().ok()?,
            run: parts.next()?.parse().ok()?,
            attempt: parts.next()?.parse().ok()?,
        })
    }
}

/// The hidden first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    pub kind: MarkerKind,
    /// The spec's path in the repository, compared whole.
    pub spec: String,
    pub order: Order,
    pub state: MarkerState,
}

/// `<!-- canary-gate v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->`
impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            MarkerState::Running => RUNNING,
            MarkerState::Final => "",
        };
        let (opening, spec) = (self.kind.opening(), encoded(&self.spec));
        write!(f, "{opening}{spec} order={}{state}{CLOSING}", self.order)
    }
}

impl Marker {
    /// The marker in the first line of a text; `None` if that line is anything but a marker, to the letter.
    pub fn of(body: &str) -> Option<Self> {
        let line = body.lines().next()?;
        let (kind, fields) = MarkerKind::ALL
            .into_iter()
            .find_map(|kind| Some((kind, line.strip_prefix(kind.opening())?)))?;
        let fields = fields.strip_suffix(CLOSING)?;
        let (fields, state) = match fields.strip_suffix(RUNNING) {
            Some(fields) => (fields, MarkerState::Running),
            None => (fields, MarkerState::Final),
        };
        let (spec, order) = fields.split_once(" order=")?;
        let marker = Self {
            kind,
            spec: decoded(spec)?,
            order: Order::parse(order)?,
            state,
        };
        // One marker is written in one way only: other spellings of a path or a number are not ours.
        (marker.to_string() == line).then_some(marker)
    }

    /// The marker, then as much of the text as GitHub takes, in whole lines.
    pub fn above(&self, text: &str) -> String {
        format!("{self}\n{}", cut(text, self.room(), CUT))
    }

    /// The bytes left below the marker.
    pub fn room(&self) -> usize {
        LONGEST_TEXT.saturating_sub(self.to_string().len() + 1)
    }

    /// Decides which of two texts about one spec is the newer.
    pub(super) fn age(&self) -> (Order, MarkerState) {
        (self.order, self.state)
    }
}

/// Percent-encoded, so that no path ends the HTML comment or its field.
pub(super) fn encoded(path: &str) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_');
    const CODED: AsciiSet = PLAIN.remove(b'.').remove(b'/');
    // An HTML comment may not contain two hyphens.
    utf8_percent_encode(path, &CODED)
        .to_string()
        .replace("--", "-%2D")
}

pub(super) fn decoded(field: &str) -> Option<String> {
    Some(percent_decode_str(field).decode_utf8().ok()?.into_owned())
}
