//! What a spec means, what is refused or remarked, and the words for it.
//!
//! A file of `cases` holds changes of a spec of `testdata`, a block each: the text behind `-` gives way to that behind `+`, `&` leads
//! to another change, and what is behind `>` goes to the end. The snapshot of the file shows what is said of each; of one that is
//! accepted, which fields have another meaning now.

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

fn said(base: &Spec, text: &str) -> String {
    let Ok(spec) = try_read(text) else {
        return problems(text).join("\n");
    };
    let (before, now) = (fields(base), fields(&spec));
    let lacks = |all: &str, line: &str| {
        !line.starts_with("hash: ") && !all.lines().any(|other| other == line)
    };
    let gone = before.lines().filter(|line| lacks(&now, line));
    let new = now.lines().filter(|line| lacks(&before, line));
    let all: Vec<String> = std::iter::once("accepted".to_owned())
        .chain(gone.map(|line| format!("- {line}")))
        .chain(new.map(|line| format!("+ {line}")))
        .chain(remarks(&spec).iter().map(|it| format!("warning: {it}")))
        .collect();
    all.join("\n")
}

#[test]
fn each_change_of_a_spec_is_said_to_be_what_its_case_shows() {
    for (name, spec, changes) in CASES {
        let base = self::spec(spec);
        let blocks = changes.trim_end().split("\n\n");
        let shown =
            blocks.map(|block| format!("{block}\n{}\n", said(&base, &changed(spec, block))));
        let shown: Vec<String> = shown.collect();
        insta::assert_snapshot!(name, shown.join("\n"));
    }
}
