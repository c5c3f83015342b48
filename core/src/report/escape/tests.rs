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
    options.extension.math_dollars = true;
    options.extension.alerts = true;
    options
}

/// The kinds of all nodes but text, code and the HTML that escaping writes, and the text, as a parser with GitHub's extensions
/// reads the document.
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
        let names = pair[1].is_alphanumeric() || "_-\"".contains(pair[1]);
        assert!(!("!~%&$".contains(pair[0]) && names), "{text:?}");
    }
    let lower = text.to_lowercase();
    assert!(!lower.contains("www."), "{text:?}");
    assert!(
        !lower.contains("gh-1") && !lower.contains("gl-1"),
        "{text:?}"
    );
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
    let attacks: Vec<String> = serde_json::from_str(include_str!("attacks.json")).unwrap();
    for hostile in attacks {
        assert_harmless(&hostile);
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
fn an_account_id_is_known_whatever_parts_it() {
    assert_eq!(clean("1234567\u{200b}89012", LINE_LIMIT), "…9012");
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
    let excerpt = "  7 |     memory:  9\n    |              ^\u{1b}[31m a number\u{202e} is wanted";
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
fn no_line_is_a_quick_action() {
    let text = "text /a\n/merge\n```text\n  /approve\n```\n| /b |\r/close";
    let guarded = without_quick_actions(text);
    let begins = |line: &str| line.trim_start().starts_with('/');
    assert!(!guarded.split(['\n', '\r']).any(begins), "{guarded:?}");
    assert_eq!(guarded.replace(WORD_JOINER, ""), text);
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
        "5 runs, &lt;1% @\u{2060}everyone #\u{2060}1 &amp;\u{2060}lt;"
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
