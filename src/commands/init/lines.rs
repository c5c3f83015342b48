//! The lines that the drafts for this machine and for SageMaker have in common.

use super::draft::{SpecDraft, WhenRefused, is_open};
use super::found::{FoundScript, Overview, folder_of, name_of};
use crate::backend::sagemaker::from_job;
use crate::spec::yaml_text as yaml;

/// Names of options that say how much work is done, the likeliest first.
const WORK: &str = "\
    epochs num_train_epochs num_epochs max_epochs num_round max_steps iterations \
    n_estimators steps epoch";
/// The longest name of a job that SageMaker takes a canary's name of.
const LONGEST_NAME: usize = 40;
const MOST_REQUIREMENTS: usize = 4;

/// A job's name from a text, such as `my_model.py`; `train` where nothing of it can be one.
pub(super) fn job_name(text: &str) -> String {
    let kept: String = (text.chars())
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => '-',
        })
        .take(LONGEST_NAME)
        .collect();
    let words: Vec<&str> = kept.split('-').filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "train".to_owned(),
        false => words.join("-"),
    }
}

/// A job's name from its script's path.
pub(super) fn name_of_script(path: &str) -> String {
    let name = name_of(path);
    let stem = name.strip_suffix(".py").unwrap_or(name);
    let folder = name_of(folder_of(path));
    // `src/models/train_model.py`, `train.py`: its name says nothing that a job's does not.
    let says_nothing = matches!(stem, "train" | "main" | "run")
        && !matches!(folder, "" | "src" | "code" | "scripts");
    job_name(if says_nothing { folder } else { stem })
}

/// The comment above everything, and the first keys; `chosen` are the paths of what is used.
pub(super) fn opening(draft: &mut SpecDraft, overview: &Overview, from: &str, chosen: &[&str]) {
    draft.remark(0, &format!("Made by `canary-gate init` from {from}."));
    draft.remark(0, "A comment behind a line names the place that it was read from; `guess` marks what no file says: look at each, then run `canary-gate check`.");
    if let Some(place) = overview.launches.first() {
        draft.remark(0, &format!("Training jobs are started at {place}: `canary-gate init --from-job NAME` writes the spec of one."));
    }
    let others = overview.others(chosen);
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
    let mut patterns: Vec<&String> = Vec::new();
    let requirements = overview.requirements.iter().take(MOST_REQUIREMENTS);
    for pattern in code.iter().chain(requirements) {
        if !pattern.is_empty() && !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let is_covered = |pattern: &String| {
        let mut folders = patterns.iter().filter_map(|other| other.strip_suffix("**"));
        folders.any(|folder| pattern.starts_with(folder) && pattern[folder.len()..] != *"**")
    };
    let mut kept: Vec<String> = (patterns.iter())
        .filter(|pattern| !is_covered(pattern))
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
    draft.remark(2, "The full run.");
    draft.head(2, "training:");
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

/// The options whose default is a number.
pub(super) fn hyperparameters(draft: &mut SpecDraft, script: &FoundScript) {
    let mut seen = Vec::new();
    let options = script.options.iter().filter(|option| {
        let is_new = !seen.contains(&&option.name);
        seen.push(&option.name);
        is_new && is_open(&option.default) && !from_job::is_secret(&option.name)
    });
    let options: Vec<_> = options.collect();
    if options.is_empty() {
        return;
    }
    draft.remark(3, "Handed over as SageMaker does: --epochs 10. These are the script's defaults: keep those that matter.");
    draft.line(3, "hyperparameters:", "", WhenRefused::LeftOut);
    for option in options {
        let (name, value) = (&option.name, yaml::text_or_number(&option.default));
        let text = format!("{}: {value}", yaml::text(name));
        let said = format!("guess: the default at {}", option.place);
        draft.line(4, &text, &said, WhenRefused::LeftOut);
    }
}

/// A suggestion, as a comment, where an option says how much work is done.
pub(super) fn work(draft: &mut SpecDraft, script: &FoundScript) {
    let found = WORK.split(' ').find_map(|known| {
        let mut options = script.options.iter();
        let option = options.find(|option| option.name.replace('-', "_") == known)?;
        let full = option.default.parse::<u64>().ok()?;
        (full >= 4).then_some((&option.name, full))
    });
    let Some((name, full)) = found else {
        return;
    };
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

/// Whether a channel is to be whole in every canary, by its name.
pub(super) fn is_whole(channel: &str) -> bool {
    let known = ["test", "val", "eval", "dev"];
    known.iter().any(|known| channel.starts_with(known))
}

/// The limits of time and of one thing more.
pub(super) fn budget(draft: &mut SpecDraft, other: &str, guess: &str) {
    let head = "The limits of the full run. The check fails if one is likely exceeded.";
    draft.remark(2, head);
    draft.head(2, "budget:");
    let said = "guess: how long it may take";
    draft.line(3, "time: 8h", said, WhenRefused::LeftOut);
    draft.line(3, other, guess, WhenRefused::LeftOut);
}
