//! What the base takes, for lines about an increase and for breaches that were there before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{CHANCE_ROUNDING, JudgedLine, LineVerdict, chance_below, judge_line, quantity};
use crate::forecast::ratio::Growth;
use crate::forecast::{Estimate, Forecast, Unknown};
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
    /// Why it may not be what the base takes here: then it excuses no breach, and no increase is within.
    pub doubted: Option<String>,
    /// Whether the base's own code was measured here, if with other data: then an increase is one; else it is at risk at most.
    pub is_growth_measured: bool,
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
        let growth = self.growth(line.kind.metric());
        let growth = growth.and_then(|growth| growth.as_ref().ok());
        match (growth, &base, &new) {
            // What is compared has upper limits only.
            (Some(growth), ..) => Some(growth.chance_of_more()),
            (_, Ok(base), Ok(new)) => Some(match line.bound {
                Bound::Max => chance_below(base, new),
                Bound::Min => chance_below(new, base),
            }),
            (_, Ok(base), Err(_)) => Some(base.chance_below(settled(line.kind, forecast)?)),
            (_, Err(_), _) => None,
        }
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
    let doubt = against.and_then(|against| against.doubted.as_ref());
    let is_measured = against.is_some_and(|against| against.is_growth_measured);
    match growth {
        Err(unknown) => judged.because(&unknown.0),
        Ok(growth) => {
            let at_least = line.at_least.map_or(0.0, |amount| amount.number);
            let share = Percent(line.limit.number).as_fraction();
            let chance = growth.chance_above(share, at_least);
            let is_over = chance >= certainty.0 - CHANCE_ROUNDING;
            let verdict = match (is_over, doubt) {
                (false, Some(why)) => return judged.not_applicable(why),
                (false, None) => LineVerdict::Within,
                (true, Some(_)) if !is_measured => LineVerdict::AtRisk,
                (true, _) => LineVerdict::Exceeded,
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
    let may_excuse = line.level != Level::Warn && against.doubted.is_none();
    if !may_excuse || !is_broken || line.kind.is_increase() {
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
    use super::super::{job_verdict, reason};
    use super::*;
    use crate::forecast::Predictive;
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
            doubted: None,
            is_growth_measured: true,
        }
    }

    fn costing(median: f64) -> Forecast {
        nothing_known().with(Metric::Cost, about(median))
    }

    fn and(line: BudgetLine, at_least: f64) -> BudgetLine {
        let metric = line.kind.metric().unwrap();
        BudgetLine {
            at_least: Some(metric.unit().amount(at_least)),
            ..line
        }
    }

    /// Of each case the first line, whether the base was over it before, and what is said.
    fn shown(cases: Vec<(&str, Forecast, Vec<BudgetLine>, Against)>) -> String {
        let one = |(case, new, lines, base): (&str, Forecast, Vec<BudgetLine>, Against)| {
            let judged = judged_against(&new, &lines, &base);
            let row = &judged[0].row;
            let chance = |chance: Option<f64>| chance.map(|chance| (chance * 100.0).round());
            let before = row.existing_breach.map(|breach| {
                let more = chance(breach.chance_of_more);
                (breach.counts_as, breach.base.map(f64::round), more)
            });
            format!(
                "{case}: {:?} {:?}, before {before:?}\n  -> {:?}: {}",
                row.verdict,
                chance(row.chance_of_breach),
                job_verdict(&judged),
                reason(&judged, &new, &one(), CERTAINTY)
            )
        };
        cases.into_iter().map(one).collect::<Vec<_>>().join("\n")
    }

    /// All cases with the second factor, but so many with the first.
    fn among(cases: usize, of: usize, factors: [f64; 2]) -> Vec<f64> {
        let mut all = vec![factors[1]; of];
        all[..cases].fill(factors[0]);
        all
    }

    /// Of a base of an hour and 48 USD.
    #[test]
    fn an_increase_is_over_where_it_is_certain_by_share_and_by_amount() {
        let time = || at_most(LineKind::Increase(Time), 20.0);
        let cost = |percent| at_most(LineKind::Increase(Cost), percent);
        let grown_by = |factors: &[f64]| Against {
            time: grown(3600.0, factors),
            cost: grown(48.0, factors),
            ..against(nothing_known())
        };
        // 31 % of 48 USD are 14.88.
        let cases = [
            ("time", time(), vec![1.31]),
            ("by more than an amount", and(time(), 600.0), vec![1.31]),
            ("by more than nothing", and(time(), 0.0), vec![1.31]),
            ("by less than an amount", and(time(), 7200.0), vec![1.31]),
            ("less", cost(20.0), vec![0.88]),
            ("as much as is allowed", cost(25.0), vec![1.25]),
            ("19 of 20 are more", cost(20.0), among(19, 20, [1.31, 1.1])),
            ("18 of 20 are more", cost(20.0), among(18, 20, [1.31, 1.1])),
            (
                "19 of 20 by 10 USD",
                and(cost(20.0), 10.0),
                among(19, 20, [1.31, 1.1]),
            ),
            (
                "none by 15 USD",
                and(cost(20.0), 15.0),
                among(19, 20, [1.31, 1.1]),
            ),
            (
                "2 of 3 by 12 USD",
                and(cost(20.0), 12.0),
                among(2, 3, [1.31, 1.22]),
            ),
            (
                "1 of 20 by 12 USD",
                and(cost(20.0), 12.0),
                among(1, 20, [1.31, 1.22]),
            ),
            (
                "1 of 21 by 12 USD",
                and(cost(20.0), 12.0),
                among(1, 21, [1.31, 1.22]),
            ),
        ];
        let cases = cases
            .map(|(case, line, factors)| (case, costing(63.0), vec![line], grown_by(&factors)));
        let of_another = |factors: &[f64]| Against {
            doubted: Some("it ran on another machine".to_owned()),
            is_growth_measured: false,
            ..grown_by(factors)
        };
        let doubted = [
            "more than another machine's",
            "no more than another machine's",
        ];
        let doubted = doubted
            .into_iter()
            .zip([1.31, 1.1])
            .map(|(case, factor)| (case, costing(63.0), vec![time()], of_another(&[factor])));
        let unknown = (
            "not known",
            costing(63.0),
            vec![cost(20.0)],
            against(nothing_known()),
        );
        insta::assert_snapshot!(shown(
            cases.into_iter().chain(doubted).chain([unknown]).collect()
        ));
        let alone = judge_increase(&cost(20.0), CERTAINTY, None);
        assert_eq!(alone.row.verdict, LineVerdict::NotApplicable);
        let why = alone.reason.unwrap();
        assert_eq!(why, "there is no baseline to compare with");
    }

    #[test]
    fn a_breach_of_the_base_only_warns_unless_the_change_makes_it_worse_for_certain() {
        let ran_out = Forecast {
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
        let dear = Forecast {
            cost_at_least: Some(90.0),
            ..nothing_known()
        };
        let base = |cost: f64, factors: &[f64]| Against {
            cost: grown(cost, factors),
            ..against(costing(cost))
        };
        let known = |metric, median| against(nothing_known().with(metric, about(median)));
        let memory = |factors: &[f64]| Against {
            memory: grown(74.0, factors),
            ..known(Memory, 74.0)
        };
        let with = |step_cost: f64, cpu: f64| {
            (nothing_known().with(CostPerStep, about(step_cost)))
                .with(CpuUtilization, Ok(Predictive::level(cpu, 2.0, 1e9)))
        };
        let (cost, step) = (at_most(Cost, 50.0), at_most(CostPerStep, 0.1));
        let and_time = |limit| vec![cost.clone(), at_most(Time, limit)];
        let and_an_hour = || costing(63.0).with(Time, about(3600.0));
        let (cpu, of_memory) = (at_least(CpuUtilization, 40.0), at_most(Memory, 50.0));
        let needs = || nothing_known().with(Memory, about(75.0));
        let steps = || against(with(0.2, 20.0));
        insta::assert_snapshot!(shown(vec![
            (
                "perhaps more",
                costing(63.0),
                vec![cost.clone()],
                base(61.0, &[1.05, 0.99])
            ),
            (
                "surely more",
                costing(63.0),
                vec![cost.clone()],
                base(61.0, &[1.05, 1.01])
            ),
            (
                "the base was within",
                costing(63.0),
                vec![cost.clone()],
                base(45.0, &[1.4, 0.9])
            ),
            (
                "a change that mends it",
                costing(30.0),
                vec![cost.clone()],
                base(61.0, &[0.5])
            ),
            (
                "beside a line within",
                and_an_hour(),
                and_time(7200.0),
                base(61.0, &[1.05, 0.99])
            ),
            (
                "beside a line over",
                and_an_hour(),
                and_time(1800.0),
                base(61.0, &[1.05, 0.99])
            ),
            // What a canary of the base settled was there before.
            (
                "both run out of memory",
                ran_out.clone(),
                vec![implicit(at_most(Memory, 100.0))],
                against(ran_out.clone()),
            ),
            (
                "both were ended",
                slow.clone(),
                vec![at_most(Time, 7200.0)],
                against(slow.clone())
            ),
            // The base was over its budget and still ran.
            (
                "it runs out now",
                ran_out,
                vec![at_most(Memory, 70.0)],
                known(Memory, 75.0)
            ),
            (
                "it is ended now",
                slow,
                vec![at_most(Time, 5000.0)],
                known(Time, 6000.0)
            ),
            (
                "it cost more already",
                dear,
                vec![cost.clone()],
                known(Cost, 60.0)
            ),
            // What was compared goes by that, and not by two forecasts.
            (
                "all more memory",
                needs(),
                vec![of_memory.clone()],
                memory(&[1.01, 1.02])
            ),
            (
                "half more",
                needs(),
                vec![of_memory.clone()],
                memory(&[1.01, 0.99])
            ),
            (
                "19 of 20 more",
                needs(),
                vec![of_memory.clone()],
                memory(&among(19, 20, [1.01, 0.99]))
            ),
            (
                "18 of 20 more",
                needs(),
                vec![of_memory],
                memory(&among(18, 20, [1.01, 0.99]))
            ),
            // Other lines go by the two forecasts, and a lower limit by what is less.
            (
                "a step of a little more",
                with(0.22, 20.0),
                vec![step.clone()],
                steps()
            ),
            (
                "a step of twice as much",
                with(0.4, 20.0),
                vec![step],
                steps()
            ),
            (
                "a little less CPU",
                with(0.2, 19.0),
                vec![cpu.clone()],
                steps()
            ),
            ("half the CPU", with(0.2, 10.0), vec![cpu.clone()], steps()),
            (
                "a line of level warn",
                with(0.2, 10.0),
                vec![warn(cpu)],
                steps()
            ),
        ]));
    }
}
