"""Makes `data/train.jsonl`: 120,000 texts of 40 words."""

import json
import pathlib
import random

draw = random.Random(1)
words = [f"w{index}" for index in range(5000)]
data = pathlib.Path("data")
data.mkdir()
with (data / "train.jsonl").open("w") as file:
    for _ in range(120_000):
        label = draw.randrange(2)
        text = " ".join(words[min(4999, int(draw.expovariate(0.002 + 0.001 * label)))] for _ in range(40))
        file.write(json.dumps({"text": text, "label": label}) + "\n")
