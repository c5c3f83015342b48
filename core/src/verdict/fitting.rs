//! The smallest machine whose memory is enough, among those that are listed.

use super::CHANCE_ROUNDING;
use crate::forecast::Predictive;
use crate::instance::{Capacity, InstanceType, Price};
use crate::metric::MemoryOf;
use crate::units::{Bytes, Fraction};

/// A listed machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub kind: InstanceType,
    pub capacity: Capacity,
    /// Of one machine for one hour, where it is known.
    pub price: Option<Price>,
}

/// What has to fit into the memory of a machine, or of each of its GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryNeed {
    pub of: MemoryOf,
    pub peak_bytes: Predictive,
    /// The share of the memory that may be used.
    pub allowed: Fraction,
}

impl MemoryNeed {
    /// P(the peak is above what may be used); `None` where there is no such memory.
    fn chance_over(&self, capacity: &Capacity) -> Option<f64> {
        let allowed = capacity.memory_of(self.of)?.as_f64() * self.allowed.0;
        Some(self.peak_bytes.chance_above(allowed))
    }
}

/// Of the candidates that have enough for every need with `certainty`, the one with least memory of the first; of equal ones that
/// with fewest GPUs, then with least memory, fewest vCPUs, then the cheapest. It has `gpus` or more, and none where `gpus` is 0.
///
/// With it its memory of the first need, and P(the peak of that need is above what may be used), at most 1 - certainty.
pub fn smallest_fit(
    needs: &[MemoryNeed],
    certainty: Fraction,
    gpus: u32,
    candidates: impl IntoIterator<Item = Candidate>,
) -> Option<(Candidate, Bytes, f64)> {
    let (first, others) = needs.split_first()?;
    let usd_per_hour = |candidate: &Candidate| {
        let price = candidate.price.as_ref();
        price.map_or(f64::INFINITY, |price| price.usd_per_hour.0)
    };
    let is_enough = |chance: f64| chance <= 1.0 - certainty.0 + CHANCE_ROUNDING;
    let has_gpus = |has: u32| if gpus == 0 { has == 0 } else { has >= gpus };
    let fits = |need: &MemoryNeed, of: &Capacity| need.chance_over(of).is_some_and(is_enough);
    candidates
        .into_iter()
        .filter(|candidate| has_gpus(candidate.capacity.gpus))
        .filter(|candidate| others.iter().all(|need| fits(need, &candidate.capacity)))
        .filter_map(|candidate| {
            let memory = candidate.capacity.memory_of(first.of)?;
            let chance_over = first.chance_over(&candidate.capacity)?;
            Some((candidate, memory, chance_over))
        })
        .filter(|(.., chance)| is_enough(*chance))
        .min_by(|(a, memory_of_a, _), (b, memory_of_b, _)| {
            let size = |of: &Capacity| {
                let gpus = (first.of == MemoryOf::Gpu).then_some(of.gpus);
                (gpus, of.memory, of.vcpus)
            };
            (memory_of_a.cmp(memory_of_b))
                .then(size(&a.capacity).cmp(&size(&b.capacity)))
                .then(usd_per_hour(a).total_cmp(&usd_per_hour(b)))
                .then(a.kind.cmp(&b.kind))
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

    fn need(peak_bytes: Predictive, allowed: f64) -> MemoryNeed {
        MemoryNeed {
            of: MemoryOf::Machine,
            peak_bytes,
            allowed: Fraction(allowed),
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
        smallest_fit(&[need(peak, 1.0)], Fraction(0.95), gpus, list)
            .map(|(fit, ..)| fit.kind.to_string())
    }

    #[test]
    fn least_memory_then_fewest_processors_then_the_price() {
        assert_eq!(smallest(50.0, 0).as_deref(), Some("ml.m5.4xlarge"));
        assert_eq!(smallest(80.0, 0).as_deref(), Some("ml.r7i.4xlarge"));
        // The median fits, and one run in fifteen does not.
        assert_eq!(smallest(62.1, 0).as_deref(), Some("ml.r7i.4xlarge"));
        assert_eq!(smallest(200.0, 0), None);
        // As many GPUs, and none where none is used.
        assert_eq!(smallest(50.0, 1).as_deref(), Some("ml.p3.2xlarge"));
        assert_eq!(smallest(50.0, 2).as_deref(), Some("ml.p3.8xlarge"));
        assert_eq!(smallest(50.0, 8), None);
    }

    #[test]
    fn the_chance_is_that_of_the_machine_named() {
        let peak = Predictive::log_student_t(Bytes(60 * Bytes::GIB).as_f64(), 0.05, 1e9);
        let list = [machine("ml.m5.4xlarge", 16, 64, 0, None)];
        let fit = |certainty| {
            smallest_fit(
                &[need(peak.clone(), 1.0)],
                Fraction(certainty),
                0,
                list.clone(),
            )
        };
        // ln(64 / 60) / 0.05 = 1.291 standard deviations.
        let (.., chance) = fit(0.9).unwrap();
        assert!((chance - 0.0984).abs() < 1e-4, "{chance}");
        assert!(fit(1.0 - chance).is_some());
        assert_eq!(fit(0.95), None);
        // What a budget allows of the memory is what has to be enough.
        let allowed = smallest_fit(&[need(peak, 0.9)], Fraction(0.9), 0, list);
        assert_eq!(allowed, None);
    }

    #[test]
    fn each_gpu_has_to_be_large_enough_and_so_has_the_machine() {
        let with_gpus = |name: &str, gibibytes: u64, gpus: u32, of_each: u64| {
            let mut machine = machine(name, 8, gibibytes, gpus, None);
            machine.capacity.gpu_memory = Some(Bytes(of_each * Bytes::GIB));
            machine
        };
        let list = [
            // Together its GPUs have enough, and none has by itself.
            with_gpus("ml.g4dn.12xlarge", 192, 4, 15),
            with_gpus("ml.g6e.2xlarge", 64, 1, 44),
            with_gpus("ml.g6e.8xlarge", 256, 1, 44),
            with_gpus("ml.p4d.24xlarge", 1152, 8, 40),
            machine("ml.m5.8xlarge", 32, 128, 0, None),
        ];
        let about = |gibibytes: f64| {
            Predictive::log_student_t(gibibytes * Bytes(Bytes::GIB).as_f64(), 0.02, 1e9)
        };
        let gpu = |gibibytes: f64| MemoryNeed {
            of: MemoryOf::Gpu,
            ..need(about(gibibytes), 1.0)
        };
        let fit = |needs: &[MemoryNeed]| {
            let (fit, memory, _) = smallest_fit(needs, Fraction(0.95), 1, list.clone())?;
            Some((fit.kind.to_string(), memory.0 / Bytes::GIB))
        };
        let fits = |name: &str, memory| Some((name.to_owned(), memory));
        assert_eq!(fit(&[gpu(30.0)]), fits("ml.p4d.24xlarge", 40));
        assert_eq!(fit(&[gpu(41.0)]), fits("ml.g6e.2xlarge", 44));
        assert_eq!(
            fit(&[gpu(41.0), need(about(100.0), 1.0)]),
            fits("ml.g6e.8xlarge", 44)
        );
        assert_eq!(fit(&[gpu(80.0)]), None);
    }
}
