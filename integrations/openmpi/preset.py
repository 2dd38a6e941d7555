#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes a preset of the engine `measured` from a result of `matchbench mpi bench`, to standard output.

Usage: `preset.py RESULT WALK`, where WALK is `peer` for a library that divides its lists by sender, otherwise
`all`.
"""

import json
import sys
from pathlib import Path
from typing import Any

RANGES = (
    ("l1", "entry_l1_ns", "64 to 256 entries"),
    ("l2", "entry_l2_ns", "1024 to 4096 entries"),
    ("deep", "entry_deep_ns", "16384 entries"),
)
SERIES = {"posted": "preposted/tags", "unexpected": "unexpected/tags"}
WALKS = {
    "peer": "other senders and communicators are flat in the result, receives from any source are not",
    "all": "one queue for each communicator; the cost of an entry is that of any entry",
}


def line(key: str, value: str, note: str) -> str:
    """Give a line of a preset."""
    return f'{key} = {{ value = "{value}", source = "measured", note = {json.dumps(note)} }}'


def preset(path: Path, walk: str) -> str:
    """Give the text of a preset."""
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    mpi, place = whole["mpi"], whole["place"]
    oversubscribed = len({*place["pinned"]}) < 2 or -1 in place["pinned"]
    how = (
        f"{whole['label']} over {mpi['transport']}, two ranks on "
        f"{'processors that they may share' if oversubscribed else 'a processor each, not oversubscribed'}, "
        f"{place['cpu']}, {whole['date'][:10]}, {path.parent.parent.name}/{path.parent.name}/{path.name}"
    )
    curves = {f"{curve['kind']}/{curve['pattern']}": curve for curve in whole["curves"]}
    base = curves[SERIES["unexpected"]]["base_ns"]
    lines = [
        "# Written by integrations/openmpi/preset.py.",
        line("operation", f"{base:.3f}", f"MPI_Recv of the only message that has arrived; {how}"),
    ]
    for name, series in SERIES.items():
        for key, entry, depths in RANGES:
            value = max(curves[series][entry], 0.0)
            lines.append(
                line(f"{name}_{key}", f"{value:.3f}", f"{series}, (t(D) - t(0)) / D, {depths}; {how}")
            )
    lines.append(line("walk", walk, WALKS[walk]))
    lines.append(line("placement", "host", "the library matches on the calling processor"))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in WALKS:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    print(preset(Path(sys.argv[1]), sys.argv[2]), end="")
