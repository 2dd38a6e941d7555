# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Whatever ends a rank, its trace stays readable, and the program is left alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import RUN_ID, Build, Mpi, check_frame, read_trace

MESSAGES = 20000  # as in programs/lives.c
THREADS, THREAD_MESSAGES = 3, 300
MOUNT, UMOUNT = "/bin/mount", "/bin/umount"


def test_a_killed_rank_leaves_all_that_it_had_written(mpi: Mpi, build: Build, trace: Path) -> None:
    done = mpi.record(trace, 2, [str(build("lives.c")), "killed"], check=False)
    assert done.returncode != 0
    _, killed = read_trace(trace)
    assert not killed.finalized
    assert not killed.stopped
    assert not killed.aborted
    assert len(killed.of("Recv")) == len(killed.of("Done")) == MESSAGES // 2 + 1


def test_a_rank_that_leaves_without_finalize_is_readable(mpi: Mpi, build: Build, trace: Path) -> None:
    mpi.record(trace, 2, [str(build("lives.c")), "exit"], check=False)
    sender, receiver = read_trace(trace)
    assert (sender.finalized, receiver.finalized) == (False, False)
    assert len(sender.of("Send")) == len(receiver.of("Done")) == 100


def record_abort(mpi: Mpi, trace: Path, program: list[str]) -> subprocess.CompletedProcess[str]:
    """Record a program that calls MPI_Abort.

    Open MPI's launcher hangs after it about once in 200 runs on a busy machine, without the recorder too.
    """
    for _ in range(3):
        try:
            return mpi.record(trace, 2, program, check=False, seconds=60)
        except subprocess.TimeoutExpired:
            for file in trace.iterdir():
                file.unlink()
    pytest.fail("the launcher did not end in three runs of 60 s")


def test_an_abort_is_recorded_and_the_rest_is_readable(mpi: Mpi, build: Build, trace: Path) -> None:
    done = record_abort(mpi, trace, [str(build("lives.c")), "abort"])
    assert done.returncode != 0
    other, aborting = read_trace(trace)
    assert (other.aborted, aborting.aborted) == (False, True)
    [abort] = aborting.of("Other")  # MPICH 5 returns from it, so more may follow
    assert json.loads((trace / "meta.json").read_text())["other_calls"][abort.aux] == "MPI_Abort"


def test_a_forked_child_writes_nothing(mpi: Mpi, build: Build, trace: Path) -> None:
    mpi.record(trace, 2, [str(build("lives.c")), "fork"])
    for rank in read_trace(trace):
        check_frame(rank)
        assert not rank.of("Probe")
        assert len(rank.of("Send", "Recv")) == 100


def test_threads_keep_their_own_order(mpi: Mpi, build: Build, trace: Path) -> None:
    done = mpi.record(trace, 2, [str(build("lives.c")), "threads"])
    if "no MPI_THREAD_MULTIPLE" in done.stdout:
        pytest.skip(f"{mpi.name} has no MPI_THREAD_MULTIPLE")
    for rank in read_trace(trace):
        check_frame(rank)
        assert rank.of("Init")[0].aux == 3
        exchanges = THREAD_MESSAGES // 100
        requests = [record.request for record in rank.of("Send", "Recv", "Probe")]
        assert sorted(requests) == list(range(1, THREADS * (4 * THREAD_MESSAGES + 2 * exchanges) + 1))
        assert sorted(record.request for record in rank.of("Done")) == sorted(requests)
        assert [record.aux for record in rank.of("Send")] == list(range(len(rank.of("Send"))))
        tags = {
            thread: {r.tag for r in rank.of_thread(thread) if r.kind in ("Send", "Recv")}
            for thread in range(1, THREADS + 1)
        }
        assert sorted(tags.values(), key=sorted) == [{tag} for tag in range(THREADS)]
        for thread in range(1, THREADS + 1):
            records = rank.of_thread(thread)
            for at, record in enumerate(records):
                if record.kind == "Wait":
                    following = records[at + 1 : at + 1 + record.aux]
                    assert [done.kind for done in following] == ["Done"] * record.aux


def test_a_used_directory_is_refused_and_left_alone(mpi: Mpi, build: Build, trace: Path) -> None:
    program = [str(build("lives.c")), "stream"]
    mpi.record(trace, 2, program)
    before = {path.name: path.read_bytes() for path in trace.iterdir()}
    done = mpi.record(trace, 2, program)
    assert {path.name: path.read_bytes() for path in trace.iterdir()} == before
    for rank in range(2):
        path = trace / f"rank-0000{rank}.mbt"
        assert f"matchbench: rank {rank}: not recorded: {path} exists: " in done.stderr


def test_meta_json_of_the_launcher_is_completed(mpi: Mpi, build: Build, trace: Path) -> None:
    ours = {
        "format": "matchbench-trace",
        "version": 1,
        "run_id": RUN_ID,
        "origin": "recorded",
        "command": ['a "b"', "c"],
    }
    (trace / "meta.json").write_text(json.dumps(ours))
    mpi.record(trace, 2, [str(build("lives.c")), "stream"])
    meta = json.loads((trace / "meta.json").read_text())
    assert meta | ours == meta
    assert meta["ranks"] == 2
    assert any(word in meta["mpi"] for word in ("Open MPI", "MPICH", "Intel"))
    assert sorted(path.name for path in trace.iterdir()) == ["meta.json", "rank-00000.mbt", "rank-00001.mbt"]


def test_without_the_variable_nothing_is_written(mpi: Mpi, build: Build, tmp_path: Path) -> None:
    program = [str(build("lives.c")), "stream"]
    done = mpi.record(None, 2, program)
    assert "matchbench" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system with 3 MiB of space."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        [MOUNT, "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    yield place
    subprocess.run([UMOUNT, "--lazy", str(place)], check=True)


def test_a_full_disk_stops_the_recording_and_not_the_program(
    mpi: Mpi, build: Build, small_disk: Path
) -> None:
    done = mpi.record(small_disk, 2, [str(build("lives.c")), "stream"])
    assert done.returncode == 0
    stopped = [
        line
        for line in done.stderr.splitlines()
        if "recording stopped, the program continues: No space left on device" in line
    ]
    ranks = read_trace(small_disk)
    assert len(set(stopped)) == len(stopped) == sum(rank.stopped for rank in ranks) > 0
    for rank in ranks:
        assert rank.finalized != rank.stopped
        assert len(rank.records) > 10000


def test_a_limit_on_files_stops_the_recording_and_not_the_program(
    mpi: Mpi, build: Build, trace: Path
) -> None:
    done = mpi.record(trace, 2, [str(build("lives.c")), "limit"])
    assert done.stderr.count("recording stopped, the program continues: File too large") == 2
    for rank in read_trace(trace):
        assert rank.stopped
        assert not rank.finalized
        assert len(rank.records) > 10000
