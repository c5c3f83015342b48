//! A plot as a fenced Mermaid block, which GitHub draws in the reader's theme: its line and its limit.
//!
//! Only numbers, words of this program and names of letters, digits, dots and hyphens get into the block: nothing that a spec
//! or a stored report says can end it.

use serde_json::{Value, json};

use super::escape::for_chart;
use super::plot::{Plot, PlotShape};
use super::template;
use super::words::joined;

/// A line over an axis of numbers is cut into so many intervals, which are enough to show a bend.
const INTERVALS: u32 = 20;

/// A Mermaid line's values stand at equal distances from one end of the axis to the other: of a plot over time one for each point.
pub(super) fn block(plot: &Plot) -> String {
    let mut shapes = plot.marks.iter().map(|(_, shape)| shape);
    let line = shapes.clone().find_map(|shape| match shape {
        PlotShape::Line(points) => Some(points.as_slice()),
        _ => None,
    });
    let line = line.unwrap_or_default();
    let limit = shapes.find_map(|shape| match shape {
        PlotShape::Dashes([(_, limit), _]) => Some(*limit),
        _ => None,
    });
    let values: Vec<f64> = match plot.x.is_time {
        true => line.iter().map(|(_, value)| *value).collect(),
        false => sampled(line),
    };
    let limit = limit.map(|limit| vec![limit; values.len()]);
    let series = [values].into_iter().chain(limit);
    let series = series.map(|values| joined(values.into_iter().map(number), ", "));
    let block = template::OUR_CHART.page(&json!({
        "title": for_chart(&plot.title),
        "x": x_axis(plot, line),
        "y": axis(&plot.y.title, plot.y.ends()),
        "lines": series.collect::<Value>(),
    }));
    block.trim_end().to_owned()
}

fn sampled(line: &[(f64, f64)]) -> Vec<f64> {
    let ([(from, _), ..], [.., (to, _)]) = (line, line) else {
        return Vec::new();
    };
    let at = |step: u32| {
        let place = from + (to - from) * f64::from(step) / f64::from(INTERVALS);
        let after = line.partition_point(|(known, _)| *known < place);
        let after = after.clamp(1, line.len() - 1);
        let [(x0, y0), (x1, y1)] = [line[after - 1], line[after]];
        y0 + (y1 - y0) * (place - x0) / (x1 - x0)
    };
    (0..=INTERVALS).map(at).collect()
}

/// Checks are counted: several may be of one day, and equal names would be one place.
fn x_axis(plot: &Plot, line: &[(f64, f64)]) -> String {
    match plot.x.is_time {
        true => format!("\"checks, the newest last\" 1 --> {}", line.len()),
        false => axis(&plot.x.title, [line[0].0, line[line.len() - 1].0]),
    }
}

fn axis(title: &str, [from, to]: [f64; 2]) -> String {
    let [from, to] = [from, to].map(number);
    format!("\"{title}\" {from} --> {to}")
}

/// The value rounded to a hundredth, which bends no straight line of an axis up to 2 or more.
fn number(value: f64) -> String {
    ((value * 100.0).round() / 100.0).to_string()
}
