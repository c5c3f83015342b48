//! Requests to S3: how its listings are asked for and read, and why it refused a request, with what to do about it.

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::operation::list_objects_v2::builders::ListObjectsV2FluentBuilder;
use aws_sdk_s3::types::EncodingType;
use derive_more::Constructor;

use super::call::{Call, CallError, FailureKind};
use super::s3_uri::{S3Uri, decoded, shown};
use crate::outside_error::OutsideError;

/// A request to S3, as its error describes it.
#[derive(Debug, Clone, Constructor)]
pub(crate) struct Request<'a> {
    s3: &'a Client,
    /// The spec field that names the place.
    pub(crate) field: &'a str,
    pub(crate) place: &'a S3Uri,
    /// The verb after "could not", such as "list".
    doing: &'a str,
    /// The permissions it needs, such as `s3:ListBucket`.
    permissions: String,
}

/// Some actions on an object, or on all below a folder, as a person has to allow them.
pub(crate) fn permission(actions: &str, place: &S3Uri) -> String {
    let S3Uri { bucket, key } = place;
    let all = match key.is_empty() || key.ends_with('/') {
        true => "*",
        false => "",
    };
    let place = shown(&format!("arn:aws:s3:::{bucket}/{key}{all}"));
    format!("{actions} on {place}")
}

/// The permission to list what begins like a place.
pub(crate) fn list_permission(place: &S3Uri) -> String {
    let (bucket, prefix) = (shown(&place.bucket), shown(&place.key));
    format!("s3:ListBucket on arn:aws:s3:::{bucket} with the prefix `{prefix}`")
}

/// A key as it is; `None` where it is not text. An endpoint that does not know of encoding says so by not naming it.
pub(crate) fn key_of(page: &ListObjectsV2Output, written: &str) -> Option<String> {
    match page.encoding_type() == Some(&EncodingType::Url) {
        true => decoded(written),
        false => Some(written.to_owned()),
    }
}

impl<'a> Request<'a> {
    /// The request to list the keys that begin like a place.
    pub(crate) fn list(s3: &'a Client, field: &'a str, place: &'a S3Uri) -> Self {
        Self::new(s3, field, place, "list", list_permission(place))
    }

    /// The place, for messages.
    pub(crate) fn shown(&self) -> String {
        shown(&self.place.to_string())
    }

    /// The call that lists what begins like the place; [`key_of`] reads its keys.
    pub(crate) fn listing(&self) -> ListObjectsV2FluentBuilder {
        let call = self.s3.list_objects_v2().bucket(&self.place.bucket);
        call.prefix(&self.place.key)
            .encoding_type(EncodingType::Url)
    }

    /// The error of a refused request, chosen by code, never by the text of a message.
    pub(crate) fn refused<E>(&self, error: &SdkError<E>) -> OutsideError
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let Self { field, place, .. } = self;
        let (bucket, shown_place) = (shown(&place.bucket), self.shown());
        let response = error.raw_response();
        let status = response.map_or(0, |response| response.status().as_u16());
        // The answer to a HEAD request has no body for a code, only a status.
        let code = error.code().unwrap_or_default();
        let no_bucket = || {
            OutsideError::of(format!("{field}: there is no bucket `{bucket}`"))
                .help("correct the name, or use credentials of the account that has it")
        };
        let doing = format!("{} {shown_place}", self.doing);
        let call = CallError::of(Call(&self.permissions), error);
        let is_about_credentials = matches!(
            call.kind,
            FailureKind::Expired | FailureKind::Rejected | FailureKind::Clock
        );
        let failed = |why: &str, help: &str| {
            OutsideError::of(format!("{field}: could not {doing}: {why}")).help(help)
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
            ("InvalidObjectState", _) => failed(
                &shown(&call.said()),
                "it is archived, and cannot be read: restore it first, and exclude its folder from the bucket's lifecycle rules",
            ),
            // The credentials are good, and may not do this.
            _ if call.kind == FailureKind::Denied
                || matches!(code, "AllAccessDisabled" | "AccountProblem")
                || status == 403 && !is_about_credentials =>
            {
                let help = format!(
                    "allow {} to the credentials of this run; the bucket policy and the encryption key must allow it too",
                    self.permissions
                );
                failed("access denied", &help)
            }
            // The answer to a HEAD request for a bucket has no code.
            (_, 404) if place.key.is_empty() => no_bucket(),
            ("NoSuchKey", _) => failed(
                &shown(&call.said()),
                "it was removed after it was listed; run the gate again",
            ),
            _ => {
                let error = call.to_error(&doing);
                OutsideError {
                    what: format!("{field}: {}", error.what),
                    ..error
                }
            }
        }
    }

    fn elsewhere(&self, region: Option<String>) -> OutsideError {
        let ours = self.s3.config().region();
        let ours = ours.map_or("the region of this run", AsRef::as_ref);
        let (theirs, key) = match region {
            Some(theirs) => (theirs.clone(), format!("write `region: {theirs}`")),
            None => ("another region".to_owned(), "correct `region`".to_owned()),
        };
        OutsideError::of(format!(
            "{}: the bucket `{}` is in {theirs}, and this run is in {ours}",
            self.field,
            shown(&self.place.bucket)
        ))
        .help(format!(
            "use a bucket in {ours}, or {key}: SageMaker reads and writes only in its own region"
        ))
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
