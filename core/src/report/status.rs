//! What a comment says while there is no report: that canaries run, and that a run ended before its verdict.

use super::document::{Block, Document, DocumentLine, Headline};
use super::footer::{footer, opening};
use super::words::{self, Quantity};
use super::{Failure, JobReport, Label, Mark, Prose, Report, escape, help, markdown};
use crate::change::AffectedJob;
use crate::units::Usd;

/// Of the line of a status, in characters.
const LONGEST_LINE: usize = 140;
/// Jobs beyond this are counted.
const JOBS_SHOWN: usize = 20;

/// What is known to be left of a run that could cost money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftovers {
    /// All its jobs were stopped, or none was started.
    Nothing,
    /// Could not be looked up: the comment says what to type to stop them.
    #[default]
    Unknown,
}

/// The comment of a begun `run` while canaries of `affected` run, which may cost `most` together; `None` where no price is known. A
/// job's name may be text of the pull request.
pub fn in_progress(affected: &[AffectedJob<'_>], most: Option<Usd>, run: &Report) -> String {
    let what = match affected {
        [] => Prose::own("measuring"),
        [one] => Prose::fill("measuring {}", [Prose::name(&one.job.name)]),
        jobs => Prose::literal(format!("measuring {}", words::count(jobs.len(), "job"))),
    };
    let shown = affected.iter().take(JOBS_SHOWN);
    let shown = shown.map(|AffectedJob { job, .. }| {
        let instance = job.instance.to_string();
        Prose::fill("{} on {}", [&job.name, &instance].map(Prose::name))
    });
    let further = words::beyond(affected.len(), JOBS_SHOWN);
    let further = further.map(|further| Prose::literal(format!("and {further} more")));
    let jobs = shown.chain(further).map(DocumentLine::more);
    let cost = match most {
        Some(Usd(usd)) => {
            let most = Quantity::Money.figure(usd);
            Prose::literal(format!("They cost at most {most} together."))
        }
        None => Prose::own("What they may cost is not known: no price is."),
    };
    let cost = Prose::fill(
        "Small canary runs are at work. {} The forecast and the verdict will stand here.",
        [cost],
    );
    let jobs = Block::list(jobs.collect()).into_iter();
    let document = Document {
        blocks: jobs.chain([Block::line(Label::MORE, cost)]).collect(),
        ..Document::default()
    };
    under(Mark::MEASURING, what, run, document)
}

fn under(mark: Mark, text: Prose, run: &Report, mut document: Document) -> String {
    document.opening = opening(run);
    document.footer = footer(run);
    document.headlines.push(Headline { mark, text });
    markdown::lay_out(&document)
}

/// The comment of a run that was cancelled, killed or interrupted: it is never left "in progress".
/// `how` is `cancelled` or `stopped at its time limit`, and may hold text from outside; `spent` is what was billed, as far as is known.
pub fn ended(how: &str, spent: Option<Usd>, left: Leftovers, run: &Report) -> String {
    let how = Prose::literal(how);
    let what = Prose::fill(
        "could not check: the run was {} before it had a verdict",
        [how],
    );
    let spent = match spent {
        Some(Usd(usd)) => {
            let spent = Quantity::Money.figure(usd);
            Prose::literal(format!("{spent} so far, as far as is known."))
        }
        None => Prose::own("Not known."),
    };
    let left = match left {
        Leftovers::Nothing => "Nothing: no job of this run is at work.",
        Leftovers::Unknown => {
            "Every job ends by itself at its limit of time. The Action's post step, or `canary-gate sweep --run ID` with the number of this run, stops what is left at once."
        }
    };
    let again = "Run the workflow again, or push again. What was measured and is kept is not measured again.";
    let document = Document {
        remarks: vec![
            DocumentLine::new(Label::SPENT_SO_FAR, spent),
            DocumentLine::new(Label::MAY_STILL_COST, Prose::sentence(left)),
            DocumentLine::new(Label::REMEDY, Prose::own(again)),
        ],
        ..Document::default()
    };
    under(Mark::BAD, what, run, document)
}

/// What the step summary says beside the report where the comment could not be posted.
pub fn unposted(failure: &Failure) -> String {
    let what = Block::line(Label::NOT_POSTED, help::sentence(&failure.what));
    let help = help::blocks(failure.help.as_deref().unwrap_or_default());
    let blocks = [what].into_iter().chain(help);
    let text = markdown::lay_out(&Document {
        blocks: blocks.collect(),
        ..Document::default()
    });
    // It follows the report.
    format!("\n{}\n", text.trim_end())
}

/// What became of the check in some words, for the title of a commit's check: `over budget: churn, and 2 more`.
pub fn status_line(report: &Report) -> String {
    if let Some(Failure { job, what, .. }) = report.failures.first() {
        let job = job.as_ref().map_or(String::new(), |job| format!(" {job}"));
        return escape::for_terminal(&format!("could not check{job}: {what}"), LONGEST_LINE);
    }
    let is_worst = |job: &&JobReport| job.verdict == report.verdict;
    let worst = report.jobs.iter().filter(is_worst);
    let worst: Vec<&str> = worst.map(|job| job.name.as_str()).collect();
    let mut jobs = report.jobs.iter();
    let accepted = jobs.find_map(|job| job.policy.accepted.as_ref());
    let accepted = accepted.map_or(String::new(), |by| format!(", accepted by {}", by.by));
    let phrase = format!("{}{accepted}", words::phrase(report.verdict));
    let line = match worst.as_slice() {
        [] => "nothing to judge".to_owned(),
        [one] => format!("{phrase}: {one}"),
        [first, more @ ..] => format!("{phrase}: {first}, and {} more", more.len()),
    };
    escape::for_terminal(&line, LONGEST_LINE)
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, samples};
    use super::*;
    use crate::spec::{self, Job};

    const ATTACK: &str = "x` | @everyone <img src=x>\n\n# y";

    fn job(name: &str) -> Job {
        let spec = spec::read("canary-gate.yml", spec::init_template().as_bytes(), &[]);
        Job {
            name: name.to_owned(),
            instance: "ml.m5.2xlarge".parse().unwrap(),
            ..spec.unwrap().jobs.remove(0)
        }
    }

    fn affected(job: &Job) -> AffectedJob<'_> {
        AffectedJob {
            job,
            by: Vec::new(),
        }
    }

    fn run() -> Report {
        Report {
            spec_hash: None,
            ..samples::of("within")
        }
    }

    #[test]
    fn while_canaries_run() {
        let churn = job("churn");
        let jobs = vec![affected(&churn); 25];
        let one = in_progress(&jobs[..1], Some(Usd(5.0)), &run());
        insta::assert_snapshot!("in_progress", one);
        let text = in_progress(&jobs, None, &run());
        assert!(text.contains("\n\n### ⏳ measuring 25 jobs\n"), "{text}");
        assert!(text.contains("\n- and 5 more\n"), "{text}");
        assert!(text.contains("no price is."), "{text}");
    }

    #[test]
    fn when_a_run_was_stopped() {
        let cancelled = ended("cancelled", Some(Usd(0.34)), Leftovers::Nothing, &run());
        insta::assert_snapshot!("ended", cancelled);
        let unknown = ended("killed", None, Leftovers::Unknown, &Report::begun());
        assert!(unknown.contains("**What it has cost.** Not known."));
        assert!(unknown.contains("canary-gate sweep --run ID"));
    }

    #[test]
    fn when_the_comment_was_refused() {
        let failure = |what: &str, help: &str| Failure {
            job: None,
            phase: "posting the comment".to_owned(),
            what: what.to_owned(),
            causes: Vec::new(),
            help: Some(help.to_owned()),
        };
        let what =
            "GitHub refused POST issues/7/comments: 403, Resource not accessible by integration";
        let grant = samples::of("forbidden").failures.remove(0).help.unwrap();
        insta::assert_snapshot!("unposted", unposted(&failure(what, &grant)));
        let hostile = unposted(&failure(ATTACK, &format!("{ATTACK}\n\n    ```\n    # y")));
        assert!(!hostile.contains("<img"), "{hostile}");
        assert!(!hostile.contains("@everyone"), "{hostile}");
        assert!(
            hostile.ends_with("\n````text\n```\n# y\n````\n"),
            "{hostile}"
        );
    }

    #[test]
    fn hostile_text_stays_in_its_place() {
        let hostile = Report {
            subject: Some(ATTACK.to_owned()),
            commit: Some(ATTACK.to_owned()),
            run_url: Some("javascript:alert(1)".to_owned()),
            policy: Some(Policy::of(ATTACK, None)),
            ..Report::begun()
        };
        let ended = ended(ATTACK, Some(Usd(0.34)), Leftovers::Nothing, &hostile);
        let job = job(ATTACK);
        let begun = in_progress(&[affected(&job)], Some(Usd(5.0)), &hostile);
        for text in [begun, ended] {
            assert!(!text.contains("<img"), "{text}");
            assert!(!text.contains("@everyone"), "{text}");
            assert!(!text.contains("\n# y"), "{text}");
            assert!(!text.contains("javascript"), "{text}");
        }
    }
}
