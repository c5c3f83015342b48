//! The last line of a report: what it was made from.

use super::escape::for_markdown;
use super::{Policy, Report};

/// Of each part of the last line, which overlaps itself on GitHub where it needs a second one.
const FOOTER_LIMIT: usize = 30;

/// Commit, spec, policy, version, run.
pub(super) fn footer(report: &Report) -> String {
    let mut parts = Vec::new();
    if let Some(commit) = &report.commit {
        parts.push(commit_reference(commit));
    }
    if let Some(hash) = &report.spec_hash {
        parts.push(format!(
            "spec {}",
            for_markdown(&short(hash, 4), FOOTER_LIMIT)
        ));
    }
    parts.extend(report.policy.as_ref().map(policy));
    parts.push(format!(
        "canary-gate {}",
        for_markdown(&report.tool_version, FOOTER_LIMIT)
    ));
    parts.extend(report.run_url.as_deref().and_then(run_link));
    parts.join(" · ")
}

/// `policy from main a1b2c3d`
pub(super) fn policy(policy: &Policy) -> String {
    let mut from = format!("policy from {}", for_markdown(&policy.source, FOOTER_LIMIT));
    if let Some(sha) = &policy.sha {
        from.push(' ');
        from.push_str(&commit_reference(sha));
    }
    from
}

/// GitHub links a commit by itself, which is welcome here.
pub(super) fn commit_reference(sha: &str) -> String {
    let sha = short(sha, 7);
    if sha.chars().all(|c| c.is_ascii_hexdigit()) {
        sha
    } else {
        for_markdown(&sha, FOOTER_LIMIT)
    }
}

fn short(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// A link to the run, named by the last part of its address. `None` for what is not a plain https address: a stored
/// report may be anybody's.
pub(super) fn run_link(url: &str) -> Option<String> {
    let path = url.strip_prefix("https://")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/.-_".contains(c);
    if !path.chars().all(plain) || path.len() > 300 {
        return None;
    }
    let number = path.rsplit('/').find(|part| !part.is_empty())?;
    Some(format!(
        "[run {}](https://{path})",
        for_markdown(number, 20)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_address_becomes_a_link() {
        assert_eq!(
            run_link("https://github.com/example/models/actions/runs/4821/").as_deref(),
            Some("[run 4821](https://github.com/example/models/actions/runs/4821/)")
        );
        for url in [
            "javascript:alert(1)",
            "https://x) [y](https://z",
            "http://x/1",
            "https://",
        ] {
            assert_eq!(run_link(url), None, "{url}");
        }
    }
}
