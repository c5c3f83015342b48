//! An existing training job as a commented spec, for `init --from-job`.

mod channels;
#[cfg(test)]
mod tests;
mod written;

use aws_sdk_sagemaker::Client;
use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

pub use self::written::is_secret;
use super::name::JobName;
use super::watch::DESCRIBE;
use crate::aws::Aws;
use crate::aws::call::{CallError, FailureKind};
use crate::backend::BackendError;

/// How the SDK v2 says which script the training toolkit starts: in hyperparameters on every job of a script.
const PROGRAM: &str = "sagemaker_program";
const SUBMIT_DIRECTORY: &str = "sagemaker_submit_directory";

/// Whether the toolkit starts a script, whose archive canary-gate brings itself.
fn is_script(job: &DescribeTrainingJobOutput) -> bool {
    let all = job.hyper_parameters();
    all.is_some_and(|all| all.contains_key(PROGRAM))
}

/// A commented spec that asks for what a training job was; `spec::read` takes it where the job holds nothing odd.
///
/// # Errors
///
/// When there is no such job, when it may not be read, and when there are no credentials; each with what to do.
pub async fn describe_as_spec(name: &str, region: &str) -> Result<String, BackendError> {
    if JobName::parse(name).is_some() {
        return Err(BackendError::new(
            format!("{name} is a canary, and a spec describes the full run"),
            "name a training job that ran on the full data",
        ));
    }
    let aws = Aws::load(region, 1.0, None)
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
        .map_err(|error| refusal(&CallError::of(DESCRIBE, &error), name, region))?;
    // Tags are an extra: who may not read them gets a spec without.
    let tags = tags(client, &job).await.unwrap_or_default();
    Ok(written::spec(&job, &tags, region))
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
fn refusal(error: &CallError, name: &str, region: &str) -> BackendError {
    if error.is_not_there() {
        return BackendError::new(
            format!("there is no training job `{name}` in {region}"),
            format!(
                "name another region with `--region`, or find the name with `aws sagemaker list-training-jobs --region {region}`"
            ),
        );
    }
    if error.kind == FailureKind::Denied {
        // The least policy of a spec is about canaries, and there is no spec yet.
        return BackendError::new(
            format!("AWS does not let you read the training job `{name}` in {region}"),
            format!("allow {DESCRIBE} on arn:aws:sagemaker:{region}:ACCOUNT:training-job/{name}"),
        );
    }
    error.to_error(&format!("read the training job `{name}` in {region}"))
}
