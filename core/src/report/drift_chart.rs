//! The checks for drift as a chart.

use std::collections::HashSet;

use super::chart::{Chart, ChartAxis, ChartSeries, ChartXAxis};
use super::drift;
use super::text::Prose;
use crate::drift::Drift;
use crate::forecast::Estimate;

/// More points than this run into each other.
const CHECKS_SHOWN: usize = 60;

/// More names than this would overlap.
const DAYS_SHOWN: usize = 10;

/// A level that is further off would press all others flat, and only a report that somebody edited has one.
const HIGHEST: f64 = 1000.0;

/// Each check's level in percent of the baseline, and what is allowed. `None` for fewer than two checks.
pub(super) fn of(drift: &Drift) -> Option<Chart> {
    let (checks, limit) = levels(drift)?;
    let levels: Vec<f64> = checks.iter().map(|(_, level)| level.point).collect();
    let shown_limit = (limit.is_finite() && limit <= HIGHEST).then_some(limit);
    let lowest = levels.iter().copied().fold(100.0, f64::min);
    let highest = levels
        .iter()
        .copied()
        .chain(shown_limit)
        .fold(100.0, f64::max);
    let bottom = ((lowest - 5.0) / 10.0).floor().max(0.0) * 10.0;
    let top = ((highest + 5.0) / 10.0).ceil() * 10.0;
    let title = match drift.change.cost_usd {
        Some(_) => "Cost of a full run by check",
        None => "Time of a full run by check",
    };
    let allowed = shown_limit.map(|limit| ChartSeries {
        name: "allowed",
        values: vec![limit; levels.len()],
    });
    let level = ChartSeries {
        name: "level",
        values: levels,
    };
    let since = drift::since(drift).map_or(String::new(), |day| format!(" since {day}"));
    let green = shown_limit.map_or(String::new(), |_| {
        let allowed = drift.limit_percent.exact();
        format!("; the green one is {allowed} above the baseline, which is allowed")
    });
    Some(Chart {
        caption: Prose::literal(format!(
            "The purple line is what each check found{since}{green}."
        )),
        title: Prose::own(title),
        x: axis(&checks),
        y: ChartAxis {
            title: "% of the baseline",
            from: bottom,
            to: top,
        },
        series: [level].into_iter().chain(allowed).collect(),
        digits: 1,
        in_a_line: drift::line(drift).map(Prose::literal),
    })
}

/// The level of each check that a chart shows, in percent of the baseline, and what is allowed. `None` for fewer than two checks.
pub(super) fn levels(drift: &Drift) -> Option<(Vec<(jiff::Timestamp, Estimate)>, f64)> {
    let skipped = drift.checks.len().saturating_sub(CHECKS_SHOWN);
    let checks = drift.checks[skipped..].iter();
    let checks = checks.filter(|check| check.level_percent.is_finite());
    let levels: Vec<_> = checks
        .map(|check| {
            (
                check.at,
                Estimate::exactly(check.level_percent.clamp(0.0, HIGHEST)),
            )
        })
        .collect();
    (levels.len() > 1).then_some((levels, 100.0 + drift.limit_percent.0))
}

/// The days of few checks; of more there are only numbers, and also where two are of one day: equal names would be one place.
fn axis(checks: &[(jiff::Timestamp, Estimate)]) -> ChartXAxis {
    let days = checks
        .iter()
        .map(|(at, _)| at.strftime("%m-%d").to_string());
    let different: HashSet<String> = days.collect();
    if checks.len() <= DAYS_SHOWN && different.len() == checks.len() {
        return ChartXAxis::Days(checks.iter().map(|(at, _)| *at).collect());
    }
    let count = u32::try_from(checks.len()).unwrap_or(u32::MAX);
    ChartXAxis::Numbers(ChartAxis {
        title: "checks, the newest last",
        from: 1.0,
        to: f64::from(count),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{mermaid, samples};
    use super::*;
    use crate::units::Percent;

    fn block(drift: &Drift) -> String {
        mermaid::block(&of(drift).unwrap())
    }

    fn drifted() -> Drift {
        samples::of("drifted").jobs.remove(0).drift.unwrap()
    }

    #[test]
    fn hostile_numbers_make_a_chart_or_none() {
        let mut drift = drifted();
        drift.checks[2].level_percent = f64::NAN;
        drift.checks[3].level_percent = -1e300;
        drift.checks[4].level_percent = 1e300;
        drift.limit_percent = Percent(1e300);
        let drawn = block(&drift);
        assert!(
            drawn.contains("[100.0, 103.1, 0.0, 1000.0, 124.5, 126.0]"),
            "{drawn}"
        );
        assert!(!drawn.contains("allowed"), "{drawn}");
        let check = drift.checks[0].clone();
        drift.checks = vec![check; 10_000];
        let drawn = block(&drift);
        let numbered = "x-axis \"checks, the newest last\" 1 --> 60\n";
        assert!(drawn.contains(numbered), "{drawn}");
        drift.checks.truncate(1);
        assert_eq!(of(&drift), None);
    }
}
