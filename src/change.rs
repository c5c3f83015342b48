//! The **change**: changed paths held against each job's globs -> the affected jobs.
//!
//! The filter sits inside the program so that a required check always reports, also when nothing is affected.

use globset::{GlobBuilder, GlobMatcher};

use crate::spec::{Job, Spec};

/// What changed, or that everything counts as changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// All jobs are affected; `why` is shown, e.g. `--all`.
    Everything { why: String },
    /// Paths relative to the checkout root, with `/` between folders; `between` is shown, e.g. `origin/main to the work tree`.
    Paths { paths: Vec<String>, between: String },
}

impl Change {
    /// The change without the files that the gate itself writes.
    #[must_use]
    pub fn without(self, written: &[String]) -> Self {
        match self {
            Self::Paths { mut paths, between } => {
                paths.retain(|path| !written.contains(path));
                Self::Paths { paths, between }
            }
            everything @ Self::Everything { .. } => everything,
        }
    }
}

/// Where the spec lies in the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecPlace {
    /// The spec file relative to the checkout root.
    pub file: String,
    /// The folder its paths are relative to, relative to the checkout root; empty: the root itself.
    pub folder: String,
}

/// A job that the change touches.
#[derive(Debug, Clone, PartialEq)]
pub struct AffectedJob<'a> {
    pub job: &'a Job,
    /// The changed paths that concern it, in the order of the change; empty when everything counts as changed.
    pub by: Vec<String>,
}

/// The jobs that `change` touches, in the order of the spec.
///
/// A changed spec file concerns every job: hyperparameters, instance and budget stand in it.
pub fn affected_jobs<'a>(
    spec: &'a Spec,
    place: &SpecPlace,
    change: &Change,
) -> Vec<AffectedJob<'a>> {
    spec.jobs
        .iter()
        .filter_map(|job| match change {
            Change::Everything { .. } => Some(AffectedJob {
                job,
                by: Vec::new(),
            }),
            Change::Paths { paths, .. } => {
                let globs = PathGlobs::new(&job.paths, &place.folder);
                let by: Vec<String> = paths
                    .iter()
                    .filter(|path| **path == place.file || globs.matches(path))
                    .cloned()
                    .collect();
                (!by.is_empty()).then_some(AffectedJob { job, by })
            }
        })
        .collect()
}

/// A job's `paths`: the last glob that matches decides, `!` excludes.
#[derive(Debug, Clone)]
pub struct PathGlobs {
    globs: Vec<(GlobMatcher, bool)>,
}

impl PathGlobs {
    /// `patterns` are valid globs, as a [`Spec`] holds them; `folder` is the spec's, relative to the checkout root.
    /// Without patterns everything in the folder matches.
    pub fn new(patterns: &[String], folder: &str) -> Self {
        let everything = ["**".to_owned()];
        let patterns = if patterns.is_empty() {
            &everything[..]
        } else {
            patterns
        };
        let globs = patterns
            .iter()
            .filter_map(|pattern| {
                let (pattern, includes) = match pattern.strip_prefix('!') {
                    Some(rest) => (rest, false),
                    None => (pattern.as_str(), true),
                };
                let full = from_root(pattern, folder);
                let glob = GlobBuilder::new(&full)
                    .literal_separator(true)
                    .build()
                    .ok()?;
                Some((glob.compile_matcher(), includes))
            })
            .collect();
        Self { globs }
    }

    /// Whether any pattern, also one that excludes, matches `path`.
    pub fn speaks_of(&self, path: &str) -> bool {
        never_matches(path) || self.globs.iter().any(|(glob, _)| glob.is_match(path))
    }

    /// Whether `path`, relative to the checkout root, concerns the job.
    ///
    /// A path with a `/` at its end is a changed folder, such as a submodule: it matches as a file in it would.
    pub fn matches(&self, path: &str) -> bool {
        let inside = path.ends_with('/').then(|| format!("{path}*"));
        let path = inside.as_deref().unwrap_or(path);
        !never_matches(path)
            && self
                .globs
                .iter()
                .rev()
                .find(|(glob, _)| glob.is_match(path))
                .is_some_and(|(_, includes)| *includes)
    }
}

/// A pattern of the spec as a pattern over paths from the checkout root.
fn from_root(pattern: &str, folder: &str) -> String {
    if let Some(rooted) = pattern.strip_prefix('/') {
        return rooted.to_owned();
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if folder.is_empty() {
        pattern.to_owned()
    } else {
        // The folder's own name is text, not a pattern.
        format!("{}/{pattern}", globset::escape(folder))
    }
}

/// The tool's own and git's own folders never concern a job.
fn never_matches(path: &str) -> bool {
    path.split('/')
        .any(|part| part == ".git" || part == ".canary-gate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str], folder: &str) -> PathGlobs {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        PathGlobs::new(&patterns, folder)
    }

    #[test]
    fn paths_are_relative_to_the_specs_folder() {
        let globs = globs(&["training/**", "requirements.txt"], "services/churn");
        assert!(globs.matches("services/churn/training/train.py"));
        assert!(globs.matches("services/churn/requirements.txt"));
        assert!(!globs.matches("training/train.py"));
        assert!(!globs.matches("services/churn/requirements.txt.bak"));
    }

    #[test]
    fn a_leading_slash_is_the_checkout_root() {
        assert!(globs(&["/shared/**"], "services/churn").matches("shared/features.py"));
    }

    #[test]
    fn the_last_glob_that_matches_decides() {
        let globs = globs(&["**", "!**/*.md", "model-card.md"], "");
        assert!(globs.matches("train.py"));
        assert!(!globs.matches("docs/notes.md"));
        assert!(globs.matches("model-card.md"));
    }

    #[test]
    fn a_star_stays_within_its_folder() {
        assert!(!globs(&["src/*.py"], "").matches("src/deep/train.py"));
    }

    #[test]
    fn a_folder_named_like_a_pattern_is_just_a_folder() {
        assert!(globs(&["**"], "odd[1]").matches("odd[1]/train.py"));
        assert!(!globs(&["**"], "odd[1]").matches("odd1/train.py"));
    }

    #[test]
    fn a_changed_submodule_matches_as_a_file_in_it_would() {
        assert!(globs(&["vendor/lib/**"], "").matches("vendor/lib/"));
        assert!(!globs(&["vendor/other/**"], "").matches("vendor/lib/"));
    }

    #[test]
    fn own_and_git_folders_never_match() {
        assert!(!globs(&["**"], "").matches(".canary-gate/measurements.jsonl"));
        assert!(!globs(&["**"], "").matches("vendor/.git/config"));
    }
}
