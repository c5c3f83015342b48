//! What a job may take: written budget lines, the two implicit ones, and drift.

use super::{Instances, SpecReader, level};
use crate::spec::problems::{At, Located};
use crate::spec::raw::{self, Either};
use crate::spec::{Bound, Budget, BudgetLine, DriftPolicy, Level, LineKind, LineOrigin, Training};
use crate::units::{Fraction, Percent, Seconds, Usd};

const DEFAULT_DRIFT: Percent = Percent(15.0);

/// A line with an upper limit, in the unit of the line's estimate.
struct Upper {
    max: Option<Located<f64>>,
    at_least: f64,
    level: Level,
}

impl Upper {
    fn new<U>(max: Option<Located<raw::Quantity<U>>>, number: fn(U) -> f64, level: Level) -> Self {
        let max = max.map(|max| Located {
            value: number(max.value.0),
            at: max.at,
        });
        Self {
            max,
            at_least: 0.0,
            level,
        }
    }

    fn and_at_least<U>(
        mut self,
        at_least: Option<Located<raw::Quantity<U>>>,
        number: fn(U) -> f64,
    ) -> Self {
        self.at_least = at_least.map_or(0.0, |amount| number(amount.value.0));
        self
    }
}

fn dollars(amount: Usd) -> f64 {
    amount.0
}

fn seconds(time: Seconds) -> f64 {
    time.0
}

fn percent(share: Percent) -> f64 {
    share.0
}

impl From<raw::CostLine> for Upper {
    fn from(line: raw::CostLine) -> Self {
        Self::new(line.max, dollars, level(line.level))
    }
}

impl From<raw::TimeLine> for Upper {
    fn from(line: raw::TimeLine) -> Self {
        Self::new(line.max, seconds, level(line.level))
    }
}

impl From<raw::ShareLine> for Upper {
    fn from(line: raw::ShareLine) -> Self {
        Self::new(line.max, percent, level(line.level))
    }
}

impl From<raw::CostIncreaseLine> for Upper {
    fn from(line: raw::CostIncreaseLine) -> Self {
        Self::new(line.max, percent, level(line.level)).and_at_least(line.at_least, dollars)
    }
}

impl From<raw::TimeIncreaseLine> for Upper {
    fn from(line: raw::TimeIncreaseLine) -> Self {
        Self::new(line.max, percent, level(line.level)).and_at_least(line.at_least, seconds)
    }
}

impl SpecReader<'_> {
    /// The lines in the order of [`LineKind::ALL`], then the implicit ones that no written line covers.
    pub(super) fn budget(
        &mut self,
        raw: Option<Located<raw::RawBudget>>,
        training: Option<&Training>,
        instances: Option<&Instances>,
        job: &At,
    ) -> Budget {
        let mut lines = Vec::new();
        let mut certainty = Budget::DEFAULT_CERTAINTY;
        let mut existing_breach = Level::Warn;
        if let Some(Located { value: raw, .. }) = raw {
            if let (Some(line), Some(training)) = (&raw.cost_per_step, training) {
                self.check_cost_per_step(&line.at, training, job);
            }
            lines.extend([
                self.upper(LineKind::Cost, raw.cost, dollars),
                self.upper(LineKind::Time, raw.time, seconds),
                self.upper(LineKind::Memory, raw.memory, percent),
                self.upper(LineKind::GpuMemory, raw.gpu_memory, percent),
                self.upper(LineKind::CostPerStep, raw.cost_per_step, dollars),
                self.upper(LineKind::CostIncrease, raw.cost_increase, percent),
                self.upper(LineKind::TimeIncrease, raw.time_increase, percent),
                self.utilization(LineKind::CpuUtilization, raw.cpu_utilization),
                self.utilization(LineKind::GpuUtilization, raw.gpu_utilization),
                self.utilization(LineKind::IoWait, raw.io_wait),
            ]);
            certainty = raw
                .certainty
                .map_or(certainty, |certainty| self.certainty(&certainty));
            if let Some(breach) = raw.existing_breach {
                existing_breach = breach.value.0;
            }
        }
        let mut budget = Budget {
            lines: lines.into_iter().flatten().collect(),
            certainty,
            existing_breach,
        };
        budget.renew_implicit_lines(training.and_then(|training| training.max_runtime));
        let is_local = instances.is_some_and(|(instance, _)| instance.is_local());
        if self.is_local() || self.is_replay() && is_local {
            self.check_local_price(&budget.lines, job);
        }
        budget
    }

    fn upper<U, L: Into<Upper>>(
        &mut self,
        kind: LineKind,
        line: Option<Located<raw::Line<U, L>>>,
        number: fn(U) -> f64,
    ) -> Option<BudgetLine> {
        let Located { value, at } = line?;
        self.remember(&at);
        let upper: Upper = match value {
            Either::Short(quantity) => Upper {
                max: Some(Located {
                    value: number(quantity.0),
                    at,
                }),
                at_least: 0.0,
                level: Level::Fail,
            },
            Either::Long(long) => long.into(),
        };
        let limit = self.limit(kind, upper.max?);
        Some(BudgetLine {
            kind,
            bound: Bound::Max,
            limit,
            level: upper.level,
            at_least: upper.at_least,
            origin: LineOrigin::Written,
            overridden: None,
        })
    }

    fn limit(&mut self, kind: LineKind, limit: Located<f64>) -> f64 {
        let Located { value, at } = limit;
        let is_share = matches!(kind, LineKind::Memory | LineKind::GpuMemory);
        if value <= 0.0 {
            self.findings.wrong(&at, "a limit is more than 0");
        } else if is_share && value > 100.0 {
            self.findings.warn(&at, "is more than a machine has");
        }
        value
    }

    fn utilization(
        &mut self,
        kind: LineKind,
        line: Option<Located<raw::RawUtilization>>,
    ) -> Option<BudgetLine> {
        let Located {
            value: raw::RawUtilization(line),
            at,
        } = line?;
        self.remember(&at);
        let (bound, limit) = match (line.max, line.min) {
            (Some(max), None) => (Bound::Max, max),
            (None, Some(min)) => (Bound::Min, min),
            (Some(_), Some(min)) => {
                self.findings
                    .wrong(&min.at, "one line has one limit: either `max` or `min`");
                return None;
            }
            (None, None) => {
                self.findings.wrong_with_help(
                    &at,
                    "the line has no limit",
                    "write `min: 20%` or `max: 20%`",
                );
                return None;
            }
        };
        let share = limit.value.0.0;
        if share <= 0.0 || share > 100.0 {
            self.findings
                .wrong(&limit.at, "a load is more than 0% and at most 100%");
        }
        Some(BudgetLine {
            kind,
            bound,
            limit: share,
            level: level(line.level),
            at_least: 0.0,
            origin: LineOrigin::Written,
            overridden: None,
        })
    }

    fn check_cost_per_step(&mut self, line: &At, training: &Training, job: &At) {
        let complained = self
            .findings
            .is_known(&format!("{}.training.step_metric", job.path))
            || self
                .findings
                .is_known(&format!("{}.training.metrics", job.path));
        if training.step_metric.is_none() && !complained {
            self.findings.wrong_with_help(
                line,
                "a cost per step needs `training.step_metric`",
                "write `metrics: {step: 'step time: ([0-9.]+)'}` and `step_metric: step`",
            );
        }
    }

    /// Where a machine has no price, nothing can be said about cost.
    fn check_local_price(&mut self, lines: &[BudgetLine], job: &At) {
        if self.has_local_price {
            return;
        }
        for line in lines {
            if matches!(
                line.kind,
                LineKind::Cost | LineKind::CostPerStep | LineKind::CostIncrease
            ) {
                let path = format!("{}.budget.{}", job.path, line.kind);
                let place = self.places.iter().rev().find(|(known, _)| *known == path);
                let start = place.map_or(job.span.start, |(_, start)| *start);
                self.findings.wrong_with_help(
                    &At {
                        path,
                        span: start..start + 1,
                    },
                    "this machine has no price, so its cost is not known",
                    "write `prices: {local: 1.20 USD/h}` at the top, or remove the line",
                );
            }
        }
    }

    fn certainty(&mut self, certainty: &Located<raw::Quantity<Fraction>>) -> Fraction {
        let share = certainty.value.0;
        if share.0 <= 0.5 || share.0 >= 1.0 {
            self.findings.wrong_with_help(
                &certainty.at,
                format!("a certainty of {share} is out of reach"),
                "write more than 50% and less than 100%, such as `95%`",
            );
        }
        share
    }

    pub(super) fn drift(&mut self, raw: Option<Located<raw::RawDrift>>) -> DriftPolicy {
        let Some(Located { value: raw, .. }) = raw else {
            return DriftPolicy {
                max: DEFAULT_DRIFT,
                at_least: Usd(0.0),
            };
        };
        if let Some(max) = &raw.max
            && max.value.0.0 <= 0.0
        {
            self.findings.wrong(&max.at, "a limit is more than 0");
        }
        DriftPolicy {
            max: raw.max.map_or(DEFAULT_DRIFT, |max| max.value.0),
            at_least: raw.at_least.map_or(Usd(0.0), |amount| amount.value.0),
        }
    }
}
