# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Exports a trace's records as Parquet for other tools (`spec/results.md`, section 7).

Streaming: memory does not grow with the trace.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matchbench import _native
from matchbench.display.output import stream, whole_file
from matchbench.native_types import Progress

KINDS = [
    *("Unwritten", "Init", "Finalize", "Send", "Recv", "Done", "Wait", "Probe", "Miss", "Cancel", "Free"),
    *("Collective", "Comm", "CommFree", "Extra", "Other"),
]
"""Names of the kinds of records by their number (`spec/trace.md`, section 4.1)."""

RECORD = np.dtype(
    [
        ("kind", "<u1"),
        ("flags", "<u1"),
        ("thread", "<u2"),
        ("comm", "<u4"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("bytes", "<u8"),
        ("request", "<u4"),
        ("check", "<u4"),
        ("wall_ns", "<u8"),
        ("cpu_ns", "<u8"),
        ("wall_span_ns", "<u4"),
        ("cpu_span_ns", "<u4"),
        ("aux", "<u8"),
    ]
)
"""One record (`spec/trace.md`, T-6)."""

_BATCH = 1 << 20  # records in memory at a time: 64 MiB

_SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),
        ("index", pa.int64()),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        *(
            (name, pa.from_numpy_dtype(RECORD[name]))
            for name in RECORD.names or ()
            if name not in ("kind", "check")
        ),
    ]
)


def export(
    trace: _native.Trace, path: Path, *, force: bool = False, progress: Progress | None = None
) -> None:
    """Write all records of `trace` to the Parquet file `path`, one row each.

    Parameters
    ----------
    trace
        The trace.
    path
        The file.
    force
        Replace an existing file.
    progress
        Called as `progress(records done, records)`.
    """
    done = 0
    with (
        whole_file(path, force=force) as partial,
        stream(partial) as file,
        pq.ParquetWriter(file, _SCHEMA) as writer,
    ):
        for rank, count in enumerate(trace.rank_records()):
            for start in range(0, count, _BATCH):
                stop = min(start + _BATCH, count)
                writer.write_table(_table(rank, start, trace.record_bytes(rank, start, stop)))
                done += stop - start
                if progress:
                    progress(done, trace.records)


def _table(rank: int, start: int, content: bytes) -> pa.Table:
    records = np.frombuffer(content, RECORD)
    columns = [
        pa.array(np.full(len(records), rank, np.int32)),
        pa.array(np.arange(start, start + len(records), dtype=np.int64)),
        pa.DictionaryArray.from_arrays(pa.array(records["kind"].astype(np.int8)), pa.array(KINDS)),
        *(pa.array(np.ascontiguousarray(records[name])) for name in _SCHEMA.names[3:]),
    ]
    return pa.table(columns, schema=_SCHEMA)
