//! What a job may take: written budget lines, the implicit ones, and drift.

use super::{Instances, SpecReader, level};
use crate::metric::{Amount, LineForm, LineKind, Metric, MetricNameError};
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located, did_you_mean, quoted};
use crate::spec::raw;
use crate::spec::{Bound, Budget, BudgetLine, Level, LineOrigin, PrintedMetric, Training};
use crate::units::Fraction;

impl SpecReader<'_> {
    /// The lines in the order of [`LineKind::ALL`], then those about what the script prints as they are written, then the implicit
    /// ones that no written line covers.
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
        let mut growth = None;
        if let Some(Located { value: raw, .. }) = raw {
            let per_step = LineKind::Absolute(Metric::CostPerStep);
            let written = raw.lines.0.iter().find(|(kind, _)| *kind == per_step);
            if let (Some((_, line)), Some(training)) = (written, training) {
                self.check_cost_per_step(&line.at, training, job);
            }
            for (kind, line) in raw.lines.0 {
                lines.extend(self.line(kind, line));
            }
            for entry in raw
                .metrics
                .into_iter()
                .flat_map(|metrics| metrics.value.entries)
            {
                lines.extend(self.printed_line(entry, training, job));
            }
            certainty = raw
                .certainty
                .map_or(certainty, |certainty| self.certainty(&certainty));
            if let Some(breach) = raw.existing_breach {
                existing_breach = breach.value.0;
            }
            growth = raw.growth.map(|growth| growth.value.0);
        }
        let mut budget = Budget {
            lines,
            certainty,
            existing_breach,
            growth,
        };
        budget.renew_implicit_lines(training.and_then(|training| training.max_runtime));
        let is_local = instances.is_some_and(|(instance, _)| instance.is_local());
        // A recording may be of this machine's runs.
        let may_be_recorded = self.is_on(RunPlace::Recorded);
        if self.is_on(RunPlace::This) || may_be_recorded && is_local {
            self.check_local_price(&budget.lines, job);
        }
        budget
    }

    fn line(&mut self, kind: LineKind, line: Located<raw::RawLine>) -> Option<BudgetLine> {
        let Located { value: line, at } = line;
        self.remember(&at);
        let level = level(line.level);
        let (bound, limit, at_least) = match (kind.form(), kind) {
            (LineForm::Load, _) => {
                let (bound, limit) = self.either_limit(line.max, line.min, &at, "20%")?;
                let share = limit.value.number;
                if share <= 0.0 || share > 100.0 {
                    let message = "a load is more than 0% and at most 100%";
                    self.findings.wrong(&limit.at, message);
                }
                (bound, limit.value, None)
            }
            (_, LineKind::Increase(metric)) => {
                let nothing = metric.unit().amount(0.0);
                let at_least = Some(line.at_least.unwrap_or(nothing));
                (Bound::Max, self.upper(kind, line.max?), at_least)
            }
            (_, LineKind::Absolute(_)) => (Bound::Max, self.upper(kind, line.max?), None),
            (_, LineKind::Named(_)) => {
                let (bound, limit) = self.either_limit(line.max, line.min, &at, "9000")?;
                if limit.value.number <= 0.0 {
                    self.findings.wrong(&limit.at, "a limit is more than 0");
                }
                (bound, limit.value, None)
            }
        };
        Some(BudgetLine {
            kind,
            bound,
            limit,
            level,
            at_least,
            origin: LineOrigin::Written,
            overridden: None,
        })
    }

    fn upper(&mut self, kind: LineKind, limit: Located<Amount>) -> Amount {
        let Located { value, at } = limit;
        if value.number <= 0.0 {
            self.findings.wrong(&at, "a limit is more than 0");
        } else if matches!(kind.form(), LineForm::Share(_)) && value.number > 100.0 {
            self.findings.warn(&at, "is more than a machine has");
        }
        value
    }

    fn either_limit(
        &mut self,
        max: Option<Located<Amount>>,
        min: Option<Located<Amount>>,
        line: &At,
        example: &str,
    ) -> Option<(Bound, Located<Amount>)> {
        match (max, min) {
            (Some(max), None) => Some((Bound::Max, max)),
            (None, Some(min)) => Some((Bound::Min, min)),
            (Some(_), Some(min)) => {
                self.findings
                    .wrong(&min.at, "one line has one limit: either `max` or `min`");
                None
            }
            // A limit that could not be read was complained of.
            (None, None) if self.findings.is_known(&line.path) => None,
            (None, None) => {
                let help = format!("write `min: {example}` or `max: {example}`");
                self.findings
                    .wrong_with_help(line, "the line has no limit", help);
                None
            }
        }
    }

    /// A line about what the script prints; its name is one of `training.metrics`, whose pattern can be read.
    fn printed_line(
        &mut self,
        entry: raw::MapEntry<raw::Sided<raw::MetricLine>>,
        training: Option<&Training>,
        job: &At,
    ) -> Option<BudgetLine> {
        let name = &entry.name.value;
        let metrics = training.map(|training| &training.metrics);
        // Not said of a training that could not be read.
        let complained = (self.findings).is_known(&format!("{}.training.metrics", job.path));
        if let Some(metrics) = metrics.filter(|_| !complained) {
            match metrics.iter().find(|(known, _)| known == name) {
                None => {
                    const OTHERWISE: &str = "write it there with its regular expression, such as `tokens_per_second: 'tok/s: ([0-9.]+)'`";
                    let known = metrics.iter().map(|(name, _)| name.as_str());
                    let help = did_you_mean(name, known).unwrap_or_else(|| OTHERWISE.to_owned());
                    let message = format!("`training.metrics` has no {}", quoted(name));
                    self.findings.wrong_with_help(&entry.name.at, message, help);
                }
                Some((_, pattern)) => {
                    if let Err(error) = PrintedMetric::new(name, pattern) {
                        let message =
                            format!("its pattern in `training.metrics` cannot be read: {error}");
                        self.findings.wrong_with_help(
                            &entry.name.at,
                            message,
                            "a metric of a budget line is read with Rust's regular expressions, which have no look-around and no back-references",
                        );
                    }
                }
            }
        }
        let kind = match name.parse() {
            Ok(name) => LineKind::Named(name),
            Err(MetricNameError) => {
                self.findings.wrong_with_help(
                    &entry.name.at,
                    MetricNameError.to_string(),
                    "name the metric so, in `training.metrics` too",
                );
                return None;
            }
        };
        let Located { value, at } = entry.value;
        self.line(
            kind,
            Located {
                value: value.into(),
                at,
            },
        )
    }

    fn check_cost_per_step(&mut self, line: &At, training: &Training, job: &At) {
        let mut keys = ["step_metric", "metrics"].into_iter();
        let is_known = |key| (self.findings).is_known(&format!("{}.training.{key}", job.path));
        let complained = keys.any(is_known);
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
            if line.kind.metric().is_some_and(Metric::is_priced) {
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

    pub(super) fn check_drift(&mut self, drift: &raw::RawDrift) {
        if let Some(max) = &drift.max
            && max.value.0.0 <= 0.0
        {
            self.findings.wrong(&max.at, "a limit is more than 0");
        }
    }
}
