//! Notes for the report of a job.

use std::cell::RefCell;

/// What a reader of a job's report should know, as sentences without a capital; each once.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<Vec<String>>);

impl Notes {
    pub(super) fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut notes = self.0.borrow_mut();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.borrow().clone()
    }
}
