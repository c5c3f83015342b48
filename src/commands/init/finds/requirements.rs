//! Files of packages that the code needs: a change of one may change what training takes.

use super::find::{Find, FindKind, FoundRequirements};
use crate::commands::init::read_file::ReadFile;

pub(super) const KIND: FindKind = FindKind { calls: &[], look };

const NAMES: [&str; 9] = [
    "requirements.txt",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "environment.yml",
    "environment.yaml",
    "Pipfile.lock",
    "poetry.lock",
    "uv.lock",
];

/// Whether a file has such a name.
pub(in crate::commands::init) fn is_requirements(path: &str) -> bool {
    NAMES.contains(&path.rsplit('/').next().unwrap_or(path))
}

fn look(file: &ReadFile) -> Vec<Find> {
    let found = is_requirements(&file.path).then(|| {
        Find::Requirements(FoundRequirements {
            path: file.path.clone(),
        })
    });
    found.into_iter().collect()
}
