//! Quantities as text: short for people, exact where a figure is repeated to its writer.

use std::fmt;

use super::{Bytes, Fraction, Percent, Seconds, Usd, UsdPerHour};

impl fmt::Display for Seconds {
    /// Two significant figures: `0.85s`, `4.2s`, `41s`, `4m 12s`, `5h 42m`, `3d 4h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0.0 { "-" } else { "" };
        let seconds = self.0.abs();
        for (below, decimals) in [(0.9995, 2), (9.95, 1), (59.5, 0)] {
            if seconds < below {
                return write!(f, "{sign}{seconds:.decimals$}s");
            }
        }
        let (total, large, ratio, small) = match seconds {
            ..3599.5 => (seconds, "m", 60.0, "s"),
            ..86_370.0 => (seconds / 60.0, "h", 60.0, "m"),
            _ => (seconds / 3600.0, "d", 24.0, "h"),
        };
        let total = total.round();
        let (whole, part) = ((total / ratio).floor(), total % ratio);
        write!(f, "{sign}{whole}{large}")?;
        match part == 0.0 {
            true => Ok(()),
            false => write!(f, " {part:02}{small}"),
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
                let decimals = usize::from(value < 9.995) + usize::from(value < 99.95);
                return write!(f, "{value:.decimals$} {unit}");
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
        match self.0.abs() {
            0.0 => 0,
            size => usize::from(size < 9.95) + usize::from(size < 0.095),
        }
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
}
