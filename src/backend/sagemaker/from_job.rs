//! An existing training job as a commented spec, for `init --from-job`.

mod channels;
#[cfg(test)]
mod tests;
mod written;

use std::sync::{Arc, OnceLock};

use aws_sdk_sagemaker::Client;
use aws_sdk_sagemaker::config::interceptors::AfterDeserializationInterceptorContextRef;
use aws_sdk_sagemaker::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sagemaker::error::BoxError;
use serde_json::Value;

use self::written::DescribedJob;
use super::tags::{Tags, tags_of_job};
use super::watch::DESCRIBE;
use super::{JobName, description};
use crate::aws::Aws;
use crate::aws::call::{CallError, CallResult, FailureKind};
use crate::instance::InstanceConfiguration;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::yaml_text as yaml;

/// How the SDK v2 says which script the training toolkit starts: in hyperparameters on every job of a script.
const PROGRAM: &str = "sagemaker_program";
const SUBMIT_DIRECTORY: &str = "sagemaker_submit_directory";

/// Whether the toolkit starts a script, whose archive canary-gate brings itself.
fn is_script(job: &Value) -> bool {
    !job["HyperParameters"][PROGRAM].is_null()
}

/// AWS has empty texts where there is nothing.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A value as a spec writes it; `None` where it is what a job has that says nothing.
fn yaml_of(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) | Value::Bool(false) => None,
        Value::Bool(true) => Some("true".to_owned()),
        Value::Number(count) => {
            let count = count.as_u64().filter(|count| *count > 0)?;
            Some(count.to_string())
        }
        Value::String(_) => text(value).map(yaml::text),
        Value::Array(all) => {
            let all: Vec<&str> = all.iter().filter_map(text).collect();
            (!all.is_empty()).then(|| yaml::list(&all))
        }
    }
}

/// The answer to a call, as AWS wrote it.
#[derive(Debug, Clone, Default)]
struct Answer(Arc<OnceLock<Value>>);

impl Intercept for Answer {
    fn name(&self) -> &'static str {
        "Answer"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if context.output_or_error().is_ok() {
            let body = context.response().body().bytes().unwrap_or_default();
            let answer = serde_json::from_slice(body)?;
            self.0.get_or_init(|| answer);
        }
        Ok(())
    }
}

/// A commented spec that asks for what a training job was; `spec::read` takes it where the job holds nothing odd.
///
/// # Errors
///
/// When there is no such job, when it may not be read, and when there are no credentials; each with what to do.
pub async fn describe_as_spec(name: &str, region: &str) -> OutsideResult<String> {
    if JobName::parse(name).is_some() {
        return Err(OutsideError::of(format!(
            "{name} is a canary, and a spec describes the full run"
        ))
        .help("name a training job that ran on the full data"));
    }
    let client = &Aws::load(region, 1.0, None).await?.sagemaker;
    let described = describe(client, name).await;
    let (job, machines) = described.map_err(|error| refusal(&error, name, region))?;
    // Tags are an extra: who may not read them gets a spec without.
    let tags = tags_of_job(client, text(&job["TrainingJobArn"])).await;
    let tags = tags.unwrap_or_default();
    let described = DescribedJob {
        job: &job,
        machines: machines.as_ref(),
        tags: &tags,
        region,
    };
    Ok(described.spec())
}

/// What SageMaker says of a job, by its own names of the fields, and what the job ran on:
/// <https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeTrainingJob.html>
async fn describe(
    client: &Client,
    name: &str,
) -> CallResult<(Value, Option<InstanceConfiguration>)> {
    let answer = Answer::default();
    let call = client.describe_training_job().training_job_name(name);
    let job = call.customize().interceptor(answer.clone()).send().await;
    let job = job.map_err(|error| CallError::of(DESCRIBE, &error))?;
    let machines = job.resource_config().and_then(description::instance);
    let answer = answer.0.get().cloned();
    Ok((
        answer.expect("kept with every answer that is good"),
        machines,
    ))
}

/// Why the job could not be read, and what to do about it.
fn refusal(error: &CallError, name: &str, region: &str) -> OutsideError {
    if error.is_not_there() {
        return OutsideError::of(format!("there is no training job `{name}` in {region}"))
            .help(format!(
                "name another region with `--region`, or find the name with `aws sagemaker list-training-jobs --region {region}`"
            ));
    }
    if error.kind == FailureKind::Denied {
        let call = DESCRIBE.0;
        // The least policy of a spec is about canaries, and there is no spec yet.
        return OutsideError::of(format!(
            "AWS does not let you read the training job `{name}` in {region}"
        ))
        .help(format!(
            "allow {call} on arn:aws:sagemaker:{region}:ACCOUNT:training-job/{name}"
        ));
    }
    error.to_error(&format!("read the training job `{name}` in {region}"))
}
