//! A spec as it is drafted: lines, of which those are left out that the spec's own checks refuse.

use crate::instance::tables;
use crate::secret;
use crate::spec::yaml_text as yaml;
use crate::spec::{self, SpecSource};

/// Each round of checks takes away one line at least.
const MOST_ROUNDS: usize = 300;
/// A spec is nothing without these. A job's name is the only other key that begins a line of its depth.
const NEEDED: &str = "\
    version strict backend region jobs training image role command output instance budget";

/// The text of a valid spec; `None` where what is refused is needed.
pub(super) fn valid(draft: &str) -> Option<String> {
    let known: Vec<&str> = tables::listed_types().collect();
    let mut lines: Vec<String> = draft.lines().map(str::to_owned).collect();
    for _ in 0..MOST_ROUNDS {
        let text = lines.join("\n") + "\n";
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
        let is_left_out = places
            .iter()
            .map(|(place, why)| leave_out(&mut lines, *place, why));
        if is_left_out.filter(|is_left_out| *is_left_out).count() == 0 {
            return None;
        }
    }
    None
}

/// Leaves out what stands at a place, with all below it, and says why; whether it could.
fn leave_out(lines: &mut Vec<String>, place: usize, why: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let Some(line) = lines.get(place) else {
        return false;
    };
    let (own, text) = (depth(line), line.trim_start());
    let key = text.split(':').next().unwrap_or_default();
    if own == 2 || text.starts_with('#') || NEEDED.split(' ').any(|needed| needed == key) {
        return false;
    }
    let text = text.split("    # ").next().unwrap_or_default();
    let remark = comment(&format!("left out: {text} ({why})"));
    let below = lines[place + 1..].iter();
    let below = below.take_while(|line| depth(line) > own).count();
    let remark = format!("{}# {remark}", " ".repeat(own));
    lines.splice(place..=place + below, [remark]);
    true
}

/// Text from the checkout, behind a `#`.
pub(super) fn comment(text: &str) -> String {
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
            valid(&format!(
                "version: 1\nbackend: local\njobs:\n  train:\n    training:\n      command: [python3, train.py]\n      channels: {{train: {{uri: data}}}}\n      max_runtime: soon    # a.py:3\n      hyperparameters:\n        x: {{y: 1}}\n    instance: {instance}\n"
            ))
        };
        let text = drafted("local").unwrap();
        for left_out in ["max_runtime: soon", "hyperparameters:"] {
            assert!(
                text.contains(&format!("# left out: {left_out} (")),
                "{text}"
            );
        }
        assert_eq!(drafted("ml.m5.large"), None);
    }

    #[test]
    fn what_looks_like_a_secret_is_not_written() {
        assert!(is_open("s3://my-bucket/train") && !is_open("AKIAIOSFODNN7EXAMPLE"));
        assert!(!comment("key = AKIAIOSFODNN7EXAMPLE").contains("AKIAIOSFODNN7EXAMPLE"));
    }
}
