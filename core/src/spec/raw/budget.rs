//! What a job may cost, as written: budget lines, drift, overrides.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::printed_line::RawPrintedLine;
use super::reader::{Entries, FromNode, Map, Need, described, mapping, wrong_kind};
use super::scalar::{AnyQuantity, Choice, Day, Quantity, Text, Words, amount, quantity_schema};
use crate::metric::{Amount, LineForm, LineKind, LongForm, Metric, Unit};
use crate::spec::problems::{At, Findings, Located, quoted};
use crate::spec::yaml::{Node, Value};
use crate::spec::{Level, StatedGrowth};
use crate::units::{Fraction, Percent, Usd};

/// What the full run may take: the lines of [`LineKind::ALL`], each under its key, and what holds for all of them.
#[derive(Debug)]
pub(in crate::spec) struct RawBudget {
    /// Those that are written, in the order of [`LineKind::ALL`].
    pub(in crate::spec) lines: Vec<(LineKind, Located<RawLine>)>,
    /// About what the script prints, by name.
    pub(in crate::spec) metrics: Option<Located<Map<RawPrintedLine>>>,
    pub(in crate::spec) certainty: Option<Located<Quantity<Fraction>>>,
    pub(in crate::spec) existing_breach: Option<Located<Choice<Level>>>,
    pub(in crate::spec) growth: Option<Located<Choice<StatedGrowth>>>,
}

const METRICS: &str = "metrics";
const CERTAINTY: &str = "certainty";
const EXISTING_BREACH: &str = "existing_breach";
const GROWTH: &str = "growth";

impl FromNode for RawBudget {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let keys = LineKind::ALL.map(LineKind::fixed_key);
        let known = [&keys[..], &[METRICS, CERTAINTY, EXISTING_BREACH, GROWTH]].concat();
        let mut entries = Entries::open(node, at, &known, findings)?;
        let lines = LineKind::ALL.into_iter().filter_map(|kind| {
            let read = |node: &Node, at: &At, findings: &mut Findings| match UpperLimit::of(kind) {
                Some(limit) => limit.read(node, at, findings),
                None => RawUtilization::from_node(node, at, findings).map(RawLine::from),
            };
            let line = entries.take_with(kind.fixed_key(), Need::Optional, findings, read)?;
            Some((kind, line))
        });
        Some(Self {
            lines: lines.collect(),
            metrics: entries.take(METRICS, Need::Optional, findings),
            certainty: entries.take(CERTAINTY, Need::Optional, findings),
            existing_breach: entries.take(EXISTING_BREACH, Need::Optional, findings),
            growth: entries.take(GROWTH, Need::Optional, findings),
        })
    }
}

impl JsonSchema for RawBudget {
    fn schema_name() -> Cow<'static, str> {
        "Budget".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for kind in LineKind::ALL {
            let mut line = match UpperLimit::of(kind) {
                Some(limit) => limit.schema(generator),
                None => generator.subschema_for::<RawUtilization>(),
            };
            line.insert("description".to_owned(), kind.description().into());
            properties.insert(kind.fixed_key().to_owned(), line.to_value());
        }
        let metrics = described::<Map<RawPrintedLine>>(
            generator,
            &[
                "Limits of what the script prints, by a name of `training.metrics`: of the median of the later half of a run's values.",
            ],
        );
        properties.insert(METRICS.to_owned(), metrics.to_value());
        let certainty = described::<Quantity<Fraction>>(
            generator,
            &[
                "The probability with which a line must hold, more than 50% and less than 100%. Default: 95%.",
            ],
        );
        properties.insert(CERTAINTY.to_owned(), certainty.to_value());
        let breach = described::<Choice<Level>>(
            generator,
            &["The level of a line that the base exceeds already. Default: warn."],
        );
        properties.insert(EXISTING_BREACH.to_owned(), breach.to_value());
        let growth = described::<Choice<StatedGrowth>>(
            generator,
            &[
                "The most that the time of the full run grows with the data, by your word; it holds as long as the canaries do not grow faster.",
            ],
        );
        properties.insert(GROWTH.to_owned(), growth.to_value());
        json_schema!({
            "description": "The limits of the full run. Each line is judged by itself.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// A budget line, whichever form it was written in.
#[derive(Debug)]
pub(in crate::spec) struct RawLine {
    pub(in crate::spec) max: Option<Located<Amount>>,
    pub(in crate::spec) min: Option<Located<Amount>>,
    pub(in crate::spec) at_least: Option<Amount>,
    pub(in crate::spec) level: Option<Located<Choice<Level>>>,
}

const MAX: &str = "max";
const AT_LEAST: &str = "at_least";
const LEVEL: &str = "level";

/// A budget line with an upper limit. A bare amount is the limit; the long form says more.
#[derive(Clone, Copy)]
struct UpperLimit {
    unit: Unit,
    /// Of the amount that an increase must pass too.
    at_least: Option<Unit>,
    long: LongForm,
}

impl UpperLimit {
    /// `None` of a line on a load.
    fn of(kind: LineKind) -> Option<Self> {
        let (at_least, long) = match kind.form() {
            LineForm::Load | LineForm::Printed => return None,
            LineForm::Max(long) | LineForm::Share(long) => (None, long),
            LineForm::Increase(long) => (kind.metric().map(Metric::unit), long),
        };
        Some(Self {
            unit: kind.unit(),
            at_least,
            long,
        })
    }

    fn read(self, node: &Node, at: &At, findings: &mut Findings) -> Option<RawLine> {
        let in_unit = |unit| {
            move |node: &Node, at: &At, findings: &mut Findings| amount(unit, node, at, findings)
        };
        if !matches!(node.value, Value::Mapping(_)) {
            let value = amount(self.unit, node, at, findings)?;
            let at = at.clone();
            return Some(RawLine {
                max: Some(Located { value, at }),
                min: None,
                at_least: None,
                level: None,
            });
        }
        let keys: &[&str] = match self.at_least {
            Some(_) => &[MAX, AT_LEAST, LEVEL],
            None => &[MAX, LEVEL],
        };
        let mut entries = Entries::open(node, at, keys, findings)?;
        let max = entries.take_with(MAX, Need::Required, findings, in_unit(self.unit));
        let at_least = self
            .at_least
            .and_then(|unit| entries.take_with(AT_LEAST, Need::Optional, findings, in_unit(unit)));
        Some(RawLine {
            max,
            min: None,
            at_least: at_least.map(|amount| amount.value),
            level: entries.take(LEVEL, Need::Optional, findings),
        })
    }

    fn schema(self, generator: &mut SchemaGenerator) -> Schema {
        let short = quantity_schema(self.unit.written());
        let long = self.long_schema(generator);
        let name = self.long.name;
        generator
            .definitions_mut()
            .insert(name.to_owned(), long.to_value());
        json_schema!({ "anyOf": [short, { "$ref": format!("#/$defs/{name}") }] })
    }

    fn long_schema(self, generator: &mut SchemaGenerator) -> Schema {
        let field = |unit: Unit, words: String| {
            let mut schema = quantity_schema(unit.written());
            schema.insert("description".to_owned(), words.into());
            schema.to_value()
        };
        let max = match self.at_least {
            Some(_) => "The upper limit, as a share of the base.",
            None => "The upper limit.",
        };
        let mut properties = serde_json::Map::new();
        properties.insert(MAX.to_owned(), field(self.unit, max.to_owned()));
        if let Some(unit) = self.at_least {
            let nothing = unit.exact(0.0);
            let words = format!("The smallest increase that can be a breach. Default: {nothing}.");
            properties.insert(AT_LEAST.to_owned(), field(unit, words));
        }
        let level = described::<Choice<Level>>(
            generator,
            &["Whether a breach fails the check. Default: fail."],
        );
        properties.insert(LEVEL.to_owned(), level.to_value());
        json_schema!({
            "description": self.long.description,
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "required": [MAX],
        })
    }
}

impl From<RawUtilization> for RawLine {
    fn from(RawUtilization(written): RawUtilization) -> Self {
        let in_percent = |limit: Located<Quantity<Percent>>| Located {
            value: limit.value.0.into(),
            at: limit.at,
        };
        Self {
            max: written.max.map(in_percent),
            min: written.min.map(in_percent),
            at_least: None,
            level: written.level,
        }
    }
}

impl From<RawPrintedLine> for RawLine {
    fn from(RawPrintedLine(written): RawPrintedLine) -> Self {
        let amount = |limit: Located<f64>| Located {
            value: Unit::Number.amount(limit.value),
            at: limit.at,
        };
        Self {
            max: written.max.map(amount),
            min: written.min.map(amount),
            at_least: None,
            level: written.level,
        }
    }
}

mapping! {
    /// A limit of a load, either from above or from below.
    pub(in crate::spec) struct UtilizationLine {
        /// The upper limit.
        optional max: Quantity<Percent>,
        /// The lower limit.
        optional min: Quantity<Percent>,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

/// A load line, which has no short form: a bare `20%` would not say which way.
#[derive(Debug)]
pub(in crate::spec) struct RawUtilization(pub(in crate::spec) UtilizationLine);

impl FromNode for RawUtilization {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        if let Value::Text(text) | Value::Number(text) = &node.value {
            let percent = text.trim_end_matches('%').trim();
            let known = percent.parse::<f64>().is_ok();
            let example = if known { percent } else { "20" };
            findings.wrong_with_help(
                at,
                format!(
                    "{} does not say whether it is a lower or an upper limit",
                    quoted(text)
                ),
                format!("write `{{min: {example}%}}` or `{{max: {example}%}}`"),
            );
            return None;
        }
        if !matches!(node.value, Value::Mapping(_)) {
            wrong_kind(node, "a mapping such as `{min: 20%}`", at, findings);
            return None;
        }
        UtilizationLine::from_node(node, at, findings).map(Self)
    }
}

impl JsonSchema for RawUtilization {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RawUtilization".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<UtilizationLine>()
    }
}

mapping! {
    /// The increase that a scheduled check reports as drift.
    pub(in crate::spec) struct RawDrift {
        /// The share of the baseline by which the forecast cost may be higher; time where no price is known. Default: 15%.
        optional max: Quantity<Percent>,
        /// The smallest increase that can be drift, in US dollars. Default: 0 USD.
        optional at_least: Quantity<Usd>,
    }
}

impl Words for LineKind {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self::ALL[0]); Self::ALL.len()];
        let mut index = 0;
        while index < words.len() {
            words[index] = (Self::ALL[index].fixed_key(), Self::ALL[index]);
            index += 1;
        }
        words
    };
}

mapping! {
    /// A known overrun that is agreed to.
    pub(in crate::spec) struct RawOverride {
        /// The name of the job.
        required job: Text,
        /// The key of the budget line.
        required budget: Choice<LineKind>,
        /// The limit that counts in place of the line's own, in the line's unit.
        required up_to: AnyQuantity,
        /// The last day on which the override counts, in UTC, for instance `2026-12-31`.
        required until: Day,
        /// The reason for which the overrun was agreed to.
        required reason: Text,
    }
}
