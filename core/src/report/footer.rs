//! The last line of a report: what it was made from.

use super::text::Prose;
use super::{Policy, Report};

/// The digits that are shown of a spec's hash.
const HASH_DIGITS: usize = 4;

/// Commit, spec, policy, version, run.
pub(super) fn footer(report: &Report) -> Prose {
    line(
        report.commit.as_deref(),
        report.spec_hash.as_deref(),
        report.policy.as_ref(),
        &report.tool_version,
        report.run_url.as_deref(),
    )
}

/// The same of a run that has no report yet.
pub(super) fn of_run(
    commit: Option<&str>,
    policy: Option<&Policy>,
    run_url: Option<&str>,
) -> Prose {
    line(commit, None, policy, env!("CARGO_PKG_VERSION"), run_url)
}

fn line(
    commit: Option<&str>,
    spec_hash: Option<&str>,
    policy: Option<&Policy>,
    version: &str,
    run_url: Option<&str>,
) -> Prose {
    let spec = spec_hash.map(|hash| {
        let short: String = hash.chars().take(HASH_DIGITS).collect();
        Prose::fill("spec {}", [Prose::short(short)])
    });
    let parts = [
        commit.map(Prose::commit),
        spec,
        policy.map(self::policy),
        Some(Prose::fill("canary-gate {}", [Prose::short(version)])),
        run_url.and_then(Prose::run),
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
