//! **Secrets** in what training code and AWS say: their values become `***` as the text comes in, before it is cut or kept.
//!
//! What is known by its value is found wherever it stands, also across line ends. What is not is found by its shape. A
//! secret that was encoded, in Base64 say, is not found.

mod shapes;
pub mod unseen;

pub use shapes::{is_named_so, mask_named, mask_shapes, may_be_named_so};

use std::sync::Arc;

/// What stands in a secret's place.
const STARS: &str = "***";

/// A shorter value is no secret, and hiding it would hide numbers and words.
const SHORTEST_VALUE: usize = 4;

/// A shorter line of a value of several lines is a brace or a word.
const SHORTEST_LINE: usize = 8;

/// The values that must not be shown. Prints as stars.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("SecretMask(***)")]
pub struct SecretMask {
    /// Without line ends.
    values: Arc<[String]>,
}

/// Where a text was cut, so that a value may be there in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    Nowhere,
    Start,
    End,
}

impl SecretMask {
    /// Of a value of several lines each line of some length is one too, since it may be printed alone.
    pub fn of(values: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for value in values {
            let lines = value.lines().map(str::trim);
            if value.trim().lines().count() > 1 {
                let long = lines.filter(|line| line.chars().count() >= SHORTEST_LINE);
                all.extend(long.map(str::to_owned));
            }
            all.push(value.trim().chars().filter(|c| !is_line_end(*c)).collect());
        }
        // As JSON and most programs print it between quotes.
        let quoted: Vec<String> = all.iter().map(|value| in_quotes(value)).collect();
        all.extend(quoted);
        all.retain(|value| value.chars().count() >= SHORTEST_VALUE);
        all.sort();
        all.dedup();
        Self { values: all.into() }
    }

    /// The text without secrets. Line ends stay, but for those within a PEM block.
    pub fn mask(&self, text: &str) -> String {
        self.mask_part(text, CutAt::Nowhere)
    }

    /// The same for a text that was cut: the rest of a value at the cut is hidden too.
    pub fn mask_part(&self, text: &str, cut: CutAt) -> String {
        // What is not seen must not part a secret: it is stripped before a text is shown.
        mask_named(&mask_shapes(
            &self.without_values(&unseen::without_unseen(text), cut),
        ))
    }

    /// The same for lines of one output: a secret may go on in the next.
    pub fn mask_lines(&self, lines: &[String]) -> Vec<String> {
        let masked = self.mask(&lines.join("\n"));
        masked.lines().map(str::to_owned).collect()
    }

    fn without_values(&self, text: &str, cut: CutAt) -> String {
        if self.values.is_empty() {
            return text.to_owned();
        }
        let joined: String = text.chars().filter(|c| !is_line_end(*c)).collect();
        let mut hidden = vec![false; joined.len()];
        for value in self.values.iter() {
            for (start, found) in joined.match_indices(value.as_str()) {
                hidden[start..start + found.len()].fill(true);
            }
            match cut {
                CutAt::Nowhere => {}
                CutAt::Start => {
                    let rests = parts(value).map(|at| &value[at..]);
                    if let Some(rest) = rests.into_iter().find(|rest| joined.starts_with(rest)) {
                        hidden[..rest.len()].fill(true);
                    }
                }
                CutAt::End => {
                    let begins = parts(value).map(|at| &value[..at]);
                    if let Some(begin) = begins.filter(|begin| joined.ends_with(begin)).last() {
                        hidden[joined.len() - begin.len()..].fill(true);
                    }
                }
            }
        }
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        let mut in_stars = false;
        for character in text.chars() {
            if is_line_end(character) {
                shown.push(character);
                in_stars = false;
                continue;
            }
            match (hidden[at], in_stars) {
                (true, false) => shown.push_str(STARS),
                (true, true) => {}
                (false, _) => shown.push(character),
            }
            in_stars = hidden[at];
            at += character.len_utf8();
        }
        shown
    }
}

/// A value as it stands between double quotes.
fn in_quotes(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#)
}

/// Where a value can be cut, from its start on.
fn parts(value: &str) -> impl Iterator<Item = usize> {
    value.char_indices().map(|(at, _)| at).skip(1)
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask(values: &[&str], text: &str) -> String {
        SecretMask::of(values.iter().map(|value| (*value).to_owned())).mask(text)
    }

    #[test]
    fn what_is_not_seen_does_not_part_a_secret() {
        let secret = r#"Sup3rSecret"Val\ue"#;
        for parted in [
            "Sup3r\u{1b}[0mSecret\"Val\\ue",
            "Sup3r\u{1b}]0;title\u{7}Secret\"Val\\ue",
            "Sup3r\u{0}Secret\u{200b}\"Val\u{202e}\\ue",
            "Sup3r\u{b}Secret\u{85}\"Val\u{2028}\\ue",
        ] {
            assert_eq!(mask(&[secret], parted), "***", "{parted:?}");
        }
        assert_eq!(
            mask(&[secret], r#"{"x": "Sup3rSecret\"Val\\ue"}"#),
            r#"{"x": "***"}"#
        );
        let coloured = "DB password=\u{1b}[1;32mhunter2-open";
        assert_eq!(mask(&[], coloured), "DB password=***");
        let coloured = "\u{1b}[36mpassword\u{1b}[0m=\u{1b}[35mhunter2";
        assert_eq!(mask(&[], coloured), "password=***");
        // A colour that is cut off hides what follows it, and nothing is shown of it.
        assert_eq!(mask(&[], "a\u{1b}[3"), "a");
    }

    #[test]
    fn a_value_is_hidden_wherever_it_stands() {
        assert_eq!(
            mask(&["s3cr.t+v$9"], "a s3cr.t+v$9b s3crxt+v$9"),
            "a ***b s3crxt+v$9"
        );
        assert_eq!(mask(&["abcd"], "xabcdabcdx"), "x***x");
        assert_eq!(
            mask(&["Gr\u{fc}\u{df}e"], "viele Gr\u{fc}\u{df}e!"),
            "viele ***!"
        );
    }

    #[test]
    fn a_value_within_another_leaves_nothing_of_the_longer() {
        for values in [["hunter", "hunter-of-bears"], ["hunter-of-bears", "hunter"]] {
            assert_eq!(mask(&values, "hunter-of-bears hunter"), "*** ***");
        }
        // Nor where they overlap.
        assert_eq!(mask(&["abcdef", "defghi"], "abcdefghi"), "***");
    }

    #[test]
    fn a_value_split_over_line_ends_is_hidden_and_the_lines_stay() {
        assert_eq!(
            mask(&["s3cr3tvalue"], "a s3cr3\ntval\r\nue b"),
            "a ***\n***\r\n*** b"
        );
        let lines = ["s3cr3".to_owned(), "tvalue".to_owned(), "c".to_owned()];
        let masked = SecretMask::of(["s3cr3tvalue".to_owned()]).mask_lines(&lines);
        assert_eq!(masked, ["***", "***", "c"]);
    }

    #[test]
    fn of_a_value_of_several_lines_each_is_hidden_also_alone() {
        let value = "{\n  \"id\": \"4711-4711\",\n  \"pin\": \"0815-0815\"\n}\n";
        assert_eq!(mask(&[value], value), "***\n***\n***\n***\n");
        assert_eq!(mask(&[value], "said \"pin\": \"0815-0815\"!"), "said ***!");
        assert_eq!(mask(&[value], "{}"), "{}");
    }

    #[test]
    fn what_is_too_short_to_be_a_secret_stays() {
        assert_eq!(mask(&["4", "", "\n", "abc"], "4 abc"), "4 abc");
        assert_eq!(mask(&["abcd"], "abcd"), "***");
    }

    #[test]
    fn the_rest_of_a_value_at_a_cut_is_hidden() {
        let secrets = SecretMask::of(["s3cr3tvalue".to_owned()]);
        assert_eq!(secrets.mask_part("it is s3cr3tva", CutAt::End), "it is ***");
        assert_eq!(
            secrets.mask_part("tvalue was it", CutAt::Start),
            "*** was it"
        );
        assert_eq!(
            secrets.mask_part("it is s3cr3tva", CutAt::Nowhere),
            "it is s3cr3tva"
        );
    }

    #[test]
    fn it_prints_as_stars() {
        let secrets = SecretMask::of(["s3cr3tvalue".to_owned()]);
        assert_eq!(format!("{secrets:?}"), "SecretMask(***)");
    }

    proptest! {
        #[test]
        fn no_value_survives_in_any_text(
            value in "[a-z.*+?()\\[\\]{}|^$\\\\ \u{e4}\u{1f600}]{4,12}",
            before in ".{0,20}",
            after in ".{0,20}",
            at in 0..4_usize,
        ) {
            let value = value.trim().to_owned();
            let (start, end) = value.char_indices().nth(at).map_or((value.as_str(), ""), |(at, _)| value.split_at(at));
            let split = format!("{before}{start}\n{end}{after}");
            let secrets = SecretMask::of([value.clone()]);
            for text in [format!("{before}{value}{after}"), split] {
                let joined: String = secrets.mask(&text).chars().filter(|c| !is_line_end(*c)).collect();
                prop_assert!(value.chars().count() < SHORTEST_VALUE || !joined.contains(&value));
            }
        }
    }
}
