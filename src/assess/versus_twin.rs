//! Groups of machines beside machines of one type: ratios of time and cost, and the price at which both cost the same.

use crate::forecast::scale_out::Measured;
use crate::forecast::{Estimate, Predictive};
use crate::instance::{InstanceType, Offer};
use crate::metric::Metric;
use crate::report::{BreakEven, VersusTwin};
use crate::units::Fraction;

/// For each configuration, in order; none for one type, and where no configuration of one type has a forecast of time.
pub(super) fn of_each(measured: &[Measured<'_>], certainty: Fraction) -> Vec<Option<VersusTwin>> {
    let is_twin = |one: &&Measured<'_>| {
        one.instance().single_type().is_some() && one.forecast[Metric::Time].is_ok()
    };
    let twin = measured.iter().find(is_twin);
    let versus = |groups: &Measured<'_>| match groups.instance().single_type() {
        None => versus(groups, twin?, certainty),
        Some(_) => None,
    };
    measured.iter().map(versus).collect()
}

/// Nothing where the groups have no forecast of time. No canary is of both, so what one draws says nothing of the other.
fn versus(groups: &Measured<'_>, twin: &Measured<'_>, certainty: Fraction) -> Option<VersusTwin> {
    let ratio = |metric: Metric| -> Option<Predictive> {
        let known = |of: &Measured<'_>| of.forecast[metric].as_ref().ok().cloned();
        known(twin)?.over(&known(groups)?)
    };
    let estimate = |metric| ratio(metric).map(|ratio| Estimate::of(&ratio, certainty));
    let time_ratio = estimate(Metric::Time)?;
    let step_time_ratio = estimate(Metric::StepTime);
    Some(VersusTwin {
        instance: twin.instance().clone(),
        time_ratio: Some(time_ratio),
        cost_ratio: estimate(Metric::Cost),
        step_time_ratio,
        cost_per_step_ratio: estimate(Metric::CostPerStep),
        break_even: break_even(
            groups.offer,
            twin.offer,
            &time_ratio,
            step_time_ratio.as_ref(),
        ),
    })
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
    let machines = |kind: &InstanceType| {
        let members = groups.members.iter();
        let such = members.filter(|member| member.instance_type == *kind);
        f64::from(such.map(|member| member.count).sum::<u32>())
    };
    let count = machines(cheaper);
    let is_only = (groups.members.iter()).all(|member| member.instance_type == *cheaper);
    if is_only || twin.configuration.single_type() == Some(cheaper) {
        return None;
    }
    let others = of_groups - count * price_today;
    let price = |ratio: f64| ((ratio * of_twin - others) / count).max(0.0);
    let estimate = |ratio: &Estimate| Estimate {
        point: price(ratio.point),
        lower: price(ratio.lower),
        upper: price(ratio.upper),
        level: ratio.level,
    };
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
    use crate::instance::{InstanceConfiguration, Price};
    use crate::units::UsdPerHour;

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

    #[test]
    fn a_price_that_both_pay_has_no_break_even() {
        assert_eq!(even(GROUPS, "ml.c5.9xlarge", 2.0), None);
        let alike = "data: 1x ml.p3.2xlarge + dnn: 1x ml.p3.2xlarge";
        assert_eq!(even(alike, "ml.g5.xlarge", 2.0), None);
    }
}
