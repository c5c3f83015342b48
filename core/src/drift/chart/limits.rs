//! The limits of the control chart, found by simulation.

use crate::units::count_as_float;

/// The share of histories of [`MOST_CHECKS`] checks without any change in which the chart may signal at least once, up or
/// down.
pub const FALSE_ALARMS: f64 = 0.05;

/// How many checks the chart looks at: a year of weekly ones.
pub const MOST_CHECKS: usize = 52;

/// The limit at a number of checks. `cargo bench --bench drift -- limits` finds them, with the seed that stands there.
///
/// At each number of checks it is so high that the given part of the histories that have not signalled before do so: a
/// part that falls as n^-1.25, since what is overlooked at the start is found later, but a change that is large enough to be seen
/// at once should be. It is the highest of those for session noises of 0, 3, 5 and 10 %.
const LIMITS: [(f64, f64); 14] = [
    (2.0, 4.51),
    (3.0, 7.53),
    (4.0, 7.73),
    (5.0, 7.64),
    (6.0, 7.36),
    (7.0, 7.07),
    (8.0, 6.75),
    (10.0, 6.31),
    (12.0, 5.95),
    (15.0, 5.56),
    (20.0, 5.22),
    (30.0, 4.96),
    (40.0, 4.85),
    (52.0, 4.74),
];

/// What the statistic of so many checks, two or more, must exceed. Between those that were simulated it is linear in the
/// logarithm of their number; for more than [`MOST_CHECKS`] it is the last.
pub fn limit(checks: usize) -> f64 {
    let checks = count_as_float(checks);
    let after = LIMITS.partition_point(|(count, _)| *count < checks);
    let (more, high) = LIMITS[after.min(LIMITS.len() - 1)];
    let (fewer, low) = LIMITS[after.saturating_sub(1)];
    if fewer < checks && checks < more {
        low + (high - low) * (checks / fewer).ln() / (more / fewer).ln()
    } else {
        high
    }
}
