//! The tracking issue of a drift: its marker, which issue is ours, and what GitHub takes.
//!
//! It is found again like the comment is ([`comment`](super::comment)): by the marker in its first line, and only among
//! our own, since whoever may open an issue may write our marker too.

use std::fmt;

use jiff::Timestamp;

use super::comment::{Author, CLOCKS_DIFFER, Identity, Order, decoded, encoded, says_the_same};

#[cfg(test)]
mod tests;

const OPENING: &str = "<!-- canary-gate drift v1 spec=";
const CLOSING: &str = " -->";

/// Characters that GitHub takes.
const LONGEST_TITLE: usize = 256;
const LONGEST_BODY: usize = 65_536;

/// What ends a body that was cut.
const CUT: &str = "\n\n*What follows did not fit here; it is in the step summary of the run.*";

/// The hidden first line of an issue: which spec it is about, and which run wrote it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueMarker {
    /// The spec's path in the repository, compared whole.
    pub spec: String,
    pub order: Order,
}

/// `<!-- canary-gate drift v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->`
impl fmt::Display for IssueMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = encoded(&self.spec);
        write!(f, "{OPENING}{spec} order={}{CLOSING}", self.order)
    }
}

impl IssueMarker {
    /// The marker in the first line of an issue, `None` where that line is anything but a marker, to the letter.
    pub fn of(body: &str) -> Option<Self> {
        let line = body.lines().next()?;
        let fields = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
        let (spec, order) = fields.split_once(" order=")?;
        let marker = Self {
            spec: decoded(spec)?,
            order: Order::parse(order)?,
        };
        // One marker is written in one way only: other spellings of a path or a number are not ours.
        (marker.to_string() == line).then_some(marker)
    }

    /// A whole body: the marker, then as much of the text as GitHub takes.
    pub fn above(&self, text: &str) -> String {
        let marker = self.to_string();
        let room = LONGEST_BODY.saturating_sub(marker.chars().count() + 1);
        if text.chars().nth(room).is_none() {
            return format!("{marker}\n{text}");
        }
        let room = room.saturating_sub(CUT.chars().count());
        let end = text.char_indices().nth(room).map_or(0, |(end, _)| end);
        // Whole lines only, where there are some.
        let whole = text[..end].rfind('\n').unwrap_or(end);
        format!("{marker}\n{}{CUT}", &text[..whole])
    }
}

/// A title as GitHub will show it: one line, and no longer than it takes.
pub(super) fn title(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let title = words.join(" ");
    match title.char_indices().nth(LONGEST_TITLE) {
        None => title,
        Some(_) => {
            let kept: String = title.chars().take(LONGEST_TITLE - 1).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// An issue that may be ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// As people name it; grows with time: of two issues, the smaller number was there first.
    pub number: u64,
    /// As GitHub names it among all issues of all repositories.
    pub id: u64,
    /// `None` for an account that is gone.
    pub author: Option<Author>,
    pub title: String,
    pub body: String,
    /// Where a person reads it.
    pub url: String,
}

impl Issue {
    /// Whether it says this already. The marker, which tells whose word it is, counts for nothing.
    pub(super) fn says(&self, title: &str, body: &str) -> bool {
        self.title == title && says_the_same(below_marker(&self.body), below_marker(body))
    }
}

fn below_marker(body: &str) -> &str {
    body.split_once('\n').map_or("", |(_, text)| text)
}

/// Our own issues about `spec` as of `now`, oldest first. A marker from the future would silence every run until then, so
/// it is nobody's.
pub(super) fn own_issues<'a>(
    issues: &'a [Issue],
    identity: &Identity,
    spec: &str,
    now: Timestamp,
) -> Vec<(&'a Issue, IssueMarker)> {
    let is_ours = |issue: &&Issue| {
        let author = issue.author.as_ref();
        author.is_some_and(|author| identity.is(author))
    };
    let mut own: Vec<_> = issues
        .iter()
        .filter(is_ours)
        .filter_map(|issue| Some((issue, IssueMarker::of(&issue.body)?)))
        .filter(|(_, marker)| marker.spec == spec)
        .filter(|(_, marker)| marker.order.time.duration_since(now) <= CLOCKS_DIFFER)
        .collect();
    own.sort_by_key(|(issue, _)| issue.number);
    own.dedup_by_key(|(issue, _)| issue.number);
    own
}

/// The first of those that the newest run wrote.
pub(super) fn newest<'a, 'b>(
    own: &'b [(&'a Issue, IssueMarker)],
) -> Option<&'b (&'a Issue, IssueMarker)> {
    own.iter().rev().max_by_key(|(_, marker)| marker.order)
}
