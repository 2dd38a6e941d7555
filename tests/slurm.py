# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A Slurm of one node, for tests: munged, slurmctld and slurmd as child processes, with files in one folder.

Nothing of the system's Slurm is read or changed; systemd is not needed. It runs as root only, since slurmd
starts jobs as their users. Source: Slurm 22.05, slurm.conf(5).
"""

import contextlib
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
"""Programs that must be installed; packages `munge` and `slurm-wlm`."""

_START_S = 60
_END_S = 20

_CONFIGURATION = """\
ClusterName=matchbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory_mb} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def one_node(folder: Path, *, cores: int) -> Iterator[dict[str, str]]:
    """Run a Slurm while the block runs and yield the environment that its commands need.

    Parameters
    ----------
    folder
        An existing folder for its files, with a short path: a socket's path has at most 107 bytes.
    cores
        Cores of its node, however many the host has.
    """
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            host=socket.gethostname(),
            folder=folder,
            cores=cores,
            controller_port=_free_port(),
            node_port=_free_port(),
            memory_mb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    munged = [
        *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"),
        *(
            f"--pid-file={folder}/munge.pid",
            f"--seed-file={folder}/munge.seed",
            f"--log-file={folder}/munge.log",
        ),
    ]
    with contextlib.ExitStack() as stack:
        stack.enter_context(_running(munged, environment, folder))
        _wait(lambda: (folder / "munge.socket").exists(), "munged does not listen", folder)
        stack.enter_context(_running(["slurmctld", "-D", "-c"], environment, folder))
        stack.enter_context(_running(["slurmd", "-D"], environment, folder))
        _wait(
            lambda: "idle" in _said(["sinfo", "-h", "-o", "%t"], environment), "the node is not idle", folder
        )
        try:
            yield environment
        finally:
            words = ["scancel", "--user=root"]
            subprocess.run(words, env=environment, check=False, capture_output=True)
            with contextlib.suppress(AssertionError):
                _wait(lambda: not _said(["squeue", "-h"], environment), "jobs do not end", folder)


def jobs(environment: dict[str, str]) -> list[str]:
    """Name the jobs that run."""
    return _said(["squeue", "-h", "-t", "running", "-o", "%i"], environment).split()


def kill(job: str, environment: dict[str, str]) -> None:
    """Kill a job with all of its processes."""
    command = ["scancel", "--signal=KILL", "--full", job]
    subprocess.run(command, env=environment, check=True)


def processes(job: str, environment: dict[str, str]) -> list[int]:
    """Give the processes of a job on this node, without those of Slurm."""
    lines = _said(["scontrol", "listpids", job], environment).splitlines()[1:]
    return [int(line.split()[0]) for line in lines if line.split()[0].isdigit()]


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[None]:
    output = (folder / f"{command[0]}.out").open("wb")
    with output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _wait(condition: Callable[[], bool], otherwise: str, folder: Path) -> None:
    end = time.monotonic() + _START_S
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in folder.glob("*.log"))
            msg = f"{otherwise} after {_START_S} s\n{logs}"
            raise AssertionError(msg)
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
