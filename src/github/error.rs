//! Why a request to GitHub failed, and what to do about it.

use jiff::Timestamp;

use super::retry::Refusal;

/// A permission that a workflow grants its token, as written in it: `pull-requests: write`.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#permissions>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission(pub &'static str);

impl Permission {
    const ISSUES: [Self; 2] = [Self("issues: read"), Self("issues: write")];
    const STATUSES: Self = Self("statuses: write");

    /// The permission for a request below the repository; comments of a pull request have the paths of an issue's.
    pub(super) fn needed(method: &str, path: &str) -> Self {
        let (path, _) = path.split_once('?').unwrap_or((path, ""));
        let is_write = method != "GET";
        match path.split('/').collect::<Vec<_>>()[..] {
            ["issues"] | ["issues", _] => Self::ISSUES[usize::from(is_write)],
            ["statuses", _] => Self::STATUSES,
            ["issues" | "pulls", ..] if is_write => Self("pull-requests: write"),
            ["issues" | "pulls", ..] => Self("pull-requests: read"),
            _ => Self("contents: read"),
        }
    }

    /// All that the job needs, to paste into a workflow: a job that grants one permission loses those that it does not name.
    fn block(self) -> String {
        let needed: &[&str] = match self {
            issues if Self::ISSUES.contains(&issues) => &["issues: write"],
            Self::STATUSES => &["pull-requests: write", "statuses: write"],
            _ => &["pull-requests: write"],
        };
        let needed = needed.iter().map(|line| format!("\n      {line}"));
        format!(
            "    permissions:\n      contents: read{}",
            needed.collect::<String>()
        )
    }
}

/// A failed request. `request` is its method and path. Texts from GitHub are cut to one line and must be escaped before they are
/// shown. No text holds the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GithubError {
    #[error("{what} is not {expected}")]
    Settings {
        what: &'static str,
        expected: &'static str,
    },
    #[error("the {what} could not be brought up to date in several attempts")]
    Unsettled { what: &'static str },
    #[error("GitHub could not be reached for {request}: {reason}")]
    NotReachable { request: String, reason: String },
    #[error("GitHub rejected the token ({request}: 401, {message})")]
    Unauthorized { request: String, message: String },
    #[error("GitHub refused {request}: 403, {message}")]
    Forbidden {
        request: String,
        message: String,
        needed: Permission,
    },
    #[error("GitHub has nothing at {request} (404)")]
    NotFound { request: String, needed: Permission },
    /// From requests for issues: the repository has issues disabled, or the issue was deleted.
    #[error("GitHub has nothing at {request} any more: 410, {message}")]
    Gone { request: String, message: String },
    #[error("GitHub rejected {request}: 422, {message}")]
    Unprocessable { request: String, message: String },
    #[error("GitHub's rate limit is used up ({request}: {message})")]
    RateLimited {
        request: String,
        message: String,
        /// When requests are allowed again, if GitHub says so.
        until: Option<Timestamp>,
    },
    #[error("GitHub failed at {request}: {status}, after {tries} attempts")]
    ServerTrouble {
        request: String,
        status: u16,
        tries: u32,
    },
    #[error("GitHub answered {request} with {status}: {message}")]
    Unexpected {
        request: String,
        status: u16,
        message: String,
    },
    /// Only from a POST, which was sent once and may have been carried out; check before sending it again.
    #[error("GitHub may or may not have carried out {request}: {reason}")]
    Unsure { request: String, reason: String },
    #[error("GitHub's answer to {request} could not be read: {reason}")]
    Malformed { request: String, reason: String },
    #[error("{path} is a symbolic link in that commit, and links are not followed")]
    Link { path: String },
    #[error("GitHub's answer to {request} is too large: over {limit} {unit}")]
    TooLarge {
        request: String,
        limit: usize,
        unit: &'static str,
    },
}

impl GithubError {
    /// The error of a refusal, by its status.
    pub(super) fn refused(
        request: String,
        refusal: Refusal,
        needed: Permission,
        tries: u32,
    ) -> Self {
        let until = refusal.until();
        let is_rate_limit = refusal.is_rate_limit();
        let Refusal {
            status, message, ..
        } = refusal;
        match status {
            _ if is_rate_limit => Self::RateLimited {
                request,
                message,
                until,
            },
            401 => Self::Unauthorized { request, message },
            403 => Self::Forbidden {
                request,
                message,
                needed,
            },
            404 => Self::NotFound { request, needed },
            410 if Permission::ISSUES.contains(&needed) => Self::Gone { request, message },
            422 => Self::Unprocessable { request, message },
            500..=599 => Self::ServerTrouble {
                request,
                status,
                tries,
            },
            _ => Self::Unexpected {
                request,
                status,
                message,
            },
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Settings { what, .. } => {
                format!("the runner of GitHub Actions sets it: check the value of {what} in this job")
            }
            Self::NotReachable { .. } => {
                "run the job again; on a self-hosted runner check that the API's host can be reached, and that its certificate \
                 is known"
                    .to_owned()
            }
            Self::Unauthorized { .. } => {
                "give the input github-token `${{ github.token }}`, which is the default; a custom token may have expired"
                    .to_owned()
            }
            Self::Forbidden { message, .. } if message.contains("locked") => {
                "the conversation is locked: unlock it for the comment, or set the input `comment: off`"
                    .to_owned()
            }
            Self::Forbidden { needed, .. } => format!(
                "the job's token lacks `{}`; grant it, with what else the gate needs:\n\n{}\n\nOn a pull request from a fork, \
                 and from Dependabot, the token only reads; a rule of the organization refuses too.",
                needed.0,
                needed.block()
            ),
            Self::NotFound { needed, .. } => format!(
                "check that it still exists; a private repository gives the same answer if the job lacks `{}`:\n\n{}",
                needed.0,
                needed.block()
            ),
            Self::Unsettled { .. } => {
                "start the workflow again; a `concurrency` group keeps its runs from writing at the same time".to_owned()
            }
            Self::Gone { .. } => {
                "where issues are disabled in this repository, enable them in its settings under General, Features, or set the input \
                 `issue: off`"
                    .to_owned()
            }
            Self::Unprocessable { .. } | Self::Unexpected { .. } => {
                "read GitHub's message; if the request looks wrong, this is a bug in canary-gate: please report it".to_owned()
            }
            Self::RateLimited { until: Some(until), .. } => {
                format!("run the job again after {until}, with fewer jobs at a time")
            }
            Self::RateLimited { until: None, .. } => {
                "run the job again in a few minutes, with fewer jobs at a time".to_owned()
            }
            Self::ServerTrouble { .. } => {
                "run the job again; see https://www.githubstatus.com for outages".to_owned()
            }
            Self::Unsure { .. } => {
                "check the repository's page; the next run removes duplicates".to_owned()
            }
            Self::Link { .. } => "replace the link by the file itself".to_owned(),
            Self::Malformed { .. } => {
                "check that GITHUB_API_URL is the address of GitHub's API, not of a page or a proxy; then run the job again".to_owned()
            }
            Self::TooLarge { .. } => {
                "the repository or the pull request is larger than canary-gate reads; split it if you can".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_shows_the_permission_and_the_block_to_paste() {
        for (method, path, needed, block) in [
            (
                "GET",
                "git/trees/abc",
                "contents: read",
                "pull-requests: write",
            ),
            (
                "GET",
                "issues/7/comments",
                "pull-requests: read",
                "pull-requests: write",
            ),
            (
                "POST",
                "issues/7/comments",
                "pull-requests: write",
                "pull-requests: write",
            ),
            (
                "PATCH",
                "issues/comments/1",
                "pull-requests: write",
                "pull-requests: write",
            ),
            ("GET", "issues?state=open", "issues: read", "issues: write"),
            ("POST", "issues", "issues: write", "issues: write"),
            ("PATCH", "issues/12", "issues: write", "issues: write"),
            (
                "POST",
                "statuses/abc",
                "statuses: write",
                "pull-requests: write\n      statuses: write",
            ),
        ] {
            let error = GithubError::Forbidden {
                request: format!("{method} {path}"),
                message: "Resource not accessible by integration".to_owned(),
                needed: Permission::needed(method, path),
            };
            let help = error.help();
            assert!(help.contains(&format!("lacks `{needed}`")), "{help}");
            let block = format!("permissions:\n      contents: read\n      {block}\n\n");
            assert!(help.contains(&block), "{help}");
        }
    }
}
