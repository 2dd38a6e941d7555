# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Replays traces on engines and gathers what comes out as tables (`spec/results.md`).

Every number is computed by the replay; here rows are only named, joined, sorted and written.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from matchbench import _native, columns
from matchbench._native import Engine, MatchbenchError, Network
from matchbench.mpi.costs import software_costs
from matchbench.output import whole_directory
from matchbench.shapes import Measured, Parameter, Progress, Report
from matchbench.trace import Trace

BASELINE = "ideal:zero"
"""What a slowdown is measured against: an engine that takes no time."""

_TIMING_ORDER = ("bound", "simulated", "measured")
_BUSY = 1.25
"""Upper over lower quartile of the repetitions from which on the host is said to have done something else."""

_OPERATION = ("operation_ns", "operation_low_ns", "operation_high_ns")


class _StoppedError(Exception):
    """Ends the replays of the other threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConfig:
    """How traces are replayed, whatever the engine.

    Parameters
    ----------
    network
        A network preset; the first one by default.
    network_settings
        Settings that replace the preset's, each as `key=value`.
    cpu_scale
        Factor on recorded compute time; 0 replays communication alone.
    free_wildcards
        Let wildcard receives take what comes first instead of what they took in the recording.
    collectives
        Algorithm by collective, for those that shall not be expanded by the default one.
    """

    network: str = field(default_factory=lambda: _native.networks()[0][0])
    network_settings: Sequence[str] = ()
    cpu_scale: float = 1.0
    free_wildcards: bool = False
    collectives: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no replay could use."""
        if not 0 <= self.cpu_scale <= 1e6:
            msg = f"cpu_scale must be from 0 to 1000000, not {self.cpu_scale}"
            raise MatchbenchError(msg)
        known = dict(_native.collectives())
        for collective, algorithm in self.collectives.items():
            if collective not in known:
                msg = f"unknown collective `{collective}`; expected one of: {', '.join(known)}"
                raise MatchbenchError(msg)
            if algorithm not in known[collective]:
                msg = (
                    f"collective `{collective}`: unknown algorithm `{algorithm}`; "
                    f"expected one of: {', '.join(known[collective])}"
                )
                raise MatchbenchError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something to know about one replay.

    Parameters
    ----------
    trace, engine
        Which replay; the engine as `engine:preset`.
    text
        One sentence.
    """

    trace: str
    engine: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result tables of a comparison, each as `spec/results.md` says.

    Parameters
    ----------
    results
        One row per trace and engine preset.
    ranks
        One row per rank of those.
    depths
        Matches by search depth.
    timeline
        Queue lengths over simulated time.
    measured
        What operations take on this host, behind the measured rows.
    parameters
        Every parameter behind every row, with its source.
    remarks
        What to know about single replays: deadlocks, what was left out, divergences.
    """

    results: pl.DataFrame
    ranks: pl.DataFrame
    depths: pl.DataFrame
    timeline: pl.DataFrame
    measured: pl.DataFrame
    parameters: pl.DataFrame
    remarks: tuple[Remark, ...]

    def to_polars(self) -> pl.DataFrame:
        """Return the table `results`."""
        return self.results

    @property
    def finished(self) -> bool:
        """Whether every rank of every replay finished."""
        return bool(self.results["finished"].all())

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        force: bool = False,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> None:
        """Write tables, plots and the report to `directory`, whole or not at all.

        Parameters
        ----------
        directory
            A directory that does not exist or is empty.
        force
            Replace earlier results there.
        jobs
            Plots drawn at a time. Above 1 they are drawn in new processes, which import the main module of
            the program: it must do its work under `if __name__ == "__main__":`.
        progress
            Called with plots drawn and plots in all.

        Raises
        ------
        MatchbenchError
            When the directory is in use.
        """
        # Drawing needs matplotlib, which takes a second to load and is needed here alone.
        from matchbench.report import write_report

        with whole_directory(Path(directory), marker="results.json", force=force) as partial:
            for name in columns.TABLES:
                table: pl.DataFrame = getattr(self, name)
                table.write_csv(partial / f"{name}.csv")
                table.write_parquet(partial / f"{name}.parquet")
            rows = self.results.to_dicts()
            (partial / "results.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            write_report(self, partial, jobs=jobs, progress=progress)

    def _repr_html_(self) -> str:
        """Show the table `results` in a notebook."""
        return self.results._repr_html_()


def choose_engines(
    specs: Sequence[str] = (),
    settings: Iterable[str] = (),
    *,
    mpi_bench: str | os.PathLike[str] | None = None,
) -> list[Engine]:
    """Find engines by name and change their settings.

    Parameters
    ----------
    specs
        `engine` (with its default preset) or `engine:preset`; every preset of every engine that keeps MPI's
        order if there is none.
    settings
        `key=value` for every chosen engine that has the key, or `engine.key=value`.
    mpi_bench
        Result of `matchbench mpi bench`, its directory or its `mpi-bench.json`, from which the presets
        `software` and `software_l2` of `linear` take their costs if they are chosen. `settings` go before it.

    Raises
    ------
    MatchbenchError
        When a name, a key, a value or the result is wrong, or one of them concerns no chosen engine.
    """
    every = [
        f"{card['name']}:{preset}"
        for card in _native.engines()
        for preset in card["presets"]
        if preset not in card["literal"]
    ]
    chosen = [Engine(spec, []) for spec in dict.fromkeys(specs or every)]
    by_engine: dict[str, list[str]] = {engine.name: [] for engine in chosen}
    for setting in settings:
        key, equals, _ = setting.partition("=")
        if not equals:
            msg = f"`{setting}` is no setting; expected [engine.]key=value"
            raise MatchbenchError(msg)
        name, dot, _ = key.partition(".")
        if dot:
            if name not in by_engine:
                known = ", ".join(by_engine)
                msg = f"setting `{setting}`: engine `{name}` is not compared; compared are: {known}"
                raise MatchbenchError(msg)
            by_engine[name].append(setting.partition(".")[2])
            continue
        keys = {engine.name: [each["name"] for each in engine.parameters()] for engine in chosen}
        having = [name for name, known in keys.items() if key.strip() in known]
        if not having:
            everything = sorted({each for known in keys.values() for each in known})
            msg = f"unknown setting `{key}`; expected one of: {', '.join(everything)}"
            raise MatchbenchError(msg)
        for name in having:
            by_engine[name].append(setting)
    labels = [f"{engine.name}:{engine.preset}" for engine in chosen]
    costs = software_costs(Path(mpi_bench), labels) if mpi_bench is not None else {}
    found = [
        Engine(label, by_engine[engine.name], costs.get(label, ()))
        for label, engine in zip(labels, chosen, strict=True)
    ]
    return list({(engine.name, _preset(engine)): engine for engine in found}.values())


def compare(
    traces: Trace | Sequence[Trace],
    engines: Sequence[str | Engine] = (),
    *,
    config: ReplayConfig | None = None,
    jobs: int = 2,
    progress: Progress | None = None,
) -> Comparison:
    """Replay traces on engines.

    The baseline `ideal:zero` is always replayed too, and has a row. Measured engines are replayed after all
    others, one at a time, so that nothing of ours disturbs the stopwatch.

    Parameters
    ----------
    traces
        What to replay; each is checked first.
    engines
        `engine`, `engine:preset`, or engines from :func:`choose_engines`; every preset of every engine
        that keeps MPI's order if there is none.
    config
        How to replay.
    jobs
        Replays at a time, each in its own thread.
    progress
        Called as `progress(done, total)` in thousandths of replays, from any thread.

    Returns
    -------
    Comparison
        The result tables.

    Raises
    ------
    MatchbenchError
        When a trace is defective, or an engine or a setting is wrong.

    Examples
    --------
    >>> trace = Trace.open("traces/halo3d.tar.xz")  # doctest: +SKIP
    >>> compare(trace, ["ideal", "linear:qsnet2"]).to_polars()  # doctest: +SKIP
    """
    config = config or ReplayConfig()
    traces = [traces] if isinstance(traces, Trace) else list(traces)
    names = [trace.name for trace in traces]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        msg = f"two traces are named `{doubled}`; rows could not be told apart"
        raise MatchbenchError(msg)
    network = Network(config.network, list(config.network_settings))
    chosen = [engine for engine in engines if isinstance(engine, Engine)]
    specs = [engine for engine in engines if isinstance(engine, str)]
    chosen += choose_engines(specs) if specs or not chosen else []
    if BASELINE not in [_label(engine) for engine in chosen]:
        chosen.insert(0, Engine(BASELINE, []))
    for trace in traces:
        trace.check()
    pairs = [(trace, engine) for trace in traces for engine in chosen]
    reports = _replay_all(pairs, network, config, jobs, progress)
    return _gather(pairs, reports, network, config)


def _replay_all(
    pairs: Sequence[tuple[Trace, Engine]],
    network: Network,
    config: ReplayConfig,
    jobs: int,
    progress: Progress | None,
) -> list[Report]:
    stopped = threading.Event()
    parts = [0] * len(pairs)

    def replay(at: int) -> Report:
        def tell(done: int, total: int) -> None:
            if stopped.is_set():
                raise _StoppedError
            parts[at] = 1000 * done // max(total, 1)
            if progress:
                progress(sum(parts), 1000 * len(parts))

        trace, engine = pairs[at]
        report = trace.native.replay(
            engine,
            network,
            cpu_scale=config.cpu_scale,
            free_wildcards=config.free_wildcards,
            collectives=list(config.collectives.items()),
            progress=tell,
        )
        tell(1, 1)
        return report

    reports: dict[int, Report] = {}
    measured = {at for at, (_, engine) in enumerate(pairs) if engine.timing == "measured"}
    for chosen, threads in ((set(range(len(pairs))) - measured, max(1, jobs)), (measured, 1)):
        with ThreadPoolExecutor(max_workers=threads) as pool:
            futures = {at: pool.submit(replay, at) for at in sorted(chosen)}
            try:
                reports.update((at, future.result()) for at, future in futures.items())
            except BaseException:
                stopped.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    return [reports[at] for at in range(len(pairs))]


def _gather(
    pairs: Sequence[tuple[Trace, Engine]],
    reports: Sequence[Report],
    network: Network,
    config: ReplayConfig,
) -> Comparison:
    order = {trace.name: at for at, (trace, _) in enumerate(pairs)}

    def rank(replay: tuple[tuple[Trace, Engine], Report]) -> tuple[int, int, float, str]:
        """Give what replays are sorted by; measured ones are not ranked and stay as they were named."""
        (trace, engine), report = replay
        kind = _TIMING_ORDER.index(engine.timing)
        if engine.timing == "measured":
            return order[trace.name], kind, 0.0, ""
        return order[trace.name], kind, report["total"]["time_ns"][0], _label(engine)

    replays = sorted(zip(pairs, reports, strict=True), key=rank)
    rows: list[dict[str, Any]] = []
    tables: dict[str, list[pl.DataFrame]] = {
        name: [] for name in ("ranks", "depths", "timeline", "measured", "parameters")
    }
    remarks: list[Remark] = []
    baseline = {
        trace.name: report["total"]["time_ns"][0]
        for (trace, engine), report in replays
        if _label(engine) == BASELINE and not report["unfinished"]["rank"]
    }
    hashes = set()
    for (trace, engine), report in replays:
        parameters: list[dict[str, Any]] = [
            {"part": part, "parameter": each["name"], "parameter_unit": each["unit"], **each}
            for part, settings in (("engine", engine.parameters()), ("network", network.parameters()))
            for each in settings
        ]
        identity = {
            "trace": trace.name,
            "engine": engine.name,
            "preset": _preset(engine),
            "timing": engine.timing,
            "parameter_hash": _parameter_hash(engine, parameters, config),
        }
        total = {name: values[0] for name, values in report["total"].items()}
        time_ns, blocked_ns = total["time_ns"], total["blocked_on_matching_ns"]
        finished = not report["unfinished"]["rank"]
        base_ns = baseline.get(trace.name)
        measured = report["measured"]
        rows.append(
            {
                **identity,
                **total,
                "trace_hash": trace.hash,
                "ranks": trace.ranks,
                "placement": engine.placement,
                "keeps_order": engine.breaks_order is None,
                "network": network.name + _plus(network.parameters()),
                "cpu_scale": config.cpu_scale,
                "wildcards": "free" if config.free_wildcards else "recorded",
                "collectives": ",".join(f"{op}={how}" for op, how in config.collectives.items()),
                "assumed_share": sum(each["source"] == "assumed" for each in parameters) / len(parameters),
                "version": _native.version(),
                "revision": _native.revision(),
                "host": measured and measured["host"],
                "repetitions": measured and measured["repetitions"],
                **{name: measured and measured["kinds"][name][0] for name in _OPERATION},
                "finished": finished,
                "slowdown": time_ns / base_ns if finished and base_ns else None,
                "blocked_share": blocked_ns / (trace.ranks * time_ns) if time_ns else None,
            }
        )
        for name in ("ranks", "depths", "timeline"):
            frame = pl.DataFrame(report[name], schema_overrides=columns.TABLES[name])
            tables[name].append(_fit(frame, name, identity))
        if measured:
            literals = {name: value for name, value in measured.items() if name != "kinds"}
            frame = pl.DataFrame(measured["kinds"])
            tables["measured"].append(_fit(frame, "measured", identity | literals))
        if identity["parameter_hash"] not in hashes:
            hashes.add(identity["parameter_hash"])
            tables["parameters"].append(_fit(pl.DataFrame(parameters), "parameters", identity))
        remarks += [
            Remark(trace=trace.name, engine=_label(engine), text=text)
            for text in [
                *_broken(engine),
                *_waiting(report),
                *disturbed(report["measured"]),
                *report["notes"],
            ]
        ]
    return Comparison(
        results=pl.DataFrame(rows, schema=columns.RESULTS),
        remarks=tuple(remarks),
        **{
            name: pl.concat([pl.DataFrame(schema=columns.TABLES[name]), *frames])
            for name, frames in tables.items()
        },
    )


def _fit(frame: pl.DataFrame, table: str, identity: Mapping[str, object]) -> pl.DataFrame:
    """Add what names the replay, and put the columns in the order of the specification."""
    schema = columns.TABLES[table]
    literals = [pl.lit(value).alias(name) for name, value in identity.items() if name in schema]
    return frame.with_columns(literals).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _broken(engine: Engine) -> list[str]:
    """Warn of a design whose outcomes are not MPI's."""
    if engine.breaks_order is None:
        return []
    return [f"breaks MPI's order, {engine.breaks_order}; no MPI library could run on it"]


def disturbed(measured: Measured | None) -> list[str]:
    """Say when the repetitions of a measurement lie too far apart for a host that does nothing else.

    Parameters
    ----------
    measured
        The measurement of a replay, or nothing for a model.
    """
    if not measured:
        return []
    low, high = (measured["kinds"][name][0] for name in ("operation_low_ns", "operation_high_ns"))
    if high <= _BUSY * low:
        return []
    return ["the quartiles of the repetitions lie far apart: something else ran on this host"]


def _waiting(report: Report) -> list[str]:
    """Say which ranks never finished, and why if they wait for each other."""
    waiting = report["unfinished"]
    lines = [
        f"rank {rank} did not finish: at record {record} it waits since {since_ns:g} ns: {waits}"
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
        "cpu_scale": config.cpu_scale,
        "free_wildcards": config.free_wildcards,
        "collectives": sorted(config.collectives.items()),
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _plus(parameters: Sequence[Parameter]) -> str:
    return "+" if any(each["source"] == "user" for each in parameters) else ""


def _preset(engine: Engine) -> str:
    return engine.preset + ("+" if engine.changed else "")


def _label(engine: Engine) -> str:
    return f"{engine.name}:{_preset(engine)}"
