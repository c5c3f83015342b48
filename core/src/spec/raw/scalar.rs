//! The scalars of a spec: text, switches, counts, quantities with their unit, and choices among words.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::reader::{FromNode, Plain, wrong_kind};
use crate::metric::{Amount, Unit, WrittenForm};
use crate::spec::problems::{
    At, Findings, Located, TextForm, did_you_mean, either, quoted, write_one_of,
};
use crate::spec::yaml::{Node, Value};
use crate::spec::{
    ChannelSample, Distribution, Framework, InputMode, Level, OnInconclusive, StatedGrowth,
};
use crate::units::{Fraction, Percent, Seconds, UnitError, Usd, UsdPerHour};

/// Implements [`JsonSchema`] for a scalar: written out where it is used, without a name of its own.
macro_rules! inline_schema {
    ($kind:ty, $name:literal, $schema:tt) => {
        impl schemars::JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

/// Implements [`FromNode`] for text that is read as `$text` is.
macro_rules! from_text {
    ($kind:ty, $text:ty) => {
        impl $crate::spec::raw::FromNode for $kind {
            fn from_node(
                node: &$crate::spec::yaml::Node,
                at: &$crate::spec::problems::At,
                findings: &mut $crate::spec::problems::Findings,
            ) -> Option<Self> {
                let text = <$text>::from_node(node, at, findings)?;
                Some(Self(text.0))
            }
        }
    };
}

pub(in crate::spec) use from_text;
pub(in crate::spec) use inline_schema;

macro_rules! plain {
    ($($kind:ty => $value:ty;)+) => {$(
        impl Plain for $kind {
            type Value = $value;

            fn plain(self) -> $value {
                self.0
            }
        }
    )+};
}

plain! {
    Text => String;
    AnyText => String;
    Count => u32;
    WrittenSample => ChannelSample;
}

/// Values that are their own meaning.
macro_rules! as_it_is {
    ($($kind:ty),+) => {$(
        impl Plain for $kind {
            type Value = Self;

            fn plain(self) -> Self {
                self
            }
        }
    )+};
}

as_it_is!(bool, f64, u64, Framework);

impl<U> Plain for Quantity<U> {
    type Value = U;

    fn plain(self) -> U {
        self.0
    }
}

impl<W> Plain for Choice<W> {
    type Value = W;

    fn plain(self) -> W {
        self.0
    }
}

impl<T: Plain> Plain for Located<T> {
    type Value = T::Value;

    fn plain(self) -> T::Value {
        self.value.plain()
    }
}

/// Text of a form.
#[derive(Debug)]
pub(in crate::spec) struct Formed<F> {
    pub(in crate::spec) text: String,
    form: PhantomData<F>,
}

impl<F: TextForm> FromNode for Formed<F> {
    /// Text that is not of the form is complained about, and kept: the key is there.
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::from_node(node, at, findings)?;
        findings.form::<F>(at, &text);
        Some(Self {
            text,
            form: PhantomData,
        })
    }
}

impl<F> Plain for Formed<F> {
    type Value = String;

    fn plain(self) -> String {
        self.text
    }
}

impl<F> JsonSchema for Formed<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Text::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Text::json_schema(generator)
    }
}

/// Forms, each with what a text has to be, the words behind one that is not, and what to write.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident: $is:expr, $problem:literal, $help:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(in crate::spec) enum $form {}

        impl $crate::spec::problems::TextForm for $form {
            fn problem(text: &str) -> Option<(&'static str, &'static str)> {
                let is: fn(&str) -> bool = $is;
                (!is(text)).then_some(($problem, $help))
            }
        }
    )+};
}

pub(in crate::spec) use forms;

/// Text without NUL bytes: a path, an argument or an AWS field can hold none.
fn without_nul(text: &str, at: &At, findings: &mut Findings) -> Option<String> {
    if text.contains('\0') {
        findings.wrong(at, "the text holds a NUL character");
        return None;
    }
    Some(text.to_owned())
}

/// Text that says something.
#[derive(Debug, Clone)]
pub(in crate::spec) struct Text(pub(in crate::spec) String);

impl FromNode for Text {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text.trim().is_empty() => {
                findings.wrong(at, "the text is empty");
                None
            }
            Value::Text(text) => without_nul(text, at, findings).map(Self),
            Value::Number(text) => {
                findings.wrong_with_help(
                    at,
                    format!("the number {}, where text is needed", quoted(text)),
                    format!("write `\"{}\"`", quoted(text).trim_matches('`')),
                );
                None
            }
            _ => {
                wrong_kind(node, "text", at, findings);
                None
            }
        }
    }
}

inline_schema!(Text, "Text", { "type": "string", "minLength": 1 });

/// Text, a number or a switch, kept as it was written: what SageMaker hands over as text.
#[derive(Debug)]
pub(in crate::spec) struct AnyText(pub(in crate::spec) String);

impl FromNode for AnyText {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::Text(text) | Value::Number(text) => without_nul(text, at, findings).map(Self),
            Value::Bool(value) => Some(Self(value.to_string())),
            Value::Null => {
                findings.wrong_with_help(
                    at,
                    "no value, where text is needed",
                    "for empty text write `\"\"`",
                );
                None
            }
            Value::Sequence(_) | Value::Mapping(_) => {
                wrong_kind(node, "a single value", at, findings);
                None
            }
        }
    }
}

inline_schema!(AnyText, "AnyText", { "type": ["string", "number", "boolean"] });

/// A quantity whose unit another key decides; checked where that key is known.
#[derive(Debug)]
pub(in crate::spec) struct AnyQuantity(pub(in crate::spec) String);

from_text!(AnyQuantity, AnyText);
inline_schema!(AnyQuantity, "AnyQuantity", { "type": "string", "examples": ["90 USD", "12h", "95%"] });

/// A day of the calendar.
#[derive(Debug)]
pub(in crate::spec) struct Day(pub(in crate::spec) jiff::civil::Date);

impl FromNode for Day {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Value::Text(text) = &node.value else {
            wrong_kind(node, "a date such as `2026-12-31`", at, findings);
            return None;
        };
        // jiff reads much more, a time of day among it, which would be dropped in silence.
        let is_plain = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        match text.parse() {
            Ok(day) if is_plain => Some(Self(day)),
            _ => {
                findings.wrong_with_help(
                    at,
                    format!("{} is not a date", quoted(text)),
                    "write year, month and day, such as `2026-12-31`",
                );
                None
            }
        }
    }
}

inline_schema!(Day, "Day", { "type": "string", "format": "date" });

impl FromNode for bool {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            Value::Text(text) => {
                let meant = match text.to_lowercase().as_str() {
                    "true" | "yes" | "on" | "y" => Some("true"),
                    "false" | "no" | "off" | "n" => Some("false"),
                    _ => None,
                };
                let message = format!("{}, where true or false is needed", quoted(text));
                findings.push(at, message, meant.map(|meant| format!("write `{meant}`")));
                None
            }
            _ => {
                wrong_kind(node, "true or false", at, findings);
                None
            }
        }
    }
}

/// What canaries get of a channel.
#[derive(Debug)]
pub(in crate::spec) struct WrittenSample(pub(in crate::spec) ChannelSample);

impl FromNode for WrittenSample {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        const WORDS: [&str; 3] = ["true", "false", "rows"];
        let sample = match &node.value {
            Value::Bool(true) => ChannelSample::Objects,
            Value::Bool(false) => ChannelSample::Whole,
            Value::Text(text) if text == "rows" => ChannelSample::Rows,
            Value::Text(text) if text == "true" || text == "false" => {
                let message = format!("the text \"{text}\", where {} is needed", either(&WORDS));
                findings.push(at, message, Some("remove the quotes".to_owned()));
                return None;
            }
            _ => return not_among(&WORDS, node, at, findings),
        };
        Some(Self(sample))
    }
}

inline_schema!(WrittenSample, "Sample", { "enum": [true, false, "rows"] });

/// Whole numbers from 0.
impl FromNode for u64 {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        if let Value::Number(text) = &node.value
            && let Ok(number) = text.parse()
        {
            return Some(number);
        }
        wrong_kind(node, "a whole number", at, findings);
        None
    }
}

/// Whole numbers from 1.
#[derive(Debug)]
pub(in crate::spec) struct Count(pub(in crate::spec) u32);

impl FromNode for Count {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        if let Value::Number(text) = &node.value
            && let Ok(number) = text.parse()
            && number >= 1
        {
            return Some(Self(number));
        }
        wrong_kind(node, "a whole number from 1", at, findings);
        None
    }
}

inline_schema!(Count, "Count", { "type": "integer", "minimum": 1 });

/// Any finite number.
impl FromNode for f64 {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        if let Value::Number(text) = &node.value
            && let Ok(number) = text.parse::<f64>()
            && number.is_finite()
        {
            return Some(number);
        }
        wrong_kind(node, "a number", at, findings);
        None
    }
}

/// The version of the format; only 1 can be read.
#[derive(Debug)]
pub(in crate::spec) struct FormatVersion;

impl FromNode for FormatVersion {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::Number(text) if text == "1" => Some(Self),
            Value::Number(text) => {
                findings.wrong_with_help(
                    at,
                    format!("version {} of the spec is not known", quoted(text)),
                    "this program reads `version: 1`; a newer one may read more",
                );
                None
            }
            _ => {
                wrong_kind(node, "the number 1", at, findings);
                None
            }
        }
    }
}

inline_schema!(FormatVersion, "Version", { "const": 1 });

/// A unit and how a person writes it.
pub(in crate::spec) trait WrittenUnit: FromStr<Err = UnitError> {
    const WRITTEN: WrittenForm;
}

impl WrittenUnit for Seconds {
    const WRITTEN: WrittenForm = Unit::Time.written();
}

impl WrittenUnit for Usd {
    const WRITTEN: WrittenForm = Unit::Money.written();
}

impl WrittenUnit for UsdPerHour {
    const WRITTEN: WrittenForm = WrittenForm {
        pattern: r"^\s*[0-9_]*\.?[0-9_]*\s*USD/h\s*$",
        examples: ["1.20 USD/h", "0.461 USD/h"],
    };
}

impl WrittenUnit for Percent {
    const WRITTEN: WrittenForm = Unit::Percent.written();
}

impl WrittenUnit for Fraction {
    const WRITTEN: WrittenForm = WrittenForm {
        examples: ["1%", "2.5%"],
        ..Percent::WRITTEN
    };
}

/// A number with its unit.
#[derive(Debug, Clone, Copy)]
pub(in crate::spec) struct Quantity<U>(pub(in crate::spec) U);

impl<U: WrittenUnit> FromNode for Quantity<U> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        quantity(node, U::WRITTEN, str::parse, at, findings).map(Self)
    }
}

/// An amount of a unit that the budget line decides.
pub(super) fn amount(unit: Unit, node: &Node, at: &At, findings: &mut Findings) -> Option<Amount> {
    let parse = |text: &str| unit.parse(text);
    quantity(node, unit.written(), parse, at, findings)
}

fn quantity<T>(
    node: &Node,
    written: WrittenForm,
    parse: impl Fn(&str) -> Result<T, UnitError>,
    at: &At,
    findings: &mut Findings,
) -> Option<T> {
    let (Value::Text(text) | Value::Number(text)) = &node.value else {
        let [example, _] = written.examples;
        wrong_kind(
            node,
            &format!("a quantity such as `{example}`"),
            at,
            findings,
        );
        return None;
    };
    match parse(text) {
        Ok(quantity) => Some(quantity),
        Err(UnitError {
            problem,
            suggestions,
        }) => {
            let help = write_one_of(&suggestions);
            findings.push(at, problem, help);
            None
        }
    }
}

pub(super) fn quantity_schema(written: WrittenForm) -> Schema {
    let [one, other] = written.examples;
    json_schema!({
        "type": "string",
        "pattern": written.pattern,
        "examples": written.examples,
        "errorMessage": format!("write a number with its unit, such as `{one}` or `{other}`"),
    })
}

impl<U: WrittenUnit> JsonSchema for Quantity<U> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        quantity_schema(U::WRITTEN)
    }
}

/// What is written as one of a few words.
pub trait Words: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    /// As a spec says it; SageMaker has the same words.
    fn word(self) -> &'static str {
        let written = Self::WORDS.iter().find(|(_, meant)| *meant == self);
        written.map_or("", |(word, _)| *word)
    }
}

impl Words for OnInconclusive {
    const WORDS: &'static [(&'static str, Self)] = &[("fail", Self::Fail), ("pass", Self::Pass)];
}

impl Words for Level {
    const WORDS: &'static [(&'static str, Self)] = &[("fail", Self::Fail), ("warn", Self::Warn)];
}

impl Words for StatedGrowth {
    const WORDS: &'static [(&'static str, Self)] = &[
        (Self::None.word(), Self::None),
        (Self::Linear.word(), Self::Linear),
    ];
}

impl Words for InputMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("File", Self::File),
        ("FastFile", Self::FastFile),
        ("Pipe", Self::Pipe),
    ];
}

impl Words for Distribution {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("FullyReplicated", Self::FullyReplicated),
        ("ShardedByS3Key", Self::ShardedByS3Key),
    ];
}

/// One of a few words.
#[derive(Debug)]
pub(in crate::spec) struct Choice<W>(pub(in crate::spec) W);

impl<W: Words> FromNode for Choice<W> {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let is_written =
            |(word, _): &&(&str, W)| matches!(&node.value, Value::Text(text) if text == *word);
        if let Some((_, choice)) = W::WORDS.iter().find(is_written) {
            return Some(Self(*choice));
        }
        let words: Vec<&str> = W::WORDS.iter().map(|(word, _)| *word).collect();
        not_among(&words, node, at, findings)
    }
}

/// Complains of a node that is not one of `words`.
fn not_among<T>(words: &[&str], node: &Node, at: &At, findings: &mut Findings) -> Option<T> {
    match &node.value {
        Value::Text(text) => {
            let message = format!("{}, where {} is needed", quoted(text), either(words));
            findings.push(at, message, did_you_mean(text, words.iter().copied()));
        }
        _ => wrong_kind(node, &either(words), at, findings),
    }
    None
}

impl<W: Words> JsonSchema for Choice<W> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Choice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = W::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({ "enum": words })
    }
}
