# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report in a browser: charts, switches, sorting and filtering, without a message in the console.

The browser is the system's Chromium, driven by Playwright; `make test` installs both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import matchbench as mb
from tests.browser import CUT, DRAWN, SIZE, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MARKS = "figure:not([hidden]) svg.marks path[aria-label]"
ENGINES = ["ideal", "linear:qsnet2", "linear:bgp", "match_unit:hemmert2007"]


@pytest.fixture(scope="module")
def report(halo: mb.Trace, deep: mb.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report") / "r"
    mb.compare([halo, deep], ENGINES).write(directory)
    return directory / "report.html"


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Iterator[tuple[Page, list[str]]]:
    """Open the report without network, and list its messages in the console and what it loads."""
    with open_page(browser, report) as found:
        yield found


@pytest.fixture
def page(opened: tuple[Page, list[str]]) -> Iterator[Page]:
    """Give the report with all engines, all rows and its first trace; a message fails the test."""
    page, said = opened
    page.get_by_role("button", name="all", exact=True).click()
    page.get_by_label("Rows that contain").fill("")
    page.get_by_role("combobox", name="Trace").select_option("deep")
    page.wait_for_function(DRAWN)
    yield page
    page.set_viewport_size(SIZE)
    page.wait_for_function(DRAWN)
    page.emulate_media(color_scheme="light", media="screen")
    assert said == []


def column(page: Page, table: str, at: int) -> list[str]:
    """List the visible cells of a column."""
    rows = page.locator(f"{table} tbody tr:visible")
    return [rows.nth(row).locator("th, td").nth(at).inner_text() for row in range(rows.count())]


def test_a_click_and_a_key_on_a_heading_sort(page: Page) -> None:
    worst = page.locator("table.matrix thead th").last
    assert worst.get_attribute("aria-sort") is None
    before = column(page, "table.matrix", -1)
    worst.get_by_role("button").click()
    assert worst.get_attribute("aria-sort") == "ascending"
    assert column(page, "table.matrix", -1) == sorted(before, key=float)
    worst.get_by_role("button").press("Enter")
    assert worst.get_attribute("aria-sort") == "descending"
    assert column(page, "table.matrix", -1) == sorted(before, key=float, reverse=True)
    # Times are sorted by their value, not by their digits.
    latency = page.locator("table.sortable").nth(2).locator("thead th").nth(5)
    latency.get_by_role("button").click()
    cells = page.locator("table.sortable").nth(2).locator("tbody tr td:nth-child(6)").all_inner_texts()
    scale = {"ns": 1.0, "us": 1e3, "ms": 1e6}
    times = [float(cell.rpartition(" ")[0]) * scale[cell.rpartition(" ")[2]] for cell in cells]
    assert times == sorted(times)
    assert {cell.rpartition(" ")[2] for cell in cells} >= {"ns", "us"}


def test_a_filter_leaves_the_rows_that_contain_every_word(page: Page) -> None:
    whole = page.locator("tr[data-engine]").count()
    assert page.locator("tr[data-engine]:visible").count() == whole == 3 * len(ENGINES)
    page.get_by_label("Rows that contain").fill("LINEAR bgp")
    assert column(page, "table.matrix", 0) == ["linear:bgp"]
    assert page.get_by_role("status").inner_text() == f"3 of {whole} rows"
    page.get_by_label("Rows that contain").fill("")
    assert page.locator("tr[data-engine]:visible").count() == whole


def test_an_engine_is_switched_off_in_every_chart_and_table(page: Page) -> None:
    def lines() -> set[str]:
        labels = page.locator(MARKS).evaluate_all(
            "marks => marks.map((mark) => mark.getAttribute('aria-label'))"
        )
        return {
            engine for engine in ("linear:qsnet2", "linear:bgp") if any(engine in each for each in labels)
        }

    assert lines() == {"linear:qsnet2", "linear:bgp"}
    switch = page.get_by_role("button", name="linear:bgp")
    switch.click()
    assert switch.get_attribute("aria-pressed") == "false"
    page.locator(f"{MARKS}[aria-label*='linear:bgp']").first.wait_for(state="detached")
    assert lines() == {"linear:qsnet2"}
    assert "linear:bgp" not in column(page, "table.matrix", 0)
    switch.press("Space")
    page.locator(f"{MARKS}[aria-label*='linear:bgp']").first.wait_for(state="attached")
    assert lines() == {"linear:qsnet2", "linear:bgp"}
    page.get_by_role("button", name="match_unit:hemmert2007").dblclick()
    assert column(page, "table.matrix", 0) == ["match_unit:hemmert2007"]
    page.get_by_role("button", name="all", exact=True).click()
    assert len(column(page, "table.matrix", 0)) == len(ENGINES)


def test_a_trace_is_chosen_and_a_mark_shows_its_values(page: Page) -> None:
    visible = page.locator("figure:not([hidden])[data-trace='halo']")
    assert visible.count() == 0
    page.get_by_role("combobox", name="Trace").select_option("halo")
    page.wait_for_function(DRAWN)
    assert visible.count() > 0
    assert page.locator("figure:not([hidden])[data-trace='deep']").count() == 0
    page.locator(f"{MARKS}[aria-roledescription='bar']").last.hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert "share of the run time" in page.locator("#vg-tooltip-element").inner_text()


def test_the_wheel_with_the_shift_key_zooms(page: Page) -> None:
    figure = page.locator("figure:not([hidden])", has_text="match latency against search depth")
    chart = figure.locator("svg.marks")
    before = chart.text_content()
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Shift")
    # The axes lose the ticks that are out of view.
    page.wait_for_function("([svg, text]) => svg.textContent !== text", arg=[chart.element_handle(), before])


def test_a_percentile_is_chosen_below_the_chart(page: Page) -> None:
    figure = page.locator("figure:not([hidden])", has_text="match latency against search depth")
    marks = figure.locator("path[aria-roledescription]")
    before = [each.get_attribute("aria-label") for each in marks.all()]
    choice = figure.get_by_label("match latency:")
    assert choice.locator("option").all_inner_texts() == ["mean", "median", "99 %", "99.9 %", "maximum"]
    choice.select_option("maximum")
    for _ in range(2):  # and a page of another width draws the same
        page.wait_for_function(
            "([svg, text]) => [...svg.querySelectorAll('path[aria-roledescription]')]"
            ".some((each) => !text.includes(each.getAttribute('aria-label')))",
            arg=[figure.locator(".drawing").element_handle(), before],
        )
        assert choice.locator("option:checked").inner_text() == "maximum"
        page.set_viewport_size({"width": SIZE["width"] - 200, "height": SIZE["height"]})
        page.wait_for_timeout(500)
    choice.select_option("mean")


@pytest.mark.parametrize("width", [390, 1280])
def test_every_line_of_a_chart_is_in_its_legend(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(DRAWN)
    figure = page.locator("figure:not([hidden])", has_text="match latency against search depth")
    names = figure.locator(".role-legend-label text")
    assert set(names.all_text_contents()) >= {"ideal:zero", *ENGINES[1:], "bound", "simulated"}
    boxes = [box for each in names.all() if (box := each.bounding_box())]
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            # A box of text is higher than its letters.
            assert beside or abs(one["y"] - other["y"]) > 0.7 * one["height"]


def test_a_chart_has_a_description_and_its_data_as_a_table(page: Page) -> None:
    chart = page.locator("figure:not([hidden])", has_text="match latency against search depth")
    described = chart.locator("[role=graphics-document]").first.get_attribute("aria-label") or ""
    assert described.startswith(
        "deep: match latency against search depth. Lines: 4 engines, search depths of up to "
    )
    chart.get_by_text("Data of this chart as a table").click()
    assert chart.locator("table th").first.inner_text() == "label"
    assert chart.locator("table tr").count() > len(ENGINES)


@pytest.mark.parametrize("width", [360, 390, 1280, 1400])
def test_the_page_fits_its_window_and_on_a_laptop_no_table_is_cut(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_function(DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width >= 1280:
        assert page.evaluate(CUT) == []


def test_charts_take_the_ink_of_the_screen_and_of_paper(page: Page) -> None:
    ink = "() => getComputedStyle(document.querySelector('.mark-text.role-axis-title text')).fill"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ink) == "rgb(216, 216, 216)"
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(ink) == "rgb(0, 0, 0)"
    back = "() => getComputedStyle(document.querySelector('button.engine')).backgroundColor"
    assert page.evaluate(back) == "rgb(255, 255, 255)"
    assert not page.get_by_label("Rows that contain").is_visible()


def test_without_scripts_the_tables_and_the_answer_are_there(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".answer li").count() == 5
    assert page.locator("table.matrix tbody tr:visible").count() == len(ENGINES)
    assert not page.locator("#controls").is_visible()
    assert page.locator("thead button").count() == 0
    context.close()
