//! What variables say.

use crate::console::AppError;

/// A variable; `None` if it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What every wait for a service is multiplied by: 1, but for tests that play one with a clock of their own.
pub(crate) fn pace() -> Result<f64, AppError> {
    let pace = variable("CANARY_GATE_PACE").map_or(Ok(1.0), |written| written.parse());
    let pace = pace.ok();
    pace.filter(|pace: &f64| (0.0..=1.0).contains(pace))
        .ok_or_else(|| AppError::usage("CANARY_GATE_PACE is not a number from 0 to 1"))
}
