//! What AWS allows: the limits of `CreateTrainingJob`, checked before any call.
//!
//! Numbers and patterns are those of the SageMaker API reference; where canary-gate needs some for itself, less is left.

use std::ops::RangeInclusive;

use super::RunPlace;
use super::kind::{first_problem, forms};
use super::reader::{At, Reader, rules};
use crate::grammar::pattern;
use crate::units::Seconds;

pub(super) const CHANNELS: RangeInclusive<usize> = 1..=20;
pub(super) const HYPERPARAMETERS: usize = 100;
/// What starts a script: `sagemaker_program`, `sagemaker_submit_directory`, `sagemaker_region`,
/// `sagemaker_container_log_level` and `sagemaker_job_name`.
pub(super) const SCRIPT_MODE_HYPERPARAMETERS: usize = 5;
pub(super) const HYPERPARAMETER_NAME: usize = 256;
pub(super) const HYPERPARAMETER_VALUE: usize = 2500;
/// Those of a value's pattern, in which `.` is a character of Java's.
pub(super) const LINE_ENDS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
pub(super) const ENVIRONMENT: usize = 100;
pub(super) const ENVIRONMENT_TEXT: usize = 512;
/// SageMaker takes 50; canary-gate sets six of its own.
pub(super) const TAGS: usize = 44;
pub(super) const TAG_NAME: usize = 128;
pub(super) const TAG_VALUE: usize = 256;
pub(super) const METRICS: usize = 40;
pub(super) const METRIC_NAME: usize = 255;
pub(super) const METRIC_PATTERN: usize = 500;
pub(super) const IMAGE: usize = 255;
pub(super) const CONTENT_TYPE: usize = 256;
pub(super) const S3_URI: usize = 1024;
pub(super) const SUBNETS: usize = 16;
pub(super) const SECURITY_GROUPS: usize = 5;
pub(super) const GROUPS: usize = 5;
/// The largest EBS volume, in GB.
pub(super) const VOLUME_GB: u32 = 16_384;
pub(super) const LONGEST_RUN: Seconds = Seconds(28.0 * 86_400.0);
/// Nothing limits a run on one's own machine; more than a year is a slip.
pub(super) const LONGEST_LOCAL_RUN: Seconds = Seconds(365.0 * 86_400.0);
pub(super) const KEEP_ALIVE: Seconds = Seconds(3600.0);

/// Whether all of a text has a form, by a pattern.
macro_rules! patterns {
    ($($(#[$doc:meta])* $is:ident = $pattern:literal;)+) => {$(
        $(#[$doc])*
        pub(super) fn $is(text: &str) -> bool {
            pattern!(concat!("^(?:", $pattern, ")$")).is_match(text)
        }
    )+};
}

patterns! {
    is_job_name = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    /// A channel's name by SageMaker's pattern; `is_channel_name` is what a spec may write.
    is_plain_name = "[A-Za-z0-9._-]{1,64}";
    is_variable_name = "[a-zA-Z_][a-zA-Z0-9_]*";
    /// A name to which the system, SageMaker, AWS or the gate gives a meaning: `PATH`, `LD_PRELOAD`, `SM_CHANNELS`.
    is_variable_of_others = r"(?xi-u:
        PATH | HOME | TMPDIR | TMP | TEMP | USER | LOGNAME | SHELL | PWD | IFS | ENV | BASH_ENV | LANG | TZ
        | TRAINING_JOB_NAME | TRAINING_JOB_ARN
        | ( LD_ | LC_ | PYTHON | SM_ | SAGEMAKER_ | AWS_ | CUDA_ | NVIDIA_ | CANARY_GATE_ | GITHUB_ ) (?su:.*))";
    /// A name to which SageMaker or its toolkit gives a meaning: `sagemaker_program`, `_tuning_objective_metric`.
    is_hyperparameter_of_sagemaker = "(?i-u:sagemaker_|sm_|_tuning_objective)(?s:.*)";
    is_tag_text = r"[\p{L}\p{Z}\p{N}_.:/=+@-]*";
    /// The id of an account of AWS.
    is_account = "[0-9]{12}";
    /// `us-east-1`, `ap-southeast-2`, `us-gov-west-1`.
    is_region = "[a-z]+(-[a-z]+)+-[0-9]{1,2}";
    /// `arn:aws:iam::123456789012:role/Name`, in any partition.
    is_role = "arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,576}";
    /// A name, or an ARN that ends with one.
    is_algorithm = "(arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:[a-z-]*/)?[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    /// `arn:aws:sagemaker:us-east-1:123456789012:training-plan/name`
    is_training_plan = "arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:training-plan/.{1,200}";
    is_subnet = "subnet-[A-Za-z0-9-]{1,25}";
    is_security_group = "sg-[A-Za-z0-9-]{1,29}";
    is_file_system = "fs-[0-9a-f]{8,17}";
    is_kms_key = "[A-Za-z0-9:/_-]{0,2048}";
    /// `v1-g1a2b3c4`, which Git reads as that commit.
    is_described_commit = r".*-g[0-9a-f]{4,}";
    /// `OWNER/REPOSITORY/PATH@REF`; no part is `.` or `..`.
    is_policy_address = r"(?-u)\w[\w-]*/\.?[\w-][\w.-]*(/\.?[\w+-][\w.+-]*)+@[\w+-][\w.+-]*(/[\w+-][\w.+-]*)*";
}

/// The name of a channel or of a group; `.` and `..` would be no folder of their own.
pub(super) fn is_channel_name(text: &str) -> bool {
    is_plain_name(text) && !matches!(text, "." | "..")
}

/// The region of an image's registry; `None` if it is not Amazon ECR: `123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1`.
pub(super) fn region_of_image(image: &str) -> Option<&str> {
    let (host, _) = image.split_once('/')?;
    let (account, rest) = host.split_once(".dkr.ecr.")?;
    let (region, domain) = rest.split_once('.')?;
    (is_account(account) && domain.starts_with("amazonaws.com")).then_some(region)
}

/// Why a text is not `s3://bucket/…`, and what to write.
pub(super) fn s3_uri_problem(text: &str) -> Option<(&'static str, &'static str)> {
    const HELP: &str = "write `s3://bucket/prefix/`";
    let rest = text.strip_prefix("s3://").unwrap_or_default();
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    let is_of_bucket = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b);
    first_problem! {
        !text.starts_with("s3://") => "is not an S3 address", HELP;
        !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(is_of_bucket) =>
            "does not name a bucket (3 to 63 lowercase letters, digits, dots, hyphens)", HELP;
        bucket.ends_with("--x-s3") =>
            "is a directory bucket (S3 Express One Zone), whose keys cannot be listed in order", HELP;
        text.len() > S3_URI => "is longer than the 1024 characters SageMaker takes", HELP;
        key.chars().any(char::is_control) => "holds a control character", HELP;
    }
}

forms! {
    /// `s3://bucket/prefix/`
    S3Address: s3_uri_problem;
}

impl Reader<'_> {
    /// A runtime that SageMaker can enforce: 1 second to 28 days. Elsewhere only the lower end holds.
    pub(super) fn check_runtime(&mut self, at: &At, runtime: Seconds) {
        let is_cloud = self.is_on(RunPlace::Cloud);
        rules! { self, at;
            wrong "" if runtime.0 < 1.0 => "a run needs at least 1s";
            wrong "" if is_cloud && runtime > LONGEST_RUN =>
                format!("{runtime}; SageMaker allows at most {LONGEST_RUN}");
            wrong "" if !is_cloud && runtime > LONGEST_LOCAL_RUN =>
                format!("a run takes at most {}", LONGEST_LOCAL_RUN.exact());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_api_reference() {
        for name in ["a", "churn", "a--b", "A1", &"x".repeat(63)] {
            assert!(is_job_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a_b", "a.b", "ü", &"x".repeat(64)] {
            assert!(!is_job_name(name), "{name}");
        }
        assert!(
            is_channel_name("train.v1_a-b") && !is_channel_name("..") && !is_channel_name("a/b")
        );
        assert!(is_variable_name("_A1") && !is_variable_name("1A") && !is_variable_name(""));
        assert!(is_tag_text("team: ä +1") && !is_tag_text("a&b"));
        assert!(is_region("us-gov-west-1") && !is_region("us-east") && !is_region("Ohio"));
        assert!(is_subnet("subnet-0a1b") && !is_subnet("subnet-") && !is_subnet("sg-0a1b"));
    }

    #[test]
    fn roles_and_addresses_follow_their_forms() {
        assert!(is_role("arn:aws:iam::123456789012:role/service-role/Train"));
        assert!(is_role("arn:aws-cn:iam::123456789012:role/Train"));
        for role in [
            "Train",
            "arn:aws:iam::12:role/Train",
            "arn:aws:iam::123456789012:user/x",
        ] {
            assert!(!is_role(role), "{role}");
        }
        for uri in ["s3://my-bucket", "s3://my-bucket/", "s3://my.bucket/a b/"] {
            assert_eq!(s3_uri_problem(uri), None, "{uri}");
        }
        for uri in ["data/", "s3:/x", "s3://", "s3://My/x", "https://x/y"] {
            assert!(s3_uri_problem(uri).is_some(), "{uri}");
        }
        assert!(s3_uri_problem(&format!("s3://bucket/{}", "x".repeat(1024))).is_some());
    }
}
