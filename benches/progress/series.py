"""Recordings as series of progress: which step was reached at which second. Formats are those of the corpus, a line each."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08")
EPOCH = re.compile(r"\bepoch:? (\d+)/(\d+)", re.I)
BARS = [
    re.compile(r"[━╸╺]\s+(\d+)/(\d+) \d+:\d\d"),  # Lightning: the bar, then its numbers
    re.compile(r"\b(\d+)/(\d+) ━"),  # Keras
    re.compile(r"%\|.*\| (\d+)/(\d+) \["),  # tqdm
]
COUNTERS = [
    re.compile(r"\bstep (\d+) of (\d+)"),
    re.compile(r"\biteration (\d+)/(\d+)"),
    re.compile(r"^\[(\d+)(?:/(\d+))?\]"),
    re.compile(r"^(\d+):\s+learn:()"),
    re.compile(r"^Iteration (\d+), loss()"),
    re.compile(r"^\s{6,}(\d+)\s+\d+\.\d+()"),
]


@dataclass
class Run:
    """A run and its progress: the seconds `at` which `done` steps were done, of `steps` in each of `laps` bars.

    `steps` is None where no line says it, `laps` where only the bars that were seen tell.
    """

    share: float
    seconds: float
    peak_mb: float
    memory: np.ndarray
    at: np.ndarray
    done: np.ndarray
    steps: int | None
    laps: int | None
    bars: bool

    def until(self, seconds):
        seen = self.at <= seconds
        return self.at[seen], self.done[seen]


def read(path):
    runs, rows = [], [json.loads(line) for line in open(path)]
    starts = [index for index, row in enumerate(rows) if isinstance(row, dict)] + [len(rows)]
    for start, end in zip(starts, starts[1:]):
        head = rows[start]
        memory = np.array(head["memory"], float).reshape(-1, 2)
        runs.append(Run(head["share"], head["seconds"], head["peak_mb"], memory, *progress(rows[start + 1 : end])))
    return runs


def progress(lines):
    lines = [(at, ESCAPES.sub("", text)) for at, text in lines]
    said = [(int(found[1]), int(found[2])) for _, text in lines if (found := EPOCH.search(text))]
    bars = [(at, int(found[1]), int(found[2])) for at, text in lines for found in matches(text, BARS)]
    if bars:  # the largest is the training's; those of evaluations are smaller. One that falls below half begins a new lap.
        steps = max(n for _, _, n in bars)
        points, lap, last = [], 0, 0
        for at, k, n in bars:
            if n == steps:
                lap, last = lap + (k < last / 2), k
                points.append((at, lap * steps + k))
        laps = said[0][1] + (said[0][0] == 0) if said else None
        return *columns(points), steps, laps, True
    found = [(at, found) for at, text in lines for found in matches(text, [*COUNTERS, EPOCH])]
    points = [(at, int(match[1])) for at, match in found]
    if points and points[0][1] == 0:
        points = [(at, k + 1) for at, k in points]
    return *columns(points), next((int(match[2]) for _, match in found if match[2]), None), 1, False


def matches(text, patterns):
    return [found for pattern in patterns if (found := pattern.search(text))][:1]


def columns(points):
    """As two arrays; of lines that say the same step the first counts."""
    kept = []
    for at, k in points:
        if not kept or k > kept[-1][1]:
            kept.append((at, k))
    at, done = np.array(kept, float).reshape(-1, 2).T
    return at, done


if __name__ == "__main__":
    for path in sorted((Path(__file__).parent / "recordings").glob("*.jsonl")):
        for run in read(path):
            first = f"{run.at[0]:.1f} {run.done[0]:.0f}" if len(run.at) else "-"
            last = f"{run.at[-1]:.1f} {run.done[-1]:.0f}" if len(run.at) else "-"
            print(
                f"{path.stem:22} {run.share:4} {run.seconds:7.2f} s  points {len(run.at):3}  first {first}  last {last}  steps {run.steps} laps {run.laps}"
            )
