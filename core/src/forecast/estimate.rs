//! Point and interval of a quantity, as a report has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Predictive;
use crate::spec::Bound;
use crate::units::Fraction;

/// Point and interval of a quantity, for a report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The median of the predictive distribution.
    pub point: f64,
    pub lower: f64,
    pub upper: f64,
    /// The share of new full runs that the interval should hold, e.g. 0.9.
    pub level: f64,
}

impl Estimate {
    /// A number that is known.
    pub fn exactly(point: f64) -> Self {
        Self {
            point,
            lower: point,
            upper: point,
            level: 1.0,
        }
    }

    /// Median and central interval at level 2c - 1.
    pub fn of(predictive: &Predictive, certainty: Fraction) -> Self {
        Self {
            point: predictive.median(),
            ..Self::of_quantiles(|p| predictive.quantile(p), certainty)
        }
    }

    /// The same in another unit, which does not turn the order around.
    #[must_use]
    pub fn map(self, to: impl Fn(f64) -> f64) -> Self {
        Self {
            point: to(self.point),
            lower: to(self.lower),
            upper: to(self.upper),
            ..self
        }
    }

    /// The end of the interval on the wrong side of a limit.
    pub fn end(&self, bound: Bound) -> f64 {
        bound.pick(self.upper, self.lower)
    }

    pub(super) fn of_quantiles(quantile: impl Fn(f64) -> f64, certainty: Fraction) -> Self {
        Self {
            point: quantile(0.5),
            lower: quantile(1.0 - certainty.0),
            upper: quantile(certainty.0),
            // 2 * 0.95 - 1 is 0.8999999999999999 in binary; a report says 0.9.
            level: ((2.0 * certainty.0 - 1.0) * 1e9).round() / 1e9,
        }
    }
}
