# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How many entries a matching structure needs for a trace, and what too few cost on engines that have one.

Counts come from one replay of each trace (`mb_replay::sizing`); `docs/sizing.md` defines them. Costs come
from replays with other sizes. Nothing is fitted or interpolated here. Sizes are structure entries: those of
one structure, of which an engine may have one for each queue.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from matchbench import _native
from matchbench._native import Engine, MatchbenchError, Network
from matchbench.arguments import CALLBACK, WHOLE, checked, sequence
from matchbench.compare import columns, implausible
from matchbench.compare.replay_config import CONFIG, ReplayConfig
from matchbench.compare.result_tables import REFERENCE, label_of
from matchbench.display.output import whole_directory, write_file, write_table
from matchbench.engines import own_engines
from matchbench.engines.selection import ENGINE
from matchbench.native_types import Progress, Report
from matchbench.size.queues import QUEUES, worst_rank
from matchbench.size.recommendation import (
    Recommendation,
    alternative,
    fastest,
    least_entries,
    shares,
)
from matchbench.size.replays import Replays
from matchbench.sweep.hardware import Costs
from matchbench.trace.trace import TRACES, Trace, Traces, opened

BUCKETS = (4, 16, 64, 256)
"""Numbers of buckets into which the queues are divided by default."""

_COST_SHARES = ("p50", "p99", "p100")
"""Shares of insertions for whose sizes the costs are replayed."""

_WITHOUT_CURVE = "by_other_rule"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sizings:
    """Sizes of matching structures, each table as `docs/sizing.md` says.

    Parameters
    ----------
    curves
        Overflows, and searches and time beyond a structure, at every number of structure entries; of each
        rank, and of all with a null `rank`.
    needs
        Structure entries that cover 50, 90, 99, 99.9 and 100 %; by rank, and by communicator.
    buckets
        Longest bucket and search length with the queues divided by source.
    costs
        Replays on engines with a structure of a few sizes.
    engine
        The engine whose replay gave the first three, as `engine:preset`.
    recommendation
        One number of structure entries, what they hold, and what half and twice as many cost.
    """

    curves: pl.DataFrame
    needs: pl.DataFrame
    buckets: pl.DataFrame
    costs: pl.DataFrame
    engine: str
    recommendation: Recommendation

    def overflows(
        self,
        structure_entries: int,
        *,
        trace: str,
        queue: str,
        rank: int | None = None,
        holds: str = "oldest_of_queue",
    ) -> int:
        """Give the overflows of a structure of this size.

        Parameters
        ----------
        structure_entries
            Its size, 0 or more.
        trace, queue, rank
            The curve: a trace's name, `posted` or `unexpected`, and a rank; all ranks without one.
        holds
            What it holds: `oldest_of_queue` or `places_of_both`.

        Raises
        ------
        MatchbenchError
            When there is no such curve.
        """
        if structure_entries < 0:
            msg = f"structure_entries: found {structure_entries}, expected at least 0"
            raise MatchbenchError(msg)
        curve = self.curves.filter(
            pl.col("trace") == trace,
            pl.col("queue") == queue,
            pl.col("measure") == holds,
            pl.col("rank").eq_missing(pl.lit(rank, dtype=pl.Int64)),
            pl.col("structure_entries") <= structure_entries,
        )
        if curve.is_empty():
            place = f"trace `{trace}`, queue `{queue}`, rank {rank}"
            msg = f"{place}: found no curve `{holds}`, expected a row of `curves`"
            raise MatchbenchError(msg)
        return int(curve["value"][-1])

    def answer(self) -> list[str]:
        """Say for each trace and queue what covers almost all searches, and what the worst rank needs."""
        return [line for trace in self.traces for line in _answer(self.needs.filter(trace=trace))]

    @property
    def traces(self) -> list[str]:
        """Names of the traces."""
        return self.needs["trace"].unique(maintain_order=True).to_list()

    def write(self, directory: str | os.PathLike[str], *, force: bool = False, charts: bool = True) -> None:
        """Write tables, `sizing.json` and `sizing.html` to `directory`, atomically.

        Parameters
        ----------
        directory
            A directory that does not exist or is empty.
        force
            Replace earlier results there.
        charts
            Put the curves into the page as interactive charts.

        Raises
        ------
        MatchbenchError
            When the directory is in use.
        OSError
            When a file cannot be written.
        """
        # Imported here because it imports this module.
        from matchbench.size.page import page

        tables = {f"sizing_{name}": getattr(self, name) for name in columns.SIZING}
        with whole_directory(Path(directory), marker="sizing.json", force=force) as partial:
            for name, table in tables.items():
                write_table(table, partial, name)
            everything = {
                "engine": self.engine,
                "version": _native.version(),
                "answer": self.answer(),
                "needs": self.needs.to_dicts(),
                "buckets": self.buckets.to_dicts(),
                "costs": self.costs.to_dicts(),
                "recommendation": {
                    "text": str(self.recommendation),
                    **dataclasses.asdict(self.recommendation),
                },
            }
            write_file(partial / "sizing.json", json.dumps(everything, indent=1) + "\n")
            write_file(partial / "sizing.html", page(self, charts=charts))

    def __repr__(self) -> str:
        """Give the traces, and the rows of the table of costs."""
        return f"Sizings({', '.join(self.traces)}; {self.costs.height} costs)"


@checked(
    traces=TRACES,
    engine=ENGINE,
    costs=sequence(ENGINE, "engines"),
    buckets=sequence(WHOLE, "whole numbers"),
    config=CONFIG,
    progress=CALLBACK,
)
def size(
    traces: Traces,
    *,
    engine: str | Engine = REFERENCE,
    costs: Sequence[str | Engine] | None = None,
    buckets: Sequence[int] = BUCKETS,
    config: ReplayConfig | None = None,
    progress: Progress | None = None,
) -> Sizings:
    r"""Count how many entries a matching structure needs.

    Parameters
    ----------
    traces
        What to replay: a trace or a path, or several; each is checked first.
    engine
        The engine whose replay orders posts and arrivals. A slower one makes the queues longer.
    costs
        Engines with a structure of limited size, which are also replayed with a few sizes; by default the
        first preset of each whose structure has a curve.
    buckets
        Numbers of buckets, each at least 1, into which the queues are divided by source.
    config
        How to replay.
    progress
        Called as `progress(done, total)` in thousandths of replays.

    Raises
    ------
    MatchbenchError
        When a trace is defective, or an engine or a parameter is wrong.
    TypeError
        When an argument is of another type.

    Examples
    --------
    >>> print(*size("traces/halo3d-64.tar.xz").answer(), sep="\n")  # doctest: +SKIP
    """
    with ExitStack() as stack:
        return _size(opened(traces, stack), engine, costs, buckets, config or ReplayConfig(), progress)


def _size(
    traces: list[Trace],
    engine: str | Engine,
    costs: Sequence[str | Engine] | None,
    buckets: Sequence[int],
    config: ReplayConfig,
    progress: Progress | None,
) -> Sizings:
    chosen = engine if isinstance(engine, Engine) else Engine(engine)
    limited = [_limited(each) for each in (with_structure() if costs is None else costs)]
    for each in (chosen, *(limited_engine for limited_engine, _ in limited)):
        own_engines.check(each)
    network = Network(config.network, **config.network_parameters)
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in columns.SIZING}
    # Three more for the recommendation.
    total = len(traces) * (2 + len(limited) * len(_COST_SHARES) + 3 * bool(limited))
    replays = Replays(network, config, total, progress)
    times_ns: dict[str, float] = {}
    for trace in traces:
        trace.check()
        first = replays.run(trace, chosen, list(buckets))
        sizing = first["sizing"]
        if sizing is None:
            msg = f"{trace.name}: found no ranks, expected at least one"
            raise MatchbenchError(msg)
        counted = {name: sizing[name] for name in ("curves", "needs", "buckets")}
        tables = {
            name: pl.DataFrame(table, schema_overrides=_schema(name)) for name, table in counted.items()
        }
        needs = tables["needs"]
        is_reference = not limited or label_of(chosen) == REFERENCE
        reference = first if is_reference else replays.run(trace, Engine(REFERENCE), None)
        times_ns[trace.name] = reference["total"]["time_ns"][0]
        rows = [
            _cost(replays.run(trace, changed, None), changed, key, times_ns[trace.name])
            for each, key in limited
            for changed in _of_sizes(each, key, _sizes(needs))
        ]
        tables["costs"] = pl.DataFrame(
            rows, schema_overrides=_schema("costs"), schema=_without_trace("costs")
        )
        for name, table in tables.items():
            named = table.with_columns(trace=pl.lit(trace.name, dtype=pl.String()))
            found[name].append(named.select(columns.SIZING[name].keys()))
    joined = {
        name: pl.concat([pl.DataFrame(schema=_schema(name)), *frames]) for name, frames in found.items()
    }
    recommendation = _recommend(joined, traces, limited, replays, times_ns)
    replays.end()
    return Sizings(engine=label_of(chosen), recommendation=recommendation, **joined)


def _recommend(
    found: dict[str, pl.DataFrame],
    traces: Sequence[Trace],
    limited: Sequence[tuple[Engine, str]],
    replays: Replays,
    times_ns: Mapping[str, float],
) -> Recommendation:
    """Choose the size from the curves and the engine from the costs; replay it, and half and twice of it."""
    curves = found["curves"]
    # As in the costs, without the mark of changed parameters.
    rules = {
        f"{each.name}:{each.preset}": (each, key, (_structure(each) or ("", ""))[1]) for each, key in limited
    }
    ruled = [label for label, (_, _, holds) in rules.items() if holds != _WITHOUT_CURVE]
    label = fastest(found["costs"], ruled)
    holds = rules[label][2] if label else "oldest_of_queue"
    of_searches = found["needs"].filter(
        pl.col("rank").is_null(), pl.col("communicator").is_null(), of="searches"
    )
    searches = float(of_searches["total"].sum())
    count = least_entries(curves, holds)
    held, covered = shares(curves, searches, holds, count)
    if label is None or not count:
        return Recommendation(structure_entries=count, holds=holds, held=held, covered=covered)
    engine, key, _ = rules[label]
    slowdowns: dict[int, dict[str, float | None]] = {}
    chosen = _first(_of_sizes(engine, key, [count]))
    if chosen is None:
        return Recommendation(structure_entries=count, holds=holds, held=held, covered=covered)
    count = _size_of(chosen, key)
    held, covered = shares(curves, searches, holds, count)
    wanted = {size: _first(_of_sizes(engine, key, [size])) for size in (count, count // 2, 2 * count) if size}
    for size, changed in wanted.items():
        if changed is None:
            continue
        for trace in traces:
            known = found["costs"].filter(
                pl.format("{}:{}", "engine", "preset") == label,
                trace=trace.name,
                structure_entries=_size_of(changed, key),
            )
            if known.is_empty():
                report = replays.run(trace, changed, None)
                row = _cost(report, changed, key, times_ns[trace.name])
                slowdown = None if report["unfinished"]["rank"] else row["slowdown"]
            else:
                slowdown = known["slowdown"][0]
            slowdowns.setdefault(size, {})[trace.name] = slowdown
    others = {
        size: alternative(_size_of(changed, key), slowdowns[size], slowdowns[count])
        for size, changed in wanted.items()
        if changed is not None and _size_of(changed, key) != count
    }
    whole = Costs().of(chosen)
    return Recommendation(
        structure_entries=count,
        holds=holds,
        held=held,
        covered=covered,
        engine=label,
        parameter=key,
        engine_entries=whole.engine_entries,
        memory_entries=whole.memory_entries,
        half=others.get(count // 2),
        twice=others.get(2 * count),
    )


def _first(engines: Iterator[Engine]) -> Engine | None:
    """Give the first engine; None if its size is out of range."""
    try:
        return next(engines, None)
    except MatchbenchError:
        return None


def _size_of(engine: Engine, key: str) -> int:
    return int(next(each["value"] for each in engine.parameters() if each["name"] == key))


def _schema(table: str) -> dict[str, pl.DataType]:
    return {name: column.type for name, column in columns.SIZING[table].items()}


def _without_trace(table: str) -> dict[str, pl.DataType]:
    return {name: kind for name, kind in _schema(table).items() if name != "trace"}


def _structure(engine: Engine) -> tuple[str, str] | None:
    """Name the parameter with the size of an engine's structure, and what that holds."""
    sized = [each for each in engine.parameters() if each["holds"]]
    return (sized[0]["name"], str(sized[0]["holds"])) if sized else None


def with_structure() -> list[Engine]:
    """Give the first preset of each engine for whose structure there is a curve."""
    every = [Engine(card["name"]) for card in _native.engines()]
    return [each for each in every if (_structure(each) or ("", _WITHOUT_CURVE))[1] != _WITHOUT_CURVE]


def _limited(engine: str | Engine) -> tuple[Engine, str]:
    engine = engine if isinstance(engine, Engine) else Engine(engine)
    structure = _structure(engine)
    if structure is None:
        known = [card["name"] for card in _native.engines() if _structure(Engine(card["name"]))]
        msg = (
            f"engine `{engine.name}`: found no structure of limited size, expected one of: {', '.join(known)}"
        )
        raise MatchbenchError(msg)
    key = structure[0]
    if any(each["name"] == key and each["source"] == "user" for each in engine.parameters()):
        msg = (
            f"engine `{engine.name}`: found a value for `{key}`, expected none: its sizes are those that "
            "cover a share of the insertions; `matchbench sweep` takes sizes"
        )
        raise MatchbenchError(msg)
    return engine, key


def _sizes(needs: pl.DataFrame) -> list[int]:
    """Give sizes that hold a half, 99 % and all of the insertions into either queue."""
    rows = needs.filter(pl.col("rank").is_null(), pl.col("communicator").is_null(), of="insertions")
    return sorted({max(1, *rows[share].to_list()) for share in _COST_SHARES})


def _of_sizes(engine: Engine, key: str, sizes: Sequence[int]) -> Iterator[Engine]:
    """Give the engine with each size that its parameter can have; cells come in whole blocks.

    Raises
    ------
    MatchbenchError
        When it can have none of them.
    """
    values: dict[str, Any] = {each["name"]: each["value"] for each in engine.parameters()}
    block = int(values.get("block", 1))
    seen: set[int] = set()
    for entries in sizes:
        whole = -(-entries // block) * block
        if whole in seen:
            continue
        try:
            limited: dict[str, Any] = {key: whole}
            yield engine.replaced(**limited)
        except MatchbenchError:
            if not seen:
                raise
            # Larger than the structure can be.
            return
        seen.add(whole)


def _cost(report: Report, engine: Engine, key: str, reference_ns: float) -> dict[str, Any]:
    """Make a row of `costs`."""
    total = {name: values[0] for name, values in report["total"].items()}
    whole = Costs().of(engine)
    overflows = total["posted_overflows"] + total["unexpected_overflows"]
    beyond_ns = (total["match_beyond_mean_ns"] or 0.0) * total["matches"]
    return {
        "engine": engine.name,
        "preset": engine.preset,
        "parameter": key,
        "structure_entries": _size_of(engine, key),
        "engine_entries": whole.engine_entries,
        "memory_entries": whole.memory_entries,
        "implausible": implausible.reason(report["judgement"], engine.placement),
        "posted_overflows": total["posted_overflows"],
        "unexpected_overflows": total["unexpected_overflows"],
        "spilled": total["spilled"],
        "refused": total["refused"],
        "slowdown": total["time_ns"] / reference_ns if reference_ns else None,
        "match_latency_mean_ns": total["match_latency_mean_ns"],
        "match_search_mean_ns": total["match_search_mean_ns"],
        "match_waiting_mean_ns": total["match_waiting_mean_ns"],
        "match_refused_mean_ns": total["match_refused_mean_ns"],
        "match_beyond_mean_ns": total["match_beyond_mean_ns"],
        "beyond_per_overflow_ns": beyond_ns / overflows if overflows else None,
    }


def _answer(needs: pl.DataFrame) -> Iterator[str]:
    trace = needs["trace"][0]
    for queue, name in QUEUES.items():
        rows = needs.filter(pl.col("communicator").is_null(), queue=queue)
        everywhere = {row["of"]: row for row in rows.filter(pl.col("rank").is_null()).iter_rows(named=True)}
        if not everywhere["insertions"]["total"]:
            yield f"{trace}: no {name.removesuffix('s')} ever waits in the queue: it needs no entry."
            continue
        worst = worst_rank(rows, "insertions")
        covering = everywhere["searches"]["p999"]
        entries = "entry covers" if covering == 1 else "entries cover"
        yield (
            f"{trace}: {covering} structure {entries} 99.9 % of searches among {name}; "
            f"rank {worst['rank']} needs {worst['p100']} to hold its {name} at all times."
        )
