//! The defaults that the schema names, held against what the reader does.
//!
//! A default stands at the end of a key's description: `Default: 3.`, or for each case where it differs,
//! `Default: 3; locally: 1.` The key written with that value must read as the key left out.

use serde_json::Value;

use super::*;

/// What the rest of a spec has to say for a default to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HoldsFor {
    Always,
    Locally,
    FixedDesign,
}

/// A key, its default in words, and whether the spec without the key reads so.
type InWords = (&'static str, &'static str, fn(&Spec) -> bool);

/// Defaults that no value of the key says.
const IN_WORDS: [InWords; 7] = [
    // Which directory and which region, the program finds out when it has a checkout and an environment.
    (
        "Spec.region",
        "AWS_REGION, else us-east-1 for prices",
        |spec| spec.region.is_none(),
    ),
    ("Spec.history", "`.canary-gate/`", |spec| {
        spec.history.is_none()
    }),
    ("Spec.allowed_instances", "all are allowed", |spec| {
        spec.allowed_instances.is_empty()
    }),
    ("Job.paths", "every file", |spec| {
        spec.jobs[0].paths == ["**"]
    }),
    ("Training.max_runtime", "never", |spec| {
        spec.jobs[0].training.max_runtime.is_none()
    }),
    (
        "Canary.counts",
        "one and all machines on SageMaker, all machines elsewhere",
        |spec| match spec.backend {
            BackendKind::Sagemaker => spec.jobs[0].canary.counts == CanaryCounts::OneAndAll,
            _ => spec.jobs[0].canary.counts == CanaryCounts::AsTheFullRun,
        },
    ),
    ("Channel.groups", "all", |spec| {
        spec.jobs[0].training.channels[0].groups.is_empty()
    }),
];

/// A valid spec with every mapping that has defaults, and `more` at the start of one of them.
fn spec_with(case: HoldsFor, mapping: &str, more: &str) -> Spec {
    let in_mapping = |name: &str| if name == mapping { more } else { "" };
    let (backend, training, instance) = match case {
        HoldsFor::Locally => ("local", "command: [sh, train.sh]", "local"),
        HoldsFor::Always | HoldsFor::FixedDesign => (
            "sagemaker",
            "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/xgboost:1, \
             role: 'arn:aws:iam::123456789012:role/Training', output: 's3://bucket/output/'",
            "ml.m5.xlarge",
        ),
    };
    let uri = if case == HoldsFor::Locally {
        "data"
    } else {
        "s3://bucket/train/"
    };
    let design = if case == HoldsFor::FixedDesign {
        "design: fixed"
    } else {
        ""
    };
    let prices = if case == HoldsFor::Locally {
        "prices: {local: 1 USD/h}, "
    } else {
        ""
    };
    spec(&format!(
        "{{{top}version: 1, backend: {backend}, {prices}jobs: {{churn: {{{job}training: {{{own}{training},
        channels: {{train: {{{channel}uri: '{uri}'}}}}, metrics: {{step: 'step ([0-9.]+)'}}, step_metric: step}},
        instance: {instance}, canary: {{{canary}{design}}}, drift: {{{drift}}}, budget: {{{budget}
        cost: {{{cost}max: 50 USD}}, time: {{{time}max: 8h}}, memory: {{{share}max: 90%}},
        cost_increase: {{{cost_increase}max: 20%}}, time_increase: {{{time_increase}max: 20%}},
        cpu_utilization: {{{utilization}min: 20%}}}}}}}}}}
",
        top = in_mapping("Spec"),
        job = in_mapping("Job"),
        own = in_mapping("Training"),
        channel = in_mapping("Channel"),
        canary = in_mapping("Canary"),
        drift = in_mapping("Drift"),
        budget = in_mapping("Budget"),
        cost = in_mapping("CostLine"),
        time = in_mapping("TimeLine"),
        share = in_mapping("ShareLine"),
        cost_increase = in_mapping("CostIncreaseLine"),
        time_increase = in_mapping("TimeIncreaseLine"),
        utilization = in_mapping("UtilizationLine"),
    ))
}

/// Each default of the schema as mapping, key, case and value.
fn defaults() -> Vec<(String, String, HoldsFor, String)> {
    let schema = json_schema();
    let mut mappings: Vec<(&str, &Value)> = vec![("Spec", &schema)];
    let definitions = schema["$defs"].as_object().unwrap();
    mappings.extend(
        definitions
            .iter()
            .map(|(name, value)| (name.as_str(), value)),
    );
    let mut found = Vec::new();
    for (mapping, definition) in mappings {
        for (key, property) in definition["properties"].as_object().unwrap() {
            let description = property["description"].as_str().unwrap();
            let Some((_, default)) = description.split_once("Default: ") else {
                assert!(
                    !description.contains("efault"),
                    "{mapping}.{key}: {description}"
                );
                continue;
            };
            for part in default.trim_end_matches('.').split("; ") {
                let (case, value) = match part.split_once(": ") {
                    Some(("locally", value)) => (HoldsFor::Locally, value),
                    Some(("fixed", value)) => (HoldsFor::FixedDesign, value),
                    _ => (HoldsFor::Always, part),
                };
                found.push((mapping.to_owned(), key.clone(), case, value.to_owned()));
            }
        }
    }
    found
}

#[test]
fn every_default_of_the_schema_is_what_the_reader_does() {
    let defaults = defaults();
    assert!(defaults.len() > 25, "{defaults:#?}");
    for (mapping, key, case, value) in &defaults {
        let left_out = spec_with(*case, mapping, "");
        let field = format!("{mapping}.{key}");
        if let Some((_, _, holds)) = IN_WORDS
            .iter()
            .find(|(name, words, _)| *name == field && words == value)
        {
            assert!(holds(&left_out), "{field}: {value}");
            continue;
        }
        let is_list = json_schema()["$defs"][mapping]["properties"][key]["type"] == "array";
        let value = if is_list {
            format!("[{value}]")
        } else {
            value.clone()
        };
        let written = spec_with(*case, mapping, &format!("{key}: {value}, "));
        let [written, left_out] = [written, left_out].map(|spec| Spec {
            file: SpecFile::default(),
            ..meaning(spec)
        });
        assert_eq!(written, left_out, "{field}: {value} ({case:?})");
    }
    for (field, words, _) in IN_WORDS {
        let is_there = |(mapping, key, _, value): &(String, String, HoldsFor, String)| {
            format!("{mapping}.{key}") == field && value == words
        };
        assert!(
            defaults.iter().any(is_there),
            "the schema does not say of {field}: {words}"
        );
    }
}
