//! `init` in the layouts that repositories of training code have: what it writes is valid, and says where each line is from.
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
        {"cell_type": "code", "source": ["import sagemaker\n", "from sagemaker.pytorch import PyTorch"]},
        {"cell_type": "code", "source": ["estimator = PyTorch(\n", "    entry_point=\"mnist.py\",\n", "    role=role,\n", ")\n", "estimator.fit({\"training\": inputs})"]}
    ]});
    let project = Project::empty()
        .file("mnist/mnist.ipynb", &notebook.to_string())
        .file("mnist/mnist.py", SCRIPT_MODE)
        .committed();
    insta::assert_snapshot!(spec_of(&project));
    project.run(&["init", "--force"]).complained(
        "note: training jobs are started at mnist/mnist.ipynb; `canary-gate init --from-job NAME`",
    );
}

/// `introduction_to_amazon_algorithms/xgboost_abalone`: a built-in algorithm, with no script at all.
#[test]
fn xgboost_as_a_built_in_algorithm() {
    let project = Project::empty()
        .file(
            "abalone.py",
            r#"import boto3, sagemaker
container = sagemaker.image_uris.retrieve("xgboost", region, "1.7-1")
xgb = sagemaker.estimator.Estimator(container, role=role, instance_count=1)
xgb.fit({"train": train_input, "validation": "s3://my-bucket/abalone/validation"})
"#,
        )
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
            "import time\n\ndef fit_model(rows):\n    time.sleep(rows / 10000)\n",
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

/// A script and a table beside it, without git: it runs as it is.
#[test]
fn a_plain_script_with_a_table() {
    let script = "import csv\n\nwith open('customers.csv') as f:\n    rows = list(csv.reader(f))\nprint(len(rows))\n";
    let train = "import csv\nimport time\n\ndef train(rows):\n    time.sleep(len(rows) / 2500)\n    return sum(int(row[1]) for row in rows)\n\nwith open('customers.csv') as f:\n    rows = list(csv.reader(f))\nprint(train(rows[1:]))\n";
    let table: String = (0..20_000)
        .map(|row| format!("{row},{},{}\n", row % 7, row % 2))
        .collect();
    let project = Project::empty()
        .file("train.py", train)
        .file("old.py", script)
        .file("requirements.txt", "pandas\nscikit-learn\n")
        .file("customers.csv", &format!("id,age,churned\n{table}"));
    insta::assert_snapshot!(spec_of(&project));
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
