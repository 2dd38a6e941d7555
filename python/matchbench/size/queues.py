# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The queues that are sized, and the ranks that need the most entries."""

from __future__ import annotations

from typing import Any

import polars as pl

QUEUES = {"posted": "posted receives", "unexpected": "unexpected messages"}


def worst_rank(needs: pl.DataFrame, of: str) -> dict[str, Any]:
    """Give the row of the rank that needs the most entries; the first of several.

    Parameters
    ----------
    needs
        Rows of one trace and queue of the table `needs`.
    of
        `searches`, `time` or `insertions`.
    """
    ranks = needs.filter(pl.col("rank").is_not_null(), of=of)
    return ranks.sort("p100", "rank", descending=[True, False]).row(0, named=True)
