//! `init` in ten layouts that repositories of training code have: what it writes is valid, and says where each line is from.
//!
//! Each is a small one of our own, made as the examples named beside it are.

use crate::project::Project;

/// `init`, then `validate`; returns the spec.
#[track_caller]
fn spec_of(project: &Project) -> String {
    let made = project.run(&["init"]).ended_with(0);
    assert!(made.stderr.contains("canary-gate check"), "{}", made.seen());
    project.run(&["validate"]).ended_with(0);
    project.read("canary-gate.yml")
}

const SCRIPT_MODE: &str = r#"import argparse, os
import torch

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10, metavar="N")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--data-dir", type=str, default=os.environ["SM_CHANNEL_TRAINING"])
    args = parser.parse_args()
    loss.backward()
"#;

/// <https://github.com/aws/amazon-sagemaker-examples>, `sagemaker-python-sdk/pytorch_mnist`: the script beside its notebook.
#[test]
fn pytorch_in_script_mode() {
    let notebook = serde_json::json!({"cells": [
        {"cell_type": "markdown", "source": ["# MNIST"]},
        {"cell_type": "code", "source": ["%pip install -U sagemaker\n", "import sagemaker\n", "\n", "sagemaker_session = sagemaker.Session()\n", "bucket = sagemaker_session.default_bucket()\n", "prefix = \"sagemaker/DEMO-pytorch-mnist\"\n", "role = sagemaker.get_execution_role()"]},
        {"cell_type": "code", "source": ["inputs = sagemaker_session.upload_data(path=\"data\", bucket=bucket, key_prefix=prefix)"]},
        {"cell_type": "code", "source": ["from sagemaker.pytorch import PyTorch\n", "\n", "estimator = PyTorch(\n", "    entry_point=\"mnist.py\",\n", "    role=role,\n", "    py_version=\"py312\",\n", "    framework_version=\"2.8.0\",\n", "    instance_count=2,\n", "    instance_type=\"ml.c5.2xlarge\",\n", "    hyperparameters={\"epochs\": 10, \"backend\": \"gloo\"},\n", ")"]},
        {"cell_type": "code", "source": ["estimator.fit({\"training\": inputs})"]}
    ]});
    let project = Project::empty()
        .file("mnist/mnist.ipynb", &notebook.to_string())
        .file("mnist/mnist.py", SCRIPT_MODE)
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// `sagemaker-script-mode/sagemaker-script-mode.ipynb`: a job of scikit-learn with a folder of scripts.
#[test]
fn sklearn_in_script_mode() {
    let project = Project::empty()
        .file(
            "launch.py",
            r#"import sagemaker
from sagemaker.sklearn.estimator import SKLearn

BUCKET = "my-models-eu"
sklearn = SKLearn(
    entry_point="train.py",
    source_dir="scikitlearn_script",
    framework_version="1.4-2",
    instance_type="ml.m5.xlarge",
    role="arn:aws:iam::111122223333:role/service-role/SageMakerTraining",
    hyperparameters={"max_leaf_nodes": 30, "n_estimators": 200},
    output_path=f"s3://{BUCKET}/models/",
    max_run=2 * 60 * 60,
    use_spot_instances=False,
)
sklearn.fit({
    "train": f"s3://{BUCKET}/california/train/",
    "test": f"s3://{BUCKET}/california/test/",
})
"#,
        )
        .file("scikitlearn_script/train.py", SCRIPT_MODE)
        .file("scikitlearn_script/requirements.txt", "pandas\n")
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// `introduction_to_amazon_algorithms/xgboost_abalone`: a built-in algorithm, with no script at all.
#[test]
fn xgboost_as_a_built_in_algorithm() {
    let project = Project::empty()
        .file(
            "abalone.py",
            r#"import boto3, sagemaker
region = boto3.Session().region_name
container = sagemaker.image_uris.retrieve("xgboost", region, "1.7-1")
train_input = sagemaker.inputs.TrainingInput("s3://my-bucket/abalone/train", content_type="libsvm")
xgb = sagemaker.estimator.Estimator(
    container,
    image_uri=container,
    role=role,
    instance_count=1,
    instance_type="ml.m5.2xlarge",
    volume_size=5,
    output_path="s3://{}/{}/output".format(bucket, prefix),
    sagemaker_session=session,
)
xgb.set_hyperparameters(max_depth=5, eta=0.2, objective="reg:linear", num_round=100)
xgb.fit({"train": train_input, "validation": "s3://my-bucket/abalone/validation"})
"#,
        )
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// <https://github.com/huggingface/notebooks>, `sagemaker/01_getting_started_pytorch`.
#[test]
fn hugging_face_in_a_notebook() {
    let notebook = serde_json::json!({"cells": [
        {"cell_type": "code", "source": "!pip install transformers\nrole = sagemaker.get_execution_role()"},
        {"cell_type": "code", "source": "training_input_path = f's3://{sess.default_bucket()}/imdb/train'"},
        {"cell_type": "code", "source": "hyperparameters={'epochs': 4,\n    'train_batch_size': 32,\n    'model_name':'distilbert-base-uncased'}\nhuggingface_estimator = HuggingFace(entry_point='train.py',\n    source_dir='./scripts',\n    instance_type='ml.p3.2xlarge',\n    instance_count=1,\n    role=role,\n    transformers_version='4.26',\n    pytorch_version='1.13',\n    py_version='py39',\n    hyperparameters = hyperparameters)\n\nhuggingface_estimator.fit({'train': training_input_path})"}
    ]});
    let project = Project::empty()
        .file("sagemaker-notebook.ipynb", &notebook.to_string())
        .file("scripts/train.py", SCRIPT_MODE)
        .file("scripts/requirements.txt", "datasets\n")
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// `advanced_functionality/scikit_bring_your_own`: an image with a program `train`.
#[test]
fn an_image_of_ones_own() {
    let project = Project::empty()
        .file("container/Dockerfile", "FROM ubuntu:22.04\nRUN apt-get -y update\nENV PATH=\"/opt/program:${PATH}\"\nCOPY decision_trees /opt/program\nWORKDIR /opt/program\n")
        .file("container/decision_trees/train", "#!/usr/bin/env python3\nprefix = '/opt/ml/'\nclf.fit(X, y)\n")
        .file("container/decision_trees/serve", "#!/usr/bin/env python3\n")
        .file("container/build_and_push.sh", "docker build .\n")
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// The SageMaker Python SDK, version 3: `ModelTrainer`.
#[test]
fn a_model_trainer() {
    let project = Project::empty()
        .file("pipelines/launch_v3.py", r#"from sagemaker.train import ModelTrainer
from sagemaker.train.configs import SourceCode, Compute, InputData, StoppingCondition

source_code = SourceCode(source_dir="../src", entry_script="train.py", requirements="requirements.txt")
compute = Compute(instance_type="ml.g5.2xlarge", instance_count=1, volume_size_in_gb=100)
trainer = ModelTrainer(
    training_image="763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04-sagemaker",
    source_code=source_code,
    compute=compute,
    base_job_name="resnet-finetune",
    stopping_condition=StoppingCondition(max_runtime_in_seconds=86400),
    hyperparameters={"epochs": 30, "lr": 1e-4},
    role=ROLE,
)
trainer.train(input_data_config=[
    InputData(channel_name="train", data_source="s3://imagenet-mini/train/"),
    InputData(channel_name="val", data_source="s3://imagenet-mini/val/"),
])
"#)
        .file("src/train.py", SCRIPT_MODE)
        .file("src/requirements.txt", "timm\n")
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// boto3: the request as a table.
#[test]
fn a_request_of_boto3() {
    let project = Project::empty()
        .file("jobs/start.py", r#"import boto3
from time import gmtime, strftime

job_name = "churn-" + strftime("%Y-%m-%d", gmtime())
create_training_params = {
    "TrainingJobName": job_name,
    "AlgorithmSpecification": {
        "TrainingImage": "111122223333.dkr.ecr.eu-central-1.amazonaws.com/churn:3",
        "TrainingInputMode": "File",
    },
    "RoleArn": "arn:aws:iam::111122223333:role/Train",
    "OutputDataConfig": {"S3OutputPath": "s3://churn-models/out/"},
    "ResourceConfig": {"InstanceCount": 2, "InstanceType": "ml.m5.4xlarge", "VolumeSizeInGB": 50},
    "HyperParameters": {"rounds": "200", "token": "abc"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 4 * 3600},
    "VpcConfig": {"Subnets": ["subnet-0a1b2c3d"], "SecurityGroupIds": ["sg-0a1b2c3d"]},
    "InputDataConfig": [
        {
            "ChannelName": "train",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://churn-data/train/"}},
        }
    ],
}
boto3.client("sagemaker").create_training_job(**create_training_params)
"#)
        .committed();
    insta::assert_snapshot!(spec_of(&project));
}

/// <https://github.com/drivendataorg/cookiecutter-data-science>: data that git ignores, and a package named by its module.
#[test]
fn cookiecutter_data_science() {
    let project = Project::empty()
        .file(".gitignore", "/data/\n")
        .file("pyproject.toml", "[project]\nname = 'house_prices'\n")
        .file("README.md", "# House prices\n")
        .file("house_prices/__init__.py", "")
        .file("house_prices/config.py", "DATA_DIR = 1\n")
        .file("house_prices/modeling/__init__.py", "")
        .file("house_prices/modeling/train.py", "from pathlib import Path\nimport typer\nfrom house_prices.config import PROCESSED_DATA_DIR\n\napp = typer.Typer()\n\n@app.command()\ndef main(features_path: Path = PROCESSED_DATA_DIR / 'features.csv'):\n    model.fit(x, y)\n\nif __name__ == '__main__':\n    app()\n")
        .file("house_prices/plots.py", "import typer\nif __name__ == '__main__':\n    app()\n")
        .committed()
        .file("data/raw/houses.csv", "a,b\n1,2\n")
        .file("data/processed/features.csv", "a,b\n1,2\n");
    insta::assert_snapshot!(spec_of(&project));
}

/// A package below `src/`, its command made with click.
#[test]
fn a_package_below_src_with_click() {
    let script = r#"import os
import click
from churn.model import fit_model

@click.command()
@click.option("--epochs", default=20, show_default=True)
@click.option("--seed", type=int, default=7)
def main(epochs, seed):
    folder = os.environ.get("SM_CHANNEL_TRAIN", "data/train")
    rows = sum(len(open(os.path.join(folder, name)).readlines()) for name in sorted(os.listdir(folder)))
    for _ in range(epochs):
        fit_model(rows)
    os.makedirs(os.environ["SM_MODEL_DIR"], exist_ok=True)

if __name__ == "__main__":
    main()
"#;
    // Stands in for the package of this name, so that the spec can be run.
    let click = "import functools, sys\ndef command():\n    return lambda f: f\ndef option(name, default=None, **_):\n    key = name[2:]\n    def wrap(f):\n        @functools.wraps(f)\n        def inner(**known):\n            words = sys.argv[1:]\n            value = type(default)(words[words.index(name) + 1]) if name in words else default\n            return f(**{key: value}, **known)\n        return inner\n    return wrap\n";
    let project = Project::empty()
        .file("src/churn/__init__.py", "")
        .file("src/click.py", click)
        .file(
            "src/churn/model.py",
            "def fit_model(rows):\n    return sum(i * i for i in range(rows * 20))\n",
        )
        .file("src/churn/cli/train.py", script)
        .file("tests/test_train.py", "def test_train(): pass\n")
        .data("data/train", 100)
        .committed();
    insta::assert_snapshot!(spec_of(&project));
    project
        .run(&["run", "--all"])
        .ended_with(0)
        .reported("within budget");
}

/// A script and a table beside it, without git. Its guess names what has to change; then it runs.
#[test]
fn a_plain_script_with_a_table() {
    let script = "import csv\n\nwith open('customers.csv') as f:\n    rows = list(csv.reader(f))\nprint(len(rows))\n";
    let pandas = "import pandas as pd\nfrom sklearn.linear_model import LogisticRegression\n\nrows = pd.read_csv('customers.csv')\nmodel = LogisticRegression(max_iter=100)\nmodel.fit(rows.drop(columns='churned'), rows['churned'])\n";
    let table: String = (0..20_000)
        .map(|row| format!("{row},{},{}\n", row % 7, row % 2))
        .collect();
    let project = Project::empty()
        .file("train.py", pandas)
        .file("old.py", script)
        .file("requirements.txt", "pandas\nscikit-learn\n")
        .file("customers.csv", &format!("id,age,churned\n{table}"));
    insta::assert_snapshot!(spec_of(&project));
    // What the comment asks for.
    project.write(
        "train.py",
        "import csv, os\nfolder = os.environ['SM_CHANNEL_TRAIN']\nwith open(os.path.join(folder, os.listdir(folder)[0])) as f:\n    rows = list(csv.reader(f))\nprint(sum(int(row[1]) for row in rows[1:] for _ in range(5)))\n",
    );
    project
        .run(&["run", "--all"])
        .ended_with(0)
        .reported("within budget");
}

#[test]
fn an_existing_spec_is_kept_unless_force_is_given() {
    let project = Project::empty().file("canary-gate.yml", "mine\n");
    project
        .run(&["init"])
        .ended_with(2)
        .complained("write over it with `--force`");
    assert_eq!(project.read("canary-gate.yml"), "mine\n");
    project.run(&["init", "--force"]).ended_with(0);
    assert!(project.read("canary-gate.yml").contains("version: 1"));
}

#[test]
fn a_folder_that_links_elsewhere_is_refused() {
    let project = Project::empty()
        .file("train.py", "model.fit(x)\n")
        .committed();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path(".github")).unwrap();
    for file in [
        std::path::PathBuf::from(".github/canary-gate.yml"),
        project.path(".github/canary-gate.yml"),
    ] {
        let file = file.to_str().unwrap();
        project
            .run(&["init", file])
            .complained(".github is a link; nothing is written through links");
        project
            .run(&["init", "--force", file])
            .complained("remove the link, or write somewhere else");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn bad_files_and_links_do_not_hinder_it() {
    let project = Project::empty()
        .file("broken.py", "def f(:\n\tE(entry_point='x.py', role=\n")
        .file("broken.ipynb", "{\"cells\": [")
        .file("huge.py", &"x = 1\n".repeat(400_000))
        .file("train.py", "os.environ['SM_CHANNEL_TRAIN']\nmodel.fit(x)\n");
    std::fs::write(project.path("binary.py"), [0xff, 0xfe, 0, 1]).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(
        outside.path().join("secret.py"),
        "e = PyTorch(role='outside', entry_point='outside.py')\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path("linked")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.py"), project.path("linked.py"))
        .unwrap();
    let project = project.committed();
    let made = project.run(&["init"]).ended_with(0);
    made.complained("2 files were not read");
    project.run(&["validate"]).ended_with(0);
    let spec = project.read("canary-gate.yml");
    assert!(
        spec.contains("command: [python3, train.py]") && !spec.contains("outside"),
        "{spec}"
    );
}

#[test]
fn the_schema_lies_where_the_first_line_names_it() {
    let project = Project::empty();
    project.run(&["init"]).ended_with(0);
    let spec = project.read("canary-gate.yml");
    let first = spec.lines().next().unwrap();
    let place = first
        .strip_prefix("# yaml-language-server: $schema=")
        .unwrap();
    assert_eq!(
        project.read(place),
        include_str!("../../schema/spec.v1.json")
    );
    project
        .run(&[
            "init",
            "other.yml",
            "--schema",
            "https://example.org/spec.v1.json",
        ])
        .ended_with(0)
        .complained("canary-gate check --spec other.yml");
    assert!(
        project
            .read("other.yml")
            .starts_with("# yaml-language-server: $schema=https://example.org/spec.v1.json\n")
    );
}
