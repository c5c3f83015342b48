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
}

impl QuotaRoom {
    /// Waits until the quota has room for so many machines beside those that this run uses; `limit` is `None` where the quota is
    /// not known, and then nobody waits. Who comes first is first. `waits` hears how many are in use, at each change.
    pub(super) async fn enter(
        &self,
        kind: &InstanceType,
        machines: u32,
        limit: Option<u32>,
        mut waits: impl FnMut(u32),
    ) -> UsedRoom<'_> {
        let waiter = Waiter::begin(self, kind);
        loop {
            // Before the look, so that no change is missed.
            let changed = self.changed.notified();
            let used = self.used(kind);
            // What alone is too much for the quota is SageMaker's to refuse.
            let fits = limit.is_none_or(|limit| used == 0 || used + machines <= limit);
            if fits && (limit.is_none() || waiter.is_first()) {
                break;
            }
            waits(used);
            changed.await;
        }
        self.take(kind, machines)
    }

    /// Counts machines that are in use already.
    pub(super) fn take(&self, kind: &InstanceType, machines: u32) -> UsedRoom<'_> {
        let mut all = self.used.borrow_mut();
        all.entry(kind.clone()).or_default().machines += machines;
        UsedRoom {
            room: self,
            kind: kind.clone(),
            machines,
        }
    }

    /// How many machines of a type training jobs of this run use.
    pub(super) fn used(&self, kind: &InstanceType) -> u32 {
        let used = self.used.borrow();
        used.get(kind).map_or(0, |used| used.machines)
    }
}

impl UsedRoom<'_> {
    /// Whether other training jobs of this run use machines of the same type.
    pub(super) fn has_others(&self) -> bool {
        self.room.used(&self.kind) > self.machines
    }
}

impl Drop for UsedRoom<'_> {
    fn drop(&mut self) {
        if let Some(used) = self.room.used.borrow_mut().get_mut(&self.kind) {
            used.machines -= self.machines;
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

    fn kind(name: &str) -> InstanceType {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn who_comes_first_is_first_and_hears_how_many_are_in_use() {
        let room = QuotaRoom::default();
        let m5 = kind("ml.m5.large");
        let silent = |used| panic!("{used} are in use");
        let first = room.enter(&m5, 3, Some(4), silent).await;
        let mut heard = Vec::new();
        let mut second = Box::pin(room.enter(&m5, 2, Some(4), |used| heard.push(used)));
        assert!(second.as_mut().now_or_never().is_none());
        // There is room for one machine, but somebody waits already.
        let mut third = Box::pin(room.enter(&m5, 1, Some(4), |_| {}));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.await;
        assert!(!second.has_others());
        let third = third.await;
        assert_eq!(room.used(&m5), 3);
        assert!(second.has_others() && third.has_others());
        assert_eq!(heard, [3]);
    }

    #[tokio::test]
    async fn who_waits_no_longer_keeps_nobody_waiting() {
        let room = QuotaRoom::default();
        let m5 = kind("ml.m5.large");
        let first = room.enter(&m5, 3, Some(4), |_| {}).await;
        let mut second = Box::pin(room.enter(&m5, 2, Some(4), |_| {}));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(room.enter(&m5, 1, Some(4), |_| {}));
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        let third = third.await;
        drop((first, third));
        assert_eq!(room.used(&m5), 0);
    }

    #[tokio::test]
    async fn other_types_and_unknown_quotas_keep_nobody_waiting() {
        let room = QuotaRoom::default();
        let silent = |used| panic!("{used} are in use");
        let all = [
            room.enter(&kind("ml.m5.large"), 1, Some(1), silent).await,
            room.enter(&kind("ml.c5.large"), 1, Some(1), silent).await,
            room.enter(&kind("ml.m5.large"), 1, None, silent).await,
            // Too much for the quota alone.
            room.enter(&kind("ml.p3.2xlarge"), 4, Some(2), silent).await,
        ];
        assert!(all[0].has_others() && !all[1].has_others());
    }
}
