# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A sweep on a Slurm of one node: interrupted, and with jobs killed, it has the files of a local sweep."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import matchbench as mb
from tests import slurm

FILES = ("variants.csv", "points.csv", "parameters.csv", "sweep.json", "study.toml", "report.html")
pytestmark = pytest.mark.skipif(
    "MATCHBENCH_SLURM" not in os.environ,
    reason="starts a Slurm as root; `make nightly` sets MATCHBENCH_SLURM",
)


def test_a_sweep_on_slurm_with_killed_workers_is_the_local_one(tmp_path: Path) -> None:
    missing = [name for name in slurm.PROGRAMS if shutil.which(name) is None]
    assert not missing, f"install the packages munge and slurm-wlm: {missing}"
    trace = mb.generate("halo3d", tmp_path / "halo", ranks=64, settings={"iterations": 1000})
    sweep = [sys.executable, "-m", "matchbench", "sweep", str(trace.path), "-e", "cam_list"]
    sweep += ["--set", "cam=1..128 *2", "--set", "lists=1,2,4"]
    with (
        tempfile.TemporaryDirectory(prefix="mb-slurm-", dir="/tmp") as folder,
        slurm.one_node(Path(folder), cores=3) as environment,
    ):
        cluster = ["--cluster", "slurm", "--jobs", "2", "--cluster-set", "interface=lo"]
        cluster += ["--cluster-set", f"log_directory={tmp_path}/log", "--cache", str(tmp_path / "cache")]
        command = [*sweep, *cluster, "-o", "there"]
        refused = subprocess.run(
            [*command, "--cluster-set", "queue=none"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 2
        assert "--cluster slurm: Slurm refuses the job: " in refused.stderr
        with subprocess.Popen(
            command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
        ) as running:
            wait_for_results(tmp_path / "cache", 2, running)
            running.send_signal(signal.SIGINT)
            assert running.stderr is not None
            said = running.stderr.read()
        assert running.returncode == 130, said
        assert said.endswith("matchbench: interrupted\n")
        assert not slurm.jobs(environment)
        with subprocess.Popen(
            command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
        ) as running:
            wait_for_results(tmp_path / "cache", 6, running)
            first = wait_for_jobs(environment, 2, running)
            # The whole job, and later a worker of another one.
            slurm.kill(first[0], environment)
            wait_for_results(tmp_path / "cache", 12, running)
            assert first[0] not in slurm.jobs(environment)
            killed = slurm.processes(first[1], environment)
            for process in killed:
                os.kill(process, signal.SIGKILL)
            assert running.stderr is not None
            said = running.stderr.read()
        assert running.returncode == 0, said
    assert killed
    # Two jobs of each command, and one for each that was killed.
    assert len(list((tmp_path / "log").iterdir())) >= 6
    done = subprocess.run(
        [*sweep, "--no-cache", "-o", "here"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for name in FILES:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name


def wait_for_results(cache: Path, count: int, running: subprocess.Popen[str]) -> None:
    """Wait until the cache has this many results; fail when the command ends before."""
    while sum(path.is_file() for path in cache.glob("*/[0-9a-f]*")) < count:
        assert running.poll() is None, running.stderr and running.stderr.read()
        time.sleep(0.05)


def wait_for_jobs(environment: dict[str, str], count: int, running: subprocess.Popen[str]) -> list[str]:
    """Wait until this many jobs run, of which one may start late; fail when the command ends before."""
    while len(jobs := slurm.jobs(environment)) != count:
        assert running.poll() is None, running.stderr and running.stderr.read()
        time.sleep(0.2)
    return jobs
