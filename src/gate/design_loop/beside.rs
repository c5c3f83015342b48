//! The configurations of a job beside each other: what each knows of those before it in the list.
//!
//! A canary of an alternative starts when it is the same one whatever the configurations before it still run: when it is within
//! spend limit and share both if they take all that they can still need, and if they take nothing more. So canaries and report are
//! those of one configuration after another.

use std::cell::{Cell, OnceCell, RefCell};

use tokio::sync::Notify;

use super::DesignInput;
use crate::canary::CanaryRun;
use crate::forecast::scale_out::DataLayout;
use crate::gate::turns::MachineSharing;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::Measurement;
use crate::plan::{
    ConfigurationLedger, ConfigurationLedgers, FullRunTime, MayFollow, NotMeasured, PendingCanary,
    Plan, PlannedRuns, Share, StillNeeded, TakenBefore, WarmPool, worst_case_of,
};
use crate::units::{Seconds, Usd};

/// What of the money and of the share the configurations before still take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// They have ended.
    Known,
    /// All that they can still need.
    Most,
    Nothing,
}

/// `instance` and the alternatives of a job.
pub(super) struct Configurations<'j> {
    input: &'j DesignInput<'j>,
    ledgers: ConfigurationLedgers<'j>,
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
    /// In the order in which they were planned; of those that are late, what is known.
    pub(super) measured: RefCell<Vec<Measurement>>,
    /// Of the canaries under way, those whose machines are free.
    freed: RefCell<Vec<Measurement>>,
    /// False where no further canary may start.
    pub(super) is_wanted: Cell<bool>,
    has_ended: Cell<bool>,
    /// Whether what a lost canary cost is not known.
    has_lost_money: Cell<bool>,
}

impl<'j> Configurations<'j> {
    pub(super) fn new(input: &'j DesignInput<'j>, plan: &Plan) -> Self {
        let job = input.of.job;
        let offer = |instance: &InstanceConfiguration| {
            (input.project).offer(instance, &|kind| input.of.ready.capacity(kind))
        };
        let planned = |instance: &InstanceConfiguration,
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
            measured: RefCell::default(),
            freed: RefCell::default(),
            is_wanted: Cell::new(true),
            has_lost_money: Cell::new(false),
        };
        let own = (&plan.base, plan.counts.as_slice(), false);
        let own = planned(&job.instance, own, Ok(plan.runs.clone()));
        let alternatives = plan.alternatives.iter().map(|one| {
            let counts = (&one.base, one.counts.as_slice(), one.follows);
            planned(&one.instance, counts, one.runs.clone())
        });
        let all: Vec<Configuration> = [own].into_iter().chain(alternatives).collect();
        Self {
            input,
            ledgers: ConfigurationLedgers::new(input.ledger, all.len()),
            all,
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

    pub(super) fn ledger(&self, place: usize) -> ConfigurationLedger<'_> {
        self.ledgers.of(place)
    }

    /// The machines of a canary are free.
    pub(super) fn hear(&self, place: usize, measurement: &Measurement) {
        self.at(place).freed.borrow_mut().push(measurement.clone());
        if place == 0 && (measurement.has_failed() || measurement.is_unread()) {
            self.give_up_alternatives(NotMeasured::CodeFailed);
        }
        self.changed.notify_waiters();
    }

    /// Takes what the canaries under way gave.
    pub(super) fn take(&self, place: usize, measured: Vec<Measurement>) {
        let configuration = self.at(place);
        configuration.freed.borrow_mut().clear();
        configuration.measured.borrow_mut().extend(measured);
        self.changed.notify_waiters();
    }

    /// No more canaries run there.
    pub(super) fn end(&self, place: usize) {
        self.at(place).has_ended.set(true);
        self.changed.notify_waiters();
    }

    pub(super) fn lose_money(&self, place: usize) {
        self.at(place).has_lost_money.set(true);
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
    pub(super) fn why_not(&self, place: usize) -> Option<NotMeasured> {
        let is_ladder = matches!(self.at(0).runs, Ok(PlannedRuns::Ladder(_)));
        let lost_before = || self.all[..place].iter().any(|one| one.has_lost_money.get());
        match self.given_up.get() {
            // What the lost run cost is not known, so nothing more may be spent.
            None if is_ladder && lost_before() => Some(NotMeasured::CouldNotRun),
            given_up => given_up.cloned(),
        }
    }

    /// Whether `instance` has proved role, image and code, and the machines are not those of the ones before.
    pub(super) fn may_begin(&self, place: usize) -> bool {
        self.have_ended_before(place)
            || self.input.machines == MachineSharing::OwnOnes
                && self.known(0).iter().any(Measurement::is_completed)
                && self.has_room_beside_those_before(place)
    }

    /// Between two rounds those before use no machines, but need them again, and may keep some.
    fn has_room_beside_those_before(&self, place: usize) -> bool {
        let at_work = self.at_work_before(place).chain([place]);
        let own = &self.at(place).instance;
        let is_alike = |one: &&InstanceConfiguration| one.single_type() == own.single_type();
        let instances: Vec<&InstanceConfiguration> = at_work
            .map(|place| &self.at(place).instance)
            .filter(is_alike)
            .collect();
        instances.len() < 2 || self.input.of.ready.has_room_for_all(&instances)
    }

    /// A canary on a further count is not tried again.
    pub(super) fn give_up_count(&self, place: usize, run: &CanaryRun) {
        let mut refused = self.at(place).refused_counts.borrow_mut();
        refused.push(run.instance.clone());
    }

    /// What is known of the machines on all configurations up to a place.
    pub(super) fn measured_on(
        &self,
        machines: &InstanceConfiguration,
        place: usize,
    ) -> Vec<Measurement> {
        let known = (0..=place).flat_map(|place| self.known(place));
        known.filter(|run| run.is_on(machines)).collect()
    }

    pub(super) fn have_ended_before(&self, place: usize) -> bool {
        self.all[..place].iter().all(|one| one.has_ended.get())
    }

    /// What `decide` gives, if it is the same whatever those before still run.
    pub(super) fn settled<T: PartialEq>(
        &self,
        place: usize,
        decide: impl Fn(Outlook) -> T,
    ) -> Option<T> {
        if self.have_ended_before(place) {
            return Some(decide(Outlook::Known));
        }
        if !self.may_begin(place) {
            return None;
        }
        let at_most = decide(Outlook::Most);
        (at_most == decide(Outlook::Nothing)).then_some(at_most)
    }

    /// What the configurations before take of the money.
    pub(super) fn taken_before(&self, place: usize, outlook: Outlook) -> TakenBefore {
        match outlook {
            Outlook::Nothing => TakenBefore::Nothing,
            Outlook::Known => TakenBefore::AtMost(Usd(0.0)),
            Outlook::Most => {
                let needs = self.at_work_before(place).map(|before| {
                    let one = self.at(before);
                    let still = StillNeeded {
                        canaries: self.may_follow(before).most() + one.counts.len(),
                        each: self.worst_of(one).unwrap_or_default(),
                    };
                    self.ledger(before).not_launched(still)
                });
                TakenBefore::AtMost(needs.sum())
            }
        }
    }

    /// The most that one canary can cost there, with its machines kept after it.
    pub(super) fn worst_of(&self, one: &Configuration) -> Option<Usd> {
        let pool = self.input.of.ready.warm_pool(&one.instance);
        let kept: Seconds = pool.map_or(Seconds(0.0), |pool: &WarmPool| pool.keep_alive);
        let worst = worst_case_of(self.input.of.job.canary.max_runtime, &one.offer)?;
        Some(worst + one.offer.cost(kept)?)
    }

    /// Asks the share that canaries may take of the full run, as the configuration at a place sees it.
    pub(super) fn with_share<T>(
        &self,
        place: usize,
        outlook: Outlook,
        ask: impl FnOnce(&Share<'_>) -> T,
    ) -> T {
        let measurements: Vec<Measurement> =
            (0..=place).flat_map(|place| self.known(place)).collect();
        let is_forecast = place == 0 || self.at(0).has_ended.get();
        let pending: Vec<PendingCanary> = match outlook {
            Outlook::Known | Outlook::Nothing => Vec::new(),
            Outlook::Most => (self.at_work_before(place))
                .flat_map(|before| self.pending(before))
                .collect(),
        };
        ask(&Share {
            job: self.input.of.job,
            offer: &self.at(0).base_offer,
            measurements: &measurements,
            full_run: match outlook {
                _ if is_forecast => FullRunTime::Forecast,
                Outlook::Nothing => FullRunTime::Unbounded,
                Outlook::Known | Outlook::Most => FullRunTime::Surely,
            },
            pending: &pending,
        })
    }

    fn pending(&self, place: usize) -> impl Iterator<Item = PendingCanary> {
        let a_second = self.at(place).offer.cost(Seconds(1.0));
        let shares = self.may_follow(place).shares.into_iter();
        let counts = self.at(place).counts.iter();
        let counts: Vec<(f64, f64)> = counts
            .map(|run| (run.data_share(), run.work_share()))
            .collect();
        shares.chain(counts).map(move |shares| PendingCanary {
            shares,
            usd_per_second: a_second.map(|usd| usd.0),
        })
    }

    /// Those before a place that may still run canaries.
    fn at_work_before(&self, place: usize) -> impl Iterator<Item = usize> {
        (0..place).filter(|before| !self.at(*before).has_ended.get())
    }

    fn may_follow(&self, place: usize) -> MayFollow {
        match &self.at(place).runs {
            Ok(runs) => {
                let on = self.at(place).runs_on();
                let mut known = self.known(place);
                known.retain(|run| run.is_on(on));
                MayFollow::of(self.input.of.job, runs, &known)
            }
            Err(_) => MayFollow::nothing(),
        }
    }

    /// What is known of the canaries of a configuration that have ended.
    fn known(&self, place: usize) -> Vec<Measurement> {
        let one = self.at(place);
        let (measured, freed) = (one.measured.borrow(), one.freed.borrow());
        measured.iter().chain(freed.iter()).cloned().collect()
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
