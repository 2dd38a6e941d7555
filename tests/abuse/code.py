# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Nothing is executed that no option names; names from data are text on a terminal, in tables, on pages."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import matchbench as mb
from matchbench.engines import templates
from tests.abuse.case import DONE, REFUSED, Case, run

_BAD_INPUT = 2
_STUDY = """question = "?"
[sweep]
traces = ["d"]
[[design]]
name = "mine"
engine = "{engine}"
settings = []
"""
_MATRICES = {
    "a variable of the loader": "variables = { LD_PRELOAD = './evil.so' }",
    "words of the launcher": "launcher = ['sh', '-c', 'touch ran']",
}
_PATHS = ("./evil.py", "evil.py", "./evil.py:guess", "evil.py:guess", "./evil.so", "evil.so")
_EVIL = "import pathlib\npathlib.Path('ran').touch()\n"
_ENDS = {
    "SystemExit(7)": ("raise SystemExit(7)", "raised SystemExit: 7"),
    "os._exit(3)": ("import os; os._exit(3)", "its process ended with status 3"),
    "SIGKILL": ("import os; os.kill(os.getpid(), 9)", "its process was ended by SIGKILL"),
    "an endless loop": ("while True: pass", "it did not return within 1 s"),
    "all memory": ("x = [bytearray(1 << 34) for _ in range(1 << 20)]", "raised MemoryError"),
}
"""What a user's class does instead of its work, and what the command says."""
_NAMES = {
    "ESC": "\x1b]0;title\x07",
    "C1": "\x9b31m",
    "CR": "a\rb",
    "marks of direction": "\u202egnp.exe\u2066\u200f",
    "the end of a line": "a\u2028b",
    "a formula": "=cmd|' /C calc'!A0",
    "a sign": "-2+3",
    "markup": "<script>alert(1)</script>",
}
_SEEN = {
    *map(chr, range(9)),
    *map(chr, range(11, 32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u202e\u2066\u200f\u2028",
}


def cases() -> Iterator[Case]:
    """Give each way in which data could be executed, or could be shown as something else."""
    for path in _PATHS:
        yield Case(f"sweep, a study that names {path}", f"{REFUSED}; nothing ran", _study(path))
    yield Case("sweep --allow-code, a study with an engine of a file", DONE, _allowed)
    yield Case("sweep -e FILE, then its study without --allow-code", f"{DONE}, {REFUSED}", _continued)
    for what, (line, said) in _ENDS.items():
        yield Case(
            f"engine test FILE, {what} at the begin of the file", f"{REFUSED}; {said}", _ended(line, said)
        )
    for what in ("SystemExit(7)", "os._exit(3)", "SIGKILL", "all memory"):
        yield Case(f"compare -e FILE, {what} in `offer`", "refused, and named", _ended_later(*_ENDS[what]))
    for what, line in _MATRICES.items():
        yield Case(f"mpi conform --matrix, {what}", f"{REFUSED}; nothing ran", _matrix(line))
    for mib in (300, 450, 600, 900, 1200):
        yield Case(f"compare, an address space of {mib} MiB", f"{REFUSED}; nothing left", _little(mib << 20))
    for what, name in _NAMES.items():
        yield Case(f"trace info, {what} in meta.json", "nothing reaches the terminal", _shown(name))
        yield Case(
            f"trace check, {what} in the name of a member", "nothing reaches the terminal", _member(name)
        )
        yield Case(f"compare, a trace named {what}", "tables and page hold text", _written(name))


def _trace(folder: Path, name: str = "d") -> None:
    mb.generate("depth", folder / name, ranks=2, settings={"iterations": 2, "depth": 4})


def _ran(folder: Path) -> str:
    return "it ran" if (folder / "ran").exists() else "nothing ran"


def _study(path: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        _trace(folder)
        (folder / "evil.py").write_text(_EVIL)
        (folder / "study.toml").write_text(_STUDY.format(engine=path))
        return f"{run(['sweep', 'study.toml', '-o', 'out'])}; {_ran(folder)}"

    return find


def _allowed(folder: Path) -> str:
    _trace(folder)
    templates.write("mine", folder / "mine", language="python")
    (folder / "study.toml").write_text(_STUDY.format(engine="mine/mine.py"))
    words = ["sweep", "study.toml", "--allow-code", "--no-cache", "--table-only", "-j", "1", "-o", "out"]
    return str(run(words))


def _continued(folder: Path) -> str:
    _trace(folder)
    templates.write("mine", folder / "mine", language="python")
    options = ["--no-cache", "--table-only", "-j", "1", "-o"]
    first = run(["sweep", "d", "-e", "mine/mine.py", *options, "out"])
    return f"{first}, {run(['sweep', 'out/study.toml', *options, 'again'])}"


def _ended(line: str, said: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        (folder / "mine.py").write_text(line)
        end = run(["engine", "test", "./mine.py", "--silence", "1"])
        return f"{end}; {said if f'./mine.py: {said}' in end.err else end.err}"

    return find


def _ended_later(line: str, said: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        _trace(folder)
        templates.write("mine", folder / "mine", language="python")
        file = folder / "mine" / "mine.py"
        head, begin, rest = file.read_text().partition("    def offer(")
        signature, body, rest = rest.partition(":\n")
        file.write_text(f"{head}{begin}{signature}{body}        {line}\n{rest}")
        end = run(["compare", "d", "-e", "mine/mine.py", "-o", "out"])
        is_named = "mine.py" in end.err and said in end.err and "Traceback" not in end.err
        left = (folder / "out").exists()
        return (
            "refused, and named"
            if end.status == _BAD_INPUT and is_named and not left
            else f"{end}: {end.err}"
        )

    return find


def _matrix(line: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        (folder / "own.toml").write_text(f"[[environment]]\nname = 'a'\n{line}\n")
        end = run(["mpi", "conform", "--matrix", "own.toml", "-o", "out", "--mpicc", "true", "--", "true"])
        return f"{end}; {_ran(folder)}"

    return find


def _little(memory: int) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        _trace(folder)
        end = run(["compare", "d", "-e", "ideal", "-o", "out"], memory=memory)
        left = sorted(path.name for path in folder.iterdir() if path.name != "d")
        return f"{end}; {', '.join(left) or 'nothing left'}"

    return find


def _unseen(text: str) -> str:
    """Say which characters of a text a terminal would not show."""
    found = sorted(set(text) & _SEEN)
    return f"found {', '.join(map(repr, found))}" if found else "nothing reaches the terminal"


def _shown(name: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        _trace(folder)
        file = folder / "d" / "meta.json"
        meta = json.loads(file.read_text())
        meta |= {"origin": "recorded", "command": [name], "hosts": [name], "generator": {name: name}}
        file.write_text(json.dumps(meta))
        ends = [run(["trace", command, "d"]) for command in ("info", "check", "stats")]
        return _unseen("".join(end.out + end.err for end in ends))

    return find


def _member(name: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        with tarfile.open(folder / "a.tar.xz", "w:xz") as archive:
            member = tarfile.TarInfo(f"{name}/{name}")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        end = run(["trace", "check", "a.tar.xz"])
        return _unseen(end.out + end.err) if end.err else "no error"

    return find


def _written(name: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        name_of_file = name.replace("/", "_")
        _trace(folder, name_of_file)
        end = run(["compare", f"./{name_of_file}", "-e", "ideal", "--table-only", "-o", "out"])
        if str(end) != DONE:
            return f"{end}: {end.err}"
        found = []
        for file in (folder / "out").iterdir():
            if file.suffix not in {".csv", ".html"}:
                continue
            text = file.read_text()
            if set(text) & _SEEN or (file.suffix == ".html" and "<script>alert" in text):
                found.append(file.name)
            if file.suffix == ".csv" and any(line.startswith(("=", "-2+")) for line in text.splitlines()):
                found.append(f"{file.name} begins a formula")
        shown = _unseen(end.out + end.err)
        return ", ".join(found) or ("tables and page hold text" if shown.startswith("nothing") else shown)

    return find
