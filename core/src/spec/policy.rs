//! **Policy from the base**: what a change may not decide for itself is taken from the spec of the base.
//!
//! A spec holds the change under test (code, data, instance) and the policy for it (budgets, limits, roles).
//! [`apply_base_policy`] takes the first from the head and the second from the base, and reports every difference, so that a
//! raise is visible and takes effect only when it is merged.

mod difference;
mod job;
mod rename;

pub(super) use job::not_allowed;
use rename::RenamedJob;
pub use rename::follow_renames;

use std::collections::BTreeMap;

use super::{BackendKind, Job, Override, Spec, SpecErrors};
use crate::instance::InstanceType;
use crate::spec::field::{Field, FieldRule, HasFields, fields_of};
use crate::units::{Usd, count_as_float};
use difference::Differences;

/// What a change does to policy, in sentences.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicyChanges {
    /// About all jobs, a sentence or two each.
    pub notes: Vec<String>,
    /// About one job's policy, by its name; jobs without notes are left out.
    pub job_notes: BTreeMap<String, Vec<String>>,
    /// The same of its training, where no record of the base is there to compare with.
    pub uncompared_notes: BTreeMap<String, Vec<String>>,
    /// Jobs of the base that the head removes, in the base's order; without renamed ones.
    pub removed_jobs: Vec<String>,
    /// The name in the base of each job that the head renames.
    pub renamed_from: BTreeMap<String, String>,
}

/// Why the base's policy cannot be applied.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BasePolicyError {
    /// The jobs of one backend cannot run under the policy of another. The outcome is unknown until the change is merged.
    #[error(
        "the backend changes from {base} to {head}, so the base's policy does not apply to this change"
    )]
    BackendChanged {
        base: BackendKind,
        head: BackendKind,
    },
    /// The head requests something that the base's policy does not allow.
    #[error(transparent)]
    NotAllowed(#[from] SpecErrors),
}

/// What to do about another backend, and about what is not allowed.
pub const MERGE_IT_ALONE: &str = "review the spec by hand and merge the change of `backend` by itself; the next change is judged again";
const USE_WHAT_IS_ALLOWED: &str =
    "the base's policy applies: merge the change of policy by itself first, or use what is allowed";

/// The head's spec under the base's policy, and what is said of it. Both specs are as read, without overrides applied.
///
/// For a job that is not in the base, or without a base, the head's own policy counts, and canaries of all such jobs together may
/// cost at most `cap`. Without a base, the head's prices of listed machines (`is_listed`) do not count: with a price near zero any
/// amount of machine time would fit under the cap.
///
/// A job that the head renames has the policy of the old name, as [`follow_renames`] finds it.
///
/// # Errors
///
/// If the backend changes, or the head requests something that the base's policy does not allow.
pub fn apply_base_policy(
    head: &Spec,
    base: Option<&Spec>,
    cap: Usd,
    is_listed: &dyn Fn(&InstanceType) -> bool,
) -> Result<(Spec, PolicyChanges), BasePolicyError> {
    let mut spec = head.clone();
    let mut changes = PolicyChanges::default();
    let (base, renamed) = match base {
        Some(base) if base.backend != head.backend => {
            return Err(BasePolicyError::BackendChanged {
                base: base.backend,
                head: head.backend,
            });
        }
        Some(base) => {
            let (base, renamed) = follow_renames(head, base);
            let mut whole = Differences::default();
            whole.compare(&fields_of(&base), &fields_of(head));
            changes.notes = whole.into_notes();
            spec.take_base(&base, FieldRule::EACH);
            spec.policy.clone_from(&base.policy);
            spec.overrides.clone_from(&base.overrides);
            let is_removed = |job: &&Job| {
                let is_renamed = renamed.iter().any(|renamed| renamed.from == job.name);
                head.job(&job.name).is_none() && !is_renamed
            };
            let removed = base.jobs.iter().filter(is_removed);
            changes.removed_jobs = removed.map(|job| job.name.clone()).collect();
            let names = |renamed: &RenamedJob| (renamed.to.clone(), renamed.from.clone());
            changes.renamed_from = renamed.iter().map(names).collect();
            (Some(base), renamed)
        }
        None => {
            changes.notes.extend(drop_prices(&mut spec, is_listed));
            (None, Vec::new())
        }
    };
    let of_base = |job: &Job| base.as_ref().and_then(|base| base.job(&job.name));
    let is_new = |job: &&Job| of_base(job).is_none();
    // More jobs do not get more money.
    let new_jobs = head.jobs.iter().filter(is_new);
    let new_jobs = Vec::from_iter(new_jobs.map(|job| format!("jobs.{}.", job.name)));
    let share = Usd(cap.0 / count_as_float(new_jobs.len().max(1)));
    // Of all else the base's own values count, which are within its policy.
    let is_added = |job: &Job| new_jobs.contains(&format!("jobs.{}.", job.name));
    let mut problems =
        (spec.policy.clone()).map_or_else(Vec::new, |policy| spec.narrow_jobs(&policy, is_added));
    for job in &mut spec.jobs {
        let mut differences = Differences::default();
        if let Some((from, base)) = of_base(job).zip(base.as_ref()) {
            for renamed in renamed.iter().filter(|renamed| renamed.to == job.name) {
                differences.say(renamed.note());
            }
            job::apply_base_policy(job, (from, [base, head]), &mut differences);
        } else {
            differences.say(cap_spend(job, share));
            if base.is_some() {
                let overrides: Vec<Field> = Override::fields(&head.overrides, &job.name).collect();
                differences.compare(&[], &overrides);
            }
        }
        let uncompared = std::mem::take(&mut differences.uncompared);
        (changes.uncompared_notes).insert(job.name.clone(), uncompared);
        let notes = differences.into_notes();
        if !notes.is_empty() {
            changes.job_notes.insert(job.name.clone(), notes);
        }
    }
    problems.extend(not_allowed(&spec, "the base's `allowed_instances`"));
    spec.file.refuse(problems, USE_WHAT_IS_ALLOWED)?;
    Ok((spec, changes))
}

/// Takes away the prices of listed machines, and says which.
fn drop_prices(spec: &mut Spec, is_listed: &dyn Fn(&InstanceType) -> bool) -> Option<String> {
    let mut dropped = Vec::new();
    for prices in [&mut spec.prices.on_demand, &mut spec.prices.spot] {
        let of_listed = prices.extract_if(.., |kind, _| is_listed(kind));
        dropped.extend(of_listed.map(|(kind, price)| format!("{kind} ({} USD/h)", price.0)));
    }
    (!dropped.is_empty()).then(|| {
        format!(
            "No spec of the base confirms the prices that this pull request sets for {}; AWS's own prices are used.",
            dropped.join(", ")
        )
    })
}

/// Caps the cost of the canaries of a job that is not in the base, and returns the note about it. Without a price no cap holds.
fn cap_spend(job: &mut Job, cap: Usd) -> String {
    job.canary.max_seconds = None;
    let asked = job.canary.spend_limit;
    let mut rather = String::new();
    if asked >= cap {
        (job.canary.spend_limit, job.is_capped) = (cap, true);
    }
    if asked > cap {
        rather = format!(
            ", not the {} that it asks for: raise `max-spend`, or merge the spec first",
            asked.exact()
        );
    }
    format!(
        "This job is not in the base, so this pull request's own policy applies; its canaries may cost at most {}{rather}.",
        job.canary.spend_limit.exact()
    )
}

#[cfg(test)]
mod tests;
