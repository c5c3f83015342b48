//! A forecast compared with the base.

use crate::assess::base_result::BaseResult;
use crate::assess::input::{CapacityOf, measured_price};
use crate::drift::causes;
use crate::forecast::change::{self, ChangeEstimate, Growth};
use crate::forecast::scale_out::DataLayout;
use crate::forecast::{self, Basis, Unknown};
use crate::instance::{InstanceConfiguration, Price};
use crate::measurement::{self, Measurement};
use crate::metric::Metric;
use crate::plan::PriceOf;
use crate::report::{Baseline, Delta};
use crate::spec::LineKind;
use crate::units::{Fraction, Seconds};
use crate::verdict::{Against, LineVerdict};

/// The inputs of a comparison.
pub(crate) struct BaseComparisonInput<'a> {
    pub(crate) base: &'a BaseResult,
    /// The configuration that is compared.
    pub(crate) instance: &'a InstanceConfiguration,
    /// Whether the budget is judged on it; then it is compared with the base's instance, whichever that is.
    pub(crate) is_judged: bool,
    /// On `instance`.
    pub(crate) measurements: &'a [Measurement],
    pub(crate) price: Option<&'a Price>,
    pub(crate) capacity_of: CapacityOf<'a>,
    pub(crate) price_of: PriceOf<'a>,
    pub(crate) layout: &'a DataLayout,
    pub(crate) certainty: Fraction,
}

/// A configuration compared with the base.
pub(crate) struct BaseComparison {
    pub(crate) against: Against,
    pub(crate) delta: Delta,
    /// Cautions for the reader.
    pub(crate) notes: Vec<String>,
}

/// The comparison; `None` if the base did not measure the configuration.
pub(crate) fn versus(input: &BaseComparisonInput<'_>) -> Option<BaseComparison> {
    let found = input.base;
    let instance = match input.is_judged {
        true => &found.forecasts.first()?.instance,
        false => input.instance,
    };
    let mut measurements: Vec<Measurement> = found
        .measurements
        .iter()
        .filter(|run| run.instance == *instance && run.has_sound_amounts())
        .cloned()
        .collect();
    if !measurements.iter().any(Measurement::is_completed) {
        return None;
    }
    measurement::keep_one_memory_source(&mut measurements);
    let capacity = instance
        .single_type()
        .and_then(|kind| (input.capacity_of)(kind));
    let price = (input.price_of)(instance).or_else(|| measured_price(&measurements));
    let by_shard = |runs: &[Measurement], instance: &InstanceConfiguration| {
        input.layout.by_heaviest_shard(runs, instance.total_count())
    };
    let sharded = by_shard(&measurements, instance);
    let before = sharded.as_deref().unwrap_or(&measurements);
    let sharded = by_shard(input.measurements, input.instance);
    let now = sharded.as_deref().unwrap_or(input.measurements);
    let base = forecast::forecast(&Basis {
        instance,
        measurements: before,
        capacity: capacity.as_ref(),
        price: price.as_ref(),
    });
    let comparison = change::compare(before, now);
    let time = time_growth(&comparison, &base);
    let prices = (
        a_second(price.as_ref(), instance),
        a_second(input.price, input.instance),
    );
    let cost = match (&time, prices) {
        (Ok(time), (Some(before), Some(now))) => Ok(time.priced(before, now)),
        (Err(unknown), _) => Err(unknown.clone()),
        (_, (None, _)) => Err(Unknown(format!(
            "no price for {instance}, which the base trains on"
        ))),
        (_, (_, None)) => Err(Unknown(format!("no price for {}", input.instance))),
    };
    // Percent of another machine's memory cannot be compared.
    let memory = match instance == input.instance {
        true => base[Metric::Memory].as_ref().map_err(Clone::clone),
        false => Err(Unknown(format!("the base trains on {instance}"))),
    };
    let memory = memory.and_then(|base| change::compare_memory(before, now, base));
    let mut notes = comparison
        .as_ref()
        .map_or(Vec::new(), |one| one.notes.clone());
    if let Some(machine) = &input.base.other_machine {
        notes.push(format!(
            "the base was measured on another machine ({machine}), so a difference may be the machine's"
        ));
    }
    let delta = delta(&comparison, &time, &cost, prices, input.certainty, &base);
    Some(BaseComparison {
        against: Against {
            base,
            time,
            cost,
            memory,
            exceeded_then: exceeded_then(found, instance),
        },
        delta,
        notes,
    })
}

/// The lines that the base's report judged exceeded on this configuration.
fn exceeded_then(found: &BaseResult, instance: &InstanceConfiguration) -> Vec<LineKind> {
    let rows = found.forecasts.iter();
    let of_instance = rows.filter(|row| row.instance == *instance);
    let lines = of_instance.flat_map(|row| &row.budget);
    lines
        .filter(|line| line.verdict == LineVerdict::Exceeded)
        .map(|line| line.line)
        .collect()
}

fn time_growth(
    comparison: &Result<ChangeEstimate, Unknown>,
    base: &forecast::Forecast,
) -> Result<Growth, Unknown> {
    let comparison = comparison.as_ref().map_err(Clone::clone)?;
    let time = base[Metric::Time].as_ref().map_err(Clone::clone)?;
    Ok(comparison.growth(time))
}

/// The cost of one second of all machines, in USD; `None` without a price.
fn a_second(price: Option<&Price>, instance: &InstanceConfiguration) -> Option<f64> {
    let usd = price?
        .usd_per_hour
        .cost(Seconds(1.0), instance.total_count())
        .0;
    (usd > 0.0 && usd.is_finite()).then_some(usd)
}

fn delta(
    comparison: &Result<ChangeEstimate, Unknown>,
    time: &Result<Growth, Unknown>,
    cost: &Result<Growth, Unknown>,
    (price_before, price_now): (Option<f64>, Option<f64>),
    certainty: Fraction,
    base: &forecast::Forecast,
) -> Delta {
    let (Ok(comparison), Ok(time), Ok(before)) = (comparison, time, &base[Metric::Time]) else {
        return Delta::default();
    };
    let cost = cost.as_ref().ok();
    let factors = comparison.factors();
    let before = before.median();
    let now = before * factors.data * factors.work * factors.rate;
    Delta {
        cost_usd: cost.map(|cost| cost.difference(certainty)),
        time_seconds: Some(time.difference(certainty)),
        cost_percent: cost.map(|cost| cost.percent(certainty)),
        time_percent: Some(time.percent(certainty)),
        rate_percent: Some(comparison.rate_percent(certainty)),
        causes: causes::causes(&factors, before, now, price_before, price_now),
    }
}

/// The baseline in the report of a job on `instance`.
pub(crate) fn named(base: &BaseResult, instance: &InstanceConfiguration) -> Baseline {
    let theirs = base.forecasts.first().map(|row| &row.instance);
    Baseline {
        commit: base.commit.clone(),
        branch: base.branch.clone(),
        age_days: base.age.in_days(),
        is_same_code: base.is_same_code,
        data_changed: base.data_changed,
        instance: theirs.filter(|theirs| *theirs != instance).cloned(),
    }
}
