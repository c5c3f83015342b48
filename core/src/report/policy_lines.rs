//! How a change's own policy differs from the one that counts: beside the table, so that no reviewer has to unfold it.

use super::document::{DocumentLine, Headline};
use super::{JobReport, Label, Mark, Prose, Report, help, words};

/// Others are in a fold.
const DIFFERENCES_SHOWN: usize = 10;
/// Names in a headline.
const NAMES_SHOWN: usize = 5;

/// Jobs that the change removes, which no table shows: `nothing is checked of sums, which is removed from the spec`.
pub(super) fn removed(report: &Report) -> Option<Headline> {
    let removed = &report.policy.as_ref()?.removed_jobs;
    let names = Prose::first_of(removed.iter().map(Prose::name), NAMES_SHOWN);
    let text = match removed.as_slice() {
        [] => return None,
        [_] => "nothing is checked of {}, a job that is removed from the spec",
        _ => "nothing is checked of {}, jobs that are removed from the spec",
    };
    let text = Prose::fill(text, [Prose::joined(names, ", ")]);
    Some(Headline::of(Mark::DOUBTFUL, text))
}

/// The lines on the whole spec's policy and on that of each of these jobs, and a note for each difference that they have no room for.
pub(super) fn lines(report: &Report, jobs: &[&JobReport]) -> [Vec<DocumentLine>; 2] {
    let of_spec = report.policy.iter().map(|policy| (None, &policy.notes));
    let of_jobs = jobs.iter().map(|job| {
        let name = report.is_of_several_jobs().then(|| Prose::name(&job.name));
        (name, &job.policy.notes)
    });
    let (mut lines, mut further) = (Vec::new(), Vec::new());
    let mut room = DIFFERENCES_SHOWN;
    for (name, notes) in of_spec.chain(of_jobs) {
        let (shown, others) = notes.split_at(notes.len().min(room));
        room -= shown.len();
        let line = |label, text| DocumentLine::new(label, text).about(name.clone());
        if !shown.is_empty() {
            let shown = shown.iter().map(|note| help::sentence(note));
            lines.push(line(Label::POLICY, Prose::joined(shown, " ")));
        }
        let others = others.iter();
        further.extend(others.map(|note| line(Label::NOTE, Prose::sentence(note))));
    }
    if !further.is_empty() {
        let count = words::count(further.len(), "more difference");
        let text = Prose::literal(format!("{count} below, under cautions."));
        lines.push(DocumentLine::new(Label::POLICY, text));
    }
    [lines, further]
}
