//! What a report knows of each metric of the full run.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::forecast::Estimate;
use crate::metric::{Metric, PerMetric};

/// Each quantity of the full run with its interval; `None` where it is not known.
///
/// In JSON an object with the keys of the metrics, without those that are not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimates(PerMetric<Option<Estimate>>);

impl Estimates {
    pub fn of(estimate: impl FnMut(Metric) -> Option<Estimate>) -> Self {
        Self(PerMetric::of(estimate))
    }
}

impl Index<Metric> for Estimates {
    type Output = Option<Estimate>;

    fn index(&self, metric: Metric) -> &Option<Estimate> {
        &self.0[metric]
    }
}

impl IndexMut<Metric> for Estimates {
    fn index_mut(&mut self, metric: Metric) -> &mut Option<Estimate> {
        &mut self.0[metric]
    }
}

impl Serialize for Estimates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = self.0.iter().filter_map(|(metric, estimate)| {
            let estimate = estimate.as_ref()?;
            Some((metric.key(), estimate))
        });
        serializer.collect_map(known)
    }
}

/// Passes over keys that this version does not know.
impl<'de> Deserialize<'de> for Estimates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut read = HashMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut estimates = Self::default();
        for metric in Metric::ALL {
            if let Some(value) = read.remove(metric.key()) {
                estimates[metric] = serde_json::from_value(value).map_err(D::Error::custom)?;
            }
        }
        Ok(estimates)
    }
}

impl JsonSchema for Estimates {
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
        let mut json = serde_json::to_value(&estimates).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["cost_usd"]);
        json["of_tomorrow"] = 5.into();
        json["time_seconds"] = serde_json::Value::Null;
        let read: Estimates = serde_json::from_value(json).unwrap();
        assert_eq!(read, estimates);
    }
}
