//! [`IdTokenService`]: GitHub's tokens of OpenID Connect, by which a job of a workflow shows to others who it is.
//!
//! <https://docs.github.com/en/actions/reference/security/oidc>

use std::fmt;

use serde_json::Value;

use super::address::split;
use super::client::ApiCall;
use super::service::GITHUB;
use super::{Forge, ForgeError, ForgeErrorKind, Token};

const URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const REQUEST_TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
/// A token has one or two thousand characters.
const LONGEST_ANSWER: usize = 64 << 10;

/// The service may answer later.
fn not_usable(why: impl fmt::Display) -> ForgeError {
    ForgeError::known("no usable ID token", &[("why", why.to_string())])
}

/// The service of this job's runner. It prints without its secret.
#[derive(Debug, Clone)]
pub struct IdTokenService {
    forge: Forge,
    url: String,
}

impl IdTokenService {
    /// By the runner's variables, which a job has that may ask. Sends nothing, and needs a runtime. Waits are multiplied by `pace`.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>, pace: f64) -> Result<Self, ForgeError> {
        let given = |name| variable(name).filter(|value| !value.trim().is_empty());
        let (Some(url), Some(token)) = (given(URL), given(REQUEST_TOKEN)) else {
            return Err(ForgeError::known("no right to ID tokens", &[]));
        };
        let address = url.split('?').next().unwrap_or_default();
        if split(address).is_none() || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(not_usable(format!("{URL} is not an address")));
        }
        let forge = Forge::at(&GITHUB, address.to_owned(), &Token::new(&token), pace);
        let forge = forge.map_err(not_usable)?;
        Ok(Self { forge, url })
    }

    /// A new token for an audience, which is asked for again where the service has trouble.
    pub async fn token(&self, audience: &str) -> Result<Token, ForgeError> {
        let sign = if self.url.contains('?') { '&' } else { '?' };
        let call = ApiCall {
            url: format!("{}{sign}audience={audience}", self.url),
            accept: "application/json; api-version=2.0",
            limit: LONGEST_ANSWER,
            ..self.forge.call("GET", "id-token", None)
        };
        let sent = self.forge.send(&call).await;
        let answer = sent.map_err(|error| match error.kind {
            ForgeErrorKind::Passing | ForgeErrorKind::Unreadable => not_usable(error),
            _ => ForgeError::known("refused ID token", &[("why", error.to_string())]),
        })?;
        // What cannot be read is not shown: it may hold the token.
        let answer: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        match answer["value"].as_str() {
            Some(value) if !value.trim().is_empty() => Ok(Token::new(value)),
            _ => Err(not_usable("an answer without a token")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<IdTokenService, ForgeError> {
        IdTokenService::of(
            &|name| {
                let found = variables.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            0.0,
        )
    }

    #[tokio::test]
    async fn it_prints_without_its_secret() {
        let service = of(&[
            (URL, "https://x/y?api-version=2.0"),
            (REQUEST_TOKEN, "secret"),
        ]);
        let shown = format!("{:?}", service.unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn what_is_no_address_is_said() {
        let error = of(&[(URL, "file:///etc/passwd"), (REQUEST_TOKEN, "t")]).unwrap_err();
        assert!(error.to_string().contains("is not an address"));
    }
}
