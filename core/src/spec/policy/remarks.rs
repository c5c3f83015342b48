//! Warnings on a spec with another spec's policy: a warning comes from the spec that its field comes from.

use crate::spec::SpecWarning;

/// The head's warnings on the head's fields, then the base's on policy; equal ones on policy keep the head's order.
pub(super) fn merge(
    head: &[SpecWarning],
    base: &[SpecWarning],
    is_policy: impl Fn(&str) -> bool,
) -> Vec<SpecWarning> {
    let on_policy = |warning: &&SpecWarning| is_policy(&warning.field);
    let ours: Vec<_> = base.iter().filter(on_policy).collect();
    let theirs: Vec<_> = head.iter().filter(on_policy).collect();
    if ours == theirs {
        return head.to_vec();
    }
    let own = head.iter().filter(|warning| !on_policy(warning));
    own.chain(ours).cloned().collect()
}

/// The warnings on one job, as those on a job of another name.
pub(super) fn of_job(warnings: &[SpecWarning], from: &str, to: &str) -> Vec<SpecWarning> {
    let renamed = |warning: &SpecWarning| {
        let rest = warning.field.strip_prefix("jobs.")?.strip_prefix(from)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then(|| SpecWarning {
            field: format!("jobs.{to}{rest}"),
            message: warning.message.clone(),
        })
    };
    warnings.iter().filter_map(renamed).collect()
}
