//! A history as a page: all jobs, those that need attention first, what a full run of each takes over time, and what its checks
//! cost.

mod grid;
mod job;
mod over_time;
mod scale;
mod spent;

use super::super::history_figures::{
    CheckFigures, FigureAndLimit, HistoryFigures, JobFigures, JobStanding, Month, Spent,
    UnreadableRecords,
};
use super::super::mark::Mark;
use super::super::text::Prose;
use super::super::words::{self, Quantity, UNKNOWN, count};
use super::blocks::marked;
use super::markup::{Markup, element};
use super::page::{HtmlPage, HtmlSection};
use grid::{MarkupGrid, with_detail};

/// Jobs in the table; more nobody reads.
const MOST_JOBS: usize = 500;
/// Jobs with charts and tables of their own, each some 30 KB.
const MOST_DETAILED: usize = 20;
/// Jobs that a headline names.
const MOST_NAMED: usize = 5;

/// The whole page. The same figures give the same page.
pub fn render(figures: &HistoryFigures) -> String {
    let version = env!("CARGO_PKG_VERSION");
    HtmlPage {
        title: format!("{} · canary-gate", answer(figures).1),
        header: header(figures),
        sections: match figures.jobs.is_empty() {
            true => Vec::new(),
            false => vec![jobs(figures), spent::section(figures), details(figures)],
        },
        footer: Markup::text(&format!("canary-gate {version}. All times are UTC.")),
    }
    .render()
}

/// What the page says first. Good is said of what is known alone: whatever is open takes it away.
fn answer(figures: &HistoryFigures) -> (Mark, String) {
    let jobs: Vec<&JobFigures> = figures.jobs.iter().filter(|job| !job.is_quiet).collect();
    let of = |wanted: fn(&JobFigures) -> bool| jobs.iter().filter(|job| wanted(job)).count();
    let [wanting, good] = [
        of(|job| job.standing.needs_attention()),
        of(JobFigures::is_surely_within),
    ];
    let (all, open) = (jobs.len(), open_ends(figures));
    match (all, wanting) {
        (0, _) if !figures.jobs.is_empty() => {
            (Mark::Nothing, "No job was checked lately".to_owned())
        }
        (0, _) if open.is_empty() => (Mark::Nothing, "No job has a record yet".to_owned()),
        (0, _) => (
            Mark::Nothing,
            format!("Nothing is known of any job; {}", open.join(", ")),
        ),
        (_, 0) if !open.is_empty() => (
            Mark::Nothing,
            format!(
                "{good} of {} within budget; {}",
                count(all, "job"),
                open.join(", ")
            ),
        ),
        (1, 0) if good == 1 => (Mark::Good, "The job is within budget".to_owned()),
        (_, 0) if good == all => (Mark::Good, format!("All {all} jobs are within budget")),
        (_, 0) => (
            Mark::Nothing,
            format!("{good} of {} within budget, none over", count(all, "job")),
        ),
        (1, _) => (Mark::Bad, "The job needs attention".to_owned()),
        (_, 1) => (Mark::Bad, format!("1 of {all} jobs needs attention")),
        (_, wanting) => (Mark::Bad, format!("{wanting} of {all} jobs need attention")),
    }
}

/// What may be wrong although no job that was checked lately needs attention, with numbers.
fn open_ends(figures: &HistoryFigures) -> Vec<String> {
    let of =
        |wanted: fn(&JobFigures) -> bool| figures.jobs.iter().filter(|job| wanted(job)).count();
    let UnreadableRecords { newer, damaged } = figures.unreadable;
    let ends = [
        (
            of(JobFigures::awaits_forecast),
            "with a newer check that has no forecast",
        ),
        (
            of(needs_attention_since_long),
            "not checked lately that needs attention",
        ),
        (newer.saturating_add(damaged), "unreadable"),
    ];
    let nouns = ["job", "job", "record"];
    let ends = ends.into_iter().zip(nouns);
    ends.filter(|((number, _), _)| *number > 0)
        .map(|((number, said), noun)| format!("{} {said}", count(number, noun)))
        .collect()
}

/// Without a record for long, and what was known of it last was not good.
fn needs_attention_since_long(job: &JobFigures) -> bool {
    job.is_quiet && job.standing.needs_attention()
}

fn header(figures: &HistoryFigures) -> Markup {
    let (mark, words) = answer(figures);
    let answer = marked("h1", "headline", mark, Markup::text(&words));
    let kinds = [
        JobStanding::Exceeded,
        JobStanding::Failed,
        JobStanding::Unknown,
        JobStanding::Drifted,
        JobStanding::AtRisk,
    ];
    let lately = kinds.into_iter().filter_map(|kind| {
        headline(figures, mark_of(kind), words_of(kind), |job| {
            job.standing == kind && !job.is_quiet
        })
    });
    let waiting = headline(
        figures,
        Mark::Measuring,
        "with a newer check that has no forecast",
        JobFigures::awaits_forecast,
    );
    let before = kinds.into_iter().filter_map(|kind| {
        let said = format!("{}, without a record for 90 days", words_of(kind));
        headline(figures, mark_of(kind), &said, |job| {
            job.standing == kind && job.is_quiet
        })
    });
    answer
        .then(lately.chain(waiting).chain(before).collect())
        .then(unreadable(figures.unreadable))
        .then(facts(figures))
        .then(element("p", &[("class", "muted")], made(figures)))
}

/// The jobs that are meant, by name, after their number and what is said of them.
fn headline(
    figures: &HistoryFigures,
    mark: Mark,
    said: &str,
    is_meant: impl Fn(&JobFigures) -> bool,
) -> Option<Markup> {
    let jobs = figures.jobs.iter().enumerate();
    let jobs: Vec<(usize, &JobFigures)> = jobs.filter(|(_, job)| is_meant(job)).collect();
    if jobs.is_empty() {
        return None;
    }
    let said = format!("{} {said}:", jobs.len());
    let mut names = Markup::text(&said).then(Markup::own(" "));
    for (index, (place, job)) in jobs.iter().take(MOST_NAMED).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        names = names.then(Markup::own(comma)).then(name(*place, job));
    }
    if jobs.len() > MOST_NAMED {
        let more = format!("and {} more", jobs.len() - MOST_NAMED);
        names = names.then(Markup::own(" ")).then(Markup::text(&more));
    }
    Some(marked("p", "headline", mark, names))
}

/// What follows a number of jobs.
fn words_of(standing: JobStanding) -> &'static str {
    match standing {
        JobStanding::Exceeded => "over budget",
        JobStanding::Failed => "failed in a canary",
        JobStanding::Unknown => "could not be decided",
        JobStanding::Drifted => "drifted",
        JobStanding::AtRisk => "may exceed the budget",
        JobStanding::Within => "within budget",
        JobStanding::NotJudged => "not judged",
        JobStanding::Unmeasured => "not measured on a branch",
    }
}

fn mark_of(standing: JobStanding) -> Mark {
    match standing {
        JobStanding::Exceeded => Mark::Bad,
        JobStanding::Failed => Mark::Crashed,
        JobStanding::Unknown => Mark::Unknown,
        JobStanding::Drifted => Mark::Rose,
        JobStanding::AtRisk => Mark::Doubtful,
        JobStanding::Within => Mark::Good,
        JobStanding::NotJudged | JobStanding::Unmeasured => Mark::Nothing,
    }
}

/// How many records are in no figure, and why.
fn unreadable(records: UnreadableRecords) -> Markup {
    let UnreadableRecords { newer, damaged } = records;
    if newer + damaged == 0 {
        return Markup::default();
    }
    let reasons = [
        (newer, "written by a newer canary-gate, which reads them"),
        (damaged, "damaged; `canary-gate history list` names them"),
    ];
    let reasons: Vec<String> = reasons
        .into_iter()
        .filter(|(records, _)| *records > 0)
        .map(|(records, why)| format!("{records} {why}"))
        .collect();
    let said = format!(
        "{} could not be read and {} in no figure of this page: {}.",
        count(newer + damaged, "record"),
        if newer + damaged == 1 { "is" } else { "are" },
        reasons.join(", ")
    );
    marked("p", "", Mark::Doubtful, sentence(said))
}

fn made(figures: &HistoryFigures) -> Markup {
    let made_at = words::minute(figures.made_at);
    let said = match figures.span {
        None => format!("Made {made_at}. The history has no record that can be read."),
        Some([first, newest]) => format!(
            "Made {made_at} of {}, from {} to {}. `canary-gate history export page.html` makes it again.",
            count(figures.records, "record"),
            words::day(first),
            words::minute(newest),
        ),
    };
    sentence(said)
}

/// What checks cost, of the newest month and of all.
fn facts(figures: &HistoryFigures) -> Markup {
    let months = figures.spent();
    let Some((month, newest)) = months.last_key_value() else {
        return Markup::default();
    };
    let all = Spent::of_all(months.values().copied());
    let fact = |label: Markup, spent: &Spent, saved: bool| {
        let (figure, detail) = match saved {
            false => (spent::cost(spent), spent::canaries(spent)),
            true => (spent::saved(spent), spent::reused(spent)),
        };
        let detail = element("span", &[("class", "detail")], Markup::text(&detail));
        element("dt", &[], label).then(element("dd", &[], Markup::text(&figure).then(detail)))
    };
    let facts = [
        fact(of_month("Checks in ", *month), newest, false),
        fact(of_month("Saved by reuse in ", *month), newest, true),
        fact(Markup::own("All checks"), &all, false),
        fact(Markup::own("Saved by reuse in all"), &all, true),
    ];
    let facts = facts.into_iter().map(|fact| element("div", &[], fact));
    element("dl", &[("class", "facts")], facts.collect())
}

/// A label with a month, which no line breaks in.
fn of_month(label: &'static str, month: Month) -> Markup {
    Markup::own(label).then(Markup::unbroken(&month.to_string()))
}

/// A row for each job.
fn jobs(figures: &HistoryFigures) -> HtmlSection {
    let newest_month = figures.spent().last_key_value().map(|(month, _)| *month);
    let checks = newest_month.map_or(Markup::own("Checks"), |month| of_month("Checks in ", month));
    let mut grid = MarkupGrid::new("All jobs")
        .text("Job")
        .text("Newest check")
        .number("Full run: cost")
        .number("Full run: time")
        .number("Baseline")
        .number_under(checks)
        .text("Newest record");
    let shown = figures.jobs.iter().take(MOST_JOBS);
    for (place, job) in shown.enumerate() {
        let newest = job.newest();
        let of_month = newest_month.and_then(|month| job.spent.get(&month));
        let of_month = of_month.copied().unwrap_or_default();
        let [cost, time] = [
            estimate(Quantity::Money, newest.and_then(|check| check.cost)),
            estimate(Quantity::Time, newest.and_then(|check| check.time)),
        ];
        grid.row([
            name(place, job),
            standing(job),
            cost,
            time,
            baseline(job),
            with_detail(&spent::cost(&of_month), spent::saved_beside(&of_month)),
            Markup::unbroken(&words::day(job.newest_record)),
        ]);
    }
    let more = figures.jobs.len().saturating_sub(MOST_JOBS);
    let more = match more {
        0 => Markup::default(),
        more => note(Markup::text(&format!(
            "{} not shown, of those that need least attention.",
            count(more, "further job")
        ))),
    };
    let quiet = figures.jobs.iter().filter(|job| job.is_quiet).count();
    let quiet = match quiet {
        0 => Markup::default(),
        1 => note(Markup::own(
            "1 job without a record for 90 days stands last.",
        )),
        quiet => note(Markup::text(&format!(
            "{quiet} jobs without a record for 90 days stand last."
        ))),
    };
    HtmlSection::new("jobs", "Jobs", grid.markup().then(more).then(quiet))
}

/// What a reader opens.
fn fold(title: &str, content: Markup) -> Markup {
    let summary = element("summary", &[], Markup::text(title));
    element("details", &[], summary.then(content))
}

/// The name, with a link to what the page has of the job.
fn name(place: usize, job: &JobFigures) -> Markup {
    match place < MOST_DETAILED {
        true => Markup::link_to(&address(place, job), Markup::text(&job.name)),
        false => Markup::text(&job.name),
    }
}

/// A plain name is its own address, so that a link lasts; no other contains a dot.
fn address(place: usize, job: &JobFigures) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match job.name.len() <= 60 && job.name.chars().all(is_plain) {
        true => format!("job-{}", job.name),
        false => format!("job.{place}"),
    }
}

/// The worst that is known of the job, with what else is wrong below.
fn standing(job: &JobFigures) -> Markup {
    let newest = job.newest();
    let verdict = newest.map(|check| (JobStanding::from(check.verdict), check.phrase));
    let words = match verdict {
        Some((verdict, phrase)) if verdict == job.standing => phrase,
        _ => words_of(job.standing),
    };
    let also_judged = verdict
        .filter(|(verdict, _)| *verdict != job.standing && *verdict <= JobStanding::AtRisk)
        .map(|(_, phrase)| phrase);
    let also_drifted = job.has_drifted() && job.standing != JobStanding::Drifted;
    let also = also_judged
        .into_iter()
        .chain(also_drifted.then_some("drifted"))
        .chain((job.awaits_forecast()).then_some("a newer check has no forecast"));
    let also = also.map(|words| {
        let words = Markup::text(&format!("and {words}"));
        element("span", &[("class", "detail")], words)
    });
    let words = Markup::text(&words::capitalized(words));
    let mark = match job.awaits_forecast() {
        true => Mark::Measuring,
        false => mark_of(job.standing),
    };
    marked("span", "", mark, words).then(also.collect())
}

/// The figure with its interval below.
fn estimate(quantity: Quantity, figure: Option<FigureAndLimit>) -> Markup {
    let Some(FigureAndLimit { estimate, .. }) = figure else {
        return Markup::text(UNKNOWN);
    };
    with_detail(
        &quantity.figure(estimate.point),
        quantity.interval(&estimate),
    )
}

/// Cost where there is one, else time.
fn main_figure(check: &CheckFigures) -> Option<(Quantity, FigureAndLimit)> {
    let cost = check.cost.map(|cost| (Quantity::Money, cost));
    cost.or(check.time.map(|time| (Quantity::Time, time)))
}

fn baseline(job: &JobFigures) -> Markup {
    let baseline = job.baseline.as_ref();
    let figure = baseline.and_then(|check| Some((check, main_figure(check)?)));
    match figure {
        None => Markup::text(UNKNOWN),
        Some((check, (quantity, figure))) => with_detail(
            &quantity.figure(figure.estimate.point),
            Some(words::day(check.at)),
        ),
    }
}

fn details(figures: &HistoryFigures) -> HtmlSection {
    let shown = figures.jobs.len().min(MOST_DETAILED);
    let points = over_time::points_for(shown);
    let jobs = figures.jobs.iter().take(MOST_DETAILED).enumerate();
    let jobs = jobs.map(|(place, each)| job::article(&address(place, each), each, points));
    let legend = note(Markup::own(
        "A purple line is the forecast of a full run, check by check; its band, or the bar of a single check, is the interval that \
         one new full run lies in with the chance that the spec asks for. Orange dashes are the budget of the newest check. Blue \
         points are full runs that were measured.",
    ));
    let more = match figures.jobs.len() - shown {
        0 => Markup::default(),
        more => note(sentence(format!(
            "{} in the table above alone; `canary-gate history export --job NAME page.html` has one job whole.",
            match more {
                1 => "1 further job is".to_owned(),
                more => format!("{more} further jobs are"),
            }
        ))),
    };
    HtmlSection::new("each", "Each job", legend.then(jobs.collect()).then(more))
}

/// A remark of one paragraph.
fn note(words: Markup) -> Markup {
    element("p", &[("class", "muted")], words)
}

/// A sentence of this program, in which backticks set code.
fn sentence(text: String) -> Markup {
    Markup::prose(&Prose::sentence(text))
}

#[cfg(test)]
mod tests;
