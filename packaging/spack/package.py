# SPDX-License-Identifier: Apache-2.0 OR MIT
# spack repo create matchbench, this file as packages/matchbench/package.py in it, spack install matchbench

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Matchbench(PythonPackage):
    """A workbench for MPI message matching: records programs and replays them on receive engines."""

    homepage = "https://github.com/matchbench/matchbench"
    git = "https://github.com/matchbench/matchbench.git"

    license("Apache-2.0 OR MIT")

    version("main", branch="main")

    variant("mpi", default=True, description="Record, measure and check MPI programs")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("binutils", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("py-maturin@1.9:1", type="build")
    depends_on("py-wheel@0.45:", type="build")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-click@8.2:", type="run")
    depends_on("py-jinja2@3.1:", type="run")
    depends_on("py-matplotlib@3.8:", type="run")
    depends_on("py-numpy@1.26:", type="run")
    depends_on("py-polars@1:", type="run")
    depends_on("py-pyarrow@15:", type="run")
    depends_on("py-rich@13.7:", type="run")
    depends_on("py-vl-convert-python@1.7:", type="run")
    depends_on("mpi", when="+mpi", type="run")

    conflicts("platform=darwin")
