//! Writes the spec of a training job: fills a template with what its description says.

use std::collections::HashMap;

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use super::super::description;
use super::{PROGRAM, SUBMIT_DIRECTORY, channels, is_script};
use crate::instance::{InstanceConfiguration, tables};
use crate::spec::ScriptLauncher;
use crate::spec::page::{FILL_IN, filled};
use crate::spec::yaml_text as yaml;
use crate::units::{Seconds, Usd};

/// A budget allows this much more than the job took.
const MARGIN: f64 = 1.5;
/// SageMaker takes 50 tags, four of which canary-gate sets.
const MOST_TAGS: usize = 46;
/// What the SDK sets, and canary-gate sets itself for a canary; or, as the type of the machine, nobody reads any longer.
const SET_FOR_CANARIES: [&str; 6] = [
    PROGRAM,
    SUBMIT_DIRECTORY,
    "sagemaker_container_log_level",
    "sagemaker_instance_type",
    "sagemaker_job_name",
    "sagemaker_region",
];
/// Parts of a name whose value is a secret.
const SECRET_NAMES: &str =
    "password passwd secret api_key apikey access_key private_key credential auth_token";
/// Values of variables that are no secrets.
const SWITCHES: &str = "true false yes no on off none debug info warn warning error";
/// The most characters of a number that is taken for no secret.
const LONGEST_NUMBER: usize = 8;
/// How a job says a key of `training`, as a spec writes it, with a remark where there is one.
type Says = fn(&DescribeTrainingJobOutput) -> Option<String>;

/// The keys of `training` that a job says in one line each, in the order of a spec.
const SAID: [(&str, Says); 23] = [
    ("image", |job| {
        let algorithm = job.algorithm_specification();
        let image = algorithm.and_then(|algorithm| text(algorithm.training_image()));
        let is_algorithm = algorithm.is_some_and(|algorithm| algorithm.algorithm_name().is_some());
        image.or((!is_algorithm).then(|| format!("{FILL_IN}    # the job names no image")))
    }),
    ("algorithm", |job| {
        let algorithm = job.algorithm_specification()?;
        let name = algorithm.algorithm_name();
        let name = text(name.filter(|_| algorithm.training_image().is_none()))?;
        let remark = "its image takes its own channels only: canaries run without the probe";
        Some(format!("{name}    # {remark}"))
    }),
    ("role", |job| text(job.role_arn().or(Some(FILL_IN)))),
    ("container", |job| {
        let algorithm = job.algorithm_specification()?;
        let words = [
            ("entrypoint", list(algorithm.container_entrypoint())),
            ("arguments", list(algorithm.container_arguments())),
        ];
        let words = words.into_iter();
        let keys = words.filter_map(|(key, words)| Some(format!("{key}: {}", words?)));
        let keys: Vec<String> = keys.collect();
        (!keys.is_empty()).then(|| format!("{{{}}}", keys.join(", ")))
    }),
    ("registry_credentials", |job| {
        let registry = job.algorithm_specification()?.training_image_config()?;
        let mode = registry.training_repository_access_mode()?;
        let function = registry
            .training_repository_auth_config()
            .and_then(|function| function.training_repository_credentials_provider_arn());
        (mode.as_str() == "Vpc").then(|| text(function).unwrap_or_else(|| "none".to_owned()))
    }),
    ("# source_dir", |job| {
        let packed = hyperparameter(job, SUBMIT_DIRECTORY).filter(|_| is_script(job));
        let place = packed.or(channels::source(job).map(str::to_owned));
        let place = place.or(is_script(job).then(|| "an unknown place".to_owned()))?;
        let place = yaml::remark(&place);
        Some(format!(
            "training    # the folder with the code, in this checkout; the job's lay at {place}"
        ))
    }),
    ("entry_point", |job| {
        let program = hyperparameter(job, PROGRAM)?;
        let is_inside = !program.starts_with('/') && !program.split('/').any(|part| part == "..");
        Some(match is_inside && !program.chars().any(char::is_control) {
            true => yaml::text(&program),
            false => {
                let program = yaml::remark(&program);
                format!("{FILL_IN}.py    # the job's script is not inside its folder: {program}")
            }
        })
    }),
    ("source_channel", |job| {
        channels::source(job).map(|_| channels::CODE.to_owned())
    }),
    ("distribution", distribution),
    ("output", |job| {
        let output = job
            .output_data_config()
            .and_then(|it| text(it.s3_output_path()));
        let output = output.unwrap_or_else(|| format!("s3://my-bucket/{FILL_IN}-output/"));
        Some(format!(
            "{output}    # where canaries write: writable for the role"
        ))
    }),
    ("output_kms_key", |job| {
        text(job.output_data_config()?.kms_key_id())
    }),
    ("volume_gb", |job| {
        let volume = job.resource_config()?.volume_size_in_gb()?;
        (volume > 0).then(|| volume.to_string())
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
        let is_spot = switch(job.enable_managed_spot_training())?;
        Some(format!(
            "{is_spot}    # the full run; canaries never use spot"
        ))
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
        switch(job.profiler_config()?.disable_profiler()).map(|_| "false".to_owned())
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

type IsSet = fn(&DescribeTrainingJobOutput) -> bool;

/// What a spec cannot say, by the names of SageMaker.
const UNSAID: [(&str, IsSet); 9] = [
    ("another TrainingRepositoryAccessMode", |job| {
        let algorithm = job.algorithm_specification();
        let registry = algorithm.and_then(|algorithm| algorithm.training_image_config());
        registry.is_some_and(|registry| {
            let mode = registry.training_repository_access_mode();
            !matches!(mode.map(|mode| mode.as_str()), Some("Platform" | "Vpc"))
        })
    }),
    ("DebugHookConfig", |job| job.debug_hook_config().is_some()),
    ("DebugRuleConfigurations", |job| {
        !job.debug_rule_configurations().is_empty()
    }),
    ("ProfilerRuleConfigurations", |job| {
        !job.profiler_rule_configurations().is_empty()
    }),
    ("TensorBoardOutputConfig", |job| {
        job.tensor_board_output_config().is_some()
    }),
    ("ExperimentConfig", |job| job.experiment_config().is_some()),
    ("RemoteDebugConfig", |job| {
        job.remote_debug_config().is_some()
    }),
    ("InfraCheckConfig", |job| job.infra_check_config().is_some()),
    ("another LocalPath of checkpoints", |job| {
        let checkpoints = job.checkpoint_config();
        let folder = checkpoints.and_then(|checkpoints| checkpoints.local_path());
        let folder = folder.unwrap_or_default().trim_end_matches('/');
        !matches!(folder, "" | "/opt/ml/checkpoints")
    }),
];

/// AWS has empty texts where there is nothing.
fn text(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(yaml::text)
}

fn switch(value: Option<bool>) -> Option<String> {
    value.filter(|is_on| *is_on).map(|_| "true".to_owned())
}

fn list(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| yaml::list(values))
}

/// A commented spec that asks for what this job was; `tags` are the job's. What a spec cannot say stands in remarks.
pub(super) fn spec(
    job: &DescribeTrainingJobOutput,
    tags: &[(String, String)],
    region: &str,
) -> String {
    let name = job.training_job_name().unwrap_or_default();
    let status = job.training_job_status();
    let share = match channels::has_samples(job) {
        true => String::new(),
        false => format!(
            "    # The job has no channel with data in S3 of which a canary could get a sample. Its script draws its share of the data: name where it is handed the share.\n    # share: {{hyperparameter: {FILL_IN}}}\n\n"
        ),
    };
    let machines = job.resource_config().and_then(description::instance);
    let values = [
        ("name", yaml::remark(name)),
        (
            "status",
            status.map_or("unknown", |it| it.as_str()).to_owned(),
        ),
        ("region", yaml::text(region)),
        ("job", yaml::text(spec_name(name))),
        ("training", training(job, tags)),
        ("share", share),
        ("instance", instance(job, machines.as_ref())),
        ("budget", budget(job, machines.as_ref(), region)),
    ];
    filled(include_str!("job.yml"), &values)
}

/// The job's name without the time that the SDK puts behind it: `-2026-11-21-09-52-09-123`.
fn spec_name(name: &str) -> &str {
    let end = name.len().saturating_sub(24);
    let (own, time) = name.split_at_checked(end).unwrap_or((name, ""));
    let is_time = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    let has_time = time.starts_with('-') && time.bytes().all(is_time);
    match if has_time { own } else { name } {
        "" => "train",
        name => name,
    }
}

/// What starts the script's processes, which the SDK says in hyperparameters. Where a spec cannot say it, these stay.
fn distribution(job: &DescribeTrainingJobOutput) -> Option<String> {
    let algorithm = job.algorithm_specification();
    // Such a container starts no toolkit, so its hyperparameters start no launcher.
    if !is_script(job) || algorithm.is_some_and(|it| !it.container_entrypoint().is_empty()) {
        return None;
    }
    let [torchrun, mpi, processes, options, groups] =
        ScriptLauncher::HYPERPARAMETERS.map(|name| hyperparameter(job, name));
    let is_on = |value: Option<String>| value.as_deref() == Some("true");
    let launcher = match (is_on(torchrun), is_on(mpi)) {
        (true, false) => "torchrun: {}".to_owned(),
        (false, true) => {
            let is_possible = |count: &u32| (1..=ScriptLauncher::PROCESSES).contains(count);
            let count = processes.map(|count| count.parse().ok().filter(is_possible));
            if count == Some(None) {
                return None;
            }
            let count = count
                .flatten()
                .map(|count| format!("processes_per_host: {count}"));
            // Where there are none the SDK sends an empty text.
            let options = options.filter(|options| !options.trim().is_empty());
            let options = options.map(|options| format!("options: {}", yaml::text(&options)));
            let keys: Vec<String> = count.into_iter().chain(options).collect();
            format!("mpi: {{{}}}", keys.join(", "))
        }
        _ => return None,
    };
    let groups = groups.map_or(Ok(Vec::new()), |text| {
        serde_json::from_str::<Vec<String>>(&text)
    });
    let machines = job.resource_config()?.instance_groups().iter();
    let machines: Vec<_> = machines.map(|group| group.instance_group_name()).collect();
    match (machines.as_slice(), groups.ok()?.as_slice()) {
        ([], [] | [_]) | ([_], []) => Some(format!("{{{launcher}}}")),
        (_, [group]) if machines.contains(&Some(group)) => {
            Some(format!("{{{launcher}, groups: [{}]}}", yaml::text(group)))
        }
        _ => None,
    }
}

/// Everything below `training:`.
fn training(job: &DescribeTrainingJobOutput, tags: &[(String, String)]) -> String {
    let said = SAID.iter();
    let mut lines: String = said
        .filter_map(|(key, says)| Some(format!("      {key}: {}\n", says(job)?)))
        .collect();
    // What belongs to the toolkit and changes the training, such as sagemaker_parameter_server_enabled, is kept.
    let has_launcher = distribution(job).is_some();
    let own = job.hyper_parameters().into_iter().flatten();
    let own = own.filter(|(name, _)| {
        let is_said = has_launcher && ScriptLauncher::HYPERPARAMETERS.contains(&name.as_str());
        !is_said && !SET_FOR_CANARIES.contains(&name.as_str())
    });
    let own = own.map(|(name, value)| (name.as_str(), decoded(job, value)));
    lines += &named("hyperparameters", own, |name, _| !is_secret(name));
    lines += &named("environment", pairs(job.environment()), |name, value| {
        !is_secret(name) && is_harmless(value)
    });
    let tags = tags
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    let own = tags.filter(|(name, _)| {
        let name = name.to_lowercase();
        !name.starts_with("aws:") && !name.starts_with("canary-gate:")
    });
    lines += &named("tags", own.take(MOST_TAGS), |_, _| true);
    lines += &channels::said(job);
    let unsaid = UNSAID.iter().filter(|(_, is_set)| is_set(job));
    let unsaid: Vec<&str> = unsaid.map(|(name, _)| *name).collect();
    if !unsaid.is_empty() {
        let unsaid = unsaid.join(", ");
        lines += &format!("      # A spec cannot say, and canaries go without: {unsaid}\n");
    }
    lines + &metrics(job)
}

fn pairs(map: Option<&HashMap<String, String>>) -> impl Iterator<Item = (&str, String)> {
    let pairs = map.into_iter().flatten();
    pairs.map(|(name, value)| (name.as_str(), value.clone()))
}

/// Values by name, of which those that may be secret are left out.
fn named<'a>(
    key: &str,
    values: impl Iterator<Item = (&'a str, String)>,
    is_open: impl Fn(&str, &str) -> bool,
) -> String {
    let mut values: Vec<(&str, String)> = values.collect();
    values.sort_unstable();
    let (open, closed): (Vec<_>, Vec<_>) =
        (values.into_iter()).partition(|(name, value)| is_open(name, value));
    let mut lines = String::new();
    if !closed.is_empty() {
        lines += &format!(
            "      # Values of `{key}` that may be secret are left out: write no secrets into this file.\n"
        );
    }
    for (name, _) in closed {
        lines += &format!("      #   {}: {FILL_IN}\n", yaml::remark(name));
    }
    if !open.is_empty() {
        lines += &format!("      {key}:\n");
    }
    for (name, value) in open {
        let (name, value) = (yaml::text(name), yaml::text_or_number(&value));
        lines += &format!("        {name}: {value}\n");
    }
    lines
}

/// In script mode the SDK writes values as JSON, and the toolkit reads them so. What would read as a number without its quotes
/// keeps them.
fn decoded(job: &DescribeTrainingJobOutput, written: &str) -> String {
    let text = serde_json::from_str::<String>(written).ok();
    let is_text = |text: &String| serde_json::from_str::<serde_json::Value>(text).is_err();
    let text = text.filter(|text| is_script(job) && is_text(text));
    text.unwrap_or_else(|| written.to_owned())
}

fn hyperparameter(job: &DescribeTrainingJobOutput, name: &str) -> Option<String> {
    Some(decoded(job, job.hyper_parameters()?.get(name)?))
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

fn metrics(job: &DescribeTrainingJobOutput) -> String {
    let algorithm = job.algorithm_specification();
    let definitions = algorithm.map_or(&[][..], |algorithm| algorithm.metric_definitions());
    let lines = definitions.iter().map(|definition| {
        let name = yaml::text(definition.name().unwrap_or_default());
        // A pattern is of no use when it is cut.
        let pattern = yaml::text(definition.regex().unwrap_or_default());
        format!("      #   {name}: {pattern}\n")
    });
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => lines,
        false => format!(
            "      # The job's metrics. If one of them is the seconds of a training step, name it as `step_metric`.\n      # metrics:\n{lines}"
        ),
    }
}

fn instance(job: &DescribeTrainingJobOutput, machines: Option<&InstanceConfiguration>) -> String {
    let resources = job.resource_config();
    let has_choice = resources.is_some_and(|one| !one.instance_preferences().is_empty());
    match machines {
        None => "ml.m5.xlarge    # the job has no instance type that a spec can name".to_owned(),
        Some(InstanceConfiguration::Heterogeneous { groups, .. }) => {
            let groups = groups.iter().map(|group| {
                let (name, kind) = (yaml::text(&group.name), &group.instance_type);
                format!("{name}: {}x {kind}", group.count)
            });
            let groups: Vec<String> = groups.collect();
            format!("{{groups: {{{}}}}}", groups.join(", "))
        }
        Some(one) if has_choice => {
            format!(
                "{one}    # the job lets SageMaker choose among several types; a spec names one"
            )
        }
        Some(one) => one.to_string(),
    }
}

fn budget(
    job: &DescribeTrainingJobOutput,
    machines: Option<&InstanceConfiguration>,
    region: &str,
) -> String {
    let status = job.training_job_status().map(|status| status.as_str());
    // Not what was billed: spot makes that less, and a budget holds for the price on demand.
    let time = (job.training_time_in_seconds()).or(job.billable_time_in_seconds());
    let time = time.filter(|time| *time > 0 && status == Some("Completed"));
    let Some(time) = time.map(|time| Seconds(f64::from(time))) else {
        return "    # The job did not complete, so no limit follows from it.\n    # budget: {time: 8h, cost: 50 USD, memory: 90%}".to_owned();
    };
    let members = machines.map_or_else(Vec::new, InstanceConfiguration::members);
    let costs = members.iter().map(|(kind, count)| {
        let price = tables::price(kind, region)?;
        Some(price.usd_per_hour.cost(time, *count).0)
    });
    let cost: Option<f64> = costs.sum();
    let cost = cost.filter(|_| !members.is_empty());
    let (limit, said) = match cost {
        Some(cost) => {
            let cents = (cost * MARGIN * 100.0).ceil();
            let limit = format!("      cost: {}\n", Usd(cents / 100.0).exact());
            (limit, format!(", which cost {} on demand", Usd(cost)))
        }
        None => (
            "      # cost: 50 USD    # no price is known here; give one under `prices`\n"
                .to_owned(),
            String::new(),
        ),
    };
    let minutes = (time.0 * MARGIN / 60.0).ceil();
    format!(
        "    # The job took {}{said}; {MARGIN} times as much is allowed here.\n    budget:\n      time: {}\n{limit}      # memory: 90%",
        time.exact(),
        Seconds(minutes * 60.0).exact()
    )
}
