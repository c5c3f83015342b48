//! What the door lets in, read as a browser does.

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

use super::super::escape::{self, LINE_LIMIT};
use super::markup::{Markup, element};
use super::page::{HtmlPage, HtmlSection};
use super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotShape};

/// Names of all elements in order, all texts, and all values of attributes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadPage {
    pub(super) elements: Vec<String>,
    pub(super) texts: Vec<String>,
    pub(super) values: Vec<(String, String)>,
}

/// As a browser reads it.
pub(super) fn read(page: &str) -> ReadPage {
    fn walk(node: &Handle, read: &mut ReadPage) {
        match &node.data {
            NodeData::Element { name, attrs, .. } => {
                read.elements.push(name.local.to_string());
                let values = attrs.borrow();
                let values = values.iter();
                read.values.extend(
                    values.map(|value| (value.name.local.to_string(), value.value.to_string())),
                );
            }
            NodeData::Text { contents } => read.texts.push(contents.borrow().to_string()),
            NodeData::Comment { contents } => read.elements.push(format!("<!--{contents}-->")),
            _ => {}
        }
        for child in node.children.borrow().iter() {
            walk(child, read);
        }
    }
    let document: RcDom = parse_document(RcDom::default(), ParseOpts::default()).one(page);
    let mut read = ReadPage::default();
    walk(&document.document, &mut read);
    read
}

fn page(words: &str) -> String {
    let plot = Plot {
        title: words.to_owned(),
        caption: words.to_owned(),
        description: words.to_owned(),
        x: PlotAxis::linear(words, 0.0, 100.0),
        y: PlotAxis::names(words, [words.to_owned()]),
        lines: PLOT_LINES,
        marks: vec![PlotMark::new(
            PlotColour::First,
            PlotShape::Points(vec![(1.0, 0.0)]),
        )],
    };
    let region = element("div", &[("aria-label", words)], Markup::code(words));
    HtmlPage {
        title: words.to_owned(),
        header: element("h1", &[], Markup::text(words)),
        sections: vec![HtmlSection::new("one", words, region.then(plot.figure()))],
        footer: Markup::paragraph(words).then(Markup::unbroken(words)),
    }
    .render()
}

fn assert_shown_literally(hostile: &str) {
    let cleaned = escape::for_drawing(hostile, LINE_LIMIT);
    if cleaned.is_empty() {
        return;
    }
    let found = read(&page(hostile));
    let plain = read(&page("PLAIN"));
    assert_eq!(found.elements, plain.elements, "{hostile:?}");
    let names = |read: &ReadPage| {
        let names = read.values.iter().map(|(name, _)| name.clone());
        names.collect::<Vec<_>>()
    };
    // Where a plot places its words depends on their length.
    assert_eq!(names(&found), names(&plain), "{hostile:?}");
    let label = found.values.iter().find(|(name, _)| name == "aria-label");
    assert_eq!(label.map(|(_, value)| value), Some(&cleaned), "{hostile:?}");
    let shown = found.texts.iter().filter(|text| **text == cleaned);
    assert!(shown.count() >= 6, "{hostile:?}: {:?}", found.texts);
}

#[test]
fn known_attacks_are_shown_literally() {
    for hostile in [
        "",
        "<script>alert(1)</script>",
        "</title></style></svg></script><img src=x onerror=alert(1)>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "<!-- x --> ]]> &lt;b&gt; &amp;",
        "</text><foreignObject><p>x",
        "var(--ink)\"#000001\"",
        "{{x}} \u{202e}reversed\u{0}\u{1b}[31mred",
    ] {
        assert_shown_literally(hostile);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        rng_seed: proptest::test_runner::RngSeed::Fixed(19),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_shown_literally(
        hostile in prop::collection::vec(
            prop_oneof![
                any::<char>().prop_map(|c| c.to_string()),
                "[ -~]{1,4}",
                prop::sample::select(vec![
                    "<", ">", "\"", "'", "&", "&#", "&lt", "<!--", "-->", "</", "<svg", "<p>", "`", "]]>", "\n",
                ]).prop_map(str::to_owned),
            ],
            0..24,
        ).prop_map(|pieces| pieces.concat())
    ) {
        assert_shown_literally(&hostile);
    }

    #[test]
    fn backticks_set_code_and_nothing_else(hostile in "[ -~`<>&]{0,40}") {
        let shown = escape::for_html_with_code(&hostile, LINE_LIMIT);
        let read = read(&format!("<!doctype html><p>{shown}</p>"));
        let known = ["html", "head", "body", "p", "code"];
        assert!(read.elements.iter().all(|name| known.contains(&name.as_str())), "{shown}");
    }
}
