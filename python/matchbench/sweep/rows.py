# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The rows of a sweep's tables, made while results come, so that the results need not be kept.

Variants become rows in the order in which they were tried, in parts. The parts of the table of points,
which is the largest, wait in files of a temporary directory.
"""

from __future__ import annotations

import functools
import io
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from matchbench._native import Engine, Network
from matchbench.compare.columns import TABLES
from matchbench.compare.comparison import Remark
from matchbench.compare.replay_config import ReplayConfig
from matchbench.compare.result_tables import REFERENCE, gather, parameter_hash, preset_of
from matchbench.display.output import write_file
from matchbench.display.partial import Scratch
from matchbench.native_types import Report
from matchbench.sweep import analysis
from matchbench.sweep.hardware import Costs, Hardware
from matchbench.sweep.space import Variant, number_of
from matchbench.trace.trace import Trace

if TYPE_CHECKING:
    from matchbench.sweep.study import Study

PART = 1000
"""Variants in a part."""

RESULTS = TABLES["results"]


class Points:
    """The table of points, in parts on disk; one row per variant and trace.

    Parameters
    ----------
    empty
        The table without rows.
    """

    def __init__(self, empty: pl.DataFrame) -> None:
        self._empty = empty
        self._scratch = Scratch()
        self._paths: list[Path] = []
        weakref.finalize(self, self._scratch.cleanup)

    def add(self, part: pl.DataFrame) -> None:
        """Keep the next rows."""
        path = Path(self._scratch.name) / f"{len(self._paths)}.parquet"
        content = io.BytesIO()
        part.write_parquet(content, compression="lz4")
        write_file(path, content.getvalue())
        self._paths.append(path)

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows, part by part; the first one is empty."""
        names = list(columns or self._empty.columns)
        yield self._empty.select(names)
        for path in self._paths:
            yield pl.read_parquet(path, columns=names)

    def frame(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return all rows, of all columns or some."""
        return pl.concat(self.parts(columns))


class Rows:
    """What a sweep has so far.

    Parameters
    ----------
    study
        The study.
    traces, network, costs
        As the sweep uses them.
    """

    def __init__(self, study: Study, traces: Sequence[Trace], network: Network, costs: Costs) -> None:
        self.axes = _axes(study)
        """The values of every column of a varied parameter, `engine.key`."""
        self.points = Points(_points(pl.DataFrame(schema=RESULTS), [], self.axes, traces))
        self.remarks: dict[Remark, None] = {}
        self.hardware: dict[Hardware, None] = {}
        """What the variants cost, each cost once."""
        self._traces, self._network, self._costs = traces, network, costs
        self._config: ReplayConfig = study.config
        self._variants: list[pl.DataFrame] = []
        self._parameters: dict[str, pl.DataFrame] = {}

    @property
    def count(self) -> int:
        """Variants that have rows."""
        return sum(part.height for part in self._variants)

    def add(
        self,
        variants: Sequence[Variant],
        reports: Mapping[tuple[int, int], Report],
        references: Sequence[Report | None],
    ) -> None:
        """Make the rows of variants.

        Parameters
        ----------
        variants
            The next ones, all with results on all traces.
        reports
            By number of the trace and position in `variants`.
        references
            Results of the reference, by number of the trace.
        """
        if not variants:
            return
        rows = [self._row(variant) for variant in variants]
        reference = Engine(REFERENCE)
        reference_hash = parameter_hash(reference, self._network, self._config)
        names = {row["parameter_hash"]: str(row["variant"]) for row in rows}
        replays: list[tuple[Any, Engine, Report]] = []
        for at, trace in enumerate(self._traces):
            if reference_hash not in names and (report := references[at]) is not None:
                replays.append((trace, reference, report))
            replays += [
                (trace, variant.engine, reports[at, number]) for number, variant in enumerate(variants)
            ]
        found = gather(replays, self._network, self._config, names=names, parameters=False)
        points = _points(found.results, rows, self.axes, self._traces)
        self.points.add(points)
        self._variants.append(_means(points, rows, self.axes, traces=len(self._traces)))
        order = {row["variant"]: number for number, row in enumerate(rows)}
        own = sorted(found.remarks, key=lambda each: order.get(each.engine, -1))
        self.remarks.update(dict.fromkeys(each for each in own if each.engine != REFERENCE))

    def variants(self) -> pl.DataFrame:
        """Return table `variants`: geometric means over the traces."""
        return pl.concat([_means(None, [], self.axes, traces=0), *self._variants])

    def parameters(self, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Return table `parameters`: those of every design that do not vary, with their sources."""
        return pl.concat([pl.DataFrame(schema=schema), *self._parameters.values()])

    def _row(self, variant: Variant) -> dict[str, Any]:
        engine, hardware = variant.engine, self._costs.of(variant.engine)
        self.hardware.setdefault(hardware)
        mine = {_column(variant.design.engine, key): value for key, value in variant.values.items()}
        # A design that does not vary what another one of its engine does has the value of its preset.
        shown = {f"{engine.name}.{each['name']}": each["value"] for each in engine.parameters()}
        if variant.design.name not in self._parameters:
            self._parameters[variant.design.name] = self._parameters_of(variant)
        area = hardware.area
        return {
            "variant": variant.name,
            "design": variant.design.name,
            "engine": engine.name,
            "preset": preset_of(engine),
            "parameter_hash": parameter_hash(engine, self._network, self._config),
            **{column: mine.get(column, shown.get(column)) for column in self.axes},
            "engine_entries": hardware.engine_entries,
            "memory_entries": hardware.memory_entries,
            "area": area.value if area else None,
            "area_unit": area.unit if area else None,
            "area_kind": area.kind if area else None,
            "area_source": area.source if area else None,
        }

    def _parameters_of(self, variant: Variant) -> pl.DataFrame:
        varied = {axis.key for axis in variant.design.axes}
        rows = [
            {
                "design": variant.design.name,
                "engine": variant.engine.name,
                "preset": variant.engine.preset,
                "part": part,
                "parameter": each["name"],
                "value": each["value"],
                "unit": each["unit"],
                "source": each["source"],
                "detail": each["detail"],
            }
            for part, parameters in (
                ("engine", variant.engine.parameters()),
                ("network", self._network.parameters()),
            )
            for each in parameters
            if part == "network" or each["name"] not in varied
        ]
        return pl.DataFrame(rows, schema=PARAMETERS)


PARAMETERS: dict[str, pl.DataType] = dict.fromkeys(
    ("design", "engine", "preset", "part", "parameter", "value", "unit", "source", "detail"), pl.String()
)
"""Columns of table `parameters`."""


def _points(
    results: pl.DataFrame,
    rows: Sequence[Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
    traces: Sequence[Trace],
) -> pl.DataFrame:
    """Add what distinguishes the variants to rows of results, and sort them by variant and trace."""
    frame = _frame(rows, axes).with_row_index("_order")
    numbers = pl.DataFrame({"trace": [trace.name for trace in traces]}).with_row_index("_trace")
    own = [name for name in frame.columns if name not in ("engine", "preset")]
    points = (
        results.join(frame.select(own), on="parameter_hash")
        .join(numbers, on="trace")
        .sort("_order", "_trace")
        .drop("_order", "_trace")
    )
    first = ["trace", "variant", "design", *axes]
    return points.select(*first, pl.exclude(first))


def _axes(study: Study) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for design in study.designs:
        for axis in design.axes:
            found.setdefault(_column(design.engine, axis.key), []).extend(axis.values)
    return found


@functools.cache
def _column(engine: str, key: str) -> str:
    return f"{Engine(engine).name}.{key}"


_ROW = {
    "variant": pl.String(),
    "design": pl.String(),
    "engine": pl.String(),
    "preset": pl.String(),
    "parameter_hash": pl.String(),
    "engine_entries": pl.Int64(),
    "memory_entries": pl.Int64(),
    "area": pl.Float64(),
    "area_unit": pl.String(),
    "area_kind": pl.String(),
    "area_source": pl.String(),
}


def _frame(rows: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    order = ["variant", "design", "engine", "preset", "parameter_hash", *axes]
    schema = {
        name: _ROW.get(name, pl.String()) for name in [*order, *(name for name in _ROW if name not in order)]
    }
    frame = pl.DataFrame([dict(row) for row in rows], schema=schema)
    for column, values in axes.items():
        numbers = [number_of(value) for value in values]
        if None in numbers or any(not _plain(value) for value in values):
            continue
        kind = pl.Int64() if all(cast("float", number).is_integer() for number in numbers) else pl.Float64()
        frame = frame.with_columns(pl.col(column).cast(pl.Float64).cast(kind))
    return frame


def _plain(value: str) -> bool:
    """Return whether a value is a number without a unit."""
    return value.strip().replace(".", "", 1).removeprefix("-").isdigit()


_MEANS = {
    "traces": pl.Int64(),
    "finished": pl.Boolean(),
    "slowdown": pl.Float64(),
    "slowdown_max": pl.Float64(),
    "match_latency_mean_ns": pl.Float64(),
    "implausible": pl.String(),
}


def _means(
    points: pl.DataFrame | None,
    rows: Sequence[Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
    *,
    traces: int,
) -> pl.DataFrame:
    """Add geometric means over the traces; `points` has the rows of each variant together."""
    frame = _frame(rows, axes)
    by_hash: dict[str, list[tuple[Any, ...]]] = {}
    columns = ("parameter_hash", "finished", "slowdown", "match_latency_mean_ns", "implausible")
    for key, *values in points.select(columns).iter_rows() if points is not None else ():
        by_hash.setdefault(key, []).append(tuple(values))
    found = []
    for row in rows:
        finished, slowdowns, latencies, implausible = zip(*by_hash[row["parameter_hash"]], strict=True)
        known = None not in slowdowns
        found.append(
            {
                "traces": len(finished),
                "finished": len(finished) == traces and all(finished),
                "slowdown": analysis.geometric_mean(slowdowns) if known else None,
                "slowdown_max": max(slowdowns) if known else None,
                "match_latency_mean_ns": _mean([value for value in latencies if value is not None]),
                "implausible": next((why for why in implausible if why is not None), None),
            }
        )
    return pl.concat([frame, pl.DataFrame(found, schema=_MEANS)], how="horizontal")


def _mean(values: Sequence[float]) -> float | None:
    return analysis.geometric_mean(values) if values else None
