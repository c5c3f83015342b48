"""Runs a training and writes each line of its output with the seconds since its start, for forecasts from progress.

    record.py FILE COMMAND...

The first row holds exit code, seconds, `peak_mb` (the largest resident memory that the system saw) and `memory`, the
resident memory of the process tree each half second as [seconds, MB]. A carriage return ends a line too, as progress
bars write it. Of more than 400 lines all of the first 40, the last 20 and evenly spread ones between are kept; `lines`
says how many there were.
"""

import json
import os
import subprocess
import sys
import threading
import time


def record(command, most_lines=400):
    started, ended = time.monotonic(), threading.Event()
    seconds = lambda: round(time.monotonic() - started, 3)
    unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=unbuffered)
    memory, lines, rest = [], [], b""

    def sample():
        while not ended.wait(0.5):
            memory.append([round(seconds(), 1), round(resident_mb(child.pid))])

    threading.Thread(target=sample).start()
    while read := os.read(child.stdout.fileno(), 65536):
        *whole, rest = (rest + read).replace(b"\r", b"\n").split(b"\n")
        lines += [[seconds(), line.decode(errors="replace")[:150]] for line in whole if line.strip()]
    _, status, usage = os.wait4(child.pid, 0)
    ended.set()
    head = {"exit_code": os.waitstatus_to_exitcode(status), "seconds": seconds(), "lines": len(lines)}
    head |= {"cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2), "peak_mb": round(usage.ru_maxrss / 1000)}
    return [head | {"memory": memory}, *thinned(lines, most_lines)]


def resident_mb(pid):
    """Of a process and all that it started; 0 where it has ended."""
    try:
        with open(f"/proc/{pid}/statm") as statm, open(f"/proc/{pid}/task/{pid}/children") as children:
            own, below = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6, children.read().split()
        return own + sum(map(resident_mb, below))
    except (OSError, IndexError):
        return 0


def thinned(lines, most, first=40, last=20):
    if len(lines) <= most:
        return lines
    middle = lines[first:-last]
    return lines[:first] + middle[:: -(-len(middle) // (most - first - last))] + lines[-last:]


def write(path, rows):
    with open(path, "w") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    write(sys.argv[1], record(sys.argv[2:]))
