//! What the door lets in, read as a browser does.

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

use std::collections::HashSet;

use super::super::document::{Block, Document, Fold, FoldKind, Table, Title};
use super::super::escape::{self, LINE_LIMIT};
use super::super::label::Label;
use super::super::mark::Mark;
use super::super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotShape};
use super::super::samples;
use super::*;

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

fn page_of(words: &str) -> String {
    let plot = Plot {
        title: words.to_owned(),
        caption: Prose::literal(words),
        finer: Prose::default(),
        description: words.to_owned(),
        x: PlotAxis::linear(words, 0.0, 100.0),
        y: PlotAxis::names([words.to_owned()]),
        lines: PLOT_LINES,
        marks: vec![(PlotColour::Purple, PlotShape::Points(vec![(1.0, 0.0)]))],
        is_in_comment: false,
    };
    let fold = Fold {
        kind: FoldKind::Compared,
        id: "one".to_owned(),
        title: Prose::literal(words),
        detail: Prose::name(words),
        blocks: vec![Block::Plot(Box::new(plot))],
    };
    let document = Document {
        headlines: vec![Headline::of(Mark::GOOD, Prose::literal(words))],
        table: Some(Table::of([Title::Words(words)], [])),
        blocks: vec![Block::line(Label::MORE, Prose::sentence("x"))],
        folds: vec![fold],
        footer: Prose::figure(words),
        ..Document::default()
    };
    page(&document, words)
}

fn assert_shown_literally(hostile: &str) {
    let cleaned = escape::clean(hostile, LINE_LIMIT);
    if cleaned.is_empty() {
        return;
    }
    let found = read(&page_of(hostile));
    let plain = read(&page_of("PLAIN"));
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

#[test]
fn every_sample_is_a_page_with_one_answer_that_loads_and_runs_nothing() {
    for (name, report) in samples::all() {
        let page = render(&report);
        let found = read(&page);
        let count = |tag: &str| found.elements.iter().filter(|name| *name == tag).count();
        assert_eq!(
            (count("h1"), count("main"), count("script")),
            (1, 1, 0),
            "{name}"
        );
        let ids = found.values.iter().filter(|(key, _)| key == "id");
        let ids: Vec<&String> = ids.map(|(_, id)| id).collect();
        let different: HashSet<&String> = ids.iter().copied().collect();
        assert_eq!(ids.len(), different.len(), "{name}: {ids:?}");
        for (key, value) in &found.values {
            assert!(!key.starts_with("on"), "{name}: {key}");
            let loads = ["src", "srcset", "action", "data"].contains(&key.as_str());
            assert!(!loads, "{name}: {key}={value}");
            if key == "href" {
                let known = || ids.iter().any(|id| **id == value[1..]);
                assert!(!value.starts_with('#') || known(), "{name}: {value}");
                assert!(!value.contains("evil"), "{name}: {value}");
            }
            if key == "fill" || key == "stroke" {
                let is_ours = value == "none" || value.starts_with("var(--");
                assert!(is_ours, "{name}: {key}={value}");
            }
        }
        for tag in ["img", "iframe", "object", "b", "i", "form", "input"] {
            assert_eq!(count(tag), 0, "{name}: {tag}");
        }
        assert!(!page.contains("url("), "{name}");
        assert_eq!(page, render(&report), "{name}");
    }
    let page = render(&samples::of("over-budget"));
    assert!(page.contains("var(--plot-green)\" stroke-dasharray"));
}

#[test]
fn the_words_of_a_page() {
    let found = read(&render(&samples::of("increased")));
    let style = found.texts.iter().position(|text| text.contains(":root"));
    let said = found.texts[style.unwrap_or(0) + 1..].iter();
    let said: Vec<&str> = said
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
        .collect();
    insta::assert_snapshot!("words_of_a_page", said.join("\n"));
}

/// The contrast against each ground that colours need: of text by WCAG 2.2, 1.4.3, of graphics by 1.4.11; a grid and borders need none.
const CONTRASTS: [(&str, f64); 10] = [
    ("ink", 4.5),
    ("muted", 4.5),
    ("link", 4.5),
    ("good", 4.5),
    ("bad", 4.5),
    ("doubtful", 4.5),
    ("plot-purple", 3.0),
    ("plot-green", 3.0),
    ("plot-blue", 3.0),
    ("plot-orange", 3.0),
];

/// Relative luminance, <https://www.w3.org/TR/WCAG22/#dfn-relative-luminance>.
fn luminance(colour: u32) -> f64 {
    let [_, red, green, blue] = colour.to_be_bytes();
    let linear = |channel: u8| match f64::from(channel) / 255.0 {
        share @ ..=0.04045 => share / 12.92,
        share => ((share + 0.055) / 1.055).powf(2.4),
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
fn contrast(one: u32, other: u32) -> f64 {
    let [one, other] = [one, other].map(luminance);
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// By <https://webaim.org/resources/contrastchecker/>.
#[test]
fn contrast_is_that_of_wcag() {
    for (colour, expected) in [
        (0, 21.0),
        (0xff_ff_ff, 1.0),
        (0x76_76_76, 4.54),
        (0xff_00_00, 4.0),
    ] {
        let found = contrast(colour, 0xff_ff_ff);
        assert!((found - expected).abs() < 0.005, "{colour:?}");
    }
}

#[test]
fn each_colour_stands_out_from_each_ground_and_every_one_that_is_used_is_there() {
    let style = include_str!("style.css");
    let schemes: Vec<&str> = style.lines().take(2).collect();
    for scheme in &schemes {
        let colour = |name: &str| {
            let (_, rest) = scheme.split_once(&format!("--{name}:#")).expect(name);
            u32::from_str_radix(&rest[..6], 16).unwrap()
        };
        for (name, least) in CONTRASTS {
            for ground in ["ground", "raised"] {
                let found = contrast(colour(name), colour(ground));
                assert!(found >= least, "{name} on {ground}: {found:.2}");
            }
        }
    }
    let rules = style.lines().skip(2).collect::<String>();
    assert!(!rules.contains('#') && !rules.contains("rgb"), "{rules}");
    for part in rules.split("var(--").skip(1) {
        let name = part.split(')').next().unwrap();
        assert!(
            schemes
                .iter()
                .all(|scheme| scheme.contains(&format!("--{name}:#"))),
            "{name}"
        );
    }
}
