# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What describes a column of a result table."""

from typing import NamedTuple

import polars as pl


class Column(NamedTuple):
    """One column.

    Parameters
    ----------
    type
        Type in Parquet.
    unit
        Unit, empty for text and for numbers without one.
    meaning
        What its values say, in words.
    """

    type: pl.DataType
    unit: str
    meaning: str
