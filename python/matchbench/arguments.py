# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments of the functions that Python programs call: a wrong type is named before any work is done."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Kind = tuple[str, Callable[[Any], bool]]
"""What is expected, in words, and whether a value is such."""


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


PATH: Kind = ("a path", _is_path)
TEXT: Kind = ("text", lambda value: isinstance(value, str))
FLAG: Kind = ("True or False", lambda value: isinstance(value, bool))
WHOLE: Kind = ("a whole number", _is_whole)
NUMBER: Kind = (
    "a number",
    lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool),
)
CALLBACK: Kind = ("a function", callable)
MAPPING: Kind = (
    "a mapping from names to values",
    lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value),
)


def sequence(kind: Kind, what: str) -> Kind:
    """Return the kind of a sequence: `what` of this kind. Text is no sequence here."""
    return (
        f"a sequence of {what}",
        lambda value: (
            isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(map(kind[1], value))
        ),
    )


def either(first: Kind, second: Kind) -> Kind:
    """Return the kind of what is one or the other."""
    return f"{first[0]} or {second[0]}", lambda value: first[1](value) or second[1](value)


def one_of(words: str, *classes: type) -> Kind:
    """Return the kind of instances of some classes, which `words` name."""
    return words, lambda value: isinstance(value, classes)


def expect(name: str, value: object, kind: Kind) -> None:
    """Refuse a value of another kind.

    Raises
    ------
    TypeError
        When it is; the message names the argument, what was found and what is expected.
    """
    expected, holds = kind
    if not holds(value):
        msg = f"{name}: found {value!r} of type {type(value).__name__}, expected {expected}"
        raise TypeError(msg)


def checked(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the arguments of a function; None is accepted where it is the default.

    Parameters
    ----------
    **kinds
        What is expected, by the name of the parameter.

    Raises
    ------
    TypeError
        By the function: an argument is of another kind.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: P.args, **words: P.kwargs) -> R:
            given = signature.bind(*args, **words).arguments
            for name, kind in kinds.items():
                if name in given and not (given[name] is None and signature.parameters[name].default is None):
                    expect(name, given[name], kind)
            return function(*args, **words)

        return call

    return decorate
