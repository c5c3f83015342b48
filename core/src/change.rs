//! The **change**: which jobs the changed paths affect, by what counts for each.
//!
//! The filter is inside the program, so that a required check always reports, also when no job is affected.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::code::CodeTree;
use crate::spec::{Job, Spec};

/// The changed paths, or everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// All jobs are affected; `why` is shown, e.g. `--all`.
    Everything { why: String },
    /// Paths relative to the checkout root, with `/` between folders and at the end of a submodule; `between` is shown, e.g.
    /// `origin/main to the work tree`.
    Paths {
        paths: Vec<PathBuf>,
        between: String,
    },
}

impl Change {
    /// The change without the files that the gate itself writes.
    #[must_use]
    pub fn without(mut self, written: &[String]) -> Self {
        if let Self::Paths { paths, .. } = &mut self {
            paths.retain(|path| !written.iter().any(|written| path.as_os_str() == &**written));
        }
        self
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

impl BaseSpec {
    /// The base's job of a name, with the folder of its spec.
    pub fn job(&self, name: &str) -> Option<(&Job, &str)> {
        let job = self.spec.as_ref()?.job(name)?;
        Some((job, &self.place.folder))
    }
}

/// The jobs that `change` affects, in the order of the spec; `code` is what counts for each, by name.
///
/// A changed spec file affects every job, since it holds hyperparameters, instance and budget. With a `base`, the paths of its
/// spec count too, so that a change cannot evade the gate by editing `paths` or moving the spec.
pub fn affected_jobs<'a>(
    spec: &'a Spec,
    place: &SpecPlace,
    base: Option<&BaseSpec>,
    change: &Change,
    code: &BTreeMap<String, CodeTree>,
) -> Vec<AffectedJob<'a>> {
    let specs = [Some(place), base.map(|base| &base.place)];
    let is_spec = |path: &&PathBuf| specs.iter().flatten().any(|spec| **path == *spec.file);
    let affected = |job: &'a Job| {
        let Change::Paths { paths, .. } = change else {
            let by = Vec::new();
            return Some(AffectedJob { job, by });
        };
        let code = code.get(&job.name);
        let concerns =
            |path: &&PathBuf| is_spec(path) || code.is_some_and(|code| code.is_changed_by(path));
        let by = paths
            .iter()
            .filter(concerns)
            .map(|path| path.to_string_lossy().into_owned());
        let by: Vec<String> = by.collect();
        (!by.is_empty()).then_some(AffectedJob { job, by })
    };
    spec.jobs.iter().filter_map(affected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{CodeSelection, Tree};
    use crate::spec::read;

    /// A spec whose job `churn` has these `paths`.
    fn spec(paths: &str) -> Spec {
        let text = format!(
            "version: 1\nbackend: local\njobs:\n  churn:\n    paths: {paths}\n    training: {{command: [sh], channels: {{train: {{uri: data}}}}}}\n    instance: local\n"
        );
        read("canary-gate.yml", text.as_bytes(), &[]).unwrap()
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
            paths: paths.iter().map(PathBuf::from).collect(),
            between: String::new(),
        };
        let place = place("canary-gate.yml", "");
        let of_base = base.as_ref().and_then(|base| base.job("churn"));
        let selection = CodeSelection::of(&head.jobs[0], "canary-gate.yml", "", of_base);
        let code = CodeTree::of(&Tree::default(), selection).unwrap();
        let code = [("churn".to_owned(), code)].into();
        let jobs = affected_jobs(&head, &place, base.as_ref(), &change, &code);
        jobs.into_iter().flat_map(|job| job.by).collect()
    }

    #[test]
    fn a_change_cannot_leave_the_gate_by_its_own_paths() {
        let same = Some(("[\"*.py\"]", place("canary-gate.yml", "")));
        let moved = Some(("[train.py]", place("old/canary-gate.yml", "old")));
        // Data in the checkout count, unless they are left out.
        let data = "data/a.csv";
        let below = ["old/canary-gate.yml", "old/train.py"];
        for (head, base, concerning) in [
            ("[docs/**]", None, &["docs/notes.md", data][..]),
            (
                "[docs/**]",
                same.clone(),
                &["train.py", "docs/notes.md", data],
            ),
            (
                "[\"**\", \"!**/*.py\"]",
                same,
                &["train.py", "docs/notes.md", below[0], data],
            ),
            // The base's spec mentions its own folder, and is the spec as well.
            ("[none]", moved, &[below[0], below[1], data]),
            ("[none]", None, &[data]),
            ("[train.py, \"!data/**\"]", None, &["train.py"]),
            (
                "[train.py, \"!data/**\"]",
                Some(("[train.py]", place("canary-gate.yml", ""))),
                &["train.py", data],
            ),
        ] {
            let paths = ["train.py", "docs/notes.md", below[0], below[1], data];
            assert_eq!(concerned(head, base, &paths), concerning, "{head}");
        }
    }
}
