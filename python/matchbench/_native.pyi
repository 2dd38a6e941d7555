# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Stub of the compiled module, which only converts; its source is `workbench/py/src`.

A `progress` callable is called from time to time as `progress(done, total)`. An exception in it, Ctrl-C
included, stops the work and is raised by the call. Long calls release the interpreter lock.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import overload

from matchbench.native_types import (
    Advanced,
    AfterMatch,
    Card,
    ChipRun,
    Cut,
    Deepest,
    Findings,
    HeaderFields,
    ItemFields,
    JudgedRun,
    KitReport,
    ListEntry,
    MatchProfile,
    MatchUnitAnswer,
    NetprocReport,
    Omission,
    Origin,
    PacketSummary,
    Parameter,
    Pattern,
    PatternSetting,
    ProgramRun,
    Progress,
    Report,
    Rules,
    State,
    Stats,
    Stopped,
    Totals,
    TraceState,
    Value,
)

class MatchbenchError(Exception):
    """Bad input, or work that cannot be done; the message names place and cause."""

class TraceError(MatchbenchError):
    """A trace violates a rule of `spec/trace.md`; the message names rule and place."""

class Engine:
    """An engine, its preset and its parameters."""

    name: str
    preset: str
    changed: bool
    timing: str
    placement: str
    breaks_order: str | None
    spec: str
    origin: Origin | None
    def __init__(
        self,
        spec: str | type,
        /,
        *,
        preset: str | None = None,
        **parameters: Value,
    ) -> None: ...
    @staticmethod
    def found(spec: str | type, /, *, preset: str | None = None) -> Engine:
        """Find an engine; whether it can be built is checked when values are replaced."""
    def parameters(self) -> list[Parameter]: ...
    def card(self) -> Card: ...
    def replaced(
        self,
        *,
        measured: Sequence[tuple[str, str, str]] = (),
        own_program: tuple[MatchProgram, str, str] | None = None,
        **parameters: Value,
    ) -> Engine: ...
    def of_preset(self, preset: str) -> Engine: ...
    def check(self, tell: Callable[[str], object] | None = None) -> None:
        """Raise unless a user-defined engine keeps MPI's order: on the corpus and on random streams."""
    def test(self, tell: Callable[[str], object] | None = None) -> KitReport: ...

class TestPrograms:
    """Random programs for the user's MPI, in the order in which one run performs them."""

    ranks: int
    def __init__(
        self,
        seed: int,
        first: int,
        count: int,
        *,
        ranks: int,
        without: Sequence[str] = (),
        for_order: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    def text(self, index: int) -> str: ...
    def steps(self, index: int) -> int: ...
    def traits(self, index: int) -> list[str]: ...
    def encode(self) -> bytes: ...
    def judge(self, first: int, files: list[bytes]) -> JudgedRun: ...
    def pick(self, indexs: list[int], times: int) -> TestPrograms: ...
    def candidates(self, index: int) -> list[TestPrograms]: ...
    def renumbered(self, index: int) -> TestPrograms: ...
    def c_source(
        self,
        index: int,
        remarks: list[str],
        files: list[bytes],
        seconds: int,
        *,
        commands: Sequence[str] = (),
    ) -> str: ...

class Network:
    """A network preset and its parameters."""

    name: str
    def __init__(self, preset: str, /, **parameters: Value) -> None: ...
    def parameters(self) -> list[Parameter]: ...

class Trace:
    """An open trace."""

    ranks: int
    records: int
    def __init__(self, path: Path) -> None: ...
    def rank_records(self) -> list[int]: ...
    state: TraceState
    def ends(self) -> list[TraceState]: ...
    def left_out(self) -> list[tuple[Omission, str, int, int]]: ...
    def calls(self) -> list[tuple[str, int, int, int]]: ...
    def hosts(self) -> list[tuple[int, int]]: ...
    def delays_ns(self) -> list[tuple[int, int]]: ...
    def initialized_ns(self) -> list[int]: ...
    def check(self, progress: Progress | None = None) -> None: ...
    def stats(self, progress: Progress | None = None) -> Stats: ...
    def record_bytes(self, rank: int, start: int, stop: int) -> bytes: ...
    def replay(
        self,
        engine: Engine,
        network: Network,
        *,
        rules: Rules,
        watched: Sequence[int] = (),
        depths: bool = False,
        sizing: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> Report: ...
    @overload
    def snapshot(
        self,
        engine: Engine,
        network: Network,
        *,
        rules: Rules,
        communicator: int | None = None,
        cut: None = None,
        progress: Progress | None = None,
    ) -> Deepest: ...
    @overload
    def snapshot(
        self,
        engine: Engine,
        network: Network,
        *,
        rules: Rules,
        communicator: int | None = None,
        cut: tuple[int, int, int],
        progress: Progress | None = None,
    ) -> Cut: ...

class MatchProgram:
    """A program for the match unit."""

    store: int
    item_words: int
    @staticmethod
    def assemble(name: str, text: bytes) -> MatchProgram: ...
    @staticmethod
    def load(name: str, data: bytes) -> MatchProgram: ...
    def image(self) -> bytes: ...
    def text(self) -> str: ...
    def listing(self) -> str: ...
    def words(self) -> list[tuple[list[str], int | None, str]]: ...
    def names(self) -> list[tuple[str, str]]: ...
    def __len__(self) -> int: ...

class MatchUnit:
    """A match unit with its list manager and observers."""

    APPENDED: int
    pc: int
    def __init__(self, program: MatchProgram, engine: Engine, after_match: AfterMatch) -> None: ...
    def append(self, list: str, item: ItemFields | Sequence[int], id: int) -> None: ...  # noqa: A002 - binding's name
    def arrive(
        self,
        list: str,  # noqa: A002 - binding's name
        header: HeaderFields | Sequence[int],
        arrival: int,
        after_match: AfterMatch | None = None,
    ) -> None: ...
    def watch(self, kanata: bool, vcd: bool) -> None: ...
    def advance(self, words: int, rows: bool) -> Advanced: ...
    def finish(self) -> tuple[str, str]: ...
    def profile(self) -> MatchProfile: ...
    def totals(self) -> Totals: ...
    def answers(self, first: int) -> list[MatchUnitAnswer]: ...
    def place(self, text: str) -> int: ...
    def set_breakpoint(
        self, address: int, stop: bool, condition: tuple[str, str, int] | None = None
    ) -> bool: ...
    def watch_register(self, register: str, stop: bool) -> bool: ...
    def write_register(self, register: str, value: int) -> bool: ...
    def breakpoints(self) -> list[int]: ...
    def step(self) -> Stopped: ...
    def skip(self, words: int) -> None: ...
    def resume(self) -> Stopped: ...
    def run_to(self, address: int) -> Stopped: ...
    def run_to_end(self) -> Stopped: ...
    def state(self) -> State: ...
    def entries(self, list: str) -> list[ListEntry]: ...  # noqa: A002 - binding's name

def trace_file_bytes(path: str, first: bytes) -> int | None:
    """Length of a finalized trace file by its first 64 bytes; None for a rank that did not finish."""

def read_input(path: Path | str, expected: str, limit: str) -> bytes:
    """Read a regular file; `limit` is `settings`, `text` or `binary`."""

def open_input(path: Path, expected: str) -> int:
    """Open a regular file and return its descriptor."""

def match_programs() -> list[tuple[str, str]]:
    """Every match program of the engine `match_unit`: name and text."""

def match_template(item_words: int) -> str:
    """Text of a match program to start from, for items of 4, 8 or 16 words."""

def match_codes() -> list[tuple[str, str, int]]:
    """Codes of item options, header operations and header flags: kind, name, code."""

def result_columns() -> dict[str, list[tuple[str, str, str, str]]]:
    """Columns of rows by what the rows are: name, type in the words of `spec/results.md`, unit, meaning."""

def version() -> str:
    """Version of the workbench."""

def revision() -> str:
    """Git revision that the binding was built from, or "unknown"."""

def describe_library(path: str) -> tuple[str, str, int | None]: ...
def engine_header() -> str: ...
def kit_checks() -> list[tuple[str, str]]: ...
def engines() -> list[Card]:
    """Every engine of the catalog."""

def networks() -> list[tuple[str, str]]:
    """Every network preset with its description; the first is the default."""

def poll_work_ns() -> float: ...
def unknown_name(kind: str, found: str, known: Sequence[str], listing: str | None = None) -> str:
    """Give the error for a name that does not exist; `listing` is the command that lists the names."""

def collectives() -> list[tuple[str, list[str]]]:
    """Every collective that the replay expands, with its algorithms; the first is the default."""

def patterns() -> list[Pattern]:
    """Every pattern of `generate`."""

def generate(
    pattern: str,
    path: Path,
    *,
    ranks: int,
    seed: int,
    settings: Sequence[tuple[str, str]],
    progress: Progress | None = None,
) -> None:
    """Write a trace into the empty directory `path`."""

def papers() -> list[tuple[str, str]]:
    """List citation key and alias of every paper."""

def claims_of(paper: str) -> list[tuple[str, list[str]]]:
    """List id and systems of every claim of `paper` (key or alias)."""

def reproduce(paper: str, *, jobs: int | None = None) -> Findings:
    """Measure and judge every claim of `paper` (key or alias); with `jobs`, all that figures show."""

def describe_benchmark(key: str) -> str:
    """Describe what the benchmark with this key in the table of curves measures."""

def study_text(name: str) -> str:
    """Text of `studies/NAME/study.toml`."""

def program_features() -> list[str]: ...
def optional_features() -> list[str]:
    """Features that the command line excludes unless they are asked for."""

def features_lacking(needs: list[str]) -> list[str]:
    """Features of programs that a library cannot run which lacks `needs`, as the C runner names them."""

def bench_sources() -> list[tuple[str, str]]:
    """Return the sources of the program of `mpi bench` with their names."""

def runner_sources() -> list[tuple[str, str]]:
    """Source files, with their text, of the C program that performs test programs.

    All `.c` files are compiled together.
    """

class NetworkProcessor:
    """A network processor and its parameters."""

    name: str
    def __init__(self, name: str, /, **parameters: Value) -> None: ...
    def parameters(self) -> list[Parameter]: ...
    def run(
        self,
        capture: bytes,
        *,
        program: bytes | None = None,
        packets: int | None = None,
        kanata: tuple[int, int] | None = None,
        progress: Progress | None = None,
    ) -> NetprocReport: ...

def core_models() -> list[str]: ...
def core_parameters(core: str, settings: list[tuple[str, str]]) -> list[Parameter]: ...
def run_program(
    file: bytes,
    *,
    arguments: list[bytes],
    environment: list[bytes],
    core: str,
    settings: list[tuple[str, str]],
    memory: int,
    cycles: int | None = None,
    kanata: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> ProgramRun: ...
def run_unit_test(file: bytes) -> int | None: ...
def chip_designs() -> list[str]: ...
def chip_cores() -> list[str]: ...
def chip_parameters(
    core: str, design: str | None, settings: list[tuple[str, str]] = ...
) -> list[Parameter]: ...
def chip_protocol(design: str, migratory: bool) -> str: ...
def run_on_chip(
    file: bytes,
    *,
    arguments: list[str],
    environment: list[str],
    ranks: int,
    cores: int,
    memory: int,
    frequency: int,
    patience: int,
    limit: int | None = None,
    design: str | None = None,
    descriptors: int | None = None,
    mode: str = "functional",
    core: str = "ooo",
    migratory: bool = True,
    settings: list[tuple[str, str]] = ...,
    timeline: bool = False,
    kanata: tuple[int, int] | None = None,
    progress: Callable[[int, int, bool], None] | None = None,
) -> ChipRun: ...
def network_processors() -> list[str]: ...
def packet_settings() -> list[PatternSetting]: ...
def generate_packets(*, seed: int, routes: int, settings: list[tuple[str, str]]) -> bytes: ...
def check_program(file: bytes) -> None: ...
def describe_packets(file: bytes) -> PacketSummary: ...
def spine_sources() -> list[tuple[str, str]]: ...
def handler_commands(
    compiler: str, bit_manipulation: bool, handler: Path, objects: Path, output: Path
) -> list[list[str]]: ...
