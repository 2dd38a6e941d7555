# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Counts in the rank files of a recorded trace, read from `spec/trace.md` alone.

The third reading of that contract, next to the Rust reader and the C writer, and with neither's code: that is
what makes the comparison of a program's own counts with its trace worth something.
It trusts the file; judging it is the business of `matchbench trace check`.
Cost: about a microsecond per record.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from examples_mpi import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADER = struct.Struct("<8sHHIIIIIQQQQ")
# kind, flags, thread, comm, peer, tag, bytes, request, check, wall_ns, cpu_ns, wall_span_ns, cpu_span_ns, aux
RECORD = struct.Struct("<BBHIiiQIIQQIIQ")
KINDS = (
    *("unwritten", "Init", "Finalize", "Send", "Recv", "Done", "Wait", "Probe", "Miss", "Cancel", "Free"),
    *("Collective", "Comm", "CommFree", "Extra", "Other", "Thread", "Site", "Topology", "Partition"),
)
ANY_SOURCE, PROC_NULL, ANY_TAG = -1, -3, -2
FINALIZED, STOPPED = 1, 2
PERSISTENT, SYNCHRONOUS, CANCELLED, MATCHED = 2, 4, 4, 16


@dataclass(slots=True)
class Counts:
    """What is in one trace."""

    sent_messages: int = 0
    sent_bytes: int = 0
    received_messages: int = 0
    received_bytes: int = 0
    records: int = 0
    unfinalized: list[int] = field(default_factory=list)
    traits: Counter[str] = field(default_factory=Counter)

    @property
    def tally(self) -> Tally:
        """Return what the program should have counted."""
        return Tally(self.sent_messages, self.sent_bytes, self.received_messages, self.received_bytes)


def count(directory: Path) -> Counts:
    """Count what all ranks of a trace recorded; messages to `MPI_PROC_NULL` are none."""
    counts = Counts()
    for path in sorted(directory.glob("rank-*.mbt")):
        content = path.read_bytes()
        _, _, _, flags, rank, *_ = HEADER.unpack_from(content)
        if not flags & FINALIZED:
            counts.unfinalized.append(rank)
        _count_rank(RECORD.iter_unpack(memoryview(content)[HEADER.size :]), counts)
    return counts


def _count_rank(records: Iterator[tuple[int, ...]], counts: Counts) -> None:
    room: dict[int, int] = {}
    for kind, flags, _, _, peer, tag, size, request, *_, aux in records:
        name = KINDS[kind]
        if name == "unwritten":
            return
        counts.records += 1
        traits = [name]
        if name in ("Send", "Recv") and peer == PROC_NULL:
            traits.append("proc null")
        elif name == "Send":
            counts.sent_messages += 1
            counts.sent_bytes += size
            if flags & SYNCHRONOUS:
                traits.append("synchronous send")
        elif name == "Recv":
            room[request] = size
        elif name == "Done" and aux:
            ended = [number for number in range(request, request + aux + 1) if number in room]
            counts.received_messages += len(ended)
            counts.received_bytes += sum(room[number] for number in ended)
        elif name == "Done" and request in room:
            if flags & CANCELLED:
                traits.append("cancelled receive")
            else:
                counts.received_messages += 1
                counts.received_bytes += size
        if name in ("Send", "Recv") and flags & PERSISTENT:
            traits.append("persistent")
        if name in ("Recv", "Probe"):
            if flags & MATCHED:
                traits.append(f"matched {name}")
            elif peer == ANY_SOURCE:
                traits.append(f"any source {name}")
            if tag == ANY_TAG:
                traits.append(f"any tag {name}")
        counts.traits.update(traits)
