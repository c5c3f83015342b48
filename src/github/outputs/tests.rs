use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A file of a new folder as it was before.
fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn append(path: &Path, values: &[(&str, &str)]) -> io::Result<()> {
    let values: Vec<_> = values
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    append_outputs(path, &values, 0xabc)
}

#[test]
fn an_output_is_a_name_and_a_value_up_to_a_line_drawn_at_random() {
    let (_folder, path) = file("");
    append(&path, &[("run_id", "4821")]).unwrap();
    append(&path, &[("report", "two\nlines\n"), ("comment-url", "")]).unwrap();
    let end = "canary-gate-00000000000000000000000000000abc";
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!(
            "run_id<<{end}\n4821\n{end}\nreport<<{end}\ntwo\nlines\n\n{end}\ncomment-url<<{end}\n\n{end}\n"
        )
    );
}

#[test]
fn a_value_that_holds_its_end_is_refused_and_nothing_is_written() {
    let (_folder, path) = file("");
    let hostile = "x\ncanary-gate-00000000000000000000000000000abc\nverdict=within";
    let error = append(&path, &[("a", "1"), ("b", hostile)]).unwrap_err();
    assert!(error.to_string().contains("delimiter"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[test]
fn no_link_is_followed_and_no_pipe_is_waited_for() {
    let (folder, target) = file("kept");
    let link = folder.path().join("link");
    symlink(&target, &link).unwrap();
    let error = append(&link, &[("a", "1")]).unwrap_err();
    assert!(error.to_string().contains("link"), "{error}");
    assert!(append_summary(&link, "a").is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");

    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Without a reader it cannot even be opened.
    assert!(append_summary(&pipe, "a").is_err());
}

#[test]
fn a_summary_is_appended_where_there_is_one_and_begun_where_there_is_none() {
    let (folder, _) = file("");
    let path = folder.path().join("summary");
    append_summary(&path, "# Ours\n\n").unwrap();
    append_summary(&path, "\n# Again").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Ours\n\n# Again\n");
}

#[test]
fn a_summary_that_does_not_fit_is_its_beginning_and_says_so() {
    let (_folder, path) = file("");
    append_summary(&path, &"ä😀 a line\n".repeat(200_000)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() <= LONGEST_SUMMARY + 1);
    assert!(text.starts_with("ä😀 a line\n"));
    let end = "ä😀 a line\n\nThe report is too large for a step summary; the rest is left out.\n";
    assert!(text.ends_with(end));
}
