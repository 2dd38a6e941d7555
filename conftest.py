# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How tests are distributed over processes, and which are left out because they passed on the same files."""

import gc
import json
import os
import resource
import signal
from collections.abc import Callable, Generator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests import forked, idle_ranks, reads, shared, unchanged
from tests.engines_used import EnginesUsed
from tests.rust_programs import Part
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Their tests are independent, and some take long: each may run in any process.
INDEPENDENT = (
    "tests/test_rust.py",
    "tests/test_pages.py",
    "tests/test_mpi_conform.py",
)
# Tests below these folders build into one folder.
BUILT_TOGETHER = ("recorder/tests", "examples/mpi/tests")
# Number of groups of tests whose processor time is shown; it depends little on other load of the machine.
MOST_SHOWN = 10
# Tests that run no engine: files and folders.
WITHOUT_ENGINES = (
    "examples/mpi/tests/",
    "recorder/tests/",
    "tests/test_archive.py",
    "tests/test_chip.py",
    "tests/test_chip_programs.py",
    "tests/test_conform_budget.py",
    "tests/test_conform_matrix.py",
    "tests/test_conform_search.py",
    "tests/test_conform_stack.py",
    "tests/test_conform_stopped.py",
    "tests/test_cpu.py",
    "tests/test_groups.py",
    "tests/test_gu2011_runs.py",
    "tests/test_guest.py",
    "tests/test_guest_mpi.py",
    "tests/test_guest_programs.py",
    "tests/test_interruptible.py",
    "tests/test_launchers.py",
    "tests/test_libfabric.py",
    "tests/test_lints.py",
    "tests/test_mbmatch_c.py",
    "tests/test_mpi_bench.py",
    "tests/test_mpi_bench_real.py",
    "tests/test_mpi_bench_resumed.py",
    "tests/test_mpi_conform.py",
    "tests/test_mpi_curves.py",
    "tests/test_netproc.py",
    "tests/test_openmpi.py",
    "tests/test_shared.py",
)
# Tests in these files that run engines nevertheless.
WITH_ENGINES = ("tests/test_chip_programs.py::test_a_run_writes_a_trace_that_every_command_reads",)


@pytest.fixture
def sleeping_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranks of the system's MPIs sleep while they wait, in every process that the test starts."""
    for name, value in idle_ranks.environment().items():
        monkeypatch.setenv(name, value)


def group(name: str) -> str:
    """Return the group of a test: all tests of a group run in one process.

    Parameters
    ----------
    name
        The node id of the test: path, two colons, function.
    """
    path = name.partition("::")[0]
    if path in INDEPENDENT:
        return name
    # They share a browser.
    if path == "tests/test_pages_browser.py":
        return "tests/test_report_browser.py"
    return next((folder for folder in BUILT_TOGETHER if path.startswith(f"{folder}/")), path)


class GroupScheduling(LoadScopeScheduling):
    """Schedule whole groups, in the order of their first tests."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Use `group` in place of xdist's `--dist`: its own groups have no effect with pytest 9.2."""
    # The order is that of `pytest_collection_modifyitems`, not of the number of tests.
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)


@cache
def _key(reads_file: Callable[[str], bool], *, engines: bool) -> str:
    """Return the key of a Python test, with or without the engines.

    If engines are recorded, the sources of engines are not in the key but in the record of each test.

    Parameters
    ----------
    reads_file
        Whether it can read a file (`tests/reads.py`).
    """
    says = unchanged.catalog() if engines else None

    def depends_on(name: str) -> bool:
        if unchanged.RUST_TESTS.search(name) or not reads_file(name):
            return False
        if not engines:
            return not name.startswith("engines/")
        return says is None or not unchanged.ENGINE_SOURCES.search(name)

    return unchanged.key(depends_on, text=says or "")


@cache
def _key_of_program(program: Path, crate: str) -> str:
    """Return the key of a Rust test program.

    The program contains its sources and the files that they include.
    """
    return unchanged.key(
        lambda name: crate == "xtask" or name.startswith((f"{crate}/", *unchanged.READ_BY_RUST)), [program]
    )


@cache
def _key_of_noted(crate: str, files: tuple[str, ...]) -> str | None:
    """Return the key of Rust tests that record which engines they use; None if it cannot be determined.

    The program is not part of the key, because it changes with every engine.

    Parameters
    ----------
    crate
        Its folder.
    files
        Sources that may use engines without a record.
    """
    if (says := unchanged.catalog()) is None:
        return None
    named = unchanged.engines_named(files)

    def depends_on(name: str) -> bool:
        if name.startswith((f"{crate}/", *unchanged.READ_BY_RUST)):
            return True
        if source := unchanged.ENGINE_SOURCES.search(name):
            return source[1] in named
        return not unchanged.RUST_TESTS.search(name) and not name.startswith(unchanged.NOT_OF_RUST)

    return unchanged.key(depends_on, text=says)


def key_of(item: pytest.Item) -> str:
    """Return the key of a test (`tests/unchanged.py`)."""
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    if isinstance(part := parameters.get("part"), Part):
        crate = str(part.folder.relative_to(unchanged.ROOT))
        noted = None if part.sources is None else _key_of_noted(crate, tuple(part.sources))
        return noted or _key_of_program(part.program, crate)
    if isinstance(page := parameters.get("page"), Path):
        engines = unchanged.ENGINE_COMMANDS.search(page.read_text(encoding="utf-8")) is not None
        return _key(reads.of_page(str(page.relative_to(unchanged.ROOT))), engines=engines)
    name = item.nodeid
    engines = name.startswith(WITH_ENGINES) or not name.startswith(WITHOUT_ENGINES)
    return _key(reads.of_test(name.partition("::")[0]), engines=engines)


def pytest_collection_finish() -> None:
    """Leave what was imported out of garbage collections, which otherwise visit all of it again and again."""
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that passed before, and run the longest group first."""
    record = os.environ.get(unchanged.RECORD)
    if record is None:
        return
    # Keys are of the files as they are now. That of a test without a record is made when the test begins.
    unchanged.read_state()
    results = unchanged.load(Path(record))
    run_all = unchanged.RUN_ALL in os.environ
    run = []
    for item in items:
        result = results.get(item.nodeid)
        if run_all or result is None or not unchanged.passed(result, key_of(item)):
            run.append(item)
    by_name = {item.nodeid: item for item in run}
    seconds = {name: result["seconds"] for name, result in results.items()}
    config.stash[LEFT_OUT] = len(items) - len(run)
    ordered = unchanged.slowest_first(by_name, group, seconds, unchanged.usual_seconds())
    items[:] = [by_name[name] for name in ordered]


LEFT_OUT = pytest.StashKey[int]()
BEGAN = pytest.StashKey[float]()
PROCESSOR = "processor seconds"
ENGINES = "engines"


ENGINES_USED = pytest.StashKey[EnginesUsed]()


def processor_seconds() -> float:
    """Give the processor time of this process, and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) + forked.processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record the key of a test and the processor time before its fixtures; begin a new record of engines."""
    item.stash[BEGAN] = processor_seconds()
    if unchanged.RECORD in os.environ:
        item.user_properties.append(("key", key_of(item)))
    if (used := item.config.stash.get(ENGINES_USED, None)) is not None:
        used.begin()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Record which engines a fixture uses."""
    used = request.config.stash.get(ENGINES_USED, None)
    with nullcontext() if used is None else used.making(fixturedef.argname):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the processor time of a test, and the engines that it used, to its last report."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((PROCESSOR, processor_seconds() - item.stash[BEGAN]))
        if (used := item.config.stash.get(ENGINES_USED, None)) is not None:
            fixtures = item.fixturenames if isinstance(item, pytest.Function) else []
            digests = {name: unchanged.engine_digest(name) for name in used.of_test(fixtures)}
            report.user_properties.append((ENGINES, digests))
    return report


class Recorder:
    """Collects the outcome and time of each test in the controlling process."""

    def __init__(self, path: Path) -> None:
        """Keep the records of tests that do not run this time."""
        self.path = path
        self.results = unchanged.load(path)
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.failed: set[str] = set()
        self.left_out = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of a phase; a test has passed when its call has, and no phase failed."""
        name = report.nodeid
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        used = dict(report.user_properties).get(PROCESSOR)
        if isinstance(used, float):
            self.processor[group(name)] = self.processor.get(group(name), 0.0) + used
        passed = report.when == "call" and report.passed
        if report.failed:
            self.failed.add(name)
        known = self.results.get(name, unchanged.Result(key=None, seconds=0.0, engines={}))
        key = dict(report.user_properties).get("key") if passed else known["key"]
        engines = dict(report.user_properties).get(ENGINES, known["engines"])
        self.results[name] = unchanged.Result(
            key=None if name in self.failed else str(key) if key else None,
            seconds=round(self.seconds[name], 2),
            engines=dict(engines) if isinstance(engines, dict) else {},
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the number of tests left out from an xdist process; it is the same in all of them."""
        self.left_out = max(self.left_out, getattr(node, "workeroutput", {}).get("left_out", 0))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the record; a session in which every test was left out has passed."""
        self.left_out = max(self.left_out, session.config.stash.get(LEFT_OUT, 0))
        if self.left_out and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.results, indent=0, sort_keys=True), encoding="utf-8")
        part.replace(self.path)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the groups that took most processor time, and the number of tests left out."""
        most = sorted(self.processor.items(), key=lambda pair: -pair[1])[:MOST_SHOWN]
        if most:
            total = sum(self.processor.values())
            terminalreporter.section(f"processor time: {total:.0f} s, of them")
        for name, seconds in most:
            terminalreporter.write_line(f"{seconds:.1f} s {name}")
        if self.left_out:
            terminalreporter.write_line(
                f"{self.left_out} tests left out: they passed before on the same files "
                "(make test ALL=1 runs them)"
            )


def pytest_configure(config: pytest.Config) -> None:
    """Record results in the controlling process; let tests interrupt the processes that they start."""
    # A shell starts background jobs with SIGINT ignored, which every process of a test would inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        shared.begin()
        forked.begin()
    record = os.environ.get(unchanged.RECORD)
    if record is not None:
        config.stash[ENGINES_USED] = EnginesUsed()
    if record is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(record)), "recorder of passed tests")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controlling process how many tests were left out."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(LEFT_OUT, 0)
