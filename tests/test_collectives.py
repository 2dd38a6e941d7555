# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Neighbourhood collectives, those between two groups, and partitioned messages: recorded, then replayed."""

import shutil
import subprocess
from pathlib import Path

import pytest

import matchbench as mb
from tests.conftest import Command
from tests.test_record import AS_ROOT, LAUNCHERS, ROOT, recorder

__all__ = ["recorder"]

GROUPS = r"""
#include <mpi.h>
#include <string.h>

/* Rank 0 and the others are the groups: a broadcast from rank 0, then one allreduce. */
static void groups(int rank) {
    MPI_Comm half, inter;
    int data[4] = {0}, sum[4];
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank ? 0 : 1, 7, &inter);
    MPI_Bcast(data, 4, MPI_INT, rank ? 0 : MPI_ROOT, inter);
    MPI_Allreduce(data, sum, 4, MPI_INT, MPI_SUM, inter);
    MPI_Comm_free(&inter);
}

/* Each rank broadcasts to the others, who do too. Nobody goes on before both have. */
static void contradiction(int rank) {
    int data = 0, got, to = 1 - rank;
    MPI_Bcast(&data, 1, MPI_INT, rank, MPI_COMM_WORLD);
    MPI_Sendrecv(&data, 1, MPI_INT, to, 0, &got, 1, MPI_INT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(words[1], "groups"))
        groups(rank);
    else
        contradiction(rank);
    if (!strcmp(words[1], "contradiction"))
        MPI_Abort(MPI_COMM_WORLD, 0); /* messages that nobody receives are left */
    return MPI_Finalize();
}
"""


def record(mpi: str, ranks: int, matchbench: Command, folder: Path, source: Path, *words: str) -> mb.Trace:
    """Record a C program; return its trace."""
    if shutil.which(f"mpicc.{mpi}") is None:
        pytest.skip(f"{mpi}: `mpicc.{mpi}` is not installed")
    subprocess.run([f"mpicc.{mpi}", "-w", "-o", "program", str(source)], cwd=folder, check=True)
    launcher = (*LAUNCHERS[mpi], "-n", str(ranks))
    matchbench("record", "-o", "t", "--", *launcher, "./program", *words, **AS_ROOT)
    return mb.Trace.open(folder / "t")


@pytest.mark.parametrize(
    ("scenario", "expanded", "messages"),
    # On 4 ranks: in each of 7 exchanges two of each, then two or, at an end of a line, one.
    [("neighbors", 8 * 4, 7 * 8 + 6), ("graphs", 2 * 4, 4 + 8)],
)
@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_neighbours_receive_every_message(
    recorder: Path,
    matchbench: Command,
    tmp_path: Path,
    mpi: str,
    scenario: str,
    expanded: int,
    messages: int,
) -> None:
    assert recorder.is_file()
    source = ROOT / "recorder" / "tests" / "programs" / "calls.c"
    trace = record(mpi, 4, matchbench, tmp_path, source, scenario, str(tmp_path))
    assert trace.state == "complete"
    row = mb.compare(trace, ["linear"]).results.row(0, named=True)
    assert row["finished"]
    assert (row["collectives_expanded"], row["collectives_skipped"], row["truncated"]) == (expanded, 0, 0)
    assert (row["sent"], row["received"], row["never_matched"]) == (messages, messages, 0)


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_two_groups_receive_every_message(
    recorder: Path, matchbench: Command, tmp_path: Path, mpi: str
) -> None:
    assert recorder.is_file()
    (tmp_path / "groups.c").write_text(GROUPS)
    trace = record(mpi, 3, matchbench, tmp_path, tmp_path / "groups.c", "groups")
    row = mb.compare(trace, ["linear"]).results.row(0, named=True)
    assert row["finished"]
    assert (row["collectives_expanded"], row["collectives_skipped"]) == (6, 0)
    # The root to the leader and on; one up, two across, one down.
    assert (row["sent"], row["received"], row["sent_bytes"]) == (6, 6, 6 * 16)


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_collectives_that_contradict_each_other_are_refused(
    recorder: Path, matchbench: Command, tmp_path: Path, mpi: str
) -> None:
    assert recorder.is_file()
    (tmp_path / "groups.c").write_text(GROUPS)
    record(mpi, 2, matchbench, tmp_path, tmp_path / "groups.c", "contradiction")
    for words, status in ((("trace", "check", "t"), 1), (("compare", "t"), 2)):
        done = matchbench(*words)
        assert done.returncode == status
        assert "collective 1 on MPI_COMM_WORLD is bcast from rank 1 of the world" in done.stderr
        assert done.stderr.endswith("; correct the program (T-24)\n")


def test_a_partitioned_message_is_sent_and_not_matched(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    source = ROOT / "recorder" / "tests" / "programs" / "calls.c"
    trace = record("mpich", 4, matchbench, tmp_path, source, "partitioned", str(tmp_path))
    assert trace.stats().total["partitioned"] == 12
    row = mb.compare(trace, ["linear"]).results.row(0, named=True)
    assert row["finished"]
    assert (row["partitioned"], row["sent_user"], row["never_received"]) == (12, 0, 0)
    assert "partitioned         12 messages\n" in matchbench("trace", "stats", "t").stdout
