//! A plot as an SVG, drawn by the crate `plotters` in colours that follow the page. Numbers stand on its axes, and its words say the
//! same to those who do not see it.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use serde_json::{Value, json};

use super::super::escape::{self, LINE_LIMIT, PARAGRAPH_LIMIT};
use super::super::plot::{Plot, PlotAxis, PlotColour, PlotShape};
use super::inline;

/// Of the drawing. Coordinates are whole numbers, so it is drawn four times as large as it is mostly shown.
const WIDTH: u32 = 1920;
/// Of a line of text, and of its letters.
const LINE: u32 = 64;
const LETTER: u32 = 31;
const FONT: u32 = 66;
/// The most letters of a name at an axis.
const NAME_LETTERS: usize = 26;
const WORDS_LETTERS: usize = 40;
const THIN: u32 = 3;
const THICK: u32 = 9;
const POINT: u32 = 16;
/// More canaries stand in one place, and would make a large page.
const MOST_POINTS: usize = 400;
const WHISKER_END: i32 = 18;

/// Stand for colours while they are drawn, and become their variables after.
const INK: RGBColor = RGBColor(0, 3, 0);
const GRID: RGBColor = RGBColor(0, 1, 0);
/// Of a dashed line in a colour: its green.
const DASHED: u8 = 2;
const VARIABLES: [&str; 4] = ["purple", "green", "blue", "orange"];

fn stand_in(colour: PlotColour) -> RGBColor {
    RGBColor(0, 0, colour as u8)
}

/// A figure with its caption.
pub(super) fn figure(plot: &Plot) -> Value {
    let height = u32::from(plot.lines) * LINE;
    let mut drawn = String::new();
    let area = SVGBackend::with_string(&mut drawn, (WIDTH, height)).into_drawing_area();
    draw(plot, &area).expect("a drawing in memory cannot fail");
    drop(area);
    json!({
        "title": escape::for_html(&plot.title, LINE_LIMIT),
        "caption": inline(&plot.caption),
        "finer": inline(&plot.finer),
        "description": escape::for_html(&plot.description, PARAGRAPH_LIMIT),
        "view": format!("0 0 {WIDTH} {height}"),
        "drawn": in_colours_of_the_page(without_root(&drawn)),
    })
}

fn without_root(drawn: &str) -> &str {
    let inner = drawn.split_once('>').map_or("", |(_, inner)| inner);
    let (inner, _) = inner.rsplit_once("</svg>").unwrap_or((inner, ""));
    inner
}

/// A quote is escaped in text, so what stands in quotes is an attribute.
fn in_colours_of_the_page(drawn: &str) -> String {
    let mut drawn = drawn
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(">\n", ">")
        .replace("\n<", "<")
        .replace("\"#000100\"", "\"var(--plot-grid)\"")
        .replace("\"#000300\"", "\"var(--ink)\"");
    for (index, variable) in VARIABLES.into_iter().enumerate() {
        let colour = format!("\"var(--plot-{variable})\"");
        drawn = drawn.replace(&format!("\"#0000{index:02X}\""), &colour);
        let dashed = format!("\"#00{DASHED:02X}{index:02X}\"");
        drawn = drawn.replace(&dashed, &format!("{colour} stroke-dasharray=\"28 18\""));
    }
    drawn
}

type PlotArea<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type DrawResult = Result<(), Box<dyn std::error::Error>>;

fn draw(plot: &Plot, area: &PlotArea<'_>) -> DrawResult {
    let font = ("sans-serif", FONT).into_font().color(&INK);
    let y_title = escape::clean(&plot.y.title, WORDS_LETTERS);
    area.draw(&Text::new(y_title, (8, 4), font.clone()))?;
    let names = plot.y.ticks.iter();
    let longest = names.map(|(_, name)| name.chars().count().min(NAME_LETTERS));
    let longest = u32::try_from(longest.max().unwrap_or(0)).unwrap_or(0);
    let mut chart = ChartBuilder::on(area)
        .margin_top(LINE * 5 / 4)
        .margin_right(LETTER * 3)
        .margin_bottom(8)
        .x_label_area_size(LINE * 9 / 4)
        .y_label_area_size(LETTER * (longest + 1))
        .build_cartesian_2d(AxisSpread(&plot.x), AxisSpread(&plot.y))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(THIN))
        .axis_style(INK.stroke_width(THIN))
        .label_style(font)
        .x_desc(escape::clean(&plot.x.title, WORDS_LETTERS))
        .draw()?;
    for (colour, shape) in &plot.marks {
        let colour = stand_in(*colour);
        let line = colour.stroke_width(THICK);
        let dashed = RGBColor(0, DASHED, colour.2).stroke_width(THICK);
        let area = chart.plotting_area();
        match shape {
            PlotShape::Line(points) => {
                area.draw(&PathElement::new(points.clone(), line))?;
            }
            PlotShape::Dashes(points) => {
                area.draw(&PathElement::new(points.to_vec(), dashed))?;
            }
            PlotShape::Band(ends) => {
                let lower = ends.iter().map(|(place, lower, _)| (*place, *lower));
                let upper = ends.iter().rev().map(|(place, _, upper)| (*place, *upper));
                let around: Vec<(f64, f64)> = lower.chain(upper).collect();
                area.draw(&Polygon::new(around, colour.mix(0.2).filled()))?;
            }
            PlotShape::Points(points) => {
                let stride = points.len() / MOST_POINTS + 1;
                for point in points.iter().rev().step_by(stride) {
                    area.draw(&Circle::new(*point, POINT, colour.filled()))?;
                }
            }
            PlotShape::Whisker(from, to) => {
                area.draw(&PathElement::new(vec![*from, *to], line))?;
                let is_upright = from.0 == to.0;
                let (x, y) = match is_upright {
                    true => (WHISKER_END, 0),
                    false => (0, WHISKER_END),
                };
                for end in [from, to] {
                    let across = PathElement::new(vec![(-x, -y), (x, y)], line);
                    area.draw(&(EmptyElement::at(*end) + across))?;
                }
            }
        }
    }
    area.present()?;
    Ok(())
}

/// An axis as the library asks for it.
struct AxisSpread<'a>(&'a PlotAxis);

impl Ranged for AxisSpread<'_> {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "a place in a drawing")]
    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * self.0.place(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.0.ticks.iter().map(|(place, _)| *place).collect()
    }

    fn range(&self) -> Range<f64> {
        let [from, to] = self.0.ends();
        from..to
    }
}

impl ValueFormatter<f64> for AxisSpread<'_> {
    fn format_ext(&self, value: &f64) -> String {
        let mut ticks = self.0.ticks.iter();
        let name = ticks.find(|(place, _)| place == value);
        name.map_or(String::new(), |(_, name)| escape::clean(name, NAME_LETTERS))
    }
}
