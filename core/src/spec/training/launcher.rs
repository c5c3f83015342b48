//! `distribution: {torchrun: {}}`: what starts the script's processes on each machine, in the words of AWS's training toolkit.

use std::fmt;
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{Framework, Training};
use crate::instance::{InstanceConfiguration, InstanceType, tables};
use crate::spec::keys::{List, mapping};
use crate::spec::kind::{Count, Definitions, Kind, Refined, Text};
use crate::spec::limits;
use crate::spec::reader::{At, Reader, quoted, rules};
use crate::spec::yaml::{Node, Value};

/// The toolkit's hyperparameters, as the Python SDK sends them for `distribution`.
const TORCHRUN: &str = "sagemaker_torch_distributed_enabled";
const MPI: &str = "sagemaker_mpi_enabled";
const MPI_PROCESSES: &str = "sagemaker_mpi_num_of_processes_per_host";
const MPI_OPTIONS: &str = "sagemaker_mpi_custom_mpi_options";
const SMDDP: &str = "sagemaker_distributed_dataparallel_enabled";
const SMDDP_OPTIONS: &str = "sagemaker_distributed_dataparallel_custom_mpi_options";
const INSTANCE_TYPE: &str = "sagemaker_instance_type";
/// It starts so many processes on a machine, one for each GPU.
const SMDDP_GPUS: u32 = 8;
const GROUPS: &str = "sagemaker_distribution_instance_groups";

/// What starts the script's processes on each machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptLauncher {
    pub kind: LauncherKind,
    /// The instance group whose machines it starts processes on; absent where the configurations have none.
    pub group: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum LauncherKind {
    Torchrun,
    /// SageMaker's library for data parallelism.
    Smdistributed,
    Mpi(MpiOptions),
}

mapping! {
    /// What mpirun is started with.
    #[derive(Eq, Serialize)]
    pub struct MpiOptions named "Mpi" {
        /// The number of processes on each machine, from 1 to 128. Without it one for each GPU, or one.
        optional processes_per_host: Count as u32;
        /// More options of mpirun, such as `-verbose -x NCCL_DEBUG=INFO`.
        optional options: Text as String;
    }
}

impl ScriptLauncher {
    /// The most on a machine: more than the cores of most.
    pub const PROCESSES: u32 = 128;
    /// What chooses it in the training toolkit: that it is torchrun, that it is mpirun, the number of processes of mpirun, its
    /// options, that it is smddprun, its options, and the instance groups.
    pub const HYPERPARAMETERS: [&str; 7] = [
        TORCHRUN,
        MPI,
        MPI_PROCESSES,
        MPI_OPTIONS,
        SMDDP,
        SMDDP_OPTIONS,
        GROUPS,
    ];

    /// How many processes of the script it starts on a machine with so many GPUs.
    pub fn processes(&self, gpus: u32) -> u32 {
        match &self.kind {
            LauncherKind::Smdistributed => SMDDP_GPUS,
            LauncherKind::Mpi(mpi) => mpi.processes_per_host.unwrap_or(gpus.max(1)),
            LauncherKind::Torchrun => gpus.max(1),
        }
    }

    /// Its key in the spec, and its program.
    fn names(&self) -> [&'static str; 2] {
        match self.kind {
            LauncherKind::Torchrun => ["torchrun", "torchrun"],
            LauncherKind::Smdistributed => ["smdistributed", "smddprun"],
            LauncherKind::Mpi(_) => ["mpi", "mpirun"],
        }
    }

    /// The hyperparameters that choose it in the training toolkit, as JSON. They name groups only where the configuration has some.
    pub fn hyperparameters(&self, on: &InstanceConfiguration) -> Vec<(&'static str, String)> {
        let machines = self.machines_of(on);
        let instance_type = machines.first().map_or("", |(kind, _)| kind.name());
        let mut all = Vec::new();
        match &self.kind {
            LauncherKind::Torchrun => all.push((TORCHRUN, json!(true))),
            LauncherKind::Smdistributed => {
                all.extend([(SMDDP, json!(true)), (INSTANCE_TYPE, json!(instance_type))]);
            }
            LauncherKind::Mpi(mpi) => {
                all.push((MPI, json!(true)));
                all.extend(mpi.processes_per_host.map(|it| (MPI_PROCESSES, json!(it))));
                all.extend(mpi.options.iter().map(|it| (MPI_OPTIONS, json!(it))));
            }
        }
        let has_groups = matches!(on, InstanceConfiguration::Heterogeneous { .. });
        let group = self.group.iter().filter(|_| has_groups);
        all.extend(group.map(|group| (GROUPS, json!([group]))));
        let all = all.into_iter();
        all.map(|(name, value)| (name, value.to_string())).collect()
    }

    /// The machines of a configuration that it starts processes on, a type with its count.
    fn machines_of<'a>(&self, of: &'a InstanceConfiguration) -> Vec<(&'a InstanceType, u32)> {
        let InstanceConfiguration::Heterogeneous { groups, .. } = of else {
            return of.members();
        };
        let own =
            (groups.iter()).filter(|it| self.group.as_ref().is_none_or(|one| it.name == *one));
        own.map(|it| (&it.instance_type, it.count)).collect()
    }
}

impl fmt::Display for ScriptLauncher {
    /// `mpi with 8 processes a host and -verbose on group dnn`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [key, _] = self.names();
        f.write_str(key)?;
        if let LauncherKind::Mpi(mpi) = &self.kind {
            let processes = mpi
                .processes_per_host
                .map(|count| format!("{count} processes a host"));
            let parts: Vec<String> = processes.into_iter().chain(mpi.options.clone()).collect();
            if !parts.is_empty() {
                write!(f, " with {}", parts.join(" and "))?;
            }
        }
        match &self.group {
            Some(group) => write!(f, " on group {group}"),
            None => Ok(()),
        }
    }
}

/// `{}`.
pub(in crate::spec) enum NoKeys {}

impl Kind for NoKeys {
    type Value = ();

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<()> {
        match &node.value {
            Value::Mapping(keys) if keys.is_empty() => Some(()),
            _ => reader.wrong_kind(node, "`{}`", at),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "object", "maxProperties": 0 })
    }
}

mapping! {
    /// What starts the script's processes on each machine. Give one launcher.
    pub(in crate::spec) struct LauncherKeys named "Launcher" {
        /// `{}`: torchrun, with a process for each GPU of a machine, or one.
        optional torchrun: NoKeys;
        /// mpirun.
        optional mpi: MpiOptions;
        /// `{}`: smddprun, with a process for each of a machine's 8 GPUs.
        optional smdistributed: NoKeys;
        /// The instance group whose machines the launcher starts processes on, in a list. Needed where there are several groups.
        optional groups: List<Text>;
    }
}

impl Refined for ScriptLauncher {
    type Of = LauncherKeys;
    type Value = Self;

    fn refine(keys: LauncherKeys, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let mpi_at = at.key("mpi");
        let group_count = keys.groups.as_ref().map_or(1, Vec::len);
        let kinds = [
            keys.torchrun.map(|()| LauncherKind::Torchrun),
            keys.mpi.map(LauncherKind::Mpi),
            keys.smdistributed.map(|()| LauncherKind::Smdistributed),
        ];
        let mut kinds = Vec::from_iter(kinds.into_iter().flatten());
        rules! { reader, at;
            refuse "" if kinds.is_empty() && !reader.is_wrong(at) =>
                "names no launcher", "write `{torchrun: {}}` or `{mpi: {processes_per_host: 8}}`";
            refuse "" if kinds.len() > 1 =>
                format!("{} launchers, and a job has one", kinds.len()), "leave one of them";
            refuse "groups" if group_count != 1 =>
                format!("{group_count} groups, where one has the launcher"), "name one group";
        }
        if let [LauncherKind::Mpi(mpi)] = &kinds[..] {
            let count = mpi.processes_per_host.unwrap_or(1);
            let (at, what) = (mpi_at.key("processes_per_host"), "processes on a host");
            reader.at_most(&at, count, what, Self::PROCESSES, "started");
            let options = mpi.options.as_deref().unwrap_or_default();
            let most = limits::HYPERPARAMETER_VALUE;
            reader.too_long(&mpi_at.key("options"), "a value", options, most);
        }
        let group = keys.groups.into_iter().flatten().next();
        let kind = kinds.pop().filter(|_| kinds.is_empty())?;
        Some(Self { kind, group })
    }
}

const BY_ITSELF: &str = "a command can start its own launcher: `container: {entrypoint: [torchrun, /opt/program/train.py]}`";

/// What SageMaker's toolkit can launch: the script of an `entry_point`, in an image that has the launcher.
pub(super) fn check_on_sagemaker(reader: &mut Reader<'_>, training: &Training, at: &At) {
    let Some(launcher) = &training.distribution else {
        return;
    };
    let keys = &training.sagemaker;
    let (has_algorithm, has_script) = (keys.algorithm.is_some(), keys.entry_point.is_some());
    let has_entrypoint = !keys.container.entrypoint.is_empty();
    let (at, parameters) = (&at.key("distribution"), at.key("hyperparameters"));
    let [key, program] = launcher.names();
    let script = keys.entry_point.as_deref().unwrap_or_default();
    let framework = keys.framework.as_ref().map_or("", Framework::name);
    let is_torchrun = launcher.kind == LauncherKind::Torchrun;
    let lacks = match framework {
        "sklearn" | "xgboost" => true,
        _ => framework == "tensorflow" && is_torchrun,
    };
    let (at_key, is_started) = (at.key(key), has_script && !has_algorithm && !has_entrypoint);
    rules! { reader, at;
        refuse "" if has_algorithm =>
            "an algorithm starts itself, without a launcher", "remove `distribution`";
        refuse "" if has_entrypoint && !has_algorithm =>
            "`container.entrypoint` replaces the training toolkit, which would start the launcher",
            format!("remove one of them; {BY_ITSELF}");
        refuse "" if !has_script && !has_algorithm && !has_entrypoint =>
            "needs an `entry_point`: AWS's training toolkit starts the launcher, for that script only",
            format!("write `source_dir` and `entry_point`; {BY_ITSELF}");
    }
    rules! { reader, at_key;
        refuse "" if is_started && is_torchrun && !script.ends_with(".py") =>
            format!("torchrun starts Python files, and `entry_point` is {}", quoted(script)),
            "name a file that ends with `.py`, or start torchrun in the script and remove `distribution`";
        refuse "" if is_started && lacks =>
            format!("AWS's image of {framework} has no {program}"), "remove `distribution`, or choose another image";
    }
    for (name, _) in training.hyperparameters.iter().filter(|_| is_started) {
        if ScriptLauncher::HYPERPARAMETERS.contains(&name.as_str()) {
            let message = "is set for the training toolkit by `distribution`";
            reader.refuse(&parameters.name(name), message, "remove it here");
        }
    }
}

impl Reader<'_> {
    /// Of several groups one may have a launcher, and every configuration with groups must have it.
    pub(super) fn check_launcher(&mut self, at: &At, launcher: &ScriptLauncher) {
        let instances = Rc::clone(&self.instances);
        let group = launcher.group.as_ref();
        let is_smddp = launcher.kind == LauncherKind::Smdistributed;
        let of_gpus = |(kind, _)| tables::capacity(kind).map(|capacity| (kind, capacity.gpus));
        let kinds = instances.iter().flat_map(|it| launcher.machines_of(it));
        let mut kinds = kinds.filter(|_| is_smddp).filter_map(of_gpus);
        if let Some((kind, gpus)) = kinds.find(|(_, gpus)| *gpus != SMDDP_GPUS) {
            let message =
                format!("smddprun needs {SMDDP_GPUS} GPUs on a machine; {kind} has {gpus}");
            let help = "choose a type such as ml.p4d.24xlarge, or write `torchrun: {}`";
            self.refuse(&at.key("smdistributed"), message, help);
        }
        let clusters = self.clusters();
        let needs_group =
            !self.is_written(&at.key("groups")) && clusters.iter().any(|cluster| cluster.len() > 1);
        let example = clusters.iter().filter(|cluster| cluster.len() > 1);
        let example = example.flatten().max().map_or("", String::as_str);
        let has_no_groups = !instances.is_empty() && clusters.is_empty();
        rules! { self, at;
            refuse "" if needs_group =>
                "does not say which instance group the launcher is for", format!("write `groups: [{example}]`");
            refuse "groups" if group.is_some() && has_no_groups =>
                "neither `instance` nor `alternatives` has instance groups", "remove `groups`";
        }
        if let Some(group) = group.filter(|_| !has_no_groups) {
            self.known_groups(&at.key("groups"), std::slice::from_ref(group), &clusters);
        }
    }
}
