//! Changed samples: `cases.yml` beside them says what is changed, and the snapshot in which lines of the page it shows.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::{Report, from_json, markdown, samples, words};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedSample {
    case: String,
    of: String,
    #[serde(default)]
    copy: Vec<[String; 2]>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
}

impl ChangedSample {
    fn report(&self, sample: &str) -> Report {
        let mut report: Value = serde_json::from_str(sample).unwrap();
        for [from, to] in &self.copy {
            let value = report.pointer(&pointer(from)).unwrap().clone();
            put(&mut report, to, value);
        }
        // From the end, so that what is removed moves nothing else.
        for (place, value) in self.set.iter().rev() {
            put(&mut report, place, value.clone());
        }
        from_json(&report.to_string()).unwrap_or_else(|error| panic!("{}: {error}", self.case))
    }
}

fn pointer(place: &str) -> String {
    match place.starts_with('/') {
        true => place.to_owned(),
        false => format!("/jobs/0/{place}"),
    }
}

fn put(report: &mut Value, place: &str, value: Value) {
    let place = pointer(place);
    let (parent, key) = place.rsplit_once('/').unwrap();
    let index = || key.parse::<usize>().unwrap();
    match report.pointer_mut(parent) {
        Some(Value::Object(fields)) if value.is_null() => drop(fields.remove(key)),
        Some(Value::Object(fields)) => drop(fields.insert(key.to_owned(), value)),
        Some(Value::Array(items)) if key == "-" => items.push(value),
        Some(Value::Array(items)) if value.is_null() => drop(items.remove(index())),
        Some(Value::Array(items)) => items[index()] = value,
        _ => panic!("there is no {place}"),
    }
}

/// The lines that only one of the pages has, each with its sign.
fn differences(before: &str, after: &str) -> String {
    let only = |sign: &str, page: &str, other: &str| -> String {
        let known: HashSet<&str> = other.lines().collect();
        let lines = page.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{sign} {line}\n")).collect()
    };
    only("-", before, after) + &only("+", after, before)
}

#[test]
fn what_each_change_of_a_sample_shows() {
    let cases = include_str!("../../../tests/data/reports/cases.yml");
    let cases: Vec<ChangedSample> = serde_saphyr::from_str(cases).unwrap();
    let shown = cases.iter().map(|case| {
        let mut samples = samples::STORED.iter();
        let (_, sample) = samples.find(|(name, _)| *name == case.of).unwrap();
        let page = |report: Report| markdown::render(&report) + &words::closing(&report);
        let before = page(from_json(sample).unwrap());
        let after = page(case.report(sample));
        format!(
            "## {}: {}\n{}",
            case.of,
            case.case,
            differences(&before, &after)
        )
    });
    insta::assert_snapshot!("cases", shown.collect::<Vec<_>>().join("\n"));
}
