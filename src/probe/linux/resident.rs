//! Memory of the tree without a cgroup: the sum over its processes, corrected for shared pages.
//!
//! Forked data loaders share their parent's pages until they write to them, so the sum of resident sets counts such a page
//! many times. The proportional set size (`/proc/PID/smaps_rollup`) counts it once in all, but reading it walks every page
//! table. So it is read rarely, and its ratio to the plain sum is applied to the plain sums that follow.

use std::time::Duration;

/// The ratio is stale when the plain sum has changed by this much since it was taken, ...
const STALE_CHANGE: f64 = 0.1;
/// ... or after this time.
const STALE_AGE: Duration = Duration::from_secs(10);
/// After a reading the next one waits for this many times what it cost: 0.4% of the time is spent on them.
const REST_AFTER_READING: u32 = 250;

/// Proportional sizes, as read at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proportional {
    pub(super) bytes: f64,
    /// The plain sizes of the same processes, without those that ended before they were read.
    pub(super) plain_bytes: f64,
    /// The CPU time of the reading; its wall time would depend on the load of the host.
    pub(super) cost: Duration,
}

/// What the tree holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MemoryLevel {
    Known(f64),
    /// From the ratio of an earlier tree; shared pages may count more than once.
    Estimated(f64),
}

pub(super) struct ResidentSum {
    /// Proportional to plain, 0 to 1.
    ratio: f64,
    /// The plain sum when the ratio was taken, and when that was.
    taken: Option<(f64, Duration)>,
    /// The time from which on the next reading is affordable.
    rested: Duration,
    peak: f64,
    /// The highest plain sum without a ratio of its own.
    waiting: f64,
}

impl ResidentSum {
    pub(super) fn new() -> Self {
        Self {
            ratio: 1.0,
            taken: None,
            rested: Duration::ZERO,
            peak: 0.0,
            waiting: 0.0,
        }
    }

    /// Takes the plain sum of one sample, in bytes, and returns its level, or an estimate if the ratio is stale and a new
    /// one would cost too much.
    pub(super) fn observe(
        &mut self,
        plain: f64,
        processes: usize,
        elapsed: Duration,
        read_proportional: impl FnOnce() -> Option<Proportional>,
    ) -> MemoryLevel {
        if processes < 2 {
            // A single process shares with no other.
            self.ratio = 1.0;
            self.taken = None;
            self.peak = self.peak.max(plain);
            return MemoryLevel::Known(plain);
        }
        let changed = self.taken.is_none_or(|(then, _)| {
            plain > then * (1.0 + STALE_CHANGE) || plain < then * (1.0 - STALE_CHANGE)
        });
        let aged = self
            .taken
            .is_some_and(|(_, when)| elapsed.saturating_sub(when) >= STALE_AGE);
        if (changed || aged)
            && elapsed >= self.rested
            && let Some(reading) = read_proportional()
        {
            self.take(plain, elapsed, reading);
        } else if changed {
            self.waiting = self.waiting.max(plain);
            return MemoryLevel::Estimated(plain * self.ratio);
        }
        let level = plain * self.ratio;
        self.peak = self.peak.max(level);
        MemoryLevel::Known(level)
    }

    fn take(&mut self, plain: f64, elapsed: Duration, reading: Proportional) {
        self.rested = elapsed + reading.cost * REST_AFTER_READING;
        if reading.plain_bytes > 0.0 {
            self.ratio = (reading.bytes / reading.plain_bytes).clamp(0.0, 1.0);
        }
        self.taken = Some((plain, elapsed));
        self.peak = self.peak.max(self.waiting * self.ratio);
        self.waiting = 0.0;
    }

    /// The highest level, in bytes; an estimate if the highest sample has no ratio of its own.
    pub(super) fn peak(&self) -> MemoryLevel {
        let waiting = self.waiting * self.ratio;
        if waiting > self.peak {
            MemoryLevel::Estimated(waiting)
        } else {
            MemoryLevel::Known(self.peak)
        }
    }

    /// The highest uncorrected sum, in bytes: an upper bound of the peak.
    pub(super) fn uncorrected(&self) -> f64 {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryLevel::{Estimated, Known};
    use super::*;

    const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn reading(bytes: f64, plain_bytes: f64) -> impl FnOnce() -> Option<Proportional> {
        move || {
            Some(Proportional {
                bytes,
                plain_bytes,
                cost: Duration::from_millis(2),
            })
        }
    }

    fn unread() -> Option<Proportional> {
        panic!("proportional sizes were read needlessly")
    }

    #[test]
    fn forked_loaders_do_not_count_their_parents_pages_again() {
        let mut sum = ResidentSum::new();
        // In GiB: what is seen at a time, what is read of it, if anything, and the level.
        for (seconds, plain, processes, read, level) in [
            (0.5, 1.0, 1, None, 1.0),
            // Eight loaders are forked, each with a little of its own.
            (20.0, 9.0, 9, Some(1.125), 1.125),
            // The ratio holds for sums alike, without another reading.
            (20.5, 9.6, 9, None, 1.2),
            // They have written to their pages: shared no more.
            (30.5, 9.6, 9, Some(9.6), 9.6),
            // The loaders end.
            (31.0, 1.0, 1, None, 1.0),
        ] {
            let known = sum.observe(plain * GIB, processes, at(seconds), || match read {
                Some(read) => reading(read * GIB, plain * GIB)(),
                None => unread(),
            });
            assert_eq!(known, Known(level * GIB), "at {seconds}");
        }
        assert_eq!(sum.peak(), Known(9.6 * GIB));
    }

    #[test]
    fn a_peak_that_could_not_be_corrected_at_once_is_corrected_later() {
        let mut sum = ResidentSum::new();
        sum.observe(GIB, 9, at(0.1), reading(GIB, GIB));
        // Half a second has not passed since.
        assert_eq!(
            sum.observe(20.0 * GIB, 9, at(0.5), unread),
            Estimated(20.0 * GIB)
        );
        assert_eq!(sum.peak(), Estimated(20.0 * GIB));
        assert_eq!(sum.uncorrected(), 20.0 * GIB);
        // One of the nine ended before its proportional size was read.
        sum.observe(18.0 * GIB, 9, at(60.0), reading(4.0 * GIB, 16.0 * GIB));
        assert_eq!(sum.peak(), Known(5.0 * GIB));
        assert_eq!(sum.uncorrected(), 0.0);
    }

    #[test]
    fn reading_stays_within_its_share_of_the_time() {
        let mut sum = ResidentSum::new();
        let mut readings = 0_u32;
        // A tree whose size jumps at every sample, for 100 seconds.
        for step in 1..=200_u32 {
            let plain = if step % 2 == 0 { GIB } else { 2.0 * GIB };
            sum.observe(plain, 4, at(0.5) * step, || {
                readings += 1;
                Some(Proportional {
                    bytes: plain,
                    plain_bytes: plain,
                    cost: Duration::from_millis(20),
                })
            });
        }
        assert!((10..=23).contains(&readings), "{readings}");
    }
}
