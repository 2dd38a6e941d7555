# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An installed wheel does the whole work without a checkout, and without a compiler except where it says so.

The wheel is made of the module that tests run on, as `make dist` makes it of the optimized one, or is the one
that MATCHBENCH_WHEEL names. What it requires is that of this environment.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from matchbench import _native
from tests import idle_ranks
from tests.shared import ROOT
from tests.test_pages import CARGO

sys.path.insert(0, str(ROOT / "packaging"))
import backend

LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}
TOOLS = Path(sys.executable).parent
MAKE = shutil.which("make") or "make"
MOST_BYTES = 15_000_000
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make or find the wheel to be tested."""
    if named := os.environ.get("MATCHBENCH_WHEEL"):
        return Path(named).resolve()
    tree = tmp_path_factory.mktemp("tree")
    ours = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "python" / "matchbench", tree / "matchbench", ignore=ours)
    shutil.copy(_native.__file__, tree / "matchbench" / "_native.abi3.so")
    info = [TOOLS / "maturin", "pep517", "write-dist-info", "--interpreter", sys.executable]
    info += ["--metadata-directory", tree]
    subprocess.run([str(word) for word in info], cwd=ROOT, check=True, capture_output=True)
    backend.ship(tree)
    backend.write_shared(tree)
    folder = tmp_path_factory.mktemp("dist")
    return folder / backend.pack(tree, folder)


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with an environment that has the wheel, and with launchers but no compiler."""
    place = tmp_path_factory.mktemp("away")
    venv.create(place / "env")
    uv = [str(TOOLS / "uv"), "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*uv, "--python", str(place / "env" / "bin" / "python"), str(wheel)], check=True)
    packages = next((place / "env").glob("lib/python*/site-packages"))
    # A folder in a .pth file is searched; .pth files in it, as that of a checkout, are not read.
    (packages / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for folder, names in (
        ("mpi", ["mpirun.openmpi", "mpiexec.mpich", "hydra_pmi_proxy"]),
        ("none", []),
    ):
        (place / folder).mkdir()
        for name in ["sh", "env", *names]:
            if found := shutil.which(name):
                (place / folder / name).symlink_to(found)
    return place


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    """Run the installed command in the folder, with a path of its own."""

    def run(*words: str | Path, path: str = "mpi") -> subprocess.CompletedProcess[str]:
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        environment = {
            "HOME": str(place),
            "PATH": f"{place}/env/bin:{place}/{path}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm_rsh_agent": "sh",  # none is called on one host, but one must exist
            "XDG_CACHE_HOME": cache,
            **idle_ranks.environment(),
        }
        return subprocess.run(
            [place / "env" / "bin" / "matchbench", *words],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


def done(finished: subprocess.CompletedProcess[str]) -> str:
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_a_wheel_is_small_and_runs_with_glibc_2_28(wheel: Path, place: Path) -> None:
    if "MATCHBENCH_WHEEL" in os.environ:
        assert wheel.stat().st_size <= MOST_BYTES
        assert wheel.name.endswith("-cp311-abi3-manylinux_2_28_x86_64.whl")
    checked = {"libmbrecord.so", *(["_native.abi3.so"] if "MATCHBENCH_WHEEL" in os.environ else [])}
    files = {path.name: path for path in place.glob("env/lib/**/*.so") if path.name in checked}
    assert set(files) == checked
    for path in files.values():
        found = re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())
        assert max(map(int, found)) <= 28, path
        assert os.fsencode(ROOT) not in path.read_bytes()


def test_the_manual_and_scripts_of_shells_are_installed(place: Path) -> None:
    share = place / "env" / "share"
    assert (share / "man" / "man1" / "matchbench-compare.1").read_text().startswith(".TH MATCHBENCH")
    for _, folder, name in backend.COMPLETIONS:
        assert "_MATCHBENCH_COMPLETE" in (share / folder / name).read_text()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_a_program_is_recorded_without_compiler_and_checkout(mpi: str, place: Path, run: Run) -> None:
    examples = done(run("files", "examples/mpi")).strip()
    assert examples.startswith(str(place))
    # Compiled before, on another machine.
    program = place / mpi / "halo3d"
    words = [MAKE, "--silent", "-C", examples, f"MPI={mpi}", f"BUILD={program.parent}", str(program)]
    subprocess.run(words, check=True)
    assert not shutil.which("cc", path=str(place / "mpi"))
    finished = run("record", "-o", f"t-{mpi}", "--", *LAUNCHERS[mpi], "-n", "8", program, "--steps", "2")
    assert finished.returncode == 0, finished.stderr
    summary = finished.stderr.splitlines()[0]
    assert re.search(rf"/t-{mpi}: 8 of 8 ranks, \d+ records, \d+ bytes: complete$", summary)
    assert run("trace", "check", f"t-{mpi}").returncode == 0


def test_a_recording_is_compared_and_swept_on_two_processes(place: Path, run: Run) -> None:
    trace = done(run("files", "traces/tasks-16.tar.xz")).strip()
    engines = ["--engine", "linear", "--engine", "cam_list"]
    assert done(run("compare", trace, *engines, "-o", "out")).startswith("Matching ")
    page = (place / "out" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "vegaEmbed(" in page
    without_scripts = re.sub("(?s)(<script[^>]*>).*?</script>", r"\1", page)
    assert not re.search("<(?:link|img|script)[^>]* (?:src|href)=", without_scripts)
    done(run("sweep", trace, "--engine", "linear", "--set", "entry=1..4 *2", "--jobs", "2", "-o", "swept"))
    assert (place / "swept" / "report.html").is_file()


def test_an_engine_in_c_and_one_in_rust_are_built_from_their_templates(place: Path, run: Run) -> None:
    done(run("engine", "new", "mine", "--c"))
    subprocess.run([MAKE, "--silent", "-C", place / "mine"], check=True)
    assert done(run("engine", "test", "mine/libmine.so")).count("passed") == 7
    assert "my_nic/matchbench\n" in done(run("engine", "new", "my_nic"))
    # Every other crate is one of this repository, in the same version.
    build = ["cargo", "build", "--quiet", "--offline", "--release"]
    subprocess.run(build, cwd=place / "my_nic", check=True, env={**os.environ, **CARGO})
    assert done(run("engine", "test", "my_nic/target/release/libmy_nic.so")).count("passed") == 7


def test_what_needs_an_mpi_says_so_in_one_line(run: Run) -> None:
    for words, text in [
        (
            ("record", "--", "mpirun", "-n", "2", "./app"),
            "mpirun: found no such program, expected a launcher such as mpirun; "
            "check the name, and that an MPI is installed",
        ),
        (
            ("mpi", "conform"),
            "mpicc: found no such compiler, expected that of an MPI; "
            "name the mpicc of your MPI with --mpicc or $MPICC",
        ),
        (
            ("mpi", "bench"),
            "mpicc: found no such compiler, expected that of an MPI; "
            "name the mpicc of your MPI with --mpicc or $MPICC",
        ),
    ]:
        refused = run(*words, path="none")
        assert (refused.returncode, refused.stderr) == (2, f"matchbench: {text}\n")


def test_a_wheel_has_no_file_that_was_built_here(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if re.search(r"__pycache__|/target/|\.o$|/tmp/", name)] == []
