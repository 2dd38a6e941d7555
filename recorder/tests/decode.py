# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reads rank files as `spec/trace.md` describes them, for the tests of the recorder.

It shares no code with the recorder or with the Rust reader, so that the three check each other.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

KINDS = [
    "unwritten",
    "Init",
    "Finalize",
    "Send",
    "Recv",
    "Done",
    "Wait",
    "Probe",
    "Miss",
    "Cancel",
    "Free",
    "Collective",
    "Comm",
    "CommFree",
    "Extra",
    "Other",
    "Thread",
    "Site",
    "Topology",
    "Partition",
]
OPERATIONS = [
    "none",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce_scatter",
    "scan",
    "exscan",
    "neighbor",
    "neighbor_allgather",
    "neighbor_alltoall",
]
BLOCKING, PERSISTENT, SYNCHRONOUS, CANCELLED, BUFFERED, FAILED, READY = 1, 2, 4, 4, 8, 8, 16
MATCHED, PROBE, VECTOR, SENDRECV, CPU_CARRIED = 16, 32, 32, 64, 128
ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT = -1, -2, -3, -4

TIME_BITS = 54
"""Bits of a time; those above it are the call site (T-19)."""

_RECORD = struct.Struct("<BBHIiiQIIQQIIQ")
_HEADER = struct.Struct("<8sHHIIIIIQQQQ")
_KEYS = (
    0x243F6A8885A308D3,
    0x13198A2E03707345,
    0xA4093822299F31D1,
    0x082EFA98EC4E6C89,
    0x452821E638D01377,
    0xBE5466CF34E90C6D,
    0xC0AC29B7C97C50DD,
    0x3F84D5B5B5470917,
    0x9216D5D98979FB1B,
)


def checksum(raw: bytes, index: int) -> int:
    """Upper half of the keyed sum of the eight words of `raw`, whose checksum field must be zero."""
    words: tuple[int, ...] = struct.unpack("<8Q", raw)
    total = sum(word * key for word, key in zip(words, _KEYS[:8], strict=True)) + (index + 1) * _KEYS[8]
    return (total >> 32) & 0xFFFFFFFF


@dataclass
class Record:
    """One record; `words` are those of the Extra records behind it."""

    kind: str
    flags: int
    thread: int
    comm: int
    peer: int
    tag: int
    bytes: int
    request: int
    wall_ns: int
    cpu_ns: int
    wall_span_ns: int
    cpu_span_ns: int
    aux: int
    site: int = 0
    words: list[int] = field(default_factory=list)

    def has(self, flag: int) -> bool:
        """Whether the flag is set."""
        return bool(self.flags & flag)

    @property
    def plain_flags(self) -> int:
        """The flags that do not depend on the clock."""
        return self.flags & ~CPU_CARRIED


@dataclass
class Rank:
    """One rank file."""

    finalized: bool
    stopped: bool
    aborted: bool
    rank: int
    world: int
    run_id: int
    epoch_ns: int
    records: list[Record]
    folded: int
    """Done records in the file that stand for several."""

    def of(self, *kinds: str) -> list[Record]:
        """Return the records of these kinds, in order."""
        return [record for record in self.records if record.kind in kinds]

    def of_thread(self, thread: int) -> list[Record]:
        """Return the records of one thread, in order."""
        return [record for record in self.records if record.thread == thread]


def _done_of(several: Record, begun: Record) -> Record:
    """Return the part of a Done of several requests that ends the one that `begun` started (T-9)."""
    if several.peer or several.tag or several.bytes or several.plain_flags:
        msg = f"a Done of several requests has a status: {several}"
        raise ValueError(msg)
    peer, tag, size = 0, 0, 0
    if begun.kind == "Recv":
        peer, tag, size = begun.peer, begun.tag, begun.bytes
        if peer == PROC_NULL:
            tag, size = ANY_TAG, 0
        elif peer == ANY_SOURCE or tag == ANY_TAG:
            msg = f"a Done of several requests ends one with a wildcard: {begun}"
            raise ValueError(msg)
    return replace(several, request=begun.request, peer=peer, tag=tag, bytes=size, aux=0)


def read_rank(path: Path) -> Rank:
    """Read one rank file and check every checksum; raise `ValueError` at the first defect.

    A Done of several requests is returned as one for each, and its Wait counts them so.
    """
    raw = path.read_bytes()
    magic, version, record_bytes, flags, rank, segments, world, reserved, count, epoch, run_id, check = (
        _HEADER.unpack(raw[:64])
    )
    if (magic, version, record_bytes, segments, reserved) != (b"MBTRACE\x01", 3, 64, 1, 0):
        msg = f"{path}: not a header: {raw[:64].hex()}"
        raise ValueError(msg)
    if check != checksum(raw[:56] + bytes(8), 2**64 - 1):
        msg = f"{path}: checksum of the header is {check:#x}"
        raise ValueError(msg)
    finalized, stopped, aborted = bool(flags & 1), bool(flags & 2), bool(flags & 4)
    if finalized and len(raw) != 64 * (count + 1):
        msg = f"{path}: {count} records in {len(raw)} bytes"
        raise ValueError(msg)
    records: list[Record] = []
    begun: dict[int, Record] = {}
    waits: dict[int, Record] = {}
    folded = 0
    for index, at in enumerate(range(64, len(raw) - 63, 64)):
        piece = raw[at : at + 64]
        if piece[0] == 0:
            if finalized:
                msg = f"{path}: record {index} is not written"
                raise ValueError(msg)
            break
        if checksum(piece[:28] + bytes(4) + piece[32:], index) != struct.unpack_from("<I", piece, 28)[0]:
            msg = f"{path}: record {index} has a wrong checksum"
            raise ValueError(msg)
        kind, flag, thread, comm, peer, tag, size, request, _, wall, cpu, wall_span, cpu_span, aux = (
            _RECORD.unpack(piece)
        )
        if KINDS[kind] == "Extra":
            words = [comm | (peer & 0xFFFFFFFF) << 32, size, wall, cpu, wall_span | cpu_span << 32, aux]
            records[-1].words += words[:tag]
            continue
        site = wall >> TIME_BITS | cpu >> TIME_BITS << 64 - TIME_BITS
        wall, cpu = (time & (1 << TIME_BITS) - 1 for time in (wall, cpu))
        record = Record(
            KINDS[kind],
            flag,
            thread,
            comm,
            peer,
            tag,
            size,
            request,
            wall,
            cpu,
            wall_span,
            cpu_span,
            aux,
            site,
        )
        if record.kind in ("Send", "Recv", "Collective"):
            begun[request] = record
        if record.kind == "Wait":
            waits[thread] = record
        if record.kind == "Done" and aux:
            folded += 1
            waits[thread].aux += aux
            records += [_done_of(record, begun[number]) for number in range(request, request + aux + 1)]
        else:
            records.append(record)
    return Rank(finalized, stopped, aborted, rank, world, run_id, epoch, records, folded)


def read_trace(directory: Path) -> list[Rank]:
    """All ranks of a trace, in order; checks that they belong together."""
    meta = json.loads((directory / "meta.json").read_text())
    ranks = [read_rank(path) for path in sorted(directory.glob("rank-*.mbt"))]
    if [rank.rank for rank in ranks] != list(range(meta["ranks"])):
        msg = f"{directory}: ranks {[rank.rank for rank in ranks]} of {meta['ranks']}"
        raise ValueError(msg)
    for rank in ranks:
        if rank.run_id != int(meta["run_id"], 16) or rank.world != meta["ranks"]:
            msg = f"{directory}: rank {rank.rank} is of another run"
            raise ValueError(msg)
    return ranks


def runs(words: list[int]) -> list[int]:
    """World ranks from runs of two words (T-15)."""
    ranks: list[int] = []
    for first, length in zip(words[::2], words[1::2], strict=True):
        stride = first >> 32
        stride -= (stride >> 31) << 32
        ranks += [(first & 0xFFFFFFFF) + stride * i for i in range(length)]
    return ranks
