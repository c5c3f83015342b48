//! A metric that the training script prints: a regular expression over the lines of the log, which captures a number. That
//! of the step metric is the seconds of a training step.

use regex::{Regex, RegexBuilder};

use super::{Job, LineKind};

/// The largest compiled pattern, in bytes. Patterns of a few hundred characters are far smaller; nested repetitions, such as
/// `(a{999}){999}`, are not.
const COMPILED_BYTES: usize = 1 << 20;

/// A valid metric. Its pattern has exactly one capture group, that of progress one or two, and matching takes time linear in the line.
#[derive(Debug, Clone, derive_more::Display)]
#[display("{name}")]
pub struct PrintedMetric {
    name: String,
    pattern: Regex,
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern is not a regular expression: {0}")]
    Syntax(String),
    #[error("the pattern is too large: compiled it would take more than {} KiB", COMPILED_BYTES / 1024)]
    TooLarge,
    /// So many, and the most that may be.
    #[error("the pattern has {0} capture groups, where {needed} needed", needed = if *.1 == 1 { "1 is" } else { "1 or 2 are" })]
    Groups(usize, usize),
    #[error("the pattern matches the empty text, and so every line")]
    Empty,
}

impl PrintedMetric {
    /// The name of what reads `training.progress`.
    pub const PROGRESS: &str = "training.progress";

    pub fn new(name: &str, pattern: &str) -> Result<Self, PatternError> {
        Self::with_groups(name, pattern, 1)
    }

    /// That of `training.progress`: what is done and, in a second group, all that there is to do.
    pub fn progress(pattern: &str) -> Result<Self, PatternError> {
        let metric = Self::with_groups(Self::PROGRESS, pattern, 2)?;
        match metric.pattern.is_match("") {
            true => Err(PatternError::Empty),
            false => Ok(metric),
        }
    }

    fn with_groups(name: &str, pattern: &str, most: usize) -> Result<Self, PatternError> {
        let pattern = RegexBuilder::new(pattern)
            .size_limit(COMPILED_BYTES)
            .dfa_size_limit(COMPILED_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                error => PatternError::Syntax(last_words(&error.to_string())),
            })?;
        // The whole match counts as a group.
        match pattern.captures_len() - 1 {
            groups if (1..=most).contains(&groups) => Ok(Self {
                name: name.to_owned(),
                pattern,
            }),
            groups => Err(PatternError::Groups(groups, most)),
        }
    }

    /// Its key under `training.metrics`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text that the first match in a line captured; `None` if the line does not match, and empty if the group took no part in
    /// the match.
    pub fn captured<'a>(&self, line: &'a str) -> Option<&'a str> {
        Some(self.captured_two(line)?.0)
    }

    /// The same, and what its second group captured.
    pub fn captured_two<'a>(&self, line: &'a str) -> Option<(&'a str, Option<&'a str>)> {
        let captures = self.pattern.captures(line)?;
        let group = |index| captures.get(index).map(|group| group.as_str());
        Some((group(1).unwrap_or_default(), group(2)))
    }
}

impl Job {
    /// What is read of the output for the budget's lines. A name whose pattern is not there, or cannot be read, is left out: its
    /// line stays unknown.
    pub fn judged_metrics(&self) -> Vec<PrintedMetric> {
        let named = self.budget.lines.iter().filter_map(|line| match line.kind {
            LineKind::Named(name) => Some(name),
            LineKind::Absolute(_) | LineKind::Increase(_) => None,
        });
        let printed = named.filter_map(|name| self.training.printed_metric(name.as_str()));
        printed.collect()
    }
}

/// The last line of the engine's error, which says what is wrong; the lines before it show the pattern.
fn last_words(error: &str) -> String {
    let last = error.lines().last().unwrap_or(error);
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_what_its_first_match_captured() {
        let metric = PrintedMetric::new("step", "step time: ([0-9.]+)").unwrap();
        assert_eq!(
            metric.captured("avg step time: 0.25 s, step time: 3"),
            Some("0.25")
        );
        assert_eq!(metric.captured("epoch 1"), None);
        let optional = PrintedMetric::new("step", "step( [0-9.]+)?").unwrap();
        assert_eq!(optional.captured("step"), Some(""));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_why() {
        const SYNTAX: &str = "the pattern is not a regular expression: ";
        for (pattern, why) in [
            ("step ([0-9", format!("{SYNTAX}unclosed character class")),
            (
                "(?<=step )([0-9]+)",
                format!(
                    "{SYNTAX}look-around, including look-ahead and look-behind, is not supported"
                ),
            ),
            ("step [0-9]+", PatternError::Groups(0, 1).to_string()),
            ("((a)b)", PatternError::Groups(2, 1).to_string()),
            ("((?:a{999}){999})", PatternError::TooLarge.to_string()),
        ] {
            let refusal = PrintedMetric::new("step", pattern).unwrap_err();
            assert_eq!(refusal.to_string(), why);
        }
    }
}
