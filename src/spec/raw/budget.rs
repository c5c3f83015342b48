//! What a job may cost, as written: budget lines, drift, overrides.

use schemars::JsonSchema;

use super::reader::{Either, FromNode, mapping, wrong_kind};
use super::scalar::{AnyQuantity, Choice, Day, Quantity, Text, Words};
use crate::spec::problems::{At, Findings, quoted};
use crate::spec::yaml::{Node, Value};
use crate::spec::{Level, LineKind};
use crate::units::{Fraction, Percent, Seconds, Usd};

/// A bare quantity is the upper limit; the long form says more.
pub(in crate::spec) type Line<U, L> = Either<Quantity<U>, L>;

mapping! {
    /// What the full run may take. Each line is judged for itself.
    pub(in crate::spec) struct RawBudget {
        /// What the full run may cost.
        optional cost: Line<Usd, CostLine>,
        /// How long the full run may take.
        optional time: Line<Seconds, TimeLine>,
        /// Peak memory as a share of the machine's.
        optional memory: Line<Percent, ShareLine>,
        /// Peak GPU memory as a share of the machine's.
        optional gpu_memory: Line<Percent, ShareLine>,
        /// What one training step may cost; needs `training.step_metric`.
        optional cost_per_step: Line<Usd, CostLine>,
        /// How much more than the base the full run may cost.
        optional cost_increase: Line<Percent, CostIncreaseLine>,
        /// How much longer than the base the full run may take.
        optional time_increase: Line<Percent, TimeIncreaseLine>,
        /// Mean CPU load as a share of all cores.
        optional cpu_utilization: RawUtilization,
        /// Mean GPU load as a share of all GPUs.
        optional gpu_utilization: RawUtilization,
        /// Mean share of time that the cores wait for input and output.
        optional io_wait: RawUtilization,
        /// How sure a line must be to hold, more than 50% and less than 100%. Default: 95%.
        optional certainty: Quantity<Fraction>,
        /// What a line counts that the base was over already. Default: warn.
        optional existing_breach: Choice<Level>,
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
        "Utilization".into()
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
    const WORDS: &'static [(&'static str, Self)] = &[
        ("cost", Self::Cost),
        ("time", Self::Time),
        ("memory", Self::Memory),
        ("gpu_memory", Self::GpuMemory),
        ("cost_per_step", Self::CostPerStep),
        ("cost_increase", Self::CostIncrease),
        ("time_increase", Self::TimeIncrease),
        ("cpu_utilization", Self::CpuUtilization),
        ("gpu_utilization", Self::GpuUtilization),
        ("io_wait", Self::IoWait),
    ];
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
