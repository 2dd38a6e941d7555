# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes small recordings record by record (`spec/trace.md`, version 2)."""

from __future__ import annotations

import importlib
import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import matchbench as mb

sys.path.insert(0, str(Path(__file__).parents[1] / "recorder" / "tests"))
checksum = importlib.import_module("decode").checksum  # of the independent decoder

INIT, FINALIZE, SEND, RECV, DONE, WAIT, MISS, COLLECTIVE, COMM, EXTRA, OTHER = (
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    11,
    12,
    14,
    15,
)
BLOCKING, ANY_TAG = 1, -2
BARRIER, NEIGHBOR = 1, 12
CALL_NS = 1000
"""Time within a call, unless another one is given."""

_FIELDS = ("flags", "thread", "comm", "peer", "tag", "bytes", "request", "check", "wall_ns", "cpu_ns")


class Program:
    """The calls of one rank, in order.

    Parameters
    ----------
    rank, world
        Its number, and the number of ranks.
    processors
        Processors of the one host on which all ranks run.
    """

    def __init__(self, rank: int, world: int, *, processors: int = 64) -> None:
        self._records: list[tuple[int, dict[str, int]]] = []
        self._requests = 0
        self._sent: dict[int, int] = {}
        self._now_ns = 0
        self.names: list[str] = []
        self.delay_ns = 0
        self._add(INIT, bytes=2)
        self._add(EXTRA, comm=9, tag=2, bytes=(1 << processors) - 1)
        for comm, first, size in ((0, 0, world), (1, rank, 1)):
            self._add(COMM, comm=comm, peer=-1, tag=size, bytes=2, aux=comm and 1 + rank)
            self._add(EXTRA, comm=first, peer=1, tag=2, bytes=size)

    def _add(self, kind: int, **fields: int) -> None:
        is_timed = kind != EXTRA
        self._records.append(
            (kind, {**({"wall_ns": self._now_ns, "cpu_ns": self._now_ns} if is_timed else {}), **fields})
        )

    def _call(self, kind: int, span_ns: int, **fields: int) -> None:
        self._add(kind, wall_span_ns=span_ns, cpu_span_ns=span_ns, **fields)
        self._now_ns += span_ns

    def compute(self, ns: int) -> None:
        """Compute between two calls."""
        self._now_ns += ns

    def send(self, peer: int, tag: int = 0, size: int = 8, *, span_ns: int = CALL_NS) -> None:
        """Call MPI_Send."""
        count = self._sent.get(peer, 0)
        self._sent[peer] = count + 1
        self._call(SEND, span_ns, flags=BLOCKING, peer=peer, tag=tag, bytes=size, aux=count)

    def recv(
        self, peer: int, tag: int = 0, size: int = 8, *, posted_tag: int | None = None, span_ns: int = CALL_NS
    ) -> None:
        """Call MPI_Recv, with another tag than that of the message if it is a wildcard."""
        self._requests += 1
        posted = tag if posted_tag is None else posted_tag
        self._call(RECV, span_ns, flags=BLOCKING, peer=peer, tag=posted, bytes=size, request=self._requests)
        self._add(DONE, peer=peer, tag=tag, bytes=size, request=self._requests)

    def irecv(self, peer: int, tag: int = 0, size: int = 8) -> int:
        """Call MPI_Irecv and return the request."""
        self._requests += 1
        self._call(RECV, 0, peer=peer, tag=tag, bytes=size, request=self._requests)
        return self._requests

    def tested(self, request: int, peer: int, tag: int = 0, size: int = 8) -> None:
        """Call MPI_Test, which completes a receive."""
        self._call(WAIT, 0, aux=1)
        self._add(DONE, peer=peer, tag=tag, bytes=size, request=request)

    def collective(self, operation: int, size: int = 0, *, span_ns: int = CALL_NS) -> None:
        """Call a collective of the world."""
        self._call(COLLECTIVE, span_ns, flags=BLOCKING, tag=operation, peer=-1, bytes=size, aux=size)

    def other(self, name: str, *, span_ns: int = CALL_NS) -> None:
        """Call what is recorded by name and time only."""
        if name not in self.names:
            self.names.append(name)
        self._call(OTHER, span_ns, name=self.names.index(name))

    def missed(self, count: int, *, span_ns: int = CALL_NS) -> None:
        """Call MPI_Test without success."""
        self._call(MISS, span_ns, aux=count)

    def encoded(self, world: int, rank: int, names: Sequence[str]) -> bytes:
        """Return the file of the rank."""
        records = [
            *self._records,
            (FINALIZE, {"wall_ns": self._now_ns, "cpu_ns": self._now_ns, "aux": self.delay_ns}),
        ]
        header = struct.pack("<8s2H5I4Q", b"MBTRACE\x01", 2, 64, 1, rank, 1, world, 0, len(records), 0, 77, 0)
        pieces = [header[:56] + struct.pack("<Q", checksum(header, 2**64 - 1))]
        for index, (kind, given) in enumerate(records):
            fields = dict(given)
            if (name := fields.pop("name", None)) is not None:
                fields["aux"] = names.index(self.names[name])
            values = [fields.get(field, 0) for field in (*_FIELDS, "wall_span_ns", "cpu_span_ns", "aux")]
            raw = struct.pack("<BBHIiiQIIQQIIQ", kind, *values)
            pieces.append(raw[:28] + struct.pack("<I", checksum(raw, index)) + raw[32:])
        return b"".join(pieces)


def recorded(folder: Path, programs: Sequence[Program]) -> mb.Trace:
    """Write the programs of all ranks as a recording, and open it.

    Parameters
    ----------
    folder
        A directory that does not exist.
    programs
        One for each rank.
    """
    folder.mkdir(parents=True)
    names = list(dict.fromkeys(name for each in programs for name in each.names))
    meta = {"format": "matchbench-trace", "version": 1, "ranks": len(programs), "origin": "recorded"}
    (folder / "meta.json").write_text(json.dumps(meta | {"other_calls": names, "run_id": f"{77:016x}"}))
    for rank, program in enumerate(programs):
        (folder / f"rank-{rank:05}.mbt").write_bytes(program.encoded(len(programs), rank, names))
    return mb.Trace.open(folder)
