//! A spec as it is drafted: lines that say where they come from, and that are left out if the spec's own checks refuse them.

use crate::instance::tables;
use crate::secret;
use crate::spec::yaml_text as yaml;
use crate::spec::{self, SpecSource};

/// Each round of checks takes away one line at least.
const MOST_ROUNDS: usize = 300;

/// The lines of a spec.
#[derive(Debug, Default)]
pub(super) struct SpecDraft(Vec<DraftLine>);

#[derive(Debug)]
struct DraftLine {
    depth: usize,
    /// Empty for a gap.
    text: String,
    /// What stands behind it as a comment; may be empty.
    said: String,
    /// Whether a spec is nothing without it.
    is_needed: bool,
}

impl SpecDraft {
    /// A line that the spec needs.
    pub(super) fn needed(&mut self, depth: usize, text: &str, said: &str) {
        self.push(depth, text.to_owned(), said, true);
    }

    /// A line that is left out, with what stands below it, if it is refused.
    pub(super) fn line(&mut self, depth: usize, text: &str, said: &str) {
        self.push(depth, text.to_owned(), said, false);
    }

    pub(super) fn remark(&mut self, depth: usize, text: &str) {
        self.push(depth, format!("# {}", comment(text)), "", true);
    }

    pub(super) fn gap(&mut self) {
        self.push(0, String::new(), "", true);
    }

    fn push(&mut self, depth: usize, text: String, said: &str, is_needed: bool) {
        self.0.push(DraftLine {
            depth,
            text,
            said: comment(said),
            is_needed,
        });
    }

    fn text(&self) -> String {
        let line = |line: &DraftLine| {
            let sign = if line.said.is_empty() { "" } else { "    # " };
            let text = format!(
                "{}{}{sign}{}",
                "  ".repeat(line.depth),
                line.text,
                line.said
            );
            format!("{}\n", text.trim_end())
        };
        self.0.iter().map(line).collect()
    }

    /// The text of a spec that is valid; `None` where what is refused is needed.
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
                has_changed |= self.leave_out(place, &why);
            }
            if !has_changed {
                return None;
            }
        }
        None
    }

    /// Leaves out what stands at a place, with all below it, and says why; whether it could.
    fn leave_out(&mut self, place: usize, why: &str) -> bool {
        let Some(line) = self.0.get_mut(place).filter(|line| !line.is_needed) else {
            return false;
        };
        let depth = line.depth;
        line.text = format!("# {}", comment(&format!("left out: {} ({why})", line.text)));
        line.said.clear();
        line.is_needed = true;
        let below = self.0[place + 1..].iter();
        let below = below.take_while(|line| line.depth > depth).count();
        self.0.drain(place + 1..=place + below);
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

    #[test]
    fn what_the_spec_refuses_is_left_out_and_said_unless_it_needs_it() {
        let drafted = |instance: &str| {
            let mut draft = SpecDraft::default();
            for (depth, text) in [
                (0, "version: 1"),
                (0, "backend: local"),
                (0, "jobs:"),
                (1, "train:"),
                (2, "training:"),
                (3, "command: [python3, train.py]"),
                (3, "channels: {train: {uri: data}}"),
            ] {
                draft.needed(depth, text, "");
            }
            draft.line(3, "max_runtime: soon", "a.py:3");
            draft.line(3, "hyperparameters:", "");
            draft.line(4, "x: {y: 1}", "");
            draft.needed(2, instance, "");
            draft.valid_text()
        };
        let text = drafted("instance: local").unwrap();
        for left_out in ["max_runtime: soon", "hyperparameters:"] {
            assert!(
                text.contains(&format!("# left out: {left_out} (")),
                "{text}"
            );
        }
        assert_eq!(drafted("instance: ml.m5.large"), None);
    }

    #[test]
    fn what_looks_like_a_secret_is_not_written() {
        assert!(is_open("s3://my-bucket/train") && !is_open("AKIAIOSFODNN7EXAMPLE"));
        assert!(!comment("key = AKIAIOSFODNN7EXAMPLE").contains("AKIAIOSFODNN7EXAMPLE"));
    }
}
