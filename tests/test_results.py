# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The result tables and their specification, which is generated from the columns."""

from pathlib import Path

import pytest

import matchbench as mb
from matchbench import _native
from matchbench.compare.columns import COLUMNS, SIZING, STATS
from matchbench.compare.results_page import render

SPECIFICATION = Path(__file__).parents[1] / "spec" / "results.md"


def test_the_specification_is_generated_from_the_columns() -> None:
    page = SPECIFICATION.read_text(encoding="utf-8")
    assert render(page) == page, "spec/results.md is stale; run `make gen`"


def test_a_column_that_rust_declares_is_in_its_tables() -> None:
    declared = {table: [name for name, *_ in found] for table, found in _native.result_columns().items()}
    page = {**COLUMNS, **{f"sizing_{name}": table for name, table in SIZING.items()}, "stats": STATS}
    renamed = {
        "total": "results",
        "watched": "queues",
        "measured_on": "measured",
        "measured_kinds": "measured",
    }
    for table, names in declared.items():
        assert [name for name in page[renamed.get(table, table)] if name in names] == names, table


def test_a_stale_table_is_rewritten() -> None:
    page = SPECIFICATION.read_text(encoding="utf-8")
    assert render(page.replace("| `visits` | i64 |", "| `visits` | f64 |")) == page


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    page = SPECIFICATION.read_text(encoding="utf-8")
    with pytest.raises(mb.MatchbenchError, match=r"^spec/results.md: found places for the tables results, "):
        render(page.replace("columns.py: ranks -->", "columns.py: rank -->"))


def test_the_statistics_of_a_trace_are_those_of_the_specification(deep: mb.Trace) -> None:
    stats = deep.stats()
    assert list(stats.total) == list(STATS)
    assert stats.ranks.columns == ["rank", *STATS]
    for name, column in STATS.items():
        assert stats.ranks.schema[name] == column.type, name


def test_statistics_print_their_size(deep: mb.Trace) -> None:
    stats = deep.stats()
    assert repr(stats).startswith(f"TraceStats(2 ranks, {stats.total['sent']} messages, longest PRQ ")


def test_a_time_says_so_in_its_name() -> None:
    for columns in (*COLUMNS.values(), STATS):
        for name, column in columns.items():
            assert name.endswith("_ns") == (column.unit == "ns"), name
