"""A random forest on a folder of CSV parts."""

import os
import pathlib

import pandas
from sklearn.ensemble import RandomForestClassifier

parts = sorted(pathlib.Path(os.environ["SM_CHANNEL_TRAIN"]).glob("*.csv"))
table = pandas.concat(pandas.read_csv(part) for part in parts)
forest = RandomForestClassifier(n_estimators=20, n_jobs=1, random_state=1)
forest.fit(table.drop(columns="y"), table["y"])
print(f"{len(parts)} parts, {len(table)} rows")
