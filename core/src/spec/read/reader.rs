//! [`SpecReader`]: what every check knows.

use crate::instance::InstanceConfiguration;
use crate::spec::BackendKind;
use crate::spec::problems::{At, Findings};
use crate::spec::rules::Rules;

/// What a job trains on: `instance`, then its alternatives.
pub(in crate::spec) type Instances = (InstanceConfiguration, Vec<InstanceConfiguration>);

/// What all checks need to know, and where they leave what they find.
pub(in crate::spec) struct SpecReader<'a> {
    pub(in crate::spec) findings: &'a mut Findings,
    pub(in crate::spec) known_types: &'a [&'a str],
    /// As written.
    pub(in crate::spec) region: Option<String>,
    /// Absent when it could not be read; then nothing that depends on it is checked.
    pub(in crate::spec) backend: Option<BackendKind>,
    /// How the backend reads the spec.
    pub(in crate::spec) rules: &'static Rules,
    /// Patterns that compile; absent when the spec allows all.
    pub(in crate::spec) allowed_instances: Option<Vec<globset::GlobMatcher>>,
    pub(in crate::spec) has_local_price: bool,
    /// Offsets of jobs, instances and budget lines, by field path.
    pub(in crate::spec) places: Vec<(String, usize)>,
}

impl SpecReader<'_> {
    /// How the backend reads the spec.
    pub(in crate::spec) fn rules(&self) -> &'static Rules {
        self.rules
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
