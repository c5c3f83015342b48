//! Canaries of one configuration on several counts of its machines: the design runs on the first, one canary on each other.

use super::configuration::BatchKind;
use super::design::{ConfigurationDesign, NextCanaries, is_written_to_fail, provisional};
use crate::assess::input::JobRuns;
use crate::assess::other_counts;
use crate::backend::RunPart;
use crate::canary::CanaryRun;
use crate::forecast::{CanaryTime, FEWEST_SIZES, Forecast};
use crate::instance::InstanceConfiguration;
use crate::measurement::{self, Measurement};
use crate::metric::Metric;
use crate::plan::{self, Aim, NotMeasured, TIME_TO_STOP};
use crate::spec::{Budget, BudgetLine, Job, LineKind};
use crate::units::{Percent, Seconds};

/// Of `canary.max_share` and of the money that is left, for the design's own canaries while one on another count is still to come,
/// which may need all the rest.
const BEFORE_THE_OTHERS: f64 = 1.0 - plan::PART_OF_THE_SHARE;
/// How sure it must be that a canary on another count ends within a limit that is shorter than `canary.max_runtime`.
const SURELY: f64 = 0.95;

/// A note that a canary on a further count is left out, since the share is used up.
pub(crate) fn beyond_the_share(job: &Job, run: &CanaryRun) -> String {
    format!(
        "The canary on {} was not run: with it all canaries would take more than canary.max_share ({}) of the full run.",
        run.instance, job.canary.max_share,
    )
}

impl ConfigurationDesign<'_> {
    /// The runs on the machines that the design runs on, without one that it passes over.
    pub(super) fn on_base(&self) -> Vec<Measurement> {
        let mut on_base = measurement::on(&self.state.measured, &self.one.planned.base);
        if self.one.planned.passes_over(&on_base) {
            on_base.retain(|run| !run.has_failed());
        }
        on_base
    }

    /// The canaries on further counts that were not tried yet.
    fn open_counts(&self) -> impl Iterator<Item = &CanaryRun> {
        let (left_out, measured) = (&self.state.left_out, &self.state.measured);
        let is_open = |run: &&CanaryRun| {
            !left_out.contains(&run.instance)
                && !measured.iter().any(|known| known.is_on(&run.instance))
        };
        self.one.planned.counts.iter().filter(is_open)
    }

    /// The next canary on a further count, once those on the first make a forecast: run where share and money have room for it, else
    /// left out.
    pub(super) fn next_count(&self) -> Option<NextCanaries> {
        let on_base = self.on_base();
        let (one, job, measured) = (self.one, self.input.job, &self.state.measured);
        let base = &one.planned.base;
        let further = measured.iter().filter(|run| !run.is_on(base));
        let may_go_on =
            further.chain(&on_base).all(Measurement::is_completed) && plan::has_enough(&on_base);
        let run = self.open_counts().next().filter(|_| may_go_on)?;
        let left_out = |note| NextCanaries::LeaveOut(run.instance.clone(), note);
        // That on the machines which are judged is made in any case, as the fewest are.
        let has_share = run.instance == one.planned.instance
            || plan::within_the_share(job, base, measured, std::slice::from_ref(run)) == 1;
        Some(match (has_share, self.limit_of_count(run)) {
            (false, _) => left_out(beyond_the_share(job, run)),
            (true, None) => left_out(self.refused_count(run)),
            (true, max_runtime) => {
                let limited = CanaryRun {
                    max_runtime,
                    ..run.clone()
                };
                NextCanaries::Run(
                    self.state.batch(BatchKind::Count, vec![limited], None),
                    None,
                )
            }
        })
    }

    /// A note that the canary on a further count is left out for the money.
    pub(super) fn refused_count(&self, run: &CanaryRun) -> String {
        format!(
            "The canary on {} was not run: it could have passed {}.",
            run.instance,
            self.one.account.limit()
        )
    }

    /// How long it may take: `canary.max_runtime`, or what the money pays for. `None` where that is less than it would likely take on
    /// the first count, since what more machines do not divide is not known before it: stopped at its limit it would leave the full
    /// run unknown.
    pub(super) fn limit_of_count(&self, run: &CanaryRun) -> Option<Seconds> {
        let one = self.one;
        let longest = run.max_runtime.unwrap_or(self.input.job.canary.max_runtime);
        let offer = (self.input.runner).offer(self.input.job, &run.instance);
        let Some(left) = one.account.seconds_left(&offer) else {
            return Some(longest);
        };
        let left = left.0 - self.kept_after(&run.instance).0;
        if left >= longest.0 {
            return Some(longest);
        }
        let measured = self.measured_on_base();
        let time = CanaryTime::learn(&measured)?.at(run.data_share(), run.work_share());
        // SageMaker takes whole seconds.
        let left = left.floor();
        (left >= time.quantile(SURELY)).then_some(Seconds(left))
    }

    /// How long the machines of a canary may be kept after it.
    pub(super) fn kept_after(&self, instance: &InstanceConfiguration) -> Seconds {
        let room = self.input.ready.room(instance);
        room.keep_alive.unwrap_or_default()
    }

    /// Of `left`, in seconds of the first count, what canaries on further counts may take: their worst cases, within a part of it.
    pub(super) fn kept_for_counts(&self, left: Seconds) -> Seconds {
        let max_runtime = self.input.job.canary.max_runtime;
        let base = f64::from(self.one.planned.base.total_count());
        let worst = self.open_counts().map(|run| {
            let longest = max_runtime + TIME_TO_STOP + self.kept_after(&run.instance);
            longest * (f64::from(run.instance.total_count()) / base)
        });
        let worst: Seconds = worst.sum();
        Seconds(worst.0.min(left.0 * (1.0 - BEFORE_THE_OTHERS)))
    }

    /// The share for the canaries of the design, with room for those on further counts.
    pub(super) fn share_with_room(&self) -> Percent {
        let share = self.input.job.canary.max_share;
        match self.open_counts().next() {
            Some(_) => Percent(share.0 * BEFORE_THE_OTHERS),
            None => share,
        }
    }

    /// What canaries took, in seconds of the machines that the design runs on.
    pub(super) fn taken(&self) -> Seconds {
        let base = f64::from(self.one.planned.base.total_count());
        let taken = self.state.measured.iter().filter_map(|run| {
            let machines = f64::from(run.instance.total_count()) / base;
            // Machines that were kept for it are paid for like its own time.
            Some((run.time()? + run.idle_seconds.unwrap_or_default()) * machines)
        });
        taken.sum()
    }

    /// What the canaries say of the full run, of which those on the first count may be supposed.
    pub(super) fn provisional(&self, on_base: &[Measurement]) -> Forecast {
        let further = self.state.measured.iter();
        let further = further.filter(|run| !run.is_on(&self.one.planned.base));
        let measured: Vec<Measurement> = on_base.iter().chain(further).cloned().collect();
        let (one, input) = (self.one, self.input);
        if !one.is_on_fewer() {
            return provisional(&one.full_run_offer, &measured);
        }
        let offer_of = |instance: &InstanceConfiguration| {
            (self.input.runner.project).offer_to(input.job, instance)
        };
        let runs = JobRuns {
            measurements: &measured,
            offer_of: &offer_of,
            layout: self.layout,
        };
        other_counts::provisional(&one.planned.instance, runs)
    }

    /// What this configuration and those before it measured on the machines that the design runs on.
    fn measured_on_base(&self) -> Vec<Measurement> {
        let states = self.before.iter().chain([self.state]);
        let base = &self.one.planned.base;
        states
            .flat_map(|state| measurement::on(&state.measured, base))
            .collect()
    }

    /// Whether an alternative whose canaries on fewer machines are those of another has some to go with.
    pub(super) fn has_base(&self) -> Result<(), NotMeasured> {
        let is_known = self.input.runner.part != RunPart::Detach;
        match self.one.planned.follows && is_known && !plan::has_enough(&self.measured_on_base()) {
            true => Err(NotMeasured::NoneOnFewer),
            false => Ok(()),
        }
    }

    /// Whether another canary is needed, and the same one, whatever else is still to be known of those that have ended. Nothing is
    /// spent out of impatience.
    pub(super) fn goes_on_in_any_case(&self) -> bool {
        let (job, measured) = (self.input.job, &self.state.measured);
        // What two sizes say of their progress decides whether a third is run.
        let begins = measured.len() >= FEWEST_SIZES && self.progress_share().is_some();
        if begins || plan::has_enough(measured) || self.written_memory().next().is_some() {
            return false;
        }
        let of_times = |line: &&BudgetLine| {
            matches!(line.kind, LineKind::Absolute(Metric::Time | Metric::Cost))
        };
        let timed = Budget {
            lines: job.budget.lines.iter().filter(of_times).cloned().collect(),
            ..job.budget.clone()
        };
        let offer = &self.one.full_run_offer;
        let is_of_times = self.input.request.is_drift
            || timed.lines.iter().any(is_written_to_fail)
            || !job.budget.lines.iter().any(is_written_to_fail);
        let forecast = provisional(offer, measured);
        is_of_times && self.aim(&timed, measured, &forecast) == Aim::GoOn
    }
}
