# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Commands on pages: what the `console` blocks of README.md, docs and tests/cli show is what a user sees.

Each page is typed from its first command to its last, in a folder of its own that looks like the repository.
Everything a command prints must stand below it, standard error after standard output, and a last line
`exit status: N` if that is not 0. A line `...` stands for any lines, where times of this machine show.
`MATCHBENCH_BLESS=1` rewrites the outputs that have no `...`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "tests" / "cli").glob("*.md")),
]
# What the Makefile's own targets do is tested by calling them; a page may still tell the user to.
NOT_TYPED = re.compile(r"(make (run|test|check|setup)$|git clone |cd )")
PATIENCE_S = 300


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page: the lines that it should print, and where they stand."""

    command: str
    expected: list[str]
    first_line: int


def steps(lines: list[str]) -> Iterator[Step]:
    """Yield the commands of the `console` blocks, each with the lines up to the next one."""
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
    """Tell whether the printed lines are those expected, `...` standing for any."""
    pattern = "".join(r"(.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def typed(command: str, folder: Path) -> list[str]:
    """Run a command as a shell does and return the lines it prints."""
    environment = {
        **os.environ,
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
        timeout=PATIENCE_S,
    )
    status = [f"exit status: {done.returncode}"] if done.returncode else []
    return [*(done.stdout + done.stderr).splitlines(), *status]


def like_the_repository(folder: Path) -> Path:
    """Fill a folder with links to the repository's entries: commands find everything and write elsewhere."""
    for entry in ROOT.iterdir():
        if entry.name not in {"out", "target"}:
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    folder = like_the_repository(tmp_path)
    lines = page.read_text(encoding="utf-8").splitlines()
    blessed = list(lines)
    wrong = []
    # Backwards, so that a rewritten output moves no line that is still to come.
    typed_steps = [step for step in steps(lines) if not NOT_TYPED.match(step.command)]
    results = [(step, typed(step.command, folder)) for step in typed_steps]
    for step, printed in reversed(results):
        if not agrees(step.expected, printed):
            wrong.append(f"{page.name}:{step.first_line}: $ {step.command}\n" + "\n".join(printed))
            if "..." not in step.expected:
                blessed[step.first_line : step.first_line + len(step.expected)] = printed
    if os.environ.get("MATCHBENCH_BLESS"):
        page.write_text("\n".join(blessed) + "\n", encoding="utf-8")
    else:
        assert not wrong, "\n\n".join(reversed(wrong))


def test_a_page_that_shows_something_else_is_rejected(tmp_path: Path) -> None:
    page = ["```console", "$ echo one; exit 3", "one", "exit status: 3", "$ echo two", "three", "```"]
    first, second = steps(page)
    assert agrees(first.expected, typed(first.command, tmp_path))
    assert not agrees(second.expected, typed(second.command, tmp_path))


def test_dots_stand_for_any_lines() -> None:
    assert agrees(["a", "...", "z"], ["a", "z"])
    assert agrees(["a", "...", "z"], ["a", "b", "c", "z"])
    assert not agrees(["a", "...", "z"], ["a", "b"])
