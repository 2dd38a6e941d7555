# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Instructions and times of matchers, as a table in Markdown.

Usage: `measure.py FOLDER [--quick]`. Builds `bench.c` with each contender in FOLDER, checks that all have the
same matches, counts instructions with callgrind, and times the contenders alternately on one processor.
Writes FOLDER/measured.md. Needs gcc and valgrind.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTENDERS = ("list", "ucx", "hash", "mbmatch")
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
# Longer runs of a contender are left out: it walks.
LIMIT_S = 2


def built(folder: Path) -> dict[str, Path]:
    """Build the contenders."""
    programs = {}
    for name in CONTENDERS:
        programs[name] = folder / f"bench-{name}"
        words = ["cc", "-std=gnu11", "-O2", "-g", "-Wno-unused-function", f'-DCONTENDER="{name}.h"']
        subprocess.run([*words, str(HERE / "bench.c"), "-o", str(programs[name])], check=True)
    return programs


def run(program: Path, pattern: str, depth: int, rounds: int) -> tuple[int, float, str] | None:
    """Pairs, ns for a pair, and the matches; None when it takes too long."""
    words = [str(program), pattern, str(depth), str(rounds)]
    try:
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    pairs, ns, matches = done.stdout.split()
    return int(pairs), float(ns), matches


def instructions(program: Path, pattern: str, depth: int, folder: Path) -> float | None:
    """Instructions in the calls of a pair, once all is warm: the difference of two runs."""
    totals = []
    for rounds in (1, 3):
        out = folder / "callgrind.out"
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        words += ["--toggle-collect=bench_post", "--toggle-collect=bench_arrive"]
        words += [str(program), pattern, str(depth), str(rounds)]
        try:
            done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=20 * LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        total = next(
            line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:"))
        )
        totals.append((int(total.split()[1]), int(done.stdout.split()[0])))
        out.unlink()
    return (totals[1][0] - totals[0][0]) / 2 / totals[0][1]


def main(arguments: list[str]) -> int:
    """Run the script; return its exit status."""
    if not arguments or len(arguments) > 2 or arguments[1:] not in ([], ["--quick"]):
        print("usage: measure.py FOLDER [--quick]", file=sys.stderr)
        return 2
    folder, quick = Path(arguments[0]).resolve(), len(arguments) == 2
    folder.mkdir(parents=True, exist_ok=True)
    programs = built(folder)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lines = [
        f"{platform.machine()}, {platform.platform(terse=True)}; load before: {os.getloadavg()[0]:.1f}",
        "",
        "| pattern | depth | "
        + " | ".join(f"{name}" for name in CONTENDERS)
        + " | ns: "
        + " | ".join(CONTENDERS)
        + " |",
        "|---|--:|" + "--:|" * (2 * len(CONTENDERS)),
    ]
    for what, pattern, depths in ROWS:
        for depth in depths[:2] if quick else depths:
            least: dict[str, float] = {}
            matches = set()
            for _ in range(1 if quick else 3):
                for name, program in programs.items():
                    done = (
                        run(program, pattern, depth, 1 if quick else max(2, 10000 // depth))
                        if least.get(name, 0) >= 0
                        else None
                    )
                    if done is None:
                        least[name] = -1
                        continue
                    least[name] = min(done[1], least.get(name, done[1]))
                    matches.add(done[2])
            if len(matches) != 1:
                print(
                    f"measure.py: {pattern} {depth}: the contenders have different matches", file=sys.stderr
                )
                return 1
            counts = {
                name: None
                if least[name] < 0 or (quick and name != "mbmatch")
                else instructions(program, pattern, depth, folder)
                for name, program in programs.items()
            }
            shown = ["-" if counts[name] is None else f"{counts[name]:.0f}" for name in CONTENDERS]
            shown += ["-" if least[name] < 0 else f"{least[name]:.3g}" for name in CONTENDERS]
            lines.append(f"| {what} | {depth} | " + " | ".join(shown) + " |")
            print(lines[-1], flush=True)
    (folder / "measured.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
