"""Learns the mean price of each category by gradient descent, from a dense one-hot encoding: a byte for each row and category."""

import json
import os
from pathlib import Path

CATEGORIES = 1_000_000


def main():
    rows = []
    for path in sorted(Path(os.environ["SM_CHANNEL_TRAIN"]).glob("*.csv")):
        for line in path.read_text().splitlines():
            category, price = line.split(",")
            encoded = bytearray(bytes(CATEGORIES))
            encoded[int(category)] = 1
            rows.append((encoded, float(price)))
    print(f"{len(rows)} rows", flush=True)

    mean = sum(price for _, price in rows) / len(rows)
    weights = {}
    for epoch in range(40):
        loss = 0.0
        for encoded, price in rows:
            category = encoded.index(1)
            error = mean + weights.get(category, 0.0) - price
            weights[category] = weights.get(category, 0.0) - 0.3 * error
            loss += error * error
        print(f"epoch {epoch + 1}: loss {loss / len(rows):.3f}", flush=True)

    folder = Path(os.environ.get("SM_MODEL_DIR", "model"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps({"mean": mean, "weights": weights}))


if __name__ == "__main__":
    main()
