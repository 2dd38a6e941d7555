# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The columns of the tables of `matchbench reproduce`; `docs/reproduce.md` describes each table."""

import polars as pl

CLAIMS = pl.Schema(
    {
        "id": pl.String(),
        "paper": pl.String(),
        "place": pl.String(),
        "systems": pl.String(),
        "statement": pl.String(),
        "quantity": pl.String(),
        "conditions": pl.String(),
        "kind": pl.String(),
        "origin": pl.String(),
        "precision": pl.String(),
        "published": pl.String(),
        "measured": pl.String(),
        "unit": pl.String(),
        "relative_error": pl.Float64(),
        "verdict": pl.String(),
        "evidence": pl.String(),
        "evidence_reason": pl.String(),
        "reason": pl.String(),
        "unexplained": pl.Boolean(),
        "holds_otherwise": pl.Boolean(),
        "holds_calibrated": pl.Boolean(),
    }
)

COUNTS = pl.Schema(
    {
        "evidence": pl.String(),
        "holds": pl.Int64(),
        "holds_stated": pl.Int64(),
        "holds_derived": pl.Int64(),
        "near": pl.Int64(),
        "differs": pl.Int64(),
        "holds_otherwise": pl.Int64(),
        "holds_calibrated": pl.Int64(),
    }
)

INTERPRETATIONS = pl.Schema(
    {
        "id": pl.String(),
        "interpretation": pl.String(),
        "counts": pl.Boolean(),
        "calibrated": pl.Boolean(),
        "measured": pl.String(),
        "measured_value": pl.Float64(),
        "relative_error": pl.Float64(),
        "verdict": pl.String(),
    }
)

CONTRADICTIONS = pl.Schema(
    {
        "number": pl.Int64(),
        "place": pl.String(),
        "first": pl.String(),
        "second": pl.String(),
        "first_interpretation": pl.String(),
        "first_measured": pl.String(),
        "second_interpretation": pl.String(),
        "second_measured": pl.String(),
        "counts": pl.String(),
    }
)

CURVES = pl.Schema(
    {
        "design": pl.String(),
        "benchmark": pl.String(),
        "variant": pl.String(),
        "counts": pl.Boolean(),
        "calibrated": pl.Boolean(),
        "length": pl.Int64(),
        "percent": pl.Int64(),
        "traversed": pl.Int64(),
        "time_ns": pl.Float64(),
    }
)

DATA_POINTS = pl.Schema(
    {
        "id": pl.String(),
        "origin": pl.String(),
        "design": pl.String(),
        "benchmark": pl.String(),
        "length": pl.Int64(),
        "percent": pl.Int64(),
        "low_ns": pl.Float64(),
        "time_ns": pl.Float64(),
        "high_ns": pl.Float64(),
        "limit": pl.String(),
    }
)

CHARTS = pl.Schema(
    {
        "chart": pl.String(),
        "title": pl.String(),
        "form": pl.String(),
        "x_label": pl.String(),
        "y_label": pl.String(),
        "series": pl.String(),
        "counts": pl.Boolean(),
        "level": pl.Float64(),
        "x": pl.Float64(),
        "position": pl.String(),
        "y": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
    }
)

ANCHORS = pl.Schema(
    {
        "chart": pl.String(),
        "id": pl.String(),
        "origin": pl.String(),
        "series": pl.String(),
        "x": pl.Float64(),
        "value": pl.Float64(),
        "ratio": pl.Boolean(),
        "limit": pl.String(),
    }
)

AGREEMENTS = pl.Schema(
    {
        "assumptions": pl.String(),
        "baseline": pl.Boolean(),
        "fitted": pl.Boolean(),
        "holds": pl.Int64(),
        "near": pl.Int64(),
        "differs": pl.Int64(),
        "held": pl.String(),
    }
)

ASSUMPTION_VALUES = pl.Schema(
    {
        "assumption": pl.String(),
        "value": pl.String(),
        "baseline": pl.Boolean(),
        "fitted": pl.Boolean(),
        "holds_fewest": pl.Int64(),
        "holds_mean": pl.Float64(),
        "holds_most": pl.Int64(),
    }
)

AREAS = pl.Schema(
    {
        "design": pl.String(),
        "cores": pl.Int64(),
        "estimated_mm2": pl.Float64(),
        "published_mm2": pl.Float64(),
        "traversed": pl.Int64(),
        "matches_per_us": pl.Float64(),
        "per_estimated_mm2": pl.Float64(),
        "per_published_mm2": pl.Float64(),
    }
)

STORAGE = pl.Schema(
    {
        "design": pl.String(),
        "part": pl.String(),
        "entries": pl.Int64(),
        "bits": pl.Int64(),
        "ports": pl.Int64(),
        "mm2": pl.Float64(),
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

TABLES = {
    "counts": COUNTS,
    "claims": CLAIMS,
    "interpretations": INTERPRETATIONS,
    "contradictions": CONTRADICTIONS,
    "curves": CURVES,
    "data_points": DATA_POINTS,
    "charts": CHARTS,
    "anchors": ANCHORS,
    "agreements": AGREEMENTS,
    "assumption_values": ASSUMPTION_VALUES,
    "areas": AREAS,
    "storage": STORAGE,
    "parameters": PARAMETERS,
}
"""Every table by its name, which is also that of its files."""
