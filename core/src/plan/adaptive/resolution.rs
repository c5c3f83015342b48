//! How long a run must be to be seen by a source that looks seldom.

use super::situation::has_enough;
use crate::measurement::Measurement;
use crate::metric::MemoryOf;
use crate::units::Seconds;

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
