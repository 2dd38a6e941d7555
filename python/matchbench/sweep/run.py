# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs a sweep: asks the search for variants, takes results from the cache, and has the others replayed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matchbench._native import Engine, MatchbenchError, Network
from matchbench.compare.result_tables import REFERENCE, parameter_hash
from matchbench.engines import own_engines
from matchbench.native_types import Report
from matchbench.sweep.analysis import geometric_mean
from matchbench.sweep.cache import Cache, key_of
from matchbench.sweep.hardware import Costs, Hardware
from matchbench.sweep.rows import PART, Rows
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
    """A sweep at work; `rows` has the rows of what it has so far.

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
        self.left_out: dict[str, str] = {}
        """Why a combination was not tried, by its name."""
        self.rows = Rows(study, traces, self.network, costs)
        """The rows of the tables, of what :meth:`flush` has been called for."""
        self.status = Status()
        self.finished = False
        """Whether everything was tried."""
        self.limited = False
        """Whether the time limit ended it."""
        # Variants without rows, in the order in which they were tried, and their results by trace.
        self._tried: dict[int, Variant] = {}
        self._reports: dict[tuple[int, int], Report] = {}
        self._found: dict[int, list[float] | None] = {}
        self._by_hash: dict[str, int] = {}
        self._keys: dict[int, tuple[tuple[int, int], str]] = {}
        self._count = 0
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
        reference = Engine(REFERENCE)
        self._replay(self._tasks_of(_REFERENCE, REFERENCE, reference, may_end=False))
        while (indexes := self._search.ask()) and not self.limited:
            self._replay(task for index in indexes for task in self._tasks(index))
            for index in indexes:
                self._search.tell(index, self._found.pop(index, None))
        self.finished = not self.limited
        self._cache.prune()

    def flush(self) -> None:
        """Make rows of all variants with results on all traces, in the order in which they were tried."""
        self._make_rows([index for index in self._tried if self._is_complete(index)])

    def _is_complete(self, index: int) -> bool:
        return all((at, index) in self._reports for at in range(len(self.traces)))

    def _make_rows(self, indexes: Sequence[int]) -> None:
        reports = {
            (at, number): self._reports.pop((at, index))
            for number, index in enumerate(indexes)
            for at in range(len(self.traces))
        }
        references = [self._reports.get((at, _REFERENCE)) for at in range(len(self.traces))]
        self.rows.add([self._tried.pop(index) for index in indexes], reports, references)

    def _tasks(self, index: int) -> Iterator[Task]:
        """Yield the replays of a combination that are in no cache."""
        if self.limited:
            return
        try:
            variant = self._space.variant(index)
        except MatchbenchError as error:
            self._leave_out(index, str(error))
            return
        digest = parameter_hash(variant.engine, self.network, self.study.config)
        if (first := self._by_hash.setdefault(digest, index)) != index:
            self._leave_out(index, f"has the parameters of `{self._space.name(first)}`")
            return
        own_engines.check(variant.engine)
        self._tried[index] = variant
        yield from self._tasks_of(index, variant.name, variant.engine)

    def _leave_out(self, index: int, why: str) -> None:
        self.left_out[self._space.name(index)] = why
        self.status.total -= len(self.traces)

    def _tasks_of(self, index: int, name: str, engine: Engine, *, may_end: bool = True) -> Iterator[Task]:
        limit = self.study.budget_s
        for at, trace in enumerate(self.traces):
            if limit is not None and may_end and time.monotonic() - self._begun > limit:
                self.limited = True
                return
            key = key_of(trace.hash, engine, self.network, self.study.config)
            if (report := self._cache.get(key)) is not None:
                self.status.cached += 1
                self._keep((at, index), report)
                continue
            self._count += 1
            self._keys[self._count] = (at, index), key
            yield self._task(self._count, at, index, f"{trace.name} on {name}")

    def _replay(self, tasks: Iterator[Task]) -> None:
        for task, report in self._workers.run(tasks):
            place, key = self._keys.pop(task.at)
            self._cache.put(key, report)
            self.status.last_s = time.monotonic()
            if self.status.first_s is None:
                self.status.first_s = self.status.last_s
            self._keep(place, report)

    def _task(self, number: int, at: int, index: int, name: str) -> Task:
        trace = self.traces[at]
        variant = self._tried.get(index)
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
        self._reports[place] = report
        self.status.done += 1
        self.status.damaged = self._cache.damaged
        if self._progress:
            self._progress(self.status)
        _, index = place
        if index != _REFERENCE and self._is_complete(index):
            self._found[index] = self._objectives(index) if self.study.method == "optimizer" else None
            first = list(itertools.islice(self._tried, PART)) if len(self._reports) > PART else []
            if len(first) == PART and all(map(self._is_complete, first)):
                self._make_rows(first)

    def _objectives(self, index: int) -> list[float] | None:
        """Give the objectives of a variant; None if a replay did not finish, or one of them is unknown."""
        cost = self.costs.of(self._tried[index].engine)
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
            report, reference = self._reports[at, index], self._reports[at, _REFERENCE]
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
