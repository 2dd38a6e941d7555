# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs a sweep: asks the search for variants, takes results from the cache, and has the others replayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matchbench._native import Engine, MatchbenchError, Network
from matchbench.compare.result_tables import REFERENCE, parameter_hash
from matchbench.engines import own_engines
from matchbench.native_types import Report
from matchbench.sweep.analysis import geometric_mean
from matchbench.sweep.cache import Cache, key_of
from matchbench.sweep.hardware import Costs, Hardware
from matchbench.sweep.search import search
from matchbench.sweep.space import Space, Variant
from matchbench.sweep.study import Study
from matchbench.sweep.workers import Task, Workers
from matchbench.trace.trace import Trace

_REFERENCE = -1  # the index of the reference of slowdowns


@dataclass(slots=True, kw_only=True)
class Status:
    """How far a sweep is.

    Parameters
    ----------
    done
        Replays that have a result.
    total
        Replays of the whole sweep, at most.
    cached
        Results that were in the cache.
    damaged
        Files of the cache that were damaged, whose replays were done again.
    first_s, last_s
        When the first and the last replay ended that was not in the cache, in seconds of a monotonic clock.
    """

    done: int = 0
    total: int = 0
    cached: int = 0
    damaged: int = 0
    first_s: float | None = None
    last_s: float = 0.0

    @property
    def rate(self) -> float | None:
        """Replays per second since the first one, without those from the cache; None before the second."""
        if self.first_s is None or self.last_s <= self.first_s:
            return None
        return (self.done - self.cached - 1) / (self.last_s - self.first_s)

    @property
    def left_s(self) -> float | None:
        """Seconds that remain at this rate, if no further result is in the cache."""
        return (self.total - self.done) / self.rate if self.rate else None


class SweepRun:
    """A sweep at work; `variants` and `reports` hold what it has so far.

    Parameters
    ----------
    study
        What it does.
    traces
        Its traces, open.
    workers
        What replays.
    cache
        Where results are kept.
    costs
        What variants cost.
    shared_paths
        Whether workers open the paths that the user gave, as those on other hosts do, and check the hashes.
    progress
        Called after each replay.

    Raises
    ------
    MatchbenchError
        When a design is wrong, the grid is larger than the study permits, or an objective does not exist
        for a design.
    """

    def __init__(
        self,
        study: Study,
        traces: Sequence[Trace],
        *,
        workers: Workers,
        cache: Cache,
        costs: Costs,
        shared_paths: bool = False,
        progress: Callable[[Status], None] | None = None,
    ) -> None:
        self.study = study
        self.traces = list(traces)
        self.network = Network(study.config.network, **study.config.network_parameters)
        self.costs = costs
        self.variants: dict[int, Variant] = {}
        """Variants that were tried, by index."""
        self.left_out: dict[str, str] = {}
        """Why a combination was not tried, by its name."""
        self.reports: dict[tuple[int, int], Report] = {}
        """Results by number of the trace and index of the variant."""
        self.status = Status()
        self.finished = False
        """Whether everything was tried."""
        self.limited = False
        """Whether the time limit ended it."""
        self._workers, self._cache, self._shared_paths, self._progress = (
            workers,
            cache,
            shared_paths,
            progress,
        )
        names = [trace.name for trace in traces]
        if doubled := next((name for name in names if names.count(name) > 1), None):
            msg = f"traces: two are named `{doubled}`; expected different names; rename or copy one"
            raise MatchbenchError(msg)
        self._space = Space(study.designs)
        for design in study.designs:
            engine = Engine(design.engine)
            if engine.timing == "measured":
                msg = f"design `{design.name}`: engine `{engine.name}` measures this host, expected a model"
                raise MatchbenchError(msg)
            for objective in ("engine_entries", "memory_entries"):
                if objective in study.objectives and getattr(costs.of(engine), objective) is None:
                    msg = f"objectives: engine `{engine.name}` has no `{objective}`; choose other objectives"
                    raise MatchbenchError(msg)
        self.objectives = study.objectives or ("time",)
        self._search = search(
            self._space,
            study.method,
            objectives=len(self.objectives),
            variants=study.variants,
            seed=study.seed,
        )

    def work(self) -> None:
        """Try variants until the search ends or the time limit is reached.

        Raises
        ------
        MatchbenchError
            When a trace is defective or a replay is refused.
        """
        self._begun = time.monotonic()
        for trace in self.traces:
            trace.check()
        most = min(self._space.size, self.study.variants)
        self.status.total = (most + 1) * len(self.traces)
        self._evaluate({_REFERENCE: Engine(REFERENCE)}, {_REFERENCE: REFERENCE})
        by_hash: dict[str, int] = {}
        while (indexes := self._search.ask()) and not self.limited:
            self._try(indexes, by_hash)
        self.finished = not self.limited
        self._cache.prune()

    def reference(self, trace: int) -> Report | None:
        """Return the result of `ideal:zero` on a trace, if there is one."""
        return self.reports.get((trace, _REFERENCE))

    def is_complete(self, index: int) -> bool:
        """Return whether a variant has results on all traces."""
        return all((at, index) in self.reports for at in range(len(self.traces)))

    def _try(self, indexes: Sequence[int], by_hash: dict[str, int]) -> None:
        new: dict[int, Variant] = {}
        for index in indexes:
            try:
                variant = self._space.variant(index)
            except MatchbenchError as error:
                self._leave_out(index, str(error))
                continue
            digest = parameter_hash(variant.engine, self.network, self.study.config)
            if (first := by_hash.setdefault(digest, index)) != index:
                self._leave_out(index, f"has the parameters of `{self._space.name(first)}`")
                continue
            new[index] = variant
            own_engines.check(variant.engine)
        self.variants.update(new)
        self._evaluate(
            {index: variant.engine for index, variant in new.items()},
            {index: variant.name for index, variant in new.items()},
        )
        for index in indexes:
            self._search.tell(index, self._objectives(index) if index in new else None)

    def _leave_out(self, index: int, why: str) -> None:
        self.left_out[self._space.name(index)] = why
        self.status.total -= len(self.traces)

    def _evaluate(self, engines: Mapping[int, Engine], names: Mapping[int, str]) -> None:
        keys: dict[int, tuple[tuple[int, int], str]] = {}

        def tasks() -> Iterator[Task]:
            for index, engine in engines.items():
                for at, trace in enumerate(self.traces):
                    limit = self.study.budget_s
                    if limit is not None and index != _REFERENCE and time.monotonic() - self._begun > limit:
                        self.limited = True
                        return
                    key = key_of(trace.hash, engine, self.network, self.study.config)
                    if (report := self._cache.get(key)) is not None:
                        self.status.cached += 1
                        self._keep((at, index), report)
                        continue
                    task = self._task(len(keys), at, index, f"{trace.name} on {names[index]}")
                    keys[task.at] = (at, index), key
                    yield task

        for task, report in self._workers.run(tasks()):
            place, key = keys[task.at]
            self._cache.put(key, report)
            self.status.last_s = time.monotonic()
            if self.status.first_s is None:
                self.status.first_s = self.status.last_s
            self._keep(place, report)

    def _task(self, number: int, at: int, index: int, name: str) -> Task:
        trace = self.traces[at]
        variant = self.variants.get(index)
        design = variant.design if variant else None
        parameters = {**design.settings, **variant.values} if design and variant else {}
        if variant and variant.engine.origin and variant.engine.origin["kind"] == "program":
            parameters["program"] = str(Path(str(parameters["program"])).absolute())
        return Task(
            at=number,
            name=name,
            trace=trace.path.absolute() if self._shared_paths else trace.directory.absolute(),
            trace_hash=trace.hash if self._shared_paths else "",
            engine=design.engine if design else REFERENCE,
            engine_sha256=_sha256(variant.engine) if variant else "",
            parameters=parameters,
            config=self.study.config,
        )

    def _keep(self, place: tuple[int, int], report: Report) -> None:
        self.reports[place] = report
        self.status.done += 1
        self.status.damaged = self._cache.damaged
        if self._progress:
            self._progress(self.status)

    def _objectives(self, index: int) -> list[float] | None:
        """Give the objectives of a variant; None if a replay did not finish, or one of them is unknown."""
        if not self.is_complete(index):
            return None
        cost = self.costs.of(self.variants[index].engine)
        found = [self._objective(name, index, cost) for name in self.objectives]
        return None if None in found else [value for value in found if value is not None]

    def _objective(self, name: str, index: int, cost: Hardware) -> float | None:
        if name == "area":
            return cost.area.value if cost.area else None
        if name in ("engine_entries", "memory_entries"):
            number: int | None = getattr(cost, name)
            return number
        values = []
        for at in range(len(self.traces)):
            report, reference = self.reports[at, index], self.reports[at, _REFERENCE]
            if report["unfinished"]["rank"] or reference["unfinished"]["rank"]:
                return None
            if name == "latency":
                values.append(report["total"]["match_latency_mean_ns"][0])
            elif reference_ns := reference["total"]["time_ns"][0]:
                values.append(report["total"]["time_ns"][0] / reference_ns)
        known = [value for value in values if value is not None]
        return geometric_mean(known) if known else None


def _sha256(engine: Engine) -> str:
    return engine.origin["sha256"] if engine.origin else ""
