use super::*;

fn tree(text: &str) -> Node {
    parse(text.as_bytes()).unwrap()
}

fn problem(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().message
}

fn entries(text: &str) -> Vec<(String, Value, String)> {
    let Value::Mapping(entries) = tree(text).value else {
        panic!("a mapping")
    };
    entries
        .into_iter()
        .map(|(key, node)| (key.text, node.value, text[node.span].to_owned()))
        .collect()
}

#[test]
fn scalars_keep_their_text_and_place() {
    let number = |text: &str| Value::Number(text.to_owned());
    let text = |text: &str| Value::Text(text.to_owned());
    let found =
        entries("a: 0.10\nb: 'x y'\nc: yes\nd: true\ne:\nf: -1e3\n1: 50%\nü: \"ß\"\ng: 1.2.3");
    let expected = [
        ("a", number("0.10"), "0.10"),
        ("b", text("x y"), "'x y'"),
        ("c", text("yes"), "yes"),
        ("d", Value::Bool(true), "true"),
        ("e", Value::Null, ""),
        ("f", number("-1e3"), "-1e3"),
        ("1", text("50%"), "50%"),
        ("ü", text("ß"), "\"ß\""),
        ("g", text("1.2.3"), "1.2.3"),
    ];
    for (found, (key, value, written)) in found.iter().zip(&expected) {
        assert_eq!(
            (found.0.as_str(), &found.1, found.2.as_str()),
            (*key, value, *written)
        );
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn a_byte_order_mark_is_skipped_and_counted() {
    let Value::Mapping(entries) = tree("\u{feff}a: 1\na: 2").value else {
        panic!("a mapping")
    };
    // A key given twice is handed on twice.
    assert_eq!((entries.len(), entries[0].0.span.clone()), (2, 3..4));
}

#[test]
fn aliases_are_copies() {
    assert_eq!(
        entries("a: &x [1]\nb: *x")[1].1,
        Value::Sequence(vec![Node {
            value: Value::Number("1".to_owned()),
            span: 7..8
        }])
    );
}

#[test]
fn what_no_spec_needs_is_refused_by_name() {
    for (text, message) in [
        (
            "a: !!python/object x",
            "the tag `!!python/object` has no meaning in a spec",
        ),
        (
            "a: &x {b: 1}\nc: {<<: *x}",
            "merge keys are not read in a spec",
        ),
        ("? [a, b]\n: 1", "a key must be plain text"),
        (": 1", "a key is missing here"),
        ("a: 1\n---\nb: 2", "a second document starts here"),
        ("a: &x [*x]", "an alias is inside the value that it names"),
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("---\n", "the file is empty"),
        ("~", "the file is empty"),
        ("\u{feff}", "the file is empty"),
        (
            &"a".repeat(MAX_SPEC_BYTES + 1),
            "the file is larger than 1 MiB",
        ),
    ] {
        assert_eq!(problem(text), message, "{text:?}");
    }
}

#[test]
fn syntax_errors_have_a_place() {
    for text in [
        "a:\n\tb: 1",
        "a:\n  b: 1\n \tc: 2",
        "a: [1, 2",
        "a: 'x",
        "a: b: c",
        "a: }",
        "a: *nowhere",
        "a: @x",
        "- a\nb: 1",
    ] {
        let problem = parse(text.as_bytes()).unwrap_err();
        assert!(
            problem.message.starts_with("this is not YAML: "),
            "{problem:?}"
        );
        assert!(problem.span.unwrap().end <= text.len());
    }
}

#[test]
fn bytes_that_are_not_utf8_are_named() {
    let problem = parse(b"a: 1\nb: \xff").unwrap_err();
    assert_eq!(problem.message, "byte 8 of the file is not UTF-8 (0xff)");
    let help = parse(b"\xff\xfea\0").unwrap_err().help;
    assert_eq!(
        help.as_deref(),
        Some("the file looks like UTF-16; save it as UTF-8")
    );
}

#[test]
fn an_alias_bomb_is_refused_before_it_grows() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let uses = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{uses}]\n");
    }
    assert_eq!(
        problem(&bomb),
        "the file holds far more values than a spec needs"
    );
    let text = "x".repeat(100_000);
    let uses = "*a, ".repeat(1000);
    let bomb = format!("a: &a {text}\nb: [{uses}]");
    assert_eq!(
        problem(&bomb),
        "the file holds far more values than a spec needs"
    );
}

#[test]
fn deep_nesting_is_refused_in_every_style() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(100_000),
    ] {
        let message = problem(&text);
        assert!(
            message == "nested deeper than 32 levels" || message.starts_with("this is not YAML"),
            "{message}"
        );
    }
    let blocks: String = (0..200)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    assert_eq!(problem(&blocks), "nested deeper than 32 levels");
    // Through aliases a tree may be deeper; the budget of values bounds that.
    let mut stacked = "a0: &a0 [[[[[[[[x]]]]]]]]\n".to_owned();
    for level in 1..10 {
        stacked += &format!("a{level}: &a{level} [[[[[[[[*a{}]]]]]]]]\n", level - 1);
    }
    assert!(parse(stacked.as_bytes()).is_ok());
}
