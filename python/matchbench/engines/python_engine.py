# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Engines as classes in Python, for quick ideas: slow, and the one place where Python computes times.

A subclass of :class:`PythonEngine` runs in comparisons, where its rows say so, and in the test kit.
`docs/own-engine.md` shows one; a model that is kept should be written in Rust or C.
"""

import abc
import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from matchbench._native import MatchbenchError
from matchbench.input import read_bytes


class Operation(NamedTuple):
    """One operation offered to an engine.

    Parameters
    ----------
    kind
        `post`, `arrive`, `cancel`, `probe` or `matched_probe`.
    id
        Name of the receive, message or probe.
    bits
        64 match bits.
    ignore
        Bits that a pattern does not compare.
    initiator
        Who sent a message, or the only one that a pattern accepts; None accepts all.
    """

    kind: Literal["post", "arrive", "cancel", "probe", "matched_probe"]
    id: int
    bits: int
    ignore: int
    initiator: int | None

    def accepts(self, message: "Operation") -> bool:
        """Return whether this pattern accepts a message (`spec/matching.md`, clause G-1)."""
        return not (self.bits ^ message.bits) & ~self.ignore and self.initiator in {None, message.initiator}


class Completion(NamedTuple):
    """One finished operation.

    Parameters
    ----------
    at
        When the answer reaches the caller, ps.
    outcome
        `posted`, `matched`, `unexpected`, `cancelled`, `not_cancelled` or `probed`.
    id
        The receive; of `unexpected` the message, of `probed` the probe.
    message
        The message of `matched`, or that a probe found; otherwise None.
    visits
        List entries visited, the matching one included.
    waiting, beyond
        Parts of the time since the acceptance, ps: work on older operations, and entries beyond the
        structure.
    """

    at: int
    outcome: Literal["posted", "matched", "unexpected", "cancelled", "not_cancelled", "probed"]
    id: int
    message: int | None = None
    visits: int = 0
    waiting: int = 0
    beyond: int = 0


class PythonEngine(abc.ABC):
    """Base class of engines in Python: one instance for each receiver.

    The constructor is called with a keyword for each parameter of the description: times in ps and
    frequencies in kHz as integers, cycles and counts as integers, choices as text.
    The methods are those of `spec/engine.md`; an exception in one of them ends the comparison. A subclass
    that does not define all four abstract ones is refused.
    """

    description: ClassVar[str]
    """Card, parameters and presets as TOML (`spec/engine.md`, section 3)."""

    placement: Literal["nic", "host"] = "nic"
    """Where the engine runs; an instance may differ."""

    @abc.abstractmethod
    def offer(self, now: int, operation: Operation) -> int | None:
        """Take an operation at time `now` (ps), or return a later time at which to offer it again."""

    @abc.abstractmethod
    def next_event(self) -> int | None:
        """Return the time of the next event in ps, or None if no completion is outstanding."""

    @abc.abstractmethod
    def run_until(self, until: int) -> Iterable[Completion]:
        """Go to time `until` (ps) and return the completions up to then, in the order of their times."""

    @abc.abstractmethod
    def lengths(self) -> tuple[int, int]:
        """Return the numbers of posted receives and of unexpected messages, in order of acceptance."""

    def busy(self) -> int:
        """Return the time spent on operations whose completions were returned, ps."""
        return 0


_LOADED: dict[tuple[str, str], type[PythonEngine]] = {}
"""Classes of files by real path and SHA-256: a file is executed once for each content."""


def load(path: str) -> type[PythonEngine]:
    """Return the engine class in a file.

    The file is executed; `own_server` alone calls this.

    Raises
    ------
    MatchbenchError
        When the file cannot be read or executed, or defines no engine class or several.
    """
    content = read_bytes(path, "a file with a class of matchbench.PythonEngine", kind="text")
    sha256 = hashlib.sha256(content).hexdigest()
    key = (str(Path(path).resolve()), sha256)
    if key not in _LOADED:
        _LOADED[key] = _execute(path, sha256)
    return _LOADED[key]


def origin(engine: object) -> tuple[str, str, str]:
    """Return path, SHA-256 and description of an engine class.

    Without a file of its own, as in a notebook, the path is the class's name, and the hash that of its
    source text; `unknown` if there is none.

    Raises
    ------
    MatchbenchError
        When `engine` is not a subclass of `PythonEngine`, or lacks a method or the description.
    """
    if not (isinstance(engine, type) and issubclass(engine, PythonEngine)):
        msg = f"engine: found {engine!r}, expected a name, a path, or a subclass of matchbench.PythonEngine"
        raise MatchbenchError(msg)
    path, sha256 = engine.__dict__.get("_file", (None, None))
    if path is None:
        path = engine.__qualname__
        try:
            sha256 = hashlib.sha256(inspect.getsource(engine).encode()).hexdigest()
        except (OSError, TypeError):  # typed into an interpreter
            sha256 = "unknown"
    if lacking := sorted(engine.__abstractmethods__):
        names = ", ".join(f"`{name}`" for name in lacking)
        msg = f"{path}: class {engine.__name__} lacks {names}; define every method of docs/own-engine.md"
        raise MatchbenchError(msg)
    description = getattr(engine, "description", None)
    if not isinstance(description, str):
        msg = f"{path}: class {engine.__name__} has no text `description`, expected card and presets as TOML"
        raise MatchbenchError(msg)
    return path, sha256, description


def _execute(path: str, sha256: str) -> type[PythonEngine]:
    # The name is unique: other contents of the same file may be loaded too.
    name = f"matchbench_engine_{sha256[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"{path}: found another kind of file, expected Python source, NAME.py"
        raise MatchbenchError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        msg = f"{path}:{error.lineno}: {error.msg}"
        raise MatchbenchError(msg) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = f":{frames[-1].lineno}" if frames else ""
        msg = f"{path}{line}: raised {type(error).__name__}: {error}"
        raise MatchbenchError(msg) from error
    found = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, PythonEngine) and each.__module__ == name
    ]
    if len(found) != 1:
        names = ", ".join(each.__name__ for each in found) or "none"
        msg = f"{path}: expected one subclass of matchbench.PythonEngine, found {names}"
        raise MatchbenchError(msg)
    found[0]._file = (path, sha256)  # type: ignore[attr-defined] # read by `origin`
    return found[0]
