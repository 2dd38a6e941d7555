# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A user-written match program in a comparison: from the template, refused when wrong, named in results."""

import hashlib
from pathlib import Path

import pytest

import matchbench as mb
from matchbench import _native
from matchbench.compare.replay_config import ReplayConfig
from matchbench.sweep.workers import Task, replay
from tests.conftest import Command


def _packed_wrongly() -> str:
    text = dict(_native.match_programs())["mpi"]
    assert text.count("wait || bits = in ||") == 1
    return text.replace("wait || bits = in ||", "wait || bits[1 0 3 2] = in ||")


@pytest.mark.parametrize("items", ["4", "8", "16"])
def test_the_template_runs_in_a_comparison(
    matchbench: Command, tmp_path: Path, halo: mb.Trace, items: str
) -> None:
    assert matchbench("match_unit", "new", "mine.mb", "--items", items).returncode == 0
    path = tmp_path / "mine.mb"
    engine = mb.engine("match_unit:mpi", program=str(path))
    results = mb.compare(halo, [engine, "match_unit:mpi"])
    rows = results.parameters.filter(parameter="program", preset="mpi+")
    row = rows.row(0, named=True)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert row["value"] == f"{path} (sha256 {digest[:12]})"
    assert row["source"] == "user"
    assert row["detail"].endswith(digest)
    both = results.results.filter(engine="match_unit")
    assert sorted(both["preset"]) == ["mpi", "mpi+"]
    assert both["parameter_hash"].n_unique() == 2
    # The unit counts its visits and takes its cycles itself.
    assert both["implausible"].is_null().all()


def test_a_program_that_packs_match_bits_wrongly_is_refused(tmp_path: Path, halo: mb.Trace) -> None:
    (tmp_path / "wrong.mb").write_text(_packed_wrongly())
    with pytest.raises(mb.MatchbenchError) as caught:
        mb.compare(halo, [mb.engine("match_unit", program=str(tmp_path / "wrong.mb"))])
    lines = str(caught.value).split("\n")
    assert "rejected by the case corpus: spec/cases/" in lines[0]
    assert "the engine says `" in lines[0]
    assert "`, the oracle `" in lines[0]
    assert lines[1].startswith("  1  post of receive 1: bits ")
    assert "; expected `" in lines[1]


def test_sweep_and_size_refuse_a_program_that_packs_match_bits_wrongly(
    matchbench: Command, tmp_path: Path, halo: mb.Trace
) -> None:
    (tmp_path / "wrong.mb").write_text(_packed_wrongly())
    varied = ("--set", "program=mpi,wrong.mb", "--no-cache", "-j", "1", "-o", "o")
    for words in (
        ("sweep", halo.path, "-e", "match_unit", *varied),
        ("size", halo.path, "-e", "match_unit", "--set", "program=wrong.mb"),
    ):
        done = matchbench(*words)
        assert done.returncode == 2
        assert "wrong.mb (sha256 " in done.stderr
        assert "rejected by the case corpus: spec/cases/" in done.stderr
        assert "  1  post of receive 1: bits " in done.stderr, "the listing keeps its lines"
    assert not (tmp_path / "o").exists()


def test_sizes_of_a_program_are_replayed_with_the_program(tmp_path: Path, halo: mb.Trace) -> None:
    path = tmp_path / "mine.mb"
    path.write_text(_native.match_template(4))
    found = [
        mb.size(halo, costs=[mb.engine("match_unit:mpi", program=program)], buckets=[4])
        for program in (str(path), "mpi")
    ]
    own, built_in = (each.costs for each in found)
    assert own["structure_entries"].to_list() == built_in["structure_entries"].to_list()
    # A changed engine is recommended too, with what other sizes cost.
    assert [each.recommendation.engine for each in found] == ["match_unit:mpi", "match_unit:mpi"]
    assert None not in [each.recommendation.twice for each in found]
    assert own["match_latency_mean_ns"].to_list() != built_in["match_latency_mean_ns"].to_list()


def test_a_program_that_changes_while_a_sweep_runs_is_refused(tmp_path: Path, halo: mb.Trace) -> None:
    path = tmp_path / "mine.mb"
    path.write_text(_native.match_template(8))
    origin = mb.engine("match_unit", program=str(path)).origin
    assert origin is not None
    task = Task(
        at=0,
        name="halo on mine",
        trace=halo.directory,
        trace_hash="",
        engine="match_unit",
        engine_sha256=origin["sha256"],
        parameters={"program": str(path)},
        config=ReplayConfig(),
    )
    assert replay(task)["total"]["matches"][0] > 0
    path.write_text(_native.match_template(4))
    with pytest.raises(
        mb.MatchbenchError, match=r"mine\.mb: found SHA-256 .*, expected .*; the file was changed"
    ):
        replay(task)


def test_a_program_that_does_not_assemble_names_its_line(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.mb").write_text("loop: wait || a1 = in || goto lop\nnop\nnop\n")
    (tmp_path / "trace").mkdir()
    done = matchbench("compare", "trace", "--engine", "match_unit", "--set", "program=wrong.mb")
    assert done.returncode == 2
    assert "wrong.mb:1:" in done.stderr
    assert "unknown label `lop`" in done.stderr
    done = matchbench("compare", "trace", "--engine", "match_unit", "--set", "program=mpl")
    assert done.returncode == 2
    assert "unknown program `mpl`; did you mean `mpi`? expected one of: mpi, " in done.stderr


def test_debug_stops_at_conditions_and_changes_and_writes_registers(
    matchbench: Command, tmp_path: Path
) -> None:
    (tmp_path / "list.toml").write_text("[[posted]]\nbits = 1\n[[posted]]\nbits = 2\n")
    (tmp_path / "headers.toml").write_text("[[header]]\nbits = 2\n[[header]]\nbits = 1\n")
    inputs = ("--list", "list.toml", "--headers", "headers.toml")
    script = (
        "break posted if ours == 2; continue; print ours; delete all; "
        "watch handle; finish; unwatch handle; finish"
    )
    done = matchbench("match_unit", "debug", "mpi", *inputs, "-x", script)
    assert done.returncode == 0, done.stdout
    assert ", if ours == 0x2" in done.stdout
    assert "t3 ours = 0x2" in done.stdout
    assert "changed: handle = 0x2, 0x1 before" in done.stdout
    assert done.stdout.count("answered in cycle") == 2
    script = "run-to posted; set bits 1; step 2; back 1; finish"
    changed = matchbench("match_unit", "debug", "mpi", *inputs, "-x", script)
    assert "header[0]: posted[0]" in changed.stdout, changed.stdout
    script = "break posted if ours ~ 2; set a0 1; watch nothing"
    refused = matchbench("match_unit", "debug", "mpi", *inputs, "-x", script)
    assert refused.returncode == 2
    assert "expected if NAME OP NUMBER" in refused.stdout
    assert "found a constant, expected a register" in refused.stdout
    assert "unknown name `nothing`" in refused.stdout
