//! Room in the quotas, which all jobs of a run share: a canary for which this run itself has left no room waits for its turn.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use tokio::sync::Notify;

use crate::instance::{InstanceConfiguration, InstanceType};

/// Machines by type.
type MachineCounts = BTreeMap<InstanceType, u32>;

/// The machines that training jobs of this run use, by type.
#[derive(Debug, Default)]
pub(super) struct QuotaRoom {
    used: RefCell<BTreeMap<InstanceType, Used>>,
    next_ticket: Cell<u64>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Used {
    machines: u32,
    /// Of them, those whose training job is there.
    at_work: u32,
    /// Who waits, in the order of coming.
    queue: VecDeque<u64>,
}

/// Machines that one training job uses, until it is dropped.
#[derive(Debug)]
#[must_use = "the room is free again when this is dropped"]
pub(super) struct UsedRoom<'a> {
    room: &'a QuotaRoom,
    machines: MachineCounts,
    is_at_work: Cell<bool>,
}

impl QuotaRoom {
    /// Waits until the quotas of all types have room for the machines of a configuration, beside those that this run uses; where
    /// a quota is not known nobody waits for it. Who comes first is first, and `None` who goes on no longer. Nothing is taken
    /// before all can be. `waits` hears of which type how many are in use, at each change.
    pub(super) async fn enter(
        &self,
        instance: &InstanceConfiguration,
        limits: &MachineCounts,
        goes_on: impl Fn() -> bool,
        mut waits: impl FnMut(&InstanceType, u32),
    ) -> Option<UsedRoom<'_>> {
        let waiter = Waiter::begin(self, instance);
        loop {
            // Before the look, so that no change is missed.
            let changed = self.changed.notified();
            if !goes_on() {
                return None;
            }
            let awaited = self
                .full(instance, limits)
                .or_else(|| waiter.behind_others(limits));
            match awaited {
                None => break,
                Some((kind, used)) => waits(&kind, used),
            }
            changed.await;
        }
        Some(self.take(instance))
    }

    /// The first type whose quota has no room left for a configuration, and how many of it this run uses. What alone is too much
    /// for a quota is SageMaker's to refuse.
    pub(super) fn full(
        &self,
        instance: &InstanceConfiguration,
        limits: &MachineCounts,
    ) -> Option<(InstanceType, u32)> {
        let machines = instance.machines_by_type().into_iter();
        let mut used = machines.map(|(kind, count)| (kind, count, self.used(kind)));
        let (kind, _, used) = used.find(|(kind, count, used)| {
            let limit = limits.get(*kind);
            limit.is_some_and(|limit| *used > 0 && used + count > *limit)
        })?;
        Some((kind.clone(), used))
    }

    /// Counts the machines of a configuration, which are in use.
    pub(super) fn take(&self, instance: &InstanceConfiguration) -> UsedRoom<'_> {
        let machines = instance.machines_by_type().into_iter();
        let machines: MachineCounts = machines
            .map(|(kind, count)| (kind.clone(), count))
            .collect();
        let mut all = self.used.borrow_mut();
        for (kind, count) in &machines {
            all.entry(kind.clone()).or_default().machines += count;
        }
        UsedRoom {
            room: self,
            machines,
            is_at_work: Cell::new(false),
        }
    }

    /// How many machines of a type training jobs of this run use.
    pub(super) fn used(&self, kind: &InstanceType) -> u32 {
        let used = self.used.borrow();
        used.get(kind).map_or(0, |used| used.machines)
    }
}

impl UsedRoom<'_> {
    /// Its training job is there.
    pub(super) fn begin_work(&self) {
        if self.is_at_work.replace(true) {
            return;
        }
        let mut all = self.room.used.borrow_mut();
        for (kind, count) in &self.machines {
            if let Some(used) = all.get_mut(kind) {
                used.at_work += count;
            }
        }
    }

    /// Its training job goes on when this process has ended: the room is never free again.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }

    /// Whether other training jobs of this run are at work on machines of this type, or of any that it uses itself: what waits to
    /// be created makes no room.
    pub(super) fn has_others(&self, kind: Option<&InstanceType>) -> bool {
        let all = self.room.used.borrow();
        let mut own =
            (self.machines.iter()).filter(|(own, _)| kind.is_none_or(|kind| kind == *own));
        own.any(|(kind, count)| {
            let own = match self.is_at_work.get() {
                true => *count,
                false => 0,
            };
            all.get(kind).map_or(0, |used| used.at_work) > own
        })
    }
}

impl Drop for UsedRoom<'_> {
    fn drop(&mut self) {
        let mut all = self.room.used.borrow_mut();
        for (kind, count) in &self.machines {
            if let Some(used) = all.get_mut(kind) {
                used.machines -= count;
                if self.is_at_work.get() {
                    used.at_work -= count;
                }
            }
        }
        drop(all);
        self.room.changed.notify_waiters();
    }
}

/// A place in the queues of all its types, left when it is dropped. Places are given in one order over all types, so that two who
/// need the same types never wait for each other.
struct Waiter<'a> {
    room: &'a QuotaRoom,
    kinds: Vec<InstanceType>,
    ticket: u64,
}

impl<'a> Waiter<'a> {
    fn begin(room: &'a QuotaRoom, instance: &InstanceConfiguration) -> Self {
        let ticket = room.next_ticket.get();
        room.next_ticket.set(ticket + 1);
        let kinds = instance.machines_by_type().into_keys();
        let kinds: Vec<InstanceType> = kinds.cloned().collect();
        let mut used = room.used.borrow_mut();
        for kind in &kinds {
            let of_kind = used.entry(kind.clone()).or_default();
            of_kind.queue.push_back(ticket);
        }
        drop(used);
        Self {
            room,
            kinds,
            ticket,
        }
    }

    /// The first type with a known quota for which somebody else waits longer, and how many of it are in use.
    fn behind_others(&self, limits: &MachineCounts) -> Option<(InstanceType, u32)> {
        let used = self.room.used.borrow();
        let mut kinds = (self.kinds.iter()).filter(|kind| limits.contains_key(*kind));
        kinds.find_map(|kind| {
            let of_kind = used.get(kind)?;
            let is_first = of_kind.queue.front() == Some(&self.ticket);
            (!is_first).then(|| (kind.clone(), of_kind.machines))
        })
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut all = self.room.used.borrow_mut();
        for kind in &self.kinds {
            if let Some(used) = all.get_mut(kind) {
                used.queue.retain(|ticket| *ticket != self.ticket);
            }
        }
        drop(all);
        self.room.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn always() -> bool {
        true
    }

    fn of(configuration: &str) -> InstanceConfiguration {
        configuration.parse().unwrap()
    }

    fn limits(limits: &[(&str, u32)]) -> MachineCounts {
        let limits = limits.iter();
        limits
            .map(|(kind, limit)| (kind.parse().unwrap(), *limit))
            .collect()
    }

    fn silent(kind: &InstanceType, used: u32) {
        panic!("{used} of {kind} are in use")
    }

    fn deaf(_: &InstanceType, _: u32) {}

    #[tokio::test]
    async fn who_comes_first_is_first_and_hears_how_many_are_in_use() {
        let room = QuotaRoom::default();
        let four = limits(&[("ml.m5.large", 4)]);
        let m5 = "ml.m5.large".parse().unwrap();
        let (three, two, one) = (
            of("3x ml.m5.large"),
            of("2x ml.m5.large"),
            of("ml.m5.large"),
        );
        let first = room.enter(&three, &four, always, silent).await;
        let mut heard = Vec::new();
        let mut second = Box::pin(room.enter(&two, &four, always, |_, used| heard.push(used)));
        assert!(second.as_mut().now_or_never().is_none());
        // There is room for one machine, but somebody waits already.
        let mut third = Box::pin(room.enter(&one, &four, always, deaf));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.await.unwrap();
        second.begin_work();
        assert!(!second.has_others(None));
        let third = third.await.unwrap();
        assert_eq!(room.used(&m5), 3);
        assert!(third.has_others(None));
        // Who waits to be created makes no room for others.
        assert!(!second.has_others(None));
        third.begin_work();
        assert!(second.has_others(None));
        assert_eq!(heard, [3]);
    }

    #[tokio::test]
    async fn who_waits_no_longer_keeps_nobody_waiting() {
        let room = QuotaRoom::default();
        let four = limits(&[("ml.m5.large", 4)]);
        let (three, two, one) = (
            of("3x ml.m5.large"),
            of("2x ml.m5.large"),
            of("ml.m5.large"),
        );
        let first = room.enter(&three, &four, always, deaf).await;
        let mut second = Box::pin(room.enter(&two, &four, always, deaf));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(room.enter(&one, &four, always, deaf));
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        let third = third.await;
        drop((first, third));
        assert_eq!(room.used(&"ml.m5.large".parse().unwrap()), 0);
    }

    #[tokio::test]
    async fn who_may_not_start_any_more_leaves_the_queue() {
        let room = QuotaRoom::default();
        let only_two = limits(&[("ml.m5.large", 2)]);
        let (one, two) = (of("ml.m5.large"), of("2x ml.m5.large"));
        let of_a_failed_job = room.enter(&one, &only_two, always, deaf).await;
        let of_another = room.enter(&one, &only_two, always, deaf).await;
        let goes_on = Cell::new(true);
        let mut waiting = Box::pin(room.enter(&two, &only_two, || goes_on.get(), deaf));
        assert!(waiting.as_mut().now_or_never().is_none());
        goes_on.set(false);
        drop(of_a_failed_job);
        assert!(waiting.await.is_none());
        drop(of_another);
    }

    #[tokio::test]
    async fn other_types_and_unknown_quotas_keep_nobody_waiting() {
        let room = QuotaRoom::default();
        let known = limits(&[("ml.m5.large", 1), ("ml.c5.large", 1), ("ml.p3.2xlarge", 2)]);
        let unknown = limits(&[]);
        let (m5, c5, p3) = (of("ml.m5.large"), of("ml.c5.large"), of("4x ml.p3.2xlarge"));
        let all = [
            room.enter(&m5, &known, always, silent).await,
            room.enter(&c5, &known, always, silent).await,
            room.enter(&m5, &unknown, always, silent).await,
            // Too much for the quota alone.
            room.enter(&p3, &known, always, silent).await,
        ];
        let all = all.map(Option::unwrap);
        all.iter().for_each(UsedRoom::begin_work);
        assert!(all[0].has_others(None) && !all[1].has_others(None));
    }

    #[tokio::test]
    async fn groups_wait_for_room_of_every_type_and_take_none_before() {
        let room = QuotaRoom::default();
        let quotas = limits(&[("ml.c5.large", 2), ("ml.p3.2xlarge", 1)]);
        let groups = of("data: 1x ml.c5.large + more: 1x ml.c5.large + dnn: 1x ml.p3.2xlarge");
        let (c5, p3) = (
            "ml.c5.large".parse().unwrap(),
            "ml.p3.2xlarge".parse().unwrap(),
        );
        let one_c5 = of("ml.c5.large");
        let first = room.enter(&groups, &quotas, always, silent).await.unwrap();
        assert_eq!((room.used(&c5), room.used(&p3)), (2, 1));
        first.begin_work();

        let mut heard = Vec::new();
        let waits = |kind: &InstanceType, used| heard.push(format!("{kind} {used}"));
        let mut second = Box::pin(room.enter(&groups, &quotas, always, waits));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(room.enter(&one_c5, &quotas, always, deaf));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        // Who came later waits, though for its type there is room.
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.await.unwrap();
        assert!(third.as_mut().now_or_never().is_none());
        second.begin_work();
        assert!(!second.has_others(Some(&p3)));
        drop(second);
        assert!(third.await.is_some());
        assert_eq!(heard, ["ml.c5.large 2"]);
        assert_eq!((room.used(&c5), room.used(&p3)), (0, 0));
    }
}
