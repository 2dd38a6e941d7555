# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tables of README.md, computed from runs.csv.

usage: tables.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROWS = {
    key: {name: int(value) for name, value in row.items() if value.isdigit()}
    for key, row in measure.read(measure.TABLE).items()
}
NAMES = {"shm": "unmodified MPI", "base": "BASEMOPED", "optcopy": "OPTCOPY", "optcache": "OPTCACHE"}
BENCHMARKS = ("PP", "XC", "BC", "RD", "MG", "CG", "SP", "GA", "AA", "BT", "FT")


def counts(run: measure.ChipRun) -> dict[str, int]:
    """Return the numbers of a run's row."""
    return ROWS[tuple(map(str, measure.astuple(run)))]


def time(run: measure.ChipRun) -> int:
    """Return the cycles of a run."""
    return counts(run)["cycles"]


def l1_misses(run: measure.ChipRun) -> int:
    """Return misses of cores in the L1."""
    return sum(counts(run)[f"l1_{kind}_misses"] for kind in ("load", "store", "fetch"))


def private_misses(run: measure.ChipRun) -> int:
    """Return lines from other caches, for cores and devices."""
    return counts(run)["l2_private"] + counts(run)["device_private"]


def global_misses(run: measure.ChipRun) -> int:
    """Return lines from memory, for cores and devices."""
    return counts(run)["l2_global"] + counts(run)["device_global"]


def saved(before: int, after: int) -> str:
    """Return per cent saved, a whole number with its thousands apart."""
    return f"{round(100 * (1 - after / before)):,}".replace(",", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; columns after the first are numbers."""
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def figure10(name: str, transport: str, migratory: str = "yes") -> measure.ChipRun:
    """Return the run of a pattern or kernel."""
    make = measure.imb if name in measure.PATTERNS else measure.kernel
    run = make("figure10", name if name in measure.PATTERNS else name.lower(), transport)
    return run if migratory == "yes" else replace(run, study="migratory", migratory="no")


def panels() -> None:
    """Print what each design saves of figure 10's four quantities."""
    columns = (
        *((time, design) for design in ("base", "optcopy", "optcache")),
        (l1_misses, "base"),
        *((private_misses, design) for design in ("base", "optcopy")),
        *((global_misses, design) for design in ("base", "optcopy", "optcache")),
    )
    head = ("time", "", "", "L1", "private", "", "global", "", "")
    titles = [
        f"{title}, {NAMES[design]}" if title else NAMES[design]
        for title, (_, design) in zip(head, columns, strict=True)
    ]
    table(
        ("benchmark", *titles),
        (
            (
                name,
                *(
                    saved(quantity(figure10(name, "shm")), quantity(figure10(name, design)))
                    for quantity, design in columns
                ),
            )
            for name in BENCHMARKS
        ),
    )


def migratory_rule() -> None:
    """Print misses to memory with and without the migratory read rule."""
    columns = [(rule, transport) for rule in ("yes", "no") for transport in ("shm", "base")]
    table(
        ("benchmark", "MPI", "BASEMOPED", "MPI, no rule", "BASEMOPED, no rule"),
        (
            (name, *(str(global_misses(figure10(name, transport, rule))) for rule, transport in columns))
            for name in ("PP", "XC", "BC", "RD", "GA", "AA", "CG", "MG")
        ),
    )


def large() -> None:
    """Print what the optimized designs save with messages of 1 MB, from BASEMOPED."""

    def row(pattern: str) -> tuple[str, ...]:
        base, *designs = (
            measure.imb("large", pattern, transport, length=1 << 20, iterations=1 if pattern == "BC" else 2)
            for transport in measure.DESIGNS[1:]
        )
        return (
            pattern,
            *(
                saved(quantity(base), quantity(design))
                for quantity in (time, global_misses)
                for design in designs
            ),
        )

    table(
        ("pattern", "time, OPTCOPY", "OPTCACHE", "global, OPTCOPY", "OPTCACHE"), map(row, ("PP", "XC", "BC"))
    )


def changes() -> None:
    """Print the time saved under each change of `measure.bands`."""
    names = {
        "eager below 32 KB": {"eager": 32768},
        "cores in order": {"core": "inorder"},
        "buffers aligned to lines": {"environment": "MB_OFFSETS=0,0"},
        "receive buffer half a line off": {"environment": "MB_OFFSETS=0,32"},
        "buffers 8 and 40 bytes behind a line": {"environment": "MB_OFFSETS=8,40"},
        "directory 2 cycles, in place of 10": {"settings": "directory=2"},
        "directory 30 cycles": {"settings": "directory=30"},
    }

    benchmarks = ("PP", "XC", "BC", "RD", "MG", "CG", "SP")

    def run(name: str, transport: str, change: dict[str, object] | None) -> measure.ChipRun:
        judged = figure10(name, transport)
        return judged if change is None else replace(judged, study="bands", **change)

    def row(name: str, design: str, change: dict[str, object] | None) -> tuple[str, ...]:
        def cell(benchmark: str) -> str:
            # The programs of kernels place their buffers themselves.
            if change is not None and "environment" in change and benchmark not in measure.PATTERNS:
                return "-"
            return saved(time(run(benchmark, "shm", change)), time(run(benchmark, design, change)))

        return (name, *map(cell, benchmarks))

    for design in ("base", "optcopy"):
        rows = [
            row("as judged", design, None),
            *(row(name, design, change) for name, change in names.items()),
        ]
        table((f"change, {NAMES[design]}", *benchmarks), rows)


def overlap() -> None:
    """Print how much of the messages' time computation hides."""

    def row(transport: str) -> tuple[str, ...]:
        both, move, compute = (time(run) for run in measure.overlap() if run.transport == transport)
        hidden = (move + compute - both) / move
        return (NAMES[transport], str(move), str(compute), str(both), f"{100 * hidden:.0f} %")

    table(
        ("transport", "messages alone", "computation alone", "both", "messages hidden"),
        map(row, measure.DESIGNS[:3]),
    )


def cores() -> None:
    """Print exchanges of all pairs on 4 and 16 cores."""

    def row(n: int) -> tuple[str, ...]:
        found = [time(run) for run in measure.numbers_of_cores() if run.cores == n]
        return (str(n), *map(str, found), f"{saved(found[0], found[2])} %")

    table(
        ("cores", *(NAMES[transport] for transport in measure.DESIGNS[:3]), "OPTCOPY saves"),
        map(row, (4, 16)),
    )


def active() -> None:
    """Print cycles with more active matches, and with more lines."""
    variations = ("", "moped.active=2", "moped.lines=8", "moped.active=2 moped.lines=8", "moped.lines=16")

    def cell(pattern: str, settings: str) -> str:
        run = measure.imb("active" if settings else "figure10", pattern, "optcopy")
        key = tuple(map(str, measure.astuple(replace(run, settings=settings))))
        return str(ROWS[key]["cycles"]) if key in ROWS else ""

    rows = (
        (pattern, *(cell(pattern, settings) for settings in variations))
        for pattern in ("PP", "XC", "BC", "GA", "AA")
    )
    table(("pattern", "1, 4 lines", "2, 4 lines", "1, 8 lines", "2, 8 lines", "1, 16 lines"), rows)


def into_the_l1() -> None:
    """Print cycles with received lines in the L2 and in the L1."""
    runs = measure.into_the_l1()
    pairs = zip(runs[::2], runs[1::2], strict=True)
    table(
        ("pattern", "L2", "L1"),
        ((second.arguments.split()[0], str(time(second)), str(time(first))) for second, first in pairs),
    )


if __name__ == "__main__":
    for part in (panels, migratory_rule, large, changes, overlap, cores, active, into_the_l1):
        part()
