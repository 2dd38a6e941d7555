# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench trace`: inspect, check, count and export a trace."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from matchbench import shortfalls, tables
from matchbench._native import TraceError
from matchbench.cli.progress import progress_bar

if TYPE_CHECKING:
    from matchbench.trace import Trace, TraceStats

CHECK_FAILED = 1

trace_argument = click.argument("path", metavar="TRACE", type=click.Path(path_type=Path))


def _open(path: Path) -> Trace:
    # Imported here because polars slows `--help`.
    from matchbench.trace import Trace

    return Trace.open(path)


@click.group(
    name="trace",
    epilog="""
    Examples:

    \b
      matchbench trace info traces/halo3d.tar.xz
      matchbench trace check out/mine
      matchbench trace stats out/mine
      matchbench trace export out/mine -o mine.parquet

    TRACE is a trace's directory or NAME.tar.xz.
    """,
)
def command() -> None:
    """Inspect a trace."""


@command.command(epilog="Example: matchbench trace info traces/halo3d.tar.xz")
@trace_argument
def info(path: Path) -> None:
    """Print the origin and size of a trace, without checking its records."""
    trace = _open(path)
    meta = trace.meta
    ends: Counter[str] = Counter(trace.native.ends())
    words: list[tuple[str, object]] = [
        ("trace", trace.name),
        ("origin", meta["origin"]),
        ("ranks", tables.count(trace.ranks)),
        ("records", tables.count(trace.records)),
        ("size", tables.size(trace.size_bytes)),
        ("hash", trace.hash),
        ("run id", meta["run_id"]),
    ]
    words += [(key, meta[key]) for key in ("date", "mpi", "recorder") if key in meta]
    if "command" in meta:
        words.append(("command", " ".join(map(str, meta["command"]))))
    if "hosts" in meta:
        words.append(("hosts", ", ".join(map(str, meta["hosts"]))))
    if "generator" in meta:
        generator = dict(meta["generator"])
        generator |= generator.pop("settings", {})
        words.append(("generator", " ".join(f"{key}={value}" for key, value in generator.items())))
    words.append(("state", trace.state))
    words += [(f"ranks {state}", f"{ends[state]}") for state in shortfalls.STATES[1:] if ends[state]]
    for name, value in words:
        tables.line(f"{name:<14}{value}")


@command.command(
    epilog="""
    Examples:

    \b
      matchbench trace check out/mine
      matchbench trace check traces/*.tar.xz
    """
)
@click.argument("paths", metavar="TRACE...", type=click.Path(path_type=Path), nargs=-1, required=True)
def check(paths: tuple[Path, ...]) -> int:
    """Check every record against `spec/trace.md`; exit status 1 if a trace has a defect.

    Prints the first defect of each trace and continues with the next trace. A trace without defect is
    complete, stopped (by a full disk), cut (by a signal) or aborted (by MPI_Abort); what it lacks is counted.
    """
    return max(_check(path) for path in paths)


def _check(path: Path) -> int:
    try:
        trace = _open(path)
        with progress_bar("checking") as progress:
            trace.check(progress=progress)
    except TraceError as error:
        sys.stderr.write(f"matchbench: {error}\n")
        return CHECK_FAILED
    tables.line(
        f"{trace.name}: {tables.count(trace.ranks)} ranks, {tables.count(trace.records)} records: "
        f"{trace.state}, no defect"
    )
    for text in [*shortfalls.rank_lines(trace.native), *shortfalls.left_out_lines(trace.native)]:
        tables.line(f"{trace.name}: {text}")
    return 0


@command.command(
    epilog="""
    Examples:

    \b
      matchbench trace stats out/mine
      matchbench trace stats out/mine --ranks
      matchbench trace stats out/mine --json > mine.json
    """
)
@trace_argument
@click.option("--ranks", is_flag=True, help="Also print one row per rank.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def stats(path: Path, *, ranks: bool, as_json: bool) -> None:
    """Print messages, queue lengths, search depths, unexpected messages and wildcards.

    A trace does not hold arrival times: each message is assumed to arrive as early as the recorded times
    allow.
    """
    trace = _open(path)
    with progress_bar("checking") as progress:
        trace.check(progress=progress)
    with progress_bar("counting") as progress:
        found = trace.stats(progress=progress)
    if as_json:
        everything = {
            "trace": trace.name,
            "trace_hash": trace.hash,
            "state": trace.state,
            "left_out": [
                {"omission": omission, "name": name, "calls": calls, "processes": processes}
                for omission, name, calls, processes in trace.native.left_out()
            ],
            "oversubscription": _shared(trace),
            "total": found.total,
            "collectives": found.collectives,
            "histograms": found.histograms,
            "ranks": found.ranks.to_dicts(),
        }
        sys.stdout.write(json.dumps(everything, indent=1) + "\n")
        return
    _show_totals(trace, found)
    for text in _shortfalls(trace):
        tables.line(f"{trace.name}: {text}")
    _show_histograms(found)
    if ranks:
        _show_ranks(found)


def _shared(trace: Trace) -> dict[str, Any] | None:
    if (found := shortfalls.oversubscription(trace.native)) is None:
        return None
    return {"ranks": found.ranks, "processors": found.processors, "share": found.share}


def _shortfalls(trace: Trace) -> list[str]:
    said = [shortfalls.state_line(trace.native), shortfalls.sharing_line(trace.native, shortfalls.IN_STATS)]
    return [*filter(None, said), *shortfalls.left_out_lines(trace.native)]


def _show_totals(trace: Trace, found: TraceStats) -> None:
    total = found.total
    count = tables.count
    receives = max(total["receives"], 1)
    wildcards = total["any_source"] + total["any_tag"] + total["any_both"]
    collectives = ", ".join(f"{count(number)} {name}" for name, number in found.collectives.items())
    rows = [
        ("ranks", count(trace.ranks)),
        ("records", count(total["records"])),
        ("recorded time", f"{tables.time(total['wall_ns'])}, {_in_calls(trace, total)}"),
        ("messages sent", f"{count(total['sent'])}, {tables.size(total['sent_bytes'])}"),
        ("messages received", f"{count(total['received'])}, {tables.size(total['received_bytes'])}"),
        ("never received", count(total["never_received"])),
        ("unexpected", f"{count(total['unexpected'])} ({tables.share(total['unexpected_share'])})"),
        ("receives posted", f"{count(total['receives'])}, {count(total['cancelled'])} cancelled"),
        (
            "with a wildcard",
            f"{count(wildcards)} ({tables.share(wildcards / receives)}): "
            f"{count(total['any_source'])} source, {count(total['any_tag'])} tag, "
            f"{count(total['any_both'])} both",
        ),
        ("probes", f"{count(total['probes'])} found a message, {count(total['probe_misses'])} did not"),
        ("unsuccessful tests", count(total["test_misses"])),
        ("collectives", collectives or "0"),
        ("sources of a rank", f"{count(total['sources'])} at most"),
        ("tags", count(total["tags"])),
        ("communicators", count(total["communicators"])),
    ]
    for name, value in rows:
        tables.line(f"{name:<20}{value}")


def _in_calls(trace: Trace, total: dict[str, Any]) -> str:
    whole = trace.ranks * total["wall_ns"]
    in_calls = tables.share(total["calls_wall_ns"] / whole if whole else None)
    initialization_ns = sum(trace.native.initialized_ns())
    first = f" ({tables.share(initialization_ns / whole)} in MPI_Init)" if initialization_ns and whole else ""
    return f"{in_calls} in MPI calls{first}"


def _show_histograms(found: TraceStats) -> None:
    total = found.total
    names = ["posted_length", "posted_depth", "unexpected_length", "unexpected_depth"]
    counted = {name: {low: (high, number) for low, high, number in found.histograms[name]} for name in names}
    lows = sorted({low for bins in counted.values() for low in bins})
    highs = {low: high for bins in counted.values() for low, (high, _) in bins.items()}
    rows: list[list[object]] = [
        [
            str(low) if low == highs[low] else f"{low} to {highs[low]}",
            *(tables.count(counted[name][low][1]) if low in counted[name] else None for name in names),
        ]
        for low in lows
    ]
    maxima = ["posted_max", "posted_depth_max", "unexpected_max", "unexpected_depth_max"]
    rows.append(["mean", *(tables.decimal(total[f"{name}_mean"]) for name in names)])
    rows.append(["max", *(tables.count(total[name]) for name in maxima)])
    tables.line()
    tables.show(
        "length of a queue when it is searched, and entries visited by a successful search",
        ["entries", ">PRQ length", ">visited", ">UMQ length", ">visited"],
        rows,
    )


def _show_ranks(found: TraceStats) -> None:
    tables.line()
    tables.show(
        None,
        [
            *(">rank", ">sent", ">received", ">unexpected", ">wildcards"),
            *(">posted max", ">depth mean", ">max", ">unexpected max", ">depth mean", ">max"),
        ],
        [
            (
                row["rank"],
                tables.count(row["sent"]),
                tables.count(row["received"]),
                tables.share(row["unexpected_share"]),
                tables.count(row["any_source"] + row["any_tag"] + row["any_both"]),
                row["posted_max"],
                tables.decimal(row["posted_depth_mean"]),
                row["posted_depth_max"],
                row["unexpected_max"],
                tables.decimal(row["unexpected_depth_mean"]),
                row["unexpected_depth_max"],
            )
            for row in found.ranks.iter_rows(named=True)
        ],
    )


@command.command(epilog="Example: matchbench trace export out/mine -o mine.parquet")
@trace_argument
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), required=True, help="Parquet file."
)
@click.option("--force", is_flag=True, help="Replace an existing FILE.")
def export(path: Path, output: Path, *, force: bool) -> None:
    """Write all records to a Parquet file, one row each (`spec/results.md`, section 7)."""
    trace = _open(path)
    with progress_bar("checking") as progress:
        trace.check(progress=progress)
    with progress_bar("exporting") as progress:
        trace.export(output, force=force, progress=progress)
    tables.line(f"{output}: {tables.count(trace.records)} records")
