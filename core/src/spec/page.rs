//! A commented spec, written from a template.

use regex::{Captures, Regex};

/// Where a person has to fill something in; no data lies there, so nothing is started on it by mistake.
pub const FILL_IN: &str = "FILL-IN";

/// A template with the value of each name in `<>` in its place. What is filled in is not looked at again.
pub fn filled(template: &str, values: &[(&str, String)]) -> String {
    let places = Regex::new("<([a-z]+)>").expect("the pattern is a constant");
    let value = |place: &Captures<'_>| {
        let found = values.iter().find(|(name, _)| *name == &place[1]);
        found.map_or_else(|| place[0].to_owned(), |(_, value)| value.clone())
    };
    places.replace_all(template, value).into_owned()
}
