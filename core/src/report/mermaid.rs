//! A chart as a fenced Mermaid block, which GitHub draws in the reader's theme.
//!
//! Only numbers, words of this program and names of letters, digits, dots and hyphens get into the block: nothing that a spec
//! or a stored report says can end it.

use super::chart::{Chart, ChartAxis, ChartXAxis};
use super::text::Prose;

/// Purple and green of GitHub's palette, both at least 3:1 against its light and its dark background.
const COLOURS: &str = "#8957e5, #2da44e";

pub(super) fn block(chart: &Chart) -> String {
    let digits = chart.digits;
    let series = chart.series.iter().map(|line| {
        let values = line.values.iter().map(|value| format!("{value:.digits$}"));
        let values: Vec<String> = values.collect();
        format!("    line \"{}\" [{}]\n", line.name, values.join(", "))
    });
    format!(
        "```mermaid\n\
         ---\n\
         config:\n  \
           themeVariables:\n    \
             xyChart:\n      \
               backgroundColor: transparent\n      \
               plotColorPalette: \"{COLOURS}\"\n\
         ---\n\
         xychart-beta\n    \
           title \"{}\"\n    \
           x-axis {}\n    \
           y-axis {}\n\
         {}```",
        title(&chart.title),
        x_axis(&chart.x),
        axis(&chart.y),
        series.collect::<String>(),
    )
}

fn title(text: &Prose) -> String {
    text.flattened(|text| text.for_chart())
}

fn x_axis(x: &ChartXAxis) -> String {
    match x {
        ChartXAxis::Numbers(numbers) => axis(numbers),
        ChartXAxis::Days(days) => {
            let days = days
                .iter()
                .map(|day| format!("\"{}\"", day.strftime("%m-%d")));
            format!("[{}]", days.collect::<Vec<_>>().join(", "))
        }
    }
}

fn axis(ChartAxis { title, from, to }: &ChartAxis) -> String {
    format!("\"{title}\" {from} --> {to}")
}
