//! [`Predictive`]: the distribution of one quantity of one new full run.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// Above this a Student-t cannot be told from a normal, and its quantile would lose digits.
const NORMAL_FROM: f64 = 1e7;

/// The quantile of the standard normal that leaves 5 % above it: half of a central 90 % interval.
const NORMAL_95: f64 = 1.644_853_626_951_472_2;

/// The distribution of one quantity of one new full run.
///
/// There are two kinds. An **amount** (time, money, memory) errs by a factor rather than by a difference, so ln y is
/// Student-t about the logarithm of the median: always positive, and the spread is relative. A **level** (a share of the
/// machine, 0-100 %) is Student-t about its centre, with what lies outside the range heaped on its two ends.
///
/// Both are closed under a change of unit, [`Predictive::scaled`].
#[derive(Debug, Clone, PartialEq)]
pub struct Predictive {
    kind: Kind,
    spread: Spread,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The spread is of ln y.
    Amount { median: f64 },
    /// The spread is of y, which stays in 0 to `ceiling`.
    Level { center: f64, ceiling: f64 },
}

/// How far a new run may lie from the point: scale and degrees of freedom of a Student-t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Not negative; 0 is a quantity known exactly.
    pub(super) scale: f64,
    /// Positive; infinite for a normal.
    pub(super) degrees_of_freedom: f64,
}

impl Spread {
    /// The spread of the sum of two independent errors, as one Student-t whose degrees of freedom follow the
    /// Welch-Satterthwaite equation (Satterthwaite, Biometrics Bulletin 2, 1946, eq. 17).
    pub(super) fn and(self, other: Self) -> Self {
        let scale = self.scale.hypot(other.scale);
        if scale == 0.0 {
            return self;
        }
        // Shares of the variance, so that no square can overflow or vanish.
        let own = (self.scale / scale).powi(2);
        let others = (other.scale / scale).powi(2);
        let doubt =
            own.powi(2) / self.degrees_of_freedom + others.powi(2) / other.degrees_of_freedom;
        Self {
            scale,
            degrees_of_freedom: 1.0 / doubt,
        }
    }

    fn quantile(self, p: f64) -> f64 {
        if self.scale == 0.0 || p == 0.5 {
            return 0.0;
        }
        let standard = if self.degrees_of_freedom >= NORMAL_FROM {
            Normal::standard().inverse_cdf(p)
        } else {
            student_quantile(&self.student(), p)
        };
        self.scale * standard
    }

    /// P(the error is below `distance`) and P(it is above); a spread of 0 is never beyond its own point.
    fn below_and_above(self, distance: f64) -> (f64, f64) {
        if self.scale == 0.0 {
            return (
                if distance > 0.0 { 1.0 } else { 0.0 },
                if distance < 0.0 { 1.0 } else { 0.0 },
            );
        }
        let z = distance / self.scale;
        if self.degrees_of_freedom >= NORMAL_FROM {
            (Normal::standard().cdf(z), Normal::standard().sf(z))
        } else {
            (self.student().cdf(z), self.student().sf(z))
        }
    }

    fn student(self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.degrees_of_freedom)
            .expect("degrees of freedom are positive by construction")
    }
}

/// One Newton step on the tail mends statrs's quantile, which is off by 2e-6 for 100,000 degrees of freedom.
fn student_quantile(student: &StudentsT, p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let rough = student.inverse_cdf(tail).abs();
    let distance = rough + (student.sf(rough) - tail) / student.pdf(rough);
    if p < 0.5 { -distance } else { distance }
}

impl Predictive {
    /// An amount. `median` is positive, `relative_scale` (of ln y) not negative, both finite; `degrees_of_freedom` is
    /// positive.
    pub fn log_student_t(median: f64, relative_scale: f64, degrees_of_freedom: f64) -> Self {
        Self::amount(
            median,
            Spread {
                scale: relative_scale,
                degrees_of_freedom,
            },
        )
    }

    /// A level in 0-100. `center` lies in that range, `scale` is not negative, `degrees_of_freedom` is positive.
    pub fn level(center: f64, scale: f64, degrees_of_freedom: f64) -> Self {
        debug_assert!((0.0..=100.0).contains(&center) && scale >= 0.0 && degrees_of_freedom > 0.0);
        Self {
            kind: Kind::Level {
                center,
                ceiling: 100.0,
            },
            spread: Spread {
                scale,
                degrees_of_freedom,
            },
        }
    }

    pub(super) fn amount(median: f64, spread: Spread) -> Self {
        debug_assert!(median > 0.0 && median.is_finite());
        debug_assert!(spread.scale >= 0.0 && spread.degrees_of_freedom > 0.0);
        Self {
            kind: Kind::Amount { median },
            spread,
        }
    }

    /// The point of the forecast: a new run is as likely above as below.
    pub fn median(&self) -> f64 {
        match self.kind {
            Kind::Amount { median } => median,
            Kind::Level { center, .. } => center,
        }
    }

    /// The value that a new run stays below with probability `p`, in (0, 1). Always finite; positive for an amount,
    /// in range for a level.
    pub fn quantile(&self, p: f64) -> f64 {
        let distance = self.spread.quantile(p);
        match self.kind {
            Kind::Amount { median } => (median * distance.exp()).clamp(f64::MIN_POSITIVE, f64::MAX),
            Kind::Level { center, ceiling } => (center + distance).clamp(0.0, ceiling),
        }
    }

    /// P(a new run exceeds `limit`), in 0-1.
    pub fn chance_above(&self, limit: f64) -> f64 {
        match self.kind {
            Kind::Amount { .. } if limit <= 0.0 => 1.0,
            Kind::Level { .. } if limit < 0.0 => 1.0,
            Kind::Level { ceiling, .. } if limit >= ceiling => 0.0,
            _ => self.spread.below_and_above(self.distance(limit)).1,
        }
    }

    /// P(a new run stays below `limit`), in 0-1.
    pub fn chance_below(&self, limit: f64) -> f64 {
        match self.kind {
            _ if limit <= 0.0 => 0.0,
            Kind::Level { ceiling, .. } if limit > ceiling => 1.0,
            _ => self.spread.below_and_above(self.distance(limit)).0,
        }
    }

    /// The same quantity in another unit; `factor` is positive and finite.
    pub fn scaled(&self, factor: f64) -> Self {
        debug_assert!(factor > 0.0 && factor.is_finite());
        match self.kind {
            Kind::Amount { median } => Self::amount(
                (median * factor).clamp(f64::MIN_POSITIVE, f64::MAX),
                self.spread,
            ),
            Kind::Level { center, ceiling } => Self {
                kind: Kind::Level {
                    center: center * factor,
                    ceiling: ceiling * factor,
                },
                spread: Spread {
                    scale: self.spread.scale * factor,
                    ..self.spread
                },
            },
        }
    }

    /// An amount times an unknown factor: log-normal about 1, in 1/(1+`share`) to 1+`share` in 90 of 100 cases.
    /// A level is returned as it is: it is not a product.
    #[must_use]
    pub fn widened(&self, share: f64) -> Self {
        match self.kind {
            Kind::Amount { median } => Self::amount(
                median,
                self.spread.and(Spread {
                    scale: share.ln_1p() / NORMAL_95,
                    degrees_of_freedom: f64::INFINITY,
                }),
            ),
            Kind::Level { .. } => self.clone(),
        }
    }

    /// From the point to `limit`, in the unit of the spread.
    fn distance(&self, limit: f64) -> f64 {
        match self.kind {
            Kind::Amount { median } => limit.ln() - median.ln(),
            Kind::Level { center, .. } => limit - center,
        }
    }

    #[cfg(test)]
    pub(super) fn spread(&self) -> Spread {
        self.spread
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(left: f64, right: f64, relative: f64) -> bool {
        (left - right).abs() <= relative * left.abs().max(right.abs())
    }

    /// Student-t quantiles to 15 digits: scipy 1.17.1, `stats.t.ppf`; the first also in every printed table (2.228139).
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, degrees_of_freedom, expected) in [
            (0.975, 10.0, 2.228_138_851_986_274),
            (0.95, 7.0, 1.894_578_605_090_006_2),
            (0.95, 1.0, 6.313_751_514_675_037),
            (0.95, 2.0, 2.919_985_580_353_724_2),
            (0.95, 8.3, 1.850_871_974_296_456_3),
            (0.9995, 3.0, 12.923_978_636_687_961),
            (0.95, 1e5, 1.644_868_864_784_969_6),
            (0.95, f64::INFINITY, 1.644_853_626_951_471_4),
        ] {
            let exponent = Predictive::log_student_t(1.0, 1.0, degrees_of_freedom)
                .quantile(p)
                .ln();
            assert!(
                near(exponent, expected, 1e-9),
                "{p} {degrees_of_freedom}: {exponent}"
            );
            let lower = Predictive::log_student_t(1.0, 1.0, degrees_of_freedom)
                .quantile(1.0 - p)
                .ln();
            assert!(near(lower, -expected, 1e-9), "{lower}");
        }
    }

    #[test]
    fn a_quantity_known_exactly_is_never_beyond_its_own_value() {
        for exact in [
            Predictive::log_student_t(40.0, 0.0, 3.0),
            Predictive::level(40.0, 0.0, 3.0),
        ] {
            assert_eq!(exact.quantile(0.01), 40.0);
            assert_eq!(exact.quantile(0.99), 40.0);
            assert_eq!(
                (exact.chance_above(39.0), exact.chance_below(39.0)),
                (1.0, 0.0)
            );
            assert_eq!(
                (exact.chance_above(40.0), exact.chance_below(40.0)),
                (0.0, 0.0)
            );
            assert_eq!(
                (exact.chance_above(41.0), exact.chance_below(41.0)),
                (0.0, 1.0)
            );
        }
    }

    #[test]
    fn a_level_stays_in_its_range() {
        let high = Predictive::level(99.0, 10.0, 2.0);
        assert_eq!(high.quantile(0.95), 100.0);
        assert_eq!(high.chance_above(100.0), 0.0);
        assert_eq!(high.chance_above(-1.0), 1.0);
        let low = Predictive::level(0.0, 10.0, 2.0);
        assert_eq!(low.quantile(0.05), 0.0);
        assert_eq!(low.chance_below(0.0), 0.0);
        assert_eq!(low.chance_below(101.0), 1.0);
    }

    #[test]
    fn an_absurd_spread_gives_finite_bounds() {
        let wild = Predictive::log_student_t(1e300, 50.0, 1.0);
        assert_eq!(wild.quantile(0.999), f64::MAX);
        assert!(wild.quantile(0.001) > 0.0);
        assert_eq!(wild.scaled(1e300).median(), f64::MAX);
    }

    #[test]
    fn an_estimated_price_alone_spans_fifteen_percent_each_way() {
        let cost = Predictive::log_student_t(100.0, 0.0, 7.0).widened(0.15);
        assert!(near(cost.quantile(0.95), 115.0, 1e-9));
        assert!(near(cost.quantile(0.05), 100.0 / 1.15, 1e-9));
        assert_eq!(cost.median(), 100.0);
    }

    /// Two equal variances on 4 degrees of freedom each count as 8: the textbook case of Welch's test.
    #[test]
    fn two_spreads_add_their_variances_and_pool_their_degrees_of_freedom() {
        let one = Spread {
            scale: 0.3,
            degrees_of_freedom: 4.0,
        };
        let both = one.and(one);
        assert!(near(both.scale, 0.3 * 2f64.sqrt(), 1e-12));
        assert!(near(both.degrees_of_freedom, 8.0, 1e-12));
        let nothing = Spread {
            scale: 0.0,
            degrees_of_freedom: 1.0,
        };
        assert_eq!(one.and(nothing), one);
    }

    fn any_predictive() -> impl Strategy<Value = Predictive> {
        prop_oneof![
            (1e-6..1e12f64, 1e-4..3.0f64, 1.0..200.0f64)
                .prop_map(|(median, scale, df)| Predictive::log_student_t(median, scale, df)),
            (0.0..=100.0f64, 1e-3..40.0f64, 1.0..200.0f64)
                .prop_map(|(center, scale, df)| Predictive::level(center, scale, df)),
        ]
    }

    proptest! {
        #[test]
        fn the_point_lies_in_its_interval(predictive in any_predictive(), p in 0.5..0.999f64) {
            prop_assert!(predictive.quantile(1.0 - p) <= predictive.median());
            prop_assert!(predictive.median() <= predictive.quantile(p));
        }

        #[test]
        fn quantile_and_chance_are_inverse(predictive in any_predictive(), p in 0.01..0.99f64) {
            let value = predictive.quantile(p);
            // The heaps at the two ends of a level hold more than one p.
            prop_assume!(value > 0.0 && predictive.chance_above(value) > 0.0);
            prop_assert!((predictive.chance_below(value) - p).abs() < 1e-7);
            prop_assert!((predictive.chance_above(value) - (1.0 - p)).abs() < 1e-7);
        }

        #[test]
        fn a_chance_is_a_chance(predictive in any_predictive(), limit in -10.0..1e13f64) {
            let (above, below) = (predictive.chance_above(limit), predictive.chance_below(limit));
            prop_assert!((0.0..=1.0).contains(&above) && (0.0..=1.0).contains(&below));
            prop_assert!(above + below <= 1.0 + 1e-9);
        }

        #[test]
        fn scaling_the_unit_scales_the_answer(
            predictive in any_predictive(), factor in 1e-6..1e6f64, p in 0.01..0.99f64, limit in 1e-3..1e3f64,
        ) {
            let scaled = predictive.scaled(factor);
            prop_assert!(near(scaled.median(), predictive.median() * factor, 1e-12));
            prop_assert!(near(scaled.quantile(p), predictive.quantile(p) * factor, 1e-9));
            let limit = predictive.median().max(1e-9) * limit;
            prop_assert!((scaled.chance_above(limit * factor) - predictive.chance_above(limit)).abs() < 1e-6);
        }

        #[test]
        fn widening_never_narrows(
            median in 1e-6..1e12f64, scale in 0.0..3.0f64, df in 1.0..200.0f64, share in 0.0..1.0f64,
        ) {
            let before = Predictive::log_student_t(median, scale, df);
            let after = before.widened(share);
            prop_assert_eq!(after.median(), median);
            prop_assert!(after.spread().scale >= before.spread().scale);
        }
    }
}
