# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs that communicate the same in two forms get the same answer, from recordings under both MPIs.

Receives become matched probes, waits become loops of tests. The library's own queue lengths are compared with
those of the trace and of its replay.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

import matchbench as mb
from matchbench.compare.thresholds import MATTERS
from tests import shared
from tests.conftest import Command
from tests.test_record import AS_ROOT, LAUNCHERS

HERE = Path(__file__).parent / "equivalence"
EXAMPLES = Path(__file__).parents[1] / "examples" / "mpi"
FORMS = {"recv": (), "probe": ("-DBY=PROBE",), "poll": ("-DBY=POLL",)}
MPIS = [pytest.param(name, id=name) for name in LAUNCHERS]

SMALL = {"cg": ["--nx", "4", "--ny", "4", "--nz", "4", "--springs", "12"], "tasks": ["--size", "64"]}

pytestmark = pytest.mark.usefixtures("sleeping_ranks")


@cache
def _program(mpi: str, form: str, source: Path, *options: str) -> Path:
    """Compile a program whose blocking receives have this form, once for the tests of this file."""
    path = shared.BUILT / "equivalence" / f"{source.stem}-{mpi}-{form}"
    path.parent.mkdir(parents=True, exist_ok=True)
    include = ["-include", str(HERE / "receive.h")]
    words = [f"mpicc.{mpi}", "-O1", *FORMS[form], *include, "-o", str(path), str(source), *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path


def _recorded(matchbench: Command, folder: Path, mpi: str, ranks: int, *words: str | Path) -> mb.Trace:
    done = matchbench("record", "-o", folder, "--", *LAUNCHERS[mpi], "-n", str(ranks), *words, **AS_ROOT)
    assert done.returncode == 0, done.stderr
    return mb.Trace.open(folder)


def _row(trace: mb.Trace, *, recorded_polls: bool = False) -> dict[str, float]:
    """Replay a trace on the reference engine, and give its row and the time without matching."""
    config = mb.ReplayConfig(recorded_polls=recorded_polls)
    rows = mb.compare(trace, ["linear:software"], config=config).results.filter(engine="linear")
    row = rows.row(0, named=True)
    return {**row, "bare_ns": row["time_ns"] / row["slowdown"], "cost": 1 - 1 / row["slowdown"]}


@pytest.mark.parametrize("mpi", MPIS)
def test_a_storm_costs_the_same_by_receives_and_by_matched_probes(
    matchbench: Command, tmp_path: Path, mpi: str
) -> None:
    rows = {}
    for form in FORMS:
        program = _program(mpi, form, HERE / "programs.c")
        trace = _recorded(matchbench, tmp_path / form, mpi, 2, program, "storm")
        total = trace.stats().total
        assert (total["sent"], total["received"], total["receives"]) == (600, 600, 600), form
        assert total["matched_probes"] == (0 if form == "recv" else 600), form
        # Every message is there when the first is taken: the k-th taken is the last of those left.
        assert (total["unexpected_depth_mean"], total["unexpected_depth_max"]) == (300.5, 600), form
        rows[form] = _row(trace)
    wanted = rows["recv"]
    for form, row in rows.items():
        # A receive of the barrier, whose message came last, passes all of them too.
        assert row["visits_max"] in {600, 601}, form
        for column in ("matches", "match_latency_mean_ns", "match_latency_p99_ns", "match_latency_max_ns"):
            # Messages of the barrier find each other at once or wait for each other, as they come.
            assert row[column] == pytest.approx(wanted[column], rel=0.02), (form, column)
        assert row["blocked_on_matching_ns"] == pytest.approx(wanted["blocked_on_matching_ns"], rel=0.02), (
            form
        )
        assert row["cost"] > 10 * MATTERS, form


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("name", ["farm", "pipeline", "cg", "tasks"])
def test_a_program_has_the_same_matches_in_both_forms(
    matchbench: Command, tmp_path: Path, mpi: str, name: str
) -> None:
    found = {}
    for form in ("recv", "probe"):
        words: list[str | Path]
        if name in ("cg", "tasks"):
            words = [_program(mpi, form, EXAMPLES / f"{name}.c", f"-I{EXAMPLES}", "-lm"), *SMALL[name]]
        else:
            words = [_program(mpi, form, HERE / "programs.c"), name]
        trace = _recorded(matchbench, tmp_path / form, mpi, 3, *words)
        total = trace.stats().total
        assert (
            total["receives"] - total["unfinished"] - total["cancelled"] == total["received"] == total["sent"]
        )
        row = _row(trace)
        found[form] = (
            total["sent"],
            total["sent_bytes"],
            total["receives"],
            row["never_received"],
            row["matches"],
        )
        assert (total["matched_probes"] > 0) == (form == "probe")
    assert found["probe"] == found["recv"]


@pytest.mark.parametrize("mpi", MPIS)
def test_a_loop_of_tests_is_replayed_as_a_wait(matchbench: Command, tmp_path: Path, mpi: str) -> None:
    program = _program(mpi, "recv", HERE / "programs.c")
    traces = {
        form: [_recorded(matchbench, tmp_path / f"{form}{run}", mpi, 2, program, form) for run in range(3)]
        for form in ("wait", "poll")
    }
    assert all(trace.stats().total["test_misses"] > 0 for trace in traces["poll"])
    bare_ns = {form: [_row(trace)["bare_ns"] for trace in of] for form, of in traces.items()}
    # Intervals of three recordings, each widened by half: other tests run on the same processors.
    assert min(bare_ns["poll"]) < 1.5 * max(bare_ns["wait"]), bare_ns
    assert min(bare_ns["wait"]) < 1.5 * max(bare_ns["poll"]), bare_ns
    for trace in traces["poll"]:
        row = _row(trace)
        misses = trace.stats().total["test_misses"]
        assert row["polls_waiting"] + row["polls_recorded"] == misses
        # A rank that is interrupted between two polls seems to work there.
        assert row["polls_recorded"] <= 2 + misses / 20
        assert row["bare_ns"] <= _row(trace, recorded_polls=True)["bare_ns"]


def test_the_queues_of_a_trace_are_those_that_the_library_counts(matchbench: Command, tmp_path: Path) -> None:
    program = _program("openmpi", "recv", HERE / "programs.c")
    done = matchbench(
        *(
            "record",
            "-o",
            "t",
            "--",
            *LAUNCHERS["openmpi"],
            "--mca",
            "pml",
            "ob1",
            "-n",
            "2",
            program,
            "queues",
        ),
        **AS_ROOT,
    )
    assert "37 unexpected, 23 posted" in done.stdout, done.stdout + done.stderr
    trace = mb.Trace.open(tmp_path / "t")
    of_rank_0 = trace.stats().ranks.row(0, named=True)
    assert (of_rank_0["unexpected_max"], of_rank_0["posted_max"]) == (37, 23)
    rows = mb.compare(trace, ["linear:software"]).ranks.filter(engine="linear", rank=0)
    assert rows.select("unexpected_max", "posted_max").row(0) == (37, 23)
