//! A budget line about what the training script prints, as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::reader::{FromNode, mapping, wrong_kind};
use super::scalar::Choice;
use crate::spec::Level;
use crate::spec::problems::{At, Findings, quoted};
use crate::spec::yaml::{Node, Value};

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

/// The line, which has no short form: a bare `9000` would not say which way.
#[derive(Debug)]
pub(in crate::spec) struct RawPrintedLine(pub(in crate::spec) MetricLine);

impl FromNode for RawPrintedLine {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        if let Value::Text(text) | Value::Number(text) = &node.value {
            let is_number = matches!(node.value, Value::Number(_));
            let example = if is_number { text } else { "9000" };
            findings.wrong_with_help(
                at,
                format!(
                    "{} does not say whether it is a lower or an upper limit",
                    quoted(text)
                ),
                format!("write `{{min: {example}}}` or `{{max: {example}}}`"),
            );
            return None;
        }
        if !matches!(node.value, Value::Mapping(_)) {
            wrong_kind(node, "a mapping such as `{min: 9000}`", at, findings);
            return None;
        }
        MetricLine::from_node(node, at, findings).map(Self)
    }
}

impl JsonSchema for RawPrintedLine {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RawPrintedLine".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<MetricLine>()
    }
}
