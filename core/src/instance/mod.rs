//! What a job trains on: an [`InstanceConfiguration`]; and the [`Offer`] that says what its machines have and cost.
//!
//! Capacities and prices come from tables built into the program ([`tables`]), prices also from AWS ([`price_file`]); every price
//! carries source and date.

mod offer;
pub mod price_file;
pub mod tables;

pub use offer::{CostOfASecond, Member, NoCost, Offer, OfferOf};

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay, skip_serializing_none};

use crate::grammar::joined;
use crate::metric::MemoryOf;
use crate::units::{Bytes, UsdPerHour, is_default};

/// The name of one machine type: `ml.m5.2xlarge`, or `local` for the machine the gate runs on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[derive(derive_more::Display)]
pub struct InstanceType(String);

impl InstanceType {
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    pub fn name(&self) -> &str {
        &self.0
    }

    pub fn is_local(&self) -> bool {
        self.0 == "local"
    }

    /// `m5` of `ml.m5.2xlarge`; empty for `local`.
    pub fn family(&self) -> &str {
        self.0.split('.').nth(1).unwrap_or_default()
    }

    /// Graviton and Grace say so with a `g` behind the generation: `m6g`, `c7gn`, `g5g`, `p6e-gb200`, and not `g5`, `g4dn`.
    pub fn is_arm(&self) -> bool {
        let family = self.family();
        family
            .find(|c: char| c.is_ascii_digit())
            .is_some_and(|digit| family[digit..].contains('g'))
    }
}

/// The text is not a machine type or an instance configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not an instance configuration")]
pub struct InstanceError {
    pub found: String,
    /// A correction, if there is a likely one.
    pub suggestion: Option<String>,
}

impl FromStr for InstanceType {
    type Err = InstanceError;

    /// `local`, or `ml.<family>.<size>` by form; `tables` knows whether AWS lists it.
    fn from_str(text: &str) -> Result<Self, InstanceError> {
        let text = text.trim();
        let parts: Vec<&str> = text.split('.').collect();
        let plain = |part: &&str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        let valid =
            text == "local" || (parts.len() == 3 && parts[0] == "ml" && parts.iter().all(plain));
        if valid {
            return Ok(Self(text.to_owned()));
        }
        let suggestion = match parts.as_slice() {
            [family, size] if plain(family) && plain(size) => Some(format!("ml.{text}")),
            _ => None,
        };
        Err(InstanceError {
            found: text.to_owned(),
            suggestion,
        })
    }
}

/// One group of equal machines in a heterogeneous cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, derive_more::Display)]
#[display("{name}: {count}x {instance_type}")]
pub struct InstanceGroup {
    pub name: String,
    pub instance_type: InstanceType,
    pub count: u32,
}

/// What a training job runs on, written as people say it: `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, or named groups.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub enum InstanceConfiguration {
    /// Machines of this type, and how many: at least 1.
    Homogeneous(InstanceType, u32),
    /// Named groups of different types; every group is billed for the whole job.
    Heterogeneous {
        groups: Vec<InstanceGroup>,
        /// The script that starts all groups, when it differs from the job's own.
        entry_point: Option<String>,
    },
}

impl fmt::Display for InstanceConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Homogeneous(instance_type, 1) => write!(f, "{instance_type}"),
            Self::Homogeneous(instance_type, count) => write!(f, "{count}x {instance_type}"),
            Self::Heterogeneous { groups, .. } => {
                f.write_str(&joined(groups.iter().map(ToString::to_string), " + "))
            }
        }
    }
}

impl Default for InstanceConfiguration {
    /// The machine that the gate runs on.
    fn default() -> Self {
        Self::one(InstanceType::local())
    }
}

impl InstanceConfiguration {
    /// One machine of a type.
    pub fn one(instance_type: InstanceType) -> Self {
        Self::Homogeneous(instance_type, 1)
    }

    /// Type and count of every group of machines.
    pub fn members(&self) -> Vec<(&InstanceType, u32)> {
        match self {
            Self::Homogeneous(instance_type, count) => vec![(instance_type, *count)],
            Self::Heterogeneous { groups, .. } => groups
                .iter()
                .map(|group| (&group.instance_type, group.count))
                .collect(),
        }
    }

    /// How many machines of each type it has, over all groups: what a quota counts.
    pub fn machines_by_type(&self) -> BTreeMap<&InstanceType, u32> {
        let mut machines = BTreeMap::new();
        for (kind, count) in self.members() {
            let sum: &mut u32 = machines.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
        machines
    }

    /// The machines that do what groups do on one type: those of the largest, by GPUs and then by processors. `None` for one type,
    /// and where the size of one is not known.
    pub fn twin(&self) -> Option<Self> {
        let sized = |(kind, count)| {
            let size = tables::capacity(kind).map(|it| (it.gpus, it.vcpus))?;
            Some((size, kind, count))
        };
        let groups: Option<Vec<_>> = self.machines_by_type().into_iter().map(sized).collect();
        let (_, kind, count) = groups?.into_iter().max()?;
        (self.single_type().is_none()).then(|| Self::Homogeneous(kind.clone(), count))
    }

    /// The named groups; none where all machines are of one type.
    pub fn groups(&self) -> &[InstanceGroup] {
        match self {
            Self::Homogeneous { .. } => &[],
            Self::Heterogeneous { groups, .. } => groups,
        }
    }

    /// All machines over all groups.
    pub fn total_count(&self) -> u32 {
        self.members().iter().map(|(_, count)| count).sum()
    }

    pub fn is_local(&self) -> bool {
        self.members().iter().all(|(kind, _)| kind.is_local())
    }

    /// Whether both are the same machines, whichever script starts them.
    pub fn is_same_machines(&self, other: &Self) -> bool {
        self == other || !self.groups().is_empty() && self.groups() == other.groups()
    }

    /// The script that starts all groups, when it differs from the job's own.
    pub fn entry_point(&self) -> Option<&str> {
        match self {
            Self::Homogeneous { .. } => None,
            Self::Heterogeneous { entry_point, .. } => entry_point.as_deref(),
        }
    }

    /// The type, if all machines have the same.
    pub fn single_type(&self) -> Option<&InstanceType> {
        match self {
            Self::Homogeneous(instance_type, _) => Some(instance_type),
            Self::Heterogeneous { .. } => None,
        }
    }
}

impl FromStr for InstanceConfiguration {
    type Err = InstanceError;

    /// `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, or the printed form of groups, `data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge`.
    fn from_str(text: &str) -> Result<Self, InstanceError> {
        let text = text.trim();
        let fail = || InstanceError {
            found: text.to_owned(),
            suggestion: None,
        };
        if text.contains(':') {
            let groups = text
                .split(" + ")
                .map(|part| {
                    let (name, machines) = part.split_once(": ").ok_or_else(fail)?;
                    match machines.parse()? {
                        Self::Homogeneous(instance_type, count) => Ok(InstanceGroup {
                            name: name.to_owned(),
                            instance_type,
                            count,
                        }),
                        Self::Heterogeneous { .. } => Err(fail()),
                    }
                })
                .collect::<Result<_, _>>()?;
            return Ok(Self::Heterogeneous {
                groups,
                entry_point: None,
            });
        }
        let Some((count, kind)) = text.split_once(char::is_whitespace) else {
            return Ok(Self::one(text.parse()?));
        };
        let instance_type: InstanceType = kind.parse()?;
        match count.strip_suffix('x').and_then(|n| n.parse::<u32>().ok()) {
            Some(count) if count > 0 => Ok(Self::Homogeneous(instance_type, count)),
            _ => Err(fail()),
        }
    }
}

impl JsonSchema for InstanceConfiguration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InstanceConfiguration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An instance configuration, as written in a spec.",
            "examples": ["ml.m5.2xlarge", "6x ml.m5.4xlarge", "local", "2x local"],
        })
    }
}

/// What one machine has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    pub vcpus: u32,
    pub memory: Bytes,
    /// 0 where there is none.
    pub gpus: u32,
    /// Of each GPU; absent where there is none, and where they differ.
    pub gpu_memory: Option<Bytes>,
}

impl Capacity {
    /// Of one machine, or of one of its GPUs; `None` where there is none.
    pub fn memory_of(&self, of: MemoryOf) -> Option<Bytes> {
        let of_machine = Some(self.memory).filter(|memory| memory.0 > 0);
        of.pick(of_machine, self.gpu_memory)
    }
}

/// How a price is known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PriceEvidence {
    /// Written in the spec.
    Spec,
    /// AWS's own price list or an answer of its price API.
    PriceList,
    AuthorQueried,
    BillLine,
    OtherComponent,
    LibraryTable,
    /// Derived from another product's price; widens a cost by 15 % and is marked `~`.
    Estimate,
}

/// How the machines of a price are bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriceKind {
    #[default]
    OnDemand,
    Spot,
    /// The job runs on spot capacity, whose price is not known.
    OnDemandForSpot,
}

/// The price of one machine for one hour.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    pub usd_per_hour: UsdPerHour,
    /// Omitted of a job that runs on demand.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: PriceKind,
    /// What the machine of a spot price costs on demand; absent where that is not known, and of other kinds.
    pub on_demand_usd_per_hour: Option<UsdPerHour>,
    /// Where the figure comes from, for a reader.
    pub source: String,
    /// The day or year it was true, e.g. `2026-11-02`; absent for a price from the spec.
    pub as_of: Option<String>,
    pub evidence: PriceEvidence,
}

impl Price {
    /// A price written in the spec.
    pub fn from_spec(usd_per_hour: UsdPerHour) -> Self {
        Self::on_demand(usd_per_hour, "spec", PriceEvidence::Spec)
    }

    /// Of a machine that runs on demand, without a date.
    pub fn on_demand(
        usd_per_hour: UsdPerHour,
        source: impl Into<String>,
        evidence: PriceEvidence,
    ) -> Self {
        Self {
            usd_per_hour,
            kind: PriceKind::OnDemand,
            on_demand_usd_per_hour: None,
            source: source.into(),
            as_of: None,
            evidence,
        }
    }

    pub fn is_estimate(&self) -> bool {
        self.evidence == PriceEvidence::Estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_read_and_print_as_people_say_them() {
        for text in [
            "local",
            "2x local",
            "ml.m5.2xlarge",
            "6x ml.m5.4xlarge",
            "data: 1x ml.c5.9xlarge + dnn: 2x ml.p3.2xlarge",
        ] {
            let parsed: InstanceConfiguration = text.parse().unwrap();
            let again: InstanceConfiguration = parsed.to_string().parse().unwrap();
            assert_eq!(parsed, again, "{text}");
        }
        assert_eq!(
            "1x ml.m5.large"
                .parse::<InstanceConfiguration>()
                .unwrap()
                .to_string(),
            "ml.m5.large"
        );
    }

    #[test]
    fn a_near_miss_gets_the_right_spelling() {
        let error = "m5.xlarge".parse::<InstanceConfiguration>().unwrap_err();
        assert_eq!(error.suggestion.as_deref(), Some("ml.m5.xlarge"));
        for text in ["0x ml.m5.xlarge", "6 x ml.m5.xlarge"] {
            assert!(text.parse::<InstanceConfiguration>().is_err(), "{text}");
        }
    }
}
