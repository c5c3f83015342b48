//! SageMaker's container contract for one host of a local run: the config files below `/opt/ml`, the `SM_*` variables,
//! the arguments. Pure: it says what the files hold, [`super::workspace`] writes them.
//!
//! Source: the SageMaker developer guide, "How Amazon SageMaker AI provides training information", and the training
//! toolkit (sagemaker-training), whose variables scripts in AWS's framework images rely on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::instance::Capacity;
use crate::spec::{Distribution, InputMode, Job, Training};

/// SageMaker's name for the one group of a homogeneous cluster.
const GROUP: &str = "homogeneousCluster";
/// The toolkit's default, Python's `logging.INFO`.
const LOG_LEVEL: &str = "20";

/// One host of a run: who it is and where its folders are.
#[derive(Debug, Clone)]
pub(super) struct Container<'a> {
    pub(super) job: &'a Job,
    /// Name and value, with this run's share and work level.
    pub(super) hyperparameters: &'a [(String, String)],
    /// The spec's variables, with this run's share.
    pub(super) environment: &'a [(String, String)],
    /// Unique to this run; the training job's name on SageMaker.
    pub(super) run_name: &'a str,
    /// All hosts of the run, sorted as strings, as SageMaker does: algo-10 before algo-2.
    pub(super) hosts: &'a [String],
    pub(super) host: &'a str,
    /// What stands for `/opt/ml`.
    pub(super) root: &'a Path,
    /// The copy of the source that the command runs in.
    pub(super) code: &'a Path,
    pub(super) capacity: &'a Capacity,
}

impl Container<'_> {
    fn training(&self) -> &Training {
        &self.job.training
    }

    pub(super) fn config_folder(&self) -> PathBuf {
        self.root.join("input/config")
    }

    pub(super) fn channel_folder(&self, channel: &str) -> PathBuf {
        self.root.join("input/data").join(channel)
    }

    /// The folders that a script may count on, beside its channels.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        [
            "input/config",
            "input/data",
            "model",
            "output/data",
            "output/intermediate",
            "output/metrics/sagemaker",
            "checkpoints",
        ]
        .map(|folder| self.root.join(folder))
        .to_vec()
    }

    /// Name and content of every file in `input/config`.
    pub(super) fn config_files(&self) -> Vec<(&'static str, String)> {
        vec![
            ("hyperparameters.json", self.hyperparameters().to_string()),
            ("inputdataconfig.json", self.input_data_config().to_string()),
            ("resourceconfig.json", self.resource_config().to_string()),
        ]
    }

    fn own_hyperparameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.hyperparameters.iter();
        own.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All values as text, as SageMaker hands them over.
    fn hyperparameters(&self) -> Value {
        self.own_hyperparameters()
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn input_data_config(&self) -> Value {
        let channels: BTreeMap<_, _> = self
            .training()
            .channels
            .iter()
            .map(|channel| {
                let mode = match channel.mode {
                    InputMode::File => "File",
                    InputMode::FastFile => "FastFile",
                    InputMode::Pipe => "Pipe",
                };
                let distribution = match channel.distribution {
                    Distribution::FullyReplicated => "FullyReplicated",
                    Distribution::ShardedByS3Key => "ShardedByS3Key",
                };
                let mut config = json!({
                    "TrainingInputMode": mode,
                    "S3DistributionType": distribution,
                    "RecordWrapperType": "None",
                });
                if let Some(content_type) = &channel.content_type {
                    config["ContentType"] = json!(content_type);
                }
                (channel.name.clone(), config)
            })
            .collect();
        json!(channels)
    }

    fn resource_config(&self) -> Value {
        json!({
            "current_group_name": GROUP,
            "current_host": self.host,
            "current_instance_group": GROUP,
            "current_instance_type": "local",
            "hosts": self.hosts,
            "instance_groups": [{
                "hosts": self.hosts,
                "instance_group_name": GROUP,
                "instance_type": "local",
            }],
            "network_interface_name": "lo",
        })
    }

    /// `--name value` for every hyperparameter, sorted by name; one letter gets one dash; SageMaker's own are left out.
    pub(super) fn arguments(&self) -> Vec<String> {
        self.script_hyperparameters()
            .into_iter()
            .flat_map(|(name, value)| {
                let dashes = if name.chars().count() == 1 { "-" } else { "--" };
                [format!("{dashes}{name}"), value.to_owned()]
            })
            .collect()
    }

    fn script_hyperparameters(&self) -> BTreeMap<&str, &str> {
        self.own_hyperparameters()
            .filter(|(name, _)| !name.starts_with("sagemaker_"))
            .collect()
    }

    /// The script among the command's words, for the toolkit's variables.
    fn entry_point(&self) -> String {
        let from_command = || {
            let command = &self.training().local.command;
            let script = |word: &&String| {
                Path::new(word.as_str())
                    .extension()
                    .is_some_and(|extension| extension == "py" || extension == "sh")
            };
            command
                .iter()
                .find(script)
                .or(command.first())
                .cloned()
                .unwrap_or_default()
        };
        self.training()
            .sagemaker
            .entry_point
            .clone()
            .unwrap_or_else(from_command)
    }

    /// The `SM_*` set and what SageMaker itself sets, both spellings where a name holds other than letters and digits.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let root = |below: &str| text(&self.root.join(below));
        let channels: BTreeMap<&str, String> = self
            .training()
            .channels
            .iter()
            .map(|channel| {
                (
                    channel.name.as_str(),
                    text(&self.channel_folder(&channel.name)),
                )
            })
            .collect();
        let hyperparameters: BTreeMap<&str, Value> = self
            .script_hyperparameters()
            .into_iter()
            .map(|(name, value)| (name, decoded(value)))
            .collect();
        let hosts: BTreeSet<&String> = self.hosts.iter().collect();
        let rank = hosts
            .iter()
            .position(|host| *host == self.host)
            .unwrap_or(0);
        let entry_point = self.entry_point();
        let module = entry_point.strip_suffix(".py").unwrap_or(&entry_point);
        let groups = json!([GROUP]);
        let groups_dict = json!({GROUP: {
            "hosts": self.hosts,
            "instance_group_name": GROUP,
            "instance_type": "local",
        }});

        let mut variables: BTreeMap<String, String> = [
            ("SM_MODEL_DIR", root("model")),
            ("SM_OUTPUT_DIR", root("output")),
            ("SM_OUTPUT_DATA_DIR", root("output/data")),
            ("SM_OUTPUT_INTERMEDIATE_DIR", root("output/intermediate")),
            ("SM_INPUT_DIR", root("input")),
            ("SM_INPUT_CONFIG_DIR", root("input/config")),
            (
                "SM_CHANNELS",
                json!(channels.keys().collect::<Vec<_>>()).to_string(),
            ),
            ("SM_HPS", json!(hyperparameters).to_string()),
            ("SM_USER_ARGS", json!(self.arguments()).to_string()),
            ("SM_HOSTS", json!(self.hosts).to_string()),
            ("SM_HOST_COUNT", self.hosts.len().to_string()),
            ("SM_CURRENT_HOST", self.host.to_owned()),
            ("SM_CURRENT_HOST_RANK", rank.to_string()),
            ("SM_CURRENT_INSTANCE_TYPE", "local".to_owned()),
            ("SM_CURRENT_INSTANCE_GROUP", GROUP.to_owned()),
            (
                "SM_CURRENT_INSTANCE_GROUP_HOSTS",
                json!(self.hosts).to_string(),
            ),
            ("SM_INSTANCE_GROUPS", groups.to_string()),
            ("SM_INSTANCE_GROUPS_DICT", groups_dict.to_string()),
            ("SM_DISTRIBUTION_INSTANCE_GROUPS", "[]".to_owned()),
            ("SM_IS_HETERO", "false".to_owned()),
            ("SM_NUM_CPUS", self.capacity.vcpus.to_string()),
            ("SM_NUM_GPUS", self.capacity.gpus.to_string()),
            ("SM_NUM_NEURONS", "0".to_owned()),
            ("SM_NETWORK_INTERFACE_NAME", "lo".to_owned()),
            ("SM_RESOURCE_CONFIG", self.resource_config().to_string()),
            ("SM_INPUT_DATA_CONFIG", self.input_data_config().to_string()),
            ("SM_FRAMEWORK_PARAMS", "{}".to_owned()),
            ("SM_FRAMEWORK_MODULE", String::new()),
            ("SM_MODULE_NAME", module.to_owned()),
            ("SM_MODULE_DIR", text(self.code)),
            ("SM_SOURCE_DIR", text(self.code)),
            ("SM_USER_ENTRY_POINT", entry_point.clone()),
            ("SM_ENTRY_SCRIPT", entry_point.clone()),
            ("SM_LOG_LEVEL", LOG_LEVEL.to_owned()),
            // The hosts are processes of this machine, so the first is reached at loopback; algo-1 has no address here.
            ("SM_MASTER_ADDR", "127.0.0.1".to_owned()),
            ("SM_MASTER_PORT", "7777".to_owned()),
            ("SAGEMAKER_BASE_DIR", text(self.root)),
            ("TRAINING_JOB_NAME", self.run_name.to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        for (channel, folder) in &channels {
            insert_both(&mut variables, "SM_CHANNEL_", channel, folder);
        }
        for (name, value) in self.script_hyperparameters() {
            insert_both(&mut variables, "SM_HP_", name, value);
        }
        let environment = json!({
            "additional_framework_parameters": {},
            "channel_input_dirs": channels,
            "current_host": self.host,
            "current_instance_group": GROUP,
            "current_instance_group_hosts": self.hosts,
            "current_instance_type": "local",
            "hosts": self.hosts,
            "hyperparameters": hyperparameters,
            "input_config_dir": root("input/config"),
            "input_data_config": self.input_data_config(),
            "input_dir": root("input"),
            "is_hetero": false,
            "is_master": rank == 0,
            "job_name": self.run_name,
            "log_level": 20,
            "master_hostname": self.hosts.first(),
            "model_dir": root("model"),
            "module_dir": text(self.code),
            "module_name": module,
            "network_interface_name": "lo",
            "num_cpus": self.capacity.vcpus,
            "num_gpus": self.capacity.gpus,
            "num_neurons": 0,
            "output_data_dir": root("output/data"),
            "output_dir": root("output"),
            "output_intermediate_dir": root("output/intermediate"),
            "resource_config": self.resource_config(),
            "user_entry_point": entry_point,
        });
        variables.insert("SM_TRAINING_ENV".to_owned(), environment.to_string());
        variables
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
mod tests {
    use super::*;
    use crate::canary::{self, WorkLevel};
    use crate::units::Bytes;

    fn spec(training: &str) -> Job {
        let text = format!(
            "version: 1\nbackend: local\njobs:\n  digits:\n    instance: 2x local\n    training:\n      command: [python3, train.py]\n{training}\n"
        );
        let source = crate::spec::SpecSource {
            name: "canary-gate.yml",
            bytes: text.as_bytes(),
        };
        let mut spec = crate::spec::read(source, &[]).expect("a valid spec");
        spec.jobs.remove(0)
    }

    fn with_container<T>(training: &str, look: impl FnOnce(&Container<'_>) -> T) -> T {
        with_work(training, None, look)
    }

    fn with_work<T>(
        training: &str,
        work: Option<&WorkLevel>,
        look: impl FnOnce(&Container<'_>) -> T,
    ) -> T {
        let job = spec(training);
        let hyperparameters = canary::hyperparameters(&job.training, None, work);
        let hosts = ["algo-1".to_owned(), "algo-2".to_owned()];
        look(&Container {
            job: &job,
            hyperparameters: &hyperparameters,
            environment: &job.training.environment,
            run_name: "digits-1",
            hosts: &hosts,
            host: "algo-2",
            root: Path::new("/sandbox/ml"),
            code: Path::new("/sandbox/code"),
            capacity: &Capacity {
                vcpus: 4,
                memory: Bytes(8 * Bytes::GIB),
                gpus: 0,
                gpu_memory: None,
            },
        })
    }

    const TRAINING: &str =
        "      hyperparameters: {learning-rate: 0.10, k: 3, optimizer: adam, sagemaker_program: x}
      channels:
        train-a: {uri: data, distribution: ShardedByS3Key, content_type: text/csv}";

    #[test]
    fn hyperparameters_become_sorted_arguments_without_sagemakers_own() {
        let arguments = with_container(TRAINING, |container| container.arguments());
        assert_eq!(
            arguments,
            ["-k", "3", "--learning-rate", "0.10", "--optimizer", "adam"]
        );
    }

    #[test]
    fn variables_come_in_both_spellings() {
        let variables = with_container(TRAINING, |container| container.variables());
        assert_eq!(variables["SM_HP_LEARNING-RATE"], "0.10");
        assert_eq!(variables["SM_HP_LEARNING_RATE"], "0.10");
        assert_eq!(
            variables["SM_CHANNEL_TRAIN-A"],
            "/sandbox/ml/input/data/train-a"
        );
        assert_eq!(
            variables["SM_CHANNEL_TRAIN_A"],
            "/sandbox/ml/input/data/train-a"
        );
        assert_eq!(
            variables["SM_HPS"],
            r#"{"k":3,"learning-rate":0.10,"optimizer":"adam"}"#.replace("0.10", "0.1")
        );
        assert_eq!(variables["SM_CURRENT_HOST_RANK"], "1");
        assert_eq!(variables["SM_USER_ENTRY_POINT"], "train.py");
    }

    #[test]
    fn a_work_level_takes_the_place_of_its_hyperparameter_everywhere() {
        let training = TRAINING.replace("k: 3", "k: 3, num_round: 50.0");
        let level = |level| WorkLevel {
            hyperparameter: "num_round".to_owned(),
            level,
            full: 50.0,
        };
        with_work(&training, Some(&level(5.0)), |container| {
            let variables = container.variables();
            assert_eq!(container.hyperparameters()["num_round"], "5");
            assert_eq!(variables["SM_HP_NUM_ROUND"], "5");
            assert!(variables["SM_HPS"].contains(r#""num_round":5,"#));
            assert!(variables["SM_TRAINING_ENV"].contains(r#""num_round":5,"#));
            assert!(variables["SM_USER_ARGS"].contains(r#""--num_round","5""#));
            let arguments = container.arguments().join(" ");
            assert!(arguments.contains("--num_round 5 "), "{arguments}");
            assert!(arguments.contains("-k 3 "), "{arguments}");
        });
        with_work(&training, Some(&level(50.0)), |container| {
            assert_eq!(container.hyperparameters()["num_round"], "50.0");
        });
    }

    #[test]
    fn config_files_hold_what_sagemaker_writes() {
        let files: BTreeMap<_, _> = with_container(TRAINING, |container| {
            container.config_files().into_iter().collect()
        });
        let read = |name: &str| serde_json::from_str::<Value>(&files[name]).unwrap();
        assert_eq!(read("hyperparameters.json")["learning-rate"], "0.10");
        assert_eq!(
            read("inputdataconfig.json"),
            json!({"train-a": {
                "ContentType": "text/csv",
                "TrainingInputMode": "File",
                "S3DistributionType": "ShardedByS3Key",
                "RecordWrapperType": "None",
            }})
        );
        assert_eq!(read("resourceconfig.json")["current_host"], "algo-2");
        assert_eq!(
            read("resourceconfig.json")["hosts"],
            json!(["algo-1", "algo-2"])
        );
    }
}
