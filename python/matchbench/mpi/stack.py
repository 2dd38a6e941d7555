# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a failure of an MPI may depend on: launcher line, environment, versions, hosts, loaded libraries.

`mpi/conform/c/stack.c` writes the part that only a rank knows; `spec/mpi-conform.md` defines the form in
reports.
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchbench.mpi.launch import Mpi

PREFIXES = (
    "OMPI_",
    "OPAL_",
    "ORTE_",
    "PRTE_",
    "PMIX_",
    "MPICH_",
    "MPIR_",
    "MPIEXEC_",
    "MPIO_",
    "HYDRA_",
    "PMI_",
    "I_MPI_",
    "MV2_",
    "MVP_",
    "FI_",
    "UCX_",
    "UCC_",
    "UCS_",
    "HCOLL_",
    "PSM_",
    "PSM2_",
    "PSM3_",
    "HFI_",
    "IBV_",
    "MLX4_",
    "MLX5_",
    "RDMAV_",
    "EFA_",
    "NCCL_",
    "HWLOC_",
    "SLURM_",
    "SRUN_",
    "PBS_",
    "LSB_",
    "ALPS_",
    "PALS_",
    "CXI_",
)
"""Beginnings of the names of variables that MPIs, transports, PMIx and launchers read.

Sources: `ompi_info --all`, `MPI_T_cvar_get_info` of MPICH, `fi_info -e`, `ucx_info -c`, the manuals of Hydra,
PRRTE, PMIx, PSM and Slurm.
"""

_NAMES = ("LD_PRELOAD", "LD_LIBRARY_PATH")  # these select the libraries themselves
# Set by a batch system or launcher for one job; a command that repeats them elsewhere would not start.
_OF_ONE_JOB = re.compile(
    r"(SLURM_|SRUN_|PBS_|LSB_|ALPS_|PALS_|PMI_|MPIEXEC_|OMPI_COMM_WORLD_|OMPI_UNIVERSE_|OMPI_MCA_(orte_|ess)"
    r"|PMIX_(?!MCA_)|PRTE_(?!MCA_))"
)
_SECRETS = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|JWT|CREDENTIALS?|COOKIE|AUTH)(_|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What rank 0 reports about its MPI.

    Parameters
    ----------
    library
        Text of `MPI_Get_library_version`.
    standard
        Version of the MPI standard.
    libfabric, ucx
        Their versions, if they are loaded as shared libraries.
    hosts
        Number of different names of hosts; none if the job ended before they were known.
    nodes
        Number of groups of ranks that share memory, as the MPI sees them.
    loaded
        Files of loaded libraries that carry messages or start ranks.
    variables
        Variables of rank 0 that MPIs and transports read, without secrets.
    """

    library: str = ""
    standard: str = ""
    libfabric: str | None = None
    ucx: str | None = None
    hosts: int | None = None
    nodes: int | None = None
    loaded: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def components(self) -> list[str]:
        """Name the loaded components of Open MPI that carry messages."""
        found = (re.match(r"mca_((?:pml|btl|mtl)_\w+)\.so", Path(file).name) for file in self.loaded)
        return sorted({match[1] for match in found if match})


def read_stack(text: str) -> Stack:
    """Read `stack.txt` of the C runner; unknown keys are ignored."""
    values: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        values.setdefault(key, []).append(value)

    def last(key: str) -> str | None:
        return values.get(key, [None])[-1]

    def number(key: str) -> int | None:
        value = last(key) or ""
        return int(value) if value.isdecimal() else None

    pairs = (variable.partition("=")[::2] for variable in values.get("variable", []))
    return Stack(
        library="\n".join(values.get("mpi", [])),
        standard=last("standard") or "",
        libfabric=last("libfabric"),
        ucx=last("ucx"),
        hosts=number("hosts"),
        nodes=number("nodes"),
        loaded=tuple(sorted(set(values.get("loaded", [])))),
        variables=relevant(dict(pairs)),
    )


def relevant(environment: Mapping[str, str]) -> dict[str, str]:
    """Select the variables that an MPI, its transports or launchers read; secrets are left out."""
    names = sorted(name for name in environment if name.startswith(PREFIXES) or name in _NAMES)
    return {name: environment[name] for name in names if not _SECRETS.search(name)}


def environment(mpi: Mpi) -> dict[str, str]:
    """Give the variables of the launcher's environment that the outcome may depend on."""
    return relevant({**os.environ, **dict(mpi.variables)})


def lasting_environment(mpi: Mpi) -> dict[str, str]:
    """Give the same variables without those that a batch system or launcher sets for one job."""
    return {name: value for name, value in environment(mpi).items() if not _OF_ONE_JOB.match(name)}


def set_by_launcher(mpi: Mpi, stack: Stack) -> dict[str, str]:
    """Give the variables of rank 0 that the launcher's environment has not, without those of one job."""
    own = environment(mpi)
    return {
        name: value
        for name, value in stack.variables.items()
        if own.get(name) != value and not _OF_ONE_JOB.match(name)
    }


def shell_command(mpi: Mpi, ranks: int, program: Iterable[str]) -> str:
    """Give the shell command that starts a program as this check did, environment included."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in lasting_environment(mpi).items()]
    words = shlex.join(mpi.command(ranks, list(program)))
    return f"env {' '.join(variables)} {words}" if variables else words


def description(mpi: Mpi, stack: Stack) -> list[str]:
    """Describe the stack in lines, for the report and the head of a reproducer."""
    library = stack.library.splitlines() or ["MPI library: no version text"]
    # MPICH adds how each of its compilers was called.
    lines = [library[0], *(line for line in library[1:] if "Device" in line)]
    versions = [f"MPI standard {stack.standard}"] if stack.standard else []
    versions += [f"libfabric {stack.libfabric}"] if stack.libfabric else []
    versions += [f"UCX {stack.ucx}"] if stack.ucx else []
    lines.append(f"versions: {', '.join(versions) or 'unknown'}")
    if components := stack.components():
        lines.append(f"components: {', '.join(components)}")
    nodes = "" if stack.nodes in (None, stack.hosts) else f", which the MPI treats as {stack.nodes}"
    lines.append(f"hosts: {'unknown' if stack.hosts is None else stack.hosts}{nodes}")
    lines.append(f"compiler: {mpi.compiler}")
    lines.append(f"launcher: {shlex.join(mpi.launcher)}")
    variables = environment(mpi)
    lines.append("environment:" if variables else "environment: none of the variables that an MPI reads")
    lines += [f"  {name}={value}" for name, value in variables.items()]
    return lines


def as_object(mpi: Mpi, stack: Stack) -> dict[str, Any]:
    """Give the object `mpi` of `spec/mpi-conform.md`."""
    return {
        "library": stack.library,
        "standard": stack.standard,
        "libfabric": stack.libfabric,
        "ucx": stack.ucx,
        "hosts": stack.hosts,
        "nodes": stack.nodes,
        "loaded": list(stack.loaded),
        "compiler": mpi.compiler,
        "launcher": list(mpi.launcher),
        "environment": environment(mpi),
        "set_by_launcher": set_by_launcher(mpi, stack),
    }
