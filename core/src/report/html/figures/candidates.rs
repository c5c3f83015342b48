//! Time against cost of each configuration, with the limits of both.

use super::super::super::JobReport;
use super::super::super::law_chart::{LIMIT_SHOWN_TO, TimeUnit, most};
use super::super::super::words::Quantity;
use super::super::markup::{Markup, element};
use super::super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use super::{known, left_out, shown_upper, top};
use crate::metric::Metric;

/// More names would overlap; then numbers stand for them.
const NAMES_SHOWN: usize = 5;

/// `None` where no configuration has both.
pub(in super::super) fn time_against_cost(job: &JobReport) -> Option<Markup> {
    let both = |forecast: &super::InstanceForecast| {
        let estimates = &forecast.estimates;
        Some((estimates[Metric::Time]?, estimates[Metric::Cost]?))
    };
    let (rows, all) = known(job, both);
    let judged = job.forecasts.first()?;
    let longest = top(rows.iter().map(|(_, (time, _))| shown_upper(time)))?;
    let dearest = top(rows.iter().map(|(_, (_, cost))| shown_upper(cost)))?;
    let near = |metric, highest: f64| {
        let limit = most(judged, metric);
        limit.filter(|limit| *limit <= LIMIT_SHOWN_TO * highest)
    };
    let time_limit = near(Metric::Time, longest);
    let cost_limit = near(Metric::Cost, dearest);
    let longest = top([longest / 1.05].into_iter().chain(time_limit))?;
    // With room for a name above the highest.
    let dearest = top([dearest].into_iter().chain(cost_limit))?;
    let unit = TimeUnit::for_largest(longest);
    let in_unit = |seconds: f64| seconds / unit.seconds();
    let x = PlotAxis::linear(format!("time ({})", unit.name()), 0.0, in_unit(longest));
    let y = PlotAxis::linear("cost (USD)", 0.0, dearest);
    let limit = |shape| PlotMark::new(PlotColour::Second, shape);
    let mut marks = Vec::new();
    if let Some(at) = time_limit.map(in_unit) {
        marks.push(limit(PlotShape::Dashes(vec![(at, 0.0), (at, dearest)])));
    }
    if let Some(at) = cost_limit {
        let across = vec![(0.0, at), (x.ends().1, at)];
        marks.push(limit(PlotShape::Dashes(across)));
    }
    let has_numbers = rows.len() > NAMES_SHOWN;
    let mut names = Vec::new();
    for (index, (forecast, (time, cost))) in rows.iter().enumerate() {
        let is_judged = std::ptr::eq(*forecast, judged);
        let colour = match is_judged {
            true => PlotColour::First,
            false => PlotColour::Third,
        };
        let at = (in_unit(time.point), cost.point);
        let name = forecast.instance.to_string();
        let words = match has_numbers {
            true => (index + 1).to_string(),
            false => name.clone(),
        };
        let along = [time.lower, shown_upper(time)].map(|end| (in_unit(end), at.1));
        let up = [cost.lower, shown_upper(cost)].map(|end| (at.0, end));
        marks.extend([
            PlotMark::new(colour, PlotShape::Whisker(along[0], along[1])),
            PlotMark::new(colour, PlotShape::Whisker(up[0], up[1])),
            PlotMark::new(colour, PlotShape::Points(vec![at])),
            PlotMark::new(PlotColour::Ink, PlotShape::Words(up[1], words)),
        ]);
        let time = Quantity::Time.with_interval(time);
        let cost = Quantity::Money.with_interval(cost);
        names.push(format!("{name}: {time}, {cost}"));
    }
    let limits = match marks.first().map(|mark| &mark.shape) {
        Some(PlotShape::Dashes(_)) => " The dashed green lines are limits of the budget.",
        _ => "",
    };
    let caption = format!(
        "Each point is a full run with its intervals; the purple one is judged, the blue ones are alternatives.{limits} {}",
        left_out(rows.len(), all).unwrap_or_default()
    );
    let figure = Plot {
        title: "Time against cost".to_owned(),
        caption: Markup::text(&caption),
        description: names.join("; "),
        x,
        y,
        lines: PLOT_LINES,
        marks,
    }
    .figure();
    let items = names
        .iter()
        .filter(|_| has_numbers)
        .map(|name| element("li", &[], Markup::text(name)));
    let items: Markup = items.collect();
    Some(match items.is_empty() {
        true => figure,
        false => figure.then(element("ol", &[("class", "muted")], items)),
    })
}
