//! Room on this machine, which the canaries of all local jobs of a run share.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};

use tokio::sync::Notify;

/// The canaries that run on this machine, and those that wait for it.
#[derive(Debug, Default)]
pub(crate) struct MachineRoom {
    running: RefCell<Vec<InRoom>>,
    /// Who waits, in the order of coming.
    queue: RefCell<VecDeque<u64>>,
    next_ticket: Cell<u64>,
    /// Jobs, by their place, of which a canary ran beside one of another job.
    beside_others: RefCell<BTreeSet<usize>>,
    changed: Notify,
}

/// A canary that runs.
#[derive(Debug, Clone, Copy)]
struct InRoom {
    ticket: u64,
    job: usize,
    /// The `canary.parallel` of its job.
    parallel: u32,
}

/// A canary's place on the machine or in the queue, until it is dropped.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub(crate) struct MachinePlace<'a> {
    room: &'a MachineRoom,
    ticket: u64,
}

impl MachineRoom {
    /// Waits until a canary of a job, by its place in the run, may run beside those that do: fewer than `parallel`, its own job's and
    /// that of each job at work. Who comes first is first.
    pub(crate) async fn enter(&self, job: usize, parallel: u32) -> MachinePlace<'_> {
        let ticket = self.next_ticket.replace(self.next_ticket.get() + 1);
        self.queue.borrow_mut().push_back(ticket);
        let place = MachinePlace { room: self, ticket };
        loop {
            // Before the look, so that no change is missed.
            let changed = self.changed.notified();
            if self.queue.borrow().front() == Some(&ticket) && self.has_room(parallel) {
                break;
            }
            changed.await;
        }
        self.queue.borrow_mut().pop_front();
        let mut running = self.running.borrow_mut();
        running.push(InRoom {
            ticket,
            job,
            parallel,
        });
        let jobs: BTreeSet<usize> = running.iter().map(|one| one.job).collect();
        if jobs.len() > 1 {
            self.beside_others.borrow_mut().extend(jobs);
        }
        drop(running);
        // The next in the queue may fit too.
        self.changed.notify_waiters();
        place
    }

    fn has_room(&self, parallel: u32) -> bool {
        let running = self.running.borrow();
        let all = running.iter().map(|one| one.parallel).chain([parallel]);
        let most = all.min().unwrap_or(1).max(1);
        running.len() < most as usize
    }

    /// Whether a canary of the job ran beside one of another.
    pub(crate) fn had_others_beside(&self, job: usize) -> bool {
        self.beside_others.borrow().contains(&job)
    }
}

impl Drop for MachinePlace<'_> {
    fn drop(&mut self) {
        let is_other = |ticket: u64| ticket != self.ticket;
        self.room.queue.borrow_mut().retain(|one| is_other(*one));
        self.room
            .running
            .borrow_mut()
            .retain(|one| is_other(one.ticket));
        self.room.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn as_many_run_as_each_job_at_work_allows() {
        let room = MachineRoom::default();
        let first = room.enter(0, 2).await;
        let second = room.enter(1, 3).await;
        let mut third = Box::pin(room.enter(1, 3));
        // The first job wants no more than two.
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        let third = third.await;
        // A canary that must run alone waits until the room is empty. Later ones wait until it has ended.
        let mut alone = Box::pin(room.enter(2, 1));
        assert!(alone.as_mut().now_or_never().is_none());
        let mut later = Box::pin(room.enter(0, 3));
        drop(second);
        assert!(alone.as_mut().now_or_never().is_none());
        assert!(later.as_mut().now_or_never().is_none());
        drop(third);
        let alone = alone.await;
        assert!(later.as_mut().now_or_never().is_none());
        drop(alone);
        drop(later.await);
        assert!(room.had_others_beside(0) && room.had_others_beside(1));
        assert!(!room.had_others_beside(2));
    }

    #[tokio::test]
    async fn who_gives_up_waiting_keeps_nobody_waiting() {
        let room = MachineRoom::default();
        let first = room.enter(0, 2).await;
        let mut waiting = Box::pin(room.enter(1, 1));
        assert!(waiting.as_mut().now_or_never().is_none());
        let mut behind = Box::pin(room.enter(0, 2));
        assert!(behind.as_mut().now_or_never().is_none());
        drop(waiting);
        let behind = behind.await;
        assert!(!room.had_others_beside(0));
        drop((first, behind));
    }
}
