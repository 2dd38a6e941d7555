# SPDX-License-Identifier: Apache-2.0 OR MIT
"""mbmatch: the tests of its folder, its checking build, planted faults, debuggers, and an installation."""

import contextlib
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

MBMATCH = Path(__file__).resolve().parent.parent / "mbmatch"
STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def run(
    *words: str | Path, timeout: float = 600, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False, timeout=timeout, env=env
    )


def compiled(program: Path, *words: str | Path) -> Path:
    """Compile a program."""
    done = run("cc", *words, "-o", program)
    assert done.returncode == 0, done.stderr
    return program


def test_the_folder_passes_its_own_tests(tmp_path: Path) -> None:
    done = run("make", "--silent", "-C", MBMATCH, "check", f"BUILD={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "transport: all messages were matched in order" in done.stdout
    assert re.search(r"^\d{7} sequences, \d+ with a table: no difference$", done.stdout, re.MULTILINE)
    assert re.search(r"^\d{3} inputs: no difference$", done.stdout, re.MULTILINE)


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program whose mistakes the checking build finds."""
    sources = (MBMATCH / "tests/checks.c", MBMATCH / "mbmatch.c")
    return compiled(
        tmp_path_factory.mktemp("checks") / "checks", *STRICT, "-DMBMATCH_CHECK", f"-I{MBMATCH}", *sources
    )


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("twice", "the node is queued already"),
        ("both", "the node is queued already"),
        ("freed", "a queued node was changed, freed or queued elsewhere"),
        ("source", "a pattern is from any source, which the hint MBMATCH_NO_ANY_SOURCE excludes"),
        ("tag", "a pattern ignores bits, which the hint MBMATCH_NO_ANY_TAG excludes"),
        ("foreign", "the node is not in this queue"),
        ("destroyed", "this is no matcher, or it was destroyed"),
    ],
)
def test_the_checking_build_names_a_mistake_and_its_place(checks: Path, case: str, message: str) -> None:
    done = run(checks, case)
    assert done.returncode < 0
    place, _, found = done.stderr.strip().partition(": mbmatch: ")
    assert found == message
    source, _, line = place.rpartition(":")
    assert Path(source).name == "checks.c"
    assert "mbmatch_" in (MBMATCH / "tests/checks.c").read_text().splitlines()[int(line) - 1]


def test_the_checking_build_runs_a_program_without_mistakes(checks: Path) -> None:
    assert run(checks, "none").stdout == "no mistake\n"


@pytest.mark.parametrize(
    ("original", "fault"),
    [
        ("r->age < best.receive->age", "r->age > best.receive->age"),
        ("if (next != NULL && next->prev == l) {", "if (next != NULL) {"),
        ("\t\tx->cursor = e->prev;", "\t\t;"),
        ("\t\tnext->prev = tail;", "\t\t;"),
        ("while (x->cursor != &e->entry) {", "while (0) {"),
        ("if (b >= t->moved) {", "if (b > t->moved) {"),
        ("if (best.receive != NULL && best.receive->age < r->age) {", "if (0) {"),
        ("\tif (UNLIKELY(m->unexpected_length >= m->limit)) {", "\tif (0) {"),
        ("UNLIKELY(found->entry.state & MBMATCH_STAYS)", "0"),
        ("while (!message_fits(entry_of(l, form), bits, ignore, source)) {", "while (0) {"),
        ("\tlinks *tail = leader->prev;\n\tfor (", "\tlinks *tail = leader;\n\tfor ("),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, original: str, fault: str) -> None:
    source = (MBMATCH / "mbmatch.c").read_text()
    assert original in source
    shutil.copytree(MBMATCH / "tests", tmp_path / "tests")
    shutil.copy(MBMATCH / "mbmatch.h", tmp_path)
    (tmp_path / "mbmatch.c").write_text(source.replace(original, fault))
    tests = tmp_path / "tests"
    include = ("-w", f"-I{tmp_path}")
    lockstep = compiled(tmp_path / "lockstep", *include, tests / "lockstep.c", tmp_path / "mbmatch.c")
    corpus = compiled(tmp_path / "corpus", *include, "-DFUZZ_CORPUS", tests / "fuzz.c")
    for words in ((lockstep, "300000"), (corpus, tests / "corpus.txt")):
        # A fault in links can also make a loop of them.
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert run(*words, timeout=20).returncode != 0


def test_the_kept_inputs_execute_every_line(tmp_path: Path) -> None:
    if shutil.which("gcov") is None:
        pytest.skip("gcov is not installed")
    flags = ("-O0", "--coverage", "-DFUZZ_CORPUS", f"-I{MBMATCH}")
    corpus = compiled(tmp_path / "corpus", *flags, MBMATCH / "tests/fuzz.c")
    assert run(corpus, MBMATCH / "tests/corpus.txt").returncode == 0
    listing = run("gcov", "--stdout", "--object-directory", tmp_path, tmp_path / "corpus-fuzz.gcda").stdout
    parts = listing.split("0:Source:")
    (source,) = (part for part in parts if part.partition("\n")[0].endswith("/mbmatch.c"))
    lines = re.findall(r"^ +(\S+): +(\d+):(.*)", source, re.MULTILINE)
    assert len(lines) > 1000
    missing = [f"{line}:{text}" for count, line, text in lines if count == "#####"]
    assert not missing, "`make -C mbmatch fuzz corpus` looks for inputs that execute " + "\n".join(missing)


def test_the_contenders_of_the_benchmark_have_allowed_matches(tmp_path: Path) -> None:
    measure = runpy.run_path(str(MBMATCH / "bench/measure.py"))
    machine = measure["Machine"](tmp_path, "cc", None)
    programs = machine.build()
    for _, pattern, _ in measure["ROWS"]:
        # Exits at other matches than those of mbmatch.
        pairs, least = measure["timed"](machine, programs, pattern, 24, 1)
        assert pairs >= 24
        assert list(least) == list(measure["CONTENDERS"])


def test_a_stopped_process_shows_its_queues(tmp_path: Path) -> None:
    sources = (MBMATCH / "tests/stopped.c", MBMATCH / "mbmatch.c")
    done = run(
        compiled(tmp_path / "stopped", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{MBMATCH}", *sources)
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("this system forbids reads of other processes")
    lines = done.stdout.splitlines()
    receives = [
        f"receive {at}: tag {tag}, source {-1 if tag == 3 else tag}"
        for at, tag in enumerate([*range(7), *range(8, 20)])
    ]
    assert lines == [*receives, "message 0: tag 100, source 5", "message 1: tag 101, source 6"]


def test_gdb_shows_the_queues(tmp_path: Path) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    words = ("-std=c11", "-g", f"-I{MBMATCH}", MBMATCH / "examples/transport.c", MBMATCH / "mbmatch.c")
    program = compiled(tmp_path / "transport", *words)
    script = ["-ex", f"source {MBMATCH / 'mbmatch-gdb.py'}", "-ex", "break transport_deliver", "-ex", "run"]
    done = run("gdb", "-nx", "-batch", *script, "-ex", "mbmatch t->matcher", "-ex", "mbmatch *t", program)
    if "ptrace" in done.stderr:
        pytest.skip("this system forbids a debugger")
    shown = [line for line in done.stdout.splitlines() if " at 0x" in line and ": bits " in line]
    assert [re.sub(" at 0x[0-9a-f]+", "", line) for line in shown] == [
        "receive 0: bits 0x100000000, source any",
        "receive 1: bits 0x100000007, source 3",
    ]
    assert "There is no member named magic." in done.stderr


@pytest.mark.parametrize("linking", ["shared", "static"])
def test_an_installation_links(tmp_path: Path, linking: str) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    prefix = tmp_path / "prefix"
    words = (f"BUILD={tmp_path / 'build'}", f"PREFIX={prefix}", "DESTDIR=")
    done = run("make", "--silent", "-C", MBMATCH, "install", *words)
    assert done.returncode == 0, done.stderr
    asked = run(
        "pkg-config",
        "--cflags",
        "--libs",
        "mbmatch",
        env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"},
    )
    flags = asked.stdout.split()
    if linking == "static":
        flags = ["-l:libmbmatch.a" if flag == "-lmbmatch" else flag for flag in flags]
    program = compiled(tmp_path / "transport", *STRICT, MBMATCH / "examples/transport.c", *flags)
    done = run(program, env={"LD_LIBRARY_PATH": str(prefix / "lib")})
    assert done.stdout == "transport: all messages were matched in order\n"
    named = run("nm", "--defined-only", "--extern-only", prefix / "lib/libmbmatch.a").stdout
    assert all(line.split()[-1].startswith("mbmatch_") for line in named.splitlines() if " " in line)
    assert run("make", "--silent", "-C", MBMATCH, "uninstall", *words).returncode == 0
    assert not list(prefix.rglob("*mbmatch*"))


def test_one_version_is_stated() -> None:
    version = re.search(r'^version = "(.*)"', (MBMATCH / "Cargo.toml").read_text(), re.MULTILINE)
    header = dict(
        re.findall(
            r"^#define MBMATCH_VERSION_(\w+) (\d+)$", (MBMATCH / "mbmatch.h").read_text(), re.MULTILINE
        )
    )
    assert version is not None
    assert version[1] == f"{header['MAJOR']}.{header['MINOR']}.{header['PATCH']}"


@pytest.mark.parametrize(
    ("original", "fault"),
    [
        (None, None),
        ("if (vcis_claim(r, e)) {", "vcis_claim(r, e);\n\t\t{"),
        ("if (vcis_claim(r, MBMATCH_OBJECT(node, struct vci_message, node))) {", "r->message = NULL; {"),
        ("k < v->count && !vcis_post_at", "k < 1 && !vcis_post_at"),
    ],
)
def test_receives_from_any_source_keep_their_order_over_several_matchers(
    tmp_path: Path, original: str | None, fault: str | None
) -> None:
    prototype = (MBMATCH / "examples/vcis.h").read_text()
    if original is not None and fault is not None:
        assert original in prototype
        prototype = prototype.replace(original, fault)
    for folder in ("examples", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "examples/vcis.h").write_text(prototype)
    shutil.copy(MBMATCH / "tests/vcis.c", tmp_path / "tests")
    words = (
        "-std=gnu11",
        "-O2",
        "-pthread",
        f"-I{MBMATCH}",
        tmp_path / "tests/vcis.c",
        MBMATCH / "mbmatch.c",
    )
    done = run(compiled(tmp_path / "vcis", *words), "check", "2000", timeout=60)
    assert done.returncode == (0 if original is None else 1), done.stdout + done.stderr
