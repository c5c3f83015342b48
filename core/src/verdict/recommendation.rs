//! What would fit: of the configurations that were measured, the cheapest and the fastest within budget, or, where none
//! is, the one that misses it by least.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{CHANCE_ROUNDING, JudgedLine, LineVerdict, Verdict};
use crate::forecast::scale_out::Measured;
use crate::forecast::{Predictive, ratio};
use crate::metric::{LineKind, Metric};
use crate::spec::{Bound, BudgetLine, Level, LineOrigin};
use crate::units::Fraction;

/// Equal parts into which one distribution is cut to compare it with another.
const PARTS: u32 = 200;

/// A configuration that was measured and forecast.
#[derive(Debug, Clone, Copy)]
pub struct Contender<'a> {
    /// With what its canaries say: one whose training code failed is not within.
    pub verdict: Verdict,
    pub lines: &'a [JudgedLine],
    pub measured: &'a Measured,
}

impl Contender<'_> {
    /// What its full run takes of a metric, where that is known.
    fn takes(&self, metric: Metric) -> Option<&Predictive> {
        self.measured.forecast[metric].as_ref().ok()
    }

    fn name(&self) -> String {
        self.measured.instance().to_string()
    }
}

/// What would fit, of the configurations that were measured; each is named as written.
#[skip_serializing_none]
#[serde_with::apply(Vec<String> => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// The cheapest within budget; absent where none is, or no cost is known.
    pub cheapest: Option<String>,
    /// Others within budget that may be as cheap: the chance that they cost more does not reach `certainty`.
    pub cheapest_ties: Vec<String>,
    /// The fastest within budget; absent where none is, or no time is known.
    pub fastest: Option<String>,
    /// Others within budget that may be as fast.
    pub fastest_ties: Vec<String>,
    /// The Pareto set, the cheapest first: those within budget that no other is at least as good as in both time and cost. Absent
    /// where it holds no more than the cheapest and the fastest.
    pub pareto: Vec<String>,
    /// The one that misses the budget by least, if none is within it; absent if no other limit would do.
    pub closest: Option<ClosestFit>,
    /// The certainty of the job's budget, 0-1.
    pub certainty: Option<f64>,
}

/// A configuration that would be within budget with other limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosestFit {
    pub instance: String,
    pub if_limits: Vec<LimitNeeded>,
}

/// The limit with which a budget line would be within, in the unit of the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitNeeded {
    pub line: LineKind,
    pub bound: Bound,
    pub limit: f64,
}

/// Compares the contenders, of which the first is the job's own instance and the others follow in the order of the spec.
/// `None` where there are fewer than two, since alone a verdict says all, and where no written line counts.
///
/// A contender is as good as the best unless the chance that the best is better reaches `certainty`. That chance is of the ratio of
/// the two, by the canaries of both under one law (`forecast::ratio`): a law that bends on one machine is likely to bend on the
/// other. Where there is no ratio the two forecasts are taken to be independent, and a difference that is called clear is.
pub fn recommend(contenders: &[Contender<'_>], certainty: Fraction) -> Option<Recommendation> {
    if contenders.len() < 2 {
        return None;
    }
    let unanswered = Recommendation {
        certainty: Some(certainty.0),
        ..Recommendation::default()
    };
    let within: Vec<&Contender<'_>> = contenders.iter().filter(|one| fits(one)).collect();
    if within.is_empty() {
        // Without a line that counts there is nothing to recommend.
        let is_judged = |contender: &Contender<'_>| {
            contender.verdict != Verdict::NotJudged || contender.lines.iter().any(is_missed)
        };
        if !contenders.iter().any(is_judged) {
            return None;
        }
        return Some(Recommendation {
            closest: closest(contenders),
            ..unanswered
        });
    }
    let (cheapest, cheapest_ties) = best(Metric::Cost, &within, certainty).unzip();
    let (fastest, fastest_ties) = best(Metric::Time, &within, certainty).unzip();
    Some(Recommendation {
        cheapest,
        cheapest_ties: cheapest_ties.unwrap_or_default(),
        fastest,
        fastest_ties: fastest_ties.unwrap_or_default(),
        pareto: pareto(&within),
        ..unanswered
    })
}

/// Whether it is within every line of level fail, whatever the base took. Without a written line every configuration is.
fn fits(contender: &Contender<'_>) -> bool {
    let is_written = |line: &JudgedLine| line.origin == LineOrigin::Written;
    match contender.verdict {
        Verdict::Within => !contender.lines.iter().any(is_missed),
        Verdict::NotJudged => !contender.lines.iter().any(is_written),
        Verdict::Exceeded | Verdict::Failed | Verdict::Unknown | Verdict::AtRisk => false,
    }
}

/// Whether a line of level fail is not within. That the base missed it already excuses a change, and is no advice to stay.
fn is_missed(line: &JudgedLine) -> bool {
    line.row.level == Level::Fail && line.row.verdict < LineVerdict::Within
}

/// By the medians, the cheapest first; of equal ones the first. Empty where two say all.
fn pareto(contenders: &[&Contender<'_>]) -> Vec<String> {
    let known = contenders.iter().filter_map(|one| {
        let [cost, time] = [Metric::Cost, Metric::Time].map(|metric| one.takes(metric));
        Some((cost?.median(), time?.median(), one))
    });
    let mut known = Vec::from_iter(known);
    known.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let mut fastest = f64::INFINITY;
    // What costs as much or more has to be faster than all before.
    known.retain(|(_, time, _)| {
        let is_faster = *time < fastest;
        fastest = fastest.min(*time);
        is_faster
    });
    let set = known.iter().filter(|_| known.len() > 2);
    set.map(|(.., one)| one.name()).collect()
}

/// The best by one quantity, and the others that may be as good; `None` where the quantity is known of none.
fn best(
    metric: Metric,
    contenders: &[&Contender<'_>],
    certainty: Fraction,
) -> Option<(String, Vec<String>)> {
    let known = contenders.iter();
    let mut known = Vec::from_iter(known.filter_map(|one| Some((*one, one.takes(metric)?))));
    known.sort_by(|(_, one), (_, other)| one.median().total_cmp(&other.median()));
    let chance = |one, other| chance_of_less(metric, one, other);
    let mut known = as_low_as_the_least(known, certainty, chance);
    // Of those within noise the cheaper first.
    let cost = |one: &Contender<'_>| {
        one.takes(Metric::Cost)
            .map_or(f64::INFINITY, Predictive::median)
    };
    known.sort_by(|(one, _), (other, _)| cost(one).total_cmp(&cost(other)));
    let mut names = known.iter().map(|(one, _)| one.name());
    Some((names.next()?, names.collect()))
}

/// P(one < other), by the ratio of their full runs where their canaries give one.
fn chance_of_less(
    metric: Metric,
    (one, amount): (&Contender<'_>, &Predictive),
    (other, other_amount): (&Contender<'_>, &Predictive),
) -> f64 {
    let of_ratio = || {
        let (time, other_time) = (one.takes(Metric::Time)?, other.takes(Metric::Time)?);
        let [ours, theirs] = [one, other].map(|one| &one.measured.measurements);
        let growth = ratio::compare(ours, theirs).ok()?.growth(time);
        let [price, other_price] = match metric {
            Metric::Cost => [
                amount.median() / time.median(),
                other_amount.median() / other_time.median(),
            ],
            _ => [1.0, 1.0],
        };
        Some(growth.priced(price, other_price).chance_of_more())
    };
    of_ratio().unwrap_or_else(|| chance_below(amount, other_amount))
}

/// Those that may take the least: the chance that the least is below one, which `chance_of_less` gives, does not reach `certainty`.
pub fn as_low_as_the_least<'p, T: Copy>(
    mut known: Vec<(T, &'p Predictive)>,
    certainty: Fraction,
    chance_of_less: impl Fn((T, &'p Predictive), (T, &'p Predictive)) -> f64,
) -> Vec<(T, &'p Predictive)> {
    let least = known.iter().copied();
    let least = least.min_by(|(_, one), (_, other)| one.median().total_cmp(&other.median()));
    known.retain(|other| {
        least.is_some_and(|least| {
            std::ptr::eq(least.1, other.1)
                || chance_of_less(least, *other) < certainty.0 - CHANCE_ROUNDING
        })
    });
    known
}

/// P(one < other) of two independent quantities: the mean, over equally likely values of `one`, of P(other > value). Where
/// neither has any spread, 1 or 0.
pub fn chance_below(one: &Predictive, other: &Predictive) -> f64 {
    let parts = f64::from(PARTS);
    let chances = (0..PARTS).map(|part| {
        let value = one.quantile((f64::from(part) + 0.5) / parts);
        other.chance_above(value)
    });
    chances.sum::<f64>() / parts
}

/// The contender whose furthest line has to be moved by the smallest factor.
fn closest(contenders: &[Contender<'_>]) -> Option<ClosestFit> {
    let fits = contenders.iter().filter_map(|contender| {
        let needed = limits_needed(contender)?.into_iter();
        let (factors, if_limits): (Vec<f64>, Vec<LimitNeeded>) = needed.unzip();
        let instance = contender.name();
        let fit = ClosestFit {
            instance,
            if_limits,
        };
        Some((factors.into_iter().fold(1.0, f64::max), fit))
    });
    // Of equal ones the first.
    let closest = fits.min_by(|(a, _), (b, _)| a.total_cmp(b));
    closest.map(|(_, closest)| closest)
}

/// What would have to change, each limit after the factor of 1 or more by which it moves; at least one. `None` where the
/// training code failed, where a line is unknown, and where no limit would do: a machine has no more than all of its memory.
fn limits_needed(contender: &Contender<'_>) -> Option<Vec<(f64, LimitNeeded)>> {
    if matches!(contender.verdict, Verdict::Failed | Verdict::Unknown) {
        return None;
    }
    let missed = contender.lines.iter().filter(|line| is_missed(line));
    let needed = missed.map(|judged| {
        let row = &judged.row;
        let estimate = judged.estimate?;
        let limit = match row.line {
            // Only what is over for certain is over.
            LineKind::Increase(_) => estimate.lower,
            _ => estimate.end(row.bound),
        };
        let is_share_of_a_machine = row.line.memory_of().is_some();
        let is_possible = limit.is_finite()
            && limit > 0.0
            && !(is_share_of_a_machine && limit > BudgetLine::ALL_MEMORY.0)
            // A canary that has settled a line says more than its distribution.
            && judged.reason.is_none()
            && row.limit > 0.0;
        let factor = row.bound.pick(limit / row.limit, row.limit / limit);
        is_possible.then(|| {
            let (line, bound) = (row.line, row.bound);
            (factor, LimitNeeded { line, bound, limit })
        })
    });
    let needed = needed.collect::<Option<Vec<_>>>()?;
    (!needed.is_empty()).then_some(needed)
}

#[cfg(test)]
mod tests;
