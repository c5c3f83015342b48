//! What keys take: for each kind of value the way to read it from a node, and its JSON Schema.

use std::str::FromStr;

use serde_json::{Value as Json, json};

use super::reader::{At, Reader, did_you_mean, quoted, write_one_of};
use super::yaml::{Node, Value};
use crate::grammar::choice;
use crate::metric::{Amount, Unit, WrittenForm};
use crate::units::{Fraction, Percent, Seconds, UnitError, Usd, UsdPerHour};

/// The schemas that others refer to, by name.
pub(super) type Definitions = serde_json::Map<String, Json>;

/// A kind of value that a key takes.
pub(super) trait Kind {
    /// The meaning of such a value.
    type Value;

    /// `None` after a complaint; what can still be read below the node is read, and complained about too.
    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self::Value>;

    /// The schema where it is used: written out, or a reference into `definitions`.
    fn schema(definitions: &mut Definitions) -> Json;
}

/// A kind of value that is written as another kind, and means more or less than that.
pub(super) trait Refined {
    type Of: Kind;
    type Value;

    /// `None` after a complaint.
    fn refine(
        read: <Self::Of as Kind>::Value,
        at: &At,
        reader: &mut Reader<'_>,
    ) -> Option<Self::Value>;
}

impl<R: Refined> Kind for R {
    type Value = R::Value;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<R::Value> {
        let read = R::Of::read(node, at, reader)?;
        R::refine(read, at, reader)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        R::Of::schema(definitions)
    }
}

impl Reader<'_> {
    /// Complains that a node is of another kind than its key wants.
    pub(super) fn wrong_kind<T>(&mut self, node: &Node, wanted: &str, at: &At) -> Option<T> {
        let found = match &node.value {
            Value::Null => {
                let message = format!("no value, where {wanted} is needed");
                return self.refused(at, message, "give it a value, or remove the key");
            }
            Value::Bool(value) => format!("`{value}`"),
            Value::Number(text) => format!("the number {}", quoted(text)),
            Value::Text(text) => quoted(text),
            Value::Sequence(_) => "a list".to_owned(),
            Value::Mapping(_) => "a mapping".to_owned(),
        };
        self.wrong(at, format!("{found}, where {wanted} is needed"));
        None
    }

    /// Text without NUL bytes: a path, an argument or an AWS field can hold none.
    fn without_nul(&mut self, text: &str, at: &At) -> Option<String> {
        if text.contains('\0') {
            self.wrong(at, "the text holds a NUL character");
            return None;
        }
        Some(text.to_owned())
    }

    /// Complains of a quantity that could not be parsed.
    pub(super) fn parsed<T>(&mut self, quantity: Result<T, UnitError>, at: &At) -> Option<T> {
        let refused = |error: UnitError| {
            self.push(at, error.problem, write_one_of(&error.suggestions));
        };
        quantity.map_err(refused).ok()
    }

    /// Reads one of a few words or switches.
    pub(super) fn one_of<T: Copy>(&mut self, all: &[(Json, T)], node: &Node, at: &At) -> Option<T> {
        let written = match &node.value {
            Value::Text(text) => json!(text),
            Value::Bool(is_on) => json!(is_on),
            _ => Json::Null,
        };
        if let Some((_, meant)) = all.iter().find(|(word, _)| *word == written) {
            return Some(*meant);
        }
        let spelled = |word: &Json| word.to_string().trim_matches('"').to_owned();
        let known: Vec<String> = all.iter().map(|(word, _)| spelled(word)).collect();
        match &node.value {
            Value::Text(text) if known.contains(text) => {
                let message = format!("the text \"{text}\", where {} is needed", choice(&known));
                self.refuse(at, message, "remove the quotes");
            }
            Value::Text(text) => {
                let message = format!("{}, where {} is needed", quoted(text), choice(&known));
                let help = did_you_mean(text, known.iter().map(String::as_str));
                self.push(at, message, help);
            }
            _ => return self.wrong_kind(node, &choice(&known), at),
        }
        None
    }
}

/// Text that says something.
pub(super) enum Text {}

impl Kind for Text {
    type Value = String;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<String> {
        match &node.value {
            Value::Text(text) if text.trim().is_empty() => {
                reader.wrong(at, "the text is empty");
                None
            }
            Value::Text(text) => reader.without_nul(text, at),
            Value::Number(text) => {
                let message = format!("the number {}, where text is needed", quoted(text));
                let help = format!("write `\"{}\"`", quoted(text).trim_matches('`'));
                reader.refused(at, message, help)
            }
            _ => reader.wrong_kind(node, "text", at),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// Text of a form: what is wrong with another text, behind it in a sentence, and what to write. Such text is kept: the key is there.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident: $problem:expr;)+) => {$(
        $(#[$doc])*
        pub(in crate::spec) enum $form {}

        const _: () = {
            use $crate::spec::kind::{Refined, Text};
            use $crate::spec::reader::{At, Reader};

            impl Refined for $form {
                type Of = Text;
                type Value = String;

                fn refine(text: String, at: &At, reader: &mut Reader<'_>) -> Option<String> {
                    let problem: fn(&str) -> Option<(&'static str, &'static str)> = $problem;
                    reader.form(at, &text, problem(&text));
                    Some(text)
                }
            }
        };
    )+};
}

/// The first thing that is wrong with a text, behind it in a sentence, and what to write: IS_WRONG => problem, help.
macro_rules! first_problem {
    ($($is_wrong:expr => $problem:expr, $help:expr;)+) => {
        None $(.or_else(|| $is_wrong.then_some(($problem, $help))))+
    };
}

/// Text that a predicate knows, and what is said of other text: as `forms!`.
macro_rules! known_forms {
    ($($form:ident: $is:expr, $problem:literal, $help:literal;)+) => {
        $crate::spec::kind::forms! {$(
            $form: |text| (!$is(text)).then_some(($problem, $help));
        )+}
    };
}

pub(super) use {first_problem, forms, known_forms};

/// Text, a number or a switch, kept as it was written: what SageMaker hands over as text.
pub(super) enum AnyText {}

impl Kind for AnyText {
    type Value = String;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<String> {
        match &node.value {
            Value::Text(text) | Value::Number(text) => reader.without_nul(text, at),
            Value::Bool(value) => Some(value.to_string()),
            Value::Null => {
                let message = "no value, where text is needed";
                reader.refused(at, message, "for empty text write `\"\"`")
            }
            Value::Sequence(_) | Value::Mapping(_) => reader.wrong_kind(node, "a single value", at),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": ["string", "number", "boolean"] })
    }
}

impl Kind for bool {
    type Value = Self;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let switches = [true, false].map(|is_on| (json!(is_on), is_on));
        reader.one_of(&switches, node, at)
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "boolean" })
    }
}

/// A whole number from 1.
pub(super) enum Count {}

/// Plain numbers, each with what it is called, how it is read, and its schema.
macro_rules! numbers {
    ($($(#[$doc:meta])* $kind:ty as $value:ty: $wanted:literal, $is:expr, $schema:tt;)+) => {$(
        $(#[$doc])*
        impl Kind for $kind {
            type Value = $value;

            fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<$value> {
                let is: fn(&$value) -> bool = $is;
                let number = match &node.value {
                    Value::Number(text) => text.parse().ok().filter(is),
                    _ => None,
                };
                number.or_else(|| reader.wrong_kind(node, $wanted, at))
            }

            fn schema(_: &mut Definitions) -> Json {
                json!($schema)
            }
        }
    )+};
}

numbers! {
    u64 as u64: "a whole number", |_| true, { "type": "integer", "format": "uint64", "minimum": 0 };
    Count as u32: "a whole number from 1", |count| *count >= 1, { "type": "integer", "minimum": 1 };
    f64 as f64: "a number", |number| number.is_finite(), { "type": "number", "format": "double" };
}

/// Quantities, each with how a person writes it.
macro_rules! quantities {
    ($($unit:ty: $written:expr;)+) => {$(
        impl Kind for $unit {
            type Value = Self;

            fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
                quantity(node, $written, Self::from_str, at, reader)
            }

            fn schema(_: &mut Definitions) -> Json {
                quantity_schema($written)
            }
        }
    )+};
}

quantities! {
    Seconds: Unit::Time.written();
    Usd: Unit::Money.written();
    UsdPerHour: WrittenForm {
        pattern: r"^\s*[0-9_]*\.?[0-9_]*\s*USD/h\s*$",
        examples: ["1.20 USD/h", "0.461 USD/h"],
    };
    Percent: Unit::Percent.written();
    Fraction: WrittenForm { examples: ["1%", "2.5%"], ..Unit::Percent.written() };
}

/// An amount of a unit that the budget line decides.
pub(super) fn amount(unit: Unit, node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Amount> {
    quantity(node, unit.written(), |text| unit.parse(text), at, reader)
}

fn quantity<T>(
    node: &Node,
    written: WrittenForm,
    parse: impl Fn(&str) -> Result<T, UnitError>,
    at: &At,
    reader: &mut Reader<'_>,
) -> Option<T> {
    let (Value::Text(text) | Value::Number(text)) = &node.value else {
        let [example, _] = written.examples;
        return reader.wrong_kind(node, &format!("a quantity such as `{example}`"), at);
    };
    reader.parsed(parse(text), at)
}

pub(super) fn quantity_schema(written: WrittenForm) -> Json {
    let [one, other] = written.examples;
    json!({
        "type": "string",
        "pattern": written.pattern,
        "examples": written.examples,
        "errorMessage": format!("write a number with its unit, such as `{one}` or `{other}`"),
    })
}

/// A type whose values are written as one of a few words.
pub trait Words: Copy + PartialEq + 'static {
    /// Each word with its value.
    fn by_word() -> Vec<(&'static str, Self)>;

    /// The word of a spec, which SageMaker has too.
    fn word(self) -> &'static str {
        let mut all = Self::by_word().into_iter();
        let written = all.find(|(_, meant)| *meant == self);
        written.map_or("", |(word, _)| word)
    }
}

/// Kinds that are one of a few words.
macro_rules! word_kinds {
    ($($kind:ty),+) => {$(
        const _: () = {
            use $crate::spec::kind::{Definitions, Kind, Words};
            use $crate::spec::reader::{At, Reader};

            impl Kind for $kind {
                type Value = Self;

                fn read(node: &$crate::spec::yaml::Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
                    let words = Self::by_word().into_iter();
                    let words = words.map(|(word, meant)| (serde_json::json!(word), meant));
                    reader.one_of(&words.collect::<Vec<_>>(), node, at)
                }

                fn schema(_: &mut Definitions) -> serde_json::Value {
                    let words = Self::by_word().into_iter().map(|(word, _)| word);
                    serde_json::json!({ "enum": words.collect::<Vec<_>>() })
                }
            }
        };
    )+};
}

/// Defines kinds that are one of a few words: each value behind its word, or without one where nothing is written for it.
macro_rules! words {
    ($($(#[$meta:meta])* $vis:vis enum $kind:ident {
        $($(#[$of_value:meta])* $($word:literal)? $value:ident,)+
    })+) => {
        $($(#[$meta])*
        $vis enum $kind {
            $($(#[$of_value])* $value,)+
        }

        impl $crate::spec::Words for $kind {
            fn by_word() -> Vec<(&'static str, Self)> {
                vec![$($(($word, Self::$value),)?)+]
            }
        })+

        $crate::spec::kind::word_kinds!($($kind),+);
    };
}

pub(super) use {word_kinds, words};
