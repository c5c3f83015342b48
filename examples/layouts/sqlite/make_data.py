"""Makes `data/events.db`: a table of 300,000 rows."""

import pathlib
import random
import sqlite3


def rows(count, seed):
    """Twelve features and a label that depends on them, row by row."""
    draw = random.Random(seed)
    for _ in range(count):
        features = [round(draw.gauss(0, 1), 4) for _ in range(12)]
        yield [*features, int(features[0] + features[1] * features[2] > draw.gauss(0, 0.5))]


HEADER = [*(f"x{index}" for index in range(12)), "y"]

data = pathlib.Path("data")
data.mkdir()
base = sqlite3.connect(data / "events.db")
base.execute(f"create table events (id integer primary key, {', '.join(HEADER)})")
marks = ", ".join("?" for _ in HEADER)
base.executemany(f"insert into events ({', '.join(HEADER)}) values ({marks})", rows(300_000, seed=1))
base.commit()
