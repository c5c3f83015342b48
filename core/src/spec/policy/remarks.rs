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

/// The head's remarks on the head's fields, then the base's on policy; equal remarks on policy keep the head's order.
pub(super) fn merge<R: Remark>(head: &[R], base: &[R], is_policy: impl Fn(&str) -> bool) -> Vec<R> {
    let on_policy = |remark: &&R| is_policy(remark.field());
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

/// The first part of a field path and what is behind it, an index of a list included.
pub(super) fn first(field: &str) -> (&str, &str) {
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let rest = &field[end..];
    (&field[..end], rest.strip_prefix('.').unwrap_or(rest))
}
