# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Rust test programs of a build, and the parts of them that run, and are left out, one by one.

Programs that use engines through the catalog note which ones (`tests/unchanged.py`). Two of them take long
with every engine: they are divided, so that a change to an engine concerns a part.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import unchanged

# Programs whose tests are named `engine::test`.
BY_ENGINE = ("workbench/catalog:engines",)
# Modules of a program that run apart from its others. Those of a part share what they measure on.
BY_MODULE = {"workbench/reproduce:reproduce": (("crowley2000",), ("benchmarks",))}


@dataclass(frozen=True, slots=True)
class Part:
    """What one call of a Rust test program runs.

    Attributes
    ----------
    program, folder
        The program, and the folder of its crate.
    arguments
        What selects its tests; none of a program that is not divided.
    sources
        Where it may name engines, as paths from the root; None if it notes none.
    """

    program: Path
    folder: Path
    arguments: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None


@cache
def _uses_catalog(folder: Path) -> bool:
    """Return whether a crate uses engines through the catalog: these, it notes."""
    return "\nmb-catalog" in (folder / "Cargo.toml").read_text(encoding="utf-8")


def parts(program: Path, folder: Path, target: str) -> Iterator[tuple[str, Part]]:
    """Divide a program; each part has a name.

    Parameters
    ----------
    program, folder
        The program, and the folder of its crate.
    target
        Its name in the crate.

    Raises
    ------
    ValueError
        A test is in no part.
    """
    crate = str(folder.relative_to(unchanged.ROOT))
    name = f"{crate}:{target}"
    sources = unchanged.rust_sources(crate)
    if name in BY_ENGINE:
        for engine in _engines(program, name):
            yield f"{name}:{engine}", Part(program, folder, (f"{engine}::",), ())
    elif name in BY_MODULE:
        # The library gets the parameters of engines from the catalog: only tests name others.
        tests = [source for source in sources if source.startswith(f"{crate}/tests/")]
        divided = [f"{module}.rs" for part in BY_MODULE[name] for module in part]
        shared = [source for source in tests if source.rpartition("/")[2] in {"main.rs", "common.rs"}]
        for part in BY_MODULE[name]:
            own = [source for source in tests if source.rpartition("/")[2] in {f"{each}.rs" for each in part}]
            if len(own) != len(part):
                msg = f"tests/rust_programs.py: {name}: found {own}, expected a source of each of {part}"
                raise ValueError(msg)
            filters = tuple(f"{module}::" for module in part)
            yield f"{name}:{'+'.join(part)}", Part(program, folder, filters, (*shared, *own))
        rest = [source for source in tests if source.rpartition("/")[2] not in divided]
        skipped = tuple(word for module in divided for word in ("--skip", f"{module[:-3]}::"))
        yield f"{name}:rest", Part(program, folder, skipped, tuple(rest))
    else:
        yield name, Part(program, folder, sources=tuple(sources) if _uses_catalog(folder) else None)


def _engines(program: Path, name: str) -> list[str]:
    words = [str(program), "--list", "--format", "terse"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    engines = sorted({line.partition("::")[0] for line in listed if "::" in line})
    if not engines or any("::" not in line for line in listed if line):
        msg = f"tests/rust_programs.py: {name}: found {listed}, expected tests named `engine::test`"
        raise ValueError(msg)
    return engines


def programs(built: Path, top: str | None) -> Iterator[tuple[str, Part]]:
    """Read the list that cargo wrote of a build: the parts of each test program, with their names.

    Parameters
    ----------
    built
        Messages of cargo.
    top
        The top-level folder of the programs; None for those of all.
    """
    for line in built.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        if (
            message.get("reason") == "compiler-artifact"
            and message["profile"]["test"]
            and message["target"]["kind"] != ["bench"]
            and message["executable"]
        ):
            folder = Path(message["manifest_path"]).parent
            if top is None or folder.relative_to(unchanged.ROOT).parts[0] == top:
                yield from parts(Path(message["executable"]), folder, message["target"]["name"])
