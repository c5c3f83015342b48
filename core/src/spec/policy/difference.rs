//! Each difference between the base's policy and the head's, in a sentence that names both.

use std::collections::BTreeMap;

use crate::instance::InstanceType;
use crate::spec::{OnInconclusive, Override};
use crate::units::UsdPerHour;

/// More than anyone reads of one job.
const MOST_NOTES: usize = 40;
/// A value is cut after this many characters.
const LONGEST_VALUE: usize = 200;

/// Stands for a value that is not set.
const NONE: &str = "none";

/// The sentences so far.
#[derive(Debug, Default)]
pub(super) struct Differences {
    notes: Vec<String>,
    /// Sentences beyond [`MOST_NOTES`], only counted.
    further: usize,
}

impl Differences {
    pub(super) fn say(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        } else {
            self.further += 1;
        }
    }

    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.further > 0 {
            self.notes.push(format!(
                "This pull request changes policy in {} more places.",
                self.further
            ));
        }
        self.notes
    }

    /// The base's value; a difference is said.
    pub(super) fn take<T: PartialEq + Clone>(
        &mut self,
        what: &str,
        base: &T,
        head: &T,
        words: impl Fn(&T) -> String,
    ) -> T {
        if base != head {
            self.changes("changes", what, &words(base), &words(head));
        }
        base.clone()
    }

    /// The base's value of what can be more or less.
    pub(super) fn take_amount<T: PartialOrd + Clone>(
        &mut self,
        what: &str,
        base: &T,
        head: &T,
        words: impl Fn(&T) -> String,
    ) -> T {
        if base != head {
            let verb = if head > base { "raises" } else { "lowers" };
            self.changes(verb, what, &words(base), &words(head));
        }
        base.clone()
    }

    /// The head's value, of what is the change under test; a difference is named, with what it means.
    pub(super) fn name<T: PartialEq>(
        &mut self,
        what: &str,
        base: &T,
        head: T,
        words: impl Fn(&T) -> String,
        means: &str,
    ) -> T {
        if *base != head {
            let (from, to) = (cut(&words(base)), cut(&words(&head)));
            self.say(format!(
                "This pull request changes {what} from {from} to {to}. {means}"
            ));
        }
        head
    }

    /// Paths that do not have all that the base's have: a change to the others would be checked no longer.
    pub(super) fn paths(&mut self, base: &[String], head: &[String]) {
        let everything = ["**".to_owned()];
        let written = |paths: &[String]| match paths {
            [] => everything.to_vec(),
            paths => paths.to_vec(),
        };
        let (base, head) = (written(base), written(head));
        let adds = |path: &String| !path.starts_with('!');
        // What is added after all of the base's and excludes nothing only widens.
        let is_wider = head.starts_with(&base) && head[base.len()..].iter().all(adds);
        if !is_wider {
            let (from, to) = (cut(&list(&base)), cut(&list(&head)));
            self.say(format!(
                "This pull request changes `paths` from {from} to {to}. Until it is merged both count."
            ));
        }
    }

    pub(super) fn changes(&mut self, verb: &str, what: &str, base: &str, head: &str) {
        let (base, head) = (cut(base), cut(head));
        self.say(match (base.as_str(), head.as_str()) {
            (NONE, head) => {
                format!("This pull request sets {what} to {head} (counts when merged).")
            }
            (base, NONE) => {
                format!("This pull request takes away {what}, {base} (counts when merged).")
            }
            (base, head) => format!(
                "This pull request {verb} {what} from {base} to {head} (counts when merged)."
            ),
        });
    }

    pub(super) fn prices(
        &mut self,
        name: &str,
        base: &BTreeMap<InstanceType, UsdPerHour>,
        head: &BTreeMap<InstanceType, UsdPerHour>,
    ) -> BTreeMap<InstanceType, UsdPerHour> {
        let words = |price: &Option<&UsdPerHour>| {
            price.map_or_else(|| NONE.to_owned(), |price| format!("{} USD/h", price.0))
        };
        let added = head.keys().filter(|kind| !base.contains_key(*kind));
        for kind in base.keys().chain(added) {
            let what = format!("the {name} of {kind}");
            match (base.get(kind), head.get(kind)) {
                (Some(base), Some(head)) => {
                    self.take_amount(&what, base, head, |price| words(&Some(price)));
                }
                (base, head) => {
                    self.take(&what, &base, &head, words);
                }
            }
        }
        base.clone()
    }

    /// Overrides of one job: those of the base count.
    pub(super) fn overrides(&mut self, base: &[&Override], head: &[&Override]) {
        for theirs in head {
            let line = theirs.budget.words();
            let to = ceiling(theirs);
            match base.iter().find(|ours| ours.budget == theirs.budget) {
                None => self.say(format!(
                    "This pull request adds an override of the {line} budget, {to} (counts when merged)."
                )),
                Some(ours) if ours == theirs => {}
                Some(ours) => {
                    let what = format!("the override of the {line} budget");
                    self.take(&what, &ceiling(ours), &to, String::clone);
                    let what = format!("the reason of {what}");
                    self.take(&what, &ours.reason, &theirs.reason, String::clone);
                }
            }
        }
        for ours in base {
            if !head.iter().any(|theirs| theirs.budget == ours.budget) {
                self.say(format!(
                    "This pull request takes away the override of the {} budget, {} (counts when merged).",
                    ours.budget.words(),
                    ceiling(ours),
                ));
            }
        }
    }
}

/// Overrides by the job that they name.
pub(super) fn by_job(overrides: &[Override]) -> BTreeMap<&str, Vec<&Override>> {
    let mut by_job: BTreeMap<&str, Vec<&Override>> = BTreeMap::new();
    for one in overrides {
        by_job.entry(one.job.as_str()).or_default().push(one);
    }
    by_job
}

fn ceiling(agreed: &Override) -> String {
    let up_to = agreed.budget.exact(agreed.up_to.number);
    format!("{up_to} until {}", agreed.until)
}

pub(super) fn optional(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| NONE.to_owned())
}

pub(super) fn list(items: &[String]) -> String {
    if items.is_empty() {
        NONE.to_owned()
    } else {
        items.join(", ")
    }
}

pub(super) fn on_inconclusive(choice: OnInconclusive) -> &'static str {
    match choice {
        OnInconclusive::Fail => "fail",
        OnInconclusive::Pass => "pass",
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
