//! Canaries of one configuration on several counts of its machines: the design runs on the first, one canary on each other.

use super::beside::Outlook;
use super::{DesignLoop, provisional};
use crate::assess::other_counts;
use crate::canary::CanaryRun;
use crate::console::progress::Earlier;
use crate::forecast::Forecast;
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::plan::{self, NotMeasured};
use crate::units::{Percent, Seconds};

/// Of `canary.max_share`, for the design's own canaries while one on another count is still to come.
const BEFORE_THE_OTHERS: f64 = 0.6;

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

    /// The first canary on a further count that was not tried yet.
    fn next_count(&self, here: &[Measurement]) -> Option<CanaryRun> {
        let one = self.configuration();
        let is_open = |run: &&CanaryRun| {
            one.may_try(run) && !here.iter().any(|known| known.is_on(&run.instance))
        };
        one.counts.iter().find(is_open).cloned()
    }

    /// The next canary on a further count, once those on the first make a forecast.
    pub(super) fn due_count(&self, here: &[Measurement]) -> Option<CanaryRun> {
        let may_go_on = here.iter().all(Measurement::is_completed);
        let run = self.next_count(here).filter(|_| may_go_on)?;
        plan::has_enough(&self.on_base(here)).then_some(run)
    }

    /// Runs it where the share has room for it, and limit and share have it whatever those before still take; else waits, or leaves it
    /// out.
    pub(super) async fn try_count(&mut self, run: CanaryRun) {
        let configurations = self.configurations;
        let changed = configurations.changed.notified();
        let has_room = |outlook| {
            (
                self.shares_with(&run, outlook),
                self.pays_for(&run, outlook),
            )
        };
        let was_run = match configurations.settled(self.place, has_room) {
            None => return self.wait_for(changed).await,
            Some((true, _)) => self.run_count(run.clone()).await,
            Some((false, _)) => {
                self.notes.push(format!(
                    "The canary on {} was not run: with it all canaries would take more than canary.max_share ({}) of the full run.",
                    run.instance, self.input.of.job.canary.max_share,
                ));
                false
            }
        };
        if !was_run {
            configurations.give_up_count(self.place, &run);
        }
    }

    /// Whether `canary.max_share` has room for it.
    fn shares_with(&self, run: &CanaryRun, outlook: Outlook) -> bool {
        let one = self.configuration();
        let [count, base] = [&run.instance, &one.base].map(|on| f64::from(on.total_count()));
        self.with_share(outlook, |share| {
            share.has_room_for_count(run, count / base, &one.base_offer)
        })
    }

    /// Whether the money covers it beside what those before may still need; what is left after them is asked when it starts.
    fn pays_for(&self, run: &CanaryRun, outlook: Outlook) -> bool {
        if outlook == Outlook::Known {
            return true;
        }
        let offer = self.configuration().offer_on(Some(&run.instance));
        let worst = plan::worst_case(std::slice::from_ref(run), offer).unwrap_or_default();
        let before = self.configurations.taken_before(self.place, outlook);
        (self.ledger.left(before)).is_none_or(|left| left.0 >= worst.0)
    }

    /// Runs it. Whether the design may go on.
    async fn run_count(&mut self, run: CanaryRun) -> bool {
        let earlier = Earlier {
            runs: self.measured().len(),
            to_come: 0,
            is_open: true,
        };
        let on = run.instance.clone();
        let ran = self.run_canaries(vec![run], earlier).await;
        let is_empty = ran.measurements.is_empty();
        if is_empty && ran.failure.is_none() && !self.is_over() {
            self.notes.push(format!(
                "The canary on {on} was not run: it could have passed {}.",
                self.ledger.tighter().name()
            ));
        }
        self.keep(ran);
        self.broke_off.is_none() && !is_empty
    }

    /// The share for the canaries of the design, with room for those on further counts.
    pub(super) fn share_with_room(&self, here: &[Measurement]) -> Percent {
        let share = self.input.of.job.canary.max_share;
        match self.next_count(here) {
            Some(_) => Percent(share.0 * BEFORE_THE_OTHERS),
            None => share,
        }
    }

    /// What canaries took, in seconds of the machines that the design runs on.
    pub(super) fn taken(&self, measurements: &[Measurement]) -> Seconds {
        let base = f64::from(self.configuration().base.total_count());
        let taken = measurements.iter().filter_map(|run| {
            let machines = f64::from(run.instance.total_count()) / base;
            Some(run.time()? * machines)
        });
        taken.sum()
    }

    /// What the canaries so far say of the full run; `on_base` may be supposed.
    pub(super) fn provisional(&self, on_base: &[Measurement], all: &[Measurement]) -> Forecast {
        let one = self.configuration();
        if !self.is_on_fewer() {
            return provisional(&one.offer, on_base);
        }
        let mut runs = on_base.to_vec();
        runs.extend(self.on_further(all));
        let input = self.input;
        let offer_of = |instance: &InstanceConfiguration| {
            (input.project).offer(instance, &|kind| input.of.ready.capacity(kind))
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
