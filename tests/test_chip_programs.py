# SPDX-License-Identifier: Apache-2.0 OR MIT
"""MPI programs with a C library on the simulated chip: their traces, and what is said of wrong ones."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.cli import main
from tests import shared
from tests.conftest import MATCHBENCH

GUEST = Path(__file__).resolve().parent.parent / "moped" / "mpi"
COMPILER = "riscv64-linux-gnu-gcc"
SMALL = ["--memory", "64", "--patience", "1000000", "--quiet"]
RANKS = 4
# Each rank sends 20 messages of 400 bytes and 5 of 40000 to the next one, and its half has a communicator.
TRACED = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    static char in[40000], out[40000];
    int rank, size, sum;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 25; i++) {
        MPI_Request requests[2];
        int bytes = i < 20 ? 400 : 40000;
        int source = i % 2 ? MPI_ANY_SOURCE : (rank + size - 1) % size;
        MPI_Irecv(in, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, requests);
        MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, i, MPI_COMM_WORLD, requests + 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Comm_free(&half);
    printf("rank %d sum %d\\n", rank, sum);
    return MPI_Finalize();
}
"""
WRONG = """
#include <mpi.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static char buffer[100000];
__attribute__((noinline)) static void exchange(const char *what, int rank)
{
    char *bad = (char *)0x12345678, *sent = buffer, *received = buffer;
    int room = sizeof buffer;
    MPI_Request request;
    if (!strcmp(what, "send")) sent = bad;
    if (!strcmp(what, "receive")) received = bad;
    if (!strcmp(what, "room")) room /= 2;
    if (!strcmp(what, "call")) syscall(400);
    if (!strcmp(what, "instruction") && rank == 0) __asm__ volatile(".word 0xffffffff");
    if (!strcmp(what, "deadlock")) rank = 1;
    if (rank == 0) {
        MPI_Send(sent, sizeof buffer, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(received, room, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    __asm__ volatile("" : : : "memory"); // keeps the call above from being the last act
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange(argv[1], rank);
    return MPI_Finalize();
}
"""
PLACE = r"pc 0x[0-9a-f]+ in \w[\w.]*\+0x[0-9a-f]+"
# What is wrong, and the line about it.
FAULTS = {
    "send": rf"core 0: load from a page .*, address 0x12345678: .*, {PLACE}, called from MPI_Send in exch",
    "receive": rf"core 1: .*, address 0x12345678: .*, {PLACE}, called from MPI_Wait in exchange",
    "room": rf"core 1: MPI_Wait: message longer than the receive buffer.*, {PLACE}, called from MPI_Wait in",
    "call": rf"core \d: unknown system call 400, {PLACE}$",
    "instruction": r"core 0: illegal instruction, address 0xffffffff, pc 0x[0-9a-f]+ in exchange\+",
}


def build(target: Path, source: str, *options: str) -> Path:
    """Compile a program with the library of the chip."""
    file = target.with_suffix(".c")
    file.write_text(source)
    subprocess.run([GUEST / "mpicc-chip", "-O1", *options, file, "-o", target], check=True)
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library and the recorder once."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed")
    library = shared.chip_recorder()
    folder = tmp_path_factory.mktemp("chip")
    for name in ("chip", "recorder"):
        shutil.copytree(library / name, folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MB_MPI_BUILD", str(folder))
        build(folder / "traced", TRACED, "--record")
        build(folder / "wrong", WRONG)
    return folder


TIMED = {
    "shm": ["--transport", "shm", "--core", "inorder"],
    "moped with a table of 4": ["--transport", "moped", "--design", "optcopy", "--descriptors", "4"],
}


@pytest.mark.parametrize("options", TIMED.values(), ids=list(TIMED))
def test_random_programs_keep_the_order_on_cores_and_caches_with_time(
    options: list[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "matchbench"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(MATCHBENCH)} "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("MATCHBENCH", str(command))
    monkeypatch.setenv("MB_MPI_BUILD", str(folder))
    words = ["--mpicc", str(GUEST / "mpicc-chip"), "--without", "long", "--programs", "4", "--ranks", "3"]
    launcher = [str(GUEST / "mpirun-chip"), "--mode", "timing", "--memory", "64", *options]
    assert main(["mpi", "conform", *words, "--seed", "7", "-o", str(tmp_path / "out"), "--", *launcher]) == 0
    judged = json.loads((tmp_path / "out" / "mpi-conform.json").read_text())
    assert (judged["counts"]["programs"], judged["failures"], judged["left_out"]) == (4, [], []), judged


WITHDRAWS = ["--mode", "timing", "--core", "inorder", "--env", "MB_MPI_PATIENCE=1"]
HOLDS = ["--limit", "5000000"]


def library(folder: Path, target: Path, file: str, old: str, new: str) -> Path:
    """Build the library with another text in a source file, and return the folder for MB_MPI_BUILD."""
    shutil.copytree(GUEST.parent / "kernel", target / "kernel")
    source = shutil.copytree(GUEST, target / "mpi", ignore=shutil.ignore_patterns("build"))
    text = (source / file).read_text()
    assert text.count(old) == 1
    (source / file).write_text(text.replace(old, new))
    # Only the changed file is compiled: copies keep their times.
    shutil.copytree(folder / "chip", target / "out" / "chip")
    words = ["make", "--silent", "-C", str(source), "chip", f"OUT={target / 'out'}"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return target / "out"


@pytest.mark.parametrize(
    ("name", "fault", "options", "status", "expected"),
    [
        ("withdrawn", None, WITHDRAWS, 0, "withdrawn: passed on 2 ranks"),
        # No announcement is read.
        (
            "withdrawn",
            ("ring.c", "return atomic_load(&announced[mb.rank].withdrawals);", "return 0;"),
            WITHDRAWS,
            1,
            "message 0 was found, and not by probe 0",
        ),
        ("held", None, HOLDS, 0, "held: passed on 2 ranks"),
        # Matched sends are withdrawn.
        (
            "held",
            ("moped.c", "if (mb_port_poll(request->descriptor, MOPED_PEEK) != MOPED_PENDING) return;", ""),
            HOLDS,
            1,
            "found it running after 5000000 instructions of a core",
        ),
    ],
    ids=["withdrawn", "withdrawn: planted fault", "held", "held: planted fault"],
)
def test_probes_and_senders_that_withdraw_messages(
    name: str,
    fault: tuple[str, str, str] | None,
    options: list[str],
    status: int,
    expected: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    used = library(folder, tmp_path / "changed", *fault) if fault else folder
    monkeypatch.setenv("MB_MPI_BUILD", str(used))
    tests = GUEST / "tests"
    binary = build(tmp_path / "program", (tests / f"{name}.c").read_text(), f"-I{tests}")
    words = ["--ranks", "2", "--transport", "moped", *options]
    found = main(["chip", "run", str(binary), *SMALL, *words])
    said = "".join(capfd.readouterr())
    assert (found, expected in said) == (status, True), said


@pytest.mark.parametrize("transport", ["shm", "moped"])
def test_a_run_writes_a_trace_that_every_command_reads(
    transport: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace, table = tmp_path / "trace", tmp_path / "trace.parquet"
    words = ["--ranks", str(RANKS), "--transport", transport, "--trace", str(trace)]
    assert main(["chip", "run", str(folder / "traced"), *SMALL, "--frequency", "2000000000", *words]) == 0
    shown = capfd.readouterr()
    assert sorted(shown.out.splitlines()) == [
        f"rank {rank} sum {2 + 2 * (rank % 2)}" for rank in range(RANKS)
    ]
    assert re.search(r"trace: 4 of 4 ranks, \d+ records, \d+ bytes: complete$", shown.err, re.M), shown.err
    meta = json.loads((trace / "meta.json").read_text())
    assert meta["clock"] == {"unit": "instructions", "per_second": 2_000_000_000}
    assert meta["mpi"] == f"matchbench guest MPI, transport {transport}"
    assert main(["trace", "check", str(trace)]) == 0
    assert main(["trace", "export", str(trace), "-o", str(table)]) == 0
    records = pl.read_parquet(table).with_columns(pl.col("kind").cast(pl.String))
    sends = records.filter(pl.col("kind") == "Send")
    for rank in range(RANKS):
        mine = sends.filter(pl.col("rank") == rank)
        assert sorted(mine["bytes"]) == [400] * 20 + [40000] * 5
        assert set(mine["peer"]) == {(rank + 1) % RANKS}
    assert records.filter(pl.col("kind") == "Collective").height == RANKS
    # Everything that was sent is received.
    # With few engines: when one of them changes, the library of the chip is built for this test alone.
    found = mb.compare(mb.Trace.open(trace), ["ideal", "moped"])
    columns = ["finished", "sent_user", "never_received", "diverged"]
    assert set(found.results.select(columns).rows()) == {(True, 25 * RANKS, 0, 0)}


def test_a_trace_is_the_same_in_each_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program reads the number of the run: digits and letters take different numbers of instructions.
    monkeypatch.setattr(
        "matchbench.chip.trace.secrets.token_hex", lambda size: "0123456789abcdef"[: 2 * size]
    )
    for name in ("one", "two"):
        words = ["--ranks", "2", "--transport", "moped", "--trace", str(tmp_path / name)]
        assert main(["chip", "run", str(folder / "traced"), *SMALL, *words]) == 0
    for rank in range(2):
        files = [(tmp_path / name / f"rank-{rank:05}.mbt").read_bytes() for name in ("one", "two")]
        assert files[0] == files[1]


def test_a_trace_needs_the_recorder_a_core_for_each_rank_and_an_unused_directory(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "used").write_text("")
    for program, words, message in (
        ("wrong", ["--trace", str(tmp_path / "new")], "found no recorder in it"),
        ("traced", ["--trace", str(tmp_path / "new"), "--cores", "1"], "--trace: found 2 ranks on 1 cores"),
        ("traced", ["--trace", str(tmp_path)], f"{tmp_path}: found other files, expected an empty directory"),
    ):
        assert main(["chip", "run", str(folder / program), "--ranks", "2", *SMALL, *words, "send"]) == 2
        assert message in capfd.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_rank_that_a_fault_ends_leaves_what_was_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MB_MPI_BUILD", str(folder))
    loop = "for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);\n    exchange("
    program = build(tmp_path / "cut", WRONG.replace("    exchange(", f"    {loop}"), "--record")
    trace = tmp_path / "trace"
    words = ["--ranks", "2", "--trace", str(trace), "instruction"]
    assert main(["chip", "run", str(program), *SMALL, *words]) == 1
    said = capfd.readouterr().err
    # Records reach the file 64 at a time.
    assert re.search(r"rank 0: cut after (63|127) records", said), said
    assert main(["trace", "check", str(trace)]) in {0, 1}


@pytest.mark.parametrize("transport", ["shm", "moped"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_named_with_its_place(
    fault: str, transport: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [str(folder / "wrong"), "--ranks", "2", "--transport", transport, *SMALL, fault]
    assert main(["chip", "run", *words]) == 1
    said = capfd.readouterr().err
    lines = [line for line in said.splitlines() if line.startswith("kernel: program 0 rank ")]
    assert re.search(FAULTS[fault], lines[-1] if fault == "room" else lines[0]), said
    if fault == "call":
        assert len(lines) == 1
        assert "found a system call that the kernel does not have" in said.splitlines()[-1]


@pytest.mark.parametrize("transport", ["shm", "moped"])
def test_a_deadlock_names_the_call_of_each_rank(
    transport: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [str(folder / "wrong"), "--ranks", "2", "--transport", transport, *SMALL, "deadlock"]
    assert main(["chip", "run", *words]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].endswith("deadlock: every process waits")
    for rank, line in enumerate(lines[1:]):
        assert re.fullmatch(
            rf"  program 0 rank {rank} core {rank}: {PLACE}, called from MPI_Wait in exchange\+0x\w+", line
        )
    assert len(lines) == 3
