# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The match unit by itself: a program, two lists and a queue of headers from files, run cycle by cycle.

`docs/match_unit.md` describes the files. Reading is strict: an error names file, entry and field, what was
found and what was expected.
"""

import csv
import io
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from matchbench import _native
from matchbench._native import MatchbenchError
from matchbench.native_types import Advanced, Answer, HeaderFields, ItemFields

ListName: TypeAlias = Literal["posted", "unexpected"]

WORDS = 8
CHUNK = 10_000  # words between two looks at the interpreter: files grow on disk, Ctrl-C arrives
LATEST_ARRIVAL = 10**12  # cycles: half an hour at 500 MHz

ITEM_BITS = {
    "bits": 64,
    "ignore": 64,
    "nid": 32,
    "pid": 16,
    "length": 64,
    "local_offset": 64,
    "max_size": 32,
    "min_free": 32,
    "threshold": 32,
    "event_queue": 32,
    "start": 64,
}
"""Numeric fields of an item and their widths; `nid` and `pid` may also be "any"."""

HEADER_BITS = {
    "bits": 64,
    "ignore": 64,
    "nid": 32,
    "pid": 16,
    "length": 64,
    "remote_offset": 64,
    "data": 64,
}
"""Numeric fields of a header and their widths; `ignore` and an `nid` of "any" are for searches."""

CODES = {(kind, name): code for kind, name, code in _native.match_codes()}
OPTIONS = [
    name for kind, name in CODES if kind == "option" and name not in {"any_source", "max_size"}
]  # those two follow from `nid` and from `max_size` or `min_free`
OPERATIONS = ["put", "get", "search"]


class ProtocolError(MatchbenchError):
    """A match program breaks the protocol of the list manager; the message says where and how."""


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list: its name, its list, and its fields or its eight words."""

    name: str
    list_name: ListName
    content: ItemFields | list[int]


@dataclass(frozen=True, slots=True)
class Header:
    """What searches a list: its name, the list, its fields or words, and the cycle of its arrival."""

    name: str
    list_name: ListName
    content: HeaderFields | list[int]
    arrival: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a file: where it stands and what it says."""

    where: str
    table: str
    number: int
    fields: dict[str, Any]

    def refuse(self, what: str) -> NoReturn:
        msg = f"{self.where}: {what}"
        raise MatchbenchError(msg)

    def know(self, known: Sequence[str]) -> None:
        for name in self.fields:
            if name not in known:
                self.refuse(f"unknown field `{name}`; expected one of: {', '.join(known)}")

    def number_of(self, name: str, limit: int, default: int) -> int:
        """Return a whole number from 0 to `limit`; text counts in any base that Python writes."""
        value = self.fields.get(name, default)
        number = value
        if isinstance(value, str):
            try:
                number = int(value, 0)
            except ValueError:
                number = None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= limit:
            self.refuse(f"field `{name}`: found {_show(value)}, expected a number from 0 to {limit}")
        return number

    def words(self) -> list[int]:
        words = self.fields["words"]
        if not isinstance(words, list) or len(words) != WORDS:
            found = f"{len(words)} words" if isinstance(words, list) else _show(words)
            self.refuse(f"field `words`: found {found}, expected {WORDS} words")
        inner = [_Entry(self.where, self.table, self.number, {"words": word}) for word in words]
        return [entry.number_of("words", (1 << 64) - 1, 0) for entry in inner]

    def name(self) -> str:
        name = self.fields.get("name", f"{self.table}[{self.number}]")
        if not isinstance(name, str) or not name or not name.isprintable():
            self.refuse(f"field `name`: found {_show(name)}, expected a printable text")
        return name

    def choice(self, name: str, known: Sequence[str], default: str) -> str:
        value = self.fields.get(name, default)
        if value not in known:
            self.refuse(f"field `{name}`: found {_show(value)}, expected one of: {', '.join(known)}")
        return str(value)


def _show(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def read_list(path: Path) -> list[Item]:
    """Read the entries of both lists, each list in the order of the file.

    Raises
    ------
    MatchbenchError
        When the file is not what `docs/match_unit.md` describes.
    """
    return [_item(entry) for entry in _entries(path, ("posted", "unexpected"))]


def read_headers(path: Path) -> list[Header]:
    """Read the headers in the order of the file, which is the order in which they are served.

    Raises
    ------
    MatchbenchError
        When the file is not what `docs/match_unit.md` describes.
    """
    return [_header(entry) for entry in _entries(path, ("header",))]


def _item(entry: _Entry) -> Item:
    name = entry.name()
    where: ListName = "posted" if entry.table == "posted" else "unexpected"
    if "words" in entry.fields:
        entry.know(("name", "words"))
        return Item(name, where, entry.words())
    entry.know(("name", *ITEM_BITS, "options"))
    numbers = {
        key: entry.number_of(key, (1 << bits) - 1, 1 if key == "threshold" else 0)
        for key, bits in ITEM_BITS.items()
        if key not in {"nid", "pid"}
    }
    if "max_size" in entry.fields and "min_free" in entry.fields:
        entry.refuse("fields `max_size` and `min_free` have one place; expected one of them")
    options = _options(entry)
    if {"max_size", "min_free"} & entry.fields.keys():
        options |= CODES["option", "max_size"]
    nid, pid = _process(entry, "nid", "any"), _process(entry, "pid", "any")
    if nid is None:
        options |= CODES["option", "any_source"]
    return Item(
        name,
        where,
        {
            "bits": numbers["bits"],
            "care": ~numbers["ignore"] & (1 << 64) - 1,
            "nid": (1 << ITEM_BITS["nid"]) - 1 if nid is None else nid,
            "pid": (1 << ITEM_BITS["pid"]) - 1 if pid is None else pid,
            "options": options,
            "length": numbers["length"],
            "local_offset": numbers["local_offset"],
            "max_size": numbers["max_size"] | numbers["min_free"],
            "threshold": numbers["threshold"],
            "event_queue": numbers["event_queue"],
            "start": numbers["start"],
        },
    )


def _options(entry: _Entry) -> int:
    names = entry.fields.get("options", ["valid", "put"])
    if isinstance(names, str):
        names = names.split()
    if not isinstance(names, list):
        entry.refuse(f"field `options`: found {_show(names)}, expected a list of names")
    code = 0
    for name in names:
        if name not in OPTIONS:
            found = f"found {_show(name)}, expected some of: {', '.join(OPTIONS)}"
            entry.refuse(f"field `options`: {found}")
        code |= CODES["option", name]
    return code


def _process(entry: _Entry, name: str, default: int | str) -> int | None:
    """Return a network or process id, or nothing for any; all ones is the unit's own way to say any."""
    value = entry.fields.get(name, default)
    if value == "any":
        return None
    limit = (1 << ITEM_BITS[name]) - 2
    if isinstance(value, str) and not value[:1].isdigit():
        entry.refuse(f'field `{name}`: found {_show(value)}, expected "any" or a number from 0 to {limit}')
    return entry.number_of(name, limit, 0)


def _header(entry: _Entry) -> Header:
    name = entry.name()
    arrival = entry.number_of("arrival", LATEST_ARRIVAL, 0)
    if "words" in entry.fields:
        entry.know(("name", "words", "list", "arrival"))
        table = entry.choice("list", ("posted", "unexpected"), "posted")
        return Header(name, "posted" if table == "posted" else "unexpected", entry.words(), arrival)
    op = entry.choice("op", OPERATIONS, "put")
    search = op == "search"
    known = [key for key in HEADER_BITS if key not in ({"length"} if search else {"ignore"})]
    entry.know(("name", "op", *known, "arrival"))
    numbers = {
        key: entry.number_of(key, (1 << bits) - 1, 0)
        for key, bits in HEADER_BITS.items()
        if key not in {"nid", "pid"}
    }
    nid = _process(entry, "nid", "any" if search else 0)
    pid = _process(entry, "pid", 0)
    if pid is None or (nid is None and not search):
        which = "pid" if pid is None else "nid"
        entry.refuse(f"field `{which}`: found `any`, which only an item's or, for `nid`, a search's may be")
    any_source = CODES["flag", "any_source"] if nid is None else 0
    return Header(
        name,
        "unexpected" if search else "posted",
        {
            "op": 0 if search else CODES["op", op],
            "flags": CODES["flag", "search"] | any_source if search else 0,
            "pid": pid,
            "nid": nid or 0,
            "bits": numbers["bits"],
            "length": ~numbers["ignore"] & (1 << 64) - 1 if search else numbers["length"],
            "remote_offset": numbers["remote_offset"],
            "data": numbers["data"],
        },
        arrival,
    )


def _entries(path: Path, tables: Sequence[str]) -> Iterator[_Entry]:
    """Yield the entries of a TOML or CSV file; in CSV a column `list` tells tables apart."""
    if path.suffix not in {".toml", ".csv"}:
        msg = f"{path}: expected a file whose name ends in .toml or .csv"
        raise MatchbenchError(msg)
    text = read_text(path)
    yield from (_toml if path.suffix == ".toml" else _csv)(path, text, tables)


def read_text(path: Path) -> str:
    """Read a file of text.

    Raises
    ------
    MatchbenchError
        When it is no UTF-8 text.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 text from byte {error.start} on"
        raise MatchbenchError(msg) from None


def _toml(path: Path, text: str, tables: Sequence[str]) -> Iterator[_Entry]:
    try:
        parsed = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        msg = f"{path}: not TOML: {error}"
        raise MatchbenchError(msg) from None
    expected = " or ".join(f"[[{table}]]" for table in tables)
    for table, entries in parsed.items():
        if table not in tables:
            msg = f"{path}: found `{table}`, expected {expected}"
            raise MatchbenchError(msg)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            msg = f"{path}: `{table}` is no list of tables; expected {expected}"
            raise MatchbenchError(msg)
        for number, fields in enumerate(entries):
            yield _Entry(f"{path}: {table}[{number}]", table, number, fields)


def _csv(path: Path, text: str, tables: Sequence[str]) -> Iterator[_Entry]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    counts = dict.fromkeys(tables, 0)
    columns: list[str] = []
    try:
        for cells in reader:
            where = f"{path}: line {reader.line_num}"
            if not columns:
                columns = [cell.strip() for cell in cells]
                if len(set(columns)) != len(columns):
                    msg = f"{where}: a column is named twice"
                    raise MatchbenchError(msg)
                continue
            if not cells:
                continue
            if len(cells) != len(columns):
                msg = f"{where}: found {len(cells)} cells, expected {len(columns)} as in the first line"
                raise MatchbenchError(msg)
            filled = zip(columns, map(str.strip, cells), strict=True)
            fields: dict[str, Any] = {column: cell for column, cell in filled if cell}
            table = fields.pop("list", tables[0]) if len(tables) > 1 else tables[0]
            if table not in tables:
                msg = f"{where}, field `list`: found {_show(table)}, expected one of: {', '.join(tables)}"
                raise MatchbenchError(msg)
            yield _Entry(where, table, counts[table], fields)
            counts[table] += 1
    except csv.Error as error:
        msg = f"{path}: line {reader.line_num}: not CSV: {error}"
        raise MatchbenchError(msg) from None


def load_program(program: str) -> _native.MatchProgram:
    """Return a built-in program by its name, or that of a file: an image, or text to assemble.

    Raises
    ------
    MatchbenchError
        When there is no such program, or it has errors.
    """
    builtin = dict(_native.match_programs())
    if program in builtin:
        return _native.MatchProgram.assemble(f"{program}.mb", builtin[program].encode())
    path = Path(program)
    if not path.exists() and path.suffix == "" and "/" not in program:
        msg = f"unknown program `{program}`; expected one of: {', '.join(builtin)}, or a file"
        raise MatchbenchError(msg)
    data = path.read_bytes()
    if data.startswith(b"mb-ucode"):
        return _native.MatchProgram.load(program, data)
    return _native.MatchProgram.assemble(program, data)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a program: its labels, the line of its source if there is one, its text."""

    labels: list[str]
    line: int | None
    text: str


@dataclass(slots=True)
class Report:
    """The sum of a run: answers in the order of the headers, cycles, words issued, cycles waited by cause."""

    answers: list[Answer]
    cycles: int
    words: int
    stalls: dict[str, int]


class Setup:
    """A program, the memory around it, and what goes in: everything that a run depends on.

    Parameters
    ----------
    program
        The name of a program that comes with the engine, or the path of an image or of text to assemble.
    items, headers
        What `read_list` and `read_headers` return.
    preset, settings
        Of the engine `microcode`; settings as `key=value`.
    remove
        Take an item that matched out of its list.
    """

    def __init__(
        self,
        program: str,
        items: list[Item],
        headers: list[Header],
        *,
        preset: str = "hemmert2007",
        settings: Sequence[str] = (),
        remove: bool = False,
    ) -> None:
        for setting in settings:
            key = setting.partition("=")[0].strip()
            if key in {"program", "commands"}:
                why = "PROGRAM names it" if key == "program" else "headers wait in their file"
                msg = f"setting `{key}` has no effect here: {why}"
                raise MatchbenchError(msg)
        self.name = program
        self.program = load_program(program)
        self.engine = _native.Engine(f"microcode:{preset}", settings)
        self.items = items
        self.headers = headers
        self.remove = remove
        self.words = [Word(*word) for word in self.program.words()]
        self.registers = dict(self.program.names())
        self._names = {register: name for name, register in self.registers.items()}

    def unit(self) -> _native.MatchUnit:
        """Return a unit in reset with the lists and the headers."""
        unit = _native.MatchUnit(self.program, self.engine, self.remove)
        for number, item in enumerate(self.items):
            unit.append(item.list_name, item.content, number)
        for header in self.headers:
            unit.arrive(header.list_name, header.content, header.arrival)
        return unit

    def advance(self, unit: _native.MatchUnit, *, rows: bool = False) -> Iterator[Advanced]:
        """Run `unit` to its end, piece by piece.

        Raises
        ------
        ProtocolError
            When the program breaks the protocol, after the piece that leads there.
        """
        while True:
            piece = unit.advance(CHUNK, rows)
            yield piece
            if piece["broken"] is not None:
                raise self.broken(piece["broken"], unit.pc)
            if piece["idle"]:
                return

    def broken(self, error: str, address: int) -> ProtocolError:
        """Return the error of a program that broke the protocol at, or just before, the next word."""
        line = self.words[address].line if address < len(self.words) else None
        where = self.name if line is None else f"{self.name}:{line}"
        return ProtocolError(f"{where}: {error}")

    def run(self, unit: _native.MatchUnit) -> Report:
        """Run `unit` to its end.

        Raises
        ------
        ProtocolError
            When the program breaks the protocol.
        """
        answers = [answer for piece in self.advance(unit) for answer in piece["answers"]]
        totals = unit.totals()
        return Report(answers, totals["cycles"], totals["words"], dict(totals["stalls"]))

    def place(self, address: int) -> str:
        """Return an address as label and distance: `shared+3`."""
        for at in range(address, -1, -1):
            if self.words[at].labels:
                label = self.words[at].labels[0]
                return label if at == address else f"{label}+{address - at}"
        return str(address)

    def register_name(self, register: str) -> str:
        """Return what the program calls a register, or the register itself."""
        return self._names.get(register, register)
