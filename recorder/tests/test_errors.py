# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A call with wrong arguments returns to a recorded program what it returns to others.

`programs/errors.c` calls every function of `src/calls.h` that `mpi.h` has, with arguments that follow
from its prototype, with and without the recorder. What it sees must be equal.
`crashes/` lists, by version of MPI, the cases that end the program without the recorder: these are not run.
`MATCHBENCH_BLESS=1` makes the list of another version, in several minutes: it runs the program again behind
each case that ends it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from decode import read_trace
from harness import HERE, Mpi
from test_table import THEIRS, families, preprocessed

RANKS = 2
NOT_RUN = {
    "Abort": "ends the program",
    "Comm_join": "reads from a descriptor of the program",
}
"""Functions that are not called, and why."""

ENDLESS = re.compile(r"File_(\w+_(begin|end)|i(read|write)\w*)")
"""Functions whose requests Open MPI 4.1 does not complete here, with one process to a file."""

FORTRAN = {"openmpi": "-lmpi_mpifh", "mpich": "-lmpichfort"}
"""Libraries of the Fortran binding, by MPI."""

FAMILIES = (
    "send",
    "recv",
    "sendrecv",
    "probe",
    "mrecv",
    "wait",
    "cancel",
    "request_free",
    "start",
    "collective",
)
"""Families of `src/calls.h` for which the program prepares messages or requests."""

IN_EPOCH = re.compile(
    r"(Put|R?get|Get|R?accumulate|Accumulate|Rput|Get_accumulate|Fetch_and_op|Compare_and_swap|Win_flush)"
)
"""Functions that need an access epoch; the other functions of windows get none, since they would wait."""

KINDS = (
    (r"const void ?\* ?(buf|sendbuf|origin_addr|ibuf|compare_addr|base)", "SOURCE_BUFFER"),
    (r"void ?\* ?(buf|buffer|recvbuf|result_addr|origin_addr)", "TARGET_BUFFER"),
    (r"void ?\* ?(base|baseptr|extra_state)", "POINTER"),
    (
        r"(int|MPI_Count) (count|sendcount|recvcount|incount|partitions|\w+_cou?n?t|n(dim|node)s|\w+degree)",
        "COUNT",
    ),
    (r"MPI_Datatype \w+", "TYPE"),
    (r"int dest", "DEST"),
    (r"int (source|target_rank)", "SOURCE"),
    (r"int (root|local_leader|rank)", "ROOT"),
    (r"int remote_leader", "OTHER_RANK"),
    (r"int (tag|sendtag|recvtag)", "TAG"),
    (r"MPI_Comm (bridge|peer)_comm", "WORLD"),
    (r"MPI_Comm intercomm", "INTER"),
    (r"MPI_Comm \w+", "COMM"),
    (r"MPI_Comm ?\* ?(new\w*|comm_\w+|intercomm)", "NEW_COMM"),
    (r"MPI_Comm ?\* ?comm", "OLD_COMM"),
    (r"MPI_Request \*request", "NEW_REQUEST"),
    (r"MPI_Request request", "REQUEST_VALUE"),
    (r"MPI_Request array_of_requests\[\]", "REQUESTS"),
    (r"MPI_Status (array_of_statuses\[\]|\*array_of_statuses)", "STATUSES"),
    (r"MPI_Status \*status", "STATUS"),
    (r"int \*flag", "FLAG"),
    (r"int \*(index|indx)", "INDEX"),
    (r"int \*outcount", "OUTCOUNT"),
    (r"int array_of_indices\[\]", "INDICES"),
    (r"const (int|MPI_Count) (recvcounts|sendcounts|dims|index|indx)\[\]", "COUNTS"),
    (r"const (int|MPI_Aint) \w*displs\[\]", "DISPLACEMENTS"),
    (r"const MPI_Datatype \w+\[\]", "TYPES"),
    (r"MPI_Op op", "OP"),
    (r"MPI_Info info", "INFO"),
    (r"MPI_Message \*message", "MESSAGE"),
    (r"MPI_Group \w+", "GROUP"),
    (r"MPI_Win win", "WINDOW"),
    (r"MPI_Win \*win", "NEW_WINDOW"),
    (r"MPI_File fh", "FILE_HANDLE"),
    (r"MPI_File \*fh", "NEW_FILE"),
    (r"MPI_Errhandler \w+", "HANDLER"),
    (r"MPI_Grequest_\w+_function \*\w+", "HOOK"),
    (r"(const )?(int|MPI_Info) \w+\[\]", "NUMBERS"),
    (r"(MPI_Offset|MPI_Aint) \w+", "LONG"),
    (r"const char \*\w+", "TEXT"),
    (r"char \*+\w+\[\]", "NUMBERS"),
    (r"int \w+", "NUMBER"),
)
"""What an argument is (`enum kind` of the program), by its declaration."""


def kind_of(function: str, family: str, declaration: str) -> str:
    """Return the kind of an argument; fail for one that no rule describes."""
    text = re.sub(r"__attribute__\(\(.*", "", declaration).strip()
    kind = next((kind for pattern, kind in KINDS if re.fullmatch(pattern, text)), None)
    assert kind is not None, f"MPI_{function}: no values for the argument `{text}`: add a rule to KINDS"
    if kind == "NEW_REQUEST" and family in ("wait", "cancel", "request_free", "start"):
        return "REQUEST"
    if kind == "MESSAGE" and family == "probe":
        return "NEW_MESSAGE"
    if kind == "COMM" and (function == "Cart_sub" or "eighbor" in function):
        return "CART"
    if kind == "COMM" and function in ("Comm_accept", "Comm_connect", "Comm_spawn", "Comm_spawn_multiple"):
        return "NO_COMM"
    if kind == "WINDOW" and not IN_EPOCH.match(function):
        return "NO_WINDOW"
    return kind


def table(mpi: Mpi, tmp_path: Path) -> str:
    """Return the rows of the program's table."""
    source = tmp_path / "mpi.c"
    source.write_text("#include <mpi.h>\n")
    prototypes = dict(THEIRS.findall(preprocessed(mpi, source)))
    rows = []
    for function, (family, blocking) in families(mpi, tmp_path).items():
        if function in NOT_RUN or function not in prototypes or (mpi.open_mpi and ENDLESS.match(function)):
            continue
        declarations = prototypes[function].split(",")
        kinds = [kind_of(function, family, declaration) for declaration in declarations]
        group = family.upper() if family in FAMILIES or family in ("comm_make", "comm_free") else "REST"
        if group == "REST" and IN_EPOCH.match(function):
            group = "EPOCH"
        rows.append(
            f'{{"{function}", "mpi_{function.lower()}_", (void *)MPI_{function}, {group},'
            f" {int(function.endswith('_c'))}, {int(blocking)}, {len(kinds)}, {{{', '.join(kinds)}}}}},\n"
        )
    return "".join(rows)


@pytest.fixture(autouse=True)
def _sleeping() -> None:
    """Let no rank sleep: each is on its own nearly always, and calls thousands of times."""


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program with its table; with the Fortran binding, where there is one."""
    place = tmp_path_factory.mktemp(f"errors-{mpi.name}")
    (place / "functions.inc").write_text(table(mpi, place))
    options = ["-w", "-O0", f"-I{place}"]
    fortran = FORTRAN.get(mpi.name)
    if fortran:
        options.append("-Wl,--no-as-needed")
    libraries = (fortran,) if fortran else ()
    return mpi.compile(
        HERE / "programs" / "errors.c", place / "errors", options=tuple(options), libraries=libraries
    )


def results(out: Path) -> tuple[list[dict[str, str]], set[str]]:
    """Return what each rank wrote, the result of each case, and the cases that ended a rank."""
    found, last = [], set()
    for rank in range(RANKS):
        lines = Path(f"{out}.{rank}").read_text().splitlines()
        ended = bool(lines) and lines[-1] == "end"
        if lines and not ended:
            last.add(lines[-1].split(" ", 1)[0])
        found.append(dict(line.split(" ", 1) for line in (lines[:-1] if ended else lines) if " " in line))
    return found, last


def crashes(mpi: Mpi, tmp_path: Path) -> Path:
    """Return the list of this version."""
    source = tmp_path / "version.c"
    source.write_text(
        "#include <mpi.h>\n@ MPICH_VERSION @ OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION\n"
    )
    _, mpich, open_mpi = preprocessed(mpi, source).rsplit("@", 2)
    version = open_mpi.replace(" ", "") if mpi.open_mpi else mpich.strip().strip('"')
    return HERE / "crashes" / f"{mpi.name}-{version}.txt"


def read_cases(path: Path) -> list[str]:
    """Read a list: the first two parts of a name, and the last three of each case that begins with them."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [f"{name}.{case}" for name, *cases in map(str.split, lines) for case in cases]


def write_cases(path: Path, cases: Sequence[str]) -> None:
    """Write a list."""
    grouped: dict[str, list[str]] = {}
    for case in cases:
        name, *numbers = case.rsplit(".", 3)
        grouped.setdefault(name, []).append(".".join(numbers))
    path.write_text("".join(f"{' '.join([name, *found])}\n" for name, found in grouped.items()))


def find_crashes(mpi: Mpi, program: Path, binding: str, tmp_path: Path) -> list[str]:
    """Run the program again and again, each time behind the case that ended it; return these cases."""
    out, skipped = tmp_path / "found", tmp_path / "skipped"
    found: list[str] = []
    while True:
        skipped.write_text(
            "\n" + "".join(f"{case}\n" for case in found) + "".join(f">{case}\n" for case in found[-1:])
        )
        mpi.record(None, RANKS, [str(program), binding, str(out), str(skipped)], check=False)
        _, last = results(out)
        if not last:
            return sorted(found)
        assert not last <= set(found), f"{last} ends the program although it is not run"
        found += sorted(last - set(found))


@pytest.mark.parametrize("binding", ["c", "fortran"])
def test_a_recorded_program_sees_the_errors_that_it_sees_without_the_recorder(
    binding: str, mpi: Mpi, program: Path, trace: Path, tmp_path: Path
) -> None:
    if binding == "fortran" and mpi.name not in FORTRAN:
        pytest.skip(f"{mpi.name} has no Fortran binding here")
    listed = crashes(mpi, tmp_path)
    if os.environ.get("MATCHBENCH_BLESS"):
        others = [case for case in read_cases(listed) if not case.startswith(f"{binding}.")]
        write_cases(listed, sorted(others + find_crashes(mpi, program, binding, tmp_path)))
    if not listed.exists():
        pytest.skip(f"{listed.name} does not exist; MATCHBENCH_BLESS=1 makes it")
    cases = read_cases(listed)
    bare, recorded = tmp_path / "bare", tmp_path / "recorded"
    for out, directory in ((bare, None), (recorded, trace)):
        skipped = tmp_path / "skipped"
        skipped.write_text("\n" + "".join(f"{case}\n" for case in cases))
        done = mpi.record(directory, RANKS, [str(program), binding, str(out), str(skipped)], check=False)
        _, last = results(out)
        assert not last, f"{out.name}: ends at {last}; if bare, MATCHBENCH_BLESS=1 adds it to {listed.name}"
        assert done.returncode == 0, done.stderr
    for rank, (without, with_recorder) in enumerate(zip(results(bare)[0], results(recorded)[0], strict=True)):
        different = {
            case: (without[case], with_recorder.get(case))
            for case in without
            if without[case] != with_recorder.get(case)
        }
        assert not different, f"rank {rank}: {len(different)} of {len(without)} cases differ: {different}"
        classes = {result.split()[1] for result in without.values()}
        assert len(without) > 500
        assert len(classes) > 8
        crashed = sum(case.startswith(f"{binding}.") for case in cases)
        print(f"{mpi.name}, {binding}, rank {rank}: {len(without)} cases are equal, {crashed} are not run")
    for read in read_trace(trace):
        assert read.finalized
        assert len(read.of("Other")) > 100  # most are refused
