//! `distribution: {torchrun: {}}`: what starts the script's processes on each machine, in the words of AWS's training toolkit.

use crate::spec::field::{FieldValue, json};
use std::fmt;

use serde::Serialize;

use super::{RawTraining, is_script};
use crate::instance::InstanceConfiguration;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw::{KeyedLauncher, List, RawLauncher, Text};
use crate::spec::read::{Instances, SpecReader, group_names, limits};

/// More than the cores of most machines.
const PROCESSES: u32 = 128;

/// The toolkit's hyperparameters, as the Python SDK sends them for `distribution`.
const TORCHRUN: &str = "sagemaker_torch_distributed_enabled";
const MPI: &str = "sagemaker_mpi_enabled";
const MPI_PROCESSES: &str = "sagemaker_mpi_num_of_processes_per_host";
const MPI_OPTIONS: &str = "sagemaker_mpi_custom_mpi_options";
const GROUPS: &str = "sagemaker_distribution_instance_groups";
const ALL: [&str; 5] = [TORCHRUN, MPI, MPI_PROCESSES, MPI_OPTIONS, GROUPS];

/// What starts the script's processes on each machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptLauncher {
    pub kind: LauncherKind,
    /// The instance group whose machines it starts processes on; absent where the configurations have none.
    pub group: Option<String>,
}

impl FieldValue for ScriptLauncher {
    fn said(&self) -> String {
        self.to_string()
    }

    fn value(&self) -> Option<String> {
        Some(json(self))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum LauncherKind {
    Torchrun,
    Mpi {
        /// Absent: one for each GPU, or one.
        processes_per_host: Option<u32>,
        options: Option<String>,
    },
}

impl ScriptLauncher {
    /// The program that starts the processes.
    pub fn program(&self) -> &'static str {
        match self.kind {
            LauncherKind::Torchrun => "torchrun",
            LauncherKind::Mpi { .. } => "mpirun",
        }
    }

    /// Whether a hyperparameter of this name chooses the launcher in the training toolkit.
    pub fn is_of_launcher(hyperparameter: &str) -> bool {
        ALL.contains(&hyperparameter)
    }

    /// The launcher of which a job's hyperparameters tell the training toolkit; `None` where they tell of none, or of one that a spec
    /// cannot say.
    pub fn of_hyperparameters<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let json = |name| serde_json::from_str::<serde_json::Value>(value(name)?).ok();
        let is_on = |name| json(name) == Some(true.into());
        let kind = match (is_on(TORCHRUN), is_on(MPI)) {
            (true, false) => LauncherKind::Torchrun,
            (false, true) => LauncherKind::Mpi {
                processes_per_host: match json(MPI_PROCESSES) {
                    None => None,
                    Some(count) => {
                        let count = u32::try_from(count.as_u64()?).ok()?;
                        Some(count)
                            .filter(|count| (1..=PROCESSES).contains(count))?
                            .into()
                    }
                },
                // Where there are none the SDK sends an empty text.
                options: (value(MPI_OPTIONS))
                    .map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
                    .filter(|options: &String| !options.trim().is_empty()),
            },
            _ => return None,
        };
        let groups = json(GROUPS).unwrap_or_else(|| Vec::<String>::new().into());
        let group = match groups.as_array()?.as_slice() {
            [] => None,
            [group] => Some(group.as_str()?.to_owned()),
            _ => return None,
        };
        Some(Self { kind, group })
    }

    /// The hyperparameters that choose it in the training toolkit, as JSON. They name groups only where the configuration has some.
    pub fn hyperparameters(
        &self,
        configuration: &InstanceConfiguration,
    ) -> Vec<(&'static str, String)> {
        let has_groups = matches!(configuration, InstanceConfiguration::Heterogeneous { .. });
        self.all_hyperparameters(has_groups)
    }

    pub(super) fn all_hyperparameters(&self, has_groups: bool) -> Vec<(&'static str, String)> {
        let json = |value: serde_json::Value| value.to_string();
        let enabled = json(true.into());
        let own = match &self.kind {
            LauncherKind::Torchrun => [Some((TORCHRUN, enabled)), None, None],
            LauncherKind::Mpi {
                processes_per_host,
                options,
            } => {
                let count = processes_per_host.map(|count| json(count.into()));
                let options = options.as_ref().map(|text| json(text.as_str().into()));
                [
                    Some((MPI, enabled)),
                    count.map(|count| (MPI_PROCESSES, count)),
                    options.map(|options| (MPI_OPTIONS, options)),
                ]
            }
        };
        let group = self.group.as_ref().filter(|_| has_groups);
        let group = group.map(|group| (GROUPS, json(vec![group.as_str()].into())));
        own.into_iter().chain([group]).flatten().collect()
    }
}

impl fmt::Display for ScriptLauncher {
    /// `mpi with 8 processes a host and -verbose on group dnn`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LauncherKind::Torchrun => f.write_str("torchrun")?,
            LauncherKind::Mpi {
                processes_per_host,
                options,
            } => {
                f.write_str("mpi")?;
                let processes = processes_per_host.map(|count| format!("{count} processes a host"));
                let parts: Vec<String> = processes.into_iter().chain(options.clone()).collect();
                if !parts.is_empty() {
                    write!(f, " with {}", parts.join(" and "))?;
                }
            }
        }
        match &self.group {
            Some(group) => write!(f, " on group {group}"),
            None => Ok(()),
        }
    }
}

/// What SageMaker's toolkit can launch: the script of an `entry_point`, in an image that has the launcher.
pub(super) fn check_on_sagemaker(reader: &mut SpecReader<'_>, raw: &RawTraining) {
    let Some(distribution) = &raw.distribution else {
        return;
    };
    let (at, keys) = (&distribution.at, &raw.sagemaker);
    let by_itself = "a command can start its own launcher: `container: {entrypoint: [torchrun, /opt/program/train.py]}`";
    if keys.algorithm.is_some() {
        reader.findings.wrong_with_help(
            at,
            "an algorithm starts itself, without a launcher",
            "remove `distribution`",
        );
        return;
    }
    if (keys.container.as_ref()).is_some_and(|container| container.value.entrypoint.is_some()) {
        reader.findings.wrong_with_help(
            at,
            "`container.entrypoint` replaces the training toolkit, which would start the launcher",
            format!("remove one of them; {by_itself}"),
        );
        return;
    }
    let Some(entry_point) = &keys.entry_point else {
        reader.findings.wrong_with_help(
            at,
            "needs an `entry_point`: AWS's training toolkit starts the launcher, for that script only",
            format!("write `source_dir` and `entry_point`; {by_itself}"),
        );
        return;
    };
    if let Some(torchrun) = &distribution.value.0.torchrun {
        if !entry_point.value.text.ends_with(".py") {
            reader.findings.wrong_with_help(
                &torchrun.at,
                format!("torchrun starts Python files, and `entry_point` is {}", quoted(&entry_point.value.text)),
                "name a file that ends with `.py`, or start torchrun in the script and remove `distribution`",
            );
        }
        refuse_frameworks(reader, raw, &torchrun.at, "torchrun");
    }
    if let Some(mpi) = &distribution.value.0.mpi {
        refuse_frameworks(reader, raw, &mpi.at, "mpirun");
    }
    for entry in (raw.hyperparameters.iter()).flat_map(|all| &all.value.entries) {
        if ALL.contains(&entry.name.value.as_str()) {
            reader.findings.wrong_with_help(
                &entry.name.at,
                "is set for the training toolkit by `distribution`",
                "remove it here",
            );
        }
    }
}

/// What this machine's launchers can start.
pub(super) fn check_locally(reader: &mut SpecReader<'_>, raw: &RawTraining) {
    let torchrun =
        (raw.distribution.as_ref()).and_then(|distribution| distribution.value.0.torchrun.as_ref());
    let (Some(torchrun), Some(command)) = (torchrun, &raw.local.command) else {
        return;
    };
    // It takes the place of the words before the script.
    let script = command.value.0.iter().find(|word| is_script(&word.value.0));
    if script.is_none_or(|script| !script.value.0.ends_with(".py")) {
        reader.findings.wrong_with_help(
            &torchrun.at,
            "torchrun starts Python files, and `command` names none",
            "write `command: [python3, train.py]`, or start torchrun in the command and remove `distribution`",
        );
    }
}

/// AWS's images for scikit-learn and XGBoost have no launcher, that of TensorFlow has no torchrun.
fn refuse_frameworks(reader: &mut SpecReader<'_>, raw: &RawTraining, at: &At, launcher: &str) {
    let framework = raw.sagemaker.framework.as_ref();
    let name = framework.map_or("", |framework| framework.value.name());
    if matches!(
        (name, launcher),
        ("sklearn" | "xgboost", _) | ("tensorflow", "torchrun")
    ) {
        reader.findings.wrong_with_help(
            at,
            format!("AWS's image of {name} has no {launcher}"),
            "remove `distribution`, or choose another image",
        );
    }
}

impl SpecReader<'_> {
    pub(super) fn launcher(
        &mut self,
        raw: Located<KeyedLauncher>,
        instances: Option<&Instances>,
    ) -> Option<ScriptLauncher> {
        const HELP: &str = "write `{torchrun: {}}` or `{mpi: {processes_per_host: 8}}`";
        let RawLauncher {
            torchrun,
            mpi,
            groups,
        } = raw.value.0;
        let kind = match (torchrun, mpi) {
            (Some(_), None) => LauncherKind::Torchrun,
            (None, Some(mpi)) => {
                if let Some(count) = &mpi.value.processes_per_host {
                    let (at, count) = (&count.at, count.value.0);
                    (self.findings).at_most(at, count, "processes on a host", PROCESSES, "started");
                }
                self.check_local_hosts(&mpi.at, groups.as_ref(), instances);
                if let Some(options) = &mpi.value.options {
                    let text = &options.value.0;
                    self.at_most(&options.at, "a value", text, limits::HYPERPARAMETER_VALUE);
                }
                LauncherKind::Mpi {
                    processes_per_host: mpi.value.processes_per_host.map(|count| count.value.0),
                    options: mpi.value.options.map(|options| options.value.0),
                }
            }
            (Some(_), Some(mpi)) => {
                let message = "a job has one launcher";
                self.findings
                    .wrong_with_help(&mpi.at, message, "remove `torchrun` or `mpi`");
                return None;
            }
            (None, None) => {
                if !self.findings.is_known(&raw.at.path) {
                    let message = "names no launcher";
                    self.findings.wrong_with_help(&raw.at, message, HELP);
                }
                return None;
            }
        };
        let group = self.launched_group(groups, &raw.at, instances);
        Some(ScriptLauncher { kind, group })
    }

    /// mpirun reaches other hosts through SSH, and the host processes of one machine have no server for it.
    fn check_local_hosts(
        &mut self,
        at: &At,
        groups: Option<&Located<List<Text>>>,
        instances: Option<&Instances>,
    ) {
        if !self.is_on(RunPlace::This) {
            return;
        }
        let is_launched = |name: &str| {
            let mut named = groups.iter().flat_map(|groups| &groups.value.0);
            groups.is_none() || named.any(|group| group.value.0 == name)
        };
        let hosts = |configuration: &InstanceConfiguration| match configuration {
            InstanceConfiguration::Homogeneous { count, .. } => *count,
            InstanceConfiguration::Heterogeneous { groups, .. } => {
                let launched = groups.iter().filter(|group| is_launched(&group.name));
                launched.map(|group| group.count).sum()
            }
        };
        let mut configurations = instances
            .into_iter()
            .flat_map(|(instance, alternatives)| std::iter::once(instance).chain(alternatives));
        if let Some(several) = configurations.find(|configuration| hosts(configuration) > 1) {
            self.findings.wrong_with_help(
                at,
                format!("mpirun reaches other machines through SSH, which the host processes of `{several}` do not have"),
                "write `instance: local` and `processes_per_host`, or `torchrun: {}`",
            );
        }
    }

    /// Of several groups one may have a launcher, and every configuration with groups must have it.
    fn launched_group(
        &mut self,
        groups: Option<Located<List<Text>>>,
        at: &At,
        instances: Option<&Instances>,
    ) -> Option<String> {
        let clusters = group_names(instances);
        let Some(groups) = groups else {
            if let Some(cluster) = clusters.iter().find(|cluster| cluster.len() > 1) {
                let example = cluster.iter().max().copied().unwrap_or_default();
                self.findings.wrong_with_help(
                    at,
                    "does not say which instance group the launcher is for",
                    format!("write `groups: [{example}]`"),
                );
            }
            return None;
        };
        if instances.is_some() && clusters.is_empty() {
            self.findings.wrong_with_help(
                &groups.at,
                "neither `instance` nor `alternatives` has instance groups",
                "remove `groups`",
            );
            return None;
        }
        let count = groups.value.0.len();
        if count != 1 {
            self.findings.wrong_with_help(
                &groups.at,
                format!("{count} groups, where one has the launcher"),
                "name one group",
            );
        }
        for group in &groups.value.0 {
            let name = group.value.0.as_str();
            if let Some(cluster) = clusters.iter().find(|cluster| !cluster.contains(&name)) {
                let known = cluster.iter().copied();
                (self.findings).unknown(&group.at, name, "names no instance group", known, None);
            }
        }
        groups.value.0.into_iter().next().map(|group| group.value.0)
    }
}
