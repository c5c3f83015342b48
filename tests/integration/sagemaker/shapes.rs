//! Training jobs as teams start them: `init --from-job` gives a spec that starts the same program.
//!
//! The jobs are requests of our own writing, in the shapes that the Python SDK v2 and v3, the console and boto3 give them.

use std::path::Path;

use serde_json::{Value, json};

use super::scripts::{memory_by_the_probe, static_probe};
use super::{FIXED, JSON, gate, with_data};
use crate::aws::{FakeAws, Job, Metrics, Timeline};
use crate::project::{Finished, Project};
use crate::quickstart::copy;

fn shape(name: &str) -> Value {
    let path = format!("tests/data/sagemaker/jobs/{name}.json");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(root.join(path)).unwrap()).unwrap()
}

/// An AWS with a job of this shape and its data, and the spec that `init` makes of it, filled in as a person would.
fn spec_from(theirs: &Value) -> (Project, FakeAws) {
    let aws = with_data();
    for file in ["train.py", "requirements.txt"] {
        aws.put_object(
            "data",
            &format!("churn-20261001080000/input/code/{file}"),
            "",
        );
    }
    for (file, content) in [
        (
            "sm_train.sh",
            "cd \"$(dirname \"$0\")/../code\" && exec sh start.sh\n",
        ),
        ("sourcecode.json", "{}"),
        ("scripts/environment.py", ""),
    ] {
        aws.put_object(
            "data",
            &format!("churn-20261001080000/input/sm_drivers/{file}"),
            content,
        );
    }
    aws.add_job(theirs);
    let project = Project::empty()
        .file("training/train.py", "print('trained')\n")
        .file("training/launcher.py", "import train\n")
        .file("training/start.sh", "sleep 1.2\n");
    let name = theirs["TrainingJobName"].as_str().unwrap();
    gate(
        &project,
        &aws,
        &["init", "--from-job", name, "--region", "us-east-1"],
    )
    .ended_with(0);
    // All canaries on as many machines as the job.
    let counts = match theirs["ResourceConfig"]["InstanceCount"].as_u64() {
        Some(count) if count > 1 => format!(", counts: [{count}]"),
        _ => String::new(),
    };
    let canary = FIXED.replace('}', &format!(", spend_limit: 100 USD{counts}}}"));
    let spec = project
        .read("canary-gate.yml")
        .replace("# source_dir:", "source_dir:")
        .replace(
            "# share: {hyperparameter: FILL-IN}",
            "share: {hyperparameter: data_fraction}",
        )
        .replace("canary: {spend_limit: 5 USD}", &format!("canary: {canary}"));
    assert!(!spec.contains("FILL-IN"), "{spec}");
    // Who says what it may take is not of interest here.
    let spec = &spec[..spec.find("    budget:").unwrap_or(spec.len())];
    project.write("canary-gate.yml", spec);
    (project, aws)
}

/// The first canary that a gate without a probe starts.
fn canary(aws: &FakeAws) -> Job {
    let jobs = aws.jobs().into_iter();
    let mut canaries = jobs.filter(|job| job.name().starts_with("cg-"));
    canaries.next().expect("a canary")
}

fn run_without_probe(project: &Project, aws: &FakeAws) -> Finished {
    project.run_with(JSON, |command| {
        aws.reach_without_probe(command);
        command.env("CANARY_GATE_PACE", "0");
    })
}

/// What a request asks for, but for what is a canary's own: its name, its tags, its limits, its sample, where its code and its
/// output lie, and what no canary has: spot capacity, checkpoints, retries, a profiler, a pool, a packed model.
fn program(request: &Value) -> Value {
    let mut request = request.clone();
    let object = request.as_object_mut().unwrap();
    for own in [
        "TrainingJobName",
        "Tags",
        "StoppingCondition",
        "OutputDataConfig",
        "EnableManagedSpotTraining",
        "CheckpointConfig",
        "RetryStrategy",
        "ProfilerConfig",
    ] {
        object.remove(own);
    }
    for switch in [
        "EnableNetworkIsolation",
        "EnableInterContainerTrafficEncryption",
    ] {
        if object.get(switch) == Some(&json!(false)) {
            object.remove(switch);
        }
    }
    let mode = object["AlgorithmSpecification"]
        .as_object_mut()
        .unwrap()
        .remove("TrainingInputMode");
    let has_share = object
        .get("HyperParameters")
        .is_some_and(|all| all.get("data_fraction").is_some());
    if let Some(all) = object.get_mut("HyperParameters") {
        let all = all.as_object_mut().unwrap();
        for own in [
            "data_fraction",
            "sagemaker_submit_directory",
            "sagemaker_job_name",
        ] {
            all.remove(own);
        }
        // As the training toolkit reads them.
        for value in all.values_mut() {
            let text = value.as_str().unwrap().to_owned();
            *value = serde_json::from_str(&text).unwrap_or(json!(text));
        }
    }
    let channels = object.remove("InputDataConfig").unwrap_or(json!([]));
    let mut channels: Vec<Value> = channels.as_array().unwrap().clone();
    channels.sort_by_key(|channel| channel["ChannelName"].to_string());
    for channel in &mut channels {
        let default = mode.clone().unwrap_or(json!("File"));
        let channel = channel.as_object_mut().unwrap();
        channel.entry("InputMode").or_insert(default);
        for key in ["CompressionType", "RecordWrapperType"] {
            channel.entry(key).or_insert(json!("None"));
        }
        let is_theirs = channel["ChannelName"] == "sm_drivers";
        if let Some(source) = channel["DataSource"].get_mut("S3DataSource")
            && !is_theirs
        {
            let source = source.as_object_mut().unwrap();
            source.remove("S3Uri");
            source.remove("S3DataType");
        }
        if channel["DataSource"].get("FileSystemDataSource").is_some() {
            assert!(has_share || channel["InputMode"] == "File");
            for key in ["CompressionType", "RecordWrapperType"] {
                channel.remove(key);
            }
        }
    }
    object.insert("InputDataConfig".to_owned(), json!(channels));
    request
}

/// A job, changed by `change`, and the first canary of the spec made from it.
fn held_against(name: &str, theirs: Value, change: impl FnOnce(Value) -> Value) {
    let (project, aws) = spec_from(&theirs);
    let run = run_without_probe(&project, &aws);
    let spec = project.read("canary-gate.yml");
    assert_eq!(run.code, 0, "{name} {}\n{spec}", run.seen());
    let text = |request: &Value| {
        let mut program = program(request);
        program.sort_all_objects();
        serde_json::to_string_pretty(&program).unwrap()
    };
    assert_eq!(text(canary(&aws).input()), text(&change(theirs)), "{name}");
}

#[test]
fn a_job_of_each_shape_is_the_same_job() {
    for name in [
        "v2-script",
        "v3-script",
        "v3-torchrun",
        "built-in",
        "plain-image",
        "marketplace",
        "fsx",
    ] {
        held_against(name, shape(name), |request| request);
    }
}

/// An example as it lies there, committed, and an AWS with the data that it names.
fn example(folder: &Path) -> (Project, FakeAws) {
    let (project, aws) = (Project::empty(), FakeAws::start());
    copy(folder, project.root());
    for part in 0..100 {
        let key = format!("data/train/part-{part:03}.csv");
        aws.put_object("my-team-canary-gate", &key, "1,2\n".repeat(100));
    }
    aws.put_object("my-team-canary-gate", "data/validation/all.csv", "1,2\n");
    aws.train(|job| {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
        let bytes = job.bytes() as f64;
        Timeline::completed().training(60.0 + 0.06 * bytes)
    });
    aws.metrics(Metrics::constant(&[
        ("CPUUtilization", 100.0),
        ("MemoryUtilization", 25.0),
        ("GPUUtilization", 80.0),
        ("GPUMemoryUtilization", 40.0),
    ]));
    (project.committed(), aws)
}

/// Its canary on most machines, with the full data, is the job that `init` looks at.
#[test]
fn an_example_is_judged_and_is_what_init_makes_of_a_job_of_its_shape() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sagemaker");
    let entries = std::fs::read_dir(examples).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    assert_eq!(folders.len(), 5);
    for folder in folders {
        let (project, aws) = example(&folder);
        gate(&project, &aws, &["validate"]).ended_with(0);
        gate(&project, &aws, &["plan", "--all"]).ended_with(0);
        let run = gate(&project, &aws, JSON).ended_with(0);
        // What is seen of a GPU once a minute, and what grows with nothing here, is at risk.
        assert_ne!(run.json()["verdict"], "not_judged", "{}", run.seen());

        let (project, aws) = example(&folder);
        run_without_probe(&project, &aws).ended_with(0);
        let machines = |job: &Job| -> usize { job.groups().iter().map(|group| group.count).sum() };
        let jobs = aws.jobs().into_iter();
        let mut theirs = jobs.max_by_key(machines).unwrap().input().clone();
        theirs["TrainingJobName"] = json!("churn-20261001080000");
        theirs["OutputDataConfig"] = json!({"S3OutputPath": "s3://canaries/out/"});
        theirs["StoppingCondition"] = json!({"MaxRuntimeInSeconds": 86_400});
        // Of a job's metrics `init` makes a remark: none says which is the time of a step.
        let algorithm = theirs["AlgorithmSpecification"].as_object_mut().unwrap();
        algorithm.remove("MetricDefinitions");
        for channel in theirs["InputDataConfig"].as_array_mut().unwrap() {
            let source = &mut channel["DataSource"]["S3DataSource"];
            source["S3Uri"] = json!("s3://data/churn/train/");
            source["S3DataType"] = json!("S3Prefix");
        }
        held_against(&folder.display().to_string(), theirs, |request| request);
    }
}

#[test]
fn a_job_on_groups_is_the_same_job() {
    let mut theirs = shape("v2-script");
    let resources = theirs["ResourceConfig"].as_object_mut().unwrap();
    resources.remove("InstanceType");
    resources.remove("InstanceCount");
    resources.insert(
        "InstanceGroups".to_owned(),
        json!([
            {"InstanceGroupName": "data", "InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
            {"InstanceGroupName": "dnn", "InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
        ]),
    );
    theirs["EnableManagedSpotTraining"] = json!(false);
    theirs["StoppingCondition"] = json!({"MaxRuntimeInSeconds": 86_400});
    let channels = theirs["InputDataConfig"].as_array_mut().unwrap();
    for channel in channels {
        let source = &mut channel["DataSource"]["S3DataSource"];
        source["InstanceGroupNames"] = json!(["data", "dnn"]);
    }
    held_against("groups", theirs, |request| request);
}

#[test]
fn a_job_that_takes_one_of_several_machines_is_the_same_job_on_the_first() {
    held_against(
        "preferences",
        shape("instance-preferences"),
        |mut request| {
            let resources = request["ResourceConfig"].as_object_mut().unwrap();
            let preferences = resources.remove("InstancePreferences").unwrap();
            let first = preferences[0]["InstanceType"].clone();
            resources.insert("InstanceType".to_owned(), first);
            request
        },
    );
}

#[test]
fn the_probe_starts_what_the_container_would() {
    for name in [
        "v3-script",
        "v3-torchrun",
        "plain-image",
        "fsx",
        "instance-preferences",
    ] {
        let theirs = shape(name);
        let (project, aws) = spec_from(&theirs);
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        let ours = &canary(&aws).input()["AlgorithmSpecification"].clone();
        let their = &theirs["AlgorithmSpecification"];
        let words = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let whole = [
            words(&their["ContainerEntrypoint"]),
            words(&their["ContainerArguments"]),
        ];
        assert_eq!(words(&ours["ContainerArguments"]), whole.concat(), "{name}");
        assert!(
            ours["ContainerEntrypoint"][2]
                .as_str()
                .unwrap()
                .contains("canary-gate-probe"),
            "{name}"
        );
    }
}

#[test]
fn what_no_probe_can_start_is_said() {
    for (name, why) in [
        ("marketplace", "an algorithm takes its own channels only"),
        ("built-in", "the job has no entry_point that it could start"),
    ] {
        let (project, aws) = spec_from(&shape(name));
        let run = gate(&project, &aws, JSON);
        let notes = run.ended_with(0).json()["jobs"][0]["notes"].to_string();
        assert!(notes.contains(why), "{name}: {notes}");
        assert!(
            !canary(&aws).input()["AlgorithmSpecification"]
                .to_string()
                .contains("canary-gate-probe"),
            "{name}"
        );
    }
}

/// The code of the checkout, not that of the job, runs under the probe.
#[test]
fn a_script_of_sdk_v3_really_runs_from_the_checkout() {
    let (project, aws) = spec_from(&shape("v3-script"));
    let Some(probe) = static_probe(project.root()) else {
        eprintln!("skipped: no C compiler here links statically");
        return;
    };
    aws.train(|_| Timeline::completed());
    aws.run_scripts(1.0);
    memory_by_the_probe(&project, &aws, &probe);
}
