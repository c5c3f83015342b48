//! How a call to AWS failed: told by kind, in words that name the permission or what else a person can mend.

use std::error::Error;
use std::fmt;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sagemaker::error::{ProvideErrorMetadata, SdkError};

use super::error::AwsError;

/// A call as IAM names it: `sagemaker:CreateTrainingJob`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call<'a>(pub(crate) &'a str);

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    NoCredentials,
    /// They were good once, or could not be renewed.
    Expired,
    /// AWS does not know them.
    Rejected,
    Denied,
    Throttled,
    /// No answer, or one of AWS's own trouble.
    Unreachable,
    /// This machine's clock differs from AWS's.
    Clock,
    /// A quota of the account.
    Limit,
    /// AWS has read the request and refuses it.
    Refused,
}

/// A call that failed, after all its attempts.
#[derive(Debug)]
pub(crate) struct CallError {
    /// What IAM has to allow.
    pub(crate) call: String,
    pub(crate) kind: FailureKind,
    /// AWS's own code, such as `ValidationException`.
    pub(crate) code: Option<String>,
    /// AWS's own words, or those of the transport. Hostile text.
    pub(crate) message: String,
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
        Self {
            call: call.to_string(),
            kind: kind(error, code.as_deref(), &message),
            code,
            message,
        }
    }

    /// Whether AWS says that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        match self.code.as_deref() {
            Some("ResourceNotFound" | "ResourceNotFoundException" | "NoSuchKey" | "NotFound") => {
                true
            }
            // What a missing training job really gives, with no code of its own.
            Some("ValidationException") => self.message.contains("not found"),
            _ => false,
        }
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// The error for a person; `doing` ends the sentence "could not ...".
    pub(crate) fn to_error(&self, doing: &str) -> AwsError {
        tracing::info!("{self}");
        let call = &self.call;
        let said = self.said();
        match self.kind {
            FailureKind::NoCredentials => AwsError::new(
                format!(
                    "could not {doing}: there are no AWS credentials{}",
                    of_profile()
                ),
                "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with `aws sso login`; in GitHub Actions use aws-actions/configure-aws-credentials in a step before",
            ),
            FailureKind::Expired => AwsError::transient(
                format!("could not {doing}: the AWS session has expired ({said})"),
                "sign in again and start the check again; it goes on with the canaries that are there",
            ),
            FailureKind::Rejected => AwsError::new(
                format!("could not {doing}: AWS does not take these credentials ({said})"),
                "check the access key, its secret and its session token, or sign in again",
            ),
            FailureKind::Denied => AwsError::new(
                format!("could not {doing}: access denied ({said})"),
                format!(
                    "allow `{}`; `canary-gate iam-policy` prints the least policy for this spec",
                    self.action()
                ),
            ),
            FailureKind::Throttled => AwsError::transient(
                format!("could not {doing}: AWS throttled {call} to the end ({said})"),
                "start the check again later; it goes on with the canaries that are there",
            ),
            FailureKind::Unreachable => AwsError::transient(
                format!("could not {doing}: AWS gave no usable answer to {call} ({said})"),
                "is the network up, and the region right? Start the check again; it goes on with the canaries that are there",
            ),
            FailureKind::Clock => AwsError::new(
                format!("could not {doing}: AWS refuses the time of this machine's clock ({said})"),
                "set the clock right: requests are signed with the time",
            ),
            FailureKind::Limit => AwsError::transient(
                format!("could not {doing}: {said}"),
                "ask for a higher quota in Service Quotas, or lower canary.parallel",
            ),
            FailureKind::Refused => AwsError::new(
                format!("could not {doing}: {call} was refused ({said})"),
                "correct what AWS names, and start again",
            ),
        }
    }

    /// What AWS says is not allowed, such as `iam:PassRole` where a job was to be created; else the call itself.
    fn action(&self) -> &str {
        let named = self.message.split_once("to perform: ");
        named
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .map(|action| action.trim_end_matches(['.', ',']))
            .filter(|action| {
                action.split_once(':').is_some_and(|(service, name)| {
                    let is_word = |text: &str| {
                        !text.is_empty()
                            && text
                                .bytes()
                                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                    };
                    is_word(service) && is_word(name)
                })
            })
            .unwrap_or(&self.call)
    }

    /// What AWS or the transport says.
    fn said(&self) -> String {
        match &self.code {
            Some(code) => format!("{code}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.said())
    }
}

/// Names the profile that the environment asks for, which may be the typing error.
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
    if let Some(error) = credentials_error(error) {
        return match error {
            CredentialsError::CredentialsNotLoaded(_)
            | CredentialsError::InvalidConfiguration(_) => FailureKind::NoCredentials,
            // A provider that has given some, and gives no more.
            _ => FailureKind::Expired,
        };
    }
    match error {
        SdkError::ServiceError(_) => {}
        SdkError::ConstructionFailure(_) => return FailureKind::Refused,
        _ => return FailureKind::Unreachable,
    }
    match code.unwrap_or_default() {
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" => FailureKind::Expired,
        // Tokens that are not known, and keys that were taken back.
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidAccessKeyId"
        | "InvalidToken" => FailureKind::Rejected,
        "RequestTimeTooSkewed" => FailureKind::Clock,
        "InvalidSignatureException" | "SignatureDoesNotMatch"
            if message.contains("expired")
                || message.contains("current")
                || message.contains("time") =>
        {
            FailureKind::Clock
        }
        "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" | "NotAuthorized" => {
            FailureKind::Denied
        }
        "InvalidSignatureException" | "SignatureDoesNotMatch" => FailureKind::Rejected,
        "ThrottlingException"
        | "Throttling"
        | "TooManyRequestsException"
        | "SlowDown"
        | "RequestLimitExceeded" => FailureKind::Throttled,
        "ResourceLimitExceeded" | "LimitExceededException" => FailureKind::Limit,
        "InternalFailure"
        | "InternalServerError"
        | "InternalServerException"
        | "InternalServiceError"
        | "RequestTimeout"
        | "OperationAborted"
        | "InternalError"
        | "ServiceUnavailable"
        | "ServiceUnavailableException" => FailureKind::Unreachable,
        // An answer without a code that AWS defines is not AWS's.
        "" => FailureKind::Unreachable,
        _ => FailureKind::Refused,
    }
}

fn credentials_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CredentialsError> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref::<CredentialsError>() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

/// The error and its causes in a line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        // Wrappers often repeat what they wrap.
        if words.last() != Some(&text) {
            words.push(text);
        }
        next = cause.source();
    }
    words.join(": ")
}
