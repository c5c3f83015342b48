//! [`IdTokenService`]: GitHub's tokens of OpenID Connect, by which a job of a workflow shows to others who it is.
//!
//! <https://docs.github.com/en/actions/reference/security/oidc>

use std::fmt;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use serde::Deserialize;

use super::address::split;
use super::client::http_client;
use super::line::{causes, line};
use super::retry::{Refusal, backoff};
use super::token::Token;

const URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const REQUEST_TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
/// A token has one or two thousand characters.
const LONGEST_ANSWER: usize = 64 << 10;
const TRIES: u32 = 4;

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    #[error("this job may not ask GitHub for an ID token")]
    NotGranted,
    #[error("GitHub refused an ID token ({0})")]
    Refused(String),
    #[error("GitHub's token service gave no usable answer ({0})")]
    NotUsable(String),
}

impl IdTokenError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotGranted => {
                "give the job of the workflow `permissions: {id-token: write}` beside what it has; a pull request from a fork cannot have it"
            }
            Self::Refused(_) => {
                "start the check again; where it is refused again, see whether the organization or the repository restricts GitHub's ID tokens"
            }
            Self::NotUsable(_) => {
                "start the check again later; it reuses the canaries that completed"
            }
        }
    }

    /// Whether there may be a token later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::NotUsable(_))
    }
}

/// The service of this job's runner. It prints without its secret.
#[derive(Clone)]
pub struct IdTokenService {
    http: Client,
    url: String,
    authorization: HeaderValue,
    pace: f64,
}

impl fmt::Debug for IdTokenService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("IdTokenService(***)")
    }
}

/// The service's answer.
#[derive(Deserialize)]
struct IdTokenAnswer {
    value: String,
}

/// How one request ended.
enum Asked {
    Given(Token),
    Refused(Refusal),
    Broken(String),
}

impl IdTokenService {
    /// By the runner's variables, which a job has that may ask. Sends nothing. Waits are multiplied by `pace`.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>, pace: f64) -> Result<Self, IdTokenError> {
        let given = |name| variable(name).filter(|value| !value.trim().is_empty());
        let (Some(url), Some(token)) = (given(URL), given(REQUEST_TOKEN)) else {
            return Err(IdTokenError::NotGranted);
        };
        let address = url.split('?').next().unwrap_or_default();
        if split(address).is_none() || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(IdTokenError::NotUsable(format!("{URL} is not an address")));
        }
        let token = Token::new(&token);
        let header = format!("Bearer {}", token.expose());
        let Ok(mut authorization) = HeaderValue::try_from(header) else {
            return Err(IdTokenError::NotUsable(format!(
                "{REQUEST_TOKEN} cannot be sent"
            )));
        };
        authorization.set_sensitive(true);
        let http = http_client().map_err(|error| IdTokenError::NotUsable(causes(&error)))?;
        Ok(Self {
            http,
            url,
            authorization,
            pace: pace.clamp(0.0, 1.0),
        })
    }

    /// A new token for an audience, which is asked for again where the service has trouble.
    pub async fn token(&self, audience: &str) -> Result<Token, IdTokenError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let (said, wait) = match self.ask(audience).await {
                Asked::Given(token) => return Ok(token),
                Asked::Refused(refusal) => {
                    let wait = refusal.wait(tried);
                    let said = format!("HTTP {}: {}", refusal.status, line(&refusal.message));
                    if wait.is_none() && !refusal.is_server_trouble() {
                        return Err(IdTokenError::Refused(said));
                    }
                    (said, wait)
                }
                Asked::Broken(why) => (why, Some(backoff(tried))),
            };
            match wait.filter(|_| tried < TRIES) {
                Some(wait) => self.pause(wait).await,
                None => return Err(IdTokenError::NotUsable(said)),
            }
        }
    }

    async fn ask(&self, audience: &str) -> Asked {
        let sign = if self.url.contains('?') { '&' } else { '?' };
        let request = self
            .http
            .get(format!("{}{sign}audience={audience}", self.url))
            .header(ACCEPT, "application/json; api-version=2.0")
            .header(AUTHORIZATION, self.authorization.clone());
        let mut answer = match request.send().await {
            Ok(answer) => answer,
            // The address holds no secret, but is of no help either.
            Err(error) => return Asked::Broken(causes(&error.without_url())),
        };
        let status = answer.status();
        let mut body = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= LONGEST_ANSWER => {
                    body.extend_from_slice(&chunk);
                }
                Ok(Some(_)) => return Asked::Broken("an answer that is too long".to_owned()),
                Ok(None) => break,
                Err(error) => return Asked::Broken(causes(&error.without_url())),
            }
        }
        if !status.is_success() {
            return Asked::Refused(Refusal {
                status: status.as_u16(),
                message: status.canonical_reason().unwrap_or_default().to_owned(),
                ..Refusal::default()
            });
        }
        // What cannot be read is not shown: it may hold the token.
        match serde_json::from_slice::<IdTokenAnswer>(&body) {
            Ok(IdTokenAnswer { value }) if !value.trim().is_empty() => {
                Asked::Given(Token::new(&value))
            }
            _ => Asked::Broken("an answer without a token".to_owned()),
        }
    }

    async fn pause(&self, wait: Duration) {
        tokio::time::sleep(wait.mul_f64(self.pace)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<IdTokenService, IdTokenError> {
        IdTokenService::of(
            &|name| {
                let found = variables.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            0.0,
        )
    }

    #[test]
    fn a_job_without_the_permission_has_no_address_to_ask() {
        for variables in [
            &[][..],
            &[(URL, "https://x/")],
            &[(URL, " "), (REQUEST_TOKEN, "t")],
        ] {
            let error = of(variables).unwrap_err();
            assert_eq!(error, IdTokenError::NotGranted);
            assert!(error.help().contains("id-token: write"));
        }
    }

    #[test]
    fn it_prints_without_its_secret() {
        let service = of(&[
            (URL, "https://x/y?api-version=2.0"),
            (REQUEST_TOKEN, "secret"),
        ]);
        assert_eq!(format!("{:?}", service.unwrap()), "IdTokenService(***)");
    }

    #[test]
    fn what_is_no_address_is_said() {
        let error = of(&[(URL, "file:///etc/passwd"), (REQUEST_TOKEN, "t")]).unwrap_err();
        assert!(error.to_string().contains("is not an address"));
    }
}
