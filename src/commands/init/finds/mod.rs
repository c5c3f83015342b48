//! What `init` finds in a checkout: a file for each kind, and the register of them.

mod container;
mod data;
mod estimator;
mod launch;
mod model_trainer;
mod requirements;
mod script;
mod training_job;

pub(super) use container::FoundContainer;
pub(super) use data::{FoundData, SeenFile, data_folders};
pub(super) use launch::{FoundLaunch, SaidSetting};
pub(super) use requirements::{FoundRequirements, is_requirements};
pub(super) use script::FoundScript;

use super::read_file::ReadFile;

/// Something in one file.
pub(super) enum Find {
    /// A call that starts a training job on SageMaker.
    Launch(Box<FoundLaunch>),
    Script(FoundScript),
    Container(FoundContainer),
    Requirements(FoundRequirements),
}

/// A kind of find.
struct FindKind {
    /// The calls of Python that it looks at, by their last name.
    calls: &'static [&'static str],
    look: fn(&ReadFile) -> Vec<Find>,
}

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
