//! How a change's own policy differs from the one that counts: beside the table, so that no reviewer has to unfold it.

use super::comparison;
use super::document::{DocumentLine, Headline};
use super::label::Label;
use super::mark::Mark;
use super::text::Prose;
use super::{JobReport, Report, help, words};

/// Of one line; the others are in a fold.
const DIFFERENCES_SHOWN: usize = 5;
/// Lines of jobs; those of the others are in a fold.
const JOBS_SHOWN: usize = 5;
/// Names in a headline.
const NAMES_SHOWN: usize = 5;

/// Jobs that the change removes, which no table shows: `nothing is checked of sums, which is removed from the spec`.
pub(super) fn removed(report: &Report) -> Option<Headline> {
    let removed = &report.policy.as_ref()?.removed_jobs;
    let further = removed.len().saturating_sub(NAMES_SHOWN);
    let further = (further > 0).then(|| Prose::literal(format!("{further} more")));
    let names = removed.iter().take(NAMES_SHOWN);
    let names = names.map(|name| Prose::name(name.as_str())).chain(further);
    let text = match removed.as_slice() {
        [] => return None,
        [_] => "nothing is checked of {}, a job that is removed from the spec",
        _ => "nothing is checked of {}, jobs that are removed from the spec",
    };
    Some(Headline {
        mark: Mark::Doubtful,
        text: Prose::fill(text, [Prose::joined(names, ", ")]),
    })
}

/// Of the whole spec, then of each job, the worst first.
pub(super) fn lines(report: &Report) -> Vec<DocumentLine> {
    let notes = report.policy.as_ref().map(|policy| policy.notes.as_slice());
    let whole = line(notes.unwrap_or_default(), None);
    let (shown, others) = split(report);
    let several_jobs = report.jobs.len() > 1;
    let of_jobs = shown.into_iter().filter_map(|job| {
        let name = several_jobs.then(|| Prose::name(job.name.as_str()));
        line(&job.policy.notes, name)
    });
    let others = (!others.is_empty()).then(|| {
        let count = words::count(others.len(), "more job");
        let text = format!("Of {count} the differences are below, under cautions.");
        DocumentLine::new(Label::Policy, Prose::literal(text))
    });
    whole.into_iter().chain(of_jobs).chain(others).collect()
}

/// Of one job that has a page of its own.
pub(super) fn of_job(job: &JobReport) -> Option<DocumentLine> {
    line(&job.policy.notes, None)
}

/// Of the whole spec, on a page of its own.
pub(super) fn of_spec(report: &Report) -> Option<DocumentLine> {
    line(&report.policy.as_ref()?.notes, None)
}

/// What [`lines`] has no room for, to be folded.
pub(super) fn further(report: &Report) -> Vec<DocumentLine> {
    let several_jobs = report.jobs.len() > 1;
    let note = |name: Option<&str>, text: &str| DocumentLine {
        label: Label::Note,
        about: name.into_iter().map(Prose::name).collect(),
        text: Prose::sentence(text),
    };
    let whole = report.policy.iter().flat_map(|policy| &policy.notes);
    let whole = whole.skip(DIFFERENCES_SHOWN).map(|text| note(None, text));
    let (shown, others) = split(report);
    let rest = |job: &'_ JobReport, skipped: usize| {
        let name = several_jobs.then_some(job.name.as_str());
        let notes = job.policy.notes.iter().skip(skipped);
        notes.map(|text| note(name, text)).collect::<Vec<_>>()
    };
    let of_shown = shown.iter().flat_map(|job| rest(job, DIFFERENCES_SHOWN));
    let of_others = others.iter().flat_map(|job| rest(job, 0));
    whole.chain(of_shown).chain(of_others).collect()
}

/// The jobs with differences: those that have a line, and the others.
fn split(report: &Report) -> (Vec<&JobReport>, Vec<&JobReport>) {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let mut jobs = comparison::worst_first(&jobs);
    jobs.retain(|job| !job.policy.notes.is_empty());
    let others = jobs.split_off(jobs.len().min(JOBS_SHOWN));
    (jobs, others)
}

/// Of a few differences each in a sentence or two.
fn line(notes: &[String], about: Option<Prose>) -> Option<DocumentLine> {
    let shown = notes.iter().take(DIFFERENCES_SHOWN);
    let shown = shown.map(|note| help::sentence(note));
    let further = notes.len().saturating_sub(DIFFERENCES_SHOWN);
    let further = (further > 0).then(|| {
        let further = words::count(further, "more difference");
        Prose::literal(format!("{further} below, under cautions."))
    });
    (!notes.is_empty()).then(|| DocumentLine {
        label: Label::Policy,
        about: about.into_iter().collect(),
        text: Prose::joined(shown.chain(further), " "),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{markdown, samples};

    fn said(notes: &[&str]) -> String {
        let mut report = samples::of("over-budget");
        report.jobs[0].policy.notes = notes.iter().map(|&note| note.to_owned()).collect();
        let page = markdown::render(&report);
        let folds = page.find("<details>").unwrap();
        let start = page.find("**Policy.**").expect("it is never folded");
        assert!(start < folds, "{page}");
        page[start..].lines().next().unwrap().to_owned()
    }

    #[test]
    fn what_a_change_does_to_its_own_limits_is_never_folded() {
        let raise = "This pull request raises the cost budget from 2.50 USD to 500 USD (counts when merged).";
        assert_eq!(
            said(&[raise]).trim_end_matches('\\'),
            "**Policy.** This pull request raises the cost budget from 2.50 USD to 500 USD (counts when merged)."
        );
        assert_eq!(
            said(&[
                raise,
                "This pull request changes `strict` from true to false (counts when merged).",
                "This job is not in the base."
            ])
            .trim_end_matches('\\'),
            "**Policy.** This pull request raises the cost budget from 2.50 USD to 500 USD (counts when merged). \
             This pull request changes `strict` from true to false (counts when merged). This job is not in the base."
        );
    }

    #[test]
    fn many_differences_are_counted_and_all_are_somewhere() {
        let notes: Vec<String> = (0..9)
            .map(|index| format!("This pull request changes place {index}."))
            .collect();
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        let line = said(&notes);
        assert!(line.contains("4 more differences below"), "{line}");
        let mut report = samples::of("over-budget");
        let sample = report.jobs.remove(0);
        report.jobs = (0..8)
            .map(|index| {
                let mut job = sample.clone();
                job.name = format!("job-{index}");
                job.policy.notes = vec![format!("This pull request changes place {index}.")];
                job
            })
            .collect();
        let page = markdown::render(&report);
        for index in 0..8 {
            assert!(page.contains(&format!("changes place {index}.")), "{page}");
        }
        assert!(page.contains("**Policy.** Of 3 more jobs"), "{page}");
    }

    #[test]
    fn a_job_that_is_removed_stands_in_a_headline() {
        let mut report = samples::of("within");
        let policy = report.policy.as_mut().unwrap();
        policy.removed_jobs = vec!["sums".to_owned()];
        let page = markdown::render(&report);
        assert!(
            page.contains(
                "### ⚠️ nothing is checked of `sums`, a job that is removed from the spec"
            ),
            "{page}"
        );
        let mut renamed = samples::of("within");
        renamed.jobs[0].policy.renamed_from = Some("old".to_owned());
        let page = markdown::render(&renamed);
        assert!(page.contains(" (renamed from `old`) "), "{page}");
    }
}
