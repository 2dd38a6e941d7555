# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Claims of the papers against what the models give; `crates/reproduce` measures and judges."""

import json
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from matchbench import _native
from matchbench._native import Engine, MatchbenchError
from matchbench.output import whole_directory

VERDICTS = ("holds", "near", "differs", "not testable")
"""How a claim can fare, the best first."""

CLAIMS = pl.Schema(
    {
        "id": pl.String(),
        "seed": pl.String(),
        "place": pl.String(),
        "systems": pl.String(),
        "statement": pl.String(),
        "quantity": pl.String(),
        "conditions": pl.String(),
        "kind": pl.String(),
        "origin": pl.String(),
        "precision": pl.String(),
        "theirs": pl.String(),
        "ours": pl.String(),
        "unit": pl.String(),
        "relative_error": pl.Float64(),
        "verdict": pl.String(),
        "reason": pl.String(),
        "unexplained": pl.Boolean(),
        "holds_otherwise": pl.Boolean(),
        "holds_calibrated": pl.Boolean(),
    }
)

READINGS = pl.Schema(
    {
        "id": pl.String(),
        "reading": pl.String(),
        "counts": pl.Boolean(),
        "calibrated": pl.Boolean(),
        "ours": pl.String(),
        "ours_value": pl.Float64(),
        "relative_error": pl.Float64(),
        "verdict": pl.String(),
    }
)

POINTS = pl.Schema(
    {
        "length": pl.Int64(),
        "percent": pl.Int64(),
        "traversed": pl.Int64(),
        "unit_stream_cycles": pl.Int64(),
        "unit_alone_cycles": pl.Int64(),
        "unit_counted_cycles": pl.Int64(),
        "bound_stated_cycles": pl.Int64(),
        "bound_reported_cycles": pl.Int64(),
        "unit_words": pl.Int64(),
        "unit_stalls": pl.Int64(),
        "clock_mhz": pl.Float64(),
    }
)

PARAMETERS = pl.Schema(
    {
        "engine": pl.String(),
        "parameter": pl.String(),
        "value": pl.String(),
        "unit": pl.String(),
        "source": pl.String(),
        "detail": pl.String(),
    }
)

TABLES = {"claims": CLAIMS, "readings": READINGS, "points": POINTS, "parameters": PARAMETERS}
"""Every table by its name, which is also that of its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """Claims of one paper and what became of them, each table as `docs/reproduce.md` says.

    Parameters
    ----------
    claims
        One row per claim.
    readings
        One row per reading of those; a claim of a paper that contradicts itself has several.
    points
        The benchmark behind the figures.
    parameters
        Every parameter of the models in use, with its source.
    """

    claims: pl.DataFrame
    readings: pl.DataFrame
    points: pl.DataFrame
    parameters: pl.DataFrame

    @property
    def explained(self) -> bool:
        """Whether every claim that differs says why."""
        return not self.claims["unexplained"].any()

    def count(self, verdict: str) -> int:
        """Count the claims with this verdict."""
        return self.claims.filter(verdict=verdict).height

    def only(
        self, *, systems: tuple[str, ...] = (), ids: tuple[str, ...] = (), verdicts: tuple[str, ...] = ()
    ) -> "Reproduction":
        """Keep the claims that are about one of `systems`, match one of `ids` and have one of `verdicts`.

        Parameters
        ----------
        systems
            Names of systems; all if there is none.
        ids
            Patterns of ids with `*` and `?`; all if there is none.
        verdicts
            Verdicts; all if there is none.

        Raises
        ------
        MatchbenchError
            When no claim is about one of `systems`, or none matches one of `ids`.
        """
        about = {row["id"]: set(row["systems"].split(", ")) for row in self.claims.iter_rows(named=True)}
        known = sorted(set().union(*about.values()))
        if unknown := next((system for system in systems if system not in known), None):
            msg = f"no claim is about system `{unknown}`; expected one of: {', '.join(known)}"
            raise MatchbenchError(msg)
        if unmatched := next((glob for glob in ids if not any(fnmatchcase(i, glob) for i in about)), None):
            msg = f"no claim has an id like `{unmatched}`"
            raise MatchbenchError(msg)
        kept = [
            row["id"]
            for row in self.claims.iter_rows(named=True)
            if (not systems or about[row["id"]].intersection(systems))
            and (not ids or any(fnmatchcase(row["id"], glob) for glob in ids))
            and (not verdicts or row["verdict"] in verdicts)
        ]
        return Reproduction(
            claims=self.claims.filter(pl.col("id").is_in(kept)),
            readings=self.readings.filter(pl.col("id").is_in(kept)),
            points=self.points,
            parameters=self.parameters,
        )

    def write(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write tables and figures to `directory`, whole or not at all.

        Parameters
        ----------
        directory
            A directory that does not exist or is empty.
        force
            Replace earlier results there.

        Raises
        ------
        MatchbenchError
            When the directory is in use.
        """
        # Drawing needs matplotlib, which takes a second to load and is needed here alone.
        from matchbench import plots

        with whole_directory(Path(directory), marker="claims.json", force=force) as partial:
            for name in TABLES:
                table: pl.DataFrame = getattr(self, name)
                table.write_csv(partial / f"{name}.csv")
                table.write_parquet(partial / f"{name}.parquet")
            (partial / "claims.json").write_text(json.dumps(self._rows(), indent=1) + "\n", encoding="utf-8")
            figures = plots.benchmark_figures(self.points) if self.points.height else ()
            for name, figure in figures:
                with plots.saving():
                    figure.savefig(partial / f"{name}.png")
                    figure.savefig(partial / f"{name}.svg", metadata={"Date": None})

    def _rows(self) -> list[dict[str, object]]:
        readings: dict[str, list[dict[str, object]]] = {}
        for row in self.readings.iter_rows(named=True):
            readings.setdefault(row.pop("id"), []).append(row)
        version = {"version": _native.version(), "revision": _native.revision()}
        return [
            {**row, "readings": readings.get(row["id"], []), **version}
            for row in self.claims.iter_rows(named=True)
        ]


def reproduce(paper: str) -> Reproduction:
    """Measure and judge every claim of `paper`.

    Parameters
    ----------
    paper
        `s0` to `s4`.

    Raises
    ------
    MatchbenchError
        When there is no such paper, or a measurement cannot be made.

    Examples
    --------
    >>> reproduce("s0").count("not testable") > 0
    True
    """
    found = _native.reproduce(paper)
    parameters = [
        {**each, "engine": spec, "parameter": each["name"]}
        for spec in found["engines"]
        for each in Engine(spec, []).parameters()
    ]
    points = pl.DataFrame(found["points"]).with_columns(clock_mhz=pl.lit(found["clock_mhz"]))
    return Reproduction(
        claims=pl.DataFrame(found["claims"], schema=CLAIMS),
        readings=pl.DataFrame(found["readings"], schema=READINGS),
        points=points.select(pl.col(name).cast(kind) for name, kind in POINTS.items()),
        parameters=pl.DataFrame(parameters, schema=PARAMETERS),
    )
