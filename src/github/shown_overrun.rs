//! What a finished check showed of a head that is over its budget: a hidden line above the text of its comment. It stays with
//! that verdict, also below the next check while that is at work.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::marker::{decoded, encoded};

const OPENING: &str = "<!-- canary-gate shown";
const CLOSING: &str = " -->";

/// How far an overrun may go, and when a check of this head had found that out.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownOverrun {
    pub head: String,
    pub finished: Timestamp,
    /// By job and budget line, `churn/cost`: the end of the interval on the wrong side of the limit, larger where it is worse. Not
    /// finite where that is not known.
    pub ends: BTreeMap<String, f64>,
}

/// `<!-- canary-gate shown 3f9c2e1 2026-11-21T09:20:00Z churn/cost=72.5 -->`
impl fmt::Display for ShownOverrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPENING} {} {}", encoded(&self.head), self.finished)?;
        let known = self.ends.iter().filter(|(_, end)| end.is_finite());
        for (line, end) in known {
            write!(f, " {}={end}", encoded(line))?;
        }
        f.write_str(CLOSING)
    }
}

impl ShownOverrun {
    /// That of the first line of a verdict.
    pub(super) fn above(verdict: &str) -> Option<Self> {
        let line = verdict.lines().next()?;
        let fields = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
        let mut fields = fields.trim_start().split(' ');
        Some(Self {
            head: decoded(fields.next()?)?,
            finished: fields.next()?.parse().ok()?,
            ends: fields
                .map(|field| {
                    let (line, end) = field.split_once('=')?;
                    Some((decoded(line)?, end.parse().ok()?))
                })
                .collect::<Option<_>>()?,
        })
    }

    /// A line that may go further than was shown.
    pub(super) fn beyond(&self, shown: &Self) -> Option<&str> {
        let was_shown =
            |line: &String, end: &f64| shown.ends.get(line).is_some_and(|shown| end <= shown);
        let mut lines = self.ends.iter();
        let (line, _) = lines.find(|(line, end)| !was_shown(line, end))?;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ends: &[(&str, f64)]) -> ShownOverrun {
        let ends = ends.iter().map(|(line, end)| ((*line).to_owned(), *end));
        ShownOverrun {
            head: "3f9c2e1d8a70".to_owned(),
            finished: "2026-11-21T09:20:00Z".parse().unwrap(),
            ends: ends.collect(),
        }
    }

    #[test]
    fn what_was_shown_is_read_again_as_it_was_written() {
        let all = shown(&[
            ("a--b -->/cost", 72.5),
            ("c/metrics.x:y", -0.1),
            ("d/time", 1e-9),
        ]);
        let line = all.to_string();
        assert_eq!(line.matches("--").count(), 2, "{line}");
        assert_eq!(
            ShownOverrun::above(&format!("{line}\n### verdict")),
            Some(all)
        );
        assert_eq!(ShownOverrun::above("### verdict"), None);
    }

    #[test]
    fn nothing_goes_beyond_what_was_shown_but_what_is_more_or_was_not_known() {
        let seen = shown(&[("a/cost", 72.5), ("a/time", 60.0)]);
        for (ends, beyond) in [
            (&[("a/cost", 72.5)][..], None),
            (&[("a/cost", 72.4), ("a/time", 61.0)], Some("a/time")),
            (&[("b/cost", 1.0)], Some("b/cost")),
            (&[("a/cost", f64::INFINITY)], Some("a/cost")),
            (&[("a/cost", f64::NAN)], Some("a/cost")),
        ] {
            assert_eq!(shown(ends).beyond(&seen), beyond);
        }
    }
}
