"""A model on rows of a database. The script takes a share of them."""

import argparse
import os
import sqlite3

import numpy
from sklearn.ensemble import HistGradientBoostingClassifier

arguments = argparse.ArgumentParser()
arguments.add_argument("--data_fraction", type=float, default=1.0)
fraction = arguments.parse_args().data_fraction

base = sqlite3.connect(f"file:{os.environ['SM_CHANNEL_DATABASE']}/events.db?mode=ro", uri=True)
# By a hash of the key: the same rows each time, spread over the whole table.
rows = base.execute("select * from events where (id * 2654435761) % 1000000 < ?", (fraction * 1_000_000,))
table = numpy.array(rows.fetchall())
HistGradientBoostingClassifier(max_iter=400, early_stopping=False).fit(table[:, 1:-1], table[:, -1])
print(f"{len(table)} rows")
