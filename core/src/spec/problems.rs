//! The errors and warnings found while a spec is read, each with its place.

use std::fmt;
use std::ops::Range;

use super::SpecWarning;

/// The place of a value: its field path, and the bytes to underline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct At {
    /// `jobs.churn.budget.cost`; empty for the whole file.
    pub(super) path: String,
    pub(super) span: Range<usize>,
}

impl At {
    /// The place of a key below this one.
    pub(super) fn key(&self, key: &str, span: Range<usize>) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self {
            path: format!("{}{dot}{}", self.path, shorten(key)),
            span,
        }
    }

    /// The place of an item of this list.
    pub(super) fn item(&self, index: usize, span: Range<usize>) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
            span,
        }
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: At,
}

/// A form that text has to have.
pub(super) trait TextForm {
    /// Why a text is not of this form, behind the text in a sentence, and what to write.
    fn problem(text: &str) -> Option<(&'static str, &'static str)>;
}

/// One error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    pub(super) path: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Absent if the error has no place in the file.
    pub(super) span: Option<Range<usize>>,
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
    /// Problems beyond [`Findings::KEPT`], only counted.
    pub(super) further: usize,
    warnings: Vec<(usize, SpecWarning)>,
}

impl Findings {
    /// The most problems kept, so that a hostile file cannot fill the memory.
    const KEPT: usize = 500;

    pub(super) fn is_full(&self) -> bool {
        self.problems.len() >= Self::KEPT
    }

    pub(super) fn wrong(&mut self, at: &At, message: impl Into<String>) {
        self.push(at, message.into(), None);
    }

    /// Adds a problem with its solution.
    pub(super) fn wrong_with_help(
        &mut self,
        at: &At,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(at, message.into(), Some(help.into()));
    }

    pub(super) fn push(&mut self, at: &At, message: String, help: Option<String>) {
        if self.is_full() {
            self.further += 1;
            return;
        }
        self.problems.push(Problem {
            path: at.path.clone(),
            message,
            help,
            span: Some(at.span.clone()),
        });
    }

    /// Reports text that is not of a form.
    pub(super) fn form<F: TextForm>(&mut self, at: &At, text: &str) {
        if let Some((problem, help)) = F::problem(text) {
            self.wrong_with_help(at, format!("{} {problem}", quoted(text)), help);
        }
    }

    /// Reports more of something than are read.
    pub(super) fn at_most<N>(&mut self, at: &At, count: N, what: &str, most: N, are: &str)
    where
        N: Copy + PartialOrd + fmt::Display,
    {
        if count > most {
            self.wrong(at, format!("{count} {what}; at most {most} are {are}"));
        }
    }

    /// Reports a name that none of `known` is, with the one that was probably meant.
    pub(super) fn unknown<'a>(
        &mut self,
        at: &At,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: Option<&str>,
    ) {
        let help = did_you_mean(name, known).or_else(|| otherwise.map(str::to_owned));
        self.push(at, format!("{} {what}", quoted(name)), help);
    }

    /// Reports a missing key that another key requires, unless the key is present with an invalid value.
    pub(super) fn missing(&mut self, at: &At, key: &str, message: &str, help: Option<&str>) {
        if !self.is_known(&at.key(key, 0..0).path) {
            self.push(at, message.to_owned(), help.map(str::to_owned));
        }
    }

    /// Whether a field, or one below it, has a problem.
    pub(super) fn is_known(&self, path: &str) -> bool {
        self.problems.iter().any(|problem| {
            let below = problem.path.strip_prefix(path);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Adds a warning about a valid value.
    pub(super) fn warn(&mut self, at: &At, message: impl Into<String>) {
        let warning = SpecWarning {
            field: at.path.clone(),
            message: message.into(),
        };
        self.warnings.push((at.span.start, warning));
    }

    /// Warnings in the order of the file.
    pub(super) fn into_warnings(mut self) -> Vec<SpecWarning> {
        self.warnings.sort_by_key(|(start, _)| *start);
        self.warnings.into_iter().map(|(_, value)| value).collect()
    }
}

/// Text of the file between back ticks, shortened to fit a line.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", shorten(text))
}

/// The solution of a problem: ``write `30s`, `30m` or `30h` ``.
pub(super) fn write_one_of(spellings: &[String]) -> Option<String> {
    let spellings: Vec<String> = spellings.iter().map(|text| quoted(text)).collect();
    let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
    (!spellings.is_empty()).then(|| format!("write {}", either(&spellings)))
}

/// At most 64 characters of a text.
fn shorten(text: &str) -> String {
    cut(text, 64)
}

/// At most so many characters of a text, and a mark where there are more.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known word most similar to a misspelt one.
pub(super) fn near_miss<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The distance takes time proportional to both lengths; no known word is this long.
    if written.len() > 64 {
        return None;
    }
    let written = written.to_lowercase().replace('-', "_");
    let allowed = (written.chars().count() / 3).max(1);
    // A hostile file can have many names. AWS lists more than 200 instance types.
    known
        .into_iter()
        .take(400)
        .map(|word| {
            let plain = word.to_lowercase().replace('-', "_");
            (strsim::damerau_levenshtein(&written, &plain), word)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// The solution of a misspelt word: ``did you mean `budget`?``.
pub(super) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    near_miss(written, known).map(|near| format!("did you mean {}?", quoted(near)))
}

/// A list of words: `a, b or c`.
pub(super) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_found_and_a_far_one_is_not() {
        let known = ["budget", "instance", "max_runtime", "job"];
        assert_eq!(near_miss("bugdet", known), Some("budget"));
        assert_eq!(near_miss("Instances", known), Some("instance"));
        assert_eq!(near_miss("max-runtime", known), Some("max_runtime"));
        assert_eq!(near_miss("colour", known), None);
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(quoted(&"ü".repeat(65)), format!("`{}…`", "ü".repeat(64)));
    }
}
