"""A model on a few large partitions, one for each month."""

import os
import pathlib

import pandas
from sklearn.ensemble import HistGradientBoostingClassifier

months = sorted(pathlib.Path(os.environ["SM_CHANNEL_TRAIN"]).glob("*.parquet"))
table = pandas.concat(pandas.read_parquet(month) for month in months)
HistGradientBoostingClassifier(max_iter=250, early_stopping=False).fit(table.drop(columns="y"), table["y"])
print(f"{len(months)} months from {months[0].stem} to {months[-1].stem}, {len(table)} rows")
