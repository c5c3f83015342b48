#!/usr/bin/env python3
"""Starts on every host what its group does: SageMaker runs one entry point on all of them."""

import os
import sys
from pathlib import Path

import cluster

SCRIPTS = {"data": "data_service.py", "dnn": "train.py"}

group = cluster.own_group()
if group not in SCRIPTS:
    sys.exit(f"group {group} has nothing to do: the groups are {', '.join(SCRIPTS)}")
script = Path(__file__).with_name(SCRIPTS[group])
print(f"{cluster.own_host()} of group {group} starts {script.name}", flush=True)
os.execv(sys.executable, [sys.executable, str(script), *sys.argv[1:]])
