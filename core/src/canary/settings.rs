//! What a run's script is handed beside its data: the spec's settings with the run's share and work level in their places.

use super::{HandedShare, WorkLevel};
use crate::spec::{SharePlace, Training};

/// Name and value of every hyperparameter of a run, in the order of the spec; a share that is not among them comes last.
///
/// Of the work's it has this run's level. A text that says the level already stays as it was written.
pub fn hyperparameters(
    training: &Training,
    share: Option<&HandedShare>,
    work: Option<&WorkLevel>,
) -> Vec<(String, String)> {
    let is_here = |share: &&HandedShare| matches!(share.place, SharePlace::Hyperparameter(_));
    let mut handed = with_share(&training.hyperparameters, share.filter(is_here));
    if let Some(work) = work {
        let own = handed.iter_mut();
        for (_, value) in own.filter(|(name, _)| *name == work.hyperparameter) {
            if value.parse() != Ok(work.level) {
                *value = work.text();
            }
        }
    }
    handed
}

/// Name and value of every variable of a run that the spec writes, or that holds its share.
pub fn environment(training: &Training, share: Option<&HandedShare>) -> Vec<(String, String)> {
    let is_here = |share: &&HandedShare| matches!(share.place, SharePlace::Environment(_));
    with_share(&training.environment, share.filter(is_here))
}

fn with_share(written: &[(String, String)], share: Option<&HandedShare>) -> Vec<(String, String)> {
    let mut handed = written.to_vec();
    let Some(share) = share else {
        return handed;
    };
    let name = share.place.name();
    let place = handed.iter().position(|(known, _)| known == name);
    match (place, &share.value) {
        (Some(index), Some(value)) => handed[index].1.clone_from(value),
        (Some(index), None) => drop(handed.remove(index)),
        (None, Some(value)) => handed.push((name.to_owned(), value.clone())),
        (None, None) => {}
    }
    handed
}
