//! The smallest machine whose memory is enough, among those that are listed.

use super::CHANCE_ROUNDING;
use crate::forecast::Predictive;
use crate::instance::{Capacity, InstanceType, Price};
use crate::units::{Bytes, Fraction};

/// A listed machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub kind: InstanceType,
    pub capacity: Capacity,
    /// Of one machine for one hour, where it is known.
    pub price: Option<Price>,
}

/// A machine that is large enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub kind: InstanceType,
    pub memory: Bytes,
    /// P(peak memory is above what may be used of the machine's), at most 1 - certainty.
    pub chance_over: f64,
}

/// Of the candidates on which `peak_bytes` stay below the `allowed` share of the machine's memory with `certainty`, the one with least memory; of
/// equal ones that with fewest vCPUs, then the cheapest. It has `gpus` or more, and none where `gpus` is 0.
pub fn smallest_fit(
    peak_bytes: &Predictive,
    certainty: Fraction,
    gpus: u32,
    allowed: Fraction,
    candidates: impl IntoIterator<Item = Candidate>,
) -> Option<Fit> {
    let usd_per_hour = |candidate: &Candidate| match &candidate.price {
        Some(price) => price.usd_per_hour.0,
        None => f64::INFINITY,
    };
    candidates
        .into_iter()
        .filter(|candidate| match gpus {
            0 => candidate.capacity.gpus == 0,
            gpus => candidate.capacity.gpus >= gpus,
        })
        .map(|candidate| {
            let chance_over =
                peak_bytes.chance_above(candidate.capacity.memory.as_f64() * allowed.0);
            (candidate, chance_over)
        })
        .filter(|(_, chance)| *chance <= 1.0 - certainty.0 + CHANCE_ROUNDING)
        .min_by(|(a, _), (b, _)| {
            (a.capacity.memory.cmp(&b.capacity.memory))
                .then(a.capacity.vcpus.cmp(&b.capacity.vcpus))
                .then(usd_per_hour(a).total_cmp(&usd_per_hour(b)))
                .then(a.kind.cmp(&b.kind))
        })
        .map(|(candidate, chance_over)| Fit {
            kind: candidate.kind,
            memory: candidate.capacity.memory,
            chance_over,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::UsdPerHour;

    fn machine(name: &str, vcpus: u32, gibibytes: u64, gpus: u32, price: Option<f64>) -> Candidate {
        Candidate {
            kind: name.parse().unwrap(),
            capacity: Capacity {
                vcpus,
                memory: Bytes(gibibytes * Bytes::GIB),
                gpus,
                gpu_memory: None,
            },
            price: price.map(|usd| Price::from_spec(UsdPerHour(usd))),
        }
    }

    /// Peak memory about `gibibytes`, 2 % of noise.
    fn smallest(gibibytes: f64, gpus: u32) -> Option<String> {
        let list = [
            machine("ml.m5.8xlarge", 32, 128, 0, Some(1.8)),
            machine("ml.r5.4xlarge", 16, 128, 0, Some(1.2)),
            machine("ml.r6i.4xlarge", 16, 128, 0, None),
            machine("ml.r7i.4xlarge", 16, 128, 0, Some(1.1)),
            machine("ml.p3.2xlarge", 8, 61, 1, Some(3.8)),
            machine("ml.p3.8xlarge", 32, 244, 4, Some(14.7)),
            machine("ml.m5.4xlarge", 16, 64, 0, Some(0.9)),
        ];
        let peak = Predictive::log_student_t(gibibytes * Bytes(Bytes::GIB).as_f64(), 0.02, 1e9);
        smallest_fit(&peak, Fraction(0.95), gpus, Fraction(1.0), list)
            .map(|fit| fit.kind.to_string())
    }

    #[test]
    fn least_memory_then_fewest_processors_then_the_price() {
        assert_eq!(smallest(50.0, 0).as_deref(), Some("ml.m5.4xlarge"));
        assert_eq!(smallest(80.0, 0).as_deref(), Some("ml.r7i.4xlarge"));
        // The median fits, and one run in fifteen does not.
        assert_eq!(smallest(62.1, 0).as_deref(), Some("ml.r7i.4xlarge"));
        assert_eq!(smallest(200.0, 0), None);
    }

    #[test]
    fn as_many_gpus_and_none_where_none_is_used() {
        assert_eq!(smallest(50.0, 1).as_deref(), Some("ml.p3.2xlarge"));
        assert_eq!(smallest(50.0, 2).as_deref(), Some("ml.p3.8xlarge"));
        assert_eq!(smallest(50.0, 8), None);
    }

    #[test]
    fn the_chance_is_that_of_the_machine_named() {
        let peak = Predictive::log_student_t(Bytes(60 * Bytes::GIB).as_f64(), 0.05, 1e9);
        let list = [machine("ml.m5.4xlarge", 16, 64, 0, None)];
        let fit =
            |certainty| smallest_fit(&peak, Fraction(certainty), 0, Fraction(1.0), list.clone());
        // ln(64 / 60) / 0.05 = 1.291 standard deviations.
        let chance = fit(0.9).unwrap().chance_over;
        assert!((chance - 0.0984).abs() < 1e-4, "{chance}");
        assert!(fit(1.0 - chance).is_some());
        assert_eq!(fit(0.95), None);
    }

    #[test]
    fn what_a_budget_allows_of_the_memory_is_what_has_to_be_enough() {
        let peak = Predictive::log_student_t(Bytes(50 * Bytes::GIB).as_f64(), 0.02, 1e9);
        let smallest = |allowed| {
            let list = [
                machine("ml.m5.4xlarge", 16, 64, 0, None),
                machine("ml.m5.8xlarge", 32, 128, 0, None),
            ];
            let fit = smallest_fit(&peak, Fraction(0.95), 0, Fraction(allowed), list)?;
            Some(fit.kind.to_string())
        };
        // 51.2 GiB are 1.19 standard deviations above the peak, and 54.4 are 4.22.
        assert_eq!(smallest(0.85).as_deref(), Some("ml.m5.4xlarge"));
        assert_eq!(smallest(0.8).as_deref(), Some("ml.m5.8xlarge"));
        assert_eq!(smallest(0.4), None);
    }
}
