//! Why S3 refused a request, and what to do about it.

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use super::call::{Call, CallError};
use super::error::AwsError;
use super::s3_uri::{S3Uri, shown};

/// A request to S3, as its error describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The spec field that names the place.
    pub(crate) field: &'a str,
    pub(crate) place: &'a S3Uri,
    /// The verb after "could not", such as "list".
    pub(crate) doing: &'a str,
    /// The permissions it needs, such as `s3:ListBucket`.
    pub(crate) permissions: &'a str,
    /// The client's region.
    pub(crate) region: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// About objects of training jobs.
    pub(crate) fn of_jobs(
        s3: &'a Client,
        field: &'a str,
        place: &'a S3Uri,
        doing: &'a str,
        permissions: &'a str,
    ) -> Self {
        Self {
            field,
            place,
            doing,
            permissions,
            region: s3.config().region().map(AsRef::as_ref),
        }
    }
}

impl Request<'_> {
    /// The error of a refused request, chosen by code, never by the text of a message.
    pub(crate) fn refused<E>(&self, error: &SdkError<E>) -> AwsError
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let Self { field, place, .. } = self;
        let (bucket, shown_place) = (shown(&place.bucket), shown(&place.to_string()));
        let response = error.raw_response();
        let status = response.map_or(0, |response| response.status().as_u16());
        // The answer to a HEAD request has no body for a code, only a status.
        let code = error.code().unwrap_or_default();
        let no_bucket = || {
            AwsError::new(
                format!("{field}: there is no bucket `{bucket}`"),
                "correct the name, or use credentials of the account that has it",
            )
        };
        match (code, status) {
            (
                "PermanentRedirect"
                | "TemporaryRedirect"
                | "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException",
                _,
            )
            | (_, 301 | 307) => self.elsewhere(response.and_then(region_of_bucket)),
            ("NoSuchBucket", _) => no_bucket(),
            _ if is_denied(code, status) => {
                AwsError::new(
                    format!("{field}: could not {} {shown_place}: access denied", self.doing),
                    format!(
                        "allow {} to the credentials of this run; the bucket policy and the encryption key must allow it too",
                        self.permissions
                    ),
                )
            }
            // The answer to a HEAD request for a bucket has no code.
            (_, 404) if place.key.is_empty() => no_bucket(),
            ("NoSuchKey", _) => {
                self.failed(error, "it was removed after it was listed; run the gate again")
            }
            ("InvalidObjectState", _) => self.failed(
                error,
                "it is archived, and cannot be read: restore it first, and exclude its folder from the bucket's lifecycle rules",
            ),
            _ => {
                let call = CallError::of(Call(self.permissions), error);
                let mut error = call.to_error(&format!("{} {shown_place}", self.doing));
                error.what = format!("{field}: {}", error.what);
                error
            }
        }
    }

    fn failed<E>(&self, error: &SdkError<E>, help: &str) -> AwsError
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        AwsError::new(
            format!(
                "{}: could not {} {}: {}",
                self.field,
                self.doing,
                shown(&self.place.to_string()),
                reason(error),
            ),
            help,
        )
    }

    pub(crate) fn elsewhere(&self, region: Option<String>) -> AwsError {
        let ours = self.region.unwrap_or("the region of this run");
        let (theirs, key) = match region {
            Some(theirs) => (theirs.clone(), format!("write `region: {theirs}`")),
            None => ("another region".to_owned(), "correct `region`".to_owned()),
        };
        AwsError::new(
            format!(
                "{}: the bucket `{}` is in {theirs}, and this run is in {ours}",
                self.field,
                shown(&self.place.bucket)
            ),
            format!(
                "use a bucket in {ours}, or {key}: SageMaker reads and writes only in its own region"
            ),
        )
    }
}

/// Whether the credentials are good and may not do this.
fn is_denied(code: &str, status: u16) -> bool {
    match code {
        "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => true,
        "ExpiredToken"
        | "ExpiredTokenException"
        | "InvalidToken"
        | "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "RequestTimeTooSkewed" => false,
        _ => status == 403,
    }
}

/// The code and message of S3's answer, or what happened instead of one.
fn reason<E>(error: &SdkError<E>) -> String
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => shown(&format!("{code}: {message}")),
        (Some(code), None) => shown(code),
        _ => shown(&DisplayErrorContext(error).to_string()),
    }
}

/// The bucket's region according to S3: from a header, else from the error's text.
fn region_of_bucket(response: &HttpResponse) -> Option<String> {
    let in_text = || {
        let text = str::from_utf8(response.body().bytes()?).ok()?;
        let (_, rest) = text.split_once("<Region>")?;
        Some(rest.split_once("</Region>")?.0)
    };
    let region = response
        .headers()
        .get("x-amz-bucket-region")
        .or_else(in_text)?;
    let is_region = !region.is_empty()
        && region.len() <= 32
        && region
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_region.then(|| region.to_owned())
}
