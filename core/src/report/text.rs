//! Text of a document: pieces of which each says what it is, and how it is to be set.
//!
//! Text that may come from outside is an [`Outside`]. Its characters are private: it can only be converted into text for one
//! medium, harmless there. So a renderer cannot forget to escape.

use std::sync::LazyLock;

use regex::Regex;

use super::escape::{self, LINE_LIMIT, NAME_LIMIT, PARAGRAPH_LIMIT};
use super::words;

/// Where the documents of this release lie; a path from its root follows.
pub const DOCUMENTS: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/v",
    env!("CARGO_PKG_VERSION"),
    "/"
);

/// The addresses that a sentence may link to, each with its host to the end, and the path there.
static LINKED: LazyLock<Regex> = LazyLock::new(|| {
    let documents = regex::escape(DOCUMENTS);
    let places = format!(r"{documents}|https://(?:www\.githubstatus|status\.gitlab)\.com/");
    let pattern = format!("(?:{places})([A-Za-z0-9/.#-]*[A-Za-z0-9/#-])?");
    Regex::new(&pattern).expect("a test uses it")
});

/// Of each part of the last line, which overlaps itself on GitHub where it needs a second one.
const SHORT_LIMIT: usize = 30;
/// Of a sentence; further addresses stay text.
const MOST_LINKS: usize = 3;

/// Of a commit's id.
const COMMIT_DIGITS: usize = 7;

/// Of a number of a run, with its word.
const LINK_LIMIT: usize = 24;

/// `memory 126%`, `99% likely over`.
const FEW_WORDS: usize = 24;

/// Text that may hold anything, and how many characters of it are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outside {
    text: String,
    limit: usize,
}

impl Outside {
    pub(super) fn new(text: impl Into<String>, limit: usize) -> Self {
        let text = text.into();
        Self { text, limit }
    }

    /// Made harmless for one medium.
    pub(super) fn with(&self, escape: fn(&str, usize) -> String) -> String {
        escape(&self.text, self.limit)
    }

    /// At most `limit` characters of a terminal's line.
    pub(super) fn for_terminal(&self, limit: usize) -> String {
        escape::for_terminal(&self.text, self.limit.min(limit))
    }
}

/// Lines that keep their breaks and spaces: the problems of a file, or lines to paste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verbatim {
    texts: Vec<String>,
}

impl Verbatim {
    /// Each text begins a line.
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let texts = texts.into_iter().collect();
        Self { texts }
    }

    /// Made harmless for one medium: at most `lines` lines of `limit` characters.
    pub(super) fn with(
        &self,
        escape: fn(&str, usize, usize) -> String,
        limit: usize,
        lines: usize,
    ) -> String {
        escape(&self.texts.join("\n"), limit, lines)
    }

    /// The lines of each text.
    pub(super) fn for_terminal(&self) -> Vec<Vec<String>> {
        let lines = |text: &String| escape::lines_for_terminal(text, LINE_LIMIT).collect();
        self.texts.iter().map(lines).collect()
    }
}

/// A plain https address: nothing in it ends a link or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address(String);

impl Address {
    /// `None` for any other address: a stored report may be anybody's.
    fn checked(url: &str) -> Option<Self> {
        let path = url.strip_prefix("https://")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "/.-_".contains(c);
        (path.chars().all(plain) && path.len() <= 300).then(|| Self(url.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextSpan {
    /// Words that stand in the source of this program, without a character that any medium reads as more than itself.
    Own(&'static str),
    /// A space at which nothing but a narrow terminal breaks the line.
    Joint,
    /// Shown literally.
    Literal(Outside),
    /// A few words or a number with its unit, which stay on one line.
    Unbroken(Outside),
    /// A sentence of this program, in which backticks set code.
    Sentence(Outside),
    /// A name, or a line of a log.
    Code(Outside),
    /// The first digits of a commit's id, for GitHub to link: nothing else.
    Commit(Outside),
    Link(Outside, Address),
    /// A link within a page that has the address.
    Anchor(Outside, String),
}

/// A line of text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Prose(Vec<TextSpan>);

impl Prose {
    pub(super) fn own(words: &'static str) -> Self {
        Self(vec![TextSpan::Own(words)])
    }

    /// So many characters without any setting.
    pub(super) fn at_most(text: impl Into<String>, limit: usize) -> Self {
        Self(vec![TextSpan::Literal(Outside::new(text, limit))])
    }

    /// A sentence without any setting.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self::at_most(text, LINE_LIMIT)
    }

    /// Several sentences without any setting.
    pub(super) fn paragraph(text: impl Into<String>) -> Self {
        Self::at_most(text, PARAGRAPH_LIMIT)
    }

    /// A part of the last line.
    pub(super) fn short(text: impl Into<String>) -> Self {
        Self::at_most(text, SHORT_LIMIT)
    }

    /// A sentence of this program, in which backticks set code and the address of one of our documents or of a status page is a link.
    pub(super) fn sentence(text: impl Into<String>) -> Self {
        let text = text.into();
        let (mut spans, mut end) = (Vec::new(), 0);
        // Each piece has a limit of its own, so their number has one too.
        for found in LINKED.captures_iter(&text).take(MOST_LINKS) {
            let [address, path] = [0, 1].map(|group| found.get(group));
            let Some(address) = address else { continue };
            let words = Outside::new(path.unwrap_or(address).as_str(), LINE_LIMIT);
            spans.extend(piece(&text[end..address.start()]));
            // No step out of the release.
            spans.push(match address.as_str().contains("..") {
                true => TextSpan::Literal(words),
                false => TextSpan::Link(words, Address(address.as_str().to_owned())),
            });
            end = address.end();
        }
        spans.extend(piece(&text[end..]));
        Self(spans)
    }

    /// The name of a job, an instance or a branch, set as code.
    pub(super) fn name(name: impl Into<String>) -> Self {
        Self(vec![TextSpan::Code(Outside::new(name, NAME_LIMIT))])
    }

    /// At most so many names; behind them how many more there are.
    pub(super) fn first_of(
        names: impl ExactSizeIterator<Item = Self>,
        most: usize,
    ) -> impl Iterator<Item = Self> {
        let further = words::beyond(names.len(), most);
        let further = further.map(|further| Self::literal(format!("{further} more")));
        names.take(most).chain(further)
    }

    /// The same among other names, as in a table.
    pub(super) fn bare_name(name: impl Into<String>) -> Self {
        Self::at_most(name, NAME_LIMIT)
    }

    /// A line of a log.
    pub(super) fn log_line(line: impl Into<String>) -> Self {
        Self(vec![TextSpan::Code(Outside::new(line, LINE_LIMIT))])
    }

    /// A number with its unit, on one line.
    pub(super) fn figure(figure: impl Into<String>) -> Self {
        Self(vec![TextSpan::Unbroken(Outside::new(figure, NAME_LIMIT))])
    }

    /// A few words stay on one line, which a narrow screen would break into as many lines; longer text may break.
    pub(super) fn few_words(parts: &[String]) -> Self {
        let is_short = parts.join(" ").chars().count() <= FEW_WORDS;
        let parts = parts.iter().map(|part| match is_short {
            true => Self::figure(part.as_str()),
            false => Self::literal(part.as_str()),
        });
        Self::in_parts(parts)
    }

    /// What is no id of a commit is shown literally.
    pub(super) fn commit(id: &str) -> Self {
        let short: String = id.chars().take(COMMIT_DIGITS).collect();
        let is_id = short.chars().all(|c| c.is_ascii_hexdigit());
        let span = if is_id {
            TextSpan::Commit
        } else {
            TextSpan::Literal
        };
        Self(vec![span(Outside::new(short, SHORT_LIMIT))])
    }

    /// A link to a run, named by the last part of its address. `None` where that is not a plain https address.
    pub(super) fn run(url: &str) -> Option<Self> {
        let address = Address::checked(url)?;
        let path = url.strip_prefix("https://")?;
        let number = path.rsplit('/').find(|part| !part.is_empty())?;
        let words = Outside::new(format!("run {number}"), LINK_LIMIT);
        Some(Self(vec![TextSpan::Link(words, address)]))
    }

    pub(super) fn link_to(address: String, words: &str) -> Self {
        let words = Outside::new(words, LINE_LIMIT);
        Self(vec![TextSpan::Anchor(words, address)])
    }

    /// The template with a text in place of each `{}`.
    pub(super) fn fill(template: &'static str, texts: impl IntoIterator<Item = Self>) -> Self {
        let mut pieces = template.split("{}");
        let mut filled = Self::own(pieces.next().unwrap_or_default());
        for (text, after) in texts.into_iter().zip(pieces) {
            filled = filled.then(text).then(Self::own(after));
        }
        filled
    }

    pub(super) fn then(mut self, mut text: Self) -> Self {
        self.0.append(&mut text.0);
        self
    }

    /// Parts with joints between.
    pub(super) fn in_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Vec<TextSpan>> = parts.into_iter().map(|part| part.0).collect();
        Self(parts.join(&TextSpan::Joint))
    }

    /// The parts between its joints.
    pub(super) fn parts(&self) -> impl Iterator<Item = Self> {
        let parts = self.0.split(|span| *span == TextSpan::Joint);
        parts.map(|spans| Self(spans.to_vec()))
    }

    /// Those that are not empty.
    pub(super) fn joined(texts: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let mut joined = Self::default();
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            if !joined.0.is_empty() {
                joined = joined.then(Self::own(between));
            }
            joined = joined.then(text);
        }
        joined
    }

    /// `a`, `a and b`, `a, b and c`; `None` for none.
    pub(super) fn list(mut texts: Vec<Self>) -> Option<Self> {
        let last = texts.pop()?;
        Some(match texts.is_empty() {
            true => last,
            false => Self::fill("{} and {}", [Self::joined(texts, ", "), last]),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn spans(&self) -> &[TextSpan] {
        &self.0
    }

    /// The text without any setting, for a place that has none. `escape` makes a text from outside harmless there.
    pub(super) fn flattened(&self, escape: impl Fn(&Outside) -> String) -> String {
        let span = |span: &TextSpan| match span {
            TextSpan::Own(words) => (*words).to_owned(),
            TextSpan::Joint => " ".to_owned(),
            TextSpan::Literal(text)
            | TextSpan::Unbroken(text)
            | TextSpan::Sentence(text)
            | TextSpan::Code(text)
            | TextSpan::Commit(text)
            | TextSpan::Link(text, _)
            | TextSpan::Anchor(text, _) => escape(text),
        };
        self.0.iter().map(span).collect()
    }
}

/// A piece of a sentence. What makes it harmless takes the spaces at its ends off.
fn piece(text: &str) -> [TextSpan; 3] {
    let space = |is_there: bool| TextSpan::Own(if is_there { " " } else { "" });
    let words = TextSpan::Sentence(Outside::new(text, PARAGRAPH_LIMIT));
    let is_space = text.trim().is_empty();
    [
        space(text.starts_with(' ')),
        words,
        space(!is_space && text.ends_with(' ')),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{markdown, terminal};
    use super::*;

    #[test]
    fn only_a_plain_address_becomes_a_link() {
        let link = Prose::run("https://github.com/example/models/actions/runs/4821/").unwrap();
        assert_eq!(
            markdown::inline(&link),
            "[run 4821](https://github.com/example/models/actions/runs/4821/)"
        );
        for url in [
            "javascript:alert(1)",
            "https://x) [y](https://z",
            "http://x/1",
            "https://",
        ] {
            assert_eq!(Prose::run(url), None, "{url}");
        }
    }

    #[test]
    fn what_a_sentence_names_of_ours_is_a_link_with_its_spaces() {
        let [first, second] = ["a.md", "c.md"].map(|path| format!("{DOCUMENTS}{path}"));
        let said = format!("`Read` {first}, {second} and https://status.gitlab.com/.");
        assert_eq!(
            markdown::inline(&Prose::sentence(said)),
            format!(
                "`Read` [a.md]({first}), [c.md]({second}) and \
                 [https:\u{2060}//status.gitlab.com/](https://status.gitlab.com/)."
            )
        );
        let elsewhere = Prose::sentence("see https://status.gitlab.com.example.org/");
        assert!(!markdown::inline(&elsewhere).contains('['));
    }

    #[test]
    fn a_template_is_filled_in_order_and_each_piece_is_set_as_what_it_is() {
        let text = Prose::fill(
            "Closest: {} at {}.",
            [Prose::name("a|b"), Prose::literal("~41 USD")],
        );
        assert_eq!(
            markdown::inline(&text),
            "Closest: <code>a&#124;b</code> at \\~\u{2060}41 USD."
        );
        assert_eq!(terminal::inline(&text), "Closest: a|b at ~41 USD.");
    }

    #[test]
    fn pieces_do_not_join_into_a_command() {
        let text = Prose::joined([Prose::literal("x"), Prose::literal(":")], " ");
        let text = text.then(Prose::literal(":error:")).then(Prose::own(":"));
        assert_eq!(terminal::inline(&text), "x : :error::");
    }
}
