//! **AWS**: credentials, region, endpoints, retries, S3 URIs, and the texts of failed calls.
//!
//! Credentials come from the SDK's default chain (environment, profile, web identity, container, instance), in GitHub Actions
//! without the instance, and endpoints
//! from `AWS_ENDPOINT_URL` and its variants for single services.

pub(crate) mod call;
mod credentials;
mod error;
pub(crate) mod s3_error;
pub mod s3_uri;
mod silence;

pub use error::AwsError;

use std::time::Duration;

use self::silence::SilenceWatch;
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
/// For all attempts of one call, waits included: what hangs is given up.
const CALL_TIMEOUT: Duration = Duration::from_mins(3);
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
    /// Waits between attempts are multiplied by `pace`, and so are time limits, unless it is 0: then nothing is waited for, and an
    /// answer takes what it takes.
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
            .connect_timeout(CONNECT_TIMEOUT.mul_f64(time_scale(pace)))
            .operation_attempt_timeout(ATTEMPT_TIMEOUT.mul_f64(time_scale(pace)))
            .operation_timeout(CALL_TIMEOUT.mul_f64(time_scale(pace)))
            .build();
        let region_of_calls = Region::new(region.to_owned());
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(region_of_calls.clone())
            .retry_config(retries)
            .timeout_config(timeouts);
        if !credentials::may_ask_the_machine(&|name| std::env::var(name).ok()) {
            let chain = credentials::without_the_machine(region_of_calls).await;
            loader = loader.credentials_provider(chain);
        }
        let config = loader.load().await;
        Ok(Self::of(&config, region, time_scale(pace)))
    }

    fn of(config: &SdkConfig, region: &str, scale: f64) -> Self {
        let watch = |service| SilenceWatch::new(service, scale);
        // A custom endpoint is one host; the bucket cannot be part of its name.
        let path_style = has_own_endpoint("S3");
        let s3 = aws_sdk_s3::config::Builder::from(config)
            .force_path_style(path_style)
            .interceptor(watch("S3"))
            .build();
        let sagemaker =
            aws_sdk_sagemaker::config::Builder::from(config).interceptor(watch("SageMaker"));
        let once = sagemaker.clone().retry_config(RetryConfig::disabled());
        let pricing = aws_sdk_pricing::config::Builder::from(config)
            .region(Region::new(PRICE_LIST_REGION))
            .interceptor(watch("the price list"));
        let cloudwatch =
            aws_sdk_cloudwatch::config::Builder::from(config).interceptor(watch("CloudWatch"));
        let logs = aws_sdk_cloudwatchlogs::config::Builder::from(config)
            .interceptor(watch("CloudWatch Logs"));
        let quotas = aws_sdk_servicequotas::config::Builder::from(config)
            .interceptor(watch("Service Quotas"));
        let sts = aws_sdk_sts::config::Builder::from(config).interceptor(watch("STS"));
        Self {
            region: region.to_owned(),
            sagemaker: aws_sdk_sagemaker::Client::from_conf(sagemaker.build()),
            sagemaker_once: aws_sdk_sagemaker::Client::from_conf(once.build()),
            s3: aws_sdk_s3::Client::from_conf(s3),
            cloudwatch: aws_sdk_cloudwatch::Client::from_conf(cloudwatch.build()),
            logs: aws_sdk_cloudwatchlogs::Client::from_conf(logs.build()),
            pricing: aws_sdk_pricing::Client::from_conf(pricing.build()),
            quotas: aws_sdk_servicequotas::Client::from_conf(quotas.build()),
            sts: aws_sdk_sts::Client::from_conf(sts.build()),
        }
    }
}

/// What a time limit is multiplied by at a pace.
pub(crate) fn time_scale(pace: f64) -> f64 {
    if pace > 0.0 { pace } else { 1.0 }
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
