//! The last line of a report: what it was made from.

use super::text::Prose;
use super::{Policy, Report};

/// The digits that are shown of a spec's hash.
const HASH_DIGITS: usize = 4;

/// Commit, spec, policy, version, run.
pub(super) fn footer(report: &Report) -> Prose {
    let Report {
        commit,
        spec_hash,
        policy,
        tool_version,
        run_url,
        ..
    } = report;
    let spec = spec_hash.as_ref().map(|hash| {
        let short: String = hash.chars().take(HASH_DIGITS).collect();
        Prose::fill("spec {}", [Prose::short(short)])
    });
    line(commit, spec, policy, tool_version, run_url)
}

/// The same of a run that has no report yet.
pub(super) fn of_run(
    commit: &Option<String>,
    policy: &Option<Policy>,
    run_url: &Option<String>,
) -> Prose {
    line(commit, None, policy, env!("CARGO_PKG_VERSION"), run_url)
}

fn line(
    commit: &Option<String>,
    spec: Option<Prose>,
    policy: &Option<Policy>,
    version: &str,
    run_url: &Option<String>,
) -> Prose {
    let parts = [
        commit.as_deref().map(Prose::commit),
        spec,
        policy.as_ref().map(self::policy),
        Some(Prose::fill("canary-gate {}", [Prose::short(version)])),
        run_url.as_deref().and_then(Prose::run),
    ];
    Prose::joined(parts.into_iter().flatten(), " · ")
}

/// `policy from main a1b2c3d`
fn policy(policy: &Policy) -> Prose {
    let commit = policy.sha.as_deref().map(Prose::commit);
    let from = [Prose::short(policy.source.as_str())]
        .into_iter()
        .chain(commit);
    Prose::fill("policy from {}", [Prose::joined(from, " ")])
}
