#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Edits the sources of Open MPI so that pml/ob1 can be built on mbmatch.

Usage: `edit.py SOURCE`, the top folder of a source tree of Open MPI 5.

Three files change, by a few lines each, and the headers beside this script are copied into `custommatch/`:

- `custommatch/pml_ob1_custom_match.h` includes our engine when `PML_OB1_MBMATCH` is defined, and is as before
  otherwise;
- `Makefile.am` and `Makefile.in` of pml/ob1 add `$(MBMATCH_CPPFLAGS)` and `$(MBMATCH_LIBS)`, which are empty
  unless `make` is given values.

All edits are computed before the first file is written. Text that is not found as expected ends the script
with status 2 and nothing is changed; a tree that is already edited only gets the headers again.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

HEADERS = ("pml_ob1_custom_match_mbmatch.h", "pml_ob1_custom_match_fault.h")
OB1 = Path("ompi/mca/pml/ob1")
MARK = "mbmatch"


class NotFoundError(Exception):
    """A file is not as expected."""


def edited_header(text: str) -> str:
    """Put the whole content of a header behind a choice of ours.

    Raises
    ------
    NotFoundError
        Without an include guard around the content.
    """
    opening = re.search(r"^#ifndef (\w+)\n#define \1\n", text, re.MULTILINE)
    closings = list(re.finditer(r"^#endif\b.*\n?", text, re.MULTILINE))
    if opening is None or not closings or text[closings[-1].end() :].strip():
        msg = "no include guard around the content"
        raise NotFoundError(msg)
    if "MCA_PML_OB1_CUSTOM_MATCH" not in text[opening.end() :]:
        msg = "no definition of MCA_PML_OB1_CUSTOM_MATCH"
        raise NotFoundError(msg)
    last = closings[-1].start()
    ours = f'#ifdef PML_OB1_MBMATCH\n#define MCA_PML_OB1_CUSTOM_MATCH 1\n#include "{HEADERS[0]}"\n#else\n'
    closing = "#endif /* PML_OB1_MBMATCH */\n\n"
    return text[: opening.end()] + ours + text[opening.end() : last] + closing + text[last:]


def edited_makefile(text: str) -> str:
    """Add flags and libraries to both kinds of the component, plug-in and part of the library.

    Raises
    ------
    NotFoundError
        Without exactly one place for each.
    """
    if re.search(r"^AM_CPPFLAGS\b", text, re.MULTILINE):
        msg = "AM_CPPFLAGS is already set"
        raise NotFoundError(msg)
    plugin = re.compile(r"^(mca_pml_ob1_la_LIBADD\s*=.*[^\\\n])$", re.MULTILINE)
    if len(plugin.findall(text)) != 1:
        msg = f"{len(plugin.findall(text))} lines that set mca_pml_ob1_la_LIBADD and end there, expected 1"
        raise NotFoundError(msg)
    text = plugin.sub(r"\1 $(MBMATCH_LIBS)\nAM_CPPFLAGS = $(MBMATCH_CPPFLAGS)", text)
    inside = re.compile(r"^(libmca_pml_ob1_la_LIBADD\s*=)[ \t]*$", re.MULTILINE)
    if inside.search(text):  # automake writes an empty one
        return inside.sub(r"\1 $(MBMATCH_LIBS)", text, count=1)
    if "libmca_pml_ob1_la_LIBADD" in text:
        msg = "libmca_pml_ob1_la_LIBADD has a value"
        raise NotFoundError(msg)
    return text.rstrip("\n") + "\nlibmca_pml_ob1_la_LIBADD = $(MBMATCH_LIBS)\n"


# In this order: make rewrites Makefile.in with automake when Makefile.am is younger.
FILES: tuple[tuple[Path, Callable[[str], str]], ...] = (
    (OB1 / "custommatch" / "pml_ob1_custom_match.h", edited_header),
    (OB1 / "Makefile.am", edited_makefile),
    (OB1 / "Makefile.in", edited_makefile),
)


def edit(source: Path) -> list[Path]:
    """Edit a source tree; return the changed files.

    Raises
    ------
    NotFoundError
        When a file is missing or not as expected; nothing is changed then.
    """
    texts: list[tuple[Path, str]] = []
    for name, edited in FILES:
        path = source / name
        try:
            text = path.read_text(encoding="utf-8")
            if MARK not in text.lower():
                texts.append((path, edited(text)))
        except OSError as error:
            msg = f"{path}: {error.strerror}; expected the sources of Open MPI 5"
            raise NotFoundError(msg) from error
        except NotFoundError as error:
            known = "this release of Open MPI differs from those that this script knows: edit it by hand"
            msg = f"{path}: {error}; {known}"
            raise NotFoundError(msg) from error
    for path, text in texts:
        path.write_text(text, encoding="utf-8")
    times = (source / FILES[1][0]).stat()
    os.utime(source / FILES[2][0], ns=(times.st_atime_ns, times.st_mtime_ns + 1_000_000_000))
    for header in HEADERS:
        shutil.copy(Path(__file__).parent / header, source / OB1 / "custommatch" / header)
    return [path for path, _ in texts]


def main(arguments: list[str]) -> int:
    """Run the script; return its exit status."""
    if len(arguments) != 1:
        print("usage: edit.py SOURCE", file=sys.stderr)
        return 2
    try:
        changed = edit(Path(arguments[0]))
    except NotFoundError as error:
        print(f"edit.py: {error}", file=sys.stderr)
        return 2
    print(*(map(str, changed) if changed else ["already edited"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
