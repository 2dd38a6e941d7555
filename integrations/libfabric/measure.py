#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Times a tagged message by depth with the unmodified libfabric and with the one on mbmatch, alternately.

usage: measure.py BUILD RESULTS [RUNS]

Writes ``RESULTS/depth.csv`` with the columns receives, kind, depth, library, run, ns, and prints for each
kind and depth the medians in nanoseconds and the median of the ratios of paired runs, with its 95 % interval
(order statistics). Times are processor time (tests/depth.c).
Exit status: 0, or 2 if BUILD is not the output of build.sh, or RESULTS not that of check.sh.
"""

import csv
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

DEPTHS = [0, 1, 2, 4, 8, 64, 256, 1024, 4096]
#: The receives of MPICH and Open MPI ignore bits of their protocols.
RECEIVES = {
    "any source": [],
    "named source": ["--directed"],
    "an MPI's": ["--directed", "--ignore", "0xc000000000000000"],
}
LIBRARIES = ("plain", "mbmatch")
TIME_LIMIT_S = 600


def run(build: Path, results: Path, library: str, arguments: list[str]) -> dict[tuple[str, int], float]:
    """Run ``depth`` once; return nanoseconds by kind and depth."""
    done = subprocess.run(
        [results / "bin" / "depth", *arguments, *map(str, DEPTHS)],
        env=os.environ | {"LD_LIBRARY_PATH": str(build / library / "lib")},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=True,
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return {(kind, int(depth)): float(ns) for kind, depth, ns in rows}


def interval(values: list[float]) -> tuple[float, float]:
    """Return order statistics that enclose the median with at least 95 %; the extremes of a few."""
    ordered, count = sorted(values), len(values)
    for out in range(count // 2, -1, -1):
        outside = 2 * sum(math.comb(count, k) for k in range(out)) / 2**count
        if outside <= 0.05:
            return ordered[max(out - 1, 0)], ordered[count - max(out, 1)]
    return ordered[0], ordered[-1]


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    if len(arguments) not in (2, 3):
        print("usage: measure.py BUILD RESULTS [RUNS]", file=sys.stderr)
        return 2
    build, results = Path(arguments[0]), Path(arguments[1])
    runs = int(arguments[2]) if len(arguments) == 3 else 20
    rows = []
    for number in range(runs):
        for receives, options in RECEIVES.items():
            # The library that runs first changes, so that a drift of the machine falls on both.
            for library in LIBRARIES if number % 2 else reversed(LIBRARIES):
                try:
                    times = run(build, results, library, options)
                except (OSError, subprocess.SubprocessError) as error:
                    output = getattr(error, "stderr", None) or ""
                    print(
                        f"measure.py: the run of {library} failed: {error} {output}".rstrip(), file=sys.stderr
                    )
                    return 2
                rows += [(receives, kind, depth, library, number, ns) for (kind, depth), ns in times.items()]
    with (results / "depth.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["receives", "kind", "depth", "library", "run", "ns"])
        writer.writerows(rows)
    print(f"{'receives':13} {'kind':8} {'depth':>5} {'plain':>8} {'mbmatch':>8} {'ratio':>6}  95 %")
    for receives, kind, depth in dict.fromkeys(row[:3] for row in rows):
        ns = {
            library: [row[5] for row in rows if row[:4] == (receives, kind, depth, library)]
            for library in LIBRARIES
        }
        ratios = [after / before for before, after in zip(ns["plain"], ns["mbmatch"], strict=True)]
        low, high = interval(ratios)
        medians = [statistics.median(ns[library]) for library in LIBRARIES]
        print(
            f"{receives:13} {kind:8} {depth:5} {medians[0]:8.1f} {medians[1]:8.1f} "
            f"{statistics.median(ratios):6.2f}  {low:.2f} to {high:.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
