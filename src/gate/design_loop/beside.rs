//! The configurations of a job beside each other. Each has money and share of its own, so that its canaries, and the report, are the
//! same whatever the others do.

use std::cell::{Cell, OnceCell, RefCell};

use tokio::sync::Notify;

use super::DesignInput;
use crate::canary::CanaryRun;
use crate::forecast::scale_out::DataLayout;
use crate::gate::turns::MachineSharing;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::Measurement;
use crate::plan::{Account, NotMeasured, Plan, PlannedRuns};

/// `instance` and the alternatives of a job.
pub(super) struct Configurations<'j> {
    input: &'j DesignInput<'j>,
    all: Vec<Configuration>,
    /// Why no alternative is measured any more.
    given_up: OnceCell<NotMeasured>,
    /// How the data reach the hosts of the full run.
    pub(super) layout: DataLayout,
    pub(super) changed: Notify,
}

/// One configuration, and what is known of its canaries.
pub(super) struct Configuration {
    pub(super) instance: InstanceConfiguration,
    pub(super) offer: Offer,
    /// As the full run buys it.
    pub(super) full_run_offer: Offer,
    /// On which the design's canaries run: `instance`, or fewer of its machines.
    pub(super) base: InstanceConfiguration,
    pub(super) base_offer: Offer,
    /// One canary on each further count of its machines.
    pub(super) counts: Vec<CanaryRun>,
    count_offers: Vec<Offer>,
    /// Those of `counts` that were refused.
    refused_counts: RefCell<Vec<InstanceConfiguration>>,
    /// The canaries on `base` are those of a configuration before it.
    pub(super) follows: bool,
    /// Those planned; an alternative may have none.
    pub(super) runs: Result<PlannedRuns, NotMeasured>,
    pub(super) account: Account,
    /// In the order in which they were planned; of those that are late, what is known.
    pub(super) measured: RefCell<Vec<Measurement>>,
    /// Whether a canary has completed, so that role, image and code are proved.
    is_proved: Cell<bool>,
    /// False where no further canary may start.
    pub(super) is_wanted: Cell<bool>,
    has_ended: Cell<bool>,
}

impl<'j> Configurations<'j> {
    pub(super) fn new(input: &'j DesignInput<'j>, plan: &Plan) -> Self {
        let job = input.of.job;
        let offer = |instance: &InstanceConfiguration| {
            (input.project).offer(instance, &|kind| input.of.ready.capacity(kind))
        };
        let slices = input.money.account.left().map(|left| plan.slices(left));
        let planned = |place: usize,
                       instance: &InstanceConfiguration,
                       (base, counts, follows): (&InstanceConfiguration, &[CanaryRun], bool),
                       runs| Configuration {
            instance: instance.clone(),
            offer: offer(instance),
            full_run_offer: (input.project)
                .offer_to(job, instance, &|kind| input.of.ready.capacity(kind)),
            base: base.clone(),
            base_offer: offer(base),
            counts: counts.to_vec(),
            count_offers: counts.iter().map(|run| offer(&run.instance)).collect(),
            refused_counts: RefCell::default(),
            follows,
            has_ended: Cell::new(Result::is_err(&runs)),
            runs,
            account: (input.money.account).slice(slices.as_ref().map(|slices| slices[place])),
            measured: RefCell::default(),
            is_proved: Cell::new(false),
            is_wanted: Cell::new(true),
        };
        let own = (&plan.base, plan.counts.as_slice(), false);
        let own = planned(0, &job.instance, own, Ok(plan.runs.clone()));
        let alternatives = plan.alternatives.iter().enumerate().map(|(place, one)| {
            let counts = (&one.base, one.counts.as_slice(), one.follows);
            planned(place + 1, &one.instance, counts, one.runs.clone())
        });
        Self {
            all: [own].into_iter().chain(alternatives).collect(),
            input,
            given_up: OnceCell::new(),
            layout: DataLayout::of(job, Some(input.dataset)),
            changed: Notify::new(),
        }
    }

    pub(super) fn at(&self, place: usize) -> &Configuration {
        &self.all[place]
    }

    /// The places of the alternatives.
    pub(super) fn alternatives(&self) -> std::ops::Range<usize> {
        1..self.all.len()
    }

    /// The machines of a canary are free.
    pub(super) fn hear(&self, place: usize, measurement: &Measurement) {
        if measurement.is_completed() {
            self.at(place).is_proved.set(true);
        }
        if place == 0 && (measurement.has_failed() || measurement.is_unread()) {
            self.give_up_alternatives(NotMeasured::CodeFailed);
        }
        self.changed.notify_waiters();
    }

    /// No more canaries run there.
    pub(super) fn end(&self, place: usize) {
        self.at(place).has_ended.set(true);
        self.changed.notify_waiters();
    }

    /// No canary of an alternative is started any more; those under way go on to their end, and are paid.
    pub(super) fn give_up_alternatives(&self, why: NotMeasured) {
        if self.given_up.set(why).is_ok() {
            let alternatives = self.alternatives().map(|place| self.at(place));
            alternatives.for_each(|one| one.is_wanted.set(false));
            self.changed.notify_waiters();
        }
    }

    /// Why an alternative is not begun.
    pub(super) fn why_not(&self) -> Option<NotMeasured> {
        self.given_up.get().cloned()
    }

    /// Whether `instance` has proved role, image and code, and the machines are not those of the ones before.
    pub(super) fn may_begin(&self, place: usize) -> bool {
        self.have_ended_before(place)
            || self.input.machines == MachineSharing::OwnOnes
                && !self.at(place).follows
                && self.at(0).is_proved.get()
                && self.has_room_beside_those_before(place)
    }

    /// Between two rounds those before use no machines, but need them again, and may keep some.
    fn has_room_beside_those_before(&self, place: usize) -> bool {
        let own = &self.at(place).instance;
        let at_work = self.all[..place].iter().filter(|one| !one.has_ended.get());
        let at_work = at_work.map(|one| &one.instance).chain([own]);
        let is_alike = |one: &&InstanceConfiguration| one.single_type() == own.single_type();
        let instances: Vec<&InstanceConfiguration> = at_work.filter(is_alike).collect();
        instances.len() < 2 || self.input.of.ready.has_room_for_all(&instances)
    }

    /// A canary on a further count is not tried again.
    pub(super) fn give_up_count(&self, place: usize, run: &CanaryRun) {
        let mut refused = self.at(place).refused_counts.borrow_mut();
        refused.push(run.instance.clone());
    }

    /// What was measured on the machines by the configurations up to a place.
    pub(super) fn measured_on(
        &self,
        machines: &InstanceConfiguration,
        place: usize,
    ) -> Vec<Measurement> {
        let known = self.all[..=place]
            .iter()
            .flat_map(|one| one.measured.borrow().clone());
        known.filter(|run| run.is_on(machines)).collect()
    }

    pub(super) fn have_ended_before(&self, place: usize) -> bool {
        self.all[..place].iter().all(|one| one.has_ended.get())
    }

    /// All that was measured, in the order of the list.
    pub(super) fn into_measurements(self) -> Vec<Measurement> {
        let all = self.all.into_iter();
        all.flat_map(|one| one.measured.into_inner()).collect()
    }
}

impl Configuration {
    /// The machines of `runs`.
    pub(super) fn runs_on(&self) -> &InstanceConfiguration {
        match self.follows {
            true => &self.instance,
            false => &self.base,
        }
    }

    /// The offer of the machines that a canary runs on.
    pub(super) fn offer_on(&self, machines: Option<&InstanceConfiguration>) -> &Offer {
        let mut all = [&self.base_offer].into_iter().chain(&self.count_offers);
        let found = all.find(|offer| machines == Some(&offer.configuration));
        found.unwrap_or(&self.offer)
    }

    /// Whether a canary on a further count may still be tried.
    pub(super) fn may_try(&self, run: &CanaryRun) -> bool {
        !self.refused_counts.borrow().contains(&run.instance)
    }
}
