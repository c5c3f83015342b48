//! Paths and patterns. Here only the text is checked; links are resolved where files are touched.

use super::kind::{first_problem, forms};
use super::reader::{At, Reader, quoted, rules};
use super::{Job, ON_THIS_MACHINE};

/// Longer than any path in a repository; keeps patterns quick to compile.
const LONGEST_PATH: usize = 1024;
/// Each pattern is held against every file of the checkout.
const MOST_PATTERNS_OF_A_JOB: usize = 200;
const MOST_PATTERNS: usize = 2000;

/// Why a text cannot be a path inside the checkout, and what to write.
pub(super) fn path_problem(text: &str) -> Option<(&'static str, &'static str)> {
    first_problem! {
        text.contains("://") => "is an address, where a path is needed", "name a file or folder of the checkout";
        text.starts_with('~') => "starts with `~`, which is not expanded", "write the path from the spec's folder";
        text.split('/').any(|part| part == "..") =>
            "steps out of its folder with `..`", "write the path from the checkout's root, with a leading `/`";
        text.chars().any(char::is_control) => "holds a control character", "rename the file";
        text.len() > LONGEST_PATH => "is too long", "at most 1024 bytes are read";
    }
}

forms! {
    /// A path relative to the spec's folder, or from the checkout's root with a leading `/`.
    ProjectPath: path_problem;
    /// A script inside the source folder.
    ScriptPath: |text| match text.starts_with('/') {
        true => Some(("is not inside the source folder", "write the path from `source_dir`")),
        false => path_problem(text),
    };
}

impl Reader<'_> {
    /// A path of data: in the checkout, or with `file://` anywhere on this machine. Whether it may lie there is asked later.
    pub(super) fn data_path(&mut self, at: &At, uri: &str) {
        let problem = match uri.strip_prefix(ON_THIS_MACHINE) {
            None => path_problem(uri),
            Some(absolute) if absolute.starts_with('/') => path_problem(absolute),
            Some(_) => Some((
                "names no absolute path",
                "write three slashes: `file:///mnt/data/train`",
            )),
        };
        self.form(at, uri, problem);
    }

    /// Refuses more patterns than can be held against every file.
    pub(super) fn limit_patterns(&mut self, at: &At, jobs: &[Job]) {
        let patterns: usize = jobs.iter().map(|job| job.paths.len()).sum();
        rules! { self, at;
            refuse "" if patterns > MOST_PATTERNS =>
                format!("{patterns} patterns in the `paths` of all jobs; at most {MOST_PATTERNS} are read"),
                "let a pattern stand for a folder: `\"src/**\"`; or give parts of the project a spec each";
        }
    }

    /// Patterns over paths; at least one must include something.
    pub(super) fn globs(&mut self, at: &At, globs: &[String]) {
        let (count, most) = (globs.len(), MOST_PATTERNS_OF_A_JOB);
        if count > most {
            let message = format!("{count} patterns; a job has at most {most}");
            let help = "let a pattern stand for a folder: `\"src/**\"`";
            return self.refuse(at, message, help);
        }
        rules! { self, at;
            refuse "" if globs.iter().all(|glob| glob.starts_with('!')) =>
                "no pattern includes anything, so the job would never run",
                "for every file write `\"**\"`, or leave `paths` out";
        }
        for (index, text) in globs.iter().enumerate() {
            let at = at.item(index);
            let pattern = text.strip_prefix('!').unwrap_or(text);
            let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
            if let Some(problem) = path_problem(pattern) {
                self.form(&at, text, Some(problem));
            } else if pattern.is_empty() {
                self.wrong(&at, format!("{} matches nothing", quoted(text)));
            } else if let Err(error) = globset::Glob::new(pattern) {
                let message = format!("{} is not a pattern: {}", quoted(text), error.kind());
                self.wrong(&at, message);
            }
        }
    }
}
