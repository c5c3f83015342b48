"""Starts the training script under canary-gate's probe, or by itself where the probe cannot run here.

The training toolkit starts this file in place of the script, which CANARY_GATE_ENTRY_POINT names. Arguments, working
directory, exit code and signals are the script's; of its environment only canary-gate's own variables are taken out.
"""

import os
import stat
import subprocess
import sys

PROBE = "canary-gate-probe"
# SageMaker gives a job 120 seconds to end.
GRACE = "110s"
# Seconds; a driver that hangs must not hold up the training.
PATIENCE = 60
# Set where a launcher starts this file once for each process of a host: a probe would see one of them only.
LAUNCHERS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "MPI_LOCALRANKID")


def command_of(entry_point, arguments):
    """What the toolkit itself would start."""
    is_shell = entry_point.endswith(".sh")
    if not is_shell and os.path.exists("setup.py"):
        return [sys.executable, "-m", entry_point.replace(".py", "")] + arguments
    if entry_point.endswith(".py"):
        return [sys.executable, entry_point] + arguments
    path = os.path.abspath(entry_point)
    try:
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    except OSError:
        pass
    # By its `#!` line; the shell itself runs a script that has none.
    return ["/bin/sh", "-c", 'exec "$0" "$@"', path] + arguments


def works(probe):
    """Whether the probe can be executed, and can watch a process, here."""
    try:
        if not os.access(probe, os.X_OK):
            os.chmod(probe, 0o755)
        trial = [probe, "probe", "--output", os.devnull, "--", sys.executable, "-c", ""]
        with open(os.devnull, "r+") as nothing:
            return subprocess.call(trial, stdin=nothing, stdout=nothing, stderr=nothing, timeout=PATIENCE) == 0
    except (OSError, subprocess.SubprocessError):
        return False


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    probe = os.path.join(here, PROBE)
    entry_point = os.environ.pop("CANARY_GATE_ENTRY_POINT")
    mark = os.environ.pop("CANARY_GATE_MARK", "")
    # The toolkit's variables about the script that it was given.
    if "SM_USER_ENTRY_POINT" in os.environ:
        os.environ["SM_USER_ENTRY_POINT"] = entry_point
    if "SM_MODULE_NAME" in os.environ:
        os.environ["SM_MODULE_NAME"] = entry_point[:-3] if entry_point.endswith(".py") else entry_point
    command = command_of(entry_point, sys.argv[1:])
    reason = None
    if any(name in os.environ for name in LAUNCHERS):
        reason = "a launcher starts several processes on this host"
    elif not works(probe):
        reason = "it cannot run here"
    sys.stderr.flush()
    if reason is None:
        environment = dict(os.environ, CANARY_GATE_MARK=mark)
        try:
            os.execve(probe, [probe, "probe", "--grace", GRACE, "--"] + command, environment)
        except OSError as error:
            reason = str(error)
    sys.stderr.write("canary-gate: not measured by the probe: %s\n" % reason)
    sys.stderr.flush()
    os.execv(command[0], command)


main()
