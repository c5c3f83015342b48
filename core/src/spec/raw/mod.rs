//! The spec as it is written: one type for each mapping of the file, from which the JSON Schema is made as well.
//!
//! Every field is an `Option`, the required ones too. A field that is missing or of the wrong kind is `None`, and its problem
//! is recorded; so reading goes on and reports all problems at once.

mod budget;
mod channel;
mod editor;
mod job;
mod launcher;
mod reader;
mod scalar;
mod warm_pool;

pub use budget::DriftPolicy;
pub(super) use budget::{MetricLine, RawBudget, RawDrift, RawLine, RawOverride, Sided};
pub(super) use channel::RawChannel;
pub(super) use job::{
    Alternative, Canary, DesignKind, Groups, Instance, MachineRange, Machines, Probe, RawJob,
    RawShare, RawWork,
};
pub(super) use launcher::{KeyedLauncher, RawLauncher};
pub(super) use reader::{
    Either, Entries, FromNode, List, Map, MapEntry, MapWithSpot, MappingKeys, Need, Plain,
    described, description, has_items, mapping, need,
};
pub use scalar::Words;
pub(super) use scalar::{
    AnyQuantity, AnyText, Choice, Count, Formed, Quantity, Text, forms, inline_schema,
};
pub(super) use warm_pool::RawWarmPool;

use schemars::generate::SchemaSettings;

use super::read::ProjectPath;
use super::{BackendKind, OnInconclusive};
use crate::units::UsdPerHour;
use scalar::FormatVersion;

mapping! {
    /// A canary-gate spec: which training jobs exist, what they may cost, and how their canaries run.
    pub(in crate::spec) struct RawSpec {
        /// The version of this format: 1.
        required version: FormatVersion,
        /// The backend: where canaries run.
        required backend: Choice<BackendKind>,
        /// The AWS region. Default: AWS_REGION, else us-east-1 for prices.
        optional region: Text,
        /// The directory or `s3://bucket/prefix/` in which records are kept. Default: `.canary-gate/`.
        optional history: Text,
        /// Prices of one machine for an hour, by instance type, for instance `local: 1.20 USD/h`, in place of the built-in ones.
        /// The full run of a job with `training.spot` is judged by those below `spot`, such as `spot: {ml.m5.xlarge: 0.08 USD/h}`,
        /// else at the price on demand.
        optional prices: MapWithSpot<Quantity<UsdPerHour>>,
        /// Patterns of the allowed instance types, for instance `ml.m5.*`. Every type must match one. Default: all are allowed.
        optional allowed_instances: List<Text>,
        /// Whether a job that is at risk of exceeding its budget fails the check. Default: false.
        optional strict: bool,
        /// Whether an unknown outcome fails the check. Default: fail.
        optional on_inconclusive: Choice<OnInconclusive>,
        /// The file of recorded runs that `backend: replay` takes for canary runs: a table (.csv) or JSON lines, as `canary-gate
        /// run --measurements FILE` writes them; a path relative to the spec's folder.
        optional recording: Formed<ProjectPath>,
        /// The training jobs, by name. A name has 1 to 63 letters, digits and inner hyphens; with `backend: replay` it is the
        /// recording's, and may have underscores.
        required jobs: Map<RawJob>,
        /// Known overruns that are agreed to, each with a ceiling, a reason and an expiry date.
        optional overrides: List<RawOverride>,
    }
}

/// The JSON Schema of a spec, draft 2020-12: what an editor needs to complete and check one. What a schema cannot say
/// (an override must name a job) is left to [`super::read()`].
pub(super) fn json_schema() -> serde_json::Value {
    let mut made = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<RawSpec>();
    // A reader of the file wants to know first what it is.
    let mut schema = serde_json::Map::new();
    schema.extend(
        made.remove("$schema")
            .map(|draft| ("$schema".to_owned(), draft)),
    );
    schema.insert("title".to_owned(), "canary-gate spec, version 1".into());
    if let Some(rest) = made.as_object() {
        let rest = rest.iter().filter(|(key, _)| *key != "title");
        schema.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
    }
    editor::describe_keys(&mut schema);
    schema.into()
}
