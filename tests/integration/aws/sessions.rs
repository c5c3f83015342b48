//! STS: roles that are assumed by a web identity, and credentials that end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fault::Refusal;
use super::operation::Operation;
use super::{ACCOUNT, Core};

/// What every token of an identity provider begins with.
const HEAD_OF_A_TOKEN: &str = "eyJ";
const KEY: &str = "ASIASESSIONOFTHEFAKE";
/// S3 knows the keys of so many.
pub(super) const MOST_SESSIONS: usize = 1000;

/// The access key of a session, and its secret.
pub(super) fn key_pair(number: usize) -> (String, String) {
    (
        format!("{KEY}{number}"),
        format!("secret-of-session-{number}"),
    )
}

/// The sessions that were given.
#[derive(Debug)]
pub(super) struct Sessions {
    pub(super) lifetime: Duration,
    /// When each ends; its number is its place.
    ends: Vec<Instant>,
    /// Calls that were signed by a session that had ended.
    pub(super) late_calls: u64,
}

impl Sessions {
    pub(super) fn lasting(lifetime: Duration) -> Self {
        Self {
            lifetime,
            ends: Vec::new(),
            late_calls: 0,
        }
    }

    /// Why a call cannot be made that is signed like this; other keys than those of sessions never end.
    pub(super) fn refusal(&mut self, authorization: &str, operation: Operation) -> Option<Refusal> {
        let (_, rest) = authorization.split_once(KEY)?;
        let number: usize = rest.split('/').next()?.parse().ok()?;
        if self
            .ends
            .get(number)
            .is_some_and(|end| *end > Instant::now())
        {
            return None;
        }
        self.late_calls += 1;
        super::Fault::ExpiredToken.refusal(operation)
    }
}

pub(super) fn answer(core: &Core, operation: Operation, input: &Value) -> Result<Value, Refusal> {
    if operation == Operation::GetCallerIdentity {
        return Ok(json!({
            "UserId": "AROAEXAMPLE:session",
            "Account": ACCOUNT,
            "Arn": format!("arn:aws:sts::{ACCOUNT}:assumed-role/ci/session"),
        }));
    }
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    if !text("WebIdentityToken").starts_with(HEAD_OF_A_TOKEN) {
        let message = "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)";
        return Err(Refusal::new("InvalidIdentityToken", message));
    }
    let sessions = &mut core.state().sessions;
    let number = sessions.ends.len();
    let (key, secret) = key_pair(number);
    sessions.ends.push(Instant::now() + sessions.lifetime);
    let role = text("RoleArn").rsplit('/').next().unwrap_or_default();
    let end = jiff::Timestamp::now() + sessions.lifetime;
    Ok(json!({
        "Credentials": {
            "AccessKeyId": key,
            "SecretAccessKey": secret,
            "SessionToken": format!("token-of-session-{number}"),
            "Expiration": end.to_string(),
        },
        "AssumedRoleUser": {
            "AssumedRoleId": format!("AROAEXAMPLE:{}", text("RoleSessionName")),
            "Arn": format!("arn:aws:sts::{ACCOUNT}:assumed-role/{role}/{}", text("RoleSessionName")),
        },
        "Audience": "sts.amazonaws.com",
        "Provider": "token.actions.githubusercontent.com",
    }))
}

/// An answer in the old form: elements by their names.
pub(super) fn xml(operation: Operation, output: &Value) -> String {
    fn elements(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members = members.iter();
                let written =
                    members.map(|(name, value)| format!("<{name}>{}</{name}>", elements(value)));
                written.collect()
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        }
    }
    let name = operation.name();
    format!(
        "<{name}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{name}Result>{}</{name}Result>\
         <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{name}Response>",
        elements(output)
    )
}

/// The parameters of a request in the old form, without its name and version.
pub(super) fn parameters(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let own = pairs.filter(|(name, _)| !matches!(*name, "Action" | "Version"));
    own.map(|(name, value)| (name.to_owned(), Value::from(decoded(value))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).expect("parameters are text")
}
