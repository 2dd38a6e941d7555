# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The MPI library of the simulated chip, on this machine: its own tests, the examples, and `mpi conform`.

Transport moped runs on a test double of the device (moped/mpi/tests/moped_double.h).
`make nightly` runs more programs: MATCHBENCH_GUEST_MPI_PROGRAMS per test, from MATCHBENCH_GUEST_MPI_SEED.
"""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from matchbench._native import TestPrograms as Programs
from matchbench.cli import main
from matchbench.mpi.conform_runner import Runner
from matchbench.mpi.launch import find
from tests import shared
from tests.processes import PATIENCE_S

GUEST = Path(__file__).resolve().parent.parent / "moped" / "mpi"
EXAMPLES = GUEST.parent.parent / "examples" / "mpi"
TRANSPORTS = {
    "shm": {"MB_MPI_TRANSPORT": "shm"},
    # Messages of 64 bytes and more are sent by rendezvous.
    "rendezvous": {"MB_MPI_TRANSPORT": "shm", "MB_MPI_EAGER": "64"},
    "moped": {"MB_MPI_TRANSPORT": "moped"},
    "moped with a table of 4": {"MB_MPI_TRANSPORT": "moped", "MB_MPI_TABLE": "4"},
}
# Arguments for runs of a second or less.
SMALL = {
    "halo3d": ["--nx", "6", "--ny", "6", "--nz", "6", "--steps", "6"],
    "cg": ["--nx", "4", "--ny", "4", "--nz", "4", "--springs", "12"],
    "fft": ["--size", "32", "--repeat", "1"],
    "sweep": ["--nx", "16", "--ny", "16", "--nz", "8", "--iterations", "1"],
    "graph": ["--scale", "8"],
    "tasks": ["--size", "128"],
}
NEEDS = {"fft": "g++", "graph": "g++", "sweep": "gfortran"}
RISCV = "riscv64-linux-gnu-gcc"
# Random programs of a test, and the seed of the first.
RANDOM_PROGRAMS = int(os.environ.get("MATCHBENCH_GUEST_MPI_PROGRAMS", "30"))
SEED = os.environ.get("MATCHBENCH_GUEST_MPI_SEED", "1")
# Most programs in which a fault is searched for, programs of a job, and the seconds of one that hangs.
FAULT_PROGRAMS = 100
FAULT_BATCH = 10
FAULT_LIMIT_S = 10
# Ranks that spin while they wait, as the library lets them, are for `make nightly`.
NIGHTLY = "MATCHBENCH_GUEST_MPI_PROGRAMS" in os.environ
pytestmark: list[pytest.MarkDecorator] = [] if NIGHTLY else [pytest.mark.usefixtures("sleeping_ranks")]
# Faults: file, what is replaced, and by what; then the transport and the kinds of failure that show them.
UNEXPECTED = (
    "    message->next = NULL;\n    *unexpected_last = message;\n    unexpected_last = &message->next;\n"
)
POSTED = "    receive->next = NULL;\n    *posted_last = receive;\n    posted_last = &receive->next;\n"
REVOKED = "        request->next = NULL;\n        *revoked = request;\n        revoked = &request->next;\n"
REFUSED = "        mb_backoff_begin();\n    }\n    mb_shm_send(request);\n}\n\nstatic void receive("
FAULTS = {
    "the youngest unexpected message matches first": (
        "match.c",
        UNEXPECTED,
        "    message->next = unexpected;\n    unexpected = message;\n",
        "shm",
        ("order",),
    ),
    "the youngest receive matches first": (
        "match.c",
        POSTED,
        "    receive->next = posted;\n    posted = receive;\n",
        "shm",
        ("order",),
    ),
    "each piece of a rendezvous goes to the start of the buffer": (
        "shm.c",
        "receive->buffer, receive->moved, slot->data, packet->piece);",
        "receive->buffer, 0, slot->data, packet->piece);",
        "rendezvous",
        ("defect",),
    ),
    "what back-off revokes moves in reverse order": (
        "device.c",
        REVOKED,
        "        request->next = *revoked;\n        *revoked = request;\n",
        "moped with a table of 4",
        ("order",),
    ),
    "a refused send goes before the older ones that are revoked": (
        "moped.c",
        REFUSED,
        "        mb_shm_send(request);\n        mb_backoff_begin();\n        return;\n    }\n"
        "    mb_shm_send(request);\n}\n\nstatic void receive(",
        "moped with a table of 4",
        ("order",),
    ),
    "a receive overlooks older messages of software after the return": (
        "moped.c",
        "mb_shm_receive_unexpected(request) || mb_device_post(request)",
        "mb_device_post(request)",
        "moped with a table of 4",
        (
            "order",
            "stuck",
        ),
    ),
}


def run(*words: str | Path, status: int = 0, variables: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed on both outputs."""
    done = subprocess.run(
        words,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, **(variables or {})},
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def build(directory: Path, platform: str = "host", source: Path = GUEST) -> Path:
    run("make", "--silent", "-j2", "-C", source, platform, f"OUT={directory}")
    return directory


@pytest.fixture(scope="session")
def built() -> Path:
    return shared.guest_mpi("host")


@functools.cache
def folder() -> Path:
    """Make a folder for programs; the tests of this file run in one process."""
    folder = shared.BUILT / "guest-mpi-programs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@functools.cache
def program(source: Path, library: Path, *, compiler: str = "mpicc-host", platform: str = "host") -> Path:
    """Compile a program once."""
    binary = folder() / f"{source.stem}.{platform}"
    options = ["-O1", "-Wall", "-Wextra", f"-I{EXAMPLES}"]
    if platform == "host":
        run(GUEST / compiler, *options, source, "-o", binary, "-lm", variables={"MB_MPI_BUILD": str(library)})
    else:
        archive = library / platform / "libmpi.a"
        run(RISCV, "-static", *options, f"-I{GUEST}", source, archive, "-o", binary, "-lm")
    return binary


def launch(ranks: int, *words: str | Path, status: int = 0, variables: dict[str, str] | None = None) -> str:
    return run(GUEST / "mpirun-host", "-n", str(ranks), *words, status=status, variables=variables)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", ["collectives", "objects"])
def test_the_calls_do_what_the_standard_says(name: str, transport: str, built: Path) -> None:
    binary = program(GUEST / "tests" / f"{name}.c", built)
    for ranks in (1, 2, 3, 4, 7):
        assert f"{name}: passed on {ranks} ranks" in launch(ranks, binary, variables=TRANSPORTS[transport])


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", SMALL)
def test_the_examples_find_their_answers(name: str, transport: str, built: Path) -> None:
    if shutil.which(NEEDS.get(name, "gcc")) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    source = next(path for path in EXAMPLES.glob(f"{name}.*") if path.suffix in {".c", ".cpp", ".f90"})
    compiler = {".c": "mpicc-host", ".cpp": "mpicxx-host", ".f90": "mpifort-host"}[source.suffix]
    if source.suffix == ".f90":
        binary = folder() / "sweep.host"
        options = ["-std=f2018", "-cpp", f"-J{folder()}"]
        run(GUEST / compiler, *options, source, "-o", binary, variables={"MB_MPI_BUILD": str(built)})
    else:
        binary = program(source, built, compiler=compiler)
    said = launch(6, binary, *SMALL[name], variables=TRANSPORTS[transport])
    tally = re.search(
        rf"^{name}: sent_messages=(\d+) sent_bytes=(\d+) received_messages=(\d+) received_bytes=(\d+)$",
        said,
        re.M,
    )
    assert tally is not None, said
    assert tally.group(1, 2) == tally.group(3, 4)


# Buffers of several types and ranks, a section, constants in their place.
BUFFERS = """
program buffers
  USE
  implicit none
  INCLUDE
  double precision :: a(4, 4), sum
  complex(kind=8) :: z
  character(len=5) :: text
  logical :: flag
  integer :: rank, ierror, i, requests(2), statuses(MPI_STATUS_SIZE, 2)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  a = reshape([(dble(i), i = 1, 16)], [4, 4])
  sum = 1
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(rank == 1, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
  z = (0d0, 2d0)
  if (rank == 1) z = 0
  call MPI_Bcast(z, 1, MPI_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD, ierror)
  text = 'other'
  if (rank == 0) text = 'words'
  call MPI_Bcast(text, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
  call MPI_Irecv(a(1, 1), 2, MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(z, 1, MPI_DOUBLE_COMPLEX, 1 - rank, 0, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, statuses, ierror)
  call MPI_Gather(a(2, 1:4:3), 2, MPI_DOUBLE_PRECISION, &
      a(1, 3), 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierror)
  if (sum == 2 .and. flag .and. z == (0d0, 2d0) .and. text == 'words' .and. all(a(1:2, 1) == [0, 2])) then
    if (rank == 0 .and. all(a(:, 3) == [2, 14, 2, 14])) print '(a)', 'as expected'
  end if
  call MPI_Finalize(ierror)
end program buffers
"""
HANDLES = """
program handles
  use mpi_f08
  implicit none
  type(MPI_Comm) :: copy
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  request = MPI_REQUEST_NULL
  if (copy /= MPI_COMM_WORLD .and. .not. copy == MPI_COMM_WORLD .and. request == MPI_REQUEST_NULL &
      .and. MPI_INTEGER /= MPI_REAL) print '(a)', 'as expected'
  call MPI_Finalize()
end program handles
"""
FORTRAN = {
    "module mpi": (BUFFERS.replace("USE", "use mpi").replace("INCLUDE", ""), 2),
    "mpif.h": (BUFFERS.replace("USE", "").replace("INCLUDE", "include 'mpif.h'"), 2),
    "handles of mpi_f08": (HANDLES, 1),
}


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
@pytest.mark.parametrize("name", FORTRAN)
def test_programs_of_fortran_need_no_options(name: str, built: Path, tmp_path: Path) -> None:
    text, ranks = FORTRAN[name]
    source, binary = tmp_path / "program.f90", tmp_path / "program"
    source.write_text(text)
    # Warnings of types that differ come with mpif.h.
    run(GUEST / "mpifort-host", "-w", source, "-o", binary, variables={"MB_MPI_BUILD": str(built)})
    assert launch(ranks, binary) == "as expected\n"


def conform(output: Path, ranks: int, *options: str) -> int:
    words = ["mpi", "conform", "--mpicc", str(GUEST / "mpicc-host"), "-o", str(output), "--ranks", str(ranks)]
    return main([*words, *options, "--", str(GUEST / "mpirun-host")])


@pytest.fixture
def chosen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, built: Path) -> str:
    """Set the transport and the library, and return the name of the transport."""
    for name, value in TRANSPORTS[request.param].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MB_MPI_BUILD", str(built))
    return str(request.param)


@pytest.mark.parametrize("chosen", TRANSPORTS, indirect=True)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_random_programs_keep_the_order(
    chosen: str, ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = tmp_path / "counters"
    monkeypatch.setenv("MB_MPI_COUNTERS", str(counters))
    limits = ["--programs", str(RANDOM_PROGRAMS), "--seed", SEED, "--budget", "2h"]
    assert conform(tmp_path / "out", ranks, *limits) == 0
    totals = [0, 0, 0]
    for line in counters.read_text().splitlines():
        found = re.fullmatch(r"mpi: \w+ refusals (\d+) revocations (\d+) returns (\d+)", line)
        assert found is not None, line
        totals = [total + int(number) for total, number in zip(totals, found.groups(), strict=True)]
    # Every part of back-off was exercised with small tables, and none without the device.
    if "table of 4" in chosen:
        assert all(total > RANDOM_PROGRAMS // 6 for total in totals), totals
    elif "moped" not in chosen:
        assert not any(totals), totals


def failing(directory: Path) -> list[str]:
    """Run programs until some fail, and give the kinds of their failures."""
    mpi = find(str(GUEST / "mpicc-host"), [str(GUEST / "mpirun-host")])
    runner = Runner(mpi, directory, FAULT_LIMIT_S)
    lacks = runner.lacks()
    for start in range(0, FAULT_PROGRAMS, FAULT_BATCH):
        programs = Programs(1, start, FAULT_BATCH, ranks=2, without=lacks)
        first = 0
        while first < FAULT_BATCH:
            judged = runner.run(programs, first, limit=FAULT_LIMIT_S, others=FAULT_LIMIT_S).judged
            if judged["failures"]:
                return [failure["kind"] for failure in judged["failures"]]
            first = judged["next"]
    return []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(
    fault: str, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, old, new, transport, kinds = FAULTS[fault]
    source = tmp_path / "mpi"
    shutil.copytree(GUEST, source, ignore=shutil.ignore_patterns("build"))
    text = (source / name).read_text()
    assert text.count(old) == 1
    (source / name).write_text(text.replace(old, new))
    # Only the changed file is compiled: copies keep their times.
    library = tmp_path / "library"
    shutil.copytree(built / "host", library / "host")
    build(library, source=source)
    for key, value in TRANSPORTS[transport].items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("MB_MPI_BUILD", str(library))
    directory = tmp_path / "job"
    directory.mkdir()
    found = failing(directory)
    assert found, f"no failure in {FAULT_PROGRAMS} programs"
    assert set(found) <= set(kinds)


@pytest.mark.parametrize(("form", "status"), [("ordered", 0), ("literal", 1)])
def test_the_published_back_off_breaks_the_order(form: str, status: int, built: Path) -> None:
    binary = program(GUEST / "tests" / "literal_order.c", built)
    variables = {**TRANSPORTS["moped with a table of 4"], "MB_MPI_BACKOFF": form}
    said = launch(2, binary, status=status, variables=variables)
    assert ("out of order: B before A" in said) == (form == "literal")


def test_a_probe_finds_what_another_receive_may_have_taken(built: Path) -> None:
    binary = program(GUEST / "tests" / "found.c", built)
    # No send is withdrawn to be sent from a copy: only back-off moves it.
    variables = {**TRANSPORTS["moped with a table of 4"], "MB_MPI_PATIENCE": "1000000"}
    assert "found: passed on 2 ranks" in launch(2, binary, variables=variables)


def test_the_published_return_deadlocks(built: Path) -> None:
    binary = program(GUEST / "tests" / "literal_deadlock.c", built)
    variables = TRANSPORTS["moped with a table of 4"]
    assert "passed on 3 ranks" in launch(3, binary, variables={"MB_MPI_BACKOFF": "ordered", **variables})
    # timeout(1) ends with 124.
    words: list[str | Path] = ["timeout", "4", GUEST / "mpirun-host", "-n", "3", binary]
    run(*words, status=124, variables={"MB_MPI_BACKOFF": "literal", **variables})


@pytest.mark.skipif(shutil.which(RISCV) is None, reason=f"{RISCV} is not installed")
@pytest.mark.skipif(shutil.which("qemu-riscv64") is None, reason="qemu-riscv64 is not installed")
def test_riscv_programs_run_under_qemu(tmp_path: Path) -> None:
    # The library of the chip, with the same compiler and options: only the platform is another file.
    chip = shared.guest_mpi("chip")
    shutil.copytree(chip / "chip", tmp_path / "riscv-host")
    (tmp_path / "riscv-host" / "libmpi.a").unlink()
    build(tmp_path, "riscv-host")
    for name in ("halo3d", "cg", "tasks"):
        binary = program(EXAMPLES / f"{name}.c", tmp_path, platform="riscv-host")
        for transport in ("shm", "moped"):
            launch(3, binary, *SMALL[name], variables={"MB_MPI_RUN": "qemu-riscv64", **TRANSPORTS[transport]})
    # A program that is alone.
    binary = program(GUEST / "tests" / "collectives.c", chip, platform="chip")
    assert "collectives: passed on 1 ranks" in run("qemu-riscv64", binary)


def test_an_unsupported_call_is_named(built: Path, tmp_path: Path) -> None:
    source = tmp_path / "window.c"
    source.write_text(
        "#include <mpi.h>\n"
        "int main(int argc, char **argv)\n"
        "{ MPI_Win w; MPI_Init(&argc, &argv); MPI_Win_create(0, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w); }\n"
    )
    said = launch(1, program(source, built), status=1)
    assert said == "mpi: rank 0: MPI_Win_create: not supported by this library (moped/mpi/README.md)\n"


def test_constants_of_fortran_are_those_of_c(built: Path) -> None:
    header = (GUEST / "mpi.h").read_text()
    fortran = dict(
        re.findall(r"parameter \((MPI_\w+)=(-?\d+)\)", (built / "host/mpif_constants.inc").read_text())
    )
    text = (built / "host/mpi_f08_handles.inc").read_text()
    modern = dict(re.findall(r":: (MPI_\w+) = (?:MPI_\w+\()?(-?\d+)\)?$", text, re.M))
    pattern = r"^#define (MPI_\w+) \(?(?:\(MPI_\w+\))?(-?(?:0x[0-9a-f]+|\d+))\)*$"
    c = {name: int(number, 0) for name, number in re.findall(pattern, header, re.M)}
    # Lengths of text have no room for a zero in Fortran.
    lengths = {name for name in c if name.startswith("MPI_MAX_") and name not in {"MPI_MAX"}}
    for table in (fortran, modern):
        shared = table.keys() & c.keys() - lengths
        assert len(shared) > 90
        assert {name: int(table[name]) for name in shared} == {name: c[name] for name in shared}
