//! What is refused or remarked, and the words for it.
//!
//! A file of `cases` holds changes of a spec of `testdata`, a block each: the text behind `-` gives way to that behind `+`, `&` leads
//! to another change, and what is behind `>` goes to the end. The snapshot of the file shows what is said of each.

use super::*;

/// Name, spec and changes.
const CASES: [(&str, &str, &str); 12] = [
    ("aws_limits", EXAMPLE, include_str!("cases/aws_limits.txt")),
    ("channels", EXAMPLE, include_str!("cases/channels.txt")),
    (
        "counts",
        include_str!("testdata/counts.yml"),
        include_str!("cases/counts.txt"),
    ),
    ("doubts", EXAMPLE, include_str!("cases/doubts.txt")),
    (
        "groups",
        include_str!("testdata/groups.yml"),
        include_str!("cases/groups.txt"),
    ),
    (
        "launcher",
        include_str!("testdata/launcher.yml"),
        include_str!("cases/launcher.txt"),
    ),
    ("local", LOCAL, include_str!("cases/local.txt")),
    ("names", EXAMPLE, include_str!("cases/names.txt")),
    ("paths", EXAMPLE, include_str!("cases/paths.txt")),
    (
        "program",
        include_str!("testdata/program.yml"),
        include_str!("cases/program.txt"),
    ),
    ("ranges", EXAMPLE, include_str!("cases/ranges.txt")),
    ("values", EXAMPLE, include_str!("cases/values.txt")),
];

/// The whole spec of a block.
fn changed(spec: &str, block: &str) -> String {
    let mut text = spec.to_owned();
    let behind = |lines: &str, sign: char| {
        let lines = lines.lines().filter_map(|line| line.strip_prefix(sign));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<&str>>().join("\n")
    };
    for change in block.split("\n&\n") {
        let (old, new) = (behind(change, '-'), behind(change, '+'));
        assert!(text.contains(&old), "{old}\nis not in\n{text}");
        if !old.is_empty() {
            text = text.replacen(&old, &new, 1);
        }
    }
    text + &behind(block, '>') + "\n"
}

fn said(text: &str) -> String {
    match try_read(text) {
        Err(_) => problems(text).join("\n"),
        Ok(spec) => {
            let warnings = remarks(&spec).into_iter();
            let warnings = warnings.map(|warning| format!("warning: {warning}"));
            let accepted = ["accepted".to_owned()].into_iter();
            let all: Vec<String> = accepted.chain(warnings).collect();
            all.join("\n")
        }
    }
}

#[test]
fn each_change_of_a_spec_is_said_to_be_what_its_case_shows() {
    for (name, spec, changes) in CASES {
        let blocks = changes.trim_end().split("\n\n");
        let shown = blocks.map(|block| format!("{block}\n{}\n", said(&changed(spec, block))));
        let shown: Vec<String> = shown.collect();
        insta::assert_snapshot!(name, shown.join("\n"));
    }
}
