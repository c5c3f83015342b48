//! Why a call to AWS failed: the kind of failure, and an error text that names the missing permission or other remedy.

use std::error::Error;
use std::fmt;

use aws_config::imds::client::error::ImdsError;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sagemaker::error::{ProvideErrorMetadata, SdkError};

use super::given;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// AWS's error codes of each kind, without `Exception` at their end.
const BY_CODE: [(FailureKind, &str); 7] = [
    (FailureKind::Expired, "ExpiredToken RequestExpired"),
    (FailureKind::Clock, "RequestTimeTooSkewed"),
    // Unknown tokens and revoked keys.
    (
        FailureKind::Rejected,
        "UnrecognizedClient InvalidClientTokenId InvalidAccessKeyId InvalidToken InvalidSignature SignatureDoesNotMatch",
    ),
    (
        FailureKind::Denied,
        "AccessDenied UnauthorizedOperation NotAuthorized",
    ),
    (
        FailureKind::Throttled,
        "Throttling TooManyRequests SlowDown RequestLimitExceeded",
    ),
    (FailureKind::Limit, "ResourceLimitExceeded LimitExceeded"),
    // The space at the beginning stands for no code at all: such an answer does not come from AWS.
    (
        FailureKind::Unreachable,
        " InternalFailure InternalServerError InternalServer InternalServiceError RequestTimeout OperationAborted InternalError ServiceUnavailable",
    ),
];

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
        let call = &self.call;
        if let Some(without) = &self.without {
            return OutsideError {
                what: format!("could not {doing}: {without}"),
                ..without.clone()
            };
        }
        let said = self.said();
        let mut allow = String::new();
        let (why, advice) = match self.kind {
            FailureKind::NoCredentials => (
                format!("there are no AWS credentials{}", of_profile()),
                "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with `aws sso login`; in GitHub Actions name the role by the action's input `role-to-assume`, or use aws-actions/configure-aws-credentials in a step before, or for the role of a runner of your own write `AWS_EC2_METADATA_DISABLED: false` under `env`",
            ),
            FailureKind::Expired => (
                format!("the AWS session has expired ({said})"),
                "sign in again and start the check again; it reuses the canaries that completed",
            ),
            FailureKind::Rejected => (
                format!("AWS rejected these credentials ({said})"),
                "check the access key, its secret and its session token, or sign in again",
            ),
            FailureKind::Denied => {
                allow = format!("allow `{}`; ", self.action());
                let advice = "`canary-gate iam-policy` prints the smallest policy for this spec";
                (format!("access denied ({said})"), advice)
            }
            FailureKind::Throttled => (
                format!("AWS throttled every attempt of {call} ({said})"),
                "start the check again later; it reuses the canaries that completed",
            ),
            FailureKind::Unreachable => (
                format!("AWS gave no usable answer to {call} ({said})"),
                "check the network and the region, then start the check again; it reuses the canaries that completed",
            ),
            FailureKind::Clock => (
                format!("AWS rejected the time of this machine's clock ({said})"),
                "correct the clock: requests are signed with the time",
            ),
            FailureKind::Limit => (
                said,
                "ask for a higher quota in Service Quotas, or lower `canary.parallel`",
            ),
            FailureKind::Refused => (
                format!("{call} was refused ({said})"),
                "correct what AWS names, and run the check again",
            ),
        };
        OutsideError {
            what: format!("could not {doing}: {why}"),
            help: allow + advice,
            is_transient: matches!(
                self.kind,
                FailureKind::Expired
                    | FailureKind::Throttled
                    | FailureKind::Unreachable
                    | FailureKind::Limit
            ),
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

/// Names the profile in AWS_PROFILE, which may be misspelled.
fn of_profile() -> String {
    std::env::var("AWS_PROFILE").map_or(String::new(), |profile| {
        format!(", nor in the profile `{profile}` of AWS_PROFILE")
    })
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
            _ if !given::were_given() && cause_of::<ImdsError>(error).is_some() => {
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
    let has_code = |(_, codes): &&(FailureKind, &str)| codes.split(' ').any(|known| known == code);
    let known = BY_CODE.iter().find(has_code);
    known.map_or(FailureKind::Refused, |(kind, _)| *kind)
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
