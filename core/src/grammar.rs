//! Counts and lists as a sentence has them, and patterns of texts.

use std::borrow::Borrow;

/// A regular expression, which is compiled where it is used first.
macro_rules! pattern {
    ($pattern:expr) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("the pattern is valid"));
        &*PATTERN
    }};
}

pub(crate) use pattern;

/// `1 run`, `3 runs`, `2 canaries`: for nouns whose plural ends with an s.
pub fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix("ry")) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ries"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// Texts with something between each two of them.
pub fn joined<S: Borrow<str>>(texts: impl IntoIterator<Item = S>, between: &str) -> String {
    Vec::from_iter(texts).join(between)
}

/// The value where this holds; else nothing.
pub fn only_where<T: Default>(holds: bool, value: impl FnOnce() -> T) -> T {
    holds.then(value).unwrap_or_default()
}

/// `a`, `a and b`, `a, b and c`; empty for none.
pub fn list<S: AsRef<str>>(items: &[S]) -> String {
    enumerated(items, "and")
}

/// `a`, `a or b`, `a, b or c`; empty for none.
pub fn choice<S: AsRef<str>>(items: &[S]) -> String {
    enumerated(items, "or")
}

fn enumerated<S: AsRef<str>>(items: &[S], conjunction: &str) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        None => String::new(),
        Some((only, [])) => (*only).to_owned(),
        Some((last, others)) => format!("{} {conjunction} {last}", others.join(", ")),
    }
}

/// `a, b and 3 more`
pub fn first_of(names: &[String], most: usize) -> String {
    let (shown, further) = names.split_at(names.len().min(most));
    let further = Some(further.len()).filter(|count| *count > 0);
    shown.join(", ") + &further.map_or(String::new(), |count| format!(" and {count} more"))
}

/// The first of several, and `and 3 more` in place of the others.
pub fn at_most(items: impl IntoIterator<Item = String>, most: usize) -> Vec<String> {
    let mut items = items.into_iter();
    let mut shown: Vec<String> = items.by_ref().take(most).collect();
    let further = Some(items.count()).filter(|count| *count > 0);
    shown.extend(further.map(|count| format!("and {count} more")));
    shown
}

/// Breaks at spaces into lines of at most `width` columns; lines after the first are indented. A longer word stays whole, so that no
/// part of it comes to stand at the start of a line.
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(text, options).into_iter();
    lines.map(Into::into).collect()
}

/// Items of one kind together, in the order of the first of each kind; no group is empty.
pub fn grouped<T>(
    items: impl IntoIterator<Item = T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| is_same(&group[0], &item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Each once, in the order in which they come first.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let same = grouped(items, T::eq).into_iter();
    same.filter_map(|same| same.into_iter().next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(
            [0, 1, 2].map(|number| count(number, "run")),
            ["0 runs", "1 run", "2 runs"]
        );
    }

    #[test]
    fn the_last_of_a_list_has_no_comma() {
        let items = ["a", "b", "c"].map(str::to_owned);
        let lists = [0, 1, 2, 3].map(|length| list(&items[..length]));
        assert_eq!(lists, ["", "a", "a and b", "a, b and c"]);
        assert_eq!(choice(&items), "a, b or c");
    }
}
