#!/usr/bin/env python3
"""Trains a softmax regression on handwritten digits on one machine or on several, with the Python standard library alone.

Each host computes the gradient over its own rows; algo-1 adds the gradients of all hosts and sends the sum back, so every host
takes the same step as one machine would. Which rows are its own depends on how the channel is distributed:

- ShardedByS3Key: SageMaker gave each host files of its own, so all rows that are there.
- FullyReplicated: every host has every file, so each takes every n-th row, by its rank.

By hand, on one host:

    SM_CHANNEL_TRAIN=data/train python3 train.py --epochs 5
"""

import argparse
import json
import math
import os
import socket
import struct
import sys
import time
from array import array
from operator import mul
from pathlib import Path

PIXELS = 64
DIGITS = 10
# A pixel counts how many of 16 dots are inked.
DARKEST = 16
# With `backend: local` all hosts are at one address, and each canary has a port of its own.
ADDRESS = os.environ.get("SM_MASTER_ADDR")
PORT = int(os.environ.get("SM_MASTER_PORT", 7777))
WEIGHTS = DIGITS * (PIXELS + 1)


def main():
    options = parse_arguments()
    hosts = json.loads(os.environ.get("SM_HOSTS", '["localhost"]'))
    rank = hosts.index(os.environ.get("SM_CURRENT_HOST", "localhost"))

    rows = own_rows(options.train, rank, len(hosts))
    print(f"host {rank + 1} of {len(hosts)}: {len(rows)} rows", flush=True)

    weights = [0.0] * WEIGHTS
    with Hosts(hosts, rank) as others:
        for epoch in range(1, options.epochs + 1):
            started = time.perf_counter()
            # The loss and the number of rows are added up like the gradient.
            *gradient, loss, count = others.sum(gradient_of(weights, rows))
            rate = options.learning_rate / count
            weights = [weight - rate * slope for weight, slope in zip(weights, gradient)]
            if rank == 0:
                seconds = time.perf_counter() - started
                print(f"epoch {epoch}: loss {loss / count:.4f}, step time: {seconds:.4f}", flush=True)

    # All hosts' models are merged into one archive, so only one leaves a file of this name.
    if rank == 0:
        options.model_dir.mkdir(parents=True, exist_ok=True)
        (options.model_dir / "model.json").write_text(json.dumps(weights), encoding="utf-8")


def parse_arguments():
    def folder(variable, default):
        return Path(os.environ.get(variable, default))

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=300, help="how often every row is seen")
    parser.add_argument("--learning-rate", type=float, default=1.0, help="size of a step")
    parser.add_argument("--train", type=Path, default=folder("SM_CHANNEL_TRAIN", "train"))
    parser.add_argument("--model-dir", type=Path, default=folder("SM_MODEL_DIR", "model"))
    return parser.parse_args()


def own_rows(channel, rank, hosts):
    """The rows of this host as (pixels, digit), with a constant 1 behind the pixels."""
    rows = []
    for path in sorted(channel.glob("*.csv")):
        for line in path.read_text(encoding="ascii").splitlines():
            *pixels, digit = map(int, line.split(","))
            rows.append(([pixel / DARKEST for pixel in pixels] + [1.0], digit))
    if not is_sharded(channel.name):
        rows = rows[rank::hosts]
    # A small canary may leave a host without any: it adds nothing, and goes along.
    return rows


def is_sharded(channel):
    """Whether each host has files of its own."""
    config = Path(os.environ.get("SM_INPUT_CONFIG_DIR", "/opt/ml/input/config"), "inputdataconfig.json")
    if not config.is_file():
        return False
    return json.loads(config.read_text())[channel]["S3DistributionType"] == "ShardedByS3Key"


def gradient_of(weights, rows):
    """The gradient of the cross-entropy loss summed over the rows, then that loss, then the number of rows."""
    width = PIXELS + 1
    model = [weights[digit * width : (digit + 1) * width] for digit in range(DIGITS)]
    gradient = [[0.0] * width for _ in range(DIGITS)]
    loss = 0.0
    for inputs, truth in rows:
        scores = [sum(map(mul, row, inputs)) for row in model]
        highest = max(scores)
        exponentials = [math.exp(score - highest) for score in scores]
        total = sum(exponentials)
        loss -= math.log(max(exponentials[truth] / total, 1e-12))
        for digit, exponential in enumerate(exponentials):
            error = exponential / total - (digit == truth)
            gradient[digit] = [slope + error * value for slope, value in zip(gradient[digit], inputs)]
    return [slope for row in gradient for slope in row] + [loss, float(len(rows))]


class Hosts:
    """All hosts of the job: the first listens, the others connect to it."""

    def __init__(self, hosts, rank):
        self.rank = rank
        if rank > 0:
            self.peers = [connect(ADDRESS or hosts[0])]
        elif len(hosts) > 1:
            with socket.create_server((ADDRESS or hosts[0], PORT)) as server:
                self.peers = [server.accept()[0] for _ in hosts[1:]]
        else:
            self.peers = []

    def sum(self, numbers):
        """The sums over all hosts, place by place."""
        if self.rank > 0:
            send(self.peers[0], numbers)
            return receive(self.peers[0])
        for peer in self.peers:
            numbers = [one + other for one, other in zip(numbers, receive(peer))]
        for peer in self.peers:
            send(peer, numbers)
        return numbers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for peer in self.peers:
            peer.close()


def connect(host, patience=120):
    """A connection, once the host listens: hosts do not start at the same moment."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection((host, PORT))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def send(peer, numbers):
    data = array("d", numbers).tobytes()
    peer.sendall(struct.pack("!I", len(data)) + data)


def receive(peer):
    (length,) = struct.unpack("!I", read(peer, 4))
    return list(array("d", read(peer, length)))


def read(peer, length):
    data = bytearray()
    while len(data) < length:
        part = peer.recv(length - len(data))
        if not part:
            sys.exit("another host ended before the training did")
        data += part
    return bytes(data)


if __name__ == "__main__":
    main()
