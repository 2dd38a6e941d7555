# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench chip`: a committed program without a C library on the kernel and the device."""

import json
import re
from pathlib import Path

import pytest

from matchbench.cli import main

ELF = Path(__file__).resolve().parent.parent / "moped" / "elf" / "kernel_moped.rv64.elf"
SMALL = ["--memory", "64", "--cores", "4", "--patience", "1000000"]


def chip(*words: str) -> int:
    return main(["chip", "run", str(ELF), "--ranks", "2", *SMALL, *words])


@pytest.mark.parametrize("design", ["base", "optcopy", "optcache"])
def test_messages_are_copied_and_counted(design: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert chip("--design", design, "pages") == 0
    said = capfd.readouterr().err
    counted = re.search(
        r"^moped: 12 reserved, 0 refused, .* 6 matched, 6 completed, .* (\d+) page faults", said, re.M
    )
    assert counted is not None, said
    assert int(counted.group(1)) > 0
    instructions = re.search(r"^functional: ([\d\s]+) user instructions, ([\d\s]+) kernel", said, re.M)
    assert instructions is not None, said
    user, kernel = (int("".join(number.split())) for number in instructions.groups())
    assert user > 10 * kernel > 100_000


def test_a_deadlock_names_every_process(capfd: pytest.CaptureFixture[str]) -> None:
    assert chip("--quiet", "wait") == 1
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == f"matchbench: {ELF}: deadlock: every process waits"
    for rank, line in enumerate(lines[1:]):
        assert re.fullmatch(
            rf"  program 0 rank {rank} core {rank}: pc 0x[0-9a-f]+ in wait\+0x[0-9a-f]+", line
        )
    assert len(lines) == 3


def test_a_fault_is_named_with_its_function(capfd: pytest.CaptureFixture[str]) -> None:
    assert chip("--quiet", "illegal") == 1
    said = capfd.readouterr().err
    assert re.search(
        r"^kernel: program 0 rank 1 .*: illegal instruction, .* in main\+0x[0-9a-f]+$", said, re.M
    )
    assert f"matchbench: {ELF}: rank 1: status 132\n" in said


def test_without_the_device_there_are_no_ports(capfd: pytest.CaptureFixture[str]) -> None:
    # The program ends with the number of the line of its check.
    assert chip("--transport", "shm", "pages") not in {0, 1, 2}
    assert "moped:" not in capfd.readouterr().err


def test_a_run_with_time_is_measured_and_drawn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    counts, timeline, kanata = tmp_path / "run.json", tmp_path / "timeline.json", tmp_path / "run.kanata"
    words = ["--mode", "timing", "--core", "inorder", "-o", str(counts), "--timeline", str(timeline)]
    assert chip(*words, "--kanata", "30000:30200", "--kanata-file", str(kanata), "move") == 0
    said = capfd.readouterr().err
    found = json.loads(counts.read_text())
    (region,) = found["regions"]
    assert found["different_messages"] == 0
    assert found["compared_messages"] == 36
    assert dict(region["counts"])["messages"] == 36
    # Every cycle of every core is somewhere.
    spent = sum(cycles for _, _, row in region["ranks"] for _, cycles in row)
    assert spent + sum(cycles for _, cycles in region["unused"]) == 4 * region["cycles"]
    assert re.search(
        r"^timing: [\d\s]+ cycles from cycle \d[\d\s]* on, [\d\s]+ user instructions", said, re.M
    ), said
    events = json.loads(timeline.read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "s", "f"}
    assert sum(event["ph"] == "s" for event in events) == 36
    intervals = [event for event in events if event["ph"] == "X"]
    assert {event["name"] for event in intervals if event["pid"] == 0} >= {"user", "kernel", "idle"}
    # A cycle is a nanosecond, and no interval is longer than the run.
    assert max(event["ts"] + event["dur"] for event in intervals) <= region["cycles"] / 1000 + 1e-6
    diagram = kanata.read_text()
    assert diagram.startswith("Kanata\t0004\nC=\t300")
    assert diagram.count("\nI\t") > 20


def test_a_diagram_of_cycles_without_time_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kanata = tmp_path / "late.kanata"
    words = ["--mode", "timing", "--kanata", "900000000:900000001", "--kanata-file", str(kanata)]
    assert chip("--core", "inorder", *words, "move") == 2
    said = capfd.readouterr().err
    expected = (
        r"--kanata: found cycles 900000000 to 900000001, expected some of the part with time, \d+ to \d+\n"
    )
    assert re.search(expected, said), said
    assert not kanata.exists()


def test_a_setting_changes_the_chip(tmp_path: Path) -> None:
    cycles = []
    for words in ([], ["--set", "directory=200"], ["--set", "moped.port_cycles=200"]):
        counts = tmp_path / "run.json"
        chosen = ["--mode", "timing", "--core", "inorder", "-o", str(counts), "--force", *words]
        assert chip(*chosen, "pages") == 0
        (region,) = json.loads(counts.read_text())["regions"]
        cycles.append(region["cycles"])
    assert cycles[1] > 1.05 * cycles[0]
    assert cycles[2] > 1.05 * cycles[0]


def test_pictures_need_time(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert chip("--timeline", str(tmp_path / "timeline.json"), "move") == 2
    assert "--timeline: cannot be combined with --mode functional" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--design", "other"], "unknown design `other`; expected one of: base, optcopy, optcache"),
        (["--env", "NAME"], "--env: found `NAME`, expected NAME=VALUE"),
        (["--set", "directory"], "--set: found `directory`, expected KEY=VALUE"),
        (
            ["--set", "directory=much"],
            "parameter `directory`: found `much`, expected a whole number from 0 to 1048576 (cycles)",
        ),
        (
            ["--set", "l3.hit=3"],
            "unknown parameter `l3.hit`; did you mean `l1.hit`? expected one of ",
        ),
        (
            ["--set", "lane=3"],
            "; `matchbench chip show --core ooo --design optcopy` lists all",
        ),
        (
            ["--mode", "timing", "--core", "scalar", "--set", "core.slack=0"],
            "parameter `core.slack`: found `0`, expected a whole number from 1 to 1024 (cycles)",
        ),
        (["--set", "moped.lines=99"], "lines"),
    ],
)
def test_bad_input_is_an_error(words: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert chip(*words, "pages") == 2
    assert message in capfd.readouterr().err


def test_a_file_that_is_no_program_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expected = "expected a static ELF file for RV64, linked with the library of moped/mpi"
    assert main(["chip", "run", str(tmp_path / "missing"), *SMALL]) == 2
    assert f"missing: found no such file, {expected}; check the path" in capfd.readouterr().err
    other = tmp_path / "other"
    # Text; an empty file; a header of 32 bits; one of another machine (62 is x86-64).
    machine = bytes([0x7F, *b"ELF", 2, 1]) + bytes(12) + bytes([62, 0])
    for content in (b"text", b"", b"\x7fELF\x01\x01" + bytes(40), machine):
        other.write_bytes(content)
        assert main(["chip", "run", str(other), *SMALL, "--ranks", "1"]) == 2
        assert f"other: found another kind of file; {expected}" in capfd.readouterr().err


def test_a_program_that_is_not_static_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, other = bytearray(ELF.read_bytes()), tmp_path / "other"
    headers = int.from_bytes(file[32:40], "little")
    for place, value, found in (
        (headers, [3, 0, 0, 0], "a dynamically linked program"),
        (16, [3], "a shared library or a position-independent program"),
        (16, [1], "an ELF file that is not executable"),
        (39, [1], "an ELF file that ends in its headers"),
    ):
        changed = bytearray(file)
        changed[place : place + len(value)] = bytes(value)
        other.write_bytes(changed)
        assert main(["chip", "run", str(other), *SMALL, "--ranks", "1"]) == 2
        expected = "expected a static ELF file for RV64, linked with the library of moped/mpi"
        said = capfd.readouterr().err
        assert f"other: found {found}; {expected}; link it with -static -no-pie" in said, said


def test_the_protocol_of_each_design_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        assert main(["chip", "protocol", *words]) == 0
        return capsys.readouterr().out

    docs = Path(__file__).resolve().parent.parent / "processor" / "docs"
    page = (docs / "coherence.md").read_text(encoding="utf-8")
    assert printed("--design", "optcache") in page
    assert "| M_COPY |" in printed()
    base, without = printed("--design", "base"), printed("--design", "base", "--no-migratory")
    assert "M_COPY" not in base
    row = re.compile(r"^\| M \| FwdGetS \| (.*) \| (.*) \|$", re.M)
    assert row.findall(base) != row.findall(without) == [("Data", "O")]


def test_a_protocol_of_an_unknown_design_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chip", "protocol", "--design", "best"]) == 2
    assert "unknown design `best`; expected one of: base, " in capsys.readouterr().err
