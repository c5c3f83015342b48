//! The job's verdict in one sentence.

use super::{BudgetRow, JudgedLine, LineVerdict, words};
use crate::forecast::{Estimate, Forecast};
use crate::instance::InstanceConfiguration;
use crate::metric::{MemoryOf, Metric};
use crate::spec::{Bound, BudgetLine, Level, LineKind, LineOrigin};
use crate::units::{Fraction, Percent};

/// An increase that passes its share but less likely than this its `at_least`, has that said alone.
const LEAST_CHANCE_SAID: f64 = 0.05;
/// Of a limit that is so many times the forecast, the distance says nothing that the limit does not, nor how hard it is pressed.
const FAR_BELOW: f64 = 10.0;

/// Why the job's verdict is what it is, by the line that decides.
///
/// `cost is 63 USD, 13 USD above 50 USD`; `memory may exceed 90%: 88%, 24% likely over`; `cost is unknown: no price for
/// local`; `memory is forecast at 426% (390–465%) of ml.m5.4xlarge: this fails`. Where nothing counts, why not.
///
/// A breach that was there before, and so does not count, is said in full where nothing else is wrong, else beside.
pub fn reason(
    lines: &[JudgedLine],
    forecast: &Forecast,
    instance: &InstanceConfiguration,
    certainty: Fraction,
) -> String {
    let deciding = deciding(lines).map(|index| &lines[index]);
    let excused = worst(lines.iter().filter(|line| line.row.excuse().is_some()));
    let said = SaidOf {
        forecast,
        instance,
        certainty,
    };
    let say = |line: &JudgedLine| said.sentence(line);
    match (deciding, excused) {
        (Some(line), None) if line.row.verdict == LineVerdict::Within => {
            format!("{}{}", say(line), not_judged(lines))
        }
        (Some(line), None) => say(line),
        (Some(line), Some(excused)) if line.row.verdict != LineVerdict::Within => {
            let side = words::side(excused.row.bound);
            let name = excused.row.line.words();
            format!(
                "{}; {name} was {side} its budget on the base already and counts as a warning",
                say(line)
            )
        }
        (_, Some(excused)) => say(excused),
        (None, None) => {
            let because = no_line_decides(lines);
            match &forecast[Metric::Time] {
                Err(unknown) if forecast.largest_share.is_none() => format!("{unknown}; {because}"),
                _ => because,
            }
        }
    }
}

/// The place of the line that the job's verdict rests on: the worst that counts, and of equal ones the most used. `None`
/// where nothing is judged.
pub(super) fn deciding(lines: &[JudgedLine]) -> Option<usize> {
    let decides = |line: &&JudgedLine| {
        line.counts()
            && (line.origin == LineOrigin::Written || line.row.verdict != LineVerdict::Within)
    };
    let worst = worst(lines.iter().filter(decides))?;
    lines.iter().position(|line| std::ptr::eq(line, worst))
}

/// The worst, of equal ones the most used, of equal ones the first.
fn worst<'a>(lines: impl DoubleEndedIterator<Item = &'a JudgedLine>) -> Option<&'a JudgedLine> {
    // Of equal keys `max_by` takes the last; the first line of the budget is meant.
    lines.rev().max_by(|a, b| {
        // `LineVerdict` is ordered worst first.
        let by_verdict = b.row.verdict.cmp(&a.row.verdict);
        by_verdict.then(strain(a).total_cmp(&strain(b)))
    })
}

/// How hard a line is pressed, for comparison: above 1 the point is beyond the limit. A line that a canary has settled
/// is pressed hardest, one that is unknown or far from its limit not at all.
fn strain(judged: &JudgedLine) -> f64 {
    let Some(Estimate { point, .. }) = judged.estimate else {
        return match judged.row.verdict {
            LineVerdict::Exceeded => f64::INFINITY,
            _ => 0.0,
        };
    };
    let (limit, least) = (judged.row.limit, f64::MIN_POSITIVE);
    let strain = (judged.row.bound).pick(point / limit.max(least), limit / point.max(least));
    if strain < 1.0 / FAR_BELOW {
        0.0
    } else {
        strain
    }
}

/// The full run that lines are about, and how sure they are to be.
struct SaidOf<'a> {
    forecast: &'a Forecast,
    instance: &'a InstanceConfiguration,
    certainty: Fraction,
}

impl SaidOf<'_> {
    fn sentence(&self, judged: &JudgedLine) -> String {
        let found = self.finding(judged);
        match &judged.row.existing_breach {
            None => found,
            Some(breach) => {
                let joint = match breach.counts_as {
                    Level::Warn => ", but ",
                    Level::Fail => "; ",
                };
                let before = words::existing_breach(judged.row.line, judged.row.bound, breach);
                format!("{found}{joint}{before}")
            }
        }
    }

    /// What was found of a line, without what the base took.
    fn finding(&self, judged: &JudgedLine) -> String {
        let row = &judged.row;
        if row.verdict == LineVerdict::Exceeded
            && let Some(failure) = self.failure(row)
        {
            return failure;
        }
        let name = row.line.words();
        let limit = format!("{}{}", row.line.exact(row.limit), meaning(judged));
        let passing = row.bound.pick("exceed", "fall below");
        let of = memory_of(row.line);
        let at_least = of.and_then(|of| self.forecast.peak(of).at_least);
        if row.verdict == LineVerdict::AtRisk
            && let Some(doubt) = &judged.reason
        {
            let subject = match row.line {
                LineKind::Absolute(Metric::Cost) => Metric::Time.words().into(),
                line => line.words(),
            };
            let value = match (judged.estimate, at_least) {
                (Some(estimate), _) => self.value(row, estimate.point),
                (None, Some(least)) => highest_canary(least),
                (None, None) => return format!("{name} may exceed {limit}: it {doubt}"),
            };
            return format!("{name} may {passing} {limit}: {value}, but {subject} {doubt}");
        }
        let (Some(Estimate { point, .. }), Some(chance)) = (judged.estimate, row.chance_of_breach)
        else {
            let because = judged.reason.as_deref().unwrap_or("it was not measured");
            return match row.verdict {
                LineVerdict::Exceeded => format!("{because}, so the full run will pass {limit}"),
                _ => {
                    let seen = at_least.map(|least| format!("; {}", highest_canary(least)));
                    format!("{name} is unknown: {because}{}", seen.unwrap_or_default())
                }
            };
        };
        let value = self.value(row, point);
        let is_above = point > row.limit;
        match row.verdict {
            LineVerdict::AtRisk => {
                let chance = words::chance(chance, row.bound);
                format!("{name} may {passing} {limit}: {value}, {chance}")
            }
            // Only an increase may be above its limit and within: it must be more than `at_least` too, and for certain.
            LineVerdict::Within if is_above && row.bound == Bound::Max => {
                match words::at_least(judged) {
                    Some(at_least) if chance < LEAST_CHANCE_SAID => {
                        format!("{name} is {value}, but not above the allowed {at_least}")
                    }
                    _ => {
                        let chance = words::chance(chance, row.bound);
                        format!("{name} is {value}, above {limit} but not for certain: {chance}")
                    }
                }
            }
            _ => {
                // Points of a percentage of the base would say little, and what is allowed are two things.
                if row.line.is_increase() {
                    return match words::at_least(judged) {
                        _ if !is_above => format!("{name} is {value}, within the allowed {limit}"),
                        None => format!("{name} is {value}, above the allowed {limit}"),
                        Some(at_least) => {
                            format!("{name} is {value}, above the allowed {limit} and {at_least}")
                        }
                    };
                }
                if !is_above && point < row.limit / FAR_BELOW {
                    return format!("{name} is {value}, far below {limit}");
                }
                let side = if is_above { "above" } else { "below" };
                let distance = words::distance(row.line, (point - row.limit).abs());
                format!("{name} is {value}, {distance} {side} {limit}")
            }
        }
    }

    /// The forecast beside its limit; `roughly 58s` where time, and with it cost, is known from canaries that are far from the full
    /// run.
    fn value(&self, row: &BudgetRow, point: f64) -> String {
        let value = words::amount_beside(row.line, point, row.limit);
        let is_of_time = matches!(row.line, LineKind::Absolute(Metric::Time | Metric::Cost));
        match is_of_time && self.forecast.is_rough() {
            true => format!("roughly {value}"),
            false => value,
        }
    }

    /// Memory that is more than the machine has is no matter of a budget: the full run will not end.
    fn failure(&self, row: &BudgetRow) -> Option<String> {
        let of = memory_of(row.line)?;
        let memory = self.forecast[row.line.metric()?].as_ref().ok()?;
        if memory.median() <= BudgetLine::ALL_MEMORY.0 {
            return None;
        }
        let estimate = Estimate::of(memory, self.certainty);
        let machine = match self.instance.single_type() {
            Some(kind) if kind.is_local() => "this machine".to_owned(),
            Some(kind) => kind.to_string(),
            None => self.instance.to_string(),
        };
        let owner = format!("{}{machine}", of.pick("", "a GPU of "));
        let chance = memory.chance_above(BudgetLine::ALL_MEMORY.0);
        let outcome = if chance >= self.certainty.0 {
            "this fails".to_owned()
        } else {
            format!("this fails, {} likely", words::bare_chance(chance))
        };
        Some(format!(
            "{} is forecast at {} ({}–{}) of {owner}: {outcome}",
            of.words(),
            words::amount_beside(row.line, estimate.point, BudgetLine::ALL_MEMORY.0),
            Percent(estimate.lower).bare(),
            Percent(estimate.upper),
        ))
    }
}

/// Whose peak of memory a line limits.
fn memory_of(line: LineKind) -> Option<MemoryOf> {
    line.memory_of().filter(|_| !line.is_increase())
}

/// What is known of memory without a forecast.
fn highest_canary(percent: f64) -> String {
    format!("at least {} (highest canary)", Percent(percent))
}

/// Whose limit it is, if it is not written in the budget.
fn meaning(judged: &JudgedLine) -> &'static str {
    match (judged.origin, judged.row.line) {
        (LineOrigin::Implicit, LineKind::Absolute(Metric::Time)) => ", the job's max_runtime",
        (LineOrigin::Implicit, line) => match memory_of(line) {
            Some(MemoryOf::Machine) => " of the machine",
            Some(MemoryOf::Gpu) => " of the GPU",
            None => "",
        },
        _ => "",
    }
}

/// The written lines that would count and do not apply, after a sentence of one that is within.
fn not_judged(lines: &[JudgedLine]) -> String {
    let names = lines.iter().filter(|line| is_open(line)).map(|line| {
        let why = line.reason.as_deref().unwrap_or("not here");
        format!("{} ({why})", line.row.line.words())
    });
    match &names.collect::<Vec<_>>()[..] {
        [] => String::new(),
        names => format!("; not judged: {}", names.join(", ")),
    }
}

/// Whether a line is written, would count, and does not apply.
fn is_open(line: &JudgedLine) -> bool {
    line.origin == LineOrigin::Written
        && line.row.verdict == LineVerdict::NotApplicable
        && line.row.level == Level::Fail
}

fn no_line_decides(lines: &[JudgedLine]) -> String {
    let is_written = |line: &&JudgedLine| line.origin == LineOrigin::Written;
    let mut written = lines.iter().filter(is_written).peekable();
    if written.peek().is_none() {
        return "no budget is written".to_owned();
    }
    match written.find(|line| is_open(line)) {
        Some(line) => format!(
            "no budget line applies: {}, {}",
            line.row.line.words(),
            line.reason.as_deref().unwrap_or("not here")
        ),
        None => "every budget line is at level warn".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{
        CERTAINTY, about, at_least, at_most, implicit, judged, nothing_known, one, said, warn,
    };
    use super::*;
    use crate::forecast::{Predictive, Unknown};
    use crate::metric::Metric::{Cost, CostPerStep, CpuUtilization, GpuUtilization, Memory, Time};

    fn measured() -> Forecast {
        nothing_known()
            .with(Metric::Cost, about(63.0))
            .with(Metric::Time, about(20_520.0))
            .with(Metric::Memory, about(84.0))
            .with(
                Metric::CpuUtilization,
                Ok(Predictive::level(22.0, 2.0, 1e9)),
            )
            .with(
                Metric::CostPerStep,
                Err(Unknown("no step time was measured".to_owned())),
            )
    }

    /// Whose sentences follow, and what the instance is.
    fn sentences(forecast: &Forecast, instance: &str, budgets: &[&[BudgetLine]]) -> String {
        let instance = instance.parse().unwrap();
        let said = budgets.iter().map(|lines| {
            let judged = judged(forecast, lines);
            let line = |line: &BudgetLine| {
                let origin = match (line.origin, line.level) {
                    (LineOrigin::Implicit, _) => "implicit ",
                    (_, Level::Warn) => "warn ",
                    _ => "",
                };
                format!(
                    "{origin}{} {:?} {}",
                    line.kind,
                    line.bound,
                    line.limit.exact()
                )
            };
            let lines: Vec<String> = lines.iter().map(line).collect();
            let said = reason(&judged, forecast, &instance, CERTAINTY);
            format!("{}\n  {said}", lines.join(", "))
        });
        said.collect::<Vec<_>>().join("\n")
    }

    /// Of the cost 63 USD, the time 5h 42m, the memory 84% and the CPU 22%; and of the same far from the full run.
    #[test]
    fn each_verdict_has_its_sentence() {
        let one: Vec<[BudgetLine; 1]> = [
            at_most(Cost, 50.0),
            at_most(Cost, 90.0),
            at_most(Time, 18_000.0),
            at_most(Memory, 90.0),
            at_least(CpuUtilization, 20.0),
            at_least(CpuUtilization, 40.0),
            at_least(CpuUtilization, 10.0),
            at_most(CostPerStep, 0.1),
            implicit(at_most(Time, 18_000.0)),
            implicit(at_most(Memory, 90.0)),
            implicit(at_most(Memory, 100.0)),
            at_least(GpuUtilization, 10.0),
            warn(at_most(Cost, 1.0)),
            warn(at_least(GpuUtilization, 10.0)),
        ]
        .map(|line| [line])
        .into();
        let one: Vec<&[BudgetLine]> = one.iter().map(|line| &line[..]).collect();
        let on = "ml.m5.4xlarge";
        insta::assert_snapshot!("sentences", sentences(&measured(), on, &one));
        let far = |share| Forecast {
            largest_share: Some(share),
            ..measured()
        };
        insta::assert_snapshot!("rough", sentences(&far(0.03), on, &one[1..4]));
        assert_eq!(
            sentences(&far(0.5), on, &one),
            sentences(&measured(), on, &one)
        );
        insta::assert_snapshot!(
            "worst",
            sentences(
                &measured(),
                on,
                &[
                    &[
                        at_most(Cost, 90.0),
                        at_most(Time, 28_800.0),
                        implicit(at_most(Memory, 120.0))
                    ],
                    &[at_most(Cost, 90.0), at_most(Memory, 90.0)],
                    &[at_most(Cost, 50.0), at_most(Time, 3600.0)],
                    // Used is a share of the limit, whatever the unit: 252 % and 114 %; 182 % and 315 %.
                    &[at_most(Time, 18_000.0), at_most(Cost, 25.0)],
                    &[at_least(CpuUtilization, 40.0), at_most(Cost, 20.0)],
                    &[warn(at_most(Cost, 1.0)), at_most(Time, 72_000.0)],
                ]
            )
        );
    }

    #[test]
    fn more_memory_than_the_machine_has_is_said_to_fail() {
        let of = |percent: f64, instance: &str, line: BudgetLine| {
            let forecast = measured().with(Memory, about(percent));
            sentences(&forecast, instance, &[&[line]])
        };
        let written = || at_most(Memory, 90.0);
        insta::assert_snapshot!(
            "memory",
            [
                of(426.0, "6x ml.m5.4xlarge", written()),
                of(426.0, "6x ml.m5.4xlarge", implicit(at_most(Memory, 100.0))),
                of(426.0, "local", written()),
                of(110.0, "ml.m5.4xlarge", written()),
                // Over the budget, and the machine has enough.
                of(84.0, "ml.m5.4xlarge", at_most(Memory, 60.0)),
            ]
            .join("\n")
        );
    }

    #[test]
    fn that_no_canary_completed_comes_before_what_is_written() {
        assert_eq!(
            reason(&[], &nothing_known(), &one(), CERTAINTY),
            "no canary run completed; no budget is written"
        );
        // Where some completed, an unknown time is no such reason.
        let untimed = Forecast {
            largest_share: Some(0.1),
            ..nothing_known()
        };
        assert_eq!(
            reason(&[], &untimed, &one(), CERTAINTY),
            "no budget is written"
        );
    }

    #[test]
    fn a_canary_out_of_memory_speaks_for_itself() {
        let forecast = Forecast {
            memory: crate::forecast::KnownPeak {
                ran_out: true,
                ..Default::default()
            },
            ..measured().with(Metric::Memory, Err(Unknown("settled".to_owned())))
        };
        assert_eq!(
            said(&forecast, &[at_most(Memory, 90.0), at_most(Cost, 50.0)]),
            "a canary ran out of memory, so the full run will pass 90%"
        );
    }
}
