# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `matchbench match_unit debug` shows: the program, registers, FIFOs and lists."""

from matchbench._native import unknown_name
from matchbench.display import tables
from matchbench.match_unit.common import answer_text, text_of_write
from matchbench.match_unit.debug_arguments import InvalidCommandError, nothing, place_of, words_text
from matchbench.match_unit.files import ITEM_BITS
from matchbench.match_unit.program import REGISTER_NAMES, REGISTERS, Setup, register_value
from matchbench.native_types import MatchUnitAnswer

AROUND = 4  # words before and after the one that is shown


class StateView:
    """A match unit whose state can be shown.

    Parameters
    ----------
    setup
        The inputs of the run.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.unit = setup.unit()

    def where(self, words: list[str]) -> None:
        """Show the next word and the current search."""
        nothing(words)
        state = self.unit.state()
        if state["searching"]:
            header, name, answered = state["searching"]
            title = self.setup.headers[header].name
            tables.line(f"search of the {name} list for {title}, {answered} answered")
        else:
            tables.line("no current search")
        tables.line(f"headers to come: {state['waiting']}")
        self.next_word()

    def next_word(self) -> None:
        """Show the cycle and the next word."""
        state = self.unit.state()
        branch = ""
        if state["branch"]:
            slots, target = state["branch"]
            branch = f"  ; branch to {self.setup.place(target)} after {words_text(slots)}"
        tables.line(f"cycle {state['cycle']}, next {self.word(state['pc'])}{branch}")

    def word(self, address: int) -> str:
        """Return the text of a word with its place."""
        word = self.setup.words[address]
        line = "" if word.line is None else f" (line {word.line})"
        return f"{self.setup.place(address)}{line}: {word.text}"

    def print_values(self, words: list[str]) -> None:
        """Show registers, predicates or items by name."""
        if not words:
            msg = "found no name; expected registers, predicates or items"
            raise InvalidCommandError(msg)
        for word in words:
            tables.line(self.value(word))

    def value(self, name: str) -> str:
        """Return the text of a register, a predicate or an item."""
        state = self.unit.state()
        register = self.setup.registers.get(name, name)
        kind, number = register[:1], register[1:]
        if kind in "atp" and number.isdecimal() and int(number) < REGISTERS:
            value = register_value(state, f"{kind}{int(number)}")
            shown = text_of_write(self.setup, register, value)
            return shown if shown.startswith(f"{register} ") else f"{register} {shown}"
        table, bracket, rest = name.partition("[")
        if table in {"posted", "unexpected"} and bracket and rest[:-1].isdecimal() and rest.endswith("]"):
            entries = self.unit.entries(table)
            if int(rest[:-1]) >= len(entries):
                msg = f"`{name}`: no such item; expected an index below {len(entries)}"
                raise InvalidCommandError(msg)
            content = entries[int(rest[:-1])]["words"]
            return f"{name}: " + " ".join(f"{content_word:#x}" for content_word in content)
        known = [*self.setup.registers, *REGISTER_NAMES, "posted[N]", "unexpected[N]"]
        msg = unknown_name("name", name, known)
        raise InvalidCommandError(msg)

    def registers(self, words: list[str]) -> None:
        """Show all registers."""
        nothing(words)
        state = self.unit.state()
        rows = []
        for number in range(REGISTERS):
            row: list[str] = []
            for kind in "at":
                register = f"{kind}{number}"
                name = self.setup.register_name(register)
                value = register_value(state, f"{kind}{number}")
                row += [register, "" if name == register else name, f"{value:#018x}"]
            rows.append(row)
        tables.show(None, ["alu", "name", ">value", "ternary", "name", ">value"], rows)

    def predicates(self, words: list[str]) -> None:
        """Show all predicates."""
        nothing(words)
        state = self.unit.state()
        names = [f"p{number}" for number in range(REGISTERS)]
        bits = [register_value(state, f"p{number}") for number in range(REGISTERS)]
        tables.line(
            " ".join(f"{self.setup.register_name(name)}={bit}" for name, bit in zip(names, bits, strict=True))
        )

    def fifos(self, words: list[str]) -> None:
        """Show what the FIFOs hold."""
        nothing(words)
        state = self.unit.state()
        depth = self._parameter("fifo")
        tables.line(f"input: {len(state['input'])} of {depth} words, head first")
        for word, tag, entered in state["input"]:
            tables.line(f"  {tag:6} {word:#018x} since cycle {entered}")
        tables.line(f"output: {words_text(len(state['output']))} pending at the list manager")
        for word, last, enters in state["output"]:
            tables.line(f"  {word:#018x} from cycle {enters} on{', last of an answer' if last else ''}")

    def lists(self, words: list[str]) -> None:
        """Show both lists, the head cache and the memory."""
        nothing(words)
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

    def listing(self, words: list[str]) -> None:
        """Show the program around a word."""
        pc = self.unit.pc
        middle = place_of(self.unit, words) if words else pc
        breakpoints = self.unit.breakpoints()
        for address in range(max(middle - AROUND, 0), min(middle + AROUND + 1, len(self.setup.words))):
            word = self.setup.words[address]
            mark = f"{'>' if address == pc else ' '}{'*' if address in breakpoints else ' '}"
            line = "" if word.line is None else word.line
            tables.line(f"{mark} {address:4} {line:>5}  {self.setup.place(address):15} {word.text}")

    def answers(self, words: list[str]) -> None:
        """Show the answers so far."""
        nothing(words)
        answers = self.unit.answers(0)
        for answer in answers:
            self.report(answer)
        if not answers:
            tables.line("no answers yet")

    def totals(self, words: list[str]) -> None:
        """Show cycles, words and stall cycles so far."""
        nothing(words)
        totals = self.unit.totals()
        waits = [f"{cycles} {cause}" for cause, cycles in totals["stalls"] if cycles]
        tables.line(
            f"cycles {totals['cycles']}, words {totals['words']}, waited: {', '.join(waits) or 'none'}"
        )

    def report(self, answer: MatchUnitAnswer) -> None:
        """Show an answer."""
        tables.line(f"answered in cycle {answer['answered']}: {answer_text(self.setup, answer)}")
