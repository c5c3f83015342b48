//! The estimates of a report as its JSON has them: an object with the keys of the metrics, without those that are not known.

use std::borrow::Cow;
use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use crate::forecast::Estimate;
use crate::metric::{Metric, PerMetric};

/// Each quantity of the full run with its interval; `None` where it is not known.
pub type Estimates = PerMetric<Option<Estimate>>;

pub(super) fn serialize<S: Serializer>(estimates: &Estimates, to: S) -> Result<S::Ok, S::Error> {
    let known = |metric: Metric| Some((metric.key(), estimates[metric].as_ref()?));
    to.collect_map(Metric::ALL.into_iter().filter_map(known))
}

/// Passes over keys that this version does not know.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Estimates, D::Error> {
    let mut read = HashMap::<String, serde_json::Value>::deserialize(deserializer)?;
    let mut estimates = Estimates::default();
    for metric in Metric::ALL {
        if let Some(value) = read.remove(metric.key()) {
            estimates[metric] = serde_json::from_value(value).map_err(D::Error::custom)?;
        }
    }
    Ok(estimates)
}

/// Stands for [`Estimates`] where the JSON schema is made: the alias cannot have a schema of its own.
pub(super) struct WrittenEstimates;

impl JsonSchema for WrittenEstimates {
    fn schema_name() -> Cow<'static, str> {
        "Estimates".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let estimate = generator.subschema_for::<Estimate>();
        let properties: serde_json::Map<String, serde_json::Value> = Metric::ALL
            .into_iter()
            .map(|metric| (metric.key().to_owned(), estimate.clone().to_value()))
            .collect();
        json_schema!({
            "type": "object",
            "properties": properties,
            "description": "Each quantity of the full run with its interval.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_omitted_and_what_this_version_does_not_know_is_passed_over() {
        let estimate = Estimate {
            point: 63.0,
            lower: 56.0,
            upper: 72.0,
            level: 0.9,
        };
        let mut estimates = Estimates::default();
        estimates[Metric::Cost] = Some(estimate);
        let mut json = serialize(&estimates, serde_json::value::Serializer).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["cost_usd"]);
        json["of_tomorrow"] = 5.into();
        json["time_seconds"] = serde_json::Value::Null;
        assert_eq!(deserialize(json).unwrap(), estimates);
    }
}
