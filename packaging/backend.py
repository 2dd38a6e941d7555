# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The build backend: maturin's, whose wheel also gets the recorder and the files of `SHIPPED`.

`pip install .`, `uv build` and `make dist` call it. A source distribution has the commit that is checked out.
With SOURCE_DATE_EPOCH set, a second build of the wheel is equal; that of a source distribution always is.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import maturin
from maturin import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = (
    "Cargo.lock",
    "Cargo.toml",
    "docs",
    "examples/mpi",
    "matching",
    "mbmatch",
    "moped/docs",
    "moped/kernel/calls.h",
    "moped/mpi",
    "processor/docs",
    "recorder/Makefile",
    "recorder/docs",
    "recorder/src",
    "recorder/build/libmatchbench-record.a",
    "recorder/build/libmbrecord.so",
    "spec",
    "studies",
    "traces",
)
"""What the package needs of the repository besides itself, under the same names (`matchbench.shipped`)."""
COMPLETIONS = (
    ("bash", "bash-completion/completions", "matchbench"),
    ("zsh", "zsh/site-functions", "_matchbench"),
    ("fish", "fish/vendor_completions.d", "matchbench.fish"),
)
"""Where shells look for scripts, below `share` of the environment."""
_BUILT = shutil.ignore_patterns("__pycache__", "build", "target")

_LICENCE = re.compile("(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)

Settings = Mapping[str, object] | None


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel of the sources here and return its name."""
    # Paths of the machine that builds: of the sources, and of the crates of the registry.
    cargo_home = os.environ.get("CARGO_HOME", Path.home() / ".cargo")
    remap = f"--remap-path-prefix={ROOT}=. --remap-path-prefix={cargo_home}=cargo"
    os.environ["RUSTFLAGS"] = " ".join(filter(None, [os.environ.get("RUSTFLAGS"), remap]))
    os.environ.setdefault("MATURIN_PEP517_ARGS", "")
    os.environ["MATURIN_PEP517_ARGS"] += " --strip --locked"
    run("make", "--silent", "-C", str(ROOT / "recorder"))
    with tempfile.TemporaryDirectory() as folder:
        name = maturin.build_wheel(folder, config_settings, metadata_directory)
        run(sys.executable, "-m", "wheel", "unpack", "--dest", folder, str(Path(folder, name)))
        (tree,) = Path(folder).glob("*/")
        for bill in tree.glob("*.dist-info/sboms/*.json"):
            bill.write_text(bill.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
        ship(tree)
        write_shared(tree)
        write_licences(tree)
        return pack(tree, Path(wheel_directory))


def ship(tree: Path) -> None:
    """Copy what is shipped into the tree of a wheel."""
    to = tree / "matchbench" / "_files"
    for name in SHIPPED:
        source, target = ROOT / name, to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=_BUILT)
        else:
            shutil.copy(source, target)
    built = to / "recorder" / "build"
    # The build's identifier is computed from the debug information, which names the folder of the sources.
    identifier = "--remove-section=.note.gnu.build-id"
    run("strip", "--strip-unneeded", identifier, str(built / "libmbrecord.so"))
    run("strip", "--strip-debug", "--enable-deterministic-archives", str(built / "libmatchbench-record.a"))


def write_shared(tree: Path) -> None:
    """Write pages of the manual and scripts that complete command lines in shells; the module is loaded."""
    (info,) = tree.glob("*.dist-info")
    share = info.with_suffix(".data") / "data" / "share"
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    manual = [sys.executable, "-m", "matchbench.cli.manual", str(share / "man" / "man1")]
    subprocess.run(manual, env=environment, check=True)
    for shell, folder, name in COMPLETIONS:
        words = [sys.executable, "-m", "matchbench", "completion", shell]
        script = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE).stdout
        (share / folder).mkdir(parents=True)
        (share / folder / name).write_bytes(script)


def write_licences(tree: Path) -> None:
    """Write the licence texts of the crates in the module, each text once, below the names of its crates."""
    (bill,) = tree.glob("*.dist-info/sboms/*.json")
    components = json.loads(bill.read_text(encoding="utf-8"))["components"]
    compiled = {(each["name"], each["version"]) for each in components}
    cargo = shutil.which("cargo") or "cargo"
    words = [cargo, "metadata", "--format-version", "1", "--locked"]
    said = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    crates: dict[str, list[str]] = {}
    for package in json.loads(said)["packages"]:
        if package["source"] and (package["name"], package["version"]) in compiled:
            for path in sorted(Path(package["manifest_path"]).parent.iterdir()):
                if _LICENCE.match(path.name) and path.is_file():
                    names = crates.setdefault(path.read_text(encoding="utf-8"), [])
                    names.append(f"{package['name']} {package['version']}: {package['license']}")
    parts = sorted((sorted(set(names)), text) for text, names in crates.items())
    line = "-" * 80
    pages = ["\n".join([line, *names, line, text]) for names, text in parts]
    (tree / "matchbench" / "_files" / "LICENCES-OF-CRATES").write_text("\n".join(pages), encoding="utf-8")


def pack(tree: Path, wheel_directory: Path) -> str:
    """Pack the tree of a wheel and return its name."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", folder, str(tree))
        (made,) = Path(folder).iterdir()
        shutil.copy(made, wheel_directory / made.name)
        return made.name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:  # noqa: ARG001 - the interface's
    """Archive the commit that is checked out and return the name of the file."""
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder, prepare_metadata_for_build_wheel(folder))
        name = info.name.removesuffix(".dist-info")
        head = ["git", "-C", str(ROOT), "archive", "--format=tar", f"--prefix={name}/"]
        text = (info / "METADATA").read_text(encoding="utf-8")
        archive = subprocess.run(
            [*head, f"--add-virtual-file={name}/PKG-INFO:{text}", "HEAD"], check=True, stdout=subprocess.PIPE
        ).stdout
    Path(sdist_directory, f"{name}.tar.gz").write_bytes(gzip.compress(archive, mtime=0))
    return f"{name}.tar.gz"


def run(*words: str) -> None:
    """Run a command; what it prints is not part of the backend's answer."""
    subprocess.run(words, check=True, stdout=sys.stderr)
