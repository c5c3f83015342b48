//! How strict the exit code is.

use crate::cli::VerdictArguments;
use crate::exit::Strictness;
use crate::spec::{OnInconclusive, Spec};

/// By the flag, else by the spec.
pub(crate) fn strictness(arguments: &VerdictArguments, spec: &Spec) -> Strictness {
    Strictness {
        strict: arguments.strict || spec.strict,
        on_inconclusive: arguments
            .on_inconclusive
            .map_or(spec.on_inconclusive, OnInconclusive::from),
    }
}
