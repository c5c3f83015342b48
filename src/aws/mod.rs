//! **AWS**: credentials, region, endpoints, retries, S3 URIs, and the texts of failed calls.
//!
//! Credentials come from the SDK's default chain (environment, profile, web identity, container, instance), and endpoints
//! from `AWS_ENDPOINT_URL` and its variants for single services.

pub(crate) mod call;
mod error;
pub(crate) mod s3_error;
pub mod s3_uri;

pub use error::AwsError;

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};

/// A burst of canaries exceeds SageMaker's rate limits; the SDK's default of 3 would give up too early.
const ATTEMPTS: u32 = 8;
/// The wait before the second attempt; each later wait is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For one attempt; the largest answer is a page of a listing.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);
/// The only region with the price list that cannot be disabled for an account.
const PRICE_LIST_REGION: &str = "us-east-1";

/// Clients of the services that the gate uses.
#[derive(Debug, Clone)]
pub struct Aws {
    pub region: String,
    pub sagemaker: aws_sdk_sagemaker::Client,
    /// Sends each request once, for operations that must not be interrupted between two attempts.
    pub sagemaker_once: aws_sdk_sagemaker::Client,
    pub s3: aws_sdk_s3::Client,
    pub cloudwatch: aws_sdk_cloudwatch::Client,
    pub logs: aws_sdk_cloudwatchlogs::Client,
    pub pricing: aws_sdk_pricing::Client,
    pub quotas: aws_sdk_servicequotas::Client,
    pub sts: aws_sdk_sts::Client,
}

/// An endpoint variable is set but empty; the SDK does not treat it as unset.
#[derive(Debug, thiserror::Error)]
#[error("{0} is set but empty")]
pub struct EmptyEndpoint(String);

impl Aws {
    /// Clients for a region, with credentials as they are found now; nothing is sent.
    ///
    /// Waits between attempts are multiplied by `pace`.
    pub async fn load(region: &str, pace: f64) -> Result<Self, EmptyEndpoint> {
        if let Some((name, _)) = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .find(|(name, value)| name.starts_with("AWS_ENDPOINT_URL") && value.is_empty())
        {
            return Err(EmptyEndpoint(name));
        }
        let retries = RetryConfig::adaptive()
            .with_max_attempts(ATTEMPTS)
            .with_initial_backoff(FIRST_BACKOFF.mul_f64(pace))
            .with_max_backoff(LONGEST_BACKOFF.mul_f64(pace));
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .retry_config(retries)
            .timeout_config(timeouts)
            .load()
            .await;
        Ok(Self::of(&config, region))
    }

    fn of(config: &SdkConfig, region: &str) -> Self {
        // A custom endpoint is one host; the bucket cannot be part of its name.
        let path_style = has_own_endpoint("S3");
        let s3 = aws_sdk_s3::config::Builder::from(config)
            .force_path_style(path_style)
            .build();
        let once = aws_sdk_sagemaker::config::Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .build();
        let pricing = aws_sdk_pricing::config::Builder::from(config)
            .region(Region::new(PRICE_LIST_REGION))
            .build();
        Self {
            region: region.to_owned(),
            sagemaker: aws_sdk_sagemaker::Client::new(config),
            sagemaker_once: aws_sdk_sagemaker::Client::from_conf(once),
            s3: aws_sdk_s3::Client::from_conf(s3),
            cloudwatch: aws_sdk_cloudwatch::Client::new(config),
            logs: aws_sdk_cloudwatchlogs::Client::new(config),
            pricing: aws_sdk_pricing::Client::from_conf(pricing),
            quotas: aws_sdk_servicequotas::Client::new(config),
            sts: aws_sdk_sts::Client::new(config),
        }
    }
}

/// Whether the environment sets an endpoint for a service, by the SDK's rules.
fn has_own_endpoint(service: &str) -> bool {
    [
        "AWS_ENDPOINT_URL".to_owned(),
        format!("AWS_ENDPOINT_URL_{service}"),
    ]
    .iter()
    .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
