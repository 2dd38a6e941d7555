# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The result of a comparison: its tables, and the directory that they are written to."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from matchbench import columns
from matchbench.native_types import Progress
from matchbench.output import whole_directory


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
