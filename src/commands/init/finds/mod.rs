//! What `init` finds in a checkout: a file for each kind, and the register of them.

mod container;
mod data;
mod estimator;
mod find;
mod launch;
mod model_trainer;
mod requirements;
mod script;
mod training_job;

pub(super) use data::{FoundData, SeenFile, data_folders};
pub(super) use find::{Find, FoundContainer, FoundScript};
pub(super) use launch::{FoundLaunch, SaidSetting};
pub(super) use requirements::is_requirements;

use super::read_file::ReadFile;
use find::FindKind;

/// The register.
const KINDS: [FindKind; 6] = [
    estimator::KIND,
    model_trainer::KIND,
    training_job::KIND,
    script::KIND,
    container::KIND,
    requirements::KIND,
];

/// Whether some kind of find looks at a call of this name.
pub(super) fn is_wanted_call(name: &str) -> bool {
    KINDS.iter().any(|kind| kind.calls.contains(&name))
}

/// Everything in one file.
pub(super) fn finds(file: &ReadFile) -> Vec<Find> {
    KINDS.iter().flat_map(|kind| (kind.look)(file)).collect()
}
