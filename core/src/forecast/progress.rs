//! The time of a full run by the **progress** that a canary of all the data, below the full run, printed until its limit ended it.
//!
//! ```text
//! T = t_m + (N - d_m) r e^(f/2) + l,    ln y = ln T + s t_5,    s^2 = 0.08^2 + (0.25 f)^2 + h^2 + g^2 + p^2 + (l/T)^2
//! ```
//!
//! It printed that d_i of N steps were done at t_i, i = 0 to m. r is the time of a step in the later half of these: the first ones
//! warm up. g is the logarithm of how many times as long that is as in the earlier half; it widens the interval and does not move
//! the point, because the first steps say little of the last. f is the logarithm of how many times as long a later step takes as
//! one of the window, which is the later half of these steps. It is read off the largest canary that ran to its end: there later
//! steps may take longer, and epochs may have pauses. Only half of f moves the point, because each step of a small canary carries
//! an overhead that those of the full run do not. l is what comes after the last step, by a line in the share through the smallest
//! and the largest canary. Later steps may grow faster with the data than the first ones: h is by how much f would rise from the
//! largest canary to all data, by the power of the share by which late steps, or what they take beyond the others, rose from a
//! smaller one. Where no small canary has a window long enough to show that, the time may be as much longer as by steeper laws. What
//! comes after the last step may grow with the square: two canaries cannot show whether it does.
//!
//! If no line came between the last one and the limit, the next one is due after the limit at the earliest. T is raised to what
//! follows from that, and p is the logarithm of how many times as long it is then.
//!
//! A script may print what it likes. So its steps must be about as many as the smaller canaries' lead to. Nothing is within a limit
//! that the full run passes more likely than not by the laws of these, or may pass where these lead to another time
//! ([`Forecast::doubt_of_progress`]). Where the smaller canaries have fewer steps, none of them shows the last steps of the full
//! run: the time may then be as much longer as by steeper laws. Where the full run prints no total, nobody knows how many steps it
//! has; where it did a smaller part of them than half of the largest canary's share, it shows too little. Then nothing is within.
//!
//! `benches/progress` has the 17 jobs of nine libraries that the constants were chosen on and judged by.

use super::posterior::ONE_SIZE;
use super::{Doubt, Forecast, Predictive, Runs, UPPER};
use crate::measurement::Measurement;
use crate::measurement::progress::JobProgress;
use crate::metric::Metric;
use crate::units::{Fraction, Seconds};

/// Of ln y: what runs differ by, and what is unknown of the steps that are left where no canary shows them.
const NOISE: f64 = 0.08;
const WITHOUT_SHAPE: f64 = 0.1;
/// The part of f that moves the point, and the part that widens.
const SHAPE_COUNTS: f64 = 0.5;
const SHAPE_DOUBT: f64 = 0.25;
/// With fewer points nothing is cut as warm-up, no drift is seen, and so much is unknown.
const FEW_POINTS: usize = 5;
const OF_FEW_POINTS: f64 = 0.1;
const DEGREES_OF_FREEDOM: f64 = 5.0;
/// A window of a canary's steps that is shorter, in seconds, shows nothing.
const SHORTEST_WINDOW: f64 = 0.02;
/// A canary that ended with less of its steps stopped early, and then nobody knows when the full run will.
const ALL_STEPS: f64 = 0.9;
/// Steps that take so much of a run's time say how long it is.
const MOST_OF_THE_TIME: f64 = 0.5;
/// Two canaries that print no total did as many steps if these differ by less.
const SAME_STEPS: f64 = 0.01;
/// What late steps take beyond earlier ones, in parts of these: less is noise.
const LEAST_LATE: f64 = 0.02;
/// Of the share of its steps at which a full run is ended, what it is worth beginning for.
const LEAST_REACH: f64 = 0.75;
/// The full run's steps are at most so many times as many, or as few, as by the line through the canaries'.
const IN_LINE: f64 = 1.5;

/// What a canary of all data said of its progress until its limit.
pub(super) struct ByProgress<'a> {
    pub(super) run: &'a Measurement,
    /// The share of its steps that it had done, in (0, 1].
    pub(super) reached: Fraction,
    /// Whether the canaries that ran to their end have as many steps, and show whether the late ones grow faster.
    pub(super) is_all_shown: bool,
    /// Whether the run says how many steps it has, or how many a pass has, and did as large a part as half of the largest canary.
    pub(super) confirms: bool,
    time: Predictive,
    /// How many times as long it is if what comes after the last step grows with the square.
    by_square: f64,
}

impl<'a> ByProgress<'a> {
    /// Of several such canaries the one that got farthest; `None` where none says how far it is as the smaller ones do.
    pub(super) fn of(runs: &Runs<'a>) -> Option<Self> {
        let ended = EndedCanaries::among(runs)?;
        let full = runs.timed_out();
        let full = full.filter(|(run, _)| run.data_share() == 1.0 && does_all(run));
        let read = full.filter_map(|(run, limit)| Self::read(run, limit, &ended));
        read.max_by(|a, b| a.reached.0.total_cmp(&b.reached.0))
    }

    /// Whether nothing grows that the canaries do not show.
    pub(super) fn shows_all(&self) -> bool {
        self.is_all_shown && self.by_square <= 1.0 + NOISE
    }

    /// The time beside that by the laws of the smaller canaries, which may be steeper where these did not show all steps.
    pub(super) fn time(&self, laws: &Predictive) -> Predictive {
        let time = self.time.clone();
        match self.is_all_shown {
            true if self.shows_all() => time,
            true => time.clone().or_if_steeper(time.scaled(self.by_square)),
            false => time.growing_as(laws),
        }
    }

    /// On where the time comes from; beside it the time by the laws, where that is another.
    pub(super) fn note(&self, laws: &Option<Predictive>) -> String {
        let laws = laws.as_ref().filter(|laws| are_apart([&self.time, laws]));
        let other = laws.map(|laws| {
            format!(
                ", by which the full run would take {}",
                Seconds(laws.median())
            )
        });
        format!(
            "time is forecast from the progress of the {} canary, which had done {} of its steps when it was ended at its limit; that canary does not enter the laws of growth{}",
            self.run.fraction,
            self.reached,
            other.unwrap_or_default(),
        )
    }

    fn read(run: &'a Measurement, limit: f64, ended: &EndedCanaries) -> Option<Self> {
        let steps = Steps::of(run).filter(|steps| steps.progress.spoilt().is_none())?;
        let total = ended.total(&steps)?;
        let (first, last) = (steps.points[0], steps.last());
        let is_few = steps.points.len() < FEW_POINTS;
        let middle = match is_few {
            true => first.1,
            false => f64::midpoint(first.1, last.1),
        };
        let half = (steps.time_at(middle), middle);
        let of_step = |from: (f64, f64), to: (f64, f64)| (to.0 - from.0) / (to.1 - from.1);
        let rate = of_step(half, last);
        let drift = match is_few {
            true => OF_FEW_POINTS,
            false => (rate / of_step(first, half)).ln(),
        };
        let window = [middle, last.1].map(|done| done / total);
        let shape = ended.large.shape(window);
        let doubt = shape.map_or(WITHOUT_SHAPE, |shape| SHAPE_DOUBT * shape);
        let later = ended.growth_of_shape(window);
        let of_left = rate * (SHAPE_COUNTS * shape.unwrap_or(0.0)).exp();
        let (left, tail) = (total - last.1, ended.in_line(Steps::tail));
        let said = last.0 + left * of_left + tail;
        let lines = steps.points.windows(2).map(|two| two[1].1 - two[0].1);
        let at_least = limit + (left - lines.fold(0.0, f64::max)).max(0.0) * of_left;
        let time = said.max(at_least);
        // No canary shows a tail of all data: it may as well be so many times as long that only its order is known.
        let of_tail = tail / said;
        let scale = NOISE.hypot(doubt).hypot(drift).hypot((time / said).ln());
        let scale = scale.hypot(of_tail).hypot(later.unwrap_or(0.0));
        (time.is_finite() && scale.is_finite()).then(|| Self {
            run,
            reached: Fraction(last.1 / total),
            is_all_shown: ended.have_as_many(total) && later.is_some(),
            confirms: steps.progress.pass.is_some() && last.1 / total >= ended.large.share / 2.0,
            time: Predictive::log_student_t(time, scale, DEGREES_OF_FREEDOM),
            by_square: 1.0 + (ended.by_power(2, Steps::tail) - tail) / time,
        })
    }
}

impl Forecast {
    /// Why a limit of the time, or of what goes with it, is not known to be kept: by the laws of the smaller canaries it is passed
    /// more likely than not, or may be passed and they say another time.
    pub fn doubt_of_progress(&self, quantity: &Predictive, limit: f64) -> Option<Doubt> {
        let (laws, time) = (self.by_laws.as_ref()?, self[Metric::Time].as_ref().ok()?);
        // What is beside time in the quantity, such as the doubt in a price, widens the upper end.
        let passes = |p| laws.quantile(p) > limit * time.quantile(p) / quantity.quantile(p);
        let may_pass = passes(0.5) || passes(UPPER) && are_apart([time, laws]);
        may_pass.then_some(Doubt::ApartFromProgress)
    }
}

/// Whether no time is in the middle nine tenths of both.
fn are_apart(times: [&Predictive; 2]) -> bool {
    let [low, high] = [1.0 - UPPER, UPPER].map(|p| times.map(|time| time.quantile(p)));
    high[0] < low[1] || high[1] < low[0]
}

/// When a run of all data that goes on as these canaries is to be ended for its progress, in seconds: at the earliest, and best,
/// with about `share` of its steps done, once some lines say so; where larger data have more steps, as far as the size that it stands
/// in for would get, lest it see less of what comes late. `None` where their progress shows neither, and where the first steps come so
/// late that such a run would spend its time on what comes before them; `full_run` is what all of it may take.
pub fn worth_beginning(
    measurements: &[Measurement],
    share: f64,
    stands_in_for: f64,
    full_run: f64,
) -> Option<[f64; 2]> {
    let ended = EndedCanaries::among(&Runs::choose(measurements))?;
    ended.large.progress.pass?;
    ended.growth_of_shape([share / 2.0, share])?;
    let share = match ended.have_as_many(ended.in_line(|run| run.last().1)) {
        true => share,
        false => share.max(stands_in_for),
    };
    let all = |run: &Steps| run.progress.total.unwrap_or_else(|| run.last().1);
    let of_all = |part: f64| ended.in_line(|run| run.time_at(part * all(run)));
    let large = &ended.large;
    let line = |number: usize| large.points.get(number).map(|point| point.1 / all(large));
    // Two counts are no series.
    let least = line(2)?.max(LEAST_REACH * share);
    let best = line(FEW_POINTS - 1)
        .unwrap_or(1.0)
        .clamp(share, 2.0 * share);
    let ready = ended.small.points[0].0;
    let in_proportion = |part: f64| ready + part * (full_run - ready);
    let is_soon = of_all(share / 2.0) < in_proportion(share);
    // The starts of tiny canaries differ by chance, which a line carries far. Ended too soon it would be of no use.
    let end = |part: f64| of_all(part).max(in_proportion(part));
    (is_soon && least <= best).then(|| [least, best].map(end))
}

/// The time of a run of no data and of all, in seconds, by the steps of canaries: by lines in the share of when these began, how long
/// they took and what came after. Where the first canary finds its libraries on a cold disk its time hides that of its steps.
pub(super) fn time_by_steps(runs: &Runs) -> Option<[f64; 2]> {
    let ended = EndedCanaries::among(runs)?;
    let start = |run: &Steps| run.points[0].0;
    let of_all = ended.in_line(start)
        + ended.in_line(|run| run.last().0 - start(run))
        + ended.in_line(Steps::tail);
    let growth = (of_all - ended.large.time) / (1.0 - ended.large.share);
    Some([of_all - growth, of_all])
}

/// Whether the canaries stopped early, the largest after more of its steps than the smallest: the full run may go on for longer.
pub(super) fn stopped_early(runs: &Runs) -> Option<Doubt> {
    let all = steps_of_ended(runs);
    let (small, large) = (all.first()?, all.last()?);
    let (smallest, largest) = (small.stopped_at()?, large.stopped_at()?);
    (largest > ONE_SIZE * smallest).then_some(Doubt::StoppedEarly {
        smallest: Fraction(smallest),
        largest: Fraction(largest),
    })
}

/// On a largest canary that stopped early, wherever the others did.
pub(super) fn note_of_stop(runs: &Runs) -> Option<String> {
    let share = Fraction(steps_of_ended(runs).last()?.stopped_at()?);
    Some(format!(
        "the largest canary ended after {share} of its steps"
    ))
}

/// Whether all runs did as many steps, each to the end, in most of its time: then it takes as long whatever the data.
pub(super) fn all_do_as_many_steps(runs: &Runs) -> bool {
    let done = |run: &Measurement| {
        let steps = Steps::of(run)?;
        let is_whole = steps.progress.spoilt().is_none() && steps.stopped_at().is_none();
        let in_steps = steps.last().0 - steps.points[0].0;
        let fills = steps.points.len() >= FEW_POINTS && in_steps >= MOST_OF_THE_TIME * steps.time;
        steps.progress.total.filter(|_| is_whole && fills)
    };
    let of_largest = runs.largest().and_then(done);
    of_largest.is_some() && runs.all_have(|run| done(run) == of_largest)
}

/// From small to large.
fn steps_of_ended<'a>(runs: &Runs<'a>) -> Vec<Steps<'a>> {
    let ended = runs.entered().iter().filter(|run| does_all(run));
    let mut all: Vec<_> = ended.filter_map(|run| Steps::of(run)).collect();
    all.sort_by(|a, b| a.share.total_cmp(&b.share));
    all
}

fn does_all(run: &Measurement) -> bool {
    run.work_share() == 1.0
}

/// The smallest and the largest canary that ran to their end, and those between them, from small to large.
struct EndedCanaries<'a> {
    small: Steps<'a>,
    between: Vec<Steps<'a>>,
    large: Steps<'a>,
}

impl<'a> EndedCanaries<'a> {
    /// `None` of one size, and where one of them stopped early or counts in another way.
    fn among(runs: &Runs<'a>) -> Option<Self> {
        let mut all = steps_of_ended(runs);
        let large = all.pop()?;
        // All that a small canary does may come at once.
        let is_sound = large.progress.spoilt().is_none() && large.is_like(&large);
        let are_alike = is_sound && all.iter().all(|run| run.is_like(&large));
        let mut all = all.into_iter();
        let small = all.next()?;
        let are_two = large.share > ONE_SIZE * small.share && large.share < 1.0;
        (are_alike && are_two).then(|| Self {
            small,
            between: all.collect(),
            large,
        })
    }

    /// By how much the shape of all data exceeds that of the largest canary, if what late steps take, in all or beyond what earlier
    /// ones take, rises by a power of the share, as it did from the smallest canary that shows it; 0 where it fell, and `None` where
    /// none shows it.
    fn growth_of_shape(&self, window: [f64; 2]) -> Option<f64> {
        let late = self.large.shape(window)?.exp();
        let since = |small: &Steps| {
            let late_of_small = small.shape(window)?.exp();
            let beyond = |earlier: f64| {
                let [of_small, of_large] = [late_of_small, late].map(|late| late - earlier);
                if of_large < LEAST_LATE {
                    return Some(0.0);
                }
                let of_small = Some(of_small).filter(|late| *late >= LEAST_LATE)?;
                let power = (of_large / of_small).ln() / (self.large.share / small.share).ln();
                let of_all = of_large * self.large.share.powf(-power.max(0.0));
                Some(((earlier + of_all) / (earlier + of_large)).ln())
            };
            Some(beyond(0.0)?.max(beyond(1.0)?))
        };
        let smaller = [&self.small].into_iter().chain(&self.between);
        let mut smaller = smaller.filter(|run| self.large.share > ONE_SIZE * run.share);
        smaller.find_map(since)
    }

    /// By the line in the share, not falling.
    fn in_line(&self, value: impl Fn(&Steps<'a>) -> f64) -> f64 {
        self.by_power(1, value)
    }

    /// By the line in a power of the share, not falling.
    fn by_power(&self, power: i32, value: impl Fn(&Steps<'a>) -> f64) -> f64 {
        let [small, large] = [&self.small, &self.large].map(value);
        let reached = [&self.small, &self.large].map(|run| run.share.powi(power));
        let growth = (large - small) / (reached[1] - reached[0]);
        large + growth.max(0.0) * (1.0 - reached[1])
    }

    fn have_as_many(&self, total: f64) -> bool {
        (self.large.last().1 - total).abs() <= SAME_STEPS * total
    }

    /// The steps of the full run: as it says, as many passes as the canaries made, or as many as they did.
    fn total(&self, full: &Steps) -> Option<f64> {
        let expected = self.in_line(|run| run.last().1);
        let (said, large) = (full.progress, self.large.progress);
        let total = match (large.total, large.pass) {
            (Some(_), _) => said.total?,
            (None, Some(_)) => said.pass? * f64::from(large.passes),
            (None, None) => expected,
        };
        let is_in_line = (total / expected).max(expected / total) <= IN_LINE;
        (said.format == large.format && is_in_line && full.last().1 <= total).then_some(total)
    }
}

/// The steps of a run, as it printed them.
struct Steps<'a> {
    progress: &'a JobProgress,
    /// Of the data.
    share: f64,
    /// Of the whole run, in seconds.
    time: f64,
    /// When, in seconds, so many steps were done; both rise from 0 or more, and there are at least two.
    points: Vec<(f64, f64)>,
}

impl<'a> Steps<'a> {
    /// `None` where the run says nothing of its progress that can be read.
    fn of(run: &'a Measurement) -> Option<Self> {
        let progress = run.progress.as_ref()?;
        let points = progress.points.iter().map(|(at, done)| (at.0, *done));
        let points: Vec<_> = points.collect();
        let rise = |two: &[(f64, f64)]| two[0].0 < two[1].0 && two[0].1 < two[1].1;
        let are_sound = points.len() > 1 && points.windows(2).all(rise);
        (are_sound && points[0].0 >= 0.0 && points[0].1 >= 0.0).then_some(Self {
            progress,
            share: run.data_share(),
            time: run.time()?.0,
            points,
        })
    }

    fn last(&self) -> (f64, f64) {
        self.points[self.points.len() - 1]
    }

    /// What comes after the last step, in seconds.
    fn tail(&self) -> f64 {
        (self.time - self.last().0).max(0.0)
    }

    /// The part of its steps after which it stopped early. What is left must be more than it did between two lines: else the last line
    /// may only be missing.
    fn stopped_at(&self) -> Option<f64> {
        let total = self.progress.total;
        let total = total.filter(|_| self.progress.spoilt().is_none())?;
        let done = self.last().1;
        let lines = self.points.windows(2).map(|two| two[1].1 - two[0].1);
        let is_over = total - done > lines.fold(0.0, f64::max);
        (is_over && done < ALL_STEPS * total).then_some(done / total)
    }

    /// Whether both ran to the end of what they count in one way: of a total, or in as many passes, or as many steps.
    fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (self.progress, other.progress);
        let (done, of_other) = (self.last().1, other.last().1);
        own.format == others.format
            && match (own.total, own.pass) {
                (Some(total), _) => others.total.is_some() && done >= ALL_STEPS * total,
                (None, Some(_)) => others.total.is_none() && own.passes == others.passes,
                (None, None) => (done - of_other).abs() <= SAME_STEPS * of_other,
            }
    }

    /// When so many steps were done: between two lines in proportion, not beyond the ends.
    fn time_at(&self, done: f64) -> f64 {
        let next = self.points.partition_point(|point| point.1 < done);
        let [last, next] =
            [next.saturating_sub(1), next.min(self.points.len() - 1)].map(|at| self.points[at]);
        match next.1 - last.1 {
            0.0 => next.0,
            steps => last.0 + (next.0 - last.0) * (done - last.1) / steps,
        }
    }

    /// The logarithm of how many times as long the steps after the window of these shares are as those in it.
    fn shape(&self, window: [f64; 2]) -> Option<f64> {
        let done = self.last().1;
        let [from, to] = window.map(|share| share * self.progress.total.unwrap_or(done));
        let [start, end, all] = [from, to, done].map(|done| self.time_at(done));
        let of_window = (end - start) / (to - from);
        let after = (all - end) / (done - to);
        let shape = (after / of_window).ln();
        (end - start >= SHORTEST_WINDOW && shape.is_finite()).then_some(shape)
    }
}

#[cfg(test)]
mod tests;
