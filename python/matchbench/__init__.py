# SPDX-License-Identifier: Apache-2.0 OR MIT
"""matchbench: what message matching costs an MPI program, engine by engine."""

from matchbench._native import MatchbenchError, revision, version

__version__ = version()

__all__ = ["MatchbenchError", "__version__", "revision"]
