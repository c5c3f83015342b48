"""Starts the training script under canary-gate's probe, or by itself where the probe cannot run here.

The training toolkit starts this file in place of the script, which CANARY_GATE_ENTRY_POINT names. Arguments, working
directory, exit code and signals are the script's; of its environment only canary-gate's own variables are taken out.
A launcher (torchrun, mpirun) starts it once for each process: the first of a host runs under the probe, which looks at all
of them, and the others run as they are.
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
# Where a launcher says which process of this host one is, from 0.
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK")
# Where a launcher says it of all hosts' processes only.
RANK = "PMI_RANK"


def taken(name):
    """A variable of the job, which the script does not get. Processes that are started through SSH may have none of the job's:
    then it is that of the container's first process."""
    value = os.environ.pop(name, None)
    if value is not None:
        return value
    try:
        with open("/proc/1/environ", "rb") as file:
            variables = os.fsdecode(file.read()).split("\0")
    except OSError:
        return None
    values = [variable.partition("=")[2] for variable in variables if variable.startswith(name + "=")]
    return values[0] if values else None


def python():
    """Python with the options that this file was started with, such as `-u`, or `-m mpi4py`."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = os.fsdecode(file.read()).split("\0")[:-1]
    except OSError:
        return [sys.executable]
    options = words[1 : len(words) - len(sys.argv)]
    # Of this file as a module.
    return [sys.executable] + (options[:-1] if options[-1:] == ["-m"] else options)


def command_of(entry_point, arguments):
    """What the toolkit itself would start."""
    is_shell = entry_point.endswith(".sh")
    if not is_shell and os.path.exists("setup.py"):
        return python() + ["-m", entry_point.replace(".py", "")] + arguments
    if entry_point.endswith(".py"):
        return python() + [entry_point] + arguments
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


def local_rank():
    """The number of this process on its host; None where no launcher says one."""
    return next((os.environ[name] for name in LOCAL_RANKS if name in os.environ), None)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    probe = os.path.join(here, PROBE)
    entry_point = taken("CANARY_GATE_ENTRY_POINT")
    mark = taken("CANARY_GATE_MARK") or ""
    if entry_point is None:
        sys.exit("canary-gate: the variable CANARY_GATE_ENTRY_POINT of the training job did not reach this process")
    # The toolkit's variables about the script that it was given.
    if "SM_USER_ENTRY_POINT" in os.environ:
        os.environ["SM_USER_ENTRY_POINT"] = entry_point
    if "SM_MODULE_NAME" in os.environ:
        os.environ["SM_MODULE_NAME"] = entry_point[:-3] if entry_point.endswith(".py") else entry_point
    command = command_of(entry_point, sys.argv[1:])
    rank = local_rank()
    reason = None
    if rank not in (None, "0"):
        os.execv(command[0], command)
    elif rank is None and RANK in os.environ:
        reason = "a launcher does not say which process is the first of its host"
    elif not works(probe):
        reason = "it cannot run here"
    sys.stderr.flush()
    if reason is None:
        environment = dict(os.environ, CANARY_GATE_MARK=mark)
        scope = [] if rank is None else ["--launched"]
        try:
            os.execve(probe, [probe, "probe", "--grace", GRACE] + scope + ["--"] + command, environment)
        except OSError as error:
            reason = str(error)
    sys.stderr.write("canary-gate: not measured by the probe: %s\n" % reason)
    sys.stderr.flush()
    os.execv(command[0], command)


main()
