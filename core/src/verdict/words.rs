//! How a budget line is said: its limit as it was written, a value beside it, a chance. One place, so that a headline and
//! a table never differ.

use super::{ExistingBreach, JudgedLine};
use crate::metric::{Amount, LineKind, Unit};
use crate::spec::{Bound, Level};

/// From this on a chance is shown as `>99%`, and below its complement as `<1%`: no sample of this size distinguishes it from 1.
const MOST_CHANCE_SHOWN: f64 = 0.995;

/// Digits added at most to distinguish a value from the limit beside it.
const MOST_ADDED_DIGITS: usize = 6;

/// A value that stands beside its limit: with as many more digits as the two need to differ, `0.272 USD` beside `0.27 USD`.
pub fn amount_beside(kind: LineKind, value: f64, limit: f64) -> String {
    if value == limit || !value.is_finite() {
        return kind.rounded(value);
    }
    let unit = kind.unit();
    let fewest = unit.decimals(value);
    if unit.with_decimals(value, fewest).is_none() {
        return match unit.rounded(value) == unit.rounded(limit) {
            true => unit.exact(value),
            false => unit.rounded(value),
        };
    }
    // What rounding takes must be small beside the distance.
    let most_lost = (value - limit).abs() / 2.0;
    let digits = (fewest..fewest + MOST_ADDED_DIGITS).find(|&digits| {
        let shown: f64 = format!("{value:.digits$}").parse().unwrap_or(limit);
        (shown - value).abs() <= most_lost
    });
    let added = digits.filter(|digits| *digits > fewest);
    let number = added.and_then(|digits| unit.with_decimals(value, digits));
    number.map_or_else(|| kind.rounded(value), |number| kind.signed(value, number))
}

/// How far a value lies from its limit; between two percentages in points, lest `7%` be read as a share of the limit.
pub fn distance(kind: LineKind, difference: f64) -> String {
    match kind.unit() {
        Unit::Percent => format!("{} points", Unit::Percent.bare(difference)),
        _ => kind.rounded(difference),
    }
}

/// A chance as a percentage, never a flat 0% or 100%.
pub fn bare_chance(chance: f64) -> String {
    match chance {
        MOST_CHANCE_SHOWN.. => ">99%".to_owned(),
        _ if chance < 1.0 - MOST_CHANCE_SHOWN => "<1%".to_owned(),
        _ => format!("{:.0}%", chance * 100.0),
    }
}

/// `25% likely over`; for a lower limit `25% likely under`. Never a flat 0% or 100%.
pub fn chance(chance_of_breach: f64, bound: Bound) -> String {
    let percent = bare_chance(chance_of_breach);
    format!("{percent} likely {}", side(bound))
}

/// On which side of a limit its breach lies.
pub fn side(bound: Bound) -> &'static str {
    bound.pick("over", "under")
}

/// That the base was over a line already, and what follows: `the base was over already (61 USD) and this change does not
/// raise it for certain`.
pub fn existing_breach(kind: LineKind, bound: Bound, breach: &ExistingBreach) -> String {
    let (side, raise) = (side(bound), bound.pick("raise", "lower"));
    let base = breach.base.map(|base| format!(" ({})", kind.rounded(base)));
    let base = base.unwrap_or_default();
    let change = match breach.counts_as {
        Level::Warn => format!("is not sure to {raise} it"),
        Level::Fail => format!("{raise}s it"),
    };
    format!("the base was {side} already{base} and this change {change}")
}

/// The amount that an increase must pass beside its share: `5 USD`; `None` where there is none.
pub(super) fn at_least(line: &JudgedLine) -> Option<String> {
    let at_least = line.at_least.filter(|amount| amount.number > 0.0);
    at_least.map(Amount::exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric::{Cost, Memory, Time};

    #[test]
    fn a_limit_is_shown_as_it_was_written() {
        for (kind, written, shown) in [
            (LineKind::Absolute(Time), 131_400.0, "36h 30m"),
            (LineKind::Absolute(Time), 90.0, "1m 30s"),
            (LineKind::Absolute(Cost), 12.5, "12.50 USD"),
            (LineKind::Absolute(Cost), 50.0, "50 USD"),
            (LineKind::Absolute(Cost), 0.125, "0.125 USD"),
            (LineKind::Absolute(Memory), 56.4, "56.4%"),
            (LineKind::Increase(Cost), 20.0, "+20%"),
        ] {
            assert_eq!(kind.exact(written), shown);
        }
    }

    #[test]
    fn a_value_never_reads_as_the_limit_that_it_misses() {
        for (kind, value, limit, shown) in [
            (LineKind::Absolute(Cost), 0.272, 0.27, "0.272 USD"),
            (LineKind::Absolute(Cost), 63.4, 50.0, "63 USD"),
            (LineKind::Absolute(Cost), 63.4, 63.0, "63.4 USD"),
            (LineKind::Absolute(Cost), 50.0, 50.0, "50 USD"),
            (LineKind::Absolute(Cost), 63.4, 63.4, "63 USD"),
            (LineKind::Absolute(Cost), 1e-7, 50.0, "1.0e-7 USD"),
            (LineKind::Absolute(Memory), 90.3, 90.0, "90.3%"),
            (LineKind::Absolute(Memory), 56.38, 56.4, "56.38%"),
            (LineKind::Absolute(Time), 18_012.0, 18_000.0, "5h 12s"),
            (LineKind::Absolute(Time), 20_520.0, 18_000.0, "5h 42m"),
            // The same number but for a rounding error.
            (LineKind::Absolute(Memory), 90.0 + 1e-13, 90.0, "90%"),
        ] {
            assert_eq!(amount_beside(kind, value, limit), shown);
        }
    }

    #[test]
    fn a_chance_is_never_certain() {
        assert_eq!(chance(1.0, Bound::Max), ">99% likely over");
        assert_eq!(chance(0.0, Bound::Max), "<1% likely over");
        assert_eq!(chance(0.414, Bound::Min), "41% likely under");
        for (edge, shown) in [(0.9949, "99%"), (0.995, ">99%"), (1.0 - 0.995, "1%")] {
            assert_eq!(bare_chance(edge), shown);
        }
    }
}
