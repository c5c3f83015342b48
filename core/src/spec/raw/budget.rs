//! What a job may cost, as written: budget lines, drift, overrides.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::reader::{Entries, FromNode, Map, MappingKeys, Need, described, mapping, wrong_kind};
use super::scalar::{AnyQuantity, Choice, Day, Quantity, Text, Words, amount, quantity_schema};
use crate::metric::{Amount, LineForm, LineKind, LongForm, Metric, Unit};
use crate::spec::field::{FieldRule, keys};
use crate::spec::problems::{At, Findings, Located, quoted};
use crate::spec::yaml::{Node, Value};
use crate::spec::{Level, StatedGrowth};
use crate::units::{Fraction, Percent, Usd};

mapping! {
    /// The limits of the full run. Each line is judged by itself.
    pub(in crate::spec) struct RawBudget {
        first lines: RawLines,
        /// Limits of what the script prints, by a name of `training.metrics`: of the median of the later half of a run's values.
        optional metrics: Map<Sided<MetricLine>>,
        /// The probability with which a line must hold, more than 50% and less than 100%. Default: 95%.
        optional certainty: Quantity<Fraction>,
        /// The level of a line that the base exceeds already. Default: warn.
        optional existing_breach: Choice<Level>,
        /// The most that the time of the full run grows with the data, by your word; it holds as long as the canaries do not grow faster.
        optional growth: Choice<StatedGrowth>,
    }
}

/// The lines that are written, in the order of [`LineKind::ALL`].
#[derive(Debug, Default)]
pub(in crate::spec) struct RawLines(pub(in crate::spec) Vec<(LineKind, Located<RawLine>)>);

impl MappingKeys for RawLines {
    fn names() -> Vec<&'static str> {
        LineKind::ALL.map(LineKind::fixed_key).to_vec()
    }

    fn take(entries: &mut Entries<'_>, findings: &mut Findings) -> Self {
        let lines = LineKind::ALL.into_iter().filter_map(|kind| {
            let read = |node: &Node, at: &At, findings: &mut Findings| match UpperLimit::of(kind) {
                Some(limit) => limit.read(node, at, findings),
                None => Sided::<UtilizationLine>::from_node(node, at, findings).map(RawLine::from),
            };
            let line = entries.take_with(kind.fixed_key(), Need::Optional, findings, read)?;
            Some((kind, line))
        });
        Self(lines.collect())
    }

    fn describe(
        generator: &mut SchemaGenerator,
        properties: &mut serde_json::Map<String, serde_json::Value>,
        _: &mut Vec<&'static str>,
    ) {
        for kind in LineKind::ALL {
            let mut line = match UpperLimit::of(kind) {
                Some(limit) => limit.schema(generator),
                None => generator.subschema_for::<UtilizationLine>(),
            };
            line.insert("description".to_owned(), kind.description().into());
            properties.insert(kind.fixed_key().to_owned(), line.to_value());
        }
    }

    fn places(&self) -> Vec<&At> {
        self.0.iter().map(|(_, line)| &line.at).collect()
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

mapping! {
    /// A limit of what the script prints, either from above or from below: of the median of the later half of a run's values.
    pub(in crate::spec) struct MetricLine {
        /// The upper limit, above 0.
        optional max: f64,
        /// The lower limit, above 0.
        optional min: f64,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

/// A line with a limit of either side, and what stands in an example of it.
pub(in crate::spec) trait EitherSide: FromNode + JsonSchema {
    const NUMBER: &'static str;
    const UNIT: &'static str;
}

impl EitherSide for UtilizationLine {
    const NUMBER: &'static str = "20";
    const UNIT: &'static str = "%";
}

impl EitherSide for MetricLine {
    const NUMBER: &'static str = "9000";
    const UNIT: &'static str = "";
}

/// The line, which has no short form: a bare `20%` would not say which way.
#[derive(Debug)]
pub(in crate::spec) struct Sided<L>(L);

impl<L: EitherSide> FromNode for Sided<L> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let unit = L::UNIT;
        match &node.value {
            Value::Mapping(_) => L::from_node(node, at, findings).map(Self),
            Value::Text(text) | Value::Number(text) => {
                let number = text.trim_end_matches('%').trim();
                let is_number = number.parse::<f64>().is_ok();
                let example = if is_number { number } else { L::NUMBER };
                let text = quoted(text);
                findings.wrong_with_help(
                    at,
                    format!("{text} does not say whether it is a lower or an upper limit"),
                    format!("write `{{min: {example}{unit}}}` or `{{max: {example}{unit}}}`"),
                );
                None
            }
            _ => {
                let wanted = format!("a mapping such as `{{min: {}{unit}}}`", L::NUMBER);
                wrong_kind(node, &wanted, at, findings);
                None
            }
        }
    }
}

impl<L: EitherSide> JsonSchema for Sided<L> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        L::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<L>()
    }
}

impl From<Sided<UtilizationLine>> for RawLine {
    fn from(Sided(line): Sided<UtilizationLine>) -> Self {
        Self::of_sides(line.max, line.min, line.level, |limit| limit.0.into())
    }
}

impl From<Sided<MetricLine>> for RawLine {
    fn from(Sided(line): Sided<MetricLine>) -> Self {
        let amount = |limit| Unit::Number.amount(limit);
        Self::of_sides(line.max, line.min, line.level, amount)
    }
}

impl RawLine {
    fn of_sides<T>(
        max: Option<Located<T>>,
        min: Option<Located<T>>,
        level: Option<Located<Choice<Level>>>,
        amount: impl Fn(T) -> Amount,
    ) -> Self {
        let amount = |limit: Located<T>| Located {
            value: amount(limit.value),
            at: limit.at,
        };
        Self {
            max: max.map(&amount),
            min: min.map(&amount),
            at_least: None,
            level,
        }
    }
}

keys! {
    /// The increase that a scheduled check reports as drift.
    pub struct DriftPolicy of RawDrift {
        /// The share of the baseline by which the forecast cost may be higher; time where no price is known. Default: 15%.
        plain max: Quantity<Percent> as Percent, or Percent(15.0) => FieldRule::BASE.uncounted();
        /// The smallest increase that can be drift, in US dollars. Default: 0 USD.
        plain at_least: Quantity<Usd> as Usd, or Usd(0.0) => FieldRule::BASE.uncounted();
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
