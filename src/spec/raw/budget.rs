//! What a job may cost, as written: budget lines, drift, overrides.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::reader::{Either, Entries, FromNode, Need, described, mapping, wrong_kind};
use super::scalar::{AnyQuantity, Choice, Day, Quantity, Text, Words, WrittenUnit};
use crate::metric::{Amount, LineForm, LineKind};
use crate::spec::Level;
use crate::spec::problems::{At, Findings, Located, quoted};
use crate::spec::yaml::{Node, Value};
use crate::units::{Fraction, Percent, Seconds, Usd};

/// What the full run may take: the lines of [`LineKind::ALL`], each under its key, and what holds for all of them.
#[derive(Debug)]
pub(in crate::spec) struct RawBudget {
    /// Those that are written, in the order of [`LineKind::ALL`].
    pub(in crate::spec) lines: Vec<(LineKind, Located<RawLine>)>,
    pub(in crate::spec) certainty: Option<Located<Quantity<Fraction>>>,
    pub(in crate::spec) existing_breach: Option<Located<Choice<Level>>>,
}

const CERTAINTY: &str = "certainty";
const EXISTING_BREACH: &str = "existing_breach";

impl FromNode for RawBudget {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let keys = LineKind::ALL.map(LineKind::key);
        let known = [&keys[..], &[CERTAINTY, EXISTING_BREACH]].concat();
        let mut entries = Entries::open(node, at, &known, findings)?;
        let lines = LineKind::ALL.into_iter().filter_map(|kind| {
            let read = FormOfLine::of(kind.form()).read;
            Some((kind, read(&mut entries, kind.key(), findings)?))
        });
        Some(Self {
            lines: lines.collect(),
            certainty: entries.take(CERTAINTY, Need::Optional, findings),
            existing_breach: entries.take(EXISTING_BREACH, Need::Optional, findings),
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
            let line = (FormOfLine::of(kind.form()).schema)(generator, &[kind.description()]);
            properties.insert(kind.key().to_owned(), line.to_value());
        }
        let certainty = described::<Quantity<Fraction>>(
            generator,
            &["How sure a line must be to hold, more than 50% and less than 100%. Default: 95%."],
        );
        properties.insert(CERTAINTY.to_owned(), certainty.to_value());
        let breach = described::<Choice<Level>>(
            generator,
            &["What a line counts that the base was over already. Default: warn."],
        );
        properties.insert(EXISTING_BREACH.to_owned(), breach.to_value());
        json_schema!({
            "description": "What the full run may take. Each line is judged for itself.",
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

impl RawLine {
    fn with_upper_limit(
        max: Option<Located<Amount>>,
        level: Option<Located<Choice<Level>>>,
    ) -> Self {
        Self {
            max,
            min: None,
            at_least: None,
            level,
        }
    }
}

fn amount<U: Into<Amount>>(limit: Option<Located<Quantity<U>>>) -> Option<Located<Amount>> {
    limit.map(|limit| Located {
        value: limit.value.0.into(),
        at: limit.at,
    })
}

/// What a form of budget line is made of.
struct FormOfLine {
    read: fn(&mut Entries<'_>, &'static str, &mut Findings) -> Option<Located<RawLine>>,
    schema: fn(&mut SchemaGenerator, &[&str]) -> Schema,
}

impl FormOfLine {
    fn of(form: LineForm) -> Self {
        match form {
            LineForm::Cost => Self::made_of::<BareOr<Usd, CostLine>>(),
            LineForm::Time => Self::made_of::<BareOr<Seconds, TimeLine>>(),
            LineForm::Share => Self::made_of::<BareOr<Percent, ShareLine>>(),
            LineForm::Load => Self::made_of::<RawUtilization>(),
            LineForm::CostIncrease => Self::made_of::<BareOr<Percent, CostIncreaseLine>>(),
            LineForm::TimeIncrease => Self::made_of::<BareOr<Percent, TimeIncreaseLine>>(),
        }
    }

    fn made_of<W: WrittenLine>() -> Self {
        Self {
            read: |entries, key, findings| {
                let Located { value, at } = entries.take::<W>(key, Need::Optional, findings)?;
                let value = value.line(&at);
                Some(Located { value, at })
            },
            schema: described::<W>,
        }
    }
}

/// A budget line as it is written.
trait WrittenLine: FromNode + JsonSchema {
    fn line(self, at: &At) -> RawLine;
}

/// A bare quantity is the upper limit; the long form says more.
type BareOr<U, L> = Either<Quantity<U>, L>;

impl<U: WrittenUnit + Into<Amount>, L: FromNode + JsonSchema + Into<RawLine>> WrittenLine
    for BareOr<U, L>
{
    fn line(self, at: &At) -> RawLine {
        match self {
            Either::Short(Quantity(limit)) => {
                let at = at.clone();
                let value = limit.into();
                RawLine::with_upper_limit(Some(Located { value, at }), None)
            }
            Either::Long(long) => long.into(),
        }
    }
}

impl WrittenLine for RawUtilization {
    fn line(self, _: &At) -> RawLine {
        let Self(written) = self;
        RawLine {
            min: amount(written.min),
            ..RawLine::with_upper_limit(amount(written.max), written.level)
        }
    }
}

impl From<CostLine> for RawLine {
    fn from(written: CostLine) -> Self {
        Self::with_upper_limit(amount(written.max), written.level)
    }
}

impl From<TimeLine> for RawLine {
    fn from(written: TimeLine) -> Self {
        Self::with_upper_limit(amount(written.max), written.level)
    }
}

impl From<ShareLine> for RawLine {
    fn from(written: ShareLine) -> Self {
        Self::with_upper_limit(amount(written.max), written.level)
    }
}

impl From<CostIncreaseLine> for RawLine {
    fn from(written: CostIncreaseLine) -> Self {
        Self {
            at_least: amount(written.at_least).map(|amount| amount.value),
            ..Self::with_upper_limit(amount(written.max), written.level)
        }
    }
}

impl From<TimeIncreaseLine> for RawLine {
    fn from(written: TimeIncreaseLine) -> Self {
        Self {
            at_least: amount(written.at_least).map(|amount| amount.value),
            ..Self::with_upper_limit(amount(written.max), written.level)
        }
    }
}

mapping! {
    /// A limit in US dollars.
    pub(in crate::spec) struct CostLine {
        /// The upper limit.
        required max: Quantity<Usd>,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

mapping! {
    /// A limit in time.
    pub(in crate::spec) struct TimeLine {
        /// The upper limit.
        required max: Quantity<Seconds>,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

mapping! {
    /// A limit as a share of the machine.
    pub(in crate::spec) struct ShareLine {
        /// The upper limit.
        required max: Quantity<Percent>,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

mapping! {
    /// A limit against the base, in cost.
    pub(in crate::spec) struct CostIncreaseLine {
        /// The upper limit, as a share of the base.
        required max: Quantity<Percent>,
        /// An increase of less is never a breach. Default: 0 USD.
        optional at_least: Quantity<Usd>,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

mapping! {
    /// A limit against the base, in time.
    pub(in crate::spec) struct TimeIncreaseLine {
        /// The upper limit, as a share of the base.
        required max: Quantity<Percent>,
        /// An increase of less is never a breach. Default: 0s.
        optional at_least: Quantity<Seconds>,
        /// Whether a breach fails the check. Default: fail.
        optional level: Choice<Level>,
    }
}

mapping! {
    /// A limit on a load, either from above or from below.
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
    /// When a scheduled check calls a change drift.
    pub(in crate::spec) struct RawDrift {
        /// The change of the forecast cost against the baseline. Default: 15%.
        optional max: Quantity<Percent>,
        /// A change of less is never drift. Default: 0 USD.
        optional at_least: Quantity<Usd>,
    }
}

impl Words for LineKind {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self::ALL[0]); Self::ALL.len()];
        let mut index = 0;
        while index < words.len() {
            words[index] = (Self::ALL[index].key(), Self::ALL[index]);
            index += 1;
        }
        words
    };
}

mapping! {
    /// A known overrun, agreed to.
    pub(in crate::spec) struct RawOverride {
        /// The job's name.
        required job: Text,
        /// The budget line.
        required budget: Choice<LineKind>,
        /// The limit that counts in its place, in the line's unit.
        required up_to: AnyQuantity,
        /// The last day it counts, for instance `2026-12-31`.
        required until: Day,
        /// Why it was agreed to.
        required reason: Text,
    }
}
