//! An image that a cold start pulls faster.

use super::AdviceInput;
use crate::units::Seconds;

/// What less adds is noise.
const LONG: Seconds = Seconds(10.0);

/// By what cold canaries took longer than warm ones, as surely as 90 %.
pub(super) fn advice(input: &AdviceInput<'_>) -> Option<String> {
    let offset = input.forecast.cold_offset.filter(|offset| *offset > LONG)?;
    Some(format!(
        "Advice: a cold start adds at least {offset}{} to the billed time, by the cold canaries beside the warm ones. A smaller image, of stable layers with the one that changes last, saves up to that for each cold canary and for the full run.",
        input.cost(offset),
    ))
}
