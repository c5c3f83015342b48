"""Runs a training and writes each line of its output with the seconds since its start, for forecasts from progress.

    record.py FILE COMMAND...

The recordings beside it are of full runs on a quiet machine; a carriage return ends a line too, as progress bars write it.
"""

import json
import os
import subprocess
import sys
import time

started = time.monotonic()
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
lines, rest = [], b""
while read := os.read(child.stdout.fileno(), 65536):
    seconds = round(time.monotonic() - started, 3)
    *ended, rest = (rest + read).replace(b"\r", b"\n").split(b"\n")
    lines += [[seconds, line.decode(errors="replace")[:300]] for line in ended if line.strip()]
head = {"exit_code": child.wait(), "seconds": round(time.monotonic() - started, 3)}
with open(sys.argv[1], "w") as file:
    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in [head, *lines])
