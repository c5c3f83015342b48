//! What SageMaker is asked for: a canary run as a `CreateTrainingJob` request. Nothing is sent here.
//!
//! What the spec's reader checks already is not checked again; only what canary-gate adds may go over a limit.

mod channels;

pub(super) use channels::whole_channel;

use std::collections::{BTreeMap, HashMap};

use aws_sdk_sagemaker::operation::create_training_job::builders::CreateTrainingJobInputBuilder;
use aws_sdk_sagemaker::types;

use super::metrics::probe::{ENTRY_VARIABLE, ENTRYPOINT};
use super::name::JobName;
use crate::canary::{self, CanaryRun};
use crate::instance::{InstanceConfiguration, InstanceType, tables};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::probe::MARK_VARIABLE;
use crate::spec::{Channel, Job};
use crate::units::{Bytes, Seconds};

/// SageMaker's limits on what canary-gate adds to a job.
const ENVIRONMENT: usize = 100;

/// How often Debugger looks at the machine; what the Python SDK asks for.
const PROFILING_MILLISECONDS: i64 = 500;

/// A canary run and where its things lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch<'a> {
    pub(super) name: &'a JobName,
    pub(super) region: &'a str,
    pub(super) job: &'a Job,
    pub(super) run: &'a CanaryRun,
    /// The spec's channels with their data where the canary finds them, and those that bring its code.
    pub(super) inputs: &'a [Channel],
    /// In script mode.
    pub(super) script: Option<&'a Script>,
    /// The command that is started by [`ENTRYPOINT`], in place of the image's own.
    pub(super) command: Option<&'a [String]>,
    /// Beside the spec's; wins over it.
    pub(super) environment: &'a [(String, String)],
    /// For how long its machines are kept for the next canary; `None`: not at all.
    pub(super) keep_alive: Option<Seconds>,
    /// Beside the spec's.
    pub(super) tags: &'a [(String, String)],
    /// The `s3://` prefix of canaries. SageMaker writes to `<output>/<name>/output/`, Debugger to
    /// `<output>/<name>/profiler-output/`.
    pub(super) output: &'a str,
}

/// The code of a job in script mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// The `s3://` address of a `sourcedir.tar.gz`.
    pub(super) archive: String,
    /// The script to start, from the archive's root.
    pub(super) program: String,
}

/// The request that starts a canary; send it with `send_with`.
///
/// A canary never uses spot capacity, keeps no checkpoints and is not tried again by SageMaker: each would change what is
/// measured.
///
/// # Errors
///
/// Where SageMaker is known to refuse it, or where no code serves it yet.
pub(super) fn create(launch: &Launch<'_>) -> OutsideResult<CreateTrainingJobInputBuilder> {
    let training = &launch.job.training;
    let instance = &launch.run.instance;
    let resources = machines(instance)
        .volume_size_in_gb(gibibytes(training.sagemaker.volume_gb))
        .set_keep_alive_period_in_seconds(launch.keep_alive.map(whole_seconds))
        .set_training_plan_arn(training_plan(launch))
        .set_volume_kms_key_id(volume_kms_key(launch.job, instance).map(str::to_owned));
    let packing = match training.sagemaker.pack_model {
        true => types::OutputCompressionType::Gzip,
        false => types::OutputCompressionType::None,
    };
    let output = types::OutputDataConfig::builder()
        .s3_output_path(launch.output)
        .set_kms_key_id(training.sagemaker.output_kms_key.clone())
        .compression_type(packing);
    // The run's own limit rounded up, at most the policy's.
    let policy = launch.job.canary.max_runtime.0;
    let asked = (launch.run.max_runtime).map_or(policy, |limit| limit.0.ceil());
    let asked = whole_seconds(Seconds(asked.min(policy.floor())));
    let limit = types::StoppingCondition::builder().max_runtime_in_seconds(asked);
    let network = (!training.sagemaker.subnets.is_empty()).then(|| {
        types::VpcConfig::builder()
            .set_subnets(Some(training.sagemaker.subnets.clone()))
            .set_security_group_ids(Some(training.sagemaker.security_groups.clone()))
            .build()
    });
    Ok(CreateTrainingJobInputBuilder::default()
        .training_job_name(launch.name.to_string())
        .set_role_arn(training.sagemaker.role.clone())
        .algorithm_specification(algorithm(launch)?)
        .set_hyper_parameters(filled(hyperparameters(launch)))
        .set_environment(filled(environment(launch)?))
        // A list of none is refused.
        .set_input_data_config(Some(channels::of(launch)?).filter(|channels| !channels.is_empty()))
        .output_data_config(output.build())
        .resource_config(resources.build())
        .stopping_condition(limit.build())
        .set_vpc_config(network)
        .enable_network_isolation(training.sagemaker.network_isolation)
        .set_enable_inter_container_traffic_encryption(
            training.sagemaker.encrypt_traffic.then_some(true),
        )
        .set_profiler_config(profiler(launch))
        .set_tags(Some(tags(launch))))
}

/// The prepaid capacity, where canaries are asked to take it: it is of the job's type of machine only.
fn training_plan(launch: &Launch<'_>) -> Option<String> {
    let job = launch.job;
    let kind = launch.run.instance.single_type();
    let is_asked = job.canary.training_plan && kind.is_some() && job.instance.single_type() == kind;
    let plan = &job.training.sagemaker.training_plan;
    plan.clone().filter(|_| is_asked)
}

/// The key of the disk; none where a machine has disks of its own, with which SageMaker refuses it.
pub(super) fn volume_kms_key<'a>(job: &'a Job, on: &InstanceConfiguration) -> Option<&'a str> {
    let key = job.training.sagemaker.volume_kms_key.as_deref();
    let mut kinds = on.members().into_iter().map(|(kind, _)| kind);
    key.filter(|_| !kinds.any(|kind| tables::local_disks(kind).is_some()))
}

/// Type and count, or the groups: SageMaker takes one of the two.
fn machines(instance: &InstanceConfiguration) -> types::builders::ResourceConfigBuilder {
    let builder = types::ResourceConfig::builder();
    let machines = |kind: &InstanceType, count: u32| {
        let kind = types::TrainingInstanceType::from(kind.name());
        (kind, i32::try_from(count).unwrap_or(i32::MAX))
    };
    match instance {
        InstanceConfiguration::Homogeneous(instance_type, count) => {
            let (kind, count) = machines(instance_type, *count);
            builder.instance_type(kind).instance_count(count)
        }
        InstanceConfiguration::Heterogeneous { groups, .. } => {
            let groups = groups.iter().map(|group| {
                let (kind, count) = machines(&group.instance_type, group.count);
                let builder = types::InstanceGroup::builder().instance_group_name(&group.name);
                builder.instance_type(kind).instance_count(count).build()
            });
            builder.set_instance_groups(Some(groups.collect()))
        }
    }
}

fn algorithm(launch: &Launch<'_>) -> OutsideResult<types::AlgorithmSpecification> {
    let training = &launch.job.training;
    let image = image(launch.job, &launch.run.instance, launch.region)?;
    let metrics = training.metrics.iter().map(|(name, pattern)| {
        types::MetricDefinition::builder()
            .name(name)
            .regex(pattern)
            .build()
    });
    let metrics: Vec<_> = metrics.collect();
    let container = &training.sagemaker.container;
    let around = ENTRYPOINT.map(str::to_owned);
    let (entrypoint, arguments) = match launch.command {
        Some(probed) => (&around[..], probed),
        None => (&container.entrypoint[..], &container.arguments[..]),
    };
    // A list of none is refused.
    let words = |words: &[String]| (!words.is_empty()).then(|| words.to_vec());
    Ok(types::AlgorithmSpecification::builder()
        .set_training_image(image)
        .set_algorithm_name(training.sagemaker.algorithm.clone())
        // Every channel says its own.
        .training_input_mode(types::TrainingInputMode::File)
        .set_metric_definitions((!metrics.is_empty()).then_some(metrics))
        .set_container_entrypoint(words(entrypoint))
        .set_container_arguments(words(arguments))
        .build())
}

/// The image for a configuration; `None` where an algorithm brings it. All groups run the same one: that for GPUs, which machines
/// without one run too, where a machine has some.
///
/// # Errors
///
/// Where the framework has none there.
pub(super) fn image(
    job: &Job,
    instance: &InstanceConfiguration,
    region: &str,
) -> OutsideResult<Option<String>> {
    let training = &job.training.sagemaker;
    let Some(framework) = &training.framework else {
        return Ok(training.image.clone());
    };
    let members = instance.members();
    let images = members
        .iter()
        .map(|(kind, _)| framework.image(kind, region))
        .collect::<Result<Vec<String>, _>>()
        .map_err(|error| {
            OutsideError::of(format!("jobs.{}.training.framework: {error}", job.name))
                .help("write the address of an image in its place: `image`")
        })?;
    let has_gpu = |kind| tables::capacity(kind).is_some_and(|capacity| capacity.gpus > 0);
    let with_gpu = members.iter().position(|(kind, _)| has_gpu(kind));
    Ok(images.into_iter().nth(with_gpu.unwrap_or(0)))
}

/// The job's hyperparameters with this run's share and work level, and what starts a script.
///
/// The spec's values go as they are written: they are what `DescribeTrainingJob` shows of the full run. Images with
/// SageMaker's training toolkit decode each as JSON where it is JSON and else take the text, so `gbtree` and `"gbtree"`,
/// which the Python SDK sends in script mode, mean the same there; built-in algorithms and plain images take the text.
/// A value that must stay text though it reads as JSON is written as the SDK would send it: `'"1.10"'`.
fn hyperparameters(launch: &Launch<'_>) -> BTreeMap<String, String> {
    let (training, run) = (&launch.job.training, launch.run);
    let handed =
        canary::hyperparameters(training, run.handed(launch.job).as_ref(), run.work.as_ref());
    let mut all: BTreeMap<String, String> = handed.into_iter().collect();
    let Some(script) = launch.script else {
        return all;
    };
    // As the SDK does for an `entry_point`, as JSON.
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let launcher = training.distribution.iter();
    let launcher = launcher.flat_map(|launcher| launcher.hyperparameters(&run.instance));
    all.extend(launcher.map(|(name, value)| (name.to_owned(), value)));
    all.entry("sagemaker_container_log_level".to_owned())
        .or_insert_with(|| "20".to_owned());
    let directory = channels::code_directory(launch, script);
    let own = [
        ("sagemaker_program", script.program.as_str()),
        ("sagemaker_submit_directory", &directory),
        ("sagemaker_region", launch.region),
        ("sagemaker_job_name", &launch.name.to_string()),
    ];
    all.extend(own.map(|(name, value)| (name.to_owned(), json(value))));
    all
}

fn environment(launch: &Launch<'_>) -> OutsideResult<BTreeMap<String, String>> {
    let of_job = canary::environment(&launch.job.training, launch.run.handed(launch.job).as_ref());
    // A script that knows the mark could speak for the probe.
    let mut names = of_job.iter().map(|(name, _)| name.as_str());
    if let Some(name) = names.find(|name| [MARK_VARIABLE, ENTRY_VARIABLE].contains(name)) {
        return Err(OutsideError::of(format!(
            "jobs.{}.training.environment.{name}: canary-gate itself speaks with its probe through this variable",
            launch.job.name
        ))
        .help("give the variable another name"));
    }
    let own = launch.environment.iter().cloned();
    let all: BTreeMap<String, String> = of_job.into_iter().chain(own).collect();
    if all.len() > ENVIRONMENT {
        return Err(OutsideError::of(format!(
            "jobs.{}.training.environment: {} variables, with those of canary-gate; SageMaker takes at most \
            {ENVIRONMENT}",
            launch.job.name,
            all.len()
        ))
        .help("set some of them in the script"));
    }
    Ok(all)
}

/// Debugger's system metrics, where the spec asks for them: AWS gives them to customers of before 30 July 2026 alone.
fn profiler(launch: &Launch<'_>) -> Option<types::ProfilerConfig> {
    let profiler = types::ProfilerConfig::builder()
        .s3_output_path(launch.output)
        .profiling_interval_in_milliseconds(PROFILING_MILLISECONDS);
    (launch.job.training.sagemaker.profiler).then(|| profiler.build())
}

/// The spec's tags and ours; of two with one key ours.
fn tags(launch: &Launch<'_>) -> Vec<types::Tag> {
    let all = launch.job.training.sagemaker.tags.iter().chain(launch.tags);
    let all: BTreeMap<&String, &String> = all.map(|(key, value)| (key, value)).collect();
    all.into_iter()
        .map(|(key, value)| types::Tag::builder().key(key).value(value).build())
        .collect()
}

/// Whole seconds, rounded up, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float-to-integer cast saturates, and the spec allows 28 days"
)]
fn whole_seconds(time: Seconds) -> i32 {
    time.0.ceil().max(1.0) as i32
}

/// SageMaker counts volumes in GB; none is made smaller than asked for.
fn gibibytes(volume: Bytes) -> i32 {
    i32::try_from(volume.0.div_ceil(Bytes::GIB)).unwrap_or(i32::MAX)
}

/// As the SDK wants it; nothing in place of an empty map.
fn filled(map: BTreeMap<String, String>) -> Option<HashMap<String, String>> {
    (!map.is_empty()).then(|| map.into_iter().collect())
}

#[cfg(test)]
mod tests;
