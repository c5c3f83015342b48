//! Groups of machines beside machines of one type: ratios of time and cost, and the price at which both cost the same.

use crate::forecast::scale_out::{DataLayout, Measured};
use crate::forecast::{Estimate, PRICE_ESTIMATE_SHARE, Predictive, ratio};
use crate::instance::Offer;
use crate::metric::Metric;
use crate::report::{BreakEven, VersusTwin};
use crate::units::Fraction;

/// For each configuration, in order; none for one type, for what follows from others alone (`None`), and where no configuration of one
/// type has a forecast of time.
pub(super) fn of_each(
    measured: &[Option<&Measured>],
    layout: &DataLayout,
    certainty: Fraction,
) -> Vec<Option<VersusTwin>> {
    let is_groups = |one: &&Measured| one.instance().single_type().is_none();
    let has_time = |one: &Measured| one.forecast[Metric::Time].is_ok();
    let mut twins = measured.iter().copied().flatten();
    let twin = twins.find(|one| !is_groups(one) && has_time(one));
    let versus = |one: &Option<&Measured>| versus(one.filter(is_groups)?, twin?, layout, certainty);
    measured.iter().map(versus).collect()
}

/// Nothing where the groups have no forecast of time.
fn versus(
    groups: &Measured,
    twin: &Measured,
    layout: &DataLayout,
    certainty: Fraction,
) -> Option<VersusTwin> {
    // No canary is of both, so of the forecasts alone what one draws says nothing of the other.
    let drawn_apart = |metric: Metric| -> Option<Predictive> {
        let known = |of: &Measured| of.forecast[metric].as_ref().ok().cloned();
        Some(known(twin)?.over(&known(groups)?))
    };
    let estimate = |ratio: &Predictive| Estimate::of(ratio, certainty);
    let apart = drawn_apart(Metric::Time)?;
    let by_one_law = by_one_law(groups, twin, layout);
    let time_ratio = estimate(by_one_law.as_ref().unwrap_or(&apart));
    let cost_ratio = match &by_one_law {
        Some(time) => priced(time, groups, twin),
        None => drawn_apart(Metric::Cost),
    };
    let step_time_ratio = drawn_apart(Metric::StepTime).as_ref().map(estimate);
    let by_step = step_time_ratio.as_ref();
    Some(VersusTwin {
        instance: twin.instance().clone(),
        shares_law: by_one_law.is_some(),
        time_ratio: Some(time_ratio),
        cost_ratio: cost_ratio.as_ref().map(estimate),
        step_time_ratio,
        cost_per_step_ratio: drawn_apart(Metric::CostPerStep).as_ref().map(estimate),
        break_even: break_even(&groups.offer, &twin.offer, &time_ratio, by_step),
    })
}

/// The ratio where both run one script on the same data, or through the same work, and the likeliest law of each is the same: how time grows
/// to the full run is then drawn once for both, as far as their canaries agree on it, and the fixed parts once for each
/// (`forecast::ratio`). `None` where hosts have shards, of which a canary's are others than the full run's, and where the canaries of a
/// side are no forecast by themselves.
fn by_one_law(groups: &Measured, twin: &Measured, layout: &DataLayout) -> Option<Predictive> {
    let law = |one: &Measured| one.forecast.law.time.as_ref().map(|law| law.name.clone());
    if layout.is_sharded() || law(groups)? != law(twin)? {
        return None;
    }
    let comparison = ratio::compare(&groups.measurements, &twin.measurements).ok()?;
    // Each says what had to be assumed of another full run.
    let ratio = comparison.of_full_runs();
    ratio.filter(|_| comparison.notes.is_empty()).cloned()
}

/// A ratio of times at the prices of both.
fn priced(time: &Predictive, groups: &Measured, twin: &Measured) -> Option<Predictive> {
    let second = |of: &Measured| of.offer.cost_of_a_second().ok();
    let (of_groups, of_twin) = (second(groups)?, second(twin)?);
    let estimates = [of_groups, of_twin].into_iter().filter(|of| of.is_estimate);
    let ratio = time.scaled(of_twin.usd / of_groups.usd);
    Some(estimates.fold(ratio, |ratio, _| ratio.widened(PRICE_ESTIMATE_SHARE)))
}

/// With the ratio r of times, groups cost as much as their twin where the price p of their cheaper type, of which they have n machines
/// beside others that cost P, holds n p + P = r x the twin's price.
fn break_even(
    groups: &Offer,
    twin: &Offer,
    by_run: &Estimate,
    by_step: Option<&Estimate>,
) -> Option<BreakEven> {
    let of_twin = twin.cost_of_a_second().ok()?.usd * 3600.0;
    let of_groups = groups.cost_of_a_second().ok()?.usd * 3600.0;
    let priced = groups.members.iter().filter_map(|member| {
        let price = member.price.as_ref()?.usd_per_hour.0;
        Some((&member.instance_type, price))
    });
    let (cheaper, price_today) = priced.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let machines = groups.configuration.machines_by_type();
    let count = f64::from(*machines.get(cheaper)?);
    if machines.len() == 1 || twin.configuration.single_type() == Some(cheaper) {
        return None;
    }
    let others = of_groups - count * price_today;
    let price = |ratio: f64| ((ratio * of_twin - others) / count).max(0.0);
    let estimate = |ratio: &Estimate| ratio.map(price);
    Some(BreakEven {
        instance_type: cheaper.clone(),
        price_today,
        usd_per_hour: Some(estimate(by_run)),
        usd_per_hour_by_step: by_step.map(estimate),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::Basis;
    use crate::instance::{InstanceConfiguration, InstanceType, Price};
    use crate::measurement::{Measurement, Outcome};
    use crate::units::{Seconds, UsdPerHour};

    const GROUPS: &str = "data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge";

    fn offer(configuration: &str) -> Offer {
        let configuration: InstanceConfiguration = configuration.parse().unwrap();
        let price = |kind: &InstanceType| {
            let usd = if kind.name() == "ml.c5.9xlarge" {
                1.836
            } else {
                3.825
            };
            Some(Price::from_spec(UsdPerHour(usd)))
        };
        Offer::of(&configuration, &|_| None, &price)
    }

    fn ratio(point: f64) -> Estimate {
        Estimate {
            point,
            lower: point - 0.5,
            upper: point + 0.5,
            level: 0.9,
        }
    }

    fn even(groups: &str, twin: &str, by_run: f64) -> Option<BreakEven> {
        break_even(&offer(groups), &offer(twin), &ratio(by_run), None)
    }

    /// Steps of 1.19 s and 0.18 s.
    #[test]
    fn groups_cost_as_much_as_their_twin_at_the_break_even_price() {
        let time_ratio = 1.19 / 0.18;
        let even = even(GROUPS, "ml.p3.2xlarge", time_ratio).unwrap();
        assert_eq!(even.instance_type.name(), "ml.c5.9xlarge");
        let price = even.usd_per_hour.unwrap();
        let groups = price.point + 3.825;
        assert!((groups - time_ratio * 3.825).abs() < 1e-9, "{groups}");
        assert!(price.lower < price.point && price.point < price.upper);
    }

    #[test]
    fn several_machines_share_what_is_left_and_nothing_is_left_where_the_others_cost_as_much() {
        let two = "data: 2x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge";
        let price = |by_run| even(two, "ml.p3.2xlarge", by_run)?.usd_per_hour;
        assert!((price(3.0).unwrap().point - 3.825).abs() < 1e-9);
        let slower = price(0.9).unwrap();
        assert_eq!((slower.point, slower.lower), (0.0, 0.0));
        assert!(slower.upper > 0.0);
    }

    const TWIN: &str = "ml.p3.2xlarge";
    const ITERATIONS: f64 = 4800.0;

    /// Canaries of up to 100 of 4800 iterations.
    fn canaries(instance: &str, time: impl Fn(f64) -> f64) -> Vec<Measurement> {
        let canary = |level: f64| Measurement {
            differs_in_work_alone: true,
            work: Some(level),
            work_total: Some(ITERATIONS),
            training_seconds: Some(Seconds(time(level))),
            ..Measurement::without_figures(
                "segment".to_owned(),
                instance.parse().unwrap(),
                Fraction(level / ITERATIONS),
                Outcome::Completed,
            )
        };
        [24.0, 48.0, 100.0].map(canary).to_vec()
    }

    /// By one law where it may be, and drawn apart; and whether it was by one.
    fn time_ratios(on_groups: &[Measurement], on_twin: &[Measurement]) -> ([Estimate; 2], bool) {
        let measured = |instance: &str, measurements: &[Measurement]| {
            let offer = offer(instance);
            Measured {
                forecast: crate::forecast::forecast(&Basis {
                    offer: &offer,
                    measurements,
                }),
                offer,
                measurements: measurements.to_vec(),
            }
        };
        let mut both = [measured(GROUPS, on_groups), measured(TWIN, on_twin)];
        let ratio = |[groups, twin]: &[Measured; 2]| {
            let layout = DataLayout::default();
            let versus = of_each(&[groups, twin].map(Some), &layout, Fraction(0.95)).remove(0);
            let versus = versus.unwrap();
            (versus.time_ratio.unwrap(), versus.shares_law)
        };
        let (one, shares_law) = ratio(&both);
        both[0].measurements.clear();
        let (apart, of_none) = ratio(&both);
        assert!(!of_none);
        ([one, apart], shares_law)
    }

    /// A side whose canaries grow by another law shows it, and has one of its own.
    #[test]
    fn sides_whose_canaries_grow_differently_keep_a_law_each() {
        let line = |step: f64| move |level: f64| 5.0 + step * level;
        let on_groups = canaries(GROUPS, line(0.2));
        let ([alike, _], shares_law) = time_ratios(&on_groups, &canaries(TWIN, line(1.2)));
        let truth = line(1.2)(ITERATIONS) / line(0.2)(ITERATIONS);
        assert!(shares_law && alike.lower < truth && truth < alike.upper);
        let steep = |level: f64| 5.0 + 0.012 * level * level;
        let ([one, apart], shares_law) = time_ratios(&on_groups, &canaries(TWIN, steep));
        assert!(!shares_law);
        assert_eq!(one, apart);
    }

    #[test]
    fn a_price_that_both_pay_has_no_break_even() {
        assert_eq!(even(GROUPS, "ml.c5.9xlarge", 2.0), None);
        let alike = "data: 1x ml.p3.2xlarge + dnn: 1x ml.p3.2xlarge";
        assert_eq!(even(alike, "ml.g5.xlarge", 2.0), None);
    }
}
