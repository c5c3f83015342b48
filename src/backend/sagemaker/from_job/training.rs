//! The full run: image, script, channels and what else a job is started with.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::types::{AlgorithmSpecification, Channel, FileSystemDataSource};

use super::page::{FILL_IN, SpecPage};
use super::yaml;
use crate::spec::FileSystem;
use crate::units::Seconds;

/// SageMaker takes 50 tags, four of which canary-gate sets.
const MOST_TAGS: usize = 46;
/// Set by the SDK on every job of a script, for the toolkit.
const PROGRAM: &str = "sagemaker_program";
const SUBMIT_DIRECTORY: &str = "sagemaker_submit_directory";
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

/// Everything below `training:`.
pub(super) fn write(
    page: &mut SpecPage,
    job: &DescribeTrainingJobOutput,
    tags: &[(String, String)],
) {
    let hyperparameters = hyperparameters(job);
    image(page, job);
    script(page, &hyperparameters);
    write_hyperparameters(page, &hyperparameters);
    environment(page, job);
    channels(page, job);
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
            let value = decoded.filter(|_| in_script_mode);
            (
                name.as_str(),
                value.unwrap_or_else(|| written[name].clone()),
            )
        })
        .collect();
    values.sort_unstable();
    values
}

fn image(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let algorithm = job.algorithm_specification();
    match algorithm.and_then(|algorithm| algorithm.training_image()) {
        Some(image) => page.text(3, "image", Some(image)),
        None => {
            let name = algorithm.and_then(|algorithm| algorithm.algorithm_name());
            page.remark(
                3,
                &format!(
                    "The job names no image, but the algorithm {}.",
                    name.unwrap_or("?")
                ),
            );
            page.line(3, &format!("image: {FILL_IN}"));
        }
    }
    let role = job.role_arn().unwrap_or(FILL_IN);
    page.text(3, "role", Some(role));
    command(page, algorithm);
    let registry = algorithm.and_then(|algorithm| algorithm.training_image_config());
    if let Some(registry) = registry {
        let credentials = registry.training_repository_auth_config();
        let function = credentials
            .and_then(|credentials| credentials.training_repository_credentials_provider_arn());
        let mode = registry
            .training_repository_access_mode()
            .map_or("unknown", |mode| mode.as_str());
        page.remark(
            3,
            &match function {
                Some(function) => format!("A spec cannot say: the image comes from a registry (mode {mode}) with the credentials of {function}; put it into ECR for canaries"),
                None => format!("A spec cannot say: the image comes from a registry in the mode {mode}"),
            },
        );
    }
}

/// What the job starts in place of the image's own entry point.
fn command(page: &mut SpecPage, algorithm: Option<&AlgorithmSpecification>) {
    let entry_point = algorithm.map_or(&[][..], |algorithm| algorithm.container_entrypoint());
    let arguments = algorithm.map_or(&[][..], |algorithm| algorithm.container_arguments());
    if entry_point.is_empty() && arguments.is_empty() {
        return;
    }
    let said = match (entry_point.is_empty(), arguments.is_empty()) {
        (false, true) => format!("with {}", entry_point.join(" ")),
        (true, _) => format!("with the arguments {}", arguments.join(" ")),
        (false, false) => format!(
            "with {} and the arguments {}",
            entry_point.join(" "),
            arguments.join(" ")
        ),
    };
    page.remark(
        3,
        &format!("The job starts its image {said}; canaries start it with the image's own entry point, unless canary.probe names a command."),
    );
}

fn script(page: &mut SpecPage, hyperparameters: &[(&str, String)]) {
    let of = |wanted| {
        let mut found = hyperparameters.iter().filter(|(name, _)| *name == wanted);
        found.next().map(|(_, value)| value.as_str())
    };
    let Some(program) = of(PROGRAM) else {
        return;
    };
    let source = of(SUBMIT_DIRECTORY).unwrap_or("unknown");
    page.remark(
        3,
        &format!("The folder with the script, in this checkout; the job's was packed at {source}"),
    );
    page.line(3, "# source_dir: training");
    let is_inside = !program.starts_with('/') && !program.split('/').any(|part| part == "..");
    if is_inside && !program.chars().any(char::is_control) {
        page.text(3, "entry_point", Some(program));
    } else {
        page.remark(
            3,
            &format!("The job's script is not inside its folder: {program}"),
        );
        page.line(3, &format!("entry_point: {FILL_IN}.py"));
    }
}

fn write_hyperparameters(page: &mut SpecPage, hyperparameters: &[(&str, String)]) {
    // What belongs to the toolkit and changes the training, such as sagemaker_mpi_enabled, is kept.
    let own = |(name, _): &&(&str, String)| !SET_FOR_CANARIES.contains(name);
    if !hyperparameters.iter().any(|entry| own(&entry)) {
        return;
    }
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase().replace('-', "_");
        // Not `max_tokens`.
        name == "token"
            || name.ends_with("_token")
            || SECRET_NAMES.iter().any(|part| name.contains(part))
    };
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

fn environment(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    let Some(variables) = job.environment().filter(|variables| !variables.is_empty()) else {
        return;
    };
    page.remark(3, "The job's variables. Values are left out, since some may be secret: write no secrets into this file.");
    page.line(3, "# environment:");
    let mut names: Vec<&String> = variables.keys().collect();
    names.sort_unstable();
    for name in names {
        page.remark(3, &format!("  {name}: {FILL_IN}"));
    }
}

fn channels(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    page.remark(3, "Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.");
    page.line(3, "channels:");
    let job_mode = job
        .algorithm_specification()
        .and_then(|algorithm| algorithm.training_input_mode())
        .map(|mode| mode.as_str());
    let mut count = 0;
    for channel in job.input_data_config() {
        count += usize::from(write_channel(page, channel, job_mode));
    }
    if count == 0 {
        page.remark(4, "The job has no channel with data in S3.");
        page.line(4, "train:");
        page.line(5, &format!("uri: s3://my-bucket/{FILL_IN}/"));
    }
}

/// Whether there is data that a canary can sample.
fn write_channel(page: &mut SpecPage, channel: &Channel, job_mode: Option<&str>) -> bool {
    let name = channel
        .channel_name()
        .filter(|name| !name.is_empty())
        .unwrap_or("train");
    let source = channel.data_source();
    if let Some(file_system) = source.and_then(|source| source.file_system_data_source()) {
        write_file_system(page, name, file_system);
        // It cannot be sampled, and something must be.
        return false;
    }
    let Some(data) = source.and_then(|source| source.s3_data_source()) else {
        page.remark(
            4,
            &format!(
                "Left out, since its data lies neither in S3 nor in a file system: channel {name}"
            ),
        );
        return false;
    };
    page.line(4, &format!("{}:", yaml::text(name)));
    let uri = data.s3_uri().unwrap_or_default();
    let kind = data.s3_data_type().map_or("S3Prefix", |kind| kind.as_str());
    if matches!(kind, "S3Prefix" | "ManifestFile") && uri.starts_with("s3://") {
        page.text(5, "uri", Some(uri));
        page.text(
            5,
            "data_type",
            Some(kind).filter(|kind| *kind != "S3Prefix"),
        );
    } else {
        page.remark(
            5,
            &format!("The job reads the {kind} {uri}; a spec names the folder of the objects."),
        );
        let bucket = uri
            .strip_prefix("s3://")
            .and_then(|rest| rest.split('/').next());
        let uri = format!("s3://{}/{FILL_IN}/", bucket.unwrap_or("my-bucket"));
        page.text(5, "uri", Some(&uri));
    }
    match channel.input_mode().map(|mode| mode.as_str()).or(job_mode) {
        Some(mode @ ("FastFile" | "Pipe")) => page.text(5, "mode", Some(mode)),
        None | Some("File") => {}
        Some(other) => page.remark(5, &format!("The job's mode is {other}.")),
    }
    page.text(5, "content_type", channel.content_type());
    if let Some("ShardedByS3Key") = data.s3_data_distribution_type().map(|kind| kind.as_str()) {
        page.line(5, "distribution: ShardedByS3Key");
    }
    page.list(5, "groups", data.instance_group_names());
    let compression = channel.compression_type().map(|kind| kind.as_str());
    let wrapper = channel.record_wrapper_type().map(|kind| kind.as_str());
    for unsaid in [compression, wrapper]
        .into_iter()
        .flatten()
        .filter(|kind| *kind != "None")
    {
        page.remark(5, &format!("A spec cannot say: {unsaid}"));
    }
    true
}

/// A channel on EFS or FSx, which every canary reads whole.
fn write_file_system(page: &mut SpecPage, name: &str, data: &FileSystemDataSource) {
    let kind = data
        .file_system_type()
        .map_or("unknown", |kind| kind.as_str());
    let scheme = match kind {
        "EFS" => "efs",
        "FSxLustre" => "fsx",
        other => {
            page.remark(
                4,
                &format!(
                    "Left out, since a spec cannot name its file system, {other}: channel {name}"
                ),
            );
            return;
        }
    };
    let directory = data.directory_path().unwrap_or_default();
    let directory = directory.trim_start_matches('/');
    let uri = format!(
        "{scheme}://{}/{directory}",
        data.file_system_id().unwrap_or_default()
    );
    if !matches!(FileSystem::of_uri(&uri), Some(Ok(_))) {
        page.remark(
            4,
            &format!("Left out, since a spec cannot name its place, {uri}: channel {name}"),
        );
        return;
    }
    page.line(4, &format!("{}:", yaml::text(name)));
    page.text(5, "uri", Some(&uri));
    page.line(
        5,
        "sample: false    # a file system is not listed, so canaries read all of it",
    );
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
        page.remark(
            3,
            &format!("A spec cannot say: SageMaker tries the job {retries} more times after its own errors; a canary is tried once more."),
        );
    }
    let keep_alive = resources.and_then(|resources| resources.keep_alive_period_in_seconds());
    if let Some(seconds) = keep_alive.filter(|seconds| *seconds > 0) {
        page.remark(
            3,
            &format!(
                "A spec cannot say: the job's machines are kept for {seconds} s in a warm pool."
            ),
        );
    }
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
        page.remark(
            3,
            "A spec cannot say: the job encrypts the traffic between its machines.",
        );
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
