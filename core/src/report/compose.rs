//! From a report to its document.

use super::comparison::{self, Column, Comparison, ComparisonRow};
use super::document::{
    Align, Block, Cell, Document, DocumentLine, Fold, FoldKind, Headline, ReportDepth, Table,
    TableColumn,
};
use super::footer::footer;
use super::label::Label;
use super::mark::Mark;
use super::text::Prose;
use super::{JobReport, Report};
use super::{
    background, canaries, change, drift, drift_chart, failures, hosts, law_chart, many_jobs,
    policy_lines, recommendation, versus_twin, what_to_do, words,
};
use crate::grammar;
use crate::metric::Metric;
use crate::verdict::Verdict;

/// More configurations than this are not compared at a glance.
const ROWS_SHOWN: usize = 12;
/// Of several jobs that somebody must look at, so many have lines of their own in a brief report.
const JOBS_SHOWN: usize = 5;
/// Notes of a job that is not decided, which mostly say why, in a brief report.
const NOTES_SHOWN: usize = 3;

/// Of several different failures of canaries; the table of canaries has all.
const FAILURES_SHOWN: usize = 5;
/// Charts of more jobs than this would be scrolled past; the worst have theirs.
const CHARTS_SHOWN: usize = 3;

/// The report on one page; of many jobs the table has the rows that somebody has to look at, and folds have the rest.
pub(super) fn document(report: &Report) -> Document {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let notes: Vec<DocumentLine> = report.notes.iter().map(|text| note(text)).collect();
    let (beside, folded) = match jobs.is_empty() {
        true => (notes, Vec::new()),
        false => (Vec::new(), notes),
    };
    let folded = [policy_lines::further(report), folded].concat();
    let comparison = Comparison::for_comment(&jobs);
    let of_jobs = of_jobs(&jobs, folded, &comparison);
    let mut remarks = remarks(&jobs);
    let (mut table, mut folds) = (of_jobs.table, Vec::new());
    if many_jobs::is_many(&jobs) {
        let (shown, others) = comparison.tables_of_many(&jobs);
        folds = many_folds(shown.is_none(), others, std::mem::take(&mut remarks));
        table = shown;
    }
    folds.extend(what_to_do::agreement(report));
    folds.extend(of_jobs.folds);
    Document {
        headlines: headlines(report, &jobs),
        warnings: warnings(&jobs),
        table,
        blocks: all_failures(report),
        remarks: [policy_lines::lines(report), beside, remarks].concat(),
        left_out: None,
        folds,
        footer: footer(report),
    }
}

fn many_folds(all: bool, rows: Option<Table>, remarks: Vec<DocumentLine>) -> Vec<Fold> {
    let rows = rows.map(|table| {
        let jobs = table.rows.iter().filter(|row| row.is_judged).count();
        Fold {
            kind: FoldKind::Rows,
            title: if all { "All rows" } else { "All other rows" },
            detail: Prose::literal(words::count(jobs, "job")),
            blocks: vec![Block::Table(table)],
        }
    });
    let remarks = (!remarks.is_empty()).then(|| Fold {
        kind: FoldKind::Remarks,
        title: "Job by job: why, and what to do",
        detail: Prose::default(),
        blocks: vec![Block::List(remarks)],
    });
    rows.into_iter().chain(remarks).collect()
}

/// What is always on top of several jobs: one row for each, worst first. `None` for fewer than two.
pub(super) fn overview(report: &Report) -> Option<Document> {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let row = |job: &JobReport| {
        let figure = |column: Column| {
            let figure = job.forecasts.first().and_then(|row| column.figure(row));
            let point = figure.map(|figure| Prose::figure(figure.point));
            Cell::from(point.unwrap_or_default())
        };
        let has_drifted = job.has_drifted();
        let phrase = match &job.drift {
            Some(_) if has_drifted => "drifted",
            Some(_) if !words::shows_verdict(job) => "no drift",
            _ => words::job_phrase(job),
        };
        let mark = match has_drifted {
            true => Mark::Bad,
            false => words::shown_verdict(job.verdict, job.forecasts.first()).into(),
        };
        vec![
            Cell {
                mark: Some(mark),
                is_strong: mark == Mark::Bad,
                ..Cell::from(Prose::own(phrase))
            },
            Cell::from(Prose::short(job.name.as_str())),
            figure(Column::Metric(Metric::Time)),
            figure(Column::Metric(Metric::Cost)),
            figure(Column::VersusBase),
        ]
    };
    let columns = ["Verdict", "Job", "Time", "Cost", "vs base"];
    let columns = columns.map(|title| TableColumn::new(title, Align::Left));
    let table = Table::of(columns, comparison::worst_first(&jobs).into_iter().map(row));
    (jobs.len() > 1).then(|| Document {
        table: Some(table.without_empty_columns()),
        ..Document::default()
    })
}

/// The same as a page of each job, the worst first, then what could not be checked, and what concerns the whole run. In brief
/// the jobs that somebody must look at, a single job in any case, with what a reader decides by; the last document says what
/// is left out.
pub(super) fn by_job(report: &Report, depth: ReportDepth) -> Vec<Document> {
    let all: Vec<&JobReport> = report.jobs.iter().collect();
    let is_brief = depth == ReportDepth::Brief;
    let mut shown = comparison::worst_first(&all);
    if is_brief && all.len() > 1 {
        shown.retain(|job| needs_a_look(job));
        shown.truncate(JOBS_SHOWN);
    }
    let mut documents: Vec<Document> = shown.iter().map(|job| of_job(job, depth)).collect();
    documents.extend(beside_jobs(report));
    let spend = (all.len() > 1).then(|| canaries::spend(&all));
    let spend = spend.map(|spend| DocumentLine::new(Label::Canaries, Prose::literal(spend)));
    let more = (is_brief && !all.is_empty()).then(|| left_out(&all, &shown));
    let remarks: Vec<DocumentLine> = spend.into_iter().chain(more).collect();
    documents.extend((!remarks.is_empty()).then(|| Document {
        remarks,
        ..Document::default()
    }));
    documents
}

fn needs_a_look(job: &JobReport) -> bool {
    let shown = words::shown_verdict(job.verdict, job.forecasts.first());
    let is_fine = matches!(shown, Verdict::Within | Verdict::NotJudged);
    !is_fine || job.has_drifted() || !job.warnings.is_empty()
}

/// What only the whole report has: `2 jobs, laws, prices and notes: add --details`.
fn left_out(all: &[&JobReport], shown: &[&JobReport]) -> DocumentLine {
    let rows = shown.iter();
    let rows = rows.map(|job| job.forecasts.len().saturating_sub(ROWS_SHOWN));
    let counted = |number: usize, noun: &str| (number > 0).then(|| grammar::count(number, noun));
    let parts = [
        counted(all.len() - shown.len(), "job"),
        counted(rows.sum(), "configuration"),
    ];
    let always = ["laws", "prices", "notes"].map(str::to_owned);
    let parts: Vec<String> = parts.into_iter().flatten().chain(always).collect();
    let hint = format!("{}: add --details", grammar::list(&parts));
    DocumentLine::new(Label::Hidden, Prose::literal(hint))
}

fn of_job(job: &JobReport, depth: ReportDepth) -> Document {
    let jobs = [job];
    let mut comparison = Comparison::of(&jobs);
    let is_empty = |row: &ComparisonRow<'_>| row.figures.iter().all(Option::is_none);
    let says_more = comparison.rows.len() > 1 || !comparison.rows.iter().all(is_empty);
    let is_brief = depth == ReportDepth::Brief;
    if is_brief {
        comparison.keep_the_best(ROWS_SHOWN);
    }
    let of_jobs = of_jobs(&jobs, Vec::new(), &comparison);
    let policy = policy_lines::of_job(job).into_iter();
    let document = Document {
        headlines: job_headlines(job),
        warnings: warnings(&jobs),
        table: of_jobs.table.filter(|_| says_more),
        remarks: policy.chain(remarks(&jobs)).collect(),
        ..of_jobs
    };
    match is_brief {
        true => in_brief(document, job.verdict),
        false => document,
    }
}

/// What a reader at a terminal decides by.
fn in_brief(mut document: Document, verdict: Verdict) -> Document {
    let is_kept = |line: &DocumentLine| line.label.is_brief(verdict);
    document.remarks.retain(is_kept);
    document
        .folds
        .retain(|fold| matches!(fold.kind, FoldKind::Canaries | FoldKind::Cautions));
    let mut notes = 0;
    for block in document.folds.iter_mut().flat_map(|fold| &mut fold.blocks) {
        if let Block::List(lines) = block {
            lines.retain(|line| {
                notes += usize::from(line.label == Label::Note);
                is_kept(line) && (line.label != Label::Note || notes <= NOTES_SHOWN)
            });
        }
    }
    document
}

/// What could not be checked, and what concerns the whole run.
fn beside_jobs(report: &Report) -> Vec<Document> {
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
    let removed = policy_lines::removed(report).into_iter();
    if jobs.is_empty() {
        let what = match report.verdict {
            Verdict::NotJudged => "nothing to judge",
            verdict => words::phrase(verdict),
        };
        let (mark, text) = (Mark::from(report.verdict), Prose::own(what));
        return removed.chain([Headline { mark, text }]).collect();
    }
    let is_many = many_jobs::is_many(jobs);
    let (failing, others): (Vec<_>, Vec<_>) =
        (comparison::worst_first(jobs).into_iter()).partition(|job| many_jobs::is_failing(job));
    let counts = is_many.then(|| many_jobs::counts(jobs));
    let most = if is_many {
        many_jobs::HEADLINES_SHOWN
    } else {
        usize::MAX
    };
    let failing = failing.into_iter().flat_map(job_headlines).take(most);
    let others = others.into_iter().filter(|_| !is_many);
    (counts.into_iter().chain(failing))
        .chain(could_not)
        .chain(removed)
        .chain(others.flat_map(job_headlines))
        .collect()
}

/// What its verdict is; where it was checked for drift, what that found. The worse comes first.
fn job_headlines(job: &JobReport) -> Vec<Headline> {
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

fn warnings(jobs: &[&JobReport]) -> Vec<Prose> {
    let of_job = |job: &&JobReport| {
        let name = job_name(job, jobs.len() > 1);
        let said = job.warnings.iter().map(move |warning| match &name {
            Some(name) => Prose::fill("{}: {}", [name.clone(), Prose::sentence(warning)]),
            None => Prose::sentence(words::capitalized(warning)),
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
    DocumentLine::new(Label::Note, Prose::sentence(text))
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

fn job_remarks(job: &JobReport) -> Vec<(Label, Prose)> {
    let mut remarks = Vec::new();
    for failed in canaries::failures(job).into_iter().take(FAILURES_SHOWN) {
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
    let blocks: Vec<Block> = lines.into_iter().chain(charts.take(CHARTS_SHOWN)).collect();
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
    lines.extend(cautions.map(|(label, text)| DocumentLine::new(label, Prose::sentence(text))));
    (!lines.is_empty()).then_some(Fold {
        kind: FoldKind::Cautions,
        title: "Prices, assumptions, cautions",
        detail: Prose::default(),
        blocks: vec![Block::List(lines)],
    })
}
