# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sessions of `matchbench match_unit debug`: a script, or a terminal with history and completion."""

from collections.abc import Iterable, Iterator

from matchbench.display import tables
from matchbench.match_unit.debug_command import Debugger

PROMPT = "(match_unit) "


def run_script(debugger: Debugger, lines: Iterable[str]) -> None:
    """Run commands one after the other, each shown as if typed."""
    for line in lines:
        if debugger.done:
            return
        if line.partition("#")[0].strip():
            tables.line(f"{PROMPT}{line.strip()}")
        debugger.execute(line)


def interact(debugger: Debugger) -> None:
    """Read commands from a terminal: Ctrl-C interrupts a command or drops the line, Ctrl-D exits."""
    _prepare_terminal(debugger)
    last = ""
    debugger.execute("where")
    tables.line("`help` lists the commands; an empty line repeats `step`, `back` or `continue`")
    while not debugger.done:
        try:
            line = input(PROMPT)
            repeats = line.strip() == ""
            line = last if repeats else line
            debugger.execute(line)
            name = line.split()[0] if line.split() else ""
            last = line if debugger.short.get(name, name) in {"step", "back", "continue"} else ""
        except KeyboardInterrupt:
            tables.line()
        except EOFError:
            tables.line()
            return


def _prepare_terminal(debugger: Debugger) -> None:
    """Enable history and completion at the prompt, where Python has them."""
    try:
        import readline
    except ImportError:
        return

    def completions() -> Iterator[str]:
        line = readline.get_line_buffer()[: readline.get_endidx()]
        yield from debugger.complete(line, line[readline.get_begidx() :])

    def complete(_: str, number: int) -> str | None:
        found = list(completions())
        return f"{found[number]} " if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
