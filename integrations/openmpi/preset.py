#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes a preset of the engine `measured` from a result of `matchbench mpi bench`, to standard output.

Usage: `preset.py RESULT WALK`, where WALK is `peer` for a library that divides its lists by sender, otherwise
`all`.
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

# The least of the deepest: a round trip of milliseconds on a busy machine contains other programs.
RANGES = (
    ("l1", 64, 256, statistics.median, "median"),
    ("l2", 1024, 4096, statistics.median, "median"),
    ("deep", 8192, 16384, min, "least"),
)
SHALLOW = 8
SERIES = {"posted": "preposted/tags", "unexpected": "unexpected/tags"}
WALKS = {
    "peer": "a list for each sender of each communicator, as docs/mpi-bench.md found for ob1",
    "all": "one queue for each communicator; the cost of an entry is that of any entry",
}


def line(key: str, value: str, note: str) -> str:
    """Give a line of a preset."""
    return f'{key} = {{ value = "{value}", source = "measured", note = {json.dumps(note)} }}'


def times(whole: dict[str, Any], series: str) -> dict[int, float]:
    """Give the times of a series by depth."""
    kind, _, pattern = series.partition("/")
    rows = (row for row in whole["rows"] if (row["kind"], row["pattern"]) == (kind, pattern))
    return {row["depth"]: row["ns_median"] for row in rows}


def base(measured: dict[int, float]) -> float:
    """Give the time with a short queue: the median of the first depths; a machine may change its speed."""
    return statistics.median(time for depth, time in measured.items() if depth <= SHALLOW)


def preset(path: Path, walk: str) -> str:
    """Give the text of a preset."""
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    mpi, place = whole["mpi"], whole["place"]
    oversubscribed = len({*place["pinned"]}) < 2 or -1 in place["pinned"]
    how = (
        f"{whole['label']} over {mpi['transport']} ({', '.join(mpi['environment'])}), two ranks on "
        f"{'processors that they may share' if oversubscribed else 'a processor each, not oversubscribed'}, "
        f"{place['cpu']}, {whole['date'][:10]}, {path.parent.parent.name}/{path.parent.name}/{path.name}"
    )
    received = base(times(whole, SERIES["unexpected"]))
    lines = [
        "# Written by integrations/openmpi/preset.py.",
        line("operation", f"{received:.3f}", f"MPI_Recv of one of at most {SHALLOW + 1} messages; {how}"),
    ]
    for name, series in SERIES.items():
        measured = times(whole, series)
        for key, low, high, of_depths, word in RANGES:
            costs = [(measured[depth] - base(measured)) / depth for depth in measured if low <= depth <= high]
            note = f"{series}, (t(D) - t(0)) / D, {word} of {low} to {high} entries; {how}"
            lines.append(line(f"{name}_{key}", f"{max(of_depths(costs), 0.0):.3f}", note))
    lines.append(line("walk", walk, WALKS[walk]))
    lines.append(line("placement", "host", "the library matches on the calling processor"))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in WALKS:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    print(preset(Path(sys.argv[1]), sys.argv[2]), end="")
