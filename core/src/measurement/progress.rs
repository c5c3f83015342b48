//! How far a job says that it is.
//!
//! Its lines are sorted by the loop that they count, such as `Epoch 2/3` or a bar of tqdm. The loop that stands for the whole work
//! becomes a [`JobProgress`]. Where it runs once for each count of an outer loop, the total is the product: 3 epochs of 40 steps are
//! 120. Of each stream 16 loops are kept, and of each loop some 200 points.

mod formats;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use self::formats::Seen;
use super::thinned::Thinned;
use crate::spec::PrintedMetric;
use crate::units::Seconds;

/// The most points of a series.
const POINTS: usize = 200;
/// The most loops of a stream that are kept; where a further one begins, the shortest so far is forgotten.
const LOOPS: usize = 16;
/// Lines that come within this time came at once.
const MOMENT: f64 = 0.01;
/// A loop may stand for the work if it lasts for this part of the longest one's time, or runs inside such a loop.
const LONG: f64 = 0.7;
/// A loop that comes before the work counts as another one if it lasts for this part of the longest one's time.
const FIRST: f64 = 0.1;
/// What comes in this part of the run's time came all at once.
const AT_ONCE: f64 = 0.02;
/// Totals that differ by less are of one loop, whose passes differ.
const SAME_TOTAL: f64 = 0.1;

/// What a job printed of how far it was.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobProgress {
    /// What prints such lines: `tqdm`, `Keras`, `step 3 of 100`; `training.progress` if the spec's pattern read them.
    pub format: String,
    /// All of the work, in the unit of the points; of nested loops the product. Absent if it was not printed. Of a run that was ended
    /// in the first of several passes, whose number is not printed, that of one.
    pub total: Option<f64>,
    /// What one pass of the innermost loop has to do; absent if it was not printed.
    pub pass: Option<f64>,
    /// How many passes were begun.
    pub passes: u32,
    /// The seconds since the start, and what was done then: both rise. Some 200 at most.
    pub points: Vec<(Seconds, f64)>,
    /// What makes it of no use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<ProgressDoubt>,
}

/// Why a job's progress is of no use, in words that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ProgressDoubt {
    /// All of it came at once, as what waits in a buffer does.
    #[error("it came all at once: set PYTHONUNBUFFERED to 1 in `environment`")]
    AtOnce,
    /// It often goes back.
    #[error("it jumps back")]
    JumpsBack,
    /// The total changed.
    #[error("its total changes")]
    TotalChanges,
    /// Other loops come first, or go on at the same time.
    #[error("another loop comes before it or goes on beside it")]
    SeveralLoops,
}

impl JobProgress {
    /// Why nothing can be read of it; else it is a share of the whole work where it has a total, and without one only a speed.
    pub fn spoilt(&self) -> Option<ProgressDoubt> {
        self.doubts.first().copied()
    }

    /// What a run that is ended at `limit` prints of it; `None` where nothing.
    pub fn until(mut self, limit: Seconds) -> Option<Self> {
        self.points.retain(|(at, _)| *at <= limit);
        (!self.points.is_empty()).then_some(self)
    }

    /// What one host printed on its streams; `None` where that is no progress. `end`: when the run ended, if it did.
    pub(super) fn of_host(streams: [&PrintedLoops; 2], end: Option<Seconds>) -> Option<Self> {
        let all: Vec<&Loop> = streams.iter().flat_map(|stream| &stream.0).collect();
        let total = |one: &Loop| {
            let outer = all.iter().filter(|outer| outer.holds(one));
            match outer.max_by_key(|outer| outer.last.total.is_some()) {
                Some(outer) => Some(outer.total()? * one.total()?),
                None => one.total().filter(|_| one.passes == 1),
            }
        };
        // One count is no series.
        let series = || all.iter().filter(|one| one.risen >= 1);
        let longest = series().map(|one| one.span()).fold(0.0, f64::max);
        let is_long = |one: &Loop| one.span() >= LONG * longest;
        let outer = || series().filter(|outer| is_long(outer));
        let long = || series().filter(|one| is_long(one) || outer().any(|outer| outer.holds(one)));
        let main = long().max_by_key(|one| (total(one).is_some(), one.risen))?;
        let offset = main.offset();
        let total = total(main).filter(|total| main.now.1 + offset <= *total);
        let points = main.points.kept.iter().chain([&main.now]);
        let points = points.map(|(at, done)| {
            let at = Seconds((at * 1000.0).round() / 1000.0);
            (at, (done + offset).max(0.0))
        });
        let are_beside = series().any(|other| {
            let is_own = std::ptr::eq(*other, *main) || other.holds(main) || main.holds(other);
            let is_first = other.started < main.started && other.span() >= FIRST * longest;
            let is_another = !is_own && other.passes == 1 && other.last.total.is_some();
            is_another && (is_first || is_long(other))
        });
        let end = end.map_or(main.now.0, |end| end.0);
        // A run that was ended soon after its first counts has few.
        let moment = if main.risen < 5 { 0.0 } else { AT_ONCE * end };
        let doubts = [
            (main.span() <= moment.max(MOMENT), ProgressDoubt::AtOnce),
            (main.jumps_back(), ProgressDoubt::JumpsBack),
            (main.total_changed, ProgressDoubt::TotalChanges),
            (are_beside, ProgressDoubt::SeveralLoops),
        ];
        let doubts = doubts.into_iter().filter(|(is, _)| *is);
        Some(Self {
            format: main.first.format.to_owned(),
            total,
            pass: main.total(),
            passes: main.passes,
            points: points.collect(),
            doubts: doubts.map(|(_, doubt)| doubt).collect(),
        })
    }
}

/// The loops that one stream printed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PrintedLoops(Vec<Loop>);

impl PrintedLoops {
    /// Reads a line that came `at` these seconds after the start: by the spec's pattern, where there is one.
    pub(super) fn hear(&mut self, at: Seconds, line: &str, pattern: Option<&PrintedMetric>) {
        let seen = match pattern {
            Some(pattern) => Vec::from_iter(formats::count_by(pattern, line)),
            None => formats::counts(line),
        };
        seen.into_iter().for_each(|seen| self.see(seen, at.0));
    }

    fn see(&mut self, seen: Seen, at: f64) {
        let known = self.0.iter_mut().max_by_key(|one| one.fits(&seen));
        if let Some(known) = known.filter(|one| one.fits(&seen) > 0) {
            return known.hear(seen, at);
        }
        if self.0.len() == LOOPS {
            let spans = self.0.iter().map(Loop::span).enumerate();
            let shortest = spans.min_by(|one, other| one.1.total_cmp(&other.1));
            self.0.remove(shortest.expect("there are some").0);
        }
        self.0.push(Loop {
            first: seen.clone(),
            now: (at, seen.done),
            last: seen,
            passes: 1,
            lines: 1,
            started: at,
            ..Loop::default()
        });
    }
}

/// A loop of the job, by its counts.
#[derive(Debug, Clone, PartialEq, Default)]
struct Loop {
    first: Seen,
    last: Seen,
    passes: u32,
    /// What was done in earlier passes.
    before: f64,
    /// Its lines: with a count that is new, with the same one again, and with one that cannot be.
    lines: u64,
    risen: u64,
    again: u64,
    astray: u64,
    total_changed: bool,
    started: f64,
    /// The latest point, and those before it.
    now: (f64, f64),
    points: Thinned<(f64, f64), POINTS>,
}

impl Loop {
    /// How well a count fits in: 2 if its total is this one's, 1 if it goes on from the latest one with another total.
    fn fits(&self, seen: &Seen) -> u8 {
        let named = |one: &Seen| (one.format, one.total.is_some());
        let is_other = named(&self.last) != named(seen) || self.last.label != seen.label;
        let totals = self.last.total.zip(seen.total);
        let is_far = totals.is_some_and(|(known, new)| (known - new).abs() > SAME_TOTAL * known);
        let (last, rise) = (self.last.done, seen.done - self.last.done);
        let goes_on = self.risen > 0 && rise > 0.0 && rise <= (SAME_TOTAL * last).max(1.0);
        match (is_other, is_far) {
            (true, _) => 0,
            (false, true) => u8::from(goes_on),
            (false, false) => 2,
        }
    }

    fn hear(&mut self, seen: Seen, at: f64) {
        self.lines += 1;
        let (last, rise) = (self.last.done, seen.done - self.last.done);
        let [half, fifth] = [2.0, 5.0].map(|part| seen.total.map(|total| total / part));
        let is_at_begin = seen.done <= fifth.unwrap_or(0.0).max(self.first.done).max(1.0);
        let was_far = last >= half.unwrap_or(self.first.done + 2.0);
        let begins_again = rise < 0.0 && is_at_begin && was_far;
        // A process that is behind prints the end of a pass once more.
        let is_behind = self.are_several() && half.is_some_and(|half| rise > half);
        if rise == 0.0 || is_behind || rise < 0.0 && !begins_again {
            self.again += u64::from(rise == 0.0);
            self.astray += u64::from(rise != 0.0);
            return;
        }
        if begins_again {
            self.astray += u64::from(half.is_some_and(|half| last < 1.4 * half));
            self.before += self.of_pass();
            self.passes += 1;
        }
        self.total_changed |= !begins_again && seen.total != self.last.total;
        self.risen += 1;
        self.last = seen;
        let done = self.before + self.last.done;
        // A pass begins with what was done.
        if done > self.now.1 && at - self.now.0 > MOMENT {
            self.points.add(self.now);
            self.now.0 = at;
        }
        self.now.1 = done.max(self.now.1);
    }

    /// Whether many lines say a count again, as where several processes print it.
    fn are_several(&self) -> bool {
        10 * self.again >= 3 * self.lines
    }

    fn jumps_back(&self) -> bool {
        10 * self.astray >= self.lines && !self.are_several()
    }

    fn span(&self) -> f64 {
        self.now.0 - self.started
    }

    /// What is to be added to the number of what was just done.
    fn first_step(&self) -> f64 {
        f64::from(u8::from(!self.first.is_bar && self.first.done == 0.0))
    }

    /// What is to be added to a count, so that it is what was done.
    fn offset(&self) -> f64 {
        self.first_step() - f64::from(u8::from(self.first.is_bare))
    }

    /// What one pass has to do, or did where that is not printed.
    fn of_pass(&self) -> f64 {
        let said = self.last.done + self.first_step();
        self.last.total.map_or(said, |total| total.max(said))
    }

    fn total(&self) -> Option<f64> {
        self.last.total.map(|_| self.of_pass())
    }

    /// Whether each pass of `inner` is one count of this.
    fn holds(&self, inner: &Self) -> bool {
        let advanced = self.last.done - self.first.done;
        let further = f64::from(inner.passes - 1);
        let is_at_0 = self.first.done == 0.0 && self.first.total.is_some();
        let waits = is_at_0 && self.started <= inner.started;
        let is_outer = match inner.passes {
            1 => advanced == 0.0 && (self.first.label.contains("epoch") || waits),
            _ => advanced >= 1.0 && (advanced - further).abs() <= 1.0,
        };
        let is_whole = self.last.done.fract() == 0.0 && self.passes == 1;
        is_outer && is_whole && !std::ptr::eq(self, inner)
    }
}

#[cfg(test)]
mod tests;
