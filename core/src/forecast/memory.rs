//! Peak memory of the host and of its GPUs.

use std::ops::RangeInclusive;

use super::{
    Doubt, KnownPeak, Law, Predictive, Prior, Quantity, Runs, UPPER, Unknown, level, prior,
};
use crate::instance::Offer;
use crate::measurement::{Measurement, PeakMemory};
use crate::metric::MemoryOf;
use crate::units::{Bytes, Percent, Seconds};

/// From this share of a GPU's memory on it is as good as full: the rest is the driver's, and too little for a block.
const FULL_GPU: f64 = 90.0;

/// What JAX takes of a GPU beforehand, 75 %, with the context beside it.
/// <https://docs.jax.dev/en/latest/gpu_memory_allocation.html>
const JAX_POOL: RangeInclusive<f64> = 74.0..=78.0;

/// A GPU's allocators take memory in blocks, and a context takes some more or less of it, whatever the data.
const GPU_MEMORY_STEP: Bytes = Bytes(32 * Bytes::MIB);

/// Readings of one GPU's memory differ by the rounding of its percentage at most.
const SAME_GPU: f64 = 0.01;

/// The scale of ln y: in 95 of 100 runs the peak of the first tenth is within a tenth of the whole run's peak (`benches/progress`).
const SEEN_OF_ALL: f64 = 0.0473;

/// The forecast of a peak of memory.
pub(super) struct MemoryForecast {
    pub(super) bytes: Quantity,
    pub(super) percent: Quantity,
    pub(super) law: Option<Law>,
    pub(super) known: KnownPeak,
}

impl MemoryForecast {
    fn unknown(why: String, known: KnownPeak) -> Self {
        let why = Unknown(why);
        Self {
            bytes: Err(why.clone()),
            percent: Err(why),
            law: None,
            known,
        }
    }
}

/// Bytes by a law in the data; percent from the bytes and the machine, or by a law of their own if only percentages were
/// measured, as in the seed library's table. `full`: a run of all data that was ended at its limit after some of its steps.
pub(super) fn forecast(
    runs: &Runs,
    full: Option<&Measurement>,
    offer: &Offer,
    of: MemoryOf,
) -> MemoryForecast {
    let mut peaks = runs.entered().iter().map(|run| run.usage.peak(of));
    let mut known = KnownPeak {
        is_measured: peaks.any(|peak| peak.is_some()),
        unseen: highest_unseen(runs, of),
        ran_out: runs.out_of_memory(of),
        ..KnownPeak::default()
    };
    if known.ran_out {
        let name = of.words();
        let settled = format!("a canary ran out of {name}, and the full run will too");
        return MemoryForecast::unknown(settled, known);
    }
    // What is not seen may not be there either.
    let may_be_unseen = of == MemoryOf::Machine || known.is_measured || offer.has_gpu();
    let doubt_of_source = doubt_of_source(runs, of).filter(|_| may_be_unseen);
    if of == MemoryOf::Gpu && !known.is_measured && doubt_of_source.is_none() {
        return of_averages(runs);
    }
    let percents = percents(runs, offer, of);
    // However small the canaries were: what was seen of the GPU says nothing of what is needed.
    let is_full = !percents.is_empty() && percents.iter().all(|percent| *percent >= FULL_GPU);
    if of == MemoryOf::Gpu && is_full {
        let all = format!(
            "every canary held {} or more of the GPU's memory, as a framework that takes all of it beforehand does at any size: let it take what it needs (`TF_FORCE_GPU_ALLOW_GROWTH=true`, `XLA_PYTHON_CLIENT_PREALLOCATE=false`)",
            Percent(FULL_GPU)
        );
        return MemoryForecast::unknown(all, known);
    }
    let (bytes, percent, law) = quantities(runs, offer, of);
    let percent = worst_group(runs, offer, of).map_or(percent, Ok);
    let bytes = with_seen(bytes, full.and_then(peak_bytes(of)));
    let percent = with_seen(percent, full.and_then(|run| percent_of_run(run, offer, of)));
    let is_pool = of == MemoryOf::Gpu && is_pool_of_jax(runs, &percents);
    known.doubt = doubt_of_source.or(is_pool.then_some(Doubt::JaxPool));
    if percent.is_err() {
        known.at_least = percents.iter().copied().reduce(f64::max);
    }
    MemoryForecast {
        bytes,
        percent,
        law,
        known,
    }
}

/// What the full run had before it was ended is the least and, as most allocate at first, about all. What it has later nobody saw:
/// within a limit is only what the law of the smaller canaries keeps too.
fn with_seen(law: Quantity, seen: Option<f64>) -> Quantity {
    let seen = seen.filter(|seen| *seen > 0.0 && seen.is_finite());
    let seen = seen.map(|seen| Predictive::log_student_t(seen, SEEN_OF_ALL, 5.0));
    law.map(|law| match seen {
        Some(seen) => seen.or_if_steeper(law),
        None => law,
    })
}

/// The highest peak that may not have been seen, in percent of the machine.
fn highest_unseen(runs: &Runs, of: MemoryOf) -> Option<f64> {
    let bound = |peak: &PeakMemory| {
        let (bytes, bound) = (peak.bytes?.as_f64(), peak.upper_bound?.as_f64());
        (bound > bytes && bytes > 0.0)
            .then(|| peak.percent.map(|percent| percent.0 * bound / bytes))?
    };
    let peaks = runs.entered().iter().filter_map(|run| run.usage.peak(of));
    peaks.filter_map(bound).reduce(f64::max)
}

fn quantities(runs: &Runs, offer: &Offer, of: MemoryOf) -> (Quantity, Quantity, Option<Law>) {
    match extrapolate(runs, of, peak_bytes(of)) {
        Ok((bytes, law)) => {
            let each = of.pick(offer.memory_of_each(of), seen_of_each_gpu(runs, offer));
            let percent = match (each, offer.members.len()) {
                (None, 2..) => worst_percent(runs, of),
                // GPUs that differ, or of a machine that no table has.
                (None, _) if of == MemoryOf::Gpu => worst_percent(runs, of),
                (memory, _) => percent_of(&bytes, memory, of),
            };
            (Ok(bytes), percent, Some(law))
        }
        Err(no_bytes) => match extrapolate(runs, of, peak_percent(of)) {
            Ok((percent, law)) => {
                let bytes = Unknown(format!(
                    "{} was measured in percent of the {}, not in bytes",
                    of.words(),
                    of.owner()
                ));
                (Err(bytes), Ok(percent), Some(law))
            }
            Err(_) => (Err(no_bytes.clone()), Err(no_bytes), None),
        },
    }
}

/// What the driver gave as the memory of a GPU, else what the tables list; `None` where the GPUs that were fullest differ.
fn seen_of_each_gpu(runs: &Runs, offer: &Offer) -> Option<Bytes> {
    let totals = runs.entered().iter().filter_map(|run| {
        let peak = run.usage.gpu_memory.as_ref()?;
        let (bytes, percent) = (peak.bytes?, peak.percent?.0);
        (percent > 0.0).then(|| bytes.as_f64() / percent * 100.0)
    });
    let totals: Vec<f64> = totals.filter(|total| total.is_finite()).collect();
    let Some(least) = totals.iter().copied().reduce(f64::min) else {
        return offer.memory_of_each(MemoryOf::Gpu);
    };
    let is_alike = |total: &f64| *total <= least * (1.0 + SAME_GPU);
    totals.iter().all(is_alike).then(|| Bytes::from_f64(least))
}

/// Of groups whose machines differ, bytes on the fullest host are no percentage of all; the host that is nearest to its own
/// limit decides, and only what was measured in percent says which that is.
fn worst_percent(runs: &Runs, of: MemoryOf) -> Quantity {
    let percent = extrapolate(runs, of, peak_percent(of)).map(|(percent, _)| percent);
    percent.map_err(|_| {
        let why = of.pick(
            "the machines of the groups differ in memory, and it was not measured in percent of each",
            "the memory of each GPU is not known, and it was not measured in percent of it",
        );
        Unknown(why.to_owned())
    })
}

/// What older records and the seed library's table have of GPUs: a level, from the 99th percentile if every run has it, else from
/// the mean. It says nothing of how the peak grows.
fn of_averages(runs: &Runs) -> MemoryForecast {
    let usage = |run: &Measurement| run.usage.gpu_memory_percent.clone();
    let high = |run: &Measurement| usage(run).and_then(|usage| usage.p99);
    let all_high = runs.all_have(|run| usage(run).is_none() || high(run).is_some());
    let percent = runs.level(level::utilization, MemoryOf::Gpu.words(), |run| {
        let mean = usage(run).map(|usage| usage.mean);
        let percent = if all_high { high(run) } else { mean };
        percent.map(|percent| percent.0)
    });
    let only_averages = "GPU memory was measured as an average, not as a peak in bytes";
    MemoryForecast {
        bytes: Err(match &percent {
            Ok(_) => Unknown(only_averages.to_owned()),
            Err(unknown) => unknown.clone(),
        }),
        known: KnownPeak {
            doubt: percent.is_ok().then_some(Doubt::Average),
            ..KnownPeak::default()
        },
        percent,
        law: None,
    }
}

/// Whether what was seen of the GPU is what JAX takes beforehand, as much at one size as at another.
fn is_pool_of_jax(runs: &Runs, percents: &[f64]) -> bool {
    let entered = || runs.entered().iter();
    let mut sizes = entered().map(|run| (run.data_share(), run.work_share()));
    let first = sizes.next();
    let held: Option<Vec<f64>> = entered().copied().map(peak_bytes(MemoryOf::Gpu)).collect();
    let held = held.unwrap_or_default();
    let least = held.iter().copied().reduce(f64::min);
    let apart =
        (held.iter().copied().reduce(f64::max).zip(least)).map(|(most, least)| most - least);
    sizes.any(|size| Some(size) != first)
        && percents.iter().all(|percent| JAX_POOL.contains(percent))
        && apart.is_some_and(|apart| apart <= GPU_MEMORY_STEP.as_f64())
}

fn extrapolate(
    runs: &Runs,
    of: MemoryOf,
    value: impl Fn(&Measurement) -> Option<f64>,
) -> Result<(Predictive, Law), Unknown> {
    let posterior = runs.weigh(of.words(), prior_of(of), value)?;
    Ok((posterior.predict_at(1.0, 1.0), posterior.law()))
}

pub(super) fn peak_bytes(of: MemoryOf) -> impl Fn(&Measurement) -> Option<f64> {
    // An idle GPU may show nothing at all, and a law is one of ratios: the driver counts whole MiB.
    let least = of.pick(0.0, Bytes(Bytes::MIB).as_f64());
    move |run| Some(run.usage.peak(of)?.bytes?.as_f64().max(least))
}

/// The prior of the law of a peak.
pub(super) fn prior_of(of: MemoryOf) -> &'static Prior {
    of.pick(&prior::MEMORY, &prior::GPU_MEMORY)
}

/// On the host that used the largest share of its memory.
pub(super) fn peak_percent(of: MemoryOf) -> impl Fn(&Measurement) -> Option<f64> {
    move |run| {
        let usages = run.hosts.iter().map(|host| &host.usage);
        let percents = usages
            .chain([&run.usage])
            .filter_map(|usage| Some(usage.peak(of)?.percent?.0));
        percents.reduce(f64::max)
    }
}

/// The doubt that the source leaves: it looks seldom, or sees nothing of runs as short as these.
fn doubt_of_source(runs: &Runs, of: MemoryOf) -> Option<Doubt> {
    let mut peaks = runs.entered().iter().map(|run| run.usage.peak(of));
    if peaks.clone().any(|peak| peak.is_some()) {
        let is_lower_bound = peaks.all(|peak| peak.is_none_or(PeakMemory::is_lower_bound));
        return is_lower_bound.then_some(Doubt::LowerBound);
    }
    let shortest = runs.entered().iter().map(|run| run.usage.memory_seen_from);
    let shortest: Option<Vec<Seconds>> = shortest.collect();
    let longer = |one: &Seconds, other: &Seconds| one.0.total_cmp(&other.0);
    let shortest = shortest?.into_iter().max_by(longer)?;
    Some(Doubt::TooShortToSee { shortest })
}

/// What each run used, in percent of its machine or GPU.
fn percents(runs: &Runs, offer: &Offer, of: MemoryOf) -> Vec<f64> {
    let percents = runs.entered().iter();
    let percents = percents.filter_map(|run| percent_of_run(run, offer, of));
    percents.collect()
}

fn percent_of_run(run: &Measurement, offer: &Offer, of: MemoryOf) -> Option<f64> {
    let each = offer.memory_of_each(of).filter(|memory| memory.0 > 0);
    let of_bytes = || Some(peak_bytes(of)(run)? / each?.as_f64() * 100.0);
    let percent = peak_percent(of)(run).or_else(of_bytes);
    percent.filter(|percent| percent.is_finite() && *percent >= 0.0)
}

pub(super) fn percent_of(
    bytes: &Predictive,
    memory_of_each: Option<Bytes>,
    of: MemoryOf,
) -> Quantity {
    match memory_of_each {
        Some(memory) if memory.0 > 0 => Ok(bytes.scaled(100.0 / memory.as_f64())),
        _ => Err(Unknown(format!("the {}'s memory is not known", of.owner()))),
    }
}

/// The memory of the group that comes nearest to its own limit, in percent, with the growth of the group that may grow most.
///
/// Each instance group has a law on its own machines: in a law over all hosts the group that is fullest in small canaries would
/// hide one that grows.
///
/// `None` where there are no groups, where all share one machine, and where a run does not say a group's memory in percent.
fn worst_group(runs: &Runs, offer: &Offer, of: MemoryOf) -> Option<Predictive> {
    let groups = offer.configuration.groups().iter();
    let has_some = |gpus: Option<u32>| of == MemoryOf::Machine || gpus.is_none_or(|gpus| gpus > 0);
    let concerned = groups.zip(&offer.members).filter(|(group, member)| {
        let capacity = member.capacity.as_ref();
        !group.instance_type.is_local() && has_some(capacity.map(|capacity| capacity.gpus))
    });
    let mut worst: Option<Predictive> = None;
    for (group, _) in concerned {
        let percent = |run: &Measurement| percent_of_group(run, &group.name, of);
        if !runs.all_have(|run| percent(run).is_some()) {
            return None;
        }
        let (predictive, _) = extrapolate(runs, of, percent).ok()?;
        let upper = |one: &Predictive| one.quantile(UPPER);
        let (more, less) = match worst {
            Some(other) if upper(&other) >= upper(&predictive) => (other, Some(predictive)),
            other => (predictive, other),
        };
        let steepest = less.filter(|less| upper(less.if_steeper()) > upper(more.if_steeper()));
        worst = Some(match steepest {
            Some(less) => more.or_if_steeper(less.if_steeper().clone()),
            None => more,
        });
    }
    worst
}

/// The peak of memory on the fullest host of a group, in percent; `None` where no host of it says one.
fn percent_of_group(run: &Measurement, group: &str, of: MemoryOf) -> Option<f64> {
    let own = |name: &Option<String>| name.as_deref() == Some(group);
    let hosts = run.hosts.iter().filter(|host| own(&host.group));
    let percents = hosts.filter_map(|host| Some(host.usage.peak(of)?.percent?.0));
    percents.reduce(f64::max)
}

#[cfg(test)]
mod tests;
