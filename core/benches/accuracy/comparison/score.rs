//! How a forecast with an interval fared against the full runs, and the figures over many.

use canary_gate_core::forecast::Estimate;

/// The share of new runs outside the interval that the score is about: a central interval of 90 % leaves a tenth.
const ALPHA: f64 = 0.1;

/// One forecast of one quantity, held against the full runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    /// ln(point / median of the full runs).
    pub(crate) log_error: f64,
    /// Upper over lower end.
    pub(crate) ratio: f64,
    /// How many full runs lie inside the interval, its ends included.
    pub(crate) inside: usize,
    /// The interval score of each full run.
    pub(crate) scores: Vec<f64>,
}

impl Scored {
    /// `values` are those of the full runs: at least one, all above 0.
    pub(crate) fn of(estimate: &Estimate, values: &[f64]) -> Self {
        let &Estimate {
            point,
            lower,
            upper,
            ..
        } = estimate;
        Self {
            log_error: (point / median(values)).ln(),
            ratio: upper / lower,
            inside: values
                .iter()
                .filter(|value| (lower..=upper).contains(*value))
                .count(),
            scores: values
                .iter()
                .map(|value| interval_score(lower.ln(), upper.ln(), value.ln()))
                .collect(),
        }
    }

    pub(crate) fn mean_score(&self) -> f64 {
        mean(&self.scores)
    }
}

/// The interval score, (u - l) + 2/alpha (l - x)+ + 2/alpha (x - u)+, which a forecaster makes small by giving the true
/// quantiles (Gneiting and Raftery, JASA 102, 2007, eq. 43; Winkler 1972).
pub(crate) fn interval_score(lower: f64, upper: f64, value: f64) -> f64 {
    let below = (lower - value).max(0.0);
    let above = (value - upper).max(0.0);
    (upper - lower) + 2.0 / ALPHA * (below + above)
}

/// The middle value, or the mean of the two in the middle. Not a number where there is none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[upper],
        _ => f64::midpoint(sorted[upper - 1], sorted[upper]),
    }
}

/// Not a number where there is no value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / as_float(values.len())
}

/// The largest; negative infinity where there is none.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of runs is far below 2^53"
)]
pub(crate) fn as_float(count: usize) -> f64 {
    count as f64
}
