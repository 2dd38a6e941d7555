# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Types of the arguments and results of the compiled module: dictionaries with typed keys, and lists."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

Progress: TypeAlias = Callable[[int, int], None]
"""Called from time to time as `progress(done, total)`; an exception stops the work."""

TraceState: TypeAlias = Literal["complete", "stopped", "cut", "aborted"]
"""How the records of a rank end, and the state of a trace (`spec/trace.md`, T-5)."""

Omission: TypeAlias = Literal["lost", "unknown", "not_replayed"]
"""What a call that is not recorded in detail leaves out (`spec/trace.md`, section 9)."""

Columns: TypeAlias = dict[str, list[Any]]
"""A table: one list per column."""


Value = str | int | float
"""A parameter's value: text, a number in the parameter's unit, or whether something is on."""


class Parameter(TypedDict):
    """A parameter with its value and source."""

    name: str
    value: str
    unit: str
    domain: str
    help: str
    source: Literal["paper", "measured", "assumed", "calibrated", "user"]
    detail: str
    holds: Literal["oldest_of_queue", "places_of_both", "by_other_rule"] | None
    file: str | None


class Card(TypedDict):
    """Description of an engine.

    `representative` is the preset that a comparison replays by default; None for an engine whose simulation
    is slow.
    """

    name: str
    summary: str
    reference: str
    timing: str
    presets: list[str]
    literal: list[str]
    on_request: list[str]
    representative: str | None


class Origin(TypedDict):
    """Where a user-defined engine comes from; `interface` is the version of the interface of libraries."""

    kind: Literal["program", "library", "python"]
    path: str
    sha256: str
    interface: int | None


class Rules(TypedDict):
    """How calls are replayed."""

    cpu_scale: float
    free_wildcards: bool
    recorded_polls: bool
    poll_work_ns: float
    collectives: list[tuple[str, str]]


class KitReport(TypedDict):
    """Result of the test kit.

    `passed` has name and promise of each check, and its number of cases or streams. `failure` has name and
    promise of the first that failed, the clause of the failing case, and what was found.
    """

    passed: list[tuple[str, str, int | None]]
    failure: tuple[str, str, str | None, str] | None


class Stats(TypedDict):
    """Statistics of a trace; the columns are those of `spec/results.md`, section 8."""

    total: Columns
    ranks: Columns
    histograms: dict[str, list[tuple[int, int, int]]]
    collectives: dict[str, int]


class Findings(TypedDict):
    """Claims of a paper and our measurements; the columns are those of `docs/reproduce.md`."""

    claims: Columns
    interpretations: Columns
    contradictions: Columns
    curves: Columns
    data_points: Columns
    charts: Columns
    anchors: Columns
    agreements: Columns
    assumption_values: Columns
    areas: Columns
    storage: Columns
    parameters: Columns
    study: str | None
    clock_mhz: float | None
    engines: list[str]


class PatternSetting(TypedDict):
    """A parameter of a pattern."""

    name: str
    default: str
    unit: str
    choices: list[str]
    help: str


class Pattern(TypedDict):
    """A pattern of communication."""

    name: str
    summary: str
    least_ranks: int
    settings: list[PatternSetting]


class ProgramRun(TypedDict):
    """Result of a program on a core model.

    `status` is that of the program, or `failure` says why it could not continue; both are None at the limit
    of cycles. `counts` are events by name; `kanata` is a pipeline diagram.
    """

    status: int | None
    failure: str | None
    counts: list[tuple[str, int]]
    kanata: str | None


class ChipRegion(TypedDict):
    """A part of a run with time, between two changes of the mode.

    `kind` is functional, warm-up or timing, as the programs marked it. `counts` are sums over the chip, and
    `cores` are instructions in user mode and in the kernel. `ranks` has program, rank, and cycles by
    activity; `unused` has cycles of cores without a process.
    """

    kind: str
    begin: int
    cycles: int
    counts: list[tuple[str, int]]
    cores: list[tuple[int, int]]
    ranks: list[tuple[int, int, list[tuple[str, int]]]]
    unused: list[tuple[str, int]]


class ChipRun(TypedDict):
    """Result of a program on a chip.

    `end` is exited, deadlock, limit, trap_loop, fault or interrupted; `status` belongs to exited, `fault` to
    fault, `waiting` (a line for each process) to the others. `messages` are those of the kernel, `ranks` are
    rank and status of the processes that ended, `moped` sums over all devices, or None without them. `time`
    is in cycles with time, otherwise in instructions of a core; the instructions of user and kernel are those
    without time. `compared_messages` were moved by devices with time and compared byte by byte. `parameters`
    are name, value and source.
    """

    end: str
    status: int | None
    fault: str | None
    waiting: list[str]
    messages: str
    ranks: list[tuple[int, int]]
    time: int
    user_instructions: int
    kernel_instructions: int
    timed_instructions: int
    moped: list[tuple[str, int]] | None
    regions: list[ChipRegion]
    compared_messages: int
    different_messages: int
    differences: list[str]
    parameters: list[tuple[str, str, str]]
    timeline: str | None
    kanata: str | None


class NetprocReport(TypedDict):
    """Result of a network processor.

    `summary` has one row; `harts` a column for each cause of empty issue slots; `memory` counts of caches
    and buses; `windows` a row for 100 packets, with the columns of `harts` and a column for each count of
    `memory`. `error` says why the run ended early, `kanata` is a pipeline diagram.
    """

    summary: Columns
    windows: Columns
    harts: Columns
    memory: Columns
    applications: dict[str, int]
    dropped: dict[str, int]
    mismatches: Columns
    error: str | None
    clock_mhz: float
    kanata: str | None


class PacketSummary(TypedDict):
    """Contents of a capture; `applications` are those of the scenarios' filters."""

    packets: int
    bytes: int
    snapped: int
    applications: dict[str, int]
    versions: dict[str, int]


class Unfinished(TypedDict):
    """Ranks that did not finish, as columns."""

    rank: list[int]
    record: list[int]
    since_ns: list[float]
    waits: list[str]
    waits_for: list[list[int]]


class Measured(TypedDict):
    """Measured times of a replay; `kinds` are columns of `spec/results.md`, section 9."""

    host: str
    core: int | None
    clock: str
    reading_ns: float
    repetitions: int
    same_order: float
    kinds: Columns


class Sizing(TypedDict):
    """Entries counted in a replay; the columns are those of `docs/sizing.md`."""

    curves: Columns
    needs: Columns
    buckets: Columns


class Judgement(TypedDict):
    """What a user-defined engine did in a replay that no engine can do.

    `unvisited` matches report no visit; `too_fast` ones took less than `least_ns`, the fastest `fastest_ns`.
    """

    matches: int
    unvisited: int
    unvisited_depth_mean: float | None
    unvisited_depth_max: int
    too_fast: int
    fastest_ns: float | None
    least_ns: float


class Report(TypedDict):
    """Result of a replay; the columns are those of `spec/results.md`."""

    total: Columns
    ranks: Columns
    depths: Columns
    visits: Columns
    timeline: Columns
    watched: Columns
    unfinished: Unfinished
    cycle: list[int]
    notes: list[str]
    measured: Measured | None
    judgement: Judgement | None
    sizing: Sizing | None


class ItemFields(TypedDict):
    """A list item of the match unit by its fields."""

    bits: int
    care: int
    nid: int
    pid: int
    options: int
    length: int
    local_offset: int
    max_size: int
    threshold: int
    event_queue: int
    start: int


class HeaderFields(TypedDict):
    """A header of the match unit by its fields."""

    op: int
    flags: int
    pid: int
    nid: int
    bits: int
    length: int
    remote_offset: int
    data: int


AfterMatch: TypeAlias = Literal["keep", "remove", "append"]
"""What happens to an item that matched: it stays in its list, it leaves it, or it leaves it and a header
without a match is appended to the other list, as in MPI."""


class Deepest(TypedDict):
    """The deepest search of each rank: its operation, time and depth, and all operations of the rank."""

    operation: list[int]
    at_ns: list[float]
    depth: list[int]
    operations: list[int]


class CutEntries(TypedDict):
    """Entries of a list at one point, oldest first; `initiator` is None for any."""

    bits: list[int]
    ignore: list[int]
    initiator: list[int | None]


class CutOperations(CutEntries):
    """Operations from a snapshot on.

    `found` is what an operation matched: an entry of the list that it searches (`listed`), or what an earlier
    operation left there (`left`).
    """

    at_ps: list[int]
    kind: list[Literal["receive", "message", "probe", "matched probe"]]
    found: list[tuple[Literal["listed", "left"], int] | None]


class Cut(TypedDict):
    """The lists of a rank at one point, and its operations from then on; `cancelled`: a cancel ends them."""

    posted: CutEntries
    unexpected: CutEntries
    operations: CutOperations
    cancelled: bool


class MatchUnitAnswer(TypedDict):
    """Answer of the match unit to a header; times are cycles."""

    header: int
    list_name: Literal["posted", "unexpected"]
    item: int | None
    visits: int
    words: list[int]
    begun: int
    answered: int


class Row(TypedDict):
    """One word that the match unit issued, and its effects."""

    cycle: int
    address: int
    stall: tuple[int, str] | None
    took: tuple[int, str] | None
    writes: list[tuple[str, int]]
    sent: tuple[int, bool] | None
    taken: bool
    cancelled: bool
    input: int
    output: int


class Advanced(TypedDict):
    """Work of a match unit in one call; `broken` describes a protocol violation of its program."""

    answers: list[MatchUnitAnswer]
    rows: list[Row]
    kanata: str
    vcd: str
    idle: bool
    broken: str | None


class Part(TypedDict):
    """The words from one label to the next: number, times issued, stall cycles."""

    label: str
    first: int
    words: int
    issued: int
    stalls: list[tuple[str, int]]


class MatchProfile(TypedDict):
    """Cycle profile of a match unit; `issued` has a number for each address."""

    parts: list[Part]
    slots: list[tuple[str, int]]
    issued: list[int]


class Totals(TypedDict):
    """Cycles, words issued and stall cycles of a match unit."""

    cycles: int
    words: int
    stalls: list[tuple[str, int]]


class Stopped(TypedDict):
    """Why the debugger stopped: with the last word issued, a watched register, or the error."""

    why: Literal["stepped", "breakpoint", "reached", "changed", "answered", "idle", "broken"]
    row: Row | None
    changed: tuple[str, int, int] | None
    broken: str | None


class State(TypedDict):
    """A match unit between two words.

    `branch`: remaining delay slots and target; `input`: word, tag, cycle of entry; `output`: word, whether it
    is the last of an answer, cycle of entry; `searching`: header, list, entries answered.
    """

    cycle: int
    words: int
    pc: int
    alu: list[int]
    ternary: list[int]
    predicates: int
    branch: tuple[int, int] | None
    input: list[tuple[int, str, int]]
    output: list[tuple[int, bool, int]]
    searching: tuple[int, str, int] | None
    waiting: int


class ListEntry(TypedDict):
    """An entry of a list of the match unit; `cached_since` is a cycle, if the head cache holds it."""

    item: int
    words: list[int]
    handle: int
    cached_since: int | None
    spilled: bool


class FailedProgram(TypedDict):
    """A test program that failed on the user's MPI."""

    index: int
    kind: Literal["defect", "order", "null", "truncation", "stuck", "crashed"]
    text: str


class JudgedRun(TypedDict):
    """Result of a run of test programs on the user's MPI."""

    next: int
    failures: list[FailedProgram]
    unexplained: int | None
    counts: dict[str, int]
