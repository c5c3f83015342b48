"""Makes the data of a layout: run `python3 ../make_data.py` in the layout's folder. Needs the packages of requirements.txt."""

import csv
import json
import pathlib
import random
import sqlite3

FEATURES = 12


def rows(count, seed=1):
    """Features and a label that depends on them, row by row."""
    draw = random.Random(seed)
    for _ in range(count):
        features = [round(draw.gauss(0, 1), 4) for _ in range(FEATURES)]
        yield [*features, int(features[0] + features[1] * features[2] > draw.gauss(0, 0.5))]


HEADER = [*(f"x{index}" for index in range(FEATURES)), "y"]


def write_csv(path, count, seed=1):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(HEADER)
        table.writerows(rows(count, seed))


def write_parquet(path, count, seed=1, row_group_size=None):
    import pyarrow
    import pyarrow.parquet

    columns = zip(*rows(count, seed), strict=True)
    table = pyarrow.table(dict(zip(HEADER, map(list, columns), strict=True)))
    pyarrow.parquet.write_table(table, path, row_group_size=row_group_size)


def write_image(path, label, draw):
    from PIL import Image

    image = Image.new("L", (64, 64))
    image.putdata([min(255, max(0, int(draw.gauss(60 + 40 * label, 50)))) for _ in range(64 * 64)])
    image.save(path)


def csv_parts(data):
    for part in range(200):
        write_csv(data / f"part-{part:03}.csv", 1000, seed=part)


def one_csv(data):
    write_csv(data / "train.csv", 600_000)


def one_parquet(data):
    write_parquet(data / "train.parquet", 600_000, row_group_size=2000)


def images_by_class(data):
    draw = random.Random(1)
    for label, name in enumerate(["cat", "dog", "owl", "fox"]):
        (data / name).mkdir()
        for index in range(500):
            write_image(data / name / f"{index:04}.png", label, draw)


def labels_and_images(data):
    draw = random.Random(1)
    (data / "images").mkdir()
    with (data / "labels.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "label"])
        for index in range(2000):
            label = draw.randrange(4)
            write_image(data / "images" / f"{index:04}.png", label, draw)
            table.writerow([f"{index:04}.png", label])


def sqlite(data):
    base = sqlite3.connect(data / "events.db")
    base.execute(f"create table events (id integer primary key, {', '.join(HEADER)})")
    marks = ", ".join("?" for _ in HEADER)
    base.executemany(f"insert into events ({', '.join(HEADER)}) values ({marks})", rows(300_000))
    base.commit()


def text_with_a_limit(data):
    draw = random.Random(1)
    words = [f"w{index}" for index in range(5000)]
    with (data / "train.jsonl").open("w") as file:
        for _ in range(120_000):
            label = draw.randrange(2)
            text = " ".join(words[min(4999, int(draw.expovariate(0.002 + 0.001 * label)))] for _ in range(40))
            file.write(json.dumps({"text": text, "label": label}) + "\n")


def generator(_):
    """None: the script makes its own."""


def notebook(data):
    csv_parts(data)


def months(data):
    for month in range(36):
        name = f"{2023 + month // 12}-{month % 12 + 1:02}.parquet"
        write_parquet(data / name, 15_000, seed=month)


if __name__ == "__main__":
    layout = pathlib.Path.cwd().name
    data = pathlib.Path("data")
    data.mkdir()
    globals()[layout.replace("-", "_")](data)
