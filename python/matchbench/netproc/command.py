# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench netproc`: packet handlers on network processors, cycle by cycle."""

import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click

from matchbench import MatchbenchError, _native
from matchbench.cli.program_options import kanata_option
from matchbench.cli.progress import progress_bar
from matchbench.cli.replay_options import output_options
from matchbench.cli.set_option import named, set_option
from matchbench.cli.values import Whole
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import document, tables
from matchbench.display.output import check_file, reserved_directory, whole_file, write_file, write_files
from matchbench.native_types import Parameter
from matchbench.netproc import machine as netproc
from matchbench.netproc.report import MARKER, everything, show_comparison, show_run
from matchbench.parameters import parse_assignments
from matchbench.parameters import show as show_parameters

CHECK_FAILED = 1
BAD_INPUT = 2

_MOST_SEED = (1 << 64) - 1

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group(
    cls=WholeSummaries,
    name="netproc",
    epilog="""
    Examples:

    \b
      matchbench netproc compare router
      matchbench netproc run capture.pcap --architecture cmp8
      matchbench netproc build handler.c -o handler.elf
      matchbench netproc run capture.pcap --program handler.elf
      matchbench netproc generate -o web.pcap --mix web_switch

    TRAFFIC is a scenario (router, web_switch, vpn, null, 3des) or a capture: a pcap or pcapng file with
    Ethernet, raw IP, Linux cooked or loopback packets.
    Architectures are smt1 to smt8, cmp1 to cmp8 and cmp2_1 to cmp2_8.
    Exit status: 0 done; 1 a handler broke a rule or a decision is wrong, and what was measured until then is
    printed; 2 bad input.
    """,
)
def command() -> None:
    """Run packet handlers on network processors, cycle by cycle, and check every decision."""


def _known(ctx: click.Context) -> Iterable[tuple[str, Parameter]]:
    """Give the parameters of the processors that a command line names; all have the same."""
    given = ctx.params.get("architecture") or ctx.params.get("architectures") or netproc.PAPER
    names = [given] if isinstance(given, str) else list(given)
    all_of_one = _native.NetworkProcessor(names[0]).parameters()
    of_one = ((f"{name}.{each['name']}", each) for name in names for each in all_of_one)
    return [*named(all_of_one), *of_one]


def inputs(function: Function) -> Function:
    """Add the argument and options for the packets and the program of a run to a command."""
    path = click.Path(path_type=Path)
    for decorate in reversed(
        [
            click.argument("traffic"),
            click.option(
                "-n",
                "--packets",
                metavar="N",
                type=Whole(1, 10_000_000),
                help="Packets to run; a capture starts again when it ends. [2000, or the capture]",
            ),
            click.option(
                "--seed",
                default=1,
                show_default=True,
                metavar="N",
                type=Whole(0, _MOST_SEED),
                help="Seed of a scenario's traffic.",
            ),
            click.option(
                "--mean-burst",
                default=16,
                show_default=True,
                metavar="N",
                type=Whole(1, 100_000),
                help="Mean number of packets in a burst of one application; for a scenario.",
            ),
            click.option(
                "-p",
                "--program",
                type=path,
                help="Program of `netproc build`: its handler gets every packet.",
            ),
            set_option(
                _known,
                metavar="[ARCHITECTURE.]KEY=VALUE",
                help="Set a parameter of ARCHITECTURE, or of all processors; repeatable."
                " `netproc show ARCHITECTURE` lists them.",
            ),
            output_options(default="", plots="Write the charts as PNG and SVG too."),
        ]
    ):
        function = decorate(function)
    return function


@command.command(
    epilog="""
    Examples:

    \b
      matchbench netproc run router
      matchbench netproc run capture.pcapng --architecture cmp2_4 --set classifier=table
      matchbench netproc run web_switch --set input=poisson --set rate=300000 -o out/web
      matchbench netproc run capture.pcap --set input=capture --set speed_percent=1000
      matchbench netproc run vpn --kanata 100000:100500 --kanata-file vpn.kanata

    Cycles of --kanata are counted from the start of reception. The initialization of SPINE (line `start`)
    is executed without timing.
    """
)
@inputs
@click.option("-a", "--architecture", default="smt8", show_default=True, help="The processor.")
@kanata_option
@click.option(
    "--kanata-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File of --kanata. [netproc.kanata]",
)
def run(
    architecture: str,
    kanata: tuple[int, int] | None,
    kanata_file: Path | None,
    **words: Any,
) -> int:
    """Run packets on one processor: rate, issue slots, caches, buses, queues and latencies."""
    if kanata_file is not None and kanata is None:
        msg = "--kanata-file: needs --kanata; give both"
        raise MatchbenchError(msg)
    diagram_file = kanata_file or Path("netproc.kanata")
    if kanata is not None:
        values = netproc.parameters_of([architecture], parse_assignments(words["parameters"]))
        if values[architecture].get("timing") == "functional":
            msg = "--kanata: cannot be combined with timing=functional, without a pipeline; set timing=cycles"
            raise MatchbenchError(msg)
        check_file(diagram_file, force=words["force"])
    results = _run([architecture], show_run, kanata=kanata, diagram_file=diagram_file, **words)
    status = _status(results)
    if kanata is not None and not _began(results[0], kanata) and status == 0:
        end = results[0].summary["cycles"]
        msg = f"--kanata: found the last packet in cycle {end}, expected it after cycle {kanata[0]}"
        raise MatchbenchError(msg)
    return status


@command.command(
    epilog="""
    Examples:

    \b
      matchbench netproc compare router
      matchbench netproc compare capture.pcap --program handler.elf -o out/handler
      matchbench netproc compare null -a smt1 -a smt2 -a smt4 -a smt8 -o out/null --plots
      matchbench netproc compare router -a smt8 -a cmp8 --set cmp8.clock=625
    """
)
@inputs
@click.option(
    "-a", "--architecture", "architectures", multiple=True, help="A processor; repeatable. [the paper's four]"
)
def compare(architectures: tuple[str, ...], **words: Any) -> int:
    """Run the same packets on several processors; print the answer, then the table."""
    names = list(dict.fromkeys(architectures or netproc.PAPER))
    return _status(_run(names, show_comparison, **words))


@command.command(
    epilog="""
    Examples:

    \b
      matchbench netproc build handler.c -o handler.elf
      matchbench netproc build handler.c -o handler.elf --zb

    Needs a C compiler for RV64, on Debian the package gcc-riscv64-linux-gnu.
    `netproc/spine/handler.h` describes what a handler may do.
    Exit status: 0 done, 1 the compiler refuses the handler, 2 bad input.
    """
)
@click.argument("handler", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The program.")
@click.option("--cc", default="riscv64-linux-gnu-gcc", show_default=True, help="C compiler for RV64.")
@click.option("--zb", is_flag=True, help="Use the extensions Zba and Zbb.")
@click.option("--force", is_flag=True, help="Replace an earlier program.")
def build(handler: Path, output: Path, cc: str, *, zb: bool, force: bool) -> int:
    """Compile HANDLER, a single C file, and link it with SPINE."""
    check_file(output, force=force)
    try:
        program = netproc.build(handler, compiler=cc, bit_manipulation=zb)
    except netproc.BuildError as error:
        tables.note(str(error))
        return CHECK_FAILED
    write_files({output: program}, force=force)
    tables.line(
        f"{output}: {tables.size(len(program))}; run it with `matchbench netproc run TRAFFIC -p {output}`"
    )
    return 0


@command.command()
@click.argument("architecture")
def show(architecture: str) -> None:
    """List the parameters of ARCHITECTURE, with unit, range, meaning and source."""
    show_parameters(architecture, _native.NetworkProcessor(architecture).parameters())


def _settings(function: Function) -> Function:
    """Add an option for each setting of generated captures."""
    for setting in reversed(_native.packet_settings()):
        unit = setting["unit"] if setting["unit"] not in ("count", "choice") else "N"
        function = click.option(
            f"--{setting['name'].replace('_', '-')}",
            setting["name"],
            metavar="|".join(setting["choices"]) or unit,
            help=f"{setting['help']} [default: {setting['default']}]",
        )(function)
    return function


@command.command(
    epilog="""
    Examples:

    \b
      matchbench netproc generate -o router.pcap
      matchbench netproc generate -o web.pcap --mix web_switch --packets 500 --ipv6-percent 30
    """
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The pcap file.")
@click.option("--seed", default=1, show_default=True, metavar="N", type=Whole(0, _MOST_SEED), help="Seed.")
@click.option(
    "--routes",
    default=1000,
    show_default=True,
    metavar="N",
    type=Whole(1, 4_000_000),
    help="Routes that the destinations match; give runs the same number with --set.",
)
@click.option("--force", is_flag=True, help="Replace an earlier file.")
@_settings
def generate(output: Path, seed: int, routes: int, *, force: bool, **settings: str | None) -> None:
    """Generate a capture: a mix of applications in bursts, with HTTP connections."""
    check_file(output, force=force)
    given = {key: value for key, value in settings.items() if value is not None}
    capture = netproc.generate(given, seed=seed, routes=routes)
    write_files({output: capture}, force=force)
    found = _native.describe_packets(capture)
    tables.line(f"{output}: {tables.count(found['packets'])} packets, {tables.size(len(capture))}")


def _run(
    architectures: list[str],
    show: Callable[[list[netproc.Result], str], None],
    *,
    traffic: str,
    packets: int | None,
    seed: int,
    mean_burst: int,
    program: Path | None,
    parameters: tuple[str, ...],
    output: Path | None,
    plots: bool,
    table_only: bool,
    force: bool,
    kanata: tuple[int, int] | None = None,
    diagram_file: Path | None = None,
) -> list[netproc.Result]:
    """Run the packets on every processor, print what was found, and write the results."""
    values = netproc.parameters_of(architectures, parse_assignments(parameters))
    with ExitStack() as stack:
        if output is not None:
            stack.enter_context(reserved_directory(output, marker=MARKER, force=force))
        elf = netproc.program(program) if program is not None else None
        found = netproc.traffic(traffic, packets=packets, seed=seed, mean_burst=mean_burst)
        for architecture in architectures:  # wrong names and values are refused before the first run
            given: dict[str, Any] = dict(values[architecture])
            _native.NetworkProcessor(architecture, **given)
        results = []
        for architecture in architectures:
            with progress_bar(f"{found.name} on {architecture}") as progress:
                results.append(
                    netproc.run(
                        architecture,
                        found,
                        parameters=values[architecture],
                        program=elf,
                        count=packets,
                        kanata=kanata,
                        progress=progress,
                    )
                )
        diagram = results[0].report["kanata"]
        if diagram_file is not None and diagram is not None and _began(results[0], kanata):
            write_file(stack.enter_context(whole_file(diagram_file, force=force)), diagram)
        if output is not None:
            # Imported here so that `--help` is fast.
            from matchbench.netproc import page

            page.write(results, found.name, output, with_charts=not table_only, plots=plots, force=force)
    with tables.ignoring_closed_pipe() if output is not None else nullcontext():
        if document.is_collected():
            document.become(everything(results, traffic))
        else:
            show(results, traffic)
        if output is not None:
            tables.line(f"results: {output}/report.html")
    return results


def _began(result: netproc.Result, kanata: tuple[int, int] | None) -> bool:
    """Whether the run reached the interval of a diagram."""
    return kanata is not None and kanata[0] <= result.summary["cycles"]


def _status(results: list[netproc.Result]) -> int:
    """Name what failed on standard error; return the exit status."""
    sys.stdout.flush()
    for result in results:
        report, summary = result.report, result.summary
        if report["error"] is not None:
            tables.warn(f"{result.architecture}: {report['error']}")
        if summary["mismatches"]:
            wrong = f"{summary['mismatches']} of {summary['checked']} decisions are wrong"
            tables.warn(f"{result.architecture}: {wrong}")
            found = report["mismatches"]
            for packet, text in zip(found["packet"], found["text"], strict=True):
                tables.note(f"  packet {packet}: {text}")
        if not summary["balanced"]:
            tables.warn(f"{result.architecture}: packets are not accounted for")
    return 0 if all(result.passed for result in results) else CHECK_FAILED
