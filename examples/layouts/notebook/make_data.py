"""Makes `data/`: 200 CSV files of 1,000 rows."""

import csv
import pathlib
import random


def rows(count, seed):
    """Twelve features and a label that depends on them, row by row."""
    draw = random.Random(seed)
    for _ in range(count):
        features = [round(draw.gauss(0, 1), 4) for _ in range(12)]
        yield [*features, int(features[0] + features[1] * features[2] > draw.gauss(0, 0.5))]


HEADER = [*(f"x{index}" for index in range(12)), "y"]


def write_csv(path, count, seed):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(HEADER)
        table.writerows(rows(count, seed))


data = pathlib.Path("data")
data.mkdir()
for part in range(200):
    write_csv(data / f"part-{part:03}.csv", 1000, seed=part)
