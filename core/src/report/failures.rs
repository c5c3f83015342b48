//! Why something could not be checked: what was being done, what went wrong, and what to do.

use super::document::{Block, DocumentLine, Headline};
use super::text::{Prose, Verbatim};
use super::{Failure, JobReport, Label, Mark, Report, canaries, help, words};
use crate::grammar::at_most;

/// More failures than this are counted: they mostly have one cause.
const SHOWN: usize = 5;

/// More causes than this are counted.
const CAUSES_SHOWN: usize = 20;

/// A report that has no verdict.
pub(super) fn has_only_failures(report: &Report) -> bool {
    report.jobs.is_empty() && !report.failures.is_empty()
}

pub(super) fn shown(report: &Report) -> impl Iterator<Item = &Failure> {
    report.failures.iter().take(SHOWN)
}

/// `could not check churn (the check fails): the spec is invalid`
pub(super) fn headline(failure: &Failure) -> Headline {
    let what = Prose::sentence(failure.what.as_str());
    let text = match &failure.job {
        Some(job) => Prose::fill(
            "could not check {} (the check fails): {}",
            [Prose::name(job.as_str()), what],
        ),
        None => Prose::fill("could not check (the check fails): {}", [what]),
    };
    Headline::of(Mark::BAD, text)
}

/// How many failures are not shown.
pub(super) fn further(report: &Report) -> Option<Headline> {
    let further = words::beyond(report.failures.len(), SHOWN)?;
    let text = Prose::literal(format!("{further} more could not be checked"));
    Some(Headline::of(Mark::BAD, text))
}

/// What was being done, why it went wrong, and what to do.
pub(super) fn blocks(failure: &Failure, about: Option<Prose>) -> Vec<Block> {
    let phase = Prose::literal(words::capitalized(&failure.phase));
    let phase = DocumentLine::new(Label::WHILE, Prose::fill("{}.", [phase]));
    let mut lines = vec![phase.about(about)];
    let causes = match failure.causes.as_slice() {
        [] => None,
        [cause] if !cause.contains('\n') => {
            let cause = Prose::sentence(words::capitalized(cause));
            lines.push(DocumentLine::new(Label::REASON, cause));
            None
        }
        causes => {
            lines.push(DocumentLine::new(Label::REASON, Prose::default()));
            Some(all_causes(causes))
        }
    };
    let help = help::blocks(failure.help.as_deref().unwrap_or_default());
    let lines = [Block::Lines(lines)].into_iter();
    lines.chain(causes).chain(help).collect()
}

/// Why it went wrong taken out, where there is no room for it.
pub(super) fn without_causes(blocks: Vec<Block>) -> Vec<Block> {
    let is_cause = |line: &DocumentLine| matches!(line.label, Label::REASON | Label::CAUSE);
    let kept = |block| match block {
        Block::Problems(_) => None,
        Block::Lines(mut lines) | Block::List(mut lines) => {
            lines.retain(|line| !is_cause(line));
            (!lines.is_empty()).then_some(Block::Lines(lines))
        }
        block => Some(block),
    };
    blocks.into_iter().filter_map(kept).collect()
}

/// The problems of a spec as they are, other causes as a list.
fn all_causes(causes: &[String]) -> Block {
    let shown = at_most(causes.iter().cloned(), CAUSES_SHOWN).into_iter();
    if causes.iter().any(|cause| cause.contains('\n')) {
        return Block::Problems(Verbatim::new(shown));
    }
    let line = |cause| DocumentLine::new(Label::CAUSE, Prose::sentence(cause));
    Block::List(shown.map(line).collect())
}

/// What was spent until then: `3 runs, 0.12 USD.`
pub(super) fn spent_so_far(report: &Report) -> DocumentLine {
    let runs: usize = report.jobs.iter().map(|job| job.measurements.len()).sum();
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let text = match runs == 0 && jobs.iter().all(|job| job.spend.canary_usd.is_none()) {
        true => Prose::own("Nothing, as far as is known: no canary was recorded."),
        false => Prose::literal(format!("{}.", canaries::spend(&jobs))),
    };
    DocumentLine::new(Label::SPENT_SO_FAR, text)
}

/// `Exit code 1: the tool failed, or its environment needs a correction.`
pub(super) fn exit_code(report: &Report) -> DocumentLine {
    let code = report.exit_code;
    let text = format!("Exit code {code}: {}.", words::exit_words(code));
    DocumentLine::new(Label::EXIT_CODE, Prose::literal(text))
}
