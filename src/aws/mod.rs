//! **AWS**: credentials, region, endpoints, retries, S3 URIs, and the texts of failed calls.
//!
//! Credentials come from the SDK's default chain (environment, profile, web identity, container, instance), in GitHub Actions
//! without the instance; or they are those of a role that the program assumes itself. Endpoints come
//! from `AWS_ENDPOINT_URL` and its variants for single services.

pub(crate) mod call;
mod credentials;
pub(crate) mod offer_file;
pub mod role;
pub(crate) mod s3;
pub mod s3_uri;

use std::time::Duration;

use self::role::AssumedRole;
use aws_config::identity::IdentityCache;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};

use crate::outside_error::{OutsideError, OutsideResult};

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
/// A role is assumed again at most so long before its credentials end, and at least half of it: no call is signed with some that end on its way.
const RENEWED_BEFORE: Duration = Duration::from_mins(1);
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
    pub role: Option<AssumedRole>,
}

impl Aws {
    /// Clients for a region, with credentials as they are found now, or with those of a role; nothing is sent.
    ///
    /// Waits between attempts are multiplied by `pace`, and so are time limits, unless it is 0: then nothing is waited for, and an
    /// answer takes what it takes.
    pub async fn load(region: &str, pace: f64, role: Option<AssumedRole>) -> OutsideResult<Self> {
        // The SDK does not treat a variable that is empty as unset.
        if let Some((name, _)) = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .find(|(name, value)| name.starts_with("AWS_ENDPOINT_URL") && value.is_empty())
        {
            let what = format!("{name} is set but empty");
            return Err(OutsideError::of(what).help("unset it, or name an endpoint"));
        }
        let region_of_calls = Region::new(region.to_owned());
        let loader = || loader(region_of_calls.clone(), pace);
        let scale = time_scale(pace);
        let config = if let Some(role) = role.clone() {
            let without = loader().no_credentials().load().await;
            let sts = aws_sdk_sts::Client::new(&without);
            let early = IdentityCache::lazy().buffer_time(RENEWED_BEFORE.mul_f64(scale));
            let of_role = role::provider(role, sts);
            let loader = loader().credentials_provider(of_role);
            loader.identity_cache(early.build()).load().await
        } else {
            let variable = |name: &str| std::env::var(name).ok();
            let mut loader = loader();
            if !credentials::may_ask_the_machine(&variable) {
                let chain = credentials::without_the_machine(region_of_calls.clone()).await;
                loader = loader.credentials_provider(chain);
            }
            let config = loader.load().await;
            match config.credentials_provider() {
                Some(found) => {
                    let watched = credentials::watched(found);
                    (config.to_builder().credentials_provider(watched)).build()
                }
                None => config,
            }
        };
        Ok(Self::of(&config, region, role))
    }

    fn of(config: &SdkConfig, region: &str, role: Option<AssumedRole>) -> Self {
        // A custom endpoint is one host; the bucket cannot be part of its name.
        let s3 = aws_sdk_s3::config::Builder::from(config)
            .force_path_style(own_endpoint("S3").is_some());
        let once =
            aws_sdk_sagemaker::config::Builder::from(config).retry_config(RetryConfig::disabled());
        let pricing =
            aws_sdk_pricing::config::Builder::from(config).region(Region::new(PRICE_LIST_REGION));
        Self {
            region: region.to_owned(),
            sagemaker: aws_sdk_sagemaker::Client::new(config),
            sagemaker_once: aws_sdk_sagemaker::Client::from_conf(once.build()),
            s3: aws_sdk_s3::Client::from_conf(s3.build()),
            cloudwatch: aws_sdk_cloudwatch::Client::new(config),
            logs: aws_sdk_cloudwatchlogs::Client::new(config),
            pricing: aws_sdk_pricing::Client::from_conf(pricing.build()),
            quotas: aws_sdk_servicequotas::Client::new(config),
            sts: aws_sdk_sts::Client::new(config),
            role,
        }
    }
}

fn loader(region: Region, pace: f64) -> aws_config::ConfigLoader {
    let retries = RetryConfig::adaptive()
        .with_max_attempts(ATTEMPTS)
        .with_initial_backoff(FIRST_BACKOFF.mul_f64(pace))
        .with_max_backoff(LONGEST_BACKOFF.mul_f64(pace));
    let scale = time_scale(pace);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT.mul_f64(scale))
        .operation_attempt_timeout(ATTEMPT_TIMEOUT.mul_f64(scale))
        .operation_timeout(CALL_TIMEOUT.mul_f64(scale));
    let loader = aws_config::defaults(BehaviorVersion::latest()).region(region);
    loader
        .retry_config(retries)
        .timeout_config(timeouts.build())
}

/// What a time limit is multiplied by at a pace.
pub(crate) fn time_scale(pace: f64) -> f64 {
    if pace > 0.0 { pace } else { 1.0 }
}

/// The endpoint that the environment sets for a service, by the SDK's rules.
fn own_endpoint(service: &str) -> Option<String> {
    let own = format!("AWS_ENDPOINT_URL_{service}");
    let variables = [own.as_str(), "AWS_ENDPOINT_URL"].map(std::env::var);
    let mut set = variables.into_iter().flatten();
    set.find(|value| !value.is_empty())
}
