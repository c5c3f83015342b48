//! Remarks on a spec with another spec's policy: a remark comes from the spec that its field comes from.

use crate::spec::{NotYet, SpecWarning};

/// A remark on one field of a spec.
pub(super) trait Remark: Clone + PartialEq {
    fn field(&self) -> &str;

    /// The same remark on another field.
    fn on(&self, field: String) -> Self;
}

impl Remark for NotYet {
    fn field(&self) -> &str {
        &self.field
    }

    fn on(&self, field: String) -> Self {
        Self {
            field,
            ..self.clone()
        }
    }
}

impl Remark for SpecWarning {
    fn field(&self) -> &str {
        &self.field
    }

    fn on(&self, field: String) -> Self {
        Self {
            field,
            ..self.clone()
        }
    }
}

/// The head's remarks on the head's fields, then the base's on policy; equal remarks on policy keep the head's order. `is_known`:
/// whether both have a job.
pub(super) fn merge<R: Remark>(head: &[R], base: &[R], is_known: impl Fn(&str) -> bool) -> Vec<R> {
    let on_policy = |remark: &&R| is_policy(remark.field(), &is_known);
    let ours: Vec<&R> = base.iter().filter(on_policy).collect();
    let theirs: Vec<&R> = head.iter().filter(on_policy).collect();
    if ours == theirs {
        return head.to_vec();
    }
    let own = head.iter().filter(|remark| !on_policy(remark));
    own.chain(ours).cloned().collect()
}

/// The remarks on one job, as those on a job of another name.
pub(super) fn of_job<R: Remark>(remarks: &[R], from: &str, to: &str) -> Vec<R> {
    let renamed = |remark: &R| {
        let (job, rest) = first(remark.field().strip_prefix("jobs.")?);
        let field = format!("jobs.{to}.{rest}");
        (job == from).then(|| remark.on(field.trim_end_matches('.').to_owned()))
    };
    remarks.iter().filter_map(renamed).collect()
}

/// Whether a field such as `jobs.churn.budget.cost` or `overrides[0]` is policy.
fn is_policy(field: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let Some(rest) = field.strip_prefix("jobs.") else {
        return matches!(
            first(field).0,
            "backend"
                | "region"
                | "history"
                | "prices"
                | "overrides"
                | "allowed_instances"
                | "strict"
                | "on_inconclusive"
        );
    };
    let (job, rest) = first(rest);
    let (block, key) = first(rest);
    let (key, _) = first(key);
    is_known(job)
        && match block {
            "budget" | "drift" => true,
            "training" => matches!(
                key,
                "role"
                    | "output"
                    | "volume_kms_key"
                    | "output_kms_key"
                    | "checkpoints"
                    | "subnets"
                    | "security_groups"
                    | "network_isolation"
                    | "encrypt_traffic"
                    | "registry_credentials"
                    | "training_plan"
                    | "tags"
            ),
            "canary" => matches!(
                key,
                "design"
                    | "fractions"
                    | "replicates"
                    | "reuse"
                    | "spend_limit"
                    | "max_share"
                    | "max_runtime"
                    | "parallel"
                    | "warm_pool"
                    | "training_plan"
                    | "probe"
            ),
            _ => false,
        }
}

/// The first part of a field path and what is behind it, an index of a list included.
fn first(field: &str) -> (&str, &str) {
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let rest = &field[end..];
    (&field[..end], rest.strip_prefix('.').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_is_recognized_by_its_field() {
        for field in [
            "history",
            "overrides[0].up_to",
            "prices.local",
            "jobs.churn.budget",
            "jobs.churn.budget.cost_increase",
            "jobs.churn.training.tags.team",
            "jobs.churn.training.subnets[1]",
            "jobs.churn.canary.warm_pool",
            "jobs.churn.canary.reuse",
            "jobs.churn.canary.fractions[0]",
            "jobs.churn.drift.max",
        ] {
            assert!(is_policy(field, |job| job == "churn"), "{field}");
        }
        for field in [
            "",
            "recording",
            "jobs.churn.instance",
            "jobs.churn.paths[0]",
            "jobs.churn.training.image",
            "jobs.churn.training.metrics.step",
            "jobs.churn.canary.seed",
            "jobs.other.budget.cost",
        ] {
            assert!(!is_policy(field, |job| job == "churn"), "{field}");
        }
    }
}
