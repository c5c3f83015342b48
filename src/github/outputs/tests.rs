use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Runner {
    folder: tempfile::TempDir,
}

impl Runner {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A file as it was before.
    fn file(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("file");
        fs::write(&path, text).unwrap();
        path
    }
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// What the runner makes of such a file.
fn read_outputs(path: &Path) -> Vec<(String, String)> {
    let text = text_of(path);
    let mut lines = text.split_terminator('\n');
    let mut outputs = Vec::new();
    while let Some(line) = lines.next() {
        let (name, delimiter) = line.split_once("<<").unwrap();
        let value: Vec<&str> = lines
            .by_ref()
            .take_while(|line| *line != delimiter)
            .collect();
        outputs.push((name.to_owned(), value.join("\n")));
    }
    outputs
}

#[test]
fn outputs_are_appended_and_read_back() {
    let runner = Runner::new();
    let path = runner.file("");
    append_outputs(&path, &[("verdict", "exceeded"), ("cost-point", "63.1")], 1).unwrap();
    append_outputs(&path, &[("report", "two\nlines\n"), ("comment-url", "")], 2).unwrap();
    let read: Vec<(String, String)> = [
        ("verdict", "exceeded"),
        ("cost-point", "63.1"),
        ("report", "two\nlines\n"),
        ("comment-url", ""),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    assert_eq!(read_outputs(&path), read);
}

#[test]
fn an_output_is_a_name_and_a_value_up_to_a_line_drawn_at_random() {
    let runner = Runner::new();
    let path = runner.file("other=1");
    append_outputs(&path, &[("run_id", "4821")], 0xabc).unwrap();
    assert_eq!(
        text_of(&path),
        "other=1\n\
         run_id<<canary-gate-00000000000000000000000000000abc\n4821\ncanary-gate-00000000000000000000000000000abc\n"
    );
}

#[test]
fn a_value_that_holds_its_end_is_refused_and_nothing_is_written() {
    let runner = Runner::new();
    let path = runner.file("");
    let hostile = "x\ncanary-gate-00000000000000000000000000000abc\nverdict=within";
    let error = append_outputs(&path, &[("a", "1"), ("b", hostile)], 0xabc).unwrap_err();
    assert!(matches!(error, OutputsError::Delimiter { name } if name == "b"));
    assert_eq!(text_of(&path), "");
}

#[test]
fn a_name_is_checked_by_form() {
    let runner = Runner::new();
    let path = runner.file("");
    for name in ["", "a b", "a=b", "a<<b", "a\nb", "1a", "-a", "ä"] {
        let error = append_outputs(&path, &[(name, "1")], 1).unwrap_err();
        assert!(matches!(error, OutputsError::Name { .. }), "{name:?}");
    }
    assert_eq!(text_of(&path), "");
}

#[test]
fn no_link_is_followed_and_no_pipe_is_waited_for() {
    let runner = Runner::new();
    let target = runner.file("kept");
    let link = runner.folder.path().join("link");
    symlink(&target, &link).unwrap();
    let error = append_outputs(&link, &[("a", "1")], 1).unwrap_err();
    assert!(error.to_string().contains("link"), "{error}");
    assert_eq!(text_of(&target), "kept");
    assert!(append_summary(&link, "a", "b").is_err());

    let pipe = runner.folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let error = append_summary(&pipe, "a", "b").unwrap_err();
    assert!(error.to_string().contains("not a plain file"), "{error}");
}

#[test]
fn a_summary_is_appended() {
    let runner = Runner::new();
    let path = runner.file("# Another step\ntext");
    append_summary(&path, "# Ours\n\n", "x").unwrap();
    assert_eq!(text_of(&path), "# Another step\ntext\n\n# Ours\n");
    append_summary(&path, "# Again", "x").unwrap();
    assert_eq!(
        text_of(&path),
        "# Another step\ntext\n\n# Ours\n\n# Again\n"
    );
}

#[test]
fn a_summary_is_written_where_there_is_no_file_yet() {
    let runner = Runner::new();
    let path = runner.folder.path().join("summary");
    append_summary(&path, "# Ours", "x").unwrap();
    assert_eq!(text_of(&path), "# Ours\n");
}

/// Each row: the bytes that were there, the whole and the short text, and how what is written begins and ends.
#[test]
fn a_summary_that_does_not_fit_is_the_shorter_one_or_its_beginning_and_says_so() {
    let lines = "ä😀 a line\n".repeat(200_000);
    let (long, short) = ("f".repeat(1 << 20), "s".repeat(200));
    let limit = 1 << 20;
    for (existing, full, shorter, begins, ends) in [
        (
            0,
            long.as_str(),
            "# Short\n",
            "# Short\n\nThe full report",
            "its short form.\n",
        ),
        (
            limit - 200,
            &long,
            "# Short",
            "\n\n# Short\n\n",
            "its short form.\n",
        ),
        (
            0,
            &lines,
            &lines,
            "ä😀 a line\n",
            "ä😀 a line\n\nThe report is too large for a step summary; the rest is left out.\n",
        ),
        (limit - 1, &long, &short, "", ""),
        (limit - 90, &long, &short, "", ""),
        (limit - 2, &long, &short, "", ""),
    ] {
        let runner = Runner::new();
        let path = runner.file(&"x".repeat(existing));
        append_summary(&path, full, shorter).unwrap();
        let text = text_of(&path);
        assert!(u64::try_from(text.len()).unwrap() < SUMMARY_LIMIT);
        let written = &text[existing..];
        assert!(written.starts_with(begins) && written.ends_with(ends));
        assert_eq!(written.is_empty(), ends.is_empty(), "{existing}");
    }
}

#[test]
fn no_room_is_left_unused_and_none_is_taken_twice() {
    for room in 0..400 {
        let text = "ä\n".repeat(50);
        let fitted = fitting(&"😀".repeat(90), &text, room);
        assert!(fitted.is_none_or(|fitted| fitted.len() <= room), "{room}");
    }
}
