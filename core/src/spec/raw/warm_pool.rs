//! `canary.warm_pool` as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::reader::{Either, FromNode, mapping, wrong_kind};
use super::scalar::{Quantity, WrittenUnit};
use crate::spec::WarmPoolPolicy;
use crate::spec::problems::{At, Findings, near_miss, quoted};
use crate::spec::yaml::{Node, Value};
use crate::units::Seconds;

const WORDS: [(&str, WarmPoolPolicy); 2] =
    [("auto", WarmPoolPolicy::Auto), ("off", WarmPoolPolicy::Off)];

mapping! {
    /// Machines that are kept for the next canary.
    pub(in crate::spec) struct KeepAlive {
        /// The time for which they are kept, from 1s to 1h.
        required keep_alive: Quantity<Seconds>,
    }
}

/// A word or a time, or the time under its name.
pub(in crate::spec) type RawWarmPool = Either<PoolWord, KeepAlive>;

/// `auto`, `off`, or a time, which is the short form of `{keep_alive: 5m}`.
#[derive(Debug)]
pub(in crate::spec) struct PoolWord(pub(in crate::spec) WarmPoolPolicy);

impl FromNode for PoolWord {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Value::Text(text) = &node.value else {
            // Its error asks for a unit.
            if let Value::Number(_) = &node.value {
                Quantity::<Seconds>::from_node(node, at, findings);
            } else {
                wrong_kind(node, "`auto`, `off` or a time such as `5m`", at, findings);
            }
            return None;
        };
        if let Some((_, policy)) = WORDS.iter().find(|(word, _)| word == text) {
            return Some(Self(*policy));
        }
        if let Ok(time) = text.parse() {
            return Some(Self(WarmPoolPolicy::KeepAlive(time)));
        }
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            Quantity::<Seconds>::from_node(node, at, findings);
            return None;
        }
        let near = near_miss(text, WORDS.iter().map(|(word, _)| *word));
        findings.wrong_with_help(
            at,
            format!("{}, where `auto`, `off` or a time is needed", quoted(text)),
            near.map_or_else(
                || "write `auto`, `off` or `{keep_alive: 5m}`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ),
        );
        None
    }
}

impl JsonSchema for PoolWord {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PoolWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = WORDS.map(|(word, _)| word).join("|");
        let [_, time] = Seconds::WRITTEN.examples;
        let pattern = Seconds::WRITTEN.pattern;
        json_schema!({
            "type": "string",
            "pattern": format!("^({words})$|{pattern}"),
            "examples": ["auto", "off", time],
            "errorMessage": format!("write `auto`, `off` or a time, such as `{time}`"),
        })
    }
}
