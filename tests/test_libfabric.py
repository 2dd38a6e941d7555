# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The parts of `integrations/libfabric` that need no libfabric; the others are checked by `make nightly`."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "integrations/libfabric"


def module(name: str) -> ModuleType:
    """Load a script of the folder as a module."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


expect = module("expect")
measure = module("measure")


def source(folder: Path) -> Path:
    """Write what `expect.py` reads of a source that it accepts."""
    texts = dict.fromkeys((expect.UTIL, expect.PEER), "")
    for (file, name), members in (expect.EXACT | expect.NEEDED).items():
        body = "".join(f"\tint\t(*{each})(struct a *b);\n" for each in sorted(members))
        texts[file] += f"/* struct {name} {{ */\nstruct {name} {{\n{body}}};\n"
    texts[expect.UTIL] += "\n".join(each.replace(", ", ",\n\t\t") for each in expect.FUNCTIONS.values())
    texts["Makefile.am"] = "\tprov/util/src/util_srx.c\t\\\n"
    for file, text in texts.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_source_as_expected_is_accepted(tmp_path: Path) -> None:
    assert expect.differences(source(tmp_path)) == []
    assert expect.main([str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        (
            "Makefile.am",
            "util_srx",
            "util_queue",
            "Makefile.am: found prov/util/src/util_srx.c 0 times, expected once",
        ),
        (
            "include/rdma/providers/fi_peer.h",
            "struct fi_ops_srx_owner {\n",
            "struct fi_ops_srx_owner {\n\tint (*drop_tag)(struct a *b);\n",
            "include/rdma/providers/fi_peer.h: found struct fi_ops_srx_owner with drop_tag, "
            "which srx.c does not serve",
        ),
        (
            "include/ofi_util.h",
            "\tint\t(*lock)(struct a *b);\n",
            "",
            "include/ofi_util.h: found struct util_srx_ctx without lock",
        ),
        (
            "include/ofi_util.h",
            "struct util_rx_entry {",
            "struct util_rx {",
            "include/ofi_util.h: found no struct util_rx_entry",
        ),
        (
            "include/ofi_util.h",
            "int util_srx_close(struct fid *fid);",
            "int util_srx_close(struct fid *fid, int flags);",
            "include/ofi_util.h: found another declaration of util_srx_close, "
            "expected: int util_srx_close(struct fid *fid);",
        ),
    ],
)
def test_a_source_that_differs_is_refused_with_the_difference(
    tmp_path: Path, file: str, before: str, after: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = source(tmp_path) / file
    text = path.read_text()
    changed = text.replace(f"/* {before} */", "").replace(before, after)
    assert changed != text
    path.write_text(changed)
    assert expect.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"expect.py: {message}; adapt integrations/libfabric to this version\n"


def test_a_folder_without_libfabric_is_refused(tmp_path: Path) -> None:
    assert expect.differences(tmp_path) == [
        f"{tmp_path / expect.UTIL}: found No such file or directory, "
        "expected a file of libfabric 1.19 or later"
    ]


def test_members_of_unions_arrays_and_functions_are_found() -> None:
    text = "struct a { union { struct b *c; int d; }; // e\n void *(*f)(int g); char h[4]; /* i; */ "
    text += "struct j k; };"
    assert expect.members(text, "a") == {"c", "d", "f", "h", "k"}


def test_the_interval_of_a_median_has_order_statistics() -> None:
    # 20 values: from the 6th to the 15th with 95.9 %; 5 values: all, with 93.8 % only.
    assert measure.interval([float(each) for each in range(1, 21)]) == (6.0, 15.0)
    assert measure.interval([5.0, 1.0, 4.0, 2.0, 3.0]) == (1.0, 5.0)


def test_the_reference_of_the_random_test_decides_as_documented(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    program = tmp_path / "reference_test"
    sources = [FOLDER / "tests" / name for name in ("reference_test.c", "reference.c")]
    words = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(program), *map(str, sources)]
    subprocess.run(words, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["check.sh", "{folder}"],
            "check.sh: {folder}: found no file version, expected the output of build.sh\n",
        ),
        (
            ["build.sh", "{folder}/out", "{folder}"],
            "build.sh: {folder}: found no configure.ac, expected the folder of a source of libfabric\n",
        ),
    ],
)
def test_the_scripts_refuse_folders_that_are_not_theirs(
    tmp_path: Path, words: list[str], message: str
) -> None:
    if any(shutil.which(tool) is None for tool in ("autoreconf", "libtoolize")):
        pytest.skip("autoconf or libtool is not installed")
    words = [word.format(folder=tmp_path) for word in words]
    done = subprocess.run(
        [FOLDER / words[0], *words[1:]],
        env=os.environ | {"CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stderr, done.returncode) == (message.format(folder=tmp_path), 2)


def test_a_measurement_without_its_program_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "measure.py", tmp_path, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "No such file" in done.stderr
    assert "Traceback" not in done.stderr
