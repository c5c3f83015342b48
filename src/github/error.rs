//! Why a request to GitHub, or to GitLab, failed, and what to do about it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::line::line;
use super::retry::Refusal;
use super::service::Service;
use crate::spec::page::filled;

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

/// What is said of an error.
#[derive(Deserialize)]
struct KnownError {
    kind: ForgeErrorKind,
    what: String,
    help: String,
}

static KNOWN: LazyLock<HashMap<String, KnownError>> = LazyLock::new(|| {
    let listed = include_str!("error/known.json");
    serde_json::from_str(listed).expect("the file is valid")
});

impl ForgeError {
    pub(super) fn new(kind: ForgeErrorKind, what: String, help: impl Into<String>) -> Self {
        let help = help.into();
        Self { kind, what, help }
    }

    /// What to do about it.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// A case of the file, with the values of the names in it.
    pub(super) fn known(case: &str, values: &[(&str, String)]) -> Self {
        let known = &KNOWN[case];
        let [what, help] = [&known.what, &known.help].map(|text| filled(text, values));
        Self::new(known.kind, what, help)
    }

    pub(super) fn settings(what: &str, expected: &str) -> Self {
        let values = [("what", what.to_owned()), ("expected", expected.to_owned())];
        Self::known("settings", &values)
    }

    pub(super) fn event(what: String) -> Self {
        Self::known("event", &[("what", what)])
    }

    pub(super) fn unsettled(what: &str) -> Self {
        Self::known("unsettled", &[("what", what.to_owned())])
    }

    pub(super) fn link(path: &str) -> Self {
        Self::known("link", &[("path", path.to_owned())])
    }
}

impl Service {
    /// A case of the file about a request to it, with what is known of why.
    fn known(&self, case: &str, request: &str, why: &str) -> ForgeError {
        let values = [
            ("service", self.name.to_owned()),
            ("address", self.address.to_owned()),
            ("request", request.to_owned()),
            ("why", why.to_owned()),
        ];
        ForgeError::known(case, &values)
    }

    pub(super) fn not_reachable(&self, request: &str, reason: &str) -> ForgeError {
        self.known("not reachable", request, reason)
    }

    pub(super) fn unsure(&self, request: &str, reason: &str) -> ForgeError {
        self.known("unsure", request, reason)
    }

    pub(super) fn malformed(&self, request: &str, reason: &str) -> ForgeError {
        self.known("malformed", request, &line(reason))
    }

    pub(super) fn too_large(&self, request: &str, limit: usize, unit: &str) -> ForgeError {
        self.known("too large", request, &format!("{limit} {unit}"))
    }

    pub(super) fn unprocessable(&self, request: &str, message: &str) -> ForgeError {
        self.known("unprocessable", request, message)
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
        let values = [
            ("service", self.name.to_owned()),
            ("needed", needed.to_owned()),
            ("block", permissions_block(needed)),
            ("page", self.status.to_owned()),
            ("until", until.unwrap_or_default()),
            ("status", status.to_string()),
            ("tries", tries.to_string()),
            ("request", request),
            ("message", message.clone()),
        ];
        let mut error = ForgeError::known(case, &values);
        if let Some(may_not) = self.may_not.filter(|_| matches!(status, 401 | 403 | 404)) {
            error.help = may_not.to_owned();
        }
        error
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
    fn every_case_that_is_named_is_in_the_file() {
        for source in [
            include_str!("error.rs"),
            include_str!("gitlab.rs"),
            include_str!("id_token.rs"),
        ] {
            for named in source.split("known(\"").skip(1) {
                let case = named.split('"').next().unwrap();
                assert!(KNOWN.contains_key(case), "{case}");
            }
        }
        for status in [401, 403, 404, 410, 422, 429, 500, 503, 418] {
            for message in ["", "locked", "rate limit"] {
                let refusal = Refusal {
                    status,
                    message: message.to_owned(),
                    ..Refusal::default()
                };
                let error = GITHUB.refused("POST", "issues", &refusal, 1);
                let said = format!("{error}{}", error.help());
                assert!(!said.contains(['<', '>']), "{said}");
            }
        }
    }

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
