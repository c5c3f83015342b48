//! The shapes of GitHub's answers, with every field that its description requires.

mod comment;
mod commit;
mod issue;
mod pull_request;
mod user;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

pub(super) use comment::issue_comment;
pub(super) use commit::{comparison, file_of_a_listing, git_commit, tree};
pub(super) use issue::{issue, issue_of_a_pull_request};
pub(super) use pull_request::pull_request;
pub(super) use user::{app, simple_user};

/// When everything that a test does not speak of was made.
const BIRTH: &str = "2024-01-02T03:04:05Z";

/// An answer before it is sent.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let text = body.to_string();
        Self::text(status, "application/json; charset=utf-8", text.as_bytes())
    }

    pub(super) fn text(status: u16, kind: &str, body: &[u8]) -> Self {
        let answer = Self {
            status,
            headers: Vec::new(),
            body: body.to_vec(),
        };
        answer
            .header("content-type", kind)
            .header("x-github-request-id", "0400:1A2B:3C4D5E:6F7A8B:68B56CA1")
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Changes a body that is JSON.
    pub(super) fn body_json(&mut self, change: impl FnOnce(&mut Value)) {
        let mut body = serde_json::from_slice(&self.body).unwrap();
        change(&mut body);
        self.body = body.to_string().into_bytes();
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        response.body(Body::from(self.body)).unwrap()
    }
}

/// An error as GitHub writes it.
pub(super) fn failure(status: u16, message: &str) -> Answer {
    Answer::json(
        status,
        &json!({"message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string()}),
    )
}

/// A path in an address, each segment by itself.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    path.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

pub(super) fn node_id(kind: &str, id: impl std::fmt::Display) -> String {
    format!("{kind}_kwDO{id}")
}
