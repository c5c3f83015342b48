//! Notes for the report of a job.

use std::cell::RefCell;

/// What a reader of a job's report should know, as sentences without a capital; each once.
#[derive(Debug, Default)]
pub(super) struct Notes {
    sentences: RefCell<Vec<String>>,
    lacks_probe: RefCell<Option<String>>,
}

impl Notes {
    /// Why canaries run without the probe; the first reason counts. It may stand in the report's first line, which has no quotes
    /// for code.
    pub(super) fn set_lacks_probe(&self, why: &str) {
        let mut known = self.lacks_probe.borrow_mut();
        if known.is_none() {
            *known = Some(why.to_owned());
            self.add(format!("canaries run without the probe: {why}"));
        }
    }

    pub(super) fn lacks_probe(&self) -> Option<String> {
        self.lacks_probe.borrow().clone()
    }

    pub(super) fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut notes = self.sentences.borrow_mut();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.sentences.borrow().clone()
    }
}
