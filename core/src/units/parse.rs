//! Quantities from the text of a spec.

use std::str::FromStr;

use super::{Fraction, Percent, Seconds, Usd, UsdPerHour};
use crate::grammar::pattern;

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
    /// One with a single suggestion.
    pub(crate) fn new(problem: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            suggestions: vec![suggestion.into()],
        }
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
        let part = pattern!(r"\s*([0-9.]*)\s*([A-Za-z]+)\s*");
        let (mut total, mut read) = (0.0, 0);
        for part in part.captures_iter(text) {
            let (whole, [number, unit]) = part.extract();
            let scale = match unit {
                "s" | "sec" | "seconds" => 1.0,
                "m" | "min" | "minutes" => 60.0,
                "h" | "hours" => 3600.0,
                "d" | "days" => 86400.0,
                _ => return Err(fail()),
            };
            total += number.parse::<f64>().map_err(|_| fail())? * scale;
            read += whole.len();
        }
        // Something that is no part is left over, or enough digits make the number infinite.
        match read > 0 && read == text.len() && total.is_finite() {
            true => Ok(Self(total)),
            false => Err(fail()),
        }
    }
}

impl FromStr for Usd {
    type Err = UnitError;

    /// `50 USD`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match split_number(text) {
            Some((number, "USD")) => Ok(Self(number)),
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
            _ => Err(refuse(text, "a price per hour", " USD/h", "1.20 USD/h")),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn suggestion<T: FromStr<Err = UnitError> + std::fmt::Debug>(text: &str) -> String {
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
        assert_eq!(suggestion::<UsdPerHour>("1.2"), "1.2 USD/h");
        assert_eq!(suggestion::<Percent>("90"), "90%");
        assert_eq!(suggestion::<Percent>("0.9"), "90%");
        assert_eq!(suggestion::<Fraction>("0.01"), "1%");
        assert_eq!(suggestion::<Fraction>("0.07"), "7%");
    }

    #[test]
    fn negative_and_odd_texts_are_refused() {
        for text in ["-1h", "h", "", "1x", "NaN", "inf", "1h 2", "1e400s"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
        assert!(format!("{}s", "9".repeat(400)).parse::<Seconds>().is_err());
        assert!("-5 USD".parse::<Usd>().is_err());
    }
}
