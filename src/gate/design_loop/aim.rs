//! What the canaries of a job aim at, and whether they have reached it.

use super::DesignLoop;
use crate::forecast::{Doubt, Forecast};
use crate::gate::request::Purpose;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::{MemoryOf, Metric};
use crate::plan::{self, Aim, NARROW, Reached};
use crate::spec::{Budget, Level, LineOrigin};
use crate::units::{Fraction, Seconds};
use crate::verdict::{self, JudgedLine, LineVerdict};

/// Before there are the fewest runs of a forecast, a line counts as decided only where the chance that is left is this part
/// of what certainty allows: two small runs do not determine a law, and the third one may lie far out.
const CHANCE_FOR_A_SHORT_CUT: f64 = 0.05;
/// A line is exceeded, whatever two canaries leave open, where the forecast is so many times its limit.
const TENFOLD: f64 = 10.0;
/// Of all canaries of a job.
const BRIEF: Seconds = Seconds(10.0);

impl DesignLoop<'_> {
    /// How long the full run may take by the budget's lines of time and cost; 0 without one.
    pub(super) fn allowed_by_the_budget(&self, offer: &Offer) -> Seconds {
        plan::allowed_by_the_budget(self.input.of.job, offer).unwrap_or(Seconds(0.0))
    }

    /// The shortest canary that measures what a written line still needs.
    pub(super) fn shortest(&self, measurements: &[Measurement]) -> Option<Seconds> {
        self.written_memory()
            .filter_map(|of| plan::shortest_for_memory(measurements, of))
            .max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// Whether a written line is about memory.
    pub(super) fn needs_memory(&self) -> bool {
        self.written_memory().next().is_some()
    }

    /// The memory that written lines which can fail the check are about.
    fn written_memory(&self) -> impl Iterator<Item = MemoryOf> {
        let of_budget = self.input.purpose == Purpose::Budget;
        let lines = self.input.of.job.budget.lines.iter();
        lines
            .filter(move |line| {
                of_budget && line.origin == LineOrigin::Written && line.level == Level::Fail
            })
            .filter_map(|line| line.kind.memory_of())
    }

    /// Whether the measurements decide every line that can fail the check; without a written one, whether the forecast of
    /// the time is narrow.
    pub(super) fn aim(
        &self,
        offer: &Offer,
        measurements: &[Measurement],
        forecast: &Forecast,
    ) -> Aim {
        self.aim_of(&self.input.of.job.budget, offer, measurements, forecast)
    }

    /// The same, by the lines of a budget.
    pub(super) fn aim_of(
        &self,
        budget: &Budget,
        offer: &Offer,
        measurements: &[Measurement],
        forecast: &Forecast,
    ) -> Aim {
        let lines = verdict::judge(budget, forecast, offer, None);
        let counting: Vec<&JudgedLine> = lines.iter().filter(|line| line.counts()).collect();
        let is_written = |line: &&JudgedLine| line.origin == LineOrigin::Written;
        if self.input.purpose == Purpose::Budget && counting.iter().any(is_written) {
            // What stays unknown with the fewest runs is not measured, and more runs would not change that.
            let has_enough = plan::has_enough(measurements);
            let certainty = if has_enough {
                budget.certainty
            } else {
                Fraction(1.0 - (1.0 - budget.certainty.0) * CHANCE_FOR_A_SHORT_CUT)
            };
            // Other canaries may still decide what one beyond its time limit left unknown.
            let is_bounded = forecast.time_at_least.is_some() && forecast[Metric::Time].is_err();
            // A source that looks seldom leaves a doubt that more canaries do not end.
            let is_open_for_ever = |line: &JudgedLine| match line.row.verdict {
                LineVerdict::Unknown => !is_bounded,
                LineVerdict::AtRisk => (line.row.line.metric())
                    .and_then(|metric| forecast.doubt(metric))
                    .is_some_and(Doubt::is_of_source),
                _ => false,
            };
            let completed = measurements.iter().filter(|run| run.is_completed()).count();
            let is_clear = |line: &JudgedLine| completed > 1 && is_tenfold(line);
            let decided = counting.iter().all(|line| match has_enough {
                true => line.is_decided(certainty) || is_open_for_ever(line),
                false => line.is_decided(certainty) || is_clear(line),
            });
            let is_within = |line: &&JudgedLine| line.row.verdict == LineVerdict::Within;
            // Among the fewest a larger one in place of a smaller shows more for next to nothing.
            let is_free = !has_enough && is_brief(measurements);
            let is_needless = is_within_if_cubic(forecast, &counting) && !is_free;
            let is_rough = forecast.is_rough() && !is_needless;
            return match decided {
                false => Aim::GoOn,
                true if is_rough && counting.iter().all(is_within) => {
                    Aim::OneSizeFurther(Reached::Decided)
                }
                true => Aim::Reached(Reached::Decided),
            };
        }
        let is_narrow = forecast[Metric::Time].as_ref().is_ok_and(|time| {
            time.quantile(budget.certainty.0) <= NARROW * time.quantile(1.0 - budget.certainty.0)
        });
        if is_narrow {
            Aim::Reached(Reached::Narrow)
        } else {
            Aim::GoOn
        }
    }
}

/// Whether the forecast is ten times a line's limit: then two canaries decide it. A tenth of it they do not, for they are far too
/// small to show how the time grows.
fn is_tenfold(line: &JudgedLine) -> bool {
    let limit = line.row.limit;
    (line.estimate).is_some_and(|estimate| estimate.point >= TENFOLD * limit)
}

/// Whether the canaries so far are so short that a larger one costs nobody anything.
fn is_brief(measurements: &[Measurement]) -> bool {
    let times = measurements.iter().filter_map(Measurement::time);
    times.map(|time| time.0).sum::<f64>() < BRIEF.0
}

/// Whether time and cost would be within budget even if all growth up to the largest canary were that of a cube.
fn is_within_if_cubic(forecast: &Forecast, lines: &[&JudgedLine]) -> bool {
    let Some(times) = forecast.times_if_cubic() else {
        return false;
    };
    let is_of_time =
        |line: &&&JudgedLine| matches!(line.row.line.metric(), Some(Metric::Time | Metric::Cost));
    lines.iter().filter(is_of_time).all(|line| {
        let point = line.estimate.map(|estimate| estimate.point);
        point.is_some_and(|point| point * times <= line.row.limit)
    })
}
