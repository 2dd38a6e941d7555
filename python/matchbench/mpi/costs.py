# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Parameters of the engine `linear` from a result of `matchbench mpi bench` (`spec/mpi-bench.md`).

The costs are those of the posted receives.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matchbench._native import MatchbenchError

PRESETS = {"linear:software": "entry_l1_ns", "linear:software_l2": "entry_l2_ns"}
"""Engine presets that take their costs from a result, each with its cost per entry."""

Cost = tuple[str, str, str]
"""Parameter, value, and how it was measured."""


def software_costs(path: Path, labels: Sequence[str]) -> dict[str, list[Cost]]:
    """Read the measured parameters of the engine presets that take them from a result.

    Parameters
    ----------
    path
        The result, or the directory that holds it.
    labels
        Engine presets that are compared, each `engine:preset`.

    Returns
    -------
    dict
        Parameters by engine preset.

    Raises
    ------
    MatchbenchError
        When the result cannot be read or lacks a cost, or no engine preset of `labels` takes one.
    """
    # Imported here because numpy slows the import of the package.
    from matchbench.mpi.results import FILE, read

    path = path / FILE if path.is_dir() else path
    wanted = [label for label in PRESETS if label in labels]
    if not wanted:
        known = ", ".join(PRESETS)
        msg = f"{path}: found no engine that takes costs from it; expected one of: {known}"
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
                _how(
                    path, result, "taken as host: times do not distinguish the calling processor from a NIC"
                ),
            ),
        ]
        for label in wanted
    }


def _member(path: Path, result: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Give the object at the path `keys`."""
    found: object = result
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        series = "; measure the series `preposted/tags` and `unexpected/tags`" if keys[0] == "costs" else ""
        msg = f"{path}: found no `{'.'.join(keys)}`{series}"
        raise MatchbenchError(msg)
    return found


def _cost(path: Path, costs: Mapping[str, Any], key: str) -> str:
    """Format a cost as a parameter: nanoseconds, to the picosecond."""
    value = costs.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        msg = f"{path}: `costs.posted.{key}`: found {value!r}, expected nanoseconds, 0 or more"
        raise MatchbenchError(msg)
    return f"{value:.3f}"


def _how(path: Path, result: Mapping[str, Any], what: str) -> str:
    """Describe the measurement: library and transport, processor and host, date and file."""
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
