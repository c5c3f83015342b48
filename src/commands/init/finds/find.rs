//! A find, and a kind of find.

use super::launch::FoundLaunch;
use crate::commands::init::read_file::ReadFile;

/// Something in one file.
pub(in crate::commands::init) enum Find {
    /// A call that starts a training job on SageMaker.
    Launch(Box<FoundLaunch>),
    Script(FoundScript),
    Container(FoundContainer),
    Requirements(FoundRequirements),
}

/// A kind of find.
pub(super) struct FindKind {
    /// The calls of Python that it looks at, by their last name.
    pub(super) calls: &'static [&'static str],
    pub(super) look: fn(&ReadFile) -> Vec<Find>,
}

/// A script that trains.
#[derive(Debug)]
pub(in crate::commands::init) struct FoundScript {
    pub(in crate::commands::init) path: String,
    pub(in crate::commands::init) score: i32,
    /// Why it is taken for one: `SM_CHANNEL_TRAIN at train.py:9`.
    pub(in crate::commands::init) why: String,
    pub(in crate::commands::init) options: Vec<FoundOption>,
    /// The channels whose variables it reads, in small letters.
    pub(in crate::commands::init) channels: Vec<String>,
    /// Where it reads data by a path: what is written there, and the place.
    pub(in crate::commands::init) fixed_path: Option<(String, String)>,
    /// The modules that it imports.
    pub(in crate::commands::init) imports: Vec<String>,
}

/// An option of a script, with a default that is a number.
#[derive(Debug)]
pub(in crate::commands::init) struct FoundOption {
    /// Without its dashes.
    pub(in crate::commands::init) name: String,
    pub(in crate::commands::init) default: String,
    pub(in crate::commands::init) place: String,
}

/// A Dockerfile of an image that trains.
#[derive(Debug)]
pub(in crate::commands::init) struct FoundContainer {
    pub(in crate::commands::init) path: String,
    /// The line that says so: `Dockerfile:7`.
    pub(in crate::commands::init) place: String,
    /// The folder that it lies in; empty at the root.
    pub(in crate::commands::init) folder: String,
}

/// A file of packages.
#[derive(Debug)]
pub(in crate::commands::init) struct FoundRequirements {
    pub(in crate::commands::init) path: String,
}
