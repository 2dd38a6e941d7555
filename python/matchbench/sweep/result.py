# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The result of a sweep: tables with the parameters as columns, the answer in words, and the files."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from matchbench.compare.comparison import Remark
from matchbench.display.output import whole_directory, write_file, write_parts, write_table
from matchbench.sweep import analysis
from matchbench.sweep.answer import sentences
from matchbench.sweep.hardware import cost_axis
from matchbench.sweep.rows import PARAMETERS, PART, Points
from matchbench.sweep.run import SweepRun
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
    parts
        The parts of :attr:`points`, on disk.
    parameters
        The parameters of every design that do not vary, with their sources.
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
    parts: Points
    parameters: pl.DataFrame
    axes: tuple[str, ...]
    measure: str
    cost: tuple[str, str] | None
    answer: tuple[str, ...]
    remarks: tuple[Remark, ...]
    left_out: Mapping[str, str]
    finished: bool

    @property
    def points(self) -> pl.DataFrame:
        """Return one row per variant and trace, which is read anew each time."""
        return self.parts.frame()

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
            write_table(self.parameters, partial, "parameters")
            slices = self.variants.iter_slices(PART)
            write_parts(itertools.chain([self.variants.clear()], slices), partial, "variants")
            write_parts(self.parts.parts(), partial, "points")
            what = {
                "question": self.study.question,
                "finished": self.finished,
                "answer": list(self.answer),
                "left_out": dict(self.left_out),
                "remarks": [dataclasses.asdict(remark) for remark in self.remarks],
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
    run.flush()
    variants = run.rows.variants()
    axes = tuple(run.rows.axes)
    measure = _measure(run.study, variants)
    cost = cost_axis(list(run.rows.hardware)) if variants.height else None
    variants = _marked(variants, measure, cost, axes, run.study.objectives)
    found = Sweep(
        study=run.study,
        variants=variants,
        parts=run.rows.points,
        parameters=run.rows.parameters(PARAMETERS),
        axes=axes,
        measure=measure,
        cost=cost,
        answer=(),
        remarks=tuple(run.rows.remarks),
        left_out=run.left_out,
        finished=run.finished,
    )
    return dataclasses.replace(found, answer=tuple(sentences(found)))


def _measure(study: Study, variants: pl.DataFrame) -> str:
    """Choose what curves show: the first objective, or the latency where times do not differ."""
    for objective in study.objectives:
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
    compared = [MEASURES.get(name, name) for name in objectives] or [column]
    if cost and not set(compared) - set(MEASURES.values()):
        compared.append(cost[0])
    over = analysis.cost_column(variants, cost, axes)
    used = dict.fromkeys(name for name in (column, *compared, cost and cost[0], over) if name)
    # Columns that are not used would be copied by each step.
    rows = _ranked(variants.with_row_index("_at"), column).select("_at", *used)
    known = rows.drop_nulls(compared)
    marks: dict[str, set[int]] = {"best": set(), "pareto": set(), "knee": set()}
    if len(compared) > 1:
        on_front = pl.Series(analysis.pareto(known.select(compared).rows()), dtype=pl.Boolean)
        marks["pareto"] = set(known.filter(on_front)["_at"])
    if rows.height:
        tie = [column, *([cost[0]] if cost else [])]
        marks["best"] = set(rows.sort(tie, maintain_order=True)["_at"].head(1))
    if over:
        line = analysis.envelope(rows, column, over)
        at = analysis.knee([analysis.Point(*point) for point in line.select(over, column).rows()])
        if at is not None:
            marks["knee"] = {line["_at"][at]}
    return variants.with_columns(
        pl.Series(name, [at in chosen for at in range(variants.height)], dtype=pl.Boolean)
        for name, chosen in marks.items()
    )
