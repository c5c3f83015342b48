//! The reference **beside today's check**: how the full run changed, by how much, and why.

use super::{CauseShare, CheckRecord, DriftChange, causes};
use crate::forecast::ratio::{RatioEstimate, compare};
use crate::forecast::{Basis, Estimate, Predictive, Unknown, forecast};
use crate::instance::Offer;
use crate::metric::Metric;
use crate::spec::DriftPolicy;
use crate::units::Fraction;

/// The reference beside today's check.
pub(super) struct ReferencePair {
    comparison: RatioEstimate,
    /// The time of the reference's full run.
    base: Predictive,
    /// Of all machines for a second, of the reference and today; `None` unless both are known.
    pub(super) prices: Option<(f64, f64)>,
}

impl ReferencePair {
    pub(super) fn of(reference: &CheckRecord, today: &CheckRecord) -> Result<Self, Unknown> {
        let comparison = compare(&reference.measurements, &today.measurements)?;
        let Some(first) = reference.measurements.first() else {
            return Err(Unknown("the baseline has no runs".to_owned()));
        };
        let base = forecast(&Basis {
            offer: &Offer::unknown(&first.instance),
            measurements: &reference.measurements,
        });
        Ok(Self {
            comparison,
            base: base[Metric::Time].clone()?,
            prices: reference.usd_per_second().zip(today.usd_per_second()),
        })
    }

    /// The highest level that is allowed, as a multiple of the reference's. An amount of money can only be asked for where it is
    /// known.
    pub(super) fn limit(&self, policy: &DriftPolicy) -> f64 {
        let at_least = self.prices.map_or(0.0, |(before, _)| {
            policy.at_least.0 / (self.base.median() * before)
        });
        1.0 + policy.max.as_fraction().0.max(at_least)
    }

    /// By what multiple today's full run is above the reference's for reasons that have no noise: prices, and what data and work
    /// make of the logarithm of its time.
    pub(super) fn known_multiple(&self, ln_size_before: f64, ln_size_now: f64) -> f64 {
        let price = self.prices.map_or(1.0, |(before, now)| now / before);
        price * (ln_size_now - ln_size_before).exp()
    }

    /// The points are the differences of the two full runs' medians, so that the causes add up to them.
    pub(super) fn change(&self, certainty: Fraction) -> DriftChange {
        let (base, ratio) = (self.base.median(), self.comparison.factors().total());
        let time = self.comparison.growth(&self.base);
        let mut change = DriftChange {
            time_seconds: Some(about(base * (ratio - 1.0), time.difference(certainty))),
            time_percent: Some(about(100.0 * (ratio - 1.0), time.percent(certainty))),
            ..DriftChange::default()
        };
        if let Some((before, now)) = self.prices {
            let cost = time.priced(before, now);
            let (base, ratio) = (base * before, ratio * now / before);
            change.cost_usd = Some(about(base * (ratio - 1.0), cost.difference(certainty)));
            change.cost_percent = Some(about(100.0 * (ratio - 1.0), cost.percent(certainty)));
        }
        change
    }

    pub(super) fn causes(&self) -> Vec<CauseShare> {
        let factors = self.comparison.factors();
        let base = self.base.median();
        causes::causes(&factors, base, base * factors.total(), self.prices)
    }
}

/// The estimate with another point, which lies in its interval.
fn about(point: f64, estimate: Estimate) -> Estimate {
    Estimate {
        point,
        lower: estimate.lower.min(point),
        upper: estimate.upper.max(point),
        ..estimate
    }
}
