//! The full run: image, script, channels and what else a job is started with.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use super::{PROGRAM, SUBMIT_DIRECTORY, is_script};
use super::{channels, launcher, program};
use crate::spec::ScriptLauncher;
use crate::spec::page::{FILL_IN, SpecPage};
use crate::spec::yaml_text as yaml;
use crate::units::Seconds;

/// SageMaker takes 50 tags, four of which canary-gate sets.
const MOST_TAGS: usize = 46;
/// What the SDK sets beside them, and canary-gate sets itself for a canary.
const SET_FOR_CANARIES: [&str; 5] = [
    PROGRAM,
    SUBMIT_DIRECTORY,
    "sagemaker_container_log_level",
    "sagemaker_job_name",
    "sagemaker_region",
];
/// Where checkpoints lie unless the job says otherwise.
const CHECKPOINTS: &str = "/opt/ml/checkpoints";
/// Parts of a name whose value is a secret.
const SECRET_NAMES: &str =
    "password passwd secret api_key apikey access_key private_key credential auth_token";
/// Values of variables that are no secrets.
const SWITCHES: &str = "true false yes no on off none debug info warn warning error";
/// Of a number that is no secret.
const LONGEST_NUMBER: usize = 8;

/// How a job says a key of `training`, as a spec writes it.
type Says = fn(&DescribeTrainingJobOutput) -> Option<String>;

/// The keys of `training` that a job says as a value each, in the order of a spec.
const SAID: [(&str, Says); 13] = [
    ("output_kms_key", |job| {
        text(job.output_data_config()?.kms_key_id())
    }),
    ("volume_gb", |job| {
        number(job.resource_config()?.volume_size_in_gb())
    }),
    ("volume_kms_key", |job| {
        text(job.resource_config()?.volume_kms_key_id())
    }),
    ("max_runtime", |job| {
        let limit = job.stopping_condition()?.max_runtime_in_seconds();
        let limit = limit.filter(|limit| *limit > 0)?;
        Some(Seconds(f64::from(limit)).exact())
    }),
    ("spot", |job| {
        let is_spot = job.enable_managed_spot_training() == Some(true);
        is_spot.then(|| "true    # the full run; canaries never use spot".to_owned())
    }),
    ("checkpoints", |job| text(job.checkpoint_config()?.s3_uri())),
    ("retries", |job| {
        let attempts = job.retry_strategy()?.maximum_retry_attempts()?;
        Some(format!("{attempts}    # of the full run"))
    }),
    ("training_plan", |job| {
        text(job.resource_config()?.training_plan_arn())
    }),
    ("profiler", |job| {
        let is_off = job.profiler_config()?.disable_profiler() == Some(true);
        is_off.then(|| "false".to_owned())
    }),
    ("subnets", |job| list(job.vpc_config()?.subnets())),
    ("security_groups", |job| {
        list(job.vpc_config()?.security_group_ids())
    }),
    ("network_isolation", |job| {
        switch(job.enable_network_isolation())
    }),
    ("encrypt_traffic", |job| {
        switch(job.enable_inter_container_traffic_encryption())
    }),
];

/// AWS has empty texts where there is nothing.
fn text(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(yaml::text)
}

fn number(value: Option<i32>) -> Option<String> {
    value
        .filter(|value| *value > 0)
        .map(|value| value.to_string())
}

fn switch(value: Option<bool>) -> Option<String> {
    value.filter(|is_on| *is_on).map(|_| "true".to_owned())
}

fn list(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| yaml::list(values))
}

/// Everything below `training:`.
pub(super) fn write(
    page: &mut SpecPage,
    job: &DescribeTrainingJobOutput,
    tags: &[(String, String)],
) {
    let hyperparameters = hyperparameters(job);
    let launcher = launcher::of(job);
    program::write(page, job, &hyperparameters);
    if let Some(launcher) = &launcher {
        launcher::write(page, launcher);
    }
    write_hyperparameters(page, &hyperparameters, launcher.as_ref());
    environment(page, job);
    channels::write(page, job);
    page.remark(
        3,
        "Where canaries write; the folder must be writable for the role.",
    );
    let output = text(
        job.output_data_config()
            .and_then(|output| output.s3_output_path()),
    );
    let output = output.unwrap_or_else(|| format!("s3://my-bucket/{FILL_IN}-output/"));
    page.line(3, &format!("output: {output}"));
    for (key, says) in SAID {
        if let Some(value) = says(job) {
            page.line(3, &format!("{key}: {value}"));
        }
    }
    say_what_is_left(page, job);
    write_tags(page, tags);
    metrics(page, job);
}

/// By name. In script mode the SDK writes values as JSON, and the toolkit reads them so.
fn hyperparameters(job: &DescribeTrainingJobOutput) -> Vec<(&str, String)> {
    let is_script = is_script(job);
    let value = |written: &String| {
        let decoded = serde_json::from_str::<String>(written).ok();
        // What would read as a number without its quotes keeps them.
        let is_text = |text: &String| serde_json::from_str::<serde_json::Value>(text).is_err();
        let decoded = decoded.filter(|text| is_script && is_text(text));
        decoded.unwrap_or_else(|| written.clone())
    };
    let all = job.hyper_parameters().into_iter().flatten();
    let mut values: Vec<_> = all.map(|(name, it)| (name.as_str(), value(it))).collect();
    values.sort_unstable();
    values
}

fn write_hyperparameters(
    page: &mut SpecPage,
    hyperparameters: &[(&str, String)],
    launcher: Option<&ScriptLauncher>,
) {
    // What belongs to the toolkit and changes the training, such as sagemaker_parameter_server_enabled, is kept.
    let own = |(name, _): &&(&str, String)| {
        let is_said = launcher.is_some() && launcher::is_of_launcher(name);
        !SET_FOR_CANARIES.contains(name) && !is_said
    };
    let (secret, open): (Vec<_>, Vec<_>) = (hyperparameters.iter().filter(own))
        .map(|(name, value)| (*name, value.as_str()))
        .partition(|(name, _)| is_secret(name));
    page.map(3, "hyperparameters", &open);
    for (name, _) in secret {
        let left_out = "Left out, since its name says it is secret: hyperparameter";
        page.remark(3, &format!("{left_out} {name}"));
    }
}

/// Whether the value of a hyperparameter or variable of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    // Not `max_tokens`.
    let is_token = name == "token" || name.ends_with("_token");
    is_token || SECRET_NAMES.split(' ').any(|part| name.contains(part))
}

/// A short number or a switch: no secret is so short.
fn is_harmless(value: &str) -> bool {
    let is_number = value.len() <= LONGEST_NUMBER && value.parse::<f64>().is_ok();
    let value = value.to_ascii_lowercase();
    is_number || SWITCHES.split(' ').any(|switch| switch == value)
}

fn environment(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let variables = job.environment().into_iter().flatten();
    let variables = variables.map(|(name, value)| (name.as_str(), value.as_str()));
    let (mut open, mut closed): (Vec<_>, Vec<_>) =
        variables.partition(|(name, value)| !is_secret(name) && is_harmless(value));
    open.sort_unstable();
    closed.sort_unstable();
    if !closed.is_empty() {
        page.remark(3, "The job's variables. Values are left out, since some may be secret: write no secrets into this file.");
        if open.is_empty() {
            page.line(3, "# environment:");
        }
    }
    page.map(3, "environment", &open);
    for (name, _) in closed {
        page.remark(3, &format!("  {name}: {FILL_IN}"));
    }
}

fn say_what_is_left(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let checkpoints = job.checkpoint_config();
    let folder = checkpoints
        .and_then(|it| it.local_path())
        .unwrap_or_default();
    if !matches!(folder.trim_end_matches('/'), "" | CHECKPOINTS) {
        page.remark(
            3,
            &format!(
                "A spec cannot say: the job's checkpoints lie in {folder}; canaries keep none."
            ),
        );
    }
    let others = [
        ("DebugHookConfig", job.debug_hook_config().is_some()),
        (
            "DebugRuleConfigurations",
            !job.debug_rule_configurations().is_empty(),
        ),
        (
            "ProfilerRuleConfigurations",
            !job.profiler_rule_configurations().is_empty(),
        ),
        (
            "TensorBoardOutputConfig",
            job.tensor_board_output_config().is_some(),
        ),
        ("ExperimentConfig", job.experiment_config().is_some()),
        ("RemoteDebugConfig", job.remote_debug_config().is_some()),
        ("InfraCheckConfig", job.infra_check_config().is_some()),
    ];
    let unsaid = others
        .into_iter()
        .filter_map(|(name, is_set)| is_set.then_some(name));
    let unsaid: Vec<&str> = unsaid.collect();
    if !unsaid.is_empty() {
        let unsaid = unsaid.join(", ");
        page.remark(
            3,
            &format!("A spec cannot say, and canaries go without: {unsaid}"),
        );
    }
}

fn write_tags(page: &mut SpecPage, tags: &[(String, String)]) {
    let tags = tags
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let own = tags.filter(|(name, _)| {
        let name = name.to_lowercase();
        !name.starts_with("aws:") && !name.starts_with("canary-gate:")
    });
    page.map(3, "tags", &own.take(MOST_TAGS).collect::<Vec<_>>());
}

fn metrics(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let algorithm = job.algorithm_specification();
    let definitions = algorithm.map_or(&[][..], |algorithm| algorithm.metric_definitions());
    if definitions.is_empty() {
        return;
    }
    page.remark(3, "The job's metrics. If one of them is the seconds of a training step, name it as `step_metric`.");
    page.line(3, "# metrics:");
    for definition in definitions {
        let name = yaml::text(definition.name().unwrap_or_default());
        // A pattern is of no use when it is cut.
        let pattern = yaml::text(definition.regex().unwrap_or_default());
        page.line(3, &format!("#   {name}: {pattern}"));
    }
}
