# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The files of the repository that the package needs at run time, under their names there.

An installed package has them inside (`packaging/backend.py` has the list); a checkout is used as it is.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_INSIDE = _PACKAGE / "_files"

IS_INSTALLED = _INSIDE.is_dir()
"""Whether this package is an installed one, whose files may be gone when its environment is."""

ROOT = _INSIDE if IS_INSTALLED else _PACKAGE.parents[1]
"""The folder of these files."""
