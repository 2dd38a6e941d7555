# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Instructions and times of matchers, as tables in Markdown.

Usage: `measure.py FOLDER [--quick] [--cc CC] [--emulator QEMU]`. Builds `bench.c` with each contender in
FOLDER, checks that all have the same matches, counts the instructions of a pair, and times the contenders
alternately on one processor. Writes FOLDER/measured.md. Needs gcc and valgrind, which counts. With QEMU, for
example `qemu-aarch64`, and the cross compiler CC, a plugin of the emulator counts (count.c), and nothing is
timed. `measure.py FOLDER --libraries` instead counts what the functions of UCX and Open MPI take that match
(libraries.c), and writes FOLDER/libraries.md; both must be installed.
"""

import argparse
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTENDERS = ("list", "ob1", "srx", "ucx", "hash", "mbmatch")
# Those that take the oldest message of any one sender: `bench PATTERN DEPTH judge` says whether they may.
ANY_SENDER = ("ob1", "srx")
# What a row is, its pattern for bench.c, and the depths.
ROWS = (
    ("one key, in order", "one:posted:order", (1, 16, 64, 1024)),
    ("tags, in order", "distinct:posted:order", (1, 16, 64, 1024, 65536)),
    ("tags, reverse", "distinct:posted:reverse", (16, 64, 1024, 65536)),
    ("tags, random", "distinct:posted:random", (8, 16, 64, 1024, 65536)),
    ("tags, random, unexpected", "distinct:unexpected:random", (8, 16, 64, 1024, 65536)),
    ("random tags and 64 sources", "scattered:posted:random", (64, 1024, 65536)),
    ("the same, unexpected", "scattered:unexpected:random", (64, 1024, 65536)),
    ("all to all", "all:posted:random", (64, 1024, 16384)),
    ("all to all, unexpected", "all:unexpected:random", (64, 1024, 16384)),
    ("communicators", "communicators:posted:random", (64, 1024, 16384)),
    ("halo, 26 neighbours", "halo:posted:random", (26,)),
    ("master and workers, one tag", "master", (8, 512)),
    ("master and workers, 8 tags", "master8", (8, 512)),
    ("equal receives from any source", "any:posted:order", (64, 1024)),
    ("any source behind others", "behind", (8, 64, 1024)),
    ("any tag of a source, unexpected", "anytag:unexpected:random", (64, 1024)),
    ("half from any source", "half:posted:random", (64, 1024)),
    ("half from any source, unexpected", "half:unexpected:random", (64, 1024)),
    ("all four kinds", "four:posted:random", (64, 1024)),
    ("all four kinds, unexpected", "four:unexpected:random", (64, 1024)),
)
# How a library is compiled against and run, and its functions that post a receive and that deliver a message.
# Each also makes, fills or completes requests.
LIBRARIES = {
    "UCX": (
        ("cc", "-DUCX", "-lucp", "-lucs"),
        {"UCX_TLS": "self"},
        ("ucp_tag_recv_nbx", "ucp_eager_only_handler"),
    ),
    "Open MPI's ob1": (
        ("mpicc.openmpi",),
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self"},
        ("mca_pml_ob1_recv_req_start", "mca_pml_ob1_recv_frag_callback_match"),
    ),
}
LIBRARY_ROWS = (
    ("tags, in order", "posted:order", (1, 64, 1024)),
    ("tags, random", "posted:random", (64, 1024)),
    ("tags, random, unexpected", "unexpected:random", (64, 1024)),
    ("any source behind others", "behind", (64, 1024)),
)
# Longer runs of a contender are left out: it walks. Counting is allowed this many times as long.
LIMIT_S = 2
COUNTING = 20


@dataclass(frozen=True)
class Machine:
    """Where programs are built, run and counted."""

    folder: Path
    cc: str
    emulator: str | None

    def output(self, words: list[str], limit_s: float) -> list[str] | None:
        """Fields that a program prints; None after `limit_s` seconds. Exits where it fails."""
        try:
            done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None
        except subprocess.CalledProcessError as error:
            sys.exit(f"measure.py: {' '.join(words)}: exit status {error.returncode}: {error.stderr.strip()}")
        return done.stdout.split()

    def build(self) -> dict[str, Path]:
        """Build the contenders; with an emulator, also its plugin."""
        programs = {name: self.folder / f"bench-{name}" for name in CONTENDERS}
        for name, program in programs.items():
            words = [self.cc, "-std=gnu11", "-O2", "-g", "-Wno-unused-function", f'-DCONTENDER="{name}.h"']
            words += ["-static"] if self.emulator else []
            subprocess.run([*words, str(HERE / "bench.c"), "-o", str(program)], check=True)
        if self.emulator:
            words = [
                "cc",
                "-O2",
                "-shared",
                "-fPIC",
                "-o",
                str(self.folder / "count.so"),
                str(HERE / "count.c"),
            ]
            subprocess.run(words, check=True)
        return programs

    def run(self, program: Path, pattern: str, depth: int, rounds: int | str) -> list[str] | None:
        """Pairs, ns for a pair, and the matches; None when it takes too long."""
        prefix = [self.emulator] if self.emulator else []
        limit_s = LIMIT_S * (10 if self.emulator else 1)
        return self.output([*prefix, str(program), pattern, str(depth), str(rounds)], limit_s)

    def ranges(self, program: Path) -> list[str]:
        """Addresses of the code of a contender, which is not that of bench.c but for the two calls."""
        words = [self.cc.removesuffix("gcc") + "nm", "--line-numbers", "--print-size", "--defined-only"]
        listing = subprocess.run([*words, str(program)], check=True, capture_output=True, text=True).stdout
        found = []
        for line in listing.splitlines():
            symbol, _, place = line.partition("\t")
            fields = symbol.split()
            source = Path(place.rpartition(":")[0])
            ours = len(fields) == 4 and fields[2] in "tT" and HERE.parent in source.resolve().parents
            if ours and (source.name != "bench.c" or fields[3].startswith("bench_")):
                begin, size = (int(field, 16) for field in fields[:2])
                found.append(f"range={begin:x}-{begin + size:x}")
        return found

    def count(self, words: list[str], out: Path, limit_s: float) -> int | None:
        """Run callgrind or the plugin; return what it counts."""
        if self.output(words, limit_s) is None:
            return None
        lines = out.read_text().splitlines()
        out.unlink()
        if not self.emulator:
            lines = [line.split()[1] for line in lines if line.startswith(("summary:", "totals:"))]
        return int(lines[0])

    def instructions(
        self, program: Path, pattern: str, depth: int, functions: tuple[str, ...]
    ) -> float | None:
        """Instructions of a round in the functions, once all is warm: the difference of two runs."""
        out = self.folder / "counted"
        if self.emulator:
            plugin = ",".join([str(self.folder / "count.so"), f"out={out}", *self.ranges(program)])
            words = [self.emulator, "-plugin", plugin]
        else:
            words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
            words += [f"--toggle-collect={function}" for function in functions]
        words += [str(program), pattern, str(depth)]
        first = self.count([*words, "1"], out, COUNTING * LIMIT_S)
        second = None if first is None else self.count([*words, "3"], out, COUNTING * LIMIT_S)
        return None if first is None or second is None else (second - first) / 2


def timed(
    machine: Machine, programs: dict[str, Path], pattern: str, depth: int, turns: int
) -> tuple[int, dict[str, float]]:
    """Pairs of a round, and the least ns of a pair by contender, without those that walk.

    Exits where a contender has other matches.
    """
    least: dict[str, float] = {}
    matches: dict[str, str] = {}
    pairs, slow = 0, set()
    for _ in range(turns):
        for name, program in programs.items():
            rounds = 1 if turns == 1 else max(2, 10000 // depth)
            done = None if name in slow else machine.run(program, pattern, depth, rounds)
            if done is None:
                slow.add(name)
                continue
            pairs = int(done[0])
            least[name] = min(float(done[1]), least.get(name, float(done[1])))
            matches[name] = done[2]
    for name, found in matches.items():
        if found == matches["mbmatch"]:
            continue
        if name not in ANY_SENDER or machine.run(programs[name], pattern, depth, "judge") is None:
            sys.exit(f"measure.py: {pattern} {depth}: {name} has other matches than mbmatch")
    return pairs, {name: ns for name, ns in least.items() if name not in slow}


def table(title: str, columns: list[str], rows: list[tuple[str, int, list[str]]]) -> list[str]:
    """Lines of a table in Markdown."""
    head = f"| {title} | depth | " + " | ".join(columns) + " |"
    return [head, "|---|--:|" + "--:|" * len(columns)] + [
        f"| {what} | {depth} | " + " | ".join(cells) + " |" for what, depth, cells in rows
    ]


def contenders(machine: Machine, quick: bool) -> list[str]:
    """Measure the tables of instructions and, without an emulator, of times."""
    programs = machine.build()
    before = f"{platform.machine()}, {platform.platform(terse=True)}; load before: {os.getloadavg()[0]:.1f}"
    counts, times = [], []
    for what, pattern, depths in ROWS:
        for depth in depths[:2] if quick else depths:
            pairs, least = timed(machine, programs, pattern, depth, 1 if quick or machine.emulator else 3)
            cells = []
            for name, program in programs.items():
                wanted = name in least and (name == "mbmatch" or not quick)
                calls = ("bench_post", "bench_arrive")
                counted = machine.instructions(program, pattern, depth, calls) if wanted else None
                cells.append("-" if counted is None else f"{counted / pairs:.0f}")
            counts.append((what, depth, cells))
            times.append((what, depth, [f"{least[name]:.3g}" if name in least else "-" for name in programs]))
            print(what, depth, *cells, *times[-1][2], flush=True)
    lines = [machine.emulator or before, "", *table("instructions", list(CONTENDERS), counts)]
    return lines if machine.emulator else [*lines, "", *table("ns", list(CONTENDERS), times)]


def libraries(machine: Machine) -> list[str]:
    """Measure the table of instructions in a post and in a delivery of each library."""
    rows = []
    for name, (words, environment, _) in LIBRARIES.items():
        os.environ.update(environment)
        program = machine.folder / name
        subprocess.run(
            [words[0], "-O2", "-o", str(program), str(HERE / "libraries.c"), *words[1:]], check=True
        )
    for what, pattern, depths in LIBRARY_ROWS:
        for depth in depths:
            cells = []
            for name, (_, _, functions) in LIBRARIES.items():
                for function in functions:
                    counted = machine.instructions(machine.folder / name, pattern, depth, (function,))
                    cells.append("-" if counted is None else f"{counted / depth:.0f}")
            rows.append((what, depth, cells))
            print(what, depth, *cells, flush=True)
    columns = [f"{name}: {half}" for name in LIBRARIES for half in ("post", "delivery")]
    return table("instructions", columns, rows)


def main() -> int:
    """Run the script; return its exit status."""
    parser = argparse.ArgumentParser(prog="measure.py", allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="two depths, one turn, counts of mbmatch alone")
    parser.add_argument("--cc", default="cc", help="the compiler")
    parser.add_argument("--emulator", help="a user emulation of QEMU that runs what the compiler makes")
    parser.add_argument("--libraries", action="store_true", help="counts in UCX and Open MPI instead")
    given = parser.parse_args()
    machine = Machine(given.folder.resolve(), given.cc, given.emulator)
    machine.folder.mkdir(parents=True, exist_ok=True)
    if not given.emulator:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lines = libraries(machine) if given.libraries else contenders(machine, given.quick)
    name = "libraries.md" if given.libraries else "measured.md"
    (machine.folder / name).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
