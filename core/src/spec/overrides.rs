//! Known overruns that were agreed to: how they are written, which are in force on a given day, how they change a budget, and the
//! notes about them.

use std::rc::Rc;

use jiff::civil::Date;
use serde_json::{Value as Json, json};

use super::keys::mapping;
use super::kind::{AnyText, Definitions, Kind, Refined, Text, Words, word_kinds};
use super::reader::{At, Reader, did_you_mean, quoted, rules};
use super::yaml::{Node, Value};
use super::{LineKind, LineOrigin, OverrideInForce, Spec};
use crate::metric::Amount;

/// A known overrun, agreed to, with ceiling, reason and expiry.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    pub job: String,
    pub budget: LineKind,
    pub up_to: Amount,
    pub until: Date,
    pub reason: String,
}

impl Spec {
    /// Applies the overrides in force on `today` (UTC) to the budgets; the last day counts. Returns a note for each of these and of
    /// the expired ones: the job's name and a sentence, in the order of the overrides. One that is no wider than the written limit
    /// has no effect.
    ///
    /// Call it only once: the limits must be the written ones.
    pub fn apply_overrides(&mut self, today: Date) -> Vec<(String, String)> {
        let mut notes = Vec::new();
        for agreed in &self.overrides {
            let job = self.jobs.iter_mut().find(|job| job.name == agreed.job);
            let mut lines = job.into_iter().flat_map(|job| &mut job.budget.lines);
            let Some(line) =
                lines.find(|line| line.origin == LineOrigin::Written && line.kind == agreed.budget)
            else {
                continue;
            };
            let (words, until) = (agreed.budget.words(), agreed.until);
            let (written, agreed_limit) = (line.limit_words(), line.words_of(agreed.up_to));
            let note = if today > until {
                format!(
                    "The override of the {words} budget, {agreed_limit}, expired on {until}; {written} counts, as is written."
                )
            } else if line.would_be_widened_by(agreed.up_to) {
                line.overridden = Some(OverrideInForce {
                    written_limit: line.limit.number,
                    until,
                    reason: agreed.reason.clone(),
                });
                line.limit = agreed.up_to;
                format!(
                    "An override is in force: until {until} the {words} budget is {agreed_limit}, where {written} is written. The reason: {}",
                    agreed.reason
                )
            } else {
                continue;
            };
            notes.push((agreed.job.clone(), note));
        }
        // A line that is wider now may no longer cover the implicit one: the machine does not have more memory.
        for job in &mut self.jobs {
            job.budget.renew_implicit_lines(job.training.max_runtime);
        }
        notes
    }
}

impl Words for LineKind {
    fn by_word() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|kind| (kind.fixed_key(), kind)).to_vec()
    }
}

word_kinds!(LineKind);

/// A quantity whose unit another key decides.
pub(super) enum AnyQuantity {}

impl Kind for AnyQuantity {
    type Value = String;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<String> {
        AnyText::read(node, at, reader)
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string", "examples": ["90 USD", "12h", "95%"] })
    }
}

/// A day of the calendar.
impl Kind for Date {
    type Value = Self;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::Text(text) = &node.value else {
            return reader.wrong_kind(node, "a date such as `2026-12-31`", at);
        };
        // jiff reads much more, a time of day among it, which would be dropped in silence.
        let is_plain = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let day = text.parse().ok().filter(|_| is_plain);
        if day.is_none() {
            let help = "write year, month and day, such as `2026-12-31`";
            reader.refuse(at, format!("{} is not a date", quoted(text)), help);
        }
        day
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string", "format": "date" })
    }
}

mapping! {
    /// A known overrun that is agreed to.
    pub(in crate::spec) struct OverrideKeys named "Override" {
        /// The name of the job.
        required job: Text;
        /// The key of the budget line.
        required budget: LineKind;
        /// The limit that counts in place of the line's own, in the line's unit.
        required up_to: AnyQuantity;
        /// The last day on which the override counts, in UTC, for instance `2026-12-31`.
        required until: Date;
        /// The reason for which the overrun was agreed to.
        required reason: Text;
    }
}

impl Refined for Override {
    type Of = OverrideKeys;
    type Value = Self;

    fn refine(keys: OverrideKeys, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        // Those that could be read.
        let jobs = Rc::clone(&reader.jobs);
        let up_to = keys.up_to.zip(keys.budget).and_then(|(text, kind)| {
            let at = at.key("up_to");
            let limit = reader.parsed(kind.unit().parse(&text), &at)?;
            reader.above_0(&at, limit.number, "a limit");
            Some(limit)
        });
        if let Some(name) = &keys.job {
            let all = At::ROOT.key("jobs");
            // A job whose keys could not be read is there too.
            let written = reader.keys_below(&all);
            let job = jobs.iter().find(|job| job.name == *name);
            if !written.contains(name) {
                let help = did_you_mean(name, written.iter().map(String::as_str));
                let message = format!("there is no job {}", quoted(name));
                reader.push(&at.key("job"), message, help);
            } else if let Some((kind, job)) = keys.budget.zip(job) {
                let line = job.budget.written_line(kind);
                let line_at = all.key(name).key("budget").key(&kind.to_string());
                let is_missing = line.is_none() && !reader.is_wrong(&line_at);
                let idle = line.zip(up_to);
                let idle = idle.filter(|(line, limit)| !line.would_be_widened_by(*limit));
                let side = idle.map_or("", |(line, _)| line.bound.pick("above", "below"));
                rules! { reader, at;
                    wrong "budget" if is_missing =>
                        format!("the budget of {} has no line `{kind}`", quoted(name));
                    warn "up_to" if idle.is_some() =>
                        format!("is not {side} the budget's own limit, so it changes nothing");
                }
            }
        }
        Some(Self {
            job: keys.job?,
            budget: keys.budget?,
            up_to: up_to?,
            until: keys.until?,
            reason: keys.reason?,
        })
    }
}

impl Reader<'_> {
    pub(super) fn refuse_second_overrides(&mut self, all: &[Override]) {
        for (index, one) in all.iter().enumerate() {
            let is_same = |other: &Override| (&other.job, other.budget) == (&one.job, one.budget);
            if all[..index].iter().any(is_same) {
                let (name, line) = (quoted(&one.job), one.budget);
                let at = At::ROOT.key("overrides").item(index);
                self.wrong(&at, format!("a second override of `{line}` for {name}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::read;

    /// A block is a budget, an override of it and a day: an override counts up to its last day, never tightens, and does not lift
    /// what always holds: the machine has no more memory for it, and the job is ended at its limit all the same.
    #[test]
    fn each_override_counts_as_its_case_shows() {
        let blocks = include_str!("testdata/overrides.txt")
            .trim_end()
            .split("\n\n");
        let shown = blocks.map(|block| {
            let [budget, agreed, today] = block.lines().collect::<Vec<_>>()[..] else {
                panic!("{block}")
            };
            let text = format!(
                "version: 1\nbackend: local\nprices: {{local: 1 USD/h}}\njobs:\n  churn:\n    training: {{command: [sh, train.sh], max_runtime: 4h, channels: {{train: {{uri: data}}}}}}\n    instance: local\n    budget: {{{budget}}}\noverrides:\n  - {{job: churn, {agreed}, reason: agreed}}\n"
            );
            let mut spec = read("canary-gate.yml", text.as_bytes(), &[]).unwrap();
            let notes = spec.apply_overrides(today.parse().unwrap());
            let lines = spec.jobs[0].budget.lines.iter();
            let lines = lines.map(|line| {
                let written = line.overridden.as_ref().map(|it| it.written_limit);
                let at_least = line.at_least.map(|it| it.exact());
                format!("{} {} {written:?} {at_least:?}", line.kind, line.limit_words())
            });
            let notes = notes.into_iter().map(|(job, note)| format!("{job}: {note}"));
            let said: Vec<String> = lines.chain(notes).collect();
            format!("{block}\n{}\n", said.join("\n"))
        });
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    }
}
