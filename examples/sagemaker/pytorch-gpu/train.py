"""Trains a network on the CSV files of the channel `train`, the label in their first column, on a GPU where there is one."""

import argparse
import os
import time
from pathlib import Path

import pandas
import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--train", type=Path, default=os.environ.get("SM_CHANNEL_TRAIN", "data/train"))
    parser.add_argument("--model-dir", type=Path, default=os.environ.get("SM_MODEL_DIR", "model"))
    options = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    table = pandas.concat(pandas.read_csv(file, header=None) for file in sorted(options.train.rglob("*.csv")))
    features = torch.tensor(table.drop(columns=0).to_numpy(), dtype=torch.float32)
    labels = torch.tensor(table[0].to_numpy(), dtype=torch.long)
    print(f"{len(table)} rows on {device}", flush=True)

    classes = int(labels.max()) + 1
    model = nn.Sequential(nn.Linear(features.shape[1], options.hidden), nn.ReLU(), nn.Linear(options.hidden, classes)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(features, labels), options.batch, shuffle=True)
    for epoch in range(options.epochs):
        started = time.perf_counter()
        for inputs, truth in batches:
            loss = nn.functional.cross_entropy(model(inputs.to(device)), truth.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds = (time.perf_counter() - started) / len(batches)
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}, step time: {seconds:.5f}", flush=True)

    options.model_dir.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), options.model_dir / "model.pth")


if __name__ == "__main__":
    main()
