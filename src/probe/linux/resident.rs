//! Memory of the tree without a cgroup: the sum over its processes, corrected for shared pages.
//!
//! Forked data loaders share their parent's pages until they write to them, so the sum of resident sets counts such a page
//! many times. The proportional set size (`/proc/PID/smaps_rollup`) counts it once in all, but reading it walks every page
//! table. So it is read rarely, and its ratio to the plain sum is applied to the plain sums that follow.

use std::time::Duration;

use crate::units::Bytes;

/// The ratio is stale when the plain sum has changed by this much since it was taken, ...
const STALE_CHANGE: f64 = 0.1;
/// ... or after this time.
const STALE_AGE: Duration = Duration::from_secs(10);
/// After a reading the next one waits for this many times what it cost: 0.4% of the time is spent on them.
const REST_AFTER_READING: u32 = 250;

/// Proportional sizes, as read at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proportional {
    pub(super) bytes: Bytes,
    /// The plain sizes of the same processes, without those that ended before they were read.
    pub(super) plain: Bytes,
    /// The CPU time of the reading; its wall time would depend on the load of the host.
    pub(super) cost: Duration,
}

/// What the tree holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MemoryLevel {
    Known(Bytes),
    /// From the ratio of an earlier tree; shared pages may count more than once.
    Estimated(Bytes),
}

#[derive(Default)]
pub(super) struct ResidentSum {
    /// Proportional to plain, 0 to 1; absent where nothing is shared, as by a single process.
    ratio: Option<f64>,
    /// The plain sum when the ratio was taken, and when that was.
    taken: Option<(Bytes, Duration)>,
    /// The time from which on the next reading is affordable.
    rested: Duration,
    peak: Bytes,
    /// The highest plain sum without a ratio of its own, an upper bound.
    pub(super) uncorrected: Bytes,
}

impl ResidentSum {
    /// Takes the plain sum of one sample, and returns its level, or an estimate if the ratio is stale and a new one would cost too
    /// much.
    pub(super) fn observe(
        &mut self,
        plain: Bytes,
        processes: usize,
        elapsed: Duration,
        read_proportional: impl FnOnce() -> Option<Proportional>,
    ) -> MemoryLevel {
        if processes < 2 {
            // A single process shares with no other.
            self.ratio = None;
            self.taken = None;
        } else {
            let is_other = |(then, _): (Bytes, _)| is_far(plain.as_f64(), then.as_f64());
            let is_old = |(_, when): (_, Duration)| elapsed.saturating_sub(when) >= STALE_AGE;
            let changed = self.taken.is_none_or(is_other);
            let aged = self.taken.is_some_and(is_old);
            let is_due = (changed || aged) && elapsed >= self.rested;
            if let Some(reading) = is_due.then(read_proportional).flatten() {
                self.take(plain, elapsed, reading);
            } else if changed {
                self.uncorrected = self.uncorrected.max(plain);
                return MemoryLevel::Estimated(self.corrected(plain));
            }
        }
        let level = self.corrected(plain);
        self.peak = self.peak.max(level);
        MemoryLevel::Known(level)
    }

    fn corrected(&self, plain: Bytes) -> Bytes {
        Bytes::from_f64(plain.as_f64() * self.ratio.unwrap_or(1.0))
    }

    fn take(&mut self, plain: Bytes, elapsed: Duration, reading: Proportional) {
        self.rested = elapsed + reading.cost * REST_AFTER_READING;
        if reading.plain > Bytes(0) {
            let ratio = reading.bytes.as_f64() / reading.plain.as_f64();
            self.ratio = Some(ratio.clamp(0.0, 1.0));
        }
        self.taken = Some((plain, elapsed));
        self.peak = self.peak.max(self.corrected(self.uncorrected));
        self.uncorrected = Bytes(0);
    }

    /// The highest level; an estimate if the highest sample has no ratio of its own.
    pub(super) fn peak(&self) -> MemoryLevel {
        let waiting = self.corrected(self.uncorrected);
        match waiting > self.peak {
            true => MemoryLevel::Estimated(waiting),
            false => MemoryLevel::Known(self.peak),
        }
    }
}

/// Whether a plain sum has changed too much for the ratio of an earlier one.
fn is_far(now: f64, then: f64) -> bool {
    now > then * (1.0 + STALE_CHANGE) || now < then * (1.0 - STALE_CHANGE)
}

#[cfg(test)]
mod tests {
    use super::MemoryLevel::{Estimated, Known};
    use super::*;

    fn gib(count: f64) -> Bytes {
        Bytes::from_f64(count * Bytes(Bytes::GIB).as_f64())
    }

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn reading(bytes: f64, plain: f64) -> impl FnOnce() -> Option<Proportional> {
        move || {
            Some(Proportional {
                bytes: gib(bytes),
                plain: gib(plain),
                cost: Duration::from_millis(2),
            })
        }
    }

    fn unread() -> Option<Proportional> {
        panic!("proportional sizes were read needlessly")
    }

    #[test]
    fn forked_loaders_do_not_count_their_parents_pages_again() {
        let mut sum = ResidentSum::default();
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
            let known = sum.observe(gib(plain), processes, at(seconds), || match read {
                Some(read) => reading(read, plain)(),
                None => unread(),
            });
            assert_eq!(known, Known(gib(level)), "at {seconds}");
        }
        assert_eq!(sum.peak(), Known(gib(9.6)));
    }

    #[test]
    fn a_peak_that_could_not_be_corrected_at_once_is_corrected_later() {
        let mut sum = ResidentSum::default();
        sum.observe(gib(1.0), 9, at(0.1), reading(1.0, 1.0));
        // Half a second has not passed since.
        assert_eq!(
            sum.observe(gib(20.0), 9, at(0.5), unread),
            Estimated(gib(20.0))
        );
        assert_eq!(sum.peak(), Estimated(gib(20.0)));
        assert_eq!(sum.uncorrected, gib(20.0));
        // One of the nine ended before its proportional size was read.
        sum.observe(gib(18.0), 9, at(60.0), reading(4.0, 16.0));
        assert_eq!(sum.peak(), Known(gib(5.0)));
        assert_eq!(sum.uncorrected, Bytes(0));
    }

    #[test]
    fn reading_stays_within_its_share_of_the_time() {
        let mut sum = ResidentSum::default();
        let mut readings = 0_u32;
        // A tree whose size jumps at every sample, for 100 seconds.
        for step in 1..=200_u32 {
            let plain = gib(if step % 2 == 0 { 1.0 } else { 2.0 });
            sum.observe(plain, 4, at(0.5) * step, || {
                readings += 1;
                Some(Proportional {
                    bytes: plain,
                    plain,
                    cost: Duration::from_millis(20),
                })
            });
        }
        assert!((10..=23).contains(&readings), "{readings}");
    }
}
