//! What checks cost, and what reuse saved.

use std::collections::BTreeMap;

use super::super::super::history_figures::{HistoryFigures, Month, Spent, SpentBy};
use super::super::super::words::{Quantity, UNKNOWN, share};
use super::super::markup::{Markup, element};
use super::super::page::HtmlSection;
use super::super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use super::grid::{MarkupGrid, with_detail};
use super::scale::{Scaled, finite};
use super::{fold, note};
use crate::units::{Seconds, Usd, count_as_float};

const TITLE: &str = "What checks cost";
/// Months that are shown one by one.
const MOST_MONTHS: usize = 12;
/// Months that an axis names.
const MOST_NAMES: usize = 6;
/// The half of two bars, and of what is between those of two months.
const HALF: f64 = 0.38;

pub(super) fn section(figures: &HistoryFigures) -> HtmlSection {
    let months = figures.spent();
    if months.is_empty() {
        let nothing = note(Markup::own("No canary is on record."));
        return HtmlSection::new("checks", TITLE, nothing);
    }
    let plot = plot(&months).map_or(Markup::default(), |plot| plot.figure());
    let by_run = element("h3", &[], Markup::text("By the runs that paid"))
        .then(by_run(&figures.spent_by()))
        .then(note(Markup::own(
            "Time and cost are those of the canaries and of machines kept for them, at the prices of their records. What is saved is \
             what reused canaries would have cost. Records that were removed are not counted.",
        )));
    let side_by_side = plot.then(element("div", &[], by_run));
    let content = element("div", &[("class", "figures")], side_by_side).then(fold(
        "By month",
        table(&months, "What checks of all jobs cost by month"),
    ));
    HtmlSection::new("checks", TITLE, content)
}

/// `12 USD`, the time where there is no price, and no figure where there was no canary.
pub(super) fn cost(spent: &Spent) -> String {
    amount(
        spent.canaries,
        spent.canaries > spent.unpriced,
        spent.usd,
        spent.time,
    )
}

/// The same of what reuse saved.
pub(super) fn saved(spent: &Spent) -> String {
    amount(
        spent.reused,
        spent.saved_usd.0 > 0.0,
        spent.saved_usd,
        spent.saved_time,
    )
}

fn amount(runs: usize, has_price: bool, usd: Usd, time: Seconds) -> String {
    match (runs, has_price) {
        (0, _) => UNKNOWN.to_owned(),
        (_, true) => Quantity::Money.figure(usd.0),
        (_, false) => Quantity::Time.figure(time.0),
    }
}

/// Below the cost of a month.
pub(super) fn saved_beside(spent: &Spent) -> Option<String> {
    (spent.reused > 0).then(|| format!("{} saved", saved(spent)))
}

/// `45 canaries, 3h 20m`
pub(super) fn canaries(spent: &Spent) -> String {
    let canaries = many(spent.canaries, ["canary", "canaries"]);
    let time = Quantity::Time.figure(spent.time.0);
    match spent.unpriced {
        0 => format!("{canaries}, {time}"),
        unpriced if unpriced == spent.canaries => format!("{canaries} without a price"),
        unpriced => format!("{canaries}, {time}; {unpriced} without a price"),
    }
}

/// `12 canaries reused, 21% of all`
pub(super) fn reused(spent: &Spent) -> String {
    let all = count_as_float(spent.canaries + spent.reused);
    let reused = many(spent.reused, ["canary", "canaries"]);
    match spent.reused {
        0 => "no canary reused".to_owned(),
        some => format!(
            "{reused} reused, {} of all",
            share(count_as_float(some) / all)
        ),
    }
}

fn many(number: usize, [one, several]: [&str; 2]) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// A row for each month, the newest first, and one for all before.
pub(super) fn table(months: &BTreeMap<Month, Spent>, about: &str) -> Markup {
    let mut grid = MarkupGrid::new(about)
        .text("Month")
        .number("Canaries")
        .number("Time")
        .number("Cost")
        .number("Reused")
        .number("Saved");
    for (month, spent) in months.iter().rev().take(MOST_MONTHS) {
        grid.row(cells(&month.to_string(), spent));
    }
    let earlier = months.values().rev().skip(MOST_MONTHS).copied();
    if months.len() > MOST_MONTHS {
        grid.row(cells("before", &Spent::of_all(earlier)));
    }
    if months.len() > 1 {
        grid.row(cells("all", &Spent::of_all(months.values().copied())));
    }
    grid.markup()
}

fn by_run(payers: &BTreeMap<SpentBy, Spent>) -> Markup {
    let mut grid = MarkupGrid::new("What checks cost by the runs that paid")
        .text("Runs of")
        .number("Canaries")
        .number("Cost")
        .number("Saved");
    for (payer, spent) in payers {
        let words = match payer {
            SpentBy::PushesAndSchedules => "pushes and schedules",
            SpentBy::PullRequests => "pull requests",
            SpentBy::MergeQueues => "merge queues",
            SpentBy::OwnMachines => "own machines",
        };
        grid.row([
            Markup::text(words),
            Markup::unbroken(&spent.canaries.to_string()),
            Markup::unbroken(&cost(spent)),
            Markup::unbroken(&saved(spent)),
        ]);
    }
    grid.markup()
}

fn cells(title: &str, spent: &Spent) -> [Markup; 6] {
    let unpriced = (spent.unpriced > 0).then(|| format!("{} without a price", spent.unpriced));
    [
        Markup::unbroken(title),
        Markup::unbroken(&spent.canaries.to_string()),
        Markup::unbroken(&Quantity::Time.figure(spent.time.0)),
        match spent.canaries > spent.unpriced {
            true => with_detail(&Quantity::Money.figure(spent.usd.0), unpriced),
            false => Markup::text(UNKNOWN),
        },
        Markup::unbroken(&spent.reused.to_string()),
        Markup::unbroken(&saved(spent)),
    ]
}

/// Two bars a month; `None` where there is nothing to draw.
fn plot(months: &BTreeMap<Month, Spent>) -> Option<Plot> {
    let (newest, _) = months.last_key_value()?;
    let mut shown = vec![*newest];
    while shown.len() < MOST_MONTHS && shown.last() > months.keys().next() {
        let before = shown[shown.len() - 1].before();
        shown.push(before);
    }
    shown.reverse();
    let spent = |month: &Month| months.get(month).copied().unwrap_or_default();
    let is_priced = shown.iter().any(|month| spent(month).usd.0 > 0.0);
    let values = |month: &Month| {
        let Spent {
            usd,
            time,
            saved_usd,
            saved_time,
            ..
        } = spent(month);
        match is_priced {
            true => [usd.0, saved_usd.0],
            false => [time.0, saved_time.0],
        }
    };
    let quantity = match is_priced {
        true => Quantity::Money,
        false => Quantity::Time,
    };
    let all: Vec<[f64; 2]> = shown.iter().map(values).collect();
    let highest = all
        .iter()
        .flatten()
        .copied()
        .filter(|value| finite(quantity, *value));
    let scaled = Scaled::up_to(quantity, highest.fold(0.0, f64::max))?;
    let mut marks = Vec::new();
    for (place, [paid, saved]) in all.iter().enumerate() {
        let middle = count_as_float(place);
        let bars = [
            (PlotColour::First, middle - HALF, middle, *paid),
            (PlotColour::Second, middle, middle + HALF, *saved),
        ];
        let bars = bars.into_iter().filter(|(.., value)| *value > 0.0);
        marks.extend(bars.map(|(colour, from, to, value)| {
            PlotMark::new(colour, PlotShape::Bar((from, 0.0), (to, scaled.of(value))))
        }));
    }
    let names = shown.iter().enumerate();
    let names = names.map(|(place, month)| (count_as_float(place), month.to_string()));
    let every = shown.len().div_ceil(MOST_NAMES);
    let ends = (-0.5, count_as_float(shown.len()) - 0.5);
    let described = shown.iter().zip(&all).map(|(month, [paid, saved])| {
        let [paid, saved] = [paid, saved].map(|value| quantity.figure(*value));
        format!("{month}: {paid}, saved {saved}")
    });
    Some(Plot {
        title: "Checks by month".to_owned(),
        caption: Markup::text(
            "Left, in purple: what canaries took. Right, in green: what reused ones saved.",
        ),
        description: described.collect::<Vec<_>>().join("; "),
        x: PlotAxis::linear("", ends.0, ends.1).with_ticks(names.step_by(every)),
        y: scaled.axis(),
        lines: PLOT_LINES,
        marks,
    })
}
