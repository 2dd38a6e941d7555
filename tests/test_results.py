# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The result tables against their specification."""

import re
from pathlib import Path

import polars as pl

from matchbench import columns

SPECIFICATION = Path(__file__).parents[1] / "spec" / "results.md"
TYPES = {"str": pl.String(), "bool": pl.Boolean(), "i64": pl.Int64(), "f64": pl.Float64()}


def specified() -> dict[str, list[tuple[str, pl.DataType, str, str]]]:
    """Read name, type, unit and meaning of every column of every table from the specification."""
    tables: dict[str, list[tuple[str, pl.DataType, str, str]]] = {}
    table = None
    for line in SPECIFICATION.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = re.fullmatch(r"## \d+\. `(\w+)`", line)
            table = tables.setdefault(heading[1], []) if heading else None
        elif table is not None and (row := re.fullmatch(r"\| `(\w+)` \| (\w+) \|(.*)\| (.+) \|", line)):
            table.append((row[1], TYPES[row[2]], row[3].strip(), row[4]))
    return tables


def test_every_column_is_in_the_specification() -> None:
    written = {table: list(schema.items()) for table, schema in columns.TABLES.items()}
    assert written == {table: [row[:2] for row in rows] for table, rows in specified().items()}


def test_a_time_says_so_in_its_name() -> None:
    for rows in specified().values():
        for name, _, unit, _ in rows:
            assert name.endswith("_ns") == (unit == "ns"), name
