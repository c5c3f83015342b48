//! What would fit, in one sentence.

use super::comparison::Column;
use super::text::Prose;
use super::words;
use super::{InstanceForecast, JobReport};
use crate::metric::Metric;
use crate::spec::{Bound, LineKind};
use crate::verdict::{self, LimitNeeded, Recommendation, Verdict};

/// More names than a reader compares.
const TIES_SHOWN: usize = 3;

/// `None is within at 95% certainty. Closest: ml.c5.4xlarge at 41 USD if its memory limit may be 96%.`
pub(super) fn sentence(job: &JobReport) -> Option<Prose> {
    let recommendation = job.recommendation.as_ref()?;
    let Recommendation {
        cheapest, fastest, ..
    } = recommendation;
    if cheapest.is_none() && fastest.is_none() {
        return Some(none_fits(job, recommendation));
    }
    if let (Some(both), true) = (cheapest, cheapest == fastest)
        && recommendation.cheapest_ties.is_empty()
        && recommendation.fastest_ties.is_empty()
    {
        return Some(one_is_both(job, both));
    }
    let choices = [
        choice(
            "Cheapest: {}.",
            job,
            cheapest.as_deref(),
            &recommendation.cheapest_ties,
            Column::Metric(Metric::Cost),
        ),
        choice(
            "Fastest: {}.",
            job,
            fastest.as_deref(),
            &recommendation.fastest_ties,
            Column::Metric(Metric::Time),
        ),
    ];
    Some(Prose::joined(choices.into_iter().flatten(), " "))
}

fn one_is_both(job: &JobReport, both: &str) -> Prose {
    let is_within = |forecast: &&InstanceForecast| {
        let is_excused = forecast.budget.iter().any(|row| row.excuse().is_some());
        forecast.verdict == Verdict::Within && forecast.not_measured.is_none() && !is_excused
    };
    let sentence = match job.forecasts.iter().filter(is_within).count() {
        0 => "{} is the cheapest and the fastest{}.",
        1 => "Only {} is within budget{}.",
        _ => "{} is the cheapest and the fastest within budget{}.",
    };
    let figures = match figures(
        job,
        both,
        &[Column::Metric(Metric::Cost), Column::Metric(Metric::Time)],
    )
    .as_slice()
    {
        [] => Prose::default(),
        figures => Prose::fill(": {}", [Prose::literal(figures.join(", "))]),
    };
    Prose::fill(sentence, [Prose::name(both), figures])
}

fn choice(
    template: &'static str,
    job: &JobReport,
    best: Option<&str>,
    ties: &[String],
    column: Column,
) -> Option<Prose> {
    let shown = |instance: &str| match figures(job, instance, &[column]).as_slice() {
        [] => Prose::name(instance),
        figures => Prose::fill(
            "{} ({})",
            [Prose::name(instance), Prose::literal(figures.join(", "))],
        ),
    };
    let named = [best?]
        .into_iter()
        .chain(ties.iter().take(TIES_SHOWN).map(String::as_str));
    let further = ties.len().saturating_sub(TIES_SHOWN);
    let further = (further > 0).then(|| Prose::literal(format!("{further} more")));
    let mut choices = Prose::joined(named.map(shown).chain(further), " or ");
    if !ties.is_empty() {
        choices = choices.then(Prose::own(", within noise"));
    }
    Some(Prose::fill(template, [choices]))
}

fn none_fits(job: &JobReport, recommendation: &Recommendation) -> Prose {
    let none = match recommendation.certainty {
        Some(certainty) => Prose::literal(format!(
            "None is within at {} certainty.",
            words::share(certainty)
        )),
        None => Prose::own("None is within."),
    };
    let Some(closest) = &recommendation.closest else {
        return none;
    };
    let column = match closest.if_limits.first().map(|needed| needed.line) {
        Some(LineKind::Absolute(Metric::Cost)) => Column::Metric(Metric::Time),
        _ => Column::Metric(Metric::Cost),
    };
    let at = match figures(job, &closest.instance, &[column]).first() {
        Some(at) => Prose::fill(" at {}", [Prose::literal(at.as_str())]),
        None => Prose::default(),
    };
    let limits: Vec<String> = closest.if_limits.iter().map(limit_needed).collect();
    let limits = Prose::literal(limits.join(" and its "));
    Prose::fill(
        "{} Closest: {}{} if its {}.",
        [none, Prose::name(closest.instance.as_str()), at, limits],
    )
}

/// Of the forecast of that name; nothing where a stored report has none.
fn figures(job: &JobReport, instance: &str, columns: &[Column]) -> Vec<String> {
    let forecast = job
        .forecasts
        .iter()
        .find(|forecast| forecast.instance.to_string() == instance);
    let figures = columns.iter().filter_map(|column| column.figure(forecast?));
    figures.map(|figure| figure.point).collect()
}

fn limit_needed(needed: &LimitNeeded) -> String {
    let limit = generous(needed.line, needed.bound, needed.limit);
    format!(
        "{} limit may be {}",
        needed.line.words(),
        verdict::words::limit(needed.line, limit)
    )
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
    let steps = match bound {
        Bound::Max => (steps - 1e-9).ceil(),
        Bound::Min => (steps + 1e-9).floor(),
    };
    // Dividing by a whole number keeps 0.07 from becoming 0.07000000000000001.
    if step < 1.0 {
        steps / (1.0 / step).round()
    } else {
        steps * step
    }
}

#[cfg(test)]
mod tests {
    use super::super::{samples, terminal};
    use super::*;

    fn said(recommendation: Recommendation) -> String {
        let mut report = samples::of("over-budget");
        report.jobs[0].recommendation = Some(recommendation);
        terminal::inline(&sentence(&report.jobs[0]).unwrap())
    }

    fn named(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn cheapest_and_fastest_with_what_they_take() {
        let recommendation = Recommendation {
            cheapest: named("ml.c5.4xlarge"),
            fastest: named("6x ml.m5.4xlarge"),
            ..Recommendation::default()
        };
        assert_eq!(
            said(recommendation.clone()),
            "Cheapest: ml.c5.4xlarge (41 USD). Fastest: 6x ml.m5.4xlarge (48m)."
        );
        assert_eq!(
            said(Recommendation {
                cheapest_ties: vec!["6x ml.m5.4xlarge".to_owned()],
                ..recommendation
            }),
            "Cheapest: ml.c5.4xlarge (41 USD) or 6x ml.m5.4xlarge (~44 USD), within noise. Fastest: 6x ml.m5.4xlarge (48m)."
        );
    }

    #[test]
    fn one_that_is_both_is_named_once() {
        let both = Recommendation {
            cheapest: named("ml.c5.4xlarge"),
            fastest: named("ml.c5.4xlarge"),
            ..Recommendation::default()
        };
        let said = |within: usize| {
            let mut report = samples::of("over-budget");
            let job = &mut report.jobs[0];
            job.recommendation = Some(both.clone());
            for forecast in job.forecasts.iter_mut().rev().skip(1).take(within) {
                forecast.verdict = Verdict::Within;
            }
            terminal::inline(&sentence(job).unwrap())
        };
        assert_eq!(
            said(0),
            "ml.c5.4xlarge is the cheapest and the fastest: 41 USD, 2h 58m."
        );
        assert_eq!(
            said(1),
            "Only ml.c5.4xlarge is within budget: 41 USD, 2h 58m."
        );
        assert_eq!(
            said(2),
            "ml.c5.4xlarge is the cheapest and the fastest within budget: 41 USD, 2h 58m."
        );
    }

    #[test]
    fn where_none_fits_the_closest_and_what_it_would_need() {
        assert_eq!(
            terminal::inline(&sentence(&samples::of("over-budget").jobs[0]).unwrap()),
            "None is within at 95% certainty. Closest: ml.c5.4xlarge at 41 USD if its memory limit may be 96%."
        );
        let needed = |line, limit| LimitNeeded {
            line,
            bound: Bound::Max,
            limit,
        };
        assert_eq!(
            said(Recommendation {
                certainty: Some(0.9),
                closest: Some(verdict::ClosestFit {
                    instance: "6x ml.m5.4xlarge".to_owned(),
                    if_limits: vec![
                        needed(LineKind::Absolute(Metric::Cost), 64.2),
                        needed(LineKind::Absolute(Metric::Time), 35_432.0)
                    ],
                }),
                ..Recommendation::default()
            }),
            "None is within at 90% certainty. Closest: 6x ml.m5.4xlarge at 48m if its cost limit may be 65 USD and its time limit may be 9h 55m."
        );
        assert_eq!(said(Recommendation::default()), "None is within.");
    }

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
