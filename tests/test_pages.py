# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transcripts: the `console` blocks of README.md, docs and tests/cli show the output of their commands.

The commands of a page run in order, in a temporary folder that looks like the repository. The page shows the
whole output, standard error after standard output, and a last line `exit status: N` if that is not 0.
A line `...` stands for any lines, for example with times of this machine.
`MATCHBENCH_BLESS=1` rewrites the outputs that have no `...`.

Written by hand because other runners lack something: trycmd runs no shell (pipes, `&&`, redirections), cram
reads no Markdown blocks, and scrut needs its own fences and rules for each elided line.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import pytest

from tests import idle_ranks, shared

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "tests" / "cli").glob("*.md")),
]
# Not run: the Makefile's targets, which run these tests, and commands outside of the repository.
NOT_RUN = re.compile(r"(make (run|test|check|setup)$|git clone |cd )")
TIME_LIMIT_S = 300
# A command of which pages show no output, and the test that runs it too and checks its results.
IN_A_TEST = {"matchbench mpi bench --quick --mpicc mpicc.mpich -o out/mpich": "test_mpi_bench_real.py"}
# Figures beside a page, and where its commands draw them.
FIGURES = {
    "tour.md": {"halo3d-64.latency.svg": "out/readme/plots/halo3d-64.latency.svg"},
    "match_unit.md": {"match_unit.pareto.svg": "out/pareto/plots/pareto.svg"},
}
# Commands of pages outside of docs that draw figures below `out`, and the folder of the committed ones.
DRAWING = {
    "integrations/openmpi/measure.py draw integrations/openmpi/measured/depth-amd-epyc.json "
    "integrations/openmpi/measured out": "integrations/openmpi/figures",
    "studies/chip_cores/cores.py --figure out/cores.svg": "studies/chip_cores",
}
# Kept is what cargo compiles for a page, and not optimized: simulated times are the same.
CARGO = {
    "CARGO_BUILD_BUILD_DIR": str(ROOT / "target" / "pages"),
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_BUILD_OVERRIDE_OPT_LEVEL": "0",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page, its expected output, and the line number of that output."""

    command: str
    expected: list[str]
    first_line: int


def steps(lines: list[str]) -> Iterator[Step]:
    """Yield the commands of the `console` blocks, each with the lines up to the next command."""
    inside = False
    step: Step | None = None
    for number, line in enumerate(lines):
        if line.startswith("```"):
            inside = line == "```console"
            if step is not None:
                yield step
            step = None
        elif inside and line.startswith("$ "):
            if step is not None:
                yield step
            step = Step(line.removeprefix("$ "), [], number + 1)
        elif step is not None:
            step.expected.append(line)


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Return whether the printed lines match the expected ones; `...` matches any lines."""
    pattern = "".join(r"(.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def run(command: str, folder: Path) -> list[str]:
    """Run a command in a shell and return its output lines."""
    quick = {} if shared.FULL else CARGO | idle_ranks.environment()
    environment = {
        **os.environ,
        **quick,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIME_LIMIT_S,
    )
    status = [f"exit status: {done.returncode}"] if done.returncode else []
    return [*(done.stdout + done.stderr).splitlines(), *status]


def like_the_repository(folder: Path) -> Path:
    """Fill a folder with links to the entries of the repository, so that commands write outside of it."""
    for entry in ROOT.iterdir():
        if entry.name not in {"out", "target"}:
            (folder / entry.name).symlink_to(entry)
    return folder


def is_fresh(committed: Path, drawn: Path) -> bool:
    """Return whether a figure is the drawn one; another version of matplotlib draws another text."""
    text = committed.read_text(encoding="utf-8")
    return f"Matplotlib v{mpl.__version__}," not in text or text == drawn.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_the_output_of_its_commands(page: Path, tmp_path: Path) -> None:
    folder = like_the_repository(tmp_path)
    lines = page.read_text(encoding="utf-8").splitlines()
    blessed = list(lines)
    wrong = []
    # In reverse order, so that a rewritten output does not shift the lines of earlier ones.
    executed = [
        step
        for step in steps(lines)
        if not NOT_RUN.match(step.command) and (shared.FULL or step.command not in IN_A_TEST)
    ]
    results = [(step, run(step.command, folder)) for step in executed]
    for step, printed in reversed(results):
        if not agrees(step.expected, printed):
            wrong.append(f"{page.name}:{step.first_line}: $ {step.command}\n" + "\n".join(printed))
            if "..." not in step.expected:
                blessed[step.first_line : step.first_line + len(step.expected)] = printed
    figures = {page.parent / name: folder / drawn for name, drawn in FIGURES.get(page.name, {}).items()}
    if os.environ.get("MATCHBENCH_BLESS"):
        page.write_text("\n".join(blessed) + "\n", encoding="utf-8")
        for committed, drawn in figures.items():
            shutil.copyfile(drawn, committed)
    else:
        assert not wrong, "\n\n".join(reversed(wrong))
        assert all(is_fresh(*figure) for figure in figures.items())


@pytest.mark.parametrize(("words", "folder"), DRAWING.items())
def test_a_committed_figure_is_what_its_command_draws(words: str, folder: str, tmp_path: Path) -> None:
    (like_the_repository(tmp_path) / "out").mkdir()
    run(f"python {words}", tmp_path)
    committed = sorted((ROOT / folder).glob("*.svg"))
    assert [each.name for each in committed] == sorted(each.name for each in tmp_path.glob("out/*.svg"))
    assert all(is_fresh(each, tmp_path / "out" / each.name) for each in committed)


@pytest.mark.parametrize(("command", "test"), IN_A_TEST.items())
def test_a_command_that_is_left_to_a_test_is_run_there(command: str, test: str) -> None:
    pages = [page.read_text(encoding="utf-8").splitlines() for page in PAGES]
    shown = [step.expected for lines in pages for step in steps(lines) if step.command == command]
    assert shown
    assert all(expected == ["..."] for expected in shown)
    assert f'"{command}"' in (ROOT / "tests" / test).read_text(encoding="utf-8")


def test_a_page_with_another_output_is_rejected(tmp_path: Path) -> None:
    page = ["```console", "$ echo one; exit 3", "one", "exit status: 3", "$ echo two", "three", "```"]
    first, second = steps(page)
    assert agrees(first.expected, run(first.command, tmp_path))
    assert not agrees(second.expected, run(second.command, tmp_path))


def test_an_ellipsis_matches_any_lines() -> None:
    assert agrees(["a", "...", "z"], ["a", "z"])
    assert agrees(["a", "...", "z"], ["a", "b", "c", "z"])
    assert not agrees(["a", "...", "z"], ["a", "b"])
