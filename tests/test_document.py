# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What every command has: a JSON document, quiet runs, tables that fit, a page of the manual, completion."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import polars as pl
import pytest

import matchbench as mb
from matchbench.cli import cli, manual
from matchbench.cli.tree import contexts
from matchbench.cli.usage import Passing
from matchbench.display import document, tables
from tests.conftest import Command

EVERY = {" ".join(words): context for words, context in contexts(cli)}
MD5 = Path(__file__).parent.parent / "processor/firmware/elf/md5.rv64.elf"


@pytest.mark.parametrize(
    "name", [name for name, context in EVERY.items() if not isinstance(context.command, click.Group)]
)
def test_every_command_has_the_shared_options(name: str) -> None:
    context = EVERY[name]
    options = {option for parameter in context.command.get_params(context) for option in parameter.opts}
    wanted = {"-q", "--quiet"} if isinstance(context.command, Passing) else {"-q", "--quiet", "--json"}
    assert options & {"-q", "--quiet", "--json"} == wanted


def test_a_document_has_fields_with_numbers_as_they_are(matchbench: Command, halo: mb.Trace) -> None:
    done = matchbench("trace", "info", halo.path, "--json")
    found = json.loads(done.stdout)
    assert (found["command"], found["version"]) == ("matchbench trace info", mb.__version__)
    assert (found["fields"]["records"], found["fields"]["size"]) == (halo.records, halo.size_bytes)


def test_a_document_has_every_table_with_units(matchbench: Command, halo: mb.Trace, tmp_path: Path) -> None:
    engines = ["-e", "ideal", "-e", "linear:software"]
    done = matchbench("compare", halo.path, *engines, "--table-only", "-o", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["text"][-1] == "results: out/report.html"
    [table] = found["tables"]
    names = [column["name"] for column in table["columns"]]
    units = {column["name"]: column["unit"] for column in table["columns"]}
    assert (units["application"], units["match mean"]) == ("ns", "ns")
    rows = {row[names.index("engine")]: row for row in table["rows"]}
    kept = pl.read_parquet(tmp_path / "out" / "results.parquet").filter(engine="linear").row(0, named=True)
    columns = {"application": "time_ns", "slowdown": "slowdown", "match mean": "match_latency_mean_ns"}
    printed = {name: rows["linear:software"][names.index(name)] for name in columns}
    assert printed == {name: kept[column] for name, column in columns.items()}
    events = rows["linear:software"][names.index("overflows")]
    assert events == kept["posted_overflows"] + kept["unexpected_overflows"] == 0


def test_a_failed_check_has_its_document_and_bad_input_has_none(
    matchbench: Command, halo: mb.Trace, tmp_path: Path
) -> None:
    done = matchbench("trace", "check", "missing", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    shutil.copytree(halo.path, tmp_path / "damaged")
    [path] = (tmp_path / "damaged").glob("*.mbt")
    with path.open("r+b") as file:
        file.seek(200)
        file.write(b"damaged")
    done = matchbench("trace", "check", "damaged", "--json")
    assert done.returncode == 1
    [remark] = json.loads(done.stdout)["remarks"]
    assert done.stderr == f"matchbench: {remark}\n"
    assert path.name in remark


def test_the_output_of_a_program_is_not_in_the_document(matchbench: Command) -> None:
    done = matchbench("cpu", "run", MD5, "--json")
    plain = matchbench("cpu", "run", MD5, "--quiet")
    assert done.returncode == plain.returncode == 0
    assert json.loads(done.stdout)["counts"]["instructions"] > 0
    assert plain.stdout
    assert done.stderr == plain.stdout


def test_colours_and_progress_are_for_terminals_only(matchbench: Command, halo: mb.Trace) -> None:
    done = matchbench("compare", halo.path, "--engine", "ideal", "--table-only", TERM="xterm-256color")
    assert "\x1b" not in done.stdout + done.stderr


def test_a_narrow_terminal_leaves_columns_out_and_cuts_no_number(matchbench: Command, halo: mb.Trace) -> None:
    words = ("compare", halo.path, "-e", "linear:qsnet2", "--table-only", "--force", "-o", "r")
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm"}  # a dumb terminal always has 80 columns
    printed = [matchbench(*words, **terminal, COLUMNS=width) for width in ("300", "120", "80")]
    styled = re.compile(r"\x1b\[[0-9;]*m")
    rows = [
        re.split(r"  +", styled.sub("", line).strip())
        for done in printed
        for line in done.stdout.splitlines()
        if styled.sub("", line).startswith("linear:qsnet2")
    ]
    assert [len(row) for row in rows] == [18, 11, 7]
    assert set(rows[2]) <= set(rows[1]) <= set(rows[0])


def test_a_table_wider_than_the_terminal_names_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    columns = ["engine", *(f">number {number}" for number in range(400))]
    tables.show("wide", columns, [["linear", *range(400)]])
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, printed.splitlines())) <= 60
    assert printed.startswith("wide\nengine  number 0  number 1  number 2  number 3  number 4\n")
    assert "the terminal has 60 columns: number 5, number 6, " in " ".join(printed.split())
    assert "and 389 more. `--json` has all." in " ".join(printed.split())


def test_quiet_leaves_remarks_out_and_warnings_in(capsys: pytest.CaptureFixture[str]) -> None:
    document.begin()
    document.be_quiet()
    tables.remark("3 series were measured before")
    tables.progress("half")
    tables.warn("the time limit was reached")
    document.begin()
    tables.remark("again")
    assert capsys.readouterr().err == "matchbench: the time limit was reached\nmatchbench: again\n"


def test_a_document_holds_text_and_warnings_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    document.begin()
    document.collect("matchbench x")
    tables.line("first\n\nsecond")
    tables.warn("doubtful")
    tables.fields([("share", tables.share(1 / 3)), ("none", tables.time(None)), ("name", "a")])
    tables.show(None, ["a", ">b"], [("x", tables.size(2048)), ("y", None)])
    found = json.loads(document.finished() or "")
    assert capsys.readouterr().out == ""
    assert found["text"] == ["first", "second"]
    assert found["remarks"] == ["doubtful"]
    assert found["fields"] == {"share": 1 / 3, "none": None, "name": "a"}
    columns = [{"name": "a", "unit": ""}, {"name": "b", "unit": "B"}]
    assert found["tables"] == [{"title": None, "columns": columns, "rows": [["x", 2048], ["y", None]]}]


def test_every_command_has_a_page_of_the_manual(tmp_path: Path) -> None:
    manual.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name.replace(' ', '-')}.1" for name in EVERY}
    page = (tmp_path / "matchbench-trace-stats.1").read_text()
    assert "\n.SH NAME\nmatchbench\\-trace\\-stats \\- Print messages, " in page
    assert "\n.TP\n\\fB\\-\\-per\\-rank\\fR\nAlso print one row per rank.\n" in page
    assert "\n.SH EXAMPLES\n.PP\n.nf\nmatchbench trace stats out/mine\n" in page
    if troff := shutil.which("groff"):
        words = [troff, "-man", "-Tutf8", "-ww", *sorted(map(str, tmp_path.iterdir()))]
        assert subprocess.run(words, capture_output=True, check=True).stderr == b""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_engines_and_parameters(matchbench: Command, shell: str) -> None:
    assert "_MATCHBENCH_COMPLETE" in matchbench("completion", shell).stdout
    if shell != "fish":
        return

    def completed(line: str, word: str) -> list[str]:
        done = matchbench(
            _MATCHBENCH_COMPLETE="fish_complete", COMP_WORDS=f"matchbench {line}{word}", COMP_CWORD=word
        )
        return [line.partition(",")[2].partition("\t")[0] for line in done.stdout.splitlines()]

    assert completed("", "com") == ["compare", "completion"]
    assert completed("compare -e ", "linear:s") == ["linear:software", "linear:software_l2"]
    assert completed("compare --network ", "sl") == ["slingshot"]
    assert completed("cpu show ", "cortex") == ["cortex_a72"]
    assert os.environ.get("_MATCHBENCH_COMPLETE") is None
