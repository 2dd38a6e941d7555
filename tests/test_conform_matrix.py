# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform --matrix`: rows are kept, a run continues, an absent transport is not a failure."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from matchbench._native import MatchbenchError
from matchbench.cli import main
from matchbench.mpi import conform_matrix_command as conform_matrix
from matchbench.mpi.conform_budget import Budget
from matchbench.mpi.conform_matrix_command import COLUMNS, run_matrix
from matchbench.mpi.conform_plan import Conformance, Failure, LeftOut, Plan
from matchbench.mpi.conform_runner import NotStartedError
from matchbench.mpi.launch import Mpi
from matchbench.mpi.matrix import Environment, Matrix, read_matrix, shipped
from matchbench.mpi.stack import relevant
from tests import idle_ranks
from tests.conftest import keys

MPI = Mpi(compiler="mpicc", launcher=("mpirun", "--verbose"), flavour="hydra")
NAMES = ("first", "second", "third")
MATRIX = Matrix(
    name="tried",
    about="a matrix",
    flavour="hydra",
    environments=tuple(
        Environment(name=name, variables=(("FI_PROVIDER", name),), launcher=("-l",)) for name in NAMES
    ),
)


@pytest.fixture(autouse=True)
def _without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conform_matrix, "build_runner", lambda _mpi, directory: directory / "conform")
    monkeypatch.setattr(conform_matrix, "_library", lambda *_: "Device: ch4:ucx")


class Examined:
    """Stands for the examination of an MPI; records in which environments it was called.

    Parameters
    ----------
    interrupted
        The environment in which it is interrupted.
    unavailable
        The environment that does not start.
    """

    def __init__(self, interrupted: str = "", unavailable: str = "") -> None:
        self.interrupted, self.unavailable = interrupted, unavailable
        self.names: list[str] = []

    def __call__(
        self, mpi: Mpi, plan: Plan, directory: Path, _program: Path, _budget: Budget
    ) -> tuple[Conformance, BaseException | None]:
        """Write a report and return results: the second environment has a failure."""
        assert mpi.launcher == ("mpirun", "-l", "--verbose")
        ((variable, name),) = mpi.variables
        assert variable == "FI_PROVIDER"
        self.names.append(name)
        if name == self.unavailable:
            reason = "no such provider"
            raise NotStartedError(reason, is_initialized=False)
        (directory / "mpi-conform.json").write_text("{}")
        found = Conformance(stopped="complete")
        found.counts["programs"] = plan.programs
        if name == "second":
            found.failures.append(Failure(number=3, kind="order", text="wrong"))
            found.left_out.append(
                LeftOut(
                    kind="order",
                    trait="cancel",
                    is_generated=True,
                    since=9,
                    failures=20,
                    needs=("cancel",),
                    is_shrunk=True,
                )
            )
        return found, KeyboardInterrupt() if name == self.interrupted else None


def test_an_interrupted_matrix_is_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plan = tmp_path / "out", Plan(programs=10)
    first = Examined(interrupted="second")
    with pytest.raises(KeyboardInterrupt):
        run_matrix(MATRIX, MPI, plan, out, first, force=False)
    assert first.names == ["first", "second"]
    # The interrupted row is not kept, the finished one is.
    assert sorted(path.name for path in out.iterdir()) == ["first", "matrix.csv", "matrix.json"]
    second = Examined()
    assert run_matrix(MATRIX, MPI, plan, out, second, force=False) == 1
    assert second.names == ["second", "third"]
    assert (out / "third" / "mpi-conform.json").exists()
    printed = capsys.readouterr()
    assert "1 of 3: first: finished before" in printed.err
    assert "3 of 3: third" in printed.err
    with (out / "matrix.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["environment"] for row in rows] == list(NAMES)
    assert [row["failed"] for row in rows] == ["none", "1 order", "none"]
    assert rows[1]["left_out"] == "order: cancel"
    assert "1 order" in printed.out
    # A third run has nothing left to do, and gives the same table.
    assert run_matrix(MATRIX, MPI, plan, out, Examined(), force=False) == 1
    assert "1 order" in capsys.readouterr().out
    report = json.loads((out / "matrix.json").read_text())
    assert report.keys() == keys("mpi-conform", "3.2 `matrix.json`")
    assert report["rows"][0].keys() == keys("mpi-conform", "3.3 `rows`")
    assert set(COLUMNS) <= report["rows"][0].keys()


@pytest.mark.parametrize("name", ["..", "", "/etc", "../mine"])
def test_force_removes_reports_of_the_matrix_only(tmp_path: Path, name: str) -> None:
    """The names of rows come from a file."""
    out, plan = tmp_path / "out", Plan(programs=10)
    assert run_matrix(MATRIX, MPI, plan, out, Examined(), force=False) == 1
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "mpi-conform.json").touch()
    table = json.loads((out / "matrix.json").read_text())
    table["rows"][0]["environment"] = name
    (out / "matrix.json").write_text(json.dumps(table))
    assert run_matrix(MATRIX, MPI, plan, out, Examined(), force=True) == 1
    assert (mine / "mpi-conform.json").exists()
    assert (out / "first").exists()


@pytest.mark.parametrize("rows", [3, [3], [{}], {"a": 1}])
def test_a_table_of_another_form_is_refused(tmp_path: Path, rows: object) -> None:
    out, plan = tmp_path / "out", Plan(programs=10)
    run_matrix(MATRIX, MPI, plan, out, Examined(), force=False)
    table = json.loads((out / "matrix.json").read_text())
    (out / "matrix.json").write_text(json.dumps({**table, "rows": rows}))
    with pytest.raises(MatchbenchError, match=r"no readable `matrix.json` in it; choose another directory"):
        run_matrix(MATRIX, MPI, plan, out, Examined(), force=False)


def test_a_matrix_has_one_writer(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from matchbench.display.output import reserved_directory; "
        "held = reserved_directory(pathlib.Path(sys.argv[1]), marker='matrix.json'); held.__enter__(); "
        "print(flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "out")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(MatchbenchError, match="another process is writing to it"):
            run_matrix(MATRIX, MPI, Plan(programs=10), tmp_path / "out", Examined(), force=False)


def test_an_unavailable_transport_is_said_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = Matrix(
        name="tried",
        about="",
        flavour=None,
        environments=(
            *(MATRIX.environments[0], MATRIX.environments[2]),
            Environment(name="other", variables=(("FI_PROVIDER", "other"),), library="Device:.*ofi"),
        ),
    )
    examine = Examined(unavailable="third")
    assert run_matrix(matrix, MPI, Plan(), tmp_path / "out", examine, force=False) == 0
    assert examine.names == ["first", "third"]
    printed = capsys.readouterr().out
    assert "third: unavailable: no such provider" in printed
    assert "other: not applicable: MPI_Get_library_version does not contain Device:.*ofi" in printed
    # If nothing can be run, that is an error.
    nothing = Matrix(name="tried", about="", flavour=None, environments=(MATRIX.environments[2],))
    with pytest.raises(MatchbenchError, match="no environment could be run; the first: no such provider"):
        run_matrix(nothing, MPI, Plan(), tmp_path / "other", examine, force=False)


def test_rows_of_another_plan_or_matrix_are_not_mixed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_matrix(MATRIX, MPI, Plan(programs=10), out, Examined(), force=False)
    with pytest.raises(
        MatchbenchError, match="holds rows with another plan; choose another directory or give"
    ):
        run_matrix(MATRIX, MPI, Plan(programs=20), out, Examined(), force=False)
    for programs in (20, 20):
        again = Examined()
        run_matrix(MATRIX, MPI, Plan(programs=programs), out, again, force=True)
        assert again.names == list(NAMES)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(MatchbenchError, match=r"found other files and no `matrix\.json` of earlier output"):
        run_matrix(MATRIX, MPI, Plan(), tmp_path / "full", Examined(), force=True)
    other = Mpi(compiler="mpicc", launcher=("mpirun",), flavour="openmpi")
    with pytest.raises(MatchbenchError, match="found launcher mpirun of flavour openmpi; expected hydra"):
        run_matrix(MATRIX, other, Plan(), tmp_path / "new", Examined(), force=False)


def test_shipped_matrices_set_variables_that_reports_show() -> None:
    assert shipped() == ["mpich", "open-mpi"]
    for name in shipped():
        for environment in read_matrix(name).environments:
            assert environment.about
            assert relevant(dict(environment.variables)) == dict(environment.variables)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("environment = 3", "environment: found `3`; expected list"),
        ("colour = 'red'", "unknown key `colour`; expected one of: about, flavour, environment"),
        ("", "found no environment; expected environments of different names"),
        ("[[environment]]\nname = 'a/b'", "found name `a/b`; expected letters, digits, dots and hyphens"),
        (
            "[[environment]]\nname = 'a'\nvariables = { X = 1 }",
            "expected variables and launcher words as text",
        ),
        ("[[environment]]\nname = 'a'\nranks = 5", "ranks: found 5, expected 1 to 4"),
        ("[[environment]]\nname = 'a'\nlibrary = '('", "library: found `(`, expected a regular expression"),
        ("[[environment]]\nname = 'a'\n[[environment]]\nname = 'a'", "found a, a; expected environments of"),
        ("=", "not TOML: "),
        (
            "[[environment]]\nname = 'a'\nvariables = { LD_PRELOAD = './evil.so' }",
            "environment `a`: found variables or words of the launcher, which select what is executed",
        ),
    ],
)
def test_a_matrix_of_another_form_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(MatchbenchError) as refused:
        read_matrix(str(file))
    assert said in str(refused.value)
    assert str(file) in str(refused.value)


def test_a_matrix_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mpi", "conform", "--matrix", "lam", "-o", "out"]) == 2
    assert "unknown matrix `lam`; expected one of: mpich, open-mpi, or a file" in (capsys.readouterr().err)
    assert main(["mpi", "conform", "--matrix", "mpich"]) == 2
    assert "--matrix: found no -o, expected -o DIR" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("mpicc.openmpi"), reason="Open MPI is not installed")
def test_a_matrix_on_a_real_mpi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for name, value in (root | idle_ranks.environment()).items():
        monkeypatch.setenv(name, value)
    file, out = tmp_path / "own.toml", tmp_path / "out"
    file.write_text(
        "[[environment]]\nname = 'tcp'\nvariables = { OMPI_MCA_pml = 'ob1', OMPI_MCA_btl = 'self,tcp' }\n"
        "[[environment]]\nname = 'absent'\nvariables = { OMPI_MCA_pml = 'ob1', OMPI_MCA_btl = 'absent' }\n"
    )
    words = ["mpi", "conform", "--matrix", str(file), "--mpicc", "mpicc.openmpi", "--programs", "30"]
    assert main([*words, "--allow-code", "--without", "truncation", "-o", str(out)]) == 0
    report = json.loads((out / "tcp" / "mpi-conform.json").read_text())
    assert report["counts"]["programs"] == 30
    assert report["mpi"]["environment"]["OMPI_MCA_btl"] == "self,tcp"
    assert any(file.endswith("mca_btl_tcp.so") for file in report["mpi"]["loaded"])
    # What Open MPI says then differs from run to run.
    assert re.search(r"^absent: unavailable: .+", capsys.readouterr().out, re.MULTILINE)
