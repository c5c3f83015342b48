//! One job that both know: the head's work under the base's policy.

use std::collections::BTreeSet;

use super::difference::Differences;
use crate::spec::field::{FieldRule, HasFields, fields_of};
use crate::spec::{FileSystem, Job, Override, Spec, SpecProblem};

/// Gives the head's job, which both specs have, the policy of the base's.
pub(super) fn apply_base_policy(
    job: &mut Job,
    (from, [base, head]): (&Job, [&Spec; 2]),
    differences: &mut Differences,
) {
    // With the overrides of its budget.
    let [base, head] = [base, head].map(|spec| {
        let own = spec.job(&job.name).map_or_else(Vec::new, fields_of);
        let agreed = Override::fields(&spec.overrides, &job.name);
        Vec::from_iter(own.into_iter().chain(agreed))
    });
    differences.compare(&base, &head);
    job.take_base(from, FieldRule::EACH);
    // Where no time is written, the full run's own limit stands for it, and that is the head's.
    job.budget.renew_implicit_lines(job.training.max_runtime);
}

/// What of a spec is refused under another file's policy, by which each type of machine that is not `allowed` is named once of a job.
/// Its own file was valid.
pub(in crate::spec) fn not_allowed(spec: &Spec, allowed: &str) -> Vec<SpecProblem> {
    let mut problems = Vec::new();
    let is_allowed = spec.allowed();
    for job in &spec.jobs {
        let place = format!("jobs.{}", job.name);
        let mut said = BTreeSet::new();
        for (key, configuration) in job.keyed_configurations() {
            let members = configuration.members().into_iter();
            let refused =
                members.filter(|(kind, _)| !is_allowed(kind) && said.insert((*kind).clone()));
            problems.extend(refused.map(|(kind, _)| {
                let why = format!("`{kind}` is not allowed by {allowed}");
                SpecProblem::of(&format!("{place}.{key}"), why, None)
            }));
        }
        // The head's channels may not go with the base's network and output.
        let sagemaker = &job.training.sagemaker;
        let output = sagemaker.output.as_deref().unwrap_or_default();
        for channel in &job.training.channels {
            let uri = channel.uri.as_str();
            let why = if FileSystem::of_uri(uri).is_some() && !sagemaker.is_in_vpc() {
                "a file system is reached through a VPC, and the base's policy names no `subnets` and `security_groups`"
            } else if channel.holds(output) {
                "the base's `output` lies within these data, so that what canaries write would be read as data"
            } else {
                continue;
            };
            let field = format!("{place}.training.channels.{}.uri", channel.name);
            problems.push(SpecProblem::of(&field, why, None));
        }
    }
    problems
}
