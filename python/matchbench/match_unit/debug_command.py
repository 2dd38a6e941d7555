# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The debugger of `matchbench match_unit debug`: commands in, text out.

Contract: an invalid command prints one line, and the session continues. The match unit is deterministic, so
`back` restarts the session and stops earlier.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from matchbench import MatchbenchError
from matchbench._native import unknown_name
from matchbench.display import tables
from matchbench.match_unit.common import row_lines, text_of_write
from matchbench.match_unit.debug_arguments import (
    InvalidCommandError,
    count_of,
    nothing,
    only,
    place_of,
    register_of,
    value_of,
    words_text,
)
from matchbench.match_unit.debug_view import StateView
from matchbench.match_unit.program import Setup
from matchbench.native_types import Stopped

RELATIONS = ("==", "!=", "<", "<=", ">", ">=")
CONDITION_WORDS = 4  # if NAME OP NUMBER


@dataclass(frozen=True, slots=True)
class Command:
    """Usage and description of a command, and the function that runs it."""

    usage: str
    sentence: str
    run: Callable[[list[str]], None]


class Debugger(StateView):
    """A match unit with breakpoints, and commands that show its state.

    Parameters
    ----------
    setup
        The inputs of the run.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
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
            "unwatch": Command("unwatch NAME", "Stop watching NAME.", self._unwatch),
            "set": Command("set NAME NUMBER", "Write a register or predicate.", self._set),
            "print": Command(
                "print NAME...", "Show registers, predicates or items by name.", self.print_values
            ),
            "registers": Command("registers", "Show all registers.", self.registers),
            "predicates": Command("predicates", "Show all predicates.", self.predicates),
            "fifos": Command("fifos", "Show what the FIFOs hold.", self.fifos),
            "lists": Command("lists", "Show both lists, the head cache and the memory.", self.lists),
            "list": Command(
                "list [PLACE]", "Show the program around the next word, or around PLACE.", self.listing
            ),
            "where": Command("where", "Show the next word and the current search.", self.where),
            "answers": Command("answers", "Show the answers so far.", self.answers),
            "totals": Command("totals", "Show cycles, words and stall cycles so far.", self.totals),
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
            msg = (
                f"command `{name}`: ambiguous; expected {' or '.join(known)}"
                if known
                else unknown_name("command", name, list(self.commands), "help")
            )
            raise InvalidCommandError(msg)
        return self.commands[known[0]]

    def complete(self, line: str, text: str) -> list[str]:
        """Return the completions of `text` at the end of `line`."""
        before = line.split()[: None if line.endswith(" ") or not line else -1]
        if not before:
            known: Iterable[str] = self.commands
        elif self.short.get(before[0], before[0]) in {"break", "delete", "run-to", "list"}:
            known = [label for word in self.setup.words for label in word.labels]
        elif self.short.get(before[0], before[0]) in {"print", "watch", "unwatch", "set"}:
            known = self.setup.registers
        elif self.short.get(before[0], before[0]) == "help":
            known = self.commands
        else:
            known = []
        return [word for word in known if word.startswith(text)]

    # Moving.

    def _step(self, words: list[str]) -> None:
        to_go = count_of(words)
        while to_go > 0:
            stopped = self._moved(self.unit.step)
            if stopped["row"]:
                to_go -= 1
                tables.write("".join(row_lines(self.setup, stopped["row"])))
            if stopped["why"] in {"idle", "broken"}:
                break
        self.next_word()

    def _continue(self, words: list[str]) -> None:
        for _ in range(count_of(words)):
            if self._moved(self.unit.resume)["why"] not in {"answered", "breakpoint"}:
                break
        self.next_word()

    def _finish(self, words: list[str]) -> None:
        nothing(words)
        self._moved(self.unit.run_to_end)
        self.next_word()

    def _run_to(self, words: list[str]) -> None:
        address = place_of(self.unit, words)
        self._moved(lambda: self.unit.run_to(address))
        self.next_word()

    def _moved(self, move: Callable[[], Stopped]) -> Stopped:
        """Advance, and print why the unit stopped unless the command implies it."""
        if self.broken:
            msg = "the program violated the protocol; use `back` or `restart`"
            raise InvalidCommandError(msg)
        stopped = move()
        for answer in self.unit.answers(self.reported):
            self.report(answer)
            self.reported += 1
        if stopped["why"] == "breakpoint":
            tables.line("breakpoint")
        elif stopped["changed"]:
            register, before, after = stopped["changed"]
            old = before if register.startswith("p") else hex(before)
            tables.line(f"changed: {text_of_write(self.setup, register, after)}, {old} before")
        elif stopped["why"] == "idle":
            tables.line("no header is left")
        elif stopped["broken"]:
            self.broken = stopped["broken"]
            tables.line(f"! {self.setup.broken(self.broken, self.unit.pc)}")
        return stopped

    def _back(self, words: list[str]) -> None:
        issued = self.unit.totals()["words"]
        back = count_of(words)
        if back > issued:
            msg = f"found {back}; expected at most {words_text(issued)}, the number issued"
            raise InvalidCommandError(msg)
        self._anew(issued - back)

    def _restart(self, words: list[str]) -> None:
        nothing(words)
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
        self.next_word()

    # Breakpoints.

    def _break(self, words: list[str]) -> None:
        if not words:
            for address in self.unit.breakpoints():
                tables.line(f"{self.word(address)}{self._condition_text(address)}")
            if not self.unit.breakpoints():
                tables.line("no breakpoints")
            return
        address = place_of(self.unit, words[:1])
        condition = self._condition(words[1:])
        is_new = self.unit.set_breakpoint(address, stop=True, condition=condition)
        known = "already a breakpoint" if condition == self.conditions.get(address) else "changed breakpoint"
        self.conditions[address] = condition
        what = "breakpoint" if is_new else known
        tables.line(f"{what} at {self.word(address)}{self._condition_text(address)}")

    def _condition(self, words: list[str]) -> tuple[str, str, int] | None:
        if not words:
            return None
        if len(words) != CONDITION_WORDS or words[0] != "if" or words[2] not in RELATIONS:
            expected = f"if NAME OP NUMBER, with OP one of: {' '.join(RELATIONS)}"
            msg = f"found `{' '.join(words)}`; expected {expected}"
            raise InvalidCommandError(msg)
        return register_of(self.setup, words[1]), words[2], value_of(words[3])

    def _condition_text(self, address: int) -> str:
        if (condition := self.conditions.get(address)) is None:
            return ""
        register, relation, value = condition
        return f", if {self.setup.register_name(register)} {relation} {value:#x}"

    def _watch(self, words: list[str]) -> None:
        if not words:
            for register in self.watched:
                tables.line(self.value(register))
            if not self.watched:
                tables.line("no watches")
            return
        register = register_of(self.setup, only(words, "a register"))
        if self.unit.watch_register(register, stop=True):
            self.watched.append(register)
        tables.line(f"watch {self.value(register)}")

    def _unwatch(self, words: list[str]) -> None:
        register = register_of(self.setup, only(words, "a register"))
        if not self.unit.watch_register(register, stop=False):
            msg = f"{self.setup.register_name(register)}: not watched; `watch` lists what is"
            raise InvalidCommandError(msg)
        self.watched.remove(register)

    def _set(self, words: list[str]) -> None:
        words = [word for word in words if word != "="]
        if len(words) != 2:
            msg = f"found {len(words)} arguments; expected NAME NUMBER"
            raise InvalidCommandError(msg)
        register, value = register_of(self.setup, words[0]), value_of(words[1])
        if register.startswith("p") and value > 1:
            msg = f"predicate `{words[0]}`: found {value}; expected 0 or 1"
            raise InvalidCommandError(msg)
        if not self.unit.write_register(register, value):
            msg = f"`{words[0]}`: found a constant, expected a register from 1 to 15"
            raise InvalidCommandError(msg)
        self.written.append((self.unit.totals()["words"], register, value))
        tables.line(self.value(register))

    def _delete(self, words: list[str]) -> None:
        if words == ["all"]:
            for address in self.unit.breakpoints():
                self.unit.set_breakpoint(address, stop=False)
            self.conditions.clear()
            return
        address = place_of(self.unit, words)
        self.conditions.pop(address, None)
        if not self.unit.set_breakpoint(address, stop=False):
            msg = f"{self.setup.place(address)}: no breakpoint; `break` lists them"
            raise InvalidCommandError(msg)

    # Help.

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
        nothing(words)
        self.done = True
