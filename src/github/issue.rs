//! The tracking issue of a drift: its marker, which issue is ours, and what GitHub takes.
//!
//! It is found again like the comment is ([`comment`](super::comment)): by the marker in its first line, and only among
//! our own, since anybody who may open an issue may write our marker too.

use std::fmt;

use super::comment::says_the_same;
use super::identity::Author;
use super::marked::{Marked, MarkerOf};
use super::order::{MarkerState, Order, decoded, encoded};

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
    /// Whether it says this already. The marker, which says which run wrote it, is not compared.
    pub(super) fn says(&self, title: &str, body: &str) -> bool {
        self.title == title && says_the_same(below_marker(&self.body), below_marker(body))
    }
}

fn below_marker(body: &str) -> &str {
    body.split_once('\n').map_or("", |(_, text)| text)
}

impl MarkerOf for IssueMarker {
    fn spec(&self) -> &str {
        &self.spec
    }

    fn order(&self) -> Order {
        self.order
    }

    /// An issue has no stub.
    fn age(&self) -> (Order, MarkerState) {
        (self.order, MarkerState::Final)
    }
}

impl Marked for Issue {
    type Marker = IssueMarker;

    fn number(&self) -> u64 {
        self.number
    }

    fn author(&self) -> Option<&Author> {
        self.author.as_ref()
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn marker(&self) -> Option<IssueMarker> {
        IssueMarker::of(&self.body)
    }

    fn says_as(&self, other: &Self) -> bool {
        self.says(&other.title, &other.body)
    }
}
