# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Gives the recorder's variables to every rank, beside other tools (`recorder/docs/recorder.md`)."""

import itertools
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from matchbench._native import MatchbenchError

PRELOAD = "LD_PRELOAD"
"""The variable that names the libraries to preload; the launcher or the user may have given it too."""

VERSION_SECONDS = 10
"""Time limit for a launcher to print its version."""


def launch_command(
    command: Sequence[str], variables: Mapping[str, str], flavour: str, preloaded: str = ""
) -> list[str]:
    """Return the command with `variables` in the environment of every rank.

    A value of `LD_PRELOAD` that the command gives to ranks stays, followed by that of `variables`.

    Parameters
    ----------
    command
        Launcher, its arguments, program, its arguments.
    variables
        Names and values for the environment of every rank.
    flavour
        Result of :func:`launcher_flavour`.
    preloaded
        The value of `LD_PRELOAD` where the launcher runs.

    Raises
    ------
    MatchbenchError
        When a value has a comma, which separates variables for srun.
    """
    ours = variables[PRELOAD]
    launcher, *rest = command
    rest = _in_assignments(rest, ours)
    variables = {**variables, PRELOAD: joined(preloaded, ours)}
    if flavour == "openmpi":
        rest, is_given = _in_openmpi(rest, preloaded, ours)
        words = [["-x", f"{name}={value}"] for name, value in _except(variables, is_given)]
        return [launcher, *itertools.chain(*words), *rest]
    if flavour == "hydra":
        rest, is_given = _in_hydra(rest, ours)
        words = [["-genv", name, value] for name, value in _except(variables, is_given)]
        return [launcher, *itertools.chain(*words), *rest]
    if flavour == "slurm":
        for name, value in variables.items():
            if "," in value:
                msg = (
                    f"srun: found a comma in {name}={value}, which srun cannot pass; use a path without comma"
                )
                raise MatchbenchError(msg)
        for at, word in enumerate(rest):
            if word == "--export" and at + 1 < len(rest):
                export = _slurm_export(rest[at + 1], variables, preloaded, ours)
                return [launcher, *rest[:at], export, *rest[at + 2 :]]
            if word.startswith("--export="):
                export = _slurm_export(word.partition("=")[2], variables, preloaded, ours)
                return [launcher, *rest[:at], export, *rest[at + 1 :]]
            if not word.startswith("-") and shutil.which(word):
                break  # the program; the following words are its arguments
        return [launcher, _slurm_export("ALL", variables, preloaded, ours), *rest]
    return [launcher, *rest]


def joined(theirs: str, ours: str) -> str:
    """Join two values of `LD_PRELOAD`. Ours is the last: some libraries demand to be the first."""
    return f"{theirs}:{ours}" if theirs else ours


def _except(variables: Mapping[str, str], is_given: bool) -> list[tuple[str, str]]:
    """Return the variables, without `LD_PRELOAD` if the command gives it already."""
    return [(name, value) for name, value in variables.items() if not is_given or name != PRELOAD]


def _in_assignments(words: Sequence[str], ours: str) -> list[str]:
    """Extend the values that the command `env` sets."""
    given, of_env, former = [], False, ""
    for word in words:
        is_operand = former in ("-u", "--unset", "-C", "--chdir") or word.startswith("-") or "=" in word
        of_env = Path(word).name == "env" or (of_env and is_operand)
        name, _, value = word.partition("=")
        given.append(f"{name}={joined(value, ours)}" if of_env and name == PRELOAD else word)
        former = word
    return given


def _in_openmpi(words: Sequence[str], preloaded: str, ours: str) -> tuple[list[str], bool]:
    """Extend the values of `-x`, and say whether there is one. Without a value, `-x` exports the variable."""
    given, is_given = list(words), False
    for at in range(1, len(given)):
        name, has_value, value = given[at].partition("=")
        if given[at - 1] in ("-x", "--x") and name == PRELOAD:
            given[at] = f"{name}={joined(value if has_value else preloaded, ours)}"
            is_given = True
    return given, is_given


def _in_hydra(words: Sequence[str], ours: str) -> tuple[list[str], bool]:
    """Extend the values of `-genv` and `-env`, and say whether there is one for all ranks."""
    given, is_given = list(words), False
    for at in range(1, len(given)):
        name, has_value, value = given[at].partition("=")
        option = given[at - 1].removeprefix("-")
        if option not in ("-genv", "-env", "genv", "env") or name != PRELOAD:
            continue
        if has_value:
            given[at] = f"{name}={joined(value, ours)}"
        elif at + 1 < len(given):
            given[at + 1] = joined(given[at + 1], ours)
        is_given |= option.endswith("genv")
    return given, is_given


def _slurm_export(theirs: str, variables: Mapping[str, str], preloaded: str, ours: str) -> str:
    """Return the option that exports what the user asked for, and our variables."""
    given = [] if theirs in ("NONE", "NIL", "") else theirs.split(",")
    is_given = False
    for at, item in enumerate(given):
        name, has_value, value = item.partition("=")
        if name == PRELOAD:
            given[at] = f"{name}={joined(value if has_value else preloaded, ours)}"
            is_given = True
    added = [f"{name}={value}" for name, value in _except(variables, is_given)]
    return f"--export={','.join([*given, *added])}"


def launcher_flavour(launcher: str) -> str:
    """Classify a launcher: `openmpi`, `hydra` (MPICH, Intel MPI, MVAPICH), `slurm` or `other`.

    Parameters
    ----------
    launcher
        The first word of the command.
    """
    name = Path(launcher).name
    if name == "srun":
        return "slurm"
    if not name.startswith(("mpirun", "mpiexec", "orterun", "prterun")):
        return "other"
    try:
        asked = subprocess.run(
            [launcher, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "other"
    head = "\n".join((asked.stdout + asked.stderr).decode(errors="replace").splitlines()[:2])
    if any(word in head for word in ("Open MPI", "OpenRTE", "PRRTE")):
        return "openmpi"
    if any(word in head for word in ("HYDRA", "Intel(R) MPI")):
        return "hydra"
    return "other"
