//! Hostile text made harmless. Names, log lines and spec text come from a pull request; each passes through here once,
//! on its way into Markdown, a terminal or a spreadsheet.
//!
//! All ways begin with the same cleaning: one line, no control characters, no invisible or direction-changing
//! characters, account ids and ARNs shortened, at most `limit` characters.

use std::collections::HashSet;
use std::ops::Range;

use super::redact::redact;
use crate::grammar::pattern;
use crate::secret::unseen::{is_invisible, without_commands, without_control_sequences};

/// As long as a name of a job or an instance may be shown.
pub const NAME_LIMIT: usize = 120;

/// As long as the last line of a failed canary may be shown.
pub const LINE_LIMIT: usize = 300;

/// As long as a sentence of this program may be.
pub const PARAGRAPH_LIMIT: usize = 1000;

/// A longer name would leave a chart.
const CHART_LIMIT: usize = 50;

/// Invisible, but not a space: what follows it is no longer a mention, a reference or an address to GitHub.
const WORD_JOINER: char = '\u{2060}';

/// The text as one inline piece of GitHub Markdown: it stays in its table cell, heading or list item, and is shown
/// literally, without raw HTML, formatting, mention, issue or commit reference, link, emoji code or formula.
///
/// Character references alone would not do: GitHub looks for mentions, references and addresses in the rendered
/// text. So an invisible word joiner splits what would be one.
pub fn for_markdown(text: &str, limit: usize) -> String {
    literal(&clean(text, limit))
}

/// The same for a sentence of ours, in which backticks set code: what stands between two of them is shown as code, and
/// where one has no partner all are shown literally.
pub fn for_markdown_with_code(text: &str, limit: usize) -> String {
    // Spaces at the ends would go, and without a word between them the backticks would be text.
    with_code(&clean(text, limit), literal, |piece| code(piece.trim()))
}

/// Clean text in which what stands between two backticks is set as code; where one has no partner all is shown literally.
fn with_code(text: &str, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return plain(text);
    }
    let set = |(index, piece): (usize, &str)| match index.is_multiple_of(2) {
        true => plain(piece),
        false => code(piece),
    };
    pieces.into_iter().enumerate().map(set).collect()
}

/// Clean text, escaped.
fn literal(cleaned: &str) -> String {
    let mut escaped = String::with_capacity(cleaned.len() * 2);
    let parts_of_commits = within_commits(cleaned);
    let mut characters = cleaned.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let before = &cleaned.as_bytes()[..index];
        let next = characters.peek().map(|(_, next)| next);
        let needs_backslash = match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '!' => true,
            // A numbered list at the start.
            '.' | ')' if before.iter().all(u8::is_ascii_digit) => {
                index > 0 && next.is_none_or(|next| *next == ' ')
            }
            // A list or an underline at the start.
            '-' | '+' | '=' => index == 0,
            _ => false,
        };
        if needs_backslash {
            escaped.push('\\');
        }
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // A table is cut at its pipes before anything else is read, so a backslash is not enough everywhere.
            '|' => escaped.push_str("&#124;"),
            // GitHub's documented way to write a dollar that opens no formula; GitLab wants the reference besides.
            '$' => escaped.push_str("<span>&#36;</span>"),
            _ => escaped.push(character),
        }
        let begins_reference = match character {
            _ if is_reference(character, next) => true,
            // `http://`, `mailto:`, `:tada:`
            ':' => next != Some(&' '),
            // `www.`
            'w' | 'W' => next == Some(&'.'),
            // `GH-12`, `GL-12`
            '-' | '+' | '=' => matches!(before, [.., b'g' | b'G', b'h' | b'H' | b'l' | b'L']),
            _ => parts_of_commits.contains(&index),
        };
        if begins_reference {
            escaped.push(WORD_JOINER);
        }
    }
    escaped
}

/// The same, set as code: for names of jobs, instances and paths.
pub fn as_code(text: &str, limit: usize) -> String {
    code(&clean(text, limit))
}

fn code(cleaned: &str) -> String {
    // Within backticks all is literal but these; a plain name stays readable in the raw text.
    if cleaned.is_empty() || cleaned.contains(['`', '|']) {
        format!("<code>{}</code>", literal(cleaned))
    } else {
        format!("`{cleaned}`")
    }
}

/// The text within a tag where GitHub reads HTML and no Markdown: nothing in it is a tag, a mention or a reference.
pub fn for_github_html(text: &str, limit: usize) -> String {
    let escaped = for_title(text, limit).replace('&', "&amp;");
    escaped.replace('<', "&lt;").replace('>', "&gt;")
}

/// The text within the quotes of a Mermaid chart: letters, digits, dots and hyphens; whatever else there is becomes a space.
pub fn for_chart(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let shown = |c| if is_plain(c) { c } else { ' ' };
    let name: String = text.chars().take(CHART_LIMIT).map(shown).collect();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text for the title of an issue, which shows no formatting: nothing in it is a mention or a reference.
pub fn for_title(text: &str, limit: usize) -> String {
    let mut title = String::new();
    let cleaned = clean(text, limit);
    let mut characters = cleaned.chars().peekable();
    while let Some(character) = characters.next() {
        title.push(character);
        if is_reference(character, characters.peek()) {
            title.push(WORD_JOINER);
        }
    }
    title
}

/// Whether a sign begins a mention or a reference before what follows: `@user`, `#12`, and GitLab's `!12`, `~label`, `%milestone`,
/// `&12` and `$12`. <https://docs.gitlab.com/user/markdown/#gitlab-specific-references>
fn is_reference(sign: char, next: Option<&char>) -> bool {
    let is_named = next.is_some_and(|next| next.is_alphanumeric() || "_-\"".contains(*next));
    "@#".contains(sign) || "!~%&$".contains(sign) && is_named
}

/// The text as a piece of one terminal line: no escape sequence reaches the terminal, and no workflow command the
/// runner of GitHub Actions, which reads what a step prints.
pub fn for_terminal(text: &str, limit: usize) -> String {
    without_commands(&clean(text, limit))
}

/// Lines for a terminal with their spaces kept: an excerpt of a file with a mark below.
pub fn lines_for_terminal(text: &str, limit: usize) -> impl Iterator<Item = String> {
    let lines = text.lines();
    lines.map(move |line| without_commands(&clean_line(line, limit)))
}

/// Text of several lines as a fenced block, with its spaces kept: an excerpt of a file with a mark below. At most `lines`
/// lines of `limit` characters; what is left out is counted.
///
/// GitHub looks for nothing in a block, so only its end must not come from within: the fence is longer than any run of
/// backticks inside.
pub fn as_block(text: &str, limit: usize, lines: usize) -> String {
    let shown = excerpt(text, limit, lines);
    let runs = shown.iter().flat_map(|line| line.split(|c| c != '`'));
    let longest = runs.map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", shown.join("\n"))
}

/// Markdown in which no line is a quick action of GitLab's, such as `/merge`, also none in a block of code, which old versions do
/// not know by its fence: such a line begins with an invisible word joiner.
/// <https://docs.gitlab.com/user/project/quick_actions/>
pub fn without_quick_actions(text: &str) -> String {
    let guarded = |line: &str| match line.trim_start().starts_with('/') {
        true => format!("{WORD_JOINER}{line}"),
        false => line.to_owned(),
    };
    text.split_inclusive(['\n', '\r']).map(guarded).collect()
}

/// At most `lines` visible lines with their spaces, and a last one that counts those left out.
fn excerpt(text: &str, limit: usize, lines: usize) -> Vec<String> {
    let mut all = text.lines();
    let shown = all.by_ref().take(lines);
    let shown = shown.map(|line| clean_line(line, limit));
    let mut shown: Vec<String> = shown.collect();
    let further = all.count();
    if further > 0 {
        shown.push(format!("… {further} more lines"));
    }
    shown
}

/// The text as a spreadsheet's cell: what a program would read as a formula is set off by an apostrophe.
/// Quoting is the CSV writer's work.
pub fn for_spreadsheet(text: &str, limit: usize) -> String {
    let text = clean(text, limit);
    if text.starts_with(['=', '+', '-', '@']) {
        format!("'{text}")
    } else {
        text
    }
}

/// One line of visible text, for what escapes it.
pub fn clean(text: &str, limit: usize) -> String {
    let visible = visible(text, limit);
    let words = Vec::from_iter(visible.split_whitespace());
    shorten(&redact(&words.join(" ")), limit)
}

/// The same with as many spaces as there are.
fn clean_line(line: &str, limit: usize) -> String {
    let visible = visible(line, limit);
    let spaced = visible.trim_end().replace(char::is_whitespace, " ");
    shorten(&redact(&spaced), limit)
}

/// Marks that stand on the character before them, of any script; the marks of single scripts cannot be heaped as high.
const MARKS: &str = r"[\x{300}-\x{36f}\x{483}-\x{489}\x{1ab0}-\x{1aff}\x{1dc0}-\x{1dff}\x{20d0}-\x{20ff}\x{fe20}-\x{fe2f}]";

/// Drops escape sequences, what cannot be seen, and marks heaped on one character beyond what any script needs.
fn visible(text: &str, limit: usize) -> String {
    // Nothing far beyond the limit can be shown, and a log line may be a gigabyte.
    let reach = limit.saturating_mul(8).max(4096);
    let reached: String = text.chars().take(reach).collect();
    let is_seen = |c: &char| c.is_whitespace() || !c.is_control() && !is_invisible(*c);
    let seen = without_control_sequences(&reached);
    let seen: String = seen.chars().filter(is_seen).collect();
    let heaped = pattern!(&format!("({MARKS}{{3}}){MARKS}+"));
    heaped.replace_all(&seen, "$1").into_owned()
}

/// The text as content of an HTML or SVG element, or within the quotes of an attribute.
pub fn for_html(text: &str, limit: usize) -> String {
    html(&clean(text, limit))
}

/// The same for a sentence of ours, in which backticks set code.
pub fn for_html_with_code(text: &str, limit: usize) -> String {
    let code = |piece: &str| format!("<code>{}</code>", html(piece.trim()));
    with_code(&clean(text, limit), html, code)
}

/// Text of several lines as content of an HTML element that keeps line ends and spaces: at most `lines` lines of `limit`
/// characters; what is left out is counted.
pub fn for_html_block(text: &str, limit: usize, lines: usize) -> String {
    html(&excerpt(text, limit, lines).join("\n"))
}

/// Clean text, escaped.
fn html(cleaned: &str) -> String {
    let escaped = cleaned.replace('&', "&amp;").replace('<', "&lt;");
    let escaped = escaped.replace('>', "&gt;").replace('"', "&quot;");
    escaped.replace('\'', "&#39;")
}

/// At most `limit` characters, the last one an ellipsis where something is missing.
fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// The places of each sixth character of words of 7 and more hexadecimal digits, which GitHub would link to a commit.
fn within_commits(text: &str) -> HashSet<usize> {
    let words = pattern!("[0-9A-Za-z]{7,}").find_iter(text);
    let is_id = |word: &Range<usize>| text[word.clone()].bytes().all(|it| it.is_ascii_hexdigit());
    let ids = words.map(|word| word.range()).filter(is_id);
    ids.flat_map(|id| (id.start + 5..id.end - 1).step_by(6))
        .collect()
}

#[cfg(test)]
mod tests;
