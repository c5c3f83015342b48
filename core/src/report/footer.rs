//! The first line of a report and its last: what it is, and what it was made from.

use super::{Policy, Prose, Report};

/// The digits that are shown of a spec's hash.
const HASH_DIGITS: usize = 4;

/// What stands above the verdict, in small letters: `canary-gate · forecast of one full training run · canary-gate.yml`.
pub(super) fn opening(report: &Report) -> Prose {
    let tool = [
        Prose::name("canary-gate"),
        Prose::own("forecast of one full training run"),
    ];
    let subject = report.subject.as_deref().map(Prose::name);
    Prose::joined(tool.into_iter().chain(subject), " · ")
}

/// Commit, spec, policy, version, run.
pub(super) fn footer(report: &Report) -> Prose {
    let spec = report.spec_hash.as_ref().map(|hash| {
        let short: String = hash.chars().take(HASH_DIGITS).collect();
        Prose::fill("spec {}", [Prose::short(short)])
    });
    let version = Prose::short(report.tool_version.as_str());
    let parts = [
        report.commit.as_deref().map(Prose::commit),
        spec,
        report.policy.as_ref().map(policy),
        Some(Prose::fill("canary-gate {}", [version])),
        report.run_url.as_deref().and_then(Prose::run),
    ];
    Prose::joined(parts.into_iter().flatten(), " · ")
}

/// `policy from main a1b2c3d`
fn policy(policy: &Policy) -> Prose {
    let commit = policy.sha.as_deref().map(Prose::commit);
    let source = [Prose::short(policy.source.as_str())].into_iter();
    let from = Prose::joined(source.chain(commit), " ");
    match policy.extends.as_deref() {
        Some(extends) => Prose::fill("policy from {}, under {}", [from, Prose::name(extends)]),
        None => Prose::fill("policy from {}", [from]),
    }
}
