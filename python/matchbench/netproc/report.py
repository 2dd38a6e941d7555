# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Texts and files of the results of network processors."""

import json
from collections.abc import Sequence
from typing import Any

from matchbench.display import tables
from matchbench.display.output import csv_text
from matchbench.netproc import machine as netproc
from matchbench.netproc.machine import Result

MARKER = "netproc.json"
"""The file that marks a directory as one of results."""

MOST_WINDOWS = 20
"""Windows that a run prints: those of the 2000 packets of a scenario."""


Table = tuple[list[str], list[list[object]]]
"""Headings, where a leading `>` marks a column of numbers, and rows."""


def causes(result: Result) -> list[str]:
    """Return the causes of empty issue slots that occurred."""
    harts = result.report["harts"]
    names = [name for name in harts if name not in {"hart", "packets", "instructions", "used", "squashed"}]
    return [name for name in names if any(harts[name])]


def answer(results: Sequence[Result], name: str) -> str:
    """Say which processor has the highest packet rate, or of a single one what it handles."""
    return netproc.answer(results, name) if len(results) > 1 else _sentence(results[0], name)


def show_run(results: Sequence[Result], name: str) -> None:
    """Print a single run: the answer, totals, issue slots by hart and cause, caches and buses, windows."""
    (result,) = results
    tables.line(_sentence(result, name), style="bold")
    tables.line()
    for what, text in totals(result):
        tables.line(f"{what:<14}{text}")
    tables.line()
    tables.show("issue slots by hart", *slots(result))
    headings, rows = memory(result)
    if rows:
        tables.line()
        tables.show("caches, buses and predictors", headings, rows)
    _show_windows(result)


def totals(result: Result) -> list[tuple[str, str]]:
    """Give the totals of a run: what, and a text."""
    summary, report = result.summary, result.report
    completed = summary["forwarded"] + summary["consumed"] + summary["dropped"]
    per_packet = summary["instructions"] / completed if completed else None
    clock = tables.decimal(report["clock_mhz"])
    instructions = f"{_count(summary['instructions'])} instructions, {tables.decimal(per_packet)} per packet"
    fates = ["forwarded", "consumed", "dropped", "refused", "queued", "in_flight"]
    parts = [f"{_count(summary[fate])} {fate.replace('_', ' ')}" for fate in fates if summary[fate]]
    reasons = ", ".join(f"{_count(packets)} {reason}" for reason, packets in report["dropped"].items())
    handled = ", ".join(f"{_count(packets)} {name}" for name, packets in report["applications"].items())
    order = f"{_count(summary['reordered'])} packets behind a later one of their flow"
    marks = (("median", "median"), ("99 %", "p99"), ("99.9 %", "p999"), ("most", "max"))
    latencies = ", ".join(f"{mark} {tables.time(summary[f'latency_{key}_ns'])}" for mark, key in marks)
    queue = (
        f"{tables.decimal(summary['queue_mean'])} packets on average, {_count(summary['queue_max'])} at most"
    )
    return [
        ("time", f"{tables.time(summary['time_ns'])}, {_count(summary['cycles'])} cycles at {clock} MHz"),
        ("start", f"{_count(summary['start_instructions'])} instructions, executed without timing"),
        ("work", f"{instructions}, {tables.decimal(summary['ipc'])} per cycle"),
        ("packets", f"{_count(summary['offered'])} in: {', '.join(parts)}"),
        *([("drops", reasons)] if reasons else []),
        ("applications", handled),
        ("checked", f"{_count(summary['checked'])} decisions, {_count(summary['mismatches'])} wrong"),
        ("order", f"{order}, a packet overtaken by {_count(summary['most_overtaken'])} at most"),
        ("latency", latencies),
        ("input queue", queue),
    ]


def _sentence(result: Result, name: str) -> str:
    """Say how many packets the processor handles, or that it stopped."""
    summary = result.summary
    rate = netproc.rate(result.packets_per_second)
    handles = f"{result.architecture} handles {rate} of {name}"
    if result.report["error"] is not None:
        return f"{result.architecture} stopped at an error; until then it handled {rate}."
    if summary["refused"]:
        lost = tables.share(summary["refused"] / summary["offered"])
        return f"{handles}; {lost} of the packets found the input queue full."
    return f"{handles}, {tables.decimal(summary['ipc'])} instructions per cycle."


def slots(result: Result) -> Table:
    """Give the share of issue slots by hart: used, squashed, and empty by cause."""
    harts = result.report["harts"]
    empty = causes(result)
    rows: list[list[object]] = []
    total = sum(harts["used"]) + sum(sum(harts[name]) for name in empty)
    for place, hart in enumerate(harts["hart"]):
        parts = [harts["used"][place] - harts["squashed"][place], harts["squashed"][place]]
        parts += [harts[name][place] for name in empty]
        role = "OS" if hart == 0 else ""
        shares = [tables.share(part / total) if total else None for part in parts]
        rows.append(
            [hart, role, _count(harts["packets"][place]), _count(harts["instructions"][place]), *shares]
        )
    fixed = [">hart", "role", ">packets", ">instructions", ">executed", ">squashed"]
    return [*fixed, *(f">{name}" for name in empty)], rows


def memory(result: Result) -> Table:
    """Give the counts of caches, buses and predictors; without a pipeline there are none."""
    found = result.report["memory"]
    busy = result.summary["cycles"] or 1
    rows: list[list[object]] = [
        [what, _count(number), tables.share(number / busy) if "busy" in what else None]
        for what, number in zip(found["what"], found["count"], strict=True)
    ]
    return ["what", ">count", ">of the cycles"], rows


def _show_windows(result: Result) -> None:
    """Print rate, issue slots of all harts, caches and buses, window by window."""
    windows = result.report["windows"]
    if not windows["packets"]:
        return
    empty = causes(result) if result.report["memory"]["what"] else []
    rows = []
    for place, packets in enumerate(windows["packets"][:MOST_WINDOWS]):
        row = {name: values[place] for name, values in windows.items()}
        cells: list[str | None] = [
            tables.time(row["end_ns"]),
            _count(packets),
            _count(round(row["packets_per_second"])),
            tables.decimal(row["ipc"]),
        ]
        if empty:
            total = row["used"] + sum(row[name] for name in empty)
            parts = [row["used"] - row["squashed"], row["squashed"], *(row[name] for name in empty)]
            cells += [tables.share(part / total) if total else None for part in parts]
            cells += [_count(row["l1d misses"]), _count(row["l2 misses"])]
            busy = row["cycles"] or 1
            cells += [tables.share(row[f"{bus} busy cycles"] / busy) for bus in ("l1-l2 bus", "memory bus")]
        rows.append(cells)
    columns = [">end", ">packets", ">packets/s", ">IPC"]
    spare: list[set[int]] = []
    if empty:
        shown = ["executed", "squashed", *empty, "l1d misses", "l2 misses", "l1-l2 bus", "memory bus"]
        columns += [f">{name}" for name in shown]
        # A narrow terminal omits all but the shares of executed instructions and of the buses.
        spare = [set(range(5, 6 + len(empty))), {6 + len(empty), 7 + len(empty)}]
    tables.line()
    tables.show("windows of 100 packets", columns, rows, spare=spare)
    more = len(windows["packets"]) - MOST_WINDOWS
    if more > 0:
        tables.line(f"and {_count(more)} more windows; `-o DIR` writes all of them")


def _rates(result: Result) -> list[float]:
    """Return the rates of the whole windows; the last one may have fewer packets."""
    windows = result.report["windows"]
    pairs = zip(windows["packets"], windows["packets_per_second"], strict=True)
    return [rate for packets, rate in pairs if packets == windows["packets"][0]]


def show_comparison(results: Sequence[Result], name: str) -> None:
    """Print which processor has the highest packet rate, then a row for each."""
    tables.line(netproc.answer(results, name), style="bold")
    tables.line()
    tables.show(None, *comparison(results), spare=({8}, {9, 10}, {3, 4}))


def comparison(results: Sequence[Result]) -> Table:
    """Give a row for each processor."""
    first = next((result.packets_per_second for result in results if result.passed), None)
    rows: list[list[object]] = []
    for result in results:
        summary = result.summary
        relative = result.packets_per_second / first if first and result.passed else None
        rates = _rates(result)
        memory = dict(zip(result.report["memory"]["what"], result.report["memory"]["count"], strict=True))
        cycles = summary["cycles"] or 1
        rows.append(
            [
                result.architecture,
                _count(round(result.packets_per_second)),
                tables.decimal(relative),
                _count(round(min(rates))) if rates else None,
                _count(round(max(rates))) if rates else None,
                tables.decimal(summary["ipc"]),
                tables.time(summary["latency_median_ns"]),
                tables.time(summary["latency_p99_ns"]),
                _count(summary["reordered"]),
                tables.share(memory["l1-l2 bus busy cycles"] / cycles) if memory else None,
                tables.share(memory["memory bus busy cycles"] / cycles) if memory else None,
                "yes" if result.passed else "no",
            ]
        )
    columns = [
        "architecture",
        ">packets/s",
        ">relative",
        ">slowest 100",
        ">fastest 100",
        ">IPC",
        ">latency",
        ">99 %",
    ]
    columns += [">reordered", ">L2 bus", ">memory bus", "checked"]
    return columns, rows


def json_text(results: Sequence[Result], name: str) -> str:
    """Format everything as JSON.

    Parameters
    ----------
    results, name
        Runs of the same packets, and the name of the packets.
    """
    return f"{json.dumps(everything(results, name), indent=1)}\n"


def csv_of_totals(results: Sequence[Result], name: str) -> str:
    """Format totals as CSV.

    Parameters
    ----------
    results, name
        Runs of the same packets, and the name of the packets.
    """
    head = ["traffic", "architecture", *results[0].summary, "error"]
    rows = [[name, each.architecture, *each.summary.values(), each.report["error"] or ""] for each in results]
    return csv_text([head, *rows])


def everything(results: Sequence[Result], name: str) -> dict[str, Any]:
    """Return the runs of the same packets, which have this name, for JSON."""
    return {"traffic": name, "runs": [_everything(result) for result in results]}


def _everything(result: Result) -> dict[str, Any]:
    """Return a run for JSON, without the diagram, which has a file of its own."""
    report: dict[str, Any] = {key: value for key, value in result.report.items() if key != "kanata"}
    return (
        {"architecture": result.architecture, "parameters": result.parameters}
        | report
        | {"summary": result.summary}
    )


def _count(number: int) -> str:
    return tables.count(number)
