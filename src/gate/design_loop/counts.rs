//! Canaries of one configuration on several counts of its machines: the design runs on the first, one canary on each other.

use super::{DesignLoop, provisional};
use crate::assess::other_counts;
use crate::canary::CanaryRun;
use crate::console::progress::Earlier;
use crate::forecast::{CanaryTime, Forecast};
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::plan::{self, NotMeasured, TIME_TO_STOP};
use crate::spec::Job;
use crate::units::{Percent, Seconds};

/// Of `canary.max_share` and of the money that is left, for the design's own canaries while one on another count is still to come,
/// which may need all the rest.
const BEFORE_THE_OTHERS: f64 = 1.0 - plan::PART_OF_THE_SHARE;
/// How sure it must be that a canary on another count ends within a limit that is shorter than `canary.max_runtime`.
const SURELY: f64 = 0.95;

/// That a canary on a further count is left out.
pub(crate) fn beyond_the_share(job: &Job, run: &CanaryRun) -> String {
    format!(
        "The canary on {} was not run: with it all canaries would take more than canary.max_share ({}) of the full run.",
        run.instance, job.canary.max_share,
    )
}

impl DesignLoop<'_> {
    /// Those on the machines that the design runs on.
    pub(super) fn on_base(&self, measurements: &[Measurement]) -> Vec<Measurement> {
        let base = &self.configuration().base;
        let on_base = measurements.iter().filter(|run| run.is_on(base));
        on_base.cloned().collect()
    }

    /// What was measured on further counts.
    fn on_further(&self, measurements: &[Measurement]) -> Vec<Measurement> {
        let base = &self.configuration().base;
        let further = measurements.iter().filter(|run| !run.is_on(base));
        further.cloned().collect()
    }

    /// Whether the design runs on fewer machines than the full run has.
    pub(super) fn is_on_fewer(&self) -> bool {
        let one = self.configuration();
        one.base != one.instance
    }

    /// The canaries on further counts that were not tried yet.
    fn open_counts<'a>(&'a self, here: &'a [Measurement]) -> impl Iterator<Item = &'a CanaryRun> {
        let one = self.configuration();
        let is_open = |run: &&CanaryRun| {
            one.may_try(run) && !here.iter().any(|known| known.is_on(&run.instance))
        };
        one.counts.iter().filter(is_open)
    }

    /// The next canary on a further count, once those on the first make a forecast.
    pub(super) fn due_count(&self, here: &[Measurement]) -> Option<CanaryRun> {
        let may_go_on = here.iter().all(Measurement::is_completed);
        let run = self.open_counts(here).next().filter(|_| may_go_on)?;
        plan::has_enough(&self.on_base(here)).then(|| run.clone())
    }

    /// Runs it where share and money have room for it; else leaves it out.
    pub(super) async fn try_count(&mut self, run: CanaryRun) {
        let was_run = match (self.shares_with(&run), self.limit_of_count(&run)) {
            (false, _) => {
                let note = beyond_the_share(self.input.of.job, &run);
                self.notes.push(note);
                false
            }
            (true, None) => {
                self.refuse_count(&run);
                false
            }
            (true, max_runtime) => {
                let limited = CanaryRun {
                    max_runtime,
                    ..run.clone()
                };
                self.run_count(limited).await
            }
        };
        if !was_run {
            self.configurations.give_up_count(self.place, &run);
        }
    }

    fn refuse_count(&mut self, run: &CanaryRun) {
        self.notes.push(format!(
            "The canary on {} was not run: it could have passed {}.",
            run.instance,
            self.account().limit().name()
        ));
    }

    /// Whether `canary.max_share` has room for it. That on the machines which are judged is made in any case, as the fewest are.
    fn shares_with(&self, run: &CanaryRun) -> bool {
        let one = self.configuration();
        let run = std::slice::from_ref(run);
        run[0].instance == one.instance
            || plan::within_the_share(self.input.of.job, &one.base, &self.measured(), run) == 1
    }

    /// How long it may take: `canary.max_runtime`, or what the money pays for. `None` where that is less than it would likely take on
    /// the first count, since what more machines do not divide is not known before it: stopped at its limit it would leave the full run unknown.
    pub(super) fn limit_of_count(&self, run: &CanaryRun) -> Option<Seconds> {
        let one = self.configuration();
        let longest = run
            .max_runtime
            .unwrap_or(self.input.of.job.canary.max_runtime);
        let offer = one.offer_on(Some(&run.instance));
        let Some(left) = one.account.seconds_left(offer) else {
            return Some(longest);
        };
        let left = left.0 - self.kept_after(&run.instance).0;
        if left >= longest.0 {
            return Some(longest);
        }
        let measured = self.configurations.measured_on(&one.base, self.place);
        let time = CanaryTime::learn(&measured)?.at(run.data_share(), run.work_share());
        // SageMaker takes whole seconds.
        let left = left.floor();
        (left >= time.quantile(SURELY)).then_some(Seconds(left))
    }

    /// How long the machines of a canary may be kept after it.
    pub(super) fn kept_after(&self, instance: &InstanceConfiguration) -> Seconds {
        let pool = (self.input.of.ready).warm_pool(instance);
        pool.map_or(Seconds(0.0), |pool| pool.keep_alive)
    }

    /// Of `left`, in seconds of the first count, what canaries on further counts may take: their worst cases, within a part of it.
    pub(super) fn kept_for_counts(&self, here: &[Measurement], left: Seconds) -> Seconds {
        let max_runtime = self.input.of.job.canary.max_runtime;
        let base = f64::from(self.configuration().base.total_count());
        let worst = self.open_counts(here).map(|run| {
            let longest = max_runtime + TIME_TO_STOP + self.kept_after(&run.instance);
            longest * (f64::from(run.instance.total_count()) / base)
        });
        let worst: Seconds = worst.sum();
        Seconds(worst.0.min(left.0 * (1.0 - BEFORE_THE_OTHERS)))
    }

    /// Runs it. Whether the design may go on.
    async fn run_count(&mut self, run: CanaryRun) -> bool {
        let earlier = Earlier {
            runs: self.measured().len(),
            to_come: 0,
            is_open: true,
        };
        let ran = self.run_canaries(vec![run.clone()], earlier).await;
        let is_empty = ran.measurements.is_empty();
        if is_empty && ran.failure.is_none() && !self.is_over() {
            self.refuse_count(&run);
        }
        self.keep(ran);
        self.broke_off.is_none() && !is_empty
    }

    /// The share for the canaries of the design, with room for those on further counts.
    pub(super) fn share_with_room(&self, here: &[Measurement]) -> Percent {
        let share = self.input.of.job.canary.max_share;
        match self.open_counts(here).next() {
            Some(_) => Percent(share.0 * BEFORE_THE_OTHERS),
            None => share,
        }
    }

    /// What canaries took, in seconds of the machines that the design runs on.
    pub(super) fn taken(&self, measurements: &[Measurement]) -> Seconds {
        let base = f64::from(self.configuration().base.total_count());
        let taken = measurements.iter().filter_map(|run| {
            let machines = f64::from(run.instance.total_count()) / base;
            // Machines that were kept for it are paid for like its own time.
            Some((run.time()? + run.idle_seconds.unwrap_or_default()) * machines)
        });
        taken.sum()
    }

    /// What the canaries so far say of the full run; `on_base` may be supposed.
    pub(super) fn provisional(&self, on_base: &[Measurement], all: &[Measurement]) -> Forecast {
        let one = self.configuration();
        if !self.is_on_fewer() {
            return provisional(&one.full_run_offer, on_base);
        }
        let mut runs = on_base.to_vec();
        runs.extend(self.on_further(all));
        let input = self.input;
        let offer_of = |instance: &InstanceConfiguration| {
            (input.project).offer_to(input.of.job, instance, &|kind| {
                input.of.ready.capacity(kind)
            })
        };
        let layout = &self.configurations.layout;
        other_counts::provisional(&one.instance, &runs, &offer_of, layout)
    }

    /// Why an alternative whose canaries on fewer machines are those of another has none to go with.
    pub(super) fn lacks_base(&self) -> Option<NotMeasured> {
        let one = self.configuration();
        let measured = self.configurations.measured_on(&one.base, self.place);
        (one.follows && !plan::has_enough(&measured)).then_some(NotMeasured::NoneOnFewer)
    }
}
