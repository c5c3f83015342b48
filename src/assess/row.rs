//! A forecast as a row of the report.

use crate::forecast::{self, Estimate, Forecast, Laws};
use crate::instance::{InstanceConfiguration, Offer};
use crate::report::{
    BudgetRow, Delta, Estimates, InstanceForecast, OverrideInForce, PhaseEstimates, PricedGroup,
};
use crate::units::Fraction;
use crate::verdict::{self, JudgedLine, Verdict};

/// The row of a configuration without a forecast.
pub(crate) fn nothing_known(instance: &InstanceConfiguration, why: &str) -> InstanceForecast {
    InstanceForecast {
        instance: instance.clone(),
        groups: groups(&Offer::unknown(instance)),
        verdict: Verdict::NotJudged,
        not_measured: Some(why.to_owned()),
        estimated_from: None,
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

/// The budget lines of a row.
pub(crate) fn budget_rows(lines: &[JudgedLine]) -> Vec<BudgetRow> {
    let deciding = verdict::deciding(lines);
    (0..)
        .zip(lines)
        .map(|(index, line)| BudgetRow {
            decides: deciding == Some(index),
            line: line.line.kind,
            limit: line.line.limit.number,
            bound: line.line.bound,
            level: line.line.level,
            chance_of_breach: line.chance_of_breach,
            verdict: line.verdict,
            existing_breach: line.existing_breach,
            overridden: line.line.overridden.as_ref().map(|agreed| OverrideInForce {
                written_limit: agreed.written.number,
                until: agreed.until.to_string(),
                reason: agreed.reason.clone(),
            }),
        })
        .collect()
}
