//! SageMaker's container contract for one host of a local run: the config files below `/opt/ml`, the `SM_*` variables,
//! the arguments. Pure: it says what the files hold, [`super::workspace`] writes them.
//!
//! Source: the SageMaker developer guide, "How Amazon SageMaker AI provides training information", and the training
//! toolkit (sagemaker-training), whose variables scripts in AWS's framework images rely on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::instance::Capacity;
use crate::spec::{Channel, Job};

use super::cluster::{Cluster, ClusterHost};

/// The toolkit's default, Python's `logging.INFO`.
const LOG_LEVEL: u32 = 20;
/// The address of every host: all hosts are processes of this machine.
const ADDRESS: &str = "127.0.0.1";
/// An account id that nobody has.
const ACCOUNT: &str = "000000000000";
/// The folders that a script may count on below `/opt/ml`, beside its channels.
pub(super) const FOLDERS: &str = include_str!("container/folders.txt");

/// One host of a run: who it is and where its folders are.
#[derive(Debug, Clone)]
pub(super) struct Container<'a> {
    pub(super) job: &'a Job,
    /// All values as text, as SageMaker hands them over, with this run's share and work level.
    pub(super) hyperparameters: &'a BTreeMap<String, String>,
    /// The spec's variables, with this run's share.
    pub(super) environment: &'a [(String, String)],
    /// Unique to this run; the training job's name on SageMaker.
    pub(super) run_name: &'a str,
    /// `us-east-1`
    pub(super) region: &'a str,
    pub(super) cluster: &'a Cluster<'a>,
    pub(super) host: &'a ClusterHost<'a>,
    /// Where the hosts may meet: no other program listens there.
    pub(super) port: u16,
    /// What stands for `/opt/ml`.
    pub(super) root: PathBuf,
    /// The copy of the source that the command runs in.
    pub(super) code: PathBuf,
    pub(super) capacity: &'a Capacity,
}

impl Container<'_> {
    pub(super) fn channel_folder(&self, channel: &str) -> PathBuf {
        self.root.join("input/data").join(channel)
    }

    /// Name and content of every file in `input/config`.
    pub(super) fn config_files(&self) -> [(&'static str, Value); 5] {
        let metrics = self.job.training.metrics.iter();
        let metrics = metrics.map(|(name, pattern)| json!({"Name": name, "Regex": pattern}));
        [
            ("hyperparameters.json", json!(self.hyperparameters)),
            ("inputdataconfig.json", self.input_data_config()),
            ("resourceconfig.json", self.resource_config()),
            ("metric-definition-regex.json", metrics.collect()),
            ("upstreamoutputdataconfig.json", json!([])),
        ]
    }

    /// Those that the script gets, sorted by name: SageMaker's own are left out.
    fn script_hyperparameters(&self) -> impl Iterator<Item = (&String, &String)> {
        let all = self.hyperparameters.iter();
        all.filter(|(name, _)| !name.starts_with("sagemaker_"))
    }

    fn input_data_config(&self) -> Value {
        let of_channel = |channel: &Channel| {
            let mut config = json!({
                "TrainingInputMode": channel.mode,
                "S3DistributionType": channel.distribution,
                "RecordWrapperType": "None",
            });
            if let Some(content_type) = &channel.content_type {
                config["ContentType"] = json!(content_type);
            }
            (channel.name.clone(), config)
        };
        json!(BTreeMap::from_iter(self.channels().map(of_channel)))
    }

    /// What reaches this host; a channel of other groups is not there for it.
    fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.host.channels.iter().map(|share| share.channel)
    }

    /// In the order of the cluster's groups.
    fn groups(&self) -> impl Iterator<Item = Value> {
        self.cluster.groups.iter().map(|group| {
            json!({
                "hosts": self.cluster.members(group),
                "instance_group_name": group,
                "instance_type": "local",
            })
        })
    }

    fn resource_config(&self) -> Value {
        json!({
            "current_group_name": self.host.group,
            "current_host": self.host.name,
            "current_instance_group": self.host.group,
            "current_instance_type": "local",
            "hosts": self.cluster.names(),
            "instance_groups": Vec::from_iter(self.groups()),
            "network_interface_name": "lo",
        })
    }

    /// `--name value` for every hyperparameter of the script; one letter gets one dash.
    fn arguments(&self) -> Vec<String> {
        let own = self.script_hyperparameters();
        own.flat_map(|(name, value)| {
            let dashes = if name.chars().count() == 1 { "-" } else { "--" };
            [format!("{dashes}{name}"), value.to_owned()]
        })
        .collect()
    }

    /// The command of this run: the script of the groups takes the place of the job's own.
    pub(super) fn command(&self) -> Vec<String> {
        let local = &self.job.training.local;
        let mut command = local.command.clone();
        if let (Some(script), Some(place)) = (&self.cluster.entry_point, local.script()) {
            command[place].clone_from(script);
        }
        command.extend(self.arguments());
        command
    }

    /// The script among the command's words, for the toolkit's variables.
    fn entry_point(&self) -> String {
        let training = &self.job.training;
        let own = self.cluster.entry_point.as_ref();
        own.or(training.script())
            .or(training.local.command.first())
            .cloned()
            .unwrap_or_default()
    }

    /// The `SM_*` set and what SageMaker itself sets, both spellings where a name holds other than letters and digits.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let environment = self.training_environment();
        let mut variables = BTreeMap::new();
        for (name, value) in environment.as_object().into_iter().flatten() {
            let name = match name.as_str() {
                "channel_input_dirs" | "is_master" | "job_name" | "master_hostname" => continue,
                "additional_framework_parameters" => "FRAMEWORK_PARAMS".to_owned(),
                "hyperparameters" => "HPS".to_owned(),
                name => name.to_uppercase(),
            };
            let text = (value.as_str()).map_or_else(|| value.to_string(), str::to_owned);
            variables.insert(format!("SM_{name}"), text);
        }
        let channels: Vec<&str> = self.channel_folders().into_keys().collect();
        let code = self.code.to_string_lossy().into_owned();
        let (region, name) = (self.region, self.run_name.to_lowercase());
        let arn = format!("arn:aws:sagemaker:{region}:{ACCOUNT}:training-job/{name}");
        for (name, value) in [
            ("SM_CHANNELS", json!(channels).to_string()),
            ("SM_USER_ARGS", json!(self.arguments()).to_string()),
            ("SM_HOST_COUNT", self.cluster.hosts.len().to_string()),
            ("SM_CURRENT_HOST_RANK", self.rank().to_string()),
            ("SM_FRAMEWORK_MODULE", String::new()),
            ("SM_SOURCE_DIR", code),
            ("SM_ENTRY_SCRIPT", self.entry_point()),
            // The SDK says algo-1, which has no address on this machine.
            ("SM_MASTER_ADDR", ADDRESS.to_owned()),
            ("SM_MASTER_PORT", self.port.to_string()),
            ("SM_TRAINING_ENV", environment.to_string()),
            ("SAGEMAKER_BASE_DIR", self.root.to_string_lossy().into()),
            ("TRAINING_JOB_ARN", arn),
            ("AWS_REGION", self.region.to_owned()),
            ("AWS_EXECUTION_ENV", "AWS_ECS_EC2".to_owned()),
            // MXNet's network.
            ("DMLC_INTERFACE", "lo".to_owned()),
            ("HOSTNAME", self.host.name.clone()),
            ("TRAINING_JOB_NAME", self.run_name.to_owned()),
        ] {
            variables.insert(name.to_owned(), value);
        }
        for (channel, folder) in self.channel_folders() {
            insert_both(&mut variables, "SM_CHANNEL_", channel, &folder);
        }
        for (name, value) in self.script_hyperparameters() {
            insert_both(&mut variables, "SM_HP_", name, value);
        }
        variables
    }

    /// What the toolkit knows of a host. Most of it is a variable of its own, too.
    fn training_environment(&self) -> Value {
        let hosts = self.cluster.names();
        let groups: BTreeMap<_, _> = self.cluster.groups.iter().zip(self.groups()).collect();
        let hyperparameters = self.script_hyperparameters();
        let hyperparameters = hyperparameters.map(|(name, value)| (name, decoded(value)));
        let entry_point = self.entry_point();
        // Those that a launcher starts processes on, as the toolkit reads them.
        let launched = (self.hyperparameters).get("sagemaker_distribution_instance_groups");
        json!({
            "additional_framework_parameters": {},
            "channel_input_dirs": self.channel_folders(),
            "current_host": self.host.name,
            "current_instance_group": self.host.group,
            "current_instance_group_hosts": self.cluster.members(&self.host.group),
            "current_instance_type": "local",
            "distribution_instance_groups": launched.map_or_else(|| json!([]), |value| decoded(value)),
            "hosts": hosts,
            "hyperparameters": Value::from_iter(hyperparameters),
            "input_config_dir": self.folder("input/config"),
            "input_data_config": self.input_data_config(),
            "input_dir": self.folder("input"),
            "instance_groups": self.cluster.groups,
            "instance_groups_dict": groups,
            "is_hetero": self.cluster.groups.len() > 1,
            "is_master": self.rank() == 0,
            "job_name": self.run_name,
            "log_level": LOG_LEVEL,
            "master_hostname": hosts.first(),
            "model_dir": self.folder("model"),
            "module_dir": self.code.to_string_lossy(),
            "module_name": entry_point.strip_suffix(".py").unwrap_or(&entry_point),
            "network_interface_name": "lo",
            "num_cpus": self.capacity.vcpus,
            "num_gpus": self.capacity.gpus,
            "num_neurons": 0,
            "output_data_dir": self.folder("output/data"),
            "output_dir": self.folder("output"),
            "output_intermediate_dir": self.folder("output/intermediate"),
            "resource_config": self.resource_config(),
            "user_entry_point": entry_point,
        })
    }

    /// A folder below what stands for `/opt/ml`.
    fn folder(&self, below: &str) -> String {
        self.root.join(below).to_string_lossy().into_owned()
    }

    fn channel_folders(&self) -> BTreeMap<&str, String> {
        let folder = |name: &str| self.folder(&format!("input/data/{name}"));
        let channels = self.channels().map(|channel| channel.name.as_str());
        channels.map(|name| (name, folder(name))).collect()
    }

    /// Its place among all hosts.
    fn rank(&self) -> usize {
        let mut hosts = self.cluster.hosts.iter();
        let place = hosts.position(|host| host.name == self.host.name);
        place.expect("a host is one of its cluster")
    }
}

/// The toolkit upper-cases a name and leaves the rest; the Python SDK v3 also turns `-` into `_`. Both are set.
fn insert_both(variables: &mut BTreeMap<String, String>, prefix: &str, name: &str, value: &str) {
    let upper = name.to_uppercase();
    let plain = upper.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    variables.insert(format!("{prefix}{plain}"), value.to_owned());
    variables.insert(format!("{prefix}{upper}"), value.to_owned());
}

/// The toolkit reads a hyperparameter's text as JSON where it is JSON: `50` becomes a number, `adam` stays text.
fn decoded(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
}

#[cfg(test)]
mod tests;
