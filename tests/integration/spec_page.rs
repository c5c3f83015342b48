//! `docs/spec.md` is the spec's schema as lists. `INSTA_UPDATE=always` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

const SCHEMA: &str = include_str!("../../schema/spec.v1.json");

const HEAD: &str = "\
# The spec, key by key

What each key means, what it takes, and what holds where it is not written. [The README](../README.md#use-it-on-your-job) and
[sagemaker.md](sagemaker.md#a-spec) have whole specs to start from, [budgets.md](budgets.md) explains the budget. An editor shows the same texts: write the schema
to a file, `canary-gate schema spec > spec.v1.json`, and `# yaml-language-server: $schema=spec.v1.json` as the spec's first line.

Units are part of a value: `90%`, `5 USD`, `1h 30m`, `1.20 USD/h`. *A value* is text, a number, `true` or `false`. An unknown key is an error, and so is a bare
number where a unit is due. Where no default is named, the key has no effect until it is written.
";

/// The keys of an object and of those below it, in their order.
struct Page {
    schema: Value,
    text: String,
    /// The place of each definition, where it has its list.
    places: BTreeMap<String, String>,
}

impl Page {
    fn of(schema: Value) -> String {
        let mut page = Self {
            text: HEAD.to_owned(),
            places: BTreeMap::new(),
            schema,
        };
        let root = page.schema.clone();
        page.table("At the top", &root, "");
        page.text
    }

    fn table(&mut self, heading: &str, object: &Value, path: &str) {
        let required: Vec<&str> = (object["required"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        writeln!(self.text, "\n## {heading}\n").unwrap();
        let mut below = Vec::new();
        for (key, value) in object["properties"].as_object().unwrap() {
            let must = match required.contains(&key.as_str()) {
                true => " (required)",
                false => "",
            };
            let takes = takes(value, &mut |definition: &str, is_named: bool| {
                let names = if is_named { ".NAME" } else { "" };
                let own = format!("{path}.{key}{names}");
                let own = own.trim_start_matches('.');
                let place = self.places.entry(definition.to_owned()).or_insert_with(|| {
                    below.push((definition.to_owned(), own.to_owned()));
                    own.to_owned()
                });
                // As GitHub names a heading.
                format!("[keys](#{})", place.replace('.', "").to_lowercase())
            });
            let meaning = value["description"].as_str().unwrap_or_default();
            writeln!(self.text, "- `{key}`{must}: {takes}. {meaning}").unwrap();
        }
        for (definition, path) in below {
            let object = self.schema["$defs"][definition].clone();
            self.table(&format!("`{path}`"), &object, &path);
        }
    }
}

/// What a key takes, in words and examples. `keys` has the words for a definition, which stands under names or not.
fn takes(value: &Value, keys: &mut dyn FnMut(&str, bool) -> String) -> String {
    let listed = |words: Vec<String>| words.join(", ");
    if let Some(name) = value["$ref"].as_str() {
        return keys(name.trim_start_matches("#/$defs/"), false);
    }
    if let Some(constant) = value.get("const") {
        return format!("`{constant}`");
    }
    if let Some(choices) = value["enum"].as_array() {
        let choices = choices.iter().map(|choice| match choice.as_str() {
            Some(text) => format!("`{text}`"),
            None => format!("`{choice}`"),
        });
        return listed(choices.collect());
    }
    if let Some(ways) = value["anyOf"].as_array() {
        let ways: Vec<String> = ways.iter().map(|way| takes(way, keys)).collect();
        return ways.join(", or ");
    }
    if let Some(examples) = value["examples"].as_array() {
        let examples = examples.iter().filter_map(Value::as_str);
        return listed(examples.map(|text| format!("`{text}`")).collect());
    }
    match value["type"].as_str() {
        Some("object") if value["maxProperties"] == 0 => "`{}`".to_owned(),
        Some("array") => format!("a list: {}", takes(&value["items"], keys)),
        Some("object") => {
            let mut of_name = |definition: &str, _| keys(definition, true);
            let each = takes(&value["additionalProperties"], &mut of_name);
            format!("by name: {each}")
        }
        Some("string") => "text".to_owned(),
        Some("integer") => "a whole number".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("boolean") => "`true`, `false`".to_owned(),
        _ => "a value".to_owned(),
    }
}

#[test]
fn the_page_of_the_spec_is_its_schema() {
    let page = Page::of(serde_json::from_str(SCHEMA).unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/spec.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/spec.md is not what the schema says; write it anew: INSTA_UPDATE=always cargo nextest run spec_page"
    );
}
