//! The forecast of a configuration that was not measured, from measured ones: memory in bytes, and time on another count of
//! instances of the same type.

use super::{DataLayout, Load, ScaleOut, assume, forecast_from};
use crate::forecast::posterior::Posterior;
use crate::forecast::runs::Runs;
use crate::forecast::{
    Basis, Doubt, FEWEST_RUNS, Forecast, KnownPeak, Predictive, UPPER, Unknown, cost, memory,
};
use crate::instance::{Capacity, InstanceConfiguration, Offer};
use crate::measurement::{Measurement, choose_memory_source};
use crate::metric::{MemoryOf, Metric};
use crate::units::Bytes;

/// A configuration, and what its canaries say of it by themselves.
#[derive(Debug, Clone)]
pub struct Measured {
    /// By the tables or by the measurements.
    pub offer: Offer,
    pub forecast: Forecast,
    /// On this configuration, memory by one source.
    pub measurements: Vec<Measurement>,
}

impl Measured {
    pub fn instance(&self) -> &InstanceConfiguration {
        &self.offer.configuration
    }

    /// The capacity of one machine, where all machines are of one type.
    pub fn capacity(&self) -> Option<&Capacity> {
        self.offer.capacity()
    }
}

/// The forecast of a configuration without a canary of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    /// Unknown except for memory, time and cost; its notes are cautions.
    pub forecast: Forecast,
    /// The source of the time.
    pub scale_out: Option<ScaleOut>,
    /// The source of its numbers, in a sentence without its full stop; `None` if nothing is known.
    pub source: Option<String>,
}

/// The forecast for the machines of `wanted` from `measured`. `wanted.measurements` are all runs of the job, on any configuration.
///
/// Memory carries over in bytes: the script is assumed to need as much on another machine with the same data. Time carries over
/// only to other counts of a measured type.
pub fn elsewhere(wanted: &Basis, measured: &[Measured], layout: &DataLayout) -> Elsewhere {
    let configuration = &wanted.offer.configuration;
    let not_measured = Unknown(format!("it was not measured on {configuration}"));
    let mut known = Elsewhere {
        forecast: Forecast::unknown(&not_measured),
        scale_out: time_on_another_count(wanted, measured, layout),
        source: None,
    };
    let mut sources: Vec<String> = Vec::new();
    for of in MemoryOf::ALL {
        let machines = Machines {
            of,
            wanted,
            measured,
            layout,
        };
        sources.extend(machines.add_peak(&mut known));
    }
    if let Some(scale_out) = &known.scale_out {
        let notes = &mut known.forecast.notes;
        notes.extend(scale_out.note.clone());
        notes.extend(layout.cautions(configuration.total_count()));
        // How the job may grow goes with it to every machine.
        let mut times = measured.iter().map(|one| &one.forecast[Metric::Time]);
        let time = match times.find_map(|time| time.as_ref().ok()) {
            Some(source) => Ok(scale_out.seconds.clone().growing_as(source)),
            None => Ok(scale_out.seconds.clone()),
        };
        let cost = cost(wanted, &time);
        let what = match cost.is_ok() {
            true => "time and cost follow",
            false => "time follows",
        };
        let how = match scale_out.is_measured() {
            true => "measured on other counts",
            false => "assumed",
        };
        sources.push(format!("{what} from scale-out, {how}"));
        known.forecast = (known.forecast)
            .with(Metric::Cost, cost)
            .with(Metric::Time, time);
    } else if !sources.is_empty() {
        sources.push("time and cost are not known".to_owned());
    }
    known.source = (!sources.is_empty()).then(|| sources.join("; "));
    known
}

/// The machines that one peak of memory is wanted on, and those that it was measured on.
struct Machines<'a> {
    of: MemoryOf,
    wanted: &'a Basis<'a>,
    measured: &'a [Measured],
    layout: &'a DataLayout,
}

/// How much more memory a canary on the wanted count used than the law of another count gives for as much data.
#[derive(Clone, Copy)]
struct Excess {
    times: f64,
    /// As a part of what the law gives for the full run.
    of_full_run: f64,
}

impl Machines<'_> {
    /// Adds what the canaries say of the peak; returns where that comes from, in words.
    fn add_peak(&self, known: &mut Elsewhere) -> Option<String> {
        let (of, name) = (self.of, self.of.words());
        let wanted = self.wanted.offer;
        let memory = wanted.capacity()?.memory_of(of)?;
        wanted.configuration.single_type()?;
        if let Some(instance) = self.ran_out(memory, &mut known.forecast.notes) {
            known.forecast.peak_mut(of).ran_out = true;
            return Some(format!(
                "{name} runs out, as it did in a canary on {instance}, which has no less"
            ));
        }
        let (source, by_law) = (self.measured.iter())
            .filter(|source| !source.forecast.peak(of).ran_out)
            .find_map(|source| Some((source, self.bytes_by(source)?)))?;
        let (more, doubt) = self.seen_here(source, &mut known.forecast.notes);
        let bytes = match more {
            // One canary does not tell whether the full run uses as many bytes more, or as many times as much.
            Some(Excess { times, of_full_run }) => {
                let middle = ((1.0 + of_full_run) * times).sqrt();
                by_law.scaled(middle).widened(times / middle - 1.0)
            }
            None => by_law,
        };
        let mut doubts = (self.measured.iter()).map(|source| source.forecast.peak(of).doubt);
        *known.forecast.peak_mut(of) = KnownPeak {
            is_measured: true,
            doubt: doubt.or_else(|| doubts.find_map(|doubt| doubt)),
            ..KnownPeak::default()
        };
        let each = wanted.memory_of_each(of);
        let quantities = &mut known.forecast.quantities;
        quantities[Metric::share_of(of)] = memory::percent_of(&bytes, each, of);
        quantities[Metric::bytes_of(of)] = Ok(bytes);
        let here = of.pick("here", "on each GPU here");
        Some(format!(
            "{name} is that of the canaries on {}, assumed to be the same {here}",
            source.instance()
        ))
    }

    /// The share of the data that one host holds, 0-1.
    fn held(&self, instance: &InstanceConfiguration) -> f64 {
        self.layout.held_share(instance.total_count())
    }

    /// The configuration with at least as much memory on which a canary with at most as much data ran out of memory. If it had less
    /// memory, a note that only a lower bound is known.
    fn ran_out(&self, memory: Bytes, notes: &mut Vec<String>) -> Option<InstanceConfiguration> {
        let wanted = &self.wanted.offer.configuration;
        let failed = self.measured.iter().filter(|source| {
            source.forecast.peak(self.of).ran_out
                && self.held(source.instance()) <= self.held(wanted)
        });
        let (instance, bound) = failed
            .filter_map(|source| Some((source.instance(), source.capacity()?.memory_of(self.of)?)))
            .max_by_key(|(_, bound)| *bound)?;
        if memory <= bound {
            return Some(instance.clone());
        }
        notes.push(format!(
            "a canary ran out of {} on {instance}, so the full run needs more than {bound}; whether {memory} is enough is \
             not known",
            self.of.words()
        ));
        None
    }

    /// Peak bytes on the fullest wanted machine or GPU, by the canaries on `source`.
    fn bytes_by(&self, source: &Measured) -> Option<Predictive> {
        source.instance().single_type()?;
        let wanted = &self.wanted.offer.configuration;
        let (from, to) = (self.held(source.instance()), self.held(wanted));
        let per_host = match from == 1.0 {
            _ if from == to => peak_bytes(source, self.of)?,
            // The law of one machine with all of the data gives its need with a part.
            true => {
                let runs = self.runs_on(&[source.instance()]);
                self.law(&runs, source).ok()?.predict_at(to, 1.0)
            }
            false => return None,
        };
        Some(per_host.scaled(self.processes_beside(source)))
    }

    /// All runs on these machines, with memory measured by one source.
    fn runs_on(&self, machines: &[&InstanceConfiguration]) -> Vec<Measurement> {
        let runs = self.wanted.measurements.iter();
        let is_there = |run: &&Measurement| machines.iter().any(|instance| run.is_on(instance));
        let mut runs: Vec<Measurement> = runs.filter(is_there).cloned().collect();
        choose_memory_source(&mut runs, self.of, FEWEST_RUNS);
        runs
    }

    fn law(&self, runs: &[Measurement], source: &Measured) -> Result<Posterior, Unknown> {
        let prior = memory::prior_of(self.of);
        Runs::choose(runs).weigh(self.of.words(), prior, in_bytes(self.of, &source.offer))
    }

    /// The number of hosts on one wanted machine, divided by that on one of `source`: local hosts are processes of one machine, and
    /// their memory adds up.
    fn processes_beside(&self, source: &Measured) -> f64 {
        let processes = |instance: &InstanceConfiguration| match instance.is_local() {
            true => f64::from(instance.total_count()),
            false => 1.0,
        };
        processes(&self.wanted.offer.configuration) / processes(source.instance())
    }

    /// Compares the canaries on the wanted machines with the law of `source`: the one that is most above it counts, where one is above
    /// its interval. Adds a note where another law may hold.
    fn seen_here(
        &self,
        source: &Measured,
        notes: &mut Vec<String>,
    ) -> (Option<Excess>, Option<Doubt>) {
        let configuration = &self.wanted.offer.configuration;
        let runs = self.runs_on(&[source.instance(), configuration]);
        let is_here = |run: &Measurement| run.is_on(configuration);
        let (mut here, others): (Vec<_>, Vec<_>) = runs.into_iter().partition(is_here);
        here.retain(Measurement::is_completed);
        if here.is_empty() || source.instance() == configuration {
            return (None, None);
        }
        let (name, there) = (self.of.words(), source.instance());
        let way_out = format!(
            "`canary.counts: [{}]` runs all canaries there",
            configuration.total_count()
        );
        let used = in_bytes(self.of, self.wanted.offer);
        let is_seen = here.iter().any(|run| used(run).is_some());
        let (Ok(law), true) = (self.law(&others, source), is_seen) else {
            notes.push(format!(
                "{name}: no canary on {configuration} was measured as those on {there} were, so whether more is used there is not \
                 known; {way_out}"
            ));
            return (None, Some(Doubt::NotSeenOnItsCount));
        };
        let beside = self.processes_beside(source);
        let at = |share, work| law.predict_at(share, work).scaled(beside);
        let full = at(self.held(configuration), 1.0);
        let more = |run: &Measurement| {
            let held = match self.layout.is_sharded() {
                true => Load::of(run).heaviest,
                false => run.data_share(),
            };
            let by_law = at(held, run.work_share());
            let used = used(run).filter(|used| *used > by_law.quantile(UPPER))?;
            Some(Excess {
                times: used / by_law.median(),
                of_full_run: (used - by_law.median()) / full.median(),
            })
        };
        let most = (here.iter().filter_map(more)).max_by(|a, b| a.times.total_cmp(&b.times));
        // Talking to other machines takes some memory whatever the data are; that much lies within the law's own interval.
        let is_beyond = |more: &Excess| full.median() * more.times > full.quantile(UPPER);
        let beyond_the_law = most.filter(is_beyond);
        if let Some(Excess { times, .. }) = beyond_the_law {
            notes.push(format!(
                "{name}: a canary on {configuration} used {times:.1} times what those on {there} give for as much data, and how it grows \
                 there is not known; {way_out}"
            ));
        }
        (most, beyond_the_law.map(|_| Doubt::MoreOnItsCount))
    }
}

/// Peak bytes of a run on the machines of an offer: measured in bytes, or in percent of a machine or GPU that is known.
fn in_bytes(of: MemoryOf, offer: &Offer) -> impl Fn(&Measurement) -> Option<f64> + use<> {
    let each = offer.capacity().and_then(|capacity| capacity.memory_of(of));
    let (bytes, percent) = (memory::peak_bytes(of), memory::peak_percent(of));
    move |run| bytes(run).or_else(|| Some(percent(run)? / 100.0 * each?.as_f64()))
}

/// Peak bytes of the full run on the fullest machine or GPU of a measured configuration: measured in bytes, or in percent of
/// one that is known. `None` of averages.
pub fn peak_bytes(source: &Measured, of: MemoryOf) -> Option<Predictive> {
    let forecast = &source.forecast;
    if let Ok(bytes) = &forecast[Metric::bytes_of(of)] {
        return Some(bytes.clone());
    }
    let memory = source.capacity()?.memory_of(of)?;
    let percent = forecast[Metric::share_of(of)].as_ref().ok()?;
    (forecast.peak(of).is_measured).then(|| percent.scaled(memory.as_f64() / 100.0))
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
    let load = |source: &Measured| layout.load(source.instance().total_count());
    let distance = |source: &&Measured| {
        let count = source.instance().total_count();
        f64::from(count.max(hosts)) / f64::from(count.min(hosts))
    };
    let nearest = (measured.iter())
        .filter(|source| source.instance().single_type() == Some(kind))
        .filter(|source| source.forecast[Metric::Time].is_ok())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let one = nearest
        .and_then(|source| Some((source.forecast[Metric::Time].as_ref().ok()?, load(source))));
    if let Ok(by_laws) = forecast_from(wanted.measurements, configuration, one, to) {
        return Some(by_laws);
    }
    let (source, (seconds, from)) = nearest.zip(one)?;
    let law = source.forecast.law.time.as_ref()?;
    // Where every host has all of the data, each downloads all of them.
    let download = source.forecast.phases.download.as_ref();
    let download = download.filter(|_| !layout.is_sharded());
    let fixed = law.intercept.max(0.0) + download.map_or(0.0, Predictive::median);
    let fixed_share = (fixed / (law.intercept + law.slope)).clamp(0.0, 1.0);
    Some(assume(seconds, fixed_share, from, to))
}
