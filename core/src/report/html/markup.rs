//! The one door by which text comes into a page. Characters of a [`Markup`] are private: text gets in escaped, tags and names
//! of attributes are words of this program.

use super::super::escape::{self, LINE_LIMIT, PARAGRAPH_LIMIT};
use super::super::text::{Address, Outside, Prose, TextSpan, Verbatim};
use super::super::words;

/// A finished piece of HTML: nothing in it ends what stands around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// The text, shown literally: one line of at most [`LINE_LIMIT`] characters.
    pub(super) fn text(text: &str) -> Self {
        Self(escape::for_html(text, LINE_LIMIT))
    }

    /// Words that stand in the source of this program, without a character that HTML reads as more than itself; spaces at
    /// their ends are kept.
    pub(super) fn own(words: &'static str) -> Self {
        Self(words.to_owned())
    }

    /// The same of several sentences.
    pub(super) fn paragraph(text: &str) -> Self {
        Self(escape::for_html(text, PARAGRAPH_LIMIT))
    }

    /// A link within the page.
    pub(super) fn link_to(id: &str, words: Self) -> Self {
        element("a", &[("href", &format!("#{id}"))], words)
    }

    #[must_use]
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend([other.0]);
        self
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Each piece of a line as what it is.
    pub(super) fn prose(text: &Prose) -> Self {
        text.spans().iter().map(Self::span).collect()
    }

    fn span(span: &TextSpan) -> Self {
        let html = |text: &Outside| Self(text.with(escape::for_html));
        let unbroken = |content| element("span", &[("class", "unbroken")], content);
        match span {
            TextSpan::Own(words) => Self::own(words),
            TextSpan::Joint => Self::own("\u{a0}"),
            TextSpan::Minute(at) => unbroken(Self::text(&words::minute(*at))),
            TextSpan::Literal(text) | TextSpan::Commit(text) => html(text),
            TextSpan::Unbroken(text) => unbroken(html(text)),
            TextSpan::Sentence(text) => Self(text.with(escape::for_html_with_code)),
            TextSpan::Code(text) => element("code", &[], html(text)),
            TextSpan::Link(words, address) => Self::link(address, html(words)),
            TextSpan::Anchor(words, id) => Self::link_to(id, html(words)),
        }
    }

    /// An address is plain, so nothing in it ends the attribute.
    fn link(address: &Address, words: Self) -> Self {
        let open = Self(format!("<a href=\"{}\">", address.as_str()));
        open.then(words).then(Self::own("</a>"))
    }

    /// Lines that keep their breaks and spaces.
    pub(super) fn lines(text: &Verbatim, limit: usize, lines: usize) -> Self {
        let lines = Self(text.with(escape::for_html_block, limit, lines));
        element("pre", &[("tabindex", "0")], lines)
    }

    /// What the library of plots drew and escaped: elements without a root.
    pub(super) fn drawn(svg: String) -> Self {
        Self(svg)
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Self>>(pieces: I) -> Self {
        pieces.into_iter().fold(Self::default(), Self::then)
    }
}

/// An element with its content. Values of attributes are escaped.
pub(super) fn element(
    tag: &'static str,
    attributes: &[(&'static str, &str)],
    content: Markup,
) -> Markup {
    let mut text = format!("<{tag}");
    for (name, value) in attributes {
        let value = escape::for_html(value, PARAGRAPH_LIMIT);
        text.push_str(&format!(" {name}=\"{value}\""));
    }
    text.push('>');
    text.extend([content.0, format!("</{tag}>")]);
    Markup(text)
}
