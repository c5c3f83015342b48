//! The full run: image, script, channels and what else a job is started with.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use super::script_mode::{PROGRAM, SUBMIT_DIRECTORY};
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
const SECRET_NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "credential",
    "auth_token",
];

/// Of a number that is no secret.
const LONGEST_NUMBER: usize = 8;

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
    places(page, job);
    network(page, job);
    write_tags(page, tags);
    metrics(page, job);
}

/// By name. In script mode the SDK writes values as JSON, and the toolkit reads them so.
fn hyperparameters(job: &DescribeTrainingJobOutput) -> Vec<(&str, String)> {
    let Some(written) = job.hyper_parameters() else {
        return Vec::new();
    };
    let in_script_mode = written.contains_key(PROGRAM);
    let mut values: Vec<(&str, String)> = written
        .iter()
        .map(|(name, value)| {
            let decoded = serde_json::from_str::<String>(value).ok();
            // What would read as a number without its quotes keeps them.
            let is_text = |text: &String| serde_json::from_str::<serde_json::Value>(text).is_err();
            let value = decoded.filter(|text| in_script_mode && is_text(text));
            (
                name.as_str(),
                value.unwrap_or_else(|| written[name].clone()),
            )
        })
        .collect();
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
    if !hyperparameters.iter().any(|entry| own(&entry)) {
        return;
    }
    let (secret, open): (Vec<_>, Vec<_>) = hyperparameters
        .iter()
        .filter(own)
        .partition(|(name, _)| is_secret(name));
    if !open.is_empty() {
        page.line(3, "hyperparameters:");
    }
    for (name, value) in open {
        page.line(
            4,
            &format!("{}: {}", yaml::text(name), yaml::text_or_number(value)),
        );
    }
    for (name, _) in secret {
        page.remark(
            3,
            &format!("Left out, since its name says it is secret: hyperparameter {name}"),
        );
    }
}

/// Whether the value of a hyperparameter or variable of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    // Not `max_tokens`.
    name == "token"
        || name.ends_with("_token")
        || SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// A short number or a switch: no secret is so short.
fn is_harmless(value: &str) -> bool {
    const SWITCHES: [&str; 12] = [
        "true", "false", "yes", "no", "on", "off", "none", "debug", "info", "warn", "warning",
        "error",
    ];
    let is_number = value.len() <= LONGEST_NUMBER && value.parse::<f64>().is_ok();
    is_number || SWITCHES.contains(&value.to_ascii_lowercase().as_str())
}

fn environment(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let Some(variables) = job.environment().filter(|variables| !variables.is_empty()) else {
        return;
    };
    let (open, closed): (Vec<_>, Vec<_>) = variables
        .iter()
        .partition(|(name, value)| !is_secret(name) && is_harmless(value));
    if !closed.is_empty() {
        page.remark(3, "The job's variables. Values are left out, since some may be secret: write no secrets into this file.");
    }
    let head = if open.is_empty() {
        "# environment:"
    } else {
        "environment:"
    };
    page.line(3, head);
    for (name, value) in sorted(open) {
        page.line(
            4,
            &format!("{}: {}", yaml::text(name), yaml::text_or_number(value)),
        );
    }
    for (name, _) in sorted(closed) {
        page.remark(3, &format!("  {name}: {FILL_IN}"));
    }
}

fn sorted<'a>(mut pairs: Vec<(&'a String, &'a String)>) -> Vec<(&'a String, &'a String)> {
    pairs.sort_unstable();
    pairs
}

fn places(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    page.remark(
        3,
        "Where canaries write; the folder must be writable for the role.",
    );
    let output = job.output_data_config();
    let place = output.and_then(|output| output.s3_output_path());
    let default = format!("s3://my-bucket/{FILL_IN}-output/");
    page.text(
        3,
        "output",
        Some(place.filter(|place| !place.is_empty()).unwrap_or(&default)),
    );
    page.text(
        3,
        "output_kms_key",
        output.and_then(|output| output.kms_key_id()),
    );
    let resources = job.resource_config();
    if let Some(volume) = resources
        .and_then(|resources| resources.volume_size_in_gb())
        .filter(|volume| *volume > 0)
    {
        page.line(3, &format!("volume_gb: {volume}"));
    }
    page.text(
        3,
        "volume_kms_key",
        resources.and_then(|resources| resources.volume_kms_key_id()),
    );
    let limit = job
        .stopping_condition()
        .and_then(|limit| limit.max_runtime_in_seconds());
    if let Some(limit) = limit.filter(|limit| *limit > 0) {
        page.line(
            3,
            &format!("max_runtime: {}", Seconds(f64::from(limit)).exact()),
        );
    }
    if job.enable_managed_spot_training() == Some(true) {
        page.line(3, "spot: true    # the full run; canaries never use spot");
    }
    if let Some(checkpoints) = job.checkpoint_config() {
        page.text(3, "checkpoints", checkpoints.s3_uri());
        let folder = checkpoints.local_path().unwrap_or_default();
        if !matches!(folder.trim_end_matches('/'), "" | CHECKPOINTS) {
            page.remark(
                3,
                &format!(
                    "A spec cannot say: the job's checkpoints lie in {folder}; canaries keep none."
                ),
            );
        }
    }
    let retries = job.retry_strategy();
    if let Some(retries) = retries.and_then(|retries| retries.maximum_retry_attempts()) {
        page.line(3, &format!("retries: {retries}    # of the full run"));
    }
    page.text(
        3,
        "training_plan",
        resources.and_then(|resources| resources.training_plan_arn()),
    );
    let profiler = job.profiler_config();
    if profiler.and_then(|profiler| profiler.disable_profiler()) == Some(true) {
        page.line(3, "profiler: false");
    }
    let others = [
        (job.debug_hook_config().is_some(), "DebugHookConfig"),
        (
            !job.debug_rule_configurations().is_empty(),
            "DebugRuleConfigurations",
        ),
        (
            !job.profiler_rule_configurations().is_empty(),
            "ProfilerRuleConfigurations",
        ),
        (
            job.tensor_board_output_config().is_some(),
            "TensorBoardOutputConfig",
        ),
        (job.experiment_config().is_some(), "ExperimentConfig"),
        (job.remote_debug_config().is_some(), "RemoteDebugConfig"),
        (job.infra_check_config().is_some(), "InfraCheckConfig"),
    ];
    let unsaid: Vec<&str> = (others.into_iter())
        .filter_map(|(is_set, name)| is_set.then_some(name))
        .collect();
    if !unsaid.is_empty() {
        let unsaid = unsaid.join(", ");
        page.remark(
            3,
            &format!("A spec cannot say, and canaries go without: {unsaid}"),
        );
    }
}

fn network(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    if let Some(vpc) = job.vpc_config() {
        page.list(3, "subnets", vpc.subnets());
        page.list(3, "security_groups", vpc.security_group_ids());
    }
    if job.enable_network_isolation() == Some(true) {
        page.line(3, "network_isolation: true");
    }
    if job.enable_inter_container_traffic_encryption() == Some(true) {
        page.line(3, "encrypt_traffic: true");
    }
}

fn write_tags(page: &mut SpecPage, tags: &[(String, String)]) {
    let own = |(name, _): &&(String, String)| {
        let name = name.to_lowercase();
        !name.starts_with("aws:") && !name.starts_with("canary-gate:")
    };
    let mut lines = tags.iter().filter(own).take(MOST_TAGS).peekable();
    if lines.peek().is_some() {
        page.line(3, "tags:");
    }
    for (name, value) in lines {
        page.line(
            4,
            &format!("{}: {}", yaml::text(name), yaml::text_or_number(value)),
        );
    }
}

fn metrics(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let definitions = job
        .algorithm_specification()
        .map_or(&[][..], |algorithm| algorithm.metric_definitions());
    if definitions.is_empty() {
        return;
    }
    page.remark(3, "The job's metrics. If one of them is the seconds of a training step, name it as `step_metric`.");
    page.line(3, "# metrics:");
    for definition in definitions {
        let (name, pattern) = (
            definition.name().unwrap_or_default(),
            definition.regex().unwrap_or_default(),
        );
        // A pattern is of no use when it is cut.
        page.line(
            3,
            &format!("#   {}: {}", yaml::text(name), yaml::text(pattern)),
        );
    }
}
