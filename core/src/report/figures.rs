//! The plots of a job's report: the interval of each configuration, and the law of time.

use super::background::{abscissa, completed};
use super::budget_lines::highest_canary;
use super::plot::{self, AxisUnit, PLOT_LINES, Plot, PlotAxis, PlotColour, PlotShape};
use super::words::{self, Quantity};
use super::{InstanceForecast, JobReport, Prose};
use crate::forecast::{Estimate, EstimateAtShare};
use crate::metric::Metric;
use crate::units::Seconds;

/// Rows of a plot of intervals; of more configurations the tables have the rest.
const MOST_ROWS: usize = 16;
/// Configurations whose law is drawn; of more the table has the numbers.
const LAWS_SHOWN: usize = 5;
/// The steps of a law's curve, enough to show a bend.
const STEPS: u32 = 40;

/// Each configuration beside the others.
pub(super) fn compared(job: &JobReport) -> Vec<Plot> {
    use Metric::{Cost, GpuMemory, Memory, Time};
    let plots = [Time, Cost, Memory, GpuMemory].map(|metric| intervals(job, metric));
    plots.into_iter().flatten().collect()
}

/// What a full run takes of the metric on each configuration, against the limit; `None` where nothing is known.
fn intervals(job: &JobReport, metric: Metric) -> Option<Plot> {
    let known = |forecast: &InstanceForecast| {
        let by_canary = || Some(Estimate::exactly(highest_canary(metric, forecast)?));
        let estimate = forecast.estimates[metric].or_else(by_canary);
        estimate.filter(|estimate| estimate.point.is_finite())
    };
    let all = job.forecasts.iter();
    let all: Vec<_> = all.filter_map(|one| Some((one, known(one)?))).collect();
    let rows = &all[..all.len().min(MOST_ROWS)];
    let judged = job.forecasts.first()?;
    let is_share = matches!(metric, Metric::Memory | Metric::GpuMemory);
    let whole = is_share.then_some(100.0);
    let limit = judged.most(metric);
    let points = rows.iter().map(|(_, estimate)| estimate.point);
    let ends = rows.iter().map(|(_, estimate)| estimate.upper);
    let top = plot::top(points.chain(whole), ends.chain(limit));
    let limit = limit.filter(|limit| *limit <= top);
    let unit = AxisUnit::up_to(metric.unit(), top).filter(|_| !rows.is_empty())?;
    let y = PlotAxis::names(rows.iter().map(|(one, _)| one.instance.to_string()));
    let limits = [(whole, PlotColour::Orange), (limit, PlotColour::Green)];
    let limits = limits.into_iter().filter_map(|(limit, colour)| {
        let at = unit.of(limit?);
        Some((colour, PlotShape::Dashes(y.ends().map(|end| (at, end)))))
    });
    let intervals = rows.iter().enumerate();
    let intervals = intervals.flat_map(|(index, (one, estimate))| {
        let place = PlotAxis::place_of_name(index);
        let colour = match std::ptr::eq(*one, judged) {
            true => PlotColour::Purple,
            false => PlotColour::Blue,
        };
        let ends = [estimate.lower, estimate.point, estimate.upper];
        let [lower, point, upper] = ends.map(|end| (unit.of(end), place));
        let shapes = [
            PlotShape::Whisker(lower, upper),
            PlotShape::Points(vec![point]),
        ];
        shapes.map(|shape| (colour, shape))
    });
    let marks = limits.chain(intervals).collect();
    let own = "With its interval; the purple configuration is judged, blue ones are alternatives.";
    let sentences = [
        Some(Prose::own(own)),
        limit.map(|_| Prose::own("The dashed green line is the limit of the budget.")),
        whole.map(|_| Prose::own("The dashed orange line is all that there is.")),
        words::beyond(all.len(), rows.len()).map(|_| {
            let (drawn, all) = (rows.len(), all.len());
            Prose::literal(format!(
                "The first {drawn} of {all} configurations are drawn; the tables have all."
            ))
        }),
    ];
    let described = rows.iter().map(|(one, estimate)| {
        let estimate = metric.unit().with_interval(estimate);
        format!("{}: {estimate}", one.instance)
    });
    Some(Plot {
        title: format!("{} of a full run", words::capitalized(metric.words())),
        caption: Prose::joined(sentences.into_iter().flatten(), " "),
        finer: Prose::default(),
        description: words::joined(described, "; "),
        x: unit.axis(0.0),
        lines: u16::try_from(rows.len() * 2 + 5).unwrap_or(u16::MAX),
        y,
        marks,
        is_in_comment: false,
    })
}

/// Canaries, the law of time, and the interval of the full run: of each configuration with a law, the job's own first.
pub(super) fn laws(job: &JobReport) -> Vec<Plot> {
    let plots = job.forecasts.iter();
    let plots = plots.filter_map(|forecast| law(job, forecast));
    plots.take(LAWS_SHOWN).collect()
}

fn law(job: &JobReport, forecast: &InstanceForecast) -> Option<Plot> {
    let law = forecast.law.time.as_ref()?;
    let full = forecast.estimates[Metric::Time].filter(|_| law.at(1.0).is_finite())?;
    // Of the full work, which the law is of.
    let runs = completed(job, forecast).filter(|run| run.work_share() >= 1.0);
    let canaries = runs.filter_map(|run| {
        let Seconds(time) = run.training_seconds?;
        let share = run.data_share();
        let is_drawn = share > 0.0 && share <= 1.0 && time > 0.0 && time.is_finite();
        is_drawn.then_some((share, time))
    });
    let canaries: Vec<(f64, f64)> = canaries.collect();
    let limit = forecast.most(Metric::Time);
    let times = canaries.iter().map(|(_, time)| *time);
    let points = times.chain([full.point, law.at(1.0)]);
    let top = plot::top(points, [full.upper].into_iter().chain(limit));
    let near = limit.filter(|limit| *limit <= top);
    let unit = AxisUnit::up_to(Quantity::Time, top)?;
    let in_unit = |(share, time): (f64, f64)| (share * 100.0, unit.of(time));
    // Empty in reports of older versions, and where its own canaries do not say. One law alone may lie off the points that several
    // are weighed by.
    let between = sound(&forecast.time_by_share);
    let shares = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
    let curve: Vec<(f64, f64)> = match between {
        // A line that starts below zero stands on the axis there.
        [] => shares
            .map(|share| (share, law.at(share).max(0.0)))
            .collect(),
        between => between.iter().map(|one| (one.share, one.point)).collect(),
    };
    let curve: Vec<(f64, f64)> = curve.into_iter().map(in_unit).collect();
    let band = between.iter();
    let band = band.map(|one| (one.share * 100.0, unit.of(one.lower), unit.of(one.upper)));
    let ends = [full.lower, full.point, full.upper];
    let [lower, point, upper] = ends.map(|end| in_unit((1.0, end)));
    let points = canaries.iter().copied().map(in_unit).collect();
    let across = near.map(|near| PlotShape::Dashes([0.0, 1.0].map(|end| in_unit((end, near)))));
    // A comment draws the judged configuration alone; a page draws alternatives too.
    let is_judged = std::ptr::eq(&job.forecasts[0], forecast);
    let is_in_comment = is_judged && curve.len() > 1;
    let marks = [
        (PlotColour::Purple, PlotShape::Band(band.collect())),
        (PlotColour::Purple, PlotShape::Line(curve)),
        (PlotColour::Purple, PlotShape::Whisker(lower, upper)),
        (PlotColour::Purple, PlotShape::Points(vec![point])),
        (PlotColour::Blue, PlotShape::Points(points)),
    ];
    let across = across.map(|line| (PlotColour::Green, line));
    let marks = marks.into_iter().chain(across);
    let (line, bar) = match between {
        [] => ("the law", "The bar at 100% is the interval of a full run."),
        _ if forecast.reached.is_some() => (
            "the law of the smaller canaries",
            "The bar at 100% is the interval of a full run, by its own steps.",
        ),
        _ => (
            "the forecast",
            "The band is the interval of one new run of that size, the bar at 100% that of the full run.",
        ),
    };
    let limit = limit.map(|limit| Quantity::Time.figure(limit));
    let limit = limit.map_or(String::new(), |limit| match near {
        Some(_) => format!(", the green one the limit of {limit}"),
        None => format!("; the limit of {limit} is far above"),
    });
    let blue = (!canaries.is_empty()).then_some("Blue points are canaries.");
    let finer = blue.into_iter().chain([bar]).map(Prose::own);
    let drawn = words::count(canaries.len(), "canary");
    let full = Quantity::Time.with_interval(&full);
    let title = format!("share of the {} (%)", abscissa(job, forecast));
    Some(Plot {
        title: format!("Time on {}", forecast.instance),
        caption: Prose::literal(format!("The purple line is {line}{limit}.")),
        finer: Prose::joined(finer, " "),
        description: format!("{drawn}; {full} by the forecast"),
        x: PlotAxis::linear(title, 0.0, 100.0),
        y: unit.axis(0.0),
        lines: PLOT_LINES,
        marks: marks.collect(),
        is_in_comment,
    })
}

/// As a forecast gives them; a stored report may come from anybody.
fn sound(by_share: &[EstimateAtShare]) -> &[EstimateAtShare] {
    let is_place = |one: &EstimateAtShare| {
        let is_share = one.share > 0.0 && one.share <= 1.0;
        let is_amount = |amount: &f64| (0.0..f64::INFINITY).contains(amount);
        let are_amounts = [one.point, one.lower, one.upper].iter().all(is_amount);
        is_share && are_amounts && one.lower <= one.upper
    };
    let is_sound =
        by_share.iter().all(is_place) && by_share.is_sorted_by(|one, next| one.share < next.share);
    words::only_where(is_sound, || by_share)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn over_budget() -> JobReport {
        let mut job = samples::of("over-budget").jobs.remove(0);
        job.forecasts.truncate(1);
        job
    }

    #[test]
    fn no_law_no_plot() {
        let mut job = over_budget();
        job.forecasts[0].time_by_share.clear();
        for slope in [f64::NAN, f64::INFINITY] {
            job.forecasts[0].law.time.as_mut().unwrap().slope = slope;
            assert_eq!(laws(&job), [], "{slope}");
        }
        job.forecasts[0].law.time = None;
        assert_eq!(laws(&job), []);
        assert_eq!(laws(&samples::of("failed").jobs[0]), []);
    }
}
