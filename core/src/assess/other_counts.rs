//! A configuration whose canaries ran on several counts of its machines: its time follows from laws of scale-out, its memory from the
//! count that has a forecast of its own.

use crate::assess::input::{JobInput, JobRuns, measured_price};
use crate::assess::row::{self, Judged};
use crate::forecast::scale_out::{DataLayout, Measured, efficiency_by, elsewhere};
use crate::forecast::{
    self, Basis, Estimate, EstimateAtShare, FEWEST_RUNS, Forecast, Predictive, Unknown,
};
use crate::grammar;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{self, Measurement, Outcome};
use crate::metric::{MemoryOf, Metric};
use crate::report::ScaleOutBasis;
use crate::units::{Bytes, Fraction};
use crate::verdict;

/// From the fewest runs of a forecast on, or from as few as there are.
type Extrapolate = fn(&Basis<'_>) -> Forecast;

/// What canaries on several counts say of a configuration, however few they are. Not for a report.
pub fn provisional(instance: &InstanceConfiguration, runs: JobRuns<'_>) -> Forecast {
    let mut here = Measured::by(forecast::provisional, instance, runs);
    // Of its own machines there is one canary, which is no forecast of them.
    here.forecast.quantities[Metric::Time] = Err(Unknown(String::new()));
    here.take_other_counts(forecast::provisional, runs);
    here.forecast
}

impl Measured {
    pub fn of(instance: &InstanceConfiguration, runs: JobRuns<'_>) -> Self {
        Self::by(forecast::forecast, instance, runs)
    }

    fn by(extrapolate: Extrapolate, instance: &InstanceConfiguration, runs: JobRuns<'_>) -> Self {
        let mut here = measurement::on(runs.measurements, instance);
        let sources = measurement::choose_memory_sources(&mut here, FEWEST_RUNS);
        let offer = (runs.offer_of)(instance)
            .or_price(|| measured_price(&here))
            .or_capacity(|| measured_capacity(&here));
        let by_shard = by_shard(&here, instance, runs.layout);
        let mut forecast = extrapolate(&Basis {
            offer: &offer,
            measurements: by_shard.as_deref().unwrap_or(&here),
        });
        for source in sources.iter().filter(|source| source.without > 0) {
            forecast.notes.push(format!(
                "{} is forecast from canaries measured in one way ({}); that of {} is left out",
                source.of.words(),
                source.name,
                grammar::count(source.without, "other")
            ));
        }
        if by_shard.is_some() {
            forecast.notes.push(format!(
                "the data of {instance} are in shards: the canaries are compared with the full run by the heaviest host's shard"
            ));
        }
        Self {
            forecast,
            offer,
            measurements: here,
        }
    }

    /// Between its canaries and the full run, for a drawing.
    pub fn time_by_share(&self, layout: &DataLayout, certainty: Fraction) -> Vec<EstimateAtShare> {
        let by_shard = by_shard(&self.measurements, &self.offer.configuration, layout);
        let measurements = by_shard.as_deref().unwrap_or(&self.measurements);
        forecast::time_by_share(measurements, certainty)
    }

    /// By its own canaries, and where these are too few by what canaries on other counts of its machines say, if they say more.
    pub fn with_other_counts(on: &InstanceConfiguration, runs: JobRuns<'_>) -> (Self, OtherCounts) {
        let mut here = Self::of(on, runs);
        let is_open = here.is_unfinished() || here.hangs_on_others(runs.measurements);
        let alone = is_open.then(|| here.forecast.clone());
        let others = here.take_other_counts(forecast::forecast, runs);
        if let Some(alone) = alone {
            here.forecast = alone;
        }
        (here, others)
    }

    /// Without a canary of its own, by what others say.
    pub fn by_law(
        instance: &InstanceConfiguration,
        sources: &[Self],
        runs: JobRuns<'_>,
    ) -> (Self, OtherCounts) {
        let offer = (runs.offer_of)(instance);
        let (forecast, others) = said_by(sources, &offer, runs);
        let here = Self {
            offer,
            forecast,
            measurements: Vec::new(),
        };
        (here, others)
    }

    /// Whether a canary here did not show what the others say of it: the newest did not complete, or one was ended at its time limit and none
    /// with as much data completed. What keeps it from completing on so many machines fewer may never show.
    fn is_unfinished(&self) -> bool {
        let newest = self.measurements.last();
        newest.is_some_and(|run| !run.is_completed() && !run.ended_early)
            || is_cut_off(&self.measurements)
    }

    /// Whether no canary here completed, and one on another count, above the smallest, was ended at its time limit.
    fn hangs_on_others(&self, all: &[Measurement]) -> bool {
        let of_type = other_counts(&self.offer.configuration, all);
        !self.measurements.iter().any(Measurement::is_completed)
            && (of_type.iter().skip(1)).any(|count| is_cut_off(&measurement::on(all, count)))
    }

    fn take_other_counts(&mut self, extrapolate: Extrapolate, runs: JobRuns<'_>) -> OtherCounts {
        let configuration = self.offer.configuration.clone();
        if self.forecast[Metric::Time].is_ok() || configuration.single_type().is_none() {
            return OtherCounts::default();
        }
        let others = other_counts(&configuration, runs.measurements);
        let here = |instance: &InstanceConfiguration| Self::by(extrapolate, instance, runs);
        let sources: Vec<Self> = others.iter().map(here).collect();
        let (known, mut found) = said_by(&sources, &self.offer, runs);
        if found.scale_out.is_none() {
            return OtherCounts::default();
        }
        let has_time = |one: &&Self| one.forecast[Metric::Time].is_ok();
        let whole = sources.iter().find(has_time);
        found.whole = whole.map(|one| one.instance().clone());
        found.all = others;
        let shares = sources.iter().map(|one| one.forecast.largest_share);
        let shares = shares.chain([self.forecast.largest_share]);
        self.forecast.largest_share = shares.flatten().reduce(f64::max);
        self.take(known);
        found
    }

    fn take(&mut self, known: Forecast) {
        let own = &mut self.forecast;
        // The full run takes longer than a canary that was ended.
        let is_longer =
            |time: &f64| matches!(&known[Metric::Time], Ok(law) if law.median() < *time);
        if own.time_at_least.as_ref().is_some_and(is_longer) {
            return;
        }
        for metric in [Metric::Time, Metric::Cost] {
            own.quantities[metric] = known[metric].clone();
        }
        for of in MemoryOf::ALL {
            let peak = own.peak(of);
            let percent = &known[Metric::share_of(of)];
            // What a canary here used is needed here, whatever the others say.
            let is_more = |seen: f64| percent.as_ref().is_ok_and(|law| law.median() < seen);
            if peak.ran_out || peak.at_least.is_some_and(is_more) {
                continue;
            }
            for metric in [Metric::share_of(of), Metric::bytes_of(of)] {
                if own.quantities[metric].is_err() {
                    own.quantities[metric] = known[metric].clone();
                }
            }
            let theirs = *known.peak(of);
            if theirs.is_measured || theirs.ran_out {
                *own.peak_mut(of) = theirs;
            }
        }
        own.notes.extend(known.notes);
    }
}

/// What others say of machines, and how.
fn said_by(sources: &[Measured], offer: &Offer, runs: JobRuns<'_>) -> (Forecast, OtherCounts) {
    let basis = Basis {
        offer,
        measurements: runs.measurements,
    };
    let known = elsewhere(&basis, sources, runs.layout);
    let others = OtherCounts {
        scale_out: known.scale_out.as_ref().map(row::scale_out_basis),
        source: known.source,
        ..OtherCounts::default()
    };
    (known.forecast, others)
}

/// The same measurements with the bytes of the heaviest host's shard; `None` where the data are not in shards.
pub(super) fn by_shard(
    here: &[Measurement],
    instance: &InstanceConfiguration,
    layout: &DataLayout,
) -> Option<Vec<Measurement>> {
    layout.by_heaviest_shard(here, layout.hosts_of_shards(instance))
}

/// Whether one of these canaries was ended at its time limit, and none with as much data completed.
fn is_cut_off(runs: &[Measurement]) -> bool {
    let completed = runs.iter().filter(|run| run.is_completed());
    let largest = completed.map(Measurement::data_share).reduce(f64::max);
    runs.iter().any(|run| {
        let is_late = run.outcome == Outcome::TimedOut && !run.ended_early;
        is_late && largest.is_none_or(|largest| run.data_share() > largest)
    })
}

/// What a forecast follows from beside the configuration's own canaries; empty where it follows from these alone.
#[derive(Debug, Default)]
pub struct OtherCounts {
    /// Ascending.
    pub all: Vec<InstanceConfiguration>,
    /// The first with canaries enough for a forecast of its own.
    pub whole: Option<InstanceConfiguration>,
    /// The source of its time; `None` where no scale-out gave it one.
    pub scale_out: Option<ScaleOutBasis>,
    /// The source of what was taken from others, in a sentence without its full stop; `None` where nothing was.
    pub source: Option<String>,
}

/// The other counts of its machines that canaries ran on, ascending.
fn other_counts(on: &InstanceConfiguration, all: &[Measurement]) -> Vec<InstanceConfiguration> {
    let is_other =
        |run: &&Measurement| run.instance.single_type() == on.single_type() && !run.is_on(on);
    let others = measurement::machines_of(all.iter().filter(is_other));
    let mut others: Vec<InstanceConfiguration> = others.into_iter().cloned().collect();
    others.sort_by_key(InstanceConfiguration::total_count);
    others
}

/// Every configuration that canaries ran on, in their order, by what ran on it alone.
pub fn all_measured(input: &JobInput<'_>) -> Vec<Measured> {
    let measured = measurement::machines_of(input.measurements);
    let here = |instance: &InstanceConfiguration| Measured::of(instance, input.runs());
    measured.into_iter().map(here).collect()
}

/// t1 / (n tn) of a configuration of several machines of one type; `None` where no count has a forecast of its own, and where canaries
/// ran on one count alone.
pub fn efficiency(
    instance: &InstanceConfiguration,
    measured: &[Measured],
    input: &JobInput<'_>,
) -> Option<Estimate> {
    let hosts = instance.total_count();
    let kind = instance.single_type().filter(|_| hosts > 1)?;
    let is_known = |one: &&Measured| {
        one.instance().single_type() == Some(kind) && one.forecast[Metric::Time].is_ok()
    };
    measured.iter().find(is_known)?;
    let load = input.layout.load(hosts);
    let efficiency = efficiency_by(input.measurements, instance, load);
    Some(Estimate::of(&efficiency.ok()?, input.budget.certainty))
}

/// A further machine that shortens the run by less brings little.
const LITTLE: f64 = 0.1;

/// Sentences for each type whose scale-out was measured: which counts may be the cheapest, as a recommendation weighs them, and from
/// which count on a further machine brings little.
pub(super) fn advice(all: &[Judged], certainty: Fraction) -> Vec<String> {
    let kinds = grammar::distinct(all.iter().filter_map(|one| one.row.instance.single_type()));
    let of_kind = |kind| {
        let of_type = (all.iter())
            .filter(|one| one.row.instance.single_type() == Some(kind))
            .filter_map(|Judged { row, here, .. }| {
                Some(CountRow {
                    count: row.instance.total_count(),
                    seconds: row.estimates[Metric::Time]?.point,
                    cost: here.forecast[Metric::Cost].as_ref().ok(),
                    is_measured: row.efficiency.is_some(),
                })
            });
        let mut counts: Vec<CountRow<'_>> = of_type.collect();
        counts.sort_by_key(|row| row.count);
        counts.dedup_by_key(|row| row.count);
        let is_measured = counts.iter().any(|row| row.is_measured);
        (counts.len() > 1 && is_measured).then(|| {
            let cheapest = cheapest(&counts, certainty);
            let little = little_from(&counts).map(|from| {
                format!(
                    "beyond {from} a further machine shortens the run by less than {}",
                    Fraction(LITTLE)
                )
            });
            let said: Vec<String> = cheapest.into_iter().chain(little).collect();
            (!said.is_empty()).then(|| format!("of the counts of {kind} {}.", said.join("; ")))
        })?
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

/// One count of a type.
struct CountRow<'a> {
    count: u32,
    seconds: f64,
    /// Absent without a price.
    cost: Option<&'a Predictive>,
    is_measured: bool,
}

/// `1 is the cheapest`, `2 or 4 are the cheapest, within noise`; `None` without a price.
fn cheapest(counts: &[CountRow<'_>], certainty: Fraction) -> Option<String> {
    let priced = counts.iter().filter_map(|row| Some((row.count, row.cost?)));
    let chance = |one: (u32, &_), other: (u32, &_)| verdict::chance_below(one.1, other.1);
    let low = verdict::as_low_as_the_least(priced.collect(), certainty, chance);
    let names: Vec<String> = low.iter().map(|(count, _)| count.to_string()).collect();
    match names.as_slice() {
        [] => None,
        [one] if one == "1" => Some("1 is the cheapest".to_owned()),
        [one] => Some(format!("{one} are the cheapest")),
        several => Some(format!(
            "{} are the cheapest, within noise",
            several.join(" or ")
        )),
    }
}

/// The smallest count beyond which each machine up to the next row shortens the run by less than [`LITTLE`].
fn little_from(counts: &[CountRow<'_>]) -> Option<u32> {
    let mut neighbours = counts.iter().zip(counts.iter().skip(1));
    neighbours.find_map(|(few, many)| {
        let each = (many.seconds / few.seconds).powf(1.0 / f64::from(many.count - few.count));
        (1.0 - each < LITTLE).then_some(few.count)
    })
}

/// One sentence on all rows whose scale-out is assumed; `None` where there are none.
pub(super) fn assumed_note(all: &[Judged]) -> Option<String> {
    let rows = all.iter().map(|one| &one.row);
    let assumed = rows.filter(|row| row.scale_out == Some(ScaleOutBasis::Assumed));
    let assumed: Vec<String> = assumed.map(|row| row.instance.to_string()).collect();
    (!assumed.is_empty()).then(|| {
        format!(
            "scale-out to {} is assumed, not measured: canaries ran on one count of these machines, and what grows with the data is taken to go \
             with the heaviest host's share of it; a canary on a second count would measure it (`canary.counts`)",
            grammar::list(&assumed)
        )
    })
}

/// The memory of a machine that no table has, from a measurement in both bytes and percent.
fn measured_capacity(measurements: &[Measurement]) -> Option<crate::instance::Capacity> {
    measurements.iter().find_map(|measurement| {
        let memory = measurement.usage.memory.as_ref()?;
        let (bytes, percent) = (memory.bytes?, memory.percent?);
        (percent.0 > 0.0).then(|| crate::instance::Capacity {
            vcpus: 0,
            memory: Bytes::from_f64(bytes.as_f64() / percent.as_fraction().0),
            gpus: 0,
            gpu_memory: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seconds;

    fn run(instance: &str, percent: f64, seconds: f64, outcome: Outcome) -> Measurement {
        Measurement {
            bytes: Some(Bytes::from_f64(percent * 1e6)),
            bytes_total: Some(Bytes(100_000_000)),
            training_seconds: Some(Seconds(seconds)),
            ..Measurement::without_figures(
                "taxi".to_owned(),
                instance.parse().unwrap(),
                Fraction(percent / 100.0),
                outcome,
            )
        }
    }

    /// The time on six machines, in minutes, of a job with these canaries and five on one machine.
    fn time_on_six(on_several: &[Measurement]) -> Option<f64> {
        let sizes = [1.0, 2.0, 5.0, 10.0, 20.0];
        let on_one = sizes.map(|size| {
            run(
                "ml.m5.xlarge",
                size,
                60.0 + 100.0 * size,
                Outcome::Completed,
            )
        });
        let all = [on_one.as_slice(), on_several].concat();
        let six = "6x ml.m5.xlarge".parse().unwrap();
        let runs = JobRuns {
            measurements: &all,
            offer_of: &Offer::unknown,
            layout: &DataLayout::default(),
        };
        let (here, others) = Measured::with_other_counts(&six, runs);
        assert_eq!(others.all[0].total_count(), 1);
        let time = here.forecast[Metric::Time].as_ref().ok()?;
        Some((time.median() / 60.0).round())
    }

    #[test]
    fn one_machine_speaks_for_six_only_where_no_canary_on_six_says_otherwise() {
        let on_six = |percent, seconds, outcome| run("6x ml.m5.xlarge", percent, seconds, outcome);
        let done = on_six(10.0, 230.0, Outcome::Completed);
        assert!(time_on_six(&[]).is_some() && time_on_six(std::slice::from_ref(&done)).is_some());
        for outcome in [
            Outcome::TimedOut,
            Outcome::NoCapacity,
            Outcome::Stopped,
            Outcome::PlatformError,
        ] {
            let ended = on_six(10.0, 600.0, outcome.clone());
            assert_eq!(
                time_on_six(std::slice::from_ref(&ended)),
                None,
                "{outcome:?}"
            );
            assert_eq!(
                time_on_six(&[done.clone(), ended.clone()]),
                None,
                "{outcome:?}"
            );
            // What completed in a second attempt is measured.
            assert!(time_on_six(&[ended, done.clone()]).is_some(), "{outcome:?}");
        }
        // A script that hangs on three machines may hang on six, where none was tried.
        let on_three = |outcome| run("3x ml.m5.xlarge", 10.0, 600.0, outcome);
        assert!(time_on_six(&[on_three(Outcome::Completed)]).is_some());
        assert_eq!(time_on_six(&[on_three(Outcome::TimedOut)]), None);
        assert!(time_on_six(&[on_three(Outcome::TimedOut), done.clone()]).is_some());
        // Less data that completed is no answer to more that did not.
        let hung = on_six(20.0, 600.0, Outcome::TimedOut);
        assert_eq!(time_on_six(&[hung, done]), None);
    }
}
