"""The groups of machines of this job, as SageMaker describes them to every host."""

import json
import os
from pathlib import Path

PORT = 6000


def resources():
    folder = os.environ.get("SM_INPUT_CONFIG_DIR", "/opt/ml/input/config")
    return json.loads(Path(folder, "resourceconfig.json").read_text())


def own_host():
    return resources()["current_host"]


def own_group():
    return resources()["current_group_name"]


def hosts_of(group):
    """The hosts of a group; none where the job has no such group. Their numbers are in no order of groups."""
    groups = resources()["instance_groups"]
    return next((one["hosts"] for one in groups if one["instance_group_name"] == group), [])
