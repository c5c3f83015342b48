//! Whether what a line of a table says can be: each amount by itself, and together.

use std::fmt;

use serde_json::Value;

use crate::measurement::Measurement;
use crate::units::{Fraction, Percent};

/// Longer than any training run; a larger value is an error that would dominate every sum.
pub(super) const LONGEST_SECONDS: f64 = 100.0 * 365.25 * 86_400.0;

/// A requested share and a share of the bytes differ when one is more than so many times the other.
const MOST_TIMES: f64 = 2.0;

/// The largest rounding error above 100 of a percentage.
const HAIR: f64 = 1e-6;

/// More than any training costs; a larger amount is an error that would dominate every sum.
const MOST_DOLLARS: f64 = 1e8;

/// What is wrong, after the name of the field.
type OddField = (String, String);

/// The impossible value of a run, if there is one.
pub(super) fn odd_value(run: &Measurement) -> Option<OddField> {
    let share = run.fraction.0;
    let is_share = share > 0.0 && share <= 1.0;
    let name = (run.job.is_empty()).then(|| odd("job", "an empty name", "that of a job"));
    let share = (!is_share).then(|| odd("fraction", share, "a number above 0 and at most 1"));
    let level = |(field, level): (&str, Option<f64>)| {
        let level = level.filter(|level| *level <= 0.0)?;
        Some(odd(field, level, "a number above 0"))
    };
    let mut levels = [("work", run.work), ("work_total", run.work_total)].into_iter();
    name.or(share)
        .or_else(|| levels.find_map(level))
        .or_else(|| contradiction(run))
        .or_else(|| odd_amount_of(run))
}

impl Measurement {
    /// Whether its percentages, times and amounts of money can be. A stored report may come from anybody.
    pub fn has_sound_amounts(&self) -> bool {
        odd_amount_of(self).is_none()
    }
}

/// Where a part is more than its whole, or the bytes contradict the share that was requested.
fn contradiction(run: &Measurement) -> Option<OddField> {
    fn above_whole<T: PartialOrd + fmt::Display>(
        field: &str,
        part: Option<T>,
        whole: Option<T>,
    ) -> Option<OddField> {
        let (part, whole) = part.zip(whole).filter(|(part, whole)| part > whole)?;
        let expected = format!("at most {field}_total, which is {whole}");
        Some(odd(field, part, &expected))
    }
    let (bytes, total) = (run.bytes.map(|one| one.0), run.bytes_total.map(|one| one.0));
    above_whole("bytes", bytes, total)
        .or_else(|| above_whole("objects", run.objects, run.objects_total))
        .or_else(|| above_whole("work", run.work, run.work_total))
        .or_else(|| {
            let (share, (bytes, total)) = share_of_bytes(run).zip(bytes.zip(total))?;
            let what = format!(
                "{bytes} of {total} is {share} of the data, but fraction is {}; expected within twice of each other; if few or uneven objects are the reason, give objects_total",
                run.fraction
            );
            Some(("bytes".to_owned(), what))
        })
}

/// The share of the bytes, where it contradicts the share that was requested.
///
/// Whole objects are drawn: one of thirteen is 8 % where 1 % was requested, and one large object may be half of the data. So only
/// a line that counts no objects is contradicted by its bytes.
fn share_of_bytes(run: &Measurement) -> Option<Fraction> {
    let (bytes, total) = run.bytes.zip(run.bytes_total)?;
    if run.objects.is_some() || run.objects_total.is_some() || total.0 == 0 {
        return None;
    }
    let share = bytes.as_f64() / total.as_f64();
    let times = share / run.fraction.0;
    let differs = !(1.0 / MOST_TIMES..=MOST_TIMES).contains(&times);
    differs.then_some(Fraction(share))
}

fn odd_amount_of(run: &Measurement) -> Option<OddField> {
    let value = serde_json::to_value(run).expect("a measurement is made of plain fields");
    odd_amount("", &value)
}

/// The first amount in a field of JSON that cannot be. An infinite number is written as null.
fn odd_amount(field: &str, value: &Value) -> Option<OddField> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let before = if field.is_empty() { "" } else { "." };
            odd_amount(&format!("{field}{before}{name}"), value)
        }),
        Value::Array(values) => (values.iter().enumerate())
            .find_map(|(index, value)| odd_amount(&format!("{field}[{index}]"), value)),
        number => {
            let (most, expected) = most_of(field)?;
            let number = number.as_f64().unwrap_or(f64::INFINITY);
            let is_odd = !(0.0..=most).contains(&number);
            is_odd.then(|| {
                let expected = format!("{expected}; leave out what is missing");
                let number = format!("{number:?}");
                odd(field, number.trim_end_matches(".0"), &expected)
            })
        }
    }
}

/// The most that an amount in a field of this name can be, and what is expected there; `None` where it may be anything.
fn most_of(field: &str) -> Option<(f64, &'static str)> {
    match field.rsplit('.').next()? {
        "percent" | "mean" | "p99" => {
            Some((100.0 + HAIR, "a percentage of the whole instance, 0 to 100"))
        }
        name if name == "cost" || name.ends_with("_usd") || name.ends_with("usd_per_hour") => {
            Some((MOST_DOLLARS, "US dollars from 0 to 100000000"))
        }
        name if name.ends_with("_seconds")
            || name == "memory_seen_from"
            || field.starts_with("phases.") =>
        {
            Some((
                LONGEST_SECONDS,
                "a number of seconds from 0 to a hundred years",
            ))
        }
        _ => None,
    }
}

fn odd(field: &str, found: impl fmt::Display, expected: &str) -> OddField {
    let what = format!("found {found}, expected {expected}");
    (field.to_owned(), what)
}

/// A percentage as it is read, 0 to 100; `None` if it is another number.
pub(super) fn percentage(number: f64) -> Option<Percent> {
    let is_share = (0.0..=100.0 + HAIR).contains(&number);
    is_share.then(|| Percent(number.min(100.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Outcome;
    use crate::units::Bytes;

    #[test]
    fn bytes_and_fraction_are_within_twice_of_each_other_unless_objects_explain_them() {
        for (fraction, bytes, total, objects, share) in [
            (0.01, 10, Some(1000), None, None),
            (0.01, 20, Some(1000), None, None),
            (0.01, 5, Some(1000), None, None),
            (0.01, 21, Some(1000), None, Some(0.021)),
            (0.01, 4, Some(1000), None, Some(0.004)),
            (1.0, 500, Some(1000), None, None),
            (0.01, 500, Some(1000), None, Some(0.5)),
            (0.01, 500, None, None, None),
            // One object of thirteen, and one that is half of the data.
            (0.01, 77, Some(1000), Some(13), None),
            (0.01, 500, Some(1000), Some(13), None),
        ] {
            let run = Measurement {
                bytes: Some(Bytes(bytes)),
                bytes_total: total.map(Bytes),
                objects_total: objects,
                ..Measurement::without_figures(
                    "churn".to_owned(),
                    "local".parse().unwrap(),
                    Fraction(fraction),
                    Outcome::Completed,
                )
            };
            assert_eq!(
                share_of_bytes(&run),
                share.map(Fraction),
                "{fraction} {bytes}"
            );
        }
    }
}
