//! Errors on demand: which call of which operation goes wrong, and how.

use std::ops::RangeInclusive;

use serde::Deserialize;

use super::FakeAws;
use super::operation::Operation;

/// How a call goes wrong.
#[derive(Debug, Clone, Deserialize)]
pub(crate) enum Fault {
    /// Not authorized for the very operation that is called, in the words of its service; likewise the next three.
    AccessDenied,
    Throttled,
    ExpiredToken,
    ClockSkew,
    /// Any other error.
    Refused(Refusal),
    /// An error page without AWS's form, as a proxy or a broken front end gives it.
    Page(u16),
    /// The connection is closed and nothing was done.
    Dropped,
    /// The connection stays open and nothing is answered.
    Silent,
    /// The call is done, and the connection is closed before the answer.
    AnswerLost,
}

/// An error of a service: what it is called, what it says, with which HTTP status.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Refusal {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        let status = match code {
            "InternalServerError" | "InternalFailure" | "InternalError" => 500,
            "ServiceUnavailable" | "SlowDown" => 503,
            "AccessDenied" | "RequestTimeTooSkewed" => 403,
            "NoSuchBucket" | "NoSuchKey" => 404,
            "ConditionalRequestConflict" => 409,
            "PreconditionFailed" => 412,
            "NotImplemented" => 501,
            _ => 400,
        };
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
        }
    }

    pub(super) fn validation(message: impl Into<String>) -> Self {
        Self::new("ValidationException", message)
    }

    pub(super) fn resource_limit(
        instance_type: &str,
        limit: u64,
        utilization: u64,
        delta: u64,
    ) -> Self {
        Self::new(
            "ResourceLimitExceeded",
            format!(
                "The account-level service limit '{instance_type} for training job usage' is {limit} Instances, with \
                 current utilization of {utilization} Instances and a request delta of {delta} Instances. Please use \
                 AWS Service Quotas to request an increase for this quota. If AWS Service Quotas is not available, \
                 contact AWS support to request an increase for this quota."
            ),
        )
    }
}

impl Fault {
    /// Any error of a service; the HTTP status follows from the code.
    pub(crate) fn error(code: &str, message: impl Into<String>) -> Self {
        Self::Refused(Refusal::new(code, message))
    }

    /// The error as the service of an operation words it; `None` where the fault is no error of a service.
    pub(super) fn refusal(&self, operation: Operation) -> Option<Refusal> {
        // The two services that are older than AWS JSON have shorter codes.
        let (is_s3, is_old) = match operation.service() {
            "s3" => (true, true),
            "sts" => (false, true),
            _ => (false, false),
        };
        let (old, code, message) = match self {
            Self::AccessDenied => (
                "AccessDenied",
                "AccessDeniedException",
                format!(
                    "User: arn:aws:sts::{account}:assumed-role/ci/session is not authorized to perform: {action} because \
                     no identity-based policy allows the {action} action",
                    account = super::ACCOUNT,
                    action = operation.action(),
                ),
            ),
            Self::Throttled if is_s3 => (
                "SlowDown",
                "SlowDown",
                "Please reduce your request rate.".to_owned(),
            ),
            Self::Throttled => (
                "Throttling",
                "ThrottlingException",
                "Rate exceeded".to_owned(),
            ),
            Self::ExpiredToken => (
                "ExpiredToken",
                "ExpiredTokenException",
                "The security token included in the request is expired".to_owned(),
            ),
            Self::ClockSkew if is_s3 => (
                "RequestTimeTooSkewed",
                "RequestTimeTooSkewed",
                "The difference between the request time and the current time is too large.".to_owned(),
            ),
            Self::ClockSkew => (
                "SignatureDoesNotMatch",
                "InvalidSignatureException",
                "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z (20260101T001500Z - 5 min.)"
                    .to_owned(),
            ),
            Self::Refused(refusal) => return Some(refusal.clone()),
            Self::Page(_) | Self::Dropped | Self::Silent | Self::AnswerLost => return None,
        };
        Some(Refusal::new(if is_old { old } else { code }, message))
    }
}

/// A fault and the calls that it strikes.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    operation: Operation,
    about: Option<String>,
    /// Counted from 1, from the moment the rule is made, retries included.
    calls: RangeInclusive<u64>,
    seen: u64,
    pub(super) fault: Fault,
    /// How many calls of anything it strikes after that.
    pub(super) then_everything: Option<u64>,
}

impl Rule {
    /// Counts a call, if it is one of the rule's, and returns whether it is struck.
    pub(super) fn strikes(&mut self, operation: Operation, says: impl Fn(&str) -> bool) -> bool {
        let is_meant = self.operation == operation && self.about.as_deref().is_none_or(&says);
        // What is asked before about a job that is not there is answered as the next call would be, and counts for none.
        if says(super::NO_JOB) {
            return is_meant && self.calls.contains(&(self.seen + 1));
        }
        self.seen += u64::from(is_meant);
        is_meant && self.calls.contains(&self.seen)
    }
}

/// A fault that is being described; `with` ends the sentence.
pub(crate) struct FaultBuilder<'a> {
    aws: &'a FakeAws,
    operation: Operation,
    about: Option<String>,
    calls: RangeInclusive<u64>,
    then_everything: Option<u64>,
}

impl<'a> FaultBuilder<'a> {
    /// Every call of an operation.
    pub(super) fn new(aws: &'a FakeAws, operation: Operation) -> Self {
        Self {
            aws,
            operation,
            about: None,
            calls: 1..=u64::MAX,
            then_everything: None,
        }
    }

    /// Only calls whose address or body holds a text, such as a job's name, a bucket or a key.
    pub(crate) fn about(mut self, text: &str) -> Self {
        self.about = Some(text.to_owned());
        self
    }

    /// Only the `call`-th such call from now on, counted from 1, retries included.
    pub(crate) fn on_call(self, call: u64) -> Self {
        self.on_calls(call..=call)
    }

    pub(crate) fn on_calls(mut self, calls: RangeInclusive<u64>) -> Self {
        self.calls = calls;
        self
    }

    /// When it has struck, so many further calls of anything fail like it.
    pub(crate) fn then_everything_for(mut self, calls: u64) -> Self {
        self.then_everything = Some(calls);
        self
    }

    pub(crate) fn with(self, fault: Fault) {
        self.aws.core.state().faults.push(Rule {
            operation: self.operation,
            about: self.about,
            calls: self.calls,
            seen: 0,
            fault,
            then_everything: self.then_everything,
        });
    }
}
