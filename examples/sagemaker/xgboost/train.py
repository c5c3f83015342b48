"""Boosts trees on the CSV files of the channel `train`, the label in their first column, and watches those of `validation`."""

import argparse
import os
from pathlib import Path

import pandas
import xgboost


def matrix(folder):
    files = sorted(folder.rglob("*.csv"))
    table = pandas.concat(pandas.read_csv(file, header=None) for file in files)
    print(f"{len(table)} rows of {len(files)} files in {folder}", flush=True)
    return xgboost.DMatrix(table.drop(columns=0), table[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--max_depth", type=int, default=8)
    parser.add_argument("--eta", type=float, default=0.1)
    parser.add_argument("--train", type=Path, default=os.environ.get("SM_CHANNEL_TRAIN", "data/train"))
    parser.add_argument("--validation", type=Path, default=os.environ.get("SM_CHANNEL_VALIDATION", "data/validation"))
    parser.add_argument("--model-dir", type=Path, default=os.environ.get("SM_MODEL_DIR", "model"))
    options = parser.parse_args()

    settings = {"objective": "binary:logistic", "max_depth": options.max_depth, "eta": options.eta, "tree_method": "hist"}
    train = matrix(options.train)
    watched = [(train, "train"), (matrix(options.validation), "validation")]
    trees = xgboost.train(settings, train, options.rounds, evals=watched, verbose_eval=50)

    options.model_dir.mkdir(parents=True, exist_ok=True)
    trees.save_model(options.model_dir / "xgboost-model.json")


if __name__ == "__main__":
    main()
