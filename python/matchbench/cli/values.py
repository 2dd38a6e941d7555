# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Types of options: numbers that the compiled module can hold, and text that is not empty."""

from typing import Any

import click

_MOST = (1 << 63) - 1
_LONGEST = 1e9


class Whole(click.IntRange):
    """A whole number, 0 or more unless told otherwise."""

    min: int
    max: int

    def __init__(self, min: int = 0, max: int = _MOST) -> None:  # noqa: A002 - click's names
        super().__init__(min, max)

    def _describe_range(self) -> str:
        return f"x>={self.min}" if self.max == _MOST else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Say what was found and what is expected."""
        number = int(click.INT.convert(value, param, ctx))
        if not self.min <= number <= self.max:
            self.fail(f"found {value}, expected a whole number from {self.min} to {self.max}", param, ctx)
        return number


class Number(click.FloatRange):
    """A number, 0 or more unless told otherwise, at most 10^9 and never NaN."""

    min: float
    max: float

    def __init__(self, min: float = 0, max: float = _LONGEST) -> None:  # noqa: A002 - click's names
        super().__init__(min, max)

    def _describe_range(self) -> str:
        return f"x>={self.min:g}" if self.max == _LONGEST else f"{self.min:.15g}<=x<={self.max:.15g}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse NaN too, which is in no range; say what was found and what is expected."""
        number = float(click.FLOAT.convert(value, param, ctx))
        if not self.min <= number <= self.max:
            self.fail(f"found {value}, expected a number from {self.min:.15g} to {self.max:.15g}", param, ctx)
        return number


class Text(click.types.StringParamType):
    """Text that is not empty."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse empty text, which is no name and no value."""
        text: str = super().convert(value, param, ctx)
        if not text:
            self.fail("found nothing, expected a value", param, ctx)
        return text


def refuse_empty(command: click.Command | None) -> None:
    """Let no option of a command take empty text."""
    for parameter in command.params if command is not None else ():
        if isinstance(parameter, click.Option) and parameter.type is click.STRING:
            parameter.type = Text()
