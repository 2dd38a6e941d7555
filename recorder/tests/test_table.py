# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The list of functions in `src/calls.h` agrees with the prototypes of every installed MPI."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from harness import HERE, Mpi

OURS = re.compile(r"@ (\d+) (\w+)")
OURS_BY_FAMILY = re.compile(r"@ (\w+) (\w+) <([^>]*)>")
THEIRS = re.compile(r"\bint\s+MPI_(\w+)\s*\(([^;{]*?)\)\s*(?:__attribute__[^;]*)?;")
LEFT_OUT = re.compile(r"Request_(c2f|f2c|fromint|toint)|(Comm|Session|Buffer)_iflush.*")
TAKES_REQUEST = re.compile(r"MPI_Request\s*(\*|\w+\s*\[|\w*array)")


def preprocessed(mpi: Mpi, source: Path) -> str:
    """Return what the preprocessor makes of a source that includes `mpi.h`."""
    command = [mpi.compiler, "-E", "-P", str(source)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=mpi.environment())
    return " ".join(done.stdout.split())


def listed(mpi: Mpi, tmp_path: Path) -> dict[str, int]:
    """Return the functions of `calls.h` and how many arguments each has."""
    source = tmp_path / "list.c"
    calls = HERE.parent / "src" / "calls.h"
    source.write_text(f'#define CALL(n, f, ...) @ n f\n#define OTHER_CALL(n, f) @ n f\n#include "{calls}"\n')
    return {name: int(arity) for arity, name in OURS.findall(preprocessed(mpi, source))}


def families(mpi: Mpi, tmp_path: Path) -> dict[str, tuple[str, bool]]:
    """Return the family of each function of `calls.h`, and whether it is one that blocks."""
    source = tmp_path / "families.c"
    calls = HERE.parent / "src" / "calls.h"
    source.write_text(
        "#define CALL(n, f, family, ...) @ f family < __VA_ARGS__ >\n"
        f'#define OTHER_CALL(n, f) @ f other < >\n#include "{calls}"\n'
    )
    text = preprocessed(mpi, source)
    return {name: (family, "BLOCKING" in roles) for name, family, roles in OURS_BY_FAMILY.findall(text)}


def test_every_function_has_as_many_arguments_as_in_mpi_h(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "mpi.c"
    source.write_text("#include <mpi.h>\n")
    theirs = {name: text.count(",") + 1 for name, text in THEIRS.findall(preprocessed(mpi, source))}
    ours = listed(mpi, tmp_path)
    common = ours.keys() & theirs.keys()
    assert len(common) > 150
    assert {name: ours[name] for name in common} == {name: theirs[name] for name in common}


def test_every_function_that_makes_or_takes_a_request_is_wrapped(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "mpi.c"
    source.write_text("#include <mpi.h>\n")
    theirs = {name for name, text in THEIRS.findall(preprocessed(mpi, source)) if TAKES_REQUEST.search(text)}
    assert len(theirs) > 50
    assert {name for name in theirs - listed(mpi, tmp_path).keys() if not LEFT_OUT.match(name)} == set()
