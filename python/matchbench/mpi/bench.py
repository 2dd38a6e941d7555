# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measures what depth costs the user's MPI: builds `bench.c` and runs it series by series.

Each series is a run of its own, so that one which hangs or dies takes no other with it. `docs/mpi-bench.md`
tells what is measured, `spec/mpi-bench.md` the form of the results.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matchbench._native import MatchbenchError
from matchbench.mpi.bench_protocol import MARK, Heard, Hello, Memory
from matchbench.mpi.curves import Curve, Point, curve, point
from matchbench.mpi.launch import Ended, Mpi, why
from matchbench.native_types import Progress

SOURCES = tuple(Path(__file__).parent / name for name in ("bench.c", "place.c"))
"""The measuring program."""

DEEPEST_DRAIN = 8192
"""Deepest queue that is drained: draining a list in reverse order takes time with the square, in entries."""

MOST_QUEUED = 8192
"""Most items whose memory is measured."""

DEEPEST = 32751
"""Deepest queue at all: every MPI has 32767 tags, and 16 are ours."""

KINDS = ("preposted", "unexpected", "probe", "drain_posted", "drain_unexpected")
"""What is timed, in the order of tables."""

SERIES = (
    "preposted/tags",
    "preposted/sources",
    "preposted/communicators",
    "preposted/any_source",
    "preposted/same_tag",
    "preposted/target_any",
    "preposted/aged",
    "unexpected/tags",
    "unexpected/sources",
    "unexpected/communicators",
    "unexpected/any_source",
    "unexpected/same_tag",
    "unexpected/aged",
    "drain_posted/in_order",
    "drain_posted/reverse",
    "drain_posted/random",
    "drain_unexpected/in_order",
    "drain_unexpected/reverse",
    "drain_unexpected/random",
    "memory/posted",
    "memory/unexpected_small",
    "memory/unexpected_large",
)
"""The series of `bench.c`: what is timed, and what is ahead in the queue or in which order it is emptied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured, how often and how long.

    Parameters
    ----------
    depths
        Entries that are queued, ascending, without repetition.
    sweeps
        Repetitions of each depth.
    budget_us
        Time that one repetition at one depth may take, in microseconds; five operations are the least.
    source_ranks
        Ranks of the series with messages from other sources; all but two are those sources.
    stall_seconds
        A run that says nothing for so long is ended.
    pin
        Whether the program gives each of its two ranks a core of its own where the launcher did not.
    series
        Names from `SERIES`.
    """

    depths: tuple[int, ...] = (0, *(1 << power for power in range(15)))
    sweeps: int = 7
    budget_us: int = 20_000
    source_ranks: int = 18
    stall_seconds: float = 60.0
    pin: bool = True
    series: tuple[str, ...] = SERIES

    def __post_init__(self) -> None:
        """Refuse what cannot be measured.

        Raises
        ------
        MatchbenchError
            With what is wrong.
        """
        if not self.depths or list(self.depths) != sorted(set(self.depths)):
            msg = "depths must ascend"
            raise MatchbenchError(msg)
        if self.depths[0] < 0 or self.depths[-1] > DEEPEST:
            msg = f"depths must be from 0 to {DEEPEST}: distinct tags take no more"
            raise MatchbenchError(msg)
        if unknown := [name for name in self.series if name not in SERIES]:
            msg = f"{unknown[0]}: no such series; there are {', '.join(SERIES)}"
            raise MatchbenchError(msg)
        for name, value, least in (
            ("sweeps", self.sweeps, 1),
            ("budget_us", self.budget_us, 1),
            ("source_ranks", self.source_ranks, 3),
            ("stall_seconds", self.stall_seconds, 1),
        ):
            if value < least:
                msg = f"{name} must be at least {least}, not {value}"
                raise MatchbenchError(msg)

    def depths_of(self, series: str) -> tuple[int, ...]:
        """Give the depths of a series; none when its depths are all too great or too small."""
        kind = series.partition("/")[0]
        if kind == "memory":
            return (min(self.depths[-1], MOST_QUEUED),) if self.depths[-1] else ()
        if kind.startswith("drain"):
            return tuple(depth for depth in self.depths if 0 < depth <= DEEPEST_DRAIN)
        return self.depths


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What one series gave.

    Parameters
    ----------
    kind, pattern
        What was timed, and what was ahead in the queue or in which order it was emptied.
    points
        By depth, ascending.
    times
        All repetitions by depth, ns.
    """

    kind: str
    pattern: str
    points: tuple[Point, ...]
    times: Mapping[int, Sequence[float]]

    @property
    def name(self) -> str:
        """Kind and pattern."""
        return f"{self.kind}/{self.pattern}"

    @property
    def curve(self) -> Curve | None:
        """What it says; nothing for the emptying of a queue, which visits half of it on the average."""
        return None if self.kind.startswith("drain") or not self.points else curve(self.times)


@dataclass(slots=True, kw_only=True)
class Measurement:
    """Everything that was measured.

    Parameters
    ----------
    mpi
        Compiler and launcher.
    plan
        What was asked for.
    hello
        Place and library, of the first run that said so.
    series
        What was timed, in the order of `SERIES`.
    memory
        Memory of queued items, by pattern.
    remarks
        Series name -> what kept it from being whole.
    """

    mpi: Mpi
    plan: Plan
    hello: Hello
    series: list[Series] = field(default_factory=list)
    memory: dict[str, Memory] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Series | None:
        """Find a series by kind and pattern."""
        return next((series for series in self.series if series.name == name), None)

    def curve(self, name: str) -> Curve | None:
        """Give what a series says, if it was measured."""
        series = self.find(name)
        return series.curve if series else None


def measure(mpi: Mpi, plan: Plan, scratch: Path, tell: Progress = lambda *_: None) -> Measurement:
    """Build the program and run every series of a plan.

    Parameters
    ----------
    mpi
        What is measured.
    plan
        What of it.
    scratch
        A directory that all hosts see; the program is built there and removed.
    tell
        Told of progress.

    Raises
    ------
    MatchbenchError
        When the program cannot be built, or when no run gave anything, with the first run's reason.
    """
    program = scratch / "mpi-bench"
    mpi.build(SOURCES, program)
    wanted = [(name, plan.depths_of(name)) for name in SERIES if name in plan.series and plan.depths_of(name)]
    steps = [1 if name.startswith("memory/") else len(depths) * plan.sweeps for name, depths in wanted]
    result: Measurement | None = None
    try:
        for at, (name, depths) in enumerate(wanted):
            before = sum(steps[:at])
            heard, remark = _watched(
                mpi,
                plan,
                program,
                name,
                depths,
                lambda done, before=before: tell(before + done, sum(steps)),  # type: ignore[misc] # its type cannot be told
            )
            if result is None:
                if heard.hello is None:
                    msg = f"{name} did not start: {remark}"
                    raise MatchbenchError(msg)
                result = Measurement(mpi=mpi, plan=plan, hello=heard.hello)
            if remark:
                result.remarks[name] = remark
            result.series += _series(name.partition("/")[2], heard)
            if heard.memory:
                result.memory[name.partition("/")[2]] = heard.memory
    finally:
        program.unlink(missing_ok=True)
    if result is None:
        msg = "no depth is left to measure"
        raise MatchbenchError(msg)
    order = {kind: at for at, kind in enumerate(KINDS)}
    result.series.sort(key=lambda series: order[series.kind])
    return result


def _watched(
    mpi: Mpi, plan: Plan, program: Path, name: str, depths: Sequence[int], tell: Callable[[int], None]
) -> tuple[Heard, str | None]:
    """Run one series; one that hangs or dies is run again without the depth it came to and deeper ones."""
    heard, ended = _run(mpi, plan, program, name, depths, tell)
    if heard.finished:
        return heard, None
    reason = heard.error or why(ended, mpi.flavour)
    if heard.at is None or heard.error:
        return heard, reason
    kind, depth, sweep = heard.at
    remark = f"ends before depth {depth} ({kind}): {reason}"
    shallower = [each for each in depths if each < depth]
    if not shallower or name.startswith("memory/"):
        return heard, remark
    if sweep > 0:
        # It had come past this depth before: what is there is whole but for the last sweep.
        return heard, f"ends in repetition {sweep + 1} at depth {depth} ({kind}): {reason}"
    again, _ = _run(mpi, plan, program, name, shallower, tell)
    return (again if len(again.samples) >= len(heard.samples) else heard), remark


def _run(
    mpi: Mpi, plan: Plan, program: Path, name: str, depths: Sequence[int], tell: Callable[[int], None]
) -> tuple[Heard, Ended]:
    heard = Heard()

    def take(line: str) -> None:
        heard.take(line)
        tell(len({(sample.depth, sample.sweep) for sample in heard.samples}))

    sources = name.endswith("/sources")
    words: list[str | Path] = [
        program,
        name,
        ",".join(map(str, depths)),
        str(plan.sweeps),
        str(plan.budget_us),
        str(int(plan.stall_seconds) + 30),  # ranks end themselves later than we would end them
        str(int(plan.pin)),
    ]
    ended = (mpi.crowded() if sources else mpi).run(
        plan.source_ranks if sources else 2, words, mark=MARK, on_line=take, stall_seconds=plan.stall_seconds
    )
    if heard.error == "started as a program of one rank":
        heard.error = mpi.mismatch()
    return heard, ended


def _series(pattern: str, heard: Heard) -> list[Series]:
    """Sort the samples of a run by what was timed and by depth."""
    found = []
    for kind in KINDS:
        times: dict[int, list[float]] = {}
        operations: dict[int, int] = {}
        for sample in heard.samples:
            if sample.kind == kind:
                times.setdefault(sample.depth, []).append(sample.ns)
                operations[sample.depth] = operations.get(sample.depth, 0) + sample.operations
        if times:
            points = tuple(point(depth, times[depth], operations[depth]) for depth in sorted(times))
            found.append(Series(kind=kind, pattern=pattern, points=points, times=times))
    return found


def library_name(version: str) -> str:
    """Shorten what `MPI_Get_library_version` says to name and version."""
    for pattern, name in (
        (r"Open MPI v?([\w.]+)", "Open MPI"),
        (r"MPICH Version:\s*([\w.]+)", "MPICH"),
        (r"Intel\(R\) MPI Library ([\w.]+)", "Intel MPI"),
        (r"MVAPICH2? Version\s*:\s*([\w.]+)", "MVAPICH"),
    ):
        if found := re.search(pattern, version):
            return f"{name} {found[1]}"
    return (version.strip().splitlines() or ["unknown MPI"])[0][:60].strip() or "unknown MPI"


def transport(hello: Hello) -> str:
    """Say which way messages go, as far as loaded components and the library's own words tell."""
    parts = [device] if (device := _device(hello)) else []
    parts += [
        f"{framework} {' '.join(names)}"
        for framework in ("pml", "mtl", "btl")
        if (names := _components(hello, framework))
    ]
    parts += [
        f"{name} loaded"
        for prefix, name in (("libucp", "UCX"), ("libfabric", "libfabric"), ("libpsm", "PSM"))
        if any(library.startswith(prefix) for library in hello.libraries)
    ]
    return ", ".join(parts or hello.environment) or "unknown"


def short_name(hello: Hello) -> str:
    """Name the library, and behind it what of its transport tells two runs of it apart."""
    name = library_name(hello.library)
    if device := _device(hello):
        return f"{name} ({device})"
    for framework in ("mtl", "pml"):
        if names := _components(hello, framework):
            return f"{name} ({framework} {' '.join(names)})"
    return name


def _device(hello: Hello) -> str | None:
    """Give MPICH's device, as `ch4:ucx`."""
    found = re.search(r"MPICH Device:\s*(\S+)", hello.library)
    return found[1] if found else None


def _components(hello: Hello, framework: str) -> list[str]:
    """Name the components of one of Open MPI's frameworks that are loaded or known to the tools interface."""
    known = [f"mca_{component}.so" for component in hello.components]
    found = (re.match(rf"mca_{framework}_(\w+)\.so", library) for library in (*hello.libraries, *known))
    return list(dict.fromkeys(match[1] for match in found if match))
