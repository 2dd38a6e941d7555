# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of two programs of moped/programs on chips of 4 to 64 cores; README.md has question and answer.

usage: cores.py [--list] [--only STUDY] [--match TEXT] [--minutes N] [--again] [--check] [--build DIR]
       cores.py --figure FILE

The first form is that of studies/gu2011_figures/measure.py, for the runs of this study and its runs.csv. The
second one draws them and prints the tables of README.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

from matchbench.display.plots import save

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "gu2011_figures"))

import measure  # noqa: E402 - beside the other study

TABLE = HERE / "runs.csv"
CORES = (4, 8, 16, 32, 64)
TRANSPORTS = {"shm": "unmodified MPI", "optcopy": "OPTCOPY", "optcache": "OPTCACHE"}
WINDOW = 8
STEPS = 3
LENGTHS = {64: 10, 4096: 2}
"""Bytes of a message of `rate` -> iterations."""

Rows = dict[tuple[str, ...], dict[str, str]]


def rate(length: int, cores: int, transport: str) -> measure.ChipRun:
    """Return a run in which the halves of the chip exchange messages."""
    words = f"{length} {WINDOW} {LENGTHS[length]}"
    return small(measure.ChipRun(study="rate", program="rate", arguments=words), cores, transport)


def kernel(cores: int, transport: str) -> measure.ChipRun:
    """Return a run of steps of conjugate gradients."""
    run = measure.ChipRun(study="cg", program="cg", environment=f"MB_SAMPLE=16,{STEPS}")
    return small(run, cores, transport)


def small(run: measure.ChipRun, cores: int, transport: str) -> measure.ChipRun:
    """Return a run on a chip of cores in order, with a process on each.

    The programs go round the buffers that they use without time; those of all pairs of 64 are a GiB.
    """
    environment = f"MB_MPI_TOUCH=0 {run.environment}".strip()
    size = {"ranks": cores, "cores": cores, "core": "inorder"}
    return measure.replace(run, transport=transport, environment=environment, **size)


def plan() -> list[measure.ChipRun]:
    """Return every run; cg has 4, 16 or 64 processes."""
    each = [(cores, transport) for cores in CORES for transport in TRANSPORTS]
    rates = [rate(length, *one) for length in LENGTHS for one in each]
    return rates + [kernel(*one) for one in each if one[0] in {4, 16, 64}]


def cycles(rows: Rows, run: measure.ChipRun) -> int | None:
    """Return the cycles of a run, None if it was not made."""
    row = rows.get(tuple(map(str, measure.astuple(run))))
    return None if row is None else int(row["cycles"])


def rates(rows: Rows, length: int) -> dict[str, list[tuple[int, float]]]:
    """Return messages of the whole chip in a thousand cycles, by transport: cores and rate."""
    found = {
        transport: [(cores, cycles(rows, rate(length, cores, transport))) for cores in CORES]
        for transport in TRANSPORTS
    }
    return {
        transport: [(cores, 1000 * cores * WINDOW * LENGTHS[length] / time) for cores, time in points if time]
        for transport, points in found.items()
    }


def steps(rows: Rows) -> dict[str, list[tuple[int, float]]]:
    """Return cycles of a step of conjugate gradients, by transport: cores and cycles."""
    found = {
        transport: [(cores, cycles(rows, kernel(cores, transport))) for cores in CORES]
        for transport in TRANSPORTS
    }
    return {
        transport: [(cores, time / STEPS) for cores, time in points if time]
        for transport, points in found.items()
    }


def draw(rows: Rows, file: Path) -> None:
    """Draw the figure and print the tables."""
    panels = [
        *((f"{length} bytes", "messages in 1000 cycles", rates(rows, length)) for length in LENGTHS),
        ("conjugate gradients", "cycles of a step", steps(rows)),
    ]
    # What was not run is left out.
    panels = [panel for panel in panels if all(panel[2].values())]
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    for axes, (title, label, series) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        for (transport, name), marker in zip(TRANSPORTS.items(), "osx", strict=True):
            axes.plot(*zip(*series[transport], strict=True), marker=marker, label=name, alpha=0.8)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(CORES, [str(cores) for cores in CORES])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "235" else "")
        axes.set(title=title, xlabel="cores", ylabel=label)
        axes.grid(visible=True, which="both", alpha=0.3)
        print(f"\n{title}, {label}\n")
        print("| cores | " + " | ".join(TRANSPORTS.values()) + " |")
        print("|---:" * (len(TRANSPORTS) + 1) + "|")
        for cores in CORES:
            points = [dict(series[transport]).get(cores) for transport in TRANSPORTS]
            if any(points):
                print(
                    f"| {cores} | "
                    + " | ".join(f"{point:.4g}" if point else "not run" for point in points)
                    + " |"
                )
    figure.axes[0].legend()
    save(figure, file.parent, file.stem)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--figure"] and len(sys.argv) == 3:
        draw(measure.read(TABLE), Path(sys.argv[2]))
        sys.exit(0)
    sys.exit(measure.main(plan(), TABLE, __doc__))
