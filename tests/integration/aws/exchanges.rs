//! Every request and every answer, written down to be judged by AWS's own model (`tests/aws/check_exchanges.py`).

use serde_json::{Value, json};

use super::operation::Operation;
use crate::fake::Record;

/// What one fake was asked and answered.
#[derive(Debug)]
pub(super) struct Exchanges(Record);

impl Exchanges {
    pub(super) fn start() -> Self {
        Self(Record::start("aws-exchanges"))
    }

    /// Writes a request down, keys as on the wire.
    pub(super) fn input(&self, operation: Operation, input: &Value) {
        self.write(operation, "input", input);
    }

    /// Writes an answer down; one without a body has nothing to judge.
    pub(super) fn output(&self, operation: Operation, output: &Value) {
        if !output.is_null() {
            self.write(operation, "output", output);
        }
    }

    fn write(&self, operation: Operation, direction: &str, value: &Value) {
        self.0.write(&json!({
            "service": operation.service(),
            "operation": operation.name(),
            direction: value,
        }));
    }
}
