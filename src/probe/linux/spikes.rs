//! An upper bound of peak memory that covers spikes between two samples.
//!
//! The kernel keeps the highest resident set of every process: `VmHWM` while it lives, `ru_maxrss` once it was waited for.
//! When that has risen since the last sample, the tree held at most what it held without that process, and the process's
//! highest. It is a bound for one process spiking at a time, and loose by the mapped files, which both numbers contain.

use std::collections::HashMap;

/// A unique key of a process: its number and its start.
pub(super) type ProcessKey = (i32, u64);

/// One process in one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Holding {
    pub(super) process: ProcessKey,
    /// Its part of the tree's level, in bytes.
    pub(super) level: f64,
    /// `VmHWM`, in bytes.
    pub(super) high_water: f64,
}

#[derive(Default)]
pub(super) struct SpikeBound {
    previous: HashMap<ProcessKey, Holding>,
    previous_level: f64,
    /// The highest known resident set of any process.
    highest_known: f64,
    bound: f64,
}

impl SpikeBound {
    /// Takes one sample: the tree's level, the processes' parts of it, and `ru_maxrss` of the children waited for, in bytes.
    pub(super) fn observe(&mut self, level: f64, holdings: &[Holding], largest_reaped: f64) {
        for holding in holdings {
            let before = self.previous.get(&holding.process);
            if before.is_some_and(|before| before.high_water >= holding.high_water) {
                continue;
            }
            let others_before = self.previous_level - before.map_or(0.0, |before| before.level);
            let others = others_before.max(level - holding.level).max(0.0);
            self.bound = self.bound.max(others + holding.high_water);
        }
        if largest_reaped > self.highest_known {
            // A process spiked and ended: one of the last sample, or one that was never sampled.
            let left = self
                .previous
                .values()
                .filter(|before| !holdings.iter().any(|now| now.process == before.process))
                .map(|before| before.level)
                .fold(0.0, f64::max);
            self.bound = self.bound.max(self.previous_level - left + largest_reaped);
        }
        self.highest_known = holdings
            .iter()
            .map(|holding| holding.high_water)
            .fold(self.highest_known.max(largest_reaped), f64::max);
        self.previous.clear();
        self.previous
            .extend(holdings.iter().map(|holding| (holding.process, *holding)));
        self.previous_level = level;
        self.bound = self.bound.max(level);
    }

    /// In bytes.
    pub(super) fn bound(&self) -> f64 {
        self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(pid: i32, level: f64, high_water: f64) -> Holding {
        Holding {
            process: (pid, 0),
            level,
            high_water,
        }
    }

    /// Each sample: the level, the processes with their own levels and highest, what the largest that ended had, and the bound then.
    #[test]
    fn a_spike_is_added_to_what_the_others_held() {
        let one = |high_water| holding(1, 100.0, high_water);
        for samples in [
            &[
                (150.0, &[one(105.0), holding(2, 50.0, 50.0)][..], 0.0, 155.0),
                // Process 1 went up to 300 and came back.
                (150.0, &[one(300.0), holding(2, 50.0, 50.0)], 0.0, 350.0),
                // That spike is over: what process 2 does later is not added to it.
                (250.0, &[one(300.0), holding(2, 150.0, 150.0)], 0.0, 350.0),
            ][..],
            // Just before its end.
            &[
                (100.0, &[one(100.0)][..], 0.0, 100.0),
                (0.0, &[], 180.0, 180.0),
            ],
            &[
                (10.0, &[holding(1, 10.0, 10.0)][..], 0.0, 10.0),
                // One that no sample saw.
                (10.0, &[holding(1, 10.0, 10.0)], 400.0, 410.0),
                // The same number again is the same process.
                (90.0, &[holding(1, 90.0, 90.0)], 400.0, 410.0),
            ],
        ] {
            let mut spikes = SpikeBound::default();
            for (level, holdings, largest_reaped, bound) in samples {
                spikes.observe(*level, holdings, *largest_reaped);
                assert_eq!(spikes.bound(), *bound, "{samples:?}");
            }
        }
    }
}
