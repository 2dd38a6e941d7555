# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench cpu`: programs on every family of cores, options, limits, Ctrl-C and bad input.

Programs without end and with illegal instructions are committed files with another first instruction, so that
these tests need no compiler.
"""

import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from matchbench import _native
from matchbench.cli import main
from matchbench.display import tables
from tests.processes import PATIENCE_S, Terminal, processor_seconds, started, wait_until

ELF = Path(__file__).parents[1] / "processor" / "firmware" / "elf"
MD5 = ELF / "md5.rv64.elf"
# One of each family, and both kinds of issue of the chips.
CORES = ["functional", "cortex_a72", "ppc440", "barrel", "smt1", "smt1_in_order", "cmp2_1"]
# RFC 1321, A.5.
MESSAGES = ["", "a", "abc", "message digest"]

PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv, char **environment)
{
    if (argc > 1 && strcmp(argv[1], "status") == 0)
        return atoi(argv[2]);
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        abort();
    if (argc > 1 && strcmp(argv[1], "socket") == 0) {
        register long number __asm__("a7") = 198, result __asm__("a0") = 2;
        __asm__ volatile("ecall" : "+r"(result) : "r"(number));
    }
    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    for (char **each = environment; *each; each++)
        printf("variable %s\n", *each);
    char line[80];
    while (fgets(line, sizeof line, stdin))
        printf("line %s", line);
    fprintf(stderr, "%.17g\n", (double)argc / 3);
    return 0;
}
"""

TEST = """
.global _start
.type _start, @function
_start:
    li a0, {status}
    li a7, {number}
    ecall
.size _start, .-_start
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program with the C library."""
    folder = tmp_path_factory.mktemp("cpu")
    (folder / "program.c").write_text(PROGRAM)
    return compiled(folder / "program.c", "-O2")


def compiled(source: Path, *options: str) -> str:
    """Build a static program beside its source; the test is skipped without a compiler or its C library."""
    compiler = shutil.which("riscv64-linux-gnu-gcc")
    if compiler is None:
        pytest.skip("no cross compiler; `make guest` installs it")
    output = source.with_suffix(".elf")
    words = [compiler, *options, "-static", "-o", str(output), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(output)


def with_first_instruction(word: int, path: Path) -> str:
    """Write md5 with another instruction at its entry."""
    data = bytearray(MD5.read_bytes())
    entry, headers = struct.unpack_from("<QQ", data, 24)
    size, count = struct.unpack_from("<HH", data, 54)
    for place in range(headers, headers + size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, place)
        if kind == 1 and address <= entry < address + length:
            struct.pack_into("<I", data, offset + entry - address, word)
    path.write_bytes(data)
    return str(path)


@pytest.fixture
def endless(tmp_path: Path) -> str:
    """Return a program that jumps to its first instruction."""
    return with_first_instruction(0x0000_006F, tmp_path / "endless.elf")


def run(capfd: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    status = main(["cpu", *map(str, words)])
    found = capfd.readouterr()
    return status, found.out, found.err


def counts(err: str) -> dict[str, int]:
    """Return the event counts of the line on standard error."""
    words = err.splitlines()[0].split(": ", 1)[1].split(", ")
    found = [re.fullmatch(r"(\d[\d ]*) ([a-z]\w*( [a-z]\w*)*)", word) for word in words]
    return {match[2]: int(match[1].replace(" ", "")) for match in found if match is not None}


@pytest.mark.parametrize("core", CORES)
def test_every_family_of_cores_runs_a_program(core: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "run", MD5, "--core", core)
    assert status == 0
    digests = [hashlib.md5(message.encode(), usedforsecurity=False).hexdigest() for message in MESSAGES]
    assert out.splitlines()[: len(digests)] == digests
    assert err.startswith(f"{core}: ")
    assert err.splitlines()[1].startswith("host: ")
    reference = counts(run(capfd, "run", MD5)[2])["instructions"]
    assert abs(counts(err)["instructions"] - reference) <= 1  # with the last call, or without it


def test_quiet_leaves_the_output_of_the_program_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "run", MD5, "--quiet")[2] == ""


def test_a_parameter_and_a_limit_change_the_cycles(capfd: pytest.CaptureFixture[str]) -> None:
    cycles = {}
    for latency in (50, 500):
        _, _, err = run(capfd, "run", MD5, "-c", "cortex_a72", "-s", f"memory_latency={latency}")
        cycles[latency] = counts(err)["cycles"]
    assert cycles[500] > cycles[50] + 450  # at least the first fetch
    status, _, err = run(capfd, "run", MD5, "-c", "cortex_a72", "--limit", "1000")
    assert (status, counts(err)["cycles"]) == (1, 1000)
    executed = tables.count(counts(err)["instructions"])
    assert err.splitlines()[-1] == (
        f"matchbench: {MD5}: found it running after 1 000 cycles and {executed} instructions, "
        "expected its end; raise --limit"
    )


def test_a_program_without_end_stops_at_the_limit(endless: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "run", endless, "--limit", "1500000", "--quiet")
    assert (status, out) == (1, "")
    assert err == (
        f"matchbench: {endless}: found it running after 1 500 000 instructions, expected its end; "
        "raise --limit\n"
    )


@pytest.mark.parametrize("core", ["functional", "smt8"])
def test_progress_is_shown_and_ctrl_c_ends_a_run_at_once(core: str, endless: str) -> None:
    """On a terminal; elsewhere nothing is shown."""
    words = [sys.executable, "-m", "matchbench", "cpu", "run", endless, "--core", core]
    with (
        Terminal() as terminal,
        started(words, stdout=subprocess.PIPE, stderr=terminal.end) as process,
    ):
        terminal.passed_on()
        terminal.wait_for(f"{core}: .*million")
        process.send_signal(signal.SIGINT)
        assert terminal.rest().endswith("\r\x1b[Kmatchbench: interrupted\r\n")
        assert process.wait() == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_ctrl_c_without_a_terminal_is_one_line(endless: str) -> None:
    words = [sys.executable, "-m", "matchbench", "cpu", "run", endless, "--core", "barrel"]
    with started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # More than the start of the command needs.
        wait_until(lambda: processor_seconds(process) > 3, process)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE_S) == ("", "matchbench: interrupted\n")
    assert process.returncode == 130


def test_a_program_whose_output_is_not_read_is_ended_by_the_signal() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "matchbench", "cpu", "run", str(MD5), "--quiet"]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_a_diagram_of_an_interval_is_written(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words: list[str | Path] = ["run", MD5, "-c", "cortex_a72", "--kanata", "1000:1100"]
    assert run(capfd, *words)[0] == 0
    assert Path("cpu.kanata").read_text().startswith("Kanata\t0004\n")
    status, out, err = run(capfd, *words)
    assert (status, out) == (2, "")  # before the program runs
    assert err == "matchbench: cpu.kanata: found an existing file; choose another name or give --force\n"
    assert run(capfd, *words, "--force")[0] == 0
    for core in ["ppc440", "barrel", "smt2"]:
        file = Path(f"{core}.kanata")
        assert run(capfd, "run", MD5, "-c", core, "--kanata", "1000:1100", "--kanata-file", file)[0] == 0
        assert file.read_text().startswith("Kanata\t0004\n"), core


def test_a_diagram_after_the_end_is_refused_with_the_end(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capfd, "run", MD5, "-c", "cortex_a72", "--kanata", "900000:900100")
    end = counts(err)["cycles"]
    assert status == 2
    assert err.splitlines()[-1] == (
        f"matchbench: --kanata: found the end of the program in cycle {end}, expected it after cycle 900000"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("core", ["functional", "cortex_a72", "barrel", "smt1"])
def test_an_illegal_instruction_is_named_with_address_and_symbol(
    core: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = with_first_instruction(0, tmp_path / "illegal.elf")
    (entry,) = struct.unpack_from("<Q", MD5.read_bytes(), 24)
    status, _, err = run(capfd, "run", path, "-c", core, "--quiet")
    assert status == 1
    assert err == f"matchbench: {path}: pc {entry:#x} (_start): illegal instruction 0x00000000\n"


def test_a_call_of_the_simulator_s_own_programs_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    path = ELF / "bench.rv64.elf"
    status, _, err = run(capfd, "run", path, "--quiet")
    assert status == 1
    pattern = r"matchbench: \S+: pc 0x[0-9a-f]+ \(main\+0x[0-9a-f]+\): system call (\d+) is not implemented\n"
    found = re.fullmatch(pattern, err)
    assert found, err
    assert int(found[1]) >> 16 == 0x4D42  # `Service::Custom`


def test_arguments_environment_input_and_status_are_those_of_the_program(program: str) -> None:
    words = [sys.executable, "-m", "matchbench", "cpu", "run", program, "one", "--env", "NAME=two words"]
    options = [*words, "--memory", "32", "--quiet", "--", "--three"]
    done = subprocess.run(options, input="first\nlast", capture_output=True, text=True, check=False)
    assert done.stdout == "argument one\nargument --three\nvariable NAME=two words\nline first\nline last"
    assert (done.returncode, done.stderr) == (0, "1\n")


def test_the_exit_status_is_that_of_the_program(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "run", program, "status", "7", "--quiet") == (7, "", "")
    assert run(capfd, "run", program, "abort", "--quiet") == (128 + signal.SIGABRT, "", "")


def test_an_unknown_call_is_named_with_address_symbol_and_function(
    program: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for core in ["functional", "cortex_a72", "smt1"]:
        status, _, err = run(capfd, "run", program, "socket", "--quiet", "-c", core)
        assert status == 1
        pattern = rf"matchbench: {re.escape(program)}: pc 0x[0-9a-f]+ \(main\+0x[0-9a-f]+\): "
        assert re.fullmatch(pattern + r"system call 198 \(socket\) is not implemented\n", err), err


@pytest.mark.parametrize(
    ("status", "number", "answer"), [(0, 93, (0, "pass")), (7, 93, (1, "case 3 failed")), (0, 5, None)]
)
def test_a_unit_test_says_pass_or_its_case(
    status: int,
    number: int,
    answer: tuple[int, str] | None,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    source = tmp_path / "rv64ui.S"
    source.write_text(TEST.format(status=status, number=number))
    path = compiled(source, "-nostdlib")
    found, out, err = run(capfd, "run", path, "--unit-test")
    if answer is None:
        assert (found, out) == (2, "")
        pattern = r": pc 0x[0-9a-f]+: system call 5; expected 93 \(exit\) from a unit test\n"
        assert re.search(pattern, err), err
    else:
        assert (found, out, err) == (answer[0], f"{path}: {answer[1]}\n", "")


def test_models_and_parameters_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "cores")
    assert (status, out.split()) == (0, _native.core_models())
    assert set(CORES) <= set(out.split())
    for core in _native.core_models():
        status, out, _ = run(capfd, "show", core)
        assert status == 0
        for each in _native.core_parameters(core, []):
            found = rf"^{each['name']} +{each['value']} +\S+ +{re.escape(each['domain'])} "
            assert re.search(found, out, re.MULTILINE), (core, each)


BUILD = "build one with `riscv64-linux-gnu-gcc -static`"
OTHER_ISA = "found a program for 32-bit big-endian PowerPC; expected one for 64-bit little-endian RISC-V"
BAD = [
    (
        ["run", "absent.elf"],
        "absent.elf: found no such file, expected a static ELF file for RV64; check the path",
    ),
    (["run", "."], ".: found a directory, expected a static ELF file for RV64; name a file in it"),
    (
        ["run", "absent.elf", "--unit-test"],
        "absent.elf: found no such file, expected a public RISC-V unit test; check the path",
    ),
    (
        ["run", str(ELF / "md5.ppc32.elf")],
        f"md5.ppc32.elf: {OTHER_ISA}; {BUILD}",
    ),
    (
        ["run", str(ELF / "md5.ppc32.elf"), "--unit-test"],
        f"md5.ppc32.elf: {OTHER_ISA}",
    ),
    (
        ["run", str(MD5), "-c", "cortex"],
        "unknown core `cortex`; did you mean `cortex_a72`? expected one of: functional, cortex_a72, ",
    ),
    (
        ["show", "cortex"],
        "unknown core `cortex`; did you mean `cortex_a72`? expected one of: functional, cortex_a72, ",
    ),
    (
        ["run", str(MD5), "-c", "barrel", "-s", "rob=8"],
        "; `matchbench cpu show barrel` lists all",
    ),
    (
        ["run", str(MD5), "-s", "rob=8"],
        "unknown parameter `rob`; there are none",
    ),
    (
        ["run", str(MD5), "-c", "smt1", "-s", "latency_multiply=fast"],
        "core smt1: parameter `latency_multiply`: found `fast`, expected a whole number from 1 to 63 (",
    ),
    (["run", str(MD5), "-c", "smt1", "-s", "fetch_width=0"], "core smt1: "),
    (
        ["run", str(MD5), "-c", "smt1", "-s", "fetch_width=4294967296"],
        "parameter `fetch_width`: found `4294967296`, expected a whole number from 1 to 64 (count)",
    ),
    (["run", str(MD5), "--env", "NAME"], "--env: found `NAME`, expected NAME=VALUE"),
    (["run", str(MD5), "--memory", "1"], "memory of 1048576 bytes; expected at least "),
    (["run", str(MD5), "--memory", "0"], "found 0, expected a whole number from 1 to "),
    (["run", str(MD5), "--limit", "0"], "found 0, expected a whole number from 1 to "),
    (["run", str(MD5), "--kanata", "5:5", "-c", "smt1"], "found `5:5`, expected FROM:TO in cycles"),
    (
        ["run", str(MD5), "--kanata", "5:6"],
        "--kanata: cannot be combined with --core functional, which has no cycles",
    ),
    (["run", str(MD5), "--kanata-file", "a"], "--kanata-file: needs --kanata; give both"),
    (
        ["run", str(MD5), "-c", "smt1", "--kanata", "50:60", "--limit", "50"],
        "--kanata: found the first cycle 50, expected one below 50 (--limit)",
    ),
    (
        ["run", str(MD5), "-c", "smt1", "--kanata", "1:2", "--kanata-file", "/proc/none/a"],
        "/proc/none/a: cannot create it in /proc: ",
    ),
    (
        ["run", str(MD5), "--unit-test", "-c", "smt1"],
        "--unit-test: cannot be combined with --core; give one of them",
    ),
    (
        ["run", str(MD5), "one", "--unit-test"],
        "--unit-test: cannot be combined with arguments; give one of them",
    ),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(map(str, words[1:])) for words, _ in BAD])
def test_bad_input_is_one_line(
    words: list[str],
    message: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capfd, *words)
    assert (status, out) == (2, "")
    assert err.startswith("matchbench: ")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_programs_are_refused(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "program.elf"
    whole = MD5.read_bytes()
    for data in [
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF" + bytes(100),
        whole[:200],
        whole[:16] + b"\x03" + whole[17:],
    ]:
        path.write_bytes(data)
        status, out, err = run(capfd, "run", path)
        assert (status, out) == (2, "")
        assert err.startswith(f"matchbench: {path}: ")
        assert err.endswith(f"; {BUILD}\n")
        assert err.count("\n") == 1
    host = Path(sys.executable).resolve().read_bytes()
    path.write_bytes(host)
    status, _, err = run(capfd, "run", path)
    assert status == 2
    assert "expected one for 32-bit big-endian PowerPC or 64-bit little-endian RISC-V" in err
