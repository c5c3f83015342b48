//! From nodes to raw types: the mapping, the list, the choice between two forms, and their JSON Schemas.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::spec::problems::{At, Findings, Located, either, near_miss, quoted};
use crate::spec::yaml::{Node, Value, YamlKey};

/// A raw type that can be read from a node.
pub(in crate::spec) trait FromNode: Sized {
    /// `None` after a complaint; what can still be read below the node is read, and complained about too.
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self>;
}

/// What a value means by itself.
pub(in crate::spec) trait Plain {
    type Value;

    fn plain(self) -> Self::Value;
}

/// Reads a node into a value that remembers its place.
pub(in crate::spec) fn locate<T: FromNode>(
    node: &Node,
    at: At,
    findings: &mut Findings,
) -> Option<Located<T>> {
    T::from_node(node, &at, findings).map(|value| Located { value, at })
}

/// What to underline for a value: the value itself where it is short, the key in front of a collection or of nothing.
fn underline(key: &YamlKey, node: &Node) -> Range<usize> {
    match node.value {
        Value::Mapping(_) | Value::Sequence(_) => key.span.clone(),
        _ if node.span.is_empty() => key.span.clone(),
        _ => node.span.clone(),
    }
}

/// Complains that a node is of another kind than its key wants.
pub(super) fn wrong_kind(node: &Node, wanted: &str, at: &At, findings: &mut Findings) {
    let found = match &node.value {
        Value::Null => {
            return findings.wrong_with_help(
                at,
                format!("no value, where {wanted} is needed"),
                "give it a value, or remove the key",
            );
        }
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(text) => format!("the number {}", quoted(text)),
        Value::Text(text) => quoted(text),
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "a mapping".to_owned(),
    };
    findings.wrong(at, format!("{found}, where {wanted} is needed"));
}

/// Whether a mapping must have a key.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::spec) enum Need {
    Required,
    Optional,
}

/// Keys of a mapping that are known: all of them, or a part that has a type of its own.
pub(in crate::spec) trait MappingKeys: Sized {
    fn names() -> Vec<&'static str>;

    /// Reads the values of these keys.
    fn take(entries: &mut Entries<'_>, findings: &mut Findings) -> Self;

    /// Adds the schema of each key, and the names of those that a mapping must have.
    fn describe(
        generator: &mut SchemaGenerator,
        properties: &mut serde_json::Map<String, serde_json::Value>,
        required: &mut Vec<&'static str>,
    );

    /// Where those that are written stand.
    fn places(&self) -> Vec<&At>;
}

/// The entries of a mapping whose keys are known.
pub(in crate::spec) struct Entries<'a> {
    entries: HashMap<&'static str, (&'a YamlKey, &'a Node)>,
    /// Unknown keys that are nearly these; each is complained about.
    near_misses: HashMap<&'static str, (&'a YamlKey, &'a Node)>,
    at: &'a At,
}

impl<'a> Entries<'a> {
    /// Complains about what is no mapping, about unknown keys and about keys given twice.
    pub(in crate::spec) fn open(
        node: &'a Node,
        at: &'a At,
        known: &[&'static str],
        findings: &mut Findings,
    ) -> Option<Self> {
        let Value::Mapping(written) = &node.value else {
            let some: Vec<&str> = known.iter().copied().take(4).collect();
            wrong_kind(
                node,
                &format!("a mapping with keys such as {}", either(&some)),
                at,
                findings,
            );
            return None;
        };
        let mut entries = HashMap::new();
        let mut near_misses = HashMap::new();
        for (key, value) in written {
            let Some(name) = known.iter().copied().find(|name| *name == key.text) else {
                if let Some(near) = unknown_key(key, at, known, findings) {
                    near_misses.insert(near, (key, value));
                }
                continue;
            };
            if entries.contains_key(name) {
                given_twice(key, at, findings);
            } else {
                entries.insert(name, (key, value));
            }
        }
        Some(Self {
            entries,
            near_misses,
            at,
        })
    }

    /// The value of a key; complains about a required one that is missing.
    pub(in crate::spec) fn take<T: FromNode>(
        &mut self,
        name: &'static str,
        need: Need,
        findings: &mut Findings,
    ) -> Option<Located<T>> {
        self.take_with(name, need, findings, T::from_node)
    }

    /// The same of a value that `read` reads.
    pub(in crate::spec) fn take_with<T>(
        &mut self,
        name: &'static str,
        need: Need,
        findings: &mut Findings,
        read: impl Fn(&Node, &At, &mut Findings) -> Option<T>,
    ) -> Option<Located<T>> {
        // A misspelt key is one problem, and not also a missing one with all that follows.
        let meant = || match need {
            Need::Required => self.near_misses.remove(name),
            _ => None,
        };
        match self.entries.remove(name).or_else(meant) {
            Some((key, node)) => {
                let at = self.at.key(name, underline(key, node));
                read(node, &at, findings).map(|value| Located { value, at })
            }
            None => {
                if need == Need::Required {
                    findings.wrong(self.at, format!("the key `{name}` is missing"));
                }
                None
            }
        }
    }
}

/// Complains about a key; returns the known one that was probably meant.
fn unknown_key(
    key: &YamlKey,
    at: &At,
    known: &[&'static str],
    findings: &mut Findings,
) -> Option<&'static str> {
    let at = At {
        path: at.path.clone(),
        span: key.span.clone(),
    };
    // The search for a near miss takes time, and a list this long is not read to its end.
    let near = match findings.is_full() {
        true => None,
        false => near_miss(&key.text, known.iter().copied()),
    };
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    findings.wrong_with_help(&at, format!("unknown key {}", quoted(&key.text)), help);
    near
}

fn given_twice(key: &YamlKey, at: &At, findings: &mut Findings) {
    let at = At {
        path: at.path.clone(),
        span: key.span.clone(),
    };
    findings.wrong(&at, format!("the key {} is given twice", quoted(&key.text)));
}

/// A mapping whose keys are names that a person chose.
#[derive(Debug)]
pub(in crate::spec) struct Map<T> {
    /// Every key once, also those whose value could not be read.
    pub(in crate::spec) names: Vec<String>,
    /// In the order of the file.
    pub(in crate::spec) entries: Vec<MapEntry<T>>,
}

/// One entry of a [`Map`].
#[derive(Debug)]
pub(in crate::spec) struct MapEntry<T> {
    /// The key's own place, under the path of the entry.
    pub(in crate::spec) name: Located<String>,
    pub(in crate::spec) value: Located<T>,
}

impl<T: FromNode> FromNode for Map<T> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Value::Mapping(written) = &node.value else {
            wrong_kind(node, "a mapping of names to values", at, findings);
            return None;
        };
        let mut seen = HashSet::new();
        let mut map = Self {
            names: Vec::new(),
            entries: Vec::new(),
        };
        for (key, node) in written {
            if !seen.insert(key.text.as_str()) {
                given_twice(key, at, findings);
                continue;
            }
            if key.text.contains('\0') {
                let at = at.key(&key.text, key.span.clone());
                findings.wrong(&at, "the key holds a NUL character");
            }
            map.names.push(key.text.clone());
            let place = at.key(&key.text, underline(key, node));
            if let Some(value) = locate(node, place, findings) {
                let name = Located {
                    value: key.text.clone(),
                    at: at.key(&key.text, key.span.clone()),
                };
                map.entries.push(MapEntry { name, value });
            }
        }
        Some(map)
    }
}

impl<T: JsonSchema> JsonSchema for Map<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": value })
    }
}

/// A mapping by name, in which one name of ours has a mapping of its own.
#[derive(Debug)]
pub(in crate::spec) struct MapWithSpot<T> {
    pub(in crate::spec) plain: Map<T>,
    pub(in crate::spec) spot: Option<Located<Map<T>>>,
}

const SPOT: &str = "spot";

impl<T: FromNode> FromNode for MapWithSpot<T> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Value::Mapping(written) = &node.value else {
            return Map::<T>::from_node(node, at, findings).map(|plain| Self { plain, spot: None });
        };
        let is_spot = |(key, _): &&(YamlKey, Node)| key.text == SPOT;
        let plain = written.iter().filter(|entry| !is_spot(entry));
        let plain = Node {
            value: Value::Mapping(plain.cloned().collect()),
            span: node.span.clone(),
        };
        let mut spot = written.iter().filter(is_spot);
        let first = spot.next();
        for (key, _) in spot {
            given_twice(key, at, findings);
        }
        Some(Self {
            plain: Map::from_node(&plain, at, findings)?,
            spot: first
                .and_then(|(key, node)| locate(node, at.key(SPOT, underline(key, node)), findings)),
        })
    }
}

impl<T: JsonSchema> JsonSchema for MapWithSpot<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("MapWithSpot_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "type": "object",
            "properties": { "spot": {
                "title": SPOT,
                "description": "The same of spot machines.",
                "type": "object",
                "additionalProperties": value,
            } },
            "additionalProperties": value,
        })
    }
}

impl<T: Plain> Plain for Map<T> {
    type Value = Vec<(String, T::Value)>;

    fn plain(self) -> Self::Value {
        let entries = self.entries.into_iter();
        entries
            .map(|entry| (entry.name.value, entry.value.plain()))
            .collect()
    }
}

/// A list of values of one kind.
#[derive(Debug)]
pub(in crate::spec) struct List<T>(pub(in crate::spec) Vec<Located<T>>);

/// Whether there is a list with something in it.
pub(in crate::spec) fn has_items<T>(list: Option<&Located<List<T>>>) -> bool {
    list.is_some_and(|list| !list.value.0.is_empty())
}

impl<T: Plain> Plain for List<T> {
    type Value = Vec<T::Value>;

    fn plain(self) -> Self::Value {
        self.0.into_iter().map(Plain::plain).collect()
    }
}

/// The words of a text as a list: `[python3, train.py]`.
fn list_of(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let is_plain = word.starts_with(|c: char| c.is_alphanumeric() || "-./_".contains(c))
                && word
                    .chars()
                    .all(|c| c.is_alphanumeric() || "-./_%=+*".contains(c));
            if is_plain {
                word.to_owned()
            } else {
                format!("\"{}\"", word.escape_default())
            }
        })
        .collect();
    format!("[{}]", words.join(", "))
}

impl<T: FromNode> FromNode for List<T> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Value::Sequence(items) = &node.value else {
            if let Value::Text(text) | Value::Number(text) = &node.value {
                findings.wrong_with_help(
                    at,
                    format!("{}, where a list is needed", quoted(text)),
                    format!("write {}", quoted(&list_of(text))),
                );
            } else {
                wrong_kind(node, "a list", at, findings);
            }
            return None;
        };
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let span = if item.span.is_empty() {
                &at.span
            } else {
                &item.span
            };
            list.extend(locate(item, at.item(index, span.clone()), findings));
        }
        Some(Self(list))
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        json_schema!({ "type": "array", "items": item })
    }
}

/// A value with a short form, which is a scalar, and a long one, which is a mapping.
#[derive(Debug)]
pub(in crate::spec) enum Either<S, L> {
    Short(S),
    Long(L),
}

impl<S: FromNode, L: FromNode> FromNode for Either<S, L> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        match node.value {
            Value::Mapping(_) => L::from_node(node, at, findings).map(Self::Long),
            _ => S::from_node(node, at, findings).map(Self::Short),
        }
    }
}

impl<S: JsonSchema, L: JsonSchema> JsonSchema for Either<S, L> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_{}", S::schema_name(), L::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let short = generator.subschema_for::<S>();
        let long = generator.subschema_for::<L>();
        json_schema!({ "anyOf": [short, long] })
    }
}

/// Doc comments as one description: lines joined, the space after `///` gone.
pub(in crate::spec) fn description(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim().to_owned()
}

/// The schema of one field under its own description.
pub(in crate::spec) fn described<T: JsonSchema>(
    generator: &mut SchemaGenerator,
    lines: &[&str],
) -> Schema {
    let mut schema = generator.subschema_for::<T>();
    schema.insert("description".to_owned(), description(lines).into());
    schema
}

/// Defines a mapping of the spec once: its fields with their docs become a struct, the way to read it, and its JSON
/// Schema, so that the three cannot differ. `first part: Keys` and `with part: Keys` take in the keys of another type. In the schema the name
/// lacks the beginning `Raw`.
macro_rules! mapping {
    (
        $(#[doc = $doc:expr])+
        pub(in crate::spec) struct $name:ident {
            $(first $head:ident: $head_keys:ty,)?
            $($(#[doc = $field_doc:expr])+ $need:ident $field:ident: $kind:ty,)+
            $(with $part:ident: $keys:ty,)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Default)]
        pub(in crate::spec) struct $name {
            $(pub(in crate::spec) $head: $head_keys,)?
            $(
                $(#[doc = $field_doc])+
                pub(in crate::spec) $field: Option<$crate::spec::problems::Located<$kind>>,
            )+
            $(pub(in crate::spec) $part: $keys,)*
        }

        impl $crate::spec::raw::MappingKeys for $name {
            fn names() -> Vec<&'static str> {
                let own = [$(stringify!($field)),+].to_vec();
                let names = [$(<$head_keys>::names(),)? own $(, <$keys>::names())*];
                names.concat()
            }

            fn take(
                entries: &mut $crate::spec::raw::Entries<'_>,
                findings: &mut $crate::spec::problems::Findings,
            ) -> Self {
                Self {
                    $($head: <$head_keys>::take(entries, findings),)?
                    $($field: entries.take(
                        stringify!($field),
                        $crate::spec::raw::need!($need),
                        findings,
                    ),)+
                    $($part: <$keys>::take(entries, findings),)*
                }
            }

            fn describe(
                generator: &mut schemars::SchemaGenerator,
                properties: &mut serde_json::Map<String, serde_json::Value>,
                required: &mut Vec<&'static str>,
            ) {
                $(<$head_keys>::describe(generator, properties, required);)?
                $(
                    let field = $crate::spec::raw::described::<$kind>(generator, &[$($field_doc),+]);
                    properties.insert(stringify!($field).to_owned(), field.to_value());
                    if $crate::spec::raw::need!($need) == $crate::spec::raw::Need::Required {
                        required.push(stringify!($field));
                    }
                )+
                $(<$keys>::describe(generator, properties, required);)*
            }

            fn places(&self) -> Vec<&$crate::spec::problems::At> {
                let own = [$(self.$field.as_ref().map(|field| &field.at)),+];
                let own: Vec<_> = own.into_iter().flatten().collect();
                let places = [$(self.$head.places(),)? own $(, self.$part.places())*];
                places.concat()
            }
        }

        impl $crate::spec::raw::FromNode for $name {
            fn from_node(
                node: &$crate::spec::yaml::Node,
                at: &$crate::spec::problems::At,
                findings: &mut $crate::spec::problems::Findings,
            ) -> Option<Self> {
                let known = <Self as $crate::spec::raw::MappingKeys>::names();
                let mut entries = $crate::spec::raw::Entries::open(node, at, &known, findings)?;
                Some(<Self as $crate::spec::raw::MappingKeys>::take(&mut entries, findings))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                let name = stringify!($name);
                name.strip_prefix("Raw").unwrap_or(name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut properties = serde_json::Map::new();
                let mut required = Vec::new();
                <Self as $crate::spec::raw::MappingKeys>::describe(generator, &mut properties, &mut required);
                let mut schema = schemars::json_schema!({
                    "description": $crate::spec::raw::description(&[$($doc),+]),
                    "type": "object",
                    "properties": properties,
                    "additionalProperties": false,
                });
                if !required.is_empty() {
                    schema.insert("required".to_owned(), required.into());
                }
                schema
            }
        }
    };
}

macro_rules! need {
    (required) => {
        $crate::spec::raw::Need::Required
    };
    (optional) => {
        $crate::spec::raw::Need::Optional
    };
}

pub(in crate::spec) use {mapping, need};
