# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Benchmarks whole commands: wall time, processor time and memory of each.

`make bench` runs it. The traces are generated, so the work is the same on every host; the results depend on
the host and its load. Cost: one to two minutes.
"""

import os
import shutil
import sys
import time
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "matchbench")
FOLDER = Path("out/bench")
# Name and arguments of each generated trace.
TRACES = {
    "halo3d": ["halo3d", "--ranks", "64"],
    "depth128": ["depth", "--ranks", "64", "--depth", "128"],
    "depth512": ["depth", "--ranks", "64", "--depth", "512"],
}


def run(words: list[str]) -> tuple[float, float, float]:
    """Run a command; return its wall time in s, its CPU time in s and its peak memory in MiB."""
    begin = time.monotonic()
    child = os.posix_spawn(
        words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(child, 0)
    wall_s = time.monotonic() - begin
    if status:
        sys.exit(f"{' '.join(words)}: exit status {os.waitstatus_to_exitcode(status)}")
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Run every command and print one line for each."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    commands = [["engines"]]
    for name, words in TRACES.items():
        trace = str(FOLDER / name)
        commands += [
            ["generate", *words, "-o", trace],
            ["trace", "check", trace],
            ["trace", "stats", trace],
            ["compare", trace, "--engine", "linear:software", "-o", f"{trace}-report"],
        ]
    print(f"{'wall s':>8} {'CPU s':>8} {'MiB':>8}  command")
    for words in commands:
        wall_s, cpu_s, memory_mib = run([COMMAND, *words])
        print(f"{wall_s:8.2f} {cpu_s:8.2f} {memory_mib:8.0f}  matchbench {' '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
