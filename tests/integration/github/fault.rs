//! Requests that fail on purpose.

use serde::Deserialize;
use serde_json::{Value, json};

use super::FakeGithub;
use super::answers::{Answer, failure};

/// How a request fails.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Fault {
    /// An error with this status, as GitHub writes it; nothing is carried out.
    Status(u16),
    /// 403 for a token that lacks a permission; it is `permission=level`, such as `pull_requests=write`.
    Forbidden(String),
    /// 403 as for a comment in a locked conversation.
    Locked,
    /// 403 as for too many requests at a time, with these seconds to wait where some are given.
    SecondaryLimit(Option<u64>),
    /// 403 as for all requests of the hour used up, until so many seconds from the server's now.
    PrimaryLimit(u64),
    /// 422 with a message.
    Unprocessable(String),
    /// A redirect to another address.
    Redirect(String),
    /// The connection is closed without an answer; nothing is carried out.
    Dropped,
    /// The request is carried out, and the answer is a 502.
    CarriedOutThen502,
    /// The request is carried out, and the connection is closed without an answer.
    CarriedOutThenDropped,
    /// A 200 with this text, which GitHub would not send; not judged.
    Text(String),
}

impl Fault {
    /// Whether the request is carried out all the same.
    pub(super) fn is_carried_out(&self) -> bool {
        matches!(self, Self::CarriedOutThen502 | Self::CarriedOutThenDropped)
    }

    /// Whether no answer is sent at all.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self, Self::Dropped | Self::CarriedOutThenDropped)
    }

    /// The answer, unless it is silent.
    pub(super) fn answer(&self, now: i64) -> Answer {
        match self {
            Self::Status(status) => by_status(*status),
            Self::CarriedOutThen502 | Self::Dropped | Self::CarriedOutThenDropped => by_status(502),
            Self::Forbidden(permission) => failure(403, "Resource not accessible by integration")
                .header("x-accepted-github-permissions", permission),
            Self::Locked => failure(403, "Unable to create comment because issue is locked."),
            Self::SecondaryLimit(wait) => {
                let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try \
                               again. If you reach out to GitHub Support for help, please include the request ID.";
                let documentation = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits";
                let body = json!({"message": message, "documentation_url": documentation});
                let answer = Answer::json(403, &body);
                match wait {
                    Some(seconds) => answer.header("retry-after", &seconds.to_string()),
                    None => answer,
                }
            }
            Self::PrimaryLimit(seconds) => {
                let until = now + i64::try_from(*seconds).unwrap();
                failure(403, "API rate limit exceeded for installation ID 12345.")
                    .header("x-ratelimit-limit", "1000")
                    .header("x-ratelimit-remaining", "0")
                    .header("x-ratelimit-reset", &until.to_string())
            }
            Self::Unprocessable(message) => failure(422, message),
            Self::Redirect(address) => {
                let body = json!({"message": "Moved Permanently", "url": address, "documentation_url": "https://docs.github.com/rest"});
                Answer::json(301, &body).header("location", address)
            }
            Self::Text(text) => {
                Answer::text(200, "application/json; charset=utf-8", text.as_bytes())
            }
        }
    }
}

fn by_status(status: u16) -> Answer {
    match status {
        401 => failure(401, "Bad credentials"),
        403 => failure(403, "Resource not accessible by integration"),
        404 => failure(404, "Not Found"),
        410 => failure(410, "Issues are disabled for this repo"),
        422 => {
            let mut answer = failure(422, "Validation Failed");
            answer.body_json(|body: &mut Value| {
                body["errors"] = json!([{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body cannot be blank"}]);
            });
            answer
        }
        429 => failure(429, "Too Many Requests").header("retry-after", "1"),
        502..=504 => {
            let page =
                format!("<html><head><title>{status}</title></head><body>Unicorn!</body></html>");
            Answer::text(status, "text/html; charset=utf-8", page.as_bytes())
        }
        _ => failure(status, "Server Error"),
    }
}

/// A fault and the requests that it is for.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) method: String,
    pub(super) path: String,
    /// How many matching requests pass before the first that fails.
    pub(super) passing: u64,
    /// How many then fail.
    pub(super) failing: u64,
    pub(super) fault: Fault,
}

/// A sentence that is being said; see [`FakeGithub::fail`].
#[must_use]
pub(crate) struct FaultBuilder<'a>(pub(super) &'a FakeGithub, pub(super) Rule);

impl FaultBuilder<'_> {
    /// Only the next so many.
    pub(crate) fn times(mut self, requests: u64) -> Self {
        self.1.failing = requests;
        self
    }

    /// Not the next so many, but those after them.
    pub(crate) fn after(mut self, requests: u64) -> Self {
        self.1.passing = requests;
        self
    }

    pub(crate) fn with(mut self, fault: Fault) {
        self.1.fault = fault;
        self.0.state().faults.push(self.1);
    }
}
