# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How a launcher is identified, and how every rank gets the recorder's variables."""

from pathlib import Path

import pytest

import matchbench as mb
from matchbench.record.launchers import launch_command, launcher_flavour

VARIABLES = {"LD_PRELOAD": "/lib/r.so", "DIR": "/d"}


def launcher(directory: Path, name: str, version: str) -> str:
    """Make a launcher that only prints its version."""
    path = directory / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("name", "version", "flavour"),
    [
        ("mpirun", "mpirun (Open MPI) 4.1.4", "openmpi"),
        ("mpiexec", "mpiexec (OpenRTE) 4.1.4", "openmpi"),
        ("prterun", "prterun (PRRTE) 3.0.2", "openmpi"),
        ("mpiexec.hydra", "HYDRA build details:", "hydra"),
        ("mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.9", "hydra"),
        ("mpirun", "some other MPI", "other"),
        ("srun", "not asked", "slurm"),
        ("flux", "not asked", "other"),
    ],
)
def test_a_launcher_is_identified_by_name_and_version(
    tmp_path: Path, name: str, version: str, flavour: str
) -> None:
    assert launcher_flavour(launcher(tmp_path, name, version)) == flavour


@pytest.mark.parametrize(
    ("flavour", "command", "words"),
    [
        ("openmpi", "mpirun -n 2 a", "mpirun -x LD_PRELOAD=/lib/r.so -x DIR=/d -n 2 a"),
        ("hydra", "mpiexec -n 2 a", "mpiexec -genv LD_PRELOAD /lib/r.so -genv DIR /d -n 2 a"),
        ("slurm", "srun -n 2 a", "srun --export=ALL,LD_PRELOAD=/lib/r.so,DIR=/d -n 2 a"),
        ("slurm", "srun --export=X=1 a", "srun --export=X=1,LD_PRELOAD=/lib/r.so,DIR=/d a"),
        ("slurm", "srun --export X=1 a", "srun --export=X=1,LD_PRELOAD=/lib/r.so,DIR=/d a"),
        ("slurm", "srun --export=NONE a", "srun --export=LD_PRELOAD=/lib/r.so,DIR=/d a"),
        ("slurm", "srun sh --export=X", "srun --export=ALL,LD_PRELOAD=/lib/r.so,DIR=/d sh --export=X"),
        ("other", "flux run a", "flux run a"),
        # Other libraries to preload.
        (
            "openmpi",
            "mpirun -x LD_PRELOAD=t.so -n 2 a",
            "mpirun -x DIR=/d -x LD_PRELOAD=t.so:/lib/r.so -n 2 a",
        ),
        ("openmpi", "mpirun -n 2 env LD_PRELOAD=t.so a", "OURS -n 2 env LD_PRELOAD=t.so:/lib/r.so a"),
        (
            "hydra",
            "mpiexec -genv LD_PRELOAD t.so a",
            "mpiexec -genv DIR /d -genv LD_PRELOAD t.so:/lib/r.so a",
        ),
        (
            "hydra",
            "mpiexec -genv LD_PRELOAD=t.so a",
            "mpiexec -genv DIR /d -genv LD_PRELOAD=t.so:/lib/r.so a",
        ),
        (
            "hydra",
            "mpiexec -n 1 -env LD_PRELOAD t.so a : -n 1 b",
            "OURS -n 1 -env LD_PRELOAD t.so:/lib/r.so a : -n 1 b",
        ),
        (
            "slurm",
            "srun --export=ALL,LD_PRELOAD=t.so a",
            "srun --export=ALL,LD_PRELOAD=t.so:/lib/r.so,DIR=/d a",
        ),
        (
            "other",
            "flux run env -u X A=1 LD_PRELOAD=t.so a",
            "flux run env -u X A=1 LD_PRELOAD=t.so:/lib/r.so a",
        ),
        ("other", "flux run a LD_PRELOAD=t.so", "flux run a LD_PRELOAD=t.so"),
    ],
)
def test_every_rank_loads_the_recorder(flavour: str, command: str, words: str) -> None:
    ours = {
        "openmpi": "mpirun -x LD_PRELOAD=/lib/r.so -x DIR=/d",
        "hydra": "mpiexec -genv LD_PRELOAD /lib/r.so -genv DIR /d",
    }
    expected = words.replace("OURS", ours.get(flavour, "")).split()
    assert launch_command(command.split(), VARIABLES, flavour) == expected


@pytest.mark.parametrize(
    ("flavour", "command", "words"),
    [
        ("openmpi", "mpirun a", "mpirun -x LD_PRELOAD=t.so:/lib/r.so -x DIR=/d a"),
        ("openmpi", "mpirun -x LD_PRELOAD a", "mpirun -x DIR=/d -x LD_PRELOAD=t.so:/lib/r.so a"),
        ("openmpi", "mpirun -x LD_PRELOAD=u.so a", "mpirun -x DIR=/d -x LD_PRELOAD=u.so:/lib/r.so a"),
        ("hydra", "mpiexec a", "mpiexec -genv LD_PRELOAD t.so:/lib/r.so -genv DIR /d a"),
        ("slurm", "srun a", "srun --export=ALL,LD_PRELOAD=t.so:/lib/r.so,DIR=/d a"),
        ("slurm", "srun --export=LD_PRELOAD a", "srun --export=LD_PRELOAD=t.so:/lib/r.so,DIR=/d a"),
    ],
)
def test_a_library_that_is_preloaded_already_stays(flavour: str, command: str, words: str) -> None:
    assert launch_command(command.split(), VARIABLES, flavour, "t.so") == words.split()


def test_slurm_refuses_a_value_with_a_comma() -> None:
    with pytest.raises(mb.MatchbenchError) as error:
        launch_command(["srun", "a"], VARIABLES | {"DIR": "/a,b"}, "slurm")
    message = "srun: found a comma in DIR=/a,b, which srun cannot pass; use a path without comma"
    assert str(error.value) == message
