"""Makes `data/train.parquet`: 600,000 rows in groups of 2,000. Needs pyarrow."""

import pathlib
import random

import pyarrow
import pyarrow.parquet


def rows(count, seed):
    """Twelve features and a label that depends on them, row by row."""
    draw = random.Random(seed)
    for _ in range(count):
        features = [round(draw.gauss(0, 1), 4) for _ in range(12)]
        yield [*features, int(features[0] + features[1] * features[2] > draw.gauss(0, 0.5))]


HEADER = [*(f"x{index}" for index in range(12)), "y"]


def write_parquet(path, count, seed, row_group_size=None):
    columns = zip(*rows(count, seed), strict=True)
    table = pyarrow.table(dict(zip(HEADER, map(list, columns), strict=True)))
    pyarrow.parquet.write_table(table, path, row_group_size=row_group_size)


data = pathlib.Path("data")
data.mkdir()
write_parquet(data / "train.parquet", 600_000, seed=1, row_group_size=2000)
