"""The groups of machines of this job, as SageMaker describes them to every host."""

import json
import os
import socket
from pathlib import Path

# With `backend: local` each canary has a port of its own.
PORT = int(os.environ.get("SM_MASTER_PORT", 6000))


def resources():
    folder = os.environ.get("SM_INPUT_CONFIG_DIR", "/opt/ml/input/config")
    return json.loads(Path(folder, "resourceconfig.json").read_text())


def own_host():
    return resources()["current_host"]


def address_of(host):
    """With `backend: local` all hosts are processes of this machine, and their names have no addresses."""
    try:
        return socket.gethostbyname(host)
    except OSError:
        return "127.0.0.1"


def own_group():
    return resources()["current_group_name"]


def hosts_of(group):
    """The hosts of a group; none where the job has no such group. Their numbers are in no order of groups."""
    groups = resources()["instance_groups"]
    return next((one["hosts"] for one in groups if one["instance_group_name"] == group), [])
