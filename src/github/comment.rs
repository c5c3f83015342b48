//! The comment's marker, its order, and which comment is ours.
//!
//! A comment is found again by the marker in its first line, and only among our own: anybody who may write comments may write
//! our marker too. The marker also says which run wrote the comment, so that a slow older run cannot overwrite the result of
//! a newer one.

use std::fmt;

use super::identity::Author;
use super::marked::{Marked, MarkerOf};
use super::order::{decoded, encoded};

pub use super::order::{MarkerState, Order};

#[cfg(test)]
mod tests;

const OPENING: &str = "<!-- canary-gate v1 spec=";
const CLOSING: &str = " -->";
const RUNNING: &str = " state=running";

/// The hidden first line of a comment: which spec it is about, and which run wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
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
        let spec = encoded(&self.spec);
        write!(f, "{OPENING}{spec} order={}{state}{CLOSING}", self.order)
    }
}

impl Marker {
    /// The marker in the first line of a comment, `None` where that line is anything but a marker, to the letter.
    pub fn of(body: &str) -> Option<Self> {
        let line = body.lines().next()?;
        let fields = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
        let (fields, state) = match fields.strip_suffix(RUNNING) {
            Some(fields) => (fields, MarkerState::Running),
            None => (fields, MarkerState::Final),
        };
        let (spec, order) = fields.split_once(" order=")?;
        let marker = Self {
            spec: decoded(spec)?,
            order: Order::parse(order)?,
            state,
        };
        // One marker is written in one way only: other spellings of a path or a number are not ours.
        (marker.to_string() == line).then_some(marker)
    }

    /// A whole comment: the marker, then the text.
    pub fn above(&self, text: &str) -> String {
        format!("{self}\n{text}")
    }
}

impl MarkerOf for Marker {
    fn spec(&self) -> &str {
        &self.spec
    }

    fn order(&self) -> Order {
        self.order
    }

    fn age(&self) -> (Order, MarkerState) {
        (self.order, self.state)
    }
}

/// A comment of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Grows with time: of two comments, the smaller id was there first.
    pub id: u64,
    /// `None` for an account that is gone.
    pub author: Option<Author>,
    pub body: String,
    /// Where a person reads it.
    pub url: String,
    /// What GraphQL knows it by; empty where the answer lacks it.
    pub node_id: String,
}

impl Marked for Comment {
    type Marker = Marker;

    fn number(&self) -> u64 {
        self.id
    }

    fn author(&self) -> Option<&Author> {
        self.author.as_ref()
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn marker(&self) -> Option<Marker> {
        Marker::of(&self.body)
    }

    /// With its marker, which says whose word it is.
    fn says_as(&self, other: &Self) -> bool {
        says_the_same(&self.body, &other.body)
    }
}

/// Whether GitHub would show the same: it may give lines back with another ending.
pub fn says_the_same(left: &str, right: &str) -> bool {
    left.trim_end().lines().eq(right.trim_end().lines())
}
