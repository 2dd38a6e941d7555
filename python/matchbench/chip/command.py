# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench chip`: static RISC-V MPI programs on a simulated chip with MOPED."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from matchbench import MatchbenchError, _native
from matchbench.chip import report as chip_report
from matchbench.chip.end import exit_status
from matchbench.chip.files import OutputFiles, counts_of
from matchbench.chip.program import read_program
from matchbench.chip.trace import ChipTrace
from matchbench.cli.program_options import (
    check_environment,
    environment_option,
    kanata_option,
    program_output,
)
from matchbench.cli.set_option import named, set_option
from matchbench.cli.usage import Choice
from matchbench.cli.values import Whole
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import document, tables
from matchbench.native_types import ChipRun, Parameter
from matchbench.parameters import distribute, parse_assignments
from matchbench.parameters import show as show_parameters

CORE = "ooo"
DESIGN = "optcopy"

_PATIENCE = 100_000_000  # instructions of a core
_PATIENCE_WITH_TIME = 5_000_000  # cycles
_MIB = 1 << 20
_MOST_MEMORY = 1 << 14  # MiB

_design_option = click.option(
    "--design", default=DESIGN, show_default=True, help="Design of MOPED, by the name of its preset."
)
_migratory_option = click.option(
    "--migratory/--no-migratory",
    default=True,
    show_default=True,
    help="Whether a read of a modified line transfers ownership of the line.",
)


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
@_design_option
@_migratory_option
def protocol(design: str, migratory: bool) -> None:
    """Print the transitions of the coherence protocol, as tables in Markdown."""
    tables.write(_native.chip_protocol(design, migratory))


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
    type=Whole(1, 512),
    help="Number of processes.",
)
@click.option(
    "--cores",
    metavar="N",
    type=Whole(1, 64),
    help="Number of cores. [one for each process, at most 64]",
)
@click.option(
    "--transport",
    default="moped",
    show_default=True,
    type=Choice(["shm", "moped"]),
    help="Transport of messages: shared memory, or the device.",
)
@_design_option
@click.option(
    "--descriptors",
    metavar="N",
    type=Whole(1, 256),
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
@_migratory_option
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
    type=Whole(1, _MOST_MEMORY),
    help="Memory of the chip in MiB.",
)
@click.option(
    "--frequency",
    default=1_000_000_000,
    show_default=True,
    metavar="HZ",
    type=Whole(100, 18_000_000_000),
    help="Cycles (without time: instructions of a core) in a second of the program's clock.",
)
@environment_option
@click.option("--limit", metavar="N", type=Whole(1), help="Stop after N cycles or instructions of a core.")
@click.option(
    "--patience",
    metavar="N",
    type=Whole(1000),
    help="Cycles or instructions of a core without progress after which a deadlock is reported. "
    "[100 million; 5 million with time]",
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write all counts to FILE.json."
)
@click.option(
    "--timeline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the activity of cores and devices over time, for the Perfetto viewer.",
)
@kanata_option
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
    output: Path | None,
    timeline: Path | None,
    kanata: tuple[int, int] | None,
    kanata_file: Path | None,
    trace_directory: Path | None,
    *,
    migratory: bool,
    force: bool,
) -> int:
    """Run PROGRAM to its end and print instructions, cycles and the counts of the devices."""
    files = OutputFiles.of(output, timeline, kanata, kanata_file, mode=mode)
    files.check(force=force)
    check_environment(environment)
    used = design if transport == "moped" else None
    pairs = _settings(core, used, settings)
    file = read_program(program)
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
    with _errors_of(program), program_output(), chip_report.progress() as tell:
        found = _native.run_on_chip(
            file,
            arguments=[str(program), *arguments],
            environment=variables,
            ranks=ranks,
            cores=cores,
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
    seconds = time.monotonic() - start
    if found["messages"]:
        tables.note(found["messages"].removesuffix("\n"))
    wrong = chip_report.without_cycles(found, kanata) if kanata is not None else None
    files.write(found, seconds, diagram=None if wrong else found["kanata"], force=force)
    if document.is_collected():
        document.become(counts_of(found, seconds))
    elif not document.is_quiet():
        if mode != "functional":
            chip_report.show(found)
        _show_counts(found, seconds)
    if trace is not None:
        for line in trace.lines(found["status"] or 0):
            tables.note(line)
    unit = "instructions of a core" if mode == "functional" else "cycles"
    return exit_status(program, found, f"{limit} {unit}", wrong)


@contextmanager
def _errors_of(program: Path) -> Iterator[None]:
    """Name the program in errors."""
    try:
        yield
    except MatchbenchError as error:
        msg = f"{program}: {error}"
        raise MatchbenchError(msg) from None


def _settings(core: str, design: str | None, words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Parse the parameters of a chip and its devices."""
    known = {"chip": [each["name"] for each in _native.chip_parameters(core, design)]}
    listing = f"matchbench chip show --core {core}" + ("" if design is None else f" --design {design}")
    found = distribute(parse_assignments(words), known, listing=listing)
    return [(key, str(value)) for key, value in found["chip"].items()]


def _show_counts(found: ChipRun, seconds: float) -> None:
    """Print counts and the speed to standard error."""
    user, kernel = found["user_instructions"], found["kernel_instructions"]
    rate = (user + kernel + found["timed_instructions"]) / seconds / 1e6 if seconds > 0 else 0
    tables.note(
        f"functional: {tables.count(user)} user instructions, {tables.count(kernel)} kernel instructions, "
        f"{tables.count(found['time'])} of the longest core with its waits"
    )
    if found["moped"] is not None:
        words = [f"{tables.count(value)} {name.replace('_', ' ')}" for name, value in found["moped"]]
        tables.note(f"moped: {', '.join(words)}")
    tables.note(f"host: {seconds:.2f} s, {rate:.1f} million instructions/s")
