//! The **causes** of a difference: shares in seconds and in dollars that add up to it.
//!
//! By the logarithmic mean Divisia index, additive form (LMDI-I; Ang, Energy Policy 32, 2004, 1131-1139, and Energy Policy 33,
//! 2005, 867-871, for the formulas): where C is a product of factors, the part of C1 - C0 that one factor has is
//! `L(C1, C0) ln(factor)`, with `L(a, b) = (a - b) / ln(a / b)`, the logarithmic mean. The parts add up without a rest, and
//! swapping the two sides turns each part's sign.

use super::{Cause, CauseShare};
use crate::forecast::ratio::Factors;

/// The share of each cause in the difference between two full runs: in seconds from `base_seconds` to `new_seconds`, billed per
/// instance, and in US dollars if `prices` are known, before and now, of all machines per second. The rest that data and work do not
/// explain is code or platform, so the shares add up even if the product of the factors is not exactly the ratio.
///
/// Always data, price, work, code or platform in this order; the price only if both are known. Empty if an amount is not
/// positive and finite.
pub fn causes(
    factors: &Factors,
    base_seconds: f64,
    new_seconds: f64,
    prices: Option<(f64, f64)>,
) -> Vec<CauseShare> {
    let ratio = new_seconds / base_seconds;
    let amounts = [base_seconds, new_seconds, ratio, factors.data, factors.work];
    if !amounts.iter().all(|amount| is_sound(*amount)) {
        return Vec::new();
    }
    let prices = prices.filter(|(before, now)| {
        let amounts = [base_seconds * before, new_seconds * now, now / before];
        amounts.iter().all(|amount| is_sound(*amount))
    });
    let (data, work) = (factors.data.ln(), factors.work.ln());
    let rest = ratio.ln() - data - work;
    let seconds = logarithmic_mean(new_seconds, base_seconds);
    let dollars =
        prices.map(|(before, now)| logarithmic_mean(new_seconds * now, base_seconds * before));
    let share = |cause, logarithm: f64| CauseShare {
        cause,
        seconds: seconds * logarithm,
        usd: dollars.map(|dollars| dollars * logarithm),
    };
    let of_price = prices.map(|(before, now)| CauseShare {
        seconds: 0.0,
        ..share(Cause::Price, (now / before).ln())
    });
    let mut shares = vec![share(Cause::Data, data)];
    shares.extend(of_price);
    shares.push(share(Cause::Work, work));
    shares.push(share(Cause::CodeOrPlatform, rest));
    shares
}

fn is_sound(amount: f64) -> bool {
    amount.is_finite() && amount > 0.0
}

/// (a - b) / ln(a / b), and a if both are equal; both positive. Computed as sqrt(a b) sinh(d) / d with d half of ln(a / b), which
/// loses no digits if they are nearly equal.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let half = (a / b).ln() / 2.0;
    let geometric = a.sqrt() * b.sqrt();
    if half == 0.0 {
        geometric
    } else {
        geometric * half.sinh() / half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(data: f64, work: f64, rate: f64) -> Factors {
        Factors { data, work, rate }
    }

    fn seconds(parts: &[CauseShare]) -> Vec<f64> {
        parts.iter().map(|part| part.seconds).collect()
    }

    /// `bc -l`, by the formula as it is written: L = (2376 - 1000) / l(2.376), then L l(1.2), L l(1.1) and L l(1.8); for dollars
    /// L = (2.9700 - 1) / l(2.97), and its price part L l(1.25).
    #[test]
    fn the_parts_are_those_of_the_formula() {
        let parts = causes(
            &factors(1.2, 1.1, 1.8),
            1000.0,
            2376.0,
            Some((0.001, 0.00125)),
        );
        for (found, expected) in seconds(&parts).iter().zip([
            289.888_060_750_192,
            0.0,
            151.541_505_453_753_2,
            934.570_433_796_054_8,
        ]) {
            assert!((found - expected).abs() < 1e-6, "{parts:?}");
        }
        for (part, expected) in parts.iter().zip([
            0.329_952_251_183_687_14,
            0.403_828_918_466_581_54,
            0.172_485_409_515_775_5,
            1.063_733_420_833_955_8,
        ]) {
            assert!((part.usd.unwrap() - expected).abs() < 1e-9, "{parts:?}");
        }
    }

    #[test]
    fn the_parts_add_up_and_swapping_the_sides_turns_their_signs() {
        let there = causes(&factors(1.3, 0.7, 1.1), 800.0, 830.0, Some((0.002, 0.003)));
        // The product of the factors is not quite the ratio: code or platform takes the rest.
        let total: f64 = seconds(&there).iter().sum();
        assert!((total - 30.0).abs() < 1e-9, "{total}");
        let usd: f64 = there.iter().filter_map(|part| part.usd).sum();
        assert!(
            (usd - (830.0 * 0.003 - 800.0 * 0.002)).abs() < 1e-12,
            "{usd}"
        );
        let back = causes(
            &factors(1.0 / 1.3, 1.0 / 0.7, 1.0),
            830.0,
            800.0,
            Some((0.003, 0.002)),
        );
        for (one, other) in there.iter().zip(&back) {
            assert_eq!(one.cause, other.cause);
            assert!((one.seconds + other.seconds).abs() < 1e-9);
            assert!((one.usd.unwrap() + other.usd.unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn without_prices_there_are_seconds_alone() {
        for prices in [None, Some((0.0, 1.0))] {
            let parts = causes(&factors(2.0, 1.0, 1.0), 100.0, 200.0, prices);
            let found: Vec<Cause> = parts.iter().map(|part| part.cause).collect();
            assert_eq!(found, [Cause::Data, Cause::Work, Cause::CodeOrPlatform]);
            assert!(parts.iter().all(|part| part.usd.is_none()));
            assert!((parts[0].seconds - 100.0).abs() < 1e-9 && parts[1].seconds == 0.0);
        }
    }

    #[test]
    fn no_change_has_no_parts_that_count() {
        let parts = causes(&Factors::NONE, 100.0, 100.0, Some((0.1, 0.1)));
        assert!(
            parts
                .iter()
                .all(|part| part.seconds == 0.0 && part.usd == Some(0.0))
        );
        // Causes that cancel each other are there all the same.
        let parts = causes(&factors(2.0, 1.0, 0.5), 100.0, 100.0, None);
        assert!((parts[0].seconds - 100.0 * 2.0_f64.ln()).abs() < 1e-9);
        assert!((parts[0].seconds + parts[2].seconds).abs() < 1e-9);
    }

    #[test]
    fn a_price_alone_changes_dollars_and_no_seconds() {
        let parts = causes(&Factors::NONE, 100.0, 100.0, Some((0.1, 0.2)));
        assert!(parts.iter().all(|part| part.seconds == 0.0));
        assert!((parts[1].usd.unwrap() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn amounts_that_are_none_have_no_parts() {
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(causes(&Factors::NONE, odd, 1.0, None), []);
            assert_eq!(causes(&Factors::NONE, 1.0, odd, None), []);
            assert_eq!(causes(&factors(odd, 1.0, 1.0), 1.0, 1.0, None), []);
        }
        assert_eq!(causes(&Factors::NONE, 1e-300, 1e300, None), []);
    }

    /// Series of the function about 0 to the second order: sqrt(a b) (1 + d^2 / 6).
    #[test]
    fn the_logarithmic_mean_of_nearly_equal_values_loses_no_digits() {
        assert_eq!(logarithmic_mean(4.0, 4.0), 4.0);
        assert!((logarithmic_mean(1.0, 1.0 + 1e-12) - (1.0 + 5e-13)).abs() < 1e-15);
    }
}
