# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Aligned text tables on standard output, with colours on a terminal only, or as JSON (`document`).

rich is imported when something is printed, so that `--help` is fast.
"""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from matchbench.display import document
from matchbench.display.document import Shown

if TYPE_CHECKING:
    from typing import TextIO

    from rich.table import Table
    from rich.text import Text

_ENDLESS = 100_000  # columns; the width of anything but a terminal
_NAMED = 6  # columns of a table that are named as omitted
_GAP = 2  # columns between two cells
# Control characters, marks of direction and ends of lines (Unicode Annex 9), bytes that are not UTF-8.
_CODES = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff"
_CONTROL = re.compile(f"[\x00-\x1f{_CODES}]")
_CONTROL_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_CODES}]")
FORMULA = re.compile("^[=+@\t\r-]")  # https://owasp.org/www-community/attacks/CSV_Injection
_NOT_UTF_8 = 0xDC80
_TWO_DIGITS = 0x100
_WORDS = 24  # width to which a wider text cell may be folded


def show(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    spare: Sequence[Collection[int]] = (),
) -> None:
    """Print a table.

    On a narrow terminal, long text is folded, and spare columns are omitted, then others from the right,
    which a line names. Numbers are never cut.

    Parameters
    ----------
    title
        A line above it.
    columns
        Headings; a leading `>` marks a column of numbers, aligned to the right.
    rows
        Cells; `None` is printed as `-`.
    spare
        Positions of columns that a narrow terminal omits: sets in the order in which they are omitted.
    """
    rows = list(rows)
    headings = [column.removeprefix(">") for column in columns]
    if document.add_table(title, headings, rows):
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    edge = console.width if console.is_terminal else _ENDLESS
    cells = [headings]
    cells += [["-" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    kept = list(range(len(columns)))
    for positions in spare:
        if _width([widths[at] for at in kept]) > edge:
            kept = [at for at in kept if at not in positions]
    folding = {at for at in kept if widths[at] > _WORDS and not columns[at].startswith(">")}
    cut: list[int] = []
    while len(kept) > 1 and _width([_WORDS if at in folding else widths[at] for at in kept]) > edge:
        cut.insert(0, kept.pop())
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for at in kept:
        table.add_column(
            Text(cells[0][at]),
            justify="right" if columns[at].startswith(">") else "left",
            no_wrap=at not in folding,
            overflow="fold",
        )
    for row in cells[1:]:
        table.add_row(*(Text(row[at]) for at in kept))
    least = _width([_WORDS if at in folding else widths[at] for at in kept])
    if title:
        line(title, style="bold")
    _print(table, max(edge, least))
    if cut:
        names = listed_columns([headings[at] for at in cut])
        paragraph(f"Not shown, since the terminal has {edge} columns: {names}. `--json` has all.")


def listed_columns(names: Sequence[str]) -> str:
    """Name the first of some columns, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def fields(rows: Iterable[tuple[str, object]]) -> None:
    """Print named values, a line each."""
    rows = list(rows)
    if document.add_fields(rows):
        return
    width = max((len(name) for name, _ in rows), default=0) + _GAP
    for name, value in rows:
        line(f"{name:<{width}}{value}")


def _width(columns: Sequence[int]) -> int:
    return sum(columns) + _GAP * (len(columns) - 1)


def line(text: str = "", *, style: str = "") -> None:
    """Print a line, or several."""
    if document.add_text(text):
        return
    from rich.text import Text

    _print(Text("\n".join(map(printable, text.split("\n"))), style=style))


def paragraph(text: str) -> None:
    """Print a sentence, on a terminal broken between words."""
    if document.add_text(text):
        return
    from rich.console import Console

    console = Console(file=sys.stdout)
    if console.is_terminal:
        text = textwrap.fill(printable(text), console.width, break_long_words=False, break_on_hyphens=False)
    line(text)


def printable(text: str) -> str:
    r"""Replace what a terminal or a page would not show as a character by escapes such as `\x1b`.

    These are control characters, marks of the direction of text, and bytes of a path that are not UTF-8.
    """
    return _CONTROL.sub(_escape, text)


def in_page(value: object) -> object:
    """Do as `in_lines` for a value of a page; what is markup already is left as it is."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else in_lines(value)


def cell_text(cell: object) -> object:
    """Mark text that a spreadsheet would read as a formula with an apostrophe; numbers stay as they are."""
    if not isinstance(cell, str) or not FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def remark(text: str) -> None:
    """Print a line on standard error that begins with the command's name; none with `--quiet`."""
    if not document.is_quiet():
        warn(text)


def warn(text: str) -> None:
    """Print a line on standard error that begins with the command's name, with `--quiet` too."""
    document.add_remark(text)
    sys.stderr.write(f"matchbench: {printable(text)}\n")


def note(text: str) -> None:
    """Print a line, or several, on standard error, with `--quiet` too."""
    sys.stderr.write(f"{in_lines(text)}\n")


def write(text: str) -> None:
    """Print whole lines as they are."""
    if not document.add_text(text):
        sys.stdout.write(in_lines(text))


def progress(text: str) -> None:
    """Replace the last line of the terminal on standard error; not with `--quiet`."""
    if document.is_quiet():
        return
    sys.stderr.write(f"\r\x1b[K{printable(text)}")
    sys.stderr.flush()


def in_lines(text: str) -> str:
    """Do as `printable`, but for ends of lines and tabulators."""
    return _CONTROL_IN_LINES.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    # A byte that is not UTF-8 is a surrogate (PEP 383).
    if code >= _NOT_UTF_8:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < _TWO_DIGITS else f"\\u{code:04x}"


def _print(what: Table | Text, width: int = _ENDLESS) -> None:
    from rich.console import Console
    from rich.text import Text

    is_terminal = Console(file=sys.stdout).is_terminal
    # Not directly to standard output: a rich console exits the process on a closed pipe.
    text = io.StringIO()
    console = Console(file=text, highlight=False, width=width, force_terminal=is_terminal)
    console.print(what, soft_wrap=isinstance(what, Text))
    rows = text.getvalue().splitlines()
    sys.stdout.writelines(f"{row}\n" if is_terminal else f"{row.rstrip()}\n" for row in rows)


@contextmanager
def ignoring_closed_pipe() -> Iterator[None]:
    """Print in the block, and continue after it if the pipe was closed."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
        try:
            sys.stderr.flush()
        except OSError:  # the block printed remarks
            discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Redirect a stream to nowhere, since the interpreter exits with 120 when its flush fails."""
    with suppress(OSError):  # the stream has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def count(number: int) -> Shown:
    """Format a whole number with groups of three digits: 1 234 567."""
    return Shown(f"{number:,}".replace(",", " "), number)


def time(ns: float | None) -> Shown:
    """Format a time with four digits and a suitable unit."""
    if ns is None:
        return Shown("-", None, "ns")
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= scale:
            return Shown(f"{_four(ns / scale)} {unit}", ns, "ns")
    return Shown(f"{_four(ns)} ns", ns, "ns")


def size(number: float) -> Shown:
    """Format a size in bytes with a suitable binary unit."""
    for scale, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= scale:
            return Shown(f"{_four(number / scale)} {unit}", number, "B")
    return Shown(f"{number:.0f} B", number, "B")


def share(part: float | None) -> Shown:
    """Format a fraction as a percentage."""
    return Shown("-" if part is None else f"{100 * part:.1f} %", part, "1")


def decimal(number: float | None) -> Shown:
    """Format a number with four digits."""
    return Shown("-" if number is None else _four(number), number)


def fixed(number: float | None, digits: int) -> Shown:
    """Format a number with this many digits after the point."""
    return Shown("-" if number is None else f"{number:.{digits}f}", number)


def events(number: int) -> Shown:
    """Format a count of what should not happen, with a mark if it did."""
    return Shown(f"! {count(number)}" if number else "0", number)


def _four(number: float) -> str:
    if number == 0:
        return "0"
    text = f"{number:.4g}"
    return f"{number:.0f}" if "e+" in text else text
