# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The result of a sweep: tables with the parameters as columns, the answer in words, and the files."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from matchbench._native import Engine
from matchbench.compare.comparison import Remark
from matchbench.compare.result_tables import REFERENCE, gather, parameter_hash, preset_of
from matchbench.display.output import whole_directory, write_file, write_table
from matchbench.native_types import Report
from matchbench.sweep import analysis
from matchbench.sweep.answer import sentences
from matchbench.sweep.hardware import cost_axis
from matchbench.sweep.run import SweepRun
from matchbench.sweep.space import number_of
from matchbench.sweep.study import Study

MARKER = "sweep.json"
"""The file that marks a directory of a sweep's results."""

MEASURES = {"time": "slowdown", "latency": "match_latency_mean_ns"}
"""Column of table `variants` by objective."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sweep:
    """The tables of a sweep (`docs/sweep.md`).

    Parameters
    ----------
    study
        What was asked.
    variants
        One row per variant.
    points
        One row per variant and trace.
    parameters
        Every parameter of every variant, with its source.
    axes
        Columns of the parameters that vary.
    measure
        `time` or `latency`: what curves and knee show.
    cost
        Column and unit of the cost that variants are compared by; None if there is none.
    answer
        What it shows, a sentence each.
    remarks
        Remarks about traces and replays.
    left_out
        Why a combination was not tried, by its name.
    finished
        Whether everything was tried.
    """

    study: Study
    variants: pl.DataFrame
    points: pl.DataFrame
    parameters: pl.DataFrame
    axes: tuple[str, ...]
    measure: str
    cost: tuple[str, str] | None
    answer: tuple[str, ...]
    remarks: tuple[Remark, ...]
    left_out: Mapping[str, str]
    finished: bool

    def write(
        self, directory: Path, *, force: bool = False, charts: bool = True, plots: bool = False
    ) -> None:
        """Write tables, study and page to `directory`, atomically.

        Parameters
        ----------
        directory
            A directory that does not exist or is empty.
        force
            Replace earlier results of a sweep there.
        charts
            Put interactive charts into the page.
        plots
            Draw the charts as PNG and SVG too, to `directory`/plots.

        Raises
        ------
        MatchbenchError
            When the directory is in use.
        OSError
            When a file cannot be written.
        """
        from matchbench.sweep.report import write_report

        with whole_directory(directory, marker=MARKER, force=force) as partial:
            for name in ("variants", "points", "parameters"):
                write_table(getattr(self, name), partial, name)
            what = {
                "question": self.study.question,
                "finished": self.finished,
                "answer": list(self.answer),
                "left_out": dict(self.left_out),
                "variants": self.variants.to_dicts(),
            }
            write_file(partial / MARKER, json.dumps(what, indent=1) + "\n")
            write_file(partial / "study.toml", self.study.text(directory.absolute()))
            write_report(self, partial, charts=charts)
            if plots:
                from matchbench.sweep.plots import draw

                draw(self, partial / "plots")

    def measure_column(self) -> str:
        """Name the column that curves and knee show."""
        return MEASURES[self.measure]

    def ranked(self) -> pl.DataFrame:
        """Give the variants that are ranked, in the order in which they were tried.

        They finished on every trace, and did nothing that no engine can do.
        """
        return _ranked(self.variants, self.measure_column())


def _ranked(variants: pl.DataFrame, column: str) -> pl.DataFrame:
    known = pl.col("finished") & pl.col(column).is_not_null()
    return variants.filter(known & pl.col("implausible").is_null())


def result_of(run: SweepRun) -> Sweep:
    """Make the tables from what a run has; variants without all of their traces are left out.

    Parameters
    ----------
    run
        The run, at its end or interrupted.
    """
    axes = _axes(run)
    indexes = [index for index in run.variants if run.is_complete(index)]
    rows = {index: _row(run, index, axes) for index in indexes}
    points, parameters, remarks = _gathered(run, indexes, rows, axes)
    variants = _variants(points, list(rows.values()), axes, traces=len(run.traces))
    measure = _measure(run, variants)
    cost = cost_axis([run.costs.of(run.variants[index].engine) for index in indexes]) if indexes else None
    variants = _marked(variants, measure, cost, list(axes), run.study.objectives)
    found = Sweep(
        study=run.study,
        variants=variants,
        points=points,
        parameters=parameters,
        axes=tuple(axes),
        measure=measure,
        cost=cost,
        answer=(),
        remarks=remarks,
        left_out=run.left_out,
        finished=run.finished,
    )
    fields = {name: getattr(found, name) for name in Sweep.__dataclass_fields__}
    return Sweep(**{**fields, "answer": tuple(sentences(found))})


def _axes(run: SweepRun) -> dict[str, list[str]]:
    """Give the values of every column of a varied parameter, `engine.key`."""
    found: dict[str, list[str]] = {}
    for design in run.study.designs:
        for axis in design.axes:
            found.setdefault(_column(design.engine, axis.key), []).extend(axis.values)
    return found


@functools.cache
def _column(engine: str, key: str) -> str:
    return f"{Engine(engine).name}.{key}"


def _row(run: SweepRun, index: int, axes: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    variant = run.variants[index]
    engine, hardware = variant.engine, run.costs.of(variant.engine)
    mine = {_column(variant.design.engine, key): value for key, value in variant.values.items()}
    # A design that does not vary what another one of its engine does has the value of its preset.
    shown = {f"{engine.name}.{each['name']}": each["value"] for each in engine.parameters()}
    area = hardware.area
    return {
        "variant": variant.name,
        "design": variant.design.name,
        "engine": engine.name,
        "preset": preset_of(engine),
        "parameter_hash": parameter_hash(engine, run.network, run.study.config),
        **{column: mine.get(column, shown.get(column)) for column in axes},
        "engine_entries": hardware.engine_entries,
        "memory_entries": hardware.memory_entries,
        "area": area.value if area else None,
        "area_unit": area.unit if area else None,
        "area_kind": area.kind if area else None,
        "area_source": area.source if area else None,
    }


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
        kind = pl.Int64() if all(cast(float, number).is_integer() for number in numbers) else pl.Float64()
        frame = frame.with_columns(pl.col(column).cast(pl.Float64).cast(kind))
    return frame


def _plain(value: str) -> bool:
    """Return whether a value is a number without a unit."""
    return value.strip().replace(".", "", 1).removeprefix("-").isdigit()


def _gathered(
    run: SweepRun,
    indexes: Sequence[int],
    rows: Mapping[int, Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Remark, ...]]:
    """Make tables `points` and `parameters`, and remarks about variants."""
    replays: list[tuple[Any, Engine, Report]] = []
    reference = Engine(REFERENCE)
    reference_hash = parameter_hash(reference, run.network, run.study.config)
    names = {row["parameter_hash"]: str(row["variant"]) for row in rows.values()}
    for at, trace in enumerate(run.traces):
        if reference_hash not in names and (report := run.reference(at)) is not None:
            replays.append((trace, reference, report))
        replays += [(trace, run.variants[index].engine, run.reports[at, index]) for index in indexes]
    tables_of = gather(replays, run.network, run.study.config, names=names)
    frame = _frame(list(rows.values()), axes).with_row_index("_order")
    traces = pl.DataFrame({"trace": [trace.name for trace in run.traces]}).with_row_index("_trace")
    own = [name for name in frame.columns if name not in ("engine", "preset")]
    points = (
        tables_of.results.join(frame.select(own), on="parameter_hash")
        .join(traces, on="trace")
        .sort("_order", "_trace")
        .drop("_order", "_trace")
    )
    first = ["trace", "variant", "design", *axes]
    points = points.select(*first, pl.exclude(first))
    parameters = tables_of.parameters.join(
        frame.select("parameter_hash", "variant"), on="parameter_hash", maintain_order="left"
    )
    remarks = tuple(remark for remark in tables_of.remarks if remark.engine != REFERENCE)
    return points, parameters.select("variant", pl.exclude("variant")), remarks


def _variants(
    points: pl.DataFrame, rows: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[str]], *, traces: int
) -> pl.DataFrame:
    """Make table `variants`: geometric means over the traces."""
    frame = _frame(rows, axes)
    found = []
    by_hash = points.partition_by("parameter_hash", as_dict=True)
    for row in rows:
        mine = by_hash[row["parameter_hash"],]
        found.append(
            {
                "traces": mine.height,
                "finished": mine.height == traces and bool(mine["finished"].all()),
                "slowdown": _mean(mine["slowdown"]),
                "slowdown_max": mine["slowdown"].max() if mine["slowdown"].null_count() == 0 else None,
                "match_latency_mean_ns": _mean(mine["match_latency_mean_ns"].drop_nulls()),
                "implausible": next(iter(mine["implausible"].drop_nulls()), None),
            }
        )
    schema = {
        "traces": pl.Int64(),
        "finished": pl.Boolean(),
        "slowdown": pl.Float64(),
        "slowdown_max": pl.Float64(),
        "match_latency_mean_ns": pl.Float64(),
        "implausible": pl.String(),
    }
    return pl.concat([frame, pl.DataFrame(found, schema=schema)], how="horizontal")


def _mean(values: pl.Series) -> float | None:
    if values.is_empty() or values.null_count():
        return None
    return analysis.geometric_mean(values.to_list())


def _measure(run: SweepRun, variants: pl.DataFrame) -> str:
    """Choose what curves show: the first objective, or the latency where times do not differ."""
    for objective in run.study.objectives:
        if objective in MEASURES:
            return objective
    times = _ranked(variants, "slowdown")["slowdown"].drop_nulls()
    least, most = times.min(), times.max()
    if isinstance(least, float) and isinstance(most, float) and most - least < analysis.GAIN_LEAST * least:
        return "latency"
    return "time"


def _marked(
    variants: pl.DataFrame,
    measure: str,
    cost: tuple[str, str] | None,
    axes: Sequence[str],
    objectives: Sequence[str],
) -> pl.DataFrame:
    """Add the columns `best`, `pareto` and `knee`."""
    column = MEASURES[measure]
    rows = _ranked(variants.with_row_index("_at"), column)
    compared = [MEASURES.get(name, name) for name in objectives] or [column]
    if cost and not set(compared) - set(MEASURES.values()):
        compared.append(cost[0])
    known = rows.drop_nulls(compared)
    marks: dict[str, set[int]] = {"best": set(), "pareto": set(), "knee": set()}
    if len(compared) > 1:
        on_front = pl.Series(analysis.pareto(known.select(compared).rows()), dtype=pl.Boolean)
        marks["pareto"] = set(known.filter(on_front)["_at"])
    if rows.height:
        tie = [column, *([cost[0]] if cost else [])]
        marks["best"] = set(rows.sort(tie, maintain_order=True)["_at"].head(1))
    if over := analysis.cost_column(variants, cost, axes):
        line = analysis.envelope(rows, column, over)
        at = analysis.knee([analysis.Point(*point) for point in line.select(over, column).rows()])
        if at is not None:
            marks["knee"] = {line["_at"][at]}
    return variants.with_columns(
        pl.Series(name, [at in chosen for at in range(variants.height)], dtype=pl.Boolean)
        for name, chosen in marks.items()
    )
