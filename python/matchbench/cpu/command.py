# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench cpu`: static RISC-V programs for Linux on core models."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from matchbench import MatchbenchError, _native
from matchbench.cli import complete
from matchbench.cli.program_options import (
    check_environment,
    environment_option,
    kanata_option,
    program_output,
)
from matchbench.cli.set_option import named, set_option
from matchbench.cli.values import Whole
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import document, tables
from matchbench.display.output import check_file, write_files
from matchbench.input import read_bytes
from matchbench.native_types import ProgramRun, Progress
from matchbench.parameters import distribute, parse_assignments
from matchbench.parameters import show as show_parameters

CHECK_FAILED = 1

_MIB = 1 << 20
_MOST_MEMORY = 1 << 14  # MiB
_NO_LIMIT = (1 << 64) - 1
_PROGRAM = "a static ELF file for RV64"
# Seconds: shorter runs show no progress, and longer ones this often.
_BEFORE_PROGRESS = 1.0
_BETWEEN_PROGRESS = 0.2


@click.group(
    cls=WholeSummaries,
    name="cpu",
    epilog="""
    Examples:

    \b
      matchbench cpu run program.elf
      matchbench cpu run program.elf input.txt --core cortex_a72
      matchbench cpu show cortex_a72
      matchbench cpu run rv64ud-p-fadd --unit-test

    Exit status of `run`: that of the program; 1 if it cannot continue or reaches --limit; 2 bad input.
    """,
)
def command() -> None:
    """Run static RV64 programs for Linux on core models, cycle by cycle."""


@command.command(
    context_settings={"allow_interspersed_args": True},
    epilog="""
    Examples:

    \b
      matchbench cpu run program.elf one two
      matchbench cpu run program.elf --core smt1 --set float_add=8
      matchbench cpu run program.elf --core cortex_a72 --kanata 10000:10500 --kanata-file out.kanata
      matchbench cpu run --core cortex_a72 program.elf -- --option-of-the-program

    PROGRAM is a static ELF file for RV64GC, of C, C++ or Fortran. It sees the files of this machine, and no
    environment variables but those of --env. Its output goes to standard output, the counts to standard
    error. Without --limit there is no limit; Ctrl-C ends the run.
    """,
)
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1)
@click.option(
    "-c",
    "--core",
    default="functional",
    show_default=True,
    shell_complete=complete.CORE,
    help="The core model.",
)
@set_option(
    lambda ctx: named(_native.core_parameters(ctx.params.get("core") or "functional", [])),
    help="Set a parameter of the core; repeatable. `cpu show CORE` lists them.",
)
@click.option(
    "--memory",
    default=256,
    show_default=True,
    metavar="MIB",
    type=Whole(1, _MOST_MEMORY),
    help="Memory of the program in MiB.",
)
@environment_option
@click.option(
    "--limit",
    metavar="N",
    type=Whole(1),
    help="Stop after N cycles (functional model: instructions).",
)
@kanata_option
@click.option(
    "--kanata-file", metavar="FILE", type=click.Path(path_type=Path), help="File of --kanata. [cpu.kanata]"
)
@click.option("--unit-test", is_flag=True, help="PROGRAM is a public RISC-V unit test, rv64u*.")
@click.option("--force", is_flag=True, help="Replace an earlier file.")
def run(
    program: Path,
    arguments: tuple[str, ...],
    core: str,
    parameters: tuple[str, ...],
    memory: int,
    environment: tuple[str, ...],
    limit: int | None,
    kanata: tuple[int, int] | None,
    kanata_file: Path | None,
    *,
    unit_test: bool,
    force: bool,
) -> int:
    """Run PROGRAM to its end and print instructions, cycles and misses."""
    if unit_test:
        _refuse_beside_unit_test(click.get_current_context())
        return _unit_test(program, read_bytes(program, "a public RISC-V unit test"))
    file = read_bytes(program, _PROGRAM)
    if kanata_file is not None and kanata is None:
        msg = "--kanata-file: needs --kanata; give both"
        raise MatchbenchError(msg)
    diagram_file = kanata_file or Path("cpu.kanata")
    if kanata is not None:
        if core == "functional":
            msg = "--kanata: cannot be combined with --core functional, which has no cycles; choose another"
            raise MatchbenchError(msg)
        if limit is not None and limit <= kanata[0]:
            msg = f"--kanata: found the first cycle {kanata[0]}, expected one below {limit} (--limit)"
            raise MatchbenchError(msg)
        check_file(diagram_file, force=force)
    check_environment(environment)
    settings = _settings(core, parameters)
    sys.stdout.flush()
    start = time.monotonic()
    try:
        with program_output(), _progress(core) as progress:
            found = _native.run_program(
                file,
                arguments=[os.fsencode(word) for word in (str(program), *arguments)],
                environment=[os.fsencode(word) for word in environment],
                core=core,
                settings=settings,
                memory=memory * _MIB,
                cycles=limit,
                kanata=kanata,
                progress=progress,
            )
    except MatchbenchError as error:
        raise _named(program, error) from None
    seconds = time.monotonic() - start
    if found["kanata"] is not None:
        write_files({diagram_file: found["kanata"]}, force=force)
    if document.is_collected():
        document.become(
            {"core": core, "counts": dict(found["counts"]), "status": found["status"], "seconds": seconds}
        )
    elif not document.is_quiet():
        _show_counts(core, found["counts"], seconds)
    status = _status(program, core, limit, found)
    if kanata is not None and found["kanata"] is None and found["failure"] is None:
        end = dict(found["counts"])["cycles"]
        msg = f"--kanata: found the end of the program in cycle {end}, expected it after cycle {kanata[0]}"
        raise MatchbenchError(msg)
    return status


def _named(program: Path, error: MatchbenchError) -> MatchbenchError:
    """Name the program in an error that is not of its core."""
    text = str(error)
    return error if text.startswith("core ") else MatchbenchError(f"{program}: {text}")


def _refuse_beside_unit_test(context: click.Context) -> None:
    """Refuse the options of other runs: unit tests have neither cycles nor arguments."""
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        name = str(parameter.name)
        if name not in {"program", "unit_test"} and context.get_parameter_source(name) == given:
            word = max(parameter.opts, key=len)  # the long form of an option
            msg = f"--unit-test: cannot be combined with {word}; give one of them"
            raise MatchbenchError(msg)


@contextlib.contextmanager
def _progress(core: str) -> Iterator[Progress | None]:
    """Yield what shows the cycles done on the last line of a terminal, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    told = start + _BEFORE_PROGRESS - _BETWEEN_PROGRESS
    unit = "instructions" if core == "functional" else "cycles"

    def tell(done: int, total: int) -> None:
        nonlocal told
        moment = time.monotonic()
        if moment - told < _BETWEEN_PROGRESS:
            return
        told = moment
        limit = f" of {total / 1e6:.1f}" if total < _NO_LIMIT else ""
        tables.progress(f"{core}: {done / 1e6:.1f}{limit} million {unit}, {moment - start:.0f} s")

    try:
        yield tell
    finally:
        if told > start + _BEFORE_PROGRESS - _BETWEEN_PROGRESS:
            tables.progress("")


def _status(program: Path, core: str, limit: int | None, found: ProgramRun) -> int:
    """Name why the program has no status of its own; return the exit status."""
    if found["failure"] is not None:
        tables.warn(f"{program}: {found['failure']}")
        return CHECK_FAILED
    if found["status"] is None:
        unit = "instructions" if core == "functional" else "cycles"
        reached = tables.count(limit or 0)
        executed = tables.count(dict(found["counts"])["instructions"])
        after = f"{reached} {unit}" + ("" if core == "functional" else f" and {executed} instructions")
        running = f"found it running after {after}, expected its end"
        tables.warn(f"{program}: {running}; raise --limit")
        return CHECK_FAILED
    return int(found["status"])


def _settings(core: str, parameters: tuple[str, ...]) -> list[tuple[str, str]]:
    """Parse the parameters of a core."""
    known = {core: [each["name"] for each in _native.core_parameters(core, [])]}
    found = distribute(parse_assignments(parameters), known, listing=f"matchbench cpu show {core}")
    return [(key, str(value)) for key, value in found[core].items()]


def _show_counts(core: str, counts: list[tuple[str, int]], seconds: float) -> None:
    """Print event counts and derived rates to standard error."""
    values = dict(counts)
    words = [f"{tables.count(value)} {name.replace('_', ' ')}" for name, value in counts]
    if values.get("cycles"):
        words.insert(2, f"{values['instructions'] / values['cycles']:.3f} instructions/cycle")
    tables.note(f"{core}: {', '.join(words)}")
    rate = values["instructions"] / seconds / 1e6 if seconds > 0 else 0
    tables.note(f"host: {seconds:.2f} s, {rate:.1f} million instructions/s")


def _unit_test(program: Path, file: bytes) -> int:
    """Run a unit test and print its verdict."""
    try:
        case = _native.run_unit_test(file)
    except MatchbenchError as error:
        raise _named(program, error) from None
    tables.line(f"{program}: {'pass' if case is None else f'case {case} failed'}")
    return 0 if case is None else CHECK_FAILED


@command.command()
@click.argument("core", shell_complete=complete.CORE)
def show(core: str) -> None:
    """List the parameters of CORE, with unit, range, meaning and source."""
    show_parameters(core, _native.core_parameters(core, []))


@command.command()
def cores() -> None:
    """List the core models."""
    for name in _native.core_models():
        tables.line(name)
