//! The **verdict**: a budget held against a forecast.
//!
//! [`judge`] holds every line against its quantity's distribution, [`job_verdict`] takes the worst that counts, and
//! [`reason()`] says it in one sentence. [`recommend`] compares configurations, and [`smallest_fit`] names the machine whose
//! memory is enough.

mod against;
mod fitting;
mod reason;
mod recommendation;
pub mod words;

pub use against::{Against, ExistingBreach};
pub use fitting::{Candidate, Fit, smallest_fit};
pub use reason::{deciding, reason};
use recommendation::chance_below;
pub use recommendation::{Closest, Contender, Pick, Raise, Recommendation, recommend};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::forecast::{Estimate, Forecast, Predictive, Quantity};
use crate::instance::Capacity;
use crate::spec::{Bound, Budget, BudgetLine, Level, LineKind, LineOrigin};
use crate::units::{Fraction, Percent};

/// Above this chance a breach is more likely than not.
const MORE_LIKELY_THAN_NOT: f64 = 0.5;

/// Chances this near a threshold are on it: 1 - 0.95 is 0.050000000000000044 in binary, and a distribution function is
/// good to about nine digits.
const CHANCE_ROUNDING: f64 = 1e-9;

/// The outcome of a job or a run, worst first: `Exceeded < Failed < ... < NotJudged`, so the worst is the minimum.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A full run over budget is more likely than not.
    Exceeded,
    /// The training code failed in a canary.
    Failed,
    /// It cannot be told; tomorrow it may.
    Unknown,
    /// Within is likely, but not certain enough.
    AtRisk,
    Within,
    /// Nothing to judge.
    NotJudged,
}

/// The outcome of one budget line.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LineVerdict {
    Exceeded,
    Unknown,
    AtRisk,
    Within,
    /// The line says nothing here, e.g. a GPU line without a GPU.
    NotApplicable,
}

/// One budget line held against a forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedLine {
    pub line: BudgetLine,
    /// What its limit is held against, in the same unit; absent where that has no distribution.
    pub estimate: Option<Estimate>,
    /// P(over the limit) of a max line, P(under it) of a min line; absent where the line is unknown or not applicable.
    pub chance_of_breach: Option<f64>,
    pub verdict: LineVerdict,
    /// Why it is unknown or not applicable; absent for the other verdicts, unless a canary has settled the line.
    pub reason: Option<String>,
    /// That the base was over it already; absent where it was not, and where the line is within today.
    pub existing_breach: Option<ExistingBreach>,
}

impl JudgedLine {
    /// Without anything known.
    fn unknown(line: &BudgetLine) -> Self {
        Self {
            line: line.clone(),
            estimate: None,
            chance_of_breach: None,
            verdict: LineVerdict::Unknown,
            reason: None,
            existing_breach: None,
        }
    }

    /// Whether the line takes part in the job's verdict: it counts as fail, and is applicable.
    pub fn counts(&self) -> bool {
        self.line.level == Level::Fail
            && self.verdict != LineVerdict::NotApplicable
            && self.excuse().is_none()
    }

    /// The breach of the base that makes a line of level fail count as warn.
    pub fn excuse(&self) -> Option<&ExistingBreach> {
        let breach = self.existing_breach.as_ref();
        breach.filter(|breach| breach.counts_as == Level::Warn)
    }

    /// Whether more measurements need not be made for it: a breach is as certain as asked for, or as unlikely.
    pub fn is_decided(&self, certainty: Fraction) -> bool {
        self.chance_of_breach.is_some_and(|chance| {
            chance >= certainty.0 - CHANCE_ROUNDING || chance <= 1.0 - certainty.0 + CHANCE_ROUNDING
        })
    }
}

/// Every line of the budget, in its order, held against the forecast of the full run on one configuration.
///
/// `capacity` is that of one of its machines: it tells a GPU that was not measured from one that is not there.
/// `against` is what the base takes; `None` where there is no baseline.
pub fn judge(
    budget: &Budget,
    forecast: &Forecast,
    capacity: Option<&Capacity>,
    against: Option<&Against>,
) -> Vec<JudgedLine> {
    let certainty = budget.certainty;
    let judged = budget.lines.iter().map(|line| {
        let judged = judge_line(line, certainty, forecast, capacity, against);
        let existing_breach = against
            .filter(|_| budget.existing_breach == Level::Warn)
            .and_then(|against| {
                against::existing_breach(&judged, certainty, forecast, capacity, against)
            });
        JudgedLine {
            existing_breach,
            ..judged
        }
    });
    judged.collect()
}

/// One line by itself, whatever the base took.
fn judge_line(
    line: &BudgetLine,
    certainty: Fraction,
    forecast: &Forecast,
    capacity: Option<&Capacity>,
    against: Option<&Against>,
) -> JudgedLine {
    let Some(quantity) = quantity(line.kind, forecast) else {
        return against::judge_increase(line, certainty, against);
    };
    let judged = JudgedLine {
        estimate: quantity
            .as_ref()
            .ok()
            .map(|predictive| Estimate::of(predictive, certainty)),
        ..JudgedLine::unknown(line)
    };
    let not_applicable = |reason: &str| JudgedLine {
        verdict: LineVerdict::NotApplicable,
        reason: Some(reason.to_owned()),
        ..judged.clone()
    };
    let is_gpu_line = matches!(line.kind, LineKind::GpuMemory | LineKind::GpuUtilization);
    if is_gpu_line && capacity.is_some_and(|capacity| capacity.gpus == 0) {
        return not_applicable("the machine has no GPU");
    }
    if let Some(settled) = settled_by_a_canary(line, forecast) {
        return JudgedLine {
            chance_of_breach: Some(1.0),
            verdict: LineVerdict::Exceeded,
            reason: Some(settled.to_owned()),
            ..judged
        };
    }
    match (quantity, line.origin) {
        (Err(unknown), LineOrigin::Implicit) => not_applicable(&unknown.0),
        (Err(unknown), LineOrigin::Written) => JudgedLine {
            reason: Some(unknown.0.clone()),
            ..judged
        },
        (Ok(predictive), _) => {
            let chance = chance_of_breach(line, predictive);
            JudgedLine {
                chance_of_breach: Some(chance),
                verdict: verdict_of(chance, certainty),
                ..judged
            }
        }
    }
}

/// A canary that ran out of memory, or that was ended at its time limit and had already passed the limit of the full run.
fn settled_by_a_canary(line: &BudgetLine, forecast: &Forecast) -> Option<&'static str> {
    if line.bound == Bound::Min {
        return None;
    }
    let (is_passed, settled) = match line.kind {
        LineKind::Memory => (forecast.out_of_memory, "a canary ran out of memory"),
        LineKind::Time => (
            forecast
                .time_at_least
                .is_some_and(|least| line.limit <= least),
            "a canary already ran longer",
        ),
        LineKind::Cost => (
            forecast
                .cost_at_least
                .is_some_and(|least| line.limit <= least),
            "a canary already ran long enough to cost more",
        ),
        _ => return None,
    };
    is_passed.then_some(settled)
}

fn chance_of_breach(line: &BudgetLine, predictive: &Predictive) -> f64 {
    match line.bound {
        Bound::Max => predictive.chance_above(line.limit),
        Bound::Min => predictive.chance_below(line.limit),
    }
}

fn verdict_of(chance_of_breach: f64, certainty: Fraction) -> LineVerdict {
    if chance_of_breach > MORE_LIKELY_THAN_NOT + CHANCE_ROUNDING {
        LineVerdict::Exceeded
    } else if chance_of_breach <= 1.0 - certainty.0 + CHANCE_ROUNDING {
        LineVerdict::Within
    } else {
        LineVerdict::AtRisk
    }
}

/// The quantity that a line is about, in the unit of its limit; `None` for a comparison with a baseline.
pub fn quantity(kind: LineKind, forecast: &Forecast) -> Option<&Quantity> {
    match kind {
        LineKind::Cost => Some(&forecast.cost_usd),
        LineKind::Time => Some(&forecast.time_seconds),
        LineKind::Memory => Some(&forecast.memory_percent),
        LineKind::GpuMemory => Some(&forecast.gpu_memory_percent),
        LineKind::CostPerStep => Some(&forecast.cost_per_step_usd),
        LineKind::CpuUtilization => Some(&forecast.cpu_percent),
        LineKind::GpuUtilization => Some(&forecast.gpu_percent),
        LineKind::IoWait => Some(&forecast.io_wait_percent),
        LineKind::CostIncrease | LineKind::TimeIncrease => None,
    }
}

/// How much of a max line the point uses; `None` for a min line, a limit of 0, or an unknown quantity.
pub fn used_percent(judged: &JudgedLine) -> Option<Percent> {
    let line = &judged.line;
    let point = judged.estimate?.point;
    (line.bound == Bound::Max && line.limit > 0.0).then(|| Percent(point / line.limit * 100.0))
}

/// The verdict of a job by its lines of level fail; a line of level warn shows its verdict and does not count.
///
/// Not judged where no written line counts, unless an implicit one is at risk or exceeded: that memory fits the machine
/// is no reason to call a job within a budget nobody wrote.
pub fn job_verdict(lines: &[JudgedLine]) -> Verdict {
    worst(lines.iter().filter(|line| line.counts()).map(|line| {
        match (line.verdict, line.line.origin) {
            (LineVerdict::Exceeded, _) => Verdict::Exceeded,
            (LineVerdict::Unknown, _) => Verdict::Unknown,
            (LineVerdict::AtRisk, _) => Verdict::AtRisk,
            (LineVerdict::Within, LineOrigin::Written) => Verdict::Within,
            (LineVerdict::Within, LineOrigin::Implicit) | (LineVerdict::NotApplicable, _) => {
                Verdict::NotJudged
            }
        }
    }))
}

/// The worst of several; not judged for none.
pub fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.min().unwrap_or(Verdict::NotJudged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::Unknown;
    use crate::instance::InstanceConfiguration;
    use crate::units::Bytes;

    /// A forecast that knows nothing; a test sets what it is about.
    pub(super) fn nothing_known() -> Forecast {
        Forecast::unknown(&Unknown("no canary run completed".to_owned()))
    }

    pub(super) fn at_most(kind: LineKind, limit: f64) -> BudgetLine {
        BudgetLine {
            kind,
            bound: Bound::Max,
            limit,
            level: Level::Fail,
            at_least: 0.0,
            origin: LineOrigin::Written,
            overridden: None,
        }
    }

    pub(super) fn at_least(kind: LineKind, limit: f64) -> BudgetLine {
        BudgetLine {
            bound: Bound::Min,
            ..at_most(kind, limit)
        }
    }

    pub(super) fn implicit(mut line: BudgetLine) -> BudgetLine {
        line.origin = LineOrigin::Implicit;
        line
    }

    pub(super) fn warn(mut line: BudgetLine) -> BudgetLine {
        line.level = Level::Warn;
        line
    }

    pub(super) fn judged(forecast: &Forecast, lines: &[BudgetLine]) -> Vec<JudgedLine> {
        let budget = Budget {
            lines: lines.to_vec(),
            certainty: Fraction(0.95),
            existing_breach: Level::Warn,
        };
        judge(&budget, forecast, Some(&machine(0)), None)
    }

    pub(super) fn judged_against(
        forecast: &Forecast,
        lines: &[BudgetLine],
        against: &Against,
    ) -> Vec<JudgedLine> {
        let budget = Budget {
            lines: lines.to_vec(),
            certainty: Fraction(0.95),
            existing_breach: Level::Warn,
        };
        judge(&budget, forecast, Some(&machine(0)), Some(against))
    }

    /// What the tests judge.
    pub(super) fn one() -> InstanceConfiguration {
        "ml.m5.4xlarge".parse().unwrap()
    }

    fn machine(gpus: u32) -> Capacity {
        Capacity {
            vcpus: 8,
            memory: Bytes(32 * Bytes::GIB),
            gpus,
            gpu_memory: None,
        }
    }

    /// 10 % of noise about `median`, on many degrees of freedom.
    pub(super) fn about(median: f64) -> Quantity {
        Ok(Predictive::log_student_t(median, 0.1, 1e9))
    }

    fn verdicts(forecast: &Forecast, lines: &[BudgetLine]) -> Vec<LineVerdict> {
        judged(forecast, lines)
            .into_iter()
            .map(|line| line.verdict)
            .collect()
    }

    #[test]
    fn a_line_is_within_at_risk_or_exceeded_by_its_chance() {
        let forecast = Forecast {
            cost_usd: about(50.0),
            cpu_percent: Ok(Predictive::level(50.0, 5.0, 1e9)),
            ..nothing_known()
        };
        use LineKind::{Cost, CpuUtilization};
        assert_eq!(
            verdicts(
                &forecast,
                &[
                    at_most(Cost, 60.0),
                    at_most(Cost, 55.0),
                    at_most(Cost, 49.0),
                    at_least(CpuUtilization, 40.0),
                    at_least(CpuUtilization, 48.0),
                    at_least(CpuUtilization, 51.0),
                ]
            ),
            [
                LineVerdict::Within,
                LineVerdict::AtRisk,
                LineVerdict::Exceeded,
                LineVerdict::Within,
                LineVerdict::AtRisk,
                LineVerdict::Exceeded,
            ]
        );
    }

    #[test]
    fn a_chance_on_the_threshold_is_on_the_kinder_side() {
        let certainty = Fraction(0.95);
        for chance in [0.05, 1.0 - 0.95, 0.050_000_000_1] {
            assert_eq!(verdict_of(chance, certainty), LineVerdict::Within);
        }
        assert_eq!(verdict_of(0.0501, certainty), LineVerdict::AtRisk);
        assert_eq!(verdict_of(0.5, certainty), LineVerdict::AtRisk);
        assert_eq!(verdict_of(0.501, certainty), LineVerdict::Exceeded);
        // A limit that is exactly the upper end of the 90 % interval.
        let forecast = Forecast {
            cost_usd: about(50.0),
            ..nothing_known()
        };
        let limit = forecast.cost_usd.as_ref().unwrap().quantile(0.95);
        assert_eq!(
            verdicts(&forecast, &[at_most(LineKind::Cost, limit)]),
            [LineVerdict::Within]
        );
    }

    #[test]
    fn without_a_distribution_a_written_line_is_unknown_and_an_implicit_one_says_nothing() {
        let lines = judged(
            &nothing_known(),
            &[
                at_most(LineKind::Cost, 50.0),
                implicit(at_most(LineKind::Memory, 100.0)),
            ],
        );
        assert_eq!(lines[0].verdict, LineVerdict::Unknown);
        assert_eq!(lines[1].verdict, LineVerdict::NotApplicable);
        for line in &lines {
            assert_eq!(line.chance_of_breach, None);
            assert_eq!(line.reason.as_deref(), Some("no canary run completed"));
        }
        assert_eq!(job_verdict(&lines), Verdict::Unknown);
        assert_eq!(job_verdict(&lines[1..]), Verdict::NotJudged);
    }

    #[test]
    fn a_gpu_line_applies_where_there_is_a_gpu() {
        let budget = Budget {
            lines: vec![
                at_least(LineKind::GpuUtilization, 50.0),
                at_most(LineKind::GpuMemory, 90.0),
            ],
            certainty: Fraction(0.95),
            existing_breach: Level::Warn,
        };
        let verdict = |capacity: Option<&Capacity>| -> Vec<LineVerdict> {
            judge(&budget, &nothing_known(), capacity, None)
                .into_iter()
                .map(|line| line.verdict)
                .collect()
        };
        assert_eq!(verdict(Some(&machine(0))), [LineVerdict::NotApplicable; 2]);
        assert_eq!(verdict(Some(&machine(1))), [LineVerdict::Unknown; 2]);
        assert_eq!(verdict(None), [LineVerdict::Unknown; 2]);
    }

    #[test]
    fn an_increase_without_a_baseline_does_not_apply() {
        let lines = judged(
            &Forecast {
                cost_usd: about(50.0),
                ..nothing_known()
            },
            &[at_most(LineKind::CostIncrease, 20.0)],
        );
        assert_eq!(lines[0].verdict, LineVerdict::NotApplicable);
        assert_eq!(job_verdict(&lines), Verdict::NotJudged);
    }

    #[test]
    fn a_breach_of_the_base_counts_in_full_where_the_spec_says_so() {
        let forecast = Forecast {
            cost_usd: about(63.0),
            ..nothing_known()
        };
        let unknown = || Err(Unknown("not compared".to_owned()));
        let against = Against {
            base: forecast.clone(),
            time: unknown(),
            cost: unknown(),
            memory: unknown(),
            exceeded_then: Vec::new(),
        };
        let mut budget = Budget {
            lines: vec![at_most(LineKind::Cost, 50.0)],
            certainty: Fraction(0.95),
            existing_breach: Level::Warn,
        };
        let verdict =
            |budget: &Budget| job_verdict(&judge(budget, &forecast, None, Some(&against)));
        assert_eq!(verdict(&budget), Verdict::NotJudged);
        budget.existing_breach = Level::Fail;
        assert_eq!(verdict(&budget), Verdict::Exceeded);
    }

    #[test]
    fn a_canary_out_of_memory_exceeds_every_memory_limit() {
        let forecast = Forecast {
            out_of_memory: true,
            ..nothing_known()
        };
        for line in [
            at_most(LineKind::Memory, 90.0),
            implicit(at_most(LineKind::Memory, 100.0)),
        ] {
            let lines = judged(&forecast, &[line]);
            assert_eq!(lines[0].chance_of_breach, Some(1.0));
            assert_eq!(job_verdict(&lines), Verdict::Exceeded);
        }
    }

    #[test]
    fn a_canary_that_ran_longer_than_the_limit_settles_time_and_cost() {
        let forecast = Forecast {
            time_at_least: Some(3600.0),
            cost_at_least: Some(2.0),
            ..nothing_known()
        };
        use LineKind::{Cost, Time};
        let lines = judged(
            &forecast,
            &[
                at_most(Time, 3600.0),
                at_most(Cost, 1.0),
                at_most(Time, 3700.0),
                at_most(Cost, 2.1),
            ],
        );
        for line in &lines[..2] {
            assert_eq!(line.verdict, LineVerdict::Exceeded);
            assert_eq!(line.chance_of_breach, Some(1.0));
        }
        for line in &lines[2..] {
            assert_eq!(line.verdict, LineVerdict::Unknown);
        }
        assert_eq!(
            reason(&lines, &forecast, &one(), Fraction(0.95)),
            "a canary already ran longer, so the full run will pass 1h"
        );
    }

    #[test]
    fn only_lines_of_level_fail_count_and_implicit_ones_only_when_they_complain() {
        use LineKind::{Cost, Memory, Time};
        let forecast = Forecast {
            cost_usd: about(50.0),
            time_seconds: about(3600.0),
            memory_percent: about(60.0),
            ..nothing_known()
        };
        let verdict = |lines: &[BudgetLine]| job_verdict(&judged(&forecast, lines));
        assert_eq!(verdict(&[]), Verdict::NotJudged);
        assert_eq!(
            verdict(&[implicit(at_most(Memory, 100.0))]),
            Verdict::NotJudged
        );
        assert_eq!(verdict(&[implicit(at_most(Memory, 65.0))]), Verdict::AtRisk);
        assert_eq!(
            verdict(&[implicit(at_most(Memory, 50.0))]),
            Verdict::Exceeded
        );
        assert_eq!(verdict(&[warn(at_most(Cost, 1.0))]), Verdict::NotJudged);
        assert_eq!(
            verdict(&[warn(at_most(Cost, 1.0)), at_most(Time, 7200.0)]),
            Verdict::Within
        );
        assert_eq!(
            verdict(&[at_most(Cost, 55.0), at_most(Time, 7200.0)]),
            Verdict::AtRisk
        );
    }

    #[test]
    fn the_worst_of_several_is_the_first_in_the_order_of_outcomes() {
        use Verdict::{AtRisk, Exceeded, Failed, NotJudged, Unknown, Within};
        assert_eq!(
            worst([Within, AtRisk, Unknown, NotJudged].into_iter()),
            Unknown
        );
        assert_eq!(worst([Failed, Exceeded].into_iter()), Exceeded);
        assert_eq!(worst([NotJudged, Within].into_iter()), Within);
        assert_eq!(worst(std::iter::empty()), NotJudged);
    }

    #[test]
    fn budget_used_is_the_point_over_the_limit() {
        let forecast = Forecast {
            cost_usd: about(63.0),
            ..nothing_known()
        };
        let used = |line: BudgetLine| {
            let judged = judged(&forecast, &[line]).remove(0);
            used_percent(&judged).map(|percent| percent.0)
        };
        assert_eq!(used(at_most(LineKind::Cost, 50.0)), Some(126.0));
        assert_eq!(used(at_most(LineKind::Cost, 0.0)), None);
        assert_eq!(used(at_least(LineKind::Cost, 50.0)), None);
        assert_eq!(used(at_most(LineKind::Time, 50.0)), None);
    }
}
