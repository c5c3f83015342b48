//! Room in the quotas, which all jobs of a run share: a canary for which this run itself has left no room waits for its turn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::instance::{InstanceConfiguration, InstanceType};

/// The room that training jobs of this run leave of the quotas that are known.
#[derive(Debug, Default)]
pub(super) struct QuotaRoom(RefCell<BTreeMap<InstanceType, Arc<Semaphore>>>);

/// Machines that one training job uses, until it is dropped.
#[derive(Debug, Default)]
#[must_use = "the room is free again when this is dropped"]
pub(super) struct UsedRoom(Vec<OwnedSemaphorePermit>);

/// A quota that has too little room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FullQuota {
    pub(super) kind: InstanceType,
    pub(super) limit: u32,
    /// The machines that this run uses.
    pub(super) used: u32,
}

impl QuotaRoom {
    /// Waits until the quotas of all types have room for the machines of a configuration. Who comes first is first; types are taken
    /// in their order, so that two who need the same never wait for each other. `waits` hears of each that is full.
    pub(super) async fn enter(
        &self,
        instance: &InstanceConfiguration,
        limits: &BTreeMap<InstanceType, u32>,
        mut waits: impl FnMut(&FullQuota),
    ) -> UsedRoom {
        let mut room = UsedRoom::default();
        for (free, count, full) in self.quotas(instance, limits) {
            if let Some(full) = full {
                waits(&full);
            }
            room.0.extend(free.acquire_many_owned(count).await);
        }
        room
    }

    /// The first quota without room for a configuration beside what this run uses.
    pub(super) fn full(
        &self,
        instance: &InstanceConfiguration,
        limits: &BTreeMap<InstanceType, u32>,
    ) -> Option<FullQuota> {
        let mut quotas = self.quotas(instance, limits).into_iter();
        quotas.find_map(|(_, _, full)| full)
    }

    /// Counts the machines of a training job that is there, as far as there is room for it.
    pub(super) fn take(
        &self,
        instance: &InstanceConfiguration,
        limits: &BTreeMap<InstanceType, u32>,
    ) -> UsedRoom {
        let quotas = self.quotas(instance, limits).into_iter();
        UsedRoom(
            quotas
                .filter_map(|(free, count, _)| free.try_acquire_many_owned(count).ok())
                .collect(),
        )
    }

    /// For each type whose quota is known: the free machines, the number that a configuration takes, and the quota where that is too
    /// many now. SageMaker is left to refuse a configuration that alone is too much for a quota.
    fn quotas(
        &self,
        instance: &InstanceConfiguration,
        limits: &BTreeMap<InstanceType, u32>,
    ) -> Vec<(Arc<Semaphore>, u32, Option<FullQuota>)> {
        let mut all = self.0.borrow_mut();
        let machines = instance.machines_by_type().into_iter();
        let known = machines.filter_map(|(kind, count)| Some((kind, count, *limits.get(kind)?)));
        let quotas = known.map(|(kind, count, limit)| {
            let new = || Arc::new(Semaphore::new(limit as usize));
            let free = all.entry(kind.clone()).or_insert_with(new).clone();
            let (left, count) = (free.available_permits(), count.min(limit));
            let full = (left < count as usize).then(|| FullQuota {
                kind: kind.clone(),
                limit,
                used: limit - u32::try_from(left).unwrap_or(0),
            });
            (free, count, full)
        });
        quotas.collect()
    }
}

impl UsedRoom {
    /// Its training job goes on when this process has ended: the room is never free again.
    pub(super) fn keep(self) {
        self.0.into_iter().for_each(OwnedSemaphorePermit::forget);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn of(configuration: &str) -> InstanceConfiguration {
        configuration.parse().unwrap()
    }

    fn limits(limits: &[(&str, u32)]) -> BTreeMap<InstanceType, u32> {
        let limits = limits.iter();
        limits
            .map(|(kind, limit)| (kind.parse().unwrap(), *limit))
            .collect()
    }

    fn silent(full: &FullQuota) {
        panic!("{full:?}")
    }

    fn deaf(_: &FullQuota) {}

    #[tokio::test]
    async fn who_comes_first_is_first_and_who_gives_up_keeps_nobody_waiting() {
        let room = QuotaRoom::default();
        let four = limits(&[("ml.m5.large", 4)]);
        let (three, two, one) = (
            of("3x ml.m5.large"),
            of("2x ml.m5.large"),
            of("ml.m5.large"),
        );
        let first = room.enter(&three, &four, silent).await;
        let mut heard = Vec::new();
        let mut second = Box::pin(room.enter(&two, &four, |full| heard.push(full.used)));
        assert!(second.as_mut().now_or_never().is_none());
        // There is room for one machine, but somebody waits already.
        let mut third = Box::pin(room.enter(&one, &four, deaf));
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        drop(third.await);
        assert_eq!(heard, [3]);
        assert_eq!(room.full(&two, &four).unwrap().used, 3);
        drop(first);
        assert_eq!(room.full(&two, &four), None);
    }

    #[tokio::test]
    async fn other_types_and_unknown_quotas_keep_nobody_waiting() {
        let room = QuotaRoom::default();
        let known = limits(&[("ml.m5.large", 1), ("ml.c5.large", 1), ("ml.p3.2xlarge", 2)]);
        let _all = [
            room.enter(&of("ml.m5.large"), &known, silent).await,
            room.enter(&of("ml.c5.large"), &known, silent).await,
            room.enter(&of("ml.m5.large"), &limits(&[]), silent).await,
            // Too much for the quota alone.
            room.enter(&of("4x ml.p3.2xlarge"), &known, silent).await,
            // It is there already.
            room.take(&of("ml.m5.large"), &known),
        ];
    }

    #[tokio::test]
    async fn groups_wait_for_room_of_every_type() {
        let room = QuotaRoom::default();
        let quotas = limits(&[("ml.c5.large", 2), ("ml.p3.2xlarge", 1)]);
        let groups = of("data: 1x ml.c5.large + more: 1x ml.c5.large + dnn: 1x ml.p3.2xlarge");
        let first = room.enter(&groups, &quotas, silent).await;
        let mut second = Box::pin(room.enter(&groups, &quotas, deaf));
        assert!(second.as_mut().now_or_never().is_none());
        let one_c5 = of("ml.c5.large");
        let mut third = Box::pin(room.enter(&one_c5, &quotas, deaf));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        // Who came later waits.
        assert!(third.as_mut().now_or_never().is_none());
        drop(second.await);
        drop(third.await);
        assert_eq!(room.full(&groups, &quotas), None);
    }
}
