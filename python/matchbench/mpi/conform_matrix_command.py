# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform --matrix`: one MPI in many environments, a table as the result.

Each finished row is kept in the output directory, so that the same command continues an interrupted run.
"""

import contextlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from matchbench import __version__
from matchbench._native import MatchbenchError, TestPrograms, program_features
from matchbench.display import tables
from matchbench.display.output import (
    csv_text,
    make_directory,
    remove_directory,
    reserved_directory,
    whole_directory,
    write_files,
)
from matchbench.display.partial import Scratch
from matchbench.input import read_json
from matchbench.mpi.conform_budget import Budget
from matchbench.mpi.conform_plan import Conformance, Plan
from matchbench.mpi.conform_report import MARKER, stopped_text
from matchbench.mpi.conform_runner import NotStartedError, Runner, build_runner
from matchbench.mpi.launch import Mpi
from matchbench.mpi.matrix import NAME, Environment, Matrix

MATRIX_MARKER = "matrix.json"
FORMAT = "matchbench-mpi-conform-matrix"
VERSION = 1
COLUMNS = (
    "environment",
    "state",
    "ranks",
    "programs",
    "failed",
    "not_searched",
    "left_out",
    "seconds",
    "message",
)

Examine = Callable[[Mpi, Plan, Path, Path, Budget], tuple[Conformance, BaseException | None]]
"""Examines an MPI: MPI, plan, directory of the report, the built C runner, the budget that has begun."""


def run_matrix(matrix: Matrix, mpi: Mpi, plan: Plan, output: Path, examine: Examine, *, force: bool) -> int:
    """Examine an MPI in each environment of a matrix and print a table.

    Parameters
    ----------
    matrix, mpi
        The environments and the MPI.
    plan
        Programs and limits of each environment.
    output
        Directory of the table and of a report for each environment. Rows that are finished there are kept.
    examine
        Examines the MPI in one environment.
    force
        Start over; replaces the results of another matrix, MPI or plan too.

    Raises
    ------
    MatchbenchError
        If the matrix is for another MPI, `output` has other contents, or no environment can be run.
    KeyboardInterrupt, SystemExit
        When interrupted; the rows finished until then are kept.
    """
    if matrix.flavour is not None and mpi.flavour != matrix.flavour:
        msg = (
            f"matrix {matrix.name}: found launcher {mpi.launcher[0]} of flavour {mpi.flavour}; "
            f"expected {matrix.flavour}; choose another matrix, or name the MPI with --mpicc and after --"
        )
        raise MatchbenchError(msg)
    head = _head(matrix, mpi, plan)
    # The first environment pays for what all of them need.
    budget: Budget | None = Budget(plan.budget_seconds)
    with contextlib.ExitStack() as held:
        # Not checked for a marker: rows of an earlier run are kept.
        held.enter_context(reserved_directory(output, marker=MATRIX_MARKER, force=True, adds=True))
        rows = _finished_rows(output, head, force=force)
        make_directory(output)
        _write(output, head, rows)
        build = held.enter_context(Scratch(output, ".build-"))
        program = build_runner(mpi, Path(build))
        library = _library(mpi, plan, Path(build), program)
        for at, environment in enumerate(matrix.environments, 1):
            place = f"{at} of {len(matrix.environments)}: {environment.name}"
            if any(row["environment"] == environment.name for row in rows):
                tables.remark(f"{place}: finished before")
                continue
            tables.remark(f"{place}")
            budget = budget or Budget(plan.budget_seconds)
            rows.append(_row(environment, mpi, plan, (output, program, library), (examine, budget)))
            budget = None
            _write(output, head, rows)
    _show(matrix, rows)
    tables.line(f"\ntable: {output / 'matrix.csv'}, {output / MATRIX_MARKER}")
    if all(row["state"] != "run" for row in rows):
        msg = f"matrix {matrix.name}: no environment could be run; the first: {rows[0]['message']}"
        raise MatchbenchError(msg)
    return 1 if any(row["kinds"] or row.get("unconfirmed") or row["remarks"] for row in rows) else 0


def _head(matrix: Matrix, mpi: Mpi, plan: Plan) -> dict[str, Any]:
    """Give what must be equal for rows to belong together."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "matchbench": __version__,
        "matrix": json.loads(json.dumps(asdict(matrix))),
        "compiler": mpi.compiler,
        "launcher": list(mpi.launcher),
        "plan": json.loads(json.dumps(asdict(plan))),
    }


def _finished_rows(output: Path, head: dict[str, Any], *, force: bool) -> list[dict[str, Any]]:
    """Read the finished rows of an earlier run of the same command."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return []
    try:
        earlier = read_json(output / MATRIX_MARKER, "rows of a matrix")
        rows: list[dict[str, Any]] = earlier.pop("rows")
        names = [str(row["environment"]) for row in rows]
    except (MatchbenchError, KeyError, AttributeError, TypeError) as error:
        msg = f"{output}: not empty, and no readable `{MATRIX_MARKER}` in it; choose another directory"
        raise MatchbenchError(msg) from error
    if earlier == head and not force:
        return rows
    if not force:
        different = ", ".join(key for key in head if earlier.get(key) != head[key])
        msg = f"{output}: holds rows with another {different}; choose another directory or give --force"
        raise MatchbenchError(msg)
    for name in names:
        # The names stand in a file: only reports of this directory are removed.
        if NAME.fullmatch(name):
            remove_directory(output / name, marker=MARKER)
    return []


def _library(mpi: Mpi, plan: Plan, build: Path, program: Path) -> str:
    """Give the text of `MPI_Get_library_version`; empty if the MPI does not run as it is."""
    runner = Runner(mpi, build, plan.ceiling_seconds, program)
    runner.budget_seconds = plan.budget_seconds
    programs = TestPrograms(plan.seed, 0, 1, ranks=plan.ranks, without=program_features())
    with contextlib.suppress(NotStartedError):
        runner.run(programs, 0)
    return runner.stack.library


def _row(
    environment: Environment,
    mpi: Mpi,
    plan: Plan,
    place: tuple[Path, Path, str],
    how: tuple[Examine, Budget],
) -> dict[str, Any]:
    """Examine the MPI in one environment."""
    output, program, library = place
    examine, budget = how
    own = replace(plan, ranks=environment.ranks or plan.ranks)
    row: dict[str, Any] = {
        "environment": environment.name,
        "state": "run",
        "ranks": own.ranks,
        "programs": 0,
        "failed": 0,
        "kinds": {},
        "unconfirmed": 0,
        "not_searched": {},
        "left_out": [],
        "stopped": "",
        "remarks": [],
        "seconds": 0.0,
        "message": "",
    }
    if environment.library is not None and library and not re.search(environment.library, library):
        return {
            **row,
            "state": "not applicable",
            "message": f"MPI_Get_library_version does not contain {environment.library}",
        }
    began = time.monotonic()
    directory = output / environment.name
    try:
        with whole_directory(directory, marker=MARKER, force=True) as partial:
            found, interruption = examine(environment.applied_to(mpi), own, partial, program, budget)
            if interruption is not None:
                raise interruption
    except NotStartedError as error:
        state = "did not start" if error.is_initialized else "unavailable"
        seconds = round(time.monotonic() - began, 1)
        message = " | ".join(error.said) or error.reason
        return {**row, "state": state, "message": message, "seconds": seconds}
    kinds = found.kinds()
    return {
        **row,
        "programs": found.counts["programs"],
        "failed": len(found.failures),
        "kinds": kinds,
        "unconfirmed": len(found.unconfirmed),
        "not_searched": {kind: done for kind, done in found.searched().items() if done < own.programs},
        "left_out": [f"{one.kind}: {one.trait}" for one in found.left_out],
        "stopped": found.stopped,
        "remarks": found.remarks,
        "seconds": round(time.monotonic() - began, 1),
        "message": "" if found.stopped == "complete" else stopped_text(found, own),
    }


def _write(output: Path, head: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write the table so far."""
    table = csv_text([COLUMNS, *([_cells(row)[column] for column in COLUMNS] for row in rows)])
    whole = json.dumps({**head, "rows": rows}, indent=2) + "\n"
    write_files({output / MATRIX_MARKER: whole, output / "matrix.csv": table}, force=True)


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    """Give the cells of a row as text and numbers."""
    failed = [f"{count} {kind}" for kind, count in row["kinds"].items()]
    failed += [f"{row['unconfirmed']} unconfirmed"] if row.get("unconfirmed") else []
    return {
        **row,
        "failed": ", ".join(failed) or "none",
        "not_searched": ", ".join(f"{kind} ({done})" for kind, done in row["not_searched"].items()),
        "left_out": ", ".join(row["left_out"]),
    }


def _show(matrix: Matrix, rows: list[dict[str, Any]]) -> None:
    columns = ("environment", ">ranks", ">passed", "failed", "not searched in full", "left out", ">s")
    lines = []
    for row in rows:
        cells = _cells(row)
        if row["state"] == "run":
            keys = ("environment", "ranks", "programs", "failed", "not_searched", "left_out", "seconds")
            lines.append([cells[key] for key in keys])
        else:
            lines.append([row["environment"], row["ranks"], None, row["state"], "", "", row["seconds"]])
    tables.show(matrix.about or matrix.name, columns, lines, spare=[{5}, {4}])
    for row in rows:
        if row["message"]:
            tables.line(f"{row['environment']}: {row['state']}: {row['message']}")
