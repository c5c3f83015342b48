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

#[cfg(test)]
mod tests {
    use super::super::{markdown, terminal};
    use super::*;

    fn changed(field: &str, before: Option<&str>, now: Option<&str>) -> ChangedSetting {
        ChangedSetting {
            field: field.to_owned(),
            before: before.map(str::to_owned),
            now: now.map(str::to_owned),
        }
    }

    #[test]
    fn each_change_has_both_values_and_hostile_ones_are_shown_literally() {
        let all = [
            changed("a", Some("10"), Some("20")),
            changed("b", None, Some("`x` @team")),
            changed("c", Some("1"), None),
        ];
        let clause = |changed: &[ChangedSetting]| clause(changed).unwrap();
        assert_eq!(
            terminal::inline(&clause(&all)),
            "a changed from 10 to 20, b is new (`x` @team) and c is gone (before 1)"
        );
        assert!(!markdown::inline(&clause(&all)).contains(" @team"));
        let many: Vec<ChangedSetting> = (0..9).flat_map(|_| all[..1].to_vec()).collect();
        assert!(terminal::inline(&clause(&many)).ends_with("a changed from 10 to 20 and 5 more"));
        assert_eq!(super::clause(&[]), None);
    }
}
