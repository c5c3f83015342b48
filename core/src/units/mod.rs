//! Quantities with their unit in the type: [`Seconds`], [`Usd`], [`UsdPerHour`], [`Bytes`], [`Fraction`], [`Percent`].
//!
//! Each but sizes parses the form used in a spec (`8h`, `50 USD`, `90%`), refuses a bare number with the right spelling in the
//! message, and prints a readable form. Serialized they are plain numbers; the field name carries the unit.

mod parse;
mod text;

use std::iter::Sum;
use std::ops::Add;

use derive_more::{Add, Mul, Sub, Sum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use parse::UnitError;

/// Defines quantities: plain numbers where they are serialized.
macro_rules! quantities {
    ($($(#[$doc:meta])+ $name:ident($number:ty) $(: $($more:ident),+)?;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema)]
        $(#[derive($($more),+)])?
        #[serde(transparent)]
        pub struct $name(pub $number);
    )+};
}

quantities! {
    /// A duration in seconds; finite and not negative when parsed.
    Seconds(f64): Add, Sub, Mul, Sum;
    /// An amount of money in US dollars.
    #[derive(derive_more::Display)]
    #[display("{} USD", self.bare())]
    Usd(f64): Add, Sub, Mul, Sum;
    /// A price in US dollars per instance and hour.
    UsdPerHour(f64);
    /// A size in bytes.
    Bytes(u64): Eq, Ord, Hash;
    /// A share of a whole: 0.03 is three hundredths. Written `3%` in a spec.
    Fraction(f64);
    /// A share in percent: 90.0 is ninety hundredths.
    #[derive(derive_more::Display)]
    #[display("{}%", self.bare())]
    Percent(f64);
}

/// The sum of amounts, as far as they are known; `None` where none is.
pub fn sum<T: Add<Output = T>>(amounts: impl IntoIterator<Item = Option<T>>) -> Option<T> {
    amounts.into_iter().flatten().reduce(Add::add)
}

/// A number of things to calculate with. Exact up to 2^53, far beyond any number of runs, checks or objects here.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub fn count_as_float(count: usize) -> f64 {
    count as f64
}

/// Whether it is what a file has where it does not say it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Bytes {
    pub const KIB: u64 = 1 << 10;
    pub const MIB: u64 = 1 << 20;
    pub const GIB: u64 = 1 << 30;

    /// The size as a float for statistics. Exact up to 2^53 bytes (8 PiB), far beyond any data set sampled here.
    #[expect(clippy::cast_precision_loss, reason = "exact below 8 PiB")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The nearest whole number of bytes; negative and NaN become 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-integer cast saturates, which is what is promised"
    )]
    pub fn from_f64(bytes: f64) -> Self {
        Self(bytes.round() as u64)
    }
}

impl Fraction {
    pub fn as_percent(self) -> Percent {
        Percent(self.0 * 100.0)
    }

    /// Whether a share that was meant to be this one is so far from it that it needs a word: a quarter more, or a fifth less. Not
    /// where one of them is no share.
    pub fn unlike(self, share: f64) -> bool {
        let times = share / self.0;
        times.is_finite() && times > 0.0 && !(0.8..=1.25).contains(&times)
    }
}

impl Percent {
    pub fn as_fraction(self) -> Fraction {
        Fraction(self.0 / 100.0)
    }

    /// `part` as a percentage of `whole`; `None` when the whole is zero.
    pub fn of_bytes(part: Bytes, whole: Bytes) -> Option<Self> {
        (whole.0 > 0).then(|| Self(part.as_f64() / whole.as_f64() * 100.0))
    }
}

impl Seconds {
    pub const A_DAY: f64 = 86_400.0;

    pub fn in_days(self) -> f64 {
        self.0 / Self::A_DAY
    }
}

impl UsdPerHour {
    /// What `instances` instances cost for `time`.
    pub fn cost(self, time: Seconds, instances: u32) -> Usd {
        Usd(self.0 * time.0 / 3600.0 * f64::from(instances))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self(0), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_on_two_instances_costs_twice_the_price() {
        assert_eq!(UsdPerHour(1.5).cost(Seconds(3600.0), 2), Usd(3.0));
    }
}
