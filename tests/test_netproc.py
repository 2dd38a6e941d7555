# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench netproc`: captures, runs, comparisons, handlers and bad input."""

import csv
import json
import re
import shutil
import socket
import struct
from pathlib import Path

import pytest
import vl_convert

from matchbench import MatchbenchError, _native
from matchbench.cli import main
from matchbench.display import tables
from matchbench.netproc import charts
from matchbench.netproc import machine as netproc
from matchbench.netproc import report as netproc_report

HANDLER = """
#include "handler.h"

static np_counter seen;

unsigned np_handler(struct np_packet *packet)
{
    np_count(&seen, 1);
    return packet->network_length > 200 ? np_drop(packet) : np_forward(packet, 1);
}
"""

needs_compiler = pytest.mark.skipif(
    shutil.which("riscv64-linux-gnu-gcc") is None, reason="no cross compiler; `make guest` installs it"
)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["netproc", *words])
    found = capsys.readouterr()
    return status, found.out, found.err


def test_a_run_prints_the_answer_first_and_accounts_for_every_packet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = run(capsys, "run", "router", "-n", "200", "-a", "smt4")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("smt4 handles ")
    assert lines[0].endswith(" instructions per cycle.")
    assert "packets       200 in: 200 forwarded" in lines
    assert "checked       200 decisions, 0 wrong" in lines
    assert any(line.startswith("issue slots by hart") for line in lines)
    at = lines.index("windows of 100 packets")
    assert lines[at + 1].split()[:5] == ["end", "packets", "packets/s", "IPC", "executed"]
    assert lines[at + 1].endswith("l1d misses  l2 misses  l1-l2 bus  memory bus")
    assert [line.split()[2] for line in lines[at + 2 :]] == ["100", "100"]


def test_a_rest_of_a_window_is_shown_and_is_not_the_fastest_window(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out_dir = tmp_path / "router"
    capture = Path(__file__).parents[1] / "netproc" / "examples" / "router.pcap"
    words = ["compare", str(capture), "-n", "150", "-a", "smt2", "-o", str(out_dir)]
    status, out, _ = run(capsys, *words, "--set", "application=null")
    assert status == 0
    (found,) = json.loads((out_dir / "netproc.json").read_text())["runs"]
    assert found["windows"]["packets"] == [100, 50]
    whole, rest = (tables.count(round(rate)) for rate in found["windows"]["packets_per_second"])
    row = out.splitlines()[3]
    assert (row.count(whole), row.count(rest)) == (2, 0), row
    status, out, _ = run(capsys, "run", "null", "-n", "2150", "-a", "smt2", "--set", "timing=functional")
    assert (status, out.splitlines()[-1]) == (0, "and 2 more windows; `-o DIR` writes all of them")


def test_a_comparison_names_the_best_processor_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "null"
    words = ["compare", "null", "-n", "200", "-a", "cmp2", "-a", "smt2", "-o", str(place)]
    status, out, _ = run(capsys, *words)
    assert status == 0
    rows = list(csv.DictReader((place / "netproc.csv").read_text().splitlines()))
    assert [row["architecture"] for row in rows] == ["cmp2", "smt2"]
    best = max(rows, key=lambda row: float(row["packets_per_second"]))["architecture"]
    assert out.startswith(f"{best} has the highest packet rate on null: ")
    assert out.endswith(f"results: {place}/report.html\n")
    page = (place / "report.html").read_text()
    assert out.splitlines()[0].replace(" ", "\N{NO-BREAK SPACE}") in page.replace(" ", "\N{NO-BREAK SPACE}")
    titles = ["packet rate by processor", "use of the issue slots, and why they were empty"]
    titles.append("packet rate in windows of 100 packets")
    assert re.findall(r'class="chart scroll" role="group" aria-label="([^"]*)"', page) == titles
    for text in re.findall(r'<script type="application/json">(.*?)</script>', page):
        assert vl_convert.vegalite_to_svg(json.loads(text)).startswith("<svg")
    status, _, err = run(capsys, *words)
    assert (status, err.split(": ")[-1]) == (
        2,
        "found earlier output; choose another directory or give --force\n",
    )
    assert run(capsys, *words, "--force", "--table-only")[0] == 0
    assert 'class="chart' not in (place / "report.html").read_text()


def test_shares_of_issue_slots_add_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["compare", "null", "-n", "200", "-a", "smt2", "-a", "cmp2", "--plots", "-o", str(tmp_path / "o")]
    assert run(capsys, *words)[0] == 0
    plots = sorted(path.name for path in (tmp_path / "o" / "plots").iterdir())
    assert plots == [f"{kind}.{ending}" for kind in ("rate", "slots", "windows") for ending in ("png", "svg")]
    runs = [
        netproc.run(name, netproc.traffic("null", packets=200), parameters={"timing": timing})
        for name, timing in (("smt2", "cycles"), ("cmp2", "functional"))
    ]
    shares = charts.slots(runs)
    assert set(shares["architecture"]) == {"smt2"}  # without a pipeline there are no slots
    assert shares["share"].sum() == pytest.approx(1)
    harts = runs[0].report["harts"]
    (memory,) = shares.filter(use="memory")["share"]
    every = sum(map(sum, (harts["used"], *(harts[cause] for cause in netproc_report.causes(runs[0])))))
    assert memory == pytest.approx(sum(harts["memory"]) / every)


def test_json_has_parameters_with_sources_and_windows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["run", "vpn", "-n", "200", "-a", "cmp2_4", "-o", str(tmp_path / "vpn"), "--plots"]
    assert run(capsys, *words, "--set", "classifier=table")[0] == 0
    (found,) = json.loads((tmp_path / "vpn" / "netproc.json").read_text())["runs"]
    values = {each["name"]: (each["value"], each["source"]) for each in found["parameters"]}
    assert values["classifier"] == ("table", "user")
    assert values["cores"] == ("4", "paper")
    windows = found["windows"]
    assert windows["packets"] == [100, 100]
    # Windows add up to the totals: what was issued, why slots were empty, caches and buses.
    for total in ("used", "squashed", "memory", "dependences"):
        assert sum(windows[total]) == sum(found["harts"][total]), total
    for name, count in zip(found["memory"]["what"], found["memory"]["count"], strict=True):
        assert sum(windows[name]) == count, name
    assert min(windows["l1-l2 bus busy cycles"]) > 0
    assert (tmp_path / "vpn" / "plots" / "windows.svg").read_text().startswith("<?xml")
    assert (tmp_path / "vpn" / "plots" / "windows.png").exists()


def test_a_generated_capture_is_readable_by_the_format(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Records and addresses are read with the structures of the format alone."""
    path = tmp_path / "web.pcap"
    words = ["generate", "-o", str(path), "--packets", "300", "--mix", "web_switch", "--vlan-percent", "100"]
    assert run(capsys, *words)[0] == 0
    data = path.read_bytes()
    magic, major, minor, _, _, snapshot, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, snapshot, link) == (0xA1B23C4D, 2, 4, 262144, 1)
    at, packets, last = 24, 0, -1.0
    while at < len(data):
        seconds, nanoseconds, captured, wire = struct.unpack_from("<IIII", data, at)
        frame = data[at + 16 : at + 16 + captured]
        assert captured == wire
        assert seconds + nanoseconds / 1e9 >= last
        last = seconds + nanoseconds / 1e9
        tag, _, kind = struct.unpack_from(">HHH", frame, 12)
        assert (tag, kind) == (0x8100, 0x0800)
        header = frame[18:38]
        words16 = struct.unpack(">10H", header)
        total = sum(words16)
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        assert total == 0xFFFF  # the header's checksum
        socket.inet_ntoa(header[12:16])
        at += 16 + captured
        packets += 1
    assert (at, packets) == (len(data), 300)
    assert run(capsys, "run", str(path), "-a", "cmp4", "-n", "100")[0] == 0


def test_a_diagram_of_an_interval_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "out.kanata"
    words = ["run", "null", "-n", "100", "-a", "smt2", "--kanata", "1000:1100", "--kanata-file", str(path)]
    assert run(capsys, *words)[0] == 0
    assert path.read_text().startswith("Kanata\t0004\n")


def test_a_diagram_behind_the_run_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "late.kanata"
    interval = ["--kanata", "9999999:10000000", "--kanata-file", str(path)]
    words = ["run", "null", "-n", "20", "-a", "smt1", *interval]
    status, out, err = run(capsys, *words)
    assert status == 2
    assert out.startswith("smt1 handles ")  # what was measured is shown
    assert err.startswith("matchbench: --kanata: found the last packet in cycle ")
    assert err.endswith(", expected it after cycle 9999999\n")
    assert not path.exists()


@needs_compiler
def test_a_handler_is_built_and_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, program = tmp_path / "handler.c", tmp_path / "handler.elf"
    source.write_text(HANDLER)
    status, out, err = run(capsys, "build", str(source), "-o", str(program))
    assert (status, err) == (0, ""), err
    assert out.startswith(f"{program}: ")
    status, out, err = run(capsys, "run", "vpn", "-n", "200", "-a", "smt4", "-p", str(program))
    assert (status, err) == (0, "")
    assert "applications  200 user" in out


@needs_compiler
def test_a_handler_that_does_not_compile_shows_the_lines_of_the_compiler(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "handler.c"
    source.write_text('#include "handler.h"\nunsigned np_handler(struct np_packet *packet) { return x; }\n')
    words = ["build", str(source), "-o", str(tmp_path / "a.elf")]
    status, _, err = run(capsys, *words)
    assert status == 1
    assert "handler.c:2:" in err
    assert str(tmp_path) not in err.split("\n", 1)[1]


@needs_compiler
def test_a_file_without_a_handler_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, program = tmp_path / "handler.c", tmp_path / "handler.elf"
    source.write_text(HANDLER.replace("np_handler(", "np_handlers("))
    status, _, err = run(capsys, "build", str(source), "-o", str(program))
    assert status == 1
    assert "required symbol `np_handler' not defined" in err
    assert not program.exists()


@needs_compiler
def test_a_handler_that_faults_is_named_with_its_packet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source, program = tmp_path / "handler.c", tmp_path / "handler.elf"
    body = "    if (packet->number == 150)\n        return *(volatile unsigned *)nowhere;\n"
    handler = HANDLER.replace("    np_count", body + "    np_count")
    source.write_text(handler.replace("static", "static volatile uintptr_t nowhere = 0x96;\nstatic", 1))
    assert run(capsys, "build", str(source), "-o", str(program))[0] == 0
    status, out, err = run(capsys, "run", "vpn", "-n", "200", "-a", "smt4", "-p", str(program))
    assert status == 1
    assert "packet 150 (user, handler), pc 0x" in err
    assert "(np_handler+0x" in err
    assert "access of 4 bytes at 0x96" in err
    assert out.startswith("smt4 stopped at an error; until then it handled ")


BAD = [
    (
        ["run", "ruoter"],
        "unknown scenario `ruoter`; did you mean `router`? "
        "expected one of: router, web_switch, vpn, null, 3des",
    ),
    (
        ["run", "absent.pcap"],
        "absent.pcap: found no such file, expected a pcap or pcapng file, or one of the scenarios router, "
        "web_switch, vpn, null, 3des; check the path",
    ),
    (["run", "./"], ".: found a directory, expected a pcap or pcapng file, or one of the scenarios"),
    (
        ["compare", "router", "-a", "smt8", "--set", "cmp8.clock=625"],
        "parameter `cmp8.clock`: `cmp8` is not chosen; expected one of: smt8",
    ),
    (
        ["run", "router", "--set", "priorities=high"],
        "parameter `priorities`: found `high`, expected one of: equal,",
    ),
    (["run", "router", "--set", "memory_clock=0"], "parameter `memory_clock`: found `0`"),
    (["run", "router", "-o", "/proc/none/a"], "/proc/none/a: cannot create it in /proc: "),
    (["build", "a.c", "-o", "/proc/none/a.elf"], "/proc/none/a.elf: cannot create it in /proc: "),
    (["generate", "-o", "/proc/none/a.pcap"], "/proc/none/a.pcap: cannot create it in /proc: "),
    (
        ["run", "null", "--kanata", "1:2", "--kanata-file", "/proc/none/a"],
        "/proc/none/a: cannot create it in /proc: ",
    ),
    (
        ["run", "router", "-a", "smt9"],
        "unknown architecture `smt9`; did you mean `smt8`? expected one of 24: ",
    ),
    (["run", "router", "--set", "cores"], "--set: found `cores`, expected KEY=VALUE"),
    (
        ["run", "router", "--set", "core=1"],
        "unknown parameter `core`; did you mean `cores`? expected one of ",
    ),
    (
        ["run", "router", "--set", "cores=0"],
        "parameter `cores`: found `0`, expected a whole number from 1 to 32",
    ),
    (["run", "router", "--set", "filters=300"], "parameter `filters`: found `300`"),
    (["run", "router", "--kanata", "5:5"], "found `5:5`, expected FROM:TO in cycles"),
    (["run", "router", "--kanata-file", "a"], "--kanata-file: needs --kanata; give both"),
    (
        ["run", "router", "--kanata", "1:9", "--set", "timing=functional"],
        "--kanata: cannot be combined with timing=functional, without a pipeline; set timing=cycles",
    ),
    (["run", "router", "-n", "0"], "found 0, expected a whole number from 1 to "),
    (
        ["run", "router", "-p", "absent.elf"],
        "absent.elf: found no such file, expected a program of `matchbench netproc build`; check the path",
    ),
    (["run", "router", "--set", "heap_bytes=4096"], None),
    (["build", "absent.c", "-o", "a.elf"], "absent.c: found no such file, expected a C file with a handler"),
    (
        ["generate", "-o", "a.pcap", "--mix", "routers"],
        "parameter `mix`: found `routers`, expected one of: router,",
    ),
    (["generate", "-o", "a.pcap", "--packets", "0"], "parameter `packets`: found `0`"),
    (["show", "smt"], "unknown architecture `smt`"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_is_one_line(
    words: list[str],
    message: str | None,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, *words)
    assert err.startswith("matchbench: ")
    assert err.count("\n") == 1
    if message is None:  # SPINE finds it when it starts
        assert status == 1
        assert "the heap is too small for" in err
    else:
        assert status == 2
        assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_handler_that_is_not_a_c_file_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source, program = tmp_path / "handler.cpp", tmp_path / "a.elf"
    source.write_text("int main() { return 0; }\n")
    status, _, err = run(capsys, "build", str(source), "-o", str(program))
    expected = f"matchbench: {source}: found the suffix `.cpp`; expected a C file with a handler, NAME.c\n"
    assert (status, err) == (2, expected)
    assert not program.exists()


def test_damaged_captures_are_refused_with_the_packet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = netproc.generate({"packets": "5"})
    cases = {
        "cut": (whole[:-3], "packet 5: the file ends 3 bytes early"),
        "empty": (b"", "found 0 bytes at the beginning; expected a pcap or pcapng file"),
        "text": (b"hello, world", "found the bytes 68 65 6c 6c at the beginning"),
        "link": (whole[:20] + struct.pack("<I", 147) + whole[24:], "packet 1: found link type 147"),
        "none": (whole[:24], "found no packets; expected at least one; capture longer"),
    }
    for name, (data, message) in cases.items():
        path = tmp_path / f"{name}.pcap"
        path.write_bytes(data)
        status, _, err = run(capsys, "run", str(path))
        assert status == 2, name
        assert message in err, err
        assert f"{name}" in err
        assert err.count("\n") == 1


def test_a_program_that_is_no_program_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "handler.elf"
    other = Path(__file__).parents[1] / "processor" / "firmware" / "elf"
    cases = {
        b"": "",
        b"\x7fELF" + bytes(100): "ELF",
        (other / "md5.ppc32.elf").read_bytes(): "",
        (other / "md5.rv64.elf").read_bytes(): "the program has no symbol `np_config`; expected a program of",
    }
    for data, message in cases.items():
        path.write_bytes(data)
        status, _, err = run(capsys, "run", "router", "-p", str(path))
        assert status == 2
        assert err.startswith(f"matchbench: {path}: ")
        assert message in err
        assert err.endswith("; build one with `matchbench netproc build HANDLER.c -o FILE`\n")


def test_parameters_of_one_processor_are_named_with_it() -> None:
    found = netproc.parameters_of(["smt8", "cmp8"], {"cmp8.clock": "625", "clock": "400", "filters": "1"})
    assert found == {
        "smt8": {"clock": "400", "filters": "1"},
        "cmp8": {"clock": "625", "filters": "1"},
    }


def test_arrivals_priorities_and_clocks_change_a_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    capture = tmp_path / "a.pcap"
    assert run(capsys, "generate", "-o", str(capture), "--packets", "100")[0] == 0
    rates = {}
    for name, settings in {
        "base": [],
        "os_first": ["priorities=os_first"],
        "fast": ["clock=625"],
        "poisson": ["input=poisson", "rate=100000"],
        "capture": ["input=capture", "speed_percent=10"],
        "slower": ["input=capture", "speed_percent=5"],
    }.items():
        place = tmp_path / name
        words = [word for setting in settings for word in ("--set", setting)]
        status, _, err = run(capsys, "run", str(capture), "-a", "smt4", "-o", str(place), *words)
        assert (status, err) == (0, "")
        (row,) = csv.DictReader((place / "netproc.csv").read_text().splitlines())
        assert int(row["offered"]) == 100
        rates[name] = float(row["packets_per_second"])
    assert rates["fast"] > rates["base"] > rates["poisson"]
    assert rates["os_first"] != rates["base"]
    assert 1.9 < rates["capture"] / rates["slower"] < 2.1


def test_processors_and_settings_are_listed() -> None:
    names = _native.network_processors()
    assert tuple(names[:4]) == netproc.PAPER
    assert len(names) == len(set(names)) == 24
    with pytest.raises(MatchbenchError, match="routes: found 0"):
        netproc.generate({}, routes=0)
