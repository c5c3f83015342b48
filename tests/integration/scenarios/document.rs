//! Sentences about JSON: `jobs.0.verdict within`, `aws.jobs.*.is_warm [false, true]`, `jobs.0.spend.canary_usd < 1.5`.

use serde_json::Value;

/// What stands at a path of dots: a key, an index, `*` for that of each item, `**` for those of all items in one list, `#` for how many
/// there are, `KEY=VALUE` for the first item that has it and `KEY==VALUE` for all that do. A step with dots stands in
/// brackets. Null where there is nothing.
pub(crate) fn at(value: &Value, path: &str) -> Value {
    let bracketed = path.strip_prefix('[').and_then(|path| path.split_once(']'));
    let (step, rest) = match bracketed {
        Some((step, rest)) => (step, rest.trim_start_matches('.')),
        None => path.split_once('.').unwrap_or((path, "")),
    };
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    let found = match step {
        "" => return value.clone(),
        "*" => return list.iter().map(|item| at(item, rest)).collect(),
        "**" => {
            let lists = list.iter().map(|item| at(item, rest));
            let items = lists.filter_map(|list| list.as_array().cloned());
            return items.flatten().collect();
        }
        "#" => return list.len().into(),
        _ => match (step.split_once('='), step.parse::<usize>()) {
            (Some((key, wanted)), _) => {
                let value = wanted.trim_start_matches('=');
                let mut having = list.iter().filter(|item| text(&item[key]) == value);
                if value != wanted {
                    return at(&having.cloned().collect(), rest);
                }
                having.next()
            }
            (None, Ok(index)) if value.is_array() => list.get(index),
            (None, _) => value.get(step),
        },
    };
    found.map_or(Value::Null, |found| at(found, rest))
}

/// A text as it is, and anything else as JSON.
pub(super) fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether `PATH VALUE` or `PATH VERB VALUE` is so. A value that is another path's begins with `aws.` or `kept.`; a text needs no
/// quotes. The verbs: `~` and `!~` hold a text or do not, `once` holds it once, `ends` at the end, `!=`, `<`, `<=`, `>`, `>=`;
/// `sorted` is in any order; `sums` is what numbers come to; `around` is an interval that has the value, and its point near it.
/// Of what is absent neither `!~` nor `!=` is so, since a misspelled path would pass; `null` says that it is absent.
pub(super) fn is_so(sentence: &str, documents: &Value) -> bool {
    const VERBS: &[&str] = &[
        "~", "!~", "once", "!=", "<", "<=", ">", ">=", "sorted", "sums", "around", "ends",
    ];
    let (path, said) = sentence.split_once(' ').unwrap();
    let value = value_of(documents, path);
    let (verb, other) = match said.split_once(' ') {
        Some((verb, other)) if VERBS.contains(&verb) => (verb, other),
        _ => ("is", said),
    };
    let wanted = match other.starts_with("aws.") || other.starts_with("kept.") {
        true => value_of(documents, other),
        false => serde_json::from_str(other).unwrap_or_else(|_| Value::from(other)),
    };
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let [own, limit] = [&value, &wanted].map(number);
    match verb {
        "~" => text(&value).contains(&text(&wanted)),
        "!~" | "!=" if value.is_null() && !wanted.is_null() => false,
        "!~" => !text(&value).contains(&text(&wanted)),
        "once" => text(&value).matches(&text(&wanted)).count() == 1,
        "!=" => !is_same(&value, &wanted),
        "<" => own < limit,
        "<=" => own <= limit + 1e-6,
        ">" => own > limit,
        ">=" => own >= limit,
        "sorted" => is_same(&sorted(&value), &sorted(&wanted)),
        "ends" => text(&value).trim_end().ends_with(&text(&wanted)),
        "sums" => {
            let numbers = value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64);
            (numbers.sum::<f64>() - limit).abs() < 1e-6
        }
        "around" => {
            let [lower, point, upper] = ["lower", "point", "upper"].map(|end| number(&value[end]));
            lower < limit && limit < upper && (limit * 0.7..limit * 1.4).contains(&point)
        }
        _ => is_same(&value, &wanted),
    }
}

/// What stands at a path; of `PATH+PATH` the sum, in which what is not there is 0.
fn value_of(documents: &Value, path: &str) -> Value {
    let found = path.split('+').map(|path| at(documents, path));
    match path.contains('+') {
        true => found.filter_map(|value| value.as_f64()).sum::<f64>().into(),
        false => at(documents, path),
    }
}

fn sorted(list: &Value) -> Value {
    let mut list = list.as_array().cloned().unwrap_or_default();
    list.sort_by_key(|item| (item.as_u64(), item.to_string()));
    list.into()
}

/// Numbers may differ by a millionth, as sums of money do that were added in another order.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        _ => match one.as_f64().zip(other.as_f64()) {
            Some((one, other)) => (one - other).abs() < 1e-6,
            None => one == other,
        },
    }
}
