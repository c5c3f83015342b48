//! The last line of a report: what it was made from.

use super::text::Prose;
use super::{Policy, Report};

const BETWEEN: &str = " · ";

/// Of the hash of a spec.
const HASH_DIGITS: usize = 4;

/// Commit, spec, policy, version, run.
pub(super) fn footer(report: &Report) -> Prose {
    let spec = report.spec_hash.as_ref().map(|hash| {
        let short: String = hash.chars().take(HASH_DIGITS).collect();
        Prose::fill("spec {}", [Prose::short(short)])
    });
    let commit = report.commit.as_deref();
    let parts = [
        commit.map(Prose::commit),
        spec,
        report.policy.as_ref().map(policy),
        Some(version(&report.tool_version)),
        report.run_url.as_deref().and_then(Prose::run),
    ];
    Prose::joined(parts.into_iter().flatten(), BETWEEN)
}

/// The same of a run that has no report yet.
pub(super) fn of_run(
    commit: Option<&str>,
    policy: Option<&Policy>,
    run_url: Option<&str>,
) -> Prose {
    let parts = [
        commit.map(Prose::commit),
        policy.map(self::policy),
        Some(version(env!("CARGO_PKG_VERSION"))),
        run_url.and_then(Prose::run),
    ];
    Prose::joined(parts.into_iter().flatten(), BETWEEN)
}

fn version(version: &str) -> Prose {
    Prose::fill("canary-gate {}", [Prose::short(version)])
}

/// `policy from main a1b2c3d`
fn policy(policy: &Policy) -> Prose {
    let commit = policy.sha.as_deref().map(Prose::commit);
    let from = [Prose::short(policy.source.as_str())]
        .into_iter()
        .chain(commit);
    Prose::fill("policy from {}", [Prose::joined(from, " ")])
}
