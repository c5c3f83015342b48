//! What the job starts: its image or algorithm, its role, the words of its container, its script.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::types::{AlgorithmSpecification, TrainingImageConfig};

use super::{PROGRAM, SUBMIT_DIRECTORY, channels, is_script};
use crate::spec::page::{FILL_IN, SpecPage};

pub(super) fn write(
    page: &mut SpecPage,
    job: &DescribeTrainingJobOutput,
    hyperparameters: &[(&str, String)],
) {
    let algorithm = job.algorithm_specification();
    let image = algorithm.and_then(|algorithm| algorithm.training_image());
    let name = algorithm.and_then(|algorithm| algorithm.algorithm_name());
    match (image, name) {
        (Some(image), _) => page.text(3, "image", Some(image)),
        (None, Some(name)) => {
            page.remark(
                3,
                "The image is the algorithm's, and takes its own channels only: canaries run without the probe.",
            );
            page.text(3, "algorithm", Some(name));
        }
        (None, None) => {
            page.remark(3, "The job names no image.");
            page.line(3, &format!("image: {FILL_IN}"));
        }
    }
    let role = job.role_arn().unwrap_or(FILL_IN);
    page.text(3, "role", Some(role));
    if let Some(algorithm) = algorithm {
        container(page, algorithm);
        registry(page, algorithm.training_image_config());
    }
    if is_script(job) {
        script(page, hyperparameters);
    } else if let Some(source) = channels::source(job) {
        let folder = "The folder with the code, in this checkout;";
        page.remark(3, &format!("{folder} the job's was uploaded to {source}"));
        page.line(3, "# source_dir: training");
        page.text(3, "source_channel", Some(channels::CODE));
    }
}

/// What the job starts in place of the image's own entry point.
fn container(page: &mut SpecPage, algorithm: &AlgorithmSpecification) {
    let lists = [
        ("entrypoint", algorithm.container_entrypoint()),
        ("arguments", algorithm.container_arguments()),
    ];
    if lists.iter().all(|(_, words)| words.is_empty()) {
        return;
    }
    page.line(3, "container:");
    for (key, words) in lists {
        page.list(4, key, words);
    }
}

/// How an image outside Amazon ECR is had.
fn registry(page: &mut SpecPage, registry: Option<&TrainingImageConfig>) {
    let Some(registry) = registry else { return };
    let credentials = registry.training_repository_auth_config();
    let function = credentials
        .and_then(|credentials| credentials.training_repository_credentials_provider_arn());
    let mode = registry
        .training_repository_access_mode()
        .map_or("unknown", |mode| mode.as_str());
    match (mode, function) {
        ("Platform", None) => {}
        ("Vpc", None) => page.line(3, "registry_credentials: none"),
        ("Vpc", Some(function)) => page.text(3, "registry_credentials", Some(function)),
        (other, _) => page.remark(
            3,
            &format!("A spec cannot say: the image comes from a registry in the mode {other}"),
        ),
    }
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
    let folder = "The folder with the script, in this checkout;";
    page.remark(3, &format!("{folder} the job's was packed at {source}"));
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
