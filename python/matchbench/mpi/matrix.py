# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Matrices of environments for `matchbench mpi conform --matrix`: files in TOML, two of them shipped.

`spec/mpi-conform.md`, section 3, defines the format.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matchbench._native import MatchbenchError, unknown_name
from matchbench.input import read_toml
from matchbench.mpi.launch import Mpi

SHIPPED = Path(__file__).parent / "matrices"
"""Folder of the shipped matrices."""

_KEYS = {"about": str, "flavour": str, "environment": list}
_ENVIRONMENT_KEYS = {
    "name": str,
    "about": str,
    "variables": dict,
    "launcher": list,
    "ranks": int,
    "library": str,
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of environments, and of the directories of their reports."""
_MOST_RANKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One row of a matrix.

    Parameters
    ----------
    name
        Its name, which is also that of the directory of its report.
    about
        A line that describes it.
    variables
        Variables added to the launcher's environment.
    launcher
        Words added after the launcher's first word.
    ranks
        Ranks per program, if they are not those of the command line.
    library
        A regular expression that the text of `MPI_Get_library_version` must contain; the environment
        means nothing to other libraries.
    """

    name: str
    about: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    launcher: tuple[str, ...] = ()
    ranks: int | None = None
    library: str | None = None

    def applied_to(self, mpi: Mpi) -> Mpi:
        """Give the MPI in this environment."""
        first, *others = mpi.launcher
        return replace(mpi, launcher=(first, *self.launcher, *others), variables=self.variables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Environments in which one MPI is examined.

    Parameters
    ----------
    name
        Name of a shipped matrix, or of the file.
    about
        A line that describes it.
    flavour
        The launcher's flavour for which it is made (`matchbench.launchers.launcher_flavour`); any if none.
    environments
        The rows.
    """

    name: str
    about: str
    flavour: str | None
    environments: tuple[Environment, ...]


def shipped() -> list[str]:
    """Name the shipped matrices."""
    return sorted(file.stem for file in SHIPPED.glob("*.toml"))


def read_matrix(name: str, *, allow_code: bool = False) -> Matrix:
    """Read a shipped matrix by its name, or a file.

    Parameters
    ----------
    name
        The name or the path.
    allow_code
        Let a file give words of the launcher and variables, which select what is executed (`SECURITY.md`).

    Raises
    ------
    MatchbenchError
        If there is no such matrix, or the file has another form.
    """
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    if not path.exists():
        msg = f"{unknown_name('matrix', name, shipped())}, or a file"
        raise MatchbenchError(msg)
    data = read_toml(path, "a matrix (spec/mpi-conform.md, section 3)")
    _check(name, data, _KEYS)
    rows = data.get("environment", [])
    environments = tuple(_environment(f"{name}: environment {at}", row) for at, row in enumerate(rows, 1))
    names = [one.name for one in environments]
    if not names or len(set(names)) < len(names):
        msg = (
            f"{name}: found {', '.join(names) or 'no environment'}; expected environments of different names"
        )
        raise MatchbenchError(msg)
    needing = [one.name for one in environments if one.launcher or one.variables]
    if needing and not allow_code and name not in shipped():
        msg = (
            f"{name}: environment `{needing[0]}`: found variables or words of the launcher, which select "
            "what is executed; expected --allow-code for a matrix that you trust"
        )
        raise MatchbenchError(msg)
    return Matrix(
        name=path.stem,
        about=data.get("about", ""),
        flavour=data.get("flavour"),
        environments=environments,
    )


def _environment(place: str, row: Any) -> Environment:
    if not isinstance(row, dict):
        msg = f"{place}: found `{row}`; expected a table"
        raise MatchbenchError(msg)
    _check(place, row, _ENVIRONMENT_KEYS)
    name = row.get("name", "")
    if not NAME.fullmatch(name):
        msg = f"{place}: found name `{name}`; expected letters, digits, dots and hyphens"
        raise MatchbenchError(msg)
    variables, launcher, ranks = row.get("variables", {}), row.get("launcher", []), row.get("ranks")
    if not all(isinstance(value, str) for value in (*variables.values(), *launcher)):
        msg = (
            f"{place} ({name}): found a value that is not text; expected variables and launcher words as text"
        )
        raise MatchbenchError(msg)
    if ranks is not None and not 1 <= ranks <= _MOST_RANKS:
        msg = f"{place} ({name}): ranks: found {ranks}, expected 1 to {_MOST_RANKS}"
        raise MatchbenchError(msg)
    try:
        re.compile(row.get("library", ""))
    except re.error as error:
        msg = f"{place} ({name}): library: found `{row['library']}`, expected a regular expression: {error}"
        raise MatchbenchError(msg) from error
    return Environment(
        name=name,
        about=row.get("about", ""),
        variables=tuple(sorted(variables.items())),
        launcher=tuple(launcher),
        ranks=ranks,
        library=row.get("library"),
    )


def _check(place: str, data: Mapping[str, Any], known: Mapping[str, type]) -> None:
    for key, value in data.items():
        if key not in known:
            msg = f"{place}: {unknown_name('key', key, list(known))}"
            raise MatchbenchError(msg)
        if not isinstance(value, known[key]) or isinstance(value, bool):
            msg = f"{place}: {key}: found `{value}`; expected {known[key].__name__}"
            raise MatchbenchError(msg)
