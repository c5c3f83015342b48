//! From a report to its document.

use super::comparison::{self, Comparison};
use super::document::{
    Block, Document, DocumentLine, Fold, FoldKind, Headline, ReportDepth, Table,
};
use super::footer::{footer, opening};
use super::plot::Plot;
use super::{JobReport, Label, Mark, Prose, Report};
use super::{
    background, budget_lines, canaries, change, drift, failures, figures, many_jobs, over_time,
    policy_lines, recommendation, versus_twin, what_to_do, words,
};
use crate::grammar;
use crate::verdict::Verdict;

/// More configurations than this are not compared at a glance.
const ROWS_SHOWN: usize = 12;
/// The most different failures of canaries that are shown; the table of canaries has all.
const FAILURES_SHOWN: usize = 5;
/// Charts of more jobs than this would be scrolled past in a comment; the worst have theirs.
const CHARTS_SHOWN: usize = 3;
/// Plots of more jobs would make a page of megabytes.
const JOBS_DRAWN: usize = 12;

/// The report on a page that has room for all plots.
pub(super) fn for_page(report: &Report) -> Document {
    of_comparison(report, &Comparison::of(report).narrow())
}

/// The report in a comment.
pub(super) fn document(report: &Report) -> Document {
    let mut document = for_page(report);
    document.folds.retain(|fold| fold.kind > FoldKind::Change);
    document
}

/// The same for a terminal.
pub(super) fn for_terminal(report: &Report, depth: ReportDepth) -> Document {
    let comparison = Comparison::of(report);
    let mut document = of_comparison(report, &comparison);
    // The headline says as much as a row without a figure.
    document.table = document.table.filter(|_| comparison.says_more());
    match depth {
        ReportDepth::Brief if !report.jobs.is_empty() => in_brief(document),
        ReportDepth::Brief | ReportDepth::Whole => document,
    }
}

/// Of many jobs the table has the rows that somebody has to look at, and folds have the rest.
fn of_comparison(report: &Report, comparison: &Comparison<'_>) -> Document {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let notes: Vec<DocumentLine> = report.notes.iter().map(|text| note(text)).collect();
    let (beside, folded) = match jobs.is_empty() {
        true => (notes, Vec::new()),
        false => (Vec::new(), notes),
    };
    let sorted = comparison::worst_first(&report.jobs);
    let [policy, further] = policy_lines::lines(report, &sorted);
    let mut remarks = remarks(report, &sorted);
    let (mut table, mut folds) = (comparison.table(), Vec::new());
    if many_jobs::is_many(&jobs) {
        let (shown, others) = comparison.tables_of_many();
        table = shown;
        folds.extend(others.and_then(rows_fold));
        let remarks = Block::list(std::mem::take(&mut remarks));
        folds.extend(Fold::of(FoldKind::Remarks, remarks));
    }
    folds.extend(what_to_do::agreement(report));
    let drifts = sorted.iter().filter_map(|job| drift_fold(report, job));
    folds.extend(drifts.take(JOBS_DRAWN));
    let canaries = canaries::canary_runs(report).map(Block::Table).into_iter();
    let canaries = canaries.chain(canaries::progress(&jobs));
    let canaries = Fold::of(FoldKind::Canaries, canaries);
    let compared = plots(report, &sorted, figures::compared);
    let budget = budget_lines::table(report).map(Block::Table);
    let others = [
        canaries.map(|fold| fold.with_detail(canaries::spend(&jobs))),
        Fold::of(FoldKind::Compared, compared),
        law_fold(report, &sorted, comparison),
        Fold::of(FoldKind::Change, changes(report, &sorted)),
        Fold::of(FoldKind::Budget, budget),
        caution_fold(report, [further, folded].concat()),
    ];
    folds.extend(others.into_iter().flatten());
    Document {
        opening: opening(report),
        headlines: headlines(report, &sorted),
        warnings: warnings(report, &sorted),
        table,
        blocks: all_failures(report),
        remarks: [policy, beside, remarks].concat(),
        left_out: None,
        folds,
        footer: footer(report),
    }
}

fn rows_fold(rows: Table) -> Option<Fold> {
    let jobs = rows.rows.iter().filter(|row| row.rank == 0).count();
    let fold = Fold::of(FoldKind::Rows, [Block::Table(rows)])?;
    Some(fold.with_detail(words::count(jobs, "job")))
}

/// Plots of each of these jobs, under its name where there are several.
fn plots(report: &Report, jobs: &[&JobReport], of: fn(&JobReport) -> Vec<Plot>) -> Vec<Block> {
    let drawn = jobs.iter().map(|job| (job, of(job)));
    let drawn: Vec<_> = drawn.filter(|(_, plots)| !plots.is_empty()).collect();
    let further = words::beyond(drawn.len(), JOBS_DRAWN);
    let mut blocks = Vec::new();
    for (place, (job, plots)) in drawn.into_iter().take(JOBS_DRAWN).enumerate() {
        for mut plot in plots {
            if let Some(name) = name_of(report, job) {
                plot.caption = Prose::fill("{}: {}", [name, plot.caption]);
            }
            plot.is_in_comment &= place < CHARTS_SHOWN;
            blocks.push(Block::Plot(Box::new(plot)));
        }
    }
    if let (Some(further), Some(Block::Plot(last))) = (further, blocks.last_mut()) {
        let further = format!("{further} further jobs have their numbers in the tables.");
        let finer = [std::mem::take(&mut last.finer), Prose::literal(further)];
        last.finer = Prose::joined(finer, " ");
    }
    blocks
}

/// For each of these jobs the change against its base, with the causes.
fn changes(report: &Report, jobs: &[&JobReport]) -> Vec<Block> {
    let of_job = |job: &&JobReport| {
        let said = change::said(job).map(|(_, text)| {
            Block::Lines(vec![DocumentLine::more(text).about(name_of(report, job))])
        });
        let table = change::table(job).map(Block::Table);
        said.into_iter().chain(table)
    };
    jobs.iter().flat_map(of_job).collect()
}

/// The document cut to what a reader at a terminal decides by. Its end names what the whole report has: `2 jobs, laws, prices and notes:
/// add --details`.
fn in_brief(mut document: Document) -> Document {
    let rows = document.table.as_mut();
    let rows = rows.map_or(0, |table| table.keep(ROWS_SHOWN));
    let folded = document.folds.iter();
    let folded = folded.filter(|fold| fold.kind == FoldKind::Rows);
    let cut = (rows > 0).then(|| Prose::literal(grammar::count(rows, "configuration")));
    let always = Prose::own("laws, prices and notes: add --details");
    let parts = folded.map(|fold| fold.detail.clone()).chain(cut);
    let hint = Prose::joined(parts.chain([always]), ", ");
    document.left_out = Some(DocumentLine::new(Label::HIDDEN, hint));
    document.remarks.retain(|line| line.is_brief);
    let is_kept = |fold: &Fold| matches!(fold.kind, FoldKind::Canaries | FoldKind::Cautions);
    document.folds.retain(is_kept);
    for block in document.folds.iter_mut().flat_map(|fold| &mut fold.blocks) {
        if let Block::List(lines) = block {
            lines.retain(|line| line.is_brief);
        }
    }
    document
}

/// The verdict of each of these jobs with its margin; what could not be checked comes after what failed the check.
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
        let headline = Headline::of(report.verdict, Prose::own(what));
        return removed.chain([headline]).collect();
    }
    let is_many = many_jobs::is_many(jobs);
    let counts = is_many.then(|| many_jobs::counts(report, jobs));
    let jobs = jobs.iter().copied();
    let (failing, others): (Vec<_>, Vec<_>) = jobs.partition(|job| many_jobs::is_failing(job));
    let most = match is_many {
        true => many_jobs::HEADLINES_SHOWN,
        false => usize::MAX,
    };
    let headlines_of = |job| job_headlines(report, job);
    let failing = failing.into_iter().flat_map(headlines_of).take(most);
    let others = others.into_iter().filter(|_| !is_many);
    (counts.into_iter().chain(failing))
        .chain(could_not)
        .chain(removed)
        .chain(others.flat_map(headlines_of))
        .collect()
}

/// What its verdict is; where it was checked for drift, what that found. The worse comes first.
fn job_headlines(report: &Report, job: &JobReport) -> Vec<Headline> {
    let name = Prose::name(&job.name);
    let name = match &job.policy.renamed_from {
        Some(old) => Prose::fill("{} (renamed from {})", [name, Prose::name(old)]),
        None => name,
    };
    let mut headlines = Vec::new();
    // Of a job that was checked for drift, a reader sees only a verdict that somebody must know.
    if job.drift.is_none() || !matches!(job.verdict, Verdict::Within | Verdict::NotJudged) {
        let forecast = job.forecasts.first();
        let phrase = Prose::own(words::verdict_phrase(job.verdict, forecast));
        let shown = words::shown_verdict(job.verdict, forecast);
        let (mark, phrase) = match &job.policy.accepted {
            Some(accepted) => {
                let phrase = [phrase, Prose::name(&accepted.by)];
                (Mark::DOUBTFUL, Prose::fill("{}, accepted by {}", phrase))
            }
            None => (shown.into(), phrase),
        };
        let outcome = Prose::own(words::outcome_of_check(report, shown));
        let said = Prose::fill("{} {}{}", [name.clone(), phrase, outcome]);
        let text = match job.reason.why.is_empty() {
            true => said,
            false => Prose::fill("{}: {}", [said, what_to_do::short_reason(job)]),
        };
        headlines.push(Headline { mark, text });
    }
    if let Some(drift) = &job.drift {
        let finding = Prose::literal(drift::headline(report, job, drift));
        let text = Prose::fill("{} {}", [name, finding]);
        headlines.push(Headline::of(drift::mark(drift), text));
    }
    if job.verdict == Verdict::AtRisk && job.has_drifted() {
        headlines.reverse();
    }
    headlines
}

fn warnings(report: &Report, jobs: &[&JobReport]) -> Vec<Headline> {
    let of_job = |job: &&JobReport| {
        let name = name_of(report, job);
        let said = job.warnings.iter().map(move |warning| match &name {
            Some(name) => Prose::fill("{}: {}", [name.clone(), Prose::sentence(warning)]),
            None => Prose::sentence(words::capitalized(warning)),
        });
        let said = said.map(|text| Headline::of(Mark::DOUBTFUL, text));
        said.collect::<Vec<_>>()
    };
    jobs.iter().flat_map(of_job).collect()
}

/// What could not be checked and why; at the end what it has cost, and the exit code.
fn all_failures(report: &Report) -> Vec<Block> {
    if report.failures.is_empty() {
        return Vec::new();
    }
    let is_named = report.failures.len() > 1 || !report.jobs.is_empty();
    let failures = failures::shown(report).flat_map(|failure| {
        let job = failure.job.as_deref().filter(|_| is_named);
        failures::blocks(failure, job.map(Prose::name))
    });
    let end = [failures::spent_so_far(report), failures::exit_code(report)];
    failures.chain([Block::Lines(end.into())]).collect()
}

fn note(text: &str) -> DocumentLine {
    DocumentLine::new(Label::NOTE, Prose::sentence(text)).brief_where(true)
}

fn remarks(report: &Report, jobs: &[&JobReport]) -> Vec<DocumentLine> {
    let of_job = |job: &&JobReport| {
        let remarks = job_remarks(report, job).into_iter().map(|(label, text)| {
            let is_brief = match label {
                Label::ADVICE => !matches!(job.verdict, Verdict::Within | Verdict::NotJudged),
                label => label.is_brief,
            };
            let line = DocumentLine::new(label, text).about(name_of(report, job));
            line.brief_where(is_brief)
        });
        remarks.collect::<Vec<_>>()
    };
    jobs.iter().flat_map(of_job).collect()
}

/// The name of a job, where there are several.
fn name_of(report: &Report, job: &JobReport) -> Option<Prose> {
    (report.is_of_several_jobs()).then(|| Prose::name(&job.name))
}

fn job_remarks(report: &Report, job: &JobReport) -> Vec<(Label, Prose)> {
    let mut remarks = canaries::failures(job, FAILURES_SHOWN);
    remarks.extend(match &job.drift {
        Some(drift) => drift::said(drift),
        None => change::said(job),
    });
    let further = budget_lines::further_lines(job).into_iter();
    remarks.extend(further.map(|line| (Label::FURTHER_BUDGET_LINE, Prose::literal(line))));
    remarks.extend(recommendation::sentence(job).map(|sentence| (Label::FITTING, sentence)));
    remarks.extend(what_to_do::text(report, job).map(|text| (Label::REMEDY, text)));
    let groups = job.forecasts.iter().filter_map(versus_twin::sentence);
    remarks.extend(groups.map(|sentence| (Label::GROUPS, sentence)));
    let advice = job.advice.iter();
    let advice = advice.map(|advice| Prose::sentence(words::capitalized(advice)));
    remarks.extend(advice.map(|text| (Label::ADVICE, text)));
    remarks
}

/// What a drift is made of, and every check since the baseline.
fn drift_fold(report: &Report, job: &JobReport) -> Option<Fold> {
    let drift = job.drift.as_ref()?;
    let causes = drift::causes(drift).map(Block::Table);
    let chart = over_time::checks(drift).map(|plot| Block::Plot(Box::new(plot)));
    // Not in the title, where no code can be set.
    let name = name_of(report, job).filter(|_| causes.is_some() || chart.is_some());
    let name = name.map(|name| Block::List(vec![DocumentLine::more(name)]));
    Fold::of(FoldKind::Drift, [name, chart, causes].into_iter().flatten())
}

fn law_fold(report: &Report, sorted: &[&JobReport], comparison: &Comparison<'_>) -> Option<Fold> {
    let mut lines = Vec::new();
    for job in &report.jobs {
        for (instances, explanation) in background::explanations(job, &comparison.columns) {
            let several = job.forecasts.len() > 1;
            let instances = instances.into_iter().filter(|_| several).map(Prose::name);
            let names = name_of(report, job).into_iter().chain(instances);
            let text = Prose::paragraph(explanation);
            lines.push(DocumentLine::new(Label::LAW, text).about(names));
        }
    }
    let plots = plots(report, sorted, figures::laws);
    Fold::of(FoldKind::Law, Block::list(lines).into_iter().chain(plots))
}

fn caution_fold(report: &Report, mut lines: Vec<DocumentLine>) -> Option<Fold> {
    let whole = report.jobs.iter().filter_map(what_to_do::whole_reason);
    lines.extend(whole.map(|text| DocumentLine::new(Label::NOTE, text).brief_where(true)));
    lines.extend(background::cautions(report));
    Fold::of(FoldKind::Cautions, Block::list(lines))
}
