//! Hostile text made harmless. Names, log lines and spec text come from a pull request; each passes through here once,
//! on its way into Markdown, a terminal or a spreadsheet.
//!
//! All ways begin with the same cleaning: one line, no control characters, no invisible or direction-changing
//! characters, account ids and ARNs shortened, at most `limit` characters.

use crate::secret::mask_shapes;
use crate::secret::unseen::{is_invisible, skip_control_sequence, skip_escape_sequence};

/// As long as a name of a job or an instance may be shown.
pub const NAME_LIMIT: usize = 120;

/// As long as a sentence, or the last line of a failed canary, may be shown.
pub const LINE_LIMIT: usize = 300;

/// As long as an explanation may be that names an instance here and there.
pub const PARAGRAPH_LIMIT: usize = 1000;

/// A longer name would leave a chart.
const CHART_LIMIT: usize = 50;

const ACCOUNT_ID_DIGITS: usize = 12;

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
    let cleaned = clean(text, limit);
    let pieces: Vec<&str> = cleaned.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return literal(&cleaned);
    }
    let mut escaped = String::with_capacity(cleaned.len() * 2);
    for (index, piece) in pieces.into_iter().enumerate() {
        if index.is_multiple_of(2) {
            escaped.push_str(&literal(piece));
        } else {
            // Spaces at the ends would go, and without a word between them the backticks would be text.
            escaped.push_str(&code(piece.trim()));
        }
    }
    escaped
}

/// Clean text, escaped.
fn literal(cleaned: &str) -> String {
    let characters: Vec<char> = cleaned.chars().collect();
    let mut escaped = String::with_capacity(characters.len() * 2);
    let hex_runs = commit_like(&characters);
    for (index, &character) in characters.iter().enumerate() {
        let next = characters.get(index + 1).copied();
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // A table is cut at its pipes before anything else is read, so a backslash is not enough everywhere.
            '|' => escaped.push_str("&#124;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(character);
            }
            // GitHub's documented way to write a dollar that opens no formula.
            '$' => escaped.push_str("<span>$</span>"),
            '@' | '#' => {
                escaped.push(character);
                escaped.push(WORD_JOINER);
            }
            // `http://`, `mailto:`, `:tada:`
            ':' => {
                escaped.push(':');
                if next != Some(' ') {
                    escaped.push(WORD_JOINER);
                }
            }
            // A numbered list at the start.
            '.' | ')' => {
                let ends_a_number =
                    index > 0 && characters[..index].iter().all(char::is_ascii_digit);
                if ends_a_number && next.is_none_or(|next| next == ' ') {
                    escaped.push('\\');
                }
                escaped.push(character);
            }
            // `www.`
            'w' | 'W' => {
                escaped.push(character);
                if next == Some('.') {
                    escaped.push(WORD_JOINER);
                }
            }
            // A list or an underline at the start; `GH-12` elsewhere.
            '-' | '+' | '=' => {
                if index == 0 {
                    escaped.push('\\');
                }
                escaped.push(character);
                if index >= 2 && is_gh(&characters[index - 2..index]) {
                    escaped.push(WORD_JOINER);
                }
            }
            _ => escaped.push(character),
        }
        if hex_runs[index] {
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
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let name: String = text
        .chars()
        .take(CHART_LIMIT)
        .map(|c| if plain(c) { c } else { ' ' })
        .collect();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text for the title of an issue, which shows no formatting: nothing in it is a mention or a reference.
pub fn for_title(text: &str, limit: usize) -> String {
    let mut title = String::new();
    for character in clean(text, limit).chars() {
        title.push(character);
        if matches!(character, '@' | '#') {
            title.push(WORD_JOINER);
        }
    }
    title
}

/// The text as a piece of one terminal line: no escape sequence reaches the terminal, and no workflow command the
/// runner of GitHub Actions, which reads what a step prints.
pub fn for_terminal(text: &str, limit: usize) -> String {
    without_commands(&clean(text, limit))
}

/// Lines for a terminal with their spaces kept: an excerpt of a file with a mark below.
pub fn lines_for_terminal(text: &str, limit: usize) -> impl Iterator<Item = String> {
    text.lines().map(move |line| {
        let visible = visible(line, reach(limit), Spaces::Kept);
        without_commands(&shorten(&redact(&visible), limit))
    })
}

/// Nothing in the line is a workflow command.
pub(super) fn without_commands(text: &str) -> String {
    let text = text.replace("##[", "## [");
    let mut shown = String::with_capacity(text.len());
    let mut at_word_start = true;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        shown.push(character);
        // `::error::` counts at the start of a line, and wrapping may put any word there.
        let opens_command = at_word_start && character == ':' && rest.peek() == Some(&':');
        if opens_command {
            shown.push(' ');
        }
        at_word_start = character == ' ' || opens_command;
    }
    shown
}

/// Text of several lines as a fenced block, with its spaces kept: an excerpt of a file with a mark below. At most `lines`
/// lines of `limit` characters; what is left out is counted.
///
/// GitHub looks for nothing in a block, so only its end must not come from within: the fence is longer than any run of
/// backticks inside.
pub fn as_block(text: &str, limit: usize, lines: usize) -> String {
    let mut all = text.lines();
    let mut shown: Vec<String> = all
        .by_ref()
        .take(lines)
        .map(|line| {
            let visible = visible(line, reach(limit), Spaces::Kept);
            shorten(&redact(&visible), limit)
        })
        .collect();
    let further = all.count();
    if further > 0 {
        shown.push(format!("… {further} more lines"));
    }
    let longest = shown.iter().map(|line| backtick_run(line)).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", shown.join("\n"))
}

fn backtick_run(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
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

/// One line of visible text.
fn clean(text: &str, limit: usize) -> String {
    let visible = visible(text, reach(limit), Spaces::Single);
    shorten(&redact(&visible), limit)
}

/// Nothing far beyond the limit can be shown, and a log line may be a gigabyte.
fn reach(limit: usize) -> usize {
    limit.saturating_mul(8).max(4096)
}

/// What becomes of white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spaces {
    /// One space, and none at the start.
    Single,
    /// As many as there are.
    Kept,
}

/// Drops escape sequences, what cannot be seen, and marks heaped on one character beyond what any script needs; white
/// space of any kind becomes spaces.
fn visible(text: &str, reach: usize, spaces: Spaces) -> String {
    const MARKS_ON_ONE: usize = 3;
    let mut line = String::new();
    let mut marks = 0;
    let mut characters = text.chars().take(reach).peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape_sequence(&mut characters),
            '\u{9b}' => skip_control_sequence(&mut characters),
            _ if character.is_whitespace() => {
                let is_wanted = !line.is_empty() && !line.ends_with(' ');
                if spaces == Spaces::Kept || is_wanted {
                    line.push(' ');
                }
                marks = 0;
            }
            _ if character.is_control() || is_invisible(character) => {}
            _ if is_combining(character) => {
                marks += 1;
                if marks <= MARKS_ON_ONE {
                    line.push(character);
                }
            }
            _ => {
                marks = 0;
                line.push(character);
            }
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// JSON in which every character can be seen: control characters, invisible ones and odd line ends become `\uXXXX`, which
/// means the same. Such characters stand in strings only, but for the line ends of the layout.
pub fn for_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        let is_layout = character == '\n';
        let is_line_end = matches!(character, '\u{2028}' | '\u{2029}');
        if !is_layout && (character.is_control() || is_invisible(character) || is_line_end) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Marks that stand on the character before them, of any script; the marks of single scripts cannot be heaped as high.
fn is_combining(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

/// `arn:aws:iam::123456789012:role/Trainer` becomes `arn:…:role/Trainer`, and twelve digits by themselves `…9012`:
/// masking covers a job's log, not what is posted. What is a secret by its look becomes stars.
pub(super) fn redact(text: &str) -> String {
    let text = mask_shapes(text);
    let text = text.as_str();
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("arn:aws") {
        shown.push_str(&rest[..start]);
        let arn = &rest[start..];
        let end = arn
            .find(|c: char| c.is_whitespace() || "\"'`,;()<>[]{}|".contains(c))
            .unwrap_or(arn.len());
        // arn:partition:service:region:account:resource
        match arn[..end].splitn(6, ':').nth(5) {
            Some(resource) => {
                shown.push_str("arn:…:");
                shown.push_str(resource);
            }
            None => shown.push_str(&arn[..end]),
        }
        rest = &arn[end..];
    }
    shown.push_str(rest);
    shorten_account_ids(&shown)
}

/// Twelve digits, or three groups of four with hyphens as AWS's console writes them; not those within a hexadecimal key.
fn shorten_account_ids(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let is_part = |c: char| c.is_ascii_digit() || c == '-';
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        shown.push_str(&rest[..start]);
        let tail = &rest[start..];
        let end = tail.find(|c| !is_part(c)).unwrap_or(tail.len());
        let run = &tail[..end];
        let groups: Vec<&str> = run.split('-').collect();
        let last = groups.len() - 1;
        let is_in_a_key = |index| {
            let before = if index == 0 {
                word_at_end(&rest[..start])
            } else {
                ""
            };
            let after = if index == last {
                word_at_start(&tail[end..])
            } else {
                ""
            };
            let mut around = before.chars().chain(after.chars()).peekable();
            around.peek().is_some() && around.all(|c| c.is_ascii_hexdigit())
        };
        let mut index = 0;
        while index < groups.len() {
            if index > 0 {
                shown.push('-');
            }
            let grouped = groups[index..].iter().take(3);
            if groups.len() - index >= 3 && grouped.clone().all(|group| group.len() == 4) {
                shown.push('…');
                shown.push_str(groups[index + 2]);
                index += 3;
                continue;
            }
            match groups[index] {
                id if id.len() == ACCOUNT_ID_DIGITS && !is_in_a_key(index) => {
                    shown.push('…');
                    shown.push_str(&id[ACCOUNT_ID_DIGITS - 4..]);
                }
                other => shown.push_str(other),
            }
            index += 1;
        }
        rest = &tail[end..];
    }
    shown.push_str(rest);
    shown
}

fn word_at_end(text: &str) -> &str {
    &text[text
        .trim_end_matches(|c: char| c.is_ascii_alphanumeric())
        .len()..]
}

fn word_at_start(text: &str) -> &str {
    &text[..text.len()
        - text
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
            .len()]
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

fn is_gh(characters: &[char]) -> bool {
    matches!(characters, ['g' | 'G', 'h' | 'H'])
}

/// True at each sixth character of a word of 7 to 40 hexadecimal digits, which GitHub would link to a commit.
fn commit_like(characters: &[char]) -> Vec<bool> {
    let mut split = vec![false; characters.len()];
    let mut start = 0;
    for end in 0..=characters.len() {
        if characters.get(end).is_some_and(char::is_ascii_alphanumeric) {
            continue;
        }
        let word = &characters[start..end];
        if word.len() >= 7 && word.iter().all(char::is_ascii_hexdigit) {
            for index in (start + 5..end.saturating_sub(1)).step_by(6) {
                split[index] = true;
            }
        }
        start = end + 1;
    }
    split
}

#[cfg(test)]
mod tests {
    use comrak::nodes::NodeValue;
    use comrak::{Arena, Options, parse_document};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    /// What stands around an escaped piece in a report.
    const PLACES: [(&str, &str); 5] = [
        ("| a | b | c |\n|:--|:--|--:|\n| 1 | ", " | 3 |\n"),
        ("### ", "\n\nnext\n"),
        ("- ", "\n- next\n"),
        ("text ", " text\n"),
        ("", "\n\n- next\n"),
    ];

    fn github() -> Options<'static> {
        let mut options = Options::default();
        options.extension.strikethrough = true;
        options.extension.table = true;
        options.extension.autolink = true;
        options.extension.tasklist = true;
        options.parse.tasklist_in_table = true;
        options.extension.footnotes = true;
        options.extension.math_code = true;
        options.extension.alerts = true;
        options
    }

    /// The kinds of all nodes but text, code and the HTML that escaping writes, and the text, as a parser with GitHub's extensions reads the document.
    fn read(document: &str) -> (Vec<String>, String) {
        let arena = Arena::new();
        let mut kinds = Vec::new();
        let mut text = String::new();
        let ours = ["<span>", "</span>", "<code>", "</code>"];
        for node in parse_document(&arena, document, &github()).descendants() {
            match &node.data().value {
                NodeValue::Text(piece) => text.push_str(piece),
                NodeValue::Code(code) => text.push_str(&code.literal),
                NodeValue::HtmlInline(tag) if ours.contains(&tag.as_str()) => {}
                other => {
                    kinds.push(format!("{other:?}"));
                    text.push('\n');
                }
            }
        }
        (kinds, text)
    }

    /// The escaped piece is shown literally, and nothing around it becomes anything else.
    fn assert_harmless(hostile: &str) {
        assert_harmless_with_code(hostile);
        let escaped = for_markdown(hostile, LINE_LIMIT);
        let cleaned = clean(hostile, LINE_LIMIT);
        assert!(!escaped.contains(['\n', '\r']));
        for (before, after) in PLACES {
            if cleaned.is_empty() {
                continue;
            }
            let (expected_kinds, around) = read(&format!("{before}PIECE{after}"));
            let (kinds, text) = read(&format!("{before}{escaped}{after}"));
            assert_eq!(kinds, expected_kinds, "{escaped:?} after {before:?}");
            let shown = text.replace(WORD_JOINER, "");
            assert_eq!(shown, around.replace("PIECE", &cleaned), "{escaped:?}");
            assert_no_reference(&text);

            // GitHub looks for no references in code.
            let code = as_code(hostile, LINE_LIMIT);
            let (kinds, text) = read(&format!("{before}{code}{after}"));
            assert_eq!(kinds, expected_kinds, "{code:?} after {before:?}");
            let shown = text.replace(WORD_JOINER, "");
            assert_eq!(shown, around.replace("PIECE", &cleaned), "{code:?}");
        }
    }

    /// Backticks may set code, and nothing else may become anything.
    fn assert_harmless_with_code(hostile: &str) {
        let escaped = for_markdown_with_code(hostile, LINE_LIMIT);
        if escaped.is_empty() {
            return;
        }
        for (before, after) in PLACES {
            let (expected_kinds, _) = read(&format!("{before}PIECE{after}"));
            let (kinds, _) = read(&format!("{before}{escaped}{after}"));
            assert_eq!(kinds, expected_kinds, "{escaped:?} after {before:?}");
        }
    }

    /// What GitHub finds in rendered text: mentions, issues, addresses, emoji codes.
    fn assert_no_reference(text: &str) {
        let characters: Vec<char> = text.chars().collect();
        for pair in characters.windows(2) {
            let joins = pair[1].is_alphanumeric() || "/_+-".contains(pair[1]);
            assert!(!("@#:".contains(pair[0]) && joins), "{text:?}");
        }
        let lower = text.to_lowercase();
        assert!(!lower.contains("www."), "{text:?}");
        assert!(!lower.contains("gh-1"), "{text:?}");
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            let commit = word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(!commit, "{word:?} in {text:?}");
        }
    }

    #[test]
    fn a_name_is_set_as_code() {
        assert_eq!(as_code("churn", NAME_LIMIT), "`churn`");
        assert_eq!(as_code("a|`b", NAME_LIMIT), "<code>a&#124;\\`b</code>");
    }

    #[test]
    fn known_attacks_are_shown_literally() {
        for hostile in [
            "a | b || c",
            r"a \| b \",
            "<img src=x onerror=alert(1)> <!-- x --> </details></td>",
            "@everyone @org/team mail a@b.example #12 GH-12 owner/repo#3 owner/repo@0123abc",
            "[click](https://evil.example) ![x](https://evil.example/x.png) https://evil.example www.evil.example",
            "`code` ``` **bold** __bold__ ~~gone~~ *it* _it_ # heading",
            "# heading",
            "- item",
            "1. item",
            "12) item",
            "> quote",
            "---",
            "===",
            "| --- |",
            "[ ] task",
            "[x]: https://evil.example",
            "[^1] [!NOTE]",
            "&lt;b&gt; &#64;everyone &copy;",
            "$x^2$ $$x$$ $`x`$",
            ":tada: :x: :+1:",
            "0123456789abcdef0123456789abcdef01234567 deadbee",
            "two\nlines\r\n\n| 1 | 2 |\n",
            "mailto:a@b.example xmpp:a@b.example ftp://x.example",
            "ends with a backslash \\",
            "WWW.EVIL.EXAMPLE gh-1",
            "@org/team,@a-b. (@x) @@x GH-1,GH-22 owner/repo#1,#2 owner/repo@0123abc0123abc0123abc0123abc0123abc0123",
            "&commat;everyone &#x40;everyone &num;1 &lt;img&gt; &amp;commat;x",
            "https://xn--evl-5na.example HTTPS://X.EXAMPLE <https://x.example> <a@b.example> data:text/html,x",
            "text[^1] [^1]: note ^[inline] [[wiki]] [a][b] [b]: x",
            "$`x`$ $$\nx\n$$ \\(x\\) `$x$` $$$",
            "one\rtwo\u{2028}three\u{2029}four\u{85}five\u{b}six\u{c}seven",
            "@\u{200d}everyone #\u{2060}1 ht\u{feff}tps://x.example w\u{ad}ww.x.example",
            "<!-- canary-gate v1 spec=x order=9999 --> <!--> ]]> <![CDATA[x]]> <?php ?>",
            "``` ` `` ```mermaid ~~~",
            "\u{1f4a9}\u{10ffff}\u{fffd} \u{e000}",
            "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
            "- [x] done",
            "+ [ ] open",
            "|",
            "\\|",
            "\\\\",
            "<details><summary>x</summary>",
            ":::note",
            "term\n: definition",
        ] {
            assert_harmless(hostile);
        }
    }

    #[test]
    fn what_is_not_seen_is_dropped() {
        for (hostile, shown) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}2Jcleared", "cleared"),
            ("\u{1b}]0;title\u{7}text", "text"),
            (
                "\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "link",
            ),
            ("\u{1b}(Btext\u{1b}cmore", "textmore"),
            ("abc\u{202e}dcba\u{2066}", "abcdcba"),
            ("a\u{200b}b\u{feff}c\u{e0041}", "abc"),
            ("a\0b\u{8}c", "abc"),
            ("  one\t two\u{2028}three\u{a0} ", "one two three"),
            ("\u{1b}]never ends", ""),
            (
                "Z\u{300}\u{301}\u{302}\u{303}\u{304}algo",
                "Z\u{300}\u{301}\u{302}algo",
            ),
        ] {
            assert_eq!(for_terminal(hostile, LINE_LIMIT), shown, "{hostile:?}");
        }
    }

    #[test]
    fn account_ids_and_arns_are_shortened() {
        for (hostile, shown) in [
            (
                "cannot assume arn:aws:iam::123456789012:role/Trainer now",
                "cannot assume arn:…:role/Trainer now",
            ),
            ("account 123456789012.", "account …9012."),
            ("1234567\u{200b}89012", "…9012"),
            ("account 1234-5678-9012, see", "account …9012, see"),
            ("1234-5678 12345-6789-0123", "1234-5678 12345-6789-0123"),
            (
                "2026-11-21 sagemaker-us-east-1-123456789012",
                "2026-11-21 sagemaker-us-east-1-…9012",
            ),
            ("1234567890123", "1234567890123"),
            (
                "canary-504606665836b3b2-a6f8504606665836.json",
                "canary-504606665836b3b2-a6f8504606665836.json",
            ),
            ("account504606665836x", "account…5836x"),
            ("arn:aws:", "arn:aws:"),
            ("arn:aws-cn:s3:::bucket, x", "arn:…:bucket, x"),
        ] {
            assert_eq!(clean(hostile, LINE_LIMIT), shown);
        }
    }

    #[test]
    fn backticks_of_a_sentence_of_ours_set_code() {
        for (text, shown) in [
            ("write one under `prices`", "write one under `prices`"),
            ("`a*b` and `c|d`", "`a*b` and <code>c&#124;d</code>"),
            ("one ` alone *x*", "one \\` alone \\*x\\*"),
            ("`` @x ``", "<code></code> @\u{2060}x <code></code>"),
            ("` x `", "`x`"),
            ("- `<b>`", "\\- `<b>`"),
        ] {
            assert_eq!(for_markdown_with_code(text, LINE_LIMIT), shown);
        }
    }

    #[test]
    fn lines_for_a_terminal_keep_their_spaces() {
        let lines: Vec<String> =
            lines_for_terminal("  7 |   x\u{1b}[31m\n    |  ^ \n  ::error::x", 80).collect();
        assert_eq!(lines, ["  7 |   x", "    |  ^", "  : :error::x"]);
    }

    #[test]
    fn a_block_keeps_its_spaces_and_cannot_be_left() {
        let excerpt =
            "  7 |     memory:  9\n    |              ^\u{1b}[31m a number\u{202e} is wanted";
        assert_eq!(
            as_block(excerpt, 80, 9),
            "```text\n  7 |     memory:  9\n    |              ^ a number is wanted\n```"
        );
        for hostile in [
            "```\n<img src=x>\n@everyone",
            "~~~~\n````` x\n`````",
            "a\r```\rb",
            "</details>\n\n# x",
            "",
        ] {
            let block = as_block(hostile, 80, 9);
            let arena = Arena::new();
            let document = format!("before\n\n{block}\n\nafter\n");
            let kinds: Vec<String> = parse_document(&arena, &document, &github())
                .children()
                .map(|node| node.data().value.xml_node_name().to_owned())
                .collect();
            assert_eq!(kinds, ["paragraph", "code_block", "paragraph"], "{block}");
        }
        let long = "x\n".repeat(100);
        let block = as_block(&long, 80, 9);
        assert_eq!(block.lines().count(), 12);
        assert!(block.contains("… 91 more lines"), "{block}");
        assert_eq!(as_block(&"y".repeat(500), 80, 9).chars().count(), 80 + 12);
    }

    #[test]
    fn long_text_is_cut_with_a_sign() {
        assert_eq!(clean(&"x".repeat(1000), 10), "xxxxxxxxx…");
        assert_eq!(clean("exactly 10", 10), "exactly 10");
    }

    #[test]
    fn no_workflow_command_is_printed() {
        assert_eq!(
            for_terminal("::error::x std::vec", 99),
            ": :error::x std::vec"
        );
        assert_eq!(for_terminal("x ##[add-mask]y", 99), "x ## [add-mask]y");
    }

    #[test]
    fn no_name_ends_a_chart_or_its_quotes() {
        for (hostile, shown) in [
            ("a\"]\n```\n<img src=x>", "a img src x"),
            ("%%{init: {}}%% click x href", "init click x href"),
            (
                "data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge",
                "data 1x ml.c5.9xlarge dnn 1x ml.p3.2xlarge",
            ),
            ("\u{202e}#quot;é", "quot"),
        ] {
            assert_eq!(for_chart(hostile), shown);
        }
    }

    #[test]
    fn within_a_tag_nothing_is_a_tag_a_mention_or_a_reference() {
        assert_eq!(
            for_github_html("5 runs, <1% @everyone #1 &lt;", 99),
            "5 runs, &lt;1% @\u{2060}everyone #\u{2060}1 &amp;lt;"
        );
    }

    #[test]
    fn a_formula_becomes_text() {
        assert_eq!(for_spreadsheet("=HYPERLINK(1)", 99), "'=HYPERLINK(1)");
        assert_eq!(for_spreadsheet("\t-1+1", 99), "'-1+1");
        assert_eq!(for_spreadsheet("churn", 99), "churn");
    }

    fn hostile_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => r"[ -~]{0,12}",
            2 => r"[|<>&@#\\`*_\[\]()~$!:./+=w -]{0,12}",
            1 => any::<String>(),
            1 => prop::sample::select(vec![
                "http://", "https://x.example", "www.", "\u{1b}[", "\n", "\n\n", "\n- ", "|", "\\", "@a", "#1", "a@b.example",
                "<b>", "-->", "1. ", "[x](y)", "$x$", "`", "\u{202e}", "0123abc", "GH-1", ":x:", "mailto:", "&#64;", "- ", "***",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    /// The same texts each time: a test should not fail by chance.
    fn many_times() -> ProptestConfig {
        ProptestConfig {
            cases: 2000,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(many_times())]

        #[test]
        fn whatever_comes_stays_one_literal_piece(hostile in hostile_text()) {
            assert_harmless(&hostile);
        }

        #[test]
        fn whatever_comes_a_terminal_gets_one_line_of_visible_text(hostile in hostile_text(), limit in 1_usize..80) {
            let shown = for_terminal(&hostile, limit);
            prop_assert!(!shown.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert!(!shown.split(' ').any(|word| word.starts_with("::")));
            prop_assert!(!shown.contains("##["));
            prop_assert!(clean(&hostile, limit).chars().count() <= limit);
        }
    }
}
