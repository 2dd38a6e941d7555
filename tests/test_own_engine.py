# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Engines from outside the repository: in C, C++ and Python, in every command, and every fault in words."""

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.compare.implausible import MARK
from matchbench.engines import own_engines, own_process
from tests.conftest import Command

ROOT = Path(__file__).parents[1]
INCLUDE = ROOT / "matching" / "plugin" / "include"
WALK = ROOT / "tests" / "engines" / "walk.cc"

# Of an engine that never returns: longer than its process takes to start beside others.
SILENCE_S = 5

Compile = Callable[..., Path]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile the engine in C++ as a library of a name."""
    folder = tmp_path_factory.mktemp("libraries")

    def compile_as(name: str, *flags: str) -> Path:
        path = folder / f"lib{name}.so"
        if not path.exists():
            strict = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror"]
            words = ["c++", *strict, *flags, f"-I{INCLUDE}", "-fPIC", "-shared", "-o", str(path), str(WALK)]
            subprocess.run(words, check=True)
        return path

    return compile_as


@pytest.fixture(scope="module")
def walk(compiled: Compile) -> str:
    """Give the path of the sound library."""
    return str(compiled("walk"))


@pytest.fixture
def idea(matchbench: Command, tmp_path: Path) -> Path:
    """Write the template of a class in Python."""
    assert matchbench("engine", "new", "quick_idea", "--python").returncode == 0
    return tmp_path / "quick_idea" / "quick_idea.py"


def _changed(path: Path, old: str, new: str) -> str:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    changed = path.with_name("changed.py")
    changed.write_text(text.replace(old, new), encoding="utf-8")
    return str(changed)


def test_a_library_is_compared_and_its_rows_say_what_they_are_of(walk: str, deep: mb.Trace) -> None:
    names: list[str | type | mb.Engine] = [walk, mb.engine(walk, entry="44.4 ns"), "linear:dimmnet2_lhs"]
    comparison = mb.compare(deep, names)
    rows = {f"{row['engine']}:{row['preset']}": row for row in comparison.results.iter_rows(named=True)}
    sha256 = hashlib.sha256(Path(walk).read_bytes()).hexdigest()
    assert rows["walk_cc:plain"]["origin"] == f"library {walk}, sha256 {sha256}, interface 1"
    assert rows["ideal:zero"]["origin"] is None
    assert rows["walk_cc:plain"]["placement"] == "host"
    # The same formula as an engine of matchbench, which runs on the host too.
    same = ("time_ns", "match_latency_mean_ns", "visits", "posted_max")
    assert [rows["walk_cc:plain+"][name] for name in same] == [
        rows["linear:dimmnet2_lhs"][name] for name in same
    ]
    parameters = comparison.parameters.filter(engine="walk_cc", preset="plain+", part="engine").rows(
        named=True
    )
    by_name = {row["parameter"]: row for row in parameters}
    assert by_name["entry"]["value"], by_name["entry"]["source"] == ("44.4", "user")
    assert by_name["library"]["value"] == f"{walk} (sha256 {sha256[:12]})"
    assert by_name["library"]["detail"] == f"given on the command line; interface version 1; sha256 {sha256}"
    assert rows["walk_cc:plain"]["parameter_hash"] != rows["walk_cc:plain+"]["parameter_hash"]


def test_a_library_runs_in_every_command(walk: str, matchbench: Command, deep: mb.Trace) -> None:
    trace = str(deep.path)
    done = matchbench(
        "compare", trace, "--engine", f"{walk}:plain", "--set", "walk_cc.entry=5", "--table-only"
    )
    assert done.returncode == 0, done.stderr
    assert "walk_cc:plain+ (library)" in done.stdout
    done = matchbench("engines", "show", walk)
    assert done.returncode == 0, done.stderr
    assert "walk_cc: A list walk in C++, for tests" in done.stdout
    assert f"from:      library {walk}, sha256 " in done.stdout
    done = matchbench(
        "sweep", trace, "--engine", walk, "--set", "entry=5,10,20", "--no-cache", "-j", "2", "-o", "swept"
    )
    assert done.returncode == 0, done.stderr
    assert "Best of 3: entry=5" in done.stdout
    done = matchbench("size", trace, "--on", walk, "--no-costs")
    assert done.returncode == 0, done.stderr
    done = matchbench("engine", "test", walk)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("passed") == 7


def test_the_template_in_c_compiles_and_passes_the_kit(matchbench: Command, tmp_path: Path) -> None:
    done = matchbench("engine", "new", "mine", "--c", "-o", "somewhere/mine")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "somewhere" / "mine"
    subprocess.run(
        [shutil.which("make") or "make", "-s", "-C", str(folder), "CFLAGS=-O1 -Wall -Wextra -Werror"],
        check=True,
    )
    done = matchbench("engine", "test", "somewhere/mine/libmine.so")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("passed") == 7
    again = matchbench("engine", "new", "mine", "--c", "-o", "somewhere/mine")
    assert again.returncode == 2
    assert "found earlier output" in again.stderr


def test_a_template_has_a_name_of_its_own(matchbench: Command) -> None:
    for name, text in [
        ("Linear", "found `Linear`, expected at most 41 of a to z, 0 to 9 and _, a letter first"),
        ("linear", "found `linear`, an engine of matchbench; choose another name"),
        ("match", "found `match`, a reserved word; choose another name"),
    ]:
        done = matchbench("engine", "new", name)
        assert done.returncode == 2
        assert text in done.stderr
    done = matchbench("engine", "new", "mine", "--matchbench", ".")
    assert (done.returncode, "expected a checkout of matchbench" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "flags", "text"),
    [
        ("later", ["-DVERSION=2"], "found interface version 2, expected 1; build the library with the crate"),
        ("lacks", ["-DOFFER=nullptr", "-Wno-unused-function"], "the table has no function `offer`"),
        (
            "other",
            ["-DNO_ENGINE"],
            "found a shared library without the symbol `matchbench_engine`, expected an engine",
        ),
        ("unlinked", ["-DOFFER=nowhere", "-include", "nowhere.h"], "cannot be loaded: "),
    ],
)
def test_a_library_that_is_no_engine_is_refused(
    compiled: Compile, matchbench: Command, tmp_path: Path, name: str, flags: list[str], text: str
) -> None:
    (tmp_path / "nowhere.h").write_text(
        "#include <cstdint>\nstruct mb_engine; struct mb_operation;\n"
        'extern "C" std::int32_t nowhere(mb_engine *, std::uint64_t, const mb_operation *,'
        " std::uint64_t *);\n"
    )
    path = compiled(name, *flags, f"-I{tmp_path}", "-Wno-unused-function")
    for words in [("engine", "test", path), ("engines", "show", path)]:
        done = matchbench(*words)
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith(f"matchbench: {path}: ")
        assert text in done.stderr
        assert done.stderr.count("\n") == 1


def test_files_that_are_no_library_are_refused(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library")
    for path, text in [
        ("./text.so", "./text.so: found no object file, expected a shared library for "),
        ("nowhere.so", "nowhere.so: found no such file, expected a shared library; check the path"),
        ("./nowhere.py", "./nowhere.py: found no such file, expected a file with a class"),
        (".", "unknown engine `.`; expected one of: "),
        ("./", "./: found a directory, expected a shared library"),
    ]:
        done = matchbench("engine", "test", path)
        assert done.returncode == 2
        assert text in done.stderr


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("throws", "`offer` failed: two receives are enough"),
        ("odd_status", "`offer` returned 17, which has no meaning there"),
        ("crashes", "its process was ended by SIGSEGV"),
        ("never_returns", f"it did not return within {SILENCE_S} s"),
    ],
)
def test_a_fault_of_a_library_is_named_by_the_kit_and_refused_by_a_comparison(
    walk: str, matchbench: Command, fault: str, text: str
) -> None:
    silence = SILENCE_S if fault == "never_returns" else own_process.SILENCE_S
    done = matchbench("engine", "test", walk, "--set", f"fault={fault}", "--silence", str(silence))
    assert done.returncode == 1, done.stderr
    assert "first failure: corpus" in done.stdout
    assert "spec/cases/" in done.stdout
    assert text in done.stdout
    with pytest.raises(mb.MatchbenchError) as caught:
        own_engines.check(mb.engine(walk, fault=fault), silence_s=silence)
    assert walk in str(caught.value)
    assert text in str(caught.value)


def test_a_wrong_outcome_that_no_check_reaches_ends_the_comparison(
    walk: str, matchbench: Command, tmp_path: Path
) -> None:
    mb.generate("depth", tmp_path / "deeper", ranks=2, settings={"iterations": 2, "depth": 1000})
    done = matchbench("compare", "deeper", "--engine", walk, "--set", "fault=deep", "--table-only")
    assert done.returncode == 2
    assert f"engine `walk_cc:plain+` of {walk}: it says `receive " in done.stderr or (
        f"engine `walk_cc:plain` of {walk}: it says `receive " in done.stderr
    )
    assert "which is the outcome of no open operation, expected `receive " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("fault", "said"), [("crashes_deep", "was ended by SIGSEGV"), ("exits_deep", "ended with status 0")]
)
def test_a_library_that_ends_its_process_in_a_replay_is_an_error_of_one_line(
    walk: str, matchbench: Command, tmp_path: Path, fault: str, said: str
) -> None:
    mb.generate("depth", tmp_path / "deeper", ranks=2, settings={"iterations": 2, "depth": 1000})
    for words in (
        ("compare", "deeper", "-e", walk),
        ("sweep", "deeper", "-e", walk, "-j", "1", "--no-cache"),
    ):
        done = matchbench(*words, "--set", f"fault={fault}", "-o", "out")
        assert done.returncode == 2, done.stderr
        assert done.stderr.endswith(f"matchbench: {walk}: replay of deeper failed: its process {said}\n")
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_library_that_crashes_when_it_is_loaded_is_an_error_of_one_line(
    compiled: Compile, matchbench: Command, tmp_path: Path
) -> None:
    (tmp_path / "begin.h").write_text(
        "#include <cstdlib>\n__attribute__((constructor)) static void begin() { std::abort(); }\n"
    )
    path = compiled("begins", "-include", str(tmp_path / "begin.h"))
    done = matchbench("engines", "show", str(path))
    assert done.returncode == 2
    said = "its process was ended by SIGABRT, expected an engine that can be described and made"
    assert done.stderr == f"matchbench: {path}: {said}\n"


def _implausible(comparison: mb.Comparison) -> dict[str, str | None]:
    rows = comparison.results.select(pl.format("{}:{}", "engine", "preset"), "implausible")
    return dict(rows.iter_rows())


def test_an_engine_that_reports_no_visit_of_what_it_found_is_implausible(walk: str, deep: mb.Trace) -> None:
    honest = mb.compare(deep, [walk, "linear:dimmnet2_lhs"])
    assert set(_implausible(honest).values()) == {None}
    assert honest.answer.implausible == {}
    comparison = mb.compare(deep, [mb.engine(walk, fault="no_visits"), "linear:dimmnet2_lhs"])
    # 10 messages pass 64 receives, which 640 others take from the front; 10 more find one receive, their own:
    # the mean is (10 * 65 + 660) / 670.
    said = (
        "670 of 670 matches report 0 visits, where the reference lists have a depth of 1.955 (mean) "
        "and 65 (max)"
    )
    assert _implausible(comparison) == {
        "walk_cc:plain+": said,
        "linear:dimmnet2_lhs": None,
        "ideal:zero": None,
    }
    assert comparison.answer.implausible == {"walk_cc:plain+": said}
    # It is in no class, and last.
    assert [each.engines for each in comparison.answer.classes] == [("linear:dimmnet2_lhs",)]
    assert comparison.results["engine"].to_list() == ["ideal", "linear", "walk_cc"]
    assert f"walk_cc:plain+: {MARK}: {said}; its row is not ranked" in [
        f"{each.engine}: {each.text}" for each in comparison.remarks
    ]


@pytest.mark.parametrize(
    ("entry", "took"),
    [
        ("0", "took no time, below the bound of 0.5 ns on the host"),
        ("1 ps", "took less than the bound of 0.5 ns on the host, the fastest 0.001 ns"),
    ],
)
def test_an_engine_faster_than_the_bound_of_its_placement_is_marked_in_table_page_and_answer(
    walk: str, matchbench: Command, tmp_path: Path, deep: mb.Trace, entry: str, took: str
) -> None:
    words = ("-e", walk, "--set", f"walk_cc.entry={entry}", "-e", "linear:qsnet2", "-o", "out")
    done = matchbench("compare", str(deep.path), *words)
    assert done.returncode == 0, done.stderr
    said = f" matches {took}"
    answer, _, table = done.stdout.partition("\n\n")
    assert "; walk_cc:plain+ is implausible and not ranked: 6" in " ".join(answer.split())
    assert said in " ".join(answer.split())
    assert "Only one engine was compared: linear:qsnet2" in answer
    ranked, title, rows = table.partition("\nimplausible, not ranked; walk_cc:plain+: ")
    assert title
    assert "walk_cc" not in ranked
    assert said in rows.splitlines()[0]
    assert "walk_cc:plain+ (library, implausible)" in rows
    assert "walk_cc:plain+: implausible: " in done.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "<h3>implausible, not ranked; walk_cc:plain+: " in page
    assert '<th scope="row">walk_cc:plain+ (library, implausible)</th>' in page.replace("<wbr>", "")
    assert page.count(took) >= 3  # answer, title and remark


def test_an_entry_at_the_bound_of_its_placement_is_plausible(walk: str, deep: mb.Trace) -> None:
    # Some matches visit one entry.
    at, below = (mb.compare(deep, [mb.engine(walk, entry=f"{entry} ns")]) for entry in (0.5, 0.499))
    assert _implausible(at)["walk_cc:plain+"] is None
    assert str(_implausible(below)["walk_cc:plain+"]).endswith("0.5 ns on the host, the fastest 0.499 ns")


def test_an_engine_that_answers_early_is_called_that(walk: str, matchbench: Command, deep: mb.Trace) -> None:
    done = matchbench("compare", str(deep.path), "-e", walk, "--set", "fault=early", "--table-only")
    assert done.returncode == 2
    assert "it answers early: its next event is at " in done.stderr


def test_a_sweep_marks_implausible_variants_and_ranks_the_others(
    walk: str, matchbench: Command, deep: mb.Trace
) -> None:
    words = ("--engine", walk, "--set", "entry=0,10,20", "--no-cache", "--table-only", "-o", "out")
    done = matchbench("sweep", str(deep.path), *words)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "1 of 3 variants is implausible and not ranked; entry=0: " in text
    assert "took no time, below the bound of 0.5 ns on the host. Best of 2: entry=10" in text


def test_values_that_a_library_refuses_are_named_in_one_line(walk: str, matchbench: Command) -> None:
    done = matchbench("engine", "test", walk, "--set", "entry=999")
    assert done.returncode == 2
    assert f"{walk}: an entry of 999 ns is not built" in done.stderr
    done = matchbench("engine", "test", walk, "--set", "entry=2000")
    assert done.returncode == 2
    assert "parameter `entry`: found `2000`, expected 0 to 1000 ns" in done.stderr


def test_two_libraries_of_one_name_are_not_compared(walk: str, compiled: Compile, deep: mb.Trace) -> None:
    other = str(compiled("other_walk", "-DOTHER"))
    with pytest.raises(
        mb.MatchbenchError, match=r"engine `walk_cc`: found in .* and .*, expected different names"
    ):
        mb.compare(deep, [mb.engine(walk), mb.engine(other)])
    with pytest.raises(mb.MatchbenchError, match="expected different names"):
        mb.choose_engines([walk, other])


def test_a_class_in_python_is_compared_and_marked(idea: Path, matchbench: Command, halo: mb.Trace) -> None:
    trace = str(halo.path)
    words = ("--engine", str(idea), "--set", "operation=0", "--set", "quick_idea.entry=1.709 us")
    done = matchbench("compare", trace, *words, "--table-only", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "quick_idea:guess+ (Python, slow)" in done.stdout
    assert "its times are computed by a class in Python: slow, and for quick ideas only" in done.stderr
    comparison = mb.compare(halo, [mb.engine(str(idea), operation=0, entry=100), "linear:qsnet2"])
    rows = {row["engine"]: row for row in comparison.results.iter_rows(named=True)}
    assert rows["quick_idea"]["time_ns"] == rows["linear"]["time_ns"]
    assert rows["quick_idea"]["engine_busy_ns"] == rows["linear"]["engine_busy_ns"]
    assert rows["quick_idea"]["origin"].startswith(f"python {idea}, sha256 ")


def test_a_class_without_a_file_is_compared(halo: mb.Trace) -> None:
    class Nothing(mb.PythonEngine):
        description = "name = 'nothing'\nsummary = 'none'\nreference = 'none'\n[[preset]]\nname = 'plain'\n"

    lacking = "`lengths`, `next_event`, `offer`, `run_until`"
    with pytest.raises(mb.MatchbenchError, match=f"Nothing: class Nothing lacks {lacking}; define "):
        mb.compare(halo, [Nothing])

    class Refusing(Nothing):
        def offer(self, now: int, operation: mb.Operation) -> int | None:
            raise ValueError(now, operation.kind)

        def next_event(self) -> int | None:
            return None

        def run_until(self, until: int) -> list[mb.Completion]:
            raise ValueError(until)

        def lengths(self) -> tuple[int, int]:
            return 0, 0

    with pytest.raises(mb.MatchbenchError) as caught:
        mb.compare(halo, [Refusing])
    assert "rejected by the case corpus: spec/cases/" in str(caught.value)
    assert "`offer` raised ValueError: " in str(caught.value)
    with pytest.raises(
        mb.MatchbenchError, match=r"expected a name, a path, or a subclass of matchbench\.PythonEngine"
    ):
        mb.engine(dict)
    Refusing.description = "name = 'nothing'"
    with pytest.raises(mb.MatchbenchError, match="Refusing: description: "):
        mb.engine(Refusing)


NEXT = "        return self.done[0].at if self.done else None\n"
FOUND = "        return found\n"
BEGIN = "        begin = max(self.free_at, now)\n"
OFFERED = "        return None\n\n    def search"
RECEIVES = "            for place, receive in enumerate(self.posted):\n                if receive.accepts"
LENGTHS = "        return len(self.posted), len(self.unexpected)\n"
FAULTS = {
    "lost": (FOUND, "        return found[:-1]\n", "never answered; the oracle says `"),
    "raised": (FOUND, "        return found[0] / 0\n", "`run_until` raised "),
    "text": (FOUND, "        return 'it'\n", "`run_until` returned 'it', expected a list of Completion"),
    "number": (FOUND, "        return [1]\n", "`run_until` returned 1, expected a Completion"),
    "backwards": (
        NEXT,
        "        return 5 if len(self.posted) > 1 else self.done[0].at if self.done else None\n",
        "its next event is at 5 ps, but it was brought to",
    ),
    "endless events": (NEXT, "        return 5\n", "10000 events without a completion"),
    "before its event": (NEXT, "        return 10**9\n", "before the engine's next event at 1000000000 ps"),
    "before the offer": (
        FOUND,
        "        return [each._replace(at=0, waiting=0) for each in found]\n",
        "answers early: at 0 ps, 20000 ps before it was accepted at 20000 ps",
    ),
    "endless busy": (
        OFFERED,
        OFFERED.replace("None", "now + 1"),
        "it refused an operation 10000 times in a row",
    ),
    "youngest": (
        RECEIVES,
        RECEIVES.replace("enumerate(self.posted)", "reversed([*enumerate(self.posted)])"),
        "the engine says `receive ",
    ),
    "never returns": (
        LENGTHS,
        # Keeps the interpreter's lock, and leaves the processor to others.
        "        import ctypes\n        ctypes.PyDLL(None).sleep(3600)\n",
        f"it did not return within {SILENCE_S} s",
    ),
}
"""What is changed in the template, and what the kit says of it."""


def test_a_class_that_lies_of_its_visits_or_takes_no_time_is_implausible(idea: Path, deep: mb.Trace) -> None:
    honest = mb.compare(deep, [str(idea), mb.engine(str(idea), operation=0, entry="0.1 ns")])
    assert set(_implausible(honest).values()) == {None}
    quick = mb.compare(deep, [mb.engine(str(idea), operation=0, entry=0)])
    assert _implausible(quick)["quick_idea:guess+"] == (
        "670 of 670 matches took no time, below the bound of 0.1 ns on the NIC"
    )
    blind = _changed(idea, FOUND, "        return [each._replace(visits=0) for each in found]\n")
    assert _implausible(mb.compare(deep, [blind]))["quick_idea:guess"] == (
        "670 of 670 matches report 0 visits, where the reference lists have a depth of 1.955 (mean) "
        "and 65 (max)"
    )
    # Both lies, and no other engine: nothing is ranked.
    both = mb.compare(deep, [mb.engine(blind, operation=0, entry=0)])
    assert str(_implausible(both)["quick_idea:guess+"]).count("670 of 670 matches") == 2
    assert both.answer.classes == ()
    assert both.answer.sentences["engines"].startswith(
        "No other engine finished the replay of a trace; quick_idea:guess+ is implausible and not "
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_class_is_named_with_status_1(idea: Path, matchbench: Command, fault: str) -> None:
    old, new, text = FAULTS[fault]
    silence = SILENCE_S if fault == "never returns" else own_process.SILENCE_S
    done = matchbench("engine", "test", _changed(idea, old, new), "--silence", str(silence))
    assert done.returncode == 1, done.stderr + done.stdout
    assert "first failure: " in done.stdout
    assert text in done.stdout
    assert "Traceback" not in done.stderr


DEFECTS = {
    "import": ("import deque", "import dequ", "changed.py:6: raised ImportError: "),
    "syntax": ("    def offer(", "    def offer((", "changed.py:47: "),
    "method": ("    def lengths(", "    def length(", "changed.py: class QuickIdea lacks `lengths`; "),
    "no class": ("(PythonEngine)", "", "expected one subclass of matchbench.PythonEngine, found none"),
    "unit": (
        'unit = "ns"\nlow = 0\nhigh = 1000000\n\n[[preset]]',
        "[[preset]]",
        "parameter `entry`: expected `words` alone",
    ),
    "constructor": ("self.free_at = 0", "self.free_at = 1 // 0", "`__init__` raised ZeroDivisionError: "),
    "name": ('name = "quick_idea"', 'name = "linear"', "found `linear`, an engine of matchbench"),
}
"""What is changed in the template, and why it is refused."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_class_that_cannot_run_is_refused_with_status_2(
    idea: Path, matchbench: Command, defect: str
) -> None:
    old, new, text = DEFECTS[defect]
    path = _changed(idea, old, new)
    for words in [("engine", "test", path), ("compare", "nowhere", "--engine", path)]:
        done = matchbench(*words)
        assert done.returncode == 2, done.stdout
        assert text in done.stderr
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


def test_an_exception_after_the_check_names_engine_method_and_line(
    idea: Path, matchbench: Command, tmp_path: Path
) -> None:
    mb.generate("depth", tmp_path / "deeper", ranks=2, settings={"iterations": 2, "depth": 500})
    path = _changed(
        idea,
        "        begin = max(self.free_at, now)\n",
        BEGIN + "        if visits > 450:\n            raise OverflowError('too deep')\n",
    )
    done = matchbench("compare", "deeper", "--engine", path, "--table-only")
    assert done.returncode == 2
    assert (
        f"engine `quick_idea:guess` of {path}: `offer` raised OverflowError: too deep (changed.py:"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_engines_of_matchbench_pass_the_kit_by_name(matchbench: Command) -> None:
    done = matchbench("engine", "test", "linear:bgp")
    assert done.returncode == 0
    assert done.stdout.count("passed") == 7
    done = matchbench("engine", "test", "cam_list:paper_literal")
    assert done.returncode == 1
    assert "first failure: corpus (spec/matching.md, clause " in done.stdout
    assert ", in the sequence" in done.stdout


def test_the_same_comparison_twice_is_the_same(walk: str, halo: mb.Trace) -> None:
    first, second = (mb.compare(halo, [walk], jobs=2).results for _ in range(2))
    assert first.equals(second)
