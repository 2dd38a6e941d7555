# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Replays traces on engines, several at a time, and returns the result tables."""

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from matchbench import interruptible
from matchbench._native import Engine, Network
from matchbench.arguments import CALLBACK, FLAG, WHOLE, checked
from matchbench.compare import coverage, intervals, reference
from matchbench.compare.comparison import Comparison, Remark
from matchbench.compare.replay_config import CONFIG, ReplayConfig
from matchbench.compare.result_tables import REFERENCE, gather, label_of
from matchbench.engines import own_engines
from matchbench.engines.selection import ENGINES, EngineName, engines_of, refuse_doubles
from matchbench.native_types import Progress, Report
from matchbench.trace.trace import TRACES, Trace, Traces, opened


@checked(traces=TRACES, engines=ENGINES, config=CONFIG, repeat=FLAG, jobs=WHOLE, progress=CALLBACK)
def compare(
    traces: Traces,
    engines: EngineName | Sequence[EngineName] = (),
    *,
    config: ReplayConfig | None = None,
    repeat: bool = False,
    jobs: int = 2,
    progress: Progress | None = None,
) -> Comparison:
    """Replay traces on engines.

    `ideal:zero`, the reference of every slowdown, is always replayed too and has a row. Measured engines are
    replayed after all others and one at a time, so that no other replay disturbs the measurement.
    The answer needs further replays, without rows in `results`: see :mod:`matchbench.reference`.

    Parameters
    ----------
    traces
        What to replay: a trace or a path, or several; each is checked first.
    engines
        One or several: `engine`, `engine:preset`, a path or class as in :func:`engine`, or what
        :func:`engine` and :func:`choose_engines` return; those of :func:`choose_engines` without arguments
        if there is none.
    config
        How to replay.
    repeat
        Whether the traces are recordings of one program: results are then intervals over them.
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
        When a trace is defective, or an engine or a parameter is wrong, or a user-defined engine does not
        keep MPI's order, or recordings cannot be of one program.
    TypeError
        When an argument is of another type.

    Examples
    --------
    >>> compare("traces/halo3d.tar.xz", ["ideal", "linear:qsnet2"]).results  # doctest: +SKIP
    """
    chosen = engines_of(engines)
    with ExitStack() as stack:
        return _compare(opened(traces, stack), chosen, config or ReplayConfig(), repeat, jobs, progress)


def _compare(
    traces: list[Trace],
    chosen: list[Engine],
    config: ReplayConfig,
    repeat: bool,
    jobs: int,
    progress: Progress | None,
) -> Comparison:
    if repeat:
        intervals.check(traces)
    network = Network(config.network, **config.network_parameters)
    if REFERENCE not in [label_of(engine) for engine in chosen]:
        chosen.insert(0, Engine(REFERENCE))
    for trace in traces:
        trace.check()
    refuse_doubles(chosen)
    for each in chosen:
        own_engines.check(each)
    pairs = [(trace, engine) for trace in traces for engine in chosen]
    reports = _replay_all(pairs, network, config, jobs, progress)
    replays = [(trace, engine, report) for (trace, engine), report in zip(pairs, reports, strict=True)]
    found = gather(replays, network, config)
    rows = reference.replays(traces, chosen, network, config, found.results, jobs=jobs, repeat=repeat)
    found = dataclasses.replace(found, **rows)
    remarks = [
        Remark(trace=row["trace"], engine="", text=text)
        for row in found.reference.iter_rows(named=True)
        for text in coverage.remarks(row)
    ]
    if repeat:
        found = dataclasses.replace(found, intervals=intervals.table(found.results, found.reference))
    return dataclasses.replace(found, remarks=(*found.remarks, *remarks))


def _replay_all(
    pairs: Sequence[tuple[Trace, Engine]],
    network: Network,
    config: ReplayConfig,
    jobs: int,
    progress: Progress | None,
) -> list[Report]:
    """Replay in threads: first the models, `jobs` at a time, then the measured engines, one at a time."""
    parts = [0] * len(pairs)

    def replay(at: int, tell: Progress) -> Report:
        trace, engine = pairs[at]
        report = own_engines.replay(
            trace,
            engine,
            network,
            rules=config.rules(),
            depths=True,
            progress=tell,
        )
        tell(1, 1)
        return report

    def told(at: int, done: int, total: int) -> None:
        parts[at] = 1000 * done // max(total, 1)
        if progress:
            progress(sum(parts), 1000 * len(parts))

    reports: dict[int, Report] = {}
    measured = {at for at, (_, engine) in enumerate(pairs) if engine.timing == "measured"}
    for chosen, count in ((set(range(len(pairs))) - measured, max(1, jobs)), (measured, 1)):
        with interruptible.Threads(count) as threads:
            futures = {at: threads.submit(partial(replay, at), partial(told, at)) for at in sorted(chosen)}
            reports.update((at, interruptible.result(future)) for at, future in futures.items())
    return [reports[at] for at in range(len(pairs))]
