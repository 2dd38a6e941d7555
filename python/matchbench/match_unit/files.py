# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Lists and headers for the match unit from TOML and CSV files.

`docs/match_unit.md` describes the files. Reading is strict: an error names the file, the entry and the field,
the value found and the value expected.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from matchbench import _native
from matchbench._native import MatchbenchError, unknown_name
from matchbench.input import parse_toml, read_text
from matchbench.native_types import AfterMatch, HeaderFields, ItemFields

ListName: TypeAlias = Literal["posted", "unexpected"]

WORDS = 8
ITEM_WORDS = (4, 8, 16)
NO_MATCH = "no match"
"""What tables show in place of an item."""
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
]  # these two follow from `nid` and from `max_size` or `min_free`
OPERATIONS = ["put", "get", "search"]
AFTER_MATCH: dict[str, AfterMatch] = {"keep": "keep", "remove": "remove", "append": "append"}
"""What happens to a matching item and to a header without a match; by its word in files."""


@dataclass(frozen=True, slots=True)
class Item:
    """A list item: name, list, and fields or eight words."""

    name: str
    list_name: ListName
    content: ItemFields | list[int]


@dataclass(frozen=True, slots=True)
class Header:
    """A header: name, list to search, fields or eight words, and the cycle of its arrival.

    `after_match` replaces that of the run. `expect` is the name of the item, or of the earlier header that
    left it, that must match; `NO_MATCH` if none may.
    """

    name: str
    list_name: ListName
    content: HeaderFields | list[int]
    arrival: int
    after_match: AfterMatch | None = None
    expect: str | None = None


@dataclass(frozen=True, slots=True)
class _FileEntry:
    """One entry of a file: place, table, index, fields, and its line."""

    where: str
    table: str
    number: int
    fields: dict[str, Any]
    line: str = ""  # where `where` does not give it

    def reject(self, what: str) -> NoReturn:
        msg = f"{self.where}: {what}"
        raise MatchbenchError(msg)

    def check_names(self, known: Sequence[str]) -> None:
        for name in self.fields:
            if name not in known:
                self.reject(unknown_name("field", name, known))

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
            self.reject(f"field `{name}`: found {_show(value)}, expected a number from 0 to {limit}")
        return number

    def words(self, sizes: Sequence[int] = (WORDS,)) -> list[int]:
        words = self.fields["words"]
        if isinstance(words, str):
            words = words.split()  # a cell of a CSV file
        if not isinstance(words, list) or len(words) not in sizes:
            found = f"{len(words)} words" if isinstance(words, list) else _show(words)
            expected = " or ".join(map(str, sizes))
            self.reject(f"field `words`: found {found}, expected {expected} words")
        inner = [_FileEntry(self.where, self.table, self.number, {"words": word}) for word in words]
        return [entry.number_of("words", (1 << 64) - 1, 0) for entry in inner]

    def name(self) -> str:
        name = self.fields.get("name", f"{self.table}[{self.number}]")
        if not isinstance(name, str) or not name or not name.isprintable():
            self.reject(f"field `name`: found {_show(name)}, expected a printable text")
        if name == NO_MATCH:
            self.reject(f"field `name`: found {_show(name)}, which stands for no item; expected another name")
        return name

    def choice(self, name: str, known: Sequence[str], default: str) -> str:
        value = self.fields.get(name, default)
        if value not in known:
            self.reject(f"field `{name}`: found {_show(value)}, expected one of: {', '.join(known)}")
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
    return [_item(entry) for entry in _named(_entries(path, ("posted", "unexpected")))]


def read_headers(path: Path) -> list[Header]:
    """Read the headers in the order of the file, which is the order in which they are served.

    Raises
    ------
    MatchbenchError
        When the file is not what `docs/match_unit.md` describes.
    """
    return [_header(entry) for entry in _named(_entries(path, ("header",)))]


def _item(entry: _FileEntry) -> Item:
    name = entry.name()
    where: ListName = "posted" if entry.table == "posted" else "unexpected"
    if "words" in entry.fields:
        entry.check_names(("name", "words"))
        return Item(name, where, entry.words(ITEM_WORDS))
    entry.check_names(("name", *ITEM_BITS, "options"))
    numbers = {
        key: entry.number_of(key, (1 << bits) - 1, 1 if key == "threshold" else 0)
        for key, bits in ITEM_BITS.items()
        if key not in {"nid", "pid"}
    }
    if "max_size" in entry.fields and "min_free" in entry.fields:
        entry.reject(
            "fields `max_size` and `min_free`: found both; expected one, as they share a field of the item"
        )
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


def _options(entry: _FileEntry) -> int:
    names = entry.fields.get("options", ["valid", "put"])
    if isinstance(names, str):
        names = names.split()
    if not isinstance(names, list):
        entry.reject(f"field `options`: found {_show(names)}, expected a list of names")
    code = 0
    for name in names:
        if name not in OPTIONS:
            found = unknown_name("option", str(name), list(OPTIONS))
            entry.reject(f"field `options`: {found}")
        code |= CODES["option", name]
    return code


def _process(entry: _FileEntry, name: str, default: int | str) -> int | None:
    """Return a network or process id, or `None` for any, which the unit encodes as all ones."""
    value = entry.fields.get(name, default)
    if value == "any":
        return None
    limit = (1 << ITEM_BITS[name]) - 2
    if isinstance(value, str) and not value[:1].isdigit():
        entry.reject(f'field `{name}`: found {_show(value)}, expected "any" or a number from 0 to {limit}')
    return entry.number_of(name, limit, 0)


def _header(entry: _FileEntry) -> Header:
    name = entry.name()
    arrival = entry.number_of("arrival", LATEST_ARRIVAL, 0)
    of_run = ("arrival", "after_match", "expect")
    after_match = None
    if "after_match" in entry.fields:
        after_match = AFTER_MATCH[entry.choice("after_match", tuple(AFTER_MATCH), "keep")]
    expect = entry.fields.get("expect")
    if expect is not None and not isinstance(expect, str):
        entry.reject(f"field `expect`: found {_show(expect)}, expected a name or `{NO_MATCH}`")
    if "words" in entry.fields:
        entry.check_names(("name", "words", "list", *of_run))
        table = entry.choice("list", ("posted", "unexpected"), "posted")
        list_name: ListName = "posted" if table == "posted" else "unexpected"
        return Header(name, list_name, entry.words(), arrival, after_match, expect)
    op = entry.choice("op", OPERATIONS, "put")
    search = op == "search"
    known = [key for key in HEADER_BITS if key not in ({"length"} if search else {"ignore"})]
    entry.check_names(("name", "op", *known, *of_run))
    numbers = {
        key: entry.number_of(key, (1 << bits) - 1, 0)
        for key, bits in HEADER_BITS.items()
        if key not in {"nid", "pid"}
    }
    nid = _process(entry, "nid", "any" if search else 0)
    pid = _process(entry, "pid", 0)
    if pid is None or (nid is None and not search):
        which = "pid" if pid is None else "nid"
        entry.reject(
            f"field `{which}`: found `any`; expected a number, except in items and the `nid` of a search"
        )
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
        after_match,
        expect,
    )


def _named(entries: Iterator[_FileEntry]) -> Iterator[_FileEntry]:
    """Yield the entries; two of the same name are an error that gives both places."""
    places: dict[str, str] = {}
    for entry in entries:
        name = entry.name()
        if name in places:
            found = f"found {_show(name)}{entry.line}, the name of {places[name]} too"
            entry.reject(f"field `name`: {found}; expected different names")
        # The file is named once, in front.
        places[name] = entry.where.partition(": ")[2] + entry.line
        yield entry


def _entries(path: Path, tables: Sequence[str]) -> Iterator[_FileEntry]:
    """Yield the entries of a TOML or CSV file; in CSV the column `list` names the table."""
    if path.suffix not in {".toml", ".csv"}:
        msg = f"{path}: found the suffix `{path.suffix}`; expected a .toml or .csv file"
        raise MatchbenchError(msg)
    text = read_text(path, "lists or headers")
    yield from (_toml if path.suffix == ".toml" else _csv)(path, text, tables)


def _toml(path: Path, text: str, tables: Sequence[str]) -> Iterator[_FileEntry]:
    expected = " or ".join(f"[[{table}]]" for table in tables)
    parsed = parse_toml(text, path, expected)
    for table, entries in parsed.items():
        if table not in tables:
            msg = f"{path}: found `{table}`, expected {expected}"
            raise MatchbenchError(msg)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            msg = f"{path}: `{table}` is not an array of tables; expected {expected}"
            raise MatchbenchError(msg)
        lines = _lines_of(text, table)
        for number, fields in enumerate(entries):
            line = f" in line {lines[number]}" if len(lines) == len(entries) else ""
            yield _FileEntry(f"{path}: {table}[{number}]", table, number, fields, line)


def _lines_of(text: str, table: str) -> list[int]:
    """Return the lines of the headings of a table; the reader of TOML gives no lines."""
    heading = re.compile(rf"\s*\[\[\s*[\"']?{table}[\"']?\s*\]\]\s*(#.*)?")
    return [number for number, line in enumerate(text.split("\n"), 1) if heading.fullmatch(line)]


def _csv(path: Path, text: str, tables: Sequence[str]) -> Iterator[_FileEntry]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    counts = dict.fromkeys(tables, 0)
    columns: list[str] = []
    try:
        for cells in reader:
            where = f"{path}: line {reader.line_num}"
            if not columns:
                columns = [cell.strip() for cell in cells]
                if len(set(columns)) != len(columns):
                    msg = f"{where}: found a column name twice; expected different names"
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
            yield _FileEntry(where, table, counts[table], fields)
            counts[table] += 1
    except csv.Error as error:
        msg = f"{path}: line {reader.line_num}: not CSV: {error}"
        raise MatchbenchError(msg) from None
