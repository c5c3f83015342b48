//! A chart as numbers. What draws it is the renderer's.

use super::text::Prose;

/// Lines over one axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chart {
    /// `The purple line is the law, the green one the limit of 8h.`
    pub(super) caption: Prose,
    pub(super) title: Prose,
    pub(super) x: ChartXAxis,
    pub(super) y: ChartAxis,
    /// The first is drawn purple, the second green.
    pub(super) series: Vec<ChartSeries>,
    /// Behind the point, in each number.
    pub(super) digits: usize,
    /// The same in one line, where nothing can be drawn.
    pub(super) in_a_line: Option<Prose>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChartXAxis {
    Numbers(ChartAxis),
    Days(Vec<jiff::Timestamp>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChartAxis {
    pub(super) title: &'static str,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A line: its values stand at equal distances from one end of the axis to the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChartSeries {
    pub(super) name: &'static str,
    pub(super) values: Vec<f64>,
}
