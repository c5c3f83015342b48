//! What starts the script's processes, which the SDK says in hyperparameters and a spec in `distribution`.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use super::is_script;
use crate::spec::page::SpecPage;
use crate::spec::yaml_text as yaml;
use crate::spec::{LauncherKind, ScriptLauncher};

/// What the SDK sets beside torchrun's; the toolkit reads it no longer, and on another machine it would be wrong.
const INSTANCE_TYPE: &str = "sagemaker_instance_type";

/// `None` where the job has none, or one that a spec cannot say: its hyperparameters stand for it then.
pub(super) fn of(job: &DescribeTrainingJobOutput) -> Option<ScriptLauncher> {
    let all = job.hyper_parameters().filter(|_| is_script(job))?;
    // Such a container starts no toolkit, so these hyperparameters start no launcher.
    let algorithm = job.algorithm_specification();
    if algorithm.is_some_and(|algorithm| !algorithm.container_entrypoint().is_empty()) {
        return None;
    }
    let launcher = ScriptLauncher::of_hyperparameters(|name| all.get(name).map(String::as_str))?;
    let resources = job.resource_config();
    let groups = resources.map_or(&[][..], |resources| resources.instance_groups());
    if groups.is_empty() {
        return Some(ScriptLauncher {
            group: None,
            ..launcher
        });
    }
    let is_there = |name: &str| {
        let mut names = groups.iter().map(|group| group.instance_group_name());
        names.any(|known| known == Some(name))
    };
    let is_sayable = match &launcher.group {
        Some(group) => is_there(group),
        None => groups.len() == 1,
    };
    is_sayable.then_some(launcher)
}

/// Whether a hyperparameter says it.
pub(super) fn is_of_launcher(hyperparameter: &str) -> bool {
    hyperparameter == INSTANCE_TYPE || ScriptLauncher::is_of_launcher(hyperparameter)
}

pub(super) fn write(page: &mut SpecPage, launcher: &ScriptLauncher) {
    page.line(3, "distribution:");
    match &launcher.kind {
        LauncherKind::Torchrun => page.line(4, "torchrun: {}"),
        LauncherKind::Mpi {
            processes_per_host,
            options,
        } => {
            let count = processes_per_host.map(|count| format!("processes_per_host: {count}"));
            let options = options.as_ref();
            let options = options.map(|options| format!("options: {}", yaml::text(options)));
            let keys: Vec<String> = count.into_iter().chain(options).collect();
            page.line(4, &format!("mpi: {{{}}}", keys.join(", ")));
        }
    }
    if let Some(group) = &launcher.group {
        page.line(4, &format!("groups: [{}]", yaml::text(group)));
    }
}
