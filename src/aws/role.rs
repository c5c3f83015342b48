//! [`AssumedRole`]: a role that the program assumes itself, by a token of OpenID Connect, and again before its credentials end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;

use super::call::{Call, CallError};
use super::s3_uri::shown;
use crate::outside_error::{OutsideError, OutsideResult};

/// What the tokens must be made for.
pub const AUDIENCE: &str = "sts.amazonaws.com";

const ASSUME: Call<'_> = Call("sts:AssumeRoleWithWebIdentity");

/// The token that is on its way.
pub type TokenFuture = Pin<Box<dyn Future<Output = OutsideResult<String>> + Send>>;

/// A role, and where its tokens come from.
#[derive(Clone, derive_more::Debug)]
#[debug("AssumedRole({arn:?})")]
pub struct AssumedRole {
    pub arn: String,
    /// The session's name, by which CloudTrail shows whose calls these are.
    pub session: String,
    /// Gives a new token each time.
    pub token: Arc<dyn Fn() -> TokenFuture + Send + Sync>,
}

/// Assumes the role each time that it is asked; the SDK's cache asks once for all clients, and before the credentials end. `sts` has no
/// credentials of its own.
pub(super) fn provider(
    role: AssumedRole,
    sts: aws_sdk_sts::Client,
) -> impl ProvideCredentials + 'static {
    provide_credentials_fn(move || {
        let (role, sts) = (role.clone(), sts.clone());
        async move { (assume(&role, &sts).await).map_err(CredentialsError::provider_error) }
    })
}

async fn assume(role: &AssumedRole, sts: &aws_sdk_sts::Client) -> OutsideResult<Credentials> {
    let token = (role.token)().await?;
    let request = sts.assume_role_with_web_identity();
    let request = request.role_arn(&role.arn).web_identity_token(token);
    let answer = request.role_session_name(&role.session).send().await;
    let answer = answer.map_err(|error| refused(role, &CallError::of(ASSUME, &error)))?;
    let given = answer.credentials.and_then(|given| credentials(given).ok());
    given.ok_or_else(|| {
        let role = shown(&role.arn);
        OutsideError::transient(format!("AWS gave no credentials for {role}"))
            .help("start the check again")
    })
}

fn refused(role: &AssumedRole, error: &CallError) -> OutsideError {
    let role = shown(&role.arn);
    let said = format!("AWS let nobody assume {role} ({})", error.said());
    match error.code.as_deref() {
        Some("AccessDenied" | "AccessDeniedException" | "IDPRejectedClaim") => {
            OutsideError::of(said)
                .help("correct the role's name and its trust policy: `sts:AssumeRoleWithWebIdentity` for this repository's `sub`, in an environment `repo:OWNER/NAME:environment:NAME`, and the `aud` sts.amazonaws.com; docs/action.md has one")
        }
        Some("InvalidIdentityToken") => OutsideError::of(said)
            .help("add the identity provider https://token.actions.githubusercontent.com with the audience sts.amazonaws.com to the role's account"),
        Some("ExpiredTokenException" | "ExpiredToken") => OutsideError::transient(said)
            .help("correct the runner's clock, and start the check again; it reuses the canaries that completed"),
        _ => error.to_error(&format!("assume {role}")),
    }
}

fn credentials(given: aws_sdk_sts::types::Credentials) -> Result<Credentials, CredentialsError> {
    let end = SystemTime::try_from(given.expiration).map_err(CredentialsError::unhandled)?;
    Ok(Credentials::new(
        given.access_key_id,
        given.secret_access_key,
        Some(given.session_token),
        Some(end),
        "GitHub",
    ))
}
