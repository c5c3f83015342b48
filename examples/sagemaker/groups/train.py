#!/usr/bin/env python3
"""Trains a small neural network on distorted digits, with the Python standard library alone.

On a cluster with a group `data` its hosts make the batches, and this script takes them from a socket. On one machine it makes them
itself: the homogeneous twin, with the same numbers.
"""

import argparse
import itertools
import json
import math
import os
import pickle
import random
import socket
import struct
import sys
import time
from operator import mul
from pathlib import Path

import cluster
import images


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=32, help="images of a batch")
    parser.add_argument("--hidden", type=int, default=24, help="units of the hidden layer")
    parser.add_argument("--learning-rate", type=float, default=0.02, help="size of a step")
    options = parser.parse_args()

    random.seed(1)
    model = new_model(options.hidden)
    started = time.perf_counter()
    for step, batch in enumerate(itertools.islice(all_batches(options.batch), options.iterations), 1):
        loss = sum(learn(model, pixels, digit, options.learning_rate) for pixels, digit in batch)
        now = time.perf_counter()
        print(f"step {step}: loss {loss / len(batch):.4f}, step time: {now - started:.5f}", flush=True)
        started = now

    validation = images.read_channel(os.environ["SM_CHANNEL_VALIDATION"])
    hits = sum(most_probable(model, pixels) == digit for pixels, digit in validation)
    print(f"validation accuracy {hits / len(validation):.1%}")
    folder = Path(os.environ.get("SM_MODEL_DIR", "model"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model), encoding="utf-8")


def all_batches(size):
    services = [connect(host) for host in cluster.hosts_of("data")]
    if not services:
        print("makes its batches itself", flush=True)
        return images.batches(os.environ["SM_CHANNEL_TRAIN"], size, seed=0)
    print(f"takes its batches from {', '.join(cluster.hosts_of('data'))}", flush=True)
    return (receive(service) for service in itertools.cycle(services))


def connect(host, patience=120):
    """A connection, once the service listens: hosts do not start at the same moment."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection((cluster.address_of(host), cluster.PORT))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def receive(service):
    (length,) = struct.unpack("!I", read(service, 4))
    return pickle.loads(read(service, length))


def read(service, length):
    data = bytearray()
    while len(data) < length:
        part = service.recv(length - len(data))
        if not part:
            sys.exit("a data service ended before the training did")
        data += part
    return bytes(data)


def new_model(hidden):
    """Small random weights; a unit's bias is the last of its weights."""

    def layer(inputs, units):
        spread = 1 / math.sqrt(inputs)
        return [[random.gauss(0, spread) for _ in range(inputs)] + [0.0] for _ in range(units)]

    return {"hidden": layer(images.PIXELS, hidden), "output": layer(hidden, images.DIGITS)}


def forward(model, pixels):
    """The inputs and the hidden layer, each with a constant 1 behind it, and the probability of each digit."""
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
    errors = [probability - (number == digit) for number, probability in enumerate(probabilities)]
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


def most_probable(model, pixels):
    probabilities = forward(model, pixels)[-1]
    return probabilities.index(max(probabilities))


if __name__ == "__main__":
    main()
