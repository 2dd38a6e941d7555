# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packet handlers on network processors: captures, runs, comparisons, and the build of a handler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchbench import _native, interruptible
from matchbench._native import MatchbenchError, unknown_name
from matchbench.display.output import make_directory, write_file
from matchbench.display.partial import Scratch
from matchbench.input import read_bytes
from matchbench.native_types import NetprocReport, Parameter, Progress, Value
from matchbench.parameters import distribute

PAPER = ("smt8", "cmp8", "cmp2_4", "cmp2_8")
"""The processors that crowley2000 compares."""

SCENARIOS: dict[str, tuple[str, dict[str, str]]] = {
    "router": ("router", {}),
    "web_switch": ("web_switch", {}),
    "vpn": ("vpn", {}),
    "null": ("router", {"application": "null", "classifier": "hardware"}),
    "3des": ("3des", {}),
}
"""Scenario -> the mix of its traffic, and its parameters (crowley2000, table 6 and figures 3 and 4)."""

DEFAULT_PACKETS = 2000
"""Packets of a scenario (crowley2000, figures 5 to 7: 20 windows of 100)."""

CLOSE = 0.01
"""Rates whose ratio differs less from 1 are called equal in the answer of a comparison."""


class BuildError(MatchbenchError):
    """A compiler refuses a handler; the message has its lines."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Packets to run, and the parameters that belong to them."""

    name: str
    capture: bytes
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """A run: the processor, all of its parameters and what was measured."""

    architecture: str
    parameters: list[Parameter]
    report: NetprocReport

    @property
    def summary(self) -> dict[str, Any]:
        """The row of totals."""
        return {name: values[0] for name, values in self.report["summary"].items()}

    @property
    def packets_per_second(self) -> float:
        """The rate."""
        return float(self.summary["packets_per_second"])

    @property
    def passed(self) -> bool:
        """Whether the run reached its end with every packet accounted for and every decision right."""
        summary = self.summary
        return self.report["error"] is None and summary["mismatches"] == 0 and bool(summary["balanced"])


def traffic(source: str, *, packets: int | None = None, seed: int = 1, mean_burst: int = 16) -> Traffic:
    """Return the packets of a scenario or of a capture file.

    Parameters
    ----------
    source
        Name of a scenario, or path of a pcap or pcapng file.
    packets
        Packets of a scenario. [2000]
    seed, mean_burst
        Of a scenario's traffic.

    Raises
    ------
    MatchbenchError
        When there is no such scenario or file, or the file is damaged.
    """
    if source in SCENARIOS:
        mix, parameters = SCENARIOS[source]
        settings = {"mix": mix, "packets": str(packets or DEFAULT_PACKETS), "mean_burst": str(mean_burst)}
        return Traffic(source, generate(settings, seed=seed), dict(parameters))
    path = Path(source)
    if not path.exists() and path.suffix == "" and "/" not in source:
        msg = f"{unknown_name('scenario', source, list(SCENARIOS))}, or a capture file"
        raise MatchbenchError(msg)
    scenarios = ", ".join(SCENARIOS)
    data = read_bytes(path, f"a pcap or pcapng file, or one of the scenarios {scenarios}")
    try:
        found = _native.describe_packets(data)
    except MatchbenchError as error:
        msg = f"{source}: {error}"
        raise MatchbenchError(msg) from None
    if not found["packets"]:
        msg = f"{source}: found no packets; expected at least one; capture longer, or without a filter"
        raise MatchbenchError(msg)
    return Traffic(path.stem, data, {})


def program(path: Path) -> bytes:
    """Return a program of `build`, whose form is checked.

    Raises
    ------
    MatchbenchError
        When the file cannot be read, or is not a program for a network processor.
    """
    data = read_bytes(path, "a program of `matchbench netproc build`")
    try:
        _native.check_program(data)
    except MatchbenchError as error:
        msg = f"{path}: {error}; build one with `matchbench netproc build HANDLER.c -o FILE`"
        raise MatchbenchError(msg) from None
    return data


def generate(settings: Mapping[str, str], *, seed: int = 1, routes: int = 1000) -> bytes:
    """Return a generated capture, a pcap file.

    Parameters
    ----------
    settings
        Values that replace defaults of `packet_settings`.
    seed
        Seed of the random choices.
    routes
        Routes that the destinations match.

    Raises
    ------
    MatchbenchError
        When a setting or value is wrong.
    """
    return _native.generate_packets(seed=seed, routes=routes, settings=list(settings.items()))


def run(
    architecture: str,
    packets: Traffic,
    *,
    parameters: Mapping[str, Value] | None = None,
    program: bytes | None = None,
    count: int | None = None,
    kanata: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run packets on a network processor.

    Parameters
    ----------
    architecture
        `smt1` to `smt8`, `cmp1` to `cmp8`, `cmp2_1` to `cmp2_8`.
    packets
        What arrives.
    parameters
        Values that replace those of the preset and of the scenario.
    program
        An ELF file of `build`; its handler gets every packet.
    count
        Packets to run; a capture starts again when it ends.
    kanata
        Interval of cycles to record as a pipeline diagram.
    progress
        Called from time to time.

    Raises
    ------
    MatchbenchError
        When the run cannot begin.
    """
    own: dict[str, Value] = {"application": "user"} if program is not None else {}
    values: dict[str, Any] = packets.parameters | own | dict(parameters or {})
    processor = _native.NetworkProcessor(architecture, **values)
    try:
        report = interruptible.run(
            lambda tell: processor.run(
                packets.capture, program=program, packets=count, kanata=kanata, progress=tell
            ),
            progress,
        )
    except MatchbenchError as error:
        msg = f"{packets.name} on {architecture}: {error}"
        raise MatchbenchError(msg) from None
    return Result(architecture, processor.parameters(), report)


def parameters_of(architectures: Sequence[str], values: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Return the parameters of each processor; see :func:`distribute`."""
    keys = {
        name: [each["name"] for each in _native.NetworkProcessor(name).parameters()] for name in architectures
    }
    return distribute(values, keys, listing="matchbench netproc show NAME")


def answer(results: Sequence[Result], name: str) -> str:
    """Return a sentence that says which processor has the highest packet rate on a traffic."""
    done = [result for result in results if result.passed]
    if not done:
        return f"No processor completed {name}."
    ranked = sorted(done, key=lambda result: -result.packets_per_second)
    best = ranked[0]
    text = f"{best.architecture} has the highest packet rate on {name}: {rate(best.packets_per_second)}"
    if len(ranked) > 1:
        second = ranked[1]
        ratio = best.packets_per_second / second.packets_per_second
        if ratio - 1 < CLOSE:
            text += f", the rate of {second.architecture} within 1 %"
        else:
            text += f", {ratio:.2f} times that of {second.architecture}"
    failed = [result.architecture for result in results if not result.passed]
    return f"{text}{'; failed: ' + ', '.join(failed) if failed else ''}."


def rate(packets_per_second: float) -> str:
    """Format a rate with four digits."""
    for scale, unit in ((1e6, "million packets/s"), (1e3, "thousand packets/s")):
        if packets_per_second >= scale:
            return f"{packets_per_second / scale:.4g} {unit}"
    return f"{packets_per_second:.4g} packets/s"


def build(handler: Path, *, compiler: str = "riscv64-linux-gnu-gcc", bit_manipulation: bool = False) -> bytes:
    """Compile a handler, a single C file that includes `handler.h`, with SPINE; return the ELF file.

    Parameters
    ----------
    handler
        The C file.
    compiler
        A C compiler for RV64.
    bit_manipulation
        Compile for the extensions Zba and Zbb too.

    Raises
    ------
    MatchbenchError
        When the compiler is missing or refuses the handler; the message has the compiler's.
    """
    source = read_bytes(handler, "a C file with a handler", kind="text")
    if handler.suffix != ".c":
        msg = f"{handler}: found the suffix `{handler.suffix}`; expected a C file with a handler, NAME.c"
        raise MatchbenchError(msg)
    if shutil.which(compiler) is None:
        hint = "install gcc-riscv64-linux-gnu, or name another with --cc"
        msg = f"{compiler}: found no such program; expected a C compiler for RV64; {hint}"
        raise MatchbenchError(msg)
    with Scratch() as directory:
        folder = Path(directory).resolve()
        sources, objects, own = (folder / name for name in ("spine", "objects", "handler"))
        for each in (sources, objects, own):
            make_directory(each)
        for name, text in _native.spine_sources():
            write_file(sources / name, text)
        copy = own / handler.name
        write_file(copy, source)
        output = folder / "handler.elf"
        for words in _native.handler_commands(compiler, bit_manipulation, copy, objects, output):
            done = subprocess.run(
                words, cwd=sources, capture_output=True, text=True, errors="replace", check=False
            )
            if done.returncode != 0:
                found = done.stderr.replace(f"{own}/", "").replace(f"{folder}/", "").strip()
                found = found or f"exit status {done.returncode}"
                msg = f"{handler}: rejected by {compiler}; expected a C file with a handler:\n{found}"
                raise BuildError(msg)
        return output.read_bytes()
