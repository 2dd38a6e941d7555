# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench trace`: inspect, check, count and export a trace."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from matchbench._native import MatchbenchError, TraceError
from matchbench.cli import complete
from matchbench.cli.progress import progress_bar
from matchbench.cli.replay_options import OPTIONS, given_option, replay_config, replay_options
from matchbench.cli.usage import Choice
from matchbench.cli.values import Whole
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import document, tables
from matchbench.trace import shortfalls

if TYPE_CHECKING:
    from matchbench.trace.trace import Trace, TraceStats

CHECK_FAILED = 1

_OF_SNAPSHOT = {
    **{name: f"--{name}" for name in ("rank", "communicator", "headers", "clock")},
    "start": "--from",
    "engine": "--on",
    **OPTIONS,
}
"""Options of `export --match-unit` by the name of the argument."""

trace_argument = click.argument("path", metavar="TRACE", type=click.Path(path_type=Path))


def _open(path: Path) -> Trace:
    # Imported here because polars slows `--help`.
    from matchbench.trace.trace import Trace

    return Trace.open(path)


@click.group(
    cls=WholeSummaries,
    name="trace",
    epilog="""
    Examples:

    \b
      matchbench trace info traces/halo3d.tar.xz
      matchbench trace check out/mine
      matchbench trace stats out/mine
      matchbench trace export out/mine -o mine.parquet
      matchbench trace export out/mine --match-unit -o snapshot

    TRACE is a trace's directory or NAME.tar.xz.
    """,
)
def command() -> None:
    """Inspect a trace."""


def _described(generator: Any) -> str:
    """Give the settings of a generator as words; what has another form, as it is."""
    if not isinstance(generator, dict):
        return json.dumps(generator)
    settings = generator.get("settings")
    if isinstance(settings, dict):
        generator = {**{key: value for key, value in generator.items() if key != "settings"}, **settings}
    return " ".join(f"{key}={value}" for key, value in generator.items())


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
        words.append(("generator", _described(meta["generator"])))
    words.append(("state", trace.state))
    words += [(f"ranks {state}", f"{ends[state]}") for state in shortfalls.STATES[1:] if ends[state]]
    tables.fields(words)


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
    complete, stopped (by a full disk), cut (by a signal) or aborted (by MPI_Abort); missing records are
    counted.
    """
    return max(_check(path) for path in paths)


def _check(path: Path) -> int:
    try:
        trace = _open(path)
        with progress_bar("checking") as progress:
            trace.check(progress=progress)
    except TraceError as error:
        tables.warn(f"{error}")
        return CHECK_FAILED
    tables.line(
        f"{trace.name}: {tables.count(trace.ranks)} ranks, {tables.count(trace.records)} records: "
        f"{trace.state}, no defect"
    )
    for text in [
        *shortfalls.rank_lines(trace.native),
        *shortfalls.left_out_lines(trace.native),
    ]:
        tables.line(f"{trace.name}: {text}")
    return 0


@command.command(
    epilog="""
    Examples:

    \b
      matchbench trace stats out/mine
      matchbench trace stats out/mine --per-rank
      matchbench trace stats out/mine --json > mine.json
    """
)
@trace_argument
@click.option("--per-rank", is_flag=True, help="Also print one row per rank.")
def stats(path: Path, *, per_rank: bool) -> None:
    """Print messages, queue lengths, search depths, unexpected messages and wildcards.

    A trace does not hold arrival times: each message is assumed to arrive as early as the recorded times
    allow.
    """
    trace = _open(path)
    with progress_bar("checking") as progress:
        trace.check(progress=progress)
    with progress_bar("counting") as progress:
        found = trace.stats(progress=progress)
    if document.is_collected():
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
        document.become(everything)
        return
    _show_totals(trace, found)
    for text in _shortfalls(trace):
        tables.line(f"{trace.name}: {text}")
    _show_histograms(found)
    if per_rank:
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
        ("receives posted", _receives(total)),
        (
            "with a wildcard",
            f"{count(wildcards)} ({tables.share(wildcards / receives)}): "
            f"{count(total['any_source'])} source, {count(total['any_tag'])} tag, "
            f"{count(total['any_both'])} both",
        ),
        ("probes", f"{count(total['probes'])} found a message, {count(total['probe_misses'])} did not"),
        ("unsuccessful tests", count(total["test_misses"])),
        ("collectives", collectives or "0"),
        *([("partitioned", f"{count(total['partitioned'])} messages")] if total["partitioned"] else []),
        ("sources of a rank", f"{count(total['sources'])} at most"),
        ("tags", count(total["tags"])),
        ("communicators", count(total["communicators"])),
    ]
    tables.fields(rows)


def _receives(total: dict[str, Any]) -> str:
    probes = total["matched_probes"]
    by_probes = f", {tables.count(probes)} of them by matched probes" if probes else ""
    return f"{tables.count(total['receives'])}{by_probes}, {tables.count(total['cancelled'])} cancelled"


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
        "length of a queue when it is searched, and search depth of what is found",
        ["entries", ">PRQ length", ">depth", ">UMQ length", ">depth"],
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


@command.command(
    epilog="""
    Examples:

    \b
      matchbench trace export out/mine -o mine.parquet
      matchbench trace export out/mine --match-unit -o snapshot
      matchbench trace export out/mine --match-unit --rank 3 --communicator 0 --headers 1000 -o snapshot
      matchbench match_unit run mine.mb --list snapshot/list.toml --headers snapshot/headers.toml

    `--match-unit` writes DIR/list.toml and DIR/headers.toml: the lists of a rank before its deepest search,
    and its operations from then on, in the order of a replay.
    """
)
@trace_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Parquet file, or with --match-unit a directory.",
)
@click.option("--force", is_flag=True, help="Replace an existing FILE, or an earlier export in DIR.")
@click.option("--match-unit", is_flag=True, help="Write lists and headers for `matchbench match_unit`.")
@click.option(
    "--rank", metavar="N", type=Whole(), help="With --match-unit: a rank. [the one with the deepest search]"
)
@click.option(
    "--communicator",
    metavar="N",
    type=Whole(0, (1 << 32) - 1),
    help="With --match-unit: entries of one communicator only. [all]",
)
@click.option(
    "--from",
    "start",
    type=Choice(["worst", "start"]),
    help="With --match-unit: just before the deepest search, or from the start. [worst]",
)
@click.option(
    "--headers", metavar="N", type=Whole(), help="With --match-unit: maximum number of operations. [100]"
)
@click.option(
    "--on",
    "engine",
    metavar="NAME[:PRESET]",
    shell_complete=complete.ENGINE,
    help="With --match-unit: the engine whose replay orders posts and arrivals. [ideal:zero]",
)
@click.option(
    "--clock",
    metavar="MHZ",
    type=Whole(1, 100_000),
    help="With --match-unit: clock of the match unit. [500]",
)
@replay_options
def export(path: Path, output: Path, *, force: bool, match_unit: bool, **of_snapshot: Any) -> None:
    """Write all records to a Parquet file (`spec/results.md`, section 7), or a snapshot of lists."""
    given = given_option(of_snapshot, _OF_SNAPSHOT)
    if not match_unit and given is not None:
        msg = f"{given}: needs --match-unit; add it, or omit {given}"
        raise MatchbenchError(msg)
    trace = _open(path)
    if match_unit:
        _export_snapshot(trace, output, force=force, **of_snapshot)
        return
    with progress_bar("checking") as progress:
        trace.check(progress=progress)
    with progress_bar("exporting") as progress:
        trace.export(output, force=force, progress=progress)
    tables.line(f"{output}: {tables.count(trace.records)} records")


def _export_snapshot(
    trace: Trace,
    output: Path,
    *,
    force: bool,
    rank: int | None,
    communicator: int | None,
    start: Literal["worst", "start"] | None,
    headers: int | None,
    engine: str | None,
    clock: int | None,
    **replay: Any,
) -> None:
    from matchbench.compare.result_tables import REFERENCE
    from matchbench.trace.snapshot import HEADERS, HEADERS_FILE, LIST_FILE, export_snapshot

    with progress_bar("replaying") as progress:
        found = export_snapshot(
            trace,
            output,
            rank=rank,
            communicator=communicator,
            start=start or "worst",
            headers=HEADERS if headers is None else headers,
            engine=engine or REFERENCE,
            config=replay_config(**replay),
            clock_mhz=clock,
            force=force,
            progress=progress,
        )
    tables.line(
        f"{trace.name}: rank {found.rank} from its operation {tables.count(found.operation)} on, "
        f"{tables.time(found.at_ns)} after the start; "
        f"its deepest search has a depth of {tables.count(found.depth)}"
    )
    tables.line(f"{output / LIST_FILE}: {found.posted} posted, {found.unexpected} unexpected")
    end = "; a cancel of a posted receive ends them" if found.cancelled else ""
    tables.line(f"{output / HEADERS_FILE}: {tables.count(found.headers)} headers{end}")
