//! Why a call to AWS failed: the kind of failure, and an error text that names the missing permission or other remedy.

use std::error::Error;
use std::fmt;
use std::sync::LazyLock;

use aws_config::imds::client::error::ImdsError;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sagemaker::error::{ProvideErrorMetadata, SdkError};
use serde::Deserialize;

use super::credentials;
use crate::outside_error::OutsideError;
use crate::secret::SecretMask;

/// A call by its IAM name: `sagemaker:CreateTrainingJob`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call<'a>(pub(crate) &'a str);

impl Call<'_> {
    /// The answer to the call, or why there is none.
    #[expect(
        clippy::result_large_err,
        reason = "the error that it is made of is larger"
    )]
    pub(crate) fn heard<T, E, R>(self, answer: Result<T, SdkError<E, R>>) -> Result<T, CallError>
    where
        E: ProvideErrorMetadata + Error + 'static,
        R: fmt::Debug + 'static,
    {
        answer.map_err(|error| CallError::of(self, &error))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum FailureKind {
    NoCredentials,
    /// The credentials were valid once, or could not be renewed.
    Expired,
    /// AWS does not know them.
    Rejected,
    Denied,
    Throttled,
    /// No answer, or a server error.
    Unreachable,
    /// This machine's clock differs from AWS's.
    Clock,
    /// A quota of the account is used up.
    Limit,
    /// AWS read the request and refused it.
    Refused,
}

/// What a kind is known by, and what is said of it.
#[derive(Deserialize)]
struct KnownFailure {
    kind: FailureKind,
    /// AWS's error codes, without `Exception` at their end. The empty one is no code at all: such an answer does not come from AWS.
    codes: Vec<String>,
    why: String,
    help: String,
    is_transient: bool,
}

static FAILURES: LazyLock<Vec<KnownFailure>> = LazyLock::new(|| {
    let listed = include_str!("call/failures.json");
    serde_json::from_str(listed).expect("a constant that tests read")
});

/// A call that failed after all attempts.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {}", self.said())]
pub(crate) struct CallError {
    /// The IAM action.
    pub(crate) call: String,
    pub(crate) kind: FailureKind,
    /// AWS's error code, such as `ValidationException`.
    pub(crate) code: Option<String>,
    /// AWS's message, or the transport's. Hostile text.
    pub(crate) message: String,
    /// Why there were no credentials to call with, where the program itself asks for them.
    without: Option<OutsideError>,
}

pub(crate) type CallResult<T> = Result<T, CallError>;

impl CallError {
    pub(crate) fn of<E, R>(call: Call<'_>, error: &SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
        R: fmt::Debug + 'static,
    {
        let metadata = error.as_service_error().map(ProvideErrorMetadata::meta);
        let code = metadata.and_then(|meta| meta.code()).map(str::to_owned);
        let message = metadata
            .and_then(|meta| meta.message())
            .map_or_else(|| chain(error), str::to_owned);
        // A refused signature is answered with what was signed, the session's token included.
        let message = SecretMask::default().mask(&message);
        Self {
            call: call.0.to_owned(),
            kind: kind(error, code.as_deref(), &message),
            code,
            message,
            without: cause_of::<OutsideError>(error).cloned(),
        }
    }

    /// Whether AWS reports that the resource does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(
            self.code.as_deref(),
            Some("ResourceNotFound" | "ResourceNotFoundException" | "NoSuchKey" | "NotFound")
        )
    }

    /// The same of a look at a training job by a name that is a name: SageMaker has nothing else to refuse in it, and no code of its
    /// own for a job that is not there.
    pub(crate) fn is_not_there(&self) -> bool {
        self.is_not_found() || self.has_code("ValidationException")
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// The error for a person; `doing` ends the sentence "could not ...".
    pub(crate) fn to_error(&self, doing: &str) -> OutsideError {
        tracing::info!("A call of AWS failed: {self}.");
        if let Some(without) = &self.without {
            return OutsideError {
                what: format!("could not {doing}: {without}"),
                ..without.clone()
            };
        }
        let mut known = FAILURES.iter();
        let known = known.find(|one| one.kind == self.kind);
        let known = known.expect("each kind is in the list");
        // It may be misspelled.
        let profile = std::env::var("AWS_PROFILE")
            .map(|profile| format!(", nor in the profile `{profile}` of AWS_PROFILE"));
        // What AWS says comes last: nothing in it is a name.
        let filled = |text: &str| {
            let text = text.replace("<profile>", profile.as_deref().unwrap_or_default());
            let text = text.replace("<action>", self.action());
            text.replace("<call>", &self.call)
                .replace("<said>", &self.said())
        };
        OutsideError {
            what: format!("could not {doing}: {}", filled(&known.why)),
            help: filled(&known.help),
            is_transient: known.is_transient,
            source: None,
        }
    }

    /// The action that AWS reports as denied, such as `iam:PassRole` when a job is created; else the call itself.
    fn action(&self) -> &str {
        let is_word = |text: &str| {
            let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !text.is_empty() && text.bytes().all(is_of_word)
        };
        let named = self.message.split_once("to perform: ");
        let named = named.and_then(|(_, rest)| rest.split_whitespace().next());
        let action = named.map(|action| action.trim_end_matches(['.', ',']));
        let parts = action.and_then(|action| action.split_once(':'));
        let is_action = parts.is_some_and(|(service, name)| is_word(service) && is_word(name));
        action.filter(|_| is_action).unwrap_or(&self.call)
    }

    /// The code and message of AWS or the transport.
    pub(crate) fn said(&self) -> String {
        match &self.code {
            Some(code) => format!("{code}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

fn kind<E, R>(error: &SdkError<E, R>, code: Option<&str>, message: &str) -> FailureKind
where
    E: Error + 'static,
    R: fmt::Debug + 'static,
{
    if let Some(without) = cause_of::<OutsideError>(error) {
        return match without.is_transient {
            true => FailureKind::Unreachable,
            false => FailureKind::Rejected,
        };
    }
    if let Some(error) = cause_of::<CredentialsError>(error) {
        return match error {
            CredentialsError::CredentialsNotLoaded(_)
            | CredentialsError::InvalidConfiguration(_) => FailureKind::NoCredentials,
            // The last place that is asked. On a machine that is not AWS's something else answers there.
            _ if !credentials::were_given() && cause_of::<ImdsError>(error).is_some() => {
                FailureKind::NoCredentials
            }
            // The provider returned credentials before, and no longer does.
            _ => FailureKind::Expired,
        };
    }
    match error {
        SdkError::ServiceError(_) => {}
        SdkError::ConstructionFailure(_) => return FailureKind::Refused,
        _ => return FailureKind::Unreachable,
    }
    // Services differ in whether a code ends so.
    let code = code.unwrap_or_default().trim_end_matches("Exception");
    let mut about_time = ["expired", "current", "time"].iter();
    let is_signature = matches!(code, "InvalidSignature" | "SignatureDoesNotMatch");
    if is_signature && about_time.any(|word| message.contains(word)) {
        return FailureKind::Clock;
    }
    let has_code = |known: &&KnownFailure| known.codes.iter().any(|one| one == code);
    let known = FAILURES.iter().find(has_code);
    known.map_or(FailureKind::Refused, |known| known.kind)
}

/// The error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The first of a kind among an error and its causes.
fn cause_of<'a, C: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a C> {
    causes(error).find_map(|cause| cause.downcast_ref::<C>())
}

/// The error and its causes on one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = causes(error).map(ToString::to_string).collect();
    // Wrappers often repeat what they wrap.
    words.dedup();
    words.join(": ")
}
