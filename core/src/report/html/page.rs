//! A whole page: one file that needs no network and no script.

use super::super::escape;
use super::markup::{Markup, element};
use super::palette;

const STYLE: &str = include_str!("style.css");

/// Of the title of a window.
const TITLE_LIMIT: usize = 120;

/// Nothing is loaded and nothing runs, whatever the page holds. A browser asks for no icon, either.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// What stands on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlPage {
    /// Of the window; shown as plain text.
    pub title: String,
    /// The answer, which a reader sees first: it has the page's one `h1`.
    pub header: Markup,
    /// Sections, each with its `h2`; the page begins with links to them.
    pub sections: Vec<HtmlSection>,
    pub footer: Markup,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlSection {
    /// Its address within the page, which no other section has.
    pub id: String,
    pub title: Markup,
    pub content: Markup,
}

impl HtmlSection {
    pub fn new(id: impl Into<String>, title: &str, content: Markup) -> Self {
        let (id, title) = (id.into(), Markup::text(title));
        Self { id, title, content }
    }

    fn markup(&self) -> Markup {
        let heading = format!("{}-title", self.id);
        element(
            "section",
            &[("id", &self.id), ("aria-labelledby", &heading)],
            element("h2", &[("id", &heading)], self.title.clone()).then(self.content.clone()),
        )
    }
}

impl HtmlPage {
    /// The page as a file.
    pub fn render(&self) -> String {
        let links = self.sections.iter().map(|section| {
            let link = Markup::link_to(&section.id, section.title.clone());
            element("li", &[], link)
        });
        let links = element("ul", &[], links.collect());
        let links = match self.sections.len() {
            0 | 1 => Markup::default(),
            _ => element("nav", &[("aria-label", "Sections of this page")], links),
        };
        let sections = self.sections.iter().map(HtmlSection::markup).collect();
        let skip = element(
            "a",
            &[("class", "skip"), ("href", "#content")],
            Markup::text("To the content"),
        );
        let body = skip
            .then(element("header", &[], self.header.clone()))
            .then(links)
            .then(element("main", &[("id", "content")], sections))
            .then(element("footer", &[], self.footer.clone()));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n{}\n</body>\n</html>\n",
            escape::for_html(&self.title, TITLE_LIMIT),
            palette::variables(),
            body.as_str(),
        )
    }
}
