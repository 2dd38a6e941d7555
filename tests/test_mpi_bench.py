# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi bench`: a fake MPI whose times are a formula, hostile lines, and errors."""

import contextlib
import datetime as dt
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchbench as mb
from matchbench.display.written import LIST
from matchbench.mpi.bench import SERIES, Plan, library_name
from matchbench.mpi.bench_protocol import RunOutput
from matchbench.mpi.launch import Mpi, find
from matchbench.mpi.plots import figures
from matchbench.mpi.results import read, read_rows
from tests import mpi_fake
from tests.conftest import MATCHBENCH, Command, keys, make_fake_mpi

# Long enough for the start of a fake on a machine that does other work.
HANG_S = "6"
GRID = (0, *(1 << power for power in range(15)))

# ---- lines -------------------------------------------------------------------------------------------------

GOOD = [
    '{"event": "hello", "ranks": 2, "standard": "3.1", "library": "x\\u000a", "hosts": ["a", "b"], '
    '"cpu": "c", "pinned": [0, -1], "pinned_by": "nobody", "clock_ns": 20.50, "libraries": [], '
    '"components": [], "environment": ["A=b"]}',
    '{"event": "begin", "kind": "preposted", "depth": 4, "sweep": -1}',
    '{"event": "sample", "kind": "preposted", "depth": 4, "sweep": 0, "ns": 12.25, "operations": 5}',
    '{"event": "memory", "items": 4, "before": 1, "full": 2, "after": 3}',
    '{"event": "error", "ranks": 1, "text": "t"}',
    '{"event": "end"}',
]


def test_valid_lines_are_read() -> None:
    output = RunOutput()
    for line in GOOD:
        output.read(line)
    assert output.hello
    assert (output.hello.library, output.hello.pinned) == ("x\n", (0, -1))
    assert [(sample.depth, sample.ns) for sample in output.samples] == [(4, 12.25)]
    assert output.memory
    assert (output.current, output.memory.full, output.error, output.finished) == (
        ("preposted", 4, -1),
        2,
        "t",
        True,
    )


@settings(max_examples=300)
@given(line=st.sampled_from(GOOD), at=st.integers(0, 250), by=st.text(max_size=3), cut=st.integers(0, 5))
def test_a_damaged_line_is_refused_or_read_but_never_a_crash(line: str, at: int, by: str, cut: int) -> None:
    output = RunOutput()
    with contextlib.suppress(mb.MatchbenchError):
        output.read(line[:at] + by + line[at + cut :])
    for sample in output.samples:
        assert sample.ns >= 0
        assert sample.operations >= 1


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[" * 100_000,
        "null",
        '{"event": "sample"}',
        '{"event": "sample", "kind": "k", "depth": 1, "sweep": 0, "ns": NaN, "operations": 1}',
        '{"event": "sample", "kind": "k", "depth": 1, "sweep": 0, "ns": -1, "operations": 1}',
        '{"event": "sample", "kind": "k", "depth": true, "sweep": 0, "ns": 1, "operations": 1}',
        '{"event": "memory", "items": 1, "before": 1.5, "full": 2, "after": 2}',
        '{"event": "hello"}',
        '{"event": "what"}',
    ],
)
def test_hostile_lines_are_refused(line: str) -> None:
    with pytest.raises(mb.MatchbenchError, match="expected an event of its protocol"):
        RunOutput().read(line)


# ---- launching ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launcher", "words"),
    [
        ("mpirun --mca pml ucx", "mpirun --mca pml ucx -n 3 p 0,1"),
        ("jsrun -n1 -a{ranks}", "jsrun -n1 -a3 p 0,1"),
        ("sh -c 'exec run {ranks} {program}'", "sh -c exec run 3 p 0,1"),
        ("run {ranks} {program} --last", "run 3 p 0,1 --last"),
    ],
)
def test_ranks_and_program_are_substituted_in_the_launcher(launcher: str, words: str) -> None:
    mpi = Mpi(compiler="mpicc", launcher=tuple(shlex.split(launcher)), flavour="other")
    assert " ".join(mpi.command(3, ["p", "0,1"])) == words


def test_the_launcher_in_the_directory_of_the_compiler_is_used(fake_mpi: Path, tmp_path: Path) -> None:
    mpi = find(str(fake_mpi / "mpicc"))
    assert (mpi.launcher, mpi.flavour) == ((str(fake_mpi / "mpirun"),), "openmpi")
    assert mpi.crowded().launcher == (str(fake_mpi / "mpirun"), "--oversubscribe")
    assert mpi.crowded().crowded() == mpi.crowded()
    hosts = tmp_path / "hosts"
    hosts.touch()
    assert find(str(fake_mpi / "mpicc"), hostfile=hosts).launcher[1:] == ("--hostfile", str(hosts))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--mpicc", "no-such-mpicc"],
            "no-such-mpicc: found no such compiler, expected that of an MPI; "
            "name the mpicc of your MPI with --mpicc or $MPICC",
        ),
        (
            ["--mpicc", "FAKE", "--", "no-such-mpirun"],
            "no-such-mpirun: found no such program, expected a launcher such as mpirun; name one after --",
        ),
        (
            ["--mpicc", "FAKE", "--hostfile", "nowhere"],
            "nowhere: found no such file, expected a list of hosts; check the path",
        ),
        (
            ["--mpicc", "FAKE", "--hostfile", "hosts", "--", "true"],
            "true: no known option for a file of hosts; give the launcher's own option after --",
        ),
        (
            ["--mpicc", "FAKE", "--depths", "0,x"],
            "--depths: found `0,x`, expected whole numbers separated by commas "
            "(see `matchbench mpi bench --help`)",
        ),
        (
            ["--mpicc", "FAKE", "--depths", "0,99999"],
            "depths: found 0 to 99999, expected 0 to 32751: an MPI has no more distinct tags",
        ),
        (
            ["--mpicc", "FAKE", "-o", "used"],
            "used: found other files and no `mpi-bench.json` of earlier output; choose another directory",
        ),
        (
            ["--mpicc", "FAKE", "--beside", "nothing.csv"],
            "nothing.csv: found no such file, expected the rows of `mpi bench`; check the path",
        ),
        (
            ["--mpicc", "FAKE", "--beside", "nothing.csv", "--table-only"],
            "--beside: cannot be combined with --table-only; give one of them",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    fake_mpi: Path, matchbench: Command, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "hosts").touch()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    done = matchbench(
        "mpi", "bench", *(str(fake_mpi / "mpicc") if word == "FAKE" else word for word in words)
    )
    assert (done.returncode, done.stderr) == (2, f"matchbench: {message}\n")
    assert not (tmp_path / "out").exists()


def test_a_failed_build_or_start_quotes_its_output(
    fake_mpi: Path, matchbench: Command, tmp_path: Path
) -> None:
    bench = ("mpi", "bench", "--mpicc", fake_mpi / "mpicc", "--silence", HANG_S, "-o", "o")
    done = matchbench(*bench, FAKE_MPI="root")
    assert done.returncode == 2
    assert done.stderr == (
        "matchbench: preposted/tags did not start: exit status 1: "
        "mpirun has detected an attempt to run as root.; to run Open MPI as root, set "
        "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
    )
    done = matchbench(*bench, FAKE_MPI="alone")
    assert done.stderr == (
        "matchbench: preposted/tags did not start: every rank was alone in its world: "
        f"`{fake_mpi}/mpirun` is not the launcher of `{fake_mpi}/mpicc`; "
        "name both, with --mpicc and after --\n"
    )
    done = matchbench(*bench, FAKE_MPI="mute")
    assert done.stderr == "matchbench: preposted/tags did not start: no output within the time limit\n"
    (fake_mpi / "mpicc").write_text("#!/bin/sh\necho 'error: no mpi.h' >&2; exit 1\n")
    done = matchbench(*bench)
    assert done.stderr == f"matchbench: {fake_mpi}/mpicc: cannot build bench.c: error: no mpi.h\n"
    (fake_mpi / "mpicc").write_text("no program\n")
    done = matchbench(*bench)
    assert done.stderr == f"matchbench: {fake_mpi}/mpicc: Exec format error\n"
    assert not (tmp_path / "o").exists()


# ---- results -----------------------------------------------------------------------------------------------


def bench(matchbench: Command, fake_mpi: Path, *words: str | Path, **environment: str) -> Any:
    """Measure the fake MPI into `o` without plots; return standard output and status."""
    words = ("--mpicc", fake_mpi / "mpicc", "-o", "o", "--table-only", *words)
    done = matchbench("mpi", "bench", *words, **environment)
    assert done.stderr == ""
    return done


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Measure every series of the fake MPI and return the results and what was printed."""
    folder = tmp_path_factory.mktemp("measured")
    mpicc = str(make_fake_mpi(folder) / "mpicc")
    words = ["mpi", "bench", "--mpicc", mpicc, "-o", str(folder / "o"), "--repetitions", "5"]
    done = subprocess.run([*MATCHBENCH, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "o", done.stdout


def test_the_formula_of_a_fake_mpi_is_recovered(measured: tuple[Path, str]) -> None:
    results, printed = measured
    whole = read(results)
    timed = [name for name in SERIES if not name.startswith("memory/")]
    timed += ["probe/tags", "probe/any_source"]
    seen = {(row["kind"], row["pattern"]) for row in whole["rows"]}
    assert seen == {tuple(name.split("/")) for name in timed}
    for row in whole["rows"]:
        entry = 0 if row["pattern"] in mpi_fake.FLAT else mpi_fake.ENTRY_NS[row["kind"]]
        ns = mpi_fake.BASE_NS[row["kind"]] + entry * row["depth"]
        assert (row["ns_q1"], row["ns_median"], row["ns_q3"]) == (ns, ns, ns)
        assert (row["repetitions"], row["operations"]) == (5, 50)
        assert row["name"] == "Fake MPI 1.0 (pml fake)"
    depths = [
        row["depth"] for row in whole["rows"] if row["pattern"] == "tags" and row["kind"] == "preposted"
    ]
    assert depths == list(GRID)
    assert whole["costs"] == {
        "posted": {"entry_l1_ns": 2.0, "entry_l2_ns": 2.0, "operation_ns": 40.0},
        "unexpected": {"entry_l1_ns": 1.5, "entry_l2_ns": 1.5, "operation_ns": 40.0},
    }
    assert whole["memory"][0] == {
        "what": "posted",
        "items": 8192,
        "bytes_per_item": 768.0,
        "kept_share": 0.25,
    }
    assert whole["structure"][0] == (
        "Posted receives are walked entry by entry (2 ns each among 64 to 256, "
        "2 ns each among 1024 to 4096): a list for each source of each communicator."
    )
    assert read_rows(results / "rows.csv") == whole["rows"]
    assert {path.name for path in results.iterdir()} == {
        LIST,
        "mpi-bench.json",
        "rows.csv",
        "plots",
    }
    # The answer comes before the tables.
    _, *lines = printed.splitlines()
    assert lines[: len(whole["structure"])] == whole["structure"]


def test_results_have_the_keys_of_the_specification(measured: tuple[Path, str]) -> None:
    results, _ = measured
    whole = json.loads((results / "mpi-bench.json").read_text(encoding="utf-8"))
    assert whole.keys() == keys("mpi-bench", "2. `mpi-bench.json`")
    assert whole["mpi"].keys() == keys("mpi-bench", "2.1 `mpi`")
    assert whole["place"].keys() == keys("mpi-bench", "2.2 `place`")
    assert whole["plan"].keys() == keys("mpi-bench", "2.3 `plan`")
    assert all(row.keys() == keys("mpi-bench", "3. Rows") for row in whole["rows"])
    assert all(each.keys() == keys("mpi-bench", "4. `curves`") for each in whole["curves"])
    assert all(each.keys() == keys("mpi-bench", "6. `memory`") for each in whole["memory"])
    costs = keys("mpi-bench", "5. `costs`")
    assert whole["costs"].keys() | whole["costs"]["posted"].keys() == costs - {"base_ns"}
    header = (results / "rows.csv").read_text().splitlines()[0]
    assert set(header.split(",")) == keys("mpi-bench", "3. Rows")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("hang:256", "no output within the time limit"),
        ("die:256", "exit status 134: a word of the launcher's own"),
    ],
)
def test_a_depth_that_hangs_or_crashes_ends_only_its_series(
    fake_mpi: Path, matchbench: Command, tmp_path: Path, how: str, reason: str
) -> None:
    done = bench(matchbench, fake_mpi, "--quick", "--series", "preposted", "--silence", HANG_S, FAKE_MPI=how)
    assert done.returncode == 1
    whole = read(tmp_path / "o")
    assert list(whole["remarks"]) == ["preposted/tags"]
    assert whole["remarks"]["preposted/tags"].startswith(f"ends before depth 256 (preposted): {reason}")
    assert f"preposted/tags: ends before depth 256 (preposted): {reason}" in done.stdout
    counts = {
        pattern: [
            (row["depth"], row["repetitions"])
            for row in whole["rows"]
            if (row["kind"], row["pattern"]) == ("preposted", pattern)
        ]
        for pattern in ("tags", "same_tag")
    }
    assert counts["tags"] == [(0, 3), (4, 3), (64, 3)]
    assert counts["same_tag"] == [(0, 3), (4, 3), (64, 3), (256, 3), (1024, 3)]


def test_an_invalid_line_is_quoted_in_the_error(fake_mpi: Path, matchbench: Command, tmp_path: Path) -> None:
    done = matchbench(
        "mpi", "bench", "--mpicc", fake_mpi / "mpicc", "-o", "o", "--quick", FAKE_MPI="rubbish:4"
    )
    assert done.returncode == 2
    assert done.stderr == (
        "matchbench: measuring program: found the line `{not a line}`, expected an event of its protocol\n"
    )
    assert not (tmp_path / "o").exists()


def test_earlier_results_are_kept_without_force_and_plotted_for_comparison(
    fake_mpi: Path, matchbench: Command, tmp_path: Path
) -> None:
    only = ("--series", "preposted/tags", "--series", "drain_posted", "--depths", "0,64,256")
    bench(matchbench, fake_mpi, *only)
    first = read(tmp_path / "o")
    assert {row["pattern"] for row in first["rows"]} == {"tags", "in_order", "reverse", "random"}
    done = matchbench("mpi", "bench", "--mpicc", fake_mpi / "mpicc", "-o", "o", *only)
    assert (done.returncode, done.stderr) == (
        2,
        "matchbench: o: found earlier output; choose another directory or give --force\n",
    )
    own = tmp_path / "own.csv"
    own.write_text(
        "name,kind,pattern,depth,ns_median,ns_q1,ns_q3,repetitions\n"
        "ours,preposted,tags,64,9,8,10,3\nours,drain_posted,reverse,64,9,8,10,3\n"
    )
    assert not (tmp_path / "o" / "plots").exists()
    words = ("--mpicc", fake_mpi / "mpicc", "-o", "o", *only, "--force", "--label", "theirs", "--beside", own)
    assert matchbench("mpi", "bench", *words).returncode == 0
    assert (tmp_path / "o" / "plots" / "beside.png").stat().st_size > 0
    rows = read(tmp_path / "o")["rows"]
    drawn = dict(figures(rows, read_rows(own)))["beside"]
    titles = [ax.get_title(loc="left") for ax in drawn.axes]
    assert titles == [
        "posted receives ahead\nother tags",
        "posted receives, drained\nin reverse order",
    ]
    lines = [np.asarray(line.get_ydata()).tolist() for line in drawn.axes[0].get_lines()]
    assert lines == [[128, 512], [9]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "found another kind of file, expected a result of `matchbench mpi bench`"),
        (
            '{"format": "matchbench-mpi-bench", "version": 2}',
            "found version 2, expected 1 to 1; use a newer matchbench",
        ),
        ('{"format": "matchbench-mpi-bench", "version": 1}', "`rows`: found None, expected a list"),
        (
            '{"format": "matchbench-mpi-bench", "version": 1, "rows": [1]}',
            "row 1: found 1, expected an object",
        ),
        (
            '{"format": "matchbench-mpi-bench", "version": 1, "rows": [{"name": "a", "kind": "k"}]}',
            "row 1: `pattern`: found None, expected text",
        ),
    ],
)
def test_results_of_another_format_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mpi-bench.json"
    path.write_text(text)
    with pytest.raises(mb.MatchbenchError, match=re.escape(message)):
        read(tmp_path)


def test_names_of_libraries_are_shortened() -> None:
    assert library_name("Open MPI v5.0.11, package: x") == "Open MPI 5.0.11"
    assert library_name("MPICH Version:\t4.0.2\nMPICH Release date: x") == "MPICH 4.0.2"
    assert library_name("Intel(R) MPI Library 2021.18 for Linux* OS\n") == "Intel MPI 2021.18"
    assert library_name("") == "unknown MPI"


def test_an_invalid_plan_is_refused() -> None:
    for wrong in ({"depths": (4, 1)}, {"sweeps": 0}, {"source_ranks": 2}, {"series": ("preposted",)}):
        with pytest.raises(mb.MatchbenchError):
            Plan(**wrong)
    assert Plan(depths=(0,)).depths_of("drain_posted/reverse") == ()


def test_the_date_is_that_of_utc(fake_mpi: Path, matchbench: Command, tmp_path: Path) -> None:
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    bench(matchbench, fake_mpi, "--series", "memory/posted")
    date = dt.datetime.fromisoformat(read(tmp_path / "o")["date"])
    assert before <= date <= dt.datetime.now(dt.UTC)
