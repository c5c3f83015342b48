//! The **settings** of a job that can change what its training takes, kept with a record so that a later one can say which of them
//! changed. Of environment variables only the names are kept, and no value of a hyperparameter whose name speaks of a secret.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Job;
use super::field::{Field, fields_of};
use super::reader::cut;

/// The most characters of a value; a longer one is cut.
const VALUE_LIMIT: usize = 200;

/// A job's settings: their values as text by their field in the spec, such as `training.hyperparameters.epochs`.
///
/// The instance, the data and the level of work are not among them: a forecast and its measurements have these.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrainingSettings(BTreeMap<String, String>);

/// A setting whose value differs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedSetting {
    /// The field in the spec, below the job: `training.hyperparameters.epochs`.
    pub field: String,
    /// The value before; absent if it was not written.
    pub before: Option<String>,
    /// The value now; absent if it is not written any more.
    pub now: Option<String>,
}

impl TrainingSettings {
    pub fn of(job: &Job) -> Self {
        let is_setting = |field: &Field| field.rule.is_setting && field.value.is_some();
        let settings = fields_of(job).into_iter().filter(is_setting);
        let written = settings.filter(|field| !field.words.is_empty());
        let kept = written.map(|field| (field.path, cut(&field.words, VALUE_LIMIT)));
        Self(kept.collect())
    }

    /// What differs, in the order of the fields.
    pub fn changes_to(&self, now: &Self) -> Vec<ChangedSetting> {
        let fields: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let both = fields.into_iter().map(|field| ChangedSetting {
            field: field.clone(),
            before: self.0.get(field).cloned(),
            now: now.0.get(field).cloned(),
        });
        both.filter(|it| it.before != it.now).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec;

    fn settings(training: &str) -> TrainingSettings {
        let text = format!(
            "version: 1
backend: local
jobs:
  churn:
    instance: local
    training: {{command: [python, train.py], channels: {{train: {{uri: data}}}}{training}}}
"
        );
        TrainingSettings::of(
            &spec::read("canary-gate.yml", text.as_bytes(), &[])
                .unwrap()
                .jobs[0],
        )
    }

    fn changed(field: &str, before: Option<&str>, now: Option<&str>) -> ChangedSetting {
        ChangedSetting {
            field: field.to_owned(),
            before: before.map(str::to_owned),
            now: now.map(str::to_owned),
        }
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let before = settings(", hyperparameters: {epochs: 10, rate: 0.1}");
        let now = settings(", hyperparameters: {epochs: 20, depth: 6}");
        assert_eq!(
            before.changes_to(&now),
            [
                changed("training.hyperparameters.depth", None, Some("6")),
                changed("training.hyperparameters.epochs", Some("10"), Some("20")),
                changed("training.hyperparameters.rate", Some("0.1"), None),
            ]
        );
        assert_eq!(before.changes_to(&before), []);
    }

    #[test]
    fn values_of_the_environment_and_of_secrets_are_not_kept() {
        let kept = settings(
            ", environment: {WANDB: hidden-value}, hyperparameters: {hf-token: hidden-value, epochs: 3}",
        );
        let text = serde_json::to_string(&kept).unwrap();
        assert!(!text.contains("hidden-value"), "{text}");
        assert!(text.contains("WANDB") && text.contains("***"), "{text}");
        assert_eq!(
            serde_json::from_str::<TrainingSettings>(&text).unwrap(),
            kept
        );
    }
}
