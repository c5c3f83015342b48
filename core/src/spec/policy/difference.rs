//! Each difference between the base's fields and the head's, in a sentence that names both values.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::spec::field::{Field, Whose};
use crate::spec::reader::cut;

/// More than anyone reads of one job.
const MOST_NOTES: usize = 40;
/// A value is cut after this many characters.
const LONGEST_VALUE: usize = 200;

/// Stands for a value that is not set.
const NONE: &str = "none";
const UNCOMPARED: &str = "No record says what the base takes.";

/// The sentences so far.
#[derive(Debug, Default)]
pub(super) struct Differences {
    notes: Vec<String>,
    /// Sentences that count where no record of the base says more.
    pub(super) uncompared: Vec<String>,
}

impl Differences {
    pub(super) fn say(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(super) fn into_notes(mut self) -> Vec<String> {
        let further = self.notes.len().saturating_sub(MOST_NOTES);
        self.notes.truncate(MOST_NOTES);
        if further > 0 {
            let more = format!("This pull request changes policy in {further} more places.");
            self.notes.push(more);
        }
        self.notes
    }

    /// What differs between two lists of fields, in the order of the base's, then what only the head has.
    pub(super) fn compare(&mut self, base: &[Field], head: &[Field]) {
        let (ours, theirs) = (by_path(base), by_path(head));
        for field in base {
            self.compare_one(Some(field), theirs.get(field.path.as_str()).copied());
        }
        let is_new = |field: &&Field| !ours.contains_key(field.path.as_str());
        for field in head.iter().filter(is_new) {
            self.compare_one(None, Some(field));
        }
    }

    fn compare_one(&mut self, base: Option<&Field>, head: Option<&Field>) {
        let words = |field: Option<&Field>| field.map_or(NONE, |field| &field.words).to_owned();
        let (from, to) = (words(base), words(head));
        // A secret's words are the same whatever it is: its change is not said.
        let Some(field) = head.or(base).filter(|_| from != to) else {
            return;
        };
        let is_written = |field: &Field| field.value.is_some();
        // A part that is new, such as a channel, changes nothing by its defaults.
        if base.xor(head).is_some_and(|field| !is_written(field)) {
            return;
        }
        let name = &field.name;
        let [from, to] = [from, to].map(|value| cut(&value, LONGEST_VALUE));
        let changes = format!("changes {name} from {from} to {to}");
        match field.rule.whose {
            Whose::Head => {}
            Whose::Named(means) => self.say(format!("This pull request {changes}. {means}")),
            Whose::Uncompared => {
                (self.uncompared).push(format!("This pull request {changes}. {UNCOMPARED}"));
            }
            Whose::Base => {
                let does = match (base, head) {
                    (None, _) => format!("sets {name} to {to}"),
                    (_, None) => format!("takes away {name}, {from}"),
                    (Some(base), Some(head)) => match base.amount.partial_cmp(&head.amount) {
                        Some(Ordering::Less) => format!("raises {name} from {from} to {to}"),
                        Some(Ordering::Greater) => format!("lowers {name} from {from} to {to}"),
                        _ => changes,
                    },
                };
                self.say(format!("This pull request {does} (counts when merged)."));
            }
        }
    }
}

fn by_path(fields: &[Field]) -> BTreeMap<&str, &Field> {
    let fields = fields.iter();
    fields.map(|field| (field.path.as_str(), field)).collect()
}
