//! Reports to test with: made-up figures in every shape that a reader may meet, each a stored report.

use super::{Report, from_json};

macro_rules! stored {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_str!(concat!("../../../tests/data/reports/", $name, ".json")),
        )),*]
    };
}

/// Each with its name.
#[rustfmt::skip]
pub(super) const STORED: &[(&str, &str)] = stored![
    "over-budget", "within", "at_risk", "failed", "unknown", "not_judged", "no_job", "two_jobs", "gpu", "groups", "hostile",
    "invalid_spec", "one_failed", "forbidden", "increased", "within_noise", "reused", "existing_breach", "drifted", "not_drifted",
    "drifts",
];

/// Every sample with its name.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Report)> {
    let stored = STORED.iter();
    stored.map(|(name, text)| (*name, from_json(text).unwrap()))
}

/// The sample of this name.
pub(crate) fn of(name: &str) -> Report {
    all().find(|(known, _)| *known == name).unwrap().1
}
