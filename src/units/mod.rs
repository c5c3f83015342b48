//! Quantities with their unit in the type: [`Seconds`], [`Usd`], [`UsdPerHour`], [`Bytes`], [`Fraction`], [`Percent`].
//!
//! Each parses the form used in a spec (`8h`, `50 USD`, `2 GiB`, `90%`), refuses a bare number with the right spelling in the
//! message, and prints a readable form. Serialized they are plain numbers; the field name carries the unit.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Sub};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text is not a quantity of the expected unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct UnitError {
    /// What is wrong, e.g. `a number without a unit`.
    pub problem: String,
    /// Correct spellings, e.g. `50 USD`; several if the text is ambiguous.
    pub suggestions: Vec<String>,
}

impl UnitError {
    fn new(problem: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            suggestions: vec![suggestion.into()],
        }
    }
}

/// A duration in seconds; finite and not negative when parsed.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// An amount of money in US dollars.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Usd(pub f64);

/// A price in US dollars per instance and hour.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct UsdPerHour(pub f64);

/// A size in bytes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of things to calculate with. Exact up to 2^53, far beyond any number of runs, checks or objects here.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub fn count_as_float(count: usize) -> f64 {
    count as f64
}

/// A share of a whole: 0.03 is three hundredths. Written `3%` in a spec.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Fraction(pub f64);

/// A share in percent: 90.0 is ninety hundredths.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Percent(pub f64);

impl Bytes {
    pub const KIB: u64 = 1 << 10;
    pub const MIB: u64 = 1 << 20;
    pub const GIB: u64 = 1 << 30;
    pub const TIB: u64 = 1 << 40;

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

impl UsdPerHour {
    /// What `instances` instances cost for `time`.
    pub fn cost(self, time: Seconds, instances: u32) -> Usd {
        Usd(self.0 * time.0 / 3600.0 * f64::from(instances))
    }
}

impl Add for Seconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Seconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<f64> for Seconds {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

impl Sum for Seconds {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        Self(items.map(|item| item.0).sum())
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Usd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<f64> for Usd {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        Self(items.map(|item| item.0).sum())
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

/// Splits `12.5 GiB` into the number and the unit's text.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

const NO_UNIT: &str = "a number without a unit";

/// Why a text is not a quantity. The suggestion for a bare number adds its unit; any other text gets an example.
fn refuse(text: &str, noun: &str, unit: &str, example: &str) -> UnitError {
    match split_number(text) {
        Some((_, "")) => UnitError::new(NO_UNIT, format!("{}{unit}", text.trim())),
        _ if text.trim().starts_with('-') => {
            UnitError::new(format!("{noun} cannot be negative"), example.to_owned())
        }
        _ => UnitError::new(
            format!("`{}` is not {noun}", text.trim()),
            example.to_owned(),
        ),
    }
}

impl FromStr for Seconds {
    type Err = UnitError;

    /// `8h`, `90s`, `1h 30m`, `1.5h`, `14d`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || match split_number(text) {
            Some((_, "")) => UnitError {
                problem: NO_UNIT.to_owned(),
                suggestions: ["s", "m", "h"]
                    .map(|unit| format!("{}{unit}", text.trim()))
                    .to_vec(),
            },
            _ => refuse(text, "a duration", "h", "8h"),
        };
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(fail());
        }
        let mut total = 0.0;
        while !rest.is_empty() {
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(fail)?;
            let number: f64 = rest[..end].parse().map_err(|_| fail())?;
            rest = rest[end..].trim_start();
            let unit_end = rest
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(rest.len());
            let scale = match &rest[..unit_end] {
                "s" | "sec" | "seconds" => 1.0,
                "m" | "min" | "minutes" => 60.0,
                "h" | "hours" => 3600.0,
                "d" | "days" => 86400.0,
                _ => return Err(fail()),
            };
            total += number * scale;
            rest = rest[unit_end..].trim_start();
        }
        // Enough digits make any number infinite.
        if !total.is_finite() {
            return Err(fail());
        }
        Ok(Self(total))
    }
}

impl FromStr for Usd {
    type Err = UnitError;

    /// `50 USD`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match split_number(text) {
            Some((number, "USD")) => Ok(Self(number)),
            Some((_, unit)) if unit.eq_ignore_ascii_case("usd") || unit == "$" => {
                Err(UnitError::new(
                    format!("`{}` is not a dollar amount in this format", text.trim()),
                    format!(
                        "{} USD",
                        text.trim_end_matches(|c: char| !c.is_ascii_digit())
                    ),
                ))
            }
            _ if text.trim().starts_with('$') => Err(UnitError::new(
                format!("`{}` is not a dollar amount in this format", text.trim()),
                format!("{} USD", text.trim().trim_start_matches('$').trim()),
            )),
            _ => Err(refuse(text, "an amount of money", " USD", "50 USD")),
        }
    }
}

impl FromStr for UsdPerHour {
    type Err = UnitError;

    /// `1.20 USD/h`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match split_number(text) {
            Some((number, "USD/h")) => Ok(Self(number)),
            Some((_, "USD")) => Err(UnitError::new(
                "a price per hour is wanted",
                format!("{}/h", text.trim()),
            )),
            _ => Err(refuse(text, "a price per hour", " USD/h", "1.20 USD/h")),
        }
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// `2 GiB`, `500 MB`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let scale = match split_number(text) {
            Some((_, "B")) => 1.0,
            Some((_, "KiB")) => 1024.0,
            Some((_, "MiB")) => 1_048_576.0,
            Some((_, "GiB")) => 1_073_741_824.0,
            Some((_, "TiB")) => 1_099_511_627_776.0,
            Some((_, "kB" | "KB")) => 1e3,
            Some((_, "MB")) => 1e6,
            Some((_, "GB")) => 1e9,
            Some((_, "TB")) => 1e12,
            _ => return Err(refuse(text, "a size", " GiB", "2 GiB")),
        };
        let (number, _) = split_number(text).expect("matched above");
        Ok(Self::from_f64(number * scale))
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    /// `90%`, `0.5 %`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match split_number(text) {
            Some((number, "%")) => Ok(Self(number)),
            // 0.01 means a hundredth, not a hundredth of a percent.
            Some((share, "")) if share > 0.0 && share < 1.0 => {
                let percent = (share * 100.0 * 1e9).round() / 1e9;
                Err(UnitError::new(NO_UNIT, Self(percent).exact()))
            }
            _ => Err(refuse(text, "a percentage", "%", "90%")),
        }
    }
}

impl FromStr for Fraction {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        text.parse::<Percent>().map(Percent::as_fraction)
    }
}

impl fmt::Display for Seconds {
    /// Two significant figures: `0.85s`, `4.2s`, `41s`, `4m 12s`, `5h 42m`, `3d 4h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0.0 { "-" } else { "" };
        let seconds = self.0.abs();
        if seconds < 0.9995 {
            return write!(f, "{sign}{seconds:.2}s");
        }
        if seconds < 9.95 {
            return write!(f, "{sign}{seconds:.1}s");
        }
        if seconds < 59.5 {
            return write!(f, "{sign}{seconds:.0}s");
        }
        let two = |value: f64, large: &str, ratio: f64, small: &str, f: &mut fmt::Formatter<'_>| {
            let total = value.round();
            let (whole, part) = ((total / ratio).floor(), total % ratio);
            if part == 0.0 {
                write!(f, "{sign}{whole}{large}")
            } else {
                write!(f, "{sign}{whole}{large} {part:02}{small}")
            }
        };
        if seconds < 3599.5 {
            two(seconds, "m", 60.0, "s", f)
        } else if seconds < 86_370.0 {
            two(seconds / 60.0, "h", 60.0, "m", f)
        } else {
            two(seconds / 3600.0, "d", 24.0, "h", f)
        }
    }
}

/// From this size an exact number is written with an exponent; its digits would fill a line.
const EXPONENT_FROM: f64 = 1e15;

/// The shortest decimal that means this number: `56.4`.
fn shortest(value: f64) -> String {
    if value.abs() >= EXPONENT_FROM {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// The shortest decimal, with whole cents where it has cents: `50`, `12.50`, `0.125`.
fn shortest_money(value: f64) -> String {
    let decimal = shortest(value);
    match decimal.split_once('.') {
        Some((_, tenths)) if tenths.len() == 1 => format!("{decimal}0"),
        _ => decimal,
    }
}

impl Seconds {
    const A_DAY: f64 = 86_400.0;

    pub fn in_days(self) -> f64 {
        self.0 / Self::A_DAY
    }

    pub fn of_days(days: f64) -> Self {
        Self(days * Self::A_DAY)
    }

    /// The duration in all its units but days, to the millisecond: `36h 30m`, `1m 30s`, `0.25s`. More than three days in
    /// whole days are days: `14d`.
    pub fn exact(self) -> String {
        const DAY: f64 = Seconds::A_DAY;
        let sign = if self.0 < 0.0 { "-" } else { "" };
        let total = (self.0.abs() * 1000.0).round() / 1000.0;
        if !total.is_finite() {
            return format!("{sign}{total}s");
        }
        if total > 3.0 * DAY && total % DAY == 0.0 {
            return format!("{sign}{}d", shortest(total / DAY));
        }
        let hours = (total / 3600.0).floor();
        let minutes = ((total % 3600.0) / 60.0).floor();
        let seconds = (total % 60.0 * 1000.0).round() / 1000.0;
        let parts: Vec<String> = [(hours, "h"), (minutes, "m"), (seconds, "s")]
            .into_iter()
            .filter(|(count, _)| *count > 0.0)
            .map(|(count, unit)| format!("{}{unit}", shortest(count)))
            .collect();
        match parts.is_empty() {
            true => "0s".to_owned(),
            false => format!("{sign}{}", parts.join(" ")),
        }
    }
}

impl Usd {
    /// The amount without its unit, for an interval that shares one: `56–72`, `1.12`, `0.0031`, `0.000048`.
    pub fn bare(self) -> String {
        let (value, size) = (self.0, self.0.abs());
        if size == 0.0 {
            "0".to_owned()
        } else if size < Self::LEAST_FIXED {
            format!("{value:.1e}")
        } else {
            format!("{value:.*}", self.decimals())
        }
    }

    /// The amount with all its digits: `12.50 USD`.
    pub fn exact(self) -> String {
        format!("{} USD", shortest_money(self.0))
    }

    /// Below this an amount is shown with an exponent.
    const LEAST_FIXED: f64 = 0.95e-6;

    /// Decimal places to show: none from 10 on, two from 0.10 on, else two significant figures.
    pub fn decimals(self) -> usize {
        let size = self.0.abs();
        if size >= 9.995 {
            return 0;
        }
        let mut digits = 2;
        let mut scaled = size.max(Self::LEAST_FIXED);
        while scaled < 0.0995 {
            scaled *= 10.0;
            digits += 1;
        }
        digits
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} USD", self.bare())
    }
}

impl fmt::Display for UsdPerHour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A price shows at least its cents.
        let cents = format!("{:.2}", self.0);
        let is_exact = cents.parse() == Ok(self.0);
        if is_exact {
            write!(f, "{cents} USD/h")
        } else {
            write!(f, "{} USD/h", self.0)
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.as_f64();
        for (scale, unit) in [
            (1_099_511_627_776.0, "TiB"),
            (1_073_741_824.0, "GiB"),
            (1_048_576.0, "MiB"),
            (1024.0, "KiB"),
        ] {
            if bytes >= scale {
                let value = bytes / scale;
                return if value < 9.995 {
                    write!(f, "{value:.2} {unit}")
                } else if value < 99.95 {
                    write!(f, "{value:.1} {unit}")
                } else {
                    write!(f, "{value:.0} {unit}")
                };
            }
        }
        write!(f, "{} B", self.0)
    }
}

impl Percent {
    /// The number without its sign, for an interval that shares one.
    pub fn bare(self) -> String {
        format!("{:.*}", self.decimals(), self.0)
    }

    /// The percentage with all its digits: `56.4%`.
    pub fn exact(self) -> String {
        format!("{}%", shortest(self.0))
    }

    /// Decimal places to show, for two significant figures.
    pub fn decimals(self) -> usize {
        let size = self.0.abs();
        if size == 0.0 || size >= 9.95 {
            0
        } else if size >= 0.095 {
            1
        } else {
            2
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.bare())
    }
}

impl fmt::Display for Fraction {
    /// As a person writes it in a spec: `3%`, `1.5%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.as_percent().bare();
        let plain = match number.split_once('.') {
            Some(_) => number.trim_end_matches('0').trim_end_matches('.'),
            None => &number,
        };
        write!(f, "{plain}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggestion<T: FromStr<Err = UnitError> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().suggestions.join(" ")
    }

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, seconds) in [
            ("8h", 28800.0),
            ("1h 30m", 5400.0),
            ("1h30m", 5400.0),
            ("1.5h", 5400.0),
            ("90s", 90.0),
            ("14d", 1_209_600.0),
            ("10 min", 600.0),
        ] {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_the_spelling_it_lacks() {
        assert_eq!(suggestion::<Seconds>("8"), "8s 8m 8h");
        assert_eq!(suggestion::<Usd>("50"), "50 USD");
        assert_eq!(suggestion::<Usd>("$50"), "50 USD");
        assert_eq!(suggestion::<UsdPerHour>("1.2 USD"), "1.2 USD/h");
        assert_eq!(suggestion::<Percent>("90"), "90%");
        assert_eq!(suggestion::<Percent>("0.9"), "90%");
        assert_eq!(suggestion::<Fraction>("0.01"), "1%");
        assert_eq!(suggestion::<Fraction>("0.07"), "7%");
        assert_eq!(suggestion::<Bytes>("2"), "2 GiB");
    }

    #[test]
    fn negative_and_odd_texts_are_refused() {
        for text in ["-1h", "h", "", "1x", "NaN", "inf", "1h 2", "1e400s"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
        assert!(format!("{}s", "9".repeat(400)).parse::<Seconds>().is_err());
        assert!("-5 USD".parse::<Usd>().is_err());
    }

    #[test]
    fn quantities_print_with_two_figures_that_matter() {
        let shown: Vec<String> = [
            0.0, 0.853, 4.2, 41.0, 59.7, 252.0, 4200.0, 20520.0, 273_600.0,
        ]
        .map(|s| Seconds(s).to_string())
        .to_vec();
        assert_eq!(
            shown,
            [
                "0.00s", "0.85s", "4.2s", "41s", "1m", "4m 12s", "1h 10m", "5h 42m", "3d 04h"
            ]
        );
        assert_eq!(Usd(63.4).to_string(), "63 USD");
        assert_eq!(Usd(1.118).to_string(), "1.12 USD");
        assert_eq!(Usd(0.003_14).to_string(), "0.0031 USD");
        assert_eq!(Usd(0.000_048).to_string(), "0.000048 USD");
        assert_eq!(Usd(0.000_001_1).to_string(), "0.0000011 USD");
        assert_eq!(Usd(0.0).to_string(), "0 USD");
        assert_eq!(Bytes(8_826_000_000).to_string(), "8.22 GiB");
        assert_eq!(Percent(94.2).to_string(), "94%");
        assert_eq!(Fraction(0.015).to_string(), "1.5%");
        assert_eq!(Fraction(0.03).to_string(), "3%");
        assert_eq!(Fraction(0.2).to_string(), "20%");
    }

    #[test]
    fn exact_quantities_keep_every_digit() {
        for (seconds, shown) in [
            (131_400.0, "36h 30m"),
            (86_400.0, "24h"),
            (1_209_600.0, "14d"),
            (3_960.000_000_000_000_5, "1h 6m"),
            (90.0, "1m 30s"),
            (0.25, "0.25s"),
            (0.0, "0s"),
            (-90.0, "-1m 30s"),
        ] {
            assert_eq!(Seconds(seconds).exact(), shown);
        }
        assert_eq!(Usd(50.0).exact(), "50 USD");
        assert_eq!(Usd(12.5).exact(), "12.50 USD");
        assert_eq!(Usd(0.001_25).exact(), "0.00125 USD");
        assert_eq!(Usd(1e300).exact(), "1e300 USD");
        assert_eq!(Percent(56.4).exact(), "56.4%");
    }

    #[test]
    fn an_hour_on_two_instances_costs_twice_the_price() {
        assert_eq!(UsdPerHour(1.5).cost(Seconds(3600.0), 2), Usd(3.0));
    }
}
