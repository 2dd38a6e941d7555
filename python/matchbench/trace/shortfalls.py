# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a trace lacks, in sentences: `record`, `trace` and `compare` print the same ones.

How its ranks ended, what they did that is not recorded in detail, and how far they shared processors
(`spec/trace.md`, sections 3, 9 and 10).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from matchbench import _native
from matchbench.native_types import TraceState

STATES: tuple[TraceState, ...] = ("complete", "stopped", "cut", "aborted")
"""The states of a rank and of a trace, in order: a trace has the last one that one of its ranks has."""

WHY: dict[TraceState, str] = {
    "complete": "with the last finalization of MPI",
    "stopped": "its recorder stopped (a full disk or another limit); the reason is on standard error",
    "cut": "it ended without MPI_Finalize (a signal, exit or a fatal error)",
    "aborted": "it called MPI_Abort",
}
"""What each state means."""

SHARED = 0.05
"""Share of the time in which ranks waited for processors above which a trace says so; assumed."""

_MOST = 8  # ranks named one by one
_ON_UNKNOWN = " on a communicator that is not recorded"
_REFUSED = " that MPI refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversubscription:
    """How far the ranks of a recording shared processors.

    Parameters
    ----------
    ranks, processors
        On the host with the most ranks per processor.
    share
        Share of the time between MPI_Init and MPI_Finalize in which a rank was ready to run and waited for a
        processor, the mean of the ranks that tell; None if none does.
    """

    ranks: int
    processors: int
    share: float | None

    @property
    def is_relevant(self) -> bool:
        """Whether ranks outnumber processors, or waited for them for more than `SHARED` of the time."""
        return self.ranks > self.processors or (self.share or 0) > SHARED


def oversubscription(trace: _native.Trace) -> Oversubscription | None:
    """Return how far ranks shared processors; None if the trace does not say.

    Parameters
    ----------
    trace
        An open trace.
    """
    hosts = trace.hosts()
    if not hosts:
        return None
    ranks, processors = max(hosts, key=lambda host: host[0] / max(host[1], 1))
    delays = trace.delays_ns()
    whole_ns = sum(wall_ns for _, wall_ns in delays)
    share = sum(delay_ns for delay_ns, _ in delays) / whole_ns if whole_ns else None
    return Oversubscription(ranks=ranks, processors=processors, share=share)


def _sharing(trace: _native.Trace) -> str | None:
    found = oversubscription(trace)
    if found is None or not found.is_relevant:
        return None
    if found.ranks > found.processors:
        who = f"oversubscribed, {found.ranks} ranks on {found.processors} processors"
    else:
        who = "processors were shared with other programs"
    if found.share is None:
        return f"{who}; the trace does not say for how long ranks waited for a processor"
    share = f"{100 * found.share:.1f} % of the time after MPI_Init"
    return f"{who}: ranks were ready to run and waited for a processor for {share}"


IN_STATS = (
    "this waiting is part of the recorded time and of the time in calls, and changes the order of arrivals: "
    "unexpected messages, queue lengths, and what wildcards matched"
)
"""What shared processors do to the numbers of a recording."""

IN_REPLAY = (
    "the replay gives each rank a processor: it takes the CPU time between calls, simulates the time in "
    "calls again, and keeps what wildcards matched"
)
"""What a replay does about shared processors."""


def sharing_line(trace: _native.Trace, effect: str) -> str | None:
    """Say how far ranks shared processors, and what follows; None if they did not.

    Parameters
    ----------
    trace
        An open trace.
    effect
        `IN_STATS` or `IN_REPLAY`.
    """
    what = _sharing(trace)
    return what and f"{what}; {effect}"


def rank_lines(trace: _native.Trace) -> Iterator[str]:
    """Name each rank that is not complete, with its state, its records and the reason.

    Parameters
    ----------
    trace
        An open trace.
    """
    ends, records = trace.ends(), trace.rank_records()
    bad = [rank for rank, end in enumerate(ends) if end != "complete"]
    for rank in bad[:_MOST]:
        yield f"rank {rank}: {ends[rank]} after {records[rank]} records: {WHY[ends[rank]]}"
    if len(bad) > _MOST:
        yield f"{len(bad) - _MOST} more ranks: {_states(Counter(ends[rank] for rank in bad[_MOST:]))}"


def _states(counts: Counter[TraceState]) -> str:
    return ", ".join(f"{counts[state]} {state}" for state in reversed(STATES) if counts[state])


def state_line(trace: _native.Trace) -> str | None:
    """Say in which states the ranks of an incomplete trace are; None if the trace is complete.

    Parameters
    ----------
    trace
        An open trace.
    """
    if trace.state == "complete":
        return None
    counts = Counter(trace.ends())
    return f"the trace is {trace.state} (ranks: {_states(counts)}); what followed its records is missing"


def left_out_lines(trace: _native.Trace) -> Iterator[str]:
    """Count what the recorder saw and did not record in detail: first what matching lacks, then other calls.

    Parameters
    ----------
    trace
        An open trace.
    """
    messages: list[str] = []
    lost: list[str] = []
    refused: list[str] = []
    others: list[str] = []
    for omission, name, calls, processes in trace.left_out():
        kind = name.removesuffix(_ON_UNKNOWN)
        if processes:
            noun = "process" if processes == 1 else "processes"
            yield f"not recorded: {processes} {noun} started by {name}"
        elif name.endswith(_REFUSED):
            refused.append(f"{calls} {name.removesuffix(_REFUSED)}{'' if calls == 1 else 's'}")
        elif omission == "unknown":
            noun = "receive" if calls == 1 else "receives"
            yield (
                f"not reported by this MPI: source, tag and size of what {calls} {noun} of MPI_Isendrecv"
                " took; each is given the oldest message that fits"
            )
        elif omission == "not_replayed":
            others.append(f"{calls} {name}")
        elif name == "communicator that is not recorded":
            lost.append(f"{calls} {'communicator' if calls == 1 else 'communicators'} with such members")
        elif name == "start of a request that is not recorded":
            noun = "start of a" if calls == 1 else "starts of a"
            lost.append(f"{calls} {noun} partitioned or persistent request")
        elif kind != name:
            messages.append(f"{calls} {kind}{'' if calls == 1 else 's'}")
        elif not name.startswith("MPI_Comm_spawn"):
            lost.append(f"{calls} {name}")
    if messages:
        yield f"not recorded: {', '.join(messages)} on communicators with members outside of the trace"
    if lost:
        yield f"not recorded: {', '.join(lost)}"
    if refused:
        yield f"refused by MPI, and not replayed: {', '.join(refused)}"
    if others:
        yield f"recorded by name and time only, and not replayed: {', '.join(others)}"
