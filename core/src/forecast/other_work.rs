//! Whether **other work** on the machine disturbed some canaries more than others.
//!
//! A machine that is always as busy is so in the full run too; what bends a law is work that came and went between canaries.
//! How much of its time a run lost cannot be seen from outside, only the most that it can have lost: the part of the CPUs
//! that other work took, and not more than the part of the run in which something waited for one (`Usage::cpu_pressure_percent`).
//! A run that lost far more than the quietest one may be too slow, and counts as a cold one does.
//!
//! The wall time per CPU second alone shows nothing: it differs between sizes of the same quiet script. It only clears a run
//! that used little of the machine and as much as the quietest: a wait for a disk, a GPU or a clock is not longer for it.

use crate::measurement::{Measurement, Utilization, named};
use crate::units::Percent;

/// How many points more than the quietest run lost. `docs/forecasting.md` has the trials.
const FAR_MORE: f64 = 25.0;
/// The figures of a shorter run are those of a few ticks of the kernel's clock.
const SHORTEST: f64 = 0.5;
/// Of what other work took. A run that used less, and no less than the quietest, was not kept from anything.
const LITTLE: f64 = 0.2;

/// Of its time. A run that lost more had less than three quarters of the CPUs that it asked for.
const MOST_LOST: f64 = 25.0;

/// What other work took of the machine that canaries ran on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BusyMachine {
    /// The most that it took.
    pub taken: Percent,
    /// The part of the largest canary's time that other work cannot have taken, in (0, 1]: what it did not lose, or its own CPU time
    /// spread over the machine. So much of the full run's is left with nothing beside it.
    pub own_part: f64,
}

/// Where the largest run or half of all lost more than a quarter of their time to other work; `None` where they did not, or do
/// not say.
pub(super) fn busy(runs: &[&Measurement]) -> Option<BusyMachine> {
    let has_lost = |run: &&&Measurement| lost(run).is_some_and(|lost| lost > MOST_LOST);
    let largest = (runs.iter()).max_by(|a, b| a.reach().total_cmp(&b.reach()))?;
    let slowed: Vec<_> = runs.iter().filter(has_lost).collect();
    let taken = |run: &&&Measurement| percent(&run.usage.other_cpu_percent);
    let taken = slowed.iter().filter_map(taken).reduce(f64::max)?;
    let kept = 1.0 - lost(largest)? / 100.0;
    let own_part = (cpu_time(largest)? / largest.time()?.0).max(kept);
    (has_lost(&largest) || 2 * slowed.len() >= runs.len()).then_some(BusyMachine {
        taken: Percent(taken),
        own_part: own_part.clamp(f64::MIN_POSITIVE, 1.0),
    })
}

/// The runs beside which other work took far more of the machine than beside the quietest, in the order given.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Disturbed<'a> {
    pub(super) runs: Vec<&'a Measurement>,
    /// The most that one of them lost of its time, and that the quietest did, in percent.
    most: f64,
    least: f64,
}

/// Runs that do not say what other work took are neither.
pub(super) fn disturbed<'a>(runs: &[&'a Measurement]) -> Disturbed<'a> {
    let known: Vec<(&'a Measurement, f64)> = (runs.iter())
        .filter_map(|run| Some((*run, lost(run)?)))
        .collect();
    let Some(&(quietest, least)) = known.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)) else {
        return Disturbed::default();
    };
    let is_far_more = |(run, lost): &&(&Measurement, f64)| {
        *lost >= least + FAR_MORE && !got_as_much(run, quietest)
    };
    let found = known.iter().filter(is_far_more);
    Disturbed {
        runs: found.clone().map(|(run, _)| *run).collect(),
        most: found.map(|(_, lost)| *lost).fold(0.0, f64::max),
        least,
    }
}

/// The CPU time of a run spread over the whole machine, in seconds: no run takes less.
pub(super) fn cpu_time(run: &Measurement) -> Option<f64> {
    Some(percent(&run.usage.cpu_percent)? / 100.0 * run.time()?.0)
}

fn percent(share: &Option<Utilization>) -> Option<f64> {
    let percent = share.as_ref()?.mean.0;
    (0.0..=100.0).contains(&percent).then_some(percent)
}

/// The most of its time that a run can have lost to other work, in percent; `None` if it does not say.
fn lost(run: &Measurement) -> Option<f64> {
    let usage = &run.usage;
    let taken = percent(&usage.other_cpu_percent)?;
    let waited = percent(&usage.cpu_pressure_percent).unwrap_or(100.0);
    (run.time()?.0 >= SHORTEST).then_some(taken.min(waited))
}

/// Whether it used little, and as much of the machine as the quietest run.
fn got_as_much(run: &Measurement, quietest: &Measurement) -> bool {
    let used = |run: &Measurement| percent(&run.usage.cpu_percent);
    let other = percent(&run.usage.other_cpu_percent);
    let known = used(run).zip(used(quietest)).zip(other);
    known.is_some_and(|((own, alone), other)| own >= alone && own < LITTLE * other)
}

/// `other work on this machine took up to 57% of the time of 10% #1, against 0.4% of the quietest's; …`.
pub(super) fn note(disturbed: &Disturbed) -> Option<String> {
    let (most, least) = (Percent(disturbed.most), Percent(disturbed.least));
    (!disturbed.runs.is_empty()).then(|| {
        format!(
            "other work on this machine took up to {most} of the time of {}, against {least} of the quietest's; such a time counts less, and the interval of time is wider",
            named(&disturbed.runs)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{run, utilization};
    use super::*;

    /// A run in percent of the machine: its own use, that of others, and the time in which something waited.
    fn beside(percent: f64, [own, other, waited]: [f64; 3]) -> Measurement {
        let mut run = run(percent, 2.0 * percent);
        run.usage.cpu_percent = utilization(own);
        run.usage.other_cpu_percent = utilization(other);
        run.usage.cpu_pressure_percent = utilization(waited);
        run
    }

    type Run = (f64, [f64; 3]);

    fn measured(runs: &[Run]) -> Vec<Measurement> {
        let runs = runs.iter();
        runs.map(|(percent, of)| beside(*percent, *of)).collect()
    }

    fn found(runs: &[Measurement]) -> Vec<f64> {
        let runs: Vec<&Measurement> = runs.iter().collect();
        let found = disturbed(&runs).runs.into_iter();
        found.map(|run| run.fraction.0 * 100.0).collect()
    }

    #[test]
    fn a_run_beside_far_more_other_work_than_the_quietest_is_disturbed() {
        let cases: [(&[Run], &[f64]); 7] = [
            (
                &[
                    (1.0, [50.0, 1.0, 2.0]),
                    (5.0, [33.0, 66.0, 99.0]),
                    (20.0, [50.0, 3.0, 2.0]),
                ],
                &[5.0],
            ),
            // A machine that is always as busy disturbs no run otherwise.
            (
                &[
                    (1.0, [33.0, 60.25, 99.0]),
                    (5.0, [33.0, 61.25, 99.0]),
                    (20.0, [33.0, 65.0, 99.0]),
                ],
                &[],
            ),
            (&[], &[]),
            // A second core is free for the other work, for which nothing waits.
            (&[(1.0, [50.0, 1.0, 2.0]), (5.0, [50.0, 49.0, 6.0])], &[]),
            // A script of more threads than cores waits for itself.
            (&[(1.0, [60.0, 1.0, 5.0]), (5.0, [99.0, 1.0, 99.0])], &[]),
            // One that hardly uses the CPU is cleared by getting as much as before: other processes waited for each other.
            (&[(1.0, [2.0, 1.0, 2.0]), (5.0, [2.0, 97.0, 99.0])], &[]),
            (&[(1.0, [2.0, 1.0, 2.0]), (5.0, [1.0, 98.0, 99.0])], &[5.0]),
        ];
        for (runs, expected) in cases {
            assert_eq!(found(&measured(runs)), expected);
        }
        let runs = measured(cases[0].0);
        assert_eq!(
            note(&disturbed(&runs.iter().collect::<Vec<_>>())).unwrap(),
            "other work on this machine took up to 66% of the time of 5% #1, against 1.0% of the quietest's; such a time counts less, and the interval of time is wider"
        );
        assert_eq!(note(&disturbed(&[])), None);
    }

    #[test]
    fn a_machine_is_busy_where_the_largest_run_or_half_of_them_lost_a_quarter() {
        let runs = |lost: [f64; 4]| {
            let beside = lost.map(|lost| [10.0, 90.0, lost]);
            let runs = measured(&Vec::from_iter(
                [1.0, 5.0, 20.0, 20.0].into_iter().zip(beside),
            ));
            busy(&runs.iter().collect::<Vec<_>>()).map(|busy| busy.taken.0)
        };
        assert_eq!(runs([24.0; 4]), None);
        assert_eq!(runs([26.0, 24.0, 24.0, 24.0]), None);
        assert_eq!(runs([26.0, 26.0, 24.0, 24.0]), Some(90.0));
        assert_eq!(runs([0.0, 0.0, 0.0, 26.0]), Some(90.0));
    }

    #[test]
    fn what_a_run_does_not_say_disturbs_nothing_but_that_something_waited_is_possible() {
        let silent = [(1.0, 1.0), (5.0, 49.0)].map(|(percent, other)| {
            let mut run = beside(percent, [50.0, other, 6.0]);
            run.usage.cpu_pressure_percent = None;
            run
        });
        assert_eq!(found(&silent), [5.0]);
        let mut silent = [1.0, 5.0].map(|percent| beside(percent, [50.0, 60.0, 99.0]));
        silent[0].usage.other_cpu_percent = None;
        assert_eq!(found(&silent), Vec::<f64>::new());
        let mut short = [
            beside(1.0, [50.0, 1.0, 2.0]),
            beside(5.0, [33.0, 66.0, 99.0]),
        ];
        for run in &mut short {
            run.training_seconds = Some(crate::units::Seconds(0.2));
        }
        assert_eq!(found(&short), Vec::<f64>::new());
    }
}
