//! The **change**: which jobs the changed paths affect, by each job's globs.
//!
//! The filter is inside the program, so that a required check always reports, also when no job is affected.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};

use crate::spec::{Job, Spec};

/// The changed paths, or everything.
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

/// The location of the spec in the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecPlace {
    /// The spec file relative to the checkout root.
    pub file: String,
    /// The folder its paths are relative to, relative to the checkout root; empty: the root itself.
    pub folder: String,
}

/// A job that the change affects.
#[derive(Debug, Clone, PartialEq)]
pub struct AffectedJob<'a> {
    pub job: &'a Job,
    /// The changed paths that concern it, in the order of the change; empty if everything counts as changed.
    pub by: Vec<String>,
}

/// The spec of the base, as far as it decides which jobs a change affects.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseSpec {
    pub place: SpecPlace,
    /// Absent if the file is not a valid spec.
    pub spec: Option<Spec>,
}

/// The jobs that `change` affects, in the order of the spec.
///
/// A changed spec file affects every job, since it holds hyperparameters, instance and budget. With a `base`, the paths of its
/// spec count too, so that a change cannot evade the gate by editing `paths` or moving the spec.
pub fn affected_jobs<'a>(
    spec: &'a Spec,
    place: &SpecPlace,
    base: Option<&BaseSpec>,
    change: &Change,
) -> Vec<AffectedJob<'a>> {
    let base_place = base.map(|base| &base.place);
    let base_jobs: BTreeMap<&str, &Job> = base
        .and_then(|base| base.spec.as_ref())
        .into_iter()
        .flat_map(|spec| spec.jobs.iter().map(|job| (job.name.as_str(), job)))
        .collect();
    let is_spec =
        |path: &str| path == place.file || base_place.is_some_and(|base| path == base.file);
    spec.jobs
        .iter()
        .filter_map(|job| match change {
            Change::Everything { .. } => Some(AffectedJob {
                job,
                by: Vec::new(),
            }),
            Change::Paths { paths, .. } => {
                let globs = PathGlobs::new(&job.paths, &place.folder);
                let base_globs = base_jobs
                    .get(job.name.as_str())
                    .zip(base_place)
                    .map(|(job, place)| PathGlobs::new(&job.paths, &place.folder));
                let by: Vec<String> = paths
                    .iter()
                    .filter(|path| {
                        is_spec(path)
                            || globs.matches(path)
                            || base_globs.as_ref().is_some_and(|globs| globs.matches(path))
                    })
                    .cloned()
                    .collect();
                (!by.is_empty()).then_some(AffectedJob { job, by })
            }
        })
        .collect()
}

/// A job's `paths`: the last matching glob decides, and `!` excludes.
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

    /// Whether any pattern, including one that excludes, matches `path`.
    pub fn mentions(&self, path: &str) -> bool {
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

/// The folders of canary-gate and git never concern a job.
fn never_matches(path: &str) -> bool {
    path.split('/')
        .any(|part| part == ".git" || part == ".canary-gate")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{SpecSource, read};

    /// A spec whose job `churn` has these `paths`.
    fn spec(paths: &str) -> Spec {
        let text = format!(
            "version: 1\nbackend: local\njobs:\n  churn:\n    paths: {paths}\n    training: {{command: [sh], channels: {{train: {{uri: data}}}}}}\n    instance: local\n"
        );
        let source = SpecSource {
            name: "canary-gate.yml",
            bytes: text.as_bytes(),
        };
        read(source, &[]).unwrap()
    }

    fn place(file: &str, folder: &str) -> SpecPlace {
        SpecPlace {
            file: file.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// What of these paths concerns `churn`, whose head and base have these `paths`.
    fn concerned(head: &str, base: Option<(&str, SpecPlace)>, paths: &[&str]) -> Vec<String> {
        let head = spec(head);
        let base = base.map(|(paths, place)| BaseSpec {
            place,
            spec: Some(spec(paths)),
        });
        let change = Change::Paths {
            paths: paths.iter().map(ToString::to_string).collect(),
            between: String::new(),
        };
        let place = place("canary-gate.yml", "");
        let jobs = affected_jobs(&head, &place, base.as_ref(), &change);
        jobs.into_iter().flat_map(|job| job.by).collect()
    }

    #[test]
    fn a_change_cannot_leave_the_gate_by_its_own_paths() {
        let paths = ["train.py", "docs/notes.md"];
        let same = || place("canary-gate.yml", "");
        assert_eq!(concerned("[docs/**]", None, &paths), ["docs/notes.md"]);
        assert_eq!(
            concerned("[docs/**]", Some(("[\"*.py\"]", same())), &paths),
            paths
        );
        assert_eq!(
            concerned(
                "[\"**\", \"!**/*.py\"]",
                Some(("[\"*.py\"]", same())),
                &["train.py"]
            ),
            ["train.py"]
        );
    }

    #[test]
    fn the_bases_spec_mentions_its_own_folder_and_is_the_spec_as_well() {
        let moved = || Some(("[train.py]", place("old/canary-gate.yml", "old")));
        assert_eq!(
            concerned(
                "[none]",
                moved(),
                &["old/canary-gate.yml", "old/train.py", "train.py"]
            ),
            ["old/canary-gate.yml", "old/train.py"]
        );
        assert_eq!(concerned("[none]", None, &["old/canary-gate.yml"]), [""; 0]);
    }

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
