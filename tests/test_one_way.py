# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Guards: `input.py` reads files, `display/output.py` writes them, `display/tables.py` prints text."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "matchbench"
WRITERS = {"display/output.py", "display/partial.py"}
PRINTERS = {"display/tables.py", "__main__.py"}  # the second: nothing can be imported while it is interrupted
READERS = {
    "input.py",
    "display/partial.py",  # its own locks
    "display/output.py",
    "display/tables.py",  # /dev/null
    "display/written.py",  # an earlier output, after a look at its kind
    "display/chart_library.py",  # its own cache
    "engines/templates.py",  # files of the package
    "sweep/hardware.py",
    "sweep/cache.py",
    "sweep/rows.py",  # what it has written
    "record/run.py",  # what its own ranks have written
    "mpi/conform_runner.py",  # what its own program has written
    "netproc/machine.py",  # what its own compiler has written
}
"""Modules that read other files than those that a user names."""
READ = {
    *(".read_text", ".read_bytes", "os.open", "io.open", "np.load", "lzma.open", "gzip.open"),
    *("json.load", "tomllib.load", "read_csv", "read_parquet", "zipfile.ZipFile"),
}
WRITE = {
    *("write_text", "write_bytes", "touch", "mkdir", "makedirs", "symlink_to", "hardlink_to", "mkfifo"),
    *("rmtree", "copyfile", "copytree", "mkdtemp", "mkstemp", "rename", "os.rename", "os.replace", "os.open"),
    *("shutil.move", "shutil.copy", "shutil.copy2", "TemporaryDirectory", "TemporaryFile", "savefig"),
    *("NamedTemporaryFile", "write_ipc", "write_json"),
}
"""Functions and methods that write or replace files, whatever their arguments."""
OPENED_ELSEWHERE = {"Trace.open", "tarfile.open", "webbrowser.open"}
"""Functions that open what `input.py` has opened, or no file."""
STREAMS = {f"sys.{name}.{how}" for name in ("stdout", "stderr") for how in ("write", "writelines")}
PRINT = {"print", "click.echo", *STREAMS}


def found(source: str, wanted: set[str]) -> list[str]:
    """Name the calls in a source text whose function is wanted, or that open a file to write."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    calls = [call for call in calls if "os.devnull" not in ast.unparse(call)]
    return [
        ast.unparse(call)
        for call in calls
        if wanted & names(call)
        or (wanted is WRITE and writes(call))
        or (wanted is READ and opens(call) and not writes(call))
    ]


def names(call: ast.Call) -> set[str]:
    whole = ast.unparse(call.func)
    last = whole.rpartition(".")[2]
    return {whole, last, f".{last}"} if isinstance(call.func, ast.Attribute) else {whole}


def opens(call: ast.Call) -> bool:
    whole = ast.unparse(call.func)
    return whole == "open" or (whole.endswith(".open") and whole not in OPENED_ELSEWHERE)


def writes(call: ast.Call) -> bool:
    whole, is_method = ast.unparse(call.func), isinstance(call.func, ast.Attribute)
    name = whole.rpartition(".")[2]
    if name == "open":
        first = call.args[0 if is_method else 1 :][:1]
        modes = [*first, *(each.value for each in call.keywords if each.arg == "mode")]
        return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in modes)
    if name == "replace":  # that of paths has one argument, that of text two, that of objects names
        return is_method and len(call.args) == 1 and not call.keywords
    # In memory, tables are written to a variable of this name, or the result is used.
    return name in {"write_csv", "write_parquet"} and any(
        ast.unparse(each) != "content" for each in call.args
    )


def modules(but: set[str]) -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in but and "_templates" not in name:
            yield name, path.read_text(encoding="utf-8")


def test_files_are_read_in_one_place() -> None:
    assert {name: calls for name, text in modules(READERS) if (calls := found(text, READ))} == {}


def test_files_are_written_in_one_place() -> None:
    assert {name: calls for name, text in modules(WRITERS) if (calls := found(text, WRITE))} == {}


def test_text_is_printed_in_one_place() -> None:
    assert {name: calls for name, text in modules(PRINTERS) if (calls := found(text, PRINT))} == {}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('path.open("wb"); open(path, mode="a"); os.open(path, flags); path.open("rb"); open(path)', 3),
        ('path.write_text(x); path.replace(target); text.replace("a", "b"); replace(plan, a=1)', 2),
        ("table.write_csv(path); table.write_csv(); table.write_csv(content); shutil.rmtree(x)", 2),
        ("with tempfile.TemporaryDirectory() as x: x.mkdir(); shutil.copy(a, b); found.copy()", 3),
    ],
)
def test_the_guard_finds_writes(source: str, count: int) -> None:
    assert len(found(source, WRITE)) == count


def test_the_guard_finds_reads() -> None:
    source = (
        "path.read_text(); open(path); path.open('rb'); json.load(file); Trace.open(path); read_text(path)"
    )
    assert len(found(source, READ)) == 4


def test_the_guard_finds_prints() -> None:
    source = "print(x); click.echo(x); sys.stderr.write(x); sys.stdout.writelines(x); file.write(x)"
    assert len(found(source, PRINT)) == 4
