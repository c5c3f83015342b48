//! **Policy from the base**: what a change may not decide for itself is taken from the spec of the base.
//!
//! A spec holds the change under test (code, data, instance) and the policy for it (budgets, limits, roles).
//! [`apply_base_policy`] takes the first from the head and the second from the base, and reports every difference, so that a
//! raise is visible and takes effect only when it is merged.

mod difference;
mod job;
mod remarks;
mod rename;

use rename::RenamedJob;
pub use rename::follow_renames;

use std::collections::{BTreeMap, BTreeSet};

use super::{BackendKind, Job, Override, Spec};
use crate::instance::InstanceType;
use crate::spec::field::{Field, FieldRule, HasFields, Whose, below, fields_of};
use crate::units::Usd;
use difference::Differences;

/// A spec with the base's policy, and the notes about it.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedPolicy {
    pub spec: Spec,
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
    /// Jobs that are not in the base: their policy is the head's own, and the cost of their canaries is capped.
    pub new_jobs: Vec<String>,
}

impl AppliedPolicy {
    fn of(spec: Spec, notes: Vec<String>) -> Self {
        Self {
            spec,
            notes,
            job_notes: BTreeMap::new(),
            uncompared_notes: BTreeMap::new(),
            removed_jobs: Vec::new(),
            renamed_from: BTreeMap::new(),
            new_jobs: Vec::new(),
        }
    }
}

/// Why the base's policy cannot be applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BasePolicyError {
    /// The jobs of one backend cannot run under the policy of another. The outcome is unknown until the change is merged.
    #[error(
        "the backend changes from {base} to {head}, so the base's policy does not apply to this change"
    )]
    BackendChanged {
        base: BackendKind,
        head: BackendKind,
    },
    /// The head requests something that the base's policy does not allow: the field and why, never empty.
    #[error("{}", sentence(.0))]
    NotAllowed(Vec<String>),
}

impl BasePolicyError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::BackendChanged { .. } => {
                "review the spec by hand and merge the change of `backend` by itself; the next change is judged again"
            }
            Self::NotAllowed(_) => {
                "the base's policy applies: merge the change of policy by itself first, or use what is allowed"
            }
        }
    }
}

/// The first problems on one line.
fn sentence(problems: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = problems.iter().take(SHOWN).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join("; ");
    match problems.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// The head's spec under the base's policy. Both specs are as read, without overrides applied.
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
) -> Result<AppliedPolicy, BasePolicyError> {
    let Some(base) = base else {
        return Ok(head_policy_with_cap(head, cap, is_listed));
    };
    if base.backend != head.backend {
        return Err(BasePolicyError::BackendChanged {
            base: base.backend,
            head: head.backend,
        });
    }
    let (base, renamed) = &follow_renames(head, base);
    let (own_fields, base_fields) = (fields_of(head), fields_of(base));
    let mut whole = Differences::default();
    whole.compare(&base_fields, &own_fields);
    let mut policy = PolicyKeys::default();
    policy.add("", &base_fields, &own_fields);
    let mut spec = head.clone();
    spec.take_base(base, FieldRule::EACH);
    let known: BTreeMap<&str, &Job> = by_name(base);
    let is_new = |job: &&Job| !known.contains_key(job.name.as_str());
    let share = share(cap, head.jobs.iter().filter(is_new).count());
    let mut applied = AppliedPolicy::of(spec, whole.into_notes());
    let names = |renamed: &RenamedJob| (renamed.to.clone(), renamed.from.clone());
    applied.renamed_from = renamed.iter().map(names).collect();
    for job in &mut applied.spec.jobs {
        let mut differences = Differences::default();
        let name = job.name.as_str();
        match known.get(name) {
            Some(from) => {
                let renamed = renamed.iter().find(|renamed| renamed.to == name);
                if let Some(renamed) = renamed {
                    differences.say(renamed.note());
                }
                let own_fields = job::fields(job, &head.overrides);
                let base_fields = job::fields(from, &base.overrides);
                policy.add(&format!("jobs.{name}"), &base_fields, &own_fields);
                job::apply_base_policy(job, from, base_fields, own_fields, &mut differences);
            }
            None => {
                applied.new_jobs.push(job.name.clone());
                differences.say(cap_spend(job, share));
                let overrides: Vec<Field> = Override::fields(&head.overrides, &job.name).collect();
                differences.compare(&[], &overrides);
            }
        }
        let uncompared = std::mem::take(&mut differences.uncompared);
        (applied.uncompared_notes).insert(job.name.clone(), uncompared);
        let notes = differences.into_notes();
        if !notes.is_empty() {
            applied.job_notes.insert(job.name.clone(), notes);
        }
    }
    let kept: BTreeSet<&str> = head.jobs.iter().map(|job| job.name.as_str()).collect();
    let removed = base
        .jobs
        .iter()
        .filter(|job| !kept.contains(job.name.as_str()))
        .filter(|job| !renamed.iter().any(|renamed| renamed.from == job.name));
    applied
        .removed_jobs
        .extend(removed.map(|job| job.name.clone()));
    let is_policy = |field: &str| policy.has(field);
    applied.spec.warnings = remarks::merge(&head.warnings, &base.warnings, is_policy);
    let problems = job::not_allowed(&applied.spec);
    if problems.is_empty() {
        Ok(applied)
    } else {
        Err(BasePolicyError::NotAllowed(problems))
    }
}

/// The paths whose values are the base's.
#[derive(Default)]
struct PolicyKeys(BTreeSet<String>);

impl PolicyKeys {
    fn add(&mut self, place: &str, base: &[Field], head: &[Field]) {
        let all = base.iter().chain(head);
        let ours = all.filter(|field| field.rule.whose == Whose::Base);
        self.0.extend(ours.map(|field| below(place, &field.path)));
        // A block stands for all of its keys.
        let block = if place.is_empty() {
            "overrides"
        } else {
            "budget"
        };
        self.0.insert(below(place, block));
    }

    /// Whether a field such as `jobs.churn.budget.cost` or `overrides[0]` is one of these, or lies in one.
    fn has(&self, field: &str) -> bool {
        let ends = field.match_indices(['.', '[']).map(|(end, _)| end);
        ends.chain([field.len()])
            .any(|end| self.0.contains(&field[..end]))
    }
}

/// The head's own policy, with a cap on the cost of canaries.
fn head_policy_with_cap(
    head: &Spec,
    cap: Usd,
    is_listed: &dyn Fn(&InstanceType) -> bool,
) -> AppliedPolicy {
    let mut spec = head.clone();
    let mut dropped = Vec::new();
    for prices in [&mut spec.prices, &mut spec.spot_prices] {
        prices.retain(|kind, price| {
            let is_dropped = is_listed(kind);
            if is_dropped {
                dropped.push(format!("{kind} ({} USD/h)", price.0));
            }
            !is_dropped
        });
    }
    let notes = if dropped.is_empty() {
        Vec::new()
    } else {
        vec![format!(
            "No spec of the base confirms the prices that this pull request sets for {}; AWS's own prices are used.",
            dropped.join(", ")
        )]
    };
    let mut applied = AppliedPolicy::of(spec, notes);
    let share = share(cap, applied.spec.jobs.len());
    for job in &mut applied.spec.jobs {
        let note = cap_spend(job, share);
        applied.job_notes.insert(job.name.clone(), vec![note]);
        applied.new_jobs.push(job.name.clone());
    }
    applied
}

/// Each job's share of a common limit: more jobs do not get more money.
fn share(together: Usd, jobs: usize) -> Usd {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a spec has far fewer jobs than 2^52"
    )]
    let jobs = jobs.max(1) as f64;
    Usd(together.0 / jobs)
}

/// Caps the cost of the canaries of a job that is not in the base, and returns the note about it.
fn cap_spend(job: &mut Job, cap: Usd) -> String {
    let asked = job.canary.spend_limit;
    let limit = if asked > cap { cap } else { asked };
    job.canary.spend_limit = limit;
    let rather = if asked > cap {
        format!(", not the {} that it asks for", asked.exact())
    } else {
        String::new()
    };
    format!(
        "This job is not in the base, so this pull request's own policy applies; its canaries may cost at most {}{rather}.",
        limit.exact()
    )
}

fn by_name(spec: &Spec) -> BTreeMap<&str, &Job> {
    let jobs = spec.jobs.iter();
    jobs.map(|job| (job.name.as_str(), job)).collect()
}

#[cfg(test)]
mod tests;
