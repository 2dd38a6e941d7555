# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The line protocol of `bench.c`: one JSON object on each line, after a marker.

The lines pass through a launcher and perhaps come from another host, so every field is checked. A marked line
that does not follow the protocol is an error that quotes it.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

from matchbench._native import MatchbenchError

MARK = "@matchbench-mpi "
"""Marker before each line of the protocol."""

_Value = TypeVar("_Value", int, str)
_SHOWN = 80  # characters of a bad line that a message quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The host and the MPI of a series, as its receiver reports them.

    Parameters
    ----------
    ranks
        Ranks in the world.
    standard
        Version of the MPI standard that the library reports.
    library
        Result of `MPI_Get_library_version`.
    hosts
        Host of the sender, host of the receiver.
    cpu
        Processor of the receiver.
    pinned
        Processor that the sender may use and that of the receiver; -1 where a rank may move.
    pinned_by
        `launcher`, `program` or `nobody`.
    clock_ns
        Cost of one timestamp, already subtracted from every sample.
    libraries
        Files of loaded libraries that identify the transport.
    components
        Components with MPI_T variables that identify it, as `pml_ob1`.
    environment
        Environment variables that select or tune it.
    """

    ranks: int
    standard: str
    library: str
    hosts: tuple[str, str]
    cpu: str
    pinned: tuple[int, int]
    pinned_by: str
    clock_ns: float
    libraries: tuple[str, ...]
    components: tuple[str, ...]
    environment: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One repetition: the median of some operations at one depth.

    Parameters
    ----------
    kind
        What was timed: `preposted`, `unexpected`, `probe`, `drain_posted` or `drain_unexpected`.
    depth
        Entries that were queued.
    sweep
        Number of the repetition.
    ns
        The median, in nanoseconds.
    operations
        Number of operations.
    """

    kind: str
    depth: int
    sweep: int
    ns: float
    operations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Resident memory of the receiver in bytes: before, with `items` queued, and after they were removed."""

    items: int
    before: int
    full: int
    after: int


@dataclass(slots=True)
class RunOutput:
    """What one run has reported so far."""

    hello: Hello | None = None
    samples: list[Sample] = field(default_factory=list)
    memory: Memory | None = None
    current: tuple[str, int, int] | None = None
    """Kind, depth and sweep of the measurement that began last."""
    error: str | None = None
    finished: bool = False
    lines: list[str] = field(default_factory=list)
    """The lines read, which give the same output again."""

    def read(self, line: str) -> None:
        """Read one line, without its marker.

        Raises
        ------
        MatchbenchError
            When the line does not follow the protocol.
        """
        try:
            event = json.loads(line)
            if not isinstance(event, dict):
                raise TypeError
            self._store(event)
            self.lines.append(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            shown = line[:_SHOWN] + ("..." if len(line) > _SHOWN else "")
            msg = f"measuring program: found the line `{shown}`, expected an event of its protocol"
            raise MatchbenchError(msg) from error

    def _store(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "hello":
                self.hello = Hello(
                    ranks=_whole(event["ranks"]),
                    standard=_text(event["standard"]),
                    library=_text(event["library"]),
                    hosts=_pair([_text(host) for host in event["hosts"]]),
                    cpu=_text(event["cpu"]),
                    pinned=_pair([_whole(cpu, least=-1) for cpu in event["pinned"]]),
                    pinned_by=_text(event["pinned_by"]),
                    clock_ns=_time(event["clock_ns"]),
                    libraries=tuple(sorted(map(_text, event["libraries"]))),
                    components=tuple(sorted(map(_text, event["components"]))),
                    environment=tuple(sorted(map(_text, event["environment"]))),
                )
            case "begin":
                self.current = (
                    _text(event["kind"]),
                    _whole(event["depth"]),
                    _whole(event["sweep"], least=-1),
                )
            case "sample":
                self.samples.append(
                    Sample(
                        kind=_text(event["kind"]),
                        depth=_whole(event["depth"]),
                        sweep=_whole(event["sweep"]),
                        ns=_time(event["ns"]),
                        operations=_whole(event["operations"], least=1),
                    )
                )
            case "memory":
                names = ("items", "before", "full", "after")
                self.memory = Memory(**{name: _whole(event[name]) for name in names})
            case "error":
                self.error = _text(event["text"])
            case "end":
                self.finished = True
            case _:
                raise ValueError


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: object, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    if value < least:
        raise ValueError
    return value


def _time(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    if not (math.isfinite(value) and value >= 0):
        raise ValueError
    return float(value)


def _pair(values: list[_Value]) -> tuple[_Value, _Value]:
    first, second = values
    return first, second
