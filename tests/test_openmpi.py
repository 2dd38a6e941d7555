# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Open MPI's ob1 on mbmatch: the patches on files with their context alone, the engine on a stub of ob1.

Open MPI itself is built and checked by `make nightly PARTS=openmpi`.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "integrations/openmpi"
MBMATCH = ROOT / "mbmatch"
CUSTOMMATCH = Path("ompi/mca/pml/ob1/custommatch")
OURS = ("pml_ob1_custom_match_mbmatch.c", "pml_ob1_custom_match_mbmatch.h", "pml_ob1_custom_match_fault.h")
COPIES = (*OURS, "mbmatch.h", "mbmatch.c")

STUBS = {
    "ompi_config.h": "#define OPAL_UNLIKELY(is) __builtin_expect(!!(is), 0)\n",
    "opal/util/output.h": "void opal_output(int stream, const char *format, ...);\n",
    "ompi/mca/pml/ob1/pml_ob1.h": "#define OMPI_ANY_SOURCE -1\n#define OMPI_ANY_TAG -1\n",
}

# The engine is read before the types that its macros need, as in ob1.
OBJECTS = r"""
#include "pml_ob1_custom_match_mbmatch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	int before;
	mbmatch_receive_t req_match;
	const char *name;
	int tag, source, used;
} mca_pml_ob1_recv_request_t;
typedef struct {
	int before;
	mbmatch_message_t match;
	const char *name;
	int tag, source, used;
} mca_pml_ob1_recv_frag_t;
"""

# Prints the name of each request and message that a search finds, in order; `-` for none.
PROGRAM = r"""
static void say(mca_pml_ob1_recv_request_t *found) { printf("%s ", found ? found->name : "-"); }
static void tell(mca_pml_ob1_recv_frag_t *found) { printf("%s ", found ? found->name : "-"); }

void opal_output(int stream, const char *format, ...) { (void)stream; (void)format; printf("line "); }

int main(void)
{
	mca_pml_ob1_recv_request_t a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"}, d = {.name = "d"};
	mca_pml_ob1_recv_frag_t e = {.name = "e"}, f = {.name = "f"}, g = {.name = "g"}, *next;
	mbmatch_t matcher, *prq = &matcher, *umq = &matcher;
	custom_match_umq_node *previous, *held;
	int index;
	custom_match_init(&matcher);

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

	tell(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, OMPI_ANY_SOURCE, &previous, &held, &index));
	custom_match_umq_append(umq, -2, 1, &e);
	custom_match_umq_append(umq, 2147483647, 1, &f);
	custom_match_umq_append(umq, 0, 2, &g);
	custom_match_umq_dump(umq);
	tell(custom_match_umq_find_verify_hold(umq, 0, 1, &previous, &held, &index));
	tell(custom_match_umq_find_verify_hold(umq, -2, OMPI_ANY_SOURCE, &previous, &held, &index));
	tell(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, 2, &previous, &held, &index));
	tell(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, OMPI_ANY_SOURCE, &previous, &held, &index));
	custom_match_umq_remove_hold(umq, previous, held, index);
	tell(custom_match_umq_find_verify_hold(umq, OMPI_ANY_TAG, OMPI_ANY_SOURCE, &previous, &held, &index));
	for (mca_pml_ob1_recv_frag_t *at = custom_match_umq_first(umq); at; at = next) {
		next = custom_match_umq_next(umq, at);
		tell(at);
		if (at == &e)
			custom_match_umq_remove(umq, at);
	}
	printf("%d\n", custom_match_umq_size(umq));
	mbmatch_destroy(&matcher);
	return 0;
}
"""

# Random operations beside lists that are walked: both queues of a matcher in turn, short and long. The long
# ones have many tags, so that searches are deep.
WALKS = r"""
enum { MOST = 400, OPERATIONS = 400000 };
static mca_pml_ob1_recv_request_t requests[MOST + 1], *posted[MOST + 1];
static mca_pml_ob1_recv_frag_t fragments[MOST + 1], *waiting[MOST + 1];
static int posts, messages, tags = 4;
static unsigned state = 1;

void opal_output(int stream, const char *format, ...) { (void)stream; (void)format; }

static int below(int end)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 16) % (unsigned)end);
}

/* Of a message: -2 or from 0 on. Of a receive also OMPI_ANY_TAG. */
static int some_tag(int any)
{
	int tag = below(tags + 2) - 2;
	return tag == OMPI_ANY_TAG && !any ? -2 : tag;
}

static int fits(int tag, int source, int wanted_tag, int wanted_source)
{
	return (wanted_tag == OMPI_ANY_TAG ? tag >= 0 : tag == wanted_tag) &&
		(wanted_source == OMPI_ANY_SOURCE || source == wanted_source);
}

static void check(int is, const char *what) { if (!is) { puts(what); exit(1); } }

static void step_of_receives(custom_match_prq *prq, int most)
{
	int what = below(8);
	if (what < 5 && posts < most) {
		mca_pml_ob1_recv_request_t *at = requests;
		while (at->used)
			at++;
		at->used = 1;
		at->tag = some_tag(below(4) == 0);
		at->source = below(4) ? below(2) : OMPI_ANY_SOURCE;
		custom_match_prq_append(prq, at, at->tag, at->source);
		posted[posts++] = at;
		return;
	}
	int at = 0;
	if (what == 5 && posts > 0) {
		at = below(posts);
		check(custom_match_prq_cancel(prq, posted[at]) == 1, "a cancel misses its receive");
		check(custom_match_prq_cancel(prq, posted[at]) == 0, "a receive is cancelled twice");
	} else {
		int tag = some_tag(0), source = below(2);
		while (at < posts && !fits(tag, source, posted[at]->tag, posted[at]->source))
			at++;
		check(custom_match_prq_find_dequeue_verify(prq, tag, source) == (at < posts ? posted[at] : NULL),
			"a message takes another receive");
	}
	if (at < posts) {
		posted[at]->used = 0;
		for (posts--; at < posts; at++)
			posted[at] = posted[at + 1];
	}
}

static void step_of_messages(custom_match_umq *umq, int most)
{
	int what = below(8), at = 0, index;
	if (what < 5 && messages < most) {
		mca_pml_ob1_recv_frag_t *frag = fragments;
		while (frag->used)
			frag++;
		frag->used = 1;
		frag->tag = some_tag(0);
		frag->source = below(2);
		custom_match_umq_append(umq, frag->tag, frag->source, frag);
		waiting[messages++] = frag;
		return;
	}
	int tag = some_tag(below(4) == 0), source = below(4) ? below(2) : OMPI_ANY_SOURCE;
	custom_match_umq_node *previous, *held;
	while (at < messages && !fits(waiting[at]->tag, waiting[at]->source, tag, source))
		at++;
	check(custom_match_umq_find_verify_hold(umq, tag, source, &previous, &held, &index) ==
		(at < messages ? waiting[at] : NULL), "a receive finds another message");
	if (at < messages && what != 5) {
		custom_match_umq_remove_hold(umq, previous, held, index);
		waiting[at]->used = 0;
		for (messages--; at < messages; at++)
			waiting[at] = waiting[at + 1];
	}
}

/* As a revocation of collective operations: what has a negative tag is removed. */
static void revoke(custom_match_umq *umq)
{
	int kept = 0, seen = 0;
	mca_pml_ob1_recv_frag_t *next;
	for (mca_pml_ob1_recv_frag_t *at = custom_match_umq_first(umq); at; at = next, seen++) {
		next = custom_match_umq_next(umq, at);
		check(at == waiting[seen], "a visit sees another message");
		if (at->tag < 0) {
			custom_match_umq_remove(umq, at);
			at->used = 0;
		} else {
			waiting[kept++] = at;
		}
	}
	check(seen == messages, "a visit sees another number of messages");
	messages = kept;
}

int main(void)
{
	mbmatch_t matcher;
	custom_match_init(&matcher);
	for (int turn = 0; turn < OPERATIONS; turn++) {
		int most = turn / 5000 % 2 ? MOST : 20;
		tags = most / 4;
		step_of_receives(&matcher, most);
		step_of_messages(&matcher, most);
		if (turn % 3000 == 0)
			revoke(&matcher);
		check(custom_match_prq_size(&matcher) == posts, "another number of receives");
		check(custom_match_umq_size(&matcher) == messages, "another number of messages");
	}
	check(mbmatch_memory(&matcher) > 0, "no search was deep");
	mbmatch_destroy(&matcher);
	puts("right");
	return 0;
}
"""

# The reports of the sanitizers end the program.
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def hunks(patch: str) -> dict[Path, dict[int, str]]:
    """Return the lines that a patch expects, by file and number."""
    files: dict[Path, dict[int, str]] = {}
    lines: dict[int, str] = {}
    at = 0
    for line in patch.splitlines():
        if line.startswith("+++ b/"):
            lines = files.setdefault(Path(line.removeprefix("+++ b/")), {})
        elif found := re.match(r"@@ -(\d+)", line):
            at = int(found[1])
        elif at and line[:1] in ("-", " ") and not line.startswith("---"):
            lines[at] = line[1:]
            at += 1
    return files


def series() -> str:
    """Return all patches, one after the other."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((FOLDER / "patches").glob("*.patch")))


def tree(folder: Path) -> dict[Path, str]:
    """Write files that have what the patches expect, and empty lines elsewhere; return their texts."""
    texts = {}
    for name, lines in hunks(series()).items():
        texts[name] = "".join(lines.get(number, "") + "\n" for number in range(1, max(lines) + 10))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(texts[name], encoding="utf-8")
    return texts


def apply(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    words = ["bash", str(FOLDER / "apply.sh"), str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def files(folder: Path) -> dict[Path, str]:
    """Read every file of a tree."""
    return {
        path.relative_to(folder): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_script_patches_a_tree_once_and_copies_the_engine(tmp_path: Path) -> None:
    before = tree(tmp_path)
    done = apply(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "apply.sh: patched\n", "")
    after = files(tmp_path)
    assert set(after) == {*before, *(CUSTOMMATCH / name for name in COPIES)}
    added = [line[1:] for line in series().splitlines() if re.match(r"\+(?!\+\+ )", line)]
    assert len(added) == sum(map(len, (after[name].splitlines() for name in before))) - sum(
        map(len, (text.splitlines() for text in before.values()))
    ) + len([line for line in series().splitlines() if re.match("-(?!-- )", line)])
    (tmp_path / CUSTOMMATCH / "mbmatch.c").write_text("older\n")
    again = apply(tmp_path)
    assert (again.returncode, again.stdout) == (0, "apply.sh: already patched\n")
    assert files(tmp_path) == after


def test_a_patch_that_does_not_apply_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    tree(tmp_path)
    comm = tmp_path / "ompi/mca/pml/ob1/pml_ob1_comm.h"
    comm.write_text(comm.read_text(encoding="utf-8").replace("custom_match_", "other_"), encoding="utf-8")
    before = files(tmp_path)
    done = apply(tmp_path)
    assert done.returncode == 2
    assert "pml_ob1_comm.h" in done.stderr
    assert done.stderr.endswith("this release of Open MPI differs from those that they know\n")
    assert files(tmp_path) == before


def test_a_folder_without_open_mpi_is_refused(tmp_path: Path) -> None:
    done = apply(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("is no folder; expected the sources of Open MPI 5\n")


@pytest.fixture(scope="module")
def stubbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the programs, what the engine includes, and mbmatch also with tables after one entry."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    folder = tmp_path_factory.mktemp("stubbed")
    for name, text in STUBS.items():
        (folder / "stub" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "stub" / name).write_text(text, encoding="utf-8")
    (folder / "program.c").write_text(OBJECTS + PROGRAM, encoding="utf-8")
    (folder / "walks.c").write_text(OBJECTS + WALKS, encoding="utf-8")
    for name in ("mbmatch.h", "mbmatch.c"):
        text = (MBMATCH / name).read_text(encoding="utf-8")
        for kind in ("usual", "short"):
            (folder / kind).mkdir(exist_ok=True)
            (folder / kind / name).write_text(text, encoding="utf-8")
            text = text.replace("_SHORT 16", "_SHORT 1").replace("_DEBT 128", "_DEBT 1")
    return folder


def run(
    folder: Path, source: str, program: Path, *options: str, kind: str = "usual"
) -> subprocess.CompletedProcess[str]:
    """Build a program on the engine, and run it."""
    words = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *SANITIZED, *options]
    words += [f"-I{each}" for each in (FOLDER, folder / "stub", folder / kind)]
    words += [str(folder / source), str(FOLDER / OURS[0]), "-o", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=60)


RIGHT = "- line line line line d - 1 0 a b - 0| - line line line - e g f g e g 1\n"


@pytest.mark.parametrize("kind", ["usual", "short"])
def test_the_engine_matches_in_order_and_keeps_the_librarys_messages_from_any_tag(
    stubbed: Path, tmp_path: Path, kind: str
) -> None:
    done = run(stubbed, "program.c", tmp_path / "right", "-DMBMATCH_CHECK", kind=kind)
    assert (done.returncode, done.stdout, done.stderr) == (0, RIGHT, "")


@pytest.mark.parametrize("kind", ["usual", "short"])
def test_queues_that_become_short_and_long_match_as_lists_that_are_walked(
    stubbed: Path, tmp_path: Path, kind: str
) -> None:
    done = run(stubbed, "walks.c", tmp_path / "right", kind=kind)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    # The check finds the planted fault.
    done = run(stubbed, "walks.c", tmp_path / "wrong", "-DPML_OB1_MBMATCH_FAULT", kind=kind)
    assert done.returncode == 1
    assert done.stdout in {"a message takes another receive\n", "a visit sees another number of messages\n"}


def test_the_planted_faults_are_the_newest_receive_and_a_visit_that_sees_nothing(
    stubbed: Path, tmp_path: Path
) -> None:
    done = run(stubbed, "program.c", tmp_path / "wrong", "-DPML_OB1_MBMATCH_FAULT")
    assert (done.returncode, done.stdout) == (0, RIGHT.replace("a b -", "b a -").replace("e g 1", "2"))


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
