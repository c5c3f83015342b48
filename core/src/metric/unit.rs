//! The units of metrics, and a number that carries its unit.

use std::cmp::Ordering;

use crate::units::{Bytes, Percent, Seconds, UnitError, Usd};

/// What a number is, which decides how it is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Time,
    /// Seconds, mostly less than one.
    StepTime,
    /// US dollars.
    Money,
    Percent,
    Bytes,
    /// Without a unit, above 0.
    Number,
}

/// How a person writes an amount.
#[derive(Debug, Clone, Copy)]
pub struct WrittenForm {
    /// Matches all that is read (ECMA 262).
    pub pattern: &'static str,
    pub examples: [&'static str; 2],
}

/// A number with its unit, such as the limit of a budget line. Amounts of different units have no order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    pub number: f64,
    pub unit: Unit,
}

impl Unit {
    pub fn amount(self, number: f64) -> Amount {
        Amount { number, unit: self }
    }

    /// How its amounts are written in a spec.
    pub const fn written(self) -> WrittenForm {
        match self {
            Self::Time | Self::StepTime => WrittenForm {
                pattern: r"^\s*([0-9.]+\s*(s|sec|seconds|m|min|minutes|h|hours|d|days)\s*)+$",
                examples: ["8h", "1h 30m"],
            },
            Self::Money => WrittenForm {
                pattern: r"^\s*[0-9_]*\.?[0-9_]*\s*USD\s*$",
                examples: ["50 USD", "0.10 USD"],
            },
            Self::Percent => WrittenForm {
                pattern: r"^\s*[0-9_]*\.?[0-9_]*\s*%\s*$",
                examples: ["90%", "2.5%"],
            },
            // No line of a budget is in bytes.
            Self::Bytes | Self::Number => WrittenForm {
                pattern: r"^\s*[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*$",
                examples: ["9000", "75e9"],
            },
        }
    }

    /// An amount as a person writes it: `36h 30m`, `12.50 USD`, `56.4%`.
    pub fn parse(self, text: &str) -> Result<Amount, UnitError> {
        let number = match self {
            Self::Time | Self::StepTime => text.parse().map(|Seconds(time)| time),
            Self::Money => text.parse().map(|Usd(money)| money),
            Self::Percent => text.parse().map(|Percent(share)| share),
            Self::Bytes | Self::Number => plain_number(text),
        };
        number.map(|number| self.amount(number))
    }

    /// A number exactly as it was meant: `36h 30m`, `12.50 USD`, `56.4%`.
    pub fn exact(self, number: f64) -> String {
        match self {
            Self::Time | Self::StepTime => Seconds(number).exact(),
            Self::Money => Usd(number).exact(),
            Self::Percent => Percent(number).exact(),
            Self::Bytes => Bytes::from_f64(number).to_string(),
            Self::Number => number.to_string(),
        }
    }

    /// A number rounded for a reader: `5h 42m`, `63 USD`, `71%`.
    pub fn rounded(self, number: f64) -> String {
        match self {
            Self::Time => Seconds(number).to_string(),
            Self::StepTime => step_time(number),
            Self::Money => Usd(number).to_string(),
            Self::Percent => Percent(number).to_string(),
            Self::Bytes => Bytes::from_f64(number).to_string(),
            // Rounded as dollars are.
            Self::Number => Usd(number).bare(),
        }
    }

    /// A rounded number beside another that names the unit: `56`. Times and bytes always name it.
    pub fn bare(self, number: f64) -> String {
        match self {
            Self::Money => Usd(number).bare(),
            Self::Percent => Percent(number).bare(),
            Self::Time | Self::StepTime | Self::Bytes | Self::Number => self.rounded(number),
        }
    }

    /// A number with so many decimals; `None` of a time and of bytes, which are written in parts of several sizes.
    pub fn with_decimals(self, number: f64, decimals: usize) -> Option<String> {
        match self {
            Self::Money => Some(format!("{number:.decimals$} USD")),
            Self::Percent => Some(format!("{number:.decimals$}%")),
            Self::Number => Some(format!("{number:.decimals$}")),
            Self::Time | Self::StepTime | Self::Bytes => None,
        }
    }

    /// The decimals of a rounded number; 0 where it has none.
    pub fn decimals(self, number: f64) -> usize {
        match self {
            Self::Money | Self::Number => Usd(number).decimals(),
            Self::Percent => Percent(number).decimals(),
            Self::Time | Self::StepTime | Self::Bytes => 0,
        }
    }

    /// Beyond this a number is of no use to a reader. A distribution with few degrees of freedom has such ends.
    pub fn largest_shown(self) -> f64 {
        match self {
            Self::Time | Self::StepTime => 3.2e9, // a hundred years
            Self::Money => 1e9,
            Self::Percent => 1e5,
            Self::Bytes | Self::Number => 1e18,
        }
    }
}

impl Amount {
    /// Exactly as it was meant: `36h 30m`, `12.50 USD`, `56.4%`.
    pub fn exact(self) -> String {
        self.unit.exact(self.number)
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.unit == other.unit {
            true => self.number.partial_cmp(&other.number),
            false => None,
        }
    }
}

impl From<Seconds> for Amount {
    fn from(Seconds(number): Seconds) -> Self {
        Unit::Time.amount(number)
    }
}

impl From<Percent> for Amount {
    fn from(Percent(number): Percent) -> Self {
        Unit::Percent.amount(number)
    }
}

/// Above 0, as `9000`, `0.5` or `75e9`.
fn plain_number(text: &str) -> Result<f64, UnitError> {
    let refused = |problem: &str| UnitError::new(problem, "9000");
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        Ok(number) if number.is_finite() => Err(refused("a limit is more than 0")),
        _ => Err(refused(&format!("`{text}` is no number"))),
    }
}

/// `1.4s`, `320ms`, `4.2ms`, `0.0052ms`: two figures that matter, also far below a second.
fn step_time(seconds: f64) -> String {
    let size = seconds.abs();
    if size == 0.0 || size >= 0.995 {
        return Seconds(seconds).to_string();
    }
    let mut digits = 0;
    let mut scaled = size * 1000.0;
    while scaled < 9.95 && digits < 9 {
        scaled *= 10.0;
        digits += 1;
    }
    format!("{:.digits$}ms", seconds * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_reads_back_as_it_is_written() {
        for (unit, text) in [
            (Unit::Time, "36h 30m"),
            (Unit::Money, "12.50 USD"),
            (Unit::Percent, "56.4%"),
            (Unit::Number, "9000.5"),
        ] {
            assert_eq!(unit.parse(text).unwrap().exact(), text);
        }
        assert!(Unit::Money.parse("3h").is_err());
        assert_eq!(Unit::Number.parse("75e9").unwrap().number, 75e9);
        for text in ["NaN", "inf", "1e999", "0", "-1", "9000 tokens", ""] {
            assert!(Unit::Number.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_of_different_units_have_no_order() {
        let [dollar, dollars] = [1.0, 2.0].map(|number| Unit::Money.amount(number));
        assert!(dollar < dollars);
        let hour = Amount::from(Seconds(3600.0));
        assert_eq!(dollar.partial_cmp(&hour), None);
    }
}
