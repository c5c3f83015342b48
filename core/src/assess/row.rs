//! A forecast as a row of the report.

use std::collections::BTreeMap;

use crate::forecast::scale_out::ScaleOut;
use crate::forecast::{self, Doubt, Estimate, Forecast, Laws};
use crate::instance::{InstanceConfiguration, Offer};
use crate::metric::{LineKind, MemoryOf, MetricName};
use crate::report::{
    Delta, Estimates, InstanceForecast, PhaseEstimates, PricedGroup, ScaleOutBasis,
};
use crate::units::Fraction;
use crate::verdict::{JudgedLine, Verdict};

/// The row of a configuration without a forecast.
pub(super) fn nothing_known(instance: &InstanceConfiguration, why: &str) -> InstanceForecast {
    InstanceForecast {
        instance: instance.clone(),
        groups: groups(&Offer::unknown(instance)),
        verdict: Verdict::NotJudged,
        not_measured: Some(why.to_owned()),
        estimated_from: None,
        scale_out: None,
        memory_at_least: None,
        memory_is_lower_bound: false,
        gpu_memory_at_least: None,
        gpu_memory_is_lower_bound: false,
        estimates: Estimates::default(),
        efficiency: None,
        metrics: BTreeMap::new(),
        phases: PhaseEstimates::default(),
        delta: Delta::default(),
        versus_twin: None,
        law: Laws::default(),
        time_by_share: Vec::new(),
        price: None,
        budget: Vec::new(),
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

/// Whether the source of a memory leaves open how far its peak was above what is known.
pub(super) fn memory_is_lower_bound(forecast: &Forecast, of: MemoryOf) -> bool {
    let doubt = &forecast.peak(of).doubt;
    doubt.as_ref().is_some_and(Doubt::is_of_lower_bound)
}

/// What the time on another count follows from.
pub(super) fn scale_out_basis(scale_out: &ScaleOut) -> ScaleOutBasis {
    match scale_out.is_measured() {
        true => ScaleOutBasis::Measured,
        false => ScaleOutBasis::Assumed,
    }
}

pub(super) fn estimates(forecast: &Forecast, certainty: Fraction) -> Estimates {
    Estimates::of(|metric| {
        let predictive = forecast[metric].as_ref().ok()?;
        Some(Estimate::of(predictive, certainty))
    })
}

/// Of what the script prints, as a line is held against it.
pub(super) fn levels(lines: &[JudgedLine]) -> BTreeMap<MetricName, Estimate> {
    let level = |line: &JudgedLine| match line.row.line {
        LineKind::Named(name) => Some((name, line.estimate?)),
        LineKind::Absolute(_) | LineKind::Increase(_) => None,
    };
    lines.iter().filter_map(level).collect()
}

pub(super) fn phases(forecast: &Forecast, certainty: Fraction) -> PhaseEstimates {
    let phase = |predictive: &Option<forecast::Predictive>| {
        predictive
            .as_ref()
            .map(|predictive| Estimate::of(predictive, certainty))
    };
    PhaseEstimates {
        startup: phase(&forecast.phases.startup),
        download: phase(&forecast.phases.download),
        training: phase(&forecast.phases.training),
        upload: phase(&forecast.phases.upload),
    }
}
