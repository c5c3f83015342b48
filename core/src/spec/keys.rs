//! Mappings, lists and the choice between two forms; and the macro that defines a mapping with all that hangs on its keys once.

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;

use serde_json::{Value as Json, json};

use super::kind::{Definitions, Kind};
use super::reader::{At, Reader, near_miss, quoted};
use super::yaml::{Node, Value, YamlKey};
use super::yaml_text;
use crate::grammar::choice;

/// Keys that a spec had once, each with what serves instead.
const DROPPED: &str = include_str!("dropped_keys.txt");

/// The keys of a mapping, or a part of them that has a type of its own.
pub(super) trait Keys: Sized {
    /// Takes what is written under each key.
    fn take(entries: &mut Entries<'_>, reader: &mut Reader<'_>) -> Self;
}

/// The names of the keys.
pub(super) fn names<K: Keys>() -> impl Iterator<Item = &'static str> {
    listed(K::take).1.into_iter().map(|key| key.name)
}

/// The meaning of a mapping without keys: the default of each.
pub(super) fn unwritten<K: Keys>() -> K {
    listed(K::take).0
}

/// Takes from an empty mapping; returns what that means, and the keys that were asked for.
fn listed<T>(take: impl Fn(&mut Entries<'_>, &mut Reader<'_>) -> T) -> (T, Vec<AskedKey>) {
    let root = At::ROOT;
    let mut entries = Entries::of(&root);
    // Nobody reads the complaints about required keys.
    let taken = take(&mut entries, &mut Reader::default());
    (taken, entries.keys)
}

/// Reads a mapping with the keys that `take` asks for and no others.
pub(super) fn read_mapping<T>(
    node: &Node,
    at: &At,
    reader: &mut Reader<'_>,
    take: impl Fn(&mut Entries<'_>, &mut Reader<'_>) -> T,
) -> Option<T> {
    let keys = listed(&take).1;
    let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let mut entries = Entries::open(node, at, &known, reader)?;
    Some(take(&mut entries, reader))
}

/// The schema of such a mapping, among the definitions in the order in which they are first referred to.
pub(super) fn mapping_schema<T>(
    name: &str,
    description: &str,
    definitions: &mut Definitions,
    take: impl Fn(&mut Entries<'_>, &mut Reader<'_>) -> T,
) -> Json {
    if !definitions.contains_key(name) {
        definitions.insert(name.to_owned(), Json::Null);
        let keys = listed(take).1;
        let mut properties = Definitions::new();
        for key in &keys {
            properties.insert(key.name.to_owned(), (key.schema)(definitions));
        }
        let mut schema = json!({
            "description": description,
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        let required = keys.iter().filter(|key| key.is_required);
        let required: Vec<&str> = required.map(|key| key.name).collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        definitions[name] = schema;
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A schema with its description.
pub(super) fn described(mut schema: Json, description: &str) -> Json {
    schema["description"] = description.into();
    schema
}

/// Doc comments as one description: lines joined, the space after `///` gone.
pub(super) fn description(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim().to_owned()
}

/// A key that was asked for.
struct AskedKey {
    name: &'static str,
    is_required: bool,
    schema: Box<dyn Fn(&mut Definitions) -> Json>,
}

/// The entries of a mapping whose keys are known.
pub(super) struct Entries<'a> {
    entries: HashMap<&'a str, (&'a YamlKey, &'a Node)>,
    /// Unknown keys that are nearly these; each is complained about.
    near_misses: HashMap<&'static str, (&'a YamlKey, &'a Node)>,
    at: &'a At,
    keys: Vec<AskedKey>,
}

impl<'a> Entries<'a> {
    fn of(at: &'a At) -> Self {
        Self {
            entries: HashMap::new(),
            near_misses: HashMap::new(),
            at,
            keys: Vec::new(),
        }
    }

    /// Complains about what is no mapping, about unknown keys and about keys given twice.
    fn open(
        node: &'a Node,
        at: &'a At,
        known: &[&'static str],
        reader: &mut Reader<'_>,
    ) -> Option<Self> {
        let Value::Mapping(written) = &node.value else {
            let some: Vec<&str> = known.iter().copied().take(4).collect();
            let wanted = format!("a mapping with keys such as {}", choice(&some));
            return reader.wrong_kind(node, &wanted, at);
        };
        let mut open = Self::of(at);
        for (key, value) in written {
            if !known.contains(&key.text.as_str()) {
                if let Some(near) = reader.unknown_key(key, at, known) {
                    open.near_misses.insert(near, (key, value));
                }
            } else if open.entries.contains_key(key.text.as_str()) {
                reader.given_twice(key, at);
            } else {
                open.entries.insert(&key.text, (key, value));
            }
        }
        Some(open)
    }

    /// The value of a key with the lines of its doc comment; complains about a required one that is missing.
    pub(super) fn take<K: Kind>(
        &mut self,
        name: &'static str,
        is_required: bool,
        doc: &'static [&'static str],
        reader: &mut Reader<'_>,
    ) -> Option<K::Value> {
        let schema =
            |definitions: &mut Definitions| described(K::schema(definitions), &description(doc));
        self.take_with(name, is_required, schema, reader, K::read)
    }

    /// The same of a value that `read` reads.
    pub(super) fn take_with<T>(
        &mut self,
        name: &'static str,
        is_required: bool,
        schema: impl Fn(&mut Definitions) -> Json + 'static,
        reader: &mut Reader<'_>,
        read: impl Fn(&Node, &At, &mut Reader<'_>) -> Option<T>,
    ) -> Option<T> {
        self.keys.push(AskedKey {
            name,
            is_required,
            schema: Box::new(schema),
        });
        // A misspelt key is one problem, and not also a missing one with all that follows.
        let meant = || self.near_misses.remove(name).filter(|_| is_required);
        let Some((key, node)) = self.entries.remove(name).or_else(meant) else {
            if is_required {
                reader.wrong(self.at, format!("the key `{name}` is missing"));
            }
            return None;
        };
        let at = self.at.key(name);
        reader.found(&at, key, node);
        read(node, &at, reader)
    }
}

impl Reader<'_> {
    /// Complains about a key; returns the known one that was probably meant.
    fn unknown_key<'k>(&mut self, key: &YamlKey, at: &At, known: &[&'k str]) -> Option<&'k str> {
        let mut dropped = DROPPED.lines().filter_map(|line| line.split_once(": "));
        if let Some((name, instead)) = dropped.find(|(name, _)| *name == key.text) {
            let message = format!("the key `{name}` is gone");
            self.push_at(&at.path, key.span.clone(), message, Some(instead.into()));
            return None;
        }
        // The search for a near miss takes time, and a list this long is not read to its end.
        let near = Some(&key.text).filter(|_| !self.is_full());
        let near = near.and_then(|text| near_miss(text, known.iter().copied()));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        let message = format!("unknown key {}", quoted(&key.text));
        self.push_at(&at.path, key.span.clone(), message, Some(help));
        near
    }

    fn given_twice(&mut self, key: &YamlKey, at: &At) {
        let message = format!("the key {} is given twice", quoted(&key.text));
        self.push_at(&at.path, key.span.clone(), message, None);
    }
}

/// A mapping whose keys are names that a person chose, in the order of the file.
pub(super) struct Map<K>(PhantomData<K>);

impl<K: Kind> Kind for Map<K> {
    type Value = Vec<(String, K::Value)>;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self::Value> {
        let Value::Mapping(written) = &node.value else {
            return reader.wrong_kind(node, "a mapping of names to values", at);
        };
        let mut seen = HashSet::new();
        let mut map = Vec::new();
        for (key, node) in written {
            if !seen.insert(key.text.as_str()) {
                reader.given_twice(key, at);
                continue;
            }
            let place = at.key(&key.text);
            reader.found(&place, key, node);
            if key.text.contains('\0') {
                reader.wrong(&at.name(&key.text), "the key holds a NUL character");
            }
            let value = K::read(node, &place, reader);
            map.extend(value.map(|value| (key.text.clone(), value)));
        }
        Some(map)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "object", "additionalProperties": K::schema(definitions) })
    }
}

/// A list of values of one kind. What cannot be read is left out, and those behind it move up.
pub(super) struct List<K>(PhantomData<K>);

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self::Value> {
        let Value::Sequence(items) = &node.value else {
            let (Value::Text(text) | Value::Number(text)) = &node.value else {
                return reader.wrong_kind(node, "a list", at);
            };
            let message = format!("{}, where a list is needed", quoted(text));
            return reader.refused(at, message, format!("write {}", quoted(&list_of(text))));
        };
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            reader.found_item(at, index, item);
            if let Some(value) = K::read(item, &at.item(index), reader) {
                reader.found_item(at, list.len(), item);
                list.push(value);
            }
        }
        Some(list)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "array", "items": K::schema(definitions) })
    }
}

/// The words of a text as a list: `[python3, train.py]`.
fn list_of(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
    yaml_text::list(&words.collect::<Vec<_>>())
}

/// A value with a short form, which is a scalar, and a long one, which is a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Either<S, L> {
    Short(S),
    Long(L),
}

impl<S: Kind, L: Kind> Kind for Either<S, L> {
    type Value = Either<S::Value, L::Value>;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self::Value> {
        match node.value {
            Value::Mapping(_) => L::read(node, at, reader).map(Either::Long),
            _ => S::read(node, at, reader).map(Either::Short),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [S::schema(definitions), L::schema(definitions)] })
    }
}

/// Defines a mapping once: its keys with their docs become a struct, the way to read it, and its JSON Schema. A field is what is read
/// of its key, or what it means by `as`: `optional` and `required` are `None` where nothing was read, `plain` and `needed` a default;
/// `with` is a part of several keys, and `beside` is no key. A part of the valid spec has the [`FieldRule`](crate::spec::field::FieldRule)
/// of each field behind it.
macro_rules! mapping {
    (
        $(#[doc = $doc:expr])+
        $(#[derive($($derive:ident),+)])?
        $(#[display($($display:tt)+)])?
        $vis:vis struct $name:ident named $schema:literal {
            $(
                $(#[doc = $field_doc:expr])*
                $need:ident $field:ident: $kind:ty $(as $meaning:ty)? $(, or $default:expr)? $(=> $rule:expr)?;
            )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq $($(, $derive)+)?)]
        $(#[display($($display)+)])?
        $vis struct $name {
            $(
                $(#[doc = $field_doc])*
                $vis $field: $crate::spec::keys::meaning!($need $kind $(as $meaning)? $(=> $rule)?),
            )+
        }

        $crate::spec::field::has_fields! { $name: $($field $(= $rule)?,)+ }

        const _: () = {
            use $crate::spec::keys::{Entries, Keys, description, key, mapping_schema, read_mapping, unwritten};
            use $crate::spec::kind::{Definitions, Kind};
            use $crate::spec::reader::{At, Reader};

            impl Keys for $name {
                fn take(entries: &mut Entries<'_>, reader: &mut Reader<'_>) -> Self {
                    Self {
                        $($field: key!(
                            $need $field: $kind, entries, reader, &[$($field_doc),*] $(, $default)?
                        ),)+
                    }
                }
            }

            impl Kind for $name {
                type Value = Self;

                fn read(node: &$crate::spec::yaml::Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
                    read_mapping(node, at, reader, Self::take)
                }

                fn schema(definitions: &mut Definitions) -> serde_json::Value {
                    mapping_schema($schema, &description(&[$($doc),+]), definitions, Self::take)
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    unwritten()
                }
            }
        };
    };
}

/// The type of what a key means; in the valid spec a kind is its own meaning.
macro_rules! meaning {
    (optional $kind:ty as $meaning:ty $(=> $rule:expr)?) => {
        Option<$meaning>
    };
    (optional $kind:ty => $rule:expr) => {
        Option<$kind>
    };
    (optional $kind:ty) => {
        Option<<$kind as $crate::spec::kind::Kind>::Value>
    };
    (required $kind:ty $(as $meaning:ty)?) => {
        $crate::spec::keys::meaning!(optional $kind $(as $meaning)?)
    };
    ($need:ident $kind:ty as $meaning:ty $(=> $rule:expr)?) => {
        $meaning
    };
    ($need:ident $kind:ty $(=> $rule:expr)?) => {
        $kind
    };
}

/// Takes what is written under a key: `with` is a part of several keys, and `beside` none.
macro_rules! key {
    (with $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr) => {
        <$kind as $crate::spec::keys::Keys>::take($entries, $reader).into()
    };
    (beside $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr) => {
        <$kind>::default()
    };
    (required $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr) => {
        $entries.take::<$kind>(stringify!($field), true, $doc, $reader).map(Into::into)
    };
    (optional $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr) => {
        $entries.take::<$kind>(stringify!($field), false, $doc, $reader).map(Into::into)
    };
    (needed $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr) => {
        $crate::spec::keys::key!(required $field: $kind, $entries, $reader, $doc).unwrap_or_default()
    };
    (plain $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr) => {
        $crate::spec::keys::key!(optional $field: $kind, $entries, $reader, $doc).unwrap_or_default()
    };
    (plain $field:ident: $kind:ty, $entries:ident, $reader:ident, $doc:expr, $default:expr) => {
        $crate::spec::keys::key!(optional $field: $kind, $entries, $reader, $doc).unwrap_or($default)
    };
}

pub(super) use {key, mapping, meaning};
