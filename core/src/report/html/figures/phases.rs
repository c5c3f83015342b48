//! The time of a full run by phase.

use super::super::super::background::has_other_phases;
use super::super::super::law_chart::TimeUnit;
use super::super::super::words::Quantity;
use super::super::super::{InstanceForecast, JobReport, PhaseEstimates};
use super::super::markup::Markup;
use super::super::plot::{Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use super::{known, left_out, top};
use crate::forecast::Estimate;

/// In the order of a run.
fn in_order(phases: &PhaseEstimates) -> [(&'static str, PlotColour, Option<Estimate>); 4] {
    [
        ("start-up", PlotColour::Fourth, phases.startup),
        ("download", PlotColour::Third, phases.download),
        ("training", PlotColour::First, phases.training),
        ("upload", PlotColour::Second, phases.upload),
    ]
}

/// `None` where no configuration has another phase than the training that is worth a word.
pub(in super::super) fn phases(job: &JobReport) -> Option<Markup> {
    let whole = |forecast: &InstanceForecast| {
        let phases = &forecast.phases;
        let known = in_order(phases)
            .into_iter()
            .filter_map(|(_, _, phase)| phase);
        let sum: f64 = known.map(|phase| phase.point).sum();
        (has_other_phases(phases) && sum.is_finite() && sum > 0.0).then_some(sum)
    };
    let (rows, all) = known(job, whole);
    let longest = top(rows.iter().map(|(_, sum)| *sum))?;
    let unit = TimeUnit::for_largest(longest);
    let y = PlotAxis::names("", rows.iter().map(|(one, _)| one.instance.to_string()));
    let mut marks = Vec::new();
    let mut descriptions = Vec::new();
    for (index, (forecast, _)) in rows.iter().enumerate() {
        let place = PlotAxis::place_of_name(index);
        let mut begin = 0.0;
        let mut said = Vec::new();
        for (name, colour, phase) in in_order(&forecast.phases) {
            let Some(phase) = phase else { continue };
            let end = begin + phase.point / unit.seconds();
            let bar = PlotShape::Bar((begin, place + 0.3), (end, place - 0.3));
            marks.push(PlotMark::new(colour, bar));
            said.push(format!("{name} {}", Quantity::Time.with_interval(&phase)));
            begin = end;
        }
        descriptions.push(format!("{}: {}", forecast.instance, said.join(", ")));
    }
    let caption = format!(
        "From left to right: start-up (orange), which is not billed, download (blue), training (purple), upload (green). {}",
        left_out(rows.len(), all).unwrap_or_default()
    );
    let lines = u16::try_from(rows.len() * 2 + 5).unwrap_or(u16::MAX);
    let figure = Plot {
        title: "Time by phase".to_owned(),
        caption: Markup::text(&caption),
        description: descriptions.join("; "),
        x: PlotAxis::linear(unit.name(), 0.0, longest / unit.seconds()),
        y,
        lines,
        marks,
    };
    Some(figure.figure())
}
