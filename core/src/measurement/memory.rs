//! The peak of a memory, of the machine or of its fullest GPU: its readings by several sources, and the one source by which the
//! runs of a job are compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Measurement, Usage};
use crate::grammar::grouped;
use crate::metric::MemoryOf;
use crate::units::{Bytes, Percent};

/// The peak of memory that cannot be reclaimed, or of what a GPU held.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PeakMemory {
    /// The peak in bytes; absent if the source has only a percentage.
    pub bytes: Option<Bytes>,
    /// The peak in percent of the memory of the host, or of the GPU.
    pub percent: Option<Percent>,
    /// The source of the figure, e.g. `cgroup v2 memory.stat`, `RSS of the process tree, PSS corrected`.
    pub source: String,
    /// An upper bound that covers spikes between two samples; absent if it is not higher than `bytes`.
    pub upper_bound: Option<Bytes>,
    /// Whether the source looks so seldom that the true peak may be far higher; omitted if it does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
}

/// How records of versions without `is_lower_bound` begin a source that is one, and how they go on where a canary had several
/// hosts.
const OLDER_LOWER_BOUND: &str = "CloudWatch, 1-minute maximum, a lower bound";
const OLDER_HOSTS: &str = ", highest of ";

impl PeakMemory {
    /// Whether the true peak may be far higher.
    pub fn is_lower_bound(&self) -> bool {
        self.is_lower_bound || self.source.starts_with(OLDER_LOWER_BOUND)
    }

    /// The source, without what older records say of hosts.
    fn source_name(&self) -> &str {
        self.source.split(OLDER_HOSTS).next().unwrap_or_default()
    }
}

impl Usage {
    /// The peak by the source that is trusted most.
    pub fn peak(&self, of: MemoryOf) -> Option<&PeakMemory> {
        of.pick(&self.memory, &self.gpu_memory).as_ref()
    }

    /// Every reading of the peak, the most trusted one first.
    fn memory_readings(&self, of: MemoryOf) -> impl Iterator<Item = &PeakMemory> {
        let others = of.pick(&self.other_memory, &self.other_gpu_memory);
        self.peak(of).into_iter().chain(others)
    }

    /// With these readings of the peak, the most trusted one first.
    #[must_use]
    pub fn with_readings(
        mut self,
        of: MemoryOf,
        mut readings: impl Iterator<Item = PeakMemory>,
    ) -> Self {
        let (most_trusted, others) = self.readings_mut(of);
        *most_trusted = readings.next();
        *others = readings.collect();
        self
    }

    fn readings_mut(&mut self, of: MemoryOf) -> (&mut Option<PeakMemory>, &mut Vec<PeakMemory>) {
        let gpu = (&mut self.gpu_memory, &mut self.other_gpu_memory);
        of.pick((&mut self.memory, &mut self.other_memory), gpu)
    }

    /// The same usage whose peak is what this source read, absent if it read nothing. No reading is lost.
    fn by_source(&mut self, of: MemoryOf, name: &str) {
        let (most_trusted, others) = self.readings_mut(of);
        others.splice(..0, most_trusted.take());
        let place = others.iter().position(|one| one.source_name() == name);
        *most_trusted = place.map(|place| others.remove(place));
    }
}

/// The source that the runs of a job on one configuration are compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySource {
    pub of: MemoryOf,
    pub name: String,
    /// How many runs have readings, but none of this source.
    pub without: usize,
}

/// Gives each run the peak of memory by one and the same source, and leaves it none where that source has none: a difference
/// between sources, such as a minute's maximum of a whole machine and the pages of a process tree, would look like growth.
///
/// Chosen is the most trusted source that `enough` completed runs have, else the one that most have. A lower bound is trusted
/// least; of others one less than those that some run lists before it. Of equals the one of more runs counts, then that of the
/// later run. `None` if no completed run has a reading.
pub fn choose_memory_source(
    measurements: &mut [Measurement],
    of: MemoryOf,
    enough: usize,
) -> Option<MemorySource> {
    let name = {
        let completed = measurements.iter().filter(|run| run.is_completed());
        let readings = completed.flat_map(|run| run.usage.memory_readings(of).enumerate());
        // The first of equals is that of the latest run.
        let newest_first = Vec::from_iter(readings).into_iter().rev();
        let sources = grouped(newest_first, |(_, one), (_, other)| {
            one.source_name() == other.source_name()
        });
        let rank = |source: &&Vec<(usize, &PeakMemory)>| {
            let runs = std::cmp::Reverse(source.len());
            // Where a source has enough runs there is nothing, which sorts first; else the one with the most runs does.
            let too_few = (source.len() < enough).then_some(runs);
            // The farthest that a run lists it behind more trusted ones.
            let place = source.iter().map(|(place, _)| *place).max();
            let is_lower_bound = source
                .last()
                .is_some_and(|(_, oldest)| oldest.is_lower_bound());
            (too_few, is_lower_bound, place, runs)
        };
        let (_, chosen) = sources.iter().min_by_key(rank)?[0];
        chosen.source_name().to_owned()
    };
    let mut without = 0;
    for run in measurements {
        let had_readings = run.usage.memory_readings(of).next().is_some();
        run.usage.by_source(of, &name);
        for host in &mut run.hosts {
            host.usage.by_source(of, &name);
        }
        without += usize::from(had_readings && run.usage.peak(of).is_none());
    }
    Some(MemorySource { of, name, without })
}

/// [`choose_memory_source`] for the machine and for its GPUs; those that have one.
pub fn choose_memory_sources(measurements: &mut [Measurement], enough: usize) -> Vec<MemorySource> {
    let choose = |of| choose_memory_source(measurements, of, enough);
    MemoryOf::ALL.into_iter().filter_map(choose).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;
    use crate::units::Fraction;

    fn reading(source: &str, percent: f64) -> PeakMemory {
        PeakMemory {
            percent: Some(Percent(percent)),
            source: source.to_owned(),
            is_lower_bound: source == "CloudWatch",
            ..PeakMemory::default()
        }
    }

    /// A completed canary with these readings, the most trusted one first.
    fn run(readings: &[(&str, f64)]) -> Measurement {
        let mut run = Measurement::without_figures(
            "churn".to_owned(),
            "ml.m5.xlarge".parse().unwrap(),
            Fraction(0.01),
            Outcome::Completed,
        );
        let mut readings = readings.iter().map(|(name, value)| reading(name, *value));
        run.usage.memory = readings.next();
        run.usage.other_memory = readings.collect();
        run
    }

    const BOTH: &[(&str, f64)] = &[("probe", 40.0), ("CloudWatch", 20.0)];
    const LATE: &[(&str, f64)] = &[("CloudWatch", 21.0)];
    const OLDER: &str = "CloudWatch, 1-minute maximum, a lower bound";
    const OLDER_OF_HOSTS: &str =
        "CloudWatch, 1-minute maximum, a lower bound, highest of 3 of 4 hosts";

    #[test]
    fn every_run_is_seen_by_one_source() {
        for (runs, source, values) in [
            // Enough runs of a trusted source are better than all of another.
            (
                &[BOTH, BOTH, BOTH, LATE][..],
                "probe",
                &[Some(40.0), Some(40.0), Some(40.0), None][..],
            ),
            (
                &[BOTH, BOTH, LATE],
                "CloudWatch",
                &[Some(20.0), Some(20.0), Some(21.0)],
            ),
            // Too few of each leave the most common one, then the trusted one, then that of the later run.
            (&[BOTH], "probe", &[Some(40.0)]),
            (&[BOTH, LATE], "CloudWatch", &[Some(20.0), Some(21.0)]),
            (
                &[&[("cgroup", 1.0)], &[("tree", 2.0)]],
                "tree",
                &[None, Some(2.0)],
            ),
            // Older records have their bound and their hosts in the source.
            (
                &[&[(OLDER_OF_HOSTS, 20.0)], &[(OLDER, 30.0)]],
                OLDER,
                &[Some(20.0), Some(30.0)],
            ),
        ] {
            let mut runs: Vec<Measurement> = runs.iter().map(|readings| run(readings)).collect();
            let found = choose_memory_source(&mut runs, MemoryOf::Machine, 3).unwrap();
            assert_eq!(found.name, source);
            let seen = runs
                .iter()
                .map(|run| Some(run.usage.memory.as_ref()?.percent?.0));
            assert_eq!(seen.collect::<Vec<_>>(), values);
        }
        let older = reading(OLDER_OF_HOSTS, 20.0);
        assert!(older.is_lower_bound() && !older.is_lower_bound);
        // A run that did not complete chooses nothing.
        let mut failed = run(BOTH);
        failed.outcome = Outcome::TimedOut;
        let mut runs = [failed.clone(), run(LATE)];
        assert_eq!(
            choose_memory_source(&mut [failed], MemoryOf::Machine, 3),
            None
        );
        let found = choose_memory_source(&mut runs, MemoryOf::Machine, 3).unwrap();
        assert_eq!((found.name.as_str(), found.without), ("CloudWatch", 0));
    }

    #[test]
    fn the_gpu_has_a_source_of_its_own_and_no_reading_is_lost() {
        let with_gpu = |sources: &[(&str, f64)]| {
            let mut canary = run(BOTH);
            let readings = sources.iter().map(|(name, value)| reading(name, *value));
            canary.usage = canary.usage.with_readings(MemoryOf::Gpu, readings);
            canary
        };
        let both = || with_gpu(&[("nvidia-smi", 50.0), ("CloudWatch", 30.0)]);
        let mut runs = vec![both(), with_gpu(&[("CloudWatch", 31.0)]), both()];
        let sources = choose_memory_sources(&mut runs, 3);
        let names = sources
            .iter()
            .map(|source| (source.of, source.name.as_str()));
        let expected = [(MemoryOf::Machine, "probe"), (MemoryOf::Gpu, "CloudWatch")];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        let readings = runs.iter().map(|run| {
            let readings = run.usage.memory_readings(MemoryOf::Gpu);
            readings.map(|reading| reading.percent.unwrap().0).collect()
        });
        let expected = [vec![30.0, 50.0], vec![31.0], vec![30.0, 50.0]];
        assert_eq!(readings.collect::<Vec<Vec<f64>>>(), expected);
    }
}
