# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measures what queue depth costs the user's MPI: builds `bench.c` and runs it once for each series.

A series that hangs or crashes does not affect the others. `docs/mpi-bench.md` describes what is measured,
`spec/mpi-bench.md` the format of the results.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matchbench._native import MatchbenchError, bench_sources, unknown_name
from matchbench.display.output import write_file
from matchbench.display.partial import Scratch
from matchbench.mpi.bench_protocol import MARK, Hello, Memory, RunOutput
from matchbench.mpi.curves import Curve, Point, curve, point
from matchbench.mpi.launch import Ended, Mpi, why
from matchbench.native_types import Progress

DEEPEST_DRAIN = 8192
"""Largest number of entries that is drained: in reverse order a list takes quadratic time."""

MOST_QUEUED = 8192
"""Largest number of items for the measurement of memory."""

DEEPEST = 32751
"""Largest depth: an MPI guarantees tags up to 32767, and the program uses 16 for itself."""

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
"""The series of `bench.c`: what is timed, and which entries are ahead or in which order a queue drains."""


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
        Time budget of one repetition at one depth, in microseconds; at least five operations are made.
    source_ranks
        Ranks of the series with messages from other sources; all but two of them are sources.
    stall_seconds
        A run without output for this time is terminated.
    pin
        Whether the program pins its two ranks to different cores if the launcher did not.
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
        """Check the plan.

        Raises
        ------
        MatchbenchError
            When a value is out of range.
        """
        if not self.depths or list(self.depths) != sorted(set(self.depths)):
            found = ",".join(map(str, self.depths))
            msg = f"depths: found {found or 'none'}, expected ascending numbers"
            raise MatchbenchError(msg)
        if self.depths[0] < 0 or self.depths[-1] > DEEPEST:
            found = f"{self.depths[0]} to {self.depths[-1]}"
            msg = f"depths: found {found}, expected 0 to {DEEPEST}: an MPI has no more distinct tags"
            raise MatchbenchError(msg)
        if unknown := [name for name in self.series if name not in SERIES]:
            raise MatchbenchError(unknown_name("series", unknown[0], SERIES))
        for name, value, least in (
            ("sweeps", self.sweeps, 1),
            ("budget_us", self.budget_us, 1),
            ("source_ranks", self.source_ranks, 3),
            ("stall_seconds", self.stall_seconds, 1),
        ):
            if value < least:
                msg = f"{name}: found {value}, expected {least} or more"
                raise MatchbenchError(msg)

    def depths_of(self, series: str) -> tuple[int, ...]:
        """Give the depths at which a series is measured, which may be none."""
        kind = series.partition("/")[0]
        if kind == "memory":
            return (min(self.depths[-1], MOST_QUEUED),) if self.depths[-1] else ()
        if kind.startswith("drain"):
            return tuple(depth for depth in self.depths if 0 < depth <= DEEPEST_DRAIN)
        return self.depths


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The result of one series.

    Parameters
    ----------
    kind, pattern
        What was timed, and which entries were ahead or in which order the queue was drained.
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
        """Cost and growth; None for a drained queue, whose searches visit half of it on average."""
        return None if self.kind.startswith("drain") or not self.points else curve(self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRun:
    """What the run of one series gave, and why it is incomplete, if it is."""

    output: RunOutput
    remark: str | None


@dataclass(slots=True, kw_only=True)
class Measurement:
    """All results of a measurement.

    Parameters
    ----------
    mpi
        Compiler and launcher.
    plan
        What was requested.
    hello
        Host and library, as the first run reported them.
    series
        The series, ordered by what was timed.
    memory
        Memory of queued items, by pattern.
    remarks
        Series name -> why it is incomplete.
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
        """Give the curve of a series, if it was measured."""
        series = self.find(name)
        return series.curve if series else None


def _keep_nothing(_name: str, _run: SeriesRun) -> None:
    """Keep no finished series."""


def measure(
    mpi: Mpi,
    plan: Plan,
    scratch: Path,
    tell: Progress = lambda *_: None,
    *,
    earlier: Mapping[str, SeriesRun] | None = None,
    keep: Callable[[str, SeriesRun], None] = _keep_nothing,
) -> Measurement:
    """Build the program and run every series of a plan.

    Parameters
    ----------
    mpi
        The MPI to measure.
    plan
        What to measure.
    scratch
        A directory that all hosts share; the program is built there and removed.
    tell
        Called as `tell(done, total)`.
    earlier
        Series that an interrupted measurement finished; they are not run again.
    keep
        Called with the name and the run of each series that was finished.

    Raises
    ------
    MatchbenchError
        When the program cannot be built or does not start.
    """
    program = scratch / "mpi-bench"
    earlier = earlier or {}
    wanted = wanted_series(plan)
    if not wanted:
        msg = "depths: no series can be measured at these depths; name others with --depths"
        raise MatchbenchError(msg)
    if any(name not in earlier for name, _ in wanted):
        with Scratch() as folder:
            for name, text in bench_sources():
                write_file(Path(folder) / name, text)
            mpi.build(sorted(Path(folder).glob("*.c")), program)
    steps = [1 if name.startswith("memory/") else len(depths) * plan.sweeps for name, depths in wanted]
    runs: dict[str, SeriesRun] = {}
    try:
        for at, (name, depths) in enumerate(wanted):
            before = sum(steps[:at])
            if name in earlier:
                runs[name] = earlier[name]
                tell(before + steps[at], sum(steps))
                continue
            output, remark = _watched(
                mpi,
                plan,
                program,
                name,
                depths,
                lambda done, before=before: tell(before + done, sum(steps)),  # type: ignore[misc] # mypy infers no type for a default
            )
            if not runs and output.hello is None:
                msg = f"{name} did not start: {remark}"
                raise MatchbenchError(msg)
            runs[name] = SeriesRun(output=output, remark=remark)
            keep(name, runs[name])
    finally:
        program.unlink(missing_ok=True)
    return _measurement(mpi, plan, runs)


def wanted_series(plan: Plan) -> list[tuple[str, tuple[int, ...]]]:
    """Give the series of a plan that have depths, with these, in the order in which they are run."""
    return [(name, plan.depths_of(name)) for name in SERIES if name in plan.series and plan.depths_of(name)]


def _measurement(mpi: Mpi, plan: Plan, runs: Mapping[str, SeriesRun]) -> Measurement:
    """Make the result of all runs; the first one has reported host and library."""
    hello = next(run.output.hello for run in runs.values() if run.output.hello is not None)
    result = Measurement(mpi=mpi, plan=plan, hello=hello)
    for name, run in runs.items():
        pattern = name.partition("/")[2]
        if run.remark:
            result.remarks[name] = run.remark
        result.series += _series(pattern, run.output)
        if run.output.memory:
            result.memory[pattern] = run.output.memory
    order = {kind: at for at, kind in enumerate(KINDS)}
    result.series.sort(key=lambda series: order[series.kind])
    return result


def _watched(
    mpi: Mpi, plan: Plan, program: Path, name: str, depths: Sequence[int], tell: Callable[[int], None]
) -> tuple[RunOutput, str | None]:
    """Run one series; after a hang or a crash, run it again with the depths below the one that failed."""
    output, ended = _run(mpi, plan, program, name, depths, tell)
    if output.finished:
        return output, None
    reason = output.error or why(ended, mpi.flavour)
    if output.current is None or output.error:
        return output, reason
    kind, depth, sweep = output.current
    remark = f"ends before depth {depth} ({kind}): {reason}"
    shallower = [each for each in depths if each < depth]
    if not shallower or name.startswith("memory/"):
        return output, remark
    if sweep > 0:
        # Earlier sweeps passed this depth: only the last sweep is incomplete.
        return output, f"ends in repetition {sweep + 1} at depth {depth} ({kind}): {reason}"
    again, _ = _run(mpi, plan, program, name, shallower, tell)
    return (again if len(again.samples) >= len(output.samples) else output), remark


def _run(
    mpi: Mpi, plan: Plan, program: Path, name: str, depths: Sequence[int], tell: Callable[[int], None]
) -> tuple[RunOutput, Ended]:
    output = RunOutput()

    def take(line: str) -> None:
        output.read(line)
        tell(len({(sample.depth, sample.sweep) for sample in output.samples}))

    sources = name.endswith("/sources")
    words: list[str | Path] = [
        program,
        name,
        ",".join(map(str, depths)),
        str(plan.sweeps),
        str(plan.budget_us),
        str(int(plan.stall_seconds) + 30),  # ranks terminate themselves after the watch would
        str(int(plan.pin)),
    ]
    ended = (mpi.crowded() if sources else mpi).run(
        plan.source_ranks if sources else 2, words, mark=MARK, on_line=take, stall_seconds=plan.stall_seconds
    )
    if output.error == "started as a program of one rank":
        output.error = mpi.mismatch()
    return output, ended


def _series(pattern: str, output: RunOutput) -> list[Series]:
    """Group the samples of a run by what was timed and by depth."""
    found = []
    for kind in KINDS:
        times: dict[int, list[float]] = {}
        operations: dict[int, int] = {}
        for sample in output.samples:
            if sample.kind == kind:
                times.setdefault(sample.depth, []).append(sample.ns)
                operations[sample.depth] = operations.get(sample.depth, 0) + sample.operations
        if times:
            points = tuple(point(depth, times[depth], operations[depth]) for depth in sorted(times))
            found.append(Series(kind=kind, pattern=pattern, points=points, times=times))
    return found


def library_name(version: str) -> str:
    """Shorten the result of `MPI_Get_library_version` to name and version."""
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
    """Name the transport, as far as loaded components and the version text identify it."""
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
    """Name the library, with the part of its transport that distinguishes two runs."""
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
    """Name the components of an Open MPI framework that are loaded or listed by MPI_T."""
    known = [f"mca_{component}.so" for component in hello.components]
    found = (re.match(rf"mca_{framework}_(\w+)\.so", library) for library in (*hello.libraries, *known))
    return list(dict.fromkeys(match[1] for match in found if match))
