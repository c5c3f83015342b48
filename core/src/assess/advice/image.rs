//! An image that a cold start pulls faster.

use super::{JobInput, Measured, cost};
use crate::units::Seconds;

/// What less adds is noise.
const LONG: Seconds = Seconds(10.0);

/// By what cold canaries took longer than warm ones, as surely as 90 %.
pub(super) fn advice(measured: &Measured, _: &JobInput<'_>) -> Option<String> {
    let offset = measured.forecast.cold_offset.filter(|time| *time > LONG)?;
    Some(format!(
        "a cold start adds at least {offset}{} to the billed time, by the cold canaries beside the warm ones. A smaller image, of stable layers with the one that changes last, saves up to that for each cold canary and for the full run.",
        cost(measured, offset),
    ))
}
