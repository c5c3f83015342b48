"""Trains a random forest on the CSV files of the channel `train`, the label in their first column."""

import argparse
import os
from pathlib import Path

import joblib
import pandas
from sklearn.ensemble import RandomForestClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--max-depth", type=int, default=16)
    parser.add_argument("--train", type=Path, default=os.environ.get("SM_CHANNEL_TRAIN", "data/train"))
    parser.add_argument("--model-dir", type=Path, default=os.environ.get("SM_MODEL_DIR", "model"))
    options = parser.parse_args()

    files = sorted(options.train.rglob("*.csv"))
    table = pandas.concat(pandas.read_csv(file, header=None) for file in files)
    labels, features = table[0], table.drop(columns=0)
    print(f"{len(table)} rows of {len(files)} files", flush=True)

    forest = RandomForestClassifier(options.trees, max_depth=options.max_depth, n_jobs=-1, oob_score=True)
    forest.fit(features, labels)
    print(f"out-of-bag accuracy {forest.oob_score_:.4f}")

    options.model_dir.mkdir(parents=True, exist_ok=True)
    joblib.dump(forest, options.model_dir / "model.joblib")


if __name__ == "__main__":
    main()
