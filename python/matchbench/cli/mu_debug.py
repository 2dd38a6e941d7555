# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The debugger of `matchbench mu debug`: commands in, text out.

Contract: an invalid command prints one line, and the session continues. The match unit is deterministic, so
`back` restarts the session and stops earlier.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from matchbench import MatchbenchError, tables
from matchbench.cli.mu_common import answer_text, row_lines, write_text
from matchbench.match_unit import Setup
from matchbench.match_unit_files import ITEM_BITS
from matchbench.native_types import Answer, State, Stopped

PROMPT = "(mu) "
AROUND = 4  # words before and after the one that is shown
REGISTERS = 16
RELATIONS = ("==", "!=", "<", "<=", ">", ">=")
CONDITION_WORDS = 4  # if NAME OP NUMBER


class InvalidCommandError(MatchbenchError):
    """An invalid command; the message states the reason."""


@dataclass(frozen=True, slots=True)
class Command:
    """Usage and description of a command, and the function that runs it."""

    usage: str
    sentence: str
    run: Callable[[list[str]], None]


class Debugger:
    """A match unit with breakpoints, and commands that show its state.

    Parameters
    ----------
    setup
        The inputs of the run.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.unit = setup.unit()
        self.reported = 0
        self.broken: str | None = None
        self.conditions: dict[int, tuple[str, str, int] | None] = {}
        self.watched: list[str] = []
        self.written: list[tuple[int, str, int]] = []
        self.rejected = False
        self.done = False
        self.commands = {
            "step": Command("step [N]", "Issue N words, one by default, and show their effects.", self._step),
            "continue": Command(
                "continue [N]", "Run to a breakpoint or to the end of a search, N times.", self._continue
            ),
            "finish": Command("finish", "Run to the end; breakpoints and watches stop it.", self._finish),
            "run-to": Command("run-to PLACE", "Run until the word at PLACE is next.", self._run_to),
            "back": Command("back [N]", "Undo N words, one by default.", self._back),
            "restart": Command("restart", "Restart from reset; breakpoints stay.", self._restart),
            "break": Command(
                "break [PLACE [if NAME OP NUMBER]]",
                "Set a breakpoint at PLACE, with a condition; without PLACE: list breakpoints.",
                self._break,
            ),
            "delete": Command("delete PLACE|all", "Delete the breakpoint at PLACE, or all.", self._delete),
            "watch": Command(
                "watch [NAME]", "Stop when NAME changes; without NAME: list watches.", self._watch
            ),
            "unwatch": Command("unwatch NAME", "Watch NAME no longer.", self._unwatch),
            "set": Command("set NAME NUMBER", "Write a register or predicate.", self._set),
            "print": Command("print NAME...", "Show registers, predicates or items by name.", self._print),
            "registers": Command("registers", "Show all registers.", self._registers),
            "predicates": Command("predicates", "Show all predicates.", self._predicates),
            "fifos": Command("fifos", "Show what the FIFOs hold.", self._fifos),
            "lists": Command("lists", "Show both lists, the head cache and the memory.", self._lists),
            "list": Command(
                "list [PLACE]", "Show the program around the next word, or around PLACE.", self._list
            ),
            "where": Command("where", "Show the next word and the current search.", self._where),
            "answers": Command("answers", "Show the answers so far.", self._answers),
            "totals": Command("totals", "Show cycles, words and stall cycles so far.", self._totals),
            "help": Command("help [COMMAND]", "Show the commands, or one.", self._help),
            "quit": Command("quit", "Exit.", self._quit),
        }
        self.short = {"s": "step", "c": "continue", "r": "run-to", "u": "back", "b": "break", "d": "delete"}
        self.short |= {"p": "print", "l": "list", "w": "where", "h": "help", "q": "quit"}

    def execute(self, line: str) -> None:
        """Run one command line; an empty one and a comment do nothing."""
        words = line.partition("#")[0].split()
        if not words:
            return
        try:
            self._find(words[0]).run(words[1:])
        except MatchbenchError as error:
            self.rejected = True
            tables.line(f"? {error}")

    def _find(self, name: str) -> Command:
        name = self.short.get(name, name)
        known = [command for command in self.commands if command.startswith(name)]
        if name in self.commands:
            return self.commands[name]
        if len(known) != 1:
            what = (
                f"ambiguous; expected {' or '.join(known)}" if known else "unknown; `help` lists the commands"
            )
            msg = f"command `{name}`: {what}"
            raise InvalidCommandError(msg)
        return self.commands[known[0]]

    def complete(self, line: str, text: str) -> list[str]:
        """Return the completions of `text` at the end of `line`."""
        before = line.split()[: None if line.endswith(" ") or not line else -1]
        if not before:
            known: Iterable[str] = self.commands
        elif self.short.get(before[0], before[0]) in {"break", "delete", "run-to", "list"}:
            known = [label for word in self.setup.words for label in word.labels]
        elif self.short.get(before[0], before[0]) == "print":
            known = self.setup.registers
        elif self.short.get(before[0], before[0]) == "help":
            known = self.commands
        else:
            known = []
        return [word for word in known if word.startswith(text)]

    # Moving.

    def _step(self, words: list[str]) -> None:
        to_go = _number(words)
        while to_go > 0:
            stopped = self._moved(self.unit.step)
            if stopped["row"]:
                to_go -= 1
                sys.stdout.writelines(row_lines(self.setup, stopped["row"]))
            if stopped["why"] in {"idle", "broken"}:
                break
        self._next_word()

    def _continue(self, words: list[str]) -> None:
        for _ in range(_number(words)):
            if self._moved(self.unit.resume)["why"] not in {"answered", "breakpoint"}:
                break
        self._next_word()

    def _finish(self, words: list[str]) -> None:
        _nothing(words)
        self._moved(self.unit.run_to_end)
        self._next_word()

    def _run_to(self, words: list[str]) -> None:
        address = self._place(words)
        self._moved(lambda: self.unit.run_to(address))
        self._next_word()

    def _moved(self, move: Callable[[], Stopped]) -> Stopped:
        """Advance, and print why the unit stopped unless the command implies it."""
        if self.broken:
            msg = "the program violated the protocol; use `back` or `restart`"
            raise InvalidCommandError(msg)
        stopped = move()
        for answer in self.unit.answers(self.reported):
            self._report(answer)
            self.reported += 1
        if stopped["why"] == "breakpoint":
            tables.line("breakpoint")
        elif stopped["changed"]:
            register, before, after = stopped["changed"]
            old = before if register.startswith("p") else hex(before)
            tables.line(f"changed: {write_text(self.setup, register, after)}, {old} before")
        elif stopped["why"] == "idle":
            tables.line("no header is left")
        elif stopped["broken"]:
            self.broken = stopped["broken"]
            tables.line(f"! {self.setup.broken(self.broken, self.unit.pc)}")
        return stopped

    def _report(self, answer: Answer) -> None:
        tables.line(f"answered in cycle {answer['answered']}: {answer_text(self.setup, answer)}")

    def _back(self, words: list[str]) -> None:
        issued = self.unit.totals()["words"]
        back = _number(words)
        if back > issued:
            msg = f"found {back}; expected at most {_words(issued)}, the number issued"
            raise InvalidCommandError(msg)
        self._anew(issued - back)

    def _restart(self, words: list[str]) -> None:
        _nothing(words)
        self._anew(0)

    def _anew(self, words: int) -> None:
        self.unit = self.setup.unit()
        self.broken = None
        # What was written is part of the run up to the word at which it was.
        self.written = [write for write in self.written if write[0] <= words]
        for issued, register, value in self.written:
            self.unit.skip(issued)
            self.unit.write_register(register, value)
        self.unit.skip(words)
        for address, condition in self.conditions.items():
            self.unit.set_breakpoint(address, stop=True, condition=condition)
        for register in self.watched:
            self.unit.watch_register(register, stop=True)
        self.reported = len(self.unit.answers(0))
        self._next_word()

    # Breakpoints.

    def _break(self, words: list[str]) -> None:
        if not words:
            for address in self.unit.breakpoints():
                tables.line(f"{self._word(address)}{self._condition_text(address)}")
            if not self.unit.breakpoints():
                tables.line("no breakpoints")
            return
        address = self._place(words[:1])
        condition = self._condition(words[1:])
        is_new = self.unit.set_breakpoint(address, stop=True, condition=condition)
        known = "already a breakpoint" if condition == self.conditions.get(address) else "changed breakpoint"
        self.conditions[address] = condition
        what = "breakpoint" if is_new else known
        tables.line(f"{what} at {self._word(address)}{self._condition_text(address)}")

    def _condition(self, words: list[str]) -> tuple[str, str, int] | None:
        if not words:
            return None
        if len(words) != CONDITION_WORDS or words[0] != "if" or words[2] not in RELATIONS:
            expected = f"if NAME OP NUMBER, with OP one of: {' '.join(RELATIONS)}"
            msg = f"found `{' '.join(words)}`; expected {expected}"
            raise InvalidCommandError(msg)
        return self._register(words[1]), words[2], _value(words[3])

    def _condition_text(self, address: int) -> str:
        if (condition := self.conditions.get(address)) is None:
            return ""
        register, relation, value = condition
        return f", if {self.setup.register_name(register)} {relation} {value:#x}"

    def _register(self, name: str) -> str:
        """Return the register that a name of the program, or the register's own name, stands for."""
        register = self.setup.registers.get(name, name)
        kind, number = register[:1], register[1:]
        if not (kind and kind in "atp" and number.isdecimal() and int(number) < REGISTERS):
            named = "".join(f", {known}" for known in self.setup.registers)
            msg = f"name `{name}`: unknown; expected one of: a0 to a15, t0 to t15, p0 to p15{named}"
            raise InvalidCommandError(msg)
        return f"{kind}{int(number)}"

    def _watch(self, words: list[str]) -> None:
        if not words:
            for register in self.watched:
                tables.line(self._value(register))
            if not self.watched:
                tables.line("no watches")
            return
        register = self._register(_only(words, "a register"))
        if self.unit.watch_register(register, stop=True):
            self.watched.append(register)
        tables.line(f"watch {self._value(register)}")

    def _unwatch(self, words: list[str]) -> None:
        register = self._register(_only(words, "a register"))
        if not self.unit.watch_register(register, stop=False):
            msg = f"{self.setup.register_name(register)}: not watched; `watch` lists what is"
            raise InvalidCommandError(msg)
        self.watched.remove(register)

    def _set(self, words: list[str]) -> None:
        words = [word for word in words if word != "="]
        if len(words) != 2:
            msg = f"found {len(words)} arguments; expected NAME NUMBER"
            raise InvalidCommandError(msg)
        register, value = self._register(words[0]), _value(words[1])
        if register.startswith("p") and value > 1:
            msg = f"predicate `{words[0]}`: found {value}; expected 0 or 1"
            raise InvalidCommandError(msg)
        if not self.unit.write_register(register, value):
            msg = f"`{words[0]}`: is a constant; expected a register from 1 to 15"
            raise InvalidCommandError(msg)
        self.written.append((self.unit.totals()["words"], register, value))
        tables.line(self._value(register))

    def _delete(self, words: list[str]) -> None:
        if words == ["all"]:
            for address in self.unit.breakpoints():
                self.unit.set_breakpoint(address, stop=False)
            self.conditions.clear()
            return
        address = self._place(words)
        self.conditions.pop(address, None)
        if not self.unit.set_breakpoint(address, stop=False):
            msg = f"{self.setup.place(address)}: no breakpoint; `break` lists them"
            raise InvalidCommandError(msg)

    def _place(self, words: list[str]) -> int:
        if len(words) != 1:
            msg = f"found {len(words)} arguments; expected a label, an address or LABEL+DISTANCE"
            raise InvalidCommandError(msg)
        label, plus, distance = words[0].partition("+")
        address = self.unit.place(label)
        if plus and not distance.isdecimal():
            msg = f"found `{distance}` behind `{label}+`; expected a number of words"
            raise InvalidCommandError(msg)
        return self.unit.place(str(address + int(distance))) if plus else address

    # Showing.

    def _where(self, words: list[str]) -> None:
        _nothing(words)
        state = self.unit.state()
        if state["searching"]:
            header, name, answered = state["searching"]
            title = self.setup.headers[header].name
            tables.line(f"search of the {name} list for {title}, {answered} answered")
        else:
            tables.line("no current search")
        tables.line(f"headers to come: {state['waiting']}")
        self._next_word()

    def _next_word(self) -> None:
        state = self.unit.state()
        branch = ""
        if state["branch"]:
            slots, target = state["branch"]
            branch = f"  ; branch to {self.setup.place(target)} after {_words(slots)}"
        tables.line(f"cycle {state['cycle']}, next {self._word(state['pc'])}{branch}")

    def _word(self, address: int) -> str:
        word = self.setup.words[address]
        line = "" if word.line is None else f" (line {word.line})"
        return f"{self.setup.place(address)}{line}: {word.text}"

    def _print(self, words: list[str]) -> None:
        if not words:
            msg = "found no name; expected registers, predicates or items"
            raise InvalidCommandError(msg)
        for word in words:
            tables.line(self._value(word))

    def _value(self, name: str) -> str:
        state = self.unit.state()
        register = self.setup.registers.get(name, name)
        kind, number = register[:1], register[1:]
        if kind in "atp" and number.isdecimal() and int(number) < REGISTERS:
            value = _register(state, kind, int(number))
            shown = write_text(self.setup, register, value)
            return shown if shown.startswith(f"{register} ") else f"{register} {shown}"
        table, bracket, rest = name.partition("[")
        if table in {"posted", "unexpected"} and bracket and rest[:-1].isdecimal() and rest.endswith("]"):
            entries = self.unit.entries(table)
            if int(rest[:-1]) >= len(entries):
                msg = f"`{name}`: no such item; expected an index below {len(entries)}"
                raise InvalidCommandError(msg)
            content = entries[int(rest[:-1])]["words"]
            return f"{name}: " + " ".join(f"{content_word:#x}" for content_word in content)
        named = "".join(f", {known}" for known in self.setup.registers)
        known = "a0 to a15, t0 to t15, p0 to p15, posted[N], unexpected[N]"
        msg = f"name `{name}`: unknown; expected one of: {known}{named}"
        raise InvalidCommandError(msg)

    def _registers(self, words: list[str]) -> None:
        _nothing(words)
        state = self.unit.state()
        rows = []
        for number in range(REGISTERS):
            row: list[str] = []
            for kind in "at":
                register = f"{kind}{number}"
                name = self.setup.register_name(register)
                value = _register(state, kind, number)
                row += [register, "" if name == register else name, f"{value:#018x}"]
            rows.append(row)
        tables.show(None, ["alu", "name", ">value", "ternary", "name", ">value"], rows)

    def _predicates(self, words: list[str]) -> None:
        _nothing(words)
        state = self.unit.state()
        names = [f"p{number}" for number in range(REGISTERS)]
        bits = [_register(state, "p", number) for number in range(REGISTERS)]
        tables.line(
            " ".join(f"{self.setup.register_name(name)}={bit}" for name, bit in zip(names, bits, strict=True))
        )

    def _fifos(self, words: list[str]) -> None:
        _nothing(words)
        state = self.unit.state()
        depth = self._parameter("fifo")
        tables.line(f"input: {len(state['input'])} of {depth} words, head first")
        for word, tag, entered in state["input"]:
            tables.line(f"  {tag:6} {word:#018x} since cycle {entered}")
        tables.line(f"output: {_words(len(state['output']))} pending at the list manager")
        for word, last, enters in state["output"]:
            tables.line(f"  {word:#018x} from cycle {enters} on{', last of an answer' if last else ''}")

    def _lists(self, words: list[str]) -> None:
        _nothing(words)
        state = self.unit.state()
        local = spilled = 0
        for name in ("posted", "unexpected"):
            entries = self.unit.entries(name)
            tables.line(f"{name}: {len(entries)} {'item' if len(entries) == 1 else 'items'}")
            rows: list[list[object]] = []
            answered = state["searching"][2] if state["searching"] and state["searching"][1] == name else 0
            for number, entry in enumerate(entries):
                local, spilled = local + (not entry["spilled"]), spilled + entry["spilled"]
                cached = entry["cached_since"]
                memory = "host" if entry["spilled"] else "local"
                bits, care = entry["words"][:2]
                ignore = ~care & (1 << ITEM_BITS["ignore"]) - 1
                rows.append(
                    [
                        f"{number}{' answered' if number < answered else ''}",
                        self.setup.item_name(entry["item"]),
                        entry["handle"],
                        f"{bits:#x}",
                        f"{ignore:#x}",
                        memory if cached is None else f"{memory}, cached from cycle {cached} on",
                    ]
                )
            if rows:
                tables.show(
                    None,
                    ["  #", "name", ">handle", ">bits", ">ignore", "memory"],
                    [[f"  {row[0]}", *row[1:]] for row in rows],
                )
        tables.line(
            f"local memory: {local} of {self._parameter('capacity')} items in use; host memory: {spilled}"
        )

    def _parameter(self, name: str) -> str:
        return next(
            parameter["value"] for parameter in self.setup.engine.parameters() if parameter["name"] == name
        )

    def _list(self, words: list[str]) -> None:
        pc = self.unit.pc
        middle = self._place(words) if words else pc
        breakpoints = self.unit.breakpoints()
        for address in range(max(middle - AROUND, 0), min(middle + AROUND + 1, len(self.setup.words))):
            word = self.setup.words[address]
            mark = f"{'>' if address == pc else ' '}{'*' if address in breakpoints else ' '}"
            line = "" if word.line is None else word.line
            tables.line(f"{mark} {address:4} {line:>5}  {self.setup.place(address):15} {word.text}")

    def _answers(self, words: list[str]) -> None:
        _nothing(words)
        answers = self.unit.answers(0)
        for answer in answers:
            self._report(answer)
        if not answers:
            tables.line("no answers yet")

    def _totals(self, words: list[str]) -> None:
        _nothing(words)
        totals = self.unit.totals()
        waits = [f"{cycles} {cause}" for cause, cycles in totals["stalls"] if cycles]
        tables.line(
            f"cycles {totals['cycles']}, words {totals['words']}, waited: {', '.join(waits) or 'none'}"
        )

    def _help(self, words: list[str]) -> None:
        if words:
            command = self._find(words[0])
            tables.line(f"{command.usage}: {command.sentence}")
            return
        short = {name: f", {key}" for key, name in self.short.items()}
        rows = [
            (f"{command.usage}{short.get(name, '')}", command.sentence)
            for name, command in self.commands.items()
        ]
        width = max(len(usage) for usage, _ in rows)
        for usage, sentence in rows:
            tables.line(f"{usage:{width}}  {sentence}")
        tables.line("PLACE is a label, an address, or LABEL+DISTANCE. Commands may be abbreviated: `reg`.")

    def _quit(self, words: list[str]) -> None:
        _nothing(words)
        self.done = True


def _register(state: State, kind: str, number: int) -> int:
    if kind == "p":
        return state["predicates"] >> number & 1
    return (state["alu"] if kind == "a" else state["ternary"])[number]


def _words(number: int) -> str:
    return f"{number} {'word' if number == 1 else 'words'}"


def _nothing(words: list[str]) -> None:
    if words:
        msg = f"found `{words[0]}`; expected no argument"
        raise InvalidCommandError(msg)


def _only(words: list[str], what: str) -> str:
    if len(words) != 1:
        msg = f"found {len(words)} arguments; expected {what}"
        raise InvalidCommandError(msg)
    return words[0]


def _value(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        msg = f"found `{text}`; expected a number from 0 to {(1 << 64) - 1}"
        raise InvalidCommandError(msg)
    return value


def _number(words: list[str]) -> int:
    if not words:
        return 1
    if len(words) > 1 or not words[0].isdecimal() or int(words[0]) < 1:
        msg = f"found `{' '.join(words)}`; expected a number of at least 1"
        raise InvalidCommandError(msg)
    return int(words[0])


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
