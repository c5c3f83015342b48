//! An existing training job as a commented spec, for `init --from-job`.

mod layout;
mod machines;
mod page;
#[cfg(test)]
mod tests;
mod training;
mod yaml;

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sagemaker::Client;
use aws_sdk_sagemaker::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use super::name::JobName;
use crate::aws::Aws;
use crate::backend::BackendError;

/// A commented spec that asks for what a training job was; `spec::read` takes it where the job holds nothing odd.
///
/// # Errors
///
/// When there is no such job, when it may not be read, and when there are no credentials; each with what to do.
pub async fn describe_as_spec(name: &str, region: &str) -> Result<String, BackendError> {
    if JobName::parse(name).is_some() {
        return Err(BackendError::new(
            format!("{name} is a canary of this gate, which tells little of the full run"),
            "name a training job of the full data",
        ));
    }
    let aws = Aws::load(region, 1.0)
        .await
        .map_err(|error| BackendError::new(error.to_string(), "unset it, or name an endpoint"))?;
    spec_of(&aws.sagemaker, name, region).await
}

async fn spec_of(client: &Client, name: &str, region: &str) -> Result<String, BackendError> {
    let job = client
        .describe_training_job()
        .training_job_name(name)
        .send()
        .await
        .map_err(|error| refusal(&error, error.code(), name, region))?;
    // Tags are an extra: who may not read them gets a spec without.
    let tags = tags(client, &job).await.unwrap_or_default();
    Ok(layout::spec(&job, &tags, region))
}

/// `None` where they cannot be read.
async fn tags(client: &Client, job: &DescribeTrainingJobOutput) -> Option<Vec<(String, String)>> {
    let arn = job.training_job_arn()?;
    // A job has at most 50, and a page holds as many.
    let answer = client.list_tags().resource_arn(arn).send().await.ok()?;
    let tags = answer.tags().iter();
    Some(
        tags.filter_map(|tag| Some((tag.key()?.to_owned(), tag.value()?.to_owned())))
            .collect(),
    )
}

/// Why the job could not be read, and what to do about it.
fn refusal(
    error: &(dyn Error + Send + Sync + 'static),
    code: Option<&str>,
    name: &str,
    region: &str,
) -> BackendError {
    let without_credentials = {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        std::iter::from_fn(|| {
            let this = cause?;
            cause = this.source();
            Some(this)
        })
        .any(|cause| cause.is::<CredentialsError>())
    };
    let (what, help) = match code {
        Some("ValidationException" | "ResourceNotFound" | "ResourceNotFoundException") => (
            format!("there is no training job `{name}` in {region}"),
            format!(
                "name another region with `--region`; what there is tells `aws sagemaker list-training-jobs --region {region}`"
            ),
        ),
        Some("AccessDeniedException" | "AccessDenied") => (
            format!("AWS does not let you read the training job `{name}` in {region}"),
            format!("allow sagemaker:DescribeTrainingJob on arn:aws:sagemaker:{region}:ACCOUNT:training-job/{name}"),
        ),
        Some(
            "ExpiredTokenException" | "ExpiredToken" | "UnrecognizedClientException" | "InvalidClientTokenId"
            | "InvalidSignatureException" | "SignatureDoesNotMatch" | "MissingAuthenticationTokenException",
        ) => (
            format!("AWS does not accept the credentials: {}", DisplayErrorContext(error)),
            "renew them, for instance with `aws sso login`; `aws sts get-caller-identity` tells whether they work".to_owned(),
        ),
        _ if without_credentials => (
            "there are no AWS credentials".to_owned(),
            "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; in GitHub Actions use aws-actions/configure-aws-credentials".to_owned(),
        ),
        _ => (
            format!("SageMaker in {region} could not be asked: {}", DisplayErrorContext(error)),
            "see that the region is written correctly and that the network reaches AWS".to_owned(),
        ),
    };
    BackendError::new(what, help)
}
