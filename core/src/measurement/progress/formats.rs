//! How libraries print progress: a row each in `formats.txt`.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::grammar::pattern;
use crate::spec::PrintedMetric;

/// One count that a line holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Seen {
    pub(super) format: &'static str,
    /// Whether it says what is done, else it is the number of what was just done.
    pub(super) is_bar: bool,
    /// What loop it counts: the word before it, or the bar's label, without digits.
    pub(super) label: String,
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    /// Whether nothing is said beside the count, as where an epoch begins.
    pub(super) is_bare: bool,
}

/// What counts are called, and one such count.
const WORD: &str = r#"(?i:(?-u:\b)(?P<word>epoch|step|iteration|iterate|iter|batch|round|tree)(?:e?s)?(?-u:\b)["'\]]?\s*[:=#]?\s*["'\[(]?\s*(?P<done>[0-9]+(?:\.[0-9]+)?))"#;
/// What labels of bars begin with that are not of the training.
const ASIDE: &str = "cache caching cast download eval fetch filter generate generating generation load map predict resolv sanity saving test token val writing";
/// The most of a label that is kept.
const LABEL: usize = 40;
/// The most loops whose counts one line holds.
const NESTED: usize = 3;
/// No loop counts to more.
const MOST: f64 = 1e15;
const VALID: &str = "a test compiles every pattern";

/// A row of the table: whether the format is a bar's, its name and its pattern.
type FormatRow = (bool, &'static str, Regex);

static FORMATS: LazyLock<(RegexSet, Vec<FormatRow>)> = LazyLock::new(|| {
    let rows = include_str!("formats.txt").lines();
    let rows = rows.filter_map(|row| {
        let (name, row) = row.split_once(" : ")?;
        let (kind, pattern) = row.split_once(" : ").filter(|_| !name.starts_with('#'))?;
        let pattern = Regex::new(&pattern.replace("WORD", WORD)).expect(VALID);
        Some((kind == "bar", name, pattern))
    });
    let rows = Vec::from_iter(rows);
    let any = RegexSet::new(rows.iter().map(|row| row.2.as_str())).expect(VALID);
    (any, rows)
});

impl Seen {
    /// `None` of what cannot be a count.
    fn sound(self) -> Option<Self> {
        let most = self.total.unwrap_or(MOST);
        let is_count = self.done >= 0.0 && self.done <= most && most > 0.0 && most <= MOST;
        is_count.then_some(self)
    }
}

/// The counts of a line, the innermost first; none where it shows no progress.
pub(super) fn counts(line: &str) -> Vec<Seen> {
    // Colours, moves of the cursor and other control characters.
    let escapes = pattern!(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]");
    let line = &*escapes.replace_all(line, "");
    let nested = std::iter::successors(count(line), |(_, label)| count(label));
    let nested = nested.take(NESTED).filter_map(|(seen, _)| seen);
    nested.collect()
}

/// The last count of a line, unless it is not of the training, and what stands before it.
fn count(line: &str) -> Option<(Option<Seen>, &str)> {
    let (any, rows) = &*FORMATS;
    let row = &rows[any.matches(line).iter().next()?];
    let found = row.2.captures(line)?;
    let text = |name| found.name(name).map_or("", |part| part.as_str());
    let word = found.name("word").map(|word| word.as_str());
    let named = word.unwrap_or(text("label")).trim().to_lowercase();
    let after = &line[found.get_match().end()..];
    let label = named.chars().filter(|one| !one.is_ascii_digit());
    let own = Seen {
        format: row.1,
        is_bar: row.0,
        label: label.take(LABEL).collect(),
        done: text("done").parse().unwrap_or_default(),
        total: text("total").parse().ok(),
        is_bare: word.is_some() && !after.chars().any(char::is_alphanumeric),
    };
    let is_aside = ASIDE.split(' ').any(|aside| named.starts_with(aside));
    Some((own.sound().filter(|_| !is_aside), text("label")))
}

/// What the spec's pattern captures of a line; `None` if that is no count.
pub(super) fn count_by(pattern: &PrintedMetric, line: &str) -> Option<Seen> {
    let (done, total) = pattern.captured_two(line)?;
    let number = |text: &str| text.trim().parse().unwrap_or(f64::NAN);
    let seen = Seen {
        format: PrintedMetric::PROGRESS,
        done: number(done),
        total: total.map(number),
        ..Seen::default()
    };
    seen.sound()
}
