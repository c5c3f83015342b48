//! The **progress canary**: the full run, ended early. How far it says that it is by then tells more of the rest than a larger sample.

use super::{Aim, RESERVE, RoundRun, Situation, StopReason, candidate};
use crate::canary::{CanaryRun, Dataset};
use crate::forecast::{self, CanaryTime};
use crate::instance::InstanceConfiguration;
use crate::plan::{PlannedConfiguration, PlannedRuns, full_run};
use crate::spec::Job;
use crate::units::{Fraction, Seconds, count_as_float};

impl PlannedConfiguration {
    /// The share of its progress at which the full run may be ended here, as a canary of the adaptive design. `None` where it is not
    /// wanted, where another size or count of machines is all of the job already, and where work is no part of the share.
    pub fn progress_share(&self, job: &Job) -> Option<Fraction> {
        let is_on_all = self.base == self.instance && self.counts.is_empty();
        let is_of_data = job.work.is_none() || job.differs_in_work_alone();
        let are_smaller = match &self.runs {
            Ok(PlannedRuns::Ladder(sizes)) => sizes.last().is_some_and(|size| size.share < 1.0),
            _ => false,
        };
        let may_begin = is_on_all && is_of_data && are_smaller;
        job.canary.progress.0.filter(|_| may_begin)
    }
}

/// After how long the full run is ended that is begun in place of `next`, which the design would do without it: for no more time than
/// a larger size would take, or than `canary.max_share` leaves. Deterministic.
pub fn limit_of_full_run(
    situation: &Situation,
    next: Result<&RoundRun, StopReason>,
    share: Fraction,
) -> Option<Seconds> {
    use StopReason::{BeyondTheShare, MaxRuntime, NothingHelps};
    let measured = situation.measurements;
    if situation.aim != Aim::GoOn || situation.has_begun_all() {
        return None;
    }
    let time = CanaryTime::learn(measured)?;
    let larger = next.map_or(0.0, |run| run.rung.size.share);
    let full_run = time.at(1.0, 1.0).median();
    let [least, best] = forecast::worth_beginning(measured, share.0, larger, full_run)?;
    let most = match next {
        Ok(run) if run.rung.size.fraction.0 > situation.largest_fraction() => {
            candidate(&run.rung, &time).median
        }
        Ok(_) | Err(BeyondTheShare | NothingHelps | MaxRuntime) => situation.worth_farther(&time),
        Err(_) => return None,
    };
    let reserve = RESERVE * situation.budget.map_or(0.0, |budget| budget.0);
    let most = most.min(situation.left() - reserve);
    // It does not end, so the fewest runs of a forecast are still to come.
    let cheapest = situation.open_rungs().next();
    let most = match (situation.missing_runs(), cheapest) {
        (0, _) => most,
        (_, None) => return None,
        (missing, Some(rung)) => most - candidate(rung, &time).likely * count_as_float(missing),
    };
    let limit = best.min(most).min(situation.max_runtime.0);
    (limit >= least).then_some(Seconds(limit))
}

/// The full run as a canary that is ended after so long.
pub fn begun_full_run(
    job: &Job,
    dataset: &Dataset,
    instance: &InstanceConfiguration,
    limit: Seconds,
) -> CanaryRun {
    CanaryRun {
        instance: instance.clone(),
        max_runtime: Some(limit),
        ends_early: true,
        ..full_run(job, dataset)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ladder, run, situation};
    use super::*;
    use crate::measurement::Measurement;
    use crate::measurement::progress::JobProgress;

    /// A canary of so many percent: so many steps, which take 1,000 s for all data, after so many seconds for all of it.
    fn of_steps(total: f64, percent: f64, loading: f64, lines: u32) -> Measurement {
        let (start, all) = (1.0 + loading * percent / 100.0, 10.0 * percent);
        let at = |done| Seconds(start + done * all / total);
        let done = (0..=lines).map(|line| total * f64::from(line) / f64::from(lines));
        Measurement {
            progress: Some(JobProgress {
                format: "tqdm".to_owned(),
                total: Some(total),
                pass: Some(total),
                passes: 1,
                points: done.map(|done| (at(done), done)).collect(),
                doubts: Vec::new(),
            }),
            ..run(percent, start + all)
        }
    }

    fn printed(percent: f64, loading: f64, lines: u32) -> Measurement {
        of_steps(1000.0, percent, loading, lines)
    }

    /// Without a progress canary the next one is of so many percent, or the share is used up.
    fn limit(measured: &[Measurement], next: Option<f64>, share: f64) -> Option<f64> {
        let ladder = ladder(&[1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0]);
        let situation = situation(&ladder, measured);
        let mut rungs = ladder.iter();
        let rung = rungs.find(|rung| Some(rung.size.share * 100.0) == next);
        let limit = Seconds(3600.0);
        let next = rung.map(|&rung| RoundRun { rung, limit });
        let next = next.as_ref().ok_or(StopReason::BeyondTheShare);
        let found = limit_of_full_run(&situation, next, Fraction(share));
        found.map(|limit| limit.0.round())
    }

    #[test]
    fn the_full_run_is_begun_where_its_first_steps_come_soon_and_for_less_than_a_larger_size() {
        let two = |loading, lines| [1.0, 10.0].map(|percent| printed(percent, loading, lines));
        // A tenth of 1,000 s, after the start.
        assert_eq!(limit(&two(0.0, 100), Some(20.0), 0.1), Some(101.0));
        assert_eq!(limit(&two(50.0, 100), Some(20.0), 0.1), Some(151.0));
        assert_eq!(limit(&two(0.0, 100), None, 0.05), Some(51.0));
        // With more steps of more data as far as a fifth of it would get, at its price less that of a third canary.
        let growing = [1.0, 10.0].map(|percent| of_steps(10.0 * percent, percent, 0.0, 100));
        assert_eq!(limit(&growing, Some(20.0), 0.1), Some(188.0));
        // Few lines: five of 25 epochs.
        assert_eq!(limit(&two(0.0, 25), Some(20.0), 0.1), Some(161.0));
        let (one, all) = (printed(1.0, 0.0, 100), run(100.0, 90.0));
        let mut early = printed(10.0, 0.0, 100);
        early.progress.as_mut().unwrap().points.truncate(50);
        let cheaper = printed(3.0, 0.0, 100);
        for (case, measured, next) in [
            ("loading takes a tenth", two(110.0, 100).to_vec(), 20.0),
            ("two lines by a fifth", two(0.0, 5).to_vec(), 20.0),
            ("a larger size is cheaper", vec![one.clone(), cheaper], 5.0),
            ("one", vec![one.clone()], 10.0),
            ("silent", vec![one.clone(), run(10.0, 101.0)], 20.0),
            ("begun", [&two(0.0, 100)[..], &[all]].concat(), 20.0),
            ("it stops early", vec![one, early], 20.0),
        ] {
            assert_eq!(limit(&measured, Some(next), 0.1), None, "{case}");
        }
    }
}
