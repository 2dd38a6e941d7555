# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Makes the traces in this folder anew, and the table about them in `traces/README.md`.

`traces/record.sh [NAME...]` calls this: it records all plans, or some, packs them and writes the table.
With `--table` it only writes the table, from the packed traces; with `--check` it says whether that is fresh.
A run must end with status 0, its trace must pass `matchbench trace check` and count what the program counted.
The program's own count is kept in `meta.json`, so that the shipped file can be held against it later.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from examples_mpi import MPICH, OPENMPI, Mpi, build, environment, read_tally
from rank_files import count

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin: traces/record.sh --table -->", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Plan:
    """One trace to make.

    Parameters
    ----------
    name
        Of the packed file, without its ending.
    program
        One of the example programs.
    mpi
        The MPI to run it with.
    ranks
        Number of ranks.
    words
        Arguments of the program.
    """

    name: str
    program: str
    mpi: Mpi
    ranks: int
    words: tuple[str, ...]


# Sizes: some ten thousands of records each; packed, a record takes about 10 bytes (measured on these).
PLANS = (
    Plan("halo3d-64", "halo3d", OPENMPI, 64, ("--fields", "2", "--steps", "6")),
    Plan("cg-32", "cg", OPENMPI, 32, ("--nx", "12", "--ny", "12", "--nz", "12", "--springs", "96")),
    Plan("fft-16", "fft", OPENMPI, 16, ()),
    Plan("sweep-32", "sweep", OPENMPI, 32, ("--iterations", "3")),
    Plan("graph-32", "graph", MPICH, 32, ()),
    Plan("tasks-16", "tasks", MPICH, 16, ()),
)


def matchbench(*words: str, cwd: Path | None = None) -> str:
    """Run the command line and return what it printed; its failure ends this script.

    MATCHBENCH names another command than that of the present interpreter.
    """
    named = shlex.split(os.environ.get("MATCHBENCH", ""))
    command = [*(named or [sys.executable, "-m", "matchbench"]), *words]
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def record(plan: Plan, directory: Path) -> None:
    """Record one program and hold its trace against what it printed."""
    # Run in the build's folder, so that the recorded command names no folder of this machine.
    words = [*plan.mpi.launcher, str(plan.ranks), f"./{plan.program}", *plan.words]
    printed = matchbench("record", "-o", str(directory), "--", *words, cwd=build(plan.mpi))
    tally = read_tally(plan.program, printed)
    matchbench("trace", "check", str(directory))
    counted = count(directory).tally
    if counted != tally:
        sys.exit(f"{plan.name}: the program counted {tally}, its trace holds {counted}")
    path = directory / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    meta["tally"] = asdict(tally)
    path.write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")


def pack(directory: Path, target: Path) -> None:
    """Pack a trace (`spec/trace.md`, T-2); the same trace gives the same bytes."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with (
        lzma.open(target, "wb", preset=9 | lzma.PRESET_EXTREME) as file,
        tarfile.open(fileobj=file, mode="w") as archive,
    ):
        archive.add(directory, arcname=directory.name, filter=plain)


def row(packed: Path) -> str:
    """Return one line of the table."""
    name = packed.name.removesuffix(".tar.xz")
    with tarfile.open(packed) as archive:
        member = archive.extractfile(f"{name}/meta.json")
        meta = json.load(member) if member else {}
    program = next(at for at, word in enumerate(meta["command"]) if word.startswith("./"))
    library = re.search(r"(Open MPI|MPICH)\D*([\d.]+)", meta["mpi"])
    total = json.loads(matchbench("trace", "stats", "--json", str(packed)))["total"]
    cells = [
        f"`{name}`",
        f"`{' '.join(meta['command'][program:]).removeprefix('./')}`",
        " ".join(library.groups()) if library else meta["mpi"],
        meta["ranks"],
        f"{total['sent']:,}",
        f"{total['sent_bytes']:,}",
        total["posted_max"],
        total["unexpected_max"],
        f"{total['unexpected_share']:.0%}",
        f"{total['records']:,}",
        f"{-(-packed.stat().st_size // 1024):,}",
        meta["date"][:10],
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def table() -> str:
    """Return the table about the packed traces of this folder."""
    head = "trace|program and arguments|MPI|ranks|messages|bytes|posted|unexpected|share|records|KiB|date"
    columns = head.split("|")
    marks = ["---"] * 3 + ["---:"] * 8 + ["---"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join(lines + [row(packed) for packed in sorted(HERE.glob("*.tar.xz"))])


def readme() -> str:
    """Return what `traces/README.md` should say."""
    head, _, rest = (HERE / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def main() -> int:
    """Record what is asked for and write the table."""
    parser = argparse.ArgumentParser(description="make the shipped traces anew")
    parser.add_argument("names", nargs="*", help="traces to record; all if none is named", metavar="NAME")
    parser.add_argument("--table", action="store_true", help="record nothing, write the table")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if it is not fresh")
    arguments = parser.parse_args()
    known = {plan.name: plan for plan in PLANS}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"unknown trace `{unknown[0]}`; expected one of: {', '.join(known)}")
    if arguments.check:
        fresh = readme() == (HERE / "README.md").read_text(encoding="utf-8")
        sys.stderr.write("" if fresh else "traces/README.md: not fresh; run `traces/record.sh --table`\n")
        return 0 if fresh else 1
    plans = [] if arguments.table else [known[name] for name in arguments.names or known]
    for plan in plans:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / plan.name
            record(plan, directory)
            pack(directory, HERE / f"{plan.name}.tar.xz")
        sys.stderr.write(f"{plan.name}: recorded\n")
    (HERE / "README.md").write_text(readme(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
