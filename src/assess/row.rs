//! A forecast as a row of the report.

use crate::forecast::{self, Doubt, Estimate, Forecast, Laws};
use crate::instance::{InstanceConfiguration, Offer};
use crate::metric::MemoryOf;
use crate::report::{Delta, Estimates, InstanceForecast, PhaseEstimates, PricedGroup};
use crate::units::Fraction;
use crate::verdict::Verdict;

/// The row of a configuration without a forecast.
pub(crate) fn nothing_known(instance: &InstanceConfiguration, why: &str) -> InstanceForecast {
    InstanceForecast {
        instance: instance.clone(),
        groups: groups(&Offer::unknown(instance)),
        verdict: Verdict::NotJudged,
        not_measured: Some(why.to_owned()),
        estimated_from: None,
        memory_at_least: None,
        memory_is_lower_bound: false,
        gpu_memory_at_least: None,
        gpu_memory_is_lower_bound: false,
        estimates: Estimates::default(),
        phases: PhaseEstimates::default(),
        delta: Delta::default(),
        law: Laws::default(),
        price: None,
        budget: Vec::new(),
    }
}

/// The groups of machines, each with its price; none where all are of one type.
pub(crate) fn groups(offer: &Offer) -> Vec<PricedGroup> {
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
pub(crate) fn memory_is_lower_bound(forecast: &Forecast, of: MemoryOf) -> bool {
    let doubt = &forecast.peak(of).doubt;
    doubt.as_ref().is_some_and(Doubt::is_of_source)
}

pub(crate) fn estimates(forecast: &Forecast, certainty: Fraction) -> Estimates {
    Estimates::of(|metric| {
        let predictive = forecast[metric].as_ref().ok()?;
        Some(Estimate::of(predictive, certainty))
    })
}

pub(crate) fn phases(forecast: &Forecast, certainty: Fraction) -> PhaseEstimates {
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
