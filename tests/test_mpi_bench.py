# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi bench`: a fake MPI whose times are a formula, hostile lines, errors, and real MPIs."""

import contextlib
import datetime as dt
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchbench as mb
from matchbench.mpi.bench import SERIES, Plan, library_name
from matchbench.mpi.bench_protocol import RunOutput
from matchbench.mpi.launch import Mpi, find
from matchbench.mpi.plots import figures
from matchbench.mpi.results import read, read_rows
from tests import forked, mpi_fake
from tests.conftest import Command, keys
from tests.processes import PATIENCE_S, started, wait_until

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
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


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """Make an MPI: a compiler that copies the fake program, and a launcher that starts it once."""
    return make_fake(tmp_path)


def make_fake(folder: Path) -> Path:
    """Make the commands of `fake` below a folder and return their folder."""
    place = folder / "fake" / "bin"
    place.mkdir(parents=True)
    program = f'#!/bin/sh\nexec {sys.executable} -ES {mpi_fake.__file__} "$@"\n'
    (place / "program").write_text(program)
    compiler = 'while [ $# -gt 0 ]; do [ "$1" = -o ] && target=$2; shift; done\n'
    scripts = {
        "mpicc": f"{compiler}cp {place}/program $target",
        "mpirun": "[ $1 = --version ] && echo 'mpirun (Open MPI) 0' && exit\n"
        'while [ "$1" != -n ]; do shift; done; shift 2; exec "$@"',
    }
    for name, script in scripts.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
    for file in place.iterdir():
        file.chmod(0o755)
    return place


def test_the_launcher_in_the_directory_of_the_compiler_is_used(fake: Path, tmp_path: Path) -> None:
    mpi = find(str(fake / "mpicc"))
    assert (mpi.launcher, mpi.flavour) == ((str(fake / "mpirun"),), "openmpi")
    assert mpi.crowded().launcher == (str(fake / "mpirun"), "--oversubscribe")
    assert mpi.crowded().crowded() == mpi.crowded()
    hosts = tmp_path / "hosts"
    hosts.touch()
    assert find(str(fake / "mpicc"), hostfile=hosts).launcher[1:] == ("--hostfile", str(hosts))


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
            "Invalid value for '--depths': found '0,x', expected whole numbers separated by commas "
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
        (["--mpicc", "FAKE", "--beside", "nothing.csv"], "nothing.csv: No such file or directory"),
        (
            ["--mpicc", "FAKE", "--beside", "nothing.csv", "--table-only"],
            "--beside: found together with --table-only, expected one of them",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    fake: Path, matchbench: Command, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "hosts").touch()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    done = matchbench("mpi", "bench", *(str(fake / "mpicc") if word == "FAKE" else word for word in words))
    assert (done.returncode, done.stderr) == (2, f"matchbench: {message}\n")
    assert not (tmp_path / "out").exists()


def test_a_failed_build_or_start_quotes_its_output(fake: Path, matchbench: Command, tmp_path: Path) -> None:
    bench = ("mpi", "bench", "--mpicc", fake / "mpicc", "--time-limit", HANG_S, "-o", "o")
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
        f"`{fake}/mpirun` is not the launcher of `{fake}/mpicc`; name both, with --mpicc and after --\n"
    )
    done = matchbench(*bench, FAKE_MPI="mute")
    assert done.stderr == "matchbench: preposted/tags did not start: no output within the time limit\n"
    (fake / "mpicc").write_text("#!/bin/sh\necho 'error: no mpi.h' >&2; exit 1\n")
    done = matchbench(*bench)
    assert done.stderr == f"matchbench: {fake}/mpicc: cannot build bench.c: error: no mpi.h\n"
    (fake / "mpicc").write_text("no program\n")
    done = matchbench(*bench)
    assert done.stderr == f"matchbench: {fake}/mpicc: Exec format error\n"
    assert not (tmp_path / "o").exists()


# ---- results -----------------------------------------------------------------------------------------------


def bench(matchbench: Command, fake: Path, *words: str | Path, **environment: str) -> Any:
    """Measure the fake MPI into `o` without plots; return standard output and status."""
    words = ("--mpicc", fake / "mpicc", "-o", "o", "--table-only", *words)
    done = matchbench("mpi", "bench", *words, **environment)
    assert done.stderr == ""
    return done


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Measure every series of the fake MPI and return the results and what was printed."""
    folder = tmp_path_factory.mktemp("measured")
    fake = str(make_fake(folder) / "mpicc")
    words = ["mpi", "bench", "--mpicc", fake, "-o", str(folder / "o"), "--repetitions", "5"]
    done = subprocess.run([*forked.command(), *words], capture_output=True, text=True, check=False)
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
    assert {path.name for path in results.iterdir()} == {"mpi-bench.json", "rows.csv", "plots"}
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
    fake: Path, matchbench: Command, tmp_path: Path, how: str, reason: str
) -> None:
    done = bench(matchbench, fake, "--quick", "--series", "preposted", "--time-limit", HANG_S, FAKE_MPI=how)
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


def test_an_invalid_line_is_quoted_in_the_error(fake: Path, matchbench: Command, tmp_path: Path) -> None:
    done = matchbench("mpi", "bench", "--mpicc", fake / "mpicc", "-o", "o", "--quick", FAKE_MPI="rubbish:4")
    assert done.returncode == 2
    assert done.stderr == (
        "matchbench: measuring program: found the line '{not a line}', expected an event of its protocol\n"
    )
    assert not (tmp_path / "o").exists()


def test_earlier_results_are_kept_without_force_and_plotted_for_comparison(
    fake: Path, matchbench: Command, tmp_path: Path
) -> None:
    only = ("--series", "preposted/tags", "--series", "drain_posted", "--depths", "0,64,256")
    bench(matchbench, fake, *only)
    first = read(tmp_path / "o")
    assert {row["pattern"] for row in first["rows"]} == {"tags", "in_order", "reverse", "random"}
    done = matchbench("mpi", "bench", "--mpicc", fake / "mpicc", "-o", "o", *only)
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
    words = ("--mpicc", fake / "mpicc", "-o", "o", *only, "--force", "--label", "theirs", "--beside", own)
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


# ---- real MPIs ---------------------------------------------------------------------------------------------


@pytest.fixture(
    params=[
        "mpicc.openmpi",
        "mpicc.mpich",
        *(
            f"{prefix}/bin/mpicc"
            for prefix in os.environ.get("MATCHBENCH_MPI_PREFIXES", "").split(":")
            if prefix
        ),
    ]
)
def mpicc(request: pytest.FixtureRequest) -> str:
    """Name the compiler of each MPI in turn: the system's, and those of `MATCHBENCH_MPI_PREFIXES`."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"`{name}` is not installed")
    return name


# The command of docs/mpi-bench.md and docs/tour.md, which `make test` runs here.
ON_PAGES = "matchbench mpi bench --quick --mpicc mpicc.mpich -o out/mpich"
# Of other MPIs.
FEWER = ("--depths", "0,4,256", "--table-only")


@pytest.mark.usefixtures("sleeping_ranks")
def test_every_series_of_a_real_mpi_is_measured(mpicc: str, matchbench: Command, tmp_path: Path) -> None:
    words = ON_PAGES.replace("mpicc.mpich", mpicc).split()[1:]
    done = matchbench(*words, *(() if mpicc in ON_PAGES else FEWER), **AS_ROOT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    whole = read(tmp_path / "out" / "mpich")
    depths = [0, 4, 64, 256, 1024] if mpicc in ON_PAGES else [0, 4, 256]
    assert whole["remarks"] == {}
    expected = {tuple(name.split("/")) for name in SERIES if not name.startswith("memory/")}
    expected |= {("probe", pattern) for pattern in ("tags", "any_source", "aged")}
    counts: dict[tuple[str, str], list[int]] = {}
    for row in whole["rows"]:
        counts.setdefault((row["kind"], row["pattern"]), []).append(row["depth"])
        assert 0 <= row["ns_q1"] <= row["ns_median"] <= row["ns_q3"]
        assert row["repetitions"] == 3
    drained = ("drain_posted", "drain_unexpected")
    assert counts == {key: depths[1:] if key[0] in drained else depths for key in expected}
    assert [row["what"] for row in whole["memory"]] == ["posted", "unexpected_small", "unexpected_large"]
    assert re.fullmatch(r"(Open MPI|MPICH|Intel MPI) [\d.]+", whole["mpi"]["name"])
    # Grids of 256 entries suffice for a verdict; which one is up to the machine's noise.
    assert all(each["entry_ns"] is not None for each in whole["curves"])


def test_an_interrupted_measurement_leaves_no_rank_and_no_file(mpicc: str, tmp_path: Path) -> None:
    words = ["mpi", "bench", "--mpicc", mpicc, "--repetitions", "100000", "-o", "o"]
    with started(
        [*forked.command(), *words],
        cwd=tmp_path,
        env={**os.environ, **AS_ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: len(ranks_of(tmp_path)) >= 2, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (130, "matchbench: interrupted\n")
    # What is killed has a moment to end.
    wait_until(lambda: ranks_of(tmp_path) == [])
    assert list(tmp_path.iterdir()) == []


def ranks_of(directory: Path) -> list[str]:
    """Find the processes whose program is below a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            target = os.readlink(process / "exe")  # noqa: PTH115 - Path.readlink would give a path
        except OSError:
            continue
        if target.startswith(f"{directory}/"):
            found.append(target)
    return found


def test_the_date_is_that_of_utc(fake: Path, matchbench: Command, tmp_path: Path) -> None:
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    bench(matchbench, fake, "--series", "memory/posted")
    date = dt.datetime.fromisoformat(read(tmp_path / "o")["date"])
    assert before <= date <= dt.datetime.now(dt.UTC)


# ---- interruptions -----------------------------------------------------------------------------------------


# The series of a measurement that is interrupted in the third one.
SOME = ("--series", "preposted", "--table-only")
SOME_SERIES = [name for name in SERIES if name.startswith("preposted/")]


def interrupted(fake: Path, directory: Path, by: signal.Signals) -> tuple[int, str]:
    """Measure the fake MPI into `o`, interrupted in the third series; return status and standard error."""
    wait = {"FAKE_MPI": "wait:preposted/communicators", "FAKE_MPI_LOG": "log"}
    # What is killed is to have ended before the next command starts.
    command = forked.command(as_a_user=by == signal.SIGKILL)
    with started(
        [*command, "mpi", "bench", "--mpicc", fake / "mpicc", "-o", "o", *SOME],
        cwd=directory,
        env={**os.environ, **wait},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: log_of(directory).count("preposted/communicators") == 1, process)
        process.send_signal(by)
        _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def log_of(directory: Path) -> list[str]:
    log = directory / "log"
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_measurement_goes_on_with_the_series_that_are_missing(
    fake: Path, matchbench: Command, tmp_path: Path, by: signal.Signals
) -> None:
    status, said = interrupted(fake, tmp_path, by)
    assert not (tmp_path / "o").exists()
    kept = tmp_path / ".o.unfinished"
    if by == signal.SIGINT:
        assert (status, said) == (
            130,
            f"matchbench: 2 of {len(SOME_SERIES)} series are kept; the same command with -o o continues\n"
            "matchbench: interrupted\n",
        )
        # A killed process may have written a part of a line.
        kept.write_text(kept.read_text() + '{"series": "preposted/comm')
    words = ("mpi", "bench", "--mpicc", fake / "mpicc", *SOME)
    done = matchbench(*words, "-o", "o", FAKE_MPI_LOG=str(tmp_path / "log"))
    assert (done.returncode, done.stderr) == (
        0,
        f"matchbench: 2 of {len(SOME_SERIES)} series were measured before\n",
    )
    # Each series once, but the one that was interrupted.
    assert log_of(tmp_path) == [*SOME_SERIES[:3], *SOME_SERIES[2:]]
    assert not kept.exists()
    continued = read(tmp_path / "o")
    done = matchbench(*words, "-o", "whole")
    assert done.returncode == 0
    whole = read(tmp_path / "whole")
    assert {**continued, "date": ""} == {**whole, "date": ""}


def test_series_of_another_plan_or_processor_are_not_mixed(
    fake: Path, matchbench: Command, tmp_path: Path
) -> None:
    interrupted(fake, tmp_path, signal.SIGINT)
    words = ("mpi", "bench", "--mpicc", fake / "mpicc", "-o", "o", *SOME)
    kept = tmp_path / ".o.unfinished"
    done = matchbench(*words, "--repetitions", "5")
    assert (done.returncode, done.stderr) == (
        2,
        f"matchbench: {kept}: holds series of an interrupted measurement with another plan; "
        "repeat that command, choose another directory, or give --force to discard them\n",
    )
    done = matchbench(*words, FAKE_MPI_CPU="another")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (
        2,
        [
            f"matchbench: {kept}: found series of Fake MPI 1.0 on none on a and b and of Fake MPI "
            "1.0 on another on a and b; continue where the measurement began, "
            "or remove the file to start over"
        ],
    )
    assert len(kept.read_text().splitlines()) == 3
    done = matchbench(*words, "--repetitions", "5", "--force")
    assert (done.returncode, done.stderr) == (0, "")
    assert read(tmp_path / "o")["plan"]["sweeps"] == 5
    assert not kept.exists()


@pytest.mark.parametrize("text", ["", "x\n", '{"format": "other"}\n', "[1]\n", '{"format": 1}\n'])
def test_a_file_that_does_not_hold_kept_series_is_refused(
    fake: Path, matchbench: Command, tmp_path: Path, text: str
) -> None:
    kept = tmp_path / ".o.unfinished"
    kept.write_text(text)
    done = matchbench("mpi", "bench", "--mpicc", fake / "mpicc", "-o", "o")
    assert (done.returncode, done.stderr) == (
        2,
        f"matchbench: {kept}: found another kind of file, "
        "expected the series of an interrupted `matchbench mpi bench`; remove it\n",
    )
