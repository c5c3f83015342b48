//! Peak memory of the host and of its GPUs.

use super::runs::Runs;
use super::{Doubt, Law, Predictive, Quantity, Unknown, prior};
use crate::instance::Offer;
use crate::measurement::{Measurement, PeakMemory};
use crate::units::{Bytes, Seconds};

/// The forecast of the host's peak memory.
pub(super) struct MemoryForecast {
    pub(super) bytes: Quantity,
    pub(super) percent: Quantity,
    pub(super) law: Option<Law>,
}

/// Bytes by a law in the data; percent from the bytes and the machine, or by a law of their own if only percentages were
/// measured, as in the seed library's table.
pub(super) fn forecast(runs: &Runs, offer: &Offer) -> MemoryForecast {
    if runs.out_of_memory() {
        let settled =
            || Unknown("a canary ran out of memory, and the full run will too".to_owned());
        return MemoryForecast {
            bytes: Err(settled()),
            percent: Err(settled()),
            law: None,
        };
    }
    match extrapolate(runs, peak_bytes) {
        Ok((bytes, law)) => MemoryForecast {
            percent: match (offer.memory_of_each(), offer.members.len()) {
                (None, 2..) => worst_percent(runs),
                (memory, _) => percent_of(&bytes, memory),
            },
            bytes: Ok(bytes),
            law: Some(law),
        },
        Err(no_bytes) => match extrapolate(runs, peak_percent) {
            Ok((percent, law)) => MemoryForecast {
                bytes: Err(Unknown(
                    "memory was measured in percent of the machine, not in bytes".to_owned(),
                )),
                percent: Ok(percent),
                law: Some(law),
            },
            Err(_) => MemoryForecast {
                bytes: Err(no_bytes.clone()),
                percent: Err(no_bytes),
                law: None,
            },
        },
    }
}

/// Of groups whose machines differ, bytes on the fullest host are no percentage of all; the host that is nearest to its own
/// limit decides, and only what was measured in percent says which that is.
fn worst_percent(runs: &Runs) -> Quantity {
    let percent = extrapolate(runs, peak_percent).map(|(percent, _)| percent);
    percent.map_err(|_| {
        Unknown(
            "the machines of the groups differ in memory, and it was not measured in percent of each"
                .to_owned(),
        )
    })
}

/// From the 99th percentile if every run has it, else from the mean: a short peak of memory counts.
pub(super) fn forecast_gpu(runs: &Runs) -> Quantity {
    let usage = |run: &Measurement| run.usage.gpu_memory_percent.clone();
    let high = |run: &Measurement| usage(run).and_then(|usage| usage.p99);
    let all_high = runs.all_have(|run| usage(run).is_none() || high(run).is_some());
    runs.utilization("GPU memory", |run| {
        let percent = if all_high {
            high(run)
        } else {
            usage(run).map(|usage| usage.mean)
        };
        percent.map(|percent| percent.0)
    })
}

fn extrapolate(
    runs: &Runs,
    value: impl Fn(&Measurement) -> Option<f64>,
) -> Result<(Predictive, Law), Unknown> {
    runs.extrapolate("memory", &prior::MEMORY, value)
}

pub(super) fn peak_bytes(run: &Measurement) -> Option<f64> {
    Some(run.usage.memory.as_ref()?.bytes?.as_f64())
}

/// On the host that used the largest share of its memory.
pub(super) fn peak_percent(run: &Measurement) -> Option<f64> {
    let usages = run.hosts.iter().map(|host| &host.usage);
    let percents = usages.chain([&run.usage]).filter_map(|usage| {
        let memory = usage.memory.as_ref()?;
        memory.percent.map(|percent| percent.0)
    });
    percents.reduce(f64::max)
}

/// The doubt that the source leaves: it looks seldom, or sees nothing of runs as short as these.
pub(super) fn doubt_of_source(runs: &Runs) -> Option<Doubt> {
    let mut memory = runs.entered().iter().map(|run| run.usage.memory.as_ref());
    if memory.clone().any(|memory| memory.is_some()) {
        let is_lower_bound = memory.all(|memory| memory.is_none_or(PeakMemory::is_lower_bound));
        return is_lower_bound.then_some(Doubt::LowerBound);
    }
    let shortest: Option<Vec<Seconds>> = runs
        .entered()
        .iter()
        .map(|run| run.usage.memory_seen_from)
        .collect();
    let shortest = shortest?
        .into_iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(Doubt::TooShortToSee { shortest })
}

/// The most memory that a run used, in percent of its machine.
pub(super) fn highest_percent(runs: &Runs, offer: &Offer) -> Option<f64> {
    let of_bytes = |run: &Measurement| {
        let memory = offer.memory_of_each().filter(|memory| memory.0 > 0)?;
        Some(peak_bytes(run)? / memory.as_f64() * 100.0)
    };
    let percents = runs.entered().iter();
    percents
        .filter_map(|run| peak_percent(run).or_else(|| of_bytes(run)))
        .filter(|percent| percent.is_finite() && *percent >= 0.0)
        .reduce(f64::max)
}

pub(super) fn percent_of(bytes: &Predictive, memory_of_each: Option<Bytes>) -> Quantity {
    match memory_of_each {
        Some(memory) if memory.0 > 0 => Ok(bytes.scaled(100.0 / memory.as_f64())),
        _ => Err(Unknown("the machine's memory is not known".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::super::{Basis, Forecast, forecast};
    use super::*;
    use crate::instance::InstanceConfiguration;
    use crate::metric::Metric;
    use crate::units::Percent;

    /// Canaries of these percents of the data, each with what was seen of its memory and whether that is a lower bound.
    fn runs(seen: &[(f64, Option<(f64, bool)>)]) -> Vec<Measurement> {
        let canary = |(share, memory): &(f64, Option<(f64, bool)>)| {
            let mut canary = run(*share, 10.0 * share);
            canary.usage.memory = memory.map(|(percent, is_lower_bound)| PeakMemory {
                bytes: None,
                percent: Some(Percent(percent)),
                source: "CloudWatch".to_owned(),
                upper_bound: None,
                is_lower_bound,
            });
            if memory.is_none() {
                canary.usage.memory_seen_from = Some(Seconds(180.0));
            }
            canary
        };
        seen.iter().map(canary).collect()
    }

    fn of(runs: &[Measurement]) -> Forecast {
        let instance: InstanceConfiguration = "ml.m5.xlarge".parse().unwrap();
        forecast(&Basis {
            offer: &Offer::unknown(&instance),
            measurements: runs,
        })
    }

    #[test]
    fn a_source_that_looks_seldom_is_doubted_whatever_it_saw() {
        let bound = |percent| Some((percent, true));
        let all = [(1.0, bound(20.0)), (5.0, bound(21.0)), (10.0, bound(22.0))];
        let known = of(&runs(&all));
        assert!(known[Metric::Memory].is_ok());
        assert_eq!(known.memory_doubt, Some(Doubt::LowerBound));
        assert_eq!(known.memory_at_least, None);

        let one = of(&runs(&[(1.0, None), (5.0, None), (10.0, bound(22.0))]));
        assert!(one[Metric::Memory].is_err());
        assert_eq!(one.memory_doubt, Some(Doubt::LowerBound));
        assert_eq!(one.memory_at_least, Some(22.0));
        assert!(
            one.notes.contains(&format!("memory {}", Doubt::LowerBound)),
            "{:?}",
            one.notes
        );
    }

    #[test]
    fn memory_that_was_too_short_to_see_is_told_from_memory_that_did_not_come() {
        let mut unseen = runs(&[(1.0, None), (5.0, None), (10.0, None)]);
        let shortest = Seconds(180.0);
        let doubt = of(&unseen).memory_doubt;
        assert_eq!(doubt, Some(Doubt::TooShortToSee { shortest }));
        unseen[2].usage.memory_seen_from = None;
        assert_eq!(of(&unseen).memory_doubt, None);
    }
}
