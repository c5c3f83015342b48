//! Slots on this machine, which the canaries of all local jobs of a run share.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use tokio::sync::Notify;

/// The canaries that run on this machine, and those that wait for it.
#[derive(Debug, Default)]
pub(crate) struct HostSlots {
    used: RefCell<UsedSlots>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct UsedSlots {
    running: Vec<RunningSlot>,
    /// Who waits, in the order of coming.
    queue: VecDeque<u64>,
    next_ticket: u64,
    /// Jobs, by their place, of which a canary ran beside one of another job.
    beside_others: BTreeSet<usize>,
}

/// A canary that runs.
#[derive(Debug, Clone, Copy)]
struct RunningSlot {
    ticket: u64,
    job: usize,
    /// The `canary.parallel` of its job.
    parallel: u32,
}

/// A canary's place on the machine or in the queue, until it is dropped.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub(crate) struct HostSlot<'a> {
    slots: &'a HostSlots,
    ticket: u64,
}

impl HostSlots {
    /// Waits until a canary of a job, by its place in the run, may run beside those that do: fewer than `parallel`, its own job's and
    /// that of each job at work. Who comes first is first.
    pub(crate) async fn enter(&self, job: usize, parallel: u32) -> HostSlot<'_> {
        let ticket = self.used.borrow_mut().wait();
        let slot = HostSlot {
            slots: self,
            ticket,
        };
        loop {
            // Before the look, so that no change is missed.
            let changed = self.changed.notified();
            if self.used.borrow_mut().try_enter(ticket, job, parallel) {
                // The next in the queue may fit too.
                self.changed.notify_waiters();
                return slot;
            }
            changed.await;
        }
    }

    /// Whether a canary of the job ran beside one of another.
    pub(crate) fn had_others_beside(&self, job: usize) -> bool {
        self.used.borrow().beside_others.contains(&job)
    }
}

impl UsedSlots {
    fn wait(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.queue.push_back(ticket);
        ticket
    }

    fn try_enter(&mut self, ticket: u64, job: usize, parallel: u32) -> bool {
        let all = self.running.iter().map(|one| one.parallel);
        let most = all.chain([parallel]).min().unwrap_or(1).max(1);
        if self.queue.front() != Some(&ticket) || self.running.len() >= most as usize {
            return false;
        }
        self.queue.pop_front();
        self.running.push(RunningSlot {
            ticket,
            job,
            parallel,
        });
        let jobs: BTreeSet<usize> = self.running.iter().map(|one| one.job).collect();
        if jobs.len() > 1 {
            self.beside_others.extend(jobs);
        }
        true
    }
}

impl Drop for HostSlot<'_> {
    fn drop(&mut self) {
        let mut used = self.slots.used.borrow_mut();
        used.running.retain(|one| one.ticket != self.ticket);
        used.queue.retain(|ticket| *ticket != self.ticket);
        drop(used);
        self.slots.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn as_many_run_as_each_job_at_work_allows() {
        let slots = HostSlots::default();
        let first = slots.enter(0, 2).await;
        let second = slots.enter(1, 3).await;
        let mut third = Box::pin(slots.enter(1, 3));
        // The first job wants no more than two.
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        let third = third.await;
        // A canary that must run alone waits until the room is empty. Later ones wait until it has ended.
        let mut alone = Box::pin(slots.enter(2, 1));
        assert!(alone.as_mut().now_or_never().is_none());
        let mut later = Box::pin(slots.enter(0, 3));
        drop(second);
        assert!(alone.as_mut().now_or_never().is_none());
        assert!(later.as_mut().now_or_never().is_none());
        drop(third);
        let alone = alone.await;
        assert!(later.as_mut().now_or_never().is_none());
        drop(alone);
        drop(later.await);
        assert!(slots.had_others_beside(0) && slots.had_others_beside(1));
        assert!(!slots.had_others_beside(2));
    }

    #[tokio::test]
    async fn who_gives_up_waiting_keeps_nobody_waiting() {
        let slots = HostSlots::default();
        let first = slots.enter(0, 2).await;
        let mut waiting = Box::pin(slots.enter(1, 1));
        assert!(waiting.as_mut().now_or_never().is_none());
        let mut behind = Box::pin(slots.enter(0, 2));
        assert!(behind.as_mut().now_or_never().is_none());
        drop(waiting);
        let behind = behind.await;
        assert!(!slots.had_others_beside(0));
        drop((first, behind));
    }
}
