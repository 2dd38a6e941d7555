#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measures Open MPI on mbmatch beside the unmodified library, in turns.

Usage, after `build.sh`, with the Python of this repository:

- `measure.py depth BUILD RESULT`: times by depth on one rank, latency and rate on two (`depth.c`), to RESULT;
- `measure.py bench BUILD FOLDER [SERIES...]`: `matchbench mpi bench` of both, in turns of one repetition of a
  series, to the files `openmpi-VERSION.json` and `openmpi-VERSION+mbmatch.json` of FOLDER;
- `measure.py show RESULT`: the tables of a RESULT of `depth`;
- `measure.py draw RESULT FOLDER FIGURES`: the figures of the page.

BUILD is the folder that `build.sh` filled. `ROUNDS` (default 20) is the number of turns of `depth` at depths
up to 8; `SWEEPS` (7) and `BUDGET_US` (20000) are repetitions and time of each depth in `bench`.

On one rank at depths up to 256, a turn is two processes, one of each library, which run on one processor, a
repetition of some tenths of a millisecond at a time. The speed of a virtual machine changes within seconds;
the ratio of two repetitions that follow each other does not depend on it.

A machine may be quiet for a short time only. With `LIMIT_S`, `depth` and `bench` begin no run after so many
seconds and end with status 3; the same command goes on, with what it has measured in a file beside RESULT or
in FOLDER.
"""

import datetime as dt
import hashlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import truediv
from pathlib import Path
from typing import Any

from matchbench._native import revision, version
from matchbench.display.output import json_rows

HERE = Path(__file__).parent
KINDS = ("plain", "mbmatch")
SHALLOW = (0, 1, 2, 4, 8)
DEEP = (16, 64, 256, 1024, 4096)
DEEPEST = 16384
# Each in a process of its own at the greatest depth, where some take minutes on the unmodified library.
ORDERS = ("in_order", "reverse", "random", "any_source_reverse")
ALL_SERIES = (
    *("behind_posted", "behind_posted_any_source", "any_source_behind_posted"),
    *("behind_unexpected", "any_source_behind_unexpected"),
    *(f"posted_{how}" for how in ORDERS),
    *(f"unexpected_{how}" for how in ORDERS),
)
ROUNDS = int(os.environ.get("ROUNDS", "20"))
SWEEPS = int(os.environ.get("SWEEPS", "7"))
BUDGET_US = int(os.environ.get("BUDGET_US", "20000"))
DEEP_ROUNDS = max(1, ROUNDS // 2)
DEEPER_ROUNDS = max(1, ROUNDS // 7)  # from 1024 on
REPETITIONS = 40
TURNS_TO = 256  # the greatest depth at which libraries take turns within a run
DEEP_SECONDS = "0.02"
PAIR_SECONDS = "0.3"
RUN_SECONDS = 1800
LIMIT_S = float(os.environ.get("LIMIT_S", "inf"))
TRANSPORTS = {"sm": ("self,sm",), "tcp": ("self,tcp", "--mca", "btl_tcp_if_include", "lo")}
RESAMPLES = 4000
BOUND = 0.95
FORMAT = "matchbench-openmpi-depth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Times of one series at one depth, of both libraries: the first quartile of each turn, nanoseconds.

    `paired` has the median of the ratios of repetitions that follow each other, of each turn; it is empty if
    the libraries ran one after the other.
    """

    where: str
    series: str
    depth: int
    plain: tuple[float, ...]
    mbmatch: tuple[float, ...]
    paired: tuple[float, ...] = ()

    @property
    def ratios(self) -> list[float]:
        """Time on mbmatch over that of the unmodified library, turn by turn."""
        if self.paired:
            return list(self.paired)
        return [ours / theirs for theirs, ours in zip(self.plain, self.mbmatch, strict=True)]

    @property
    def quiet(self) -> float:
        """The ratio of the quietest turns: other work on the machine only adds time."""
        return min(self.mbmatch) / min(self.plain)

    def bound(self) -> float | None:
        """Upper 95 % bound of the median ratio, by bootstrap of the turns; None with less than 5 turns."""
        ratios = self.ratios
        if len(ratios) < 5:
            return None
        draw = random.Random(1)  # noqa: S311 - resamples times, keeps no secret
        medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
        return medians[int(BOUND * RESAMPLES)]


def command_of(
    build: Path, kind: str, ranks: int, program: Path, words: Sequence[str], btl: Sequence[str]
) -> list[str]:
    """Give the command that runs the measuring program."""
    command = [str(build / kind / "bin" / "mpirun"), "--mca", "pml", "ob1", "--mca", "btl", *btl]
    return [*command, "-n", str(ranks), str(program), *words]


def run_in_turns(
    build: Path, first: str, program: Path, words: Sequence[str], btl: Sequence[str]
) -> list[str]:
    """Run the measuring program with both libraries, a repetition at a time; return the lines of both.

    Each line begins with the library. `first` begins.
    """
    with tempfile.TemporaryDirectory() as folder:
        fifos = [Path(folder) / name for name in KINDS]
        for fifo in fifos:
            os.mkfifo(fifo)
        running: dict[str, subprocess.Popen[str]] = {}
        try:
            for at, kind in enumerate(KINDS):
                turns = ("--turns", str(fifos[at]), str(fifos[1 - at]), str(REPETITIONS))
                command = command_of(build, kind, 1, program, (*turns, *words), btl)
                running[kind] = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
            # Kept open: the token of a process that has ended must not be lost before the other one reads it.
            ends = [os.open(fifo, os.O_RDWR) for fifo in fifos]
            os.write(ends[KINDS.index(first)], b"t")
            lines = []
            for kind in (first, *(kind for kind in KINDS if kind != first)):
                said, errors = running[kind].communicate(timeout=RUN_SECONDS)
                if running[kind].returncode != 0:
                    print(errors, file=sys.stderr)
                    status = running[kind].returncode
                    sys.exit(f"measure.py: exit status {status} of {kind}: {program} {' '.join(words)}")
                lines += [f"{kind} {line}" for line in said.splitlines()]
            for end in ends:
                os.close(end)
            return lines
        finally:
            for process in running.values():
                process.terminate()
                process.wait()


def run(
    build: Path, kind: str, ranks: int, program: Path, words: Sequence[str], btl: Sequence[str]
) -> list[str]:
    """Run the measuring program once; return its lines."""
    command = command_of(build, kind, ranks, program, words, btl)
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        sys.exit(f"measure.py: exit status {done.returncode}: {' '.join(command)}")
    return done.stdout.splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Runs of the measuring program with the same words, both libraries in turns."""

    rounds: int
    where: str
    ranks: int
    words: tuple[str, ...]
    btl: tuple[str, ...]
    in_turns: bool = False

    def runs(self) -> Iterable[tuple[str, str]]:
        """Give the name and the library, or the first one, of each run; each is first in every other turn."""
        for turn in range(self.rounds):
            kinds = KINDS if turn % 2 == 0 else KINDS[::-1]
            for kind in kinds[:1] if self.in_turns else kinds:
                yield f"{self.where} {' '.join(self.words)}: turn {turn + 1}, {kind}", kind

    def run(self, build: Path, kind: str, program: Path) -> list[str]:
        """Perform a run; return its lines."""
        if self.in_turns:
            return run_in_turns(build, kind, program, self.words, self.btl)
        return run(build, kind, self.ranks, program, self.words, self.btl)

    def paired_cells(self, lines: Mapping[str, Sequence[str]]) -> list[Cell]:
        """Give the times of all runs of both libraries at once."""
        found: dict[tuple[str, int], dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
        for name, _ in self.runs():
            for line in lines[name]:
                kind, series, depth, *times = line.split()
                found[series, int(depth)][kind].append([float(each) for each in times])
        return [
            Cell(
                where=self.where,
                series=series,
                depth=depth,
                plain=tuple(round(statistics.quantiles(times)[0], 2) for times in of["plain"]),
                mbmatch=tuple(round(statistics.quantiles(times)[0], 2) for times in of["mbmatch"]),
                paired=tuple(
                    round(statistics.median(map(truediv, ours, theirs)), 4)
                    for theirs, ours in zip(of["plain"], of["mbmatch"], strict=True)
                ),
            )
            for (series, depth), of in found.items()
        ]

    def cells(self, lines: Mapping[str, Sequence[str]]) -> list[Cell]:
        """Give the times of all runs."""
        if self.in_turns:
            return self.paired_cells(lines)
        found: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for name, kind in self.runs():
            for line in lines[name]:
                series, depth, first_quartile, _ = line.split()
                found[series, int(depth)][kind].append(float(first_quartile))
        return [
            Cell(
                where=self.where,
                series=series,
                depth=depth,
                plain=tuple(of["plain"]),
                mbmatch=tuple(of["mbmatch"]),
            )
            for (series, depth), of in found.items()
        ]


def stages() -> list[Stage]:
    """Give everything that `depth` measures."""
    one = TRANSPORTS["sm"]
    # A depth at a time, so that the runs of a turn are close together: the speed of a machine drifts.
    turns = [
        Stage(
            rounds=ROUNDS if depth in SHALLOW else DEEP_ROUNDS,
            where="self",
            ranks=1,
            words=(str(depth),),
            btl=one,
            in_turns=True,
        )
        for depth in (*SHALLOW, *DEEP)
        if depth <= TURNS_TO
    ]
    deep = [
        Stage(rounds=DEEPER_ROUNDS, where="self", ranks=1, words=(DEEP_SECONDS, str(depth)), btl=one)
        for depth in DEEP
        if depth > TURNS_TO
    ]
    pairs = [
        Stage(rounds=ROUNDS, where=name, ranks=2, words=(PAIR_SECONDS,), btl=btl)
        for name, btl in TRANSPORTS.items()
    ]
    deepest = [
        Stage(rounds=1, where="self", ranks=1, words=(DEEP_SECONDS, series, str(DEEPEST)), btl=one)
        for series in ALL_SERIES
    ]
    return [*turns, *deep, *pairs, *deepest]


def measure_depth(build: Path, result: Path) -> int:
    """Measure and write the result; return the exit status."""
    end = time.monotonic() + LIMIT_S
    part = result.with_suffix(".part")
    plugin = digest(build / "mbmatch/lib/mca_pml_ob1.so", HERE / "depth.c")
    done: dict[str, Any] = {"plugin": plugin, "lines": {}}
    if part.exists():
        earlier = json.loads(part.read_text(encoding="utf-8"))
        if earlier["plugin"] == plugin:
            done = earlier
    lines: dict[str, list[str]] = done["lines"]
    planned = stages()
    wanted = [(stage, *run) for stage in planned for run in stage.runs()]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "depth"
        compiler = build / "plain" / "bin" / "mpicc"
        subprocess.run([str(compiler), "-O2", "-o", str(program), str(HERE / "depth.c")], check=True)
        for stage, name, kind in wanted:
            if name in lines:
                continue
            if time.monotonic() > end:
                return out_of_time(len(lines), len(wanted))
            lines[name] = stage.run(build, kind, program)
            part.write_text(json.dumps(done), encoding="utf-8")
    write(result, build, [cell for stage in planned for cell in stage.cells(lines)])
    part.unlink()
    show(result)
    return 0


def out_of_time(done: int, wanted: int) -> int:
    """Say how many runs are done; return the exit status."""
    print(f"measure.py: {done} of {wanted} runs are done; repeat the command", file=sys.stderr)
    return 3


def write(result: Path, build: Path, cells: Iterable[Cell]) -> None:
    """Write a result, sorted by place, series and depth."""
    load, processors = round(os.getloadavg()[1], 1), os.cpu_count() or 1
    remark = f"taken under load: {load} processes on {processors} processors" if load > processors else ""
    head = {
        "format": FORMAT,
        "version": 1,
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "matchbench": {"version": version(), "revision": revision()},
        "mpi": f"Open MPI {library_version(build)}",
        "cpu": processor(),
        "processors": processors,
        "load": load,
        "remark": remark,
    }
    result.write_text(text_of(head, cells), encoding="utf-8")


def text_of(head: Mapping[str, Any], cells: Iterable[Cell]) -> str:
    """Give the text of a result: a line for each key of the head, and for each cell."""
    rows = [
        {
            **{key: getattr(cell, key) for key in ("where", "series", "depth")},
            "plain_ns": cell.plain,
            "mbmatch_ns": cell.mbmatch,
            **({"paired": cell.paired} if cell.paired else {}),
        }
        for cell in sorted(cells, key=lambda cell: (cell.where, cell.series, cell.depth))
    ]
    return json_rows({**head, "cells": rows})


def read(result: Path) -> tuple[dict[str, Any], list[Cell]]:
    """Read a result; return its head and its cells."""
    whole = json.loads(result.read_text(encoding="utf-8"))
    if whole.get("format") != FORMAT:
        sys.exit(f"measure.py: {result}: not a result of `measure.py depth`")
    cells = [
        Cell(
            where=cell["where"],
            series=cell["series"],
            depth=cell["depth"],
            plain=tuple(cell["plain_ns"]),
            mbmatch=tuple(cell["mbmatch_ns"]),
            paired=tuple(cell.get("paired", ())),
        )
        for cell in whole.pop("cells")
    ]
    return whole, cells


def show(result: Path) -> None:
    """Print a result as tables."""
    whole, cells = read(result)
    print(f"{whole['mpi']}, {whole['date']}")
    print(f"{whole['cpu']}, {whole['processors']} processors, load {whole['load']}")
    if whole.get("remark"):
        print(whole["remark"])
    print("ns per message: first quartile of the repetitions, median of the turns")
    print("ratio: mbmatch over unmodified, median of the turns, and its upper 95 % bound;")
    print("up to depth 256 that of a turn is the median of repetitions that alternate")
    print("quiet: ratio of the least times of all turns")
    heads = ("unmodified", "mbmatch", "ratio", "bound", "quiet", "turns")
    print(f"{'where':6} {'series':32} {'depth':>6}" + "".join(f"{head:>11}" for head in heads))
    for cell in cells:
        bound = cell.bound()
        numbers = (
            f"{statistics.median(cell.plain):.1f}",
            f"{statistics.median(cell.mbmatch):.1f}",
            f"{statistics.median(cell.ratios):.3f}",
            "-" if bound is None else f"{bound:.3f}",
            f"{cell.quiet:.3f}",
            str(len(cell.plain)),
        )
        print(f"{cell.where:6} {cell.series:32} {cell.depth:6}" + "".join(f"{each:>11}" for each in numbers))


def library_version(build: Path) -> str:
    """Give the version of the library in a folder of `build.sh`."""
    return (build / "version").read_text(encoding="utf-8").strip()


def processor() -> str:
    """Name the processor."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "unknown")


def measure_bench(build: Path, folder: Path, names: Sequence[str]) -> int:
    """Run `mpi bench` for both libraries, in turns of one repetition of a series; return the exit status."""
    from matchbench.mpi.bench import SERIES, Plan, SeriesRun, measure
    from matchbench.mpi.bench_protocol import RunOutput
    from matchbench.mpi.launch import find
    from matchbench.mpi.results import document

    end = time.monotonic() + LIMIT_S
    plan = Plan(series=tuple(names) or SERIES, sweeps=SWEEPS, budget_us=BUDGET_US)
    mpis = {
        kind: find(
            str(build / kind / "bin" / "mpicc"),
            (str(build / kind / "bin" / "mpirun"), "--mca", "pml", "ob1", "--mca", "btl", "self,sm"),
        )
        for kind in KINDS
    }
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "bench.part"
    measured = {"plan": repr(plan), "plugin": digest(build / "mbmatch/lib/mca_pml_ob1.so")}
    done: dict[str, Any] = {"measured": measured, "runs": {}}
    if part.exists() and (earlier := json.loads(part.read_text(encoding="utf-8")))["measured"] == measured:
        done = earlier
    runs: dict[str, list[Any]] = done["runs"]
    # Memory does not change between repetitions.
    wanted = [
        (turn, name, kind)
        for turn in range(SWEEPS)
        for at, name in enumerate(plan.series)
        if turn == 0 or not name.startswith("memory/")
        for kind in (KINDS if (at + turn) % 2 == 0 else reversed(KINDS))
    ]
    with tempfile.TemporaryDirectory() as scratch:
        for turn, name, kind in wanted:
            if (key := f"{turn} {kind} {name}") in runs:
                continue
            if time.monotonic() > end:
                return out_of_time(len(runs), len(wanted))

            def keep(_name: str, run: SeriesRun, key: str = key) -> None:
                runs[key] = [run.output.lines, run.remark]

            measure(mpis[kind], replace(plan, series=(name,), sweeps=1), Path(scratch), keep=keep)
            part.write_text(json.dumps(done), encoding="utf-8")
        for kind in KINDS:
            merged: dict[str, SeriesRun] = {}
            for name in plan.series:
                output = RunOutput()
                remarks = []
                for turn, of, library in wanted:
                    if (of, library) == (name, kind):
                        lines, remark = runs[f"{turn} {kind} {name}"]
                        remarks += [remark] if remark else []
                        for line in lines:
                            output.read(line)
                merged[name] = SeriesRun(output=output, remark=remarks[0] if remarks else None)
            whole = measure(mpis[kind], plan, Path(scratch), earlier=merged)
            now = dt.datetime.now(dt.UTC)
            store(folder, kind, document(whole, label=label_of(build, kind), now=now))
    part.unlink()
    return 0


def digest(*files: Path) -> str:
    """Give a hash of files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def label_of(build: Path, kind: str) -> str:
    """Name a library in results."""
    return f"openmpi-{library_version(build)}" + ("" if kind == "plain" else f"+{kind}")


def store(folder: Path, kind: str, told: dict[str, Any]) -> None:
    """Write a result, without what is of this place and not of the measurement."""
    told["mpi"]["compiler"] = f"{kind}/bin/mpicc"
    told["mpi"]["launcher"][0] = f"{kind}/bin/mpirun"
    told["mpi"]["environment"] = [
        text for text in told["mpi"]["environment"] if "component_path" not in text and "/" not in text
    ]
    told["mpi"]["library"] = re.sub(r"package: [^,]*, ", "", told["mpi"]["library"])
    told["place"]["hosts"] = ["localhost", "localhost"]
    (folder / f"{told['label']}.json").write_text(json_rows(told), encoding="utf-8")


def main(words: list[str]) -> int:
    """Run a command; return the exit status."""
    match words:
        case ["depth", build, result]:
            return measure_depth(Path(build), Path(result))
        case ["bench", build, folder, *names]:
            return measure_bench(Path(build), Path(folder), names)
        case ["show", result]:
            show(Path(result))
        case ["draw", result, folder, figures]:
            from draw import draw

            draw(Path(result), Path(folder), Path(figures))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
