//! A [`Reason`] as the JSON of a report has it: whole, and its end once more.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::verdict::Reason;

#[skip_serializing_none]
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct WrittenReason {
    /// One sentence, without the job's name: `cost is 63 USD, 13 USD above 50 USD`. May hold text of the training code.
    reason: String,
    /// The end of `reason`, after `; `, where that says what to do about it.
    what_to_do: Option<String>,
}

pub(super) fn serialize<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    let written = WrittenReason {
        reason: reason.to_string(),
        what_to_do: reason.advice.clone(),
    };
    written.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
    let WrittenReason { reason, what_to_do } = WrittenReason::deserialize(deserializer)?;
    let end = what_to_do.as_ref().map(|advice| format!("; {advice}"));
    Ok(
        match end.and_then(|end| Some(reason.strip_suffix(&end)?.to_owned())) {
            Some(why) => Reason {
                why,
                advice: what_to_do,
            },
            // Somebody edited one of the two.
            None => Reason {
                why: reason,
                advice: None,
            },
        },
    )
}
