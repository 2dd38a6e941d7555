# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measures what the recorder costs per recorded call, under every installed MPI.

Each kernel of `overhead.c` runs with and without the recorder in turn, so that both see the same machine;
the cost is the difference of the medians over the runs. Exit status 1 if one of them costs more than the
100 ns that the project allows, and 2 if there is no MPI to measure, or the recorder is not built.

Usage: overhead.py [RUNS]
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from harness import Mpi, installed  # noqa: E402 - needs the path set above

MOST_NS = 100.0
"""Most that a recorded call may cost."""

RANKS = 2

KERNELS = ("null", "pingpong", "empty", "waitall", "wildcard")
"""What `overhead.c` measures, besides the clock; the limit is for each."""

PINGPONG = ("empty", "empty_mean")
"""The ping-pong of 0 bytes, whose ratio is printed: its median batch, and all of it."""

NO_MPI = (
    "nothing is measured: no MPI was found. Install Open MPI (mpicc.openmpi and mpirun.openmpi: on Debian"
    " openmpi-bin and libopenmpi-dev) or MPICH (mpicc.mpich and mpiexec.mpich: mpich and libmpich-dev), or"
    " name the prefix of another one in MATCHBENCH_MPI_PREFIXES"
)


def kernels(mpi: Mpi, program: Path, directory: Path | None) -> dict[str, float]:
    """Run the program, recorded if there is a directory, and return ns per call by kernel."""
    done = mpi.record(directory, RANKS, [str(program)])
    if directory is not None and len(list(directory.glob("rank-*.mbt"))) != RANKS:
        sys.stderr.write(f"overhead.py: {mpi.name}: not every rank was recorded: {done.stderr.strip()}\n")
        raise SystemExit(2)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def main() -> int:
    """Print a table and say whether the limit holds."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    if not installed():
        sys.stderr.write(f"overhead.py: {NO_MPI}\n")
        return 2
    costs: dict[str, float] = {}
    print(f"{'MPI':12} {'kernel':10} {'plain ns':>9} {'recorded ns':>12} {'cost ns per call':>17}")
    for mpi in installed():
        with tempfile.TemporaryDirectory(dir=os.environ.get("MATCHBENCH_BENCH_DIR")) as scratch:
            program = mpi.compile(HERE / "overhead.c", Path(scratch, "overhead"))
            plain: dict[str, list[float]] = {}
            recorded: dict[str, list[float]] = {}
            for run in range(runs):
                # First, because it fails if there is no recorder.
                directory = Path(scratch, f"trace-{run}")
                directory.mkdir()
                for name, value in kernels(mpi, program, directory).items():
                    recorded.setdefault(name, []).append(value)
                for name, value in kernels(mpi, program, None).items():
                    plain.setdefault(name, []).append(value)
                shutil.rmtree(directory)
        clock = statistics.median(plain.pop("clock"))
        print(f"{mpi.name:12} clock: {clock:.1f} ns a reading, of which a recorded call takes two")
        for name in KERNELS:
            without, with_recorder = statistics.median(plain[name]), statistics.median(recorded[name])
            cost = with_recorder - without
            costs[f"{name} under {mpi.name}"] = cost
            print(f"{mpi.name:12} {name:10} {without:9.1f} {with_recorder:12.1f} {cost:17.1f}")
        for name in PINGPONG:
            ratios = [with_it / bare for bare, with_it in zip(plain[name], recorded[name], strict=True)]
            print(
                f"{mpi.name:12} {name}: recorded against bare {statistics.median(ratios):.2f}"
                f" (from {min(ratios):.2f} to {max(ratios):.2f} in {runs} pairs of runs)"
            )
    worst = max(costs, key=costs.__getitem__)
    print(f"largest cost: {costs[worst]:.1f} ns per recorded call, of {worst}; at most {MOST_NS:.0f} allowed")
    return 0 if costs[worst] <= MOST_NS else 1


if __name__ == "__main__":
    sys.exit(main())
