//! The peak of memory against what each machine has.

use super::super::super::comparison::highest_canary;
use super::super::super::law_chart::most;
use super::super::super::words::Quantity;
use super::super::super::{InstanceForecast, JobReport};
use super::super::markup::Markup;
use super::super::plot::{Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use super::{in_words, known, left_out};
use crate::forecast::Estimate;
use crate::metric::Metric;

/// Of an axis, in percent of the machine: what would need more than twice of it needs no finer drawing.
const FURTHEST: f64 = 200.0;

/// Of the machine, or of its GPUs. `None` where nothing is known.
pub(in super::super) fn memory(job: &JobReport, metric: Metric) -> Option<Markup> {
    let estimate = |forecast: &InstanceForecast| {
        let estimate = forecast.estimates[metric].or_else(|| {
            let point = highest_canary(metric, forecast)?;
            Some(Estimate {
                point,
                lower: point,
                upper: point,
                level: 0.0,
            })
        });
        estimate.filter(|estimate| estimate.point.is_finite())
    };
    let (rows, all) = known(job, estimate);
    if rows.is_empty() {
        return None;
    }
    let highest = rows.iter().map(|(_, memory)| memory.upper);
    let to = highest.fold(100.0, f64::max).min(FURTHEST) * 1.05;
    let y = PlotAxis::names("", rows.iter().map(|(one, _)| one.instance.to_string()));
    let (bottom, up) = y.ends();
    let dashes = |colour, at| {
        let upright = PlotShape::Dashes(vec![(at, bottom), (at, up)]);
        PlotMark::new(colour, upright)
    };
    let mut marks = vec![dashes(PlotColour::Fourth, 100.0)];
    let judged = job.forecasts.first()?;
    let limit = most(judged, metric).filter(|limit| *limit < 100.0);
    marks.extend(limit.map(|limit| dashes(PlotColour::Second, limit)));
    for (index, (forecast, memory)) in rows.iter().enumerate() {
        let place = PlotAxis::place_of_name(index);
        let colour = match std::ptr::eq(*forecast, judged) {
            true => PlotColour::First,
            false => PlotColour::Third,
        };
        let interval = PlotShape::Whisker((memory.lower, place), (memory.upper, place));
        marks.extend([
            PlotMark::new(colour, interval),
            PlotMark::new(colour, PlotShape::Points(vec![(memory.point, place)])),
        ]);
    }
    let (title, machine) = match metric {
        Metric::GpuMemory => ("GPU memory against its limit", "all memory of a GPU"),
        _ => ("Memory against its limit", "all memory of the machine"),
    };
    let budget = match limit {
        Some(_) => "; the dashed green line is the limit of the budget",
        None => "",
    };
    let caption = format!(
        "The peak of the full run with its interval. The dashed orange line is {machine}{budget}. {}",
        left_out(rows.len(), all).unwrap_or_default()
    );
    let lines = u16::try_from(rows.len() * 2 + 5).unwrap_or(u16::MAX);
    let figure = Plot {
        title: title.to_owned(),
        caption: Markup::text(&caption),
        description: in_words(Quantity::Percent, rows),
        x: PlotAxis::linear("% of the memory", 0.0, to),
        y,
        lines,
        marks,
    };
    Some(figure.figure())
}
