//! How strict the exit code is.

use crate::cli::{Inconclusive, VerdictArguments};
use crate::exit::Strictness;
use crate::spec::{OnInconclusive, Spec};

/// By the flag, else by the spec.
pub(crate) fn strictness(arguments: &VerdictArguments, spec: &Spec) -> Strictness {
    Strictness {
        strict: arguments.strict || spec.strict,
        on_inconclusive: match arguments.on_inconclusive {
            Some(Inconclusive::Fail) => OnInconclusive::Fail,
            Some(Inconclusive::Pass) => OnInconclusive::Pass,
            None => spec.on_inconclusive,
        },
    }
}
