# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Claims of the papers against what the models measure; `workbench/reproduce` measures and judges."""

import dataclasses
import json
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from matchbench import _native, interruptible
from matchbench._native import Engine, MatchbenchError
from matchbench.arguments import TEXT, WHOLE, checked
from matchbench.display.output import whole_directory, write_file, write_table
from matchbench.reproduce.evidence import EVIDENCE
from matchbench.reproduce.tables import (
    AGREEMENTS,
    ANCHORS,
    AREAS,
    ASSUMPTION_VALUES,
    CHARTS,
    CLAIMS,
    CONTRADICTIONS,
    COUNTS,
    CURVES,
    DATA_POINTS,
    INTERPRETATIONS,
    PARAMETERS,
    STORAGE,
    TABLES,
)

MARKER = "claims.json"
"""The file that marks a directory as one of results."""

_KINDS = {
    "predicted": "of the claims predicted by a model",
    "recovered": "of those recovered from inputs",
    "recomputed": "of those recomputed from the paper's own numbers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """Claims of one paper with their verdicts; `docs/reproduce.md` describes each table.

    Parameters
    ----------
    claims
        One row per claim, by evidence: what is predicted first, what is not testable last.
    interpretations
        One row per interpretation of a claim; a claim of a paper that contradicts itself has several.
    contradictions
        One row per place at which the paper contradicts itself: both statements, and the models' results.
    curves
        The benchmark behind the figures, on every design and in every variant.
    data_points
        Single points that the paper's text gives.
    charts
        Every point of the charts whose axes are not those of `curves`.
    anchors
        Points of the charts that the paper's text gives.
    agreements
        Every set of assumptions and how many claims hold in it, those with most first, if all were run.
    assumption_values
        Every value of every assumption, and how many claims hold with it, if all were run.
    areas
        Area of each design, and matches for area and time.
    storage
        The storage that estimated areas are computed from.
    parameters
        Every parameter of the models in use, with its source.
    study
        The study that defines the figures, if there is one.
    """

    claims: pl.DataFrame
    interpretations: pl.DataFrame
    contradictions: pl.DataFrame
    curves: pl.DataFrame
    data_points: pl.DataFrame
    charts: pl.DataFrame
    anchors: pl.DataFrame
    agreements: pl.DataFrame
    assumption_values: pl.DataFrame
    areas: pl.DataFrame
    storage: pl.DataFrame
    parameters: pl.DataFrame
    study: str | None

    @property
    def explained(self) -> bool:
        """Whether every claim that differs says why."""
        return not self.claims["unexplained"].any()

    @property
    def fitted(self) -> bool:
        """Whether the set of assumptions that the study calls fitted agrees best; true if none was run."""
        return self.agreements.is_empty() or bool(self.agreements["fitted"][0])

    def agreement(self) -> str:
        """Say which assumptions agree best, and how many claims hold with the baseline."""
        best, baseline = (
            self.agreements.row(0, named=True),
            self.agreements.row(by_predicate=pl.col("baseline"), named=True),
        )
        tested = best["holds"] + best["near"] + best["differs"]
        return (
            f"of the {tested} predictions that compare the processors, most hold ({best['holds']}) with "
            f"{best['assumptions']}; with the baseline assumptions {baseline['holds']}"
        )

    def count(self, verdict: str, evidence: str | None = None) -> int:
        """Count the claims with this verdict and this kind of evidence; what is not testable has none."""
        of_kind = pl.col("evidence").eq_missing(pl.lit(evidence, dtype=pl.String()))
        return self.claims.filter(of_kind, verdict=verdict).height

    @property
    def counts(self) -> pl.DataFrame:
        """Verdicts by kind of evidence, what is predicted first: one row per kind, which are not added up.

        `holds_derived` counts claims that we derived from what the paper states.
        `holds_otherwise` and `holds_calibrated` count those of the near and different ones that hold in
        another interpretation, and only in one with a calibrated parameter.
        """
        rows = []
        for kind in EVIDENCE:
            of_kind = self.claims.filter(evidence=kind)
            held = of_kind.filter(verdict="holds")
            missed = of_kind.filter(pl.col("verdict").is_in(["near", "differs"]))
            rows.append(
                {
                    "evidence": kind,
                    "holds": held.height,
                    "holds_stated": held.filter(origin="stated").height,
                    "holds_derived": held.filter(pl.col("origin") != "stated").height,
                    "near": of_kind.filter(verdict="near").height,
                    "differs": of_kind.filter(verdict="differs").height,
                    "holds_otherwise": missed.filter("holds_otherwise").height,
                    "holds_calibrated": missed.filter(
                        ~pl.col("holds_otherwise") & pl.col("holds_calibrated")
                    ).height,
                }
            )
        return pl.DataFrame(rows, schema=COUNTS)

    def answer(self) -> str:
        """Say in a sentence what holds and what does not; the kinds of evidence are counted separately."""
        words = {
            "holds": ("holds", "hold"),
            "near": ("is near", "are near"),
            "differs": ("differs", "differ"),
        }
        texts = {
            row["evidence"]: ", ".join(
                f"{row[name]} {word[row[name] > 1]}" for name, word in words.items() if row[name]
            )
            for row in self.counts.iter_rows(named=True)
        }
        parts = [f"{_KINDS[kind]}, {text}" for kind, text in texts.items() if text]
        untested = self.count("not testable")
        rest = f"{untested} of {self.claims.height} claims are not testable"
        text = "; ".join([*parts, rest])
        return f"{text[0].upper()}{text[1:]}."

    def untested(self) -> str:
        """Say how many claims have no verdict, in one line."""
        without = self.claims.filter(verdict="not testable")
        inputs = without.filter(pl.col("measured").is_not_null()).height
        return f"not testable: {without.height} of {self.claims.height} claims; measured inputs: {inputs}"

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
        about = {row["id"]: row["systems"].split(", ") for row in self.claims.iter_rows(named=True)}
        chosen = _chosen(about, systems, ids)
        kept = [
            row["id"]
            for row in self.claims.iter_rows(named=True)
            if row["id"] in chosen and (not verdicts or row["verdict"] in verdicts)
        ]
        return dataclasses.replace(
            self,
            claims=self.claims.filter(pl.col("id").is_in(kept)),
            interpretations=self.interpretations.filter(pl.col("id").is_in(kept)),
        )

    def write(self, directory: str | os.PathLike[str], *, figures: bool = False, force: bool = False) -> None:
        """Write tables to `directory`, and figures and a page of verdicts if asked for, whole or not at all.

        Parameters
        ----------
        directory
            A directory that does not exist or is empty.
        figures
            Write `plots/` and `report.html` too.
        force
            Replace earlier results there.

        Raises
        ------
        MatchbenchError
            When the directory is in use.
        """
        with whole_directory(Path(directory), marker=MARKER, force=force) as partial:
            for name in TABLES:
                write_table(getattr(self, name), partial, name)
            write_file(partial / "counts.json", json.dumps(self.counts.to_dicts(), indent=1) + "\n")
            write_file(partial / MARKER, json.dumps(self._rows(), indent=1) + "\n")
            if figures:
                # Drawing needs matplotlib, which takes a second to load and is needed here alone.
                from matchbench.reproduce import verdicts

                verdicts.write_page(self, partial)

    def _rows(self) -> list[dict[str, object]]:
        interpretations: dict[str, list[dict[str, object]]] = {}
        for row in self.interpretations.iter_rows(named=True):
            interpretations.setdefault(row.pop("id"), []).append(row)
        version = {"version": _native.version(), "revision": _native.revision()}
        return [
            {**row, "interpretations": interpretations.get(row["id"], []), **version}
            for row in self.claims.iter_rows(named=True)
        ]


def _by_evidence(claims: pl.DataFrame) -> pl.DataFrame:
    """Put what is predicted first and what is not testable last, each in the order of the ledger."""
    kinds = [*EVIDENCE, None]
    parts = [claims.filter(pl.col("evidence").eq_missing(pl.lit(kind, dtype=pl.String()))) for kind in kinds]
    return pl.concat(parts)


def papers() -> dict[str, str]:
    """Give the alias of each paper by its citation key."""
    return dict(_native.papers())


def key_of(name: str) -> str:
    """Give the citation key of a paper named by key or alias.

    Raises
    ------
    MatchbenchError
        When there is no such paper.
    """
    for key, alias in papers().items():
        if name in (key, alias):
            return key
    raise MatchbenchError(_native.unknown_name("paper", name, list(papers())))


def pattern_of(glob: str) -> str:
    """Replace the alias of a paper at the head of a pattern of ids by its key."""
    head, dot, rest = glob.partition(".")
    keys = {alias: key for key, alias in papers().items()}
    return f"{keys.get(head, head)}{dot}{rest}"


def _chosen(about: dict[str, list[str]], systems: tuple[str, ...], ids: tuple[str, ...]) -> set[str]:
    """Choose claims by `systems` and `ids`, from the systems that each claim is about."""
    globs = tuple(map(pattern_of, ids))
    known = sorted(set().union(*about.values()))
    if unknown := next((system for system in systems if system not in known), None):
        raise MatchbenchError(_native.unknown_name("system", unknown, known, "matchbench reproduce PAPER"))
    if unmatched := next((glob for glob in globs if not any(fnmatchcase(i, glob) for i in about)), None):
        msg = f"id `{unmatched}`: matches no claim; `spec/claims.toml` lists the ids"
        raise MatchbenchError(msg)
    return {
        claim
        for claim, its in about.items()
        if (not systems or not set(its).isdisjoint(systems))
        and (not globs or any(fnmatchcase(claim, glob) for glob in globs))
    }


def check_choice(paper: str, *, systems: tuple[str, ...] = (), ids: tuple[str, ...] = ()) -> None:
    """Check what `Reproduction.only` will choose from, before anything is measured.

    Raises
    ------
    MatchbenchError
        When there is no such paper, no claim is about one of `systems`, or none matches one of `ids`.
    """
    _chosen(dict(_native.claims_of(paper)), systems, ids)


@checked(paper=TEXT, jobs=WHOLE)
def reproduce(paper: str, *, jobs: int | None = None) -> Reproduction:
    """Measure and judge every claim of `paper`.

    Parameters
    ----------
    paper
        Citation key of the paper, or its alias.
    jobs
        Also run what only figures show, this many runs at a time; the result does not depend on the number.

    Raises
    ------
    MatchbenchError
        When there is no such paper, or a measurement cannot be made.

    Examples
    --------
    >>> reproduce("hemmert2007").count("not testable") > 0
    True
    """
    found = interruptible.run(lambda _tell: _native.reproduce(paper, jobs=jobs))
    parameters = [
        {**each, "engine": spec, "parameter": each["name"]}
        for spec in found["engines"]
        for each in Engine(spec).parameters()
    ]
    claims = _by_evidence(pl.DataFrame(found["claims"], schema=CLAIMS))
    interpretations = pl.DataFrame(found["interpretations"], schema=INTERPRETATIONS)
    return Reproduction(
        claims=claims,
        interpretations=claims.select("id").join(interpretations, on="id", maintain_order="left_right"),
        contradictions=pl.DataFrame(found["contradictions"], schema=CONTRADICTIONS),
        curves=pl.DataFrame(found["curves"], schema=CURVES),
        data_points=pl.DataFrame(found["data_points"], schema=DATA_POINTS),
        charts=pl.DataFrame(found["charts"], schema=CHARTS),
        anchors=pl.DataFrame(found["anchors"], schema=ANCHORS),
        agreements=pl.DataFrame(found["agreements"], schema=AGREEMENTS),
        assumption_values=pl.DataFrame(found["assumption_values"], schema=ASSUMPTION_VALUES),
        areas=pl.DataFrame(found["areas"], schema=AREAS),
        storage=pl.DataFrame(found["storage"], schema=STORAGE),
        parameters=pl.concat(
            [
                pl.DataFrame(parameters, schema=PARAMETERS),
                pl.DataFrame(found["parameters"], schema=PARAMETERS),
            ]
        ),
        study=found["study"],
    )
