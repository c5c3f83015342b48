//! The job's verdict in one sentence.

use super::{JudgedLine, LineVerdict, quantity, words};
use crate::forecast::Forecast;
use crate::spec::{Bound, BudgetLine, Level, LineKind, LineOrigin};

/// Why the job's verdict is what it is, by the line that decides.
///
/// `cost is 63 USD, 13 USD above 50 USD`; `memory may pass 90%: 88%, 24% likely over`; `cost is unknown: no price for
/// local`. Where nothing counts, why not.
pub fn reason(lines: &[JudgedLine], forecast: &Forecast) -> String {
    match deciding(lines, forecast) {
        Some(index) => sentence(&lines[index], forecast),
        None => nothing_judged(lines, forecast),
    }
}

/// The place of the line that the job's verdict rests on: the worst that counts, and of equal ones the most used. `None`
/// where nothing is judged.
pub fn deciding(lines: &[JudgedLine], forecast: &Forecast) -> Option<usize> {
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.counts())
        .filter(|(_, line)| {
            line.line.origin == LineOrigin::Written || line.verdict != LineVerdict::Within
        })
        // Of equal keys `max_by` takes the last; the first line of the budget is meant.
        .rev()
        .max_by(|(_, a), (_, b)| {
            // `LineVerdict` is ordered worst first.
            b.verdict
                .cmp(&a.verdict)
                .then(strain(a, forecast).total_cmp(&strain(b, forecast)))
        })
        .map(|(index, _)| index)
}

/// How hard a line is pressed, for comparison: above 1 the point is beyond the limit. A line that a canary has settled
/// is pressed hardest, an unknown one not at all.
fn strain(judged: &JudgedLine, forecast: &Forecast) -> f64 {
    let Some(point) = point(&judged.line, forecast) else {
        return match judged.verdict {
            LineVerdict::Exceeded => f64::INFINITY,
            _ => 0.0,
        };
    };
    match judged.line.bound {
        Bound::Max => point / judged.line.limit.max(f64::MIN_POSITIVE),
        Bound::Min => judged.line.limit / point.max(f64::MIN_POSITIVE),
    }
}

fn point(line: &BudgetLine, forecast: &Forecast) -> Option<f64> {
    Some(quantity(line.kind, forecast)?.as_ref().ok()?.median())
}

fn sentence(judged: &JudgedLine, forecast: &Forecast) -> String {
    let line = &judged.line;
    let name = line.kind.words();
    let limit = format!("{}{}", words::limit(line.kind, line.limit), meaning(line));
    let (Some(point), Some(chance)) = (point(line, forecast), judged.chance_of_breach) else {
        let because = judged.reason.as_deref().unwrap_or("it was not measured");
        return match judged.verdict {
            LineVerdict::Exceeded => format!("{because}, so the full run will pass {limit}"),
            _ => format!("{name} is unknown: {because}"),
        };
    };
    let value = words::amount_beside(line.kind, point, line.limit);
    match judged.verdict {
        LineVerdict::AtRisk => {
            let passing = match line.bound {
                Bound::Max => "pass",
                Bound::Min => "fall below",
            };
            let chance = words::chance(chance, line.bound);
            format!("{name} may {passing} {limit}: {value}, {chance}")
        }
        _ => {
            let side = if point > line.limit { "above" } else { "below" };
            let distance = words::distance(line.kind, (point - line.limit).abs());
            format!("{name} is {value}, {distance} {side} {limit}")
        }
    }
}

/// Whose limit it is, where nobody wrote it in the budget.
fn meaning(line: &BudgetLine) -> &'static str {
    match (line.origin, line.kind) {
        (LineOrigin::Implicit, LineKind::Time) => ", the job's max_runtime",
        (LineOrigin::Implicit, LineKind::Memory) => " of the machine",
        _ => "",
    }
}

/// Why no line decides; first of all, where it is so, that no canary run completed.
fn nothing_judged(lines: &[JudgedLine], forecast: &Forecast) -> String {
    let because = no_line_decides(lines);
    match &forecast.time_seconds {
        Err(unknown) if forecast.largest_share.is_none() => format!("{unknown}; {because}"),
        _ => because,
    }
}

fn no_line_decides(lines: &[JudgedLine]) -> String {
    let mut written = lines
        .iter()
        .filter(|line| line.line.origin == LineOrigin::Written)
        .peekable();
    if written.peek().is_none() {
        return "no budget is written".to_owned();
    }
    match written
        .find(|line| line.verdict == LineVerdict::NotApplicable && line.line.level == Level::Fail)
    {
        Some(line) => format!(
            "no budget line applies: {}, {}",
            line.line.kind.words(),
            line.reason.as_deref().unwrap_or("not here")
        ),
        None => "every budget line is at level warn".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{about, at_least, at_most, implicit, judged, nothing_known, warn};
    use super::*;
    use crate::forecast::{Predictive, Unknown};
    use LineKind::{Cost, CostPerStep, CpuUtilization, GpuUtilization, Memory, Time};

    fn measured() -> Forecast {
        Forecast {
            cost_usd: about(63.0),
            time_seconds: about(20_520.0),
            memory_percent: about(84.0),
            cpu_percent: Ok(Predictive::level(22.0, 2.0, 1e9)),
            cost_per_step_usd: Err(Unknown("no step time was measured".to_owned())),
            ..nothing_known()
        }
    }

    fn said(lines: &[BudgetLine]) -> String {
        reason(&judged(&measured(), lines), &measured())
    }

    #[test]
    fn each_verdict_has_its_sentence() {
        for (line, expected) in [
            (at_most(Cost, 50.0), "cost is 63 USD, 13 USD above 50 USD"),
            (at_most(Cost, 90.0), "cost is 63 USD, 27 USD below 90 USD"),
            (at_most(Time, 18_000.0), "time is 5h 42m, 42m above 5h"),
            (
                at_most(Memory, 90.0),
                "memory may pass 90%: 84%, 25% likely over",
            ),
            (
                at_least(CpuUtilization, 20.0),
                "CPU utilization may fall below 20%: 22%, 16% likely under",
            ),
            (
                at_least(CpuUtilization, 40.0),
                "CPU utilization is 22%, 18 points below 40%",
            ),
            (
                at_least(CpuUtilization, 10.0),
                "CPU utilization is 22%, 12 points above 10%",
            ),
            (
                at_most(CostPerStep, 0.1),
                "cost per step is unknown: no step time was measured",
            ),
            (
                implicit(at_most(Time, 18_000.0)),
                "time is 5h 42m, 42m above 5h, the job's max_runtime",
            ),
            (implicit(at_most(Memory, 100.0)), "no budget is written"),
            (
                at_least(GpuUtilization, 10.0),
                "no budget line applies: GPU utilization, the machine has no GPU",
            ),
            (
                warn(at_most(Cost, 1.0)),
                "every budget line is at level warn",
            ),
        ] {
            assert_eq!(said(&[line]), expected);
        }
    }

    #[test]
    fn the_worst_line_speaks_and_of_equal_ones_the_most_used() {
        assert_eq!(
            said(&[
                at_most(Cost, 90.0),
                at_most(Time, 28_800.0),
                implicit(at_most(Memory, 120.0))
            ]),
            "time is 5h 42m, 2h 18m below 8h"
        );
        assert_eq!(
            said(&[at_most(Cost, 90.0), at_most(Memory, 90.0)]),
            "memory may pass 90%: 84%, 25% likely over"
        );
        assert_eq!(
            said(&[at_most(Cost, 50.0), at_most(Time, 3600.0)]),
            "time is 5h 42m, 4h 42m above 1h"
        );
        assert_eq!(
            said(&[warn(at_most(Cost, 1.0)), at_most(Time, 72_000.0)]),
            "time is 5h 42m, 14h 18m below 20h"
        );
    }

    #[test]
    fn that_no_canary_completed_comes_before_what_is_written() {
        assert_eq!(
            reason(&[], &nothing_known()),
            "no canary run completed; no budget is written"
        );
    }

    #[test]
    fn a_canary_out_of_memory_speaks_for_itself() {
        let forecast = Forecast {
            out_of_memory: true,
            memory_percent: Err(Unknown("settled".to_owned())),
            ..measured()
        };
        let lines = judged(&forecast, &[at_most(Memory, 90.0), at_most(Cost, 50.0)]);
        assert_eq!(
            reason(&lines, &forecast),
            "a canary ran out of memory, so the full run will pass 90%"
        );
    }
}
