# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The result of a comparison: tables in memory, and their files."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from matchbench.compare import columns
from matchbench.display.output import whole_directory, write_file, write_table
from matchbench.native_types import Progress

if TYPE_CHECKING:
    from matchbench.compare.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark about one replay, or about a trace.

    Parameters
    ----------
    trace, engine
        The replay; the engine as `engine:preset`, empty in a remark about the trace itself.
    text
        One sentence.
    """

    trace: str
    engine: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """The result tables of a comparison, each as `spec/results.md` says.

    Parameters
    ----------
    results
        One row per trace and engine preset.
    ranks
        One row per trace, engine preset and rank.
    depths
        Match latencies by search depth, which is the same on every engine for the same order of operations.
    visits
        Match latencies by entries that the engine visited.
    timeline
        Queue lengths over simulated time.
    measured
        Measured times of operations on this host.
    parameters
        Every parameter of every row, with its source.
    reference
        Every trace on the reference engine of the answer, and how it was recorded.
    reference_ranks
        The ranks of these replays.
    variations
        Replays of the worst trace on the reference engine with one thing changed.
    queues
        Queue lengths over simulated time of the ranks that wait longest for the reference engine.
    intervals
        Intervals of the results over recordings of one program; empty for other traces.
    remarks
        Remarks about traces, what they lack, and about single replays: deadlocks, omissions, divergences.
    """

    results: pl.DataFrame
    ranks: pl.DataFrame
    depths: pl.DataFrame
    visits: pl.DataFrame
    timeline: pl.DataFrame
    measured: pl.DataFrame
    parameters: pl.DataFrame
    reference: pl.DataFrame
    reference_ranks: pl.DataFrame
    variations: pl.DataFrame
    queues: pl.DataFrame
    intervals: pl.DataFrame
    remarks: tuple[Remark, ...]

    @property
    def repeat(self) -> bool:
        """Whether the traces are recordings of one program."""
        return not self.intervals.is_empty()

    @property
    def finished(self) -> bool:
        """Whether every rank of every replay finished."""
        return bool(self.results["finished"].all())

    @property
    def answer(self) -> Answer:
        """What the tables say about the programs, in five sentences, with their numbers."""
        from matchbench.compare.answer import answer

        return answer(self)

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        force: bool = False,
        charts: bool = True,
        plots: bool = False,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> None:
        """Write tables and the report to `directory`, atomically.

        Parameters
        ----------
        directory
            A directory that does not exist or is empty.
        force
            Replace earlier results there.
        charts
            Put interactive charts into the report; without, it has tables only.
        plots
            Draw the charts as PNG and SVG too, to `directory`/plots.
        jobs
            Plots drawn in parallel. Above 1 they are drawn in new processes, which import the main module of
            the program: its work must be under `if __name__ == "__main__":`.
        progress
            Called as `progress(plots drawn, plots)`.

        Raises
        ------
        MatchbenchError
            When the directory is in use.
        OSError
            When a file cannot be written.
        """
        # Imported here because it imports this module.
        from matchbench.compare.report import write_report

        with whole_directory(Path(directory), marker="results.json", force=force) as partial:
            for name in columns.TABLES:
                write_table(getattr(self, name), partial, name)
            everything = {"answer": self.answer.to_dict(), "results": self.results.to_dicts()}
            if self.repeat:
                everything["intervals"] = self.intervals.to_dicts()
            write_file(partial / "results.json", json.dumps(everything, indent=1) + "\n")
            write_report(self, partial, charts=charts, plots=plots, jobs=jobs, progress=progress)

    def __repr__(self) -> str:
        """Give the number of traces and engine presets, and of replays that did not finish."""
        traces = self.results["trace"].n_unique()
        engines = self.results.select("engine", "preset").n_unique()
        unfinished = self.results.height - self.results["finished"].sum()
        return f"Comparison({traces} traces, {engines} engine presets, {unfinished} unfinished)"

    def _repr_html_(self) -> str:
        """Show the table `results` in a notebook."""
        return self.results._repr_html_()
