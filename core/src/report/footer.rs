//! The first line of a report and its last: what it is, and what it was made from.

use super::text::Prose;
use super::{Policy, Report};

/// The digits that are shown of a spec's hash.
const HASH_DIGITS: usize = 4;

/// What a comment says of its run above and below all else.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportStamp {
    /// As [`Report::subject`].
    pub subject: Option<String>,
    pub commit: Option<String>,
    pub run_url: Option<String>,
    pub policy: Option<Policy>,
}

/// What stands above the verdict, in small letters: `canary-gate · forecast of one full training run · canary-gate.yml`.
pub(super) fn opening(subject: Option<&str>) -> Prose {
    let tool = [
        Prose::name("canary-gate"),
        Prose::own("forecast of one full training run"),
    ];
    Prose::joined(tool.into_iter().chain(subject.map(Prose::name)), " · ")
}

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
pub(super) fn of_run(stamp: &ReportStamp) -> Prose {
    let version = env!("CARGO_PKG_VERSION");
    line(&stamp.commit, None, &stamp.policy, version, &stamp.run_url)
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
    let source = [Prose::short(policy.source.as_str())].into_iter();
    let from = Prose::joined(source.chain(commit), " ");
    Prose::fill("policy from {}", [from])
}
