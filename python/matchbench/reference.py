# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Replays on the reference engine, from which the answer of a comparison is computed.

The reference is a list searched in software, as an MPI library does. Its replay takes milliseconds for the
shipped traces, so that the trace on which it costs most can be replayed again with deeper queues, faster
processors, a faster network, and each parameter doubled and halved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from matchbench import columns, interruptible, shortfalls
from matchbench._native import Engine, MatchbenchError, Network
from matchbench.native_types import Parameter, Report
from matchbench.replay_config import ReplayConfig
from matchbench.result_tables import REFERENCE as ZERO
from matchbench.result_tables import preset_of
from matchbench.trace import Trace

ENGINE, PRESET = "linear", "software"
"""The reference engine: the costs of today's most common structure, a list, in an MPI library."""

DEPTHS = (10.0, 100.0, 1000.0)
"""Factors on the time per entry: queues this many times as deep, at the same time per entry."""

_PER_ENTRY = "entry"
_CHANGES = (("matching", 0.1), ("compute", 0.1), ("compute", 10.0), ("network", 0.1))
_MOST_OPERATIONS = 1_000_000
"""Operations of a trace above which single parameters are not varied: each replay would take seconds."""
_WATCHED = 3
"""Ranks whose queues are reported one by one."""
_DECIMALS = 3  # of a time in nanoseconds
_MOST_CPU_SCALE = 1e6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """A trace, and on what it is replayed."""

    trace: Trace
    engine: Engine
    network: Network
    config: ReplayConfig

    def replay(self, engine: Engine | None = None, watched: Sequence[int] = ()) -> Report:
        return interruptible.run(
            lambda tell: self.trace.native.replay(
                engine or self.engine,
                self.network,
                rules=self.config.rules(),
                watched=watched,
                progress=tell,
            )
        )


def replays(
    traces: Sequence[Trace],
    chosen: Sequence[Engine],
    network: Network,
    config: ReplayConfig,
    results: pl.DataFrame,
) -> dict[str, Any]:
    """Replay every trace on the reference engine, and the worst one with changes.

    Parameters
    ----------
    traces
        The traces of the comparison.
    chosen
        Its engines. One that is the reference with parameters of the user takes its place.
    network, config
        As the replays used them.
    results
        The table `results`, for the times on `ideal:zero`.

    Returns
    -------
    dict
        The tables `reference`, `reference_ranks`, `variations` and `queues` (`spec/results.md`).
    """
    given = (each for each in chosen if (each.name, each.preset) == (ENGINE, PRESET))
    engine = next(given, Engine(f"{ENGINE}:{PRESET}"))
    zero = results.filter(finished=True).select(
        "trace", "time_ns", label=pl.format("{}:{}", "engine", "preset")
    )
    zeros = dict(zero.filter(label=ZERO).select("trace", "time_ns").iter_rows())
    rows: dict[str, list[dict[str, Any]]] = {"reference": [], "variations": []}
    ranks: list[pl.DataFrame] = []
    queues: list[pl.DataFrame] = []
    setups: dict[str, _Setup] = {}
    for trace in traces:
        setup = _Setup(trace=trace, engine=engine, network=network, config=config)
        report = setup.replay()
        rows["reference"].append(_reference(setup, report, zeros.get(trace.name)))
        ranks.append(_frame("reference_ranks", trace, report["ranks"]))
        if watched := _worst_ranks(report):
            queues.append(_frame("queues", trace, setup.replay(watched=watched)["watched"]))
        setups[trace.name] = setup
    if worst := max((row for row in rows["reference"] if _can_vary(row)), key=_cost, default=None):
        rows["variations"] = list(_variations(setups[worst["trace"]], worst))
    frames: dict[str, Any] = {
        name: pl.DataFrame(each, schema=columns.TABLES[name]) for name, each in rows.items()
    }
    for name, each in (("reference_ranks", ranks), ("queues", queues)):
        frames[name] = pl.concat([pl.DataFrame(schema=columns.TABLES[name]), *each])
    return frames


def _frame(table: str, trace: Trace, values: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    schema = columns.TABLES[table]
    first = next(iter(values.values()))
    whole = {**values, "trace": [trace.name] * len(first)}
    return pl.DataFrame({name: whole[name] for name in schema}, schema=schema)


def _reference(setup: _Setup, report: Report, zero_ns: float | None) -> dict[str, Any]:
    total = {name: values[0] for name, values in report["total"].items()}
    shared = shortfalls.oversubscription(setup.trace.native)
    kept = ("matches", "operations", "visits_mean", "visits_max", "posted_max", "unexpected_max")
    return {
        "trace": setup.trace.name,
        "engine": setup.engine.name,
        "preset": preset_of(setup.engine),
        **_cost_of(None if report["unfinished"]["rank"] else total["time_ns"], zero_ns),
        **{name: total[name] for name in kept},
        "state": setup.trace.state,
        "host_ranks": shared and shared.ranks,
        "host_processors": shared and shared.processors,
        "waiting_share": shared and shared.share,
    }


def _cost_of(time_ns: float | None, zero_ns: float | None) -> dict[str, float | None]:
    share = None
    if time_ns is not None and zero_ns is not None:
        share = 1 - zero_ns / time_ns if time_ns else 0.0
    return {"time_ns": time_ns, "zero_ns": zero_ns, "cost_share": share}


def _can_vary(row: Mapping[str, Any]) -> bool:
    return row["cost_share"] is not None and row["matches"] > 0


def _cost(row: Mapping[str, Any]) -> float:
    share: float = row["cost_share"]
    return share


def _worst_ranks(report: Report) -> list[int]:
    """Name the ranks that wait longest for matching, then those with the longest queues."""
    ranks = report["ranks"]
    worst = sorted(
        zip(
            ranks["blocked_on_matching_ns"],
            map(max, ranks["posted_max"], ranks["unexpected_max"]),
            (-rank for rank in ranks["rank"]),
            strict=True,
        ),
        reverse=True,
    )
    return [-rank for _, longest, rank in worst if longest > 0][:_WATCHED]


def _variations(setup: _Setup, base: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Replay one trace with one thing changed at a time."""

    def row(change: str, factor: float, changed: _Setup, **about: str) -> dict[str, Any]:
        report = changed.replay()
        unfinished = bool(report["unfinished"]["rank"])
        zero_ns: float | None = base["zero_ns"]
        if changed.network is not setup.network or changed.config is not setup.config:
            zero = changed.replay(Engine(ZERO))
            zero_ns = None if zero["unfinished"]["rank"] else zero["total"]["time_ns"][0]
        cost = _cost_of(None if unfinished else report["total"]["time_ns"][0], zero_ns)
        nothing = dict.fromkeys(("part", "parameter", "source"))
        return {"trace": setup.trace.name, "change": change, "factor": factor, **nothing, **about, **cost}

    same = {name: base[name] for name in ("time_ns", "zero_ns", "cost_share")}
    yield {"trace": setup.trace.name, "change": "none", "factor": 1.0, **same}
    for factor in DEPTHS:
        if changed := _scaled(setup, "engine", factor, only=_PER_ENTRY):
            yield row("depth", factor, changed)
    for change, factor in _CHANGES:
        if change == "compute":
            if not 0 < setup.config.cpu_scale * factor <= _MOST_CPU_SCALE:
                continue
            config = dataclasses.replace(setup.config, cpu_scale=setup.config.cpu_scale * factor)
            yield row(change, factor, dataclasses.replace(setup, config=config))
        elif changed := _scaled(setup, "engine" if change == "matching" else "network", factor):
            yield row(change, factor, changed)
    if base["operations"] > _MOST_OPERATIONS:
        return
    for part, parameters in _parts(setup):
        for each in parameters:
            for factor in (2.0, 0.5):
                if changed := _scaled(setup, part, factor, only=each["name"]):
                    about = {"part": part, "parameter": each["name"], "source": each["source"]}
                    yield row("parameter", factor, changed, **about)


def _parts(setup: _Setup) -> tuple[tuple[str, list[Parameter]], tuple[str, list[Parameter]]]:
    return ("engine", setup.engine.parameters()), ("network", setup.network.parameters())


def _scaled(setup: _Setup, part: str, factor: float, only: str | None = None) -> _Setup | None:
    """Multiply one parameter of a part, or all its times; None if nothing changes, or out of range."""
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
