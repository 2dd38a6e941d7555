# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The pages of `size`, `sweep`, `netproc` and `reproduce` in a browser, with nothing in the console."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import matchbench as mb
from matchbench.cli import main
from tests.browser import CUT, DRAWN, SIZE, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MARKS = "figure svg.marks path[aria-label]"


@pytest.fixture(scope="module", params=["sweep", "sizing"])
def opened(
    request: pytest.FixtureRequest,
    browser: Browser,
    halo: mb.Trace,
    deep: mb.Trace,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Page, list[str]]]:
    directory = tmp_path_factory.mktemp(request.param)
    traces = [str(halo.path), str(deep.path)]
    if request.param == "sweep":
        varied = ["-e", "cam_list", "-e", "alpu", "--set", "cam=1..64 *4", "--set", "cells=8..64 *8"]
        words = ["sweep", *traces, *varied, "--set", "block=8", "--no-cache", "-o", str(directory / "o")]
        assert main(words) == 0
        path = directory / "o/report.html"
    else:
        assert main(["size", *traces, "-e", "cam_list", "-o", str(directory / "o")]) == 0
        path = directory / "o/sizing.html"
    with open_page(browser, path) as (page, said):
        yield request.param, page, said


@pytest.fixture
def page(opened: tuple[str, Page, list[str]]) -> Iterator[Page]:
    """Give the page; a message fails the test."""
    _, page, said = opened
    yield page
    page.set_viewport_size(SIZE)
    page.wait_for_function(DRAWN)
    page.get_by_label("Rows that contain").fill("")
    assert said == []


def test_every_chart_is_drawn_with_marks_that_show_their_values(page: Page) -> None:
    charts = page.locator("figure .chart")
    assert charts.count() >= 2
    for at in range(charts.count()):
        chart = charts.nth(at)
        assert chart.locator("svg.marks").count() == 1
        assert chart.locator("path[aria-label]").count() > 1
        assert chart.get_attribute("aria-label")
        assert chart.get_attribute("aria-description")
    page.locator(MARKS).last.hover(force=True)
    page.locator("#vg-tooltip-element.visible").wait_for()
    page.mouse.move(0, 0)


def test_a_table_sorts_and_filters_and_a_chart_has_its_data(page: Page) -> None:
    table = page.locator("table.sortable").first
    heading = table.locator("thead th").last
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    rows = page.locator("table.sortable tbody tr")
    every = rows.count()
    page.get_by_label("Rows that contain").fill("cam_list")
    shown = page.locator("table.sortable tbody tr:visible").count()
    assert 0 < shown < every
    assert page.get_by_role("status").inner_text() == f"{shown} of {every} rows"
    page.get_by_text("Data of this chart as a table").first.click()
    # The table is made when the browser reports that the element is open.
    page.locator("details.data table tbody tr").nth(1).wait_for()


def fits(page: Page) -> None:
    """Check that the page fits a phone and a laptop, where no table is cut either."""
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []


def test_the_page_fits_its_window(page: Page) -> None:
    fits(page)


@pytest.mark.parametrize(
    ("words", "folded"),
    [
        ("netproc compare null -n 300 -a smt2 -a cmp2", "issue slots by hart"),
        ("reproduce tanabe2013 --figures", "inputs: claims about"),
    ],
)
def test_other_pages_fit_too_also_where_something_is_unfolded(
    browser: Browser, tmp_path: Path, words: str, folded: str
) -> None:
    assert main([*words.split(), "-o", str(tmp_path / "o")]) == 0
    with open_page(browser, tmp_path / "o/report.html") as (page, said):
        assert page.get_by_role("heading", level=1).count() == 1
        page.get_by_text(folded).first.click()
        fits(page)
        assert said == []
