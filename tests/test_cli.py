# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line as a process: exit status, and messages word for word."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.cli import COMMANDS, main
from matchbench.compare import columns
from matchbench.display.written import LIST
from tests.conftest import Command

ROOT = Path(__file__).parents[1]
BAD_INPUT = 2
CHECK_FAILED = 1


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert (done.returncode, done.stderr, done.stdout) == (BAD_INPUT, f"matchbench: {message}\n", "")


def test_version_is_one_line(matchbench: Command) -> None:
    done = matchbench("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"matchbench {mb.__version__}\n", "")


def test_no_command_prints_the_overview_as_bad_input(matchbench: Command) -> None:
    done = matchbench()
    assert done.returncode == BAD_INPUT
    assert all(f"\n  {command} " in done.stderr for command in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(matchbench: Command, name: str) -> None:
    done = matchbench(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"matchbench {name}" in done.stdout.partition("Example")[2]


def test_help_imports_no_slow_module() -> None:
    """Every command of every group, in one process."""
    code = """
import sys
import click
from matchbench.cli import cli, main

def show(group, words):
    main([*words, "--help"])
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            show(group.get_command(context, name), [*words, name])

show(cli, [])
found = {"jinja2", "matplotlib", "numpy", "polars", "pyarrow", "rich"} & sys.modules.keys()
sys.exit(" ".join(sorted(found)) or None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage: ") > len(COMMANDS)


def test_a_process_that_replays_imports_no_tables() -> None:
    code = (
        "import sys, matchbench.sweep.workers; "
        "sys.exit(' '.join({'matplotlib', 'numpy', 'polars', 'pyarrow'} & sys.modules.keys()) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_command_is_refused(matchbench: Command) -> None:
    done = matchbench("conpare")
    assert done.returncode == BAD_INPUT
    assert done.stderr.startswith("matchbench: unknown command `conpare`; did you mean `compare`? expected ")
    assert done.stderr.endswith(" (see `matchbench --help`)\n")


def test_an_unknown_option_is_refused(matchbench: Command) -> None:
    done = matchbench("compare", "--engin", "ideal", "x")
    assert done.returncode == BAD_INPUT
    assert done.stderr.startswith(
        "matchbench: unknown option `--engin`; did you mean `--engine`? expected one of "
    )
    assert done.stderr.count("\n") == 1


def test_an_unknown_engine_names_those_that_exist(matchbench: Command) -> None:
    known = ", ".join(card["name"] for card in mb.engines())
    message = f"unknown engine `lienar`; did you mean `linear`? expected one of: {known}"
    assert_refused(matchbench("engines", "show", "lienar"), message)


def test_every_preset_of_every_engine_can_be_shown(matchbench: Command) -> None:
    for card in mb.engines():
        done = matchbench("engines", "show", card["name"])
        assert (done.returncode, done.stderr) == (0, "")
        for preset in card["presets"]:
            assert f"\n{card['name']}:{preset} (placement " in done.stdout


@pytest.fixture
def unread() -> Iterator[int]:
    """Give the write end of a pipe whose read end is closed."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "words",
    [("engines",), ("engines", "show", "cam_list"), ("trace", "stats", "--json", "halo"), ("--help",)],
)
def test_a_closed_pipe_ends_the_command_silently(
    halo: mb.Trace, unread: int, words: tuple[str, ...], unbuffered: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "matchbench", *words],
        cwd=halo.path.parent,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=unread,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(("words", "status"), [(("-e", "ideal"), 0), (("-e", "lienar"), BAD_INPUT)])
def test_a_closed_pipe_does_not_lose_results(
    halo: mb.Trace, tmp_path: Path, unread: int, words: tuple[str, ...], status: int, unbuffered: str
) -> None:
    command = [sys.executable, "-m", "matchbench", "compare", str(halo.path), *words, "-o", "r"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, stdout=unread, stderr=unread, check=False, timeout=300
    )
    assert (done.returncode, (tmp_path / "r" / "report.html").exists()) == (status, status == 0)


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_disk_is_one_line(unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "matchbench", "engines"],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
    assert (done.returncode, done.stderr) == (
        BAD_INPUT,
        "matchbench: standard output: No space left on device\n",
    )


@pytest.mark.parametrize("words", [("info",), ("check",), ("stats",), ("export", "-o", "x.parquet")])
def test_a_missing_trace_is_refused(matchbench: Command, words: tuple[str, ...]) -> None:
    done = matchbench("trace", words[0], "nowhere", *words[1:])
    assert_refused(
        done, "nowhere: found no such file, expected a trace's directory or NAME.tar.xz; check the path"
    )


@pytest.mark.parametrize(
    ("generator", "shown"),
    [([1, 2], "[1, 2]"), ({"settings": 3}, "settings=3"), ({"a": 1, "settings": {"b": 2}}, "a=1 b=2")],
)
def test_a_generator_of_any_form_is_shown(
    matchbench: Command, halo: mb.Trace, tmp_path: Path, generator: object, shown: str
) -> None:
    shutil.copytree(halo.path, tmp_path / "halo")
    meta = json.loads((tmp_path / "halo/meta.json").read_text())
    (tmp_path / "halo/meta.json").write_text(json.dumps({**meta, "generator": generator}))
    done = matchbench("trace", "info", "halo")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"^generator +{re.escape(shown)}$", done.stdout, re.MULTILINE)


def test_a_directory_without_a_trace_is_refused(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_refused(
        matchbench("compare", "empty"),
        "empty: found no meta.json in it, expected a trace; name a trace's directory or NAME.tar.xz",
    )


def test_a_file_that_is_not_a_trace_is_refused(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no trace")
    message = (
        "notes.txt: found another kind of file, expected a trace; name a trace's directory or NAME.tar.xz"
    )
    assert_refused(matchbench("trace", "info", "notes.txt"), message)


@pytest.mark.parametrize("name", ["meta.json", "bundle.mbt"])
@pytest.mark.parametrize(
    ("make", "found"),
    [
        (os.mkfifo, "a FIFO"),
        (Path.mkdir, "a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
)
def test_a_file_that_is_not_regular_is_refused_at_once(
    matchbench: Command,
    halo: mb.Trace,
    tmp_path: Path,
    name: str,
    make: Callable[[Path], None],
    found: str,
) -> None:
    """A FIFO without a writer would hang in `open`, beyond SIGTERM."""
    shutil.copytree(halo.directory, tmp_path / "x")
    (tmp_path / "x" / name).unlink()
    make(tmp_path / "x" / name)
    advice = "name a file in it" if found == "a directory" else "name a regular file"
    message = f"x/{name}: found {found}, expected a file of a trace; {advice}"
    assert_refused(matchbench("trace", "stats", "x"), message)


def test_a_packed_trace_that_is_a_fifo_is_refused(matchbench: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.tar.xz")
    message = "x.tar.xz: found a FIFO, expected a packed trace; name a regular file"
    assert_refused(matchbench("trace", "stats", "x.tar.xz"), message)


def test_a_good_trace_passes_its_check(matchbench: Command, halo: mb.Trace) -> None:
    done = matchbench("trace", "check", halo.path)
    records = f"{halo.records:,}".replace(",", " ")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"halo: 8 ranks, {records} records: complete, no defect\n"


def test_a_flipped_bit_fails_the_check_and_names_the_record(
    matchbench: Command, halo: mb.Trace, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    for file in halo.path.iterdir():
        (bad / file.name).write_bytes(file.read_bytes())
    bundle = bytearray((bad / "bundle.mbt").read_bytes())
    bundle[-64 + 16] ^= 1  # the size in the last record of the last rank
    (bad / "bundle.mbt").write_bytes(bundle)
    last = halo.native.rank_records()[7] - 1
    done = matchbench("trace", "check", "bad")
    assert (done.returncode, done.stdout) == (CHECK_FAILED, "")
    assert done.stderr.startswith(f"matchbench: bad/bundle.mbt: rank 7, record {last}: ")
    assert done.stderr.endswith("(T-13)\n")
    assert matchbench("compare", "bad").returncode == BAD_INPUT


def test_statistics_count_every_message(matchbench: Command, halo: mb.Trace) -> None:
    done = matchbench("trace", "stats", halo.path, "--per-rank")
    assert (done.returncode, done.stderr) == (0, "")
    # Six neighbours on a periodic 2 x 2 x 2 grid, ten times, on eight ranks.
    assert "\nmessages sent       480, " in done.stdout
    assert "\nmessages received   480, " in done.stdout


def test_an_export_has_one_row_per_record(matchbench: Command, halo: mb.Trace, tmp_path: Path) -> None:
    done = matchbench("trace", "export", halo.path, "-o", "halo.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    table = pl.read_parquet(tmp_path / "halo.parquet")
    assert table.height == halo.records
    assert table["rank"].value_counts().sort("rank")["count"].to_list() == halo.native.rank_records()
    assert table.filter(pl.col("kind").cast(pl.String) == "Send").height == 480
    message = "halo.parquet: found an existing file; choose another name or give --force"
    assert_refused(matchbench("trace", "export", halo.path, "-o", "halo.parquet"), message)
    done = matchbench("trace", "export", halo.path, "-o", ".", "--force")
    assert_refused(done, ".: found a directory, expected a file; add a name")


def test_a_pattern_refuses_invalid_parameters(matchbench: Command, tmp_path: Path) -> None:
    done = matchbench("generate", "depth", "--ranks", "1", "-o", "x")
    assert_refused(done, "pattern `depth`: found 1 ranks, expected 2 to 2147483647")
    done = matchbench("generate", "depth", "--ranks", "1" + 20 * "0", "-o", "x")
    expected = "expected a whole number from 0 to 2147483647 (see `matchbench generate depth --help`)"
    assert_refused(done, f"--ranks: found {10**20}, {expected}")
    done = matchbench("generate", "depth", "--ranks", "2", "--queue", "both", "-o", "x")
    assert_refused(done, "parameter `queue`: found `both`, expected one of: posted, unexpected")
    assert list(tmp_path.iterdir()) == []


def test_a_trace_is_overwritten_only_with_force(matchbench: Command, tmp_path: Path) -> None:
    words = ("generate", "depth", "--ranks", "2", "-o", "x")
    assert matchbench(*words).returncode == 0
    first = (tmp_path / "x" / "bundle.mbt").read_bytes()
    message = "x: found earlier output; choose another directory or give --force"
    assert_refused(matchbench(*words), message)
    assert matchbench(*words, "--force").returncode == 0
    assert (tmp_path / "x" / "bundle.mbt").read_bytes() == first


def test_a_comparison_writes_every_file(matchbench: Command, halo: mb.Trace, tmp_path: Path) -> None:
    words = ("compare", halo.path, "--engine", "ideal", "--engine", "linear:qsnet2", "--plots", "-o", "r")
    done = matchbench(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("results: r/report.html\n")
    expected = {f"{table}.{ending}" for table in columns.TABLES for ending in ("csv", "parquet")}
    assert {path.name for path in (tmp_path / "r").iterdir()} == expected | {
        LIST,
        "results.json",
        "report.html",
        "plots",
    }
    # Every search of this trace visits one entry at most, so there is no plot by depth.
    plots = {f"halo.{name}.{ending}" for name in ("cost", "queues") for ending in ("png", "svg")}
    assert {path.name for path in (tmp_path / "r" / "plots").iterdir()} == plots
    message = "r: found earlier output; choose another directory or give --force"
    assert_refused(matchbench(*words), message)
    assert matchbench(*words, "--force").returncode == 0


def test_all_and_an_engine_exclude_each_other(matchbench: Command, halo: mb.Trace) -> None:
    done = matchbench("compare", halo.path, "--all", "-e", "ideal")
    assert_refused(done, "--all: cannot be combined with --engine; give one of them")


def test_a_comparison_without_charts_has_tables_only(halo: mb.Trace, tmp_path: Path) -> None:
    """And imports nothing that draws."""
    code = (
        "import sys; from matchbench.cli import main; status = main(sys.argv[1:]); "
        "sys.exit(status or 'matplotlib' in sys.modules or 'vl_convert' in sys.modules)"
    )
    words = ["compare", str(halo.path), "-e", "ideal", "--table-only", "-o", "r"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "r" / "results.parquet").exists()
    assert not (tmp_path / "r" / "plots").exists()
    assert "<figure>" not in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")


def test_plots_without_charts_are_refused(matchbench: Command, halo: mb.Trace, tmp_path: Path) -> None:
    done = matchbench("compare", halo.path, "-e", "ideal", "--plots", "--table-only", "-o", "r")
    assert_refused(done, "--plots: cannot be combined with --table-only; give one of them")
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_output_is_refused_before_the_replays(
    matchbench: Command, halo: mb.Trace, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = matchbench("compare", halo.path, "--engine", "ideal", "-o", "file/r")
    assert done.stdout == ""
    assert_refused(
        done, f"file/r: cannot create it in {tmp_path}/file: Not a directory; choose another directory"
    )


def test_foreign_files_are_never_replaced(matchbench: Command, halo: mb.Trace, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("text")
    done = matchbench("compare", halo.path, "--engine", "ideal", "-o", "mine", "--force")
    message = "mine: found other files and no `results.json` of earlier output; choose another directory"
    assert (done.returncode, done.stderr) == (BAD_INPUT, f"matchbench: {message}\n")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "text"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "ideal:one"), "engine `ideal`: unknown preset `one`; expected one of: "),
        (
            ("--engine", "ideal", "--set", "linear.entry=1"),
            "parameter `linear.entry`: `linear` is not chosen; expected one of: ideal",
        ),
        (
            ("--engine", "linear", "--set", "entyr=1"),
            "unknown parameter `entyr`; did you mean `entry`? expected one of: entry, operation, placement",
        ),
        (("--engine", "linear", "--set", "entry"), "--set: found `entry`, expected KEY=VALUE"),
        (
            ("--engine", "linear", "--set", "entry=-1"),
            "engine `linear`: parameter `entry`: found `-1`, expected ",
        ),
        (("--network", "token_ring"), "unknown network `token_ring`; expected one of: "),
        (("--network-set", "latency"), "--network-set: found `latency`, expected KEY=VALUE"),
        (("--network-set", "latency=x"), "network `slingshot`: parameter `latency`: found `x`, expected "),
        (("--cpu-scale", "-1"), "--cpu-scale: found -1, expected a number from 0 to 1000000"),
        (("--cpu-scale", "nan"), "--cpu-scale: found nan, expected a number from 0 to 1000000"),
        (("--collective", "allreduce"), "--collective: found `allreduce`, expected OP=ALGORITHM"),
        (
            ("--collective", "alreduce=ring"),
            "unknown collective `alreduce`; did you mean `allreduce`? expected one of: ",
        ),
        (
            ("--collective", "barrier=ring"),
            "collective `barrier`: unknown algorithm `ring`; expected one of: ",
        ),
    ],
)
def test_a_wrong_choice_is_refused(
    matchbench: Command, halo: mb.Trace, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = matchbench("compare", halo.path, *words)
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert done.stderr.startswith(f"matchbench: {message}")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def cut(trace: Path, records: int) -> None:
    """Truncate a rank's file after `records` records, as if the rank had been killed there."""
    source = (ROOT / "workbench" / "trace" / "src" / "record.rs").read_text(encoding="utf-8")
    keys = [int(key, 16) for key in re.findall(r"0x[0-9a-f]{4}(?:_[0-9a-f]{4}){3}", source)[:9]]
    content = bytearray(trace.read_bytes()[: 64 * (records + 1)])
    content[12:16] = bytes(4)  # flags: not finalized
    content[32:40] = bytes(8)  # records: unknown
    content[56:64] = bytes(8)
    words = struct.unpack("<8Q", content[:64])
    total = sum(word * key for word, key in zip(words, keys, strict=False)) % 2**64
    content[56:64] = struct.pack("<Q", total >> 32)
    trace.write_bytes(content)


def test_an_unfinished_replay_names_the_waiting_ranks(matchbench: Command, tmp_path: Path) -> None:
    with mb.Trace.open(ROOT / "traces" / "fft-16.tar.xz") as whole:
        shutil.copytree(whole.directory, tmp_path / "killed")
    cut(tmp_path / "killed" / "rank-00003.mbt", 100)
    checked = matchbench("trace", "check", "killed")
    assert (checked.returncode, checked.stderr) == (0, "")
    why = "it ended without MPI_Finalize (a signal, exit or a fatal error)"
    first, second = checked.stdout.splitlines()
    assert re.fullmatch(r"killed: 16 ranks, [\d ]+ records: cut, no defect", first)
    assert second == f"killed: rank 3: cut after 100 records: {why}"
    done = matchbench("compare", "killed", "-e", "ideal", "--table-only", "-o", "r")
    assert done.returncode == CHECK_FAILED
    assert "ideal:zero  nic  bound   not finished" in done.stdout
    about, *lines = done.stderr.splitlines()
    states = "(ranks: 1 cut, 15 complete)"
    assert about == f"matchbench: killed: the trace is cut {states}; what followed its records is missing"
    assert re.fullmatch(
        r"matchbench: killed on ideal:zero: rank \d+ did not finish: at record \d+ .+", lines[0]
    )
    assert re.fullmatch(r"matchbench: killed: \d+ more remarks in report.html", lines[-1])
    assert pl.read_parquet(tmp_path / "r" / "results.parquet")["finished"].to_list() == [False]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compare x -e linear --set pl", ["placement="]),
        ("compare x -e linear --set linear.pl", ["linear.placement="]),
        ("compare x -e linear --set placement=n", ["placement=nic"]),
        ("compare x --network papers200 --network-set la", ["latency="]),
        ("cpu run x --core cortex_a72 --set ro", ["rob="]),
        ("chip run x --core scalar --set core.sl", ["core.slack="]),
        ("chip run x --set moped.des", ["moped.descriptors=", "moped.design=", "moped.descriptor_bytes="]),
        ("netproc run x --architecture cmp8 --set cla", ["classifier=", "classify_in="]),
        ("netproc compare x -a cmp8 --set cmp8.cla", ["cmp8.classifier=", "cmp8.classify_in="]),
        ("compare x -e nosuch --set pl", []),
    ],
)
def test_parameters_are_completed(
    words: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_MATCHBENCH_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", f"matchbench {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    assert main([]) == 0
    assert capsys.readouterr().out.splitlines()[1::3] == expected
