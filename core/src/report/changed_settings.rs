//! The settings of a job that are others than before, as a sentence.

use super::text::Prose;
use crate::spec::ChangedSetting;

/// Others are counted.
const SHOWN: usize = 4;

/// `training.hyperparameters.epochs changed from 10 to 20`, and more of them; `None` where nothing changed. Without a full stop.
pub(super) fn clause(changed: &[ChangedSetting]) -> Option<Prose> {
    Prose::list(Prose::first_of(changed.iter().map(one), SHOWN).collect())
}

fn one(changed: &ChangedSetting) -> Prose {
    let field = Prose::name(&changed.field);
    let [before, now] =
        [&changed.before, &changed.now].map(|value| value.as_ref().map(Prose::name));
    match (before, now) {
        (Some(before), Some(now)) => Prose::fill("{} changed from {} to {}", [field, before, now]),
        (None, Some(now)) => Prose::fill("{} is new ({})", [field, now]),
        (Some(before), None) => Prose::fill("{} is gone (before {})", [field, before]),
        (None, None) => Prose::fill("{} changed", [field]),
    }
}
