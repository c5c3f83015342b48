//! The **fields** of a spec: each key of it once, with a [`FieldRule`] beside it. From these come the merge with the base's policy, what
//! is said about it, the settings that a record keeps, and the code key.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    BudgetLine, CanaryCounts, Channel, ChannelDraw, ChannelSample, Design, FollowingCount,
    Framework, Job, Level, LineOrigin, Override, ProbePolicy, ProgressShare, ScriptLauncher,
    ScriptShare, WarmPoolPolicy, Words, Work,
};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::metric::Amount;
use crate::units::{Bytes, Fraction, Percent, Seconds, Usd, UsdPerHour, is_default};

/// What the names of secrets have in them, in lower case.
const SECRET_WORDS: [&str; 5] = ["secret", "token", "password", "credential", "api_key"];

/// Whose value of a field a change is checked with, and what else hangs on the field. A field counts for the code key unless its
/// rule says `uncounted`.
#[derive(Debug, Clone, Copy)]
pub(in crate::spec) struct FieldRule {
    pub(in crate::spec) whose: Whose,
    pub(in crate::spec) counts: bool,
    /// Whether a record keeps it.
    pub(in crate::spec) is_setting: bool,
    /// The key in the spec, where the field has another name; empty: its keys stand where it stands.
    pub(in crate::spec) key: Option<&'static str>,
    /// What stands between the items of a list.
    between: &'static str,
    /// Of a map: whether a record keeps the names alone.
    keeps_names: bool,
}

/// Whose value counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::spec) enum Whose {
    /// The head's: the change under test.
    Head,
    /// The head's, and a difference is said with what it means.
    Named(&'static str),
    /// The head's, and a difference is said where no record of the base shows it.
    Uncompared,
    /// The base's: policy. A difference is said, and counts when it is merged.
    Base,
}

impl FieldRule {
    pub(in crate::spec) const HEAD: Self = Self::of(Whose::Head);
    pub(in crate::spec) const BASE: Self = Self::of(Whose::Base);
    pub(in crate::spec) const UNCOMPARED: Self = Self::of(Whose::Uncompared);
    /// Of a part whose fields have rules of their own.
    pub(in crate::spec) const EACH: Self = Self::HEAD;

    const fn of(whose: Whose) -> Self {
        Self {
            whose,
            counts: true,
            is_setting: false,
            key: None,
            between: ", ",
            keeps_names: false,
        }
    }

    pub(in crate::spec) const fn named(means: &'static str) -> Self {
        Self::of(Whose::Named(means))
    }

    /// It changes nothing that a canary does or measures.
    pub(in crate::spec) const fn uncounted(mut self) -> Self {
        self.counts = false;
        self
    }

    /// A record keeps it, so that a later one can say that it changed.
    pub(in crate::spec) const fn setting(mut self) -> Self {
        self.is_setting = true;
        self
    }

    pub(in crate::spec) const fn at(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// A list of words that one command has.
    pub(in crate::spec) const fn command(mut self) -> Self {
        self.between = " ";
        self
    }

    /// The values may be secrets.
    pub(in crate::spec) const fn names_alone(mut self) -> Self {
        self.keeps_names = true;
        self
    }
}

/// One field as it is written, or as its default is.
#[derive(Debug)]
pub(in crate::spec) struct Field {
    /// Below the job, or in the spec: `training.hyperparameters.epochs`.
    pub(in crate::spec) path: String,
    /// What a sentence calls it.
    pub(in crate::spec) name: String,
    pub(in crate::spec) rule: FieldRule,
    /// Its value as a sentence says it.
    pub(in crate::spec) words: String,
    /// Of what can be more or less.
    pub(in crate::spec) amount: Option<f64>,
    /// Its whole value as JSON; absent where it is as if nothing were written.
    pub(in crate::spec) value: Option<String>,
}

impl Field {
    fn new(path: &str, rule: FieldRule, words: String) -> Self {
        Self {
            path: path.to_owned(),
            name: format!("`{path}`"),
            rule,
            value: Some(json(&words)),
            words,
            amount: None,
        }
    }
}

pub(in crate::spec) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a value of a spec is JSON")
}

/// What fields are listed of, and what takes the base's where a rule says so.
pub(in crate::spec) trait HasFields: Clone {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>);

    fn take_base(&mut self, base: &Self, rule: FieldRule) {
        if rule.whose == Whose::Base {
            self.clone_from(base);
        }
    }
}

/// The fields of a job, below its name.
pub(in crate::spec) fn fields_of<T: HasFields>(whole: &T) -> Vec<Field> {
    let mut fields = Vec::new();
    whole.list("", FieldRule::EACH, &mut fields);
    fields
}

impl Job {
    /// Path and value of every field that counts for the code key, in the order of the paths.
    pub fn counted_fields(&self) -> BTreeMap<String, String> {
        let counted = fields_of(self).into_iter().filter(|it| it.rule.counts);
        let written = counted.filter_map(|it| Some((it.path, it.value?)));
        written.collect()
    }
}

pub(in crate::spec) fn below(path: &str, key: &str) -> String {
    match (path, key) {
        ("", key) => key.to_owned(),
        (path, "") => path.to_owned(),
        (path, key) => format!("{path}.{key}"),
    }
}

/// Defines a part of the valid spec once: its fields, and the [`FieldRule`] of each behind it. A field without one is no key by itself.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $kind:ty $(= $rule:expr)?,)+
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $kind,)+
        }

        $crate::spec::field::has_fields! { $name: $($field $(= $rule)?,)+ }
    };
}

/// Lists the fields of a struct by their rules; nothing where they have none.
macro_rules! has_fields {
    ($name:ident: $($field:ident,)+) => {};
    ($name:ident: $($field:ident $(= $rule:expr)?,)+) => {
        const _: () = {
            use $crate::spec::field::{Field, HasFields, below};

            impl HasFields for $name {
                fn list(&self, path: &str, _: $crate::spec::field::FieldRule, fields: &mut Vec<Field>) {
                    $($({
                        let rule = $rule;
                        let path = below(path, rule.key.unwrap_or(stringify!($field)));
                        self.$field.list(&path, rule, fields);
                    })?)+
                }

                fn take_base(&mut self, base: &Self, _: $crate::spec::field::FieldRule) {
                    $($(self.$field.take_base(&base.$field, $rule);)?)+
                }
            }
        };
    };
}

pub(in crate::spec) use {fields, has_fields};

/// A single value.
pub(in crate::spec) trait FieldValue: Clone {
    fn said(&self) -> String;

    fn amount(&self) -> Option<f64> {
        None
    }

    /// As [`Field::value`].
    fn value(&self) -> Option<String> {
        Some(json(&self.said()))
    }
}

impl<T: FieldValue> HasFields for T {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        fields.push(Field {
            amount: self.amount(),
            value: self.value(),
            ..Field::new(path, rule, self.said())
        });
    }
}

impl<T: FieldValue> HasFields for Option<T> {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        self.iter().for_each(|value| value.list(path, rule, fields));
    }
}

impl HasFields for Vec<String> {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        if !self.is_empty() {
            fields.push(Field {
                value: Some(json(self)),
                ..Field::new(path, rule, self.join(rule.between))
            });
        }
    }
}

/// Values by name. What a secret's name stands for is in no sentence.
impl HasFields for Vec<(String, String)> {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        let is_kept = rule.is_setting && !rule.keeps_names;
        for (name, value) in self {
            let lower = name.to_lowercase().replace('-', "_");
            // A pattern that reads tokens has no secret.
            let is_secret = !matches!(rule.whose, Whose::Named(_))
                && SECRET_WORDS.iter().any(|word| lower.contains(word));
            let rule = FieldRule {
                is_setting: is_kept,
                ..rule
            };
            let words = if is_secret { "***" } else { value };
            fields.push(Field {
                value: Some(json(value)),
                ..Field::new(&below(path, name), rule, words.to_owned())
            });
        }
        if rule.is_setting && rule.keeps_names && !self.is_empty() {
            let names: Vec<&str> = self.iter().map(|(name, _)| name.as_str()).collect();
            let rule = rule.uncounted();
            fields.push(Field::new(path, rule, names.join(rule.between)));
        }
    }
}

impl HasFields for BTreeMap<InstanceType, UsdPerHour> {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        for (kind, price) in self {
            price.list(&below(path, &kind.to_string()), rule, fields);
        }
    }
}

impl HasFields for Vec<Channel> {
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        for channel in self {
            channel.list(&below(path, &channel.name), rule, fields);
        }
    }

    fn take_base(&mut self, base: &Self, rule: FieldRule) {
        for channel in self {
            let known = base.iter().find(|known| known.name == channel.name);
            if let Some(known) = known {
                channel.take_base(known, rule);
            }
        }
    }
}

impl HasFields for Design {
    /// Under the keys that it is written with, which stand beside each other.
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        let beside = |key| below(path.rsplit_once('.').map_or("", |(above, _)| above), key);
        let kind = self.replicates.map_or("adaptive", |_| "fixed");
        kind.to_owned().list(path, rule, fields);
        let fractions: Vec<String> = self.fractions.iter().map(ToString::to_string).collect();
        fractions.list(&beside("fractions"), rule, fields);
        self.replicates.list(&beside("replicates"), rule, fields);
    }
}

impl HasFields for Vec<BudgetLine> {
    /// A line is one field. Those that always hold are not written.
    fn list(&self, path: &str, rule: FieldRule, fields: &mut Vec<Field>) {
        let is_written = |line: &&BudgetLine| line.origin == LineOrigin::Written;
        for line in self.iter().filter(is_written) {
            fields.push(Field {
                name: format!("the {} budget", line.kind.words()),
                amount: Some(line.limit.number),
                ..Field::new(&below(path, &line.kind.key()), rule, line.said())
            });
        }
    }
}

impl FieldValue for BudgetLine {
    fn said(&self) -> String {
        let at_least = self.at_least.filter(|amount| amount.number > 0.0);
        let at_least = at_least.map(|amount| format!("at_least {}", amount.exact()));
        let level = (self.level == Level::Warn).then(|| "level warn".to_owned());
        let more = Vec::from_iter(at_least.into_iter().chain(level)).join(", ");
        match more.as_str() {
            "" => self.limit_words(),
            more => format!("{} ({more})", self.limit_words()),
        }
    }
}

impl Override {
    /// What is agreed to of a job.
    pub(in crate::spec) fn fields(all: &[Self], job: &str) -> impl Iterator<Item = Field> {
        let own = all.iter().filter(move |agreed| agreed.job == job);
        own.map(|agreed| {
            let up_to = agreed.budget.exact(agreed.up_to.number);
            let words = format!("{up_to} until {} ({})", agreed.until, agreed.reason);
            let path = below("overrides", &agreed.budget.key());
            Field {
                name: format!("the override of the {} budget", agreed.budget.words()),
                ..Field::new(&path, FieldRule::BASE.uncounted(), words)
            }
        })
    }
}

impl<W: Words> FieldValue for W {
    fn said(&self) -> String {
        self.word().to_owned()
    }

    /// The word `None` says what its absence says.
    fn value(&self) -> Option<String> {
        Some(json(&self.said())).filter(|value| value != "\"None\"")
    }
}

/// Values, each with its words, and where they are not all of it: what it is as an amount, and as JSON.
macro_rules! values {
    ($($kind:ty: $words:expr $(, $method:ident = $value:expr => $result:ty)?;)+) => {$(
        impl FieldValue for $kind {
            fn said(&self) -> String {
                let words: fn(&Self) -> String = $words;
                words(self)
            }

            $(fn $method(&self) -> $result {
                let value: fn(&Self) -> $result = $value;
                value(self)
            })?
        }
    )+};
}

values! {
    bool: Self::to_string, value = |is_on| is_on.then(|| json(is_on)) => Option<String>;
    String: Self::clone;
    u32: Self::to_string, amount = |count| Some(f64::from(*count)) => Option<f64>;
    u64: Self::to_string;
    Bytes: |bytes| bytes.0.to_string();
    Seconds: |time| time.exact(), amount = |time| Some(time.0) => Option<f64>;
    Usd: |amount| amount.exact(), amount = |amount| Some(amount.0) => Option<f64>;
    UsdPerHour: |price| format!("{} USD/h", price.0), amount = |price| Some(price.0) => Option<f64>;
    Percent: |share| share.exact(), amount = |share| Some(share.0) => Option<f64>;
    Fraction: |share| Percent(share.0 * 100.0).exact(), amount = |share| Some(share.0) => Option<f64>;
    InstanceConfiguration: Self::to_string;
    Amount: |amount| amount.exact();
    Framework: Self::to_string;
    ScriptLauncher: Self::to_string, value = |launcher| Some(json(launcher)) => Option<String>;
    CanaryCounts: Self::to_string;
    ProgressShare: |share| share.words();
    WarmPoolPolicy: Self::to_string;
    ScriptShare: Self::to_string, value = |share| Some(json(share)) => Option<String>;
    FollowingCount: Self::to_string, value = |count| Some(json(count)) => Option<String>;
    Work: Self::to_string, value = |work| Some(json(work)) => Option<String>;
    ChannelDraw: Self::to_string, value = |draw| (!is_default(draw)).then(|| json(draw)) => Option<String>;
    ChannelSample: Self::to_string, value = |sample| {
        (*sample != Self::Objects).then(|| json(&sample.to_string()))
    } => Option<String>;
    ProbePolicy: Self::to_string, value = |probe| Some(json(probe)) => Option<String>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read;

    /// What is `uncounted` here is not part of a canary's key: look twice at a line that comes.
    #[test]
    fn the_rule_of_each_field() {
        let bytes = include_bytes!("read/tests/testdata/example.yml");
        let name = "example.yml";
        let spec = read(name, bytes, &[]).unwrap();
        let line = |field: &Field| {
            let FieldRule { whose, counts, .. } = field.rule;
            let counted = if counts { "" } else { ", uncounted" };
            let kept = if field.rule.is_setting {
                ", setting"
            } else {
                ""
            };
            format!("{}: {whose:?}{counted}{kept}", field.path)
        };
        let all = fields_of(&spec).into_iter().chain(fields_of(&spec.jobs[0]));
        let lines: Vec<String> = all.map(|field| line(&field)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
