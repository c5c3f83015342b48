//! Room in the quotas, which all jobs of a run share: a canary for which this run itself has left no room waits for its turn.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use tokio::sync::Notify;

use crate::instance::InstanceType;

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
    kind: InstanceType,
    machines: u32,
    is_at_work: Cell<bool>,
}

impl QuotaRoom {
    /// Waits until the quota has room for so many machines beside those that this run uses; `limit` is `None` where the quota is
    /// not known, and then nobody waits. Who comes first is first, and `None` who goes on no longer. `waits` hears how many are in use,
    /// at each change.
    pub(super) async fn enter(
        &self,
        kind: &InstanceType,
        machines: u32,
        limit: Option<u32>,
        goes_on: impl Fn() -> bool,
        mut waits: impl FnMut(u32),
    ) -> Option<UsedRoom<'_>> {
        let waiter = Waiter::begin(self, kind);
        loop {
            // Before the look, so that no change is missed.
            let changed = self.changed.notified();
            if !goes_on() {
                return None;
            }
            let used = self.used(kind);
            // What alone is too much for the quota is SageMaker's to refuse.
            let fits = limit.is_none_or(|limit| used == 0 || used + machines <= limit);
            if fits && (limit.is_none() || waiter.is_first()) {
                break;
            }
            waits(used);
            changed.await;
        }
        Some(self.take(kind, machines))
    }

    /// Counts machines that are in use already.
    pub(super) fn take(&self, kind: &InstanceType, machines: u32) -> UsedRoom<'_> {
        let mut all = self.used.borrow_mut();
        all.entry(kind.clone()).or_default().machines += machines;
        UsedRoom {
            room: self,
            kind: kind.clone(),
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
        if !self.is_at_work.replace(true)
            && let Some(used) = self.room.used.borrow_mut().get_mut(&self.kind)
        {
            used.at_work += self.machines;
        }
    }

    /// Its training job goes on when this process has ended: the room is never free again.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }

    /// Whether other training jobs of this run are at work on machines of the same type: what waits to be created makes no room.
    pub(super) fn has_others(&self) -> bool {
        let own = match self.is_at_work.get() {
            true => self.machines,
            false => 0,
        };
        let used = self.room.used.borrow();
        used.get(&self.kind).map_or(0, |used| used.at_work) > own
    }
}

impl Drop for UsedRoom<'_> {
    fn drop(&mut self) {
        if let Some(used) = self.room.used.borrow_mut().get_mut(&self.kind) {
            used.machines -= self.machines;
            if self.is_at_work.get() {
                used.at_work -= self.machines;
            }
        }
        self.room.changed.notify_waiters();
    }
}

/// A place in the queue, left when it is dropped.
struct Waiter<'a> {
    room: &'a QuotaRoom,
    kind: InstanceType,
    ticket: u64,
}

impl<'a> Waiter<'a> {
    fn begin(room: &'a QuotaRoom, kind: &InstanceType) -> Self {
        let ticket = room.next_ticket.get();
        room.next_ticket.set(ticket + 1);
        let mut used = room.used.borrow_mut();
        used.entry(kind.clone())
            .or_default()
            .queue
            .push_back(ticket);
        drop(used);
        Self {
            room,
            kind: kind.clone(),
            ticket,
        }
    }

    fn is_first(&self) -> bool {
        let used = self.room.used.borrow();
        let queue = used.get(&self.kind).map(|used| &used.queue);
        queue.and_then(VecDeque::front) == Some(&self.ticket)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(used) = self.room.used.borrow_mut().get_mut(&self.kind) {
            used.queue.retain(|ticket| *ticket != self.ticket);
        }
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

    fn kind(name: &str) -> InstanceType {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn who_comes_first_is_first_and_hears_how_many_are_in_use() {
        let room = QuotaRoom::default();
        let m5 = kind("ml.m5.large");
        let silent = |used| panic!("{used} are in use");
        let first = room.enter(&m5, 3, Some(4), always, silent).await;
        let mut heard = Vec::new();
        let mut second = Box::pin(room.enter(&m5, 2, Some(4), always, |used| heard.push(used)));
        assert!(second.as_mut().now_or_never().is_none());
        // There is room for one machine, but somebody waits already.
        let mut third = Box::pin(room.enter(&m5, 1, Some(4), always, |_| {}));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.await.unwrap();
        second.begin_work();
        assert!(!second.has_others());
        let third = third.await.unwrap();
        assert_eq!(room.used(&m5), 3);
        assert!(third.has_others());
        // Who waits to be created makes no room for others.
        assert!(!second.has_others());
        third.begin_work();
        assert!(second.has_others());
        assert_eq!(heard, [3]);
    }

    #[tokio::test]
    async fn who_waits_no_longer_keeps_nobody_waiting() {
        let room = QuotaRoom::default();
        let m5 = kind("ml.m5.large");
        let first = room.enter(&m5, 3, Some(4), always, |_| {}).await;
        let mut second = Box::pin(room.enter(&m5, 2, Some(4), always, |_| {}));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(room.enter(&m5, 1, Some(4), always, |_| {}));
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        let third = third.await;
        drop((first, third));
        assert_eq!(room.used(&m5), 0);
    }

    #[tokio::test]
    async fn who_may_not_start_any_more_leaves_the_queue() {
        let room = QuotaRoom::default();
        let m5 = kind("ml.m5.large");
        let of_a_failed_job = room.enter(&m5, 1, Some(2), always, |_| {}).await;
        let of_another = room.enter(&m5, 1, Some(2), always, |_| {}).await;
        let goes_on = Cell::new(true);
        let mut waiting = Box::pin(room.enter(&m5, 2, Some(2), || goes_on.get(), |_| {}));
        assert!(waiting.as_mut().now_or_never().is_none());
        goes_on.set(false);
        drop(of_a_failed_job);
        assert!(waiting.await.is_none());
        drop(of_another);
    }

    #[tokio::test]
    async fn other_types_and_unknown_quotas_keep_nobody_waiting() {
        let room = QuotaRoom::default();
        let silent = |used| panic!("{used} are in use");
        let all = [
            room.enter(&kind("ml.m5.large"), 1, Some(1), always, silent)
                .await,
            room.enter(&kind("ml.c5.large"), 1, Some(1), always, silent)
                .await,
            room.enter(&kind("ml.m5.large"), 1, None, always, silent)
                .await,
            // Too much for the quota alone.
            room.enter(&kind("ml.p3.2xlarge"), 4, Some(2), always, silent)
                .await,
        ];
        let all = all.map(Option::unwrap);
        all.iter().for_each(UsedRoom::begin_work);
        assert!(all[0].has_others() && !all[1].has_others());
    }
}
