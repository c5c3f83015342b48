//! What an editor shows of the schema beside what JSON Schema checks by. `title` heads what is shown of a key, `markdownDescription`
//! is its text with code marked as code, `errorMessage` stands where a pattern refuses a value. VS Code and the YAML language server
//! read all three; others pass over the last two.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::field::below;

/// Gives each key its place in the spec as its title, `jobs.NAME.canary.seed`, or its name where its mapping has several places, and
/// its description as Markdown.
pub(super) fn describe_keys(schema: &mut Map<String, Value>) {
    let mut places = Places::new();
    find_places(&Value::Object(schema.clone()), "", schema, &mut places);
    title_keys(schema, "");
    let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for (name, definition) in definitions.into_iter().flatten() {
        let only = match places.get(name).map(Vec::as_slice) {
            Some([place]) => place,
            _ => "",
        };
        if let Some(definition) = definition.as_object_mut() {
            title_keys(definition, only);
        }
    }
}

/// Each place that a definition describes, by the definition's name.
type Places = BTreeMap<String, Vec<String>>;

fn find_places(value: &Value, place: &str, schema: &Map<String, Value>, places: &mut Places) {
    let name = value["$ref"].as_str().and_then(|it| it.rsplit('/').next());
    if let Some(name) = name {
        let of_definition = places.entry(name.to_owned()).or_default();
        of_definition.push(place.to_owned());
        if of_definition.len() == 1 {
            find_places(&schema["$defs"][name], place, schema, places);
        }
    }
    for (key, property) in value["properties"].as_object().into_iter().flatten() {
        find_places(property, &below(place, key), schema, places);
    }
    for way in value["anyOf"].as_array().into_iter().flatten() {
        find_places(way, place, schema, places);
    }
    if value["items"].is_object() {
        find_places(&value["items"], place, schema, places);
    }
    if value["additionalProperties"].is_object() {
        let named = below(place, "NAME");
        find_places(&value["additionalProperties"], &named, schema, places);
    }
}

fn title_keys(mapping: &mut Map<String, Value>, place: &str) {
    let keys = mapping.get_mut("properties").and_then(Value::as_object_mut);
    for (key, value) in keys.into_iter().flatten() {
        let Some(written) = value.as_object() else {
            continue;
        };
        let mut shown = Map::new();
        shown.insert("title".to_owned(), below(place, key).into());
        shown.extend(written.clone());
        if let Some(text) = written.get("description").and_then(Value::as_str)
            && text.contains('`')
        {
            shown.insert("markdownDescription".to_owned(), text.into());
        }
        *value = shown.into();
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::json_schema;

    use super::*;

    /// Calls `look` with each schema in a schema, at its JSON pointer.
    fn each(value: &Value, pointer: &str, look: &mut impl FnMut(&str, &Value)) {
        look(pointer, value);
        let members: Vec<(String, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(key, it)| (key.clone(), it)).collect(),
            Value::Array(items) => (0..).map(|at| at.to_string()).zip(items).collect(),
            _ => Vec::new(),
        };
        for (key, member) in members {
            each(member, &format!("{pointer}/{key}"), look);
        }
    }

    #[test]
    fn an_editor_shows_a_title_and_a_sentence_for_each_key() {
        let mut keys = 0;
        each(&json_schema(), "", &mut |pointer, value| {
            for (key, described) in value["properties"].as_object().into_iter().flatten() {
                // A key may be called `properties` or `title`, but none of the spec's is.
                let text = |name: &str| described[name].as_str().unwrap_or_default();
                let title = text("title");
                assert!(
                    title == key || title.ends_with(&format!(".{key}")),
                    "{pointer}: {key} has the title {title:?}"
                );
                let sentence = text("description");
                assert!(sentence.ends_with('.'), "{pointer}: {key}: {sentence:?}");
                keys += 1;
            }
        });
        assert!(keys > 120, "{keys}");
    }

    #[test]
    fn an_editor_says_what_to_write_where_a_pattern_refuses_a_value() {
        let mut patterns = 0;
        each(&json_schema(), "", &mut |pointer, value| {
            if let Some(pattern) = value["pattern"].as_str() {
                let says = value["errorMessage"].as_str().unwrap_or_default();
                let example = value["examples"][0].as_str().unwrap_or_default();
                assert!(
                    says.starts_with("write ") && says.contains(&format!("`{example}`")),
                    "{pointer}: {pattern}: {says:?}"
                );
                patterns += 1;
            }
        });
        assert!(patterns > 20, "{patterns}");
    }

    #[test]
    fn a_title_is_the_place_of_a_key_where_it_has_one() {
        let schema = json_schema();
        let title = |definition: &str, key: &str| {
            schema["$defs"][definition]["properties"][key]["title"].clone()
        };
        assert_eq!(title("Canary", "seed"), "jobs.NAME.canary.seed");
        assert_eq!(
            title("Channel", "uri"),
            "jobs.NAME.training.channels.NAME.uri"
        );
        assert_eq!(title("Override", "until"), "overrides.until");
        // A limit of memory and of GPU memory.
        assert_eq!(title("ShareLine", "max"), "max");
    }
}
