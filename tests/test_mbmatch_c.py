# SPDX-License-Identifier: Apache-2.0 OR MIT
"""mbmatch from C, with nothing but what `make install` installs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import shared

MBMATCH = Path(__file__).resolve().parent.parent / "mbmatch"
EXAMPLES = sorted((MBMATCH / "examples").glob("*.c"))
STRUCTURES = ("list", "heads", "vector", "bins", "adaptive")


def run(*words: str | Path, **environment: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        list(map(str, words)),
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install mbmatch under a temporary prefix."""
    for tool in ("cc", "make", "pkg-config", "rustc", "objcopy"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    prefix = tmp_path_factory.mktemp("prefix")
    build = f"BUILD={shared.mbmatch()}"
    made = run("make", "--silent", "-C", MBMATCH, "install", build, f"PREFIX={prefix}", "DESTDIR=")
    assert made.returncode == 0, made.stderr
    return prefix


@pytest.fixture(params=[(source, linked) for source in EXAMPLES for linked in ("shared", "static")], ids=str)
def example(installed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Build an example with the flags that pkg-config prints."""
    source, linking = request.param
    words = ["--cflags", "--libs", *(["--static"] if linking == "static" else []), "mbmatch"]
    asked = run("pkg-config", *words, PKG_CONFIG_PATH=installed / "lib/pkgconfig")
    assert asked.returncode == 0, asked.stderr
    flags = asked.stdout.split()
    if linking == "static":
        flags = ["-l:libmbmatch.a" if flag == "-lmbmatch" else flag for flag in flags]
    program = tmp_path / "matching"
    built = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-o", program, *flags)
    assert built.returncode == 0, built.stderr
    assert linked_dynamically(program) == (linking == "shared")
    return program


def linked_dynamically(program: Path) -> bool:
    return "libmbmatch.so.1" in run("ldd", program).stdout


def test_the_examples_pass_with_every_structure_and_leaks_no_memory(installed: Path, example: Path) -> None:
    # What is linked statically is the same object: `make nightly` looks for leaks of both.
    is_repeated = not shared.FULL and not linked_dynamically(example)
    valgrind = None if is_repeated else shutil.which("valgrind")
    checker = [valgrind, "--quiet", "--leak-check=full", "--show-leak-kinds=all", "--error-exitcode=9"]
    for structure in STRUCTURES:
        words = [*(checker if valgrind else []), example, structure]
        done = run(*map(str, words), LD_LIBRARY_PATH=installed / "lib")
        assert (done.returncode, done.stderr) == (0, ""), structure


def test_the_header_compiles_as_c99_and_as_cxx11(installed: Path) -> None:
    header = installed / "include/mbmatch.h"
    for compiler, options in (("cc", ["-std=c99", "-x", "c"]), ("c++", ["-std=c++11", "-x", "c++"])):
        if shutil.which(compiler) is None:
            continue
        checked = run(
            compiler, *options, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", header
        )
        assert checked.returncode == 0, checked.stderr


def test_the_libraries_export_what_the_header_declares_and_nothing_else(installed: Path) -> None:
    header = (installed / "include/mbmatch.h").read_text()
    declared = re.findall(r"^MBMATCH_API .*?(mbmatch_\w+)\(", header, re.M)
    shared = run(
        "nm", "-D", "--defined-only", "--with-symbol-versions", installed / "lib/libmbmatch.so"
    ).stdout
    versioned = {f"{name}@@MBMATCH_0.1" for name in declared}
    assert set(re.findall(r" T (\S+)", shared)) == versioned
    static = run("nm", "--extern-only", "--defined-only", installed / "lib/libmbmatch.a").stdout
    assert set(re.findall(r" [A-Z] (\S+)", static)) == set(declared)


def test_what_is_installed_is_found_by_cmake_and_is_uninstalled(installed: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "other"
    words = ("make", "--silent", "-C", MBMATCH, f"BUILD={shared.mbmatch()}")
    where = (f"PREFIX={prefix}", f"LIBDIR={prefix}/lib64", f"DESTDIR={tmp_path}/stage")
    assert run(*words, "install", *where).returncode == 0
    config = tmp_path / f"stage{prefix}/lib64/cmake/mbmatch/mbmatch-config.cmake"
    assert f'"{prefix}/lib64/libmbmatch.a"' in config.read_text()
    assert run(*words, "uninstall", *where).returncode == 0
    assert not [path for path in (tmp_path / "stage").rglob("*") if not path.is_dir()]
    if shutil.which("cmake") is None:
        return
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(example C)\n"
        "find_package(mbmatch 0.1 REQUIRED CONFIG)\n"
        f"add_executable(example {EXAMPLES[0]})\ntarget_link_libraries(example mbmatch::static)\n"
    )
    made = run("cmake", "-S", tmp_path, "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={installed}")
    assert made.returncode == 0, made.stderr
    assert run("cmake", "--build", tmp_path / "built").returncode == 0
    assert run(tmp_path / "built/example").returncode == 0
