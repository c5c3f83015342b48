//! A forecast compared with the base.

use crate::assess::input::{BaseResult, JobRuns};
use crate::assess::other_counts::by_shard;
use crate::drift::causes;
use crate::forecast::ratio::{self, Growth, RatioEstimate};
use crate::forecast::scale_out::Measured;
use crate::forecast::{self, FEWEST_RUNS, Unknown};
use crate::grammar::list;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{self, Measurement};
use crate::metric::Metric;
use crate::plan::with_count;
use crate::report::{Baseline, Delta};
use crate::spec::LineKind;
use crate::units::Fraction;
use crate::verdict::{Against, LineVerdict};

/// The inputs of a comparison.
pub(super) struct BaseComparisonInput<'a> {
    pub base: &'a BaseResult,
    /// The machines of the forecast that is compared.
    pub offer: &'a Offer,
    /// Whether the budget is judged on it; then it is compared with the base's instance, whichever that is.
    pub is_judged: bool,
    /// The runs of this check, on any machines.
    pub runs: JobRuns<'a>,
    /// The machines whose canaries are compared: others than those of the forecast where it follows from another count of them. Then
    /// the base's canaries on the same count are compared.
    pub compared_on: &'a InstanceConfiguration,
    pub certainty: Fraction,
}

/// A configuration compared with the base.
pub(super) struct BaseComparison {
    pub against: Against,
    pub delta: Delta,
    /// Cautions for the reader.
    pub notes: Vec<String>,
}

/// The comparison; where the base did not measure the configuration why nothing is compared, if this check has something to compare.
pub(super) fn versus(input: &BaseComparisonInput<'_>) -> Result<BaseComparison, Option<String>> {
    let found = input.base;
    let own = &input.offer.configuration;
    let instance = match input.is_judged {
        true => found.forecasts.first().map(|row| &row.instance),
        false => Some(own),
    };
    let instance = instance.ok_or_else(|| why_none(input))?;
    let sound = found.measurements.iter();
    let sound = sound.filter(|run| run.has_sound_amounts());
    let sound: Vec<Measurement> = sound.cloned().collect();
    let of_base = JobRuns {
        measurements: &sound,
        ..input.runs
    };
    let (measured, _) = Measured::with_other_counts(instance, of_base);
    let (base, offer) = (measured.forecast, measured.offer);
    // The base is taken on as many machines as this check is, where it is compared on fewer than all.
    let theirs = &match input.compared_on.is_same_machines(own) {
        true => instance.clone(),
        false => with_count(instance, input.compared_on.total_count()),
    };
    let here = |runs: &[Measurement], instance: &InstanceConfiguration| {
        let mut runs = measurement::on(runs, instance);
        measurement::choose_memory_sources(&mut runs, FEWEST_RUNS);
        by_shard(&runs, instance, input.runs.layout).unwrap_or(runs)
    };
    let before = &here(&sound, theirs);
    if !before.iter().any(Measurement::is_completed) {
        return Err(why_none(input));
    }
    let now = &here(input.runs.measurements, input.compared_on);
    let comparison = ratio::compare(before, now);
    let time = match (&comparison, &base[Metric::Time]) {
        (Ok(comparison), Ok(time)) => Ok(comparison.growth(time)),
        (Err(unknown), _) | (_, Err(unknown)) => Err(unknown.clone()),
    };
    let (before_usd, now_usd) = (a_second(&offer), a_second(input.offer));
    let cost = match (&time, &before_usd, &now_usd) {
        (Ok(time), Ok(before), Ok(now)) => Ok(time.priced(*before, *now)),
        (Err(unknown), ..) => Err(unknown.clone()),
        (_, Err(of), _) => Err(Unknown(format!(
            "no price for {of}, which the base trains on"
        ))),
        (_, _, Err(of)) => Err(Unknown(format!("no price for {of}"))),
    };
    // Percent of another machine's memory cannot be compared.
    let memory = match instance.is_same_machines(own) {
        true => base[Metric::Memory].as_ref().map_err(Clone::clone),
        false => Err(Unknown(format!("the base trains on {instance}"))),
    };
    let memory = memory.and_then(|base| ratio::compare_memory(before, now, base));
    let doubted = doubted(found);
    let noted = doubted.as_ref().map(|why| {
        format!("{why}, so no breach is excused by it and no increase is within: measure the base commit here, by `canary-gate run --all`")
    });
    let assumed = comparison.iter().flat_map(|one| one.notes.clone());
    let prices = (before_usd.ok(), now_usd.ok());
    let delta = delta(&comparison, &time, &cost, prices, input.certainty, &base);
    Ok(BaseComparison {
        against: Against {
            base,
            time,
            cost,
            memory,
            exceeded_then: exceeded_then(found, instance),
            doubted,
            is_growth_measured: found.baseline.is_same_code && found.other_machine.is_none(),
        },
        delta,
        notes: assumed.chain(noted).collect(),
    })
}

/// Why a record may not be what the base commit takes here: another machine measured it, or it is of other code, or of other data.
fn doubted(found: &BaseResult) -> Option<String> {
    const OTHER_CODE: &str =
        "no run of the base commit's own code is on record, only one of other code of its branch";
    const OTHER_DATA: &str = "the data changed since the base was measured";
    match &found.other_machine {
        Some(machine) => Some(format!(
            "the base was measured on another machine ({machine})"
        )),
        None if !found.baseline.is_same_code => Some(OTHER_CODE.to_owned()),
        None => found.has_other_data.then(|| OTHER_DATA.to_owned()),
    }
}

/// Why nothing is compared with a base that has canaries; `None` where this check has none to compare.
fn why_none(input: &BaseComparisonInput<'_>) -> Option<String> {
    let completed = |run: &&Measurement| run.is_completed();
    let theirs = measurement::machines_of(input.base.measurements.iter().filter(completed));
    let ours = measurement::machines_of(input.runs.measurements.iter().filter(completed));
    let is_measured = (ours.iter()).any(|one| one.is_same_machines(input.compared_on));
    let names: Vec<String> = theirs.iter().map(ToString::to_string).collect();
    (is_measured && !theirs.is_empty()).then(|| {
        format!(
            "nothing is compared with the base, and no increase is judged: its canaries ran on {}, those of this check on {}",
            list(&names),
            input.compared_on,
        )
    })
}

/// The lines that the base's report judged exceeded on this configuration.
fn exceeded_then(found: &BaseResult, instance: &InstanceConfiguration) -> Vec<LineKind> {
    let rows = found.forecasts.iter();
    let of_instance = rows.filter(|row| row.instance.is_same_machines(instance));
    let lines = of_instance.flat_map(|row| &row.budget);
    let exceeded = lines.filter(|line| line.verdict == LineVerdict::Exceeded);
    exceeded.map(|line| line.line).collect()
}

/// The cost of one second of all machines, in USD; else the types that have no price, or the configuration if its prices are none.
fn a_second(offer: &Offer) -> Result<f64, String> {
    let second = offer.cost_of_a_second().map(|second| second.usd);
    second.map_err(|_| (offer.unpriced()).unwrap_or_else(|| offer.configuration.to_string()))
}

fn delta(
    comparison: &Result<RatioEstimate, Unknown>,
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
    let now = before * factors.total();
    Delta {
        cost_usd: cost.map(|cost| cost.difference(certainty)),
        time_seconds: Some(time.difference(certainty)),
        cost_percent: cost.map(|cost| cost.percent(certainty)),
        time_percent: Some(time.percent(certainty)),
        rate_percent: Some(comparison.rate_percent(certainty)),
        causes: causes::causes(&factors, before, now, price_before.zip(price_now)),
    }
}

/// The baseline in the report of a job on `instance`.
pub(super) fn named(base: &BaseResult, instance: &InstanceConfiguration) -> Baseline {
    let theirs = base.forecasts.first().map(|row| &row.instance);
    let other = theirs.filter(|theirs| !theirs.is_same_machines(instance));
    Baseline {
        instance: other.cloned(),
        ..base.baseline.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::scale_out::DataLayout;
    use crate::forecast::tests::run;
    use crate::instance::{OfferOf, Price};
    use crate::report::InstanceForecast;
    use crate::spec::{Bound, Level};
    use crate::units::UsdPerHour;
    use crate::verdict::BudgetRow;

    fn machine() -> InstanceConfiguration {
        "ml.m5.2xlarge".parse().unwrap()
    }

    /// Nine canaries of 1, 2 and 3 %.
    fn canaries(rate: f64) -> Vec<Measurement> {
        let sizes = [1.0, 2.0, 3.0].into_iter().flat_map(|size| [size; 3]);
        sizes.map(|size| run(size, 5.0 + rate * size)).collect()
    }

    fn base(measurements: Vec<Measurement>) -> BaseResult {
        BaseResult {
            baseline: Baseline::default(),
            forecasts: vec![row_of(&machine())],
            measurements,
            other_machine: None,
            has_other_data: false,
        }
    }

    fn row_of(instance: &InstanceConfiguration) -> InstanceForecast {
        InstanceForecast {
            instance: instance.clone(),
            ..InstanceForecast::default()
        }
    }

    fn compared(base: &BaseResult, offer_of: OfferOf<'_>) -> Option<BaseComparison> {
        let found = versus(&BaseComparisonInput {
            base,
            offer: &offer_of(&machine()),
            is_judged: true,
            runs: JobRuns {
                measurements: &canaries(15.0),
                offer_of,
                layout: &DataLayout::default(),
            },
            compared_on: &machine(),
            certainty: Fraction(0.95),
        });
        found.ok()
    }

    fn a_dollar_an_hour(instance: &InstanceConfiguration) -> Offer {
        let price = Price::from_spec(UsdPerHour(1.0));
        Offer::of(instance, &|_| None, &|_| Some(price.clone()))
    }

    /// A stored report may come from anybody.
    #[test]
    fn a_run_of_the_base_counts_on_its_own_machine_and_with_amounts_that_can_be() {
        let growth = |base: Vec<Measurement>| {
            let found = compared(&self::base(base), &a_dollar_an_hour)?;
            found.delta.time_percent.map(|percent| percent.point)
        };
        let alone = growth(canaries(10.0)).unwrap();
        assert!((30.0..50.0).contains(&alone), "{alone}");
        let elsewhere = Measurement {
            instance: "ml.c5.2xlarge".parse().unwrap(),
            ..run(3.0, 900.0)
        };
        let endless = run(3.0, f64::INFINITY);
        for more in [elsewhere.clone(), endless.clone()] {
            let with_more = [canaries(10.0), vec![more]].concat();
            assert_eq!(growth(with_more), Some(alone));
        }
        assert_eq!(growth(vec![elsewhere, endless]), None);
    }

    #[test]
    fn what_the_base_had_exceeded_by_its_own_report_is_known() {
        let line = |line: LineKind, verdict| BudgetRow {
            line,
            limit: 1.0,
            bound: Bound::Max,
            level: Level::Fail,
            chance_of_breach: None,
            verdict,
            decides: false,
            existing_breach: None,
            overridden: None,
        };
        let report = |instance: &str| row_of(&instance.parse().unwrap());
        let mut base = base(canaries(10.0));
        base.forecasts = vec![report("ml.m5.2xlarge"), report("ml.c5.2xlarge")];
        base.forecasts[0].budget = vec![
            line(Metric::Cost.into(), LineVerdict::Within),
            line(Metric::Time.into(), LineVerdict::Exceeded),
        ];
        base.forecasts[1].budget = vec![line(Metric::Memory.into(), LineVerdict::Exceeded)];
        let found = compared(&base, &a_dollar_an_hour).unwrap();
        assert_eq!(found.against.exceeded_then, [Metric::Time.into()]);
    }

    #[test]
    fn without_a_price_of_both_sides_a_cost_is_not_compared_and_the_type_is_named() {
        let mut base = base(canaries(10.0));
        let why = |base: &BaseResult, priced: &str| {
            let offer_of = |instance: &InstanceConfiguration| match instance.to_string() == priced {
                true => a_dollar_an_hour(instance),
                false => Offer::unknown(instance),
            };
            let found = compared(base, &offer_of).unwrap();
            found.against.cost.unwrap_err().0
        };
        assert_eq!(
            why(&base, ""),
            "no price for ml.m5.2xlarge, which the base trains on"
        );
        // The change trains on another type.
        let elsewhere = "ml.c5.2xlarge".parse().unwrap();
        base.forecasts = vec![row_of(&elsewhere)];
        for run in &mut base.measurements {
            run.instance = elsewhere.clone();
        }
        assert_eq!(why(&base, "ml.c5.2xlarge"), "no price for ml.m5.2xlarge");
    }

    /// By which six machines of each type are forecast.
    #[test]
    fn six_machines_of_another_type_are_compared_by_the_canaries_on_one_of_each() {
        let on_one_of = |kind: &str, rate| -> Vec<Measurement> {
            let on_one = |run| Measurement {
                instance: kind.parse().unwrap(),
                ..run
            };
            canaries(rate).into_iter().map(on_one).collect()
        };
        let mut base = base(on_one_of("ml.m5.2xlarge", 10.0));
        base.forecasts = vec![row_of(&"6x ml.m5.2xlarge".parse().unwrap())];
        let found = versus(&BaseComparisonInput {
            base: &base,
            offer: &a_dollar_an_hour(&"6x ml.c5.2xlarge".parse().unwrap()),
            is_judged: true,
            runs: JobRuns {
                measurements: &on_one_of("ml.c5.2xlarge", 15.0),
                offer_of: &a_dollar_an_hour,
                layout: &DataLayout::default(),
            },
            compared_on: &"ml.c5.2xlarge".parse().unwrap(),
            certainty: Fraction(0.95),
        });
        let growth = found.ok().unwrap().delta.time_percent.unwrap().point;
        assert!((30.0..50.0).contains(&growth), "{growth}");
    }
}
