# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Open MPI's ob1 on mbmatch: the edits on texts of our own, and the engine on a stub of what ob1 offers.

Open MPI itself is built and checked by `make nightly PARTS=openmpi`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import shared

FOLDER = Path(__file__).resolve().parent.parent / "integrations/openmpi"
MBMATCH = Path(__file__).resolve().parent.parent / "mbmatch"
OB1 = Path("ompi/mca/pml/ob1")
HEADER = OB1 / "custommatch/pml_ob1_custom_match.h"

TREE = {
    HEADER: """/* A header. */
#ifndef GUARD_H
#define GUARD_H
#if ENGINE
#define MCA_PML_OB1_CUSTOM_MATCH 1
#else
#define MCA_PML_OB1_CUSTOM_MATCH 0
#endif
#endif
""",
    OB1 / "Makefile.am": "sources = a.c\nmca_pml_ob1_la_LIBADD = libmpi.la\nnoinst = b\n",
    OB1
    / "Makefile.in": "libmca_pml_ob1_la_LIBADD =\nmca_pml_ob1_la_LIBADD = libmpi.la\nX = $(AM_CPPFLAGS)\n",
}

STUBS = {
    "ompi_config.h": "#define OPAL_ENABLE_FT_MPI 0\n#define OPAL_UNLIKELY(is) __builtin_expect(!!(is), 0)\n"
    "#define OPAL_LIKELY(is) __builtin_expect(!!(is), 1)\n",
    "opal/class/opal_list.h": """typedef struct opal_list_item_t {
	volatile struct opal_list_item_t *opal_list_next, *opal_list_prev;
} opal_list_item_t;
""",
    "opal/util/output.h": "void opal_output(int stream, const char *format, ...);\n",
    "ompi/mca/pml/ob1/pml_ob1.h": "#define OMPI_ANY_SOURCE -1\n#define OMPI_ANY_TAG -1\n",
    "ompi/runtime/ompi_rte.h": "void ompi_rte_abort(int code, char *format, ...);\n",
}

# Prints the name of each request and message that a search finds, in order; `-` for none.
PROGRAM = r"""
#include "pml_ob1_custom_match_mbmatch.h"
#include <stdarg.h>
#include <stdio.h>

struct named { opal_list_item_t item; const char *name; };

static void say(void *found) { printf("%s ", found ? ((struct named *)found)->name : "-"); }

void opal_output(int stream, const char *format, ...) { (void)stream; (void)format; printf("line "); }
void ompi_rte_abort(int code, char *format, ...) { (void)format; exit(code & 3); }

int main(void)
{
	struct named a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"}, d = {.name = "d"};
	custom_match_prq *prq = custom_match_prq_init();
	custom_match_umq *umq = custom_match_umq_init();
	custom_match_umq_node *previous, *held;
	int index;

	say(custom_match_prq_find_dequeue_verify(prq, 5, 0));
	custom_match_prq_append(prq, &a, OMPI_ANY_TAG, OMPI_ANY_SOURCE);
	custom_match_prq_append(prq, &b, 5, 3);
	custom_match_prq_append(prq, &c, 5, OMPI_ANY_SOURCE);
	custom_match_prq_append(prq, &d, -7, 3);
	custom_match_prq_dump(prq);
	say(custom_match_prq_find_dequeue_verify(prq, -7, 3));
	say(custom_match_prq_find_dequeue_verify(prq, -7, 3));
	printf("%d ", custom_match_prq_cancel(prq, &c));
	printf("%d ", custom_match_prq_cancel(prq, &c));
	say(custom_match_prq_find_dequeue_verify(prq, 5, 3));
	say(custom_match_prq_find_dequeue_verify(prq, 5, 3));
	say(custom_match_prq_find_dequeue_verify(prq, 5, 3));
	printf("%d| ", custom_match_prq_size(prq));

	say(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, OMPI_ANY_SOURCE, &previous, &held, &index));
	custom_match_umq_append(umq, -2, 1, &a);
	custom_match_umq_append(umq, 2147483647, 1, &b);
	custom_match_umq_append(umq, 0, 2, &c);
	custom_match_umq_dump(umq);
	say(custom_match_umq_find_verify_hold(umq, 0, 1, &previous, &held, &index));
	say(custom_match_umq_find_verify_hold(umq, -2, OMPI_ANY_SOURCE, &previous, &held, &index));
	say(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, 2, &previous, &held, &index));
	say(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, OMPI_ANY_SOURCE, &previous, &held, &index));
	custom_match_umq_remove_hold(umq, previous, held, index);
	say(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, OMPI_ANY_SOURCE, &previous, &held, &index));
	printf("%d\n", custom_match_umq_size(umq));
	custom_match_prq_destroy(prq);
	custom_match_umq_destroy(umq);
	return 0;
}
"""

# Random operations beside lists that are walked; lengths cross that of a short queue all the time.
WALKS = r"""
#include "pml_ob1_custom_match_mbmatch.h"
#include <stdarg.h>
#include <stdio.h>

enum { MOST = 100, OPERATIONS = 200000 };
struct entry { opal_list_item_t item; int tag, source, used; };
static struct entry entries[MOST + 1];
static struct entry *list[MOST + 1];
static int length;
static unsigned state = 1;

void opal_output(int stream, const char *format, ...) { (void)stream; (void)format; }
void ompi_rte_abort(int code, char *format, ...) { (void)format; exit(code & 3); }

static int below(int end)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 16) % (unsigned)end);
}

static int some_tag(void) { return below(5) - 2; }

static struct entry *fresh(int tag, int source)
{
	struct entry *entry = entries;
	while (entry->used)
		entry++;
	entry->used = 1;
	entry->tag = tag;
	entry->source = source;
	return list[length++] = entry;
}

static void drop(struct entry *entry)
{
	int at = 0;
	while (list[at] != entry)
		at++;
	for (length--; at < length; at++)
		list[at] = list[at + 1];
	entry->used = 0;
}

static int fits(int tag, int source, int wanted_tag, int wanted_source)
{
	return (wanted_tag == OMPI_ANY_TAG ? tag >= 0 : tag == wanted_tag) &&
		(wanted_source == OMPI_ANY_SOURCE || source == wanted_source);
}

static void check(int is, const char *what) { if (!is) { puts(what); exit(1); } }

int main(void)
{
	custom_match_prq *prq = custom_match_prq_init();
	for (int turn = 0; turn < OPERATIONS; turn++) {
		int most = turn / 1000 % 2 ? MOST : CUSTOM_MATCH_SHORT + 2, what = below(8);
		if (what < 4 && length < most) {
			int tag = some_tag(), source = below(3) - 1;
			tag = tag == OMPI_ANY_TAG || tag == -2 ? tag : tag + 1;
			custom_match_prq_append(prq, fresh(tag, source), tag, source);
		} else if (what == 4 && length > 0) {
			struct entry *entry = list[below(length)];
			check(custom_match_prq_cancel(prq, entry) == 1, "a cancel misses its receive");
			drop(entry);
		} else {
			int tag = below(6) - 2, source = below(2), at = 0;
			tag = tag == OMPI_ANY_TAG ? 3 : tag;
			while (at < length && !fits(tag, source, list[at]->tag, list[at]->source))
				at++;
			check(custom_match_prq_find_dequeue_verify(prq, tag, source) == (at < length ? list[at] : NULL),
				"a message takes another receive");
			if (at < length)
				drop(list[at]);
		}
		check(custom_match_prq_size(prq) == length, "another number of receives");
	}
	custom_match_prq_destroy(prq);

	memset(entries, 0, sizeof entries);
	length = 0;
	custom_match_umq *umq = custom_match_umq_init();
	for (int turn = 0; turn < OPERATIONS; turn++) {
		int most = turn / 1000 % 2 ? MOST : CUSTOM_MATCH_SHORT + 2, what = below(8);
		if (what < 4 && length < most) {
			int tag = below(6) - 2, source = below(2);
			tag = tag == OMPI_ANY_TAG ? 3 : tag;
			custom_match_umq_append(umq, tag, source, fresh(tag, source));
		} else {
			int tag = below(6) - 2, source = below(3) - 1, at = 0, index;
			custom_match_umq_node *previous, *held;
			while (at < length && !fits(list[at]->tag, list[at]->source, tag, source))
				at++;
			check(custom_match_umq_find_verify_hold(umq, tag, source, &previous, &held, &index) ==
				(at < length ? list[at] : NULL), "a receive finds another message");
			if (at < length && what > 4) {
				custom_match_umq_remove_hold(umq, previous, held, index);
				drop(list[at]);
			}
		}
		check(custom_match_umq_size(umq) == length, "another number of messages");
	}
	custom_match_umq_destroy(umq);
	puts("right");
	return 0;
}
"""


def tree(folder: Path, **changed: str) -> Path:
    """Write a source tree; `changed` gives other texts by the last part of a file's name."""
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(changed.get(name.suffix[1:], text), encoding="utf-8")
    return folder


def edit(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    words = [sys.executable, str(FOLDER / "edit.py"), str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def texts(folder: Path) -> dict[Path, str]:
    """Read the files that the script edits."""
    return {name: (folder / name).read_text(encoding="utf-8") for name in TREE}


def test_the_script_edits_three_files_once_and_copies_the_headers(tmp_path: Path) -> None:
    folder = tree(tmp_path)
    done = edit(folder)
    assert (done.returncode, done.stderr) == (0, "")
    after = texts(folder)
    assert "$(MBMATCH_LIBS)\nAM_CPPFLAGS = $(MBMATCH_CPPFLAGS)\n" in after[OB1 / "Makefile.am"]
    assert after[OB1 / "Makefile.am"].endswith("\nlibmca_pml_ob1_la_LIBADD = $(MBMATCH_LIBS)\n")
    assert after[OB1 / "Makefile.in"].startswith("libmca_pml_ob1_la_LIBADD = $(MBMATCH_LIBS)\n")
    times = [(folder / OB1 / name).stat().st_mtime_ns for name in ("Makefile.am", "Makefile.in")]
    assert times[0] < times[1], "make would call automake"
    assert (folder / HEADER.parent / "pml_ob1_custom_match_mbmatch.h").is_file()
    again = edit(folder)
    assert (again.returncode, again.stdout) == (0, "already edited\n")
    assert texts(folder) == after


def test_an_edited_header_is_as_before_unless_mbmatch_is_chosen(tmp_path: Path) -> None:
    folder = tree(tmp_path)
    assert edit(folder).returncode == 0
    (folder / HEADER.parent / "pml_ob1_custom_match_mbmatch.h").write_text("ours\n")

    def preprocessed(*options: str) -> list[str]:
        words = ["cc", "-E", "-P", "-dD", *options, str(folder / HEADER)]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return [line for line in text.splitlines() if "MCA_PML" in line or "ours" in line]

    assert preprocessed() == ["#define MCA_PML_OB1_CUSTOM_MATCH 0"]
    assert preprocessed("-DENGINE=1") == ["#define MCA_PML_OB1_CUSTOM_MATCH 1"]
    assert preprocessed("-DPML_OB1_MBMATCH") == ["#define MCA_PML_OB1_CUSTOM_MATCH 1", "ours"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"h": "int no_guard;\n"}, "no include guard around the content"),
        ({"h": "#ifndef G\n#define G\n#endif\n"}, "no definition of MCA_PML_OB1_CUSTOM_MATCH"),
        ({"am": "sources = a.c\n"}, "0 lines that set mca_pml_ob1_la_LIBADD and end there, expected 1"),
        ({"in": "AM_CPPFLAGS = -DX\n"}, "AM_CPPFLAGS is already set"),
    ],
)
def test_a_text_that_is_not_as_expected_is_named_and_nothing_is_changed(
    tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    folder = tree(tmp_path, **changed)
    before = texts(folder)
    done = edit(folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.endswith("differs from those that this script knows: edit it by hand\n")
    assert texts(folder) == before


def test_a_folder_without_open_mpi_is_refused(tmp_path: Path) -> None:
    done = edit(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such file or directory; expected the sources of Open MPI 5" in done.stderr


@pytest.fixture(scope="module")
def stubbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install mbmatch, and what the engine includes of Open MPI."""
    for tool in ("cc", "make", "rustc", "objcopy"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    prefix = tmp_path_factory.mktemp("stubbed")
    build = f"BUILD={shared.mbmatch()}"
    words = ["make", "--silent", "-C", str(MBMATCH), "install", build, f"PREFIX={prefix}", "DESTDIR="]
    subprocess.run(words, check=True, capture_output=True, timeout=600)
    for name, text in STUBS.items():
        (prefix / "stub" / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / "stub" / name).write_text(text, encoding="utf-8")
    (prefix / "program.c").write_text(PROGRAM, encoding="utf-8")
    (prefix / "walks.c").write_text(WALKS, encoding="utf-8")
    return prefix


def built(
    prefix: Path, program: Path, *options: str, source: str = "program.c"
) -> subprocess.CompletedProcess[str]:
    """Build a program on the engine."""
    words = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *options, str(prefix / source)]
    words += [f"-I{each}" for each in (FOLDER, prefix / "stub", prefix / "include")]
    words += [str(prefix / "lib/libmbmatch.a"), "-lgcc_s", "-lpthread", "-ldl", "-o", str(program)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def said(program: Path) -> str:
    """Run the program, under Valgrind if that is installed."""
    checker = (
        [valgrind, "-q", "--leak-check=full", "--error-exitcode=9"]
        if (valgrind := shutil.which("valgrind"))
        else []
    )
    done = subprocess.run([*checker, str(program)], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


RIGHT = "- line line line line d - 1 0 a b - 0| - line line line - a c b c 2"


@pytest.mark.parametrize("short", [1, 2, 8])
def test_the_engine_matches_in_order_and_keeps_the_librarys_messages_from_any_tag(
    stubbed: Path, tmp_path: Path, short: int
) -> None:
    done = built(stubbed, tmp_path / "right", f"-DCUSTOM_MATCH_SHORT={short}")
    assert (done.returncode, done.stderr) == (0, "")
    assert said(tmp_path / "right") == RIGHT


@pytest.mark.parametrize("short", ["10", "64"])
def test_queues_that_become_short_and_long_match_as_lists_that_are_walked(
    stubbed: Path, tmp_path: Path, short: str
) -> None:
    size = f"-DCUSTOM_MATCH_SHORT={short}"
    done = built(stubbed, tmp_path / "walks", size, "-fsanitize=address,undefined", source="walks.c")
    assert (done.returncode, done.stderr) == (0, "")
    run = subprocess.run([str(tmp_path / "walks")], capture_output=True, text=True, check=False, timeout=60)
    assert (run.stdout, run.stderr) == ("right\n", "")
    # The check finds the planted fault.
    done = built(stubbed, tmp_path / "wrong", size, "-DPML_OB1_MBMATCH_FAULT", source="walks.c")
    assert done.returncode == 0
    run = subprocess.run([str(tmp_path / "wrong")], capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stdout) == (1, "a message takes another receive\n")


def test_the_planted_fault_takes_the_newest_receive(stubbed: Path, tmp_path: Path) -> None:
    done = built(stubbed, tmp_path / "wrong", "-DPML_OB1_MBMATCH_FAULT", "-DCUSTOM_MATCH_SHORT=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert said(tmp_path / "wrong") == RIGHT.replace("a b -", "b a -")


def test_a_build_with_fault_tolerance_is_refused_with_what_to_do(stubbed: Path, tmp_path: Path) -> None:
    config = tmp_path / "ompi_config.h"
    config.write_text(STUBS["ompi_config.h"].replace("MPI 0", "MPI 1"), encoding="utf-8")
    done = built(stubbed, tmp_path / "none", f"-I{tmp_path}")
    assert done.returncode != 0
    assert "configure Open MPI --with-ft=no" in done.stderr


def test_the_build_script_refuses_without_a_mirror_of_debian(tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "apt-get").write_text("#!/bin/sh\nexit 0\n")
    (fake / "apt-get").chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake}:{os.environ['PATH']}", "CACHE": str(tmp_path / "cache")}
    words = ["bash", str(FOLDER / "build.sh"), str(tmp_path / "out")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
    if "dpkg-source is missing" in done.stderr:
        pytest.skip("no system of Debian")
    assert done.returncode == 2
    assert done.stderr == "build.sh: apt knows no mirror of Debian; run apt-get update first\n"
