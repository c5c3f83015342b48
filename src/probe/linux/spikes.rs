//! An upper bound of peak memory that covers spikes between two samples.
//!
//! The kernel keeps the highest resident set of every process: `VmHWM` while it lives, `ru_maxrss` once it was waited for.
//! When that has risen since the last sample, the tree held at most what it held without that process, and the process's
//! highest. It is a bound for one process spiking at a time, and loose by the mapped files, which both numbers contain.

use std::collections::HashMap;

use crate::units::Bytes;

/// A unique key of a process: its number and its start.
pub(super) type ProcessKey = (i32, u64);

/// One process in one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Holding {
    pub(super) process: ProcessKey,
    /// What it holds that cannot be reclaimed: its part of the tree's level.
    pub(super) level: Bytes,
    /// `VmHWM`.
    pub(super) high_water: Bytes,
}

#[derive(Default)]
pub(super) struct SpikeBound {
    previous: HashMap<ProcessKey, Holding>,
    previous_level: Bytes,
    /// The highest known resident set of any process.
    highest_known: Bytes,
    pub(super) bound: Bytes,
}

impl SpikeBound {
    /// Takes one sample: the tree's level, the processes' parts of it, and `ru_maxrss` of the children waited for.
    pub(super) fn observe(&mut self, level: Bytes, holdings: &[Holding], largest_reaped: Bytes) {
        let less = |all: Bytes, part: Bytes| Bytes(all.0.saturating_sub(part.0));
        for holding in holdings {
            let before = self.previous.get(&holding.process);
            if before.is_some_and(|before| before.high_water >= holding.high_water) {
                continue;
            }
            let part_before = before.map_or(Bytes(0), |before| before.level);
            let others_before = less(self.previous_level, part_before);
            let others = others_before.max(less(level, holding.level));
            self.bound = self.bound.max(others + holding.high_water);
        }
        if largest_reaped > self.highest_known {
            // A process spiked and ended: one of the last sample, or one that was never sampled.
            let is_there =
                |before: &Holding| holdings.iter().any(|now| now.process == before.process);
            let ended = self.previous.values().filter(|before| !is_there(before));
            let left = ended.map(|before| before.level).max().unwrap_or_default();
            self.bound = (self.bound).max(less(self.previous_level, left) + largest_reaped);
        }
        let known = holdings.iter().map(|holding| holding.high_water);
        self.highest_known = known.fold(self.highest_known.max(largest_reaped), Bytes::max);
        self.previous = (holdings.iter().map(|holding| (holding.process, *holding))).collect();
        self.previous_level = level;
        self.bound = self.bound.max(level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(pid: i32, level: u64, high_water: u64) -> Holding {
        Holding {
            process: (pid, 0),
            level: Bytes(level),
            high_water: Bytes(high_water),
        }
    }

    /// Each sample: the level, the processes with their own levels and highest, what the largest that ended had, and the bound then.
    #[test]
    fn a_spike_is_added_to_what_the_others_held() {
        let one = |high_water| holding(1, 100, high_water);
        for samples in [
            &[
                (150, &[one(105), holding(2, 50, 50)][..], 0, 155),
                // Process 1 went up to 300 and came back.
                (150, &[one(300), holding(2, 50, 50)], 0, 350),
                // That spike is over: what process 2 does later is not added to it.
                (250, &[one(300), holding(2, 150, 150)], 0, 350),
            ][..],
            // Just before its end.
            &[(100, &[one(100)][..], 0, 100), (0, &[], 180, 180)],
            &[
                (10, &[holding(1, 10, 10)][..], 0, 10),
                // One that no sample saw.
                (10, &[holding(1, 10, 10)], 400, 410),
                // The same number again is the same process.
                (90, &[holding(1, 90, 90)], 400, 410),
            ],
        ] {
            let mut spikes = SpikeBound::default();
            for (level, holdings, largest_reaped, bound) in samples {
                spikes.observe(Bytes(*level), holdings, Bytes(*largest_reaped));
                assert_eq!(spikes.bound, Bytes(*bound), "{samples:?}");
            }
        }
    }
}
