# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pages in the system's Chromium, driven by Playwright; `make test` installs both."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Every visible chart is there, and drawn for the width that the window has now: charts are drawn again some
# time after a change of the width, and have no content for a moment.
DRAWN = """
() => [...document.querySelectorAll("figure:not([hidden]) .chart")]
  .every((each) => each.querySelector("svg.marks") && Number(each.dataset.drawnFor) === innerWidth)
"""
CUT = """
() => [...document.querySelectorAll(".scroll")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.getAttribute("aria-label"))
"""
"""The tables and charts that are wider than their place, so that one has to scroll."""
SIZE: ViewportSize = {"width": 1100, "height": 900}


@contextmanager
def launched() -> Iterator[Browser]:
    """Start the browser; the test is skipped without one."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright; `make test` installs it")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed; `xtask/setup.sh browser` installs one")
    # The sandbox of Chromium refuses to run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, path: Path) -> Iterator[tuple[Page, list[str]]]:
    """Open a page without network, and list its messages in the console and what it loads."""
    context = browser.new_context(offline=True, viewport=SIZE)
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function(DRAWN)
    assert said.pop(0) == path.as_uri()
    yield page, said
    context.close()
