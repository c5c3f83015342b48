use super::*;

fn plot(words: &str) -> Plot {
    Plot {
        title: words.to_owned(),
        caption: words.to_owned(),
        description: words.to_owned(),
        x: PlotAxis::linear(words, 0.0, 100.0),
        y: PlotAxis::names(words, [words.to_owned(), "second".to_owned()]),
        lines: PLOT_LINES,
        marks: vec![
            PlotMark::new(
                PlotColour::First,
                PlotShape::Band(vec![(0.0, -1.0, 0.0), (100.0, -1.0, 0.0)]),
            ),
            PlotMark::new(
                PlotColour::First,
                PlotShape::Line(vec![(0.0, 0.0), (50.0, -1.0)]),
            ),
            PlotMark::new(
                PlotColour::Second,
                PlotShape::Dashes(vec![(0.0, 0.0), (50.0, -1.0)]),
            ),
            PlotMark::new(
                PlotColour::Third,
                PlotShape::Points(vec![(f64::NAN, f64::INFINITY)]),
            ),
            PlotMark::new(
                PlotColour::Fourth,
                PlotShape::Whisker((0.0, 0.0), (50.0, 0.0)),
            ),
        ],
    }
}

#[test]
fn every_colour_of_a_plot_is_a_variable_of_the_page() {
    let svg = plot("\"#000001\"").svg();
    let svg = svg.as_str();
    for part in svg.split("fill=\"").chain(svg.split("stroke=\"")).skip(1) {
        let value = part.split('"').next().unwrap();
        assert!(
            value == "none" || value.starts_with("var(--") || value.contains("svg"),
            "{value}"
        );
    }
    assert!(svg.contains("&quot;#000001&quot;"), "text stays: {svg}");
    assert!(
        svg.contains("var(--plot-second)\" stroke-dasharray"),
        "{svg}"
    );
}
