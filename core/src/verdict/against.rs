//! What the base takes, for lines about an increase and for breaches that were there before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{CHANCE_ROUNDING, JudgedLine, LineVerdict, chance_below, judge_line, quantity};
use crate::forecast::ratio::Growth;
use crate::forecast::{Estimate, Forecast, Predictive, Unknown};
use crate::instance::Offer;
use crate::metric::Metric;
use crate::spec::{Bound, Budget, BudgetLine, Level, LineKind, LineOrigin};
use crate::units::{Fraction, Percent};

/// The baseline of one configuration, and how far the new forecast is from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// What the base's full run takes, from its own canaries at today's prices.
    pub base: Forecast,
    /// In seconds, billed per instance.
    pub time: Result<Growth, Unknown>,
    /// In US dollars over all machines, both sides at today's price.
    pub cost: Result<Growth, Unknown>,
    /// Of peak memory, in percent of the host's memory.
    pub memory: Result<Growth, Unknown>,
    /// The lines that the base's own report showed as exceeded. An implicit line is judged by the limits of its own side, and
    /// the change may have lowered them.
    pub exceeded_then: Vec<LineKind>,
}

/// The breach of a budget line by the base, before the change.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExistingBreach {
    /// What the base's full run takes, in the unit of the line; absent where a canary of the base decided the line.
    pub base: Option<f64>,
    /// P(the change takes more than the base, or less of what has a lower limit), 0-1; absent where it is unknown.
    pub chance_of_more: Option<f64>,
    /// The level that the line counts as for it: `warn`, or `fail` if the change certainly makes it worse.
    pub counts_as: Level,
}

impl Against {
    /// How a metric grew; `None` of those that are not compared.
    fn growth(&self, metric: Option<Metric>) -> Option<&Result<Growth, Unknown>> {
        match metric? {
            Metric::Cost => Some(&self.cost),
            Metric::Time => Some(&self.time),
            Metric::Memory => Some(&self.memory),
            _ => None,
        }
    }

    /// P(the change is further on the wrong side of a line than the base). Where a canary has settled the line, the new
    /// full run takes that much at least, and the chance is the least that it can be. `None` where either is unknown.
    fn chance_of_more(&self, line: &BudgetLine, forecast: &Forecast) -> Option<f64> {
        let (base, new) = (quantity(line, &self.base)?, quantity(line, forecast)?);
        let growth = self
            .growth(line.kind.metric())
            .and_then(|growth| growth.as_ref().ok());
        match (growth, base.as_ref().as_ref(), new.as_ref().as_ref()) {
            // What is compared has upper limits only.
            (Some(growth), ..) => Some(growth.chance_of_more()),
            (_, Ok(base), Ok(new)) => Some(chance_of_worse(line.bound, base, new)),
            (_, Ok(base), Err(_)) => Some(base.chance_below(settled(line.kind, forecast)?)),
            (_, Err(_), _) => None,
        }
    }
}

/// Of two independent forecasts.
fn chance_of_worse(bound: Bound, base: &Predictive, new: &Predictive) -> f64 {
    match bound {
        Bound::Max => chance_below(base, new),
        Bound::Min => chance_below(new, base),
    }
}

/// What a full run takes at least, by a canary that was ended or that used more.
fn settled(kind: LineKind, forecast: &Forecast) -> Option<f64> {
    match kind {
        LineKind::Absolute(Metric::Time) => forecast.time_at_least,
        LineKind::Absolute(Metric::Cost) => forecast.cost_at_least,
        LineKind::Absolute(metric) => {
            let known = forecast.peak(metric.memory_of()?);
            let all = known.ran_out.then_some(BudgetLine::ALL_MEMORY.0);
            all.or(known.at_least)
        }
        LineKind::Increase(_) | LineKind::Named(_) => None,
    }
}

/// An increase held against its line: exceeded where it is over for certain, else within. A doubt that noise leaves is
/// no reason to stop a change.
pub(super) fn judge_increase(
    line: &BudgetLine,
    certainty: Fraction,
    against: Option<&Against>,
) -> JudgedLine {
    let judged = JudgedLine::unknown(line);
    let Some(growth) = against.and_then(|against| against.growth(line.kind.metric())) else {
        return judged.not_applicable("there is no baseline to compare with");
    };
    match growth {
        Err(unknown) => JudgedLine {
            reason: Some(unknown.0.clone()),
            ..judged
        },
        Ok(growth) => {
            let chance = {
                let at_least = line.at_least.map_or(0.0, |amount| amount.number);
                growth.chance_above(Percent(line.limit.number).as_fraction(), at_least)
            };
            let verdict = match chance >= certainty.0 - CHANCE_ROUNDING {
                true => LineVerdict::Exceeded,
                false => LineVerdict::Within,
            };
            JudgedLine {
                estimate: Some(growth.percent(certainty)),
                ..judged.found(chance, verdict)
            }
        }
    }
}

/// The breach of this line by the base, which is judged as any forecast is. `None` if the base did not breach it, if the line
/// is not breached now, and for a line of level warn, which does not count.
///
/// A line that is unknown now is not a known breach: it counts as it is written.
pub(super) fn existing_breach(
    line: &BudgetLine,
    verdict: LineVerdict,
    budget: &Budget,
    forecast: &Forecast,
    offer: &Offer,
    against: &Against,
) -> Option<ExistingBreach> {
    let certainty = budget.certainty;
    let is_broken = matches!(verdict, LineVerdict::Exceeded | LineVerdict::AtRisk);
    if line.level == Level::Warn || !is_broken || line.kind.is_increase() {
        return None;
    }
    let before = judge_line(line, budget, &against.base, offer, None);
    let was_shown = || against.exceeded_then.contains(&line.kind);
    if before.row.verdict != LineVerdict::Exceeded
        || (line.origin == LineOrigin::Implicit && !was_shown())
    {
        return None;
    }
    let chance_of_more = against.chance_of_more(line, forecast);
    let is_worse = chance_of_more.is_some_and(|chance| chance >= certainty.0 - CHANCE_ROUNDING);
    Some(ExistingBreach {
        base: before.estimate.map(|Estimate { point, .. }| point),
        chance_of_more,
        counts_as: if is_worse { Level::Fail } else { Level::Warn },
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{
        CERTAINTY, about, at_least, at_most, implicit, judged_against, nothing_known, one, warn,
    };
    use super::super::{Verdict, job_verdict, reason};
    use super::*;
    use crate::metric::Metric::{Cost, CostPerStep, CpuUtilization, Memory, Time};

    /// A base of exactly `base`, and a change of it by one of these factors, all as likely.
    fn grown(base: f64, factors: &[f64]) -> Result<Growth, Unknown> {
        let weight = 1.0 / f64::from(u32::try_from(factors.len()).unwrap());
        let ratios: Vec<(f64, f64)> = factors.iter().map(|factor| (*factor, weight)).collect();
        Ok(Growth::new(&[(base, 1.0)], &ratios))
    }

    fn unknown<T>() -> Result<T, Unknown> {
        Err(Unknown("the base's canaries were too few".to_owned()))
    }

    fn against(base: Forecast) -> Against {
        Against {
            base,
            time: unknown(),
            cost: unknown(),
            memory: unknown(),
            exceeded_then: vec![Memory.into(), Time.into()],
        }
    }

    /// The verdict of the job, and what is said.
    fn outcome(new: &Forecast, lines: &[BudgetLine], against: &Against) -> (Verdict, String) {
        let lines = judged_against(new, lines, against);
        (job_verdict(&lines), reason(&lines, new, &one(), CERTAINTY))
    }

    fn costing(median: f64) -> Forecast {
        nothing_known().with(Metric::Cost, about(median))
    }

    fn and(line: BudgetLine, at_least: f64) -> BudgetLine {
        let at_least = line
            .kind
            .metric()
            .map(|metric| metric.unit().amount(at_least));
        BudgetLine { at_least, ..line }
    }

    #[test]
    fn an_increase_is_over_where_it_is_certain_by_share_and_by_amount() {
        // 19 of 20 cases are more than 20 % and more than 10 USD.
        let mut factors = [1.31; 20];
        factors[0] = 1.1;
        let against = Against {
            cost: grown(48.0, &factors),
            ..against(costing(48.0))
        };
        let verdict = |line: BudgetLine| {
            let lines = judged_against(&costing(63.0), &[line], &against);
            (lines[0].row.verdict, lines[0].row.chance_of_breach.unwrap())
        };
        let (found, chance) = verdict(at_most(LineKind::Increase(Cost), 20.0));
        assert_eq!(found, LineVerdict::Exceeded);
        assert!((chance - 0.95).abs() < 1e-9);
        assert_eq!(
            verdict(and(at_most(LineKind::Increase(Cost), 20.0), 10.0)).0,
            LineVerdict::Exceeded
        );
        // 31 % of 48 USD are 14.88.
        assert_eq!(
            verdict(and(at_most(LineKind::Increase(Cost), 20.0), 15.0)),
            (LineVerdict::Within, 0.0)
        );
        factors[1] = 1.1;
        let less_certain = Against {
            cost: grown(48.0, &factors),
            ..against.clone()
        };
        let lines = judged_against(
            &costing(63.0),
            &[at_most(LineKind::Increase(Cost), 20.0)],
            &less_certain,
        );
        assert_eq!(lines[0].row.verdict, LineVerdict::Within);
        assert_eq!(job_verdict(&lines), Verdict::Within);
        assert_eq!(
            reason(&lines, &costing(63.0), &one(), CERTAINTY),
            "cost increase is +31%, above +20% but not for certain: 90% likely over"
        );
    }

    #[test]
    fn an_increase_is_said_with_its_limit() {
        // All cases with the second factor, but so many with the first.
        let among = |cases: usize, of: usize, factors: [f64; 2]| -> Vec<f64> {
            let mut all = vec![factors[1]; of];
            all[..cases].fill(factors[0]);
            all
        };
        let time = |at_least| and(at_most(LineKind::Increase(Time), 20.0), at_least);
        let cost = |percent| at_most(LineKind::Increase(Cost), percent);
        let said = [
            (at_most(LineKind::Increase(Time), 20.0), vec![1.31]),
            (time(600.0), vec![1.31]),
            (time(0.0), vec![1.31]),
            (time(7200.0), vec![1.31]),
            (cost(20.0), vec![0.88]),
            (cost(25.0), vec![1.25]),
            // Of 48 USD, 31 % are 14.88.
            (and(cost(20.0), 12.0), among(2, 3, [1.31, 1.22])),
            (and(cost(20.0), 12.0), among(1, 20, [1.31, 1.22])),
            (and(cost(20.0), 12.0), among(1, 21, [1.31, 1.22])),
        ]
        .map(|(line, factors)| {
            let base = Against {
                time: grown(3600.0, &factors),
                cost: grown(48.0, &factors),
                ..against(nothing_known())
            };
            outcome(&costing(63.0), &[line], &base).1
        });
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn an_increase_is_unknown_where_the_comparison_is_and_does_not_apply_without_one() {
        let line = [at_most(LineKind::Increase(Cost), 20.0)];
        let lines = judged_against(&costing(63.0), &line, &against(nothing_known()));
        assert_eq!(lines[0].row.verdict, LineVerdict::Unknown);
        assert_eq!(
            reason(&lines, &costing(63.0), &one(), CERTAINTY),
            "cost increase is unknown: the base's canaries were too few"
        );
        let alone = judge_increase(&line[0], CERTAINTY, None);
        assert_eq!(alone.row.verdict, LineVerdict::NotApplicable);
        assert_eq!(
            alone.reason.as_deref(),
            Some("there is no baseline to compare with")
        );
    }

    #[test]
    fn a_breach_of_the_base_only_warns_unless_the_change_makes_it_worse_for_certain() {
        let base = |factors: &[f64]| Against {
            cost: grown(61.0, factors),
            ..against(costing(61.0))
        };
        assert_eq!(
            outcome(&costing(63.0), &[at_most(Cost, 50.0)], &base(&[1.05, 0.99])),
            (
                Verdict::NotJudged,
                "cost is 63 USD, 13 USD above 50 USD, but the base was over already (61 USD) and this change does not raise it for certain"
                    .to_owned()
            )
        );
        assert_eq!(
            outcome(&costing(63.0), &[at_most(Cost, 50.0)], &base(&[1.05, 1.01])),
            (
                Verdict::Exceeded,
                "cost is 63 USD, 13 USD above 50 USD; the base was over already (61 USD) and this change raises it"
                    .to_owned()
            )
        );
        // The base was within: nothing was there before.
        let cheap = Against {
            cost: grown(45.0, &[1.4, 0.9]),
            ..against(costing(45.0))
        };
        let lines = judged_against(&costing(63.0), &[at_most(Cost, 50.0)], &cheap);
        assert_eq!(lines[0].row.existing_breach, None);
        assert_eq!(job_verdict(&lines), Verdict::Exceeded);
        // A change that fixes it is within, and the text does not mention the base.
        let lines = judged_against(&costing(30.0), &[at_most(Cost, 50.0)], &base(&[0.5]));
        assert_eq!(lines[0].row.existing_breach, None);
        assert_eq!(job_verdict(&lines), Verdict::Within);
    }

    #[test]
    fn another_line_still_decides_and_the_old_breach_is_said_beside() {
        let new = costing(63.0).with(Metric::Time, about(3600.0));
        let base = Against {
            cost: grown(61.0, &[1.05, 0.99]),
            ..against(costing(61.0))
        };
        let (verdict, said) = outcome(&new, &[at_most(Cost, 50.0), at_most(Time, 7200.0)], &base);
        assert_eq!(verdict, Verdict::Within);
        assert_eq!(
            said,
            "cost is 63 USD, 13 USD above 50 USD, but the base was over already (61 USD) and this change does not raise it for certain"
        );
        let (verdict, said) = outcome(&new, &[at_most(Cost, 50.0), at_most(Time, 1800.0)], &base);
        assert_eq!(verdict, Verdict::Exceeded);
        assert_eq!(
            said,
            "time is 1h, 30m above 30m; cost was over its budget on the base already and counts as a warning"
        );
    }

    #[test]
    fn what_was_settled_by_a_canary_of_the_base_was_there_before() {
        let dead = Forecast {
            memory: crate::forecast::KnownPeak {
                ran_out: true,
                ..Default::default()
            },
            ..nothing_known()
        };
        let slow = Forecast {
            time_at_least: Some(9000.0),
            ..nothing_known()
        };
        let all_memory = implicit(at_most(Memory, 100.0));
        for (base, new, line) in [
            (&dead, &dead, all_memory.clone()),
            (&slow, &slow, at_most(Time, 7200.0)),
        ] {
            let lines = judged_against(new, &[line], &against(base.clone()));
            let breach = lines[0].row.existing_breach.unwrap();
            assert_eq!((breach.base, breach.chance_of_more), (None, None));
            assert_eq!(breach.counts_as, Level::Warn);
            assert_eq!(job_verdict(&lines), Verdict::NotJudged);
        }
        // The base was over its budget and still ran; now it does not.
        let dear = Forecast {
            cost_at_least: Some(90.0),
            ..nothing_known()
        };
        for (new, metric, before, limit) in [
            (&dead, Memory, 75.0, 70.0),
            (&slow, Time, 6000.0, 5000.0),
            (&dear, Cost, 60.0, 50.0),
        ] {
            let base = nothing_known().with(metric, about(before));
            let lines = judged_against(new, &[at_most(metric, limit)], &against(base));
            let breach = lines[0].row.existing_breach.unwrap();
            assert!(breach.chance_of_more.unwrap() > 0.99);
            assert_eq!(job_verdict(&lines), Verdict::Exceeded);
        }
    }

    #[test]
    fn what_was_compared_with_the_base_is_worse_by_that_and_not_by_two_forecasts() {
        let new = nothing_known().with(Memory, about(75.0));
        let counts_as = |factors: &[f64]| {
            let base = Against {
                memory: grown(74.0, factors),
                ..against(nothing_known().with(Memory, about(74.0)))
            };
            let lines = judged_against(&new, &[at_most(Memory, 50.0)], &base);
            lines[0].row.existing_breach.unwrap().counts_as
        };
        assert_eq!(counts_as(&[1.01, 1.02]), Level::Fail);
        assert_eq!(counts_as(&[1.01, 0.99]), Level::Warn);
        // 19 of 20 cases are more.
        let mut factors = [1.01; 20];
        factors[0] = 0.99;
        assert_eq!(counts_as(&factors), Level::Fail);
        factors[1] = 0.99;
        assert_eq!(counts_as(&factors), Level::Warn);
    }

    #[test]
    fn other_lines_go_by_the_two_forecasts_and_a_lower_limit_by_what_is_less() {
        let with = |step_cost: f64, cpu: f64| {
            nothing_known()
                .with(Metric::CostPerStep, about(step_cost))
                .with(Metric::CpuUtilization, Ok(Predictive::level(cpu, 2.0, 1e9)))
        };
        let base = against(with(0.2, 20.0));
        let counts_as = |new: &Forecast, line: BudgetLine| {
            let lines = judged_against(new, &[line], &base);
            lines[0].row.existing_breach.map(|breach| breach.counts_as)
        };
        let step = at_most(CostPerStep, 0.1);
        assert_eq!(
            counts_as(&with(0.22, 20.0), step.clone()),
            Some(Level::Warn)
        );
        assert_eq!(counts_as(&with(0.4, 20.0), step), Some(Level::Fail));
        let cpu = at_least(CpuUtilization, 40.0);
        assert_eq!(counts_as(&with(0.2, 19.0), cpu.clone()), Some(Level::Warn));
        assert_eq!(counts_as(&with(0.2, 10.0), cpu.clone()), Some(Level::Fail));
        assert_eq!(counts_as(&with(0.2, 10.0), warn(cpu.clone())), None);
        let (_, said) = outcome(&with(0.2, 19.0), &[cpu], &base);
        assert_eq!(
            said,
            "CPU utilization is 19%, 21 points below 40%, but the base was under already (20%) and this change does not lower it for certain"
        );
    }
}
