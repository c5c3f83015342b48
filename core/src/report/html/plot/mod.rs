//! A **plot**: points, lines and bars over two axes, as an SVG in a page. Numbers stand on its axes, and its words say the same to
//! those who do not see it.

mod axis;
mod draw;
mod unit;

pub use axis::PlotAxis;
pub(super) use unit::AxisUnit;

use super::markup::{Markup, element};

/// A drawing with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What a reader is to see in it, which stands above it.
    pub caption: String,
    /// The same in numbers, for those who do not see it.
    pub description: String,
    pub x: PlotAxis,
    pub y: PlotAxis,
    /// In text lines. Intervals need as many as there are, other plots [`PLOT_LINES`].
    pub lines: u16,
    /// The first is drawn below all others.
    pub marks: Vec<PlotMark>,
}

/// The height of a plot over two axes of numbers.
pub const PLOT_LINES: u16 = 18;

/// A shape with its colour.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotMark {
    pub shape: PlotShape,
    pub colour: PlotColour,
}

/// What is drawn, in values of the axes. What lies beyond an axis stands at its end.
#[derive(Debug, Clone, PartialEq)]
pub enum PlotShape {
    Line(Vec<(f64, f64)>),
    /// A limit.
    Dashes(Vec<(f64, f64)>),
    /// Between two lines of the same places: place, lower and upper end.
    Band(Vec<(f64, f64, f64)>),
    Points(Vec<(f64, f64)>),
    /// An interval, with its ends.
    Whisker((f64, f64), (f64, f64)),
}

/// A colour by its part; the page's palette has a light and a dark one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotColour {
    Ink,
    /// Purple.
    First,
    /// Green.
    Second,
    /// Blue.
    Third,
    /// Orange.
    Fourth,
}

impl PlotColour {
    const ALL: [Self; 5] = [
        Self::Ink,
        Self::First,
        Self::Second,
        Self::Third,
        Self::Fourth,
    ];

    fn variable(self) -> &'static str {
        match self {
            Self::Ink => "ink",
            Self::First => "plot-first",
            Self::Second => "plot-second",
            Self::Third => "plot-third",
            Self::Fourth => "plot-fourth",
        }
    }
}

impl PlotMark {
    pub fn new(colour: PlotColour, shape: PlotShape) -> Self {
        Self { shape, colour }
    }
}

impl Plot {
    /// A figure with its caption.
    pub fn figure(&self) -> Markup {
        let title = element("strong", &[], Markup::text(&self.title));
        let caption = element(
            "figcaption",
            &[],
            title.then(Markup::paragraph(&self.caption)),
        );
        element("figure", &[], caption.then(self.svg()))
    }

    fn svg(&self) -> Markup {
        let height = draw::height(self.lines);
        let words = element("title", &[], Markup::text(&self.title));
        let description = match self.description.is_empty() {
            true => Markup::default(),
            false => element("desc", &[], Markup::paragraph(&self.description)),
        };
        element(
            "svg",
            &[
                ("class", "plot"),
                ("viewBox", &format!("0 0 {} {height}", draw::WIDTH)),
                ("role", "img"),
            ],
            words.then(description).then(draw::elements(self)),
        )
    }
}

#[cfg(test)]
mod tests;
