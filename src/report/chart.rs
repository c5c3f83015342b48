//! A chart as numbers. What draws it is the renderer's.

use super::text::Text;

/// Lines over one axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chart {
    /// The job, where there are several.
    pub(super) about: Option<Text>,
    /// `The purple line is the law, the green one the limit of 8h.`
    pub(super) caption: Text,
    pub(super) title: Text,
    pub(super) x: XAxis,
    pub(super) y: Axis,
    /// The first is drawn purple, the second green.
    pub(super) series: Vec<Series>,
    /// Behind the point, in each number.
    pub(super) digits: usize,
    /// The same in one line, where nothing can be drawn.
    pub(super) in_a_line: Option<Text>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum XAxis {
    Numbers(Axis),
    Days(Vec<jiff::Timestamp>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) title: &'static str,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A line: its values stand at equal distances from one end of the axis to the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) values: Vec<f64>,
}
