//! From a report to its document.

use super::comparison::{self, Comparison};
use super::document::{Block, Document, DocumentLine, Fold, FoldKind, Headline, Table};
use super::footer::footer;
use super::label::Label;
use super::mark::Mark;
use super::text::Prose;
use super::{JobReport, Report};
use super::{
    background, canaries, change, drift, drift_chart, failures, hosts, law_chart, many_jobs,
    policy_lines, recommendation, versus_twin, what_to_do, words,
};
use crate::verdict::Verdict;

/// Charts of more jobs than this would be scrolled past; the worst have theirs.
const CHARTS_SHOWN: usize = 3;

/// The report on one page.
pub(super) fn document(report: &Report) -> Document {
    let mut document = with_all_rows(report);
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    if !many_jobs::is_many(&jobs) {
        return document;
    }
    let (shown, folded) = Comparison::for_comment(&jobs).tables_of_many(&jobs);
    let all = shown.is_none();
    document.table = shown;
    let is_policy = |line: &DocumentLine| line.label == Label::Policy;
    let (policy, remarks): (Vec<_>, Vec<_>) = document.remarks.into_iter().partition(is_policy);
    document.remarks = policy;
    let rows = folded.map(|table| Fold {
        kind: FoldKind::Rows,
        title: if all { "All rows" } else { "All other rows" },
        detail: Prose::literal(words::count(count_of_jobs(&table), "job")),
        blocks: vec![Block::Table(table)],
    });
    let remarks = (!remarks.is_empty()).then(|| Fold {
        kind: FoldKind::Remarks,
        title: "Job by job: why, and what to do",
        detail: Prose::default(),
        blocks: vec![Block::List(remarks)],
    });
    let folds = rows.into_iter().chain(remarks);
    document.folds = folds.chain(document.folds).collect();
    document
}

/// Of the judged rows.
fn count_of_jobs(table: &Table) -> usize {
    table.rows.iter().filter(|row| row.is_judged).count()
}

/// The same with all rows in the one table.
pub(super) fn with_all_rows(report: &Report) -> Document {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let notes: Vec<DocumentLine> = report.notes.iter().map(|text| note(text)).collect();
    let (beside, folded) = match jobs.is_empty() {
        true => (notes, Vec::new()),
        false => (Vec::new(), notes),
    };
    let folded = [policy_lines::further(report), folded].concat();
    let of_jobs = of_jobs(&jobs, folded, &Comparison::for_comment(&jobs));
    Document {
        headlines: headlines(report, &jobs),
        warnings: warnings(&jobs),
        blocks: all_failures(report),
        remarks: [policy_lines::lines(report), beside, remarks(&jobs)].concat(),
        left_out: None,
        footer: footer(report),
        folds: (what_to_do::agreement(report).into_iter())
            .chain(of_jobs.folds)
            .collect(),
        ..of_jobs
    }
}

/// The same as a page of each job, the worst first, then what could not be checked, and what concerns the whole run.
pub(super) fn by_job(report: &Report) -> Vec<Document> {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let jobs = comparison::worst_first(&jobs).into_iter();
    let jobs = jobs.map(|job| Document {
        headlines: job_headlines(job),
        warnings: warnings(&[job]),
        remarks: (policy_lines::of_job(job).into_iter())
            .chain(remarks(&[job]))
            .collect(),
        ..of_jobs(&[job], Vec::new(), &Comparison::of(&[job]))
    });
    jobs.chain(beside_jobs(report)).collect()
}

/// What could not be checked, and what concerns the whole run.
pub(super) fn beside_jobs(report: &Report) -> Vec<Document> {
    let failed = failures::shown(report).map(|failure| Document {
        headlines: vec![failures::headline(failure)],
        blocks: failures::blocks(failure, Vec::new()),
        ..Document::default()
    });
    let further = failures::further(report).map(|headline| Document {
        headlines: vec![headline],
        ..Document::default()
    });
    let cost = failures::has_only_failures(report).then(|| Document {
        remarks: vec![failures::spent_so_far(report)],
        ..Document::default()
    });
    let policy = policy_lines::of_spec(report);
    let removed = policy_lines::removed(report);
    let policy = (policy.is_some() || removed.is_some()).then(|| Document {
        headlines: removed.into_iter().collect(),
        remarks: policy.into_iter().collect(),
        ..Document::default()
    });
    let notes = (!report.notes.is_empty()).then(|| Document {
        remarks: report.notes.iter().map(|text| note(text)).collect(),
        ..Document::default()
    });
    let others = [further, cost, policy, notes].into_iter().flatten();
    failed.chain(others).collect()
}

/// Table and folds; `cautions` come before those of the jobs.
fn of_jobs(
    jobs: &[&JobReport],
    cautions: Vec<DocumentLine>,
    comparison: &Comparison<'_>,
) -> Document {
    let drifts = comparison::worst_first(jobs).into_iter();
    let drifts = drifts.filter_map(|job| drift_fold(job, jobs.len() > 1));
    let others = [
        canary_fold(jobs),
        host_fold(jobs),
        law_fold(jobs, comparison),
        budget_fold(jobs),
        caution_fold(jobs, cautions),
    ];
    Document {
        table: comparison.table(jobs.len() > 1),
        folds: drifts
            .take(CHARTS_SHOWN)
            .chain(others.into_iter().flatten())
            .collect(),
        ..Document::default()
    }
}

/// The verdict of each job with its margin, worst first; what could not be checked comes after what failed the check.
fn headlines(report: &Report, jobs: &[&JobReport]) -> Vec<Headline> {
    let could_not = failures::shown(report)
        .map(failures::headline)
        .chain(failures::further(report));
    if failures::has_only_failures(report) {
        return could_not.collect();
    }
    let removed = policy_lines::removed(report);
    if jobs.is_empty() {
        let what = match report.verdict {
            Verdict::NotJudged => "nothing to judge",
            verdict => words::phrase(verdict),
        };
        let whole = Headline {
            mark: Mark::from(report.verdict),
            text: Prose::own(what),
        };
        return removed.into_iter().chain([whole]).collect();
    }
    let sorted = comparison::worst_first(jobs);
    if many_jobs::is_many(jobs) {
        let failing = sorted.iter().filter(|job| many_jobs::is_failing(job));
        let failing = failing
            .flat_map(|job| job_headlines(job))
            .take(many_jobs::HEADLINES_SHOWN);
        return [many_jobs::counts(jobs)]
            .into_iter()
            .chain(failing)
            .chain(could_not)
            .chain(removed)
            .collect();
    }
    let is_failing = |job: &&JobReport| matches!(job.verdict, Verdict::Exceeded | Verdict::Failed);
    let (failing, others) = sorted.split_at(sorted.partition_point(is_failing));
    let failing = failing.iter().flat_map(|job| job_headlines(job));
    let others = others.iter().flat_map(|job| job_headlines(job));
    (failing.chain(could_not))
        .chain(removed)
        .chain(others)
        .collect()
}

/// What its verdict is; where it was checked for drift, what that found. The worse comes first.
pub(super) fn job_headlines(job: &JobReport) -> Vec<Headline> {
    let name = || {
        let name = Prose::name(job.name.as_str());
        match &job.policy.renamed_from {
            Some(old) => Prose::fill("{} (renamed from {})", [name, Prose::name(old.as_str())]),
            None => name,
        }
    };
    let mut headlines = Vec::new();
    if words::shows_verdict(job) {
        let phrase = Prose::own(words::job_phrase(job));
        let accepted = job.policy.accepted.as_ref();
        let phrase = match accepted {
            Some(accepted) => Prose::fill(
                "{}, accepted by {}",
                [phrase, Prose::name(accepted.by.as_str())],
            ),
            None => phrase,
        };
        let reason = Prose::literal(what_to_do::short_reason(job));
        headlines.push(Headline {
            mark: match accepted {
                Some(_) => Mark::Doubtful,
                None => words::shown_verdict(job.verdict, job.forecasts.first()).into(),
            },
            text: match job.reason.is_empty() {
                true => Prose::fill("{} {}", [name(), phrase]),
                false => Prose::fill("{} {}: {}", [name(), phrase, reason]),
            },
        });
    }
    if let Some(drift) = &job.drift {
        let finding = Prose::literal(drift::headline(job, drift));
        headlines.push(Headline {
            mark: drift::mark(drift),
            text: Prose::fill("{} {}", [name(), finding]),
        });
    }
    if job.verdict == Verdict::AtRisk && job.has_drifted() {
        headlines.reverse();
    }
    headlines
}

pub(super) fn warnings(jobs: &[&JobReport]) -> Vec<Prose> {
    let of_job = |job: &&JobReport| {
        let name = job_name(job, jobs.len() > 1);
        let said = job.warnings.iter().map(move |warning| match &name {
            Some(name) => Prose::fill("{}: {}", [name.clone(), Prose::literal(warning)]),
            None => Prose::literal(words::capitalized(warning)),
        });
        said.collect::<Vec<_>>()
    };
    let sorted = comparison::worst_first(jobs);
    sorted.iter().flat_map(of_job).collect()
}

/// What could not be checked and why; at the end what it has cost, and the exit code.
fn all_failures(report: &Report) -> Vec<Block> {
    if report.failures.is_empty() {
        return Vec::new();
    }
    let is_named = report.failures.len() > 1 || !report.jobs.is_empty();
    let failure_blocks = failures::shown(report).flat_map(|failure| {
        let job = failure.job.as_deref().filter(|_| is_named);
        failures::blocks(failure, job.map(Prose::name).into_iter().collect())
    });
    let end = Block::Lines(vec![
        failures::spent_so_far(report),
        failures::exit_code(report),
    ]);
    failure_blocks.chain([end]).collect()
}

fn note(text: &str) -> DocumentLine {
    DocumentLine::new(Label::Note, Prose::literal(text))
}

fn remarks(jobs: &[&JobReport]) -> Vec<DocumentLine> {
    let of_job = |job: &&JobReport| {
        let about: Vec<Prose> = job_name(job, jobs.len() > 1).into_iter().collect();
        job_remarks(job)
            .into_iter()
            .map(move |(label, text)| DocumentLine {
                label,
                about: about.clone(),
                text,
            })
    };
    let sorted = comparison::worst_first(jobs);
    sorted.iter().flat_map(of_job).collect()
}

fn job_name(job: &JobReport, several_jobs: bool) -> Option<Prose> {
    several_jobs.then(|| Prose::name(job.name.as_str()))
}

pub(super) fn job_remarks(job: &JobReport) -> Vec<(Label, Prose)> {
    let mut remarks = Vec::new();
    for failed in canaries::failures(job) {
        let what = Prose::literal(failed.what);
        let text = match failed.last_line {
            Some(line) => Prose::fill("{}: {}", [what, Prose::log_line(line)]),
            None => what,
        };
        remarks.push((Label::FailedRuns, text));
        let log = failed.log.map(|path| (Label::Log, Prose::name(path)));
        remarks.extend(log);
    }
    let label = |explains: bool| match explains {
        true => Label::WhyChanged,
        false => Label::Change,
    };
    if let Some(drift) = &job.drift {
        let sentences = drift::sentences(drift);
        let sentences = Prose::joined(sentences, " ");
        if !sentences.is_empty() {
            remarks.push((label(drift::explains(drift)), sentences));
        }
    } else if let Some(said) = change::said(job) {
        remarks.push((label(said.explains), said.text));
    }
    let further = comparison::further_lines(job).into_iter();
    remarks.extend(further.map(|line| (Label::FurtherBudgetLine, Prose::literal(line))));
    remarks.extend(recommendation::sentence(job).map(|sentence| (Label::Fitting, sentence)));
    remarks.extend(what_to_do::text(job).map(|text| (Label::Remedy, text)));
    let groups = job.forecasts.iter().filter_map(versus_twin::sentence);
    remarks.extend(groups.map(|sentence| (Label::Groups, sentence)));
    let advice = job.advice.iter();
    let advice = advice.map(|advice| Prose::sentence(words::capitalized(advice)));
    remarks.extend(advice.map(|text| (Label::Advice, text)));
    remarks
}

/// What a drift is made of, and every check since the baseline.
fn drift_fold(job: &JobReport, several_jobs: bool) -> Option<Fold> {
    let drift = job.drift.as_ref()?;
    let causes = drift::causes(drift).table().map(Block::Table);
    let chart = drift_chart::of(drift).map(Block::Chart);
    if causes.is_none() && chart.is_none() {
        return None;
    }
    // Not in the title, where no code can be set.
    let name = job_name(job, several_jobs);
    let name = name.map(|name| Block::List(vec![DocumentLine::new(Label::More, name)]));
    Some(Fold {
        kind: FoldKind::Drift,
        title: "The drift: its causes, and every check",
        detail: Prose::default(),
        blocks: [name, chart, causes].into_iter().flatten().collect(),
    })
}

fn canary_fold(jobs: &[&JobReport]) -> Option<Fold> {
    Some(Fold {
        kind: FoldKind::Canaries,
        title: "Canaries",
        detail: Prose::literal(canaries::spend(jobs)),
        blocks: vec![Block::Table(canaries::canary_runs(jobs).table()?)],
    })
}

fn host_fold(jobs: &[&JobReport]) -> Option<Fold> {
    Some(Fold {
        kind: FoldKind::Hosts,
        title: "Hosts",
        detail: Prose::literal("of the largest canary of each configuration"),
        blocks: vec![Block::Table(hosts::hosts(jobs).table()?)],
    })
}

fn law_fold(jobs: &[&JobReport], comparison: &Comparison<'_>) -> Option<Fold> {
    let several_jobs = jobs.len() > 1;
    let mut lines = Vec::new();
    for job in jobs {
        for (instances, explanation) in background::explanations(job, &comparison.columns) {
            let several = job.forecasts.len() > 1;
            let instances = instances.into_iter().filter(|_| several).map(Prose::name);
            lines.push(DocumentLine {
                label: Label::Law,
                about: job_name(job, several_jobs)
                    .into_iter()
                    .chain(instances)
                    .collect(),
                text: Prose::paragraph(explanation),
            });
        }
    }
    let charts = comparison::worst_first(jobs).into_iter().filter_map(|job| {
        let mut chart = law_chart::of(job)?;
        chart.about = job_name(job, several_jobs);
        Some(Block::Chart(chart))
    });
    let lines = (!lines.is_empty()).then_some(Block::List(lines));
    let table = background::law_against_measured(jobs).table();
    let blocks: Vec<Block> = lines
        .into_iter()
        .chain(charts.take(CHARTS_SHOWN))
        .chain(table.map(Block::Table))
        .collect();
    (!blocks.is_empty()).then_some(Fold {
        kind: FoldKind::Law,
        title: "How the forecast was made",
        detail: Prose::default(),
        blocks,
    })
}

fn budget_fold(jobs: &[&JobReport]) -> Option<Fold> {
    Some(Fold {
        kind: FoldKind::Budget,
        title: "The budget, line by line",
        detail: Prose::default(),
        blocks: vec![Block::Table(comparison::budget(jobs).table()?)],
    })
}

fn caution_fold(jobs: &[&JobReport], mut lines: Vec<DocumentLine>) -> Option<Fold> {
    let whole = jobs.iter().filter_map(|job| what_to_do::whole_reason(job));
    lines.extend(whole.map(|text| DocumentLine::new(Label::Note, text)));
    let cautions = background::cautions(jobs).into_iter();
    lines.extend(cautions.map(|(label, text)| DocumentLine::new(label, Prose::literal(text))));
    (!lines.is_empty()).then_some(Fold {
        kind: FoldKind::Cautions,
        title: "Prices, assumptions, cautions",
        detail: Prose::default(),
        blocks: vec![Block::List(lines)],
    })
}
