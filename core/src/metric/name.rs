//! The name of a metric that the training script prints, in a budget line.

use std::borrow::Cow;
use std::str::FromStr;

use arrayvec::ArrayString;
use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::grammar::pattern;

/// The most characters of a name.
const LONGEST: usize = 64;

/// A name under `training.metrics` that a budget line may have: 1 to 64 ASCII letters, digits and `_`, `-`, `:`, `/`, a letter or
/// digit first. Kept in place, so that a kind of line stays a small value.
#[derive(SerializeDisplay, DeserializeFromStr, derive_more::Display, derive_more::Debug)]
#[debug("{_0:?}")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricName(ArrayString<LONGEST>);

/// Why a text is no name of a budget line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a metric of a budget line has a name of 1 to {LONGEST} letters, digits, `_`, `-`, `:` and `/`, a letter or digit first"
)]
pub struct MetricNameError;

impl MetricName {
    /// What [`FromStr`] reads (ECMA 262).
    pub const PATTERN: &'static str = "[A-Za-z0-9][A-Za-z0-9_:/-]{0,63}";

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for MetricName {
    type Err = MetricNameError;

    fn from_str(text: &str) -> Result<Self, MetricNameError> {
        let is_name = pattern!(&format!("^{}$", MetricName::PATTERN)).is_match(text);
        let name = ArrayString::from(text).ok().filter(|_| is_name);
        name.map(Self).ok_or(MetricNameError)
    }
}

impl JsonSchema for MetricName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MetricName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": format!("^{}$", Self::PATTERN) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for name in [
            "tokens_per_second",
            "train:loss",
            "eval/f1-macro",
            "7",
            &"a".repeat(64),
        ] {
            assert_eq!(name.parse::<MetricName>().unwrap().to_string(), name);
        }
        for text in [
            "",
            "_x",
            "a b",
            "a.b",
            "a|b",
            "é",
            "a\n",
            "@all",
            &"a".repeat(65),
        ] {
            assert_eq!(text.parse::<MetricName>(), Err(MetricNameError), "{text:?}");
        }
    }
}
