# SPDX-License-Identifier: Apache-2.0 OR MIT
"""matchbench: the cost of message matching of an MPI program on different receive engines.

>>> import matchbench as mb
>>> trace = mb.Trace.open("traces/halo3d-64.tar.xz")  # doctest: +SKIP
>>> mb.compare(trace, ["ideal", "linear:qsnet2"]).results  # doctest: +SKIP

`docs/python.md` shows more. All names are imported at their first use, so that the command starts fast.
"""

import importlib
import sys
from types import ModuleType

TYPE_CHECKING = False  # as that of `typing`, which takes longer to import than this package
if TYPE_CHECKING:
    from matchbench._native import Engine, MatchbenchError, Network, TraceError, engines, networks, revision
    from matchbench.compare.comparison import Comparison, Remark
    from matchbench.compare.replay_config import ReplayConfig
    from matchbench.compare.run import compare
    from matchbench.engines.python_engine import Completion, Operation, PythonEngine
    from matchbench.engines.selection import choose_engines, engine
    from matchbench.record.run import Recording, record
    from matchbench.reproduce.run import Reproduction, reproduce
    from matchbench.size.sizing import Sizings, size
    from matchbench.sweep.api import sweep
    from matchbench.trace.generate import generate
    from matchbench.trace.trace import Trace, TraceStats

    __version__: str

__all__ = [
    "Comparison",
    "Completion",
    "Engine",
    "MatchbenchError",
    "Network",
    "Operation",
    "PythonEngine",
    "Recording",
    "Remark",
    "ReplayConfig",
    "Reproduction",
    "Sizings",
    "Trace",
    "TraceError",
    "TraceStats",
    "__version__",
    "choose_engines",
    "compare",
    "engine",
    "engines",
    "generate",
    "networks",
    "record",
    "reproduce",
    "revision",
    "size",
    "sweep",
]

_LAZY = {
    "_native": ("Engine", "MatchbenchError", "Network", "TraceError", "engines", "networks", "revision"),
    "compare.run": ("compare",),
    "compare.comparison": ("Comparison", "Remark"),
    "trace.generate": ("generate",),
    "engines.python_engine": ("Completion", "Operation", "PythonEngine"),
    "record.run": ("Recording", "record"),
    "compare.replay_config": ("ReplayConfig",),
    "reproduce.run": ("Reproduction", "reproduce"),
    "engines.selection": ("choose_engines", "engine"),
    "sweep.api": ("sweep",),
    "size.sizing": ("Sizings", "size"),
    "trace.trace": ("Trace", "TraceStats"),
}
"""Names that are imported at their first use, by submodule."""


class _Package(ModuleType):
    """The type of the package, with a property for each lazy name.

    A `__getattr__` is not sufficient: the import of the submodule `compare` sets an attribute of that name.
    """


def _lazy(module: str, name: str) -> property:
    def get(_package: ModuleType) -> object:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)

    def ignore(_package: ModuleType, _submodule: object) -> None:
        """Ignore the submodule that the import system stores under the name of a function."""

    return property(get, ignore)


def _version(_package: ModuleType) -> str:
    from matchbench._native import version

    return version()


_Package.__version__ = property(_version)  # type: ignore[attr-defined] # set here, not declared

for _module, _names in _LAZY.items():
    for _name in _names:
        setattr(_Package, _name, _lazy(_module, _name))
sys.modules[__name__].__class__ = _Package
