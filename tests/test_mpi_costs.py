# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The engine `linear` with costs from a stored result of `matchbench mpi bench`."""

import json
from pathlib import Path
from typing import Any

import pytest

import matchbench as mb

POSTED = {"entry_l1_ns": 1.23456, "entry_l2_ns": 4, "operation_ns": 55.5}


def result(**changes: Any) -> dict[str, Any]:
    """Make the part of a result that costs are read from."""
    whole = {
        "format": "matchbench-mpi-bench",
        "version": 1,
        "date": "2026-01-31T12:00:00Z",
        "mpi": {"name": "Open MPI 4.1.4", "transport": "vader"},
        "place": {"hosts": ["a", "b"], "cpu": "Some Processor"},
        "rows": [],
        "costs": {"posted": POSTED, "unexpected": None},
    }
    return whole | changes


def parameters(engine: mb.Engine) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["value"], each["source"]) for each in engine.parameters()}


def test_the_software_presets_take_their_costs_from_the_result(tmp_path: Path) -> None:
    (tmp_path / "mpi-bench.json").write_text(json.dumps(result()))
    names = ["linear:software", "linear:software_l2", "linear:qsnet2"]
    l1, l2, other = mb.choose_engines(names, {"linear.placement": "nic"}, mpi_bench=tmp_path)
    assert parameters(l1) == {
        "entry": ("1.235", "measured"),
        "operation": ("55.5", "measured"),
        "placement": ("nic", "user"),
    }
    assert parameters(l2)["entry"] == ("4", "measured")
    assert [engine.changed for engine in mb.choose_engines(names, mpi_bench=tmp_path)] == [True, True, False]
    assert parameters(other)["entry"] == ("100", "paper")
    assert l1.parameters()[0]["detail"] == (
        "Open MPI 4.1.4 over vader on Some Processor (b), 2026-01-31T12:00:00Z: "
        f"`entry_l1_ns`; {tmp_path}/mpi-bench.json"
    )


def test_a_row_with_measured_costs_is_marked_and_has_no_assumption(tmp_path: Path, deep: mb.Trace) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(result()))
    chosen = mb.choose_engines(["linear:software"], mpi_bench=file)
    results = mb.compare(deep, [*chosen, "linear:software"]).results.filter(engine="linear")
    rows = {row["preset"]: row for row in results.iter_rows(named=True)}
    assert set(rows) == {"software", "software+"}
    # A model stays a model with parameters of any source.
    assert {row["timing"] for row in rows.values()} == {"simulated"}
    assert rows["software+"]["assumed_share"] == rows["software"]["assumed_share"]
    assert rows["software+"]["parameter_hash"] != rows["software"]["parameter_hash"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: "),
        ("[]", "found another kind of file, expected a result of `matchbench mpi bench`"),
        (json.dumps(result(version=2)), "found version 2, expected 1 to 1; use a newer matchbench"),
        (json.dumps(result(costs=None)), "found no `costs.posted`; measure the series `preposted/tags` and "),
        (
            json.dumps(result(costs={"posted": POSTED | {"entry_l1_ns": -1}})),
            "`costs.posted.entry_l1_ns`: found -1, expected nanoseconds, 0 or more",
        ),
        (
            json.dumps(result(costs={"posted": POSTED | {"operation_ns": None}})),
            "`costs.posted.operation_ns`: found None, expected nanoseconds, 0 or more",
        ),
        (json.dumps(result(mpi={"name": "Open MPI"})), "`mpi.transport`: found None, expected text"),
        (json.dumps(result(place=3)), "found no `place`"),
    ],
)
def test_an_invalid_result_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(text)
    with pytest.raises(mb.MatchbenchError) as error:
        mb.choose_engines(["linear:software"], mpi_bench=file)
    assert str(error.value).startswith(f"{file}: {message}")


def test_an_unused_result_and_a_missing_result_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mb.MatchbenchError) as error:
        mb.choose_engines(["linear:bgp"], mpi_bench=tmp_path / "mine.json")
    assert str(error.value) == (
        f"{tmp_path}/mine.json: found no engine that takes costs from it; "
        "expected one of: linear:software, linear:software_l2"
    )
    with pytest.raises(mb.MatchbenchError) as error:
        mb.choose_engines(mpi_bench=tmp_path / "mine.json")
    found = "found no such file, expected a result of `matchbench mpi bench`; check the path"
    assert str(error.value) == f"{tmp_path}/mine.json: {found}"
