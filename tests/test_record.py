# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The whole way from an MPI program to a result table."""

import importlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import polars as pl
import pytest

import matchbench as mb
from matchbench import _native
from matchbench.compare.summary import remark_lines
from matchbench.record.run import library
from matchbench.trace.shortfalls import IN_STATS, sharing_line
from tests.conftest import Command
from tests.processes import PATIENCE_S, started, wait_until
from tests.test_launchers import launcher

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "recorder" / "tests"))
checksum = importlib.import_module("decode").checksum  # of the independent decoder

LAUNCHERS = {
    "openmpi": ("mpirun.openmpi", "--oversubscribe"),
    "mpich": ("mpiexec.mpich",),
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture
def recorder() -> Path:
    """Skip where the recorder is not built; `make setup` builds it."""
    try:
        return library()
    except mb.MatchbenchError as error:
        pytest.skip(str(error))


def test_an_unknown_program_is_refused(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    done = matchbench("record", "-o", "t", "--", "mpirrun", "-n", "2", "./a")
    assert (done.returncode, done.stderr) == (
        2,
        "matchbench: mpirrun: found no such program, expected a launcher such as mpirun; "
        "check the name, and that an MPI is installed\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_holds_a_trace_is_refused(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "meta.json").write_text("{}")
    done = matchbench("record", "-o", "t", "--", "true")
    assert (done.returncode, done.stderr) == (
        2,
        "matchbench: t: found a trace, expected an empty directory; choose another\n",
    )


NOTHING = "matchbench: no MPI rank was recorded: "
RELINK = (
    "link it with libmatchbench-record.a (recorder/docs/recorder.md, section `Statically linked programs`)"
)
VERSION_ONLY = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n"


def compiled(directory: Path, text: str, *options: str) -> str:
    """Compile a C program without MPI."""
    (directory / "program.c").write_text(text)
    subprocess.run(["/usr/bin/cc", *options, "-o", "program", "program.c"], cwd=directory, check=True)
    return str(directory / "program")


def test_a_program_without_mpi_is_reported(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    done = matchbench("record", "-o", "t", "--", "true")
    assert done.returncode == 1
    expected = (
        f"{NOTHING}`true` loaded no MPI library; expected an MPI program that leaves LD_PRELOAD as it is\n"
    )
    assert done.stderr.endswith(expected)
    assert list(tmp_path.iterdir()) == []


UNKNOWN_MPI = """
#include <string.h>
int PMPI_Init(int *count, char ***words) { return !count != !words; }
int MPI_Init(int *count, char ***words) { return PMPI_Init(count, words); }
int PMPI_Get_library_version(char *text, int *length) { strcpy(text, "Toy MPI 1"); return *length = 0; }
"""


def test_an_mpi_that_the_recorder_does_not_know_is_named_once(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    toy = Path(compiled(tmp_path, UNKNOWN_MPI, "-shared", "-fPIC")).rename(tmp_path / "libmpi.so")
    main = "int MPI_Init(int *, char ***); int main(void) { return MPI_Init(0, 0); }"
    program = compiled(tmp_path, main, "-Wl,--no-as-needed", str(toy))
    path = Path(launcher(tmp_path, "mpirun", ""))
    path.write_text('#!/bin/sh\n"$@" & "$@"; wait\n')
    done = matchbench("record", "-o", "t", "--", path, program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        'matchbench: not recorded: found the MPI library "Toy MPI 1", expected Open MPI, MPICH, Intel MPI, '
        "MVAPICH or one with the MPI ABI"
    ]
    assert not (tmp_path / "t").exists()


def test_a_recording_of_nothing_removes_the_directories_that_it_made(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    assert matchbench("record", "--", "true").returncode == 1
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty").mkdir()
    assert matchbench("record", "-o", "empty", "--", "true").returncode == 1
    assert [(each.name, list(each.iterdir())) for each in tmp_path.iterdir()] == [("empty", [])]


def test_a_program_that_fails_before_mpi_is_reported(recorder: Path, matchbench: Command) -> None:
    assert recorder.is_file()
    done = matchbench("record", "-o", "t", "--", "false")
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"{NOTHING}`false` ended with exit status 1 before it loaded an MPI library, or does not use MPI\n"
    )


def test_a_launcher_that_fails_is_reported(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    path = Path(launcher(tmp_path, "mpirun", ""))
    path.write_text(VERSION_ONLY + "echo refused >&2\nexit 3\n")
    done = matchbench("record", "-o", "t", "--", path, "-n", "2", "./nothing")
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "refused",
        f"{NOTHING}`{path}` ended with exit status 3 before any process loaded the recorder: "
        "the launcher failed, and its own message says why",
        f"matchbench: no word after `{path}` is an executable file; expected a program",
    ]


def test_a_launcher_that_drops_the_environment_is_reported(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    path = Path(launcher(tmp_path, "mpirun", ""))
    path.write_text(VERSION_ONLY + "exit 0\n")
    done = matchbench("record", "-o", "t", "--", path, "-n", "2", "true")
    assert done.returncode == 1
    assert done.stderr == (
        f"{NOTHING}no process loaded the recorder; expected a launcher that passes LD_PRELOAD, "
        "MATCHBENCH_RECORD_DIR and MATCHBENCH_RECORD_RUN_ID to the ranks\n"
    )


def test_a_static_program_is_reported(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    path = compiled(tmp_path, "int main(void) { return 0; }", "-static")
    done = matchbench("record", "-o", "t", "--", path)
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"{NOTHING}`{path}` is statically linked, so that nothing can be preloaded; {RELINK}\n"
    )


def test_a_program_with_a_static_mpi_is_reported(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    path = compiled(tmp_path, "int PMPI_Init(void) { return 0; } int main(void) { return PMPI_Init(); }")
    done = matchbench("record", "-o", "t", "--", path)
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"{NOTHING}`{path}` contains a static MPI library, which cannot be intercepted; {RELINK}\n"
    )


def test_a_preloaded_tool_is_not_the_program(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    """A shared library has no interpreter either."""
    assert recorder.is_file()
    tool = compiled(tmp_path, "int tool;", "-shared", "-fPIC")
    launch = Path(launcher(tmp_path, "mpirun", ""))
    launch.write_text(VERSION_ONLY + "exit 0\n")
    done = matchbench("record", "-o", "t", "--", str(launch), "-x", f"LD_PRELOAD={tool}", tool, "true")
    assert done.stderr.startswith(f"{NOTHING}no process loaded the recorder; ")


LOADS = """
#include <dlfcn.h>
int main(int argc, char **argv) { return !dlopen(argv[1], RTLD_LAZY); }
"""


@pytest.mark.parametrize(("end", "how"), [("0", "ran without"), ("3", "ended with exit status 3 before")])
def test_a_program_that_loads_mpi_and_does_not_initialize_it_is_reported(
    recorder: Path, matchbench: Command, tmp_path: Path, end: str, how: str
) -> None:
    assert recorder.is_file()
    (tmp_path / "mpi.c").write_text("int PMPI_Init(void) { return 0; }\n")
    subprocess.run(["/usr/bin/cc", "-shared", "-fPIC", "-o", "libmpi.so", "mpi.c"], cwd=tmp_path, check=True)
    path = compiled(tmp_path, LOADS)
    words = ["/bin/sh", "-c", f"{path} {tmp_path}/libmpi.so && exit {end}"]
    done = matchbench("record", "-o", "t", "--", *words)
    assert done.stderr.endswith(
        f"{NOTHING}`/bin/sh` loaded an MPI library and {how} a successful MPI_Init or MPI_Session_init; "
        "expected one of them, of an MPI that the recorder supports\n"
    )


def test_the_exit_status_of_the_program_is_passed_on(recorder: Path, matchbench: Command) -> None:
    assert recorder.is_file()
    assert matchbench("record", "-o", "t", "--", "/bin/sh", "-c", "exit 7").returncode == 7
    assert matchbench("record", "-o", "t", "--", "/bin/sh", "-c", "kill -9 $$").returncode == 128 + 9


def record_bytes(kind: int, index: int, **fields: int) -> bytes:
    """Return a record (`spec/trace.md`, T-6)."""
    names = ("flags", "thread", "comm", "peer", "tag", "bytes", "request", "check", "wall", "cpu")
    values = [fields.get(name, 0) for name in (*names, "wall_span", "cpu_span", "aux")]
    raw = struct.pack("<BBHIiiQIIQQIIQ", kind, *values)
    return raw[:28] + struct.pack("<I", checksum(raw, index)) + raw[32:]


@pytest.fixture
def fake(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Record a launch whose only rank writes these Other records, and flags in its header."""
    assert recorder.is_file()

    def run(flags: int, *others: int, delay_ns: int = 0, host: int = 9) -> subprocess.CompletedProcess[str]:
        fields = (1, 0, 0, {"aux": 0, "bytes": 2}), (14, 0, 0, {"tag": 2, "comm": host, "bytes": 1})
        world = [
            ({"tag": 1, "peer": -1, "bytes": 2, "comm": 0}, {"tag": 2, "bytes": 1}),
            ({"tag": 1, "peer": -1, "bytes": 2, "comm": 1, "aux": 1}, {"tag": 2, "bytes": 1}),
        ]
        records = [(kind, given) for kind, _, _, given in fields]
        records += [pair for comm, extra in world for pair in ((12, comm), (14, extra))]
        records += [(15, {"aux": aux}) for aux in others]
        if flags & 1:
            records.append((2, {"wall": 10**6, "aux": delay_ns}))
        count = len(records) * (flags & 1)
        header = struct.pack("<8s2H5I4Q", b"MBTRACE\x01", 2, 64, flags, 0, 1, 1, 0, count, 0, 77, 0)
        header = header[:56] + struct.pack("<Q", checksum(header, 2**64 - 1))
        body = b"".join(record_bytes(kind, at, **given) for at, (kind, given) in enumerate(records))
        (tmp_path / "rank").write_bytes(header + body)
        not_recorded = "that is not recorded"
        calls = ["MPI_Put", f"send on a communicator {not_recorded}", "MPI_Comm_spawn"]
        calls += [f"start of a request {not_recorded}", f"communicator {not_recorded}"]
        meta = {
            "format": "matchbench-trace",
            "version": 1,
            "ranks": 1,
            "origin": "recorded",
            "other_calls": calls,
        }
        (tmp_path / "meta").write_text(json.dumps(meta | {"run_id": f"{77:016x}"}))
        copy = "cp rank $MATCHBENCH_RECORD_DIR/rank-00000.mbt; cp meta $MATCHBENCH_RECORD_DIR/meta.json"
        return matchbench("record", "-o", "t", "--", "sh", "-c", copy)

    return run


@pytest.mark.parametrize(
    ("flags", "state", "why"),
    [
        (1, "complete", None),
        (
            2,
            "stopped",
            "its recorder stopped (a full disk or another limit); the reason is on standard error",
        ),
        (0, "cut", "it ended without MPI_Finalize (a signal, exit or a fatal error)"),
        (4, "aborted", "it called MPI_Abort"),
    ],
)
def test_every_command_has_the_same_word_for_how_a_trace_ended(
    fake: Callable[..., subprocess.CompletedProcess[str]],
    matchbench: Command,
    tmp_path: Path,
    flags: int,
    state: str,
    why: str | None,
) -> None:
    done = fake(flags)
    count = 7 if flags == 1 else 6
    said = [f"rank 0: {state} after {count} records: {why}"] if why else []
    assert done.returncode == (1 if why else 0)
    first = f"matchbench: {tmp_path}/t: 1 of 1 ranks, {count} records, {64 + 64 * count} bytes: {state}"
    assert done.stderr.splitlines()[1:] == [first, *(f"matchbench: {line}" for line in said)]

    done = matchbench("trace", "check", "t")
    first = f"t: 1 ranks, {count} records: {state}, no defect"
    assert (done.returncode, done.stdout.splitlines()) == (0, [first, *(f"t: {line}" for line in said)])

    trace = mb.Trace.open(tmp_path / "t")
    assert trace.state == state
    remark = f"the trace is {state} (ranks: 1 {state}); what followed its records is missing"
    about = [each.text for each in mb.compare(trace, ["ideal"]).remarks if not each.engine]
    assert about == ([remark] if why else [])
    totals = matchbench("trace", "stats", "t").stdout
    assert (f"t: {remark}\n" in totals) == bool(why)


def test_every_command_counts_what_is_not_recorded(
    fake: Callable[..., subprocess.CompletedProcess[str]], matchbench: Command, tmp_path: Path
) -> None:
    said = [
        "not recorded: 3 processes started by MPI_Comm_spawn",
        "not recorded: 2 sends on communicators with members outside of the trace",
        "not recorded: 2 starts of a partitioned or persistent request, 1 communicator with such members",
        "recorded by name and time only, and not replayed: 1 MPI_Put",
    ]
    done = fake(1, 1, 0, 2 | 3 << 32, 1, 3, 4, 3)
    assert done.returncode == 0
    assert done.stderr.splitlines()[2:] == [f"matchbench: {line}" for line in said]
    of_trace = [f"t: {line}" for line in said]
    assert matchbench("trace", "check", "t").stdout.splitlines()[1:] == of_trace
    stats = matchbench("trace", "stats", "t").stdout.splitlines()
    assert [line for line in stats if line.startswith("t: ")] == of_trace
    remarks = mb.compare(mb.Trace.open(tmp_path / "t"), ["ideal"]).remarks
    assert list(remark_lines(remarks)) == [
        *of_trace,
        "t: not replayed: 100 % of the calls that take part in matching",
        "t: one-sided communication is not matched: 1 call, 0 % of the time in calls that communicate",
    ]


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_a_trace_of_a_program_with_refused_calls_is_readable(
    recorder: Path, matchbench: Command, tmp_path: Path, mpi: str
) -> None:
    assert recorder.is_file()
    source = ROOT / "recorder" / "tests" / "programs" / "lives.c"
    if shutil.which(f"mpicc.{mpi}") is None:
        pytest.skip(f"{mpi}: `mpicc.{mpi}` is not installed")
    subprocess.run([f"mpicc.{mpi}", "-w", "-o", "lives", str(source), "-lpthread"], cwd=tmp_path, check=True)
    done = matchbench("record", "-o", "t", "--", *LAUNCHERS[mpi], "-n", "2", "./lives", "refused", **AS_ROOT)
    assert done.returncode not in (0, 2), done.stderr
    assert "2 of 2 ranks" in done.stderr
    for about in (matchbench("trace", "check", "t"), matchbench("trace", "stats", "t")):
        assert about.returncode == 0, about.stderr
        assert "t: refused by MPI, and not replayed: 3 sends, 2 receives\n" in about.stdout
    trace = mb.Trace.open(tmp_path / "t")
    assert trace.stats().total["sent"] == 100
    assert mb.compare(trace, ["ideal"]).results["sent_user"].to_list() == [100]


def test_a_recording_says_how_far_its_ranks_shared_processors(
    fake: Callable[..., subprocess.CompletedProcess[str]], matchbench: Command, tmp_path: Path
) -> None:
    assert "shared" not in fake(1, delay_ns=40_000).stderr
    shutil.rmtree(tmp_path / "t")
    done = fake(1, delay_ns=400_000)
    what = (
        "processors were shared with other programs: ranks were ready to run and waited for a processor for "
        "40.0 % of the time after MPI_Init; "
    )
    spoiled = "this waiting is part of the recorded time and of the time in calls, and changes the order of "
    assert f"matchbench: {what}{spoiled}" in done.stderr
    assert f"t: {what}{spoiled}" in matchbench("trace", "stats", "t").stdout
    kept = (
        "the replay gives each rank a processor: it takes the CPU time between calls, simulates the time in "
    )
    [remark] = mb.compare(mb.Trace.open(tmp_path / "t"), ["ideal"]).remarks
    assert remark.text.startswith(f"{what}{kept}")


class Recorded:
    """What a trace of eight ranks on hosts of two processors tells."""

    def __init__(self, delays_ns: list[tuple[int, int]]) -> None:
        self.delays = delays_ns

    def hosts(self) -> list[tuple[int, int]]:
        """Give ranks and processors of each host."""
        return [(2, 2), (6, 2)]

    def delays_ns(self) -> list[tuple[int, int]]:
        """Give waiting and whole times."""
        return self.delays


@pytest.mark.parametrize(
    ("delays_ns", "how_long"),
    [
        ([(700, 1000), (800, 1000)], "ranks were ready to run and waited for a processor for 75.0 %"),
        ([], "the trace does not say for how long ranks waited for a processor"),
    ],
)
def test_ranks_that_outnumber_processors_are_reported(
    delays_ns: list[tuple[int, int]], how_long: str
) -> None:
    said = sharing_line(cast("_native.Trace", Recorded(delays_ns)), IN_STATS)
    assert said
    assert said.startswith("oversubscribed, 6 ranks on 2 processors")
    assert how_long in said


def test_a_termination_signal_is_passed_on(recorder: Path, tmp_path: Path) -> None:
    assert recorder.is_file()
    words = [
        sys.executable,
        "-m",
        "matchbench",
        "record",
        "-o",
        "t",
        "--",
        "/bin/sh",
        "-c",
        "echo on; sleep 60",
    ]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


FLOOD = """
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (;;)
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
"""


ONE_SEND = """
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
"""


@pytest.mark.usefixtures("sleeping_ranks")
@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_a_tool_that_the_command_preloads_is_called_and_the_program_recorded(
    recorder: Path, matchbench: Command, tmp_path: Path, mpi: str
) -> None:
    assert recorder.is_file()
    if shutil.which(f"mpicc.{mpi}") is None:
        pytest.skip(f"`mpicc.{mpi}` is not installed")
    tool = tmp_path / "libtool.so"
    source = ROOT / "recorder" / "tests" / "programs" / "tool.c"
    (tmp_path / "program.c").write_text(ONE_SEND)
    for words in (["-o", "program", "program.c"], ["-shared", "-fPIC", "-o", str(tool), str(source)]):
        subprocess.run([f"mpicc.{mpi}", *words], cwd=tmp_path, check=True)
    option = ["-x", f"LD_PRELOAD={tool}"] if mpi == "openmpi" else ["-genv", "LD_PRELOAD", str(tool)]
    done = matchbench("record", "-o", "t", "--", *LAUNCHERS[mpi], *option, "-n", "2", "./program", **AS_ROOT)
    assert done.returncode == 0, done.stderr
    said = sorted(line for line in done.stderr.splitlines() if line.startswith("tool: "))
    assert said == ["tool: rank 0: 1 0 0 0", "tool: rank 1: 0 0 0 0"]
    total = mb.Trace.open(tmp_path / "t").stats().total
    assert (total["sent"], total["received"]) == (1, 1)


# Records after which the program is in its loop.
ENOUGH = 100


def written(file: Path) -> int:
    """Count the records at the start of a file that grows: each has 64 bytes and a kind that is not 0."""
    if not file.exists():
        return 0
    with file.open("rb") as opened:
        kinds = opened.read(64 * (ENOUGH + 1))[64::64]
    return len(kinds) if kinds.find(0) < 0 else kinds.find(0)


@pytest.mark.usefixtures("sleeping_ranks")
@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_after_an_interrupt_the_summary_and_the_trace_agree(recorder: Path, tmp_path: Path, mpi: str) -> None:
    assert recorder.is_file()
    if shutil.which(f"mpicc.{mpi}") is None:
        pytest.skip(f"`mpicc.{mpi}` is not installed")
    (tmp_path / "flood.c").write_text(FLOOD)
    subprocess.run([f"mpicc.{mpi}", "-o", "flood", "flood.c"], cwd=tmp_path, check=True)
    words = [
        sys.executable,
        "-m",
        "matchbench",
        "record",
        "-o",
        "t",
        "--",
        *LAUNCHERS[mpi],
        "-n",
        "2",
        "./flood",
    ]
    environment = os.environ | AS_ROOT
    with started(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        files = [tmp_path / "t" / f"rank-{rank:05}.mbt" for rank in range(2)]
        wait_until(lambda: all(written(file) >= ENOUGH for file in files), process)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode != 0
    trace = mb.Trace.open(tmp_path / "t")
    trace.check()
    assert trace.state == "cut"
    size = sum(path.stat().st_size for path in tmp_path.glob("t/*.mbt"))
    assert f"{tmp_path}/t: 2 of 2 ranks, {trace.records} records, {size} bytes: cut\n" in said
    for rank, records in enumerate(trace.native.rank_records()):
        assert f"rank {rank}: cut after {records} records: " in said


@pytest.fixture(params=LAUNCHERS)
def program(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], Path]:
    """Build the conjugate-gradient example for one MPI; give its launcher and the program."""
    mpi: str = request.param
    needed = (LAUNCHERS[mpi][0], f"mpicc.{mpi}", f"mpicxx.{mpi}", f"mpifort.{mpi}")
    if missing := [name for name in needed if shutil.which(name) is None]:
        pytest.skip(f"{mpi}: `{missing[0]}` is not installed")
    build = f"build/{mpi}"
    make = ["make", "--no-print-directory", "-C", "examples/mpi", f"MPI={mpi}", f"BUILD={build}"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return LAUNCHERS[mpi], ROOT / "examples" / "mpi" / build / "cg"


@pytest.mark.usefixtures("sleeping_ranks")
def test_a_recorded_program_is_replayed_message_by_message(
    recorder: Path, program: tuple[tuple[str, ...], Path], matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    launch, path = program
    size = ("--nx", "4", "--ny", "4", "--nz", "4", "--springs", "12")
    done = matchbench("record", "-o", "t", "--", *launch, "-n", "4", path, *size, **AS_ROOT)
    assert done.returncode == 0, done.stderr
    counted = re.search(r"sent_messages=(\d+) sent_bytes=(\d+)", done.stdout)
    assert counted
    summary = next(line for line in done.stderr.splitlines() if "4 of 4 ranks" in line)
    assert re.fullmatch(r"matchbench: .*/t: 4 of 4 ranks, \d+ records, \d+ bytes: complete", summary), (
        done.stderr
    )

    trace = mb.Trace.open(tmp_path / "t")
    assert f" {trace.records} records" in summary
    assert [trace.meta["origin"], trace.meta["command"][0], trace.ranks] == ["recorded", launch[0], 4]
    total = trace.stats().total
    assert (total["sent"], total["sent_bytes"]) == (int(counted[1]), int(counted[2]))

    results = mb.compare(trace, ["ideal", "linear:qsnet2"]).results
    assert results["finished"].all()
    assert results["sent_user"].to_list() == [total["sent"]] * 2
    assert results.select(pl.col("received") == pl.col("sent")).to_series().all()
    assert os.listdir(tmp_path) == ["t"]  # noqa: PTH208 - names suffice


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Trace]:
    """Record a program that sends nothing, on one rank and on two."""
    directory = tmp_path_factory.mktemp("silent")
    source = directory / "silent.c"
    source.write_text("#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n")
    compiler = ["mpicc.mpich", "-o", str(directory / "silent"), str(source)]
    subprocess.run(compiler, check=True)
    for ranks in (1, 2):
        launch = ["mpiexec.mpich", "-n", str(ranks), str(directory / "silent")]
        assert mb.record(launch, directory / f"ranks{ranks}").state == "complete"
    return [mb.Trace.open(directory / f"ranks{ranks}") for ranks in (1, 2)]


def test_a_program_without_messages_has_a_result_on_every_engine(
    silent: list[mb.Trace], matchbench: Command, tmp_path: Path
) -> None:
    done = matchbench("compare", *(trace.path for trace in silent), "-o", "r")
    assert done.returncode == 0
    for trace in silent:
        assert f"{trace.name}: This program sent no messages: matching costs it nothing.\n" in done.stdout
    rows = pl.read_parquet(tmp_path / "r" / "results.parquet")
    assert rows["matches"].sum() == 0
    assert set(rows["slowdown"]) == {1.0}
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    charts = [f'aria-label="{trace.name}: cost of matching by engine"' for trace in silent]
    assert [page.count(chart) for chart in charts] == [1] * len(silent)
    # One for each trace, and one for all.
    assert page.count('<div class="chart ') == len(silent) + 1
    assert page.count("<p>This program sent no messages: matching costs it nothing.</p>") == len(silent)


def test_a_program_without_messages_has_statistics(silent: list[mb.Trace], matchbench: Command) -> None:
    done = matchbench("trace", "stats", silent[0].path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nmessages sent       0, 0 B\n" in done.stdout
    assert silent[1].stats().total["received"] == 0


def test_record_waits_for_ranks_that_outlive_their_launcher(tmp_path: Path) -> None:
    """As after Ctrl-C; a rank holds a lock on its file until it ends."""
    code = """
import fcntl, os, pathlib, sys, time

ready, locked = os.pipe()
if os.fork():
    os.read(ready, 1)
    os._exit(0)
with open(os.environ["MATCHBENCH_RECORD_DIR"] + "/rank-00000.mbt", "wb") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    os.write(locked, b"x")
    time.sleep(1)
    pathlib.Path(sys.argv[1]).touch()
"""
    ended = tmp_path / "ended"
    mb.record([sys.executable, "-c", code, str(ended)], tmp_path / "trace")
    assert ended.exists()
