# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a command prints, as one JSON document instead of text: the option `--json`.

`docs/output.md` describes the document. It has every table with all columns, and numbers as they are: without
rounding, in the unit that the column names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class Shown(str):
    """The text of a number in a table, and the number with its unit.

    Attributes
    ----------
    value
        The number; None where there is none.
    unit
        Its unit: `ns`, `B`, `1` for a share, or empty for a count.
    """

    __slots__ = ("unit", "value")
    value: float | None
    unit: str

    def __new__(cls, text: str, value: float | None, unit: str = "") -> Shown:
        """Keep the number beside its text."""
        shown = super().__new__(cls, text)
        shown.value = value
        shown.unit = unit
        return shown


class _Output:
    """How the command that runs now prints."""

    quiet = False
    document: dict[str, Any] | None = None
    whole: object = None


_output = _Output()


def begin() -> None:
    """Print text, with remarks, until an option says otherwise."""
    _output.quiet = False
    _output.document = _output.whole = None


def be_quiet() -> None:
    """Print no progress and no remarks."""
    _output.quiet = True


def is_quiet() -> bool:
    """Whether neither progress nor remarks are printed."""
    return _output.quiet


def collect(command: str) -> None:
    """Collect what the command prints, for :func:`finished`."""
    # Imported here, since the compiled module is not there yet when the packages are installed.
    from matchbench import __version__

    _output.document = {
        "command": command,
        "version": __version__,
        "text": [],
        "fields": {},
        "tables": [],
        "remarks": [],
    }


def is_collected() -> bool:
    """Whether a document is printed instead of text."""
    return _output.document is not None


def become(whole: object) -> None:
    """Print this object instead of what was collected."""
    _output.whole = whole


def add_text(text: str) -> bool:
    """Add lines of text, if a document is collected; empty ones are omitted."""
    return _extend("text", [line for line in text.split("\n") if line])


def add_remark(text: str) -> None:
    """Add a remark, if a document is collected."""
    _extend("remarks", [text])


def add_fields(fields: Sequence[tuple[str, object]]) -> bool:
    """Add named values, if a document is collected."""
    if _output.document is None:
        return False
    _output.document["fields"] |= {name: _plain(value) for name, value in fields}
    return True


def add_table(title: str | None, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
    """Add a table, if a document is collected.

    Parameters
    ----------
    title
        A line above it.
    columns
        Headings.
    rows
        Cells; one of the class :class:`Shown` counts as its number.
    """
    if _output.document is None:
        return False
    units = [{cell.unit for row in rows if isinstance(cell := row[at], Shown)} for at in range(len(columns))]
    table = {
        "title": title,
        "columns": [
            {"name": name, "unit": unit.pop() if len(unit) == 1 else ""}
            for name, unit in zip(columns, units, strict=True)
        ],
        "rows": [[_plain(cell) for cell in row] for row in rows],
    }
    return _extend("tables", [table])


def finished() -> str | None:
    """Return the document, if one was collected, and collect no more."""
    if _output.document is None:
        return None
    whole = _output.document if _output.whole is None else _output.whole
    begin()
    return json.dumps(whole, indent=1, default=str) + "\n"


def _extend(part: str, values: list[Any]) -> bool:
    if _output.document is None:
        return False
    _output.document[part] += values
    return True


def _plain(cell: object) -> object:
    """Return what JSON has of a cell: its number, or its text."""
    if isinstance(cell, Shown):
        return cell.value
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    return str(cell)
