"""Forecasts of full runs from small canaries, from the full job's own progress, and from both: `study.py` prints the tables.

The smallest canary (1 % of the data) is run in any case. For a tenth of the full run's seconds there is then the canary of
10 % of the data, or the full job until it took a tenth of its seconds beyond the imports (`ready`: the first line of
progress of the smallest canary; the full job's loading counts). So jobs of half a minute stand for jobs of an hour, whose
imports are nothing beside a tenth. Constants are chosen on the libraries `TUNE`, and shown on `JUDGE`.
"""

import sys
from math import exp, lgamma, log, pi
from pathlib import Path

import numpy as np

from series import read

sys.path.insert(0, str(Path(__file__).parent / "jobs"))
from rows import JUDGE, TUNE

FREEDOM, HALF_90 = 5, 2.015  # degrees of freedom of Student's t, and its 95th percentile
WINDOW = 0.02  # seconds of a small canary that tell anything of its shape


class Progress:
    """A full run that is stopped: `forecast` of its seconds, and what its series says against that forecast."""

    def __init__(self, full, first, second, seconds, shaped):
        at, done = full.until(seconds)
        steps = full.steps or first.done[-1]
        laps = full.laps or (round(first.done[-1] / first.steps) if first.bars else 1)
        self.total, self.early = steps * laps, ends_early(first, second)
        self.known = len(at) >= 2 and self.total > done[-1] and not self.early
        if not self.known:
            return
        self.at, self.done, self.left, self.reached = at[-1], done[-1], self.total - done[-1], done[-1] / self.total
        # warm-up is cut: the rate is that of the later half; with under five points there is no half to be told apart
        self.few = len(at) < 5
        self.middle = done[0] if self.few else (done[0] + done[-1]) / 2
        halfway = np.interp(self.middle, done, at)
        self.rate = (at[-1] - halfway) / (done[-1] - self.middle)
        self.drift = 0.0 if self.few else log(self.rate / ((halfway - at[0]) / (self.middle - done[0])))
        self.tail, self.shape = first.seconds - first.at[-1], None
        if shaped:
            self.tail = line(first, second, lambda run: run.seconds - run.at[-1])
            self.shape = self.shape_of(second)

    def shape_of(self, canary):
        """ln of what a step costs in the rest of the canary over what it costs in the window seen; None: too short to tell."""
        when = lambda step: np.interp(step / self.total * canary.done[-1], canary.done, canary.at)
        window, rest = when(self.done) - when(self.middle), canary.at[-1] - when(self.done)
        if window <= WINDOW or rest <= 0:
            return None
        return log(rest / self.left * (self.done - self.middle) / window)

    def forecast(self, weight):
        return self.at + self.left * self.rate * exp(weight * (self.shape or 0)) + self.tail


def ends_early(first, second):
    """A canary that ended before its last step; or two whose lines name no total and that did not make the same steps."""
    said = first.steps and not first.bars
    return first.done[-1] < 0.9 * first.steps if said else not first.bars and first.done[-1] != second.done[-1]


def line(first, second, value):
    """A line of the share through two canaries, at the full data; it does not fall."""
    return value(second) + max(0, value(second) - value(first)) / (second.share - first.share) * (1 - second.share)


def cases(libraries):
    """For each full run its library, name, seconds, and forecasts: small ones and progress by the share of the seconds."""
    for path in sorted((Path(__file__).parent / "recordings").glob("*.jsonl")):
        library = path.stem.split("_")[0]
        if library not in libraries:
            continue
        runs = read(path)
        canary = {run.share: run for run in reversed(runs)}
        full, ready = [run for run in runs if run.share == 1], canary[0.01].at[0]
        for run in full:
            cut = {share: ready + share * (run.seconds - ready) for share in (0.05, 0.1, 0.2)}
            small = {share: line(canary[0.01], canary[share], lambda one: one.seconds) for share in (0.1, 0.2)}
            three = [canary[share] for share in (0.01, 0.1, 0.2)]
            seconds = [one.seconds for one in three]
            small["three"] = max(
                seconds[2], np.polyval(np.polyfit([one.share for one in three], seconds, 1, w=1 / np.array(seconds)), 1)
            )
            alone = {
                share: Progress(run, canary[0.01], canary[0.1], seconds, shaped=False) for share, seconds in cut.items()
            }
            five = Progress(run, canary[0.01], canary[0.1], cut[0.05], shaped=True)
            both = Progress(run, canary[0.01], canary[0.1], cut[0.1], shaped=True)
            yield dict(
                library=library,
                name=path.stem,
                run=run,
                weight=1 / len(full),
                small=small,
                alone=alone,
                both=both,
                five=five,
                promising=promising(canary[0.01], canary[0.1], small[0.1]),
                canary=canary,
                cut=cut,
            )


def promising(first, ten, expected):
    """Whether by the small canaries the full job reaches 5 % of its steps before it takes a tenth of its seconds."""
    reached = line(first, ten, lambda one: np.interp(0.05 * one.done[-1], one.done, one.at))
    return reached < first.at[0] + 0.1 * (expected - first.at[0]) and not ends_early(first, ten)


def designed(case, law):
    """The progress canary where it is promising; where it then says nothing, the small ones that are there; else the canary of 20 %."""
    if case["promising"]:
        return of_progress(case["both"], law) or of_small(case, 0.1, law)
    return of_small(case, 0.2, law)


def of_small(case, share, law):
    return log(case["small"][share]), law["small"] * (1 if share == 0.1 else 0.7)


def of_progress(progress, law):
    if not progress.known:
        return None
    shape = progress.shape
    doubt = law["shape"] * abs(shape) if shape is not None else law["no_shape"]
    few = law["few"] if progress.few else 0
    return (
        log(progress.forecast(law["weight"])),
        (law["base"] ** 2 + doubt**2 + (law["drift"] * progress.drift) ** 2 + few**2) ** 0.5,
    )


def together(one, other):
    """Weighed by their variances; what they disagree by widens the result."""
    if one is None or other is None:
        return one or other
    (a, da), (b, db) = one, other
    w = db**2 / (da**2 + db**2)
    return w * a + (1 - w) * b, ((da * db) ** 2 / (da**2 + db**2) + w * (1 - w) * (a - b) ** 2) ** 0.5


METHODS = {
    "10%: small canaries (1, 10%)": lambda case, law: of_small(case, 0.1, law),
    "     on jobs whose progress is known": lambda case, law: case["alone"][0.1].known and of_small(case, 0.1, law),
    "10%: progress alone": lambda case, law: of_progress(case["alone"][0.1], law),
    "15%: progress to 5%, shape and tail of the canary of 10%": lambda case, law: of_progress(case["five"], law),
    "20%: small canaries (1, 20%)": lambda case, law: of_small(case, 0.2, law),
    "     on jobs whose progress is known at 10%": lambda case, law: case["both"].known and of_small(case, 0.2, law),
    "30%: small canaries (1, 10, 20%)": lambda case, law: of_small(case, "three", law),
    "20%: progress alone": lambda case, law: of_progress(case["alone"][0.2], law),
    "20%: progress to 10%, shape and tail of the canary of 10%": lambda case, law: of_progress(case["both"], law),
    "20%: progress where promising, else small (1, 20%)": designed,
    "     the same, weighed with the small canaries (1, 10%)": lambda case, law: (
        together(designed(case, law), of_small(case, 0.1, law)) if case["promising"] else of_small(case, 0.2, law)
    ),
}
GRID = {
    "weight": [0, 0.25, 0.5, 0.75, 1],
    "base": [0.05, 0.08, 0.12, 0.16],
    "shape": [0.1, 0.25, 0.5, 0.75],
    "no_shape": [0.1, 0.2, 0.3],
    "drift": [0, 0.5, 1],
    "few": [0.1],
    "small": [0.1, 0.15, 0.2, 0.3, 0.4],
}


def surprise(forecast, actual):
    """- ln of the density of Student's t at ln actual."""
    mean, deviation = forecast
    z = (log(actual) - mean) / deviation
    density = lgamma((FREEDOM + 1) / 2) - lgamma(FREEDOM / 2) - log(FREEDOM * pi) / 2 - log(deviation)
    return (FREEDOM + 1) / 2 * log(1 + z * z / FREEDOM) - density


def chosen(tune):
    """The constants under which the full runs of `tune` surprise the least, over the methods' forecasts together."""

    def score(values):
        law = dict(zip(GRID, values))
        parts = [
            (surprise(found, case["run"].seconds), case["weight"])
            for case in tune
            for method in METHODS.values()
            if (found := method(case, law))
        ]
        return sum(part * weight for part, weight in parts) / sum(weight for _, weight in parts)

    best = [values[len(values) // 2] for values in GRID.values()]
    for _ in range(3):  # one constant after another, thrice
        for index, key in enumerate(GRID):
            best = min(([*best[:index], value, *best[index + 1 :]] for value in GRID[key]), key=score)
    return dict(zip(GRID, best))


def table(rows, title):
    print(f"\n{title}\n\n{'':60} answered median  mean worst  held  upper/lower")
    for method in METHODS:
        found = [
            (case["weight"], forecast, log(case["run"].seconds))
            for case, law in rows
            if (forecast := METHODS[method](case, law))
        ]
        if not found:
            continue
        weights = np.array([weight for weight, _, _ in found])
        errors = np.array([abs(forecast[0] - actual) for _, forecast, actual in found])
        held = np.array([abs(forecast[0] - actual) < HALF_90 * forecast[1] for _, forecast, actual in found])
        width = np.median([exp(2 * HALF_90 * forecast[1]) for _, forecast, _ in found])
        jobs = sum(case["weight"] for case, _ in rows)
        print(
            f"{method:60} {weights.sum():4.0f} of {jobs:2.0f} {np.median(errors):5.2f} {(weights * errors).sum() / weights.sum():5.2f} {errors.max():5.2f}  {(weights * held).sum() / weights.sum():4.0%}  {width:5.2f}"
        )


def memory(cases_):
    """Peaks of the full run where its progress is known: seen until 10 % of its seconds; the same times what the canary of 10 %
    grew by after as many steps (both of samples); and a line through two small canaries (of the system's own peaks)."""
    print(f"\n{'peak memory, MB':22} actual    seen     ln   grown     ln    line     ln")
    errors = []
    for case in cases_:
        run, canary, progress = case["run"], case["canary"], case["both"]
        if not progress.known:
            continue
        largest = lambda one, until=1e9: max([mb for at, mb in one.memory if at <= until], default=one.peak_mb)
        ten, seen, peak = canary[0.1], largest(run, case["cut"][0.1]), lambda one: one.peak_mb
        growth = largest(ten) / largest(ten, np.interp(progress.reached * ten.done[-1], ten.done, ten.at))
        found = [(seen, largest(run)), (seen * growth, largest(run)), (line(canary[0.01], ten, peak), peak(run))]
        errors.append([log(mb / actual) for mb, actual in found])
        print(
            f"{case['name']:22} {largest(run):6.0f}  "
            + "  ".join(f"{mb:6.0f} {error:6.3f}" for (mb, _), error in zip(found, errors[-1]))
        )
    for name, summary in (("median", np.median), ("mean", np.mean)):
        print(f"{name:30}" + "".join(f"  {summary(np.abs(column)):13.3f}" for column in np.array(errors).T))


def details(rows):
    for case, law in rows:
        actual = log(case["run"].seconds)
        text = "".join(
            f" {found[0] - actual:6.2f} +-{found[1]:.2f}" if (found := method(case, law)) else "       -     "
            for method in METHODS.values()
        )
        print(f"{case['name']:22} {case['run'].seconds:6.1f} {text}")


if __name__ == "__main__":
    tune, judge = list(cases(TUNE)), list(cases(JUDGE))
    law = chosen(tune)
    print("constants of the libraries to tune:", law)
    left_out = []
    for library in TUNE:
        other = chosen([case for case in tune if case["library"] != library])
        print(f"without {library}:", other)
        left_out += [(case, other) for case in tune if case["library"] == library]
    judged = [(case, law) for case in judge]
    table(left_out, "Libraries to tune, each left out of the choice")
    table(judged, "Libraries to judge")
    table(left_out + judged, "All")
    print("\nln(forecast / seconds) +- deviation, in the order of the tables")
    details(left_out + judged)
    memory(tune + judge)
