//! The files in which AWS publishes what a service costs in a region: they need no credentials.

use std::io::Read;
use std::time::Duration;

use reqwest::blocking::Client;

use super::call::chain;
use super::{own_endpoint, time_scale};

const PUBLISHED: &str = "https://pricing.us-east-1.amazonaws.com";
/// The longest time for a request and its whole answer, of some ten MB.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Opens the offer file of a service, such as `AmazonSageMaker`, in a region, or says why it is not there. It goes by the proxy
/// that the environment names, as AWS's clients do.
pub(crate) fn open(
    (service, region): (&str, &str),
    largest: u64,
    pace: f64,
) -> Result<impl Read, String> {
    let base = own_endpoint("PRICING").unwrap_or_else(|| PUBLISHED.to_owned());
    let base = base.trim_end_matches('/');
    let url = format!("{base}/offers/v1.0/aws/{service}/current/{region}/index.json");
    let answer = Client::builder().build().and_then(|client| {
        let timeout = TIMEOUT.mul_f64(time_scale(pace));
        client.get(url).timeout(timeout).send()
    });
    let answer = answer.map_err(|error| chain(&error.without_url()))?;
    match answer.status().as_u16() {
        200 if answer.content_length() > Some(largest) => Err("they are too large".to_owned()),
        200 => Ok(answer),
        403 | 404 => Err(format!("there are none of {region}")),
        status => Err(format!("the answer was {status}")),
    }
}
