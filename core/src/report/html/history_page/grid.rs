//! A table of finished cells.

use super::super::blocks;
use super::super::markup::{Markup, element};

/// Its columns, and its rows as they are added.
pub(super) struct MarkupGrid {
    /// What it shows, for those who do not see where it stands; no two of a page show the same.
    about: String,
    titles: Vec<(&'static str, Markup)>,
    rows: Vec<Markup>,
}

const TEXT: &str = "text";
const NUMBER: &str = "number";

impl MarkupGrid {
    pub(super) fn new(about: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            titles: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// A column of words.
    pub(super) fn text(self, title: &str) -> Self {
        self.column(TEXT, Markup::text(title))
    }

    /// A column of numbers.
    pub(super) fn number(self, title: &str) -> Self {
        self.number_under(Markup::text(title))
    }

    /// The same under a finished title.
    pub(super) fn number_under(self, title: Markup) -> Self {
        self.column(NUMBER, title)
    }

    fn column(mut self, class: &'static str, title: Markup) -> Self {
        self.titles.push((class, title));
        self
    }

    /// A row; the first cell is its title.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Markup>) {
        let cells = cells.into_iter().zip(&self.titles).enumerate();
        let cells = cells.map(|(index, (cell, (class, _)))| match index {
            0 => element("th", &[("scope", "row")], cell),
            _ => element("td", &[("class", class)], cell),
        });
        self.rows.push(element("tr", &[], cells.collect()));
    }

    pub(super) fn markup(self) -> Markup {
        let titles = self.titles.into_iter().map(|(class, title)| {
            let attributes = [("scope", "col"), ("class", class)];
            element("th", &attributes, title)
        });
        let head = element("thead", &[], element("tr", &[], titles.collect()));
        let body = element("tbody", &[], self.rows.into_iter().collect());
        blocks::scrolled(element("table", &[], head.then(body)), &self.about)
    }
}

/// A figure, and what is said of it below.
pub(super) fn with_detail(figure: &str, detail: Option<String>) -> Markup {
    let figure = Markup::unbroken(figure);
    match detail {
        None => figure,
        Some(detail) => figure.then(element(
            "span",
            &[("class", "detail")],
            Markup::text(&detail),
        )),
    }
}
