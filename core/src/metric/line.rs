//! What a budget line is about.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::{MemoryOf, Metric, MetricName, MetricNameError, Unit};

/// What one budget line is about: one of [`LineKind::ALL`], or what the script prints.
#[derive(SerializeDisplay, DeserializeFromStr, derive_more::Display)]
#[display("{}", self.key())]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::From)]
pub enum LineKind {
    /// How much of it the full run takes.
    #[from]
    Absolute(Metric),
    /// How much more it takes than on the base, in percent of that.
    Increase(Metric),
    /// The level of what the script prints, by its name in `training.metrics`.
    Named(MetricName),
}

/// How a budget line is written. A bare amount is its upper limit, and a mapping says more. A line that may be limited from either
/// side has no short form, since a bare `20%` would not say which side is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineForm {
    /// The mapping's name in the spec's schema. Lines of one name are of one unit.
    pub name: &'static str,
    pub description: &'static str,
    /// A number for examples where the line may be limited from either side, else absent.
    pub either_side: Option<&'static str>,
}

/// What is known of a budget line beside its metric.
#[derive(Clone, Copy)]
pub(super) struct LineRow {
    /// The key in the spec and the `line` in the report.
    pub(super) key: &'static str,
    /// For the spec's schema.
    pub(super) description: &'static str,
}

impl LineKind {
    /// The start of the key of a line about what the script prints.
    const NAMED: &'static str = "metrics.";

    const fn row(self) -> LineRow {
        let row = match self {
            Self::Absolute(metric) => metric.row().line,
            Self::Increase(metric) => metric.row().increase,
            Self::Named(_) => None,
        };
        row.expect("a kind of line is one of `ALL`, and each of these has a row")
    }

    /// The key of one of [`Self::ALL`].
    pub const fn fixed_key(self) -> &'static str {
        self.row().key
    }

    /// The `line` in the report, and the path in the budget: `cost`, `metrics.tokens_per_second`.
    pub fn key(self) -> Cow<'static, str> {
        match self {
            Self::Named(name) => format!("{}{name}", Self::NAMED).into(),
            Self::Absolute(_) | Self::Increase(_) => self.fixed_key().into(),
        }
    }

    /// What one of [`Self::ALL`] limits, for the spec's schema.
    pub fn description(self) -> &'static str {
        self.row().description
    }

    /// `None` of what the script prints.
    pub fn metric(self) -> Option<Metric> {
        match self {
            Self::Absolute(metric) | Self::Increase(metric) => Some(metric),
            Self::Named(_) => None,
        }
    }

    /// Whose peak of memory the line is about.
    pub fn memory_of(self) -> Option<MemoryOf> {
        self.metric()?.memory_of()
    }

    pub fn is_increase(self) -> bool {
        matches!(self, Self::Increase(_))
    }

    /// Of its limit and its estimate. An increase is a percentage of the base.
    pub fn unit(self) -> Unit {
        match self {
            Self::Absolute(metric) => metric.unit(),
            Self::Increase(_) => Unit::Percent,
            Self::Named(_) => Unit::Number,
        }
    }

    /// The line's name for a reader: `CPU utilization`, `cost increase`.
    pub fn words(self) -> Cow<'static, str> {
        match self {
            Self::Absolute(metric) => metric.words().into(),
            Self::Increase(metric) => format!("{} increase", metric.words()).into(),
            Self::Named(name) => name.to_string().into(),
        }
    }

    /// A number of the line, exactly as it was meant: `36h 30m`, `12.50 USD`, `56.4%`; of an increase `+20%`.
    pub fn exact(self, number: f64) -> String {
        self.signed(number, self.unit().exact(number))
    }

    /// A number of the line, rounded for a reader: `5h 42m`, `63 USD`, `88%`; of an increase `+31%`.
    pub fn rounded(self, number: f64) -> String {
        self.signed(number, self.unit().rounded(number))
    }

    /// An increase carries its sign.
    pub fn signed(self, number: f64, words: String) -> String {
        match self.is_increase() && number > 0.0 {
            true => format!("+{words}"),
            false => words,
        }
    }
}

impl FromStr for LineKind {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, String> {
        if let Some(name) = key.strip_prefix(Self::NAMED) {
            let name: Result<MetricName, MetricNameError> = name.parse();
            return name.map(Self::Named).map_err(|error| error.to_string());
        }
        let found = Self::ALL.into_iter().find(|kind| kind.fixed_key() == key);
        found.ok_or_else(|| {
            let keys = Self::ALL.map(|kind| format!("`{kind}`"));
            format!(
                "unknown variant `{key}`, expected one of {}",
                keys.join(", ")
            )
        })
    }
}

impl JsonSchema for LineKind {
    fn schema_name() -> Cow<'static, str> {
        "LineKind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "anyOf": [
                { "enum": Self::ALL.map(Self::fixed_key) },
                { "pattern": format!("^metrics\\.{}$", MetricName::PATTERN) },
            ],
            "description": "What one budget line is about; `metrics.` and a name is what the script prints.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_by_its_key() {
        for kind in LineKind::ALL {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<LineKind>(&json).unwrap(), kind);
        }
        let named = LineKind::Named("train:loss".parse().unwrap());
        let json = serde_json::to_string(&named).unwrap();
        assert_eq!(json, "\"metrics.train:loss\"");
        assert_eq!(serde_json::from_str::<LineKind>(&json).unwrap(), named);
        assert!(serde_json::from_str::<LineKind>("\"metrics.<b>\"").is_err());
        let refusal = serde_json::from_str::<LineKind>("\"price\"").unwrap_err();
        assert!(
            refusal
                .to_string()
                .contains("expected one of `cost`, `time`")
        );
    }

    #[test]
    fn an_increase_is_said_with_its_sign() {
        let increase = LineKind::Increase(Metric::Time);
        assert_eq!(increase.exact(20.0), "+20%");
        assert_eq!(increase.rounded(-4.0), "-4.0%");
        assert_eq!(increase.words(), "time increase");
        assert_eq!(LineKind::Absolute(Metric::Time).exact(131_400.0), "36h 30m");
    }
}
