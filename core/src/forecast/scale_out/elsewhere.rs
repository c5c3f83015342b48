//! The forecast of a configuration that was not measured, from measured ones: memory in bytes, and time on another count of
//! instances of the same type.

use super::{DataLayout, Load, OneCount, ScaleOut, assume, forecast_by, forecast_from};
use crate::forecast::points::weigh;
use crate::forecast::runs::Runs;
use crate::forecast::{
    Basis, Doubt, FEWEST_RUNS, Forecast, KnownPeak, Predictive, Quantity, Unknown, cost, memory,
};
use crate::instance::{Capacity, InstanceConfiguration, Offer};
use crate::measurement::{Measurement, choose_memory_source};
use crate::metric::{MemoryOf, Metric};

/// A configuration that was measured, and its forecast.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    pub offer: &'a Offer,
    pub forecast: &'a Forecast,
}

impl<'a> Measured<'a> {
    pub fn instance(&self) -> &'a InstanceConfiguration {
        &self.offer.configuration
    }

    /// Of one machine, where all are of one type.
    pub fn capacity(&self) -> Option<&'a Capacity> {
        self.offer.capacity()
    }
}

/// The forecast of a configuration without a canary of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    /// Unknown except for memory, time and cost.
    pub forecast: Forecast,
    /// The configuration whose canaries the memory comes from.
    pub memory_from: Option<InstanceConfiguration>,
    /// The same of the GPUs' memory.
    pub gpu_memory_from: Option<InstanceConfiguration>,
    /// The source of the time.
    pub scale_out: Option<ScaleOut>,
    /// Cautions, as sentences.
    pub notes: Vec<String>,
}

impl Elsewhere {
    /// The source of its numbers, in a sentence without its full stop; `None` if nothing is known.
    pub fn source(&self) -> Option<String> {
        let peaks = [
            (MemoryOf::Machine, &self.memory_from, "here"),
            (MemoryOf::Gpu, &self.gpu_memory_from, "on each GPU here"),
        ];
        let peaks = peaks.into_iter().filter_map(|(of, from, here)| {
            let (name, instance) = (of.words(), from.as_ref()?);
            Some(match self.forecast.peak(of).ran_out {
                true => format!(
                    "{name} runs out, as it did in a canary on {instance}, which has no less"
                ),
                false => format!(
                    "{name} is that of the canaries on {instance}, assumed to be the same {here}"
                ),
            })
        });
        let peaks: Vec<String> = peaks.collect();
        let memory = (!peaks.is_empty()).then(|| peaks.join("; "));
        let time = self.scale_out.as_ref().map(|scale_out| {
            let how = if scale_out.is_measured() {
                "measured on other counts"
            } else {
                "assumed"
            };
            match &self.forecast[Metric::Cost] {
                Ok(_) => format!("time and cost follow from scale-out, {how}"),
                Err(_) => format!("time follows from scale-out, {how}"),
            }
        });
        match (memory, time) {
            (Some(memory), Some(time)) => Some(format!("{memory}; {time}")),
            (Some(memory), None) => Some(format!("{memory}; time and cost are not known")),
            (None, time) => time,
        }
    }
}

/// The forecast for the machines of `wanted` from `measured`. `wanted.measurements` are all runs of the job, on any configuration.
///
/// Memory carries over in bytes: the script is assumed to need as much on another machine with the same data. Time carries over
/// only to other counts of a measured type.
pub fn elsewhere(wanted: &Basis, measured: &[Measured], layout: &DataLayout) -> Elsewhere {
    let not_measured = Unknown(format!(
        "it was not measured on {}",
        wanted.offer.configuration
    ));
    let unknown = || Err(not_measured.clone());
    let mut notes = Vec::new();
    let [memory, gpu_memory] =
        MemoryOf::ALL.map(|of| PeakElsewhere::of(of, wanted, measured, layout, &mut notes));
    let scale_out = time_on_another_count(wanted, measured, layout);
    if let (Some(scale_out), Some(_)) = (&scale_out, wanted.offer.configuration.single_type()) {
        notes.extend(scale_out.note());
        notes.extend(layout.cautions(wanted.offer.configuration.total_count()));
    }
    let time: Quantity = match &scale_out {
        // How the job may grow goes with it to every machine.
        Some(scale_out) => {
            let source = measured
                .iter()
                .find_map(|one| one.forecast[Metric::Time].as_ref().ok());
            let seconds = scale_out.seconds.clone();
            Ok(source.map_or_else(
                || seconds.clone(),
                |source| seconds.clone().growing_as(source),
            ))
        }
        None => unknown(),
    };
    let percent = |peak: &PeakElsewhere| match &peak.bytes {
        Some(bytes) => memory::percent_on(bytes, wanted.offer, peak.of),
        None => unknown(),
    };
    let bytes = |peak: &PeakElsewhere| peak.bytes.clone().map_or_else(unknown, Ok);
    let forecast = Forecast::unknown(&not_measured)
        .with(Metric::Cost, cost(wanted, &time))
        .with(Metric::Time, time)
        .with(Metric::Memory, percent(&memory))
        .with(Metric::MemoryBytes, bytes(&memory))
        .with(Metric::GpuMemory, percent(&gpu_memory))
        .with(Metric::GpuMemoryBytes, bytes(&gpu_memory));
    Elsewhere {
        forecast: Forecast {
            memory: memory.known,
            gpu_memory: gpu_memory.known,
            ..forecast
        },
        memory_from: memory.from,
        gpu_memory_from: gpu_memory.from,
        scale_out,
        notes,
    }
}

/// A peak of memory on a configuration without a canary of its own.
struct PeakElsewhere {
    of: MemoryOf,
    /// On the fullest machine or GPU.
    bytes: Option<Predictive>,
    known: KnownPeak,
    from: Option<InstanceConfiguration>,
}

impl PeakElsewhere {
    fn of(
        of: MemoryOf,
        wanted: &Basis,
        measured: &[Measured],
        layout: &DataLayout,
        notes: &mut Vec<String>,
    ) -> Self {
        let ran_out = ran_out_of_memory(of, wanted, measured, layout, notes);
        let (source, bytes) = measured
            .iter()
            .filter(|source| ran_out.is_none() && !source.forecast.peak(of).ran_out)
            .find_map(|source| Some((source, memory_bytes(of, wanted, source, layout)?)))
            .unzip();
        let here = source.map(|source| SeenHere::of(of, wanted, source, layout));
        if let (Some(here), Some(source)) = (&here, source) {
            notes.extend(here.note(of, &wanted.offer.configuration, source.instance()));
        }
        let here_doubt = here.as_ref().and_then(SeenHere::doubt);
        let more = match here {
            Some(SeenHere::More(more)) => Some(more),
            _ => None,
        };
        let bytes = match &more {
            Some(more) => bytes.and_then(|bytes: Predictive| more.applied_to(&bytes)),
            None => bytes,
        };
        let doubts = || {
            let mut doubts = measured.iter().map(|source| source.forecast.peak(of).doubt);
            here_doubt.or_else(|| doubts.find_map(|doubt| doubt))
        };
        Self {
            of,
            known: KnownPeak {
                ran_out: ran_out.is_some(),
                is_measured: bytes.is_some(),
                doubt: bytes.as_ref().and_then(|_| doubts()),
                ..KnownPeak::default()
            },
            bytes,
            from: source.map(|source| source.instance().clone()).or(ran_out),
        }
    }
}

/// The configuration with at least as much memory on which a canary with at most as much data ran out of memory. If it had less
/// memory, a note that only a lower bound is known.
fn ran_out_of_memory(
    of: MemoryOf,
    wanted: &Basis,
    measured: &[Measured],
    layout: &DataLayout,
    notes: &mut Vec<String>,
) -> Option<InstanceConfiguration> {
    let held = |instance: &InstanceConfiguration| layout.held_share(instance.total_count());
    let memory = wanted.offer.capacity()?.memory_of(of)?;
    wanted.offer.configuration.single_type()?;
    let failed = measured.iter().filter(|source| {
        source.forecast.peak(of).ran_out
            && held(source.instance()) <= held(&wanted.offer.configuration)
    });
    let failed =
        failed.filter_map(|source| Some((source.instance(), source.capacity()?.memory_of(of)?)));
    let (instance, bound) = failed.max_by_key(|(_, bound)| *bound)?;
    if memory <= bound {
        return Some(instance.clone());
    }
    notes.push(format!(
        "a canary ran out of {} on {instance}, so the full run needs more than {bound}; whether {memory} is enough is \
         not known",
        of.words()
    ));
    None
}

/// Peak bytes on the fullest machine or GPU of `wanted`, by the canaries on `source`.
fn memory_bytes(
    of: MemoryOf,
    wanted: &Basis,
    source: &Measured,
    layout: &DataLayout,
) -> Option<Predictive> {
    wanted.offer.capacity()?.memory_of(of)?;
    wanted.offer.configuration.single_type()?;
    source.instance().single_type()?;
    let (from, to) = (
        layout.held_share(source.instance().total_count()),
        layout.held_share(wanted.offer.configuration.total_count()),
    );
    let per_host = if from == to {
        peak_bytes(source, of)?
    } else if from == 1.0 {
        // The law of one machine with all of the data gives its need with a part.
        let mut runs: Vec<_> = wanted
            .measurements
            .iter()
            .filter(|run| run.is_on(source.instance()))
            .cloned()
            .collect();
        choose_memory_source(&mut runs, of, FEWEST_RUNS);
        let chosen = Runs::choose(&runs);
        let points = chosen.measured(in_bytes(of, source.offer)).ok()?;
        let law = weigh(&points, of.words(), memory::prior_of(of), chosen.fewest).ok()?;
        law.predict_at(to, 1.0)
    } else {
        return None;
    };
    Some(per_host.scaled(processes(&wanted.offer.configuration) / processes(source.instance())))
}

/// Peak bytes of a run on the machines of an offer: measured in bytes, or in percent of a machine or GPU that is known.
fn in_bytes(of: MemoryOf, offer: &Offer) -> impl Fn(&Measurement) -> Option<f64> + use<> {
    let each = offer.capacity().and_then(|capacity| capacity.memory_of(of));
    let (bytes, percent) = (memory::peak_bytes(of), memory::peak_percent(of));
    move |run| bytes(run).or_else(|| Some(percent(run)? / 100.0 * each?.as_f64()))
}

/// The upper end of what a law gives: a canary above it is above the law.
const UPPER_END: f64 = 0.95;

/// What canaries on the wanted count used of memory, beside what the law of another count gives for as much data.
enum SeenHere {
    /// No canary completed here, or none used more.
    NoMore,
    /// Canaries completed here, and none was measured as those of the law were.
    NotSeen,
    More(MoreHere),
}

/// A canary on the wanted count that used more than the law of another count gives for as much data.
struct MoreHere {
    /// What it used, of what the law gives for it.
    times: f64,
    /// What it used beyond the law, of what the law gives for the full run.
    beyond: f64,
    /// So many times the full run's memory by the law is above the law's own interval: another law holds here. What talks to other
    /// machines takes some memory whatever the data, and is within it.
    is_beyond_the_law: bool,
}

impl SeenHere {
    /// The canary that is most above the law, where one is above its interval.
    fn of(of: MemoryOf, wanted: &Basis, source: &Measured, layout: &DataLayout) -> Self {
        let configuration = &wanted.offer.configuration;
        let mut runs: Vec<Measurement> = wanted
            .measurements
            .iter()
            .filter(|run| run.is_on(source.instance()) || run.is_on(configuration))
            .cloned()
            .collect();
        choose_memory_source(&mut runs, of, FEWEST_RUNS);
        let (mut here, others): (Vec<Measurement>, Vec<Measurement>) =
            runs.into_iter().partition(|run| run.is_on(configuration));
        here.retain(Measurement::is_completed);
        if here.is_empty() || source.instance() == configuration {
            return Self::NoMore;
        }
        let chosen = Runs::choose(&others);
        let law = (chosen.measured(in_bytes(of, source.offer)))
            .and_then(|points| weigh(&points, of.words(), memory::prior_of(of), chosen.fewest));
        let used = in_bytes(of, wanted.offer);
        let (Ok(law), true) = (law, here.iter().any(|run| used(run).is_some())) else {
            return Self::NotSeen;
        };
        let processes = processes(configuration) / processes(source.instance());
        let full = layout.held_share(configuration.total_count());
        let full = law.predict_at(full, 1.0).scaled(processes);
        let more = |run: &Measurement| {
            let held = match layout.is_sharded() {
                true => Load::of(run).heaviest,
                false => run.data_share(),
            };
            let by_law = law.predict_at(held, run.work_share()).scaled(processes);
            let used = used(run).filter(|used| *used > by_law.quantile(UPPER_END))?;
            let times = used / by_law.median();
            Some(MoreHere {
                times,
                beyond: (used - by_law.median()) / full.median(),
                is_beyond_the_law: full.median() * times > full.quantile(UPPER_END),
            })
        };
        (here.iter().filter_map(more))
            .max_by(|a, b| a.times.total_cmp(&b.times))
            .map_or(Self::NoMore, Self::More)
    }

    /// Why the law of another count may not hold here.
    fn doubt(&self) -> Option<Doubt> {
        match self {
            Self::More(more) => more.is_beyond_the_law.then_some(Doubt::MoreOnItsCount),
            Self::NotSeen => Some(Doubt::NotSeenOnItsCount),
            Self::NoMore => None,
        }
    }

    fn note(
        &self,
        of: MemoryOf,
        here: &InstanceConfiguration,
        source: &InstanceConfiguration,
    ) -> Option<String> {
        let (name, count) = (of.words(), here.total_count());
        match self {
            Self::More(more) if more.is_beyond_the_law => Some(format!(
                "{name}: a canary on {here} used {:.1} times what those on {source} give for as much data, and how it grows there is not \
                 known; `canary.counts: [{count}]` runs all canaries there",
                more.times
            )),
            Self::NotSeen => Some(format!(
                "{name}: no canary on {here} was measured as those on {source} were, so whether more is used there is not known; \
                 `canary.counts: [{count}]` runs all canaries there"
            )),
            Self::More(_) | Self::NoMore => None,
        }
    }
}

impl MoreHere {
    /// As much more whatever the data, or as many times as much: one canary does not tell.
    fn applied_to(&self, by_law: &Predictive) -> Option<Predictive> {
        Predictive::one_of(&[by_law.scaled(1.0 + self.beyond), by_law.scaled(self.times)])
    }
}

/// Peak bytes of the full run on the fullest machine or GPU of a measured configuration: measured in bytes, or in percent of
/// one that is known. `None` of averages.
pub fn peak_bytes(source: &Measured, of: MemoryOf) -> Option<Predictive> {
    let forecast = source.forecast;
    if let Ok(bytes) = &forecast[Metric::bytes_of(of)] {
        return Some(bytes.clone());
    }
    let memory = source.capacity()?.memory_of(of)?;
    let percent = forecast[Metric::share_of(of)].as_ref().ok()?;
    (forecast.peak(of).is_measured).then(|| percent.scaled(memory.as_f64() / 100.0))
}

/// The number of hosts that share one machine: local hosts are processes of it, and their memory adds up.
fn processes(instance: &InstanceConfiguration) -> f64 {
    if instance.is_local() {
        f64::from(instance.total_count())
    } else {
        1.0
    }
}

/// A measured count whose time has a forecast of its own.
pub fn one_count<'a>(source: &Measured<'a>, layout: &DataLayout) -> Result<OneCount<'a>, Unknown> {
    let law = source.forecast.law.time.as_ref();
    Ok(OneCount {
        seconds: source.forecast[Metric::Time]
            .as_ref()
            .map_err(Clone::clone)?,
        load: layout.load(source.instance().total_count()),
        fixed: law.map_or(0.0, |law| law.intercept.max(0.0)),
    })
}

/// Measured if runs of the type have two counts, else assumed from the nearest measured count. Measured scale-out too goes from the
/// nearest count whose time has a forecast of its own, if there is one.
fn time_on_another_count(
    wanted: &Basis,
    measured: &[Measured],
    layout: &DataLayout,
) -> Option<ScaleOut> {
    let configuration = &wanted.offer.configuration;
    let kind = configuration.single_type()?;
    let hosts = configuration.total_count();
    let to = layout.load(hosts);
    let distance = |source: &Measured| {
        let count = source.instance().total_count();
        f64::from(count.max(hosts)) / f64::from(count.min(hosts))
    };
    let nearest = measured
        .iter()
        .filter(|source| source.instance().single_type() == Some(kind))
        .filter_map(|source| Some((source, source.forecast[Metric::Time].as_ref().ok()?)))
        .min_by(|(a, _), (b, _)| distance(a).total_cmp(&distance(b)));
    let by_laws = match nearest {
        Some((source, _)) => one_count(source, layout)
            .and_then(|one| forecast_by(wanted.measurements, configuration, &one, to)),
        None => forecast_from(wanted.measurements, configuration, to),
    };
    if let Ok(answer) = by_laws {
        return Some(answer);
    }
    let (nearest, time) = nearest?;
    let law = nearest.forecast.law.time.as_ref()?;
    // Where every host has all of the data, each downloads all of them.
    let download = nearest.forecast.phases.download.as_ref();
    let download = download.filter(|_| !layout.is_sharded());
    let fixed = law.intercept.max(0.0) + download.map_or(0.0, Predictive::median);
    let fixed_share = (fixed / (law.intercept + law.slope)).clamp(0.0, 1.0);
    let from = layout.load(nearest.instance().total_count());
    assume(time, fixed_share, from, to).ok()
}
