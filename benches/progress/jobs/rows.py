"""The data of the jobs: `rows.py FOLDER` writes 100 tables of 4,000 rows; a job reads the tables that its folder has.

The libraries are marked before any forecast was seen: on `TUNE` constants are chosen, on `JUDGE` they are shown.
"""

import sys
from pathlib import Path

import numpy as np

TUNE = ["xgboost", "torch", "sklearn", "keras"]
JUDGE = ["lightgbm", "catboost", "transformers", "lightning", "numpy"]


def load(rows=4000, share_held=0.1):
    """Features and label (0 or 1) of the folder's rows, at most `rows` from each table; then those held out."""
    tables = [np.load(path)[:rows] for path in sorted(Path(sys.argv[1]).glob("*.npy"))]
    table = np.concatenate(tables)
    held = max(1, int(len(table) * share_held))
    x, y = table[:, :-1], table[:, -1].astype(int)
    return x[held:], y[held:], x[:held], y[:held]


def tokens(x, vocabulary=256, length=20):
    """Rows as sequences of tokens, the features' ranks, repeated up to `length`."""
    ids = np.clip((x + 3) / 6 * vocabulary, 0, vocabulary - 1).astype(np.int64)
    return np.tile(ids, (1, -(-length // ids.shape[1])))[:, :length]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(100):
        random = np.random.default_rng(number)
        x = random.normal(size=(4000, 20)).astype(np.float32)
        score = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + np.abs(x[:, 3]) * x[:, 4] + x[:, 5] + random.normal(size=4000)
        np.save(folder / f"{number:03}.npy", np.column_stack([x, score > 0]).astype(np.float32))
