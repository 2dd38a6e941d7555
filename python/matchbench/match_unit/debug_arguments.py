# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments of the commands of `matchbench match_unit debug`: what was typed, checked."""

from matchbench import MatchbenchError, _native
from matchbench._native import unknown_name
from matchbench.match_unit.program import REGISTER_NAMES, REGISTERS, Setup


class InvalidCommandError(MatchbenchError):
    """An invalid command; the message states the reason."""


def nothing(words: list[str]) -> None:
    """Refuse arguments."""
    if words:
        msg = f"found `{words[0]}`; expected no argument"
        raise InvalidCommandError(msg)


def only(words: list[str], what: str) -> str:
    """Return the one argument."""
    if len(words) != 1:
        msg = f"found {len(words)} arguments; expected {what}"
        raise InvalidCommandError(msg)
    return words[0]


def value_of(text: str) -> int:
    """Return a number of 64 bits, in any base that Python writes."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        msg = f"found `{text}`; expected a number from 0 to {(1 << 64) - 1}"
        raise InvalidCommandError(msg)
    return value


def count_of(words: list[str]) -> int:
    """Return a number of at least 1, which is the default."""
    if not words:
        return 1
    if len(words) > 1 or not words[0].isdecimal() or int(words[0]) < 1:
        msg = f"found `{' '.join(words)}`; expected a number of at least 1"
        raise InvalidCommandError(msg)
    return int(words[0])


def place_of(unit: _native.MatchUnit, words: list[str]) -> int:
    """Return the address of the one argument: a label, an address or LABEL+DISTANCE."""
    if len(words) != 1:
        msg = f"found {len(words)} arguments; expected a label, an address or LABEL+DISTANCE"
        raise InvalidCommandError(msg)
    label, plus, distance = words[0].partition("+")
    address = unit.place(label)
    if plus and not distance.isdecimal():
        msg = f"found `{distance}` behind `{label}+`; expected a number of words"
        raise InvalidCommandError(msg)
    return unit.place(str(address + int(distance))) if plus else address


def register_of(setup: Setup, name: str) -> str:
    """Return the register that a name of the program, or the register's own name, stands for."""
    register = setup.registers.get(name, name)
    kind, number = register[:1], register[1:]
    if not (kind and kind in "atp" and number.isdecimal() and int(number) < REGISTERS):
        msg = unknown_name("name", name, [*setup.registers, *REGISTER_NAMES])
        raise InvalidCommandError(msg)
    return f"{kind}{int(number)}"


def words_text(number: int) -> str:
    """Return a number of words with the noun."""
    return f"{number} {'word' if number == 1 else 'words'}"
