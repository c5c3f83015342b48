//! The scale of an axis that begins at 0, in a unit that suits its top.

use super::super::super::words::Quantity;
use super::super::plot::PlotAxis;

/// Whether a number is of use to a reader. A record may come from anybody.
pub(super) fn finite(quantity: Quantity, value: f64) -> bool {
    value.is_finite() && (0.0..=quantity.largest_shown()).contains(&value)
}

/// A scale from 0 on, in a unit that suits its top.
pub(super) struct Scaled {
    unit: &'static str,
    divisor: f64,
    top: f64,
}

impl Scaled {
    /// `None` where there is nothing above 0.
    pub(super) fn up_to(quantity: Quantity, top: f64) -> Option<Self> {
        let (unit, divisor) = match quantity {
            Quantity::Time if top >= 2.0 * 86_400.0 => ("days", 86_400.0),
            Quantity::Time if top >= 2.0 * 3600.0 => ("hours", 3600.0),
            Quantity::Time if top >= 120.0 => ("minutes", 60.0),
            Quantity::Time => ("seconds", 1.0),
            _ => ("USD", 1.0),
        };
        (top > 0.0).then_some(Self { unit, divisor, top })
    }

    pub(super) fn of(&self, value: f64) -> f64 {
        value.min(self.top) / self.divisor
    }

    pub(super) fn axis(&self) -> PlotAxis {
        PlotAxis::linear(self.unit, 0.0, self.top * 1.05 / self.divisor)
    }
}
