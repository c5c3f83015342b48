"""The digits, and what is made of them before they are learnt: work for the CPU that another machine can do."""

import random
from pathlib import Path

SIDE = 8
PIXELS = SIDE * SIDE
DIGITS = 10
# A pixel counts how many of 16 dots are inked.
DARKEST = 16


def read_channel(channel):
    """All images of a channel's CSV files as (pixels, digit), pixels scaled to 0-1."""
    images = []
    for path in sorted(Path(channel).glob("*.csv")):
        for line in path.read_text(encoding="ascii").splitlines():
            *pixels, digit = map(int, line.split(","))
            images.append(([pixel / DARKEST for pixel in pixels], digit))
    if not images:
        raise SystemExit(f"no images found: {channel} holds no CSV file with rows")
    return images


def batches(channel, size, seed):
    """Batches for ever, each of `size` images that were drawn and distorted."""
    images = read_channel(channel)
    draw = random.Random(seed)
    while True:
        yield [(distorted(pixels, draw), digit) for pixels, digit in draw.choices(images, k=size)]


def distorted(pixels, draw):
    """Moved by up to a pixel, blurred and noisy: what makes a model learn more from few images."""
    right, down = draw.choice((-1, 0, 1)), draw.choice((-1, 0, 1))

    def at(row, column):
        inside = 0 <= row < SIDE and 0 <= column < SIDE
        return pixels[row * SIDE + column] if inside else 0.0

    places = ((row - down, column - right) for row in range(SIDE) for column in range(SIDE))
    blurred = (
        0.6 * at(row, column)
        + 0.1 * (at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1))
        for row, column in places
    )
    return [min(1.0, max(0.0, value + draw.gauss(0, 0.05))) for value in blurred]
