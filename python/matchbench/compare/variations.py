# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What is changed, one thing at a time, to see what the cost of matching in a trace rests on.

Each change is a replay of the trace on the reference engine, and one on `ideal:zero` where the change moves
that too. What belongs to the engine or the network is changed by factors; what belongs to the recording is
replayed by another rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from matchbench._native import Engine, MatchbenchError, Network
from matchbench.compare.replay_config import ReplayConfig
from matchbench.engines import own_engines
from matchbench.native_types import Parameter, Progress, Report
from matchbench.trace import shortfalls
from matchbench.trace.trace import Trace

ENGINE, PRESET = "linear", "software"
"""The reference engine: the costs of today's most common structure, a list, in an MPI library."""

DEPTHS = (10.0, 100.0, 1000.0)
"""Factors on the time per entry: queues this many times as deep, at the same time per entry."""

ARRIVALS_DIFFER = 0.1
"""Difference between the unexpected share of a replay and the largest one that the recording allows, from
which the times of arrivals are varied; assumed."""

_PER_ENTRY = "entry"
_LATENCY = "latency"
_CHANGES = (("matching", 0.1), ("compute", 0.1), ("compute", 10.0), ("network", 0.1))
_MOST_OPERATIONS = 1_000_000
"""Operations of a trace above which what the cost rests on is not varied: each replay would take seconds."""
_DECIMALS = 3  # of a time in nanoseconds
_MOST_CPU_SCALE = 1e6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A trace, and on what it is replayed.

    Parameters
    ----------
    trace, engine, network, config
        As in :func:`matchbench.compare.compare`.
    """

    trace: Trace
    engine: Engine
    network: Network
    config: ReplayConfig

    def replaying(
        self, engine: Engine | None = None, watched: Sequence[int] = ()
    ) -> Callable[[Progress], Report]:
        """Return the work of a replay, for a thread.

        Parameters
        ----------
        engine
            The engine, if it is another one.
        watched
            Ranks whose queues are reported one by one.
        """
        return lambda tell: own_engines.replay(
            self.trace,
            engine or self.engine,
            self.network,
            rules=self.config.rules(),
            watched=watched,
            progress=tell,
        )

    def configured(self, **changes: Any) -> Setup:
        """Return the same with another configuration of the replay."""
        return dataclasses.replace(self, config=dataclasses.replace(self.config, **changes))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One change.

    Parameters
    ----------
    about
        The columns of table `variations` that describe it.
    setup
        What is replayed.
    moves_zero
        Whether it changes the replay on `ideal:zero` too.
    """

    about: Mapping[str, Any]
    setup: Setup
    moves_zero: bool


def planned(setup: Setup, base: Mapping[str, Any], total: Mapping[str, Any]) -> Iterator[Variation]:
    """List the changes of a trace.

    Parameters
    ----------
    setup
        The trace as it is compared.
    base
        Its row of table `reference`.
    total
        The totals of this replay.
    """

    def one(change: str, factor: float, changed: Setup, **about: str) -> Variation:
        nothing = dict.fromkeys(("part", "parameter", "source"))
        moves = changed.network is not setup.network or changed.config is not setup.config
        row = {"trace": setup.trace.name, "change": change, "factor": factor, **nothing, **about}
        return Variation(about=row, setup=changed, moves_zero=moves)

    for factor in DEPTHS:
        if changed := scaled(setup, "engine", factor, only=_PER_ENTRY):
            yield one("depth", factor, changed)
    for change, factor in _CHANGES:
        if change == "compute":
            if changed := _computing(setup, factor):
                yield one(change, factor, changed)
        elif changed := scaled(setup, "engine" if change == "matching" else "network", factor):
            yield one(change, factor, changed)
    if base["operations"] > _MOST_OPERATIONS:
        return
    for part, parameters in _parts(setup):
        for each in parameters:
            for factor in (2.0, 0.5):
                if changed := scaled(setup, part, factor, only=each["name"]):
                    about = {"part": part, "parameter": each["name"], "source": each["source"]}
                    yield one("parameter", factor, changed, **about)
    for change, factor, changed in _of_recording(setup, base, total):
        yield one(change, factor, changed)


def _of_recording(
    setup: Setup, base: Mapping[str, Any], total: Mapping[str, Any]
) -> Iterator[tuple[str, float, Setup]]:
    """Change what comes from the recording: waiting for processors, arrivals, polls, wildcards."""
    config = setup.config
    shared = shortfalls.oversubscription(setup.trace.native)
    if shared and shared.is_relevant and shared.share and total["compute_ns"] and config.cpu_scale:
        delay_ns = sum(delay_ns for delay_ns, _ in setup.trace.native.delays_ns())
        factor = 1 + config.cpu_scale * delay_ns / total["compute_ns"]
        if changed := _computing(setup, factor):
            yield "shared", factor, changed
    recorded, replayed = base["unexpected_recorded"], base["unexpected_share"]
    if recorded is not None and replayed is not None and abs(recorded - replayed) >= ARRIVALS_DIFFER:
        for factor in (10.0, 0.1):
            if changed := scaled(setup, "network", factor, only=_LATENCY):
                yield "arrivals", factor, changed
    if base["polls"]:
        yield "polls", 1.0, setup.configured(recorded_polls=not config.recorded_polls)
    if base["wildcards"]:
        yield "wildcards", 1.0, setup.configured(free_wildcards=not config.free_wildcards)


def _computing(setup: Setup, factor: float) -> Setup | None:
    scale = setup.config.cpu_scale * factor
    return setup.configured(cpu_scale=scale) if 0 < scale <= _MOST_CPU_SCALE else None


def _parts(setup: Setup) -> tuple[tuple[str, list[Parameter]], tuple[str, list[Parameter]]]:
    return ("engine", setup.engine.parameters()), ("network", setup.network.parameters())


def scaled(setup: Setup, part: str, factor: float, only: str | None = None) -> Setup | None:
    """Multiply one parameter of a part, or all its times.

    Parameters
    ----------
    setup
        What is replayed.
    part
        `engine` or `network`.
    factor
        The factor.
    only
        The parameter; None: all times.

    Returns
    -------
    Setup | None
        None if nothing changes, or if a value is out of range.
    """
    parameters = dict(_parts(setup))[part]
    values = {each["name"]: each["value"] for each in parameters}
    changed: dict[str, Any] = dict(values)
    for each in parameters:
        is_wanted = each["name"] == only if only else each["unit"] == "ns"
        try:
            number = float(each["value"])
        except ValueError:  # a choice
            continue
        if is_wanted:
            changed[each["name"]] = f"{round(factor * number, _DECIMALS):.12g}"
    if changed == values or any(changed[name] == "0" and values[name] != "0" for name in values):
        return None
    try:
        if part == "engine":
            return dataclasses.replace(setup, engine=Engine(f"{ENGINE}:{PRESET}", **changed))
        return dataclasses.replace(setup, network=Network(setup.network.name, **changed))
    except MatchbenchError:
        return None
