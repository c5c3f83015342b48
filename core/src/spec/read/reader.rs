//! [`SpecReader`]: what every check knows.

use crate::instance::InstanceConfiguration;
use crate::spec::BackendKind;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Findings};

/// What a job trains on: `instance`, then its alternatives.
pub(in crate::spec) type Instances = (InstanceConfiguration, Vec<InstanceConfiguration>);

/// The names of the instance groups of each configuration that has some.
pub(in crate::spec) fn group_names(instances: Option<&Instances>) -> Vec<Vec<&str>> {
    let configurations = instances.into_iter();
    let configurations =
        configurations.flat_map(|(instance, others)| std::iter::once(instance).chain(others));
    let groups = configurations.map(InstanceConfiguration::groups);
    groups
        .filter(|groups| !groups.is_empty())
        .map(|groups| groups.iter().map(|group| group.name.as_str()).collect())
        .collect()
}

/// What all checks need to know, and where they leave what they find.
pub(in crate::spec) struct SpecReader<'a> {
    pub(in crate::spec) findings: &'a mut Findings,
    pub(in crate::spec) known_types: &'a [&'a str],
    /// As written.
    pub(in crate::spec) region: Option<String>,
    /// Absent when it could not be read; then nothing that depends on it is checked.
    pub(in crate::spec) backend: Option<BackendKind>,
    /// The backend's.
    pub(in crate::spec) place: RunPlace,
    /// Patterns that compile; absent when the spec allows all.
    pub(in crate::spec) allowed_instances: Option<Vec<globset::GlobMatcher>>,
    pub(in crate::spec) has_local_price: bool,
    /// Offsets of jobs, instances and budget lines, by field path.
    pub(in crate::spec) places: Vec<(String, usize)>,
}

impl SpecReader<'_> {
    /// Whether canaries run there.
    pub(in crate::spec) fn is_on(&self, place: RunPlace) -> bool {
        self.place == place
    }

    /// The backend in an error's words: `the local backend`.
    pub(in crate::spec) fn backend_words(&self) -> String {
        match self.backend {
            Some(backend) => format!("the {backend} backend"),
            None => "the backend".to_owned(),
        }
    }

    /// Says that a key does nothing under the chosen backend.
    pub(in crate::spec) fn no_effect(&mut self, at: &At) {
        if let Some(backend) = self.backend {
            self.findings
                .warn(at, format!("has no effect on the {backend} backend"));
        }
    }
}
