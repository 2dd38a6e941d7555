# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report of `matchbench mpi conform`: as text, as JSON (`spec/mpi-conform.md`), and as C files."""

import datetime as dt
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matchbench import __version__
from matchbench._native import revision
from matchbench.display import tables
from matchbench.mpi import stack
from matchbench.mpi.conform_budget import SHARES
from matchbench.mpi.conform_plan import KINDS, Conformance, Failure, LeftOut, Plan, Shrinking
from matchbench.mpi.launch import Mpi

MARKER = "mpi-conform.json"
FORMAT = "matchbench-mpi-conform"
VERSION = 2
_SHOWN = 3  # failures printed in full


def show(found: Conformance, plan: Plan, mpi: Mpi) -> None:
    """Print the results of a search."""
    counts = found.counts
    for line in stack.description(mpi, found.stack):
        tables.line(line)
    tables.line()
    rows = [
        (
            "programs",
            f"{found.passed(for_order=False)} of {plan.programs} run, {plan.ranks} ranks, seed {plan.seed}",
        ),
        ("for order alone", _for_order(found, plan)),
        ("steps", f"{counts['steps']}"),
        ("results checked", f"{counts['outcomes']}"),
        (
            "messages received",
            f"{counts['received']} by receives, {counts['matched_probes']} by matched probes",
        ),
        (
            "among them",
            f"{counts['across_groups']} between two groups, {counts['truncated']} truncated",
        ),
        (
            "sends and requests",
            f"{counts['ready']} ready, {counts['buffered']} buffered,"
            f" {counts['started_together']} started together",
        ),
        (
            "received with",
            f"{counts['isendrecv']} MPI_Isendrecv, {counts['derived']} derived datatypes, "
            f"{counts['wide']} MPI_Count",
        ),
        (
            "received by",
            f"{counts['partitioned']} partitioned receives, "
            f"{counts['in_sessions']} in communicators of sessions",
        ),
        (
            "threads",
            f"{counts['threaded']} programs with several, "
            f"{counts['shared_threads']} of them on one communicator",
        ),
        ("drain phase", f"{counts['left_to_the_end']} messages received"),
        ("receives cancelled", f"{counts['cancelled']}"),
        (
            "probes",
            f"{counts['probes_found']} found a message without taking it, "
            f"{counts['probes_missed']} found none",
        ),
        ("more than one outcome", f"permitted for at least {counts['free']} programs"),
        ("no order of arrivals", f"explains {counts['unexplained_by_arrival']} programs, which MPI permits"),
        ("not in this library", ", ".join(found.lacks) or "nothing"),
        (
            "time",
            f"{found.seconds:.0f} s of {plan.budget_seconds:g}; "
            f"{1000 * found.longest_seconds:.0f} ms for the longest program, "
            f"limit {found.limit_seconds:.1f} s",
        ),
        ("restarts", f"{found.restarts}"),
        ("failed", f"{len(found.failures)}{_by_kind(found)}"),
    ]
    width = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        tables.line(f"{name:<{width}}{value}")
    for failure in _first_of_each_kind(found)[:_SHOWN]:
        tables.line(f"\n{failure.title}: {failure.kind}: {failure.text}")
        if failure.said:
            tables.line(failure.said)
    for remark in found.remarks:
        tables.line(f"\n{remark}")


def by_importance(shrinkings: Sequence[Shrinking]) -> list[Shrinking]:
    """Order what is shrunk: violations of the order first, unconfirmed hangs last."""
    return sorted(shrinkings, key=lambda one: (one.is_unconfirmed, KINDS.index(one.failure.kind)))


def show_unconfirmed(found: Conformance) -> None:
    """Print the hangs that were not repeated."""
    if found.unconfirmed:
        tables.line(
            f"\nunconfirmed hangs: {len(found.unconfirmed)} programs exceeded their time limit in "
            "1 of 1 runs, and no time was left to repeat them: "
            f"{_listed([one.title for one in found.unconfirmed])}"
        )


def show_searched(found: Conformance, plan: Plan) -> None:
    """Print what was searched, what was left out, and why the search ended; nothing if all was searched."""
    suspected = [
        *(f"program {number}" for number in found.suspected),
        *(f"order program {number}" for number in found.suspected_for_order),
    ]
    if suspected:
        tables.line(
            f"\n{len(suspected)} programs exceeded a learned time limit and ended when they were "
            f"repeated: {_listed(suspected)}"
        )
    if found.stopped == "complete" and not found.left_out:
        return
    tables.line("\nwhat was searched:")
    for kind, searched in found.searched().items():
        share = (
            "in full" if searched >= plan.programs else f"not in full: {searched} of {plan.programs} programs"
        )
        failed = found.failures_of(kind)
        tables.line(f"  {kind:<12}{share}{f', {failed} failed' if failed else ''}")
    for one in found.left_out:
        tables.line(f"  {_left_out_text(one, found)}")
    tables.line(f"  the search ended: {stopped_text(found, plan)}")


def stopped_text(found: Conformance, plan: Plan) -> str:
    """Say why the search ended."""
    reasons = {
        "complete": "every kind of failure was searched for in the planned number of programs",
        "budget": f"the budget of {plan.budget_seconds:g} s was used up; a longer --budget continues further",
        "no trials left": "nearly every program has a trait that the failing programs need",
        "interrupted": "it was interrupted",
    }
    return reasons.get(found.stopped, found.stopped)


def show_shrunk(
    shrinking: Shrinking, source: str | None, place: str | None, shown: Sequence[str], *, is_printed: bool
) -> None:
    """Print the result of a shrinking, finished or not.

    Parameters
    ----------
    shrinking
        The result.
    source
        The C file, if there is one.
    place
        Path of the C file, if it is written.
    shown
        Shell commands that build the C file and show the failure.
    is_printed
        Whether the C file is printed.
    """
    title, best = shrinking.failure.title, shrinking.best
    if best is None:
        why = {"not seen again": "did not fail again"}.get(
            shrinking.state, f"did not fail again before the shrinking ended ({shrinking.state})"
        )
        if not shrinking.seconds:
            why = "was not shrunk: the budget was used up"
        tables.line(f"\n{title} ({shrinking.failure.kind}) {why}")
        return
    end = (
        ""
        if shrinking.state == "complete"
        else f"; shorter ones were not tried to the end ({shrinking.state})"
    )
    if shrinking.is_unconfirmed:
        title = f"unconfirmed: {title}"
    tables.line(
        f"\n{title} in {best.programs.steps(best.index)} steps; "
        f"it failed {best.failed} times in {best.runs} runs{end}"
    )
    tables.line(best.programs.text(best.index).rstrip())
    tables.line(best.text)
    if place is not None:
        tables.line(f"C file: {place}; to see the failure again:")
        tables.line(f"  cd {shlex.quote(str(Path(place).parent))} && {' && '.join(shown)}")
    elif source is not None and is_printed:
        tables.line(f"\n{source}")


def c_source(shrinking: Shrinking, plan: Plan, found: Conformance, mpi: Mpi) -> str | None:
    """Write the reproducer of a shrunk program; `None` if it never failed again."""
    best, failure = shrinking.best, shrinking.failure
    if best is None:
        return None
    without = f"without {', '.join(failure.without)}, " if failure.without else ""
    remarks = [
        f"Generated by matchbench {__version__}: seed {plan.seed}, {failure.title}, {without}"
        f"shrunk to {best.programs.steps(best.index)} steps.",
        f"Failed {best.failed} times in {best.runs} runs on:",
        *stack.description(mpi, found.stack),
        "",
        "Observed:",
        best.text,
        "",
        "The steps:",
        best.programs.text(best.index),
    ]
    return best.programs.c_source(
        best.index, remarks, best.files, plan.limit_seconds, commands=commands(shrinking, mpi)
    )


def commands(shrinking: Shrinking, mpi: Mpi) -> list[str]:
    """Give the shell commands that build the reproducer of a program and show its failure."""
    if shrinking.best is None:
        return []
    name = shrinking.failure.name
    ranks = shrinking.best.programs.ranks
    return [f"{mpi.compiler} -pthread -o {name} {name}.c", stack.shell_command(mpi, ranks, [f"./{name}"])]


def source_name(name: str) -> str:
    """Name the C file of a program."""
    return f"{name}.c"


def as_object(found: Conformance, plan: Plan, mpi: Mpi) -> dict[str, Any]:
    """Give the report object defined by `spec/mpi-conform.md`."""
    shrinkings = {one.failure.name: one for one in found.shrinkings}

    def shrunk_object(failure: Failure) -> dict[str, Any] | None:
        one = shrinkings.get(failure.name)
        if one is None or one.best is None:
            return None
        best = one.best
        return {
            "steps": best.programs.text(best.index).splitlines(),
            "traits": best.programs.traits(best.index),
            "text": best.text,
            "runs": best.runs,
            "failed": best.failed,
            "state": one.state,
            "seconds": round(one.seconds, 3),
            "source": source_name(failure.name),
            "commands": commands(one, mpi),
        }

    return {
        "format": FORMAT,
        "version": VERSION,
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "matchbench": {"version": __version__, "revision": revision()},
        "mpi": {**stack.as_object(mpi, found.stack), "lacks": list(found.lacks)},
        "plan": asdict(plan),
        "asked": found.asked,
        "seconds": round(found.seconds, 3),
        "shares": {
            share: {"share": SHARES[share], "seconds": round(found.used.get(share, 0.0), 3)}
            for share in SHARES
        },
        "limit_seconds": round(found.limit_seconds, 3),
        "longest_seconds": round(found.longest_seconds, 6),
        "restarts": found.restarts,
        "counts": dict(found.counts),
        "unexplained_program": found.unexplained,
        "stopped": found.stopped,
        "searched": found.searched(),
        "left_out": [asdict(one) for one in found.left_out],
        "suspected": found.suspected,
        "suspected_for_order": found.suspected_for_order,
        "unconfirmed": [
            {"number": one.number, "for_order": one.for_order, "without": list(one.without)}
            for one in found.unconfirmed
        ],
        "failures": [
            {
                "number": failure.number,
                "kind": failure.kind,
                "text": failure.text,
                "said": failure.said,
                "without": list(failure.without),
                "for_order": failure.for_order,
                "shrunk": shrunk_object(failure),
            }
            for failure in found.failures
        ],
        "remarks": found.remarks,
    }


def _by_kind(found: Conformance) -> str:
    kinds = [f"{count} {kind}" for kind, count in found.kinds().items()]
    return f": {', '.join(kinds)}" if kinds else ""


def _for_order(found: Conformance, plan: Plan) -> str:
    """Say what the search for the order of matching alone has done, and in how much time."""
    seconds = found.used.get("order", 0.0)
    run = found.passed(for_order=True) + sum(one.for_order for one in found.failures)
    if not run and not seconds:
        return "no programs were needed: none hung or crashed"
    return (
        f"{run} programs and their shrinking in {seconds:.0f} s; "
        f"{SHARES['order']:.0%} of the budget are {SHARES['order'] * plan.budget_seconds:.0f} s"
    )


def _first_of_each_kind(found: Conformance) -> list[Failure]:
    """Give the first failure of each kind, violations of the order first."""
    first: dict[str, Failure] = {}
    for failure in found.failures:
        first.setdefault(failure.kind, failure)
    return sorted(first.values(), key=lambda failure: KINDS.index(failure.kind))


def _left_out_text(one: LeftOut, found: Conformance) -> str:
    basis = "the shrunk program needs it" if one.is_shrunk else "the failing programs share it"
    how = (
        "programs were generated without it"
        if one.is_generated
        else f"{one.passed_over} that have it were passed over"
    )
    failures = [*found.failures, *found.unconfirmed]
    with_it = sum(failure.kind == one.kind and one.trait in failure.traits for failure in failures)
    since = f"{'order ' if one.for_order else ''}program {one.since}"
    return f"{one.kind}: {with_it} failed programs have {one.trait}, {basis}; from {since} on {how}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
