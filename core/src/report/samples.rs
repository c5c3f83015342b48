//! Reports to test with: made-up figures in every shape that a reader may meet, each a stored report.

use super::{Report, from_json};

/// Each with its name.
pub(super) const STORED: [(&str, &str); 21] = [
    (
        "over-budget",
        include_str!("../../../tests/data/reports/over-budget.json"),
    ),
    (
        "within",
        include_str!("../../../tests/data/reports/within.json"),
    ),
    (
        "at_risk",
        include_str!("../../../tests/data/reports/at_risk.json"),
    ),
    (
        "failed",
        include_str!("../../../tests/data/reports/failed.json"),
    ),
    (
        "unknown",
        include_str!("../../../tests/data/reports/unknown.json"),
    ),
    (
        "not_judged",
        include_str!("../../../tests/data/reports/not_judged.json"),
    ),
    (
        "no_job",
        include_str!("../../../tests/data/reports/no_job.json"),
    ),
    (
        "two_jobs",
        include_str!("../../../tests/data/reports/two_jobs.json"),
    ),
    ("gpu", include_str!("../../../tests/data/reports/gpu.json")),
    (
        "groups",
        include_str!("../../../tests/data/reports/groups.json"),
    ),
    (
        "hostile",
        include_str!("../../../tests/data/reports/hostile.json"),
    ),
    (
        "invalid_spec",
        include_str!("../../../tests/data/reports/invalid_spec.json"),
    ),
    (
        "one_failed",
        include_str!("../../../tests/data/reports/one_failed.json"),
    ),
    (
        "forbidden",
        include_str!("../../../tests/data/reports/forbidden.json"),
    ),
    (
        "increased",
        include_str!("../../../tests/data/reports/increased.json"),
    ),
    (
        "within_noise",
        include_str!("../../../tests/data/reports/within_noise.json"),
    ),
    (
        "reused",
        include_str!("../../../tests/data/reports/reused.json"),
    ),
    (
        "existing_breach",
        include_str!("../../../tests/data/reports/existing_breach.json"),
    ),
    (
        "drifted",
        include_str!("../../../tests/data/reports/drifted.json"),
    ),
    (
        "not_drifted",
        include_str!("../../../tests/data/reports/not_drifted.json"),
    ),
    (
        "drifts",
        include_str!("../../../tests/data/reports/drifts.json"),
    ),
];

/// Every sample with its name.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Report)> {
    let read = |(name, text): (&'static str, &str)| (name, from_json(text).unwrap());
    STORED.into_iter().map(read)
}

/// The sample of this name.
pub(crate) fn of(name: &str) -> Report {
    all().find(|(known, _)| *known == name).unwrap().1
}
