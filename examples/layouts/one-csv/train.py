"""LightGBM on one large CSV file."""

import os

import lightgbm
import pandas

table = pandas.read_csv(os.path.join(os.environ["SM_CHANNEL_TRAIN"], "train.csv"))
data = lightgbm.Dataset(table.drop(columns="y"), table["y"])
lightgbm.train({"objective": "binary", "num_threads": 1, "verbose": -1}, data, num_boost_round=600)
print(f"{len(table)} rows")
