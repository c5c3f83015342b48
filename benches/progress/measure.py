"""Records the runs of one job: `measure.py JOB DATA`, with DATA from `jobs/rows.py`; writes `recordings/JOB.jsonl`.

In full, and on 1, 10 and 20 of the 100 files once each. (The first jobs were also run on 50, and on 1 and in full twice,
which shows the noise.) Each run begins with a row that has its share and the CPU time that other processes took meanwhile;
the lines of small canaries are thinned to 100. Other work was on the machine; the runs had nearly all of the CPU time they
asked for, by the priority of their scheduling group.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

from record import record, write

job, data = sys.argv[1], Path(sys.argv[2])
here = Path(__file__).parent
tables = sorted(data.glob("*.npy"))


def busy_seconds():
    user, nice, system, *_ = open("/proc/stat").readline().split()[1:]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


rows = []
for number, share in enumerate([0.01, 0.1, 0.2, 1]):
    with tempfile.TemporaryDirectory() as sample:
        for path in random.Random(number).sample(tables, round(100 * share)):
            (Path(sample) / path.name).symlink_to(path.resolve())
        before = busy_seconds()
        command = [sys.executable, here / "jobs" / f"{job}.py", sample]
        head, *lines = record(command, most_lines=400 if share == 1 else 100)
        others = round(busy_seconds() - before - head["cpu_seconds"], 1)
        head = {"share": share, "other_cpu_seconds": others} | head
        print({key: value for key, value in head.items() if key != "memory"}, flush=True)
        rows += [head, *lines]
write(here / "recordings" / f"{job}.jsonl", rows)
