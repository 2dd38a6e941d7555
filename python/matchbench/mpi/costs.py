# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a list in software costs by a result of `matchbench mpi bench`: settings of the engine `linear`.

The result is read as `spec/mpi-bench.md` describes it; its straight line is that of the posted receives.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matchbench._native import MatchbenchError

PRESETS = {"linear:software": "entry_l1_ns", "linear:software_l2": "entry_l2_ns"}
"""Engine presets that take their costs from a result, and the cost per entry that each takes."""

Cost = tuple[str, str, str]
"""Setting, value, and how it was measured."""


def software_costs(path: Path, labels: Sequence[str]) -> dict[str, list[Cost]]:
    """Give the measured settings of those engine presets that take them from a result.

    Parameters
    ----------
    path
        The result, or the directory that holds it.
    labels
        Engine presets that are compared, each `engine:preset`.

    Returns
    -------
    dict
        Settings by engine preset.

    Raises
    ------
    MatchbenchError
        When the result cannot be read or lacks a cost, or no engine preset of `labels` takes one.
    """
    # Reading needs numpy, which an import of the package would otherwise wait for.
    from matchbench.mpi.results import FILE, read

    path = path / FILE if path.is_dir() else path
    wanted = [label for label in PRESETS if label in labels]
    if not wanted:
        msg = f"{path}: no engine that is compared takes its costs from it; these do: {', '.join(PRESETS)}"
        raise MatchbenchError(msg)
    result = read(path)
    posted = _member(path, result, "costs", "posted")
    operation = _cost(path, posted, "operation_ns")
    return {
        label: [
            ("entry", _cost(path, posted, PRESETS[label]), _how(path, result, f"`{PRESETS[label]}`")),
            ("operation", operation, _how(path, result, "`operation_ns`")),
            (
                "placement",
                "host",
                _how(path, result, "taken as host: times do not tell the calling processor from a NIC"),
            ),
        ]
        for label in wanted
    }


def _member(path: Path, result: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Give the object under `keys`."""
    found: object = result
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        series = ": the series `preposted/tags` and `unexpected/tags` were not measured" * (
            keys[0] == "costs"
        )
        msg = f"{path}: `{'.'.join(keys)}` is missing{series}"
        raise MatchbenchError(msg)
    return found


def _cost(path: Path, costs: Mapping[str, Any], key: str) -> str:
    """Give a cost as a setting is written: nanoseconds, to the picosecond."""
    value = costs.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        msg = f"{path}: `costs.posted.{key}`: found {value!r}, expected nanoseconds from 0 on"
        raise MatchbenchError(msg)
    return f"{value:.3f}"


def _how(path: Path, result: Mapping[str, Any], what: str) -> str:
    """Say what was measured on what: library and transport, processor and host, day and file."""
    mpi, place = _member(path, result, "mpi"), _member(path, result, "place")
    hosts = place.get("hosts")
    host = hosts[-1] if isinstance(hosts, list) and hosts else None
    words = {
        "mpi.name": mpi.get("name"),
        "mpi.transport": mpi.get("transport"),
        "place.cpu": place.get("cpu"),
        "place.hosts": host,
        "date": result.get("date"),
    }
    for key, word in words.items():
        if not isinstance(word, str) or not word:
            msg = f"{path}: `{key}`: found {word!r}, expected text"
            raise MatchbenchError(msg)
    name, transport, cpu, host, date = words.values()
    return f"{name} over {transport} on {cpu} ({host}), {date}: {what}; {path}"
