//! What is refused or remarked, and the words for it.
//!
//! A file of `cases` holds changes of a spec of `testdata`, a block each: the text behind `-` gives way to that behind `+`, `&` leads
//! to another change, and what is behind `>` goes to the end. The snapshot of the file shows what is said of each.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

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
            let not_yet = not_yet(&spec)
                .into_iter()
                .map(|it| format!("not yet: {it}"));
            let accepted = ["accepted".to_owned()].into_iter();
            let all: Vec<String> = accepted.chain(warnings).chain(not_yet).collect();
            all.join("\n")
        }
    }
}

#[test]
fn each_change_of_a_spec_is_said_to_be_what_its_case_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/spec/read/tests");
    let files = fs::read_dir(folder.join("cases")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut blocks = text.trim_end().split("\n\n");
        let base = blocks.next().unwrap().strip_prefix("on ").unwrap();
        let base = fs::read_to_string(folder.join(format!("testdata/{base}.yml"))).unwrap();
        let shown = blocks.map(|block| format!("{block}\n{}\n", said(&changed(&base, block))));
        let shown: Vec<String> = shown.collect();
        let name = file.file_stem().unwrap().to_string_lossy();
        insta::assert_snapshot!(name.to_string(), shown.join("\n"));
    }
}
