//! Packages in the image, in place of installing them at each start.

use super::{JobInput, Measured, cost};
use crate::units::Seconds;

/// What less takes is the start of any script.
const LONG: Seconds = Seconds(10.0);

/// By the canary in which the script began soonest: in the others the image may have been pulled as well.
pub(super) fn advice(measured: &Measured, _: &JobInput<'_>) -> Option<String> {
    let installs = measured.forecast.installs.filter(|time| *time > LONG)?;
    Some(format!(
        "the first {installs}{} or more of the billed training time pass before the script begins, since `requirements.txt` is installed in them. An image that holds these packages saves most of that for each canary and for the full run.",
        cost(measured, installs),
    ))
}
