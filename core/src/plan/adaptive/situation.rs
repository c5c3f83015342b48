//! What the adaptive design derives from its situation.

use super::{
    KEPT_BESIDES, LIMIT_SHARE, NextRung, PART_OF_THE_BUDGET, PART_OF_THE_SECOND, Rung, Situation,
    UPPER, candidate,
};
use crate::forecast::{CanaryTime, FEWEST_RUNS, FEWEST_SIZES};
use crate::grammar::distinct;
use crate::measurement::{Measurement, Outcome};
use crate::metric::MemoryOf;
use crate::units::{Seconds, count_as_float};

/// Whether a forecast has enough completed runs and sizes.
pub fn has_enough(measurements: &[Measurement]) -> bool {
    let completed = measurements.iter().filter(|run| run.is_completed());
    completed.count() >= FEWEST_RUNS && sizes(measurements) >= FEWEST_SIZES
}

/// The number of sizes of the runs that completed.
fn sizes(measurements: &[Measurement]) -> usize {
    let completed = measurements.iter().filter(|run| run.is_completed());
    distinct(completed.map(|run| run.fraction)).len()
}

/// The shortest run that measures this memory, where a forecast of it needs more such runs; `None` where it has enough, or where
/// longer runs would not help: a run was not seen, and not because it was too short.
pub fn shortest_for_memory(measurements: &[Measurement], of: MemoryOf) -> Option<Seconds> {
    let is_seen = |run: &&Measurement| run.usage.peak(of).is_some();
    let completed = || measurements.iter().filter(|run| run.is_completed());
    let seen: Vec<Measurement> = completed().filter(is_seen).cloned().collect();
    if has_enough(&seen) {
        return None;
    }
    let unseen = completed().filter(|run| !is_seen(run));
    let shortest: Option<Vec<Seconds>> = unseen.map(|run| run.usage.memory_seen_from).collect();
    shortest?
        .into_iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))
}

fn longest<'a>(runs: impl Iterator<Item = &'a Measurement>) -> f64 {
    let times = runs.filter_map(Measurement::time);
    times.fold(0.0, |longest, time| time.0.max(longest))
}

impl Situation<'_> {
    pub(super) fn completed(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(|run| run.is_completed())
    }

    fn timed_out(&self) -> impl Iterator<Item = &Measurement> {
        let runs = self.measurements.iter();
        runs.filter(|run| run.outcome == Outcome::TimedOut)
    }

    /// The longest run that was stopped at its limit, in seconds; 0 if there is none.
    pub(super) fn longest_timed_out(&self) -> f64 {
        longest(self.timed_out())
    }

    /// Whether a run had all of the data, however it ended.
    pub(super) fn has_begun_all(&self) -> bool {
        self.measurements.iter().any(|run| run.data_share() >= 1.0)
    }

    /// The longest completed run, in seconds; 0 before a run has completed.
    pub(super) fn longest_completed(&self) -> f64 {
        longest(self.completed())
    }

    /// Whether its size was not measured yet at its level of work.
    pub(super) fn is_new(&self, candidate: &NextRung) -> bool {
        !self.completed().any(|run| {
            run.fraction == candidate.rung.size.fraction && run.work_share() == candidate.rung.work
        })
    }

    /// The remaining budget in seconds; infinite without a budget.
    pub(super) fn left(&self) -> f64 {
        self.budget
            .map_or(f64::INFINITY, |budget| budget.0 - self.spent.0)
    }

    /// Whether it would do more of the full run than any so far.
    pub(super) fn is_farther(&self, candidate: &NextRung) -> bool {
        let reach = self.completed().map(Measurement::reach).fold(0.0, f64::max);
        self.is_new(candidate) && candidate.rung.size.share * candidate.rung.work > reach
    }

    /// The seconds that further runs may take by `canary.max_share`; infinite for the second run, negative where too much is spent.
    pub(super) fn worth(&self, time: &CanaryTime) -> f64 {
        self.worth_beside(None, time)
    }

    /// The same of runs that do more of the full run than any so far: only such end a doubt, which is worth more.
    pub(super) fn worth_farther(&self, time: &CanaryTime) -> f64 {
        self.worth_beside(self.doubt, time)
    }

    fn worth_beside(&self, doubt: Option<Seconds>, time: &CanaryTime) -> f64 {
        if self.is_the_second() {
            return f64::INFINITY;
        }
        let share = self.share.as_fraction().0;
        let full_run = time.at(1.0, 1.0);
        let allowed = match doubt {
            None => share * full_run.median(),
            Some(by_the_budget) => {
                let upper_end = share * full_run.quantile(UPPER);
                upper_end.max(PART_OF_THE_BUDGET * by_the_budget.0)
            }
        };
        // No run was stopped, and the share may be infinite.
        let of_stopped = match self.longest_timed_out() {
            0.0 => 0.0,
            longest => share * longest,
        };
        allowed.max(of_stopped) - self.spent.0
    }

    /// The largest share of data and work of a second run; infinite for another run.
    pub(super) fn limit_of_the_second(&self) -> f64 {
        match self.is_the_second() {
            true => PART_OF_THE_SECOND * self.share.as_fraction().0,
            false => f64::INFINITY,
        }
    }

    /// Whether a larger run that takes at most `room` seconds is kept from running by its time limit alone.
    pub(super) fn is_kept_by_max_runtime(&self, time: &CanaryTime, room: f64) -> bool {
        self.open_rungs()
            .filter(|rung| rung.size.fraction.0 > self.largest_fraction())
            .map(|rung| candidate(rung, time))
            .any(|one| one.likely <= room && one.upper > LIMIT_SHARE * self.max_runtime.0)
    }

    fn is_the_second(&self) -> bool {
        self.completed().count() == 1
    }

    /// The rungs that can still be run and are smaller than any run that was stopped at its limit.
    pub(super) fn open_rungs(&self) -> impl DoubleEndedIterator<Item = &Rung> {
        let sizes = self.timed_out().map(|run| run.fraction.0);
        let bound = sizes.fold(f64::INFINITY, f64::min);
        let rungs = self.ladder.iter();
        rungs.filter(move |rung| rung.size.fraction.0 < bound && rung.supply != Some(0))
    }

    pub(super) fn largest_fraction(&self) -> f64 {
        let sizes = self.completed().map(|run| run.fraction.0);
        sizes.fold(0.0, f64::max)
    }

    /// Whether a repeat helps: it adds a run, but no size.
    pub(super) fn lacks_only_runs(&self) -> bool {
        self.missing_runs() > 0 && sizes(self.measurements) >= FEWEST_SIZES
    }

    pub(super) fn missing_runs(&self) -> usize {
        FEWEST_RUNS.saturating_sub(self.completed().count())
    }

    /// After a single run: [`KEPT_BESIDES`] times what the smallest runs of other sizes would take, as many as are missing if
    /// one of `rung` does not complete; in seconds.
    pub(super) fn kept_besides(&self, rung: &Rung, time: &CanaryTime) -> f64 {
        if self.completed().count() > 1 {
            return 0.0;
        }
        let smallest = self
            .open_rungs()
            .filter(|other| other.size.fraction.0 < rung.size.fraction.0)
            .map(|other| candidate(other, time))
            .filter(|other| self.is_new(other))
            .take(self.missing_runs());
        KEPT_BESIDES * smallest.map(|other| other.likely).sum::<f64>()
    }

    /// The time to reserve after the next run for the small runs that are still missing, in seconds.
    pub(super) fn kept_for_the_fewest(&self, open: &[NextRung]) -> f64 {
        let after = self.missing_runs().saturating_sub(1);
        let smallest = open.first().map_or(0.0, |one| one.median);
        smallest * count_as_float(after)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::measurement::PeakMemory;
    use crate::units::Percent;

    const SEEN_FROM: Option<Seconds> = Some(Seconds(180.0));

    fn too_short(mut run: Measurement) -> Measurement {
        run.usage.memory_seen_from = SEEN_FROM;
        run
    }

    fn seen(mut run: Measurement) -> Measurement {
        run.usage.memory = Some(PeakMemory {
            bytes: None,
            percent: Some(Percent(40.0)),
            source: "CloudWatch".to_owned(),
            upper_bound: None,
            is_lower_bound: true,
        });
        run
    }

    #[test]
    fn longer_runs_are_asked_for_until_enough_of_them_are_seen() {
        let mut runs = vec![too_short(run(1.0, 20.0))];
        assert_eq!(shortest_for_memory(&runs, MemoryOf::Machine), SEEN_FROM);
        runs.extend([seen(run(10.0, 200.0)), seen(run(20.0, 400.0))]);
        assert_eq!(shortest_for_memory(&runs, MemoryOf::Machine), SEEN_FROM);
        runs.push(seen(run(50.0, 1000.0)));
        assert_eq!(shortest_for_memory(&runs, MemoryOf::Machine), None);
    }

    /// As where a probe saw the machine's memory and nothing of its GPU.
    #[test]
    fn the_memory_of_a_gpu_is_not_that_of_the_machine() {
        let runs = [1.0, 2.0, 4.0].map(|share| too_short(seen(run(share, 20.0 * share))));
        assert_eq!(shortest_for_memory(&runs, MemoryOf::Machine), None);
        assert_eq!(shortest_for_memory(&runs, MemoryOf::Gpu), SEEN_FROM);
    }

    #[test]
    fn where_longer_runs_would_not_help_none_is_asked_for() {
        assert_eq!(shortest_for_memory(&[], MemoryOf::Machine), None);
        assert_eq!(
            shortest_for_memory(&[seen(run(1.0, 20.0))], MemoryOf::Machine),
            None
        );
        // As where CloudWatch was not to be asked.
        let unknown = run(1.0, 20.0);
        assert_eq!(
            shortest_for_memory(&[unknown, too_short(run(2.0, 30.0))], MemoryOf::Machine),
            None
        );
    }
}
