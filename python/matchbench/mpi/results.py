# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes and reads results of `matchbench mpi bench` (`spec/mpi-bench.md`)."""

import csv
import datetime as dt
import io
import math
import os
import reprlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from matchbench._native import MatchbenchError, revision, version
from matchbench.display.output import csv_text, json_rows, write_file
from matchbench.input import read_json, read_text
from matchbench.mpi.bench import Measurement, Series, library_name, short_name, transport
from matchbench.mpi.curves import Curve
from matchbench.mpi.structure import statements

FORMAT = "matchbench-mpi-bench"
VERSION = 1
FILE = "mpi-bench.json"
"""Name of the file with all results, which marks a directory of results."""

ROWS = {
    "name": str,
    "kind": str,
    "pattern": str,
    "depth": int,
    "ns_median": float,
    "ns_q1": float,
    "ns_q3": float,
    "repetitions": int,
    "operations": int,
}
"""Columns of a row and their types; `operations` may be missing in rows of other programs."""

_SMALL_NS = 3  # decimals of a time

Row = dict[str, Any]
"""One row: the columns of `ROWS`."""


def document(measurement: Measurement, *, label: str | None = None, now: dt.datetime) -> dict[str, Any]:
    """Make the object that `spec/mpi-bench.md` specifies.

    Parameters
    ----------
    measurement
        The measurement.
    label
        A short name; by default name and transport of the library.
    now
        The end of the measurement.
    """
    hello, plan = measurement.hello, measurement.plan
    name = library_name(hello.library)
    label = label or short_name(hello)
    curves = {series.name: curve for series in measurement.series if (curve := series.curve)}
    drains = {
        series.name: {point.depth: point.ns_median for point in series.points}
        for series in measurement.series
        if series.kind.startswith("drain")
    }
    spreads = {series.name: _spread(series) for series in measurement.series}
    return {
        "format": FORMAT,
        "version": VERSION,
        "date": now.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "matchbench": {"version": version(), "revision": revision()},
        "label": label,
        "mpi": {
            "name": name,
            "library": hello.library,
            "standard": hello.standard,
            "transport": transport(hello),
            "libraries": list(hello.libraries),
            "components": list(hello.components),
            "environment": list(hello.environment),
            "compiler": measurement.mpi.compiler,
            "launcher": list(measurement.mpi.launcher),
        },
        "place": {
            "hosts": list(hello.hosts),
            "cpu": hello.cpu,
            "pinned": list(hello.pinned),
            "pinned_by": hello.pinned_by,
            "clock_ns": hello.clock_ns,
            "load": round(os.getloadavg()[1], 1),
        },
        "plan": {
            "depths": list(plan.depths),
            "sweeps": plan.sweeps,
            "budget_us": plan.budget_us,
            "source_ranks": plan.source_ranks,
            "series": list(plan.series),
        },
        "rows": [
            {"name": label, "kind": series.kind, "pattern": series.pattern, **_rounded(asdict(point))}
            for series in measurement.series
            for point in series.points
        ],
        "curves": [
            {"kind": kind, "pattern": pattern, **_rounded(asdict(curve))}
            for (kind, _, pattern), curve in ((name.partition("/"), curve) for name, curve in curves.items())
        ],
        "costs": {
            "posted": costs(curves.get("preposted/tags"), curves.get("unexpected/tags")),
            "unexpected": costs(curves.get("unexpected/tags"), curves.get("unexpected/tags")),
        },
        "memory": [
            {
                "what": what,
                "items": memory.items,
                "bytes_per_item": (memory.full - memory.before) / memory.items,
                "kept_share": _share(memory.after - memory.before, memory.full - memory.before),
            }
            for what, memory in measurement.memory.items()
        ],
        "structure": statements(curves, drains, spreads),
        "remarks": dict(measurement.remarks),
    }


def _spread(series: Series) -> float:
    """Give the upper quartile of the spread over depths: half the interquartile range over the median."""
    at_depths = [
        (each.ns_q3 - each.ns_q1) / 2 / each.ns_median for each in series.points if each.ns_median > 0
    ]
    return float(np.quantile(at_depths, 0.75)) if at_depths else 0.0


def costs(curve: Curve | None, received: Curve | None) -> dict[str, float] | None:
    """Give cost per entry and per operation of a list; None when a depth that they need is missing.

    Parameters
    ----------
    curve
        Distinct tags ahead, posted or unexpected.
    received
        The curve whose base is an operation's fixed time.
    """
    if curve is None or received is None or curve.entry_l1_ns is None or curve.entry_l2_ns is None:
        return None
    return {
        "entry_l1_ns": round(max(curve.entry_l1_ns, 0.0), _SMALL_NS),
        "entry_l2_ns": round(max(curve.entry_l2_ns, 0.0), _SMALL_NS),
        "operation_ns": round(received.base_ns, _SMALL_NS),
    }


def write(directory: Path, whole: Mapping[str, Any]) -> None:
    """Write `mpi-bench.json` and `rows.csv`."""
    write_file(directory / FILE, json_rows(whole))
    rows = [[row[column] for column in ROWS] for row in whole["rows"]]
    write_file(directory / "rows.csv", csv_text([list(ROWS), *rows]))


def read(path: Path) -> dict[str, Any]:
    """Read results.

    Parameters
    ----------
    path
        The directory of a measurement, or its `mpi-bench.json`.

    Raises
    ------
    MatchbenchError
        When the file is missing or has another format.
    """
    path = path / FILE if path.is_dir() else path
    whole = read_json(path, "a result of `matchbench mpi bench`")
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        msg = f"{path}: found another kind of file, expected a result of `matchbench mpi bench`"
        raise MatchbenchError(msg)
    if not isinstance(whole.get("version"), int) or not 1 <= whole["version"] <= VERSION:
        found = whole.get("version")
        msg = f"{path}: found version {found!r}, expected 1 to {VERSION}; use a newer matchbench"
        raise MatchbenchError(msg)
    rows = whole.get("rows")
    if not isinstance(rows, list):
        msg = f"{path}: `rows`: found {reprlib.repr(rows)}, expected a list"
        raise MatchbenchError(msg)
    whole["rows"] = [_row(row, f"{path}: row {at}") for at, row in enumerate(rows, 1)]
    return whole


def read_rows(path: Path) -> list[Row]:
    """Read rows alone, from results or from a CSV file of the same columns.

    Raises
    ------
    MatchbenchError
        When the file is missing or has another format.
    """
    if path.suffix.lower() != ".csv":
        rows: list[Row] = read(path)["rows"]
        return rows
    file = io.StringIO(read_text(path, "the rows of `mpi bench`"), newline="")
    try:
        rows = [_row(row, f"{path}: line {at}") for at, row in enumerate(csv.DictReader(file), 2)]
    except csv.Error as error:
        msg = f"{path}: found text that is not CSV ({error}), expected the rows of `mpi bench`"
        raise MatchbenchError(msg) from error
    if not rows:
        msg = f"{path}: found no rows, expected those of `mpi bench`"
        raise MatchbenchError(msg)
    return rows


def _row(row: object, where: str) -> Row:
    """Check a row's columns and types; numbers may be text, as in CSV."""
    if not isinstance(row, dict):
        msg = f"{where}: found {reprlib.repr(row)}, expected an object"
        raise MatchbenchError(msg)
    checked: Row = {}
    for column, kind in ROWS.items():
        value = row.get(column, 0 if column == "operations" else None)
        try:
            if kind is str and not isinstance(value, str):
                raise TypeError
            checked[column] = kind(value)
            if kind is not str and not (math.isfinite(checked[column]) and checked[column] >= 0):
                raise ValueError
        except (TypeError, ValueError, OverflowError) as error:
            msg = f"{where}: `{column}`: found {value!r}, expected {_NAMES[kind]}"
            raise MatchbenchError(msg) from error
    return checked


_NAMES: Mapping[type, str] = {str: "text", int: "a whole number", float: "a time in nanoseconds"}


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: round(value, _SMALL_NS) if isinstance(value, float) else value for key, value in values.items()
    }


def _share(part: int, whole: int) -> float | None:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else None
