# SPDX-License-Identifier: Apache-2.0 OR MIT
"""docs/python.md: its code blocks run from top to bottom and print the output shown below them.

`MATCHBENCH_BLESS=1` rewrites the outputs.
"""

import contextlib
import io
import os
import re
from pathlib import Path

import polars as pl
import pytest

from tests.test_pages import ROOT, like_the_repository

PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<printed>.*?)```\n)?", re.DOTALL)


def run(page: str) -> str:
    """Run every block of a page and return the page with the current outputs."""
    names: dict[str, object] = {}

    def run_block(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "block", "exec"), names)  # noqa: S102 - our own page
        output = f"\n```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
        return f"```python\n{block['code']}```\n{output}"

    return BLOCK.sub(run_block, page)


def test_the_page_shows_the_output_of_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(like_the_repository(tmp_path))
    shown = PAGE.read_text(encoding="utf-8")
    with pl.Config(ascii_tables=True, tbl_hide_dataframe_shape=True):
        printed = run(shown)
    if os.environ.get("MATCHBENCH_BLESS"):
        PAGE.write_text(printed, encoding="utf-8")
    else:
        assert printed == shown


def test_a_page_with_another_output_is_rejected() -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert run(page) == page.replace("3", "2")
