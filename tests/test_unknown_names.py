# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Unknown names of every kind have one wording: the name, the nearest name, and those that exist."""

from pathlib import Path

import pytest

from matchbench.cli import BAD_INPUT, main

ROOT = Path(__file__).parents[1]
TRACE = str(ROOT / "traces" / "cg-32.tar.xz")
MD5 = str(ROOT / "processor" / "firmware" / "elf" / "md5.rv64.elf")
HEADERS = str(ROOT / "match_unit" / "examples" / "headers.toml")
COMPARE = ["compare", TRACE]

UNKNOWN = [
    (["conpare"], "command", "conpare", "compare"),
    (["trace", "stat"], "command", "stat", "stats"),
    (["mpi", "conforn"], "command", "conforn", "conform"),
    ([*COMPARE, "--engin", "ideal"], "option", "--engin", "--engine"),
    ([*COMPARE, "--polls", "waitng"], "value", "waitng", "waiting"),
    ([*COMPARE, "--engine", "lienar"], "engine", "lienar", "linear"),
    ([*COMPARE, "--engine", "linear:qsnet3"], "preset", "qsnet3", "qsnet2"),
    ([*COMPARE, "--engine", "linear", "--set", "entyr=1"], "parameter", "entyr", "entry"),
    ([*COMPARE, "--network", "slingshott"], "network", "slingshott", "slingshot"),
    ([*COMPARE, "--network-set", "latancy=1"], "parameter", "latancy", "latency"),
    ([*COMPARE, "--collective", "alreduce=ring"], "collective", "alreduce", "allreduce"),
    ([*COMPARE, "--collective", "allreduce=rong"], "algorithm", "rong", "ring"),
    (["generate", "halo", "--ranks", "8", "-o", "x"], "pattern", "halo", "halo3d"),
    (["reproduce", "hemmert207"], "paper", "hemmert207", "hemmert2007"),
    (["reproduce", "hemmert2007", "--system", "benhc"], "system", "benhc", "bench"),
    (["reproduce", "hemmert2007", "--verdict", "hold"], "verdict", "hold", "holds"),
    (["cpu", "show", "barel"], "core", "barel", "barrel"),
    (["cpu", "run", MD5, "--core", "smt3"], "core", "smt3", "smt1"),
    (["netproc", "run", "router", "--architecture", "smp8"], "architecture", "smp8", "smt8"),
    (["netproc", "run", "router", "--set", "clok=1"], "parameter", "clok", "clock"),
    (["netproc", "run", "ruoter"], "scenario", "ruoter", "router"),
    (["chip", "protocol", "--design", "optcop"], "design", "optcop", "optcopy"),
    (["match_unit", "run", "portals5", "-H", HEADERS], "program", "portals5", "portals4"),
    (["mpi", "bench", "--series", "preposted/tag"], "series", "preposted/tag", "preposted/tags"),
    (["mpi", "conform", "--without", "probs"], "value", "probs", "probe"),
]


@pytest.mark.parametrize(("words", "kind", "found", "near"), UNKNOWN)
def test_an_unknown_name_of_any_kind_is_told_with_the_nearest_name(
    capsys: pytest.CaptureFixture[str], words: list[str], kind: str, found: str, near: str
) -> None:
    assert main(words) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"unknown {kind} `{found}`; did you mean `{near}`? expected one of" in err
