//! What the drafts for this machine and for SageMaker have in common.

use super::draft::{SpecDraft, WhenRefused};
use super::overview::Overview;
use crate::spec::yaml_text as yaml;

/// Names of options that say how much work is done, the likeliest first.
const WORK: [&str; 10] = [
    "epochs",
    "num_train_epochs",
    "num_epochs",
    "max_epochs",
    "num_round",
    "max_steps",
    "iterations",
    "n_estimators",
    "steps",
    "epoch",
];
/// The longest name of a job that SageMaker takes a canary's name of.
const LONGEST_NAME: usize = 40;

/// A job's name from a text, such as `my_model.py`; `train` where nothing of it can be one.
pub(super) fn job_name(text: &str) -> String {
    let kept: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(LONGEST_NAME)
        .collect();
    let words: Vec<&str> = kept.split('-').filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "train".to_owned(),
        false => words.join("-"),
    }
}

/// The comment above everything.
pub(super) fn opening(draft: &mut SpecDraft, from: &str, others: &[String]) {
    draft.remark(0, &format!("Made by `canary-gate init` from {from}."));
    draft.remark(0, "A comment behind a line names the place that it was read from; `guess` marks what no file says: look at each, then run `canary-gate check`.");
    if !others.is_empty() {
        draft.remark(
            0,
            &format!("Also found, and not used: {}.", others.join(", ")),
        );
    }
    draft.head(0, "version: 1");
    let said = "a budget line at risk fails the check too";
    draft.line(0, "strict: true", said, WhenRefused::Kept);
}

/// The patterns of the files whose change triggers the job.
pub(super) fn paths(draft: &mut SpecDraft, overview: &Overview, code: &[String]) {
    let mut patterns: Vec<String> = Vec::new();
    let requirements = overview.requirements.iter().take(4);
    for pattern in code.iter().chain(requirements) {
        if !pattern.is_empty() && !patterns.contains(pattern) {
            patterns.push(pattern.clone());
        }
    }
    let covered = |pattern: &String| {
        patterns.iter().any(|other| {
            other != pattern
                && (other == "**"
                    || (other.strip_suffix("/**"))
                        .is_some_and(|folder| pattern.starts_with(&format!("{folder}/"))))
        })
    };
    let mut kept: Vec<String> = patterns
        .iter()
        .filter(|pattern| !covered(pattern))
        .map(|pattern| yaml::text(pattern))
        .collect();
    kept.push("\"!**/*.md\"".to_owned());
    // Lest a new budget pay for every canary again. A change of the spec concerns its jobs in any case.
    if kept.iter().any(|pattern| pattern == "\"**\"") {
        kept.push("\"!canary-gate.yml\"".to_owned());
    }
    draft.remark(2, "These files count: a change of one triggers the job, and what does not count no canary gets.");
    draft.line(
        2,
        &format!("paths: [{}]", kept.join(", ")),
        "guess: all that the result depends on",
        WhenRefused::LeftOut,
    );
    draft.gap();
}

/// `folder/**`; for the root everything, since helpers and settings lie beside a script.
pub(super) fn all_below(folder: &str) -> String {
    match folder.is_empty() {
        true => "**".to_owned(),
        false => format!("{}/**", escaped(folder)),
    }
}

/// A path as a pattern that matches it alone.
pub(super) fn escaped(path: &str) -> String {
    let mut pattern = String::new();
    for c in path.chars() {
        if "*?[]{}!\\".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A suggestion, as a comment, where a hyperparameter says how much work is done.
pub(super) fn work<'a>(
    draft: &mut SpecDraft,
    settings: &(impl Iterator<Item = (&'a str, &'a str)> + Clone),
) {
    let found = WORK.iter().find_map(|known| {
        let mut settings = settings.clone();
        let (name, value) = settings.find(|(name, _)| name.replace('-', "_") == *known)?;
        Some((name, value.parse::<u64>().ok().filter(|full| *full >= 4)?))
    });
    if let Some((name, full)) = found {
        let fewest = (full / 50).max(1);
        draft.remark(2, "Canaries may do less work per datum too; the forecast then learns what a part of it costs:");
        draft.remark(
            2,
            &format!(
                "work: {{hyperparameter: {}, full: {full}, canary: [{fewest}, {}]}}",
                yaml::text(name),
                2 * fewest
            ),
        );
        draft.gap();
    }
}
