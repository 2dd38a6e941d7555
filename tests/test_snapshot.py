# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Snapshots of real traces as lists and headers, and match programs that run on them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import matchbench as mb
from matchbench.match_unit.files import NO_MATCH, read_headers, read_list
from matchbench.match_unit.program import Setup
from matchbench.trace.snapshot import export_snapshot
from tests.conftest import Command

ROOT = Path(__file__).parent.parent
TRACES = sorted((ROOT / "traces").glob("*.tar.xz"))
HALO = ROOT / "traces/halo3d-64.tar.xz"
CG = ROOT / "traces/cg-32.tar.xz"
WORD = (1 << 64) - 1


def _accepts(receive: dict[str, Any], message: dict[str, Any]) -> bool:
    care = ~receive.get("ignore", 0) & WORD
    same = (receive["bits"] ^ message["bits"]) & care == 0
    return same and receive.get("nid", "any") in ("any", message["nid"])


def _answers(directory: Path) -> Iterator[tuple[str, str]]:
    """Match the headers of an export one after the other, as MPI does; give each with what it matches."""
    lists = tomllib.loads((directory / "list.toml").read_text())
    posted, unexpected = list(lists.get("posted", [])), list(lists.get("unexpected", []))
    for header in tomllib.loads((directory / "headers.toml").read_text())["header"]:
        is_search = header.get("op") == "search"
        candidates = unexpected if is_search else posted
        found = next(
            (
                each
                for each in candidates
                if (_accepts(header, each) if is_search else _accepts(each, header))
            ),
            None,
        )
        if found is not None and header["after_match"] != "keep":
            candidates.remove(found)
        if found is None and header["after_match"] == "append":
            (posted if is_search else unexpected).append(header)
        yield header["name"], NO_MATCH if found is None else found["name"]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_a_program_answers_every_header_of_a_real_trace_as_mpi_does(path: Path, tmp_path: Path) -> None:
    with mb.Trace.open(path) as trace:
        worst = export_snapshot(trace, tmp_path / "worst", headers=150)
        export_snapshot(trace, tmp_path / "start", rank=worst.rank, start="start", headers=150)
    assert worst.depth == max(worst.posted, worst.unexpected) or worst.depth > 0
    for name in ("worst", "start"):
        expected = dict(_answers(tmp_path / name))
        items, headers = (
            read_list(tmp_path / name / "list.toml"),
            read_headers(tmp_path / name / "headers.toml"),
        )
        assert {header.name: header.expect for header in headers} == expected
        assert [header.arrival for header in headers] == sorted(header.arrival for header in headers)
        for program in ("mpi", "portals_hemmert2007", "portals_lean", "portals4"):
            setup = Setup(program, items, headers)
            report = setup.run(setup.unit())
            found = {setup.headers[each["header"]].name: setup.found_name(each) for each in report.answers}
            assert found == expected, program
    assert any(answer != NO_MATCH for answer in expected.values())


def test_the_first_header_of_the_worst_snapshot_visits_as_many_items_as_the_deepest_search(
    tmp_path: Path,
) -> None:
    with mb.Trace.open(HALO) as trace:
        worst = export_snapshot(trace, tmp_path / "m", headers=1)
        sizing = mb.size(trace, costs=[])
    needs = sizing.needs.filter(of="searches")
    assert worst.depth == max(needs["p100"].to_list())
    setup = Setup("mpi", read_list(tmp_path / "m/list.toml"), read_headers(tmp_path / "m/headers.toml"))
    (answer,) = setup.run(setup.unit()).answers
    assert answer["visits"] == worst.depth


def test_the_command_exports_a_communicator_and_mu_runs_the_template_on_it(
    matchbench: Command, tmp_path: Path
) -> None:
    with mb.Trace.open(CG) as trace:
        (communicator,) = mb.size(trace, costs=[]).needs["communicator"].drop_nulls().unique()
    chosen = str(communicator)
    done = matchbench(
        "trace", "export", CG, "--match-unit", "--communicator", chosen, "--headers", "50", "-o", "m"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cg-32: rank ")
    assert f"{Path('m/headers.toml')}: " in done.stdout
    names = [header.name for header in read_headers(tmp_path / "m/headers.toml")]
    assert all(name.endswith(f", communicator {chosen})") for name in names)
    inputs = ("--list", "m/list.toml", "--headers", "m/headers.toml")
    for items in ("4", "8", "16"):
        assert matchbench("match_unit", "new", f"mine{items}.mb", "--items", items).returncode == 0
        ran = matchbench("match_unit", "run", f"mine{items}.mb", *inputs)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.count("\n") > len(names)


def test_an_answer_that_is_not_expected_is_named_with_status_1(matchbench: Command, tmp_path: Path) -> None:
    assert matchbench("trace", "export", HALO, "--match-unit", "--headers", "20", "-o", "m").returncode == 0
    headers = tmp_path / "m/headers.toml"
    text = headers.read_text()
    (first, *_) = read_headers(headers)
    assert first.expect != NO_MATCH
    headers.write_text(text.replace(f'expect = "{first.expect}"', f'expect = "{NO_MATCH}"', 1))
    inputs = ("--list", "m/list.toml", "--headers", "m/headers.toml")
    done = matchbench("match_unit", "run", "mpi", *inputs)
    assert done.returncode == 1
    assert (
        done.stderr == f"matchbench: header `{first.name}`: found `{first.expect}`, expected `{NO_MATCH}`\n"
    )
    headers.write_text(text.replace(f'expect = "{first.expect}"', 'expect = "nobody"', 1))
    done = matchbench("match_unit", "run", "mpi", *inputs)
    assert done.returncode == 2
    assert (
        "field `expect`: found `nobody`, expected the name of an item or of an earlier header" in done.stderr
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rank", "64"), "rank: found 64, expected 0 to 63"),
        (("--headers", "0"), "headers: found 0, expected at least 1"),
        (("--communicator", "77"), "has no operation of communicator 77; `matchbench size` lists"),
        (("--on", "host_native"), "is measured, and orders operations differently in each run"),
        (("--on", "nothing"), "unknown engine `nothing`"),
        (("--network", "nothing"), "unknown network `nothing`"),
    ],
)
def test_wrong_input_of_an_export_is_refused(
    matchbench: Command, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = matchbench("trace", "export", HALO, "--match-unit", "-o", "m", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "m").exists()


def test_options_of_mu_need_mu_and_an_earlier_export_is_kept(matchbench: Command, tmp_path: Path) -> None:
    done = matchbench("trace", "export", HALO, "-o", "r.parquet", "--rank", "3")
    assert (done.returncode, done.stderr) == (
        2,
        "matchbench: --rank: needs --match-unit; add it, or omit --rank\n",
    )
    done = matchbench("trace", "export", HALO, "-o", "r.parquet", "--network", "slingshot")
    assert "--network: needs --match-unit" in done.stderr
    words = ("trace", "export", HALO, "--match-unit", "--headers", "3", "-o", "m")
    assert matchbench(*words).returncode == 0
    kept = (tmp_path / "m/list.toml").read_bytes()
    assert matchbench(*words, "--rank", "1").returncode == 2
    assert (tmp_path / "m/list.toml").read_bytes() == kept
    assert matchbench(*words, "--force").returncode == 0
    assert (tmp_path / "m/list.toml").read_bytes() == kept, "the same export gives the same files"
