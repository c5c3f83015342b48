//! Paths and patterns. Here only the text is checked; links are resolved where files are touched.

use super::SpecReader;
use crate::spec::Job;
use crate::spec::ON_THIS_MACHINE;
use crate::spec::problems::{At, Located, TextForm, quoted};
use crate::spec::raw::{List, Text};

/// Longer than any path in a repository; keeps patterns quick to compile.
const LONGEST_PATH: usize = 1024;
/// Each pattern is held against every file of the checkout.
const MOST_PATTERNS_OF_A_JOB: usize = 200;
const MOST_PATTERNS: usize = 2000;

/// Why a text cannot be a path inside the checkout, and what to write.
pub(super) fn path_problem(text: &str) -> Option<(&'static str, &'static str)> {
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

/// A path relative to the spec's folder, or from the checkout's root with a leading `/`.
#[derive(Debug)]
pub(in crate::spec) enum ProjectPath {}

impl TextForm for ProjectPath {
    fn problem(text: &str) -> Option<(&'static str, &'static str)> {
        path_problem(text)
    }
}

/// A script inside the source folder.
#[derive(Debug)]
pub(in crate::spec) enum ScriptPath {}

impl TextForm for ScriptPath {
    fn problem(text: &str) -> Option<(&'static str, &'static str)> {
        let is_outside = text.starts_with('/');
        let outside = (
            "is not inside the source folder",
            "write the path from `source_dir`",
        );
        is_outside.then_some(outside).or_else(|| path_problem(text))
    }
}

impl SpecReader<'_> {
    /// A path of data: in the checkout, or with `file://` anywhere on this machine. Whether it may lie there is asked later.
    pub(in crate::spec) fn data_path(&mut self, uri: &Located<Text>) {
        let Some(absolute) = uri.value.0.strip_prefix(ON_THIS_MACHINE) else {
            return self.findings.form::<ProjectPath>(&uri.at, &uri.value.0);
        };
        let problem = match absolute.starts_with('/') {
            true => path_problem(absolute),
            false => Some((
                "names no absolute path",
                "write three slashes: `file:///mnt/data/train`",
            )),
        };
        if let Some((problem, help)) = problem {
            let message = format!("{} {problem}", quoted(&uri.value.0));
            self.findings.wrong_with_help(&uri.at, message, help);
        }
    }

    /// Refuses more patterns than can be held against every file.
    pub(super) fn limit_patterns(&mut self, at: &At, jobs: &[Job]) {
        let patterns: usize = jobs.iter().map(|job| job.paths.len()).sum();
        if patterns > MOST_PATTERNS {
            self.findings.wrong_with_help(
                at,
                format!("{patterns} patterns in the `paths` of all jobs; at most {MOST_PATTERNS} are read"),
                "let a pattern stand for a folder: `\"src/**\"`; or give parts of the project a spec each",
            );
        }
    }

    /// Patterns over paths; at least one must include something.
    pub(super) fn globs(&mut self, globs: Located<List<Text>>) -> Vec<String> {
        let globs_at = globs.at;
        let globs = globs.value.0;
        if globs.len() > MOST_PATTERNS_OF_A_JOB {
            self.findings.wrong_with_help(
                &globs_at,
                format!(
                    "{} patterns; a job has at most {MOST_PATTERNS_OF_A_JOB}",
                    globs.len()
                ),
                "let a pattern stand for a folder: `\"src/**\"`",
            );
            return Vec::new();
        }
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
