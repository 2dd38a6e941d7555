# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of the programs of moped/programs on the chip, for the claims and figures of gu2011.

usage: measure.py [--list] [--only STUDY[,STUDY]] [--match TEXT] [--minutes N] [--again] [--build DIR]
       measure.py --check [--only STUDY[,STUDY]] [--match TEXT] [--build DIR] [--table FILE]

A run whose row is in runs.csv is not repeated, unless --again is given or the program has changed, so that
an interrupted call continues where it stopped. --check repeats runs and compares every count with its row;
status 1 if one differs. Programs are built in out/gu2011, or DIR.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from matchbench import _native

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "runs.csv"
PROGRAMS = ROOT / "moped" / "programs"
MPI = ROOT / "moped" / "mpi"
COMPILER = "riscv64-linux-gnu-gcc"

PATTERNS = ("PP", "XC", "BC", "RD", "GA", "AA")
DESIGNS = ("shm", "base", "optcopy", "optcache")
KERNELS = {"mg": "1,1", "cg": "16,3", "sp": "4,2", "bt": "4,1", "ft": "0,1"}
"""Kernel -> steps of warm-up and of measurement (MB_SAMPLE). A step of cg is one of conjugate gradients. In
the warm-up the messages of a pair of ranks go round its buffer of 16 pieces; ft has one in each step."""

WARM_UP = {"PP": 16, "XC": 16}
"""Pattern -> iterations of warm-up, else 2. A pair of ranks goes round its buffer in 16 messages; where each
rank has more buffers than its L2 can hold, they are not in the caches after a long warm-up either."""


@dataclass(frozen=True, kw_only=True)
class ChipRun:
    """One run.

    Parameters
    ----------
    study
        What it is for.
    program, arguments
        A program of moped/programs, and its arguments.
    ranks, cores
        Processes, and nodes of the chip.
    transport
        `shm`, or a design of the device.
    migratory
        Whether a read of a modified line hands it over.
    core
        Kind of the cores.
    eager
        Bytes from which on messages are sent by rendezvous.
    environment
        Further variables of the program, separated by blanks.
    settings
        Parameters of the chip that differ, separated by blanks.
    """

    study: str
    program: str
    arguments: str = ""
    ranks: int = 16
    cores: int = 16
    transport: str = "shm"
    migratory: str = "yes"
    core: str = "ooo"
    eager: int = 16384
    environment: str = ""
    settings: str = ""


KEY = tuple(field.name for field in fields(ChipRun))
ACTIVITIES = ("compute", "matching", "copying", "waiting", "kernel", "idle")
PROVENANCE = ("program_hash", "parameters_hash", "compiler", "revision")


def imb(study: str, pattern: str, transport: str, *, length: int = 16384, iterations: int = 10) -> ChipRun:
    """Return the run of a pattern, as section 5 of the paper has it.

    PP and XC have no ranks that only wait, and GA and AA have two iterations, so that a run takes minutes.
    """
    if pattern in {"GA", "AA"}:
        iterations = min(iterations, 2)
    warm_up = 1 if length > 1 << 16 or pattern in {"GA", "AA"} else WARM_UP.get(pattern, 2)
    words = f"{pattern} {length} {iterations} {warm_up}"
    ranks = 2 if pattern in WARM_UP else 16
    return ChipRun(study=study, program="imb", arguments=words, transport=transport, ranks=ranks)


def kernel(study: str, name: str, transport: str) -> ChipRun:
    """Return the run of a kernel."""
    return ChipRun(study=study, program=name, transport=transport, environment=f"MB_SAMPLE={KERNELS[name]}")


def plan() -> list[ChipRun]:
    """Return every run, those that decide most claims first."""
    runs = [
        replace(imb("small", "PP", transport, length=1024, iterations=2), ranks=4, cores=4, core="inorder")
        for transport in DESIGNS
    ]

    def without(run: ChipRun) -> ChipRun:
        return replace(run, study="migratory", migratory="no")

    def of_patterns(*patterns: str) -> list[ChipRun]:
        return [imb("figure10", pattern, transport) for pattern in patterns for transport in DESIGNS]

    def of_kernels(*kernels: str) -> list[ChipRun]:
        return [kernel("figure10", name, transport) for name in kernels for transport in DESIGNS]

    def large(*patterns: str) -> list[ChipRun]:
        return [
            imb("large", pattern, transport, length=1 << 20, iterations=1 if pattern == "BC" else 2)
            for pattern in patterns
            for transport in (DESIGNS if pattern == "BC" else DESIGNS[1:])
        ]

    runs += of_patterns("PP", "XC")
    runs += [without(run) for run in of_patterns("PP", "XC") if run.transport in {"shm", "base"}]
    runs += [
        *of_patterns("BC", "RD"),
        *of_kernels("mg"),
        *large("PP", "XC"),
        *of_kernels("cg", "sp"),
        *large("BC"),
    ]
    runs += [without(run) for run in of_kernels("mg", "cg") if run.transport in {"shm", "base"}]
    runs += [*overlap(), *bands(), *numbers_of_cores(), *active_matches(), *into_the_l1()]
    runs += [*of_patterns("GA", "AA"), *of_kernels("bt", "ft")]
    runs += [without(run) for run in of_patterns("BC", "RD", "GA", "AA") if run.transport in {"shm", "base"}]
    return runs


def bands() -> list[ChipRun]:
    """Return the runs for what the paper leaves open, one change at a time.

    The places of buffers in their lines are those of the patterns; kernels have arrays.
    """
    everywhere: list[dict[str, object]] = [
        {"eager": 32768},
        {"core": "inorder"},
        *({"settings": f"directory={cycles}"} for cycles in (2, 30)),
    ]
    offsets: list[dict[str, object]] = [
        {"environment": f"MB_OFFSETS={offsets}"} for offsets in ("0,0", "0,32", "8,40")
    ]
    patterns = [imb("bands", name, transport) for name in ("PP", "XC", "BC", "RD") for transport in DESIGNS]
    kernels = [
        replace(kernel("bands", name, transport), **change)
        for name in ("mg", "cg", "sp")
        for change in everywhere
        for transport in DESIGNS
    ]
    return [replace(run, **change) for change in [*everywhere, *offsets] for run in patterns] + kernels


def overlap() -> list[ChipRun]:
    """Return exchanges of 16 KB between two ranks, computation about as long, and both together."""
    return [
        ChipRun(
            study="overlap",
            program="overlap",
            arguments=f"{parts} 16384 600 10",
            transport=transport,
            ranks=2,
        )
        for transport in DESIGNS[:3]
        for parts in ("both", "move", "compute")
    ]


def numbers_of_cores() -> list[ChipRun]:
    """Return exchanges of 16 KB in all pairs at once; studies/chip_cores has more cores."""
    return [
        ChipRun(
            study="cores",
            program="overlap",
            arguments="move 16384 0 10",
            transport=transport,
            ranks=n,
            cores=n,
        )
        for n in (4, 16)
        for transport in DESIGNS[:3]
    ]


def active_matches() -> list[ChipRun]:
    """Return runs of devices that copy two messages at once, beside those of one in other studies.

    Twice the lines are the alternative. RD, GA and AA receive one message after the other.
    """
    runs = [
        replace(imb("active", pattern, "optcopy"), settings="moped.active=2")
        for pattern in ("PP", "XC", "BC", "GA", "AA")
    ]
    return runs + [
        replace(imb("active", pattern, "optcopy"), settings=settings)
        for settings in ("moped.lines=8", "moped.active=2 moped.lines=8", "moped.lines=16")
        for pattern in ("PP", "XC")
    ]


def into_the_l1() -> list[ChipRun]:
    """Return runs of devices that write lines into the L2, and into the L1, of one revision."""
    return [
        replace(imb("l1", pattern, "optcopy"), settings=f"device_level={level}")
        for pattern in ("PP", "XC", "BC", "RD")
        for level in (2, 1)
    ]


def build(folder: Path, names: set[str]) -> None:
    """Build the library and programs for the chip.

    Without a build id, which depends on the folder, what a program loads is a function of sources and
    compiler.
    """
    make = shutil.which("make")
    if make is None:
        sys.exit("make: not found; install it")
    library = folder / "chip" / "libmpi.a"
    subprocess.run([make, "--silent", "-C", str(MPI), str(library), f"OUT={folder}"], check=True)
    compile_words = f"{COMPILER} -march=rv64gc -mabi=lp64d -static -I../mpi"
    goals = [str(folder / "programs" / name) for name in sorted(names)]
    words = [f"MPICC={compile_words}", f"LIBS={library}", "WITH=mark_chip.c", f"BUILD={folder / 'programs'}"]
    extra = "EXTRA=-Wl,--build-id=none"
    subprocess.run([make, "--silent", "-C", str(PROGRAMS), *words, extra, *goals], check=True)


def program_hash(path: Path) -> str:
    """Return a digest of what a program loads, without what says where its other sections are."""
    content = bytearray(path.read_bytes())
    content[0x28:0x30] = bytes(8)  # offset of the section headers
    content[0x3C:0x40] = bytes(4)  # how many there are, and which has their names
    offset, size, count = (
        struct.unpack_from("<Q", content, 0x20)[0],
        *struct.unpack_from("<HH", content, 0x36),
    )
    digest = hashlib.sha256()
    for at in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", content, offset + at * size)
        if kind == 1:  # PT_LOAD
            digest.update(content[start : start + length])
    return digest.hexdigest()[:16]


def compiler() -> str:
    """Return the version of the cross compiler."""
    done = subprocess.run([COMPILER, "-dumpfullversion"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def words(run: ChipRun, program: Path, counts: Path) -> list[str]:
    """Return the arguments of `matchbench` for a run."""
    environment = [f"MB_MPI_EAGER={run.eager}", *run.environment.split()]
    # overlap maps the buffers that it uses in its first iterations.
    if run.transport == "shm" and run.program != "overlap" and "MB_MPI_TOUCH" not in run.environment:
        environment.append("MB_MPI_TOUCH=1")
    return [
        *("chip", "run", "--quiet", "--mode", "markers", "-o", str(counts), "--force"),
        *("--ranks", str(run.ranks), "--cores", str(run.cores), "--core", run.core),
        *(
            ("--transport", "shm")
            if run.transport == "shm"
            else ("--transport", "moped", "--design", run.transport)
        ),
        *(() if run.migratory == "yes" else ("--no-migratory",)),
        *(word for setting in run.settings.split() for word in ("--set", setting)),
        *(word for variable in environment for word in ("--env", variable)),
        program.name,
        *(("--", *run.arguments.split()) if run.arguments else ()),
    ]


def execute(run: ChipRun, program: Path) -> dict[str, str]:
    """Run a program and return its row.

    Raises
    ------
    SystemExit
        When the program fails, or its answer is wrong. Samples of kernels have no answer; their messages are
        compared byte by byte all the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        command = [sys.executable, "-m", "matchbench", *words(run, program, counts)]
        # A program has its name on its stack: a path would make counts depend on the folder.
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=program.parent)
        if done.returncode != 0 or not any(word in done.stdout for word in (" verified ", " sampled ")):
            sys.exit(f"{run}: status {done.returncode}\n{' '.join(command)}\n{done.stdout}{done.stderr}")
        found = json.loads(counts.read_text())
    regions = [region for region in found["regions"] if region["kind"] == "timing"]
    row = dict(zip(KEY, map(str, astuple(run)), strict=True))
    row["cycles"] = str(sum(region["cycles"] for region in regions))
    for name, _ in regions[0]["counts"]:
        row[name] = str(sum(dict(region["counts"])[name] for region in regions))
    for name in ACTIVITIES:
        each = (dict(cycles)[name] for region in regions for _, _, cycles in region["ranks"])
        row[f"{name}_cycles"] = str(sum(each))
    parameters = json.dumps(found["parameters"]).encode()
    return row | {
        "program_hash": program_hash(program),
        "parameters_hash": hashlib.sha256(parameters).hexdigest()[:16],
        "compiler": compiler(),
        "revision": _native.revision(),
    }


def key(row: dict[str, str]) -> tuple[str, ...]:
    """Return what tells runs apart."""
    return tuple(row[name] for name in KEY)


def read(table: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows by their keys."""
    if not table.exists():
        return {}
    with table.open(encoding="utf-8", newline="") as file:
        return {key(row): row for row in csv.DictReader(line for line in file if not line.startswith("#"))}


def write(rows: dict[tuple[str, ...], dict[str, str]], runs: list[ChipRun], table: Path) -> None:
    """Write the table whole, in the order of all runs; rows of others are dropped."""
    order = {tuple(map(str, astuple(run))): place for place, run in enumerate(runs)}
    kept = sorted((row for row in rows.values() if key(row) in order), key=lambda row: order[key(row)])
    partial = table.with_suffix(".partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# Written by {Path(sys.argv[0]).name}; README.md says what the columns are.\n")
        writer = csv.DictWriter(file, kept[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
    partial.replace(table)


def check(runs: list[ChipRun], programs: Path, table: Path) -> int:
    """Repeat runs and compare; return the status."""
    rows, status, version = read(table), 0, compiler()
    for run in runs:
        known = rows.get(tuple(map(str, astuple(run))))
        if known is None:
            print(f"{run}: no row in {table.name}; run measure.py")
            status = 1
            continue
        if known["compiler"] != version:
            print(f"{run}: compiled by {known['compiler']}, and here by {version}: not compared")
            continue
        found = execute(run, programs / run.program)
        for name in known.keys() - {"revision"}:
            if found[name] != known[name]:
                print(f"{run}: {name}: found {found[name]}, expected {known[name]}; run measure.py --again")
                status = 1
    return status


def make_runs(
    runs: list[ChipRun], programs: Path, minutes: float, *, again: bool, every: list[ChipRun], table: Path
) -> None:
    """Make the runs that are missing; `every` run has a place in the table."""
    rows = read(table)
    hashes = {path.name: program_hash(path) for path in programs.iterdir()}
    begun = time.monotonic()
    for run in runs:
        known = rows.get(tuple(map(str, astuple(run))))
        if known is not None and not again and known["program_hash"] == hashes[run.program]:
            continue
        if time.monotonic() - begun > 60 * minutes:
            print("the time is up; call it again to continue")
            break
        start = time.monotonic()
        row = execute(run, programs / run.program)
        # Another call may have added rows.
        rows = read(table) | {key(row): row}
        write(rows, every, table)
        print(f"{time.monotonic() - start:8.1f} s", *astuple(run), f"{row['cycles']} cycles", flush=True)


def main(every: list[ChipRun], own: Path, about: str | None) -> int:
    """Do what the words of the command say, with these runs and the table `own`; return the status."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the plan and what is missing")
    parser.add_argument("--only", help="studies, separated by commas")
    parser.add_argument("--match", default="", help="only runs whose line in the list contains this text")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after this time")
    parser.add_argument("--again", action="store_true", help="repeat runs whose rows there are")
    parser.add_argument("--check", action="store_true", help="repeat runs and compare them with their rows")
    parser.add_argument("--build", type=Path, default=ROOT / "out" / "gu2011", help="folder of the programs")
    parser.add_argument("--table", type=Path, default=own, help="the table that --check compares with")
    options = parser.parse_args()
    studies = options.only.split(",") if options.only else None
    runs = [run for run in every if studies is None or run.study in studies]
    runs = [run for run in runs if options.match in " ".join(map(str, astuple(run)))]
    if options.list:
        rows = read(own)
        for run in runs:
            print("done   " if tuple(map(str, astuple(run))) in rows else "missing", *astuple(run))
        return 0
    if shutil.which(COMPILER) is None:
        sys.exit(f"{COMPILER}: not found; install gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross")
    folder = options.build.absolute()
    build(folder, {run.program for run in runs})
    if options.check:
        return check(runs, folder / "programs", options.table)
    make_runs(runs, folder / "programs", options.minutes, again=options.again, every=every, table=own)
    return 0


if __name__ == "__main__":
    sys.exit(main(plan(), TABLE, __doc__))
