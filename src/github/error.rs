//! Why a request to GitHub, or to GitLab, failed, and what to do about it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::line::line;
use super::retry::Refusal;
use super::service::Service;

/// A failed request. Texts from the service are cut to one line and must be escaped before they are shown. No text holds the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ForgeError {
    pub kind: ForgeErrorKind,
    what: String,
    help: String,
}

/// What a caller can make of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ForgeErrorKind {
    /// It may succeed later: no answer, trouble of the server, a rate limit.
    Passing,
    /// Only from a POST, which was sent once and may have been carried out; check before sending it again.
    Unsure,
    /// The token may not.
    Forbidden,
    /// There is nothing, or not any more.
    NotFound,
    /// GitHub does not take the request as it is.
    Unprocessable,
    /// What is there is a link, or larger than what is read.
    Unreadable,
    /// Somebody must correct it.
    Other,
}

/// What is said of a refusal.
#[derive(Deserialize)]
struct KnownRefusal {
    kind: ForgeErrorKind,
    what: String,
    help: String,
}

static REFUSALS: LazyLock<HashMap<String, KnownRefusal>> = LazyLock::new(|| {
    let listed = include_str!("error/refusals.json");
    serde_json::from_str(listed).expect("a constant that tests read")
});

const REPORT: &str = "read the service's message; if the request looks wrong, this is a bug in canary-gate: please report it";

impl ForgeError {
    pub(super) fn new(kind: ForgeErrorKind, what: String, help: impl Into<String>) -> Self {
        let help = help.into();
        Self { kind, what, help }
    }

    /// What to do about it.
    pub fn help(&self) -> &str {
        &self.help
    }

    pub(super) fn settings(what: &str, expected: &str) -> Self {
        Self::new(
            ForgeErrorKind::Other,
            format!("{what} is not {expected}"),
            format!("the runner of GitHub Actions sets it: check the value of {what} in this job"),
        )
    }

    pub(super) fn event(what: String) -> Self {
        let help = "GITHUB_EVENT_PATH must name the file with the event that started the workflow; this file is not one";
        Self::new(ForgeErrorKind::Other, what, help)
    }

    pub(super) fn unsettled(what: &str) -> Self {
        Self::new(
            ForgeErrorKind::Other,
            format!("the {what} could not be brought up to date in several attempts"),
            "start the workflow again; a `concurrency` group, or a `resource_group` of GitLab's, keeps its runs from writing at the same time",
        )
    }

    pub(super) fn link(path: &str) -> Self {
        Self::new(
            ForgeErrorKind::Unreadable,
            format!("{path} is a symbolic link in that commit, and links are not followed"),
            "replace the link by the file itself",
        )
    }
}

impl Service {
    /// Of which the name is the first word.
    fn error(&self, kind: ForgeErrorKind, what: &str, help: impl Into<String>) -> ForgeError {
        ForgeError::new(kind, format!("{}{what}", self.name), help)
    }

    pub(super) fn not_reachable(&self, request: &str, reason: &str) -> ForgeError {
        let what = format!(" could not be reached for {request}: {reason}");
        let help = "run the job again; on a self-hosted runner check that the API's host can be reached, and that its certificate is known";
        self.error(ForgeErrorKind::Passing, &what, help)
    }

    pub(super) fn unsure(&self, request: &str, reason: &str) -> ForgeError {
        let what = format!(" may or may not have carried out {request}: {reason}");
        let help = "check the repository's page; the next run removes duplicates";
        self.error(ForgeErrorKind::Unsure, &what, help)
    }

    pub(super) fn malformed(&self, request: &str, reason: &str) -> ForgeError {
        let Self { name, address, .. } = self;
        let what = format!("'s answer to {request} could not be read: {}", line(reason));
        let help = format!(
            "check that {address} is the address of {name}'s API, not of a page or a proxy; then run the job again"
        );
        self.error(ForgeErrorKind::Other, &what, help)
    }

    pub(super) fn too_large(&self, request: &str, limit: usize, unit: &str) -> ForgeError {
        let what = format!("'s answer to {request} is too large: over {limit} {unit}");
        let help = "the repository or the pull request is larger than canary-gate reads; split it if you can";
        self.error(ForgeErrorKind::Unreadable, &what, help)
    }

    pub(super) fn unprocessable(&self, request: &str, message: &str) -> ForgeError {
        let what = format!(" rejected {request}: 422, {message}");
        self.error(ForgeErrorKind::Unprocessable, &what, REPORT)
    }

    /// The error of a refusal, by its status; `path` is that below the repository.
    pub(super) fn refused(
        &self,
        method: &str,
        path: &str,
        refusal: &Refusal,
        tries: u32,
    ) -> ForgeError {
        let (status, message) = (refusal.status, &refusal.message);
        let request = line(&format!("{method} {path}"));
        let needed = needed_permission(method, path);
        let until = refusal.until().map(|until| until.to_string());
        let case = match status {
            _ if refusal.is_rate_limit() && until.is_some() => "rate limit until",
            _ if refusal.is_rate_limit() => "rate limit",
            401 => "rejected token",
            403 if message.contains("locked") => "locked conversation",
            403 => "lacking permission",
            404 => "nothing there",
            // The repository has issues disabled, or the issue was deleted.
            410 if ISSUES.contains(&needed) => "no issues",
            422 => return self.unprocessable(&request, message),
            500..=599 => "server trouble",
            _ => "other",
        };
        let known = &REFUSALS[case];
        // What the service says comes last: nothing in it is a name.
        let filled = |text: &str| {
            let text = text
                .replace("<needed>", needed)
                .replace("<page>", self.status);
            let text = text.replace("<block>", &permissions_block(needed));
            let text = text.replace("<until>", until.as_deref().unwrap_or_default());
            let text = text.replace("<status>", &status.to_string());
            let text = text.replace("<tries>", &tries.to_string());
            text.replace("<request>", &request)
                .replace("<message>", message)
        };
        let may_not = self.may_not.filter(|_| matches!(status, 401 | 403 | 404));
        let help = may_not.map_or_else(|| filled(&known.help), str::to_owned);
        self.error(known.kind, &filled(&known.what), help)
    }
}

const ISSUES: [&str; 2] = ["issues: read", "issues: write"];

/// The permission that a workflow grants its token for a request; comments of a pull request have the paths of an issue's.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#permissions>
fn needed_permission(method: &str, path: &str) -> &'static str {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let is_write = method != "GET";
    match path.split('/').collect::<Vec<_>>()[..] {
        ["issues"] | ["issues", _] => ISSUES[usize::from(is_write)],
        ["statuses", _] | ["commits", _, "status"] => "statuses: write",
        ["check-runs", ..] | ["commits", _, "check-runs"] => "checks: write",
        ["issues" | "pulls", ..] if is_write => "pull-requests: write",
        ["issues" | "pulls", ..] => "pull-requests: read",
        _ => "contents: read",
    }
}

/// All that the job needs, to paste into a workflow: a job that grants one permission loses those that it does not name.
fn permissions_block(needed: &str) -> String {
    let more = match needed {
        "issues: read" | "issues: write" => "issues: write".to_owned(),
        "statuses: write" | "checks: write" => format!("pull-requests: write\n      {needed}"),
        _ => "pull-requests: write".to_owned(),
    };
    format!("    permissions:\n      contents: read\n      {more}")
}

#[cfg(test)]
mod tests {
    use super::super::service::GITHUB;
    use super::*;

    #[test]
    fn a_refusal_shows_the_permission_and_the_block_to_paste() {
        for row in [
            "GET | git/trees/abc | contents: read | pull-requests: write",
            "GET | issues/7/comments | pull-requests: read | pull-requests: write",
            "POST | issues/7/comments | pull-requests: write | pull-requests: write",
            "PATCH | issues/comments/1 | pull-requests: write | pull-requests: write",
            "GET | issues?state=open | issues: read | issues: write",
            "POST | issues | issues: write | issues: write",
            "PATCH | issues/12 | issues: write | issues: write",
            "POST | statuses/abc | statuses: write | pull-requests: write, statuses: write",
            "GET | commits/abc/check-runs?check_name=x | checks: write | pull-requests: write, checks: write",
            "PATCH | check-runs/7 | checks: write | pull-requests: write, checks: write",
        ] {
            let [method, path, needed, block] = row.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let refusal = Refusal {
                status: 403,
                ..Refusal::default()
            };
            let error = GITHUB.refused(method, path, &refusal, 1);
            let help = error.help();
            assert!(help.contains(&format!("lacks `{needed}`")), "{help}");
            let block = format!(
                "permissions:\n      contents: read\n      {}\n\n",
                block.replace(", ", "\n      ")
            );
            assert!(help.contains(&block), "{help}");
        }
    }
}
