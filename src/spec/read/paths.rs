//! Paths and patterns. Here only the text is checked; links are resolved where files are touched.

use super::SpecReader;
use crate::spec::problems::{Located, quoted};
use crate::spec::raw;

/// Longer than any path in a repository; keeps patterns quick to compile.
const LONGEST_PATH: usize = 1024;

/// Why a text cannot be a path inside the checkout, and what to write.
fn path_problem(text: &str) -> Option<(&'static str, &'static str)> {
    if text.contains("://") {
        return Some((
            "is an address, where a path is needed",
            "name a file or folder of the checkout",
        ));
    }
    if text.starts_with('~') {
        return Some((
            "starts with `~`, which is not expanded",
            "write the path from the spec's folder",
        ));
    }
    if text.split('/').any(|part| part == "..") {
        return Some((
            "steps out of its folder with `..`",
            "write the path from the checkout's root, with a leading `/`",
        ));
    }
    if text.chars().any(char::is_control) {
        return Some(("holds a control character", "rename the file"));
    }
    (text.len() > LONGEST_PATH).then_some(("is too long", "at most 1024 bytes are read"))
}

impl SpecReader<'_> {
    /// A path relative to the spec's folder, or from the checkout's root with a leading `/`.
    pub(in crate::spec) fn path(&mut self, path: &Located<raw::Text>) -> String {
        let text = &path.value.0;
        if let Some((problem, help)) = path_problem(text) {
            let message = format!("{} {problem}", quoted(text));
            self.findings.wrong_with_help(&path.at, message, help);
        }
        text.clone()
    }

    /// A script inside the source folder.
    pub(in crate::spec) fn script(&mut self, path: &Located<raw::Text>) -> String {
        if path.value.0.starts_with('/') {
            self.findings.wrong_with_help(
                &path.at,
                format!("{} is not inside the source folder", quoted(&path.value.0)),
                "write the path from `source_dir`",
            );
        }
        self.path(path)
    }

    /// Patterns over paths; at least one must include something.
    pub(super) fn globs(&mut self, globs: Located<raw::List<raw::Text>>) -> Vec<String> {
        let globs_at = globs.at;
        let globs = globs.value.0;
        if globs.iter().all(|glob| glob.value.0.starts_with('!')) {
            self.findings.wrong_with_help(
                &globs_at,
                "no pattern includes anything, so the job would never run",
                "for every file write `\"**\"`, or leave `paths` out",
            );
        }
        let globs = globs.into_iter();
        globs
            .map(|glob| {
                let text = glob.value.0;
                let pattern = text.strip_prefix('!').unwrap_or(&text);
                let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
                if let Some((problem, help)) = path_problem(pattern) {
                    let message = format!("{} {problem}", quoted(&text));
                    self.findings.wrong_with_help(&glob.at, message, help);
                } else if pattern.is_empty() {
                    self.findings
                        .wrong(&glob.at, format!("{} matches nothing", quoted(&text)));
                } else if let Err(error) = globset::Glob::new(pattern) {
                    let message = format!("{} is not a pattern: {}", quoted(&text), error.kind());
                    self.findings.wrong(&glob.at, message);
                }
                text
            })
            .collect()
    }
}
