//! A forecast as a row of the report.

use std::collections::BTreeMap;

use crate::forecast::scale_out::{Measured, ScaleOut};
use crate::forecast::{Doubt, Estimate, Forecast, Predictive};
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::Measurement;
use crate::metric::{LineKind, MemoryOf, MetricName};
use crate::report::{Estimates, InstanceForecast, PhaseEstimates, PricedGroup, ScaleOutBasis};
use crate::units::Fraction;
use crate::verdict::{self, JudgedLine};

/// One configuration, forecast and judged.
pub(super) struct Judged {
    pub(super) row: InstanceForecast,
    pub(super) lines: Vec<JudgedLine>,
    /// With what the forecast takes over from others.
    pub(super) here: Measured,
    /// On this configuration, and on the other counts of its machines that its forecast follows from.
    pub(super) measurements: Vec<Measurement>,
    /// Whether it follows from other configurations alone.
    pub(super) is_by_law: bool,
}

/// What a forecast says of a configuration, and its lines.
pub(super) fn of(
    offer: &Offer,
    forecast: &Forecast,
    lines: &[JudgedLine],
    certainty: Fraction,
) -> InstanceForecast {
    let is_lower_bound = |of: MemoryOf| {
        let doubt = &forecast.peak(of).doubt;
        doubt.as_ref().is_some_and(Doubt::is_of_lower_bound)
    };
    InstanceForecast {
        instance: offer.configuration.clone(),
        groups: groups(offer),
        verdict: verdict::job_verdict(lines),
        reached: forecast.reached,
        memory_at_least: forecast.memory.at_least,
        memory_is_lower_bound: is_lower_bound(MemoryOf::Machine),
        gpu_memory_at_least: forecast.gpu_memory.at_least,
        gpu_memory_is_lower_bound: is_lower_bound(MemoryOf::Gpu),
        estimates: Estimates::from_fn(|metric| {
            let predictive = forecast[metric].as_ref().ok()?;
            Some(Estimate::of(predictive, certainty))
        }),
        metrics: levels(lines),
        phases: phases(forecast, certainty),
        law: forecast.law.clone(),
        price: offer.price().cloned(),
        budget: verdict::rows(lines),
        ..InstanceForecast::default()
    }
}

/// The groups of machines, each with its price; none where all are of one type.
pub(super) fn groups(offer: &Offer) -> Vec<PricedGroup> {
    let InstanceConfiguration::Heterogeneous { groups, .. } = &offer.configuration else {
        return Vec::new();
    };
    let members = groups.iter().zip(&offer.members);
    members
        .map(|(group, member)| PricedGroup {
            name: group.name.clone(),
            instance_type: group.instance_type.clone(),
            count: group.count,
            price: member.price.clone(),
        })
        .collect()
}

/// What the time on another count follows from.
pub(super) fn scale_out_basis(scale_out: &ScaleOut) -> ScaleOutBasis {
    match scale_out.is_measured() {
        true => ScaleOutBasis::Measured,
        false => ScaleOutBasis::Assumed,
    }
}

/// Of what the script prints, as a line is held against it.
fn levels(lines: &[JudgedLine]) -> BTreeMap<MetricName, Estimate> {
    let level = |line: &JudgedLine| match line.row.line {
        LineKind::Named(name) => Some((name, line.estimate?)),
        LineKind::Absolute(_) | LineKind::Increase(_) => None,
    };
    lines.iter().filter_map(level).collect()
}

fn phases(forecast: &Forecast, certainty: Fraction) -> PhaseEstimates {
    let estimate = |phase: &Predictive| Estimate::of(phase, certainty);
    let phases = &forecast.phases;
    PhaseEstimates {
        startup: phases.startup.as_ref().map(estimate),
        download: phases.download.as_ref().map(estimate),
        training: phases.training.as_ref().map(estimate),
        upload: phases.upload.as_ref().map(estimate),
    }
}
