# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What reports of `matchbench mpi conform` say about the MPI and its environment, and printed commands."""

import subprocess

import pytest

from matchbench.mpi import stack
from matchbench.mpi.launch import Mpi

TEXT = """\
mpi Fake MPI 1.0
mpi Fake Device: ch9
standard 4.1
libfabric 1.20
ucx 1.13.1
loaded /lib/openmpi/mca_btl_tcp.so
loaded /lib/openmpi/mca_pml_ob1.so
variable FI_PROVIDER=tcp;ofi_rxm
variable OMPI_COMM_WORLD_RANK=0
variable HOME=/
variable UCX_SECRET=hush
hosts 2
nodes 1
colour red
"""


def test_variables_of_mpis_and_transports_are_selected_and_secrets_are_not() -> None:
    kept = dict.fromkeys(
        (
            *("FI_PROVIDER", "HYDRA_LAUNCHER", "I_MPI_FABRICS", "LD_PRELOAD", "MPICH_ASYNC_PROGRESS"),
            *("MPIR_CVAR_NOLOCAL", "MV2_USE_SHARED_MEM", "OMPI_MCA_pml", "PMIX_MCA_gds", "PSM2_DEVICES"),
            *(
                "PRTE_MCA_rmaps_default_mapping_policy",
                "PSM3_HAL",
                "SLURM_MPI_TYPE",
                "UCX_IB_PKEY",
                "UCX_TLS",
            ),
        ),
        "1",
    )
    secrets = {"SLURM_JWT": "1", "PMIX_SERVER_TOKEN": "1", "FI_AUTH_KEY": "1", "UCX_SECRET": "1"}
    assert stack.relevant({**kept, **secrets, "HOME": "/", "FILE": "x"}) == kept


def test_the_description_of_a_stack_is_read_and_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"HOME": "/", "UCX_TLS": "tcp,self"})
    described = stack.read_stack(TEXT)
    assert described.library == "Fake MPI 1.0\nFake Device: ch9"
    assert (described.standard, described.libfabric, described.ucx) == ("4.1", "1.20", "1.13.1")
    assert (described.hosts, described.nodes) == (2, 1)
    assert described.components() == ["btl_tcp", "pml_ob1"]
    mpi = Mpi(compiler="mpicc", launcher=("mpirun", "-x", "A B"), flavour="openmpi")
    assert stack.description(mpi, described) == [
        "Fake MPI 1.0",
        "Fake Device: ch9",
        "versions: MPI standard 4.1, libfabric 1.20, UCX 1.13.1",
        "components: btl_tcp, pml_ob1",
        "hosts: 2, which the MPI treats as 1",
        "compiler: mpicc",
        "launcher: mpirun -x 'A B'",
        "environment:",
        "  UCX_TLS=tcp,self",
    ]
    # What the launcher adds, without the variables of one job.
    assert stack.as_object(mpi, described)["set_by_launcher"] == {"FI_PROVIDER": "tcp;ofi_rxm"}
    empty = stack.description(mpi, stack.read_stack(""))
    assert empty[:3] == ["MPI library: no version text", "versions: unknown", "hosts: unknown"]


def test_the_printed_command_gives_a_shell_the_same_words_and_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UCX_TLS", "tcp, self")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    script = 'echo "$UCX_TLS|$FI_PROVIDER|$*"'
    mpi = Mpi(
        compiler="mpicc",
        launcher=("sh", "-c", script, "mpirun"),
        flavour="other",
        variables=(("FI_PROVIDER", "tcp;ofi_rxm"),),
    )
    command = stack.shell_command(mpi, 3, ["./program-7"])
    assert command.startswith("env ")
    assert "SLURM_JOB_ID" not in command
    clean = {"PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, env=clean)  # noqa: S607 - a shell
    assert ran.stdout == "tcp, self|tcp;ofi_rxm|-n 3 ./program-7\n"
