//! [`Growth`]: the joint distribution of a full run now and on the base.

use crate::forecast::Estimate;
use crate::forecast::predictive::weighted_quantile;
use crate::units::Fraction;

/// One case of the joint distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WeightedCase {
    /// The base's full run, in the quantity's unit; positive.
    base: f64,
    /// The new full run as a multiple of the base's; positive, 1 without change.
    ratio: f64,
    /// Probabilities sum to 1.
    weight: f64,
}

/// The joint distribution of the base's full run and of the ratio by which it changed, which are assumed independent. It is a
/// list of weighted cases, so that any probability can be computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    cases: Vec<WeightedCase>,
}

impl Growth {
    /// Combines every base with every ratio; each has its probability.
    pub fn new(bases: &[(f64, f64)], ratios: &[(f64, f64)]) -> Self {
        let cases = bases.iter().flat_map(|(base, base_weight)| {
            ratios
                .iter()
                .map(move |(ratio, ratio_weight)| WeightedCase {
                    base: *base,
                    ratio: *ratio,
                    weight: base_weight * ratio_weight,
                })
        });
        Self {
            cases: cases.collect(),
        }
    }

    /// Converts to another unit with the factor `now` for the new run and `before` for the base: seconds become dollars at two
    /// prices. Both positive and finite.
    #[must_use]
    pub fn priced(&self, before: f64, now: f64) -> Self {
        let cases = self.cases.iter().map(|case| WeightedCase {
            base: case.base * before,
            ratio: case.ratio * now / before,
            weight: case.weight,
        });
        Self {
            cases: cases.collect(),
        }
    }

    /// P(it grew by more than `share` of the base and by more than `at_least`, in the quantity's unit), 0-1.
    pub fn chance_above(&self, share: Fraction, at_least: f64) -> f64 {
        let is_above = |case: &&WeightedCase| {
            let growth = case.base * (case.ratio - 1.0);
            growth > share.0 * case.base && growth > at_least
        };
        let above = self.cases.iter().filter(is_above);
        above.map(|case| case.weight).sum::<f64>().min(1.0)
    }

    /// P(the new full run takes more than that of the base), 0-1.
    pub fn chance_of_more(&self) -> f64 {
        self.chance_above(Fraction(0.0), 0.0)
    }

    /// The change in the quantity's unit: median, and central interval at level 2c - 1.
    pub fn difference(&self, certainty: Fraction) -> Estimate {
        self.estimate(certainty, |case| case.base * (case.ratio - 1.0))
    }

    /// The change in percent of the base.
    pub fn percent(&self, certainty: Fraction) -> Estimate {
        self.estimate(certainty, |case| 100.0 * (case.ratio - 1.0))
    }

    fn estimate(&self, certainty: Fraction, value: impl Fn(&WeightedCase) -> f64) -> Estimate {
        let cases = self.cases.iter();
        let values: Vec<(f64, f64)> = cases.map(|case| (value(case), case.weight)).collect();
        let quantile = |p: f64| weighted_quantile(&mut values.clone(), p - 1e-12);
        Estimate::of_quantiles(quantile, certainty)
    }
}
