//! Groups of machines as alternative, and the ratios.

use super::{estimate, forecast, job, price, report};
use crate::forecast::Estimate;
use crate::instance::{InstanceConfiguration, PriceEvidence};
use crate::metric::Metric;
use crate::report::{BreakEven, Estimates, PricedGroup, Report, VersusTwin};
use crate::verdict::Verdict;

/// One machine whose GPU waits for its CPUs, beside groups of which one makes the batches.
pub(super) fn groups() -> Report {
    let estimates = |time: Option<Estimate>, cost, step, cost_per_step| {
        Estimates::from([
            (Metric::Time, time),
            (Metric::Cost, cost),
            (Metric::StepTime, step),
            (Metric::CostPerStep, cost_per_step),
        ])
    };
    let mut twin = forecast(
        "ml.p3.2xlarge",
        Verdict::NotJudged,
        estimates(
            estimate(5830.0, 5110.0, 6650.0),
            estimate(6.19, 5.43, 7.07),
            estimate(1.19, 1.17, 1.21),
            estimate(0.001_264, 0.001_243, 0.001_286),
        ),
    );
    twin.price = price(3.825, PriceEvidence::PriceList);
    let mut groups = forecast(
        "data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge",
        Verdict::NotJudged,
        estimates(
            estimate(920.0, 790.0, 1070.0),
            estimate(1.45, 1.24, 1.68),
            estimate(0.18, 0.174, 0.186),
            estimate(0.000_283, 0.000_274, 0.000_292),
        ),
    );
    let InstanceConfiguration::Heterogeneous { groups: of, .. } = &groups.instance else {
        return report(Vec::new(), Verdict::NotJudged, 0);
    };
    let priced = of.iter().zip([1.836, 3.825]);
    groups.groups = priced
        .map(|(group, usd)| PricedGroup {
            name: group.name.clone(),
            instance_type: group.instance_type.clone(),
            count: group.count,
            price: price(usd, PriceEvidence::PriceList),
        })
        .collect();
    groups.versus_twin = Some(VersusTwin {
        instance: twin.instance.clone(),
        shares_law: false,
        time_ratio: estimate(6.34, 5.22, 7.71),
        cost_ratio: estimate(4.28, 3.53, 5.21),
        step_time_ratio: estimate(6.61, 6.36, 6.87),
        cost_per_step_ratio: estimate(4.47, 4.30, 4.64),
        break_even: Some(BreakEven {
            instance_type: "ml.c5.9xlarge".parse().unwrap(),
            price_today: 1.836,
            usd_per_hour: estimate(20.4, 16.1, 25.7),
            usd_per_hour_by_step: estimate(21.4, 20.4, 22.6),
        }),
    });
    let reason = "no budget is written";
    let job = job("segment", Verdict::NotJudged, reason, vec![twin, groups]);
    report(vec![job], Verdict::NotJudged, 0)
}
