# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The parameters that take a file, each with commands that read it and with a valid content."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from tests.abuse.case import DONE, REFUSED, run
from tests.conftest import make_fake_mpi
from tests.shared import ROOT
from tests.test_mpi_costs import result as mpi_bench_result

Content = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Place:
    """A command that reads a file.

    Parameters
    ----------
    words
        Its words; `@` is the file.
    name
        Name of the file.
    content
        Gives a valid content; None where a command with one would need minutes or an MPI.
    others
        Other files that the command needs.
    accepts
        Names of hostile files that it takes.
    refused
        What is found for those whose content it refuses: status 1 for a check, lines for a compiler.
    valid
        What is found for the valid content.
    runs
        Whether the content is a program, which ends as it likes.
    """

    words: str
    name: str
    content: Content | None = None
    others: Mapping[str, Content] = field(default_factory=dict)
    accepts: frozenset[str] = frozenset()
    refused: str = REFUSED
    valid: str = DONE
    runs: bool = False


def _run(words: str, folder: Path) -> None:
    """Run the command in a folder."""
    with chdir(folder):
        end = run(words.split())
    assert end.status == 0, end.err


@cache
def _made(commands: str, name: str) -> bytes:
    """Return a file that commands write to the current folder, a new one."""
    with tempfile.TemporaryDirectory() as folder:
        for words in commands.split(";"):
            _run(words, Path(folder))
        return (Path(folder) / name).read_bytes()


FAKE = "--mpicc fake/bin/mpicc"
"""Compiler and launcher of `make_fake_mpi`."""
_SERIES = "--series preposted/tags --series unexpected/tags --depths 0,4 --repetitions 2"
_BENCH = f"mpi bench {FAKE} {_SERIES} --force -o out"
_FAKE_RUN = "-- fake/bin/mpirun"


@cache
def _measured(name: str) -> bytes:
    """Return a result of `mpi bench`."""
    with tempfile.TemporaryDirectory() as folder:
        make_fake_mpi(Path(folder))
        _run(f"{_BENCH} --table-only {_FAKE_RUN}", Path(folder))
        return (Path(folder) / "out" / name).read_bytes()


_GENERATE = "generate depth -o t -n 2 --iterations 2 --depth 4"
_meta = partial(_made, _GENERATE, "t/meta.json")
_bundle = partial(_made, _GENERATE, "t/bundle.mbt")


@cache
def _archive() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:xz") as archive:
        for name, content in (("t/meta.json", _meta()), ("t/bundle.mbt", _bundle())):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _file(*parts: str) -> Content:
    return lambda: ROOT.joinpath(*parts).read_bytes()


def _text(text: str) -> Content:
    return text.encode


@cache
def _library() -> bytes:
    """Build the template of an engine in C."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _run("engine new own --c", place)
        words = [shutil.which("gcc") or "gcc", "-shared", "-fPIC", "-o", "a.so", "own/own.c"]
        subprocess.run(words, cwd=folder, check=True)
        return (place / "a.so").read_bytes()


_class = partial(_made, "engine new own --python", "own/own.py")
_study = _text(
    'question = "How large?"\n[sweep]\ntraces = ["a.tar.xz"]\n'
    '[[design]]\nname = "cam"\nengine = "cam_list"\nvary = ["cam=4,16"]\n'
)
_areas = _text(
    '[[area]]\nengine = "cam_list"\nwhere = { cam = 256 }\nvalue = 2\n'
    'unit = "mm2"\nnode_nm = 45\nsource = "ours"\n'
)
_CHECKED = "status 1, one line"
_LINES = ", with the lines of a compiler"
_COMPILED = f"status 2{_LINES}"
_capture = partial(_made, "netproc generate -o t.pcap --packets 9", "t.pcap")
_EMPTY = frozenset({"an empty file"})
_TEXT = _EMPTY | {"deep nesting of TOML", "deep nesting of JSON"}


def _costs() -> bytes:
    return json.dumps(mpi_bench_result()).encode()


_matrix = _file("python", "matchbench", "mpi", "matrices", "mpich.toml")
_spine = _file("netproc", "elf", "netproc_block_port.rv64.elf")
TRACE: dict[str, Content] = {"a.tar.xz": _archive}
UNIT: dict[str, Content] = {
    "l.toml": _file("match_unit", "examples", "list.toml"),
    "h.toml": _file("match_unit", "examples", "headers.toml"),
}
_T = {"t/meta.json": _meta, "t/bundle.mbt": _bundle}
MPI = "--mpicc mpicc"


def _trace(words: str, refused: str = REFUSED) -> list[Place]:
    """Give the forms of a trace: an archive, and a directory whose files are read."""
    inside = words.replace("@", "t")
    return [
        Place(words, "a.tar.xz", _archive),
        Place(inside, "t/meta.json", _meta, {"t/bundle.mbt": _bundle}, refused=refused),
        Place(inside, "t/bundle.mbt", _bundle, {"t/meta.json": _meta}, refused=refused),
    ]


def _engine(words: str, *, content: bool = False) -> list[Place]:
    """Give the forms of an engine of one's own: a library, and a file of Python."""
    return [
        Place(words.replace("@", "./@"), "own.so", _library if content else None, TRACE),
        Place(words.replace("@", "./@"), "own.py", _class if content else None, TRACE),
    ]


def _unit(command: str, rest: str = "") -> dict[tuple[str, str], list[Place]]:
    """Give the files of a command that runs a match program."""
    name = f"match_unit {command}"
    return {
        (name, "PROGRAM"): [
            Place(f"{name} @ -l l.toml -H h.toml{rest}", "p.mb", _program, UNIT, refused=_COMPILED),
            Place(f"{name} @ -l l.toml -H h.toml{rest}", "p.mbi", _image, UNIT, refused=_COMPILED),
        ],
        (name, "--list"): [
            Place(f"{name} mpi -l @ -H h.toml{rest}", "own.toml", UNIT["l.toml"], UNIT, _EMPTY),
            Place(f"{name} mpi -l @ -H h.toml{rest}", "own.csv", None, UNIT, _EMPTY),
        ],
        (name, "--headers"): [
            Place(f"{name} mpi -l l.toml -H @{rest}", "own.toml", UNIT["h.toml"], UNIT, _EMPTY),
            Place(f"{name} mpi -l l.toml -H @{rest}", "own.csv", None, UNIT, _EMPTY),
        ],
    }


_program = partial(_made, "match_unit new p.mb", "p.mb")


_image = partial(_made, "match_unit new p.mb;match_unit asm p.mb -o p.mbi", "p.mbi")

PLACES: dict[tuple[str, str], list[Place]] = {
    ("trace check", "PATHS"): _trace("trace check @", _CHECKED),
    ("trace export", "PATH"): _trace("trace export @ -o x.parquet"),
    ("trace info", "PATH"): _trace("trace info @"),
    ("trace stats", "PATH"): _trace("trace stats @"),
    ("trace export", "--on"): _engine("trace export a.tar.xz -o x --match-unit --rank 0 --on @"),
    ("compare", "PATHS"): _trace("compare @ -e linear --table-only"),
    ("compare", "--engine"): _engine("compare a.tar.xz --table-only -e @"),
    ("compare", "--mpi-bench"): [
        Place("compare a.tar.xz -e linear:software --table-only --mpi-bench @", "m.json", _costs, TRACE)
    ],
    ("sweep", "PATHS"): [
        *_trace("sweep @ -e cam_list -s cam=4 -j 1 --table-only --no-cache"),
        Place("sweep @ -j 1 --table-only --no-cache", "s.toml", _study, TRACE),
    ],
    ("sweep", "--engine"): _engine("sweep a.tar.xz -s budget=1,2 -j 1 --table-only --no-cache -e @"),
    ("sweep", "--areas"): [
        Place(
            "sweep a.tar.xz -e cam_list -s cam=4 -j 1 --table-only --no-cache --areas @",
            "a.toml",
            _areas,
            TRACE,
        )
    ],
    ("size", "PATHS"): _trace("size @ --table-only"),
    ("size", "--on"): _engine("size a.tar.xz --table-only --on @"),
    ("size", "--engine"): _engine("size a.tar.xz --table-only -e @"),
    ("engines show", "SPEC"): _engine("engines show @", content=True),
    ("engine test", "SPEC"): _engine("engine test @"),
    ("mpi bench", "--hostfile"): [
        Place(f"{_BENCH} --table-only --hostfile @ {_FAKE_RUN}", "hosts", _text("localhost\n"), accepts=_TEXT)
    ],
    ("mpi bench", "--beside"): [
        Place(f"{_BENCH} --beside @ {_FAKE_RUN}", "b.csv", partial(_measured, "rows.csv")),
        Place(f"{_BENCH} --beside @ {_FAKE_RUN}", "b.json", partial(_measured, "mpi-bench.json")),
    ],
    # The fake MPI performs no test programs: what a valid file leads to is refused in one line too.
    ("mpi conform", "--hostfile"): [
        Place(f"mpi conform {FAKE} --hostfile @ {_FAKE_RUN}", "hosts", _text("localhost\n"), valid=REFUSED)
    ],
    ("mpi conform", "--matrix"): [
        Place(f"mpi conform {FAKE} --matrix @ {_FAKE_RUN}", "m.toml", _matrix, valid=REFUSED)
    ],
    ("chip run", "PROGRAM"): [
        Place(
            "chip run -n 2 --memory 64 --cores 4 --quiet --limit 100000000 @ pages",
            "p.elf",
            _file("moped", "elf", "kernel_moped.rv64.elf"),
            runs=True,
        )
    ],
    ("cpu run", "PROGRAM"): [
        Place("cpu run @", "p.elf", _file("processor", "firmware", "elf", "md5.rv64.elf"), runs=True),
        Place("cpu run --unit-test @", "u.elf"),
    ],
    ("netproc build", "HANDLER"): [Place("netproc build @ -o x.elf", "h.c", refused=f"status 1{_LINES}")],
    ("netproc compare", "TRAFFIC"): [Place("netproc compare @ -n 1", "t.pcap")],
    ("netproc compare", "--program"): [
        Place("netproc compare null -a smt1 -n 1 -p @", "p.elf", _spine, runs=True)
    ],
    ("netproc run", "TRAFFIC"): [
        Place(
            "netproc run @ -n 1", "t.pcap", partial(_made, "netproc generate -o t.pcap --packets 9", "t.pcap")
        )
    ],
    ("netproc run", "--program"): [Place("netproc run null -n 1 -p @", "p.elf", _spine, runs=True)],
    ("match_unit asm", "FILE"): [Place("match_unit asm @ -o x.mbi", "p.mb", _program, refused=_COMPILED)],
    ("match_unit disasm", "IMAGE"): [Place("match_unit disasm @", "p.mbi", _image)],
    **_unit("run"),
    **_unit("profile"),
    **_unit("trace", " -q"),
    **_unit("debug", " -x quit"),
    ("match_unit debug", "--script"): [
        Place(
            "match_unit debug mpi -l l.toml -H h.toml --script @",
            "s.txt",
            _text("quit\n"),
            UNIT,
            _EMPTY,
            refused="status 2, no error",  # commands are refused in the debugger's own words
        )
    ],
}
"""Parameter -> how it is tried."""

NO_FILES = {
    *("--set", "--network", "--network-set", "--poll-work", "--collective", "--cluster", "--cluster-set"),
    *("--method", "--objectives", "--env", "--core", "--design", "--preset", "--architecture", "--series"),
    *("--label", "--id", "--system", "--verdict", "--cc", "--mpicc", "--budget", "--shrink-limit"),
    *("--silence", "--depths", "--cycles", "-x", "--mix", "--sizes", "--rate", "--packets"),
    *("--mean-burst", "--connections", "--flows", "--datagram-bytes", "--ipv6-percent", "--vlan-percent"),
    *("--ahead", "--all-to-all-bytes", "--all-to-all-every", "--application", "--blocks", "--bytes"),
    *("--bytes-max", "--bytes-min", "--compute", "--degree", "--depth", "--depth-max", "--grid-x"),
    *("--grid-y", "--grid-z", "--iterations", "--messages", "--neighbours", "--order", "--position"),
    *("--queue", "--source", "--sources"),
    *("NAME", "PAPERS", "CORE", "ARCHITECTURE", "ARGUMENTS", "LAUNCHER", "WORDS"),
    *("--output", "--kanata", "--kanata-file", "--vcd-file", "--timeline", "--trace"),
    *("--cache", "--matchbench", "PATH"),
}
"""Parameters that take no file to read: settings and names, words for other programs, and what is written."""
