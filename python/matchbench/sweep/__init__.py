# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps: many variants of engines on the same traces.

Modules: `space` (values and variants), `study` (the file `study.toml`), `search` (which variants are tried),
`cache`, `workers` and `cluster` (replays), `hardware` (entries and areas), `run` (all of it), `analysis`
(Pareto front and knee), `result` (tables and files), `report`, `charts` and `plots`.
"""
