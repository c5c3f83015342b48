//! The settings of a job that are others than before, as a sentence.

use super::text::Prose;
use crate::spec::ChangedSetting;

/// Others are counted.
const SHOWN: usize = 4;

/// `training.hyperparameters.epochs changed from 10 to 20`, and more of them; `None` where nothing changed. Without a full stop.
pub(super) fn clause(changed: &[ChangedSetting]) -> Option<Prose> {
    let further = changed.len().saturating_sub(SHOWN);
    let further = (further > 0).then(|| Prose::literal(format!("{further} more")));
    let named = changed.iter().take(SHOWN).map(one);
    Prose::list(named.chain(further).collect())
}

fn one(changed: &ChangedSetting) -> Prose {
    let field = Prose::name(changed.field.as_str());
    let value = |text: &String| Prose::name(text.as_str());
    match (&changed.before, &changed.now) {
        (Some(before), Some(now)) => Prose::fill(
            "{} changed from {} to {}",
            [field, value(before), value(now)],
        ),
        (None, Some(now)) => Prose::fill("{} is new ({})", [field, value(now)]),
        (Some(before), None) => Prose::fill("{} is gone (before {})", [field, value(before)]),
        (None, None) => Prose::fill("{} changed", [field]),
    }
}
