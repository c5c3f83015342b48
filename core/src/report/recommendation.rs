//! What would fit, in one sentence.

use super::comparison::Column;
use super::{InstanceForecast, JobReport, Prose, words};
use crate::metric::Metric;
use crate::spec::{Bound, LineKind, Ranking, Words as _};
use crate::verdict::{LimitNeeded, Recommendation, Verdict};

/// More names than a reader compares.
const TIES_SHOWN: usize = 3;
/// Of the Pareto set.
const SET_SHOWN: usize = 5;

/// `None is within at 95% certainty. Closest: ml.c5.4xlarge at 41 USD if its memory limit is raised to 96%.`
pub(super) fn sentence(job: &JobReport) -> Option<Prose> {
    let recommendation = job.recommendation.as_ref()?;
    let (cheapest, fastest) = (&recommendation.cheapest, &recommendation.fastest);
    if cheapest.is_none() && fastest.is_none() {
        return Some(none_fits(job, recommendation));
    }
    let (cheap, fast) = (&recommendation.cheapest_ties, &recommendation.fastest_ties);
    let is_one = cheapest == fastest && cheap.is_empty() && fast.is_empty();
    let is_within = |forecast: &&InstanceForecast| {
        let is_excused = forecast.budget.iter().any(|row| row.excuse().is_some());
        forecast.verdict == Verdict::Within && forecast.not_measured.is_none() && !is_excused
    };
    let both = &[Metric::Cost, Metric::Time][..];
    let (template, metrics) = match job.forecasts.iter().filter(is_within).count() {
        1 if is_one => ("Only {} is within budget.", both),
        _ if is_one => ("Cheapest and fastest: {}.", both),
        _ => ("Cheapest: {}.", &both[..1]),
    };
    let cheapest = cheapest.as_ref().map(|best| {
        let choice = choice(job, best, cheap, metrics);
        Prose::fill(template, [choice])
    });
    let fastest = fastest.as_ref().filter(|_| !is_one).map(|best| {
        let choice = choice(job, best, fast, &[Metric::Time]);
        Prose::fill("Fastest: {}.", [choice])
    });
    let pareto = Prose::first_of(recommendation.pareto.iter().map(Prose::name), SET_SHOWN);
    let pareto = Prose::list(pareto.collect())
        .map(|set| Prose::fill("Beaten by none in both time and cost: {}.", [set]));
    let ranking = job.ranking.filter(|_| job.forecasts.len() > 2);
    let ranking = ranking.map(Ranking::word).map(|ranking| {
        Prose::sentence(format!("Alternatives that fit are ordered by `{ranking}`."))
    });
    let said = [cheapest, fastest, pareto, ranking].into_iter().flatten();
    Some(Prose::joined(said, " "))
}

/// The best, and others that are as good within noise.
fn choice(job: &JobReport, best: &str, ties: &[String], metrics: &[Metric]) -> Prose {
    let shown = |instance: &str| match figures(job, instance, metrics).as_slice() {
        [] => Prose::name(instance),
        figures => {
            let figures = Prose::literal(figures.join(", "));
            Prose::fill("{} ({})", [Prose::name(instance), figures])
        }
    };
    let others = Prose::first_of(ties.iter().map(|instance| shown(instance)), TIES_SHOWN);
    let choices = Prose::joined([shown(best)].into_iter().chain(others), " or ");
    match ties.is_empty() {
        true => choices,
        false => choices.then(Prose::own(", within noise")),
    }
}

fn none_fits(job: &JobReport, recommendation: &Recommendation) -> Prose {
    let none = match recommendation.certainty.map(words::share) {
        Some(certainty) => Prose::literal(format!("None is within at {certainty} certainty.")),
        None => Prose::own("None is within."),
    };
    let Some(closest) = &recommendation.closest else {
        return none;
    };
    let metric = match closest.if_limits.first().map(|needed| needed.line) {
        Some(LineKind::Absolute(Metric::Cost)) => Metric::Time,
        _ => Metric::Cost,
    };
    let at = match figures(job, &closest.instance, &[metric]).first() {
        Some(at) => Prose::fill(" at {}", [Prose::literal(at.as_str())]),
        None => Prose::default(),
    };
    let limits = closest.if_limits.iter().map(limit_needed);
    let limits = Prose::literal(words::joined(limits, " and its "));
    let name = Prose::name(closest.instance.as_str());
    Prose::fill("{} Closest: {}{} if its {}.", [none, name, at, limits])
}

/// Of the forecast of that name; nothing where a stored report has none.
fn figures(job: &JobReport, instance: &str, metrics: &[Metric]) -> Vec<String> {
    let mut forecasts = job.forecasts.iter();
    let forecast = forecasts.find(|forecast| forecast.instance.to_string() == instance);
    let point = |metric: &Metric| Some(Column::Metric(*metric).figure(forecast?)?.0);
    metrics.iter().filter_map(point).collect()
}

fn limit_needed(needed: &LimitNeeded) -> String {
    let limit = generous(needed.line, needed.bound, needed.limit);
    let limit = needed.line.exact(limit);
    let moved = needed.bound.pick("raised", "lowered");
    format!("{} limit is {moved} to {limit}", needed.line.words())
}

/// A limit as people write it, and on the side where it is enough.
pub(super) fn generous(line: LineKind, bound: Bound, limit: f64) -> f64 {
    let step = match line.unit() {
        words::Quantity::Time | words::Quantity::StepTime if limit >= 3600.0 => 300.0,
        words::Quantity::Time | words::Quantity::StepTime if limit >= 60.0 => 10.0,
        words::Quantity::Time | words::Quantity::StepTime => 1.0,
        // Two figures, or three where they begin with a 1.
        _ if limit > 0.0 => {
            let magnitude = 10_f64.powf(limit.log10().floor());
            if limit / magnitude < 2.0 {
                magnitude / 100.0
            } else {
                magnitude / 10.0
            }
        }
        _ => return limit,
    };
    // What a computer's arithmetic adds is no reason for another step.
    let steps = limit / step;
    let steps = bound.pick((steps - 1e-9).ceil(), (steps + 1e-9).floor());
    // Dividing by a whole number keeps 0.07 from becoming 0.07000000000000001.
    if step < 1.0 {
        steps / (1.0 / step).round()
    } else {
        steps * step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_named_is_enough() {
        for (line, bound, limit, named) in [
            (LineKind::Absolute(Metric::Memory), Bound::Max, 95.2, 96.0),
            (LineKind::Absolute(Metric::Memory), Bound::Max, 96.0, 96.0),
            (LineKind::Absolute(Metric::Cost), Bound::Max, 0.0701, 0.071),
            (LineKind::Absolute(Metric::Cost), Bound::Max, 0.07, 0.07),
            (LineKind::Absolute(Metric::Cost), Bound::Max, 1234.0, 1240.0),
            (LineKind::Absolute(Metric::Time), Bound::Max, 61.0, 70.0),
            (
                LineKind::Absolute(Metric::CpuUtilization),
                Bound::Min,
                26.7,
                26.0,
            ),
        ] {
            assert_eq!(generous(line, bound, limit), named, "{limit}");
        }
    }
}
