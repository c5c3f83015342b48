//! The operations that the fake serves, by their names on the wire.

use axum::http::{HeaderMap, Method, Uri};

macro_rules! operations {
    ($($service:literal => $($name:ident),+;)+) => {
        /// One operation of one AWS service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Operation {
            $($($name),+),+
        }

        /// Every operation with botocore's name of its service and its own.
        const OPERATIONS: &[(Operation, &str, &str)] = &[
            $($((Operation::$name, $service, stringify!($name))),+),+
        ];
    };
}

operations! {
    "sagemaker" => CreateTrainingJob, DescribeTrainingJob, StopTrainingJob, UpdateTrainingJob, ListTrainingJobs,
        ListTags;
    "cloudwatch" => GetMetricData;
    "logs" => DescribeLogStreams, GetLogEvents;
    "pricing" => GetProducts;
    "service-quotas" => ListServiceQuotas, ListAWSDefaultServiceQuotas;
    "sts" => GetCallerIdentity, AssumeRoleWithWebIdentity;
    "s3" => ListObjectsV2, GetObject, HeadObject, PutObject, CopyObject, DeleteObject;
}

impl Operation {
    /// The operation that a target such as `SageMaker.CreateTrainingJob` ends with.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let found = OPERATIONS.iter().find(|(_, _, own)| *own == name)?;
        Some(found.0)
    }

    /// What a request to S3 asks for, path style; none of a request that the fake does not know.
    pub(super) fn of_s3(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Self> {
        let query = uri.query().unwrap_or_default();
        let has = |name: &str| {
            query
                .split('&')
                .any(|pair| pair.split('=').next() == Some(name))
        };
        let path = uri.path().trim_start_matches('/');
        let is_bucket = path.split_once('/').is_none_or(|(_, key)| key.is_empty());
        match (method.as_str(), is_bucket) {
            ("GET", true) if has("list-type") => Some(Self::ListObjectsV2),
            ("GET", false) => Some(Self::GetObject),
            ("HEAD", false) => Some(Self::HeadObject),
            ("PUT", false) if headers.contains_key("x-amz-copy-source") => Some(Self::CopyObject),
            ("PUT", false) => Some(Self::PutObject),
            ("DELETE", false) => Some(Self::DeleteObject),
            _ => None,
        }
    }

    fn entry(self) -> &'static (Self, &'static str, &'static str) {
        let found = OPERATIONS.iter().find(|(own, _, _)| *own == self);
        found.expect("the macro writes every operation into the table")
    }

    pub(super) fn name(self) -> &'static str {
        self.entry().2
    }

    /// botocore's name of the service.
    pub(super) fn service(self) -> &'static str {
        self.entry().1
    }

    /// The IAM action that allows it.
    pub(super) fn action(self) -> String {
        let prefix = match self.service() {
            "service-quotas" => "servicequotas",
            other => other,
        };
        match self {
            Self::ListObjectsV2 => "s3:ListBucket".to_owned(),
            Self::HeadObject => "s3:GetObject".to_owned(),
            Self::CopyObject => "s3:PutObject".to_owned(),
            _ => format!("{prefix}:{}", self.name()),
        }
    }
}
