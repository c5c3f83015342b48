//! What markers have in common: which run wrote, and for which spec.

use std::fmt::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

/// How far clocks may differ: a marker that is further ahead was not written by a run of ours.
pub(super) const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_hours(1);

/// Which of two comments is newer: by the time of the event, then by the run's number, then by its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// When the event happened that started the run.
    pub time: Timestamp,
    pub run: u64,
    pub attempt: u32,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.time, self.run, self.attempt)
    }
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

/// What a comment says of its run. Of one run, the final comment is the newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkerState {
    /// That the run is at work.
    Running,
    /// How the run ended.
    Final,
}

/// Percent-encoded, so that no path ends the HTML comment or the field that it stands in.
pub(super) fn encoded(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    for byte in path.bytes() {
        let is_plain = match byte {
            // Two of them may not stand inside an HTML comment.
            b'-' => !shown.ends_with('-'),
            _ => byte.is_ascii_alphanumeric() || b"._/".contains(&byte),
        };
        if is_plain {
            shown.push(char::from(byte));
        } else {
            write!(shown, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    shown
}

pub(super) fn decoded(field: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).expect("two hexadecimal digits make a byte"));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
