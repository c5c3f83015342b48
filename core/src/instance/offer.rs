//! What is bought for a job: a configuration with what each of its machines has and costs.

use super::{Capacity, InstanceConfiguration, InstanceType, Price, PriceKind};
use crate::grammar::distinct;
use crate::metric::MemoryOf;
use crate::units::{Bytes, Seconds, Usd, UsdPerHour};

/// A configuration and what is known of its members. What is asked of the whole, its cost above all, is asked here, so
/// that groups of several types are answered as one type is.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub configuration: InstanceConfiguration,
    /// One for each group of machines, in the order of the configuration; one where all machines are of one type.
    pub members: Vec<Member>,
    /// What a machine without a price counts against the limits of canaries. It is no cost, and no figure shows it.
    pub stand_in: Option<UsdPerHour>,
}

/// Equal machines of a configuration. Capacity and price are those of one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub instance_type: InstanceType,
    pub count: u32,
    /// Absent for an unknown machine.
    pub capacity: Option<Capacity>,
    pub price: Option<Price>,
}

/// Offers for configurations as the caller knows them.
pub type OfferOf<'a> = &'a dyn Fn(&InstanceConfiguration) -> Offer;

/// What all machines of a configuration cost for a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostOfASecond {
    /// Above 0 and finite.
    pub usd: f64,
    /// Whether the price of a member is an estimate.
    pub is_estimate: bool,
}

/// The configuration that has no cost, or the types of its groups that have none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no price for {0}")]
pub struct NoCost(String);

impl Offer {
    /// With the capacity and the price of each type.
    pub fn of(
        configuration: &InstanceConfiguration,
        capacity_of: &dyn Fn(&InstanceType) -> Option<Capacity>,
        price_of: &dyn Fn(&InstanceType) -> Option<Price>,
    ) -> Self {
        let members = configuration.members().into_iter();
        Self {
            configuration: configuration.clone(),
            members: members
                .map(|(kind, count)| Member {
                    instance_type: kind.clone(),
                    count,
                    capacity: capacity_of(kind),
                    price: price_of(kind),
                })
                .collect(),
            stand_in: None,
        }
    }

    /// Of machines without known capacity and price.
    pub fn unknown(configuration: &InstanceConfiguration) -> Self {
        Self::of(configuration, &|_| None, &|_| None)
    }

    /// The one member, where all machines are of one type.
    fn only(&self) -> Option<&Member> {
        match self.members.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Of one machine, where all are of one type; what groups of several have is no capacity of one.
    pub fn capacity(&self) -> Option<&Capacity> {
        self.only()?.capacity.as_ref()
    }

    /// Of one machine for one hour, where all are of one type.
    pub fn price(&self) -> Option<&Price> {
        self.only()?.price.as_ref()
    }

    /// The memory of one machine or of one GPU, where it is the same on all that have one.
    pub fn memory_of_each(&self, of: MemoryOf) -> Option<Bytes> {
        let capacities = self.members.iter().map(|member| member.capacity.as_ref());
        let known: Vec<&Capacity> = capacities.collect::<Option<_>>()?;
        let mut having = known
            .into_iter()
            .filter(|one| of == MemoryOf::Machine || one.gpus > 0);
        let first = having.next()?.memory_of(of)?;
        having
            .all(|other| other.memory_of(of) == Some(first))
            .then_some(first)
    }

    /// Whether a machine is known to have a GPU.
    pub fn has_gpu(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|member| member.capacity.as_ref().is_some_and(|one| one.gpus > 0))
    }

    /// Whether no machine has a GPU; false where a machine is not known.
    pub fn has_no_gpu(&self) -> bool {
        let mut members = self.members.iter();
        members.all(|member| member.capacity.as_ref().is_some_and(|one| one.gpus == 0))
    }

    /// With this capacity, if all machines are of one type without a known capacity.
    pub fn or_capacity(mut self, capacity: impl FnOnce() -> Option<Capacity>) -> Self {
        if let [only] = self.members.as_mut_slice() {
            only.capacity = only.capacity.take().or_else(capacity);
        }
        self
    }

    /// With this price, where all machines are of one type without any.
    pub fn or_price(mut self, price: impl FnOnce() -> Option<Price>) -> Self {
        if let [only] = self.members.as_mut_slice() {
            only.price = only.price.take().or_else(price);
        }
        self
    }

    /// As a job on spot capacity buys it: at the spot price where one is known. Instance groups are on demand.
    pub fn on_spot(mut self, spot: impl FnOnce(&InstanceType) -> Option<UsdPerHour>) -> Self {
        if let [only] = self.members.as_mut_slice() {
            match (spot(&only.instance_type), &mut only.price) {
                (Some(spot), on_demand) => {
                    *on_demand = Some(Price {
                        kind: PriceKind::Spot,
                        on_demand_usd_per_hour: on_demand.as_ref().map(|price| price.usd_per_hour),
                        ..Price::from_spec(spot)
                    });
                }
                (None, Some(on_demand)) => on_demand.kind = PriceKind::OnDemandForSpot,
                (None, None) => {}
            }
        }
        self
    }

    /// The configuration where it has one type without a price, else the types that have none; `None` where all have one.
    pub fn unpriced(&self) -> Option<String> {
        let missing = self.members.iter().filter(|member| member.price.is_none());
        let names = distinct(missing.map(|member| member.instance_type.name()));
        match (names.as_slice(), self.only()) {
            ([], _) => None,
            (_, Some(_)) => Some(self.configuration.to_string()),
            (names, None) => Some(names.join(" and ")),
        }
    }

    /// What all machines cost for so long; `None` where a price is missing.
    pub fn cost(&self, time: Seconds) -> Option<Usd> {
        self.sum(time, None)
    }

    /// What counts against the limits of canaries for so long: the cost, to which a machine without a price adds its stand-in.
    pub fn charge(&self, time: Seconds) -> Option<Usd> {
        self.sum(time, self.stand_in)
    }

    fn sum(&self, time: Seconds, stand_in: Option<UsdPerHour>) -> Option<Usd> {
        let cost = |member: &Member| {
            let price = member.price.as_ref().map(|price| price.usd_per_hour);
            Some(price.or(stand_in)?.cost(time, member.count))
        };
        self.members.iter().map(cost).sum()
    }

    /// Whether canaries count by their machine time, since a price is missing.
    pub fn counts_time(&self) -> bool {
        self.stand_in.is_some() && self.unpriced().is_some()
    }

    /// What counts so much against a limit: `1.20 USD`, `30m of machine time`, or of groups of which only some have a price both.
    pub fn counted(&self, charge: Usd) -> String {
        let Some(UsdPerHour(of_an_hour)) = self.stand_in.filter(|_| self.counts_time()) else {
            return charge.to_string();
        };
        let Usd(of_a_second) = self.charge(Seconds(1.0)).unwrap_or_default();
        let money = self.sum(Seconds(charge.0 / of_a_second), Some(UsdPerHour(0.0)));
        let money = money.unwrap_or_default();
        let time = Seconds(3600.0 * (charge.0 - money.0) / of_an_hour);
        let beside = (money.0 > 0.0).then(|| format!(" and {money}"));
        format!("{time} of machine time{}", beside.unwrap_or_default())
    }

    /// What all machines cost for a second.
    pub fn cost_of_a_second(&self) -> Result<CostOfASecond, NoCost> {
        let whole = || self.configuration.to_string();
        let missing = || NoCost(self.unpriced().unwrap_or_else(whole));
        let cost = self.cost(Seconds(1.0));
        let cost = cost.filter(|Usd(usd)| *usd > 0.0 && usd.is_finite());
        let Usd(usd) = cost.ok_or_else(missing)?;
        let mut prices = self.members.iter().filter_map(|it| it.price.as_ref());
        Ok(CostOfASecond {
            usd,
            is_estimate: prices.any(Price::is_estimate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{PriceEvidence, tables};

    const GROUPS: &str = "data: 2x ml.m5.large + dnn: 1x ml.p3.2xlarge";

    fn offer(configuration: &str, prices: &[(&str, f64)]) -> Offer {
        let price_of = |kind: &InstanceType| {
            let (_, usd) = prices.iter().find(|(name, _)| *name == kind.name())?;
            Some(Price::from_spec(UsdPerHour(*usd)))
        };
        Offer::of(
            &configuration.parse().unwrap(),
            &tables::capacity,
            &price_of,
        )
    }

    #[test]
    fn the_cost_of_groups_is_the_sum_over_their_machines() {
        let groups = offer(GROUPS, &[("ml.m5.large", 0.1), ("ml.p3.2xlarge", 3.6)]);
        let Usd(half_an_hour) = groups.cost(Seconds(1800.0)).unwrap();
        assert!((half_an_hour - 1.9).abs() < 1e-12);
        let second = groups.cost_of_a_second().unwrap();
        assert!((second.usd * 3600.0 - 3.8).abs() < 1e-12);
        assert!(!second.is_estimate);
        assert_eq!(groups.price(), None);
    }

    #[test]
    fn one_type_costs_its_price_for_each_machine() {
        let three = offer("3x ml.m5.large", &[("ml.m5.large", 0.1)]);
        let price = UsdPerHour(0.1);
        assert_eq!(
            three.cost_of_a_second().unwrap().usd,
            price.cost(Seconds(1.0), 3).0
        );
        assert_eq!(three.price().unwrap().usd_per_hour, price);
    }

    #[test]
    fn a_missing_price_is_named() {
        let said = |offer: &Offer| offer.cost_of_a_second().unwrap_err().to_string();
        let groups = offer(GROUPS, &[("ml.m5.large", 0.1)]);
        assert_eq!(said(&groups), "no price for ml.p3.2xlarge");
        assert_eq!(groups.cost(Seconds(1.0)), None);
        assert_eq!(
            offer(GROUPS, &[]).unpriced().unwrap(),
            "ml.m5.large and ml.p3.2xlarge"
        );
        assert_eq!(
            said(&offer("3x ml.m5.large", &[])),
            "no price for 3x ml.m5.large"
        );
        assert_eq!(
            said(&offer("ml.m5.large", &[("ml.m5.large", 0.0)])),
            "no price for ml.m5.large"
        );
    }

    #[test]
    fn machine_time_that_counts_holds_no_money() {
        let mut groups = offer(GROUPS, &[("ml.p3.2xlarge", 3.6)]);
        groups.stand_in = Some(UsdPerHour(10.0));
        let charge = groups.charge(Seconds(1800.0)).unwrap();
        assert_eq!(groups.counted(charge), "1h of machine time and 1.80 USD");
    }

    #[test]
    fn an_estimate_of_one_member_makes_the_sum_an_estimate() {
        let mut groups = offer(GROUPS, &[("ml.m5.large", 0.1), ("ml.p3.2xlarge", 3.6)]);
        let price = groups.members[1].price.as_mut().unwrap();
        price.evidence = PriceEvidence::Estimate;
        assert!(groups.cost_of_a_second().unwrap().is_estimate);
    }

    #[test]
    fn groups_have_a_capacity_only_by_member() {
        let groups = offer(GROUPS, &[]);
        assert_eq!(groups.capacity(), None);
        assert_eq!(groups.memory_of_each(MemoryOf::Machine), None);
        assert!(!groups.has_no_gpu());
        assert!(offer("a: 1x ml.m5.large + b: 1x ml.c5.xlarge", &[]).has_no_gpu());
        let alike = offer("a: 1x ml.m5.large + b: 2x ml.m5.large", &[]);
        assert_eq!(
            alike.memory_of_each(MemoryOf::Machine),
            Some(Bytes(8 * Bytes::GIB))
        );
        assert!(!Offer::unknown(&GROUPS.parse().unwrap()).has_no_gpu());
        // Machines without a GPU do not count for the GPU's memory.
        let gpu = tables::capacity(&"ml.p3.2xlarge".parse().unwrap()).unwrap();
        assert_eq!(groups.memory_of_each(MemoryOf::Gpu), gpu.gpu_memory);
        assert!(groups.has_gpu());
        let unlike = offer("a: 1x ml.g5.xlarge + b: 1x ml.p3.2xlarge", &[]);
        assert!(unlike.has_gpu() && unlike.memory_of_each(MemoryOf::Gpu).is_none());
        assert_eq!(
            offer("ml.m5.large", &[]).memory_of_each(MemoryOf::Gpu),
            None
        );
    }
}
