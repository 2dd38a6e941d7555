# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs the cases of abuse and prints the table: kind, what, expected, found."""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.abuse import state
from tests.abuse.case import Case, warm

TABLE = ("code", "files", "outputs", "values")
FAULTS = ("faults", "recorder_faults", "runner_faults")
KINDS = (*TABLE, *FAULTS)
"""The modules with cases: those without and with injected faults."""


def main() -> int:
    """Run what is asked for; 1 if a case does not hold."""
    arguments = _arguments()
    injects = not {*FAULTS}.isdisjoint(arguments.kinds or KINDS)
    if injects and "inject" not in os.environ.get("LD_PRELOAD", ""):
        # Faults are injected from the inside.
        words = [sys.executable, "-m", "tests.abuse", *sys.argv[1:]]
        os.execve(  # noqa: S606 - the same program
            sys.executable, words, {**os.environ, "LD_PRELOAD": str(state.library())}
        )
    begin = time.monotonic()
    warm()
    cases = [
        (kind, case)
        for kind in arguments.kinds or KINDS
        for case in importlib.import_module(f"tests.abuse.{kind}").cases()
        if arguments.only in case.what
    ][:: arguments.sample]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="abuse-") as folder:
        context = multiprocessing.get_context("fork")
        global _CASES
        _CASES = [(Path(folder), case) for _, case in cases]
        with ProcessPoolExecutor(arguments.jobs, context) as pool:
            for (kind, case), found in zip(cases, pool.map(_found, range(len(cases))), strict=True):
                holds = found == case.expected
                failed += not holds
                if not (arguments.quiet and holds):
                    verdict = "ok" if holds else "FAILED"
                    print(" | ".join([verdict, kind, case.what, case.expected, found]), flush=True)
    numbers = Counter(kind for kind, _ in cases)
    print(", ".join(f"{number} {kind}" for kind, number in numbers.items()), end="; ")
    print(f"{len(cases)} cases, {failed} failed, {time.monotonic() - begin:.0f} s")
    return int(failed > 0 or not cases)


_CASES: list[tuple[Path, Case]] = []


def _found(number: int) -> str:
    """Run a case in a folder of its own."""
    parent, case = _CASES[number]
    folder = parent / str(number)
    folder.mkdir()
    os.chdir(folder)
    try:
        return " ".join(case.find(folder).split())
    except Exception:
        return " ".join(traceback.format_exc().split())
    finally:
        os.chdir(parent)
        shutil.rmtree(folder, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description=__doc__)
    parser.add_argument(
        "kinds", nargs="*", choices=[[], *KINDS], metavar="KIND", help=f"of {', '.join(KINDS)}; all"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose `what` contains this text")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th case")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), metavar="N", help="cases at the same time"
    )
    parser.add_argument("--quiet", action="store_true", help="print only what does not hold")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
