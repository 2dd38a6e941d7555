# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Makes the result tables of `spec/results.md` from the reports of replays.

Times, counts and latencies are those that the replay computed. Four columns are computed here from them:
`slowdown`, `blocked_share`, `assumed_share` and `parameter_hash`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from matchbench import _native
from matchbench._native import Engine, Network
from matchbench.compare import columns, implausible
from matchbench.compare.comparison import Comparison, Remark
from matchbench.compare.replay_config import ReplayConfig
from matchbench.engines.own_engines import describe
from matchbench.native_types import Measured, Parameter, Report
from matchbench.trace import shortfalls
from matchbench.trace.trace import Trace

REFERENCE = "ideal:zero"
"""Slowdowns are relative to this engine preset, which takes no time."""

_TIMING_ORDER = ("bound", "simulated", "measured")
_QUIET_HOST = 1.25
"""Largest ratio of upper to lower quartile of the repetitions on a host that runs nothing else."""

_OPERATION = ("operation_ns", "operation_low_ns", "operation_high_ns")

Replay: TypeAlias = tuple[Trace, Engine, Report]
"""What was replayed, on which engine, and the report."""


def gather(
    replays: Sequence[Replay],
    network: Network,
    config: ReplayConfig,
    *,
    names: Mapping[str, str] | None = None,
    parameters: bool = True,
) -> Comparison:
    """Make the result tables.

    Parameters
    ----------
    replays
        Every trace on every engine.
    network, config
        As the replays used them.
    names
        What remarks call an engine, by the hash of its parameters; by default `engine:preset`.
    parameters
        Whether to make the table of parameters, which is empty otherwise.
    """
    replays = _ordered(replays)
    references_ns = {
        trace.name: report["total"]["time_ns"][0]
        for trace, engine, report in replays
        if label_of(engine) == REFERENCE and not report["unfinished"]["rank"]
    }
    rows: list[dict[str, Any]] = []
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in columns.TABLES if name != "results"}
    traces = {trace.name: trace for trace, _, _ in replays}
    remarks = [
        Remark(trace=name, engine="", text=text) for name, trace in traces.items() for text in _lacks(trace)
    ]
    hashes = set()
    of_network = [_as_row("network", each) for each in network.parameters()]
    network_name = network.name + _plus(network.parameters())
    for trace, engine, report in replays:
        every = [*(_as_row("engine", each) for each in engine.parameters()), *of_network]
        identity = {
            "trace": trace.name,
            "engine": engine.name,
            "preset": preset_of(engine),
            "timing": engine.timing,
            "parameter_hash": _parameter_hash(engine, every, config),
        }
        results = _results(trace, engine, report, every, references_ns.get(trace.name))
        rows.append({**identity, **results, "network": network_name, **_replayed_as(config)})
        for name in ("ranks", "depths", "visits", "timeline"):
            if any(report[name].values()):  # a sweep keeps none of these rows
                frame = pl.DataFrame(report[name], schema_overrides=columns.TABLES[name])
                tables[name].append(_fit(frame, name, identity))
        if measured := report["measured"]:
            literals = {name: value for name, value in measured.items() if name != "kinds"}
            frame = pl.DataFrame(measured["kinds"])
            tables["measured"].append(_fit(frame, "measured", identity | literals))
        if parameters and identity["parameter_hash"] not in hashes:
            hashes.add(identity["parameter_hash"])
            tables["parameters"].append(_fit(pl.DataFrame(every), "parameters", identity))
        remarks += [
            Remark(
                trace=trace.name,
                engine=(names or {}).get(identity["parameter_hash"], label_of(engine)),
                text=text,
            )
            for text in _remarks(engine, report)
        ]
    return Comparison(
        results=pl.DataFrame(rows, schema=columns.TABLES["results"]),
        remarks=tuple(remarks),
        **{
            name: pl.concat([pl.DataFrame(schema=columns.TABLES[name]), *frames])
            for name, frames in tables.items()
        },
    )


def _ordered(replays: Sequence[Replay]) -> list[Replay]:
    """Sort by trace, timing, time and name, implausible rows last.

    Measured replays keep their order: they are not ranked.
    """
    positions = {trace.name: at for at, (trace, _, _) in enumerate(replays)}

    def key(replay: Replay) -> tuple[int, int, float, str]:
        trace, engine, report = replay
        kind = _TIMING_ORDER.index(engine.timing)
        if implausible.reason(report["judgement"], engine.placement):
            kind = len(_TIMING_ORDER)
        if engine.timing == "measured":
            return positions[trace.name], kind, 0.0, ""
        return positions[trace.name], kind, report["total"]["time_ns"][0], label_of(engine)

    return sorted(replays, key=key)


def _parameters(engine: Engine, network: Network) -> list[dict[str, Any]]:
    return [
        *(_as_row("engine", each) for each in engine.parameters()),
        *(_as_row("network", each) for each in network.parameters()),
    ]


def _as_row(part: str, parameter: Parameter) -> dict[str, Any]:
    return {"part": part, "parameter": parameter["name"], "parameter_unit": parameter["unit"], **parameter}


def _replayed_as(config: ReplayConfig) -> dict[str, Any]:
    return {
        "cpu_scale": config.cpu_scale,
        "wildcards": "free" if config.free_wildcards else "recorded",
        "polls": "recorded" if config.recorded_polls else "waiting",
        "collectives": ",".join(f"{op}={how}" for op, how in config.collectives.items()),
    }


def _results(
    trace: Trace,
    engine: Engine,
    report: Report,
    parameters: Sequence[Mapping[str, Any]],
    reference_ns: float | None,
) -> dict[str, Any]:
    """Give the columns of a row of `results` that follow from the replay itself."""
    total = {name: values[0] for name, values in report["total"].items()}
    time_ns, blocked_ns = total["time_ns"], total["blocked_on_matching_ns"]
    finished = not report["unfinished"]["rank"]
    measured = report["measured"]
    return {
        **total,
        "trace_hash": trace.hash,
        "ranks": trace.ranks,
        "origin": describe(engine.origin),
        "placement": engine.placement,
        "keeps_order": engine.breaks_order is None,
        "implausible": implausible.reason(report["judgement"], engine.placement),
        "assumed_share": sum(each["source"] == "assumed" for each in parameters) / len(parameters),
        "version": _native.version(),
        "revision": _native.revision(),
        "host": measured and measured["host"],
        "repetitions": measured and measured["repetitions"],
        **_operation(measured),
        "finished": finished,
        "slowdown": time_ns / reference_ns if finished and reference_ns else None,
        "blocked_share": blocked_ns / (trace.ranks * time_ns) if time_ns else None,
    }


def _operation(measured: Measured | None) -> dict[str, float | None]:
    """Give the times of an operation of any kind; None without a measurement, or without operations."""
    return {name: next(iter(measured["kinds"][name]), None) if measured else None for name in _OPERATION}


def _fit(frame: pl.DataFrame, table: str, identity: Mapping[str, object]) -> pl.DataFrame:
    """Add the columns that identify the replay, and order the columns as in the specification.

    By columns: a query of polars on a few rows takes longer than the replay of a small trace.
    """
    fitted = [
        pl.Series(name, [identity[name]], dtype=kind).new_from_index(0, frame.height)
        if name in identity
        else frame.get_column(name).cast(kind)
        for name, kind in columns.TABLES[table].items()
    ]
    return pl.DataFrame(fitted)


def _lacks(trace: Trace) -> list[str]:
    said = [shortfalls.state_line(trace.native), shortfalls.sharing_line(trace.native, shortfalls.IN_REPLAY)]
    return [*filter(None, said), *shortfalls.left_out_lines(trace.native)]


def _remarks(engine: Engine, report: Report) -> list[str]:
    order = engine.breaks_order
    broken = [] if order is None else [f"breaks MPI's order, {order}; no MPI library could run on it"]
    if engine.origin is not None and engine.origin["kind"] == "python":
        broken.append("its times are computed by a class in Python: slow, and for quick ideas only")
    if impossible := implausible.reason(report["judgement"], engine.placement):
        broken.append(f"{implausible.MARK}: {impossible}; its row is not ranked")
    return [
        *broken,
        *_stored(engine, report),
        *_waiting(report),
        *_full(report),
        *disturbed(report["measured"]),
        *report["notes"],
    ]


def _stored(engine: Engine, report: Report) -> list[str]:
    """Say where the times of a measured engine are from that was not measured for this replay."""
    # A user-defined engine has parameters of its own.
    if engine.timing != "measured" or report["measured"] is not None or engine.origin is not None:
        return []
    source = next(each["detail"] for each in engine.parameters() if each["name"] == "operation")
    return [f"times measured before: {source}"]


def _full(report: Report) -> list[str]:
    """Give a remark when a full structure or a full input takes more than half of the match latency."""
    total = {name: values[0] for name, values in report["total"].items()}
    latency, refused, beyond = (
        total[name] or 0.0
        for name in ("match_latency_mean_ns", "match_refused_mean_ns", "match_beyond_mean_ns")
    )
    lines = []
    if 2 * beyond > latency > 0:
        overflows = total["posted_overflows"] + total["unexpected_overflows"]
        lines.append(
            f"{100 * beyond / latency:.0f} % of the match latency was spent on entries beyond "
            f"the engine's structure, which overflowed {overflows} times"
        )
    if 2 * refused > latency > 0:
        lines.append(
            f"{100 * refused / latency:.0f} % of the match latency passed before "
            f"the engine accepted operations, of which it refused {total['refused']} at first"
        )
    return lines


def disturbed(measured: Measured | None) -> list[str]:
    """Give a remark when the repetitions of a measurement vary more than on a quiet host.

    Parameters
    ----------
    measured
        The measurement of a replay; None for a model.
    """
    if not measured or not measured["kinds"]["operation_low_ns"]:
        return []
    low, high = (measured["kinds"][name][0] for name in ("operation_low_ns", "operation_high_ns"))
    if high <= _QUIET_HOST * low:
        return []
    return ["the quartiles of the repetitions are far apart: other programs ran on this host"]


def _waiting(report: Report) -> list[str]:
    """Name the ranks that did not finish, and the cycle if they wait for each other."""
    waiting = report["unfinished"]
    lines = [
        f"rank {rank} did not finish: at record {record} it has waited since {since_ns:g} ns: {waits}"
        for rank, record, since_ns, waits in zip(
            waiting["rank"], waiting["record"], waiting["since_ns"], waiting["waits"], strict=True
        )
    ]
    if cycle := report["cycle"]:
        lines.append("deadlock: " + " waits for ".join(f"rank {rank}" for rank in [*cycle, cycle[0]]))
    return lines


def _parameter_hash(engine: Engine, parameters: Sequence[Mapping[str, Any]], config: ReplayConfig) -> str:
    what = {
        "engine": engine.name,
        "parameters": [[each["part"], each["parameter"], each["value"]] for each in parameters],
        **config.rules(),
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _plus(parameters: Sequence[Parameter]) -> str:
    return "+" if any(each["source"] == "user" for each in parameters) else ""


def preset_of(engine: Engine) -> str:
    """Name the preset, with `+` when the user replaced a parameter."""
    return engine.preset + ("+" if engine.changed else "")


def label_of(engine: Engine) -> str:
    """Give `engine:preset` as tables show it."""
    return f"{engine.name}:{preset_of(engine)}"


def parameter_hash(engine: Engine, network: Network, config: ReplayConfig) -> str:
    """Give the hash of all parameters of a replay, as in column `parameter_hash`.

    Parameters
    ----------
    engine, network, config
        As the replay uses them.
    """
    return _parameter_hash(engine, _parameters(engine, network), config)
