# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs a fuzz target from its kept corpus on, or makes the corpus anew.

`fuzz.py run TARGET SECONDS` fails at the first find. Its input is in `out/fuzz/TARGET`, as are new inputs.
`fuzz.py merge TARGET` keeps the smallest inputs that reach every edge together, as far as they fit.
A target is a program of `fuzz_targets`, for cargo-fuzz, or a reader of `tests/fuzz_readers.py`, for atheris.
A corpus is a file of text, `corpus/TARGET.txt`, with an input in each line, in hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "fuzz"
MOST_BYTES = 3000
"""Of the inputs of a corpus together."""
LONGEST = 2048
"""Bytes of an input."""


def corpus_file(target: str) -> Path:
    """Name the file of a kept corpus."""
    return ROOT / "fuzz" / "corpus" / f"{target}.txt"


def kept(target: str) -> list[bytes]:
    """Read a kept corpus."""
    file = corpus_file(target)
    return [bytes.fromhex(line) for line in file.read_text("ascii").splitlines()] if file.exists() else []


def chosen(inputs: Iterable[bytes]) -> list[bytes]:
    """Choose the smallest of some inputs, as many as fit into a corpus."""
    fitting, total = [], 0
    for each in sorted(set(inputs), key=lambda data: (len(data), data)):
        total += len(each)
        if total > MOST_BYTES:
            break
        fitting.append(each)
    return fitting


def _program(target: str) -> list[str]:
    """Return the words of the program of a target, which takes the options of libFuzzer."""
    if (ROOT / "fuzz" / "fuzz_targets" / f"{target}.rs").exists():
        return ["cargo", "+nightly", "fuzz", "run", target]
    return [sys.executable, "-m", "tests.fuzz_readers", target]


def _call(target: str, folders: list[Path], options: list[str]) -> int:
    words = _program(target)
    end = ["--", *options] if words[0] == "cargo" else options
    longest = f"-max_len={LONGEST}"
    return subprocess.run([*words, *map(str, folders), *end, longest], cwd=ROOT, check=False).returncode


def _run(target: str, seconds: str) -> int:
    found = OUT / target / "found"
    found.mkdir(parents=True, exist_ok=True)
    for each in kept(target):
        (found / hashlib.sha256(each).hexdigest()).write_bytes(each)
    options = [
        f"-max_total_time={seconds}",
        f"-artifact_prefix={OUT / target}/",
        "-print_final_stats=1",
        "-verbosity=0",
        "-timeout=60",
        "-len_control=0",
    ]
    return _call(target, [found], options)


def _merge(target: str) -> int:
    edges = OUT / target / "edges"
    shutil.rmtree(edges, ignore_errors=True)
    edges.mkdir(parents=True)
    options = ["-merge=1", "-use_counters=0", "-verbosity=0"]
    status = _call(target, [edges, OUT / target / "found"], options)
    if status == 0:
        inputs = chosen(file.read_bytes() for file in edges.iterdir())
        corpus_file(target).write_text("".join(f"{each.hex()}\n" for each in inputs), "ascii")
    return status


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", target, seconds]:
            sys.exit(_run(target, seconds))
        case ["merge", target]:
            sys.exit(_merge(target))
        case _:
            sys.exit(f"usage: {__doc__}")
