//! A spec as it is drafted: lines that say where they come from, and what stands in their place if the spec's own checks refuse
//! them.

use crate::instance::tables;
use crate::secret;
use crate::spec::yaml_text as yaml;
use crate::spec::{self, SpecSource};

/// Each round of checks takes away one line at least.
const MOST_ROUNDS: usize = 300;

/// The lines of a spec.
#[derive(Debug, Default)]
pub(super) struct SpecDraft {
    parts: Vec<DraftPart>,
}

/// One line.
#[derive(Debug)]
enum DraftPart {
    Line(DraftLine),
    Remark { depth: usize, text: String },
    Gap,
}

/// A line with a key.
#[derive(Debug)]
struct DraftLine {
    depth: usize,
    text: String,
    /// What stands behind it as a comment; may be empty.
    said: String,
    refused: WhenRefused,
}

/// What becomes of a line that the spec's checks refuse, with what stands below it.
#[derive(Debug, PartialEq)]
pub(super) enum WhenRefused {
    /// It stays: a spec is nothing without it.
    Kept,
    /// A comment says that it was left out.
    LeftOut,
    /// This text takes its place, once.
    Replaced(String),
}

impl SpecDraft {
    /// A line that no check refuses.
    pub(super) fn head(&mut self, depth: usize, text: &str) {
        self.line(depth, text, "", WhenRefused::Kept);
    }

    pub(super) fn line(&mut self, depth: usize, text: &str, said: &str, refused: WhenRefused) {
        self.parts.push(DraftPart::Line(DraftLine {
            depth,
            text: text.to_owned(),
            said: comment(said),
            refused,
        }));
    }

    pub(super) fn remark(&mut self, depth: usize, text: &str) {
        self.parts.push(DraftPart::Remark {
            depth,
            text: comment(text),
        });
    }

    pub(super) fn gap(&mut self) {
        self.parts.push(DraftPart::Gap);
    }

    /// The text: a line for each part.
    fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                DraftPart::Gap => {}
                DraftPart::Remark {
                    depth,
                    text: remark,
                } => {
                    text.push_str(&"  ".repeat(*depth));
                    text.push_str(&format!("# {remark}"));
                }
                DraftPart::Line(line) => {
                    text.push_str(&"  ".repeat(line.depth));
                    text.push_str(&line.text);
                    if !line.said.is_empty() {
                        text.push_str(&format!("    # {}", line.said));
                    }
                }
            }
            text.push('\n');
        }
        text
    }

    /// The text of a spec that is valid; `None` where what is refused can neither be left out nor replaced.
    pub(super) fn valid_text(mut self) -> Option<String> {
        let known: Vec<&str> = tables::listed_types().collect();
        for _ in 0..MOST_ROUNDS {
            let text = self.text();
            let source = SpecSource {
                name: "canary-gate.yml",
                bytes: text.as_bytes(),
            };
            let Err(errors) = spec::read(source, &known) else {
                return Some(text);
            };
            let mut places: Vec<(usize, String)> = (errors.problems().iter())
                .filter_map(|problem| {
                    let line = usize::try_from(problem.place?.line).ok()?;
                    Some((line.checked_sub(1)?, problem.message.clone()))
                })
                .collect();
            // From the end, so that the places before stay what they are; of two problems of a line the first is said.
            places.sort_by_key(|(line, _)| std::cmp::Reverse(*line));
            places.dedup_by_key(|(line, _)| *line);
            let mut has_changed = false;
            for (place, why) in places {
                has_changed |= self.refuse(place, &why);
            }
            if !has_changed {
                return None;
            }
        }
        None
    }

    /// Takes away what stands at a place, with all below it; says whether anything could be.
    fn refuse(&mut self, place: usize, why: &str) -> bool {
        let Some(DraftPart::Line(line)) = self.parts.get_mut(place) else {
            return false;
        };
        let depth = line.depth;
        let before = line.text.clone();
        let refused = std::mem::replace(&mut line.refused, WhenRefused::LeftOut);
        let replacement = match refused {
            WhenRefused::Kept => {
                line.refused = WhenRefused::Kept;
                return false;
            }
            WhenRefused::LeftOut => DraftPart::Remark {
                depth,
                text: comment(&format!("left out: {before} ({why})")),
            },
            WhenRefused::Replaced(text) => DraftPart::Line(DraftLine {
                depth,
                text,
                said: comment(&format!("guess: in place of {before} ({why})")),
                refused: WhenRefused::LeftOut,
            }),
        };
        let below = self.parts[place + 1..].iter();
        let is_below = |part: &&DraftPart| match part {
            DraftPart::Line(line) => line.depth > depth,
            DraftPart::Remark { depth: own, .. } => *own > depth,
            DraftPart::Gap => false,
        };
        let end = place + 1 + below.take_while(is_below).count();
        self.parts.splice(place..end, [replacement]);
        true
    }
}

/// Text from the checkout, behind a `#`.
fn comment(text: &str) -> String {
    yaml::remark(&secret::mask_named(&secret::mask_shapes(text)))
}

/// Whether a value may be written down: it does not look like a secret.
pub(super) fn is_open(value: &str) -> bool {
    secret::mask_shapes(value) == value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> SpecDraft {
        let mut draft = SpecDraft::default();
        draft.head(0, "version: 1");
        draft.head(0, "backend: local");
        draft.head(0, "jobs:");
        draft.head(1, "train:");
        draft.head(2, "training:");
        draft.head(3, "command: [python3, train.py]");
        draft.head(3, "channels:");
        draft.line(
            4,
            "train: {uri: ../secrets}",
            "",
            WhenRefused::Replaced("train: {uri: data}".to_owned()),
        );
        draft.line(3, "max_runtime: soon", "a.py:3", WhenRefused::LeftOut);
        draft.line(3, "hyperparameters:", "", WhenRefused::LeftOut);
        draft.head(2, "instance: local");
        draft
    }

    #[test]
    fn what_the_spec_refuses_is_replaced_or_left_out_and_said() {
        let text = draft().valid_text().unwrap();
        assert!(
            text.contains("train: {uri: data}    # guess: in place of train: {uri: ../secrets}"),
            "{text}"
        );
        assert!(text.contains("# left out: max_runtime: soon"), "{text}");
    }

    #[test]
    fn a_line_that_a_spec_needs_is_kept_and_then_there_is_none() {
        let mut draft = draft();
        draft.head(2, "instance: ml.m5.large");
        assert_eq!(draft.valid_text(), None);
    }

    #[test]
    fn what_looks_like_a_secret_is_not_written() {
        assert!(is_open("s3://my-bucket/train") && !is_open("AKIAIOSFODNN7EXAMPLE"));
        assert!(!comment("key = AKIAIOSFODNN7EXAMPLE").contains("AKIAIOSFODNN7EXAMPLE"));
    }
}
