//! Whether the canaries of a job say what they are run for.

use super::{Aim, NARROW, Reached, has_enough};
use crate::forecast::{Doubt, Forecast};
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::spec::{Budget, LineOrigin};
use crate::units::Fraction;
use crate::verdict::{self, JudgedLine, LineVerdict};

/// Before there are the fewest runs of a forecast, a line counts as decided only where the chance that is left is this part
/// of what certainty allows: two small runs do not determine a law, and the third one may lie far out.
const CHANCE_FOR_A_SHORT_CUT: f64 = 0.05;
/// A line is exceeded, whatever two canaries leave open, where the forecast is so many times its limit.
const TENFOLD: f64 = 10.0;

/// Whether the measurements decide every line that can fail the check; without a written one, whether the forecast of the time is
/// narrow.
pub fn aim(budget: &Budget, offer: &Offer, runs: &[Measurement], forecast: &Forecast) -> Aim {
    // What stays unknown with the fewest runs is not measured, and more runs would not change that.
    let has_enough = has_enough(runs);
    let certainty = match has_enough {
        true => budget.certainty,
        false => Fraction(1.0 - (1.0 - budget.certainty.0) * CHANCE_FOR_A_SHORT_CUT),
    };
    let as_sure = Budget {
        certainty,
        ..budget.clone()
    };
    let lines = verdict::judge(&as_sure, forecast, offer, None);
    let counting: Vec<&JudgedLine> = lines.iter().filter(|line| line.counts()).collect();
    let is_written = |line: &&JudgedLine| line.origin == LineOrigin::Written;
    if !counting.iter().any(is_written) {
        return aim_without_lines(budget.certainty, forecast);
    }
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
    let completed = runs.iter().filter(|run| run.is_completed()).count();
    // Ten times the limit two canaries decide; a tenth of it they do not, for they are far too small to show how the time grows.
    let is_tenfold = |line: &JudgedLine| {
        let limit = line.row.limit;
        (line.estimate).is_some_and(|estimate| estimate.point >= TENFOLD * limit)
    };
    let decided = counting.iter().all(|line| match has_enough {
        true => line.is_decided(certainty) || is_open_for_ever(line),
        false => line.is_decided(certainty) || completed > 1 && is_tenfold(line),
    });
    match decided {
        true => Aim::Reached(Reached::Decided),
        false => Aim::GoOn,
    }
}

/// Whether the forecast of the time is narrow.
pub fn aim_without_lines(certainty: Fraction, forecast: &Forecast) -> Aim {
    let is_narrow = forecast[Metric::Time]
        .as_ref()
        .is_ok_and(|time| time.quantile(certainty.0) <= NARROW * time.quantile(1.0 - certainty.0));
    match is_narrow {
        true => Aim::Reached(Reached::Narrow),
        false => Aim::GoOn,
    }
}
