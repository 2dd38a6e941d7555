# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench chip`: static RISC-V MPI programs on a simulated chip with MOPED."""

import json
import re
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from matchbench import MatchbenchError, _native
from matchbench.chip import report as chip_report
from matchbench.chip.trace import ChipTrace
from matchbench.cli.set_option import named, set_option
from matchbench.cli.usage import Choice
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.cpu.command import interval
from matchbench.display import tables
from matchbench.display.output import check_file, whole_file, write_file
from matchbench.native_types import ChipRun, Parameter
from matchbench.netproc.machine import read_file
from matchbench.parameters import distribute, parse_assignments
from matchbench.parameters import show as show_parameters

FAILED = 1
CORE = "ooo"
DESIGN = "optcopy"

_PATIENCE = 100_000_000  # instructions of a core
_PATIENCE_WITH_TIME = 5_000_000  # cycles
_MIB = 1 << 20
_MOST_MEMORY = 1 << 14  # MiB
_SIGNALS = range(129, 160)  # 128 and the number of the signal that ended a process
_UNKNOWN_CALL = re.compile(r"^kernel: .*: unknown system call (\d+), pc ", re.MULTILINE)
# setitimer: without it a program, such as that of `mpi conform`, has no time limit of its own.
_TIMERS = {"103"}
# e_type and p_type: System V ABI, ELF header and program header.
_ELF_EXECUTABLE, _ELF_SHARED, _ELF_INTERPRETER = 2, 3, 3


@click.group(
    cls=WholeSummaries,
    name="chip",
    epilog="""
    Examples:

    \b
      matchbench chip run moped/programs/build/chip/mg --ranks 16 --transport moped
      matchbench chip run --ranks 4 --transport shm program.elf -- --option-of-the-program
      matchbench chip show --core scalar
      matchbench chip protocol --design base --no-migratory
    """,
)
def command() -> None:
    """Run static RISC-V MPI programs on a simulated chip with MOPED."""


def _known(ctx: click.Context) -> Iterable[tuple[str, Parameter]]:
    """Give the parameters of the chip that a command line describes."""
    design = ctx.params.get("design") or DESIGN
    uses_device = ctx.params.get("transport") != "shm"
    return named(_native.chip_parameters(ctx.params.get("core") or CORE, design if uses_device else None))


@command.command()
@click.option("--core", default=CORE, show_default=True, help="Core model with time.")
@click.option("--design", default=DESIGN, show_default=True, help="Design of MOPED.")
def show(core: str, design: str) -> None:
    """List the parameters of the chip and of its devices, with unit, range, meaning and source."""
    show_parameters(f"{core}, {design}", _native.chip_parameters(core, design))


@command.command(
    epilog="""
    Examples:

    \b
      matchbench chip protocol
      matchbench chip protocol --design base --no-migratory

    The chip executes these tables; processor/docs/coherence.md explains their terms.
    """
)
@click.option(
    "--design", default=DESIGN, show_default=True, help="Design of MOPED, by the name of its preset."
)
@click.option(
    "--migratory/--no-migratory",
    default=True,
    show_default=True,
    help="Whether a read of a modified line transfers ownership of the line.",
)
def protocol(design: str, migratory: bool) -> None:
    """Print the transitions of the coherence protocol, as tables in Markdown."""
    click.echo(_native.chip_protocol(design, migratory), nl=False)


@command.command(
    epilog="""
    Examples:

    \b
      matchbench chip run moped/programs/build/chip/cg --ranks 16 --transport moped --design optcache
      matchbench chip run moped/programs/build/chip/imb --ranks 4 --transport shm PP 16384 10 2
      matchbench mpi conform --mpicc moped/mpi/mpicc-chip -- matchbench chip run --transport moped --quiet

    PROGRAM is a static ELF file for RV64GC, linked with the library of moped/mpi. It sees the files of this
    machine, and no environment variables but those of --env. Its output goes to standard output, the counts
    to standard error. Process r starts on core r modulo the number of cores.
    Exit status: that of the program; 1 after a fault or an unknown system call, for a deadlock, or at the
    limit; 2 bad input.
    """
)
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1)
@click.option(
    "-n",
    "--ranks",
    default=16,
    show_default=True,
    metavar="N",
    type=click.IntRange(1, 512),
    help="Number of processes.",
)
@click.option(
    "--cores",
    metavar="N",
    type=click.IntRange(1, 64),
    help="Number of cores. [one for each process, at most 64]",
)
@click.option(
    "--transport",
    default="moped",
    show_default=True,
    type=Choice(["shm", "moped"]),
    help="Transport of messages: shared memory, or the device.",
)
@click.option(
    "--design", default=DESIGN, show_default=True, help="Design of MOPED, by the name of its preset."
)
@click.option(
    "--descriptors",
    metavar="N",
    type=click.IntRange(1, 256),
    help="Entries of a device's table. [that of the design]",
)
@click.option(
    "--mode",
    default="functional",
    show_default=True,
    type=Choice(["functional", "timing", "markers"]),
    help="Without time, with time, or as the program selects with mb_mark.",
)
@click.option(
    "--core",
    default=CORE,
    show_default=True,
    type=Choice(["ooo", "inorder", "scalar"]),
    help="Core model with time: out of order with the widths of a Pentium 4, dual-issue in order, or one "
    "instruction at a time, which is the fastest to simulate.",
)
@click.option(
    "--migratory/--no-migratory",
    default=True,
    show_default=True,
    help="Whether a read of a modified line transfers ownership of the line.",
)
@set_option(
    _known,
    declarations=("-s", "--set", "settings"),
    help="Set a parameter of the chip, or of the device behind `moped.`; repeatable. `chip show` lists them.",
)
@click.option(
    "--memory",
    default=1024,
    show_default=True,
    metavar="MIB",
    type=click.IntRange(1, _MOST_MEMORY),
    help="Memory of the chip in MiB.",
)
@click.option(
    "--frequency",
    default=1_000_000_000,
    show_default=True,
    metavar="HZ",
    type=click.IntRange(100, 18_000_000_000),
    help="Cycles (without time: instructions of a core) in a second of the program's clock.",
)
@click.option(
    "--env",
    "environment",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set an environment variable of the program; repeatable.",
)
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), help="Stop after N cycles or instructions of a core."
)
@click.option(
    "--patience",
    metavar="N",
    type=click.IntRange(1000),
    help="Cycles or instructions of a core without progress after which a deadlock is reported. "
    "[100 million; 5 million with time]",
)
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write all counts."
)
@click.option(
    "--timeline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the activity of cores and devices over time, for the Perfetto viewer.",
)
@click.option("--kanata", metavar="FROM:TO", callback=interval, help="Record these cycles for Konata.")
@click.option(
    "--kanata-file", metavar="FILE", type=click.Path(path_type=Path), help="File of --kanata. [chip.kanata]"
)
@click.option("--force", is_flag=True, help="Overwrite files.")
@click.option(
    "--trace",
    "trace_directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write a trace of the MPI calls, for `matchbench compare`. PROGRAM must contain the "
    "recorder (mpicc-chip --record).",
)
@click.option("--quiet", is_flag=True, help="Print no counts.")
def run(
    program: Path,
    arguments: tuple[str, ...],
    ranks: int,
    cores: int | None,
    transport: str,
    design: str,
    descriptors: int | None,
    mode: str,
    core: str,
    settings: tuple[str, ...],
    memory: int,
    frequency: int,
    environment: tuple[str, ...],
    limit: int | None,
    patience: int | None,
    json_file: Path | None,
    timeline: Path | None,
    kanata: tuple[int, int] | None,
    kanata_file: Path | None,
    trace_directory: Path | None,
    *,
    migratory: bool,
    force: bool,
    quiet: bool,
) -> int:
    """Run PROGRAM to its end and print instructions, cycles and the counts of the devices."""
    if kanata_file is not None and kanata is None:
        msg = "--kanata-file: needs --kanata; give both"
        raise MatchbenchError(msg)
    diagram_file = (kanata_file or Path("chip.kanata")) if kanata is not None else None
    for option, file_name in (("--timeline", timeline), ("--kanata", diagram_file)):
        if file_name is not None and mode == "functional":
            msg = f"{option}: cannot be combined with --mode functional, which has no cycles; choose another"
            raise MatchbenchError(msg)
    for file_name in (json_file, timeline, diagram_file):
        if file_name is not None:
            check_file(file_name, force=force)
    for variable in environment:
        if "=" not in variable:
            msg = f"--env: found `{variable}`, expected NAME=VALUE"
            raise MatchbenchError(msg)
    used = design if transport == "moped" else None
    pairs = _settings(core, used, settings)
    file = _program(program)
    cores = cores or min(ranks, 64)
    trace = None
    variables = [*environment, f"MB_MPI_TRANSPORT={transport}"]
    if trace_directory is not None:
        trace = ChipTrace(
            directory=trace_directory,
            program=program,
            file=file,
            ranks=ranks,
            cores=cores,
            frequency=frequency,
            unit="instructions" if mode == "functional" else "cycles",
        )
        variables += trace.prepare(["matchbench", "chip", "run", str(program), *arguments])
    sys.stdout.flush()
    start = time.monotonic()
    try:
        with chip_report.progress() as tell:
            found = _native.run_on_chip(
                file,
                arguments=[str(program), *arguments],
                environment=variables,
                ranks=ranks,
                cores=cores or min(ranks, 64),
                memory=memory * _MIB,
                frequency=frequency,
                patience=patience or (_PATIENCE if mode == "functional" else _PATIENCE_WITH_TIME),
                limit=limit,
                design=used,
                descriptors=descriptors,
                mode=mode,
                core=core,
                migratory=migratory,
                settings=pairs,
                timeline=timeline is not None,
                kanata=kanata,
                progress=tell,
            )
    except MatchbenchError as error:
        msg = f"{program}: {error}"
        raise MatchbenchError(msg) from None
    seconds = time.monotonic() - start
    click.echo(found["messages"], err=True, nl=False)
    wrong = chip_report.without_cycles(found, kanata) if kanata is not None else None
    diagram = None if wrong else found["kanata"]
    for text, file_name in ((found["timeline"], timeline), (diagram, diagram_file)):
        if text is not None and file_name is not None:
            with whole_file(file_name, force=force) as partial:
                write_file(partial, text)
    if json_file is not None:
        counts = {name: value for name, value in found.items() if name not in {"timeline", "kanata"}}
        with whole_file(json_file, force=force) as partial:
            write_file(partial, json.dumps({**counts, "seconds": seconds}, indent=1) + "\n")
    if not quiet:
        if mode != "functional":
            chip_report.show(found)
        _show_counts(found, seconds)
    if trace is not None:
        for line in trace.lines(found["status"] or 0):
            click.echo(line, err=True)
    if found["different_messages"]:
        for line in found["differences"]:
            click.echo(f"matchbench: {program}: {line}", err=True)
        click.echo(f"matchbench: {program}: {found['different_messages']} messages arrived damaged", err=True)
        return FAILED
    for rank, status in sorted(found["ranks"]):
        if status:
            click.echo(f"matchbench: {program}: rank {rank}: status {status}", err=True)
    if found["status"] is not None:
        return _status(program, found, wrong)
    unit = "instructions of a core" if mode == "functional" else "cycles"
    reasons = {
        "deadlock": "deadlock: every process waits",
        "limit": f"found it running after {limit} {unit}, expected its end; raise --limit",
        "trap_loop": "a core takes traps without making progress",
        "fault": found["fault"],
        "interrupted": "interrupted",
    }
    click.echo(f"matchbench: {program}: {reasons[found['end']]}", err=True)
    for line in found["waiting"]:
        click.echo(f"  {line}", err=True)
    return FAILED


def _status(program: Path, found: ChipRun, wrong: str | None) -> int:
    """Return the exit status of a program that ended; `wrong` is an error of the interval of --kanata."""
    status = found["status"] or 0
    if status in _SIGNALS:  # the kernel has named the fault
        return FAILED
    if status == 0 and set(_UNKNOWN_CALL.findall(found["messages"])) - _TIMERS:
        what = "found a system call that the kernel does not have, without which the program continued"
        click.echo(f"matchbench: {program}: {what}; expected those of moped/kernel/README.md", err=True)
        return FAILED
    if status == 0 and wrong:
        msg = f"--kanata: {wrong}"
        raise MatchbenchError(msg)
    return status


def _settings(core: str, design: str | None, words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Parse the parameters of a chip and its devices."""
    known = {"chip": [each["name"] for each in _native.chip_parameters(core, design)]}
    listing = f"matchbench chip show --core {core}" + ("" if design is None else f" --design {design}")
    found = distribute(parse_assignments(words), known, listing=listing)
    return [(key, str(value)) for key, value in found["chip"].items()]


def _program(path: Path) -> bytes:
    """Read a program. What is not for this machine is refused here; the kernel would end with status 255."""
    expected = "a static ELF file for RV64, linked with the library of moped/mpi"
    file = read_file(path, expected)
    # Class, byte order and machine (243 is RISC-V): System V ABI, ELF header; RISC-V ELF psABI, section 8.1.
    if file[:6] != b"\x7fELF\x02\x01" or file[18:20] != b"\xf3\x00":
        msg = f"{path}: found another kind of file; expected {expected}; compile it with moped/mpi/mpicc-chip"
        raise MatchbenchError(msg)
    found = _not_static(file)
    if found is not None:
        msg = f"{path}: found {found}; expected {expected}; link it with -static -no-pie"
        raise MatchbenchError(msg)
    return file


def _not_static(file: bytes) -> str | None:
    """Return what an ELF file for RV64 is if it is not a static executable at fixed addresses."""
    try:
        kind, start, size, count = (
            *struct.unpack_from("<H", file, 16),
            *struct.unpack_from("<Q", file, 32),
            *struct.unpack_from("<HH", file, 54),
        )
        segments = {struct.unpack_from("<I", file, start + at * size)[0] for at in range(count)}
    except struct.error:
        return "an ELF file that ends in its headers"
    if _ELF_INTERPRETER in segments:
        return "a dynamically linked program"
    if kind == _ELF_SHARED:
        return "a shared library or a position-independent program"
    return None if kind == _ELF_EXECUTABLE else "an ELF file that is not executable"


def _show_counts(found: ChipRun, seconds: float) -> None:
    """Print counts and the speed to standard error."""
    user, kernel = found["user_instructions"], found["kernel_instructions"]
    rate = (user + kernel + found["timed_instructions"]) / seconds / 1e6 if seconds > 0 else 0
    click.echo(
        f"functional: {tables.count(user)} user instructions, {tables.count(kernel)} kernel instructions, "
        f"{tables.count(found['time'])} of the longest core with its waits",
        err=True,
    )
    if found["moped"] is not None:
        words = [f"{tables.count(value)} {name.replace('_', ' ')}" for name, value in found["moped"]]
        click.echo(f"moped: {', '.join(words)}", err=True)
    click.echo(f"host: {seconds:.2f} s, {rate:.1f} million instructions/s", err=True)
