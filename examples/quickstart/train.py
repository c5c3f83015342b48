#!/usr/bin/env python3
"""Trains a small neural network on handwritten digits, with the Python standard library alone.

The network has one hidden layer (64 pixels -> hidden units -> 10 digits) and learns by stochastic gradient descent.
Like any SageMaker training script it reads its data from the folders that SM_CHANNEL_TRAIN and SM_CHANNEL_VALIDATION
name, leaves the model in the folder that SM_MODEL_DIR names, and takes its hyperparameters as arguments. Without those
variables it uses the folders beside this file, so it can be run by hand:

    python3 train.py --epochs 5
"""

import argparse
import json
import math
import os
import random
import sys
from operator import mul
from pathlib import Path

PIXELS = 64
DIGITS = 10
# A pixel counts how many of 16 dots are inked.
DARKEST = 16

HERE = Path(__file__).resolve().parent


def main():
    options = parse_arguments()
    random.seed(options.seed)

    train = read_channel(options.train)
    validation = read_channel(options.validation)
    print(f"{len(train)} images to learn from, {len(validation)} to check with", flush=True)

    model = new_model(options.hidden)
    for epoch in range(1, options.epochs + 1):
        random.shuffle(train)
        loss = sum(learn(model, pixels, digit, options.learning_rate) for pixels, digit in train)
        print(f"epoch {epoch}/{options.epochs}: loss {loss / len(train):.4f}", flush=True)

    # Once, at the end: the validation images are the same few in every run, however little it learns from.
    print(f"train accuracy {accuracy(model, train):.1%}")
    print(f"validation accuracy {accuracy(model, validation):.1%}")

    options.model_dir.mkdir(parents=True, exist_ok=True)
    (options.model_dir / "model.json").write_text(json.dumps(model), encoding="utf-8")


def parse_arguments():
    def folder(variable, default):
        return Path(os.environ.get(variable, default))

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=50, help="how often every image is seen")
    parser.add_argument("--hidden", type=int, default=64, help="units of the hidden layer")
    parser.add_argument("--learning-rate", type=float, default=0.01, help="size of a step")
    parser.add_argument("--seed", type=int, default=1, help="start of the random numbers")
    parser.add_argument("--train", type=Path, default=folder("SM_CHANNEL_TRAIN", HERE / "data/train"))
    parser.add_argument(
        "--validation", type=Path, default=folder("SM_CHANNEL_VALIDATION", HERE / "data/validation")
    )
    parser.add_argument("--model-dir", type=Path, default=folder("SM_MODEL_DIR", HERE / "model"))
    return parser.parse_args()


def read_channel(channel):
    """All images of a channel's CSV files as (pixels, digit), pixels scaled to 0-1."""
    images = []
    for path in sorted(channel.glob("*.csv")):
        for line in path.read_text(encoding="ascii").splitlines():
            *pixels, digit = map(int, line.split(","))
            images.append(([pixel / DARKEST for pixel in pixels], digit))
    if not images:
        sys.exit(f"no images found: {channel} holds no CSV file with rows")
    return images


def new_model(hidden):
    """Small random weights; a unit's bias is the last of its weights."""

    def layer(inputs, units):
        spread = 1 / math.sqrt(inputs)
        return [[random.gauss(0, spread) for _ in range(inputs)] + [0.0] for _ in range(units)]

    return {"hidden": layer(PIXELS, hidden), "output": layer(hidden, DIGITS)}


def forward(model, pixels):
    """The hidden layer's activations and the probability of each digit."""
    # The constant 1 multiplies the bias.
    inputs = pixels + [1.0]
    hidden = [math.tanh(sum(map(mul, weights, inputs))) for weights in model["hidden"]] + [1.0]
    scores = [sum(map(mul, weights, hidden)) for weights in model["output"]]
    highest = max(scores)
    exponentials = [math.exp(score - highest) for score in scores]
    total = sum(exponentials)
    return inputs, hidden, [exponential / total for exponential in exponentials]


def learn(model, pixels, digit, learning_rate):
    """One step of gradient descent on one image; the cross-entropy loss before the step."""
    inputs, hidden, probabilities = forward(model, pixels)

    # The gradient of cross-entropy after softmax is the probability minus the truth.
    errors = [probability - (number == digit) for number, probability in enumerate(probabilities)]
    # What reaches each hidden unit, times the slope of tanh. The last entry is the constant: it learns nothing.
    reaching = [sum(map(mul, errors, column)) for column in zip(*model["output"])]
    slopes = [error * (1 - activation * activation) for error, activation in zip(reaching, hidden[:-1])]

    descend(model["output"], errors, hidden, learning_rate)
    descend(model["hidden"], slopes, inputs, learning_rate)
    return -math.log(max(probabilities[digit], 1e-12))


def descend(layer, errors, inputs, learning_rate):
    """Moves every weight of a layer against its gradient."""
    for unit, error in enumerate(errors):
        step = learning_rate * error
        layer[unit] = [weight - step * value for weight, value in zip(layer[unit], inputs)]


def accuracy(model, images):
    """The share of images whose most probable digit is the true one."""
    hits = 0
    for pixels, digit in images:
        probabilities = forward(model, pixels)[-1]
        hits += probabilities.index(max(probabilities)) == digit
    return hits / len(images)


if __name__ == "__main__":
    main()
