//! The order of the spec's parts.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use super::super::description;
use super::{channels, machines, training};
use crate::spec::page::{FILL_IN, SpecPage};
use crate::spec::yaml_text as yaml;

/// A commented spec that asks for what this job was; `tags` are the job's. What a spec cannot say stands in remarks.
pub(super) fn spec(
    job: &DescribeTrainingJobOutput,
    tags: &[(String, String)],
    region: &str,
) -> String {
    let mut page = SpecPage(String::new());
    let name = job.training_job_name().unwrap_or_default();
    let status = job
        .training_job_status()
        .map_or("unknown", |status| status.as_str());
    page.remark(
        0,
        &format!("Made from the training job {name}, whose status is {status}."),
    );
    page.remark(
        0,
        "Fill in what is marked, then: canary-gate validate, canary-gate plan --all",
    );
    page.line(0, "version: 1");
    page.line(0, "backend: sagemaker");
    page.line(0, &format!("region: {}", yaml::text(region)));
    page.gap();
    page.line(0, "jobs:");
    page.line(1, &format!("{}:", yaml::text(spec_name(name))));
    page.remark(
        2,
        "These files count: a change of one triggers the job, and what does not count no canary gets. Without this key a change of any file does.",
    );
    page.line(
        2,
        r##"# paths: ["training/**", "requirements.txt", "!**/*.md"]"##,
    );
    page.gap();
    page.remark(2, "The full run.");
    page.line(2, "training:");
    training::write(&mut page, job, tags);
    page.gap();
    if !channels::has_samples(job) {
        page.remark(
            2,
            "The job has no channel with data in S3 of which a canary could get a sample. Its script draws its share of the data: name where it is handed the share.",
        );
        page.line(2, &format!("# share: {{hyperparameter: {FILL_IN}}}"));
        page.gap();
    }
    let instance = job.resource_config().and_then(description::instance);
    machines::write_instance(&mut page, job, instance.as_ref());
    page.remark(
        2,
        "Other configurations to compare. They never change the exit code.",
    );
    page.line(2, "# alternatives: [ml.c5.4xlarge]");
    page.gap();
    page.remark(2, "The most that the canaries of one check may cost.");
    page.line(2, &canary(job));
    page.gap();
    machines::budget(&mut page, job, instance.as_ref(), region);
    page.0
}

/// The job's name without the time that the SDK puts behind it: `-2026-11-21-09-52-09-123`.
fn spec_name(name: &str) -> &str {
    const FORM: &[u8] = b"-0000-00-00-00-00-00-000";
    let is_time = |end: &str| {
        end.len() == FORM.len()
            && end.bytes().zip(FORM).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte == *form,
            })
    };
    let start = name
        .len()
        .checked_sub(FORM.len())
        .filter(|at| name.get(*at..).is_some_and(is_time))
        .map_or(name, |at| &name[..at]);
    if start.is_empty() { "train" } else { start }
}

/// The machines of the job are kept for as long as a spec may ask; a spec's own default is `auto`.
fn canary(job: &DescribeTrainingJobOutput) -> String {
    const LONGEST: i32 = 3600;
    let resources = job.resource_config();
    let kept = resources
        .filter(|resources| resources.instance_groups().is_empty())
        .and_then(|resources| resources.keep_alive_period_in_seconds())
        .filter(|seconds| *seconds > 0);
    match kept {
        Some(seconds) => format!(
            "canary: {{spend_limit: 5 USD, warm_pool: {{keep_alive: {}s}}}}",
            seconds.min(LONGEST)
        ),
        None => "canary: {spend_limit: 5 USD}".to_owned(),
    }
}
