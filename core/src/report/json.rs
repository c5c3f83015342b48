//! The report as JSON, and back: what other programs read, what `report --from` renders again.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

use super::redact::redact;
use super::{Report, SCHEMA_VERSION};
use crate::measurement::Measurement;
use crate::measurement::table::plain_words;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::secret::unseen::visible_json;

/// The report, indented, with a newline at its end. Absent is an omitted key: there is no `null`. An estimate or a
/// law with a number that JSON cannot hold is no estimate, and is left out.
pub fn to_json(report: &Report) -> String {
    let mut value =
        serde_json::to_value(report).expect("a report holds only text, numbers and lists of them");
    redact_texts(&mut value);
    published(value)
}

/// The value as this program prints JSON: indented, with a newline at its end, and without a `null`.
pub fn published(mut value: Value) -> String {
    omit_nulls(&mut value);
    visible_json(&format!("{value:#}\n"))
}

/// What a text stands for, and not what somebody wrote: a shorter one would be another's.
const NAMES: [&str; 9] = [
    "name",
    "job",
    "run",
    "run_url",
    "training_job",
    "commit",
    "sha",
    "spec_hash",
    "generated_at",
];

/// Account ids and secrets stand in no text, as in a comment: a report is uploaded where many can read it.
fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(items) => items.iter_mut().for_each(redact_texts),
        Value::Object(fields) => {
            let texts = fields.iter_mut();
            let texts = texts.filter(|(key, _)| !NAMES.contains(&key.as_str()));
            texts.for_each(|(_, field)| redact_texts(field));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A number that is not finite arrives here as `null`; nothing else does, since absent keys are not written.
pub fn omit_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(omit_nulls);
            fields.retain(|_, field| !field.is_null() && !is_incomplete(field));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(omit_nulls);
            items.retain(|item| !is_incomplete(item));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An object that has the first key must have the second: else its numbers were lost, and it is left out. By lines: estimates (all
/// three keys), laws (both), causes, checks, shifts, baselines, and measurements taken over.
const NEEDED: [(&str, &str); 10] = [
    ("point", "lower"),
    ("lower", "upper"),
    ("upper", "point"),
    ("intercept", "slope"),
    ("slope", "intercept"),
    ("cause", "seconds"),
    ("at", "level_percent"),
    ("since", "percent"),
    ("is_same_code", "age_days"),
    ("saved_usd", "age_days"),
];

/// Whether a value lost a number that it says nothing without.
fn is_incomplete(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| {
        let has = |key| fields.contains_key(key);
        // A job's spend has `saved_usd` too, and no age.
        let is_spend = has("canary_seconds");
        !is_spend && (NEEDED.iter()).any(|(key, needed)| has(*key) && !has(*needed))
    })
}

/// Reads a report. Keys that this version does not know are passed over: the form only grows.
///
/// # Errors
///
/// A text is not a report that this program can read. Lines and columns count from 1; a column is 0 where a value as a whole is wrong.
pub fn from_json(text: &str) -> OutsideResult<Report> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema_version: u64,
    }
    let malformed = |error: serde_json::Error| {
        let (problem, line, column) = (plain_words(&error), error.line(), error.column());
        OutsideError::of(format!("not a report: {problem} (line {line}, column {column})"))
            .help("give a file that `canary-gate run --output report.json` wrote; `canary-gate schema report` prints its form")
    };
    // The version first: a newer form may differ anywhere else.
    let Versioned { schema_version } = serde_json::from_str(text).map_err(malformed)?;
    if schema_version > u64::from(SCHEMA_VERSION) {
        return Err(OutsideError::of(format!(
            "the report has schema version {schema_version}; this program reads up to {SCHEMA_VERSION}"
        ))
        .help("it was written by a newer canary-gate: render it with that version, or make it again with this one"));
    }
    serde_json::from_str(text).map_err(malformed)
}

/// JSON Schema of a report.
pub fn report_schema() -> Value {
    schema_of::<Report>("canary-gate report, version 1")
}

/// JSON Schema of a measurement, one line of a measurements file.
pub fn measurement_schema() -> Value {
    schema_of::<Measurement>("canary-gate measurement, version 1")
}

fn schema_of<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    RecursiveTransform(forbid_null).transform(&mut schema);
    schema.to_value()
}

/// Schemars writes an optional field as `T or null`. An absent value is an omitted key here, never null.
fn forbid_null(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = fields.get_mut("anyOf") {
        options.retain(|option| option.get("type") != Some(&Value::from("null")));
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            fields.extend(only);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::metric::Metric;

    #[test]
    fn every_sample_is_written_as_it_is_stored_but_for_account_ids() {
        for (name, stored) in samples::STORED {
            let expected = stored.replace("arn:aws:sts::123456789012", "arn:…");
            let report = from_json(stored).unwrap();
            assert!(
                to_json(&report) == expected,
                "{name}:\n{}",
                to_json(&report)
            );
            assert!(!stored.contains(": null"), "{name}");
        }
    }

    #[test]
    fn what_turns_text_around_is_written_by_its_number() {
        let mut report = samples::of("within");
        report.jobs[0].notes = vec!["a\u{202e}b\u{e0041}".to_owned()];
        let text = to_json(&report);
        assert!(text.contains(r"a\u202eb\udb40\udc41"), "{text}");
        assert_eq!(from_json(&text).unwrap(), report);
    }

    #[test]
    fn texts_have_no_account_id_and_no_secret_and_names_stay() {
        let mut report = samples::of("within");
        report.run_url = Some("https://github.com/o/r/actions/runs/123456789012".to_owned());
        report.jobs[0].name = "train-123456789012".to_owned();
        report.jobs[0].notes =
            vec!["role arn:aws:iam::123456789012:role/T, AKIAIOSFODNN7EXAMPLE".to_owned()];
        let again = from_json(&to_json(&report)).unwrap();
        assert_eq!(again.run_url, report.run_url);
        assert_eq!(again.jobs[0].name, "train-123456789012");
        assert_eq!(again.jobs[0].notes, ["role arn:…:role/T, ***"]);
    }

    #[test]
    fn an_estimate_that_json_cannot_hold_is_left_out() {
        let mut report = samples::of("within");
        let estimates = &mut report.jobs[0].forecasts[0].estimates;
        estimates[Metric::Time].as_mut().unwrap().upper = f64::INFINITY;
        estimates[Metric::Cost].as_mut().unwrap().lower = f64::NAN;
        let again = from_json(&to_json(&report)).unwrap();
        let estimates = &again.jobs[0].forecasts[0].estimates;
        assert_eq!(estimates[Metric::Time], None);
        assert_eq!(estimates[Metric::Cost], None);
        assert!(estimates[Metric::Memory].is_some());
    }

    #[test]
    fn a_drift_without_one_of_its_numbers_is_read_again_without_what_needs_it() {
        let mut report = samples::of("drifted");
        let job = &mut report.jobs[0];
        job.baseline = samples::of("increased").jobs.remove(0).baseline;
        job.baseline.as_mut().unwrap().age_days = f64::NAN;
        let drift = job.drift.as_mut().unwrap();
        drift.checks[1].level_percent = f64::INFINITY;
        drift.causes[0].seconds = f64::NAN;
        drift.causes[1].usd = Some(f64::NAN);
        drift.shift.as_mut().unwrap().percent.upper = f64::INFINITY;
        drift.change.cost_usd.as_mut().unwrap().lower = f64::NAN;
        let again = from_json(&to_json(&report)).unwrap();
        let job = &again.jobs[0];
        assert_eq!(job.baseline, None);
        assert_eq!(job.spend, report.jobs[0].spend);
        let drift = job.drift.as_ref().unwrap();
        assert_eq!((drift.checks.len(), drift.causes.len()), (6, 2));
        assert_eq!(drift.causes[0].usd, None);
        assert_eq!((drift.shift, drift.change.cost_usd), (None, None));
        assert!(drift.change.time_seconds.is_some());
    }

    #[test]
    fn a_newer_report_is_refused_politely() {
        let error = from_json(r#"{"schema_version": 2, "verdict": {"new": "form"}}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the report has schema version 2; this program reads up to 1"
        );
        assert!(error.help.contains("newer canary-gate"));
    }

    #[test]
    fn an_unknown_key_is_passed_over() {
        let text = to_json(&samples::of("within")).replacen('{', "{\"from_the_future\": [1],", 1);
        assert_eq!(from_json(&text).unwrap(), samples::of("within"));
    }

    #[test]
    fn what_is_not_a_report_says_where() {
        for (text, problem, line, column) in [
            ("", "EOF while parsing a value", 1, 0),
            (
                "{\n  \"schema_version\": 1\n}",
                "missing field `tool_version`",
                3,
                1,
            ),
            (
                "\"x\"",
                "invalid type: string \"x\", expected an object",
                1,
                3,
            ),
            ("{\"a\": 1,\n}", "trailing comma", 2, 1),
        ] {
            let found = from_json(text).unwrap_err().to_string();
            let place = format!("(line {line}, column {column})");
            assert_eq!(found, format!("not a report: {problem} {place}"));
        }
    }

    fn assert_committed(schema: &Value, committed: &str, name: &str) {
        let text = format!("{schema:#}\n");
        assert!(
            text == committed,
            "schema/{name} differs from the types; it should be:\n{text}"
        );
    }

    #[test]
    fn the_committed_schemas_are_those_of_the_types() {
        let report = include_str!("../../../schema/report.v1.json");
        assert_committed(&report_schema(), report, "report.v1.json");
        let measurement = include_str!("../../../schema/measurement.v1.json");
        assert_committed(&measurement_schema(), measurement, "measurement.v1.json");
    }
}
