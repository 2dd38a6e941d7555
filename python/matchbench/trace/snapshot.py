# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The lists of a rank at one point and its next operations, as the files that `match_unit run` reads.

The order of operations is that of a replay. The files have the words that the engine `match_unit` gives its
match unit, and with each header the name of what must match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from matchbench import _native
from matchbench._native import Engine, MatchbenchError, Network
from matchbench.compare.replay_config import ReplayConfig
from matchbench.compare.result_tables import REFERENCE, label_of
from matchbench.display.output import whole_directory, write_file
from matchbench.engines import own_engines
from matchbench.match_unit.files import LATEST_ARRIVAL, NO_MATCH
from matchbench.native_types import Cut, CutEntries, CutOperations, Deepest, Progress

if TYPE_CHECKING:
    from matchbench.trace.trace import Trace

HEADERS = 100
"""Operations that are exported by default."""

LIST_FILE, HEADERS_FILE = "list.toml", "headers.toml"

_TAG_BITS = 32
_COLLECTIVE = 1 << 32
_CONTEXT_SHIFT = 33
_AFTER = {"receive": "append", "message": "append", "probe": "keep", "matched probe": "remove"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot of a rank.

    Parameters
    ----------
    rank
        World rank.
    operation
        Number of its first operation, among all of the rank or of the communicator.
    at_ns
        When it is accepted, ns of simulated time.
    depth
        Depth of the deepest search of the rank, in entries.
    posted, unexpected
        Entries of the lists.
    headers
        Operations from the snapshot on.
    cancelled
        Whether a cancel of a posted receive ends them.
    """

    rank: int
    operation: int
    at_ns: float
    depth: int
    posted: int
    unexpected: int
    headers: int
    cancelled: bool


def export_snapshot(
    trace: Trace,
    directory: Path,
    *,
    rank: int | None = None,
    communicator: int | None = None,
    start: Literal["worst", "start"] = "worst",
    headers: int = HEADERS,
    engine: str | Engine = REFERENCE,
    config: ReplayConfig | None = None,
    clock_mhz: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Snapshot:
    """Write the lists of a rank at one point, and its operations from then on, to a directory.

    Parameters
    ----------
    trace
        What is replayed.
    directory
        Gets `list.toml` and `headers.toml`.
    rank
        World rank; by default the one with the deepest search.
    communicator
        Only the entries of this communicator, by its number in the trace.
    start
        `worst`: just before the deepest search of the rank; `start`: with empty lists.
    headers
        Operations at most, at least 1.
    engine
        The engine whose replay orders posts and arrivals.
    config
        How to replay.
    clock_mhz
        Clock of the match unit, MHz, in whose cycles arrivals are given; that of `match_unit` by default.
    force
        Replace an earlier export.
    progress
        Called as `progress(done, total)`.

    Raises
    ------
    MatchbenchError
        When the trace is defective, there is no such rank or no search to export, or `directory` is in use.
    """
    if headers < 1:
        msg = f"headers: found {headers}, expected at least 1"
        raise MatchbenchError(msg)
    if rank is not None and not 0 <= rank < trace.ranks:
        msg = f"rank: found {rank}, expected 0 to {trace.ranks - 1}"
        raise MatchbenchError(msg)
    config = config or ReplayConfig()
    trace.check()
    chosen = engine if isinstance(engine, Engine) else Engine(engine)
    own_engines.check(chosen)
    clock = clock_mhz or _clock_of(Engine("match_unit"))
    replay = _Replay(trace, chosen, config, communicator)
    deepest = replay.deepest(progress, 0)
    depths, operations = deepest["depth"], deepest["operations"]
    if rank is None:
        rank = max(range(trace.ranks), key=lambda each: (depths[each], operations[each], -each))
    if not operations[rank]:
        of = "" if communicator is None else f" of communicator {communicator}"
        msg = (
            f"{trace.name}: rank {rank} has no operation{of}; `matchbench size` lists ranks and communicators"
        )
        raise MatchbenchError(msg)
    first = deepest["operation"][rank] if start == "worst" and depths[rank] else 0
    cut = replay.cut((rank, first, headers), progress)
    at_ps = cut["operations"]["at_ps"]
    if not at_ps:
        msg = f"{trace.name}: rank {rank} cancels a receive and searches nothing from operation {first} on"
        raise MatchbenchError(msg)
    snapshot = Snapshot(
        rank=rank,
        operation=first,
        at_ns=at_ps[0] / 1000,
        depth=depths[rank],
        posted=len(cut["posted"]["bits"]),
        unexpected=len(cut["unexpected"]["bits"]),
        headers=len(at_ps),
        cancelled=cut["cancelled"],
    )
    of = "" if communicator is None else f", communicator {communicator}"
    origin = (
        f"# Rank {rank} of {trace.name} (hash {trace.hash}){of}, from its operation {first} on, "
        f"{snapshot.at_ns:.3f} ns after the start\n"
        f"# of a replay on {label_of(chosen)}, network {config.network}. "
        f"Made by `matchbench trace export --match-unit`, matchbench {_native.version()}.\n"
    )
    names = _Names(cut)
    with whole_directory(
        directory, marker=LIST_FILE, force=force, names=(LIST_FILE, HEADERS_FILE)
    ) as partial:
        write_file(partial / LIST_FILE, origin + "".join(_list_text(cut, names)))
        cycles = f"# Arrivals are cycles at {clock} MHz.\n"
        write_file(partial / HEADERS_FILE, origin + cycles + "".join(_headers_text(cut, names, clock)))
    return snapshot


def _clock_of(engine: Engine) -> int:
    return next(int(each["value"]) for each in engine.parameters() if each["name"] == "clock")


class _Replay:
    """Two equal replays: the first finds the deepest searches, the second keeps a snapshot."""

    def __init__(self, trace: Trace, engine: Engine, config: ReplayConfig, communicator: int | None) -> None:
        self._trace = trace
        self._engine = engine
        self._network = Network(config.network, **config.network_parameters)
        self._config = config
        self._communicator = communicator

    def deepest(self, progress: Progress | None, done: int) -> Deepest:
        found: Deepest = own_engines.of_trace(
            "snapshot",
            self._trace,
            self._engine,
            self._network,
            rules=self._config.rules(),
            communicator=self._communicator,
            progress=_half(progress, done),
        )
        return found

    def cut(self, at: tuple[int, int, int], progress: Progress | None) -> Cut:
        found: Cut = own_engines.of_trace(
            "snapshot",
            self._trace,
            self._engine,
            self._network,
            rules=self._config.rules(),
            communicator=self._communicator,
            cut=at,
            progress=_half(progress, 1),
        )
        return found


def _half(progress: Progress | None, which: int) -> Progress | None:
    """Report the progress of one of two replays."""
    if progress is None:
        return None
    return lambda done, total: progress(which * total + done, 2 * total)


def _envelope(of: CutEntries, at: int) -> str:
    """Say what an entry or an operation is matched by."""
    bits, ignore, initiator = of["bits"][at], of["ignore"][at], of["initiator"][at]
    kind = "collective " if bits & _COLLECTIVE else ""
    tag = "any" if ignore else str(bits & (1 << _TAG_BITS) - 1)
    source = "any" if initiator is None else str(initiator)
    return f"{kind}source {source}, tag {tag}, communicator {bits >> _CONTEXT_SHIFT}"


class _Names:
    """Names of the entries and operations: a number in the files, and what each is matched by."""

    def __init__(self, cut: Cut) -> None:
        numbers = iter(range(1 << 62))
        operations = cut["operations"]
        self.posted = self._of(numbers, cut["posted"], ["receive"] * len(cut["posted"]["bits"]))
        self.unexpected = self._of(numbers, cut["unexpected"], ["message"] * len(cut["unexpected"]["bits"]))
        self.operations = self._of(numbers, operations, list(operations["kind"]))

    @staticmethod
    def _of(numbers: Iterator[int], entries: CutEntries, kinds: list[str]) -> list[str]:
        return [
            f"{kind} {number} ({_envelope(entries, at)})"
            for at, (kind, number) in enumerate(zip(kinds, numbers, strict=False))
        ]

    def expected(self, operations: CutOperations, at: int) -> str:
        """Name what an operation matched."""
        found = operations["found"][at]
        if found is None:
            return NO_MATCH
        where, number = found
        if where == "left":
            return self.operations[number]
        return (self.posted if operations["kind"][at] == "message" else self.unexpected)[number]


def _matched_by(entries: CutEntries, at: int) -> Iterator[str]:
    yield f"bits = {entries['bits'][at]:#018x}\n"
    if entries["ignore"][at]:
        yield f"ignore = {entries['ignore'][at]:#018x}\n"
    initiator = entries["initiator"][at]
    if initiator is not None:
        yield f"nid = {initiator}\n"


def _list_text(cut: Cut, names: _Names) -> Iterator[str]:
    posted, unexpected = cut["posted"], cut["unexpected"]
    for at, name in enumerate(names.posted):
        yield f'\n[[posted]]\nname = "{name}"\n'
        yield from _matched_by(posted, at)
        if posted["initiator"][at] is not None:
            yield "pid = 0\n"
        yield 'options = ["valid", "put", "truncate", "use_once"]\n'
    for at, name in enumerate(names.unexpected):
        yield f'\n[[unexpected]]\nname = "{name}"\n'
        yield from _matched_by(unexpected, at)
        yield "pid = 0\noptions = []\nthreshold = 0\n"


def _headers_text(cut: Cut, names: _Names, clock_mhz: int) -> Iterator[str]:
    operations = cut["operations"]
    start_ps = operations["at_ps"][0]
    for at, name in enumerate(names.operations):
        kind = operations["kind"][at]
        yield f'\n[[header]]\nname = "{name}"\n'
        yield "" if kind == "message" else 'op = "search"\n'
        yield from _matched_by(operations, at)
        cycles = (operations["at_ps"][at] - start_ps) * clock_mhz // 1_000_000
        yield f"arrival = {min(cycles, LATEST_ARRIVAL)}\n"
        yield f'after_match = "{_AFTER[kind]}"\nexpect = "{names.expected(operations, at)}"\n'
