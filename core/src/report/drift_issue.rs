//! The tracking issue of a drift: what it says while it is open, and what when it is over.

use super::document::{Block, Document, DocumentLine, Headline};
use super::escape::for_title;
use super::footer::footer;
use super::{JobReport, Label, Prose, Report, comparison, drift, markdown, over_time, words};
use crate::drift::Drift;

/// The most characters of a title before signs are put in that break mentions and references.
const TITLE_LIMIT: usize = 200;
/// The most characters of a title that GitHub takes, those signs included.
const LONGEST_TITLE: usize = 256;
/// The most characters of a job's name in a title.
const TITLE_NAME_LIMIT: usize = 60;
/// Jobs beyond this are counted.
const JOBS_SHOWN: usize = 20;
/// Charts beyond this would be scrolled past.
const CHARTS_SHOWN: usize = 3;

/// An issue as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftIssue {
    /// Plain text in one line, without mention or reference.
    pub title: String,
    /// GitHub Markdown.
    pub body: String,
}

/// The issue of all jobs of the report that drifted; `None` where none did. Text in it that came from outside is shown
/// literally.
pub fn drift_issue(report: &Report) -> Option<DriftIssue> {
    let drifted = checked(report).filter(|(_, drift)| drift.drifted);
    let drifted: Vec<_> = drifted.collect();
    (!drifted.is_empty()).then(|| DriftIssue {
        title: title(&drifted),
        body: body(report, &drifted),
    })
}

/// What is said where no job of the report drifts any more, as the last comment of its issue.
pub fn drift_over(report: &Report) -> String {
    let sound = checked(report).filter(|(_, drift)| !drift.drifted);
    let sound: Vec<_> = sound.collect();
    let shown = sound.iter().take(JOBS_SHOWN);
    let shown = shown.map(|(job, drift)| DocumentLine::more(named_finding(job, drift)));
    let lines: Vec<DocumentLine> = shown.chain(further(sound.len())).collect();
    let over = Block::line(Label::MORE, Prose::own("The drift is over."));
    page(report, [over].into_iter().chain(Block::list(lines)))
}

/// `churn: a full run takes 63 USD, 13 USD (26%) more than on 2026-11-02`
fn named_finding(job: &JobReport, drift: &Drift) -> Prose {
    let finding = Prose::literal(drift::finding(job, drift));
    Prose::fill("{}: {}", [Prose::name(job.name.as_str()), finding])
}

/// The jobs that were checked for drift, the worst first.
fn checked(report: &Report) -> impl Iterator<Item = (&JobReport, &Drift)> {
    let jobs = comparison::worst_first(&report.jobs).into_iter();
    jobs.filter_map(|job| Some((job, job.drift.as_ref()?)))
}

/// `canary-gate: drift of churn (+26%), digits (+40%)`
fn title(drifted: &[(&JobReport, &Drift)]) -> String {
    let named = drifted.iter().take(JOBS_SHOWN).map(|(job, drift)| {
        let name = for_title(&job.name, TITLE_NAME_LIMIT);
        drift::percent(drift).map_or(name.clone(), |percent| format!("{name} ({percent})"))
    });
    let title = format!("canary-gate: drift of {}", words::joined(named, ", "));
    let title = for_title(&title, TITLE_LIMIT);
    title.chars().take(LONGEST_TITLE).collect()
}

fn body(report: &Report, drifted: &[(&JobReport, &Drift)]) -> String {
    let mut blocks = Vec::new();
    for (index, (job, drift)) in drifted.iter().take(JOBS_SHOWN).enumerate() {
        let headline = Headline::of(drift::mark(drift), named_finding(job, drift));
        blocks.push(Block::Headline(headline));
        blocks.extend(drift::said(drift).map(|(_, said)| Block::line(Label::MORE, said)));
        blocks.extend(drift::causes(drift).map(Block::Table));
        let chart = over_time::checks(drift).filter(|_| index < CHARTS_SHOWN);
        blocks.extend(chart.map(|plot| Block::Plot(Box::new(plot))));
    }
    blocks.extend(further(drifted.len()).map(|line| Block::List(vec![line])));
    blocks.extend(how_to_end(drifted));
    page(report, blocks)
}

/// Blocks above `last checked 2026-11-21 09:14 UTC · 3f9c2e1 · …`
fn page(report: &Report, blocks: impl IntoIterator<Item = Block>) -> String {
    let at = Prose::figure(words::minute(report.generated_at));
    markdown::lay_out(&Document {
        blocks: blocks.into_iter().collect(),
        footer: Prose::fill("last checked {} · {}", [at, footer(report)]),
        ..Document::default()
    })
}

fn how_to_end(drifted: &[(&JobReport, &Drift)]) -> [Block; 2] {
    let shown = drifted.iter().take(JOBS_SHOWN);
    let mut allowed: Vec<String> = shown.map(|(_, drift)| drift::allowed(drift)).collect();
    allowed.dedup();
    let allowed = match allowed.as_slice() {
        [all] => Prose::literal(all),
        _ => Prose::own("what each job allows"),
    };
    let ways = [
        Prose::fill(
            "Correct the cause: the next check closes this issue when the increase is no longer certainly above {}.",
            [allowed],
        ),
        Prose::sentence(
            "Or accept it: start the workflow by hand with `accept: true`, which makes this level the new baseline. So does a push that changes the job's code or its instance.",
        ),
        Prose::sentence("Or allow more: raise `drift.max` of the job in the spec."),
    ];
    let ways = Block::List(ways.map(DocumentLine::more).into());
    [Block::line(Label::END, Prose::default()), ways]
}

fn further(count: usize) -> Option<DocumentLine> {
    let further = words::beyond(count, JOBS_SHOWN)?;
    let text = format!("and {}", words::count(further, "more job"));
    Some(DocumentLine::more(Prose::literal(text)))
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn one_job_that_drifted() {
        let issue = drift_issue(&samples::of("drifted")).unwrap();
        assert_eq!(issue.title, "canary-gate: drift of churn (+26%)");
        insta::assert_snapshot!("drift_issue", issue.body);
        assert_eq!(drift_issue(&samples::of("not_drifted")), None);
        insta::assert_snapshot!("drift_over", drift_over(&samples::of("not_drifted")));
    }

    #[test]
    fn several_jobs_have_a_section_each() {
        let mut report = samples::of("drifted");
        let mut other = report.jobs[0].clone();
        other.name = "digits".to_owned();
        report.jobs.push(other);
        let issue = drift_issue(&report).unwrap();
        assert_eq!(
            issue.title,
            "canary-gate: drift of churn (+26%), digits (+26%)"
        );
        assert_eq!(issue.body.matches("### 📈").count(), 2);
        report.jobs = vec![report.jobs[0].clone(); 30];
        let issue = drift_issue(&report).unwrap();
        assert!(issue.title.chars().count() <= TITLE_LIMIT);
        assert!(
            issue.body.contains("\n\n- and 10 more jobs\n\n"),
            "{}",
            issue.body
        );
        assert!(issue.body.len() < 60_000, "{}", issue.body.len());
    }

    #[test]
    fn hostile_text_stays_in_its_place() {
        let mut report = samples::of("drifted");
        report.jobs[0].name = "x` @everyone #1 <img src=x>\n\n# y \u{1b}[31m".repeat(20);
        report.jobs = vec![report.jobs[0].clone(); 4];
        for (job, name) in report.jobs.iter_mut().skip(1).zip(["@", "#", "@#"]) {
            job.name = name.repeat(60);
        }
        let issue = drift_issue(&report).unwrap();
        assert!(!issue.title.contains("@everyone") && !issue.title.contains("#1"));
        assert!(!issue.title.contains(char::is_control));
        assert!(
            issue.title.chars().count() <= LONGEST_TITLE,
            "{}",
            issue.title
        );
        for text in [issue.body, {
            report.jobs[0].drift.as_mut().unwrap().drifted = false;
            drift_over(&report)
        }] {
            assert!(!text.contains("<img"), "{text}");
            assert!(!text.contains("@everyone"), "{text}");
            assert!(!text.contains("\n# y"), "{text}");
            assert!(!text.contains("--job x"), "{text}");
        }
    }
}
