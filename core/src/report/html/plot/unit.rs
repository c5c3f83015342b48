//! What an axis from 0 on counts.

use super::PlotAxis;
use crate::report::law_chart::TimeUnit;
use crate::report::words::Quantity;

/// A unit that suits the top of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::report::html) struct AxisUnit {
    pub(in crate::report::html) name: &'static str,
    divisor: f64,
    top: f64,
}

impl AxisUnit {
    /// `None` where there is nothing above 0.
    pub(in crate::report::html) fn up_to(quantity: Quantity, top: f64) -> Option<Self> {
        let (name, divisor) = match quantity {
            Quantity::Time => {
                let unit = TimeUnit::for_largest(top);
                (unit.name(), unit.seconds())
            }
            Quantity::Money => ("USD", 1.0),
            _ => ("%", 1.0),
        };
        let is_sound = top > 0.0 && (top * 2.0).is_finite();
        is_sound.then_some(Self { name, divisor, top })
    }

    pub(in crate::report::html) fn of(&self, value: f64) -> f64 {
        value / self.divisor
    }

    /// With a little room above.
    pub(in crate::report::html) fn axis(&self, from: f64) -> PlotAxis {
        PlotAxis::linear(self.name, self.of(from), self.of(self.top * 1.05))
    }
}
